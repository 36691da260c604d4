//! Performance Co-Pilot, by the page `/metrics` of pmproxy. Its comments say what the text format of
//! Prometheus cannot: names with dots, semantics and units.

use tallymon_log::exposition::{Line, Sample, parse};
use tallymon_push::fetch;

use super::{Speaks, check_http};
use crate::catalog::CounterKind;
use crate::metrics::{Metrics, Number, Title};
use crate::settings::{ReadSecret, Settings};

/// The longest answer, in bytes.
const MOST_BYTES: usize = 16 << 20;
/// What comes before name, identifier, type, instance domain, semantics and units of a metric.
const ABOUT: &str = "# PCP5 ";
/// The label with the name of an instance.
const INSTANCE: &str = "instname";
/// Units of time, and how many are a second.
const TIMES: [(&str, u32); 4] =
    [("sec", 1), ("millisec", 1_000), ("microsec", 1_000_000), ("nanosec", 1_000_000_000)];

/// Servers of pmproxy.
pub(super) struct Pcp;

impl Speaks for Pcp {
    fn check(&self, settings: &Settings) -> Result<(), String> {
        check_http(settings)
    }

    fn read(&self, settings: &Settings, read_secret: ReadSecret) -> Result<Metrics, String> {
        let endpoint = settings.endpoint(read_secret)?;
        let text = fetch(&endpoint, "text/plain, */*; q=0.1", MOST_BYTES);
        of_page(&text.map_err(|error| error.to_string())?)
    }
}

fn of_page(page: &[u8]) -> Result<Metrics, String> {
    let page = String::from_utf8_lossy(page);
    let mut metrics = Metrics::default();
    let (mut about, mut help) = (None, "");
    for line in page.lines() {
        if let Some(words) = line.strip_prefix(ABOUT) {
            (about, help) = (About::of(words), "");
            continue;
        }
        match parse(line) {
            Some(Line::Help { text, .. }) => help = text,
            Some(Line::Sample(sample)) => {
                if let Some(about) = &about {
                    about.add(&mut metrics, &sample, help);
                }
            }
            _ => {}
        }
    }
    if metrics.is_empty() {
        let begin: String = page.chars().take(60).collect();
        return Err(format!("the answer is no page /metrics of pmproxy; it begins with {begin:?}"));
    }
    Ok(metrics)
}

/// What a comment says about a metric.
struct About {
    object: String,
    counter: String,
    kind: CounterKind,
    divisor: u32,
    units: String,
}

impl About {
    /// `None` for a text, and for what is no such comment.
    fn of(words: &str) -> Option<About> {
        let mut words = words.split(' ');
        let (name, _, value_type, _, semantics) =
            (words.next()?, words.next()?, words.next()?, words.next()?, words.next()?);
        let units = words.collect::<Vec<_>>().join(" ");
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        if !name.bytes().all(is_letter) || units.len() > 40 || units.chars().any(char::is_control) {
            return None;
        }
        let time = TIMES.iter().find(|(unit, _)| *unit == units).map(|(_, divisor)| *divisor);
        let (kind, divisor) = match (semantics, value_type, time) {
            (_, "string" | "aggregate" | "event", _) => return None,
            ("counter", _, Some(divisor)) => (CounterKind::Seconds, divisor),
            ("counter", ..) => (CounterKind::Count, 1),
            (_, "u32" | "u64", _) => (CounterKind::Whole, 1),
            _ => (CounterKind::Gauge, 1),
        };
        // What is above the last dot is the object: kernel.percpu.cpu.user is user of kernel percpu cpu.
        let (object, counter) = name.rsplit_once('.').unwrap_or((name, name));
        let (object, counter) = (object.replace('.', " "), counter.to_owned());
        Some(About { object, counter, kind, divisor, units })
    }

    fn add(&self, metrics: &mut Metrics, sample: &Sample<'_>, help: &str) {
        let Some(value) = Number::of_text(sample.value, self.divisor) else { return };
        let instance = sample.labels.iter().find(|(name, _)| name == INSTANCE);
        let labels: Vec<(&str, &str)> = instance.iter().map(|(_, text)| (INSTANCE, text.as_str())).collect();
        let names: Vec<&str> = labels.iter().map(|(name, _)| *name).collect();
        let (object, counter) = (self.object.clone(), self.counter.clone());
        let title = Title { object, counter, kind: self.kind };
        let full_stop = if help.is_empty() || help.ends_with('.') { "" } else { "." };
        let units = match self.units.as_str() {
            "" | "none" => String::new(),
            _ if self.kind == CounterKind::Seconds => String::new(),
            units => format!(" Unit: {units}."),
        };
        let help = format!("{help}{full_stop}{units}");
        if metrics.declare(&sample.name, &names, title, help.trim()) {
            metrics.add_declared(&sample.name, &labels, value, None);
        }
    }
}

#[cfg(test)]
#[path = "pcp_tests.rs"]
mod tests;
