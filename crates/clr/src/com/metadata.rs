//! The runtime's `IMetaDataImport2`: names, types and methods of a module.
#![allow(unsafe_code)]

use super::*;
use std::ptr::null;

/// A live `IMetaDataImport2`.
#[derive(Clone, Copy)]
pub(super) struct Import(pub(super) NonNull<c_void>);

/// The metadata of a module, released when it is dropped.
pub(crate) struct Metadata(pub(super) Import);

/// A type of the metadata.
#[derive(Debug, Clone)]
pub(crate) struct TypeInfo {
    /// Its name with its namespace, without the types around it.
    pub name: String,
    /// The type around it, if it is nested.
    pub enclosing: Option<Token>,
}

/// A method of the metadata.
#[derive(Debug, Clone)]
pub(crate) struct MethodInfo {
    /// Its name.
    pub name: String,
    /// The type it belongs to.
    pub class: Token,
    /// Its signature.
    pub signature: Vec<u8>,
    /// Whether it has code in the module.
    pub has_code: bool,
}

impl Import {
    function!(
        raw_method, 30, "GetMethodProps",
        method: Token, class: *mut Token, name: *mut u16, length: u32, used: *mut u32, attributes: *mut u32,
        signature: *mut *const u8, signature_length: *mut u32, address: *mut u32, flags: *mut u32
    );
    function!(
        raw_type, 12, "GetTypeDefProps",
        token: Token, name: *mut u16, length: u32, used: *mut u32, flags: *mut u32, extends: *mut Token
    );
    function!(
        raw_type_reference, 14, "GetTypeRefProps",
        token: Token, scope: *mut Token, name: *mut u16, length: u32, used: *mut u32
    );
    function!(raw_nested, 62, "GetNestedClassProps", token: Token, enclosing: *mut Token);
    function!(
        raw_find_method, 27, "FindMethod",
        class: Token, name: *const u16, signature: *const u8, length: u32, method: *mut Token
    );
    function!(
        raw_enum_parameters, 65, "EnumGenericParams",
        position: *mut *mut c_void, owner: Token, tokens: *mut Token, length: u32, used: *mut u32
    );
    function!(
        raw_parameter, 66, "GetGenericParamProps",
        token: Token, number: *mut u32, flags: *mut u32, owner: *mut Token, reserved: *mut u32,
        name: *mut u16,
        length: u32, used: *mut u32
    );
    function!(
        raw_enum_types, 6, "EnumTypeDefs",
        position: *mut *mut c_void, tokens: *mut Token, length: u32, used: *mut u32
    );
    function!(
        raw_enum_methods, 18, "EnumMethods",
        position: *mut *mut c_void, class: Token, tokens: *mut Token, length: u32, used: *mut u32
    );

    fn close(self, position: *mut c_void) {
        if position.is_null() {
            return;
        }
        // SAFETY: slot 3 of the interface is CloseEnum, which returns nothing.
        let function: unsafe extern "C" fn(*mut c_void, *mut c_void) = unsafe { slot(self.0, 3) };
        // SAFETY: the position came from one of the enumerating functions and is not used again.
        unsafe { function(self.0.as_ptr(), position) };
    }

    /// All tokens of an enumerating function, which returns them in portions.
    fn all(
        self,
        mut next: impl FnMut(*mut *mut c_void, *mut Token, u32, *mut u32) -> Result<(), ComError>,
    ) -> Result<Vec<Token>, ComError> {
        let mut position = null_mut();
        let mut all = Vec::new();
        let result = loop {
            let mut portion = [0; 64];
            let mut used = 0;
            if let Err(error) =
                next(&raw mut position, portion.as_mut_ptr(), portion.len() as u32, &raw mut used)
            {
                break Err(error);
            }
            if used == 0 {
                break Ok(all);
            }
            all.extend(portion.iter().take(used as usize));
        };
        self.close(position);
        result
    }
}

impl Drop for Metadata {
    fn drop(&mut self) {
        // SAFETY: slot 2 of every COM object is Release.
        let function: unsafe extern "C" fn(*mut c_void) -> u32 = unsafe { slot(self.0.0, 2) };
        // SAFETY: the reference is ours and not used again.
        unsafe { function(self.0.0.as_ptr()) };
    }
}

