//! Reads the output of `atop -P`, and the raw logs that it is printed of: a line for each kind of value
//! and each process, with what it grew in the interval.
//!
//! The growth is added up, so that counters are as raw as those of a live machine. The first sample of a file
//! has the values since the start of the machine; `RESET` stands before it, and again after a restart.

mod labels;
#[cfg_attr(not(feature = "compressed"), path = "raw_absent.rs")]
mod raw;
mod sums;

use std::collections::HashMap;
use std::io::BufRead;

use tallymon_core::time::{FileTime, UNITS_PER_SECOND, UNIX_EPOCH};

use self::labels::{Label, Sort, TOTAL, Whose, all};
use self::sums::{Growth, Sums};
use crate::error::LogError;
use crate::format::Format;
use crate::import::columns::Columns;
use crate::import::lines::{Line, Lines};
use crate::import::reader::Decoder;
use crate::import::table::{Field, LEVEL, Number, RATE, Table};
use crate::import::text::times::{date, join, time_of_day};
use crate::reader::About;
use crate::zone::Zone;

#[cfg(test)]
pub(crate) use labels::tables;

/// The first bytes of a raw log of atop.
const RAW: [u8; 4] = 0xfeed_beef_u32.to_le_bytes();

/// Whether a file begins as the output of `atop -P`, or as a raw log of atop.
pub(crate) fn detect(head: &[u8]) -> bool {
    if head.starts_with(&RAW) {
        return true;
    }
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let line = lines.find(|line| !line.is_empty() && *line != b"RESET" && *line != b"SEP");
    line.and_then(|line| str::from_utf8(line).ok()).is_some_and(|line| Stamp::of(line).is_some())
}

/// The words before the values of a line.
struct Stamp<'l> {
    word: &'l str,
    host: &'l str,
    /// Seconds since 1970.
    epoch: u64,
    /// Minutes from UTC to the local time.
    local_minutes: i32,
    /// Seconds in which the values have grown.
    interval: u64,
    rest: &'l str,
}

impl Stamp<'_> {
    /// Takes a line apart: `LABEL host 1795444166 2026/11/23 14:29:26 10 …`.
    fn of(line: &str) -> Option<Stamp<'_>> {
        let mut rest = line;
        let mut next = || {
            let (word, after) = rest.trim_ascii_start().split_once(' ')?;
            rest = after;
            Some(word)
        };
        let (word, host, epoch) = (next()?, next()?, next()?);
        let (day, of_day, interval) = (next()?, next()?, next()?);
        if day.matches('/').count() != 2 {
            return None;
        }
        let interval: u64 = interval.parse().ok()?;
        let epoch: u64 = epoch.parse().ok()?;
        let local = join(date(day)?, time_of_day(of_day)?);
        let ahead = i128::from(local.0).checked_sub(i128::from(filetime(epoch)?.0))?;
        let minutes = ahead.checked_div(i128::from(UNITS_PER_SECOND))?.checked_div(60)?;
        let local_minutes = i32::try_from(minutes).ok().filter(|minutes| minutes.abs() <= FURTHEST)?;
        Some(Stamp { word, host, epoch, local_minutes, interval, rest })
    }
}

/// Seconds since 1970 as a time.
fn filetime(epoch: u64) -> Option<FileTime> {
    Some(FileTime(epoch.checked_mul(UNITS_PER_SECOND)?.checked_add(UNIX_EPOCH.0)?))
}

/// No zone is so many minutes from UTC.
const FURTHEST: i32 = 26 * 60;

/// A process: its id, and how many processes with this id ended before.
type ProcessKey = (u32, u32);

/// Where the lines come from.
enum Source<R> {
    Text(Lines<R>),
    Raw { raw: Box<raw::Raw<R>>, back: Option<Line> },
}

impl<R: BufRead> Source<R> {
    fn next(&mut self, columns: &mut Columns) -> std::io::Result<Option<Line>> {
        match self {
            Source::Text(lines) => lines.next(),
            Source::Raw { back, .. } if back.is_some() => Ok(back.take()),
            Source::Raw { raw, .. } => raw.next(columns),
        }
    }

