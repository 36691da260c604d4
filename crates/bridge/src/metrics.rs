//! What an endpoint says, read from its text within limits.

use std::collections::{BTreeMap, BTreeSet};

use tallymon_log::exposition::{Line, Sample, parse};

use crate::catalog::CounterKind;

/// The most series of one answer.
pub(crate) const MOST_SERIES: usize = 100_000;
/// The most families of one answer.
const MOST_FAMILIES: usize = 8_192;
/// The longest name of a metric or label, in bytes.
const LONGEST_NAME: usize = 200;
/// The most labels of a series.
const MOST_LABELS: usize = 32;
/// The longest values of all labels of a series together, in bytes.
const LONGEST_LABELS: usize = 1_000;
/// How much of an explanation is kept, in letters.
const LONGEST_HELP: usize = 1_000;
/// How much of a text that is no metrics is shown, in letters.
const SHOWN: usize = 60;

/// The type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FamilyKind {
    Counter,
    Histogram,
    Summary,
    /// A gauge, or what is shown as one.
    #[default]
    Other,
}

/// What the comments say about a family.
#[derive(Debug, Clone, Default)]
pub(crate) struct Family {
    pub(crate) kind: FamilyKind,
    pub(crate) help: String,
    pub(crate) unit: String,
    /// Whether a `TYPE` line names it.
    pub(crate) is_typed: bool,
}

/// A value as it was written: whole numbers keep all their digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number {
    pub(crate) whole: Option<u64>,
    pub(crate) float: f64,
}

impl Number {
    fn of(sample: &Sample<'_>) -> Number {
        Number { whole: sample.value.parse().ok(), float: sample.number() }
    }

    /// A number that is divided by 1 or by what makes seconds of it; `None` for a text that is not a number.
    pub(crate) fn of_text(text: &str, divisor: u32) -> Option<Number> {
        let float: f64 = text.parse().ok()?;
        if divisor == 1 {
            return Some(Number { whole: text.parse().ok(), float });
        }
        Some(Number { whole: None, float: float / f64::from(divisor) })
    }

    pub(crate) fn plus(self, other: Number) -> Number {
        let whole = self.whole.zip(other.whole).and_then(|(a, b)| a.checked_add(b));
        Number { whole, float: self.float + other.float }
    }
}

/// One series and its value.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) metric: String,
    /// By name.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: Number,
}

/// What a sample is within its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It counts up.
    Count,
    /// It goes up and down.
    Gauge,
    /// The sum of observations; its family also counts them.
    Sum,
    /// A time of creation, which is left out.
    Created,
}

/// The names that a kind of endpoint gives a metric, in place of those that are made by rule.
#[derive(Debug, Clone)]
pub(crate) struct Title {
    /// The object, without the name of the bridge.
    pub(crate) object: String,
    pub(crate) counter: String,
    pub(crate) kind: CounterKind,
}

/// Everything of one answer that is within the limits.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    pub(crate) families: BTreeMap<String, Family>,
    pub(crate) series: Vec<Series>,
    /// By metric.
    titles: BTreeMap<String, Title>,
    /// The metrics with titles, and the names of their labels.
    declared: BTreeSet<(String, Vec<String>)>,
    /// What of the endpoint cannot be read, in words.
    pub(crate) unread: Vec<String>,
    /// How many lines were left out.
    pub(crate) left_out: u64,
    /// The first of them: its number and what is wrong with it.
    pub(crate) first_left_out: Option<(usize, &'static str)>,
}

