//! Whether a library is still the one that an administrator marked as trusted: `Library Validation Code`.

use std::fmt;
use std::path::Path;

use super::files::identity;
use super::service::Service;

/// Identifies a library's file at the time when it was marked as trusted: device, number and length of the
/// file, and the time of its last change. The kernel keeps that time, so a change of the file changes the
/// code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidationCode([u64; 4]);

/// Whether a library is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// It was never marked.
    Unmarked,
    /// It is the library that was marked.
    Trusted,
    /// It has changed since, or can not be checked.
    Changed,
}

impl ValidationCode {
    /// The code of a library as it is now; `None` when there is no such file. A library without a path, which
    /// the system's loader looks up, has none.
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
    /// Whether its library is trusted and has not changed since.
    pub fn trust(&self) -> Trust {
        if !self.trusted {
            return Trust::Unmarked;
        }
        let now = self.library.as_deref().and_then(ValidationCode::of);
        match (self.validation_code, now) {
            (Some(then), Some(now)) if then == now => Trust::Trusted,
            // An INI file can mark a library as trusted before the library exists.
            (None, None) => Trust::Unmarked,
            _ => Trust::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_library_is_not_trusted() {
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
    fn invalid_code_is_refused() {
        for text in ["", "0", &"0".repeat(63), &"0".repeat(65), &"x".repeat(64), &"é".repeat(32)] {
            assert_eq!(ValidationCode::parse(text), None, "{text}");
        }
    }
}
