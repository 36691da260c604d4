//! Work on a thread, whose result is polled.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// A result that is being computed. Dropping it does not stop the work.
#[derive(Debug)]
pub(crate) struct Task<T>(Receiver<T>);

impl<T: Send + 'static> Task<T> {
    /// Starts the work.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub(crate) fn begin(work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<Task<T>> {
        let (done, answer) = mpsc::channel();
        let run = move || {
            // The receiver may be gone already.
            let _ = done.send(work());
        };
        thread::Builder::new().name("task".to_string()).spawn(run)?;
        Ok(Task(answer))
    }

    /// The result, if it is ready within a time; an error when the thread ended without one.
    pub(crate) fn wait(&self, patience: Duration) -> Option<Result<T, &'static str>> {
        match self.0.recv_timeout(patience) {
            Ok(answer) => Some(Ok(answer)),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err("the thread that did it has ended")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_result_is_returned_once_and_then_an_error() {
        let (go, gate) = mpsc::channel::<u32>();
        let task = Task::begin(move || gate.recv().ok()).unwrap();
        assert_eq!(task.wait(Duration::ZERO), None, "it is not there yet");
        go.send(7).unwrap();
        assert_eq!(task.wait(Duration::from_secs(60)), Some(Ok(Some(7))));
        assert!(task.wait(Duration::from_secs(60)).is_some_and(|answer| answer.is_err()), "it was taken");
    }
}
