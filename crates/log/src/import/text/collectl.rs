//! Reads the output of `collectl -P`: a line of names, `[CPU:0]User%`, then a line for each sample; with
//! processes, a line for each of them.

use std::io::BufRead;

use tallymon_core::time::FileTime;

use super::tables::{
    COLLECTL_CPU, COLLECTL_DISK, COLLECTL_MACHINE, COLLECTL_MEMORY, COLLECTL_NET, COLLECTL_PROCESS,
};
use super::times::{date, join, time_of_day};
use crate::error::{LogError, LogErrorKind};
use crate::format::Format;
use crate::import::columns::Columns;
use crate::import::lines::Lines;
use crate::import::reader::Decoder;
use crate::import::table::{Field, Number, Table, VALUE};
use crate::reader::About;
use crate::zone::{Zone, add_minutes};

/// Whether a file begins as one of collectl, with or without the lines about the machine.
pub(crate) fn is_collectl(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n');
    // Collectl on a terminal says first that it waits.
    let is_one = |line: &[u8]| line.starts_with(b"# Collectl:") || is_heading(line);
    lines.by_ref().take(4).any(is_one)
}

/// Whether a line has the names of the columns.
fn is_heading(line: &[u8]) -> bool {
    line.strip_prefix(b"#Date").is_some_and(|rest| rest.get(1..5) == Some(b"Time"))
        && (line.contains(&b'[') || line.windows(3).any(|part| part == b"PID"))
}

/// A column: its group and its instance in the brackets, and its name.
#[derive(Debug, Clone, Default)]
struct Named {
    group: String,
    instance: Option<String>,
    name: String,
}

/// Decodes the output of collectl.
pub(crate) struct CollectlDecoder<R> {
    lines: Lines<R>,
    names: Vec<Named>,
    /// How many headings there were: each may have other columns.
    layout: u64,
    separator: char,
    /// The lines are about processes: one for each.
    is_process: bool,
    bias: i32,
}

impl<R: BufRead + Send> CollectlDecoder<R> {
    /// Reads the lines about the machine, up to the names of the columns.
    pub(crate) fn open(input: R, bias: Option<i32>) -> Result<(CollectlDecoder<R>, Columns), LogError> {
        let mut decoder = CollectlDecoder {
            lines: Lines::new(input),
            names: Vec::new(),
            layout: 0,
            separator: ' ',
            is_process: false,
            bias: 0,
        };
        let mut columns = Columns::new(About::new(Format::Collectl));
        columns.about.writer = Some("collectl".to_owned());
        let mut own = None;
        while let Some(line) = decoder.lines.next()? {
            let words: Vec<&str> = line.text.split_whitespace().collect();
            match words[..] {
                ["#", "Host:", host, ..] => columns.host = Some(host.to_owned()),
                ["#", "Collectl:", version, ..] => {
                    columns.about.writer = Some(format!("collectl {version:.32}"));
                }
                ["#", "Date:", ..] => own = zone_of(&words),
                _ if line.text.starts_with(">>> ") => {
                    let words = "a raw file of collectl; `collectl -p FILE -P` writes what is read here";
                    return Err(LogError::new(LogErrorKind::NotALog(words.to_owned())));
                }
                _ if is_heading(line.text.as_bytes()) => {
                    decoder.heading(&line.text);
                    let known = bias.or(own);
                    decoder.bias = known.unwrap_or(0);
                    columns.about.zone = match known {
                        Some(bias) => Zone::Fixed { name: String::new(), bias },
                        None => Zone::Unknown,
                    };
                    return Ok((decoder, columns));
                }
                _ => {}
            }
        }
        let words = "an output of collectl without the names of its columns (#Date Time …)";
        Err(LogError::new(LogErrorKind::NotALog(words.to_owned())))
    }

    /// Takes the names of the columns.
    fn heading(&mut self, line: &str) {
        self.separator = line.chars().nth("#Date".len()).unwrap_or(' ');
        self.names = line.split(self.separator).skip(2).map(Named::of).collect();
        self.is_process = self.names.iter().all(|named| named.group.is_empty());
        self.layout = self.layout.saturating_add(1);
    }

