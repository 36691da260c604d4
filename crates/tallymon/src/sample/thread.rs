//! The thread that owns the source, and what it sends back.

use std::sync::mpsc::{Receiver, Sender};

use tallymon_core::block::Snapshot;
use tallymon_core::flow::{Source, SourceError};
use tallymon_core::time::FileTime;

use super::listener::Listeners;
use super::question::{Question, SampleQuestion};
use crate::clock::now;

/// Opens the source; called again as long as that fails.
pub(super) type Open = Box<dyn FnMut() -> Result<Box<dyn Source>, SourceError> + Send>;

/// What became of a question for a sample.
pub(super) struct Answer {
    pub(super) question: SampleQuestion,
    /// `None` when all its listeners were gone before the source was asked.
    pub(super) result: Option<Result<Snapshot, SourceError>>,
    /// When the source was asked, and when it had answered, by the clock of this machine.
    pub(super) window: (FileTime, FileTime),
}

/// Answers questions until nobody can ask any more.
pub(super) fn serve(
    mut open: Open,
    questions: &Receiver<Question>,
    answers: &Sender<Answer>,
    listeners: &Listeners,
) {
    let mut source: Option<Box<dyn Source>> = None;
    while let Ok(question) = questions.recv() {
        match question {
            Question::Sample(question) => {
                // A source that hung must not work through samples that nobody waits for any longer.
                let is_wanted = question.listeners.iter().any(|id| listeners.has(*id));
                let begin = now();
                let result = is_wanted.then(|| {
                    opened(&mut source, &mut open).and_then(|open| open.snapshot(&question.request))
                });
                let window = (begin, now());
                if answers.send(Answer { question, result, window }).is_err() {
                    return;
                }
            }
            Question::Call(call) => call(opened(&mut source, &mut open)),
            Question::GiveBack(snapshot) => {
                if let Some(source) = &mut source {
                    source.give_back(snapshot);
                }
            }
        }
    }
}

/// The source, which is opened by the first question that finds it closed.
fn opened<'s>(
    source: &'s mut Option<Box<dyn Source>>,
    open: &mut Open,
) -> Result<&'s mut dyn Source, SourceError> {
    let open = match source.take() {
        Some(open) => open,
        None => open()?,
    };
    Ok(source.insert(open).as_mut())
}
