//! Method signatures in metadata (ECMA-335, II.23.2), turned into text.
//!
//! You pass the bytes of a signature and a way to name types; you get the types of the parameters and of the
//! result as in C#. The bytes come from a foreign file, so nothing in them is trusted: the decoder stops at
//! the end of the bytes, at [`MAX_DEPTH`] nested types and at [`MAX_TEXT`] bytes of text, and it never
//! allocates by a number from the input.

use std::fmt;

/// Types inside types that are followed; real programs stay far below.
pub const MAX_DEPTH: u32 = 32;

/// The most bytes of text; a longer signature is an error, so that a small input cannot make a large output.
pub const MAX_TEXT: usize = 16 * 1024;

/// Names of types that are elsewhere in the metadata.
pub trait TypeNames {
    /// The full name of a `TypeDef`, `TypeRef` or `TypeSpec` token; `None` when unknown.
    fn type_name(&mut self, token: u32) -> Option<String>;

    /// The name of parameter `number` of the generic type; `None` when unknown.
    fn type_parameter(&mut self, number: u32) -> Option<String>;

    /// The name of parameter `number` of the generic method; `None` when unknown.
    fn method_parameter(&mut self, number: u32) -> Option<String>;
}

/// A decoded method signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodSignature {
    /// Whether the method has a `this`.
    pub instance: bool,
    /// Number of the method's own generic parameters.
    pub generic_parameters: u32,
    /// The type of the result.
    pub result: String,
    /// The types of the parameters, in order.
    pub parameters: Vec<String>,
    /// Whether more arguments may follow (`__arglist`).
    pub variable: bool,
}

/// Bytes that are not a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureError {
    /// Offset of the byte that is wrong or missing.
    pub at: usize,
    /// What was required there.
    pub needed: &'static str,
    /// The byte that was found, `None` at the end of the bytes.
    pub found: Option<u8>,
}

/// Decodes the signature of a method.
///
/// # Errors
///
/// When the bytes end too early, name an unknown type, or nest or grow beyond the limits of this module.
pub fn method(bytes: &[u8], names: &mut dyn TypeNames) -> Result<MethodSignature, SignatureError> {
    let mut decoder = Decoder { bytes, at: 0, written: 0, names };
    decoder.method(0)
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Some(byte) => write!(f, "signature byte {}: needed {}, found {byte:#04x}", self.at, self.needed),
            None => write!(f, "signature byte {}: needed {}, found the end", self.at, self.needed),
        }
    }
}

impl std::error::Error for SignatureError {}

impl MethodSignature {
    /// The parameters in parentheses, such as `(int, System.String[])`.
    pub fn parameter_list(&self) -> String {
        let mut text = String::from("(");
        text.push_str(&self.parameters.join(", "));
        if self.variable {
            text.push_str(if self.parameters.is_empty() { "__arglist" } else { ", __arglist" });
        }
        text.push(')');
        text
    }
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes of text so far, against [`MAX_TEXT`].
    written: usize,
    names: &'a mut dyn TypeNames,
}