    fn put_back(&mut self, line: Line) {
        match self {
            Source::Text(lines) => lines.put_back(line),
            Source::Raw { back, .. } => *back = Some(line),
        }
    }

    /// Says that a line, or a value of a raw log, is wrong.
    fn damage(&self, columns: &mut Columns, line: &Line, words: String) {
        match self {
            Source::Text(_) => columns.damage_line(line.byte, line.number, words),
            Source::Raw { .. } => {
                let label = line.text.split(' ').next().unwrap_or_default();
                columns.damage(line.byte, format!("the values of {label} in this record: {words}"));
            }
        }
    }
}

/// Decodes the output of `atop -P`, or a raw log.
pub(crate) struct AtopDecoder<R> {
    lines: Source<R>,
    /// What has grown.
    sums: Sums,
    /// How many processes with an id ended.
    ended: HashMap<u32, u32>,
    /// Processes that end in this sample, with their instances.
    ending: Vec<(ProcessKey, String)>,
    page: u64,
    hertz: u64,
}

impl<R: BufRead + Send> AtopDecoder<R> {
    /// A raw log does not say its zone: `bias` minutes are added to its local time to get UTC.
    pub(crate) fn open(mut input: R, bias: Option<i32>) -> Result<(AtopDecoder<R>, Columns), LogError> {
        let mut columns = Columns::new(About::new(Format::Atop));
        let (lines, writer) = if input.fill_buf()?.starts_with(&RAW) {
            let (raw, writer) = raw::Raw::open(input, bias.unwrap_or(0))?;
            (Source::Raw { raw: Box::new(raw), back: None }, writer)
        } else {
            (Source::Text(Lines::new(input)), "atop".to_owned())
        };
        columns.about.writer = Some(writer);
        let decoder = AtopDecoder {
            lines,
            sums: Sums::default(),
            ended: HashMap::new(),
            ending: Vec::new(),
            page: 4096,
            hertz: 100,
        };
        Ok((decoder, columns))
    }

    /// Puts the values of a line into the record.
    fn put(&mut self, columns: &mut Columns, stamp: &Stamp<'_>) -> Result<(), &'static str> {
        let is_upper = stamp.word == "NET" && stamp.rest.trim_ascii_start().starts_with("upper ");
        let word = if is_upper { "NET upper" } else { stamp.word };
        let Some((at, label)) = all().enumerate().find(|(_, label)| label.word == word) else {
            columns.about.notes.remark(format!("lines of the kind {word:.16} are not read"));
            return Ok(());
        };
        if label.whose == Whose::Process {
            return self.put_process(columns, at, label, stamp.rest);
        }
        // Other blanks of Unicode are part of a name.
        let words: Vec<&str> = stamp.rest.split_ascii_whitespace().collect();
        if word == "CGR" && words.first() == Some(&"P") {
            columns.about.notes.remark("which processes a control group has is not read");
            return Ok(());
        }
        let named = |place: usize| words.get(place).copied().ok_or("a line without a name");
        let name = match label.whose {
            Whose::Named(place) => named(place)?.to_owned(),
            Whose::Port => format!("{} {}", named(0)?, named(1)?),
            Whose::AllProcessors => TOTAL.to_owned(),
            Whose::Machine | Whose::Process => String::new(),
        };
        let name = name.as_str();
        let Some((fields, lost)) = self.fields(at, label, name, words.into_iter())? else { return Ok(()) };
        self.sums.set_clock(columns, lost);
        let instance = (!name.is_empty()).then_some((name, name));
        columns.put(&label.table, 0, instance, &fields);
        if let Some((table, name)) = &label.besides {
            columns.put(table, 0, name.map(|name| (name, name)), &fields);
        }
        Ok(())
    }

    /// A line of a process: `PID (name) state …`, or with underscores instead of the brackets.
    fn put_process(
        &mut self,
        columns: &mut Columns,
        at: usize,
        label: &Label,
        rest: &str,
    ) -> Result<(), &'static str> {
        const NO_PROCESS: &str = "a line of a process needs an id, a name and a state";
        let (pid, rest) = rest.trim_ascii_start().split_once(' ').ok_or(NO_PROCESS)?;
        let pid: u32 = pid.parse().map_err(|_| NO_PROCESS)?;
        let (name, rest) = match rest.strip_prefix('(') {
            Some(rest) => {
                let end = end_of_name(rest).ok_or(NO_PROCESS)?;
                (rest.get(..end).ok_or(NO_PROCESS)?, rest.get(end.saturating_add(2)..).ok_or(NO_PROCESS)?)
            }
            None => rest.split_once(' ').ok_or(NO_PROCESS)?,
        };
        let mut words = rest.split_ascii_whitespace();
        let has_ended = words.next().ok_or(NO_PROCESS)? == "E";
        let words: Vec<&str> = words.collect();
        if is_thread(label, &words) {
            columns.about.notes.remark("lines of threads are not read");
            return Ok(());
        }
        let who: ProcessKey = (pid, self.ended.get(&pid).copied().unwrap_or(0));
        let key = format!("{pid}.{} {name}", who.1);
        // Its lines follow one another, of one kind after the other.
        if has_ended && label.word == "PRC" {
            self.ending.push((who, key.clone()));
        }
        let Some((mut fields, lost)) = self.fields(at, label, &key, words.into_iter())? else {
            return Ok(());
        };
        self.sums.set_clock(columns, lost);
        fields.push(Field { name: "PID", number: Some(Number::U32(pid)), own: LEVEL, source: 0 });
        // Only the lines of the table: the others are of this kind of line.
        let table = Table { own: "", ..label.table };
        columns.put(&table, 0, Some((&key, name)), &fields);
        Ok(())
    }

