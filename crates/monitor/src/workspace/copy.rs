//! Copies a path, the settings or the values in view to the clipboard of the terminal.

use std::fmt::Write as _;

use tallymon::core::counter::g17;

use crate::model::{Series, format};
use crate::words::Word;
use crate::workspace::state::{View, Workspace};

/// The longest text to copy: many terminals silently ignore more.
const LONGEST: usize = 100_000;

impl Workspace {
    /// Copies a text to the clipboard.
    pub(crate) fn copy(&mut self, text: Option<String>) {
        if text.is_some() {
            self.message = Some(self.words.get(Word::Copied).to_string());
            self.clipboard = text;
        }
    }

    /// Copies the values in view, as a table for a spreadsheet.
    pub(crate) fn copy_values(&mut self) {
        let shown: Vec<&Series> = self
            .lines()
            .into_iter()
            .filter_map(|line| self.monitor.series().get(line))
            .filter(|series| !series.hidden)
            .collect();
        let text = match self.view {
            View::Report | View::Bars => last_values(&shown),
            _ => self.rows_in_view(&shown),
        };
        match text {
            Some(text) => self.copy(Some(text)),
            None => self.message = Some(self.words.get(Word::TooMany).to_string()),
        }
    }

    /// A line of paths, and a line for each row in view. `None` when that is too long.
    fn rows_in_view(&self, shown: &[&Series]) -> Option<String> {
        let mut text = self.words.get(Word::Time).to_string();
        for series in shown {
            text.push('\t');
            text.push_str(&series.path);
        }
        text.push('\n');
        let next = self.monitor.next();
        for row in self.monitor.view() {
            let time = self.local_time(self.monitor.time(row).unwrap_or_default()).time;
            // Writing to a string cannot fail.
            let _ = write!(text, "{time}");
            for series in shown {
                text.push('\t');
                if let Some(Ok(number)) = series.at(next, row) {
                    let _ = write!(text, "{}", g17(number));
                }
            }
            text.push('\n');
            if text.len() > LONGEST {
                return None;
            }
        }
        Some(text)
    }
}

/// A line for each counter with its last value.
fn last_values(shown: &[&Series]) -> Option<String> {
    let mut text = String::new();
    for series in shown {
        let value = series.last.as_ref().ok();
        let value = value.map(|value| match value.as_f64() {
            Some(number) => g17(number).to_string(),
            None => format::Numbers::default().value(value, series.counter_type),
        });
        let _ = writeln!(text, "{}\t{}", series.path, value.unwrap_or_default());
    }
    (text.len() <= LONGEST).then_some(text)
}
