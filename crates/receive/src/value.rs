//! What a series has, and the counters that show it.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use tallymon_provider::CounterType;
use tallymon_provider::shm::{Average, CounterSet, Gauge, Instance, PublishError};

use crate::distribution::{Digest, Distribution};

/// The most different values of a set within an interval.
pub(crate) const MOST_UNIQUE: usize = 1 << 16;

/// A number as it was sent: whole numbers keep all their digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    pub(crate) fn real(self) -> f64 {
        match self {
            Number::Whole(number) => number as f64,
            Number::Real(number) => number,
        }
    }
}

/// A unit of time, as a fraction of units of 100 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeUnit {
    units: u32,
    divisor: u32,
}

impl TimeUnit {
    /// What StatsD has its timers in.
    pub(crate) const MILLISECONDS: TimeUnit = TimeUnit { units: 10_000, divisor: 1 };

    /// A unit as UCUM writes it; `None` for one that is not a time.
    pub(crate) fn of_ucum(unit: &str) -> Option<TimeUnit> {
        let (units, divisor) = match unit {
            "ns" => (1, 100),
            "us" => (10, 1),
            "ms" => (10_000, 1),
            "s" => (10_000_000, 1),
            "min" => (600_000_000, 1),
            _ => return None,
        };
        Some(TimeUnit { units, divisor })
    }

    /// A sum in units of 100 ns, rounded.
    fn ticks(self, sum: &Sum) -> u64 {
        let whole = u128::from(sum.whole).saturating_mul(self.units.into());
        let whole = whole.checked_div(self.divisor.into()).unwrap_or_default();
        let rest = sum.fraction * f64::from(self.units) / f64::from(self.divisor);
        u64::try_from(whole).unwrap_or(u64::MAX).saturating_add((rest + 0.5) as u64)
    }
}

/// What a series of an object is. All series of an object are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// It counts up.
    Count,
    /// A time that counts up.
    Time(TimeUnit),
    /// It goes up and down.
    Gauge,
    /// How many different values there were.
    Unique,
    /// Single values, and for times their unit.
    Values(Option<TimeUnit>),
    /// A sum of values and their number.
    Observations(Option<TimeUnit>),
    /// The values that are not above a bound.
    Bucket,
    /// A quantile, which the sender has computed.
    Quantile,
}

use CounterType as T;

const RATE: (&str, T, &str) = ("Count/sec", T::PERF_COUNTER_BULK_COUNT, "What was counted, per second.");
const TOTAL: (&str, T, &str) = ("Total", T::PERF_DOUBLE_RAW, "The sum so far, in the unit of the sender.");
const SUM: (&str, T, &str) = ("Sum", T::PERF_DOUBLE_RAW, "The sum of all values, in the unit of the sender.");
const VALUE: (&str, T, &str) = ("Value", T::PERF_DOUBLE_RAW, "The last value.");
const TIME: (&str, T, &str) = ("% Time", T::PERF_100NSEC_TIMER, "100 is one second per second.");
const UNIQUE: (&str, T, &str) = (
    "Unique Values",
    T::PERF_COUNTER_LARGE_RAWCOUNT,
    "How many different values there were in the last full interval.",
);

const fn last(name: &'static str, what: &'static str) -> (&'static str, T, &'static str) {
    (name, T::PERF_DOUBLE_RAW, what)
}

const VALUES: [(&str, T, &str); 8] = [
    RATE,
    SUM,
    last("Average", "The average of the values of the last full interval."),
    last("Minimum", "The smallest value of the last full interval."),
    last("Maximum", "The largest value of the last full interval."),
    last("50 %", "The value that half of the values of the last full interval do not exceed."),
    last("90 %", "The value that 90 % of the values of the last full interval do not exceed."),
    last("99 %", "The value that 99 % of the values of the last full interval do not exceed."),
];

