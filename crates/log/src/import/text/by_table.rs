//! Puts the tables of a report of `sar` beside each other. `sar -A -f FILE` prints the rows of all times of
//! one table with their average, and then those of the next table; a log has all values of one time together.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use tallymon_core::time::UNITS_PER_SECOND;

use super::times::{half_day, time_of_day};
use crate::import::lines::{Line, Lines};

/// A longer report is read in its own order: so much of it is kept.
const MOST_BYTES: u64 = 32 << 20;
/// The most bytes of headings that a sorted report has: a long heading before each short row is an attack.
const MOST_HEADINGS: usize = 64 << 20;
const HALF_DAY: u64 = 43_200 * UNITS_PER_SECOND;

/// The lines of a report, in the order of their times.
pub(super) struct ByTime<R> {
    /// Lines that come next: those given back, and a row behind its heading.
    next: VecDeque<Line>,
    /// Lines that were read already, each with the number of its heading in a sorted report.
    ahead: VecDeque<(Option<usize>, Line)>,
    headings: Vec<Line>,
    /// The heading of the last row.
    last: Option<usize>,
    lines: Lines<R>,
}

/// A row of a table: the days since its first row, its time of day, and the numbers of its heading and line.
struct Row {
    days: u64,
    of_day: u64,
    heading: usize,
    line: usize,
}

/// Rows in the order of their times, and the numbers of the lines that are their headings.
struct Sorted {
    rows: Vec<Row>,
    headings: Vec<usize>,
}

impl<R: BufRead> ByTime<R> {
    pub(super) fn new(mut lines: Lines<R>) -> io::Result<ByTime<R>> {
        let (mut read, mut bytes, mut is_whole) = (Vec::new(), 0_u64, false);
        while bytes < MOST_BYTES && !is_whole {
            match lines.next()? {
                Some(line) => {
                    bytes = bytes.saturating_add(line.text.len() as u64).saturating_add(64);
                    read.push(line);
                }
                None => is_whole = true,
            }
        }
        let mut headings = Vec::new();
        let ahead = match if is_whole { by_time(&read) } else { None } {
            Some(sorted) => {
                // Each line is in one place of a sorted report.
                let mut take = |at: usize| {
                    let line = read.get_mut(at)?;
                    Some(Line { text: std::mem::take(&mut line.text), ..*line })
                };
                headings.extend(sorted.headings.into_iter().filter_map(&mut take));
                let rows = sorted.rows.into_iter();
                rows.filter_map(|row| Some((Some(row.heading), take(row.line)?))).collect()
            }
            None => read.into_iter().map(|line| (None, line)).collect(),
        };
        Ok(ByTime { next: VecDeque::new(), ahead, headings, last: None, lines })
    }

    /// The next line. Where the table changes in a sorted report, a blank line and its heading come first;
    /// the heading is copied only then, because many rows may have a long one.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        if let Some(line) = self.next.pop_front() {
            return Ok(Some(line));
        }
        let Some((heading, line)) = self.ahead.pop_front() else { return self.lines.next() };
        if heading == self.last {
            return Ok(Some(line));
        }
        self.last = heading;
        let Some(names) = heading.and_then(|heading| self.headings.get(heading)) else {
            return Ok(Some(line));
        };
        self.next.extend([Line { text: names.text.clone(), ..*names }, line]);
        Ok(Some(Line { text: String::new(), ..*names }))
    }

    /// Gives back a line that belongs to what follows: the next one again.
    pub(super) fn put_back(&mut self, line: Line) {
        self.next.push_front(line);
    }
}

/// Whether words behind a time are the names of columns: there is one, none is a number, and the line before
/// is empty.
pub(super) fn are_names<'w>(words: impl Iterator<Item = &'w str>, is_behind_blank: bool) -> bool {
    let mut words = words.peekable();
    is_behind_blank && words.peek().is_some() && words.all(|word| word.parse::<f64>().is_err())
}

