//! Puts the tables of a report of `sar` beside each other. `sar -A -f FILE` prints the rows of all times of
//! one table with their average, and then those of the next table; a log has all values of one time together.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use tallymon_core::time::UNITS_PER_SECOND;

use super::times::{half_day, time_of_day};
use crate::import::lines::{Line, Lines};

/// A longer report is read in its own order: so much of it is kept.
const MOST_BYTES: u64 = 32 << 20;
const HALF_DAY: u64 = 43_200 * UNITS_PER_SECOND;

/// The lines of a report, in the order of their times.
pub(super) struct ByTime<R> {
    /// Lines that were read already.
    ahead: VecDeque<Line>,
    lines: Lines<R>,
}

/// A row of a table: the days since its first row, its time of day, its heading, and itself.
struct Row {
    days: u64,
    of_day: u64,
    heading: usize,
    line: Line,
}

impl<R: BufRead> ByTime<R> {
    pub(super) fn new(mut lines: Lines<R>) -> io::Result<ByTime<R>> {
        let (mut ahead, mut bytes, mut is_whole) = (VecDeque::new(), 0_u64, false);
        while bytes < MOST_BYTES && !is_whole {
            match lines.next()? {
                Some(line) => {
                    bytes = bytes.saturating_add(line.text.len() as u64).saturating_add(64);
                    ahead.push_back(line);
                }
                None => is_whole = true,
            }
        }
        let sorted = if is_whole { by_time(&ahead) } else { None };
        Ok(ByTime { ahead: sorted.unwrap_or(ahead), lines })
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        match self.ahead.pop_front() {
            Some(line) => Ok(Some(line)),
            None => self.lines.next(),
        }
    }

    /// Gives back a line that belongs to what follows: the next one again.
    pub(super) fn put_back(&mut self, line: Line) {
        self.ahead.push_front(line);
    }
}

/// Whether words behind a time are the names of columns: none is a number, and the line before is empty.
pub(super) fn are_names<'w>(mut words: impl Iterator<Item = &'w str>, is_behind_blank: bool) -> bool {
    is_behind_blank && words.all(|word| word.parse::<f64>().is_err())
}

/// Whether a line says that the machine was started.
pub(super) fn is_restart(text: &str) -> bool {
    text.contains("LINUX RESTART")
}

/// The lines in the order of their times; `None` if they are in it already, or are of another program.
fn by_time(lines: &VecDeque<Line>) -> Option<VecDeque<Line>> {
    let (mut headings, mut rows): (Vec<&Line>, Vec<Row>) = (Vec::new(), Vec::new());
    let (mut is_behind_blank, mut is_behind_average, mut is_by_table) = (true, false, false);
    let (mut days, mut before) = (0_u64, None::<u64>);
    let mut names: Vec<&str> = Vec::new();
    for line in lines {
        let text = line.text.trim();
        if text.is_empty() {
            is_behind_blank = true;
            continue;
        }
        if text.starts_with("Average") || text.starts_with("Summary") {
            is_behind_average = true;
            continue;
        }
        let mut words = text.split_whitespace().peekable();
        let of_day = words.next().and_then(time_of_day)?;
        let half = words.peek().and_then(|half| half_day(of_day, half));
        if half.is_some() {
            words.next();
        }
        let of_day = half.unwrap_or(of_day);
        if is_restart(text) {
            continue;
        }
        let words: Vec<&str> = words.collect();
        if are_names(words.iter().copied(), is_behind_blank) {
            headings.push(line);
            // Behind a restart the same table goes on; the next one begins with the first time again.
            let is_other = names != words;
            if std::mem::take(&mut is_behind_average) && is_other {
                (days, before) = (0, None);
            }
            names = words;
        } else {
            if before.is_some_and(|before| before > of_day.saturating_add(HALF_DAY)) {
                days = days.saturating_add(1);
            }
            is_by_table |= rows.last().is_some_and(|last| (last.days, last.of_day) > (days, of_day));
            before = Some(of_day);
            let line = Line { text: line.text.clone(), ..*line };
            rows.push(Row { days, of_day, heading: headings.len().checked_sub(1)?, line });
        }
        is_behind_blank = false;
    }
    if !is_by_table {
        return None;
    }
    rows.sort_by_key(|row| (row.days, row.of_day));
    let mut sorted = VecDeque::with_capacity(rows.len());
    let mut last = None;
    for row in rows {
        if last.replace(row.heading) != Some(row.heading) {
            let heading = headings.get(row.heading)?;
            sorted.push_back(Line { text: String::new(), ..**heading });
            sorted.push_back(Line { text: heading.text.clone(), ..**heading });
        }
        sorted.push_back(row.line);
    }
    Some(sorted)
}
