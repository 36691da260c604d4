//! The runtime's `ICorProfilerInfo5`: events and hooks, and what it knows of functions, classes, modules and
//! threads.
#![allow(unsafe_code)]

use super::callback::map_function;
use super::metadata::Import;
use super::*;
use crate::hooks::Hooks;
use crate::stubs;
use std::ptr::null;

/// The runtime's `ICorProfilerInfo5` (.NET Core 2.1 and later have at least this).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Info(pub(super) NonNull<c_void>);

// SAFETY: the interface may be used from every thread, and is never released.
unsafe impl Send for Info {}
// SAFETY: as above.
unsafe impl Sync for Info {}

/// A function: the classes of its generic parameters, and where it is defined.
#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionInfo {
    /// The class, 0 when the code is shared by several.
    pub class: Id,
    /// The module.
    pub module: Id,
    /// The method's token.
    pub token: Token,
    /// The classes of the method's own generic parameters.
    pub arguments: Vec<Id>,
}

/// A class: a type or an instantiation of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClassInfo {
    /// The module.
    pub module: Id,
    /// The type's token.
    pub token: Token,
    /// The classes of its generic parameters.
    pub arguments: Vec<Id>,
}

/// A clause of a method that handles an exception, in the layout of the runtime's header.
#[repr(C)]
#[derive(Debug, Default)]
struct Clause {
    kind: u32,
    code: usize,
    frame: usize,
    shadow_stack: usize,
}

impl Info {
    function!(raw_set_mask, 82, "SetEventMask2", low: u32, high: u32);
    function!(
        raw_set_hooks, 61, "SetEnterLeaveFunctionHooks3",
        enter: *const c_void, leave: *const c_void, tail_call: *const c_void
    );
    function!(raw_set_mapper, 59, "SetFunctionIDMapper2", mapper: *const c_void, data: *mut c_void);
    function!(
        raw_runtime, 67, "GetRuntimeInformation",
        instance: *mut u16, kind: *mut u32, major: *mut u16, minor: *mut u16, build: *mut u16,
        revision: *mut u16,
        length: u32, used: *mut u32, text: *mut u16
    );
    function!(
        raw_function, 38, "GetFunctionInfo2",
        function: Id, frame: usize, class: *mut Id, module: *mut Id, token: *mut Token, length: u32,
        used: *mut u32,
        arguments: *mut Id
    );
    function!(
        raw_class, 41, "GetClassIDInfo2",
        class: Id, module: *mut Id, token: *mut Token, parent: *mut Id, length: u32, used: *mut u32,
        arguments: *mut Id
    );
    function!(raw_clause, 56, "GetNotifiedExceptionClauseInfo", clause: *mut Clause);
    function!(raw_array, 11, "IsArrayClass", class: Id, element: *mut u32, base: *mut Id, rank: *mut u32);
    function!(
        raw_module, 20, "GetModuleInfo",
        module: Id, base: *mut *const u8, length: u32, used: *mut u32, name: *mut u16, assembly: *mut Id
    );
    function!(
        raw_assembly, 26, "GetAssemblyInfo",
        assembly: Id, length: u32, used: *mut u32, name: *mut u16, domain: *mut Id, module: *mut Id
    );
    function!(
        raw_domain, 25, "GetAppDomainInfo",
        domain: Id, length: u32, used: *mut u32, name: *mut u16, process: *mut Id
    );
    function!(
        raw_metadata, 21, "GetModuleMetaData",
        module: Id, flags: u32, interface: *const Guid, out: *mut *mut c_void
    );
    function!(raw_initialize_thread, 72, "InitializeCurrentThread",);
    function!(raw_rejit, 73, "RequestReJIT", count: u32, modules: *const Id, tokens: *const Token);

    /// Subscribes to events. After the start, only `ENTERLEAVE` and a few other bits of the low word may
    /// change.
    pub(crate) fn set_mask(self, low: u32, high: u32) -> Result<(), ComError> {
        // SAFETY: no pointers.
        unsafe { self.raw_set_mask(low, high) }
    }

    /// Passes our hooks and the mapper to the runtime, which calls them from then on until the process ends.
    pub(crate) fn set_hooks(self) -> Result<(), ComError> {
        let [enter, leave, tail_call] = [
            stubs::enter::<Hooks> as *const c_void,
            stubs::leave::<Hooks> as *const c_void,
            stubs::tail_call::<Hooks> as *const c_void,
        ];
        // SAFETY: the three functions keep what the convention of these hooks wants kept.
        unsafe { self.raw_set_hooks(enter, leave, tail_call)? };
        // SAFETY: the function has the type that the runtime's header gives a mapper, and needs no data.
        unsafe { self.raw_set_mapper(map_function as *const c_void, null_mut()) }
    }