/// Whether a line says that the machine was started.
pub(super) fn is_restart(text: &str) -> bool {
    text.contains("LINUX RESTART")
}

/// The rows in the order of their times; `None` if they are in it already, are of another program, or would
/// have too long headings.
fn by_time(lines: &[Line]) -> Option<Sorted> {
    let (mut headings, mut rows): (Vec<usize>, Vec<Row>) = (Vec::new(), Vec::new());
    let (mut is_behind_blank, mut is_behind_average, mut is_by_table) = (true, false, false);
    let (mut days, mut before) = (0_u64, None::<u64>);
    let mut names: Vec<&str> = Vec::new();
    for (nth, line) in lines.iter().enumerate() {
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
            headings.push(nth);
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
            rows.push(Row { days, of_day, heading: headings.len().checked_sub(1)?, line: nth });
        }
        is_behind_blank = false;
    }
    if !is_by_table {
        return None;
    }
    rows.sort_by_key(|row| (row.days, row.of_day));
    let (mut last, mut bytes) = (None, 0_usize);
    for row in &rows {
        if last.replace(row.heading) != Some(row.heading) {
            let heading = headings.get(row.heading).and_then(|heading| lines.get(*heading))?;
            bytes = bytes.saturating_add(heading.text.len());
        }
    }
    (bytes <= MOST_HEADINGS).then_some(Sorted { rows, headings })
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "small numbers of a test")]
mod tests {
    use tallymon_testkit::attack;

    use super::*;

    /// Two tables with a heading of `words` words and a row for each of `rows` seconds.
    fn report(words: usize, rows: usize) -> String {
        let mut text = String::new();
        for table in ["a", "b"] {
            text.push_str(&format!("\n00:00:00 {}\n", table.repeat(words)));
            for row in 0..rows {
                text.push_str(&format!("00:{:02}:{:02} {table}1\n", row / 60, row % 60));
            }
        }
        text
    }

    /// The first letters of the lines, and the most bytes that were kept to come next.
    fn read(text: &str) -> (Vec<String>, usize) {
        let mut lines = ByTime::new(Lines::new(text.as_bytes())).unwrap();
        let (mut found, mut most) = (Vec::new(), 0);
        while let Some(line) = lines.next().unwrap() {
            found.push(line.text.chars().take(11).collect());
            most = most.max(lines.next.iter().map(|line| line.text.len()).sum());
        }
        (found, most)
    }

    #[test]
    fn rows_of_a_time_come_together_behind_their_headings() {
        let (found, _) = read(&report(2, 2));
        let a = |time: &str| [String::new(), "00:00:00 aa".to_owned(), format!("00:00:{time} a1")];
        let b = |time: &str| [String::new(), "00:00:00 bb".to_owned(), format!("00:00:{time} b1")];
        assert_eq!(found, [a("00"), b("00"), a("01"), b("01")].concat());
    }

    #[test]
    fn attack_a_long_heading_before_each_row() {
        let (long, few) = (500_000, 40);
        let (found, most) = read(&report(long, few));
        // Sorted: a blank line and the heading before each row, of which one copy lives.
        assert_eq!(found.len(), 2 * few * 3);
        assert!(most < long + 100, "{most} bytes are kept");
        // A thousand times the bytes of the report: it stays in its own order.
        let many = 3000;
        let (found, most) = read(&report(long, many));
        assert_eq!((found.len(), most), (2 * (many + 2), 0));
        attack(
            "logs and other files",
            "a report of sar of 1 MB whose long headings would come before each of its rows",
            "one copy of a heading at a time, and a bounded number of them",
        );
    }

    #[test]
    fn a_line_with_only_a_time_has_no_names() {
        assert!(!are_names(std::iter::empty(), true));
        assert!(are_names(["CPU"].into_iter(), true) && !are_names(["CPU"].into_iter(), false));
        assert!(!are_names(["CPU", "1"].into_iter(), true));
    }
}
