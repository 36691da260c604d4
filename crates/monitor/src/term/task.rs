//! Work on a thread, whose result is polled.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// A result that is being computed. Dropping it stops only work that asks whether it is still wanted.
#[derive(Debug)]
pub(crate) struct Task<T> {
    answer: Receiver<T>,
    _wanted: Arc<()>,
}

impl<T: Send + 'static> Task<T> {
    /// Starts the work.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub(crate) fn begin(work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<Task<T>> {
        Task::begin_while(move |_| work())
    }

    /// Starts work that asks whether somebody still waits for it.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub(crate) fn begin_while(
        work: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
    ) -> std::io::Result<Task<T>> {
        let (done, answer) = mpsc::channel();
        let wanted = Arc::new(());
        let is_wanted = Arc::downgrade(&wanted);
        let run = move || {
            // The receiver may be gone already.
            let _ = done.send(work(&|| is_wanted.strong_count() > 0));
        };
        thread::Builder::new().name("task".to_string()).spawn(run)?;
        Ok(Task { answer, _wanted: wanted })
    }

    /// The result, if it is ready within a time; an error when the thread ended without one.
    pub(crate) fn wait(&self, patience: Duration) -> Option<Result<T, &'static str>> {
        match self.answer.recv_timeout(patience) {
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

    #[test]
    fn work_learns_that_nobody_waits_for_it() {
        let (say, said) = mpsc::channel();
        let task = Task::begin_while(move |is_wanted| {
            let begin = std::time::Instant::now();
            say.send(is_wanted()).unwrap();
            while is_wanted() && begin.elapsed() < Duration::from_secs(60) {
                thread::sleep(Duration::from_millis(1));
            }
            say.send(is_wanted()).unwrap();
        });
        let task = task.unwrap();
        assert_eq!(said.recv(), Ok(true));
        drop(task);
        assert_eq!(said.recv(), Ok(false));
    }
}
