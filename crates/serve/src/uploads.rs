//! Where uploads and other temporary files are kept: a folder of ours, with a limit.

use std::sync::Arc;

use hyper::StatusCode;
use tallymon::core::visible::visible;

use crate::http::Refused;

/// Where uploads go, and how large they may be, all together.
#[derive(Debug)]
pub(crate) struct Uploads {
    folder: std::path::PathBuf,
    /// Bytes that are still free.
    room: std::sync::atomic::AtomicU64,
    limit: u64,
    number: std::sync::atomic::AtomicU64,
}

impl Uploads {
    /// A new folder that nobody else can read.
    pub(crate) fn new(limit: u64) -> std::io::Result<Uploads> {
        let mut random = [0u8; 8];
        getrandom::fill(&mut random)?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = std::env::temp_dir().join(format!("tallymon-uploads-{name}"));
        private_folder(&folder)?;
        let (room, number) = (std::sync::atomic::AtomicU64::new(limit), std::sync::atomic::AtomicU64::new(0));
        Ok(Uploads { folder, room, limit, number })
    }

    /// Takes so many bytes of the room that is left.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), Refused> {
        use std::sync::atomic::Ordering::Relaxed;
        let taken = self.room.fetch_update(Relaxed, Relaxed, |room| room.checked_sub(bytes));
        taken.map(drop).map_err(|_| {
            let words = format!(
                "uploads may have {} MiB together; close one, or give large logs to 'tally serve FILE'",
                self.limit >> 20
            );
            Refused::new(StatusCode::PAYLOAD_TOO_LARGE, words)
        })
    }

    /// Takes room for a copy of a log. A refusal says whose log is too large.
    fn take_for_copy(&self, name: &str, bytes: u64) -> Result<(), Refused> {
        self.take(bytes).map_err(|Refused { status, .. }| {
            let free = self.room.load(std::sync::atomic::Ordering::Relaxed);
            let words = format!(
                "{} has {} MiB, and this needs a copy of it: copies and uploads may have {} MiB together \
                 (--uploads), of which {} MiB are free; close an upload, or start 'tally serve' with a \
                 larger --uploads",
                visible(name),
                bytes.div_ceil(1 << 20),
                self.limit >> 20,
                free >> 20
            );
            Refused::new(status, words)
        })
    }

    /// Room of a log that was closed.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.room.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Uploads {
    /// A name that no file has yet.
    pub(crate) fn new_path(&self) -> std::path::PathBuf {
        let number = self.number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.folder.join(number.to_string())
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        // What is left in a temporary folder is removed by the system.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(unix)]
fn private_folder(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private_folder(path: &std::path::Path) -> std::io::Result<()> {
    // The temporary folder of Windows belongs to the user.
    std::fs::create_dir(path)
}

/// A file of ours that is removed at the end.
#[derive(Debug)]
pub(crate) struct Temporary {
    uploads: Arc<Uploads>,
    path: std::path::PathBuf,
    bytes: u64,
}

impl Temporary {
    /// A name for a new file, which takes about so many bytes of the room for uploads.
    pub(crate) fn new(uploads: &Arc<Uploads>, bytes: u64) -> Result<Temporary, Refused> {
        uploads.take(bytes)?;
        Ok(Temporary { uploads: Arc::clone(uploads), path: uploads.new_path(), bytes })
    }

    /// A name for a copy of a log, which takes about as many bytes as the log.
    pub(crate) fn copy_of(name: &str, bytes: u64, uploads: &Arc<Uploads>) -> Result<Temporary, Refused> {
        uploads.take_for_copy(name, bytes)?;
        Ok(Temporary { uploads: Arc::clone(uploads), path: uploads.new_path(), bytes })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        self.uploads.give_back(self.bytes);
    }
}
