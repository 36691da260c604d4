//! A file without a name, for as long as it is open.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Attempts to find a name that nobody has.
const ATTEMPTS: u32 = 100;

/// Whether the folder for large temporary files exists by convention.
const HAS_VAR_TMP: bool = cfg!(unix);

/// Where such files are: `TMPDIR`, else a folder that is on a disk, as unpacked logs are large.
pub(crate) fn folder() -> PathBuf {
    let usual = std::env::temp_dir();
    let on_disk = Path::new("/var/tmp");
    if std::env::var_os("TMPDIR").is_none() && HAS_VAR_TMP && on_disk.is_dir() {
        on_disk.to_owned()
    } else {
        usual
    }
}

/// Makes such a file. Nobody else can open it.
pub(crate) fn temporary() -> io::Result<File> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let folder = folder();
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("tallymon-{}-{nth}.temporary", std::process::id()));
        match create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
            made => return made,
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other("no name is free")))
}

#[cfg(unix)]
fn create(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    // Whoever ends, and however, leaves nothing behind.
    std::fs::remove_file(path)?;
    Ok(file)
}

#[cfg(windows)]
fn create(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;

    const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
    const FILE_ATTRIBUTE_TEMPORARY: u32 = 0x100;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .share_mode(0)
        .attributes(FILE_ATTRIBUTE_TEMPORARY)
        .custom_flags(FILE_FLAG_DELETE_ON_CLOSE)
        .open(path)
}
