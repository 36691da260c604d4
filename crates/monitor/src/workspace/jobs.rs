//! What the user wants done to something else than the picture: a library is disabled, a recording is stopped.

use std::path::PathBuf;
use std::time::Duration;

use crate::app::{App, Overlay};
use crate::term::task::Task;

/// How it went.
pub(crate) enum Done {
    /// In a line for the user.
    Said(String),
    /// These logs are to be shown.
    Open(Vec<PathBuf>),
}

/// Something that is being done; when it fails, why, for the user.
pub(crate) type Deed = Task<Result<Done, String>>;

impl App {
    /// Begins to do something; how it went is told when it is done.
    pub(crate) fn begin_deed(&mut self, work: impl FnOnce() -> Result<Done, String> + Send + 'static) {
        match Task::begin(work) {
            Ok(deed) => self.deeds.push(deed),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Whether something is being done, or read for a screen.
    pub fn is_doing(&self) -> bool {
        let is_asked = matches!(&self.overlay, Overlay::Sessions(screen) if screen.is_asked());
        is_asked || !self.deeds.is_empty()
    }

    /// Takes what is done within a time; whether anything looks different now.
    pub fn deed_comes(&mut self, patience: Duration) -> bool {
        let mut done = Vec::new();
        self.deeds.retain(|deed| match deed.wait(patience) {
            Some(answer) => {
                done.push(answer.unwrap_or_else(|words| Err(words.to_string())));
                false
            }
            None => true,
        });
        let has_news = !done.is_empty();
        for answer in done {
            match answer {
                Ok(Done::Open(logs)) => self.open_files(&logs),
                // A message has one line.
                Ok(Done::Said(words)) | Err(words) => {
                    self.message = Some(words.lines().collect::<Vec<_>>().join("; "));
                }
            }
        }
        if has_news {
            self.look_at_sessions();
        }
        match &mut self.overlay {
            Overlay::Sessions(screen) => screen.comes(patience) || has_news,
            _ => has_news,
        }
    }
}