    /// The time of a line, and its values.
    fn parts<'l>(&self, line: &'l str) -> Option<(FileTime, Vec<&'l str>)> {
        let mut words = line.split(self.separator);
        let (day, of_day) = (words.next()?, words.next()?);
        let (seconds, part) = of_day.split_once('.').unwrap_or((of_day, ""));
        let part = match part.len() {
            0 => 0,
            digits @ 1..=6 => {
                let missing = u32::try_from(7usize.checked_sub(digits)?).ok()?;
                part.parse::<u64>().ok()?.checked_mul(10u64.checked_pow(missing)?)?
            }
            _ => return None,
        };
        let time = join(day_of(day)?, time_of_day(seconds)?.checked_add(part)?);
        let values: Vec<&str> = match self.is_process {
            // A command has blanks.
            true => {
                let (_, rest) = line.split_once(self.separator)?;
                let (_, rest) = rest.split_once(self.separator)?;
                rest.splitn(self.names.len(), self.separator).collect()
            }
            false => words.collect(),
        };
        Some((add_minutes(time, self.bias), values))
    }

    /// Puts the values of a line into the record. Neighbours with one group and instance belong together.
    fn put(&self, columns: &mut Columns, values: &[&str]) {
        let mut at = 0;
        while let Some(first) = self.names.get(at) {
            let is_same = |named: &&Named| named.group == first.group && named.instance == first.instance;
            let names = self.names.get(at..).unwrap_or_default();
            let count = names.iter().take_while(is_same).count();
            let values = values.get(at..).unwrap_or_default();
            let pairs = names.iter().map(|named| named.name.as_str()).zip(values.iter().copied()).take(count);
            self.put_group(columns, first, pairs);
            at = at.saturating_add(count.max(1));
        }
    }

    fn put_group<'l>(
        &self,
        columns: &mut Columns,
        first: &Named,
        pairs: impl Iterator<Item = (&'l str, &'l str)>,
    ) {
        let number = |value: &str| value.parse::<f64>().ok().filter(|number| number.is_finite());
        let fields: Vec<Field<'l>> = pairs
            .filter(|(name, _)| *name != "Name")
            .map(|(name, value)| Field {
                name,
                number: number(value).map(Number::F64),
                own: VALUE,
                source: 0,
            })
            .collect();
        let instance = first.instance.as_deref();
        let total = ("_Total", "_Total");
        match (first.group.as_str(), instance) {
            ("CPU", Some(processor)) => {
                columns.put(&COLLECTL_CPU, self.layout, Some((processor, processor)), &fields);
            }
            ("CPU", None) => {
                let (of_all, rest): (Vec<Field<'_>>, Vec<Field<'_>>) = fields
                    .into_iter()
                    .partition(|field| field.name.ends_with('%') || field.name.starts_with("Intrpt"));
                columns.put(&COLLECTL_CPU, self.layout, Some(total), &of_all);
                columns.put(&COLLECTL_MACHINE, self.layout, None, &rest);
            }
            ("MEM", None) => columns.put(&COLLECTL_MEMORY, self.layout, None, &fields),
            ("DSK", name) => {
                let who = name.map_or(total, |name| (name, name));
                columns.put(&COLLECTL_DISK, self.layout, Some(who), &fields);
            }
            ("NET", name) => {
                let who = name.map_or(total, |name| (name, name));
                columns.put(&COLLECTL_NET, self.layout, Some(who), &fields);
            }
            (group, name) => {
                let group = format!("collectl {group}");
                let own = match name {
                    Some(_) => format!("{group} by instance"),
                    None => group,
                };
                let table = Table { group: &own, own: &own, rows: &[] };
                columns.put(&table, self.layout, name.map(|name| (name, name)), &fields);
            }
        }
    }

    /// Puts a line about a process into the record.
    fn put_process(&self, columns: &mut Columns, values: &[&str]) -> Result<(), &'static str> {
        let value = |wanted: &str| {
            let at = self.names.iter().position(|named| named.name == wanted)?;
            values.get(at).copied()
        };
        let id = value("PID").ok_or("a process without an id")?;
        let command = value("Command").unwrap_or_default();
        let program = command.split_whitespace().next().unwrap_or_default();
        let name = program.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("unknown");
        let pairs = self.names.iter().map(|named| named.name.as_str()).zip(values.iter().copied());
        let fields: Vec<Field<'_>> = pairs
            .filter_map(|(name, value)| {
                let number = value.parse::<f64>().ok().filter(|number| number.is_finite())?;
                let is_number = !matches!(name, "User" | "PR" | "S" | "AccumT" | "Command");
                is_number.then_some(Field { name, number: Some(Number::F64(number)), own: VALUE, source: 0 })
            })
            .collect();
        // A line may lack a number: its columns are others then.
        let layout = self.layout.saturating_mul(1 << 16).saturating_add(fields.len() as u64);
        columns.put(&COLLECTL_PROCESS, layout, Some((&format!("{id} {name}"), name)), &fields);
        Ok(())
    }
}

