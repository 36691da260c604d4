//! What the user wants done to something else than the picture: a library is disabled, a recording is stopped.

use std::time::Duration;

use super::app::App;
use super::task::Task;

/// How it went, in a line for the user.
pub(super) type Deed = Task<Result<String, String>>;

impl App {
    /// Begins to do something; how it went is told when it is done.
    pub(super) fn begin_deed(&mut self, work: impl FnOnce() -> Result<String, String> + Send + 'static) {
        match Task::begin(work) {
            Ok(deed) => self.deeds.push(deed),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Whether something is being done, or read for a screen.
    pub fn is_doing(&self) -> bool {
        !self.deeds.is_empty()
    }

    /// Tells how it went, when it is done within a time; whether anything looks different now.
    pub fn deed_comes(&mut self, patience: Duration) -> bool {
        let mut done = Vec::new();
        self.deeds.retain(|deed| match deed.wait(patience) {
            Some(answer) => {
                done.push(answer.unwrap_or_else(|words| Err(words.to_string())));
                false
            }
            None => true,
        });
        let Some(last) = done.pop() else { return false };
        let (Ok(words) | Err(words)) = last;
        // A message has one line.
        self.message = Some(words.lines().collect::<Vec<_>>().join("; "));
        true
    }
}
