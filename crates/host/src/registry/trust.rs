//! Whether a library can be changed by others, and whether it is still the one that an administrator marked
//! as trusted: `Library Validation Code`.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use tallymon_provider::trust::{Sha256, Untrusted, check_path, open_file};

use super::files::identity;
use super::service::Service;

/// Identifies a library by its contents: the SHA-256 of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidationCode([u8; 32]);

/// Whether a library is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// It was never marked.
    Unmarked,
    /// It is the library that was marked.
    Trusted,
    /// It has changed since, or cannot be checked.
    Changed,
    /// Others than root and this user can change it, whatever it contains now.
    Unsafe,
}

/// The codes of files that were read before, so that a list of services does not read each of them again.
/// What is loaded is compared when it is loaded, without this.
type Codes = HashMap<PathBuf, ([u64; 4], ValidationCode)>;
static CODES: LazyLock<Mutex<Codes>> = LazyLock::new(Mutex::default);
/// How many are kept.
const MOST_CODES: usize = 1024;

impl ValidationCode {
    /// The code of a library as it is now; `None` when there is no such file. A library without a path, which
    /// the system's loader looks up, has none.
    pub fn of(library: &str) -> Option<ValidationCode> {
        let path = Path::new(library);
        if !path.is_absolute() {
            return None;
        }
        let identity = identity(path)?;
        let mut codes = CODES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, code)) = codes.get(path).filter(|(known, _)| *known == identity) {
            return Some(*code);
        }
        let code = ValidationCode(hash(path).ok()?);
        if codes.len() >= MOST_CODES {
            codes.clear();
        }
        codes.insert(path.to_path_buf(), (identity, code));
        Some(code)
    }

    /// The hash.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "libraries run on Linux only"))]
    pub(crate) const fn hash(self) -> [u8; 32] {
        self.0
    }

    /// The code of 64 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<ValidationCode> {
        let mut code = [0u8; 32];
        let (parts, rest) = text.as_bytes().as_chunks::<2>();
        if !rest.is_empty() || parts.len() != code.len() {
            return None;
        }
        for (byte, part) in code.iter_mut().zip(parts) {
            *byte = u8::from_str_radix(str::from_utf8(part).ok()?, 16).ok()?;
        }
        Some(ValidationCode(code))
    }
}

impl fmt::Display for ValidationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The hash of a file; a link to it is followed.
fn hash(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = open_file(&std::fs::canonicalize(path)?)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0u8; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hash.finish()),
            Ok(length) => hash.add(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Service {
    /// Which part of the path of its library others than root and this user could change; such a library is
    /// not loaded. A library without a path is looked for by the system's loader in folders of root.
    ///
    /// # Errors
    ///
    /// The part and why.
    pub fn check_place(&self) -> Result<(), Untrusted> {
        match self.library.as_deref().map(Path::new) {
            Some(library) if library.is_absolute() => check_path(library),
            _ => Ok(()),
        }
    }

    /// The library, or a folder above it, that not every user can read or enter. Such a library has no user
    /// of its own, who could not load it: it runs as the reader, also as root.
    #[cfg(unix)]
    pub fn closed_to_others(&self) -> Option<PathBuf> {
        use std::os::unix::fs::MetadataExt;
        // A name without folders is looked up by the system's loader, where all may read.
        let library = self.library.as_deref().map(Path::new).filter(|library| library.is_absolute())?;
        // What is not there will be said when it is loaded.
        let is_closed = |path: &Path, bit: u32| path.metadata().is_ok_and(|about| about.mode() & bit == 0);
        let folders = library.ancestors().skip(1).filter(|folder| is_closed(folder, 0o001));
        let file = is_closed(library, 0o004).then_some(library);
        folders.last().or(file).map(Path::to_path_buf)
    }

    /// On Windows no library has a user of its own.
    #[cfg(not(unix))]
    pub fn closed_to_others(&self) -> Option<PathBuf> {
        None
    }

    /// Whether its library is trusted and has not changed since.
    pub fn trust(&self) -> Trust {
        if !self.trusted {
            return Trust::Unmarked;
        }
        if self.check_place().is_err() {
            return Trust::Unsafe;
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
        std::fs::write(&path, "two").unwrap();
        assert_eq!(service.trust(), Trust::Changed);
        // Another file with the same contents is the same library.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "one").unwrap();
        assert_eq!(service.trust(), Trust::Trusted);
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
