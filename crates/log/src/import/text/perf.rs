//! Reads the output of `perf stat -I MILLISECONDS -x SEPARATOR -o FILE`: counts of events in each interval.

use std::collections::{HashMap, HashSet};
use std::io::BufRead;

use tallymon_core::time::{FileTime, UNITS_PER_SECOND};

use super::nmon::hash;
use super::times::{date_with_name, join, time_of_day};
use crate::error::{LogError, LogErrorKind};
use crate::format::Format;
use crate::import::columns::{Columns, MOST_COLUMNS};
use crate::import::lines::Lines;
use crate::import::reader::Decoder;
use crate::import::table::{Field, Kind, Number, RATE, Table};
use crate::reader::About;
use crate::zone::{Zone, add_minutes};

const STARTED: &str = "# started on ";
const OBJECT: &str = "perf stat";
const TABLE: Table<'static> = Table { group: OBJECT, own: OBJECT, rows: &[] };
/// Milliseconds of a clock are a share of the time.
const MILLISECONDS: Kind = Kind::Busy(UNITS_PER_SECOND / 1000);

/// Whether a file begins as one of `perf stat -I … -x … -o FILE`: the start, and a line of a time, a separator that is
/// no space, and more.
pub(crate) fn is_perf(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head.get(..head.len().min(4096)).unwrap_or(head));
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.next().is_some_and(|line| line.starts_with(STARTED))
        && lines.next().is_some_and(|line| separator(line).is_some())
}

/// The character behind the time of a line.
fn separator(line: &str) -> Option<char> {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let separator = rest.chars().next().filter(|c| !c.is_whitespace() || *c == '\t')?;
    let time = line.trim_start().split(separator).next()?;
    (time.parse::<f64>().is_ok() && rest.matches(separator).count() >= 3).then_some(separator)
}

/// One line: an event, where it was counted, and how often in the interval.
#[derive(Debug, Clone)]
struct Count {
    /// What it was counted in, such as `CPU0` or `S0`; empty for all together.
    place: String,
    event: String,
    /// None if the event was not counted.
    grown: Option<Number>,
    is_time: bool,
}

/// Decodes the output of `perf stat`.
pub(crate) struct PerfDecoder<R> {
    lines: Lines<R>,
    separator: char,
    start: FileTime,
    minutes: i32,
    /// The growth of all intervals so far, by place and event.
    totals: HashMap<(String, String), f64>,
    /// The interval that was read already: its time as it is printed, and its lines.
    ahead: Option<(String, Vec<Count>)>,
    has_begun: bool,
}

impl<R: BufRead + Send> PerfDecoder<R> {
    /// Reads the line with the start, and the first interval.
    pub(crate) fn open(input: R, bias: Option<i32>) -> Result<(PerfDecoder<R>, Columns), LogError> {
        let mut columns = Columns::new(About::new(Format::Perf));
        columns.about.writer = Some("perf stat".to_owned());
        columns.about.zone = match bias {
            Some(bias) => Zone::Fixed { name: String::new(), bias },
            None => Zone::Unknown,
        };
        let mut lines = Lines::new(input);
        let started = lines.next()?.map(|line| line.text).unwrap_or_default();
        let start = started.strip_prefix(STARTED).and_then(start).ok_or_else(|| {
            LogError::new(LogErrorKind::NotALog(format!("{started:?} is not when `perf stat -o FILE` began")))
        })?;
        let mut decoder = PerfDecoder {
            lines,
            separator: ',',
            start: add_minutes(start, bias.unwrap_or(0)),
            minutes: bias.unwrap_or(0).saturating_neg(),
            totals: HashMap::new(),
            ahead: None,
            has_begun: false,
        };
        decoder.ahead = decoder.interval(&mut columns)?;
        Ok((decoder, columns))
    }

    /// The lines that have the same time.
    fn interval(&mut self, columns: &mut Columns) -> Result<Option<(String, Vec<Count>)>, LogError> {
        let mut read: Option<(String, Vec<Count>)> = None;
        while let Some(line) = self.lines.next()? {
            columns.report_cut(&line);
            let text = line.text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            self.separator = separator(text).unwrap_or(self.separator);
            let fields: Vec<&str> = text.split(self.separator).collect();
            let time = fields.first().filter(|time| seconds(time).is_some());
            let Some((time, count)) = time.zip(count(&fields)) else {
                let words = "a line needs a time, a count, a unit and an event; it is left out".to_owned();
                columns.damage_line(line.byte, line.number, words);
                continue;
            };
            match &mut read {
                Some((of, _)) if of != time => {
                    self.lines.put_back(line);
                    return Ok(read);
                }
                Some((_, counts)) => counts.extend(count),
                None => read = Some(((*time).to_owned(), count.into_iter().collect())),
            }
        }
        Ok(read)
    }