impl Decoder<'_> {
    fn error<T>(&self, at: usize, needed: &'static str) -> Result<T, SignatureError> {
        Err(SignatureError { at, needed, found: self.bytes.get(at).copied() })
    }

    fn byte(&mut self, needed: &'static str) -> Result<u8, SignatureError> {
        match self.bytes.get(self.at) {
            Some(&byte) => {
                self.at = self.at.saturating_add(1);
                Ok(byte)
            }
            None => self.error(self.at, needed),
        }
    }

    /// A compressed unsigned number: one byte below 0x80, two from `10xxxxxx`, four from `110xxxxx`, the
    /// first byte the most significant.
    fn number(&mut self, needed: &'static str) -> Result<u32, SignatureError> {
        let start = self.at;
        let first = u32::from(self.byte(needed)?);
        let (more, mut value) = match first {
            0..=0x7F => (0, first),
            0x80..=0xBF => (1, first & 0x3F),
            0xC0..=0xDF => (3, first & 0x1F),
            _ => return self.error(start, needed),
        };
        for _ in 0..more {
            value = (value << 8) | u32::from(self.byte(needed)?);
        }
        Ok(value)
    }

    /// The token of a `TypeDefOrRef` coded index.
    fn token(&mut self) -> Result<u32, SignatureError> {
        let start = self.at;
        let coded = self.number("a type token")?;
        let table = match coded & 3 {
            0 => 0x0200_0000,
            1 => 0x0100_0000,
            2 => 0x1B00_0000,
            _ => return self.error(start, "a type token"),
        };
        Ok(table | (coded >> 2))
    }

    fn method(&mut self, depth: u32) -> Result<MethodSignature, SignatureError> {
        let convention = self.byte("a calling convention")?;
        // 6 is a field, 7 locals, 8 a property, 10 an instantiation: none of them is a method.
        if convention & 0x0F > 5 {
            return self.error(self.at.saturating_sub(1), "the calling convention of a method");
        }
        let generic_parameters =
            if convention & 0x10 != 0 { self.number("a number of generic parameters")? } else { 0 };
        let count = self.number("a number of parameters")?;
        let result = self.parameter(depth)?;
        let mut parameters = Vec::new();
        let mut variable = convention & 0x0F == 5;
        for _ in 0..count {
            // After the sentinel come the types of one call's variable arguments.
            if self.bytes.get(self.at) == Some(&0x41) {
                variable = true;
                self.at = self.at.saturating_add(1);
            }
            parameters.push(self.parameter(depth)?);
        }
        let instance = convention & 0x20 != 0;
        Ok(MethodSignature { instance, generic_parameters, result, parameters, variable })
    }

    /// A type that counts against [`MAX_TEXT`] when it is complete.
    fn parameter(&mut self, depth: u32) -> Result<String, SignatureError> {
        let text = self.type_(depth)?;
        self.grown(&text)?;
        Ok(text)
    }

    fn grown(&mut self, text: &str) -> Result<(), SignatureError> {
        self.written = self.written.saturating_add(text.len());
        if self.written > MAX_TEXT { self.error(self.at, "a shorter signature") } else { Ok(()) }
    }

    fn type_(&mut self, depth: u32) -> Result<String, SignatureError> {
        if depth > MAX_DEPTH {
            return self.error(self.at, "fewer types inside types");
        }
        let inner = depth.saturating_add(1);
        let start = self.at;
        let element = self.byte("a type")?;
        let simple = match element {
            0x01 => "void",
            0x02 => "bool",
            0x03 => "char",
            0x04 => "sbyte",
            0x05 => "byte",
            0x06 => "short",
            0x07 => "ushort",
            0x08 => "int",
            0x09 => "uint",
            0x0A => "long",
            0x0B => "ulong",
            0x0C => "float",
            0x0D => "double",
            0x0E => "string",
            0x16 => "System.TypedReference",
            0x18 => "System.IntPtr",
            0x19 => "System.UIntPtr",
            0x1C => "object",
            _ => "",
        };
        if !simple.is_empty() {
            return Ok(simple.to_string());
        }
        match element {
            0x0F => self.suffixed(inner, "*"),
            0x10 => self.suffixed(inner, "&"),
            0x1D => self.suffixed(inner, "[]"),
            0x11 | 0x12 => {
                let token = self.token()?;
                Ok(self.named(token))
            }
            0x13 => {
                let number = self.number("the number of a type parameter")?;
                Ok(self.names.type_parameter(number).unwrap_or_else(|| format!("!{number}")))
            }
            0x1E => {
                let number = self.number("the number of a method parameter")?;
                Ok(self.names.method_parameter(number).unwrap_or_else(|| format!("!!{number}")))
            }
            0x14 => self.array(inner),
            0x15 => self.generic(inner),
            0x1B => self.function(inner),
            // Modifiers such as `modreq(IsVolatile)` are not part of the source form.
            0x1F | 0x20 => {
                self.token()?;
                self.type_(inner)
            }
            0x45 => self.type_(inner),
            _ => self.error(start, "a type"),
        }
    }

    fn suffixed(&mut self, depth: u32, suffix: &str) -> Result<String, SignatureError> {
        let mut text = self.type_(depth)?;
        text.push_str(suffix);
        Ok(text)
    }

    fn named(&mut self, token: u32) -> String {
        self.names.type_name(token).unwrap_or_else(|| format!("type_{token:08x}"))
    }

    /// `array(type, rank, sizes, lower bounds)`; only the rank is shown, as C# does.
    fn array(&mut self, depth: u32) -> Result<String, SignatureError> {
        let mut text = self.type_(depth)?;
        let start = self.at;
        let rank = self.number("the rank of an array")?;
        // The runtime refuses more than 32 dimensions.
        if rank == 0 || rank > 32 {
            return self.error(start, "a rank from 1 to 32");
        }
        for _ in 0..2 {
            let count = self.number("a number of array bounds")?;
            for _ in 0..count {
                self.number("an array bound")?;
            }
        }
        text.push('[');
        if rank == 1 {
            text.push('*');
        }
        for _ in 1..rank {
            text.push(',');
        }
        text.push(']');
        Ok(text)
    }

    fn generic(&mut self, depth: u32) -> Result<String, SignatureError> {
        let start = self.at;
        let element = self.byte("class or valuetype")?;
        if element != 0x11 && element != 0x12 {
            return self.error(start, "class or valuetype");
        }
        let token = self.token()?;
        let name = self.named(token);
        let mut text = without_arity(&name).to_string();
        let count = self.number("a number of type arguments")?;
        text.push('<');
        for index in 0..count {
            if index > 0 {
                text.push_str(", ");
            }
            let argument = self.parameter(depth)?;
            text.push_str(&argument);
        }
        text.push('>');
        Ok(text)
    }

    fn function(&mut self, depth: u32) -> Result<String, SignatureError> {
        let signature = self.method(depth)?;
        let mut types = signature.parameters;
        types.push(signature.result);
        Ok(format!("delegate*<{}>", types.join(", ")))
    }
}