impl Shape {
    /// Its counters of one number.
    const fn counters(self) -> &'static [(&'static str, T, &'static str)] {
        match self {
            Shape::Count => &[RATE, TOTAL],
            Shape::Time(_) => &[TIME, TOTAL],
            Shape::Gauge | Shape::Quantile => &[VALUE],
            Shape::Unique => &[UNIQUE],
            Shape::Values(_) => &VALUES,
            Shape::Observations(_) => &[RATE, SUM],
            Shape::Bucket => &[RATE],
        }
    }

    /// Its average between two samples.
    const fn average(self) -> Option<(&'static str, bool)> {
        match self {
            Shape::Values(Some(_)) => Some(("Time", true)),
            Shape::Observations(Some(_)) => Some(("Time", true)),
            Shape::Observations(None) => Some(("Average", false)),
            _ => None,
        }
    }

    /// The declaration of an object.
    pub(crate) fn set(self, name: &str, help: &str, unit: &str) -> CounterSet {
        let mut set = CounterSet::new(name).help(help).instances_about(4);
        if let Some((name, is_time)) = self.average() {
            set = if is_time { set.average_time(name) } else { set.average(name) };
            set = set.help("The average of the values between two samples.");
        }
        for (name, counter_type, help) in self.counters() {
            set = set.counter(*name, *counter_type).help(*help);
            // A rate has its unit in its name.
            if !unit.is_empty() && *counter_type == T::PERF_DOUBLE_RAW {
                set = set.unit(unit);
            }
        }
        set
    }
}

/// A number that only grows, with the part that is no whole one.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    whole: u64,
    fraction: f64,
    /// What was taken away.
    less: f64,
}

impl Sum {
    fn add(&mut self, number: Number) {
        match number {
            Number::Whole(number) => match u64::try_from(number) {
                Ok(number) => self.whole = self.whole.saturating_add(number),
                Err(_) => self.less -= number as f64,
            },
            Number::Real(number) if number < 0.0 => self.less -= number,
            Number::Real(number) => {
                self.whole = self.whole.saturating_add(number as u64);
                self.fraction += number.fract();
                if self.fraction >= 1.0 {
                    self.whole = self.whole.saturating_add(1);
                    self.fraction -= 1.0;
                }
            }
        }
    }

    fn of(number: Number) -> Result<Sum, &'static str> {
        if number.real() < 0.0 {
            return Err("a count since the start is negative");
        }
        let mut sum = Sum::default();
        sum.add(number);
        Ok(sum)
    }

    fn total(&self) -> f64 {
        self.whole as f64 + self.fraction - self.less
    }
}

/// What a sender says about a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Change<'a> {
    /// A counter counts up.
    Add(Number),
    /// A counter has this number.
    Set(Number),
    /// A gauge has this number.
    SetGauge(f64),
    /// A gauge changes.
    MoveGauge(f64),
    /// A value occurred so many times.
    Record { value: Number, times: f64 },
    /// A value of a set.
    Member(&'a str),
    /// Values of a histogram: their number and sum, since the message before or the start.
    Observe { count: u64, sum: Option<f64>, is_delta: bool },
}

/// The numbers of a series.
#[derive(Debug)]
pub(crate) enum State {
    Sum(Sum, Option<TimeUnit>),
    Gauge(f64),
    Unique { now: HashSet<u64>, last: Option<u64> },
    Values { count: Sum, sum: Sum, now: Distribution, last: Digest, unit: Option<TimeUnit> },
    Observations { count: u64, sum: Option<Sum>, unit: Option<TimeUnit> },
}

impl State {
    pub(crate) fn new(shape: Shape) -> State {
        match shape {
            Shape::Count | Shape::Bucket => State::Sum(Sum::default(), None),
            Shape::Time(unit) => State::Sum(Sum::default(), Some(unit)),
            Shape::Gauge | Shape::Quantile => State::Gauge(0.0),
            Shape::Unique => State::Unique { now: HashSet::new(), last: None },
            Shape::Values(unit) => State::Values {
                count: Sum::default(),
                sum: Sum::default(),
                now: Distribution::default(),
                last: Digest::NONE,
                unit,
            },
            Shape::Observations(unit) => State::Observations { count: 0, sum: Some(Sum::default()), unit },
        }
    }