    /// Puts counts into a record: their growth is added to that of earlier intervals.
    fn put(&mut self, columns: &mut Columns, counts: &[Count], adds: bool) {
        let mut absent = HashSet::new();
        for count in counts {
            let key = (count.place.clone(), count.event.clone());
            if self.totals.len() >= MOST_COLUMNS && !self.totals.contains_key(&key) {
                continue;
            }
            let total = self.totals.entry(key.clone()).or_insert(0.0);
            match count.grown {
                Some(grown) if adds => *total += grown.as_f64(),
                Some(_) => {}
                None => _ = absent.insert(key.clone()),
            }
            let number = (!absent.contains(&key)).then_some(whole(*total, count));
            let own = if count.is_time { MILLISECONDS } else { RATE };
            let fields = [Field { name: &count.event, number, own, source: 0 }];
            let place = (!count.place.is_empty()).then_some((count.place.as_str(), count.place.as_str()));
            columns.put(&TABLE, hash(&count.event), place, &fields);
        }
    }
}

/// The total as the number that its lines have: whole, or with fractions.
fn whole(total: f64, count: &Count) -> Number {
    match count.grown {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sum of whole counts")]
        Some(Number::U64(_)) => Number::U64(total as u64),
        _ => Number::F64(total),
    }
}

/// `Tue Nov 24 15:38:53 2026`.
fn start(text: &str) -> Option<FileTime> {
    let [_, month, day, time, year] = text.split_whitespace().collect::<Vec<_>>()[..] else { return None };
    Some(join(date_with_name(&format!("{day}-{month}-{year}"))?, time_of_day(time)?))
}

/// Seconds since the start, in 100 ns.
fn seconds(text: &str) -> Option<u64> {
    let seconds: f64 = text.trim().parse().ok()?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
    (seconds.is_finite() && (0.0..1e11).contains(&seconds))
        .then(|| (seconds * UNITS_PER_SECOND as f64).round() as u64)
}

/// The number of an event: `Some(None)` if it was not counted.
fn number(text: &str) -> Option<Option<Number>> {
    let text = text.trim();
    if text.starts_with('<') {
        return Some(None);
    }
    if let Ok(count) = text.parse::<u64>() {
        return Some(Some(Number::U64(count)));
    }
    text.parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0)
        .map(|n| Some(Number::F64(n)))
}

/// A line behind its time: `COUNT,UNIT,EVENT,…`; with a place before it, `CPU0` or `S0,2` with the number of its
/// processors. The inner `None`: a line with a computed metric only.
fn count(fields: &[&str]) -> Option<Option<Count>> {
    let is_number = |at: usize| fields.get(at).is_some_and(|field| number(field).is_some());
    let (place, at) = match (is_number(1), is_number(2), is_number(3)) {
        (true, _, _) => ("", 1),
        (false, true, true) => (*fields.get(1)?, 3),
        (false, true, false) => (*fields.get(1)?, 2),
        // Metrics of the event in the line before, without a count.
        (false, false, _) => return fields.get(1)?.trim().is_empty().then_some(None),
    };
    let [value, unit, event, ..] = fields.get(at..)? else { return None };
    let event = event.trim();
    if event.is_empty() {
        return None;
    }
    Some(Some(Count {
        place: place.trim().to_owned(),
        event: event.to_owned(),
        grown: number(value)?,
        is_time: unit.trim() == "msec",
    }))
}

impl<R: BufRead + Send> Decoder for PerfDecoder<R> {
    fn next(&mut self, columns: &mut Columns) -> Result<Option<(FileTime, i32)>, LogError> {
        // The first row is the start, when nothing was counted: the first interval has rates too.
        if !self.has_begun {
            self.has_begun = true;
            let Some((_, counts)) = self.ahead.clone() else { return Ok(None) };
            columns.begin(self.start, self.start.0);
            self.put(columns, &counts, false);
            return Ok(Some((self.start, self.minutes)));
        }
        let Some((time, counts)) = self.ahead.take() else { return Ok(None) };
        let time = FileTime(self.start.0.saturating_add(seconds(&time).unwrap_or(0)));
        columns.begin(time, time.0);
        self.put(columns, &counts, true);
        self.ahead = self.interval(columns)?;
        Ok(Some((time, self.minutes)))
    }
}