/// A type name without the number of its generic parameters: ``List`1`` is `List`.
pub(crate) fn without_arity(name: &str) -> &str {
    match name.rsplit_once('`') {
        Some((plain, arity)) if !arity.is_empty() && arity.bytes().all(|b| b.is_ascii_digit()) => plain,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_testkit::raw::Random;

    struct Names;

    impl TypeNames for Names {
        fn type_name(&mut self, token: u32) -> Option<String> {
            match token {
                0x0200_0002 => Some("TestApp.MethodTest".into()),
                0x0100_0005 => Some("System.Collections.Generic.List`1".into()),
                _ => None,
            }
        }

        fn type_parameter(&mut self, number: u32) -> Option<String> {
            (number == 0).then(|| "T".into())
        }

        fn method_parameter(&mut self, number: u32) -> Option<String> {
            (number == 0).then(|| "TResult".into())
        }
    }

    fn check(bytes: &[u8], expected: &str) {
        let text = match method(bytes, &mut Names) {
            Ok(signature) => format!("{} {}", signature.result, signature.parameter_list()),
            Err(error) => error.to_string(),
        };
        assert_eq!(text, expected, "{bytes:02x?}");
    }

    #[test]
    fn signatures_read_as_c_sharp() {
        check(&[0x00, 2, 0x08, 0x08, 0x08], "int (int, int)");
        check(&[0x20, 1, 0x08, 0x08], "int (int)");
        check(&[0x00, 1, 0x01, 0x1D, 0x0E], "void (string[])");
        check(&[0x00, 1, 0x12, 0x08, 0x10, 0x0D], "TestApp.MethodTest (double&)");
        check(&[0x00, 1, 0x01, 0x15, 0x12, 0x15, 1, 0x13, 0], "void (System.Collections.Generic.List<T>)");
        check(&[0x10, 1, 1, 0x1E, 0, 0x13, 7], "TResult (!7)");
        check(&[0x00, 1, 0x01, 0x14, 0x08, 2, 0, 2, 0, 0], "void (int[,])");
        check(&[0x00, 1, 0x01, 0x1B, 0x00, 1, 0x02, 0x08], "void (delegate*<int, bool>)");
        check(&[0x05, 1, 0x01, 0x08], "void (int, __arglist)");
        check(&[0x00, 2, 0x01, 0x08, 0x41, 0x0E], "void (int, string, __arglist)");
        check(&[0x00, 1, 0x01, 0x1F, 0x09, 0x0F, 0x01], "void (void*)");
        check(&[0x00, 1, 0x01, 0x11, 0x80, 0x91], "void (type_01000024)");
    }

    #[test]
    fn errors_name_the_byte() {
        check(&[], "signature byte 0: needed a calling convention, found the end");
        check(&[0x06, 0x08], "signature byte 0: needed the calling convention of a method, found 0x06");
        check(&[0x00, 1, 0x08], "signature byte 3: needed a type, found the end");
        check(&[0x00, 0, 0x7E], "signature byte 2: needed a type, found 0x7e");
        check(&[0x00, 0xE0], "signature byte 1: needed a number of parameters, found 0xe0");
        check(&[0x00, 0, 0x14, 0x08, 33], "signature byte 4: needed a rank from 1 to 32, found 0x21");
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let mut deep = vec![0x00, 0];
        deep.extend([0x1D; 10_000]);
        assert_eq!(method(&deep, &mut Names).unwrap_err().needed, "fewer types inside types");
        // A type argument list of the largest count, each with the longest known name.
        let mut wide = vec![0x00, 1, 0x01, 0x15, 0x12, 0x15, 0xDF, 0xFF, 0xFF, 0xFF];
        wide.extend([0x12u8, 0x15].repeat(10_000));
        assert_eq!(method(&wide, &mut Names).unwrap_err().needed, "a shorter signature");
    }

    #[test]
    fn any_bytes_end_in_a_result() {
        let mut random = Random::new(7);
        let mut good = 0;
        for _ in 0..50_000 {
            let length = random.below(24) as usize;
            // Mostly small numbers, as in signatures; one byte in eight is any value.
            let bytes: Vec<u8> = (0..length)
                .map(|_| if random.below(8) == 0 { random.below(256) } else { random.below(0x1E) } as u8)
                .collect();
            match method(&bytes, &mut Names) {
                Ok(signature) => {
                    good += 1;
                    assert!(signature.parameter_list().len() <= 2 * MAX_TEXT);
                }
                Err(error) => assert!(error.at <= bytes.len(), "{bytes:02x?}: {error}"),
            }
        }
        assert!(good > 0, "the generator makes some good signatures too: {good}");
    }
}