impl Named {
    /// `[DSK:vda]Reads` and the like; a column of processes has no brackets.
    fn of(text: &str) -> Named {
        let whole = || Named { name: text.to_owned(), ..Named::default() };
        // The name of an instance may have brackets.
        let Some((inside, name)) = text.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')) else {
            return whole();
        };
        let (group, instance) = match inside.split_once(':') {
            Some((group, instance)) => (group, Some(instance.to_owned())),
            None => (inside, None),
        };
        Named { group: group.to_owned(), instance, name: name.to_owned() }
    }
}

/// The minutes to add to local time, from `TZ: +0100` in the lines about the machine.
fn zone_of(words: &[&str]) -> Option<i32> {
    let at = words.iter().position(|word| *word == "TZ:")?;
    let zone = words.get(at.checked_add(1)?)?;
    let digits: i32 = zone.strip_prefix(['+', '-'])?.parse().ok()?;
    let minutes = (digits / 100).checked_mul(60)?.checked_add(digits % 100)?;
    Some(if zone.starts_with('-') { minutes } else { minutes.saturating_neg() })
}

/// `20261122`, or a date with signs between its numbers.
fn day_of(text: &str) -> Option<FileTime> {
    if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let (year, month, day) = (text.get(..4)?, text.get(4..6)?, text.get(6..)?);
        return date(&format!("{year}-{month}-{day}"));
    }
    date(text)
}

impl<R: BufRead + Send> Decoder for CollectlDecoder<R> {
    fn next(&mut self, columns: &mut Columns) -> Result<Option<(FileTime, i32)>, LogError> {
        let mut row: Option<FileTime> = None;
        while let Some(line) = self.lines.next()? {
            columns.report_cut(&line);
            if line.text.starts_with('#') || line.text.trim().is_empty() {
                if is_heading(line.text.as_bytes()) {
                    self.heading(&line.text);
                }
                continue;
            }
            let parts = self.parts(&line.text).filter(|(_, values)| values.len() == self.names.len());
            let Some((time, values)) = parts else {
                let words = format!(
                    "a row needs a date such as 20261122, a time and {} values; it is left out",
                    self.names.len()
                );
                columns.damage_line(line.byte, line.number, words);
                continue;
            };
            if row.is_some_and(|of| of != time) {
                self.lines.put_back(line);
                break;
            }
            if row.is_none() {
                columns.begin(time, time.0);
                row = Some(time);
            }
            if !self.is_process {
                self.put(columns, &values);
                break;
            }
            if let Err(words) = self.put_process(columns, &values) {
                columns.damage_line(line.byte, line.number, format!("{words}; it is left out"));
            }
        }
        Ok(row.map(|time| (time, self.bias.saturating_neg())))
    }
}
