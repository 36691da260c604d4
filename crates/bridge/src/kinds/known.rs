//! Tables of the values that a kind of endpoint is known to have, and the counters that they become.

use crate::catalog::CounterKind;
use crate::metrics::{Metrics, Number, Title};

/// A value of an endpoint, and its counter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// What the endpoint calls it.
    pub(super) key: &'static str,
    /// What the endpoint calls its base.
    base: Option<&'static str>,
    name: &'static str,
    kind: CounterKind,
    /// What makes seconds of it; 1 for what is not a time.
    divisor: u32,
    help: &'static str,
}

/// What an object shows: a row of a view, a section of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// What the names of its metrics begin with.
    pub(super) prefix: &'static str,
    /// The object, without the name of the bridge.
    pub(super) object: &'static str,
    pub(super) values: &'static [Known],
}

const fn known(key: &'static str, name: &'static str, kind: CounterKind, help: &'static str) -> Known {
    Known { key, base: None, name, kind, divisor: 1, help }
}

/// What counts up.
pub(super) const fn count(key: &'static str, name: &'static str, help: &'static str) -> Known {
    known(key, name, CounterKind::Count, help)
}

/// A whole number that goes up and down.
pub(super) const fn whole(key: &'static str, name: &'static str, help: &'static str) -> Known {
    known(key, name, CounterKind::Whole, help)
}

/// A number with fractions that goes up and down.
pub(super) const fn gauge(key: &'static str, name: &'static str, help: &'static str) -> Known {
    known(key, name, CounterKind::Gauge, help)
}

/// A time that counts up, of which `divisor` are a second.
pub(super) const fn time(key: &'static str, divisor: u32, name: &'static str, help: &'static str) -> Known {
    Known { divisor, ..known(key, name, CounterKind::Seconds, help) }
}

/// A time that counts up, of which `divisor` are a second, and how often it was taken.
pub(super) const fn average_time(
    (key, divisor): (&'static str, u32),
    base: &'static str,
    name: &'static str,
    help: &'static str,
) -> Known {
    Known { base: Some(base), divisor, ..known(key, name, CounterKind::AverageSeconds, help) }
}

/// What counts up, and how often it was counted.
pub(super) const fn average(
    key: &'static str,
    base: &'static str,
    name: &'static str,
    help: &'static str,
) -> Known {
    Known { base: Some(base), ..known(key, name, CounterKind::Average, help) }
}

/// How many hit, and the count of all.
pub(super) const fn hit_rate(
    key: &'static str,
    base: &'static str,
    name: &'static str,
    help: &'static str,
) -> Known {
    Known { base: Some(base), ..known(key, name, CounterKind::HitRate, help) }
}

/// A part, and its whole.
pub(super) const fn share(
    key: &'static str,
    base: &'static str,
    name: &'static str,
    help: &'static str,
) -> Known {
    Known { base: Some(base), ..known(key, name, CounterKind::Share, help) }
}

impl Known {
    /// The metric that it becomes.
    fn metric(&self, prefix: &str) -> String {
        let ending = match self.kind {
            CounterKind::Share => "_share",
            _ if self.base.is_some() => "_ratio",
            _ => "",
        };
        format!("{prefix}_{}{ending}", self.key)
    }
}

impl Group {
    /// Declares the values that an endpoint has, also while there is no instance of them.
    pub(super) fn declare(&self, metrics: &mut Metrics, labels: &[&str], has: impl Fn(&str) -> bool) {
        for known in self.values.iter().filter(|known| has(known.key) && known.base.is_none_or(&has)) {
            let (object, counter) = (self.object.to_owned(), known.name.to_owned());
            let title = Title { object, counter, kind: known.kind };
            metrics.declare(&known.metric(self.prefix), labels, title, known.help);
        }
    }

    /// Adds the values of an instance, by what the endpoint calls them. A text that is not a number is left
    /// out.
    pub(super) fn add<'a>(
        &self,
        metrics: &mut Metrics,
        labels: &[(&str, &str)],
        text_of: impl Fn(&str) -> Option<&'a str>,
    ) {
        let names: Vec<&str> = labels.iter().map(|(name, _)| *name).collect();
        self.declare(metrics, &names, |key| text_of(key).is_some());
        let number = |key: &str, divisor: u32| Number::of_text(text_of(key)?, divisor);
        for known in self.values {
            let Some(value) = number(known.key, known.divisor) else { continue };
            let base = known.base.map(|base| number(base, 1));
            // Without its base a value says nothing.
            if base != Some(None) {
                metrics.add_declared(&known.metric(self.prefix), labels, value, base.flatten());
            }
        }
    }
}
