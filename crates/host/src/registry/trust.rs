//! Whether a library is still the one that an administrator marked as trusted: `Library Validation Code`.

use std::fmt;
use std::path::Path;

use super::files::identity;
use super::service::Service;

/// What a library's file was when it was marked as trusted: device, number and length of the file, and when
/// it was changed last. The kernel keeps that time, so nobody can change the file and leave the code as it
/// was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidationCode([u64; 4]);

/// Whether a library is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// Nobody marked it.
    Unmarked,
    /// It is the one that was marked.
    Trusted,
    /// It has been changed since, or it can not be told.
    Changed,
}

impl ValidationCode {
    /// The code of a library as it is now; `None` when there is no such file. A library without a path, which
    /// the system's loader looks for, has none.
    pub fn of(library: &str) -> Option<ValidationCode> {
        let path = Path::new(library);
        path.is_absolute().then(|| identity(path).map(ValidationCode)).flatten()
    }

    /// The code of 64 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<ValidationCode> {
        let mut code = [0u64; 4];
        let (parts, rest) = text.as_bytes().as_chunks::<16>();
        if !rest.is_empty() || parts.len() != code.len() {
            return None;
        }
        for (number, part) in code.iter_mut().zip(parts) {
            *number = u64::from_str_radix(str::from_utf8(part).ok()?, 16).ok()?;
        }
        Some(ValidationCode(code))
    }
}

impl fmt::Display for ValidationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|number| write!(f, "{number:016x}"))
    }
}

impl Service {
    /// Whether its library is trusted, and still the one that was.
    pub fn trust(&self) -> Trust {
        if !self.trusted {
            return Trust::Unmarked;
        }
        let now = self.library.as_deref().and_then(ValidationCode::of);
        match (self.validation_code, now) {
            (Some(then), Some(now)) if then == now => Trust::Trusted,
            // An INI file can say that a library is trusted before there is one.
            (None, None) => Trust::Unmarked,
            _ => Trust::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_was_changed_is_no_longer_trusted() {
        let path = std::env::temp_dir().join(format!("tallymon-trust-{}", std::process::id()));
        std::fs::write(&path, "one").unwrap();
        let library = path.display().to_string();
        let code = ValidationCode::of(&library);
        assert_eq!(code.and_then(|code| ValidationCode::parse(&code.to_string())), code);
        let mut service = Service { library: Some(library.clone()), ..Service::default() };
        assert_eq!(service.trust(), Trust::Unmarked);
        (service.trusted, service.validation_code) = (true, code);
        assert_eq!(service.trust(), Trust::Trusted);
        std::fs::write(&path, "other").unwrap();
        assert_eq!(service.trust(), Trust::Changed);
        std::fs::remove_file(&path).unwrap();
        assert_eq!((service.trust(), ValidationCode::of(&library)), (Trust::Changed, None));
        assert_eq!(ValidationCode::of("libc.so.6"), None);
    }

    #[test]
    fn what_is_no_code_is_none() {
        for text in ["", "0", &"0".repeat(63), &"0".repeat(65), &"x".repeat(64), &"é".repeat(32)] {
            assert_eq!(ValidationCode::parse(text), None, "{text}");
        }
    }
}
