//! A file that is being opened, on a thread of its own: a log of gigabytes takes its time, and the screen goes on.

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

/// What a file turned out to be.
pub(crate) enum Opened {
    Log(Log),
    Settings(Settings),
    /// Why it can not be opened.
    Failed(String),
}

/// A file on its way. When this goes away, nobody wants it any more, and its thread ends at the next record.
pub(crate) struct Opening {
    paths: Vec<PathBuf>,
    /// Bytes of the files; 0 where that is not known.
    size: u64,
    read: BytesRead,
    /// Without what it is when nobody wanted it any longer.
    answer: Task<Option<Opened>>,
    /// What was shown last of how far it is.
    shown: u64,
    /// It is to be laid over what is shown.
    pub(crate) is_compared: bool,
    _wanted: Arc<()>,
}

impl Opening {
    /// Begins to open what a file is by its content, or several logs as one.
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

    /// What it is, if that is known within a time.
    pub(crate) fn wait(&self, patience: Duration) -> Option<Opened> {
        let opened = self.answer.wait(patience)?.ok().flatten();
        let ended = || Opened::Failed(format!("{}: the thread that read it has ended", self.name()));
        Some(opened.unwrap_or_else(ended))
    }

    /// Per cent of it that were read; 0 where that is not known.
    fn percent(&self) -> u64 {
        let read = u128::from(self.read.count()).saturating_mul(100);
        let percent = read.checked_div(u128::from(self.size)).unwrap_or(0).min(100);
        u64::try_from(percent).unwrap_or(100)
    }

    /// Whether it is further than it was when this was asked last.
    pub(crate) fn moves(&mut self) -> bool {
        let percent = self.percent();
        std::mem::replace(&mut self.shown, percent) != percent
    }

    /// How far it is, in a line.
    pub(crate) fn line(&self, words: Words, theme: Theme) -> String {
        progress(&format!("{} {}", words.get(Word::Opening), self.name()), self.shown, words, theme)
    }

    fn name(&self) -> String {
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.paths.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

/// How far something is that Escape stops, in a line.
pub(crate) fn progress(what: &str, percent: u64, words: Words, theme: Theme) -> String {
    let done = usize::try_from(percent).unwrap_or(0).saturating_mul(BAR) / 100;
    let bar = [theme.either("━", "=").repeat(done), theme.either("─", "-").repeat(BAR.saturating_sub(done))];
    format!("{what}  {} {percent} %  {}", bar.concat(), words.get(Word::EscapeStops))
}

/// What a file is by its content: a log of any format, or settings. `None` when nobody wants it any longer.
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
        return Some(settings.map_or_else(Opened::Failed, Opened::Settings));
    }
    let log = Log::open_while(path, options, || wanted.strong_count() > 0);
    Some(match (log, settings) {
        (Ok(log), _) => Opened::Log(log?),
        // Settings under another name; nearly every text without them is empty settings.
        (Err(_), Ok(settings)) if !settings.counters.is_empty() => Opened::Settings(settings),
        (Err(error), _) => Opened::Failed(error.to_string()),
    })
}
