//! Opens a file on a thread: a log of gigabytes takes a while, and keys work meanwhile.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tallymon::Log;
use tallymon::log::{BytesRead, ReadOptions};

use crate::settings::{EXTENSION, Settings};
use crate::term::task::Task;
use crate::term::theme::Theme;
use crate::words::{Word, Words};

/// Cells of the bar.
const BAR: usize = 20;

/// The content of a file.
pub(crate) enum Opened {
    Log(Log),
    Settings(Box<Settings>),
    /// Why it cannot be opened.
    Failed(String),
}

/// A file that is being opened. Dropping this ends the thread at the next record.
pub(crate) struct Opening {
    paths: Vec<PathBuf>,
    /// Bytes of the files; 0 where that is not known.
    size: u64,
    read: BytesRead,
    /// `None` when it was cancelled.
    answer: Task<Option<Opened>>,
    /// The progress that was shown last.
    shown: u64,
    /// Compare it with what is shown.
    pub(crate) is_compared: bool,
    _wanted: Arc<()>,
}

impl Opening {
    /// Starts to open a file by its content, or several logs as one.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub(crate) fn begin(paths: &[PathBuf], options: &ReadOptions) -> std::io::Result<Opening> {
        let read = BytesRead::default();
        let options = ReadOptions { bytes_read: read.clone(), ..options.clone() };
        let wanted = Arc::new(());
        let is_wanted = Arc::downgrade(&wanted);
        let files = paths.to_vec();
        let answer = Task::begin(move || open(&files, &options, &is_wanted))?;
        let sizes = paths.iter().map(|path| path.metadata().map_or(0, |known| known.len()));
        let size = sizes.fold(0, u64::saturating_add);
        Ok(Opening {
            paths: paths.to_vec(),
            size,
            read,
            answer,
            shown: 0,
            is_compared: false,
            _wanted: wanted,
        })
    }

    /// The opened file, if it is ready within a time.
    pub(crate) fn wait(&self, patience: Duration) -> Option<Opened> {
        let opened = self.answer.wait(patience)?.ok().flatten();
        let ended = || Opened::Failed(format!("{}: the thread that read it has ended", self.name()));
        Some(opened.unwrap_or_else(ended))
    }

    /// Per cent of it that were read; 0 where its size is unknown.
    fn percent(&self) -> u64 {
        let read = u128::from(self.read.count()).saturating_mul(100);
        let percent = read.checked_div(u128::from(self.size)).unwrap_or(0).min(100);
        u64::try_from(percent).unwrap_or(100)
    }

    /// Whether the progress changed since the last call.
    pub(crate) fn has_progressed(&mut self) -> bool {
        let percent = self.percent();
        std::mem::replace(&mut self.shown, percent) != percent
    }

    /// The progress as a line.
    pub(crate) fn line(&self, words: Words, theme: Theme) -> String {
        progress(&format!("{} {}", words.get(Word::Opening), self.name()), self.shown, words, theme)
    }

    fn name(&self) -> String {
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.paths.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

/// A line with a bar for work that Escape stops.
pub(crate) fn progress(what: &str, percent: u64, words: Words, theme: Theme) -> String {
    let done = usize::try_from(percent).unwrap_or(0).saturating_mul(BAR) / 100;
    let bar = [theme.either("━", "=").repeat(done), theme.either("─", "-").repeat(BAR.saturating_sub(done))];
    format!("{what}  {} {percent} %  {}", bar.concat(), words.get(Word::EscapeStops))
}

/// Opens a file by its content: a log of any format, or settings. `None` when it was cancelled.
fn open(paths: &[PathBuf], options: &ReadOptions, wanted: &Weak<()>) -> Option<Opened> {
    let [path] = paths else {
        let log = Log::open_all_while(paths, options, || wanted.strong_count() > 0);
        return Some(match log {
            Ok(log) => Opened::Log(log?),
            Err(error) => Opened::Failed(error.to_string()),
        });
    };
    let is_settings = path.extension().is_some_and(|end| end.eq_ignore_ascii_case(EXTENSION));
    let settings = Settings::open(path);
    if is_settings {
        return Some(settings.map_or_else(Opened::Failed, |settings| Opened::Settings(Box::new(settings))));
    }
    let log = Log::open_while(path, options, || wanted.strong_count() > 0);
    Some(match (log, settings) {
        (Ok(log), _) => Opened::Log(log?),
        // Settings with another ending; nearly every text parses as empty settings.
        (Err(_), Ok(settings)) if !settings.counters.is_empty() => Opened::Settings(Box::new(settings)),
        (Err(error), _) => Opened::Failed(error.to_string()),
    })
}
