//! Something that takes its time, on a thread of its own: the screen goes on and looks for the answer later.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// An answer on its way. What was begun is done also when nobody waits for it any longer.
#[derive(Debug)]
pub(crate) struct Task<T>(Receiver<T>);

impl<T: Send + 'static> Task<T> {
    /// Begins to do something.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub(crate) fn begin(work: impl FnOnce() -> T + Send + 'static) -> std::io::Result<Task<T>> {
        let (done, answer) = mpsc::channel();
        let run = move || {
            // Whoever wanted to know may have gone meanwhile.
            let _ = done.send(work());
        };
        thread::Builder::new().name("task".to_string()).spawn(run)?;
        Ok(Task(answer))
    }

    /// The answer, if it comes within a time; an error when its thread ended without one.
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
    fn the_answer_comes_when_it_is_there_and_no_answer_is_told() {
        let (go, gate) = mpsc::channel::<u32>();
        let task = Task::begin(move || gate.recv().ok()).unwrap();
        assert_eq!(task.wait(Duration::ZERO), None, "it is not there yet");
        go.send(7).unwrap();
        assert_eq!(task.wait(Duration::from_secs(60)), Some(Ok(Some(7))));
        assert!(task.wait(Duration::from_secs(60)).is_some_and(|answer| answer.is_err()), "it was taken");
    }
}
