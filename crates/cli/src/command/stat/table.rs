//! Prints the lines of a report: aligned, the heading repeated on each screen, the mean at the end.

use std::io;

use tallymon::clock::LocalZone;
use tallymon::core::time::FileTime;
use tallymon::log::LogClock;
use tallymon::log::zone::add_minutes;
use tallymon_monitor::Colours;
use tallymon_monitor::model::overview::Level;
use unicode_width::UnicodeWidthStr;

use super::reports::{Column, Report};
use crate::words::{terminal_height, visible};

/// Columns of a number.
const WIDE: usize = 11;
/// Columns of the name of an instance.
const NAME: usize = 16;

/// A line of a report: an instance and its numbers.
#[derive(Debug, Clone)]
pub(super) struct Line {
    host: Option<String>,
    pub(super) instance: String,
    numbers: Vec<Option<f64>>,
}

impl Line {
    pub(super) fn new(host: Option<String>, instance: String, columns: usize) -> Line {
        Line { host, instance, numbers: vec![None; columns] }
    }

    pub(super) fn set(&mut self, nth: usize, number: f64) {
        if let Some(place) = self.numbers.get_mut(nth) {
            *place = Some(number);
        }
    }

    pub(super) fn number(&self, nth: usize) -> Option<f64> {
        self.numbers.get(nth).copied().flatten()
    }

    pub(super) fn has_values(&self) -> bool {
        self.numbers.iter().any(Option::is_some)
    }

    /// What the first column says.
    fn name(&self) -> String {
        let instance = if self.instance == "_Total" { "all" } else { &self.instance };
        let name = match &self.host {
            Some(host) => format!("{host} {instance}"),
            None => instance.to_string(),
        };
        visible(&name).into_owned()
    }
}

/// The sum of the numbers of a line so far, to print their mean.
struct Sum {
    line: Line,
    counts: Vec<u32>,
}

/// Prints the samples of a report.
pub(super) struct Printer {
    report: &'static Report,
    host: String,
    zone: LocalZone,
    /// The clock of the log that the samples are from; without one, they are of this machine.
    clock: Option<LogClock>,
    has_colours: bool,
    /// Lines of a screen; `None` where the output is no terminal, and has one heading.
    screen: Option<usize>,
    /// Lines since the last heading; `None` before the first.
    since: Option<usize>,
    /// The mean of each line; processes come and go and have none.
    sums: Vec<Sum>,
    samples: u32,
}

impl Printer {
    pub(super) fn new(report: &'static Report, host: &str, is_terminal: bool) -> Printer {
        Printer {
            report,
            host: host.to_string(),
            zone: LocalZone::system(),
            clock: None,
            has_colours: is_terminal && Colours::of_environment() != Colours::None,
            screen: is_terminal.then(|| terminal_height().unwrap_or(24).saturating_sub(2).max(4)),
            since: None,
            sums: Vec::new(),
            samples: 0,
        }
    }

    /// Shows local times by the clock of a log.
    pub(super) fn with_clock(mut self, clock: LogClock) -> Printer {
        self.clock = Some(clock);
        self
    }

    /// Whether each sample has a heading: its lines are others than before.
    fn is_of_processes(&self) -> bool {
        self.report.rows == Some("COMMAND")
    }

    /// Prints a sample.
    pub(super) fn sample(&mut self, time: FileTime, lines: &[Line]) -> io::Result<()> {
        let mut text = String::new();
        let minutes = match &self.clock {
            Some(clock) => clock.minutes(time),
            None => self.zone.minutes(time),
        };
        let local = add_minutes(time, minutes).system_time();
        if self.since.is_none() {
            let date = format!("{:04}-{:02}-{:02}", local.year, local.month, local.day);
            text += &format!("{}  {date}\n", visible(&self.host));
        }
        let is_full =
            |since: usize| self.screen.is_some_and(|screen| since.saturating_add(lines.len()) > screen);
        if self.since.is_none_or(is_full) || self.is_of_processes() {
            text += "\n";
            text += &self.heading();
            self.since = Some(0);
        }
        let clock = format!("{:02}:{:02}:{:02}", local.hour, local.minute, local.second);
        for line in lines {
            text += &self.line(&clock, line, self.has_colours);
            self.add(line);
        }
        self.since = self.since.map(|since| since.saturating_add(lines.len()));
        self.samples = self.samples.saturating_add(1);
        crate::border::coloured(&text)
    }

    /// Prints the mean of the samples, as sar does at its end. One sample is its own mean.
    pub(super) fn average(&self) -> io::Result<()> {
        if self.samples < 2 || self.is_of_processes() {
            return Ok(());
        }
        let mut text = String::from("\n");
        for sum in &self.sums {
            let mut line = sum.line.clone();
            for (number, count) in line.numbers.iter_mut().zip(&sum.counts) {
                *number = number.filter(|_| *count > 0).map(|number| number / f64::from(*count));
            }
            text += &self.line("Average:", &line, false);
        }
        crate::border::coloured(&text)
    }

    fn add(&mut self, line: &Line) {
        let is_same = |sum: &&mut Sum| sum.line.instance == line.instance && sum.line.host == line.host;
        let sum = match self.sums.iter_mut().find(is_same) {
            Some(sum) => sum,
            None => {
                let empty = Line { numbers: vec![None; line.numbers.len()], ..line.clone() };
                self.sums.push(Sum { counts: vec![0; line.numbers.len()], line: empty });
                let Some(sum) = self.sums.last_mut() else { return };
                sum
            }
        };
        for ((whole, count), number) in sum.line.numbers.iter_mut().zip(&mut sum.counts).zip(&line.numbers) {
            if let Some(number) = number {
                *whole = Some(whole.unwrap_or(0.0) + number);
                *count = count.saturating_add(1);
            }
        }
    }

    fn heading(&self) -> String {
        let mut text = format!("{:8}", "TIME");
        // The name of a process is as long as it is: it ends the line.
        if let Some(rows) = self.report.rows.filter(|_| !self.is_of_processes()) {
            text += &format!("  {rows:NAME$}");
        }
        for column in self.report.columns {
            text += &format!("{:>WIDE$}", column.title);
        }
        if self.is_of_processes() {
            text += "  COMMAND";
        }
        text + "\n"
    }

    fn line(&self, clock: &str, line: &Line, has_colours: bool) -> String {
        let mut text = format!("{clock:8}");
        let name = line.name();
        if self.report.rows.is_some() && !self.is_of_processes() {
            let gap = NAME.saturating_sub(name.width());
            text += &format!("  {name}{:gap$}", "");
        }
        for (column, number) in self.report.columns.iter().zip(&line.numbers) {
            text += &cell(column, *number, has_colours);
        }
        if self.is_of_processes() {
            text += &format!("  {name}");
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

/// A number in its column, coloured by load.
fn cell(column: &Column, number: Option<f64>, has_colours: bool) -> String {
    let shown = number.map_or_else(|| "-".to_string(), |number| column.text(number));
    // A column of its own stays apart, however long the number is.
    let gap = WIDE.saturating_sub(shown.width()).max(1);
    let level = number.zip(column.limits).map(|(number, limits)| limits.level(number));
    match level.filter(|_| has_colours) {
        Some(Level::High) => format!("{:gap$}\x1b[91m{shown}\x1b[0m", ""),
        Some(Level::Medium) => format!("{:gap$}\x1b[33m{shown}\x1b[0m", ""),
        _ => format!("{:gap$}{shown}", ""),
    }
}
