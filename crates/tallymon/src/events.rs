//! The event log of providers, names and alerts: what writes it, and what reads it.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tallymon_core::time::FileTime;
pub use tallymon_host::events::EventLog;
use tallymon_host::events::{files_to_read, held};

use crate::clock::parse_rfc3339;
use crate::registry::Roots;

/// An event that was written, or counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastEvent {
    /// Its time as it was written: UTC, such as `2026-11-21T06:19:45.123Z`. Texts sort like times.
    pub stamp: String,
    /// Its source, such as `Microsoft-Windows-Perflib`.
    pub source: String,
    /// NT's id, together with the source.
    pub id: Option<u64>,
    /// Its level: `error`, `warning` or `information`.
    pub level: String,
    /// What happened.
    pub message: String,
    /// NT's names of its fields, and their values.
    pub fields: Vec<(String, String)>,
    /// Equal events that were only counted before it.
    pub repeated: u64,
    /// Other events of its kind that were only counted before it.
    pub others: u64,
    /// Events since the last line like it that were only counted; this is the last of them.
    pub held: u64,
    /// The line of the file: a JSON object.
    pub line: String,
}

impl PastEvent {
    /// Reads a line of the file.
    fn of_line(line: &[u8]) -> Option<PastEvent> {
        let json: Json = serde_json::from_slice(line).ok().filter(Json::is_object)?;
        let text = |key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        let number = |key: &str| json.get(key).and_then(Json::as_u64);
        let field = |(name, value): (&String, &Json)| Some((name.clone(), value.as_str()?.to_owned()));
        let fields = json.get("fields").and_then(Json::as_object);
        Some(PastEvent {
            stamp: text("time"),
            source: text("source"),
            id: number("id"),
            level: text("level"),
            message: text("message"),
            fields: fields.into_iter().flatten().filter_map(field).collect(),
            repeated: number("repeated").unwrap_or_default(),
            others: number("others").unwrap_or_default(),
            held: number("held").unwrap_or_default(),
            line: json.to_string(),
        })
    }

    /// Its time; `None` if the line has none.
    pub fn time(&self) -> Option<FileTime> {
        parse_rfc3339(&self.stamp)
    }

    /// The value of a field by NT's name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Which events are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventChoice<'c> {
    /// The provider that they are about, in any case; `None` for all events.
    pub provider: Option<&'c str>,
    /// The stamp from which on they are read; empty for all.
    pub from: &'c str,
    /// Leave out events that were only counted. Their numbers change all the time.
    pub only_written: bool,
}

impl EventChoice<'_> {
    fn has(&self, event: &PastEvent) -> bool {
        let service = || event.field("Service").unwrap_or_default();
        event.stamp.as_str() >= self.from
            && self.provider.is_none_or(|wanted| wanted.eq_ignore_ascii_case(service()))
    }
}

/// Reads the events of the system and of the user, oldest first.
///
/// # Errors
///
/// A file that is there cannot be read, with its path.
pub fn read(roots: &Roots, choice: EventChoice<'_>) -> Result<Vec<PastEvent>, (PathBuf, io::Error)> {
    let mut found = Vec::new();
    for path in files_to_read(roots) {
        read_file(&path, choice, &mut found).map_err(|error| (path, error))?;
    }
    if !choice.only_written {
        let counted = held(roots).into_iter().filter_map(|line| PastEvent::of_line(line.as_bytes()));
        found.extend(counted.filter(|event| choice.has(event)));
    }
    found.sort_by(|one, other| one.stamp.cmp(&other.stamp));
    Ok(found)
}

fn read_file(path: &Path, choice: EventChoice<'_>, found: &mut Vec<PastEvent>) -> io::Result<()> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for line in BufReader::new(file).split(b'\n') {
        // A crash can leave half a line. Skip it.
        found.extend(PastEvent::of_line(&line?).filter(|event| choice.has(event)));
    }
    Ok(())
}
