//! Lines of the legend: which pass the filter and the ticks, and which one is chosen.

use crate::model::Ticks;
use crate::term::text::width;
use crate::words::Word;
use crate::workspace::fold::LegendRow;
use crate::workspace::state::Workspace;

impl Workspace {
    /// Whether a line of the legend passes the filter and the ticks.
    pub(crate) fn passes(&self, position: usize) -> bool {
        if self.monitor.series().get(position).is_some_and(|series| !self.monitor.ticks.pass_series(series)) {
            return false;
        }
        if self.filter.is_empty() {
            return true;
        }
        let text = match self.monitor.series().get(position) {
            Some(series) => format!("{} {} {}", series.path, series.object_name, series.counter_name),
            None => {
                let behind = position.saturating_sub(self.monitor.series().len());
                self.monitor.failed().get(behind).map(|error| error.path.clone()).unwrap_or_default()
            }
        };
        let text = text.to_lowercase();
        self.filter.split_whitespace().all(|word| text.contains(word))
    }

    /// The lines of the legend that pass the filter and the ticks and are not folded, in the order of the
    /// legend.
    pub(crate) fn lines(&self) -> Vec<usize> {
        let lines = self.legend_rows().into_iter().filter_map(|row| match row {
            LegendRow::Line(position) => Some(position),
            LegendRow::Rest(_) => None,
        });
        lines.collect()
    }

    /// Moves the choice by some lines among those that pass the filter.
    pub(crate) fn move_selection(&mut self, by: isize) {
        let lines = self.lines();
        let at = lines.iter().position(|line| *line == self.monitor.selected()).unwrap_or(0);
        let at = at.saturating_add_signed(by).min(lines.len().saturating_sub(1));
        if let Some(line) = lines.get(at) {
            self.monitor.select(*line);
        }
    }

    /// Shows only series of these instances; everything when there are none.
    pub(crate) fn tick(&mut self, ticks: Ticks) {
        self.monitor.ticks = ticks;
        self.choose_a_shown_line();
    }

    /// The ticked names for the title, or their number when the names need more columns than these.
    pub(crate) fn ticked_title(&self, columns: u16) -> Option<String> {
        let names = self.monitor.ticks.names();
        let joined = names.join(", ");
        let text = if width(&joined) > columns { names.len().to_string() } else { joined };
        (!names.is_empty()).then(|| format!("{} {text}", self.theme.either("✓", "+")))
    }

    /// Shows only lines that contain these words; one of them is chosen.
    pub(crate) fn set_filter(&mut self, text: &str) {
        self.filter = text.to_lowercase();
        self.choose_a_shown_line();
    }

    fn choose_a_shown_line(&mut self) {
        if !self.passes(self.monitor.selected())
            && let Some(first) = self.lines().first()
        {
            self.monitor.select(*first);
        }
    }

    /// Sets the threshold of the chosen counter; an empty text removes it.
    pub(crate) fn set_threshold(&mut self, text: &str) {
        let number = text.replace(',', "").parse::<f64>().ok().filter(|number| number.is_finite());
        if number.is_none() && !text.is_empty() {
            self.message = Some(format!("{text}: {}", self.words.get(Word::NotANumber)));
        } else {
            self.monitor.set_threshold(number);
        }
    }
}