impl Metrics {
    /// Reads an answer.
    ///
    /// # Errors
    ///
    /// There is no metric in it; the words say how it begins instead.
    pub fn of_text(bytes: &[u8]) -> Result<Metrics, String> {
        let text = String::from_utf8_lossy(bytes);
        let mut metrics = Metrics::default();
        for (n, line) in text.lines().enumerate() {
            match parse(line) {
                Some(Line::Sample(sample)) => match metrics.add(&sample) {
                    Ok(()) => {}
                    Err(why) => metrics.leave_out(n, why),
                },
                Some(Line::Type { name, kind }) => {
                    if let Some(family) = metrics.family(name) {
                        family.is_typed = true;
                        family.kind = match kind {
                            "counter" => FamilyKind::Counter,
                            "histogram" => FamilyKind::Histogram,
                            "summary" => FamilyKind::Summary,
                            _ => FamilyKind::Other,
                        };
                    }
                }
                Some(Line::Help { name, text }) => {
                    if let Some(family) = metrics.family(name) {
                        family.help = plain(text);
                    }
                }
                Some(Line::Unit { name, unit }) => {
                    if let Some(family) = metrics.family(name).filter(|_| is_name(unit)) {
                        family.unit = unit.to_owned();
                    }
                }
                Some(Line::End) => break,
                Some(_) => {}
                None => metrics.leave_out(n, "it is no sample like name{label=\"text\"} value"),
            }
        }
        let lines = u64::try_from(metrics.series.len()).unwrap_or(u64::MAX);
        if lines == 0 || metrics.left_out > lines {
            let begin: String = text.trim_start().chars().take(SHOWN).collect();
            let begin = begin.lines().next().unwrap_or_default().trim_end().to_owned();
            return Err(if begin.is_empty() {
                "the answer is empty; metrics as text were expected".to_owned()
            } else {
                format!("the answer is no metrics as text; it begins with {begin:?}")
            });
        }
        Ok(metrics)
    }

    /// The number of series.
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether there is no series.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// What of the answer was left out, in words.
    pub fn omission(&self) -> Option<String> {
        let mut words = self.unread.clone();
        words.extend(self.first_left_out.map(|(line, why)| {
            format!("{} lines were left out, the first is line {line}: {why}", self.left_out)
        }));
        (!words.is_empty()).then(|| words.join("; "))
    }

    fn leave_out(&mut self, n: usize, why: &'static str) {
        self.left_out = self.left_out.saturating_add(1);
        self.first_left_out.get_or_insert((n.saturating_add(1), why));
    }

    fn family(&mut self, name: &str) -> Option<&mut Family> {
        if !is_name(name) || (self.families.len() >= MOST_FAMILIES && !self.families.contains_key(name)) {
            return None;
        }
        Some(self.families.entry(name.to_owned()).or_default())
    }

