//! How series are shown: now, or when they arrive.

use tallymon::core::flow::{Absence, NoValue};

use crate::model::look::Look;
use crate::model::monitor::Monitor;
use crate::model::point::Point;
use crate::model::series::Series;

impl Series {
    /// How it is shown.
    pub const fn look(&self) -> Look {
        Look {
            scale: self.scale,
            hidden: self.hidden,
            colour: Some(self.colour),
            pattern: self.pattern,
            width: self.width,
            threshold: self.threshold,
        }
    }

    /// Whether its last value is above its threshold.
    pub fn is_over(&self) -> bool {
        let last = self.last.as_ref().ok().and_then(|value| value.as_f64());
        self.threshold.zip(last).is_some_and(|(threshold, last)| last > threshold)
    }

    pub(super) const fn apply_style(&mut self, look: Look) {
        self.scale = look.scale;
        self.hidden = look.hidden;
        self.threshold = look.threshold;
        self.pattern = look.pattern;
        self.width = look.width;
        if let Some(colour) = look.colour {
            self.colour = colour;
        }
    }
}

impl Monitor {
    /// Applies a style to a series, now or once it exists.
    pub fn apply_style(&mut self, path: &str, look: Look) {
        let found = self.index.path(path);
        match found.and_then(|position| Some((position, self.series.get_mut(position)?))) {
            Some((position, series)) => {
                let before = series.threshold;
                series.apply_style(look);
                if series.threshold != before {
                    self.find_crossings(position);
                }
            }
            None => drop(self.looks.insert(path.to_lowercase(), look)),
        }
    }

    /// Applies the style that was set before the series existed.
    pub(super) fn apply_expected_style(&mut self, position: usize) {
        let Some(series) = self.series.get_mut(position) else { return };
        if let Some(look) = self.looks.remove(&series.path.to_lowercase()) {
            series.apply_style(look);
        }
    }

    /// Puts a removed series back at a position; it has gaps for the rows since its removal.
    pub fn restore(&mut self, mut series: Series, removed_at: u64, position: usize) {
        if self.index.path(&series.path).is_some() {
            return;
        }
        let missed = self.next.saturating_sub(removed_at).min(self.times.len() as u64);
        series.pad(usize::try_from(missed).unwrap_or(0), Point::gap(NoValue::NoData(Absence::NotRequested)));
        series.keep(self.times.len());
        self.removed.remove(&series.path.to_lowercase());
        if let Some(who) = series.full_identity() {
            self.removed_identities.remove(&who);
        }
        self.series.insert(position.min(self.series.len()), series);
        self.reindex();
    }
}
