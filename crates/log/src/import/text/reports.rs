//! Reads the reports of sysstat's programs: `iostat -t`, `mpstat`, `pidstat` and `sar`.
//!
//! All of them print a first line with system, host and date, and then tables: a line with names of columns,
//! and lines with values until an empty line.

use std::io::BufRead;

use tallymon_core::time::FileTime;

use super::by_table::{ByTime, are_names, is_restart};
use super::tables::{AVG_CPU, IOSTAT, MPSTAT, PIDSTAT};
use super::times::{after, date, half_day, join, stamp, time_of_day};
use crate::error::{LogError, LogErrorKind};
use crate::format::Format;
use crate::import::columns::Columns;
use crate::import::lines::Lines;
use crate::import::reader::Decoder;
use crate::import::table::{Field, Number, Table, VALUE};
use crate::reader::About;
use crate::zone::{Zone, add_minutes};

/// Columns that name an instance.
const NAMES: &[&str] =
    &["CPU", "Device", "Device:", "DEV", "IFACE", "TTY", "FILESYSTEM", "BUS", "FCHOST", "NODE", "INTR"];

/// Decodes a report.
pub(crate) struct ReportDecoder<R> {
    lines: ByTime<R>,
    /// The last line was empty, so that names of columns follow.
    is_behind_blank: bool,
    date: FileTime,
    bias: Option<i32>,
    /// Minutes from UTC to the local times.
    minutes: i32,
    /// The time of the last row.
    time: Option<FileTime>,
    /// The names of the columns of this table, without the time.
    names: Vec<String>,
}

/// A line of a table, without its time.
enum Part {
    Names(Vec<String>),
    Values(Vec<String>),
}

impl<R: BufRead + Send> ReportDecoder<R> {
    /// Reads the first line.
    pub(crate) fn open(input: R, bias: Option<i32>) -> Result<(ReportDecoder<R>, Columns), LogError> {
        let mut lines = Lines::new(input);
        let first = loop {
            match lines.next()? {
                Some(line) if line.text.trim().is_empty() => {}
                Some(line) => break line.text,
                None => return Err(LogError::new(LogErrorKind::NotALog("an empty report".to_owned()))),
            }
        };
        let words: Vec<&str> = first.split_whitespace().collect();
        let Some(day) = words.get(3).and_then(|word| date(word)) else {
            let words = format!(
                "a report of sysstat whose first line has no date like 2026-11-22 or 11/22/26: {first:?}; \
                 S_TIME_FORMAT=ISO makes sysstat print one"
            );
            return Err(LogError::new(LogErrorKind::NotALog(words)));
        };
        let mut columns = Columns::new(About::new(Format::SysstatText));
        let host = words.get(2).map(|word| word.trim_matches(['(', ')']).to_owned());
        columns.host = host.filter(|host| !host.is_empty());
        columns.about.zone = match bias {
            Some(bias) => Zone::Fixed { name: String::new(), bias },
            None => Zone::Unknown,
        };
        let minutes = bias.unwrap_or(0).saturating_neg();
        let decoder = ReportDecoder {
            lines: ByTime::new(lines)?,
            is_behind_blank: true,
            date: day,
            bias,
            minutes,
            time: None,
            names: Vec::new(),
        };
        Ok((decoder, columns))
    }

    /// Splits a line of a table: its time, if it has one, and the rest.
    fn split(&mut self, text: &str) -> (Option<FileTime>, Vec<String>) {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        if words.first() == Some(&"#") {
            words.remove(0);
        }
        let of_day = words.first().and_then(|word| time_of_day(word));
        let seconds = words.first().and_then(|word| word.parse::<u64>().ok()).filter(|_| {
            // Old versions of pidstat -h print seconds since 1970.
            self.names.first().is_some_and(|name| name == "Time")
        });
        let time = match (of_day, seconds) {
            (Some(of_day), _) => {
                let half = words.get(1).and_then(|half| half_day(of_day, half));
                words.drain(..if half.is_some() { 2 } else { 1 });
                let time = join(self.date, half.unwrap_or(of_day));
                let time = add_minutes(time, self.minutes.saturating_neg());
                Some(after(self.time, time))
            }
            (None, Some(seconds)) => {
                words.remove(0);
                FileTime::from_unix_nanoseconds(i128::from(seconds).saturating_mul(1_000_000_000))
            }
            (None, None) => None,
        };
        (time, words.into_iter().map(str::to_owned).collect())
    }

    /// Whether words are names of columns: none of them is a number, but in the rows of one value.
    fn part(&self, words: Vec<String>) -> Part {
        let is_number = |word: &String| word.parse::<f64>().is_ok();
        let has_names = words.iter().any(|word| {
            word.starts_with('%') || word.ends_with("/s") || NAMES.contains(&word.as_str()) || word == "PID"
        });
        let is_named = has_names && !words.iter().any(is_number)
            || are_names(words.iter().map(String::as_str), self.is_behind_blank);
        if is_named { Part::Names(words) } else { Part::Values(words) }
    }

