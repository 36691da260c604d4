//! Writes events: always to a file of limited size, and to the system's journal where there is one.
//!
//! The file is `events.jsonl` in the folder above the registry: one JSON object per line, in the order of
//! time. Many processes append to it. At its limit it becomes `events.jsonl.1` and replaces an older one.

#[cfg_attr(target_os = "linux", path = "journal.rs")]
#[cfg_attr(not(target_os = "linux"), path = "no_journal.rs")]
mod journal;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tallymon_core::time::FileTime;
use tallymon_provider::library::event::{Event, EventLevel, EventSource};

use crate::registry::{Roots, Scope};

/// Name of the file.
const FILE: &str = "events.jsonl";
/// The length in bytes at which a new file is begun.
const LONGEST: u64 = 1 << 20;

/// Writes events to files and to the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLog {
    /// The files that are tried, best first.
    files: Vec<PathBuf>,
    journal: bool,
    /// `EventLogLevel`; `None` for all events.
    level: Option<u32>,
}

impl EventLog {
    /// Writes beside the registry of the system if the process may write there, else beside the registry of
    /// the user; and to the journal.
    ///
    /// With `TALLYMON_ROOT` it leaves out the journal: that variable keeps everything in one folder.
    pub fn of_environment(roots: &Roots) -> EventLog {
        let journal = std::env::var_os("TALLYMON_ROOT").is_none_or(|root| root.is_empty());
        EventLog { journal, ..EventLog::of(roots) }
    }

    /// Writes beside the registries, without the journal.
    pub fn of(roots: &Roots) -> EventLog {
        EventLog { files: files(roots), journal: false, level: None }
    }

    /// Selects the events of Perflib to write (`EventLogLevel`): 0 none, 1 errors, 2 warnings too, 3 or
    /// `None` all.
    pub fn set_level(&mut self, level: Option<u32>) {
        self.level = level;
    }

    fn wants(&self, event: &Event) -> bool {
        let needed = match event.kind.level {
            EventLevel::Error => 1,
            EventLevel::Warning => 2,
            EventLevel::Information => 3,
        };
        event.kind.source != EventSource::Perflib || self.level.is_none_or(|level| level >= needed)
    }

    /// Writes an event. Write errors are ignored: there is no better place to report them.
    pub fn write(&self, event: &Event) {
        if !self.wants(event) {
            return;
        }
        let line = line(event, SystemTime::now());
        let _ = self.files.iter().any(|file| append(file, &line).is_ok());
        if self.journal {
            journal::send(event);
        }
    }
}

/// The files that may have events, newest lines last: for each registry the older file, then the current one.
pub fn files_to_read(roots: &Roots) -> Vec<PathBuf> {
    files(roots).into_iter().flat_map(|file| [older(&file), file]).collect()
}

/// The files of the system and of the user.
fn files(roots: &Roots) -> Vec<PathBuf> {
    let beside = |scope| roots.folder(scope).and_then(Path::parent).map(|folder| folder.join(FILE));
    [Scope::System, Scope::User].into_iter().filter_map(beside).collect()
}

fn older(file: &Path) -> PathBuf {
    file.with_extension("jsonl.1")
}

/// Appends a line with one write, and begins a new file first if this one is long.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let open = || OpenOptions::new().append(true).create(true).open(path);
    let mut file = match open() {
        // The folder of the registry may not exist yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            open()?
        }
        other => other?,
    };
    if file.metadata()?.len() >= LONGEST {
        // The process that gets the lock renames the file; others write to the old file, where nothing is
        // lost. No process waits for one that was stopped while it had the lock.
        if file.try_lock().is_ok() && is_at(&file, path)? {
            std::fs::rename(path, older(path))?;
        }
        file = open()?;
    }
    file.write_all(line.as_bytes())
}

/// Whether a file that is open is still the one of this name, and still long.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (open, named) = (file.metadata()?, std::fs::metadata(path)?);
    Ok(named.len() >= LONGEST && open.len() == named.len())
}

/// An event as a line of the file.
fn line(event: &Event, time: SystemTime) -> String {
    let mut out = String::from("{");
    let text = |out: &mut String, key: &str, value: &str| {
        if !out.ends_with('{') {
            out.push(',');
        }
        quote(out, key);
        out.push(':');
        quote(out, value);
    };
    text(&mut out, "time", &stamp(time));
    text(&mut out, "source", event.kind.source.name());
    out.push_str(&format!(",\"id\":{}", event.kind.id));
    text(&mut out, "level", event.kind.level.word());
    out.push_str(",\"fields\":{");
    for (name, value) in event.fields() {
        text(&mut out, name, value);
    }
    out.push('}');
    text(&mut out, "message", &event.to_string());
    out.push_str(&format!(",\"pid\":{}", std::process::id()));
    let program = std::env::args_os().next().unwrap_or_default();
    text(&mut out, "program", &Path::new(&program).file_name().unwrap_or_default().to_string_lossy());
    out.push_str("}\n");
    out
}

/// A time in UTC as in `2026-11-21T06:19:45.123Z`.
fn stamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanoseconds = i128::try_from(since.as_nanos()).unwrap_or(i128::MAX);
    let t = FileTime::from_unix_nanoseconds(nanoseconds).unwrap_or_default().system_time();
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        t.year, t.month, t.day, t.hour, t.minute, t.second, t.milliseconds
    )
}

/// Appends a text as a JSON string.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            letter if letter.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tallymon_provider::library::event::COLLECT_FAILED;

    fn event() -> Event {
        Event::new(&COLLECT_FAILED, ["My\"Perf\n", "c:\\my.so", "5"])
    }

    #[test]
    fn a_line_is_json_with_every_field() {
        let line = line(&event(), UNIX_EPOCH + Duration::from_millis(1_700_000_000_123));
        let start = "{\"time\":\"2023-11-14T22:13:20.123Z\",\"source\":\"Microsoft-Windows-Perflib\",\"id\":1014,\
                     \"level\":\"warning\",\"fields\":{\"Service\":\"My\\\"Perf\\n\",\"Library\":\"c:\\\\my.so\",\
                     \"Win32Error\":\"5\"},\"message\":";
        assert!(line.starts_with(start), "{line}");
        assert_eq!(line.matches('\n').count(), 1);
    }

    #[test]
    fn many_writers_lose_nothing_and_files_stay_short() {
        let folder = std::env::temp_dir().join(format!("tallymon-events-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let log = EventLog::of(&Roots::in_folder(&folder));
        let file = folder.join(FILE);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| log.write(&event())));
            }
        });
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with('{') && line.ends_with('}')).count(), 200);
        std::fs::write(&file, " ".repeat(usize::try_from(LONGEST).unwrap())).unwrap();
        log.write(&event());
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
        assert_eq!(std::fs::metadata(older(&file)).unwrap().len(), LONGEST);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