    /// The fields of a line, with what has grown added up, and the time that this lacks; `None` if it says
    /// that nothing was measured. A line with a fault adds nothing.
    fn fields<'w>(
        &mut self,
        at: usize,
        label: &Label,
        instance: &str,
        words: impl Iterator<Item = &'w str>,
    ) -> Result<Option<(Vec<Field<'static>>, u64)>, &'static str> {
        let mut fields = Vec::with_capacity(label.fields.len());
        let mut grown: Vec<Growth> = Vec::new();
        for (place, ((name, sort), word)) in label.fields.iter().zip(words).enumerate() {
            let page = self.page;
            let number = match sort {
                Sort::Skip => continue,
                Sort::IsThere if matches!(word, "n" | "N") => return Ok(None),
                Sort::IsThere => continue,
                Sort::PageSize | Sort::Hertz => {
                    let number = word.parse().ok().filter(|number| (1..=1 << 30).contains(number));
                    let number = number.ok_or("the size of a page or the ticks of a second are no number")?;
                    if *sort == Sort::Hertz {
                        self.hertz = number
                    } else {
                        self.page = number
                    }
                    continue;
                }
                Sort::Percent => match word.trim_end_matches('%').parse::<f64>() {
                    Ok(number) if number.is_finite() => Some(Number::F64(number)),
                    _ => return Err("a value is not a number"),
                },
                Sort::Now | Sort::Pages | Sort::Positive | Sort::Natural => match word.parse::<i64>() {
                    Ok(-1) => None,
                    Ok(..0) if *sort == Sort::Natural => None,
                    Ok(0) if *sort == Sort::Positive => None,
                    Ok(number) if *sort == Sort::Pages => u64::try_from(number)
                        .ok()
                        .and_then(|number| number.checked_mul(page))
                        .map(Number::U64),
                    Ok(number) => Some(Number::I64(number)),
                    Err(_) => Some(Number::F64(
                        word.parse()
                            .ok()
                            .filter(|number: &f64| number.is_finite())
                            .ok_or("a value is not a number")?,
                    )),
                },
                Sort::Sum | Sort::Ticks | Sort::SumPages => match word.parse::<i64>() {
                    Ok(-1) => None,
                    Ok(number) => {
                        let by = u64::try_from(number).map_err(|_| "a count is negative")?;
                        let factor = match sort {
                            Sort::SumPages => page,
                            Sort::Ticks => UNITS_PER_SECOND.checked_div(self.hertz).unwrap_or(1),
                            _ => 1,
                        };
                        grown.push(Growth { place, field: fields.len(), by: by.saturating_mul(factor) });
                        None
                    }
                    Err(_) => return Err("a count is not a number"),
                },
            };
            let own = match (sort, number) {
                (Sort::Sum | Sort::SumPages | Sort::Ticks, _) => RATE,
                _ => LEVEL,
            };
            fields.push(Field { name, number, own, source: 0 });
        }
        let is_process = label.whose == Whose::Process;
        let lost = self.sums.grow((at, instance), is_process, &grown, &mut fields)?;
        Ok(Some((fields, lost)))
    }

    /// Forgets the processes that ended: another one may get their ids.
    fn forget_ended(&mut self) {
        for ((pid, nth), instance) in self.ending.drain(..) {
            self.ended.insert(pid, nth.saturating_add(1));
            for (at, label) in all().enumerate() {
                if label.whose == Whose::Process {
                    self.sums.forget(at, &instance);
                }
            }
        }
    }
}

