//! Packets of StatsD and DogStatsD.
//!
//! <https://github.com/statsd/statsd/blob/master/docs/metric_types.md> and
//! <https://docs.datadoghq.com/developers/dogstatsd/datagram_shell/>. A line is
//! `name:value|type`, and behind it in any order `|@rate`, `|#tag,tag`, `|c:container` and `|T time`.
//! DogStatsD may put several values into a line: `name:1:2:3|type`.

use crate::store::{Described, Store, Update};
use crate::value::{Change, Number, Shape, TimeUnit};

/// The longest name of a metric, in bytes.
const LONGEST_NAME: usize = 200;
/// The most tags of a series, and the most bytes of them.
const MOST_TAGS: usize = 32;
const LONGEST_TAGS: usize = 1_000;
/// The smallest sample rate: a value counts at most as so many.
const LOWEST_RATE: f64 = 1e-6;

/// What a line counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Timer,
    /// A histogram or a distribution, which differ in DogStatsD by who computes percentiles.
    Values,
    Set,
}

/// One line of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    /// With colons between; a set has one.
    pub(crate) values: &'a str,
    pub(crate) kind: Kind,
    /// How many values each one stands for: 10 with a rate of 0.1.
    pub(crate) times: f64,
    /// With commas between.
    pub(crate) tags: &'a str,
}

/// The lines of a packet that are not empty.
pub(crate) fn lines(packet: &[u8]) -> impl Iterator<Item = Result<&str, &'static str>> {
    packet
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .map(|line| std::str::from_utf8(line).map_err(|_| "a line of a packet is no UTF-8"))
}

impl<'a> Line<'a> {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn parse(line: &'a str) -> Result<Line<'a>, &'static str> {
        if line.starts_with("_e{") || line.starts_with("_sc|") {
            return Err("events and service checks of DogStatsD are no metrics");
        }
        let mut parts = line.split('|');
        let (name, values) = parts
            .next()
            .and_then(|head| head.split_once(':'))
            .ok_or("a line is no metric like name:1|c: there is no colon behind the name")?;
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err("a name has no letters, or more than 200 bytes");
        }
        let kind = match parts.next().ok_or("a line has no type like |c")? {
            "c" | "m" => Kind::Counter,
            "g" => Kind::Gauge,
            "ms" => Kind::Timer,
            "h" | "d" => Kind::Values,
            "s" => Kind::Set,
            _ => return Err("a type is none of c, g, ms, h, d and s"),
        };
        let mut read = Line { name, values, kind, times: 1.0, tags: "" };
        for part in parts {
            if let Some(rate) = part.strip_prefix('@') {
                let rate: f64 = rate.parse().map_err(|_| "a sample rate is not a number")?;
                if !(LOWEST_RATE..=1.0).contains(&rate) {
                    return Err("a sample rate is not between 0.000001 and 1");
                }
                read.times = times(rate);
            } else if let Some(tags) = part.strip_prefix('#') {
                if tags.len() > LONGEST_TAGS || tags.split(',').count() > MOST_TAGS {
                    return Err("a metric has more than 32 tags, or more than 1,000 bytes of them");
                }
                read.tags = tags;
            }
            // What a later version has behind this changes no number.
        }
        if read.values.is_empty() {
            return Err("a line has no value");
        }
        Ok(read)
    }

    /// The tags in alphabetical order, as the name of an instance.
    pub(crate) fn instance(&self) -> String {
        let mut tags: Vec<String> = self
            .tags
            .split(',')
            .filter(|tag| !tag.is_empty())
            .map(|tag| tag.split_once(':').map_or(tag.to_owned(), |(key, text)| format!("{key}={text}")))
            .collect();
        tags.sort();
        tags.dedup();
        tags.join(",")
    }

    fn shape(&self) -> Shape {
        match self.kind {
            Kind::Counter => Shape::Count,
            Kind::Gauge => Shape::Gauge,
            Kind::Timer => Shape::Values(Some(TimeUnit::MILLISECONDS)),
            Kind::Values => Shape::Values(None),
            Kind::Set => Shape::Unique,
        }
    }

    /// What a value of the line changes.
    fn change(&self, value: &'a str, signs: Signs) -> Result<Change<'a>, &'static str> {
        if self.kind == Kind::Set {
            return Ok(Change::Member(value));
        }
        let number = number(value).ok_or("a value is no finite number")?;
        Ok(match self.kind {
            Kind::Counter if self.times == 1.0 => Change::Add(number),
            Kind::Counter => Change::Add(finite(number.real() * self.times)?),
            Kind::Gauge if signs == Signs::Change && value.starts_with(['+', '-']) => {
                Change::MoveGauge(number.real())
            }
            Kind::Gauge => Change::SetGauge(number.real()),
            _ => Change::Record { value: number, times: self.times },
        })
    }
}

/// What the sign of a gauge means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Signs {
    /// The gauge changes by the number, as in StatsD.
    #[default]
    Change,
    /// The number has a sign, as in DogStatsD.
    Value,
}

/// A finite number; whole ones keep all digits.
fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    // Rust reads words such as "infinity", too.
    if let Ok(whole) = digits.parse() {
        return Some(Number::Whole(whole));
    }
    digits.parse().ok().filter(|number: &f64| number.is_finite()).map(Number::Real)
}

fn finite(number: f64) -> Result<Number, &'static str> {
    if number.is_finite() {
        Ok(Number::Real(number))
    } else {
        Err("a value is too large for its sample rate")
    }
}

/// How many values one stands for. Rates are written in a few digits: 0.1 means ten, and 0.3333 means 3.0003.
fn times(rate: f64) -> f64 {
    let times = 1.0 / rate;
    let whole = times.round();
    if (times - whole).abs() < 1e-9 * whole { whole } else { times }
}

/// Reads a packet into the store. Calls `left_out` for what it cannot take. Returns how many values it took.
pub(crate) fn receive(
    packet: &[u8],
    store: &mut Store,
    signs: Signs,
    receiver: usize,
    left_out: &mut impl FnMut(&'static str),
) -> u64 {
    let mut taken = 0u64;
    for line in lines(packet) {
        match line.and_then(Line::parse) {
            Ok(line) => taken = taken.saturating_add(add(&line, store, signs, receiver, left_out)),
            Err(why) => left_out(why),
        }
    }
    taken
}

fn add(
    line: &Line<'_>,
    store: &mut Store,
    signs: Signs,
    receiver: usize,
    left_out: &mut impl FnMut(&'static str),
) -> u64 {
    let instance = line.instance();
    let object = format!("statsd {}", line.name);
    let help = format!("{} as programs send it by StatsD.", line.name);
    let unit = if line.kind == Kind::Timer { "ms" } else { "" };
    let described = Described { object: &object, shape: line.shape(), help: &help, unit };
    let identity = store.identity(&instance);
    let is_set = line.kind == Kind::Set;
    let several = line.values.split(':').take(if is_set { 0 } else { usize::MAX });
    let mut taken = 0u64;
    for value in several.chain(is_set.then_some(line.values)) {
        let change = line.change(value, signs);
        let update = |change| Update { identity, instance: &instance, change, time: 0, receiver };
        match change.and_then(|change| store.update(&described, &update(change))) {
            Ok(()) => taken = taken.saturating_add(1),
            Err(why) => left_out(why),
        }
    }
    taken
}

#[cfg(test)]
#[path = "statsd_tests.rs"]
mod tests;
