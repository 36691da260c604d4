//! Writes events: always to a file of limited size, and to the system's journal where there is one.
//!
//! The file is `events.jsonl` in the folder above the registry: one JSON object per line, in the order of
//! time. Many processes append to it. At its limit it becomes `events.jsonl.1` and replaces an older one.
//! What repeats is counted, see `repeats.rs`.

#[cfg_attr(target_os = "linux", path = "journal.rs")]
#[cfg_attr(not(target_os = "linux"), path = "no_journal.rs")]
mod journal;
mod repeats;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tallymon_core::time::FileTime;
use tallymon_provider::environment::ROOT;
use tallymon_provider::library::event::{Event, EventLevel, EventSource};
use tallymon_provider::trust::{Lock, check_path, create_folders, open_to_append};

use crate::registry::{Roots, Scope};
use repeats::{Decision, Repeats};

/// How long an event waits for another process that counts one; then it is written without being counted.
const PATIENCE: Duration = Duration::from_millis(100);

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
    /// With `TALLY_ROOT` it leaves out the journal: that variable keeps everything in one folder.
    pub fn of_environment(roots: &Roots) -> EventLog {
        let journal = ROOT.value().is_none();
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

    /// Writes an event, or counts it when the same was written often in the last minutes. Write errors are
    /// ignored: there is no better place to report them.
    pub fn write(&self, event: &Event) {
        if !self.wants(event) {
            return;
        }
        let now = SystemTime::now();
        let is_written = self.files.iter().find_map(|file| write_or_count(file, event, now).ok());
        if self.journal && is_written != Some(false) {
            journal::send(event);
        }
    }
}

/// The files that may have events, newest lines last: for each registry the older file, then the current one.
pub fn files_to_read(roots: &Roots) -> Vec<PathBuf> {
    files(roots).into_iter().flat_map(|file| [older(&file), file]).collect()
}

/// Events that were not written since the last line like them, as lines of the file: the last of each, with
/// their number in `held`.
pub fn held(roots: &Roots) -> Vec<String> {
    let with_number = |(held, line): (u64, &str)| {
        line.trim_end().strip_suffix('}').map(|line| format!("{line},\"held\":{held}}}"))
    };
    let of = |file: PathBuf| Repeats::read(&counts(&file)).held().filter_map(with_number).collect::<Vec<_>>();
    files(roots).into_iter().flat_map(of).collect()
}

/// The files of the system and of the user.
fn files(roots: &Roots) -> Vec<PathBuf> {
    let beside = |scope| roots.folder(scope).and_then(Path::parent).map(|folder| folder.join(FILE));
    [Scope::System, Scope::User].into_iter().filter_map(beside).collect()
}

fn older(file: &Path) -> PathBuf {
    file.with_extension("jsonl.1")
}

fn counts(file: &Path) -> PathBuf {
    file.with_extension("repeats")
}

/// Writes an event to a file, or counts it; returns whether it was written.
fn write_or_count(path: &Path, event: &Event, now: SystemTime) -> io::Result<bool> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    check_path(folder)?;
    // The folder of the registry may not exist yet.
    create_folders(folder)?;
    let lock = Lock::take(folder, "events.lock", PATIENCE).ok();
    let mut decision = Decision::Write { repeated: 0, others: 0 };
    if lock.is_some() {
        let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut repeats = Repeats::read(&counts(path));
        decision = repeats.note(event, seconds, &line(event, now, (0, 0)));
        // Without the counts the next event is written, which is no loss.
        let _ = repeats.write(&counts(path));
    }
    match decision {
        Decision::Write { repeated, others } => {
            append(path, &line(event, now, (repeated, others))).map(|()| true)
        }
        Decision::Hold => Ok(false),
    }
}

/// Appends a line with one write, and begins a new file first if this one is long.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = open_to_append(path)?;
    if file.metadata()?.len() >= LONGEST {
        // The process that gets the lock renames the file; others write to the old file, where nothing is
        // lost. No process waits for one that was stopped while it had the lock.
        if file.try_lock().is_ok() && is_at(&file, path)? {
            std::fs::rename(path, older(path))?;
        }
        file = open_to_append(path)?;
    }
    file.write_all(line.as_bytes())
}

/// Whether a file that is open is still the one of this name, and still long.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (open, named) = (file.metadata()?, std::fs::metadata(path)?);
    Ok(named.len() >= LONGEST && open.len() == named.len())
}

/// An event as a line of the file; so many of the same, and so many others of its kind, were not written
/// before.
fn line(event: &Event, time: SystemTime, (repeated, others): (u64, u64)) -> String {
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
    for (name, number) in [("repeated", repeated), ("others", others)].into_iter().filter(|(_, n)| *n > 0) {
        out.push_str(&format!(",\"{name}\":{number}"));
    }
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
    use tallymon_provider::library::event::COLLECT_FAILED;

    fn event() -> Event {
        Event::new(&COLLECT_FAILED, ["My\"Perf\n", "c:\\my.so", "5"])
    }

    #[test]
    fn a_line_is_json_with_every_field() {
        let line = line(&event(), UNIX_EPOCH + Duration::from_millis(1_700_000_000_123), (3, 0));
        let start = "{\"time\":\"2023-11-14T22:13:20.123Z\",\"source\":\"Microsoft-Windows-Perflib\",\"id\":1014,\
                     \"level\":\"warning\",\"fields\":{\"Service\":\"My\\\"Perf\\n\",\"Library\":\"c:\\\\my.so\",\
                     \"Win32Error\":\"5\"},\"message\":";
        assert!(line.starts_with(start), "{line}");
        assert!(line.ends_with(",\"repeated\":3}\n") && line.matches('\n').count() == 1, "{line}");
    }

    #[test]
    fn attack_flood_the_events() {
        let folder = std::env::temp_dir().join(format!("tallymon-events-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let log = EventLog::of(&Roots::in_folder(&folder));
        let file = folder.join(FILE);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| log.write(&event())));
            }
        });
        // Four writers, and none of them is lost: each is a line or is counted.
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = text.lines().filter(|line| line.starts_with('{') && line.ends_with('}')).count();
        let held = held(&Roots::in_folder(&folder));
        assert_eq!(held.len(), 1, "{held:?}");
        let number = held[0].rsplit(':').next().unwrap().trim_end_matches('}').parse::<usize>().unwrap();
        assert!(lines + number == 200 && lines >= 5, "{lines} lines, {number} counted");
        std::fs::write(&file, " ".repeat(usize::try_from(LONGEST).unwrap())).unwrap();
        log.write(&Event::new(&COLLECT_FAILED, ["Other", "other.so", "5"]));
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
        assert_eq!(std::fs::metadata(older(&file)).unwrap().len(), LONGEST);
        std::fs::remove_dir_all(&folder).unwrap();
        tallymon_testkit::attack(
            "events",
            "cause the same event, or events of one kind, all the time",
            "a few lines in ten minutes, the others are counted and shown with their number; the history stays",
        );
    }
}
