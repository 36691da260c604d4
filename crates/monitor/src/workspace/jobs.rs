//! Jobs: work outside the screen, on a thread of its own. A library is disabled, a recording is stopped.

use std::time::Duration;

use crate::term::task::Task;
use crate::workspace::state::{Done, Workspace};

impl Workspace {
    /// Starts a job. Its result becomes a message, or opens logs.
    pub(crate) fn begin_job(&mut self, work: impl FnOnce() -> Result<Done, String> + Send + 'static) {
        match Task::begin(work) {
            Ok(job) => self.jobs.push(job),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Whether jobs are running.
    pub(crate) const fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Takes the jobs that end within a time; whether any did.
    pub(crate) fn take_jobs(&mut self, patience: Duration) -> bool {
        let mut ended = Vec::new();
        self.jobs.retain(|job| match job.wait(patience) {
            Some(answer) => {
                ended.push(answer.unwrap_or_else(|words| Err(words.to_string())));
                false
            }
            None => true,
        });
        let has_news = !ended.is_empty();
        for answer in ended {
            match answer {
                Ok(Done::Open(logs)) => self.open_files(&logs),
                // A message has one line.
                Ok(Done::Said(words)) | Err(words) => {
                    self.message = Some(words.lines().collect::<Vec<_>>().join("; "));
                }
            }
        }
        has_news
    }
}
