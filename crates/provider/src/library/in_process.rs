//! A library in the reader's own process: no socket, no copy between processes, and no protection.
//!
//! The checks are the same, but a library that crashes, loops or writes elsewhere takes the reader with it.
//! It is never the default: an administrator must configure it, and mark the library as trusted.
//!
//! Nothing in this process changes for a library, least of all its environment. The library gets its indexes
//! through an optional function that is named like Open, followed by `Indexes`:
//!
//! ```c
//! void OpenIndexes(const WCHAR *service, DWORD firstCounter, DWORD firstHelp);
//! ```

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;

use super::abi::{Buffer, Library, Others};
use super::check::ERROR_SUCCESS;
use super::client::Answered;
use super::protocol::{Load, Loaded, Stage, wide_of};
use crate::trust::sealed_copy;

/// No library is longer than this in bytes.
const LONGEST: u64 = 1 << 30;

/// The name and the first indexes of a service, which a library in its own process finds in its environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Indexes {
    /// Name of the service.
    pub service: String,
    /// First Counter; 0 when the service has no names.
    pub first_counter: u32,
    /// First Help; 0 when the service has no names.
    pub first_help: u32,
    /// The hash of the library that was marked as trusted.
    pub hash: [u8; 32],
}

/// A library is one for the whole process, however many readers are in it; none of its functions is called
/// while another runs.
static CALLS: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    // Nothing is kept under the lock that a panic could have left half done.
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A library that is loaded and open in this process. Dropping it closes it.
#[derive(Debug)]
pub struct InProcess {
    library: Library,
    buffer: Buffer,
    /// The copy that the library was loaded from. Declared after it: its number may only be used again when
    /// the library is gone.
    _copy: OwnedFd,
}

impl InProcess {
    /// Loads a library, passes it its indexes, and calls Open.
    ///
    /// The file is opened once and copied into memory that nobody can change; the copy is what is compared
    /// with the hash, and what is loaded.
    ///
    /// # Errors
    ///
    /// What did not work, and with which error of NT. Others can change the file, or it is not the trusted
    /// one.
    pub fn load(load: &Load, indexes: &Indexes) -> Result<InProcess, Loaded> {
        let no_memory = |error: io::Error| Loaded {
            stage: Stage::Library,
            error: 8,
            detail: format!("there is no memory for its answers: {error}"),
            ..Loaded::default()
        };
        let file = rustix::fs::memfd_create("tallymon", MemfdFlags::CLOEXEC).map_err(io::Error::from);
        let buffer = file.and_then(|file| Buffer::new(File::from(file))).map_err(no_memory)?;
        let copy = trusted_copy(&load.library, &indexes.hash)?;
        let _alone = alone();
        let library = Library::load(&Load { library: name_of(&copy), ..load.clone() })?;
        library.tell(&load.open, &wide_of(&indexes.service), indexes.first_counter, indexes.first_help);
        match library.open(load.context.as_deref()) {
            ERROR_SUCCESS => Ok(InProcess { library, buffer, _copy: copy }),
            error => Err(Loaded { stage: Stage::OpenFailed, error, ..Loaded::default() }),
        }
    }

    /// Calls Collect, again with a larger buffer as long as it wants one. The answer is not checked yet.
    ///
    /// # Errors
    ///
    /// There is no memory for a larger buffer.
    pub fn collect(&mut self, query: &str) -> io::Result<Answered> {
        self.collect_of(&wide_of(query), &[], 0)
    }

    /// The same with objects of others, so many of them, where the buffer begins.
    pub(crate) fn collect_of(&mut self, query: &[u16], objects: &[u8], count: u32) -> io::Result<Answered> {
        let _alone = alone();
        let start = Instant::now();
        let others = Others { bytes: objects, count };
        let (returned, calls) = self.library.collect(query, others, &mut self.buffer)?;
        let time: Duration = start.elapsed();
        Ok(Answered { returned, data: self.buffer.copy(returned.bytes), calls, time })
    }
}

/// `ERROR_ACCESS_DENIED`.
const ERROR_ACCESS_DENIED: u32 = 5;

fn trusted_copy(library: &str, hash: &[u8; 32]) -> Result<OwnedFd, Loaded> {
    let refused = |detail: String| Loaded {
        stage: Stage::Library,
        error: ERROR_ACCESS_DENIED,
        detail,
        ..Loaded::default()
    };
    match sealed_copy(Path::new(library), LONGEST) {
        Ok((copy, found)) if found == *hash => Ok(copy),
        Ok(_) => Err(refused("its contents are not those that were marked as trusted".to_string())),
        Err(error) => Err(refused(error.to_string())),
    }
}

/// A path to an open file that no other file of this process had before: the loader takes a path that it
/// knows for the library that it knows, also when the number of the file was used again.
fn name_of(copy: &OwnedFd) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("/proc/self/{}fd/{}", "./".repeat(number.wrapping_rem(1000)), copy.as_raw_fd())
}

impl Drop for InProcess {
    fn drop(&mut self) {
        let _alone = alone();
        // Nothing can be done about an error here.
        let _ = self.library.close();
    }
}
