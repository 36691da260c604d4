//! Reads the files of nmon: lines with a word, a snapshot number and values, separated by commas. In lines
//! about processes (`TOP`) the id of the process stands before the number of the snapshot.

use std::collections::HashMap;
use std::io::BufRead;

use tallymon_core::time::FileTime;

use super::tables::{NMON_CPU, NMON_DISK, NMON_MACHINE, NMON_NET, NMON_PROCESS};
use super::times::{date_with_name, join, time_of_day};
use crate::error::LogError;
use crate::format::Format;
use crate::import::columns::Columns;
use crate::import::lines::Lines;
use crate::import::reader::Decoder;
use crate::import::table::{Field, Number, Table, VALUE};
use crate::reader::About;
use crate::zone::{Zone, add_minutes};

/// The largest number of kinds of lines.
const MOST_KINDS: usize = 4096;

/// Decodes a file of nmon.
pub(crate) struct NmonDecoder<R> {
    lines: Lines<R>,
    /// The names of the columns of each kind of line.
    names: HashMap<String, Vec<String>>,
    bias: i32,
    /// The time of the snapshot that begins.
    next: Option<FileTime>,
}

impl<R: BufRead + Send> NmonDecoder<R> {
    /// Opens a file; its header is read with the first snapshot.
    pub(crate) fn open(input: R, bias: Option<i32>) -> Result<(NmonDecoder<R>, Columns), LogError> {
        let mut columns = Columns::new(About::new(Format::Nmon));
        columns.about.zone = match bias {
            Some(bias) => Zone::Fixed { name: String::new(), bias },
            None => Zone::Unknown,
        };
        columns.about.writer = Some("nmon".to_owned());
        let decoder = NmonDecoder {
            lines: Lines::new(input),
            names: HashMap::new(),
            bias: bias.unwrap_or(0),
            next: None,
        };
        Ok((decoder, columns))
    }

    fn put(&self, columns: &mut Columns, word: &str, values: &[&str]) {
        let number = |value: &str| {
            // nmon prints -1 for what the system does not have.
            let number = value.trim().parse::<f64>().ok()?;
            (number.is_finite() && !number.is_sign_negative()).then_some(Number::F64(number))
        };
        let none = Vec::new();
        let names = self.names.get(word).unwrap_or(&none);
        let pairs = || names.iter().map(String::as_str).zip(values.iter().copied());
        let all = || -> Vec<Field<'_>> {
            pairs()
                .map(|(name, value)| Field { name, number: number(value), own: VALUE, source: 0 })
                .collect()
        };
        let layout = names.len() as u64;
        if let Some(processor) = word.strip_prefix("CPU") {
            let name = match processor.parse::<u32>() {
                Ok(nth) => nth.saturating_sub(1).to_string(),
                Err(_) => "_Total".to_owned(),
            };
            columns.put(&NMON_CPU, layout, Some((&name, &name)), &all());
        } else if matches!(word, "NET" | "NETPACKET") {
            for (name, value) in pairs() {
                let Some(at) = name.rfind("-read").or_else(|| name.rfind("-write")) else { continue };
                let (interface, field) = name.split_at(at);
                let field = field.trim_start_matches('-');
                let fields = [Field { name: field, number: number(value), own: VALUE, source: 0 }];
                columns.put(&NMON_NET, hash(field), Some((interface, interface)), &fields);
            }
        } else if NMON_DISK.rows.iter().any(|row| row.from == word) {
            for (disk, value) in pairs() {
                let fields = [Field { name: word, number: number(value), own: VALUE, source: 0 }];
                columns.put(&NMON_DISK, hash(word), Some((disk, disk)), &fields);
            }
        } else {
            let own = format!("nmon {word}");
            let known = NMON_MACHINE.iter().find(|table| table.group == own);
            let table = known.copied().unwrap_or(Table { group: &own, own: &own, rows: &[] });
            columns.put(&table, layout, None, &all());
        }
    }
}