    pub(crate) fn change(&mut self, change: Change<'_>, hash: &RandomState) -> Result<(), &'static str> {
        match (self, change) {
            (State::Sum(sum, _), Change::Add(number)) => sum.add(number),
            (State::Sum(sum, _), Change::Set(number)) => *sum = Sum::of(number)?,
            (State::Gauge(value), Change::SetGauge(number)) => *value = number,
            (State::Gauge(value), Change::MoveGauge(by)) => *value += by,
            (State::Unique { now, .. }, Change::Member(member)) => {
                let member = hash.hash_one(member);
                if now.len() >= MOST_UNIQUE && !now.contains(&member) {
                    return Err("a set has more than 65,536 different values within an interval");
                }
                now.insert(member);
            }
            (State::Values { count, sum, now, .. }, Change::Record { value, times }) => {
                now.add(value.real(), times)?;
                count.add(Number::Real(times));
                // A value that occurred once keeps its digits.
                sum.add(if times == 1.0 { value } else { Number::Real(value.real() * times) });
            }
            (State::Observations { count, sum, .. }, Change::Observe { count: n, sum: values, is_delta }) => {
                let values = values.map(Number::Real);
                if is_delta {
                    *count = count.saturating_add(n);
                    match (sum.as_mut(), values) {
                        (Some(sum), Some(values)) => sum.add(values),
                        (_, None) => *sum = None,
                        (None, Some(_)) => {}
                    }
                } else {
                    *count = n;
                    *sum = values.map(|values| {
                        let mut sum = Sum::default();
                        sum.add(values);
                        sum
                    });
                }
            }
            _ => return Err("its kind has changed"),
        }
        Ok(())
    }

    /// Ends an interval. Returns how many values of sets were forgotten.
    pub(crate) fn end_interval(&mut self) {
        match self {
            State::Unique { now, last } => {
                *last = u64::try_from(now.len()).ok();
                *now = HashSet::new();
            }
            State::Values { now, last, .. } => *last = now.take(),
            _ => {}
        }
    }

    /// How many values it remembers.
    pub(crate) fn remembered(&self) -> usize {
        if let State::Unique { now, .. } = self { now.len() } else { 0 }
    }

    /// Whether there is a value to show: a set has one after its first interval.
    pub(crate) fn is_ready(&self) -> bool {
        !matches!(self, State::Unique { last: None, .. })
    }

    /// The raw numbers of the counters, in their order.
    fn numbers(&self) -> ([u64; 8], Option<(u64, u64)>) {
        let mut out = [0u64; 8];
        let mut set = |numbers: &[u64]| out.iter_mut().zip(numbers).for_each(|(to, number)| *to = *number);
        let mut average = None;
        match self {
            State::Sum(sum, unit) => {
                let whole = unit.map_or(sum.whole, |unit| unit.ticks(sum));
                set(&[whole, sum.total().to_bits()]);
            }
            State::Gauge(value) => set(&[value.to_bits()]),
            State::Unique { last, .. } => set(&[last.unwrap_or_default()]),
            State::Values { count, sum, last, unit, .. } => {
                let [half, most, nearly] = last.percentiles;
                let last = [last.average, last.least, last.most, half, most, nearly].map(f64::to_bits);
                set(&[count.whole, sum.total().to_bits()]);
                out.iter_mut().skip(2).zip(last).for_each(|(to, number)| *to = number);
                average =
                    unit.map(|unit| if sum.less > 0.0 { (0, 0) } else { (unit.ticks(sum), count.whole) });
            }
            State::Observations { count, sum, unit } => {
                let total = sum.as_ref().map_or(f64::NAN, Sum::total);
                set(&[*count, total.to_bits()]);
                // Without a sum, or with one that can go down, there is no average: neither number moves.
                average = Some(match (sum.as_ref().filter(|sum| sum.less == 0.0), unit) {
                    (Some(sum), Some(unit)) => (unit.ticks(sum), *count),
                    (Some(sum), None) => (sum.whole, *count),
                    (None, _) => (0, 0),
                });
            }
        }
        (out, average)
    }
}

/// The counters of a published instance.
#[derive(Debug)]
pub(crate) struct Handles {
    numbers: Vec<Gauge>,
    average: Option<Average>,
    _instance: Instance,
}

impl Handles {
    pub(crate) fn open(shape: Shape, instance: Instance) -> Result<Handles, PublishError> {
        let numbers = shape.counters().iter().map(|(name, _, _)| instance.gauge(name));
        let numbers = numbers.collect::<Result<_, _>>()?;
        let average = shape.average().map(|(name, _)| instance.average(name)).transpose()?;
        Ok(Handles { numbers, average, _instance: instance })
    }

    pub(crate) fn write(&mut self, state: &State) {
        let (numbers, average) = state.numbers();
        for (handle, number) in self.numbers.iter().zip(numbers) {
            handle.set(number);
        }
        if let (Some(handle), Some((value, base))) = (self.average.as_mut(), average) {
            handle.set(value, base);
        }
    }
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
