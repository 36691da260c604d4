//! Answers on their way.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tallymon_core::flow::{Source, SourceError};

use super::question::Question;
use super::thread_ended;

/// An answer that the thread of a source will give, such as the names and objects of the source. A question
/// whose answer nobody waits for any longer is not asked.
#[derive(Debug)]
pub struct Pending<T> {
    answer: Receiver<Result<T, SourceError>>,
    since: Instant,
    /// The question is asked as long as this is there.
    _wanted: Arc<()>,
}

impl<T: Send + 'static> Pending<T> {
    pub(super) fn ask(
        questions: &Sender<Question>,
        question: impl FnOnce(&mut dyn Source) -> Result<T, SourceError> + Send + 'static,
    ) -> Pending<T> {
        let (reply, answer) = mpsc::channel();
        let wanted = Arc::new(());
        let is_wanted: Weak<()> = Arc::downgrade(&wanted);
        let call = move |source: Result<&mut dyn Source, SourceError>| {
            if is_wanted.strong_count() > 0 {
                // The asker may have gone while the source was busy.
                let _ = reply.send(source.and_then(question));
            }
        };
        // When the thread has ended, the reply is dropped with the call, and `wait` says so.
        let _ = questions.send(Question::Call(Box::new(call)));
        Pending { answer, since: Instant::now(), _wanted: wanted }
    }
}

impl<T> Pending<T> {
    /// The answer, if it comes within a time. It is given once.
    pub fn wait(&self, patience: Duration) -> Option<Result<T, SourceError>> {
        match self.answer.recv_timeout(patience) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(thread_ended())),
        }
    }

    /// How long ago the question was put.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }
}