    /// Major, minor, build and revision number of the runtime. .NET Core 3.1 returns 4.0.30319.0.
    pub(crate) fn runtime(self) -> Result<[u16; 4], ComError> {
        let (mut instance, mut kind, mut used) = (0, 0, 0);
        let [mut major, mut minor, mut build, mut revision] = [0u16; 4];
        // The text has the same numbers; without a buffer for it the call fails.
        let mut text = [0u16; 128];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.raw_runtime(
                &raw mut instance,
                &raw mut kind,
                &raw mut major,
                &raw mut minor,
                &raw mut build,
                &raw mut revision,
                text.len() as u32,
                &raw mut used,
                text.as_mut_ptr(),
            )?;
        }
        Ok([major, minor, build, revision])
    }

    /// The stack pointer of the method that is handling an exception, valid in a callback about that; 0 when
    /// the runtime does not know it.
    pub(crate) fn handler_stack(self) -> usize {
        let mut clause = Clause::default();
        // SAFETY: it leads to a live variable.
        let known = unsafe { self.raw_clause(&raw mut clause) };
        if known.is_ok() { clause.frame } else { 0 }
    }

    /// The place of a function's definition, and its generic arguments (the first 16).
    pub(crate) fn function(self, function: Id) -> Result<FunctionInfo, ComError> {
        let (mut class, mut module, mut token, mut used) = (0, 0, 0, 0);
        let mut arguments = [0; 16];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.raw_function(
                function,
                0,
                &raw mut class,
                &raw mut module,
                &raw mut token,
                arguments.len() as u32,
                &raw mut used,
                arguments.as_mut_ptr(),
            )?;
        }
        let arguments = arguments.into_iter().take(used as usize).collect();
        Ok(FunctionInfo { class, module, token, arguments })
    }

    /// The place of a class's definition, and its generic arguments (the first 16). Fails for arrays.
    pub(crate) fn class(self, class: Id) -> Result<ClassInfo, ComError> {
        let (mut module, mut token, mut parent, mut used) = (0, 0, 0, 0);
        let mut arguments = [0; 16];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.raw_class(
                class,
                &raw mut module,
                &raw mut token,
                &raw mut parent,
                arguments.len() as u32,
                &raw mut used,
                arguments.as_mut_ptr(),
            )?;
        }
        let arguments = arguments.into_iter().take(used as usize).collect();
        Ok(ClassInfo { module, token, arguments })
    }

    /// Element type, element class (0 for a simple type) and rank of an array class; fails for others.
    pub(crate) fn array(self, class: Id) -> Result<(u32, Id, u32), ComError> {
        let (mut element, mut base, mut rank) = (0, 0, 0);
        // SAFETY: all lead to live variables.
        let code = unsafe { self.raw_array(class, &raw mut element, &raw mut base, &raw mut rank) };
        code.map(|()| (element, base, rank))
    }

    /// The path of a module, or its name when it was created in memory.
    pub(crate) fn module_path(self, module: Id) -> Result<String, ComError> {
        let (mut base, mut used, mut assembly) = (null(), 0, 0);
        let mut name = [0u16; 4096];
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.raw_module(
                module,
                &raw mut base,
                name.len() as u32,
                &raw mut used,
                name.as_mut_ptr(),
                &raw mut assembly,
            )?;
        }
        Ok(terminated(&name))
    }

    /// The name of the application domain that an assembly belongs to. .NET Core has one, .NET Framework any
    /// number.
    pub(crate) fn domain_of(self, assembly: Id) -> Result<String, ComError> {
        let (mut used, mut domain, mut other) = (0, 0, 0);
        let mut name = [0u16; 512];
        let length = name.len() as u32;
        // SAFETY: all lead to live variables, and the buffer is as long as said.
        unsafe {
            self.raw_assembly(
                assembly,
                length,
                &raw mut used,
                name.as_mut_ptr(),
                &raw mut domain,
                &raw mut other,
            )?;
        }
        name = [0; 512];
        // SAFETY: as above.
        unsafe { self.raw_domain(domain, length, &raw mut used, name.as_mut_ptr(), &raw mut other)? };
        Ok(terminated(&name))
    }

    /// The metadata of a module.
    pub(crate) fn metadata(self, module: Id) -> Result<Metadata, ComError> {
        let mut out = null_mut();
        // SAFETY: both lead to live variables.
        unsafe { self.raw_metadata(module, 0, &IMETA_DATA_IMPORT2, &raw mut out)? };
        match NonNull::new(out) {
            Some(import) => Ok(Metadata(Import(import))),
            None => Err(ComError { what: "GetModuleMetaData", code: E_POINTER }),
        }
    }

    /// Prepares this thread, which the runtime did not create, to request new compilations.
    pub(crate) fn initialize_thread(self) -> Result<(), ComError> {
        // SAFETY: no pointers.
        unsafe { self.raw_initialize_thread() }
    }

    /// Requests that these methods are compiled again at their next call.
    pub(crate) fn request_rejit(self, modules: &[Id], tokens: &[Token]) -> Result<(), ComError> {
        let count = modules.len().min(tokens.len()) as u32;
        // SAFETY: both lead to at least that many elements.
        unsafe { self.raw_rejit(count, modules.as_ptr(), tokens.as_ptr()) }
    }
}