impl<R> NmonDecoder<R> {
    /// Puts a line about a process: `TOP,0009024,T0002,20.98,…,python3,1,0`.
    fn put_process(&self, columns: &mut Columns, id: &str, values: &[&str]) -> Result<(), &'static str> {
        let names = self.names.get("TOP").ok_or("a process before the names of its columns")?;
        // The first name is that of the snapshot.
        let names = names.get(1..).unwrap_or_default();
        let at = names.iter().position(|name| name == "Command").ok_or("processes without their programs")?;
        // The name of a program may have commas: it is what the columns before and behind it leave.
        let behind = names.len().saturating_sub(at.saturating_add(1));
        let end = values.len().checked_sub(behind).filter(|end| *end > at);
        let end = end.ok_or("a process without all of its values")?;
        let program = values.get(at..end).unwrap_or_default().join(",");
        let name = if program.is_empty() { "unknown" } else { program.as_str() };
        let field = |name, value: &str| {
            let number =
                value.trim().parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
            Field { name, number: number.map(Number::F64), own: VALUE, source: 0 }
        };
        let before = names.iter().zip(values).take(at);
        let after = names.iter().skip(at.saturating_add(1)).zip(values.iter().skip(end));
        let of_line = before.chain(after).map(|(name, value)| field(name.as_str(), value));
        let fields: Vec<Field<'_>> = std::iter::once(field("PID", id)).chain(of_line).collect();
        columns.put(&NMON_PROCESS, names.len() as u64, Some((&format!("{id} {name}"), name)), &fields);
        Ok(())
    }
}

/// A number for the only field of a record.
pub(super) fn hash(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Whether a field is the number of a snapshot, such as `T0001`.
fn is_snapshot(field: &str) -> bool {
    field
        .strip_prefix('T')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

impl<R: BufRead + Send> Decoder for NmonDecoder<R> {
    fn next(&mut self, columns: &mut Columns) -> Result<Option<(FileTime, i32)>, LogError> {
        let mut row = self.next.take();
        if let Some(time) = row {
            columns.begin(time, time.0);
        }
        while let Some(line) = self.lines.next()? {
            columns.report_cut(&line);
            let parts: Vec<&str> = line.text.split(',').collect();
            let [word, second, rest @ ..] = &parts[..] else { continue };
            match (*word, *second, rest) {
                ("ZZZZ", _, [time, day, ..]) => {
                    let Some((day, time)) = date_with_name(day).zip(time_of_day(time)) else {
                        let words = "a snapshot without a time like 23:09:22,22-NOV-2026".to_owned();
                        columns.damage_line(line.byte, line.number, words);
                        continue;
                    };
                    let time = add_minutes(join(day, time), self.bias);
                    if row.is_some() {
                        self.next = Some(time);
                        return Ok(row.map(|time| (time, self.bias.saturating_neg())));
                    }
                    columns.begin(time, time.0);
                    row = Some(time);
                }
                ("AAA", "host", [host, ..]) => columns.host = Some((*host).to_owned()),
                // Facts about the system and the run.
                (
                    "AAA" | "BBBB" | "BBBP" | "BBBC" | "BBBL" | "BBBV" | "BBBN" | "BBBD" | "BBBR" | "ZZZZ"
                    | "ERROR",
                    ..,
                ) => {}
                // Processes: their number stands before the snapshot.
                ("TOP", id, [snapshot, values @ ..]) if is_snapshot(snapshot) => {
                    let put = row.ok_or("a process before the first time is left out");
                    if let Err(words) = put.and_then(|_| self.put_process(columns, id, values)) {
                        columns.damage_line(line.byte, line.number, words.to_owned());
                    }
                }
                (word, second, values) if is_snapshot(second) => {
                    if row.is_none() {
                        let words = "values before the first time are left out".to_owned();
                        columns.damage_line(line.byte, line.number, words);
                        continue;
                    }
                    self.put(columns, word, values);
                }
                (word, _, names) if self.names.len() < MOST_KINDS || self.names.contains_key(word) => {
                    let names = names.iter().map(|name| name.trim().to_owned());
                    self.names.insert(word.to_owned(), names.filter(|name| !name.is_empty()).collect());
                }
                _ => {
                    let words = format!("more than {MOST_KINDS} kinds of lines; this one is left out");
                    columns.damage_line(line.byte, line.number, words);
                }
            }
        }
        Ok(row.map(|time| (time, self.bias.saturating_neg())))
    }
}