/// Where the name of a process ends: a name may have brackets and blanks, but the state behind it is one
/// capital letter, or `t`.
fn end_of_name(text: &str) -> Option<usize> {
    let mut ends = text.match_indices(')').map(|(end, _)| end);
    ends.find(|end| {
        let mut after = text.get(*end..).unwrap_or_default().chars().skip(1);
        after.next() == Some(' ')
            && after.next().is_some_and(|letter| letter.is_ascii_uppercase() || letter == 't')
            && after.next() == Some(' ')
    })
}

/// Whether a line is about one thread of a process; a process is its first thread, too.
fn is_thread(label: &Label, words: &[&str]) -> bool {
    let place = match label.word {
        "PRC" => 10,
        "PRM" => 13,
        "PRD" => 9,
        "PRN" => 12,
        "PRE" => 8,
        // A command line of any length stands before; behind it are eleven numbers, and what it is.
        _ => {
            let is_tail = |part: &&[&str]| {
                let (last, numbers) = part.split_last().unzip();
                matches!(last, Some(&"y" | &"n"))
                    && numbers.is_some_and(|all: &[&str]| all.iter().all(|word| word.parse::<i64>().is_ok()))
            };
            return words.windows(12).rfind(is_tail).and_then(<[&str]>::last) == Some(&"n");
        }
    };
    words.get(place) == Some(&"n")
}

impl<R: BufRead + Send> Decoder for AtopDecoder<R> {
    fn next(&mut self, columns: &mut Columns) -> Result<Option<(FileTime, i32)>, LogError> {
        let mut row: Option<(FileTime, i32)> = None;
        while let Some(line) = self.lines.next(columns)? {
            columns.report_cut(&line);
            match line.text.trim() {
                "" => continue,
                "SEP" if row.is_some() => break,
                "SEP" => continue,
                "RESET" => {
                    // The counts of the machine begin again; those of processes never went on.
                    self.sums.clear();
                    continue;
                }
                _ => {}
            }
            let stamp = Stamp::of(&line.text).and_then(|stamp| Some((filetime(stamp.epoch)?, stamp)));
            let Some((time, stamp)) = stamp else {
                let words = "a line needs a label, a host, a time and an interval; it is left out";
                self.lines.damage(columns, &line, words.to_owned());
                continue;
            };
            if row.is_none() {
                match &columns.host {
                    None => columns.host = Some(stamp.host.to_owned()),
                    Some(host) if *host != stamp.host => {
                        let words = format!("a line of another host, {:.64}, is left out", stamp.host);
                        self.lines.damage(columns, &line, words);
                        continue;
                    }
                    Some(_) => {}
                }
                if columns.about.zone == Zone::Unknown {
                    let bias = stamp.local_minutes.saturating_neg();
                    columns.about.zone = Zone::Fixed { name: String::new(), bias };
                }
                self.sums.begin(columns, time, stamp.interval);
                row = Some((time, stamp.local_minutes));
            } else if row.is_some_and(|(of, _)| of != time) {
                // The end of the sample is missing.
                self.lines.put_back(line);
                break;
            }
            if let Err(words) = self.put(columns, &stamp) {
                self.lines.damage(columns, &line, format!("{words}; the line is left out"));
            }
        }
        self.sums.end(columns);
        self.forget_ended();
        Ok(row)
    }
}
