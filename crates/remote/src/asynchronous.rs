//! The one place of asynchronous work: runtimes, and what the crates that talk to many at once need of tokio
//! and its companions. No other crate names these, so there is one version, one set of features and one way
//! to begin and to end.
//!
//! A [`Runtime`] has no thread of its own: its work is done in the threads that wait for it. Connections to
//! hosts whose readers are synchronous share one, [`shared`]; a server has one to itself, so that nothing
//! which a host does stops it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[cfg(feature = "asynchronous-http")]
pub use hyper_util::rt::{TokioIo as HttpStream, TokioTimer as HttpTimer};
pub use tokio::{io as stream, net, spawn, sync, task, time};
#[cfg(feature = "asynchronous-tls")]
pub use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Names are looked up on threads, and one that hangs keeps its thread: room for more hosts than anybody
/// reads, so that those which hang do not keep others from being looked up.
const MOST_THREADS: usize = 4_096;

/// Runs asynchronous work. When it is dropped, its work ends, and nothing is waited for: a name that is being
/// looked up may hang.
pub struct Runtime {
    runtime: Option<tokio::runtime::Runtime>,
    /// The process that has begun it. A forked child has the memory of its parent, and must neither wait for
    /// events with its parent's descriptors nor end its parent's work.
    process: u32,
}

impl Runtime {
    /// A runtime; threads that it needs for blocking work have this name.
    ///
    /// # Errors
    ///
    /// The system has no descriptors for it.
    pub fn new(name: &str) -> io::Result<Runtime> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().thread_name(name).max_blocking_threads(MOST_THREADS);
        builder.build().map(|runtime| Runtime { runtime: Some(runtime), process: std::process::id() })
    }

    /// Runs work to its end in this thread. Several threads may wait at a time; one of them also does what
    /// was started for others.
    ///
    /// # Errors
    ///
    /// The runtime has ended, or is that of the process from which this one was forked.
    pub fn wait<F: Future>(&self, work: F) -> io::Result<F::Output> {
        if !self.is_of_this_process() {
            return Err(io::Error::other("the connection belongs to the process that was forked"));
        }
        let runtime = self.runtime.as_ref().ok_or_else(|| io::Error::other("the connection has ended"))?;
        Ok(runtime.block_on(work))
    }

    /// Lets work that was ended give back what it holds, such as a socket. Without it, that would wait for
    /// the next thread that waits here. Where asynchronous work runs, it does wait for that.
    pub fn let_go(&self) {
        if self.is_of_this_process() && tokio::runtime::Handle::try_current().is_err() {
            let _ = self.wait(task::yield_now());
        }
    }

    /// Ends it, and waits at most so long for blocking work.
    pub fn end(mut self, patience: Duration) {
        if self.is_of_this_process() {
            self.runtime.take().into_iter().for_each(|runtime| runtime.shutdown_timeout(patience));
        }
    }

    /// Whether this process has begun it, and not the one from which it was forked.
    pub fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let runtime = self.runtime.take();
        match self.is_of_this_process() {
            true => runtime.into_iter().for_each(tokio::runtime::Runtime::shutdown_background),
            false => std::mem::forget(runtime),
        }
    }
}

/// Runs work to its end in this thread, and then waits for nothing.
///
/// # Errors
///
/// The system has no descriptors for it.
pub fn run<F: Future>(work: F) -> io::Result<F::Output> {
    Runtime::new("once")?.wait(work)
}

/// The runtime of this process, or in a forked child at first that of its parent.
static SHARED: Mutex<Option<Arc<Runtime>>> = Mutex::new(None);

/// The runtime that all connections of this process share. Each waits in its own thread, so one that is stuck
/// stops no other.
///
/// # Errors
///
/// The system has no descriptors for it.
pub fn shared() -> io::Result<Arc<Runtime>> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = shared.as_ref().filter(|runtime| runtime.is_of_this_process()) {
        return Ok(Arc::clone(runtime));
    }
    let runtime = Arc::new(Runtime::new("remote")?);
    *shared = Some(Arc::clone(&runtime));
    Ok(runtime)
}

#[cfg(test)]
#[path = "asynchronous_tests.rs"]
mod tests;