    fn add(&mut self, sample: &Sample<'_>) -> Result<(), &'static str> {
        if !is_name(&sample.name) || !sample.labels.iter().all(|(name, _)| is_name(name)) {
            return Err("a name has letters that names of metrics do not have, or more than 200 bytes");
        }
        if sample.labels.len() > MOST_LABELS {
            return Err("it has more than 32 labels");
        }
        let lengths = sample.labels.iter().map(|(_, text)| text.len());
        if lengths.fold(0usize, usize::saturating_add) > LONGEST_LABELS {
            return Err("its labels have more than 1,000 bytes");
        }
        if self.series.len() >= MOST_SERIES {
            return Err("there are more than 100,000 series");
        }
        // An empty label is the same as none.
        let mut labels: Vec<(String, String)> =
            sample.labels.iter().filter(|(_, text)| !text.is_empty()).cloned().collect();
        labels.sort();
        labels.dedup_by(|a, b| a.0 == b.0);
        self.series.push(Series { metric: sample.name.clone(), labels, value: Number::of(sample) });
        Ok(())
    }

    /// Declares a metric with a title, whether or not it has values now. `false` when it is beyond the
    /// limits, and is left out and counted.
    pub(crate) fn declare(&mut self, metric: &str, labels: &[&str], title: Title, help: &str) -> bool {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        if self.declared.contains(&(metric.to_owned(), labels.clone())) {
            return true;
        }
        match self.family(metric) {
            Some(family) => family.help = plain(help),
            None => {
                self.leave_out(
                    self.series.len(),
                    "it is not a name of a metric, or there are more than 8,192",
                );
                return false;
            }
        }
        self.titles.insert(metric.to_owned(), title);
        self.declared.insert((metric.to_owned(), labels));
        true
    }

    /// Adds a value of a metric that was declared, and its base if it has one. What is beyond the limits is
    /// left out and counted.
    pub(crate) fn add_declared(
        &mut self,
        metric: &str,
        labels: &[(&str, &str)],
        value: Number,
        base: Option<Number>,
    ) {
        let length = labels.iter().map(|(_, text)| text.len()).fold(0usize, usize::saturating_add);
        if self.series.len() >= MOST_SERIES || length > LONGEST_LABELS {
            let why = "there are more than 100,000 values, or names of more than 1,000 bytes";
            return self.leave_out(self.series.len(), why);
        }
        let labels: Vec<(String, String)> =
            labels.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let mut add = |metric: String, value: Number| {
            self.series.push(Series { metric, labels: labels.clone(), value });
        };
        match base {
            None => add(metric.to_owned(), value),
            Some(base) => {
                add(format!("{metric}_sum"), value);
                add(format!("{metric}_count"), base);
            }
        }
    }

    /// The metrics that were declared, with their titles and the names of their labels.
    pub(crate) fn declared(&self) -> impl Iterator<Item = (&str, &Title, &[String])> {
        self.declared.iter().filter_map(|(metric, labels)| {
            Some((metric.as_str(), self.titles.get(metric)?, labels.as_slice()))
        })
    }

    /// Whether a series belongs to a metric with a title.
    pub(crate) fn has_title(&self, series: &str) -> bool {
        let ending = || series.strip_suffix("_sum").or_else(|| series.strip_suffix("_count"));
        let base = || self.titles.get(ending()?).filter(|title| title.kind.has_base());
        self.titles.contains_key(series) || base().is_some()
    }

    /// The family of a metric, and what the metric is in it.
    pub(crate) fn role<'a>(&'a self, metric: &'a str) -> (&'a str, Role) {
        let known = |name: &str| self.families.get(name).filter(|family| family.is_typed).map(|f| f.kind);
        match known(metric) {
            Some(FamilyKind::Counter) => return (metric, Role::Count),
            Some(_) => return (metric, Role::Gauge),
            None => {}
        }
        for ending in ["_total", "_bucket", "_sum", "_count", "_created"] {
            let Some(family) = metric.strip_suffix(ending) else { continue };
            let role = match (known(family), ending) {
                (Some(FamilyKind::Counter), "_total") => Role::Count,
                (Some(FamilyKind::Histogram), "_bucket" | "_count") => Role::Count,
                (Some(FamilyKind::Summary), "_count") => Role::Count,
                (Some(FamilyKind::Histogram | FamilyKind::Summary), "_sum") => Role::Sum,
                (Some(FamilyKind::Counter | FamilyKind::Histogram | FamilyKind::Summary), "_created") => {
                    Role::Created
                }
                _ => continue,
            };
            return (family, role);
        }
        (metric, if metric.ends_with("_total") { Role::Count } else { Role::Gauge })
    }

    /// Whether a family is in seconds, by its unit or its name.
    pub(crate) fn is_in_seconds(&self, family: &str) -> bool {
        let unit = self.families.get(family).map_or("", |family| family.unit.as_str());
        unit == "seconds" || family.strip_suffix("_total").unwrap_or(family).ends_with("_seconds")
    }
}

/// Whether a text is a name of a metric or label.
pub(crate) fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    text.len() <= LONGEST_NAME
        && text.bytes().all(is_letter)
        && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// An explanation in one line, without its escapes and control characters.
fn plain(text: &str) -> String {
    let text = text.replace("\\n", " ").replace("\\\\", "\\");
    let visible = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars().map(visible).take(LONGEST_HELP).collect()
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