    /// Puts a line of values; `false` if they do not fit the names.
    fn put(&self, columns: &mut Columns, values: &[String]) -> bool {
        let names: Vec<&str> = self
            .names
            .iter()
            .map(String::as_str)
            .filter(|name| !matches!(*name, "Time" | "avg-cpu:"))
            .collect();
        // The command of a process may have blanks, and is the last column.
        let is_process = names.contains(&"PID");
        if values.len() < names.len() || (values.len() > names.len() && !is_process) {
            return false;
        }
        let field = |name: &str| names.iter().position(|known| *known == name).and_then(|at| values.get(at));
        let command = names.iter().position(|name| *name == "Command").and_then(|at| values.get(at..));
        let command = command.map(|words| words.join(" "));
        let instance: Option<(String, String)> = if is_process {
            let id = field("PID").cloned().unwrap_or_default();
            let command = command.unwrap_or_default();
            Some((format!("{id} {command}"), command))
        } else {
            let first = names.first().filter(|name| NAMES.contains(name)).and_then(|name| field(name));
            first
                .map(|name| match name.as_str() {
                    "all" | "-1" => "_Total".to_owned(),
                    name => name.to_owned(),
                })
                .map(|name| (name.clone(), name))
        };
        let skip = usize::from(instance.is_some() && !is_process);
        let mut fields = Vec::new();
        for (name, value) in names.iter().zip(values).skip(skip).filter(|(name, _)| **name != "Command") {
            let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
            fields.push(Field { name, number: number.map(Number::F64), own: VALUE, source: 0 });
        }
        let generic = format!("sysstat {}", names.first().copied().unwrap_or_default());
        let has = |name: &str| names.contains(&name);
        let is_total = self.names.first().is_some_and(|name| name == "avg-cpu:");
        let table = if is_process {
            PIDSTAT
        } else if is_total || (has("%user") && has("%system")) {
            AVG_CPU
        } else if has("CPU") && (has("%usr") || has("intr/s")) {
            MPSTAT
        } else if names.first().is_some_and(|name| name.trim_end_matches(':') == "Device") {
            IOSTAT
        } else {
            Table { group: &generic, own: &generic, rows: &[] }
        };
        let instance = if is_total { Some(("_Total".to_owned(), "_Total".to_owned())) } else { instance };
        let instance = instance.as_ref().map(|(key, name)| (key.as_str(), name.as_str()));
        columns.put(&table, layout(&names), instance, &fields);
        true
    }
}

/// A number for the columns of a table.
fn layout(names: &[&str]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    names.hash(&mut hasher);
    hasher.finish()
}

impl<R: BufRead + Send> Decoder for ReportDecoder<R> {
    fn next(&mut self, columns: &mut Columns) -> Result<Option<(FileTime, i32)>, LogError> {
        let mut row: Option<FileTime> = None;
        while let Some(line) = self.lines.next()? {
            columns.report_cut(&line);
            let text = line.text.trim();
            if text.is_empty() || text.starts_with("Average") || text.starts_with("Summary") {
                self.is_behind_blank = true;
                continue;
            }
            if is_restart(text) {
                columns.about.notes.remark("restarts of the machine are not read");
                continue;
            }
            if let Some((time, minutes)) = stamp(text) {
                if row.is_some() {
                    self.lines.put_back(line);
                    break;
                }
                if let Some(minutes) = minutes.filter(|_| self.bias.is_none()) {
                    self.minutes = minutes;
                    columns.about.zone = Zone::Fixed { name: String::new(), bias: minutes.saturating_neg() };
                }
                let time = match minutes {
                    Some(_) => time,
                    None => add_minutes(time, self.minutes.saturating_neg()),
                };
                self.time = Some(time);
                columns.begin(time, time.0);
                row = Some(time);
                continue;
            }
            let (time, words) = self.split(&line.text);
            let part = self.part(words);
            self.is_behind_blank = false;
            match part {
                // The names have the time of the row before.
                Part::Names(names) => self.names = names,
                Part::Values(values) => {
                    match (row, time) {
                        (Some(row), Some(time)) if row != time => {
                            self.lines.put_back(line);
                            break;
                        }
                        (None, Some(time)) => {
                            self.time = Some(time);
                            columns.begin(time, time.0);
                            row = Some(time);
                        }
                        (None, None) => {
                            let words = "values without a time are left out; iostat prints times with -t";
                            columns.about.notes.remark(format!("line {}: {words}", line.number));
                            continue;
                        }
                        _ => {}
                    }
                    if !self.put(columns, &values) {
                        let words =
                            format!("{} values for {} columns are left out", values.len(), self.names.len());
                        columns.damage_line(line.byte, line.number, words);
                    }
                }
            }
        }
        Ok(row.map(|time| (time, self.minutes)))
    }
}
