//! What is known to be wrong, and the look for it that is under way. `findings` begins it.

use std::time::{Duration, Instant};

use tallymon::analyze::Finding;

use crate::model::findings::Findings;
use crate::term::task::Task;

/// What a look through the history or the log brought, and how long it took.
type Answer = Task<(Result<Findings, String>, Duration)>;

/// What is wrong, and the look for it that is under way. Dropping this ends the thread at the next record.
#[derive(Debug, Default)]
pub(crate) struct FindingsState {
    pub(crate) found: Findings,
    /// The finding that the chart shows, with its text.
    pub(crate) shown: Option<Finding>,
    /// The finding whose mark was clicked; the list opens at it.
    pub(crate) pointed: Option<usize>,
    /// Why the log could not be looked through.
    pub(crate) failed: Option<String>,
    /// A look has ended, however it did.
    pub(crate) has_looked: bool,
    pub(crate) running: Option<Running>,
    pub(super) begun: Option<Instant>,
    /// How long to wait until the next look at the history.
    pub(crate) pause: Duration,
}

/// A look that is under way.
#[derive(Debug)]
pub(crate) struct Running {
    pub(super) answer: Answer,
}

impl Running {
    /// Begins to look on a thread; the work asks whether somebody still waits for it.
    pub(crate) fn begin(
        work: impl FnOnce(&dyn Fn() -> bool) -> Result<Findings, String> + Send + 'static,
    ) -> std::io::Result<Running> {
        let answer = Task::begin_while(move |is_wanted| {
            let begin = Instant::now();
            let found = work(is_wanted);
            (found, begin.elapsed())
        })?;
        Ok(Running { answer })
    }
}

impl FindingsState {
    pub(crate) const fn is_running(&self) -> bool {
        self.running.is_some()
    }
}
