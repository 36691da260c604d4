//! A library in the reader's own process: no socket, no copy between processes, and no protection.
//!
//! The checks are the same ones, but a library that crashes, loops or writes elsewhere takes the reader with it. It is
//! never chosen by itself: whoever runs the reader names the services.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;

use super::abi::{Buffer, Library, Others};
use super::check::ERROR_SUCCESS;
use super::client::Answered;
use super::protocol::{Load, Loaded, Stage, wide_of};

/// A library that is loaded and opened here. It is closed when this goes away.
#[derive(Debug)]
pub struct InProcess {
    library: Library,
    buffer: Buffer,
}

impl InProcess {
    /// Loads a library, and calls Open with these variables in the environment, which stay there: other threads should
    /// not have C code look at the environment at the same time.
    ///
    /// # Errors
    ///
    /// What did not work, and with which error of NT.
    pub fn load(load: &Load, environment: &[(String, String)]) -> Result<InProcess, Loaded> {
        let no_memory = |error: io::Error| Loaded {
            stage: Stage::Library,
            error: 8,
            detail: format!("there is no memory for its answers: {error}"),
        };
        let file = rustix::fs::memfd_create("tallymon", MemfdFlags::CLOEXEC).map_err(io::Error::from);
        let buffer = file.and_then(|file| Buffer::new(File::from(file))).map_err(no_memory)?;
        let library = Library::load(load)?;
        match library.open_with(load.context.as_deref(), environment) {
            ERROR_SUCCESS => Ok(InProcess { library, buffer }),
            error => Err(Loaded { stage: Stage::OpenFailed, error, detail: String::new() }),
        }
    }

    /// Calls Collect, again with a larger buffer as long as it wants one. The answer is not checked yet.
    ///
    /// # Errors
    ///
    /// There is no memory for a larger buffer.
    pub fn collect(&mut self, query: &str) -> io::Result<Answered> {
        let start = Instant::now();
        let (returned, calls) = self.library.collect(&wide_of(query), Others::default(), &mut self.buffer)?;
        let time: Duration = start.elapsed();
        Ok(Answered { returned, data: self.buffer.copy(returned.bytes), calls, time })
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        // There is nobody who could do anything about an error.
        let _ = self.library.close();
    }
}