impl Metadata {
    /// A method.
    pub(crate) fn method(&self, token: Token) -> Result<MethodInfo, ComError> {
        let (mut class, mut used, mut attributes, mut address, mut flags) = (0, 0, 0, 0, 0);
        let (mut signature, mut signature_length) = (null(), 0);
        let mut name = [0u16; 1024];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.0.raw_method(
                token,
                &raw mut class,
                name.as_mut_ptr(),
                name.len() as u32,
                &raw mut used,
                &raw mut attributes,
                &raw mut signature,
                &raw mut signature_length,
                &raw mut address,
                &raw mut flags,
            )?;
        }
        let mut bytes = Vec::new();
        if !signature.is_null() {
            // SAFETY: the runtime says that so many bytes of the module's metadata stand there; the module is
            // loaded while one of its methods is compiled, and they are copied at once.
            bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(signature, signature_length as usize)
            });
        }
        Ok(MethodInfo { name: terminated(&name), class, signature: bytes, has_code: address != 0 })
    }

    /// A type that the module defines.
    pub(crate) fn type_definition(&self, token: Token) -> Result<TypeInfo, ComError> {
        let (mut used, mut flags, mut extends) = (0, 0, 0);
        let mut name = [0u16; 1024];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.0.raw_type(
                token,
                name.as_mut_ptr(),
                name.len() as u32,
                &raw mut used,
                &raw mut flags,
                &raw mut extends,
            )?;
        }
        // Visibility 0 and 1 are types of a namespace, the others are nested.
        let mut enclosing = None;
        if flags & 7 >= 2 {
            let mut outer = 0;
            // SAFETY: it leads to a live variable.
            unsafe { self.0.raw_nested(token, &raw mut outer)? };
            enclosing = Some(outer);
        }
        Ok(TypeInfo { name: terminated(&name), enclosing })
    }

    /// The name of a type that the module uses, and the type around it if it is nested.
    pub(crate) fn type_reference(&self, token: Token) -> Result<TypeInfo, ComError> {
        let (mut scope, mut used) = (0, 0);
        let mut name = [0u16; 1024];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.0.raw_type_reference(
                token,
                &raw mut scope,
                name.as_mut_ptr(),
                name.len() as u32,
                &raw mut used,
            )?;
        }
        // A nested type's scope is the reference of the type around it.
        let enclosing = (scope >> 24 == 0x01).then_some(scope);
        Ok(TypeInfo { name: terminated(&name), enclosing })
    }

    /// Whether a type has a method of this name.
    pub(crate) fn has_method(&self, class: Token, name: &str) -> bool {
        let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
        let mut method = 0;
        // SAFETY: the name ends with a zero; without a signature its length is 0; the last leads to a live
        // variable.
        unsafe { self.0.raw_find_method(class, name.as_ptr(), null(), 0, &raw mut method) }.is_ok()
    }

    /// The names of the generic parameters of a type or method, in order (the first 64).
    pub(crate) fn generic_parameters(&self, owner: Token) -> Vec<String> {
        // SAFETY: `all` passes pointers to live variables and a buffer of that length.
        let tokens = self.0.all(|position, tokens, length, used| unsafe {
            self.0.raw_enum_parameters(position, owner, tokens, length, used)
        });
        let mut names = Vec::new();
        for token in tokens.unwrap_or_default().into_iter().take(64) {
            let (mut number, mut flags, mut owner, mut reserved, mut used) = (0, 0, 0, 0, 0);
            let mut name = [0u16; 256];
            // SAFETY: all lead to live variables, and the buffer is as long as said.
            let result = unsafe {
                self.0.raw_parameter(
                    token,
                    &raw mut number,
                    &raw mut flags,
                    &raw mut owner,
                    &raw mut reserved,
                    name.as_mut_ptr(),
                    name.len() as u32,
                    &raw mut used,
                )
            };
            names.push((number, if result.is_ok() { terminated(&name) } else { "?".to_string() }));
        }
        names.sort_by_key(|(number, _)| *number);
        names.into_iter().map(|(_, name)| name).collect()
    }

    /// All methods that the module defines.
    pub(crate) fn all_methods(&self) -> Result<Vec<Token>, ComError> {
        // SAFETY: `all` passes pointers to live variables and a buffer of that length.
        let types = self.0.all(|position, tokens, length, used| unsafe {
            self.0.raw_enum_types(position, tokens, length, used)
        })?;
        let mut methods = Vec::new();
        for class in types {
            // SAFETY: as above.
            methods.extend(self.0.all(|position, tokens, length, used| unsafe {
                self.0.raw_enum_methods(position, class, tokens, length, used)
            })?);
        }
        Ok(methods)
    }
}
