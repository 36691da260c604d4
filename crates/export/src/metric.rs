//! Which metrics a counter type becomes, and how a raw sample becomes their numbers.
//!
//! Raw values are exported, not computed ones: the engine computes rates over any interval it likes. A value
//! and its base go together, because half of a fraction or of an average means nothing. Units are base units:
//! seconds, bytes, shares from 0 to 1.

use tallymon_core::counter::{CounterType, Formula, Kind, TimeBase};
use tallymon_core::flow::{Cell, Sample, Value};
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};

/// One metric of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The end of its name, before `_total` of a counter.
    pub suffix: &'static str,
    /// What it is to the engine.
    pub kind: MetricKind,
    /// Its unit, which is the last word of its name; empty for none.
    pub unit: &'static str,
    /// What it says, for people.
    pub meaning: &'static str,
}

/// What a metric is to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetricKind {
    /// A number that goes up and down.
    Gauge(Number),
    /// A number that only grows; the engine takes rates of it.
    Counter(Number),
    /// A sum and the number of its parts, whose quotient is an average.
    Summary {
        /// The sum.
        sum: Number,
        /// The number of parts.
        count: Number,
    },
    /// A text.
    Info,
}

/// How a number is taken from a raw sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Number {
    /// The computed value, which needs no second sample.
    Value,
    /// The raw value.
    First,
    /// The raw value, ticks of the clock, in seconds.
    FirstSeconds,
    /// The raw value, units of 100 ns, in seconds.
    FirstUnits,
    /// The base.
    Second,
    /// The base, units of 100 ns, in seconds.
    SecondUnits,
    /// The raw value divided by the base.
    Ratio,
    /// The number of resources in a sum.
    Resources,
    /// The raw value, a moment of the clock, in seconds since 1970.
    StartTime,
}

/// A number of a metric: exact where it is whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// A whole number.
    Whole(u64),
    /// Any other number.
    Real(f64),
}

const fn gauge(suffix: &'static str, unit: &'static str, number: Number, meaning: &'static str) -> Metric {
    Metric { suffix, kind: MetricKind::Gauge(number), unit, meaning }
}

const fn counter(suffix: &'static str, unit: &'static str, number: Number, meaning: &'static str) -> Metric {
    Metric { suffix, kind: MetricKind::Counter(number), unit, meaning }
}

const NONE: &[Metric] = &[];
const VALUE: &[Metric] = &[gauge("", "", Number::Value, "the value")];
const COUNT: &[Metric] = &[counter("", "", Number::First, "how often it happened")];
const QUEUE: &[Metric] = &[counter(
    "_queue_seconds",
    "seconds",
    Number::FirstSeconds,
    "the length summed over time; its rate is the average length",
)];
const QUEUE_UNITS: &[Metric] = &[counter(
    "_queue_seconds",
    "seconds",
    Number::FirstUnits,
    "the length summed over time; its rate is the average length",
)];
const BUSY: &[Metric] =
    &[counter("_seconds", "seconds", Number::FirstSeconds, "time spent; its rate is the share, from 0 to 1")];
const BUSY_UNITS: &[Metric] =
    &[counter("_seconds", "seconds", Number::FirstUnits, "time spent; its rate is the share, from 0 to 1")];
const IDLE: &[Metric] = &[counter(
    "_idle_seconds",
    "seconds",
    Number::FirstSeconds,
    "time not spent; 1 minus its rate is the share, from 0 to 1",
)];
const IDLE_UNITS: &[Metric] = &[counter(
    "_idle_seconds",
    "seconds",
    Number::FirstUnits,
    "time not spent; 1 minus its rate is the share, from 0 to 1",
)];
const RESOURCES: Metric =
    gauge("_resources", "", Number::Resources, "how many resources the time is summed over");
const MULTI: &[Metric] = &[
    counter("_seconds", "seconds", Number::FirstSeconds, "time spent, summed over the resources"),
    RESOURCES,
];
const MULTI_UNITS: &[Metric] =
    &[counter("_seconds", "seconds", Number::FirstUnits, "time spent, summed over the resources"), RESOURCES];
const MULTI_IDLE: &[Metric] = &[
    counter("_idle_seconds", "seconds", Number::FirstSeconds, "time not spent, summed over the resources"),
    RESOURCES,
];
const MULTI_IDLE_UNITS: &[Metric] = &[
    counter("_idle_seconds", "seconds", Number::FirstUnits, "time not spent, summed over the resources"),
    RESOURCES,
];
const RATIO: &[Metric] = &[
    gauge("_ratio", "ratio", Number::Ratio, "the share, from 0 to 1"),
    gauge("_ratio_value", "", Number::First, "the numerator of the share"),
    gauge("_ratio_base", "", Number::Second, "the denominator of the share"),
];
const HITS: &[Metric] = &[
    counter("_hits", "", Number::First, "the numerator; divide its rate by that of the base"),
    counter("_base", "", Number::Second, "the base"),
];
const STAMPED_UNITS: &[Metric] = &[
    counter("_seconds", "seconds", Number::FirstUnits, "time spent; divide its rate by that of the clock"),
    counter("_clock_seconds", "seconds", Number::SecondUnits, "the clock, read with the time"),
];
const STAMPED: &[Metric] = &[
    counter("_ticks", "", Number::First, "time spent, in ticks; divide its rate by that of the clock"),
    counter("_clock_ticks", "", Number::Second, "the clock, read with the time"),
];
const AVERAGE_TIME: &[Metric] = &[Metric {
    suffix: "_seconds",
    kind: MetricKind::Summary { sum: Number::FirstSeconds, count: Number::Second },
    unit: "seconds",
    meaning: "time of all operations, and their number",
}];
const AVERAGE: &[Metric] = &[Metric {
    suffix: "",
    kind: MetricKind::Summary { sum: Number::First, count: Number::Second },
    unit: "",
    meaning: "amount of all operations, and their number",
}];
const STARTED: &[Metric] =
    &[gauge("_start_time_seconds", "seconds", Number::StartTime, "when it began, since 1970")];
const TEXT: &[Metric] = &[Metric { suffix: "", kind: MetricKind::Info, unit: "", meaning: "the text" }];

/// The metrics of a counter type; none for labels, for bases (which their counters have with them), and for
/// types whose numbers mean nothing known.
pub fn metrics(counter_type: CounterType) -> &'static [Metric] {
    if counter_type.is_text() {
        return TEXT;
    }
    if counter_type.is_base() || counter_type.kind() == Kind::Zero || !counter_type.is_visible() {
        return NONE;
    }
    // Only a clock of 100 ns has the same frequency in every sample.
    let units = counter_type.time_base() == TimeBase::Time100ns;
    let by_clock = |of_units, of_ticks| if units { of_units } else { of_ticks };
    match Formula::of(counter_type) {
        Some(Formula::Raw | Formula::Double) => VALUE,
        Some(Formula::Delta | Formula::Rate) => COUNT,
        Some(Formula::QueueLength) => by_clock(QUEUE_UNITS, QUEUE),
        Some(Formula::Share) => by_clock(BUSY_UNITS, BUSY),
        Some(Formula::InverseShare) => by_clock(IDLE_UNITS, IDLE),
        Some(Formula::MultiShare) => by_clock(MULTI_UNITS, MULTI),
        Some(Formula::InverseMultiShare) => by_clock(MULTI_IDLE_UNITS, MULTI_IDLE),
        Some(Formula::Fraction) => RATIO,
        Some(Formula::BaseShare) if counter_type == CounterType::PERF_SAMPLE_FRACTION => HITS,
        Some(Formula::BaseShare) => by_clock(STAMPED_UNITS, STAMPED),
        Some(Formula::AverageTime) => AVERAGE_TIME,
        Some(Formula::AverageBulk) => AVERAGE,
        Some(Formula::Elapsed) => STARTED,
        // A formula that this table does not know yet has no meaning for an engine.
        Some(_) | None => NONE,
    }
}

impl Figure {
    /// A multiple of the number; exact where it is whole and fits.
    pub fn times(self, factor: u64) -> Figure {
        match self {
            Figure::Whole(whole) => match whole.checked_mul(factor) {
                Some(product) => Figure::Whole(product),
                None => Figure::Real(whole as f64 * factor as f64),
            },
            Figure::Real(number) => Figure::Real(number * factor as f64),
        }
    }

    /// The number as a float.
    pub const fn real(self) -> f64 {
        match self {
            Figure::Whole(whole) => whole as f64,
            Figure::Real(number) => number,
        }
    }
}

impl Number {
    /// The number; `None` where the sample has none: a share without a base, a clock without a frequency.
    pub fn of(self, cell: &Cell) -> Option<Figure> {
        if self == Number::Value {
            return match cell.value {
                Ok(Value::Integer(whole)) => Some(Figure::Whole(whole)),
                Ok(Value::Number(number)) => Some(Figure::Real(number)),
                _ => None,
            };
        }
        let sample = cell.sample?;
        match self {
            Number::Value => None,
            Number::First => Some(Figure::Whole(sample.first)),
            Number::Second => Some(Figure::Whole(sample.second)),
            Number::FirstSeconds => Some(Figure::Real(sample.first as f64 / frequency(&sample)?)),
            Number::FirstUnits => Some(Figure::Real(sample.first as f64 / UNITS_PER_SECOND as f64)),
            Number::SecondUnits => Some(Figure::Real(sample.second as f64 / UNITS_PER_SECOND as f64)),
            Number::Ratio if sample.second == 0 => None,
            Number::Ratio => Some(Figure::Real(sample.first as f64 / sample.second as f64)),
            Number::Resources => Some(Figure::Whole(u64::from(sample.multi_count))),
            Number::StartTime => {
                // No start time, or one after the sample, is no start time.
                let age = sample.second.checked_sub(sample.first).filter(|_| sample.first != 0)?;
                Some(Figure::Real(unix_seconds(sample.time) - age as f64 / frequency(&sample)?))
            }
        }
    }
}

/// Ticks per second of a sample's clock, if it has one.
fn frequency(sample: &Sample) -> Option<f64> {
    (sample.frequency.0 > 0).then_some(sample.frequency.0 as f64)
}

/// A time in seconds since 1970.
pub(crate) fn unix_seconds(time: FileTime) -> f64 {
    // A ten-thousandth of a millisecond is lost, of 1.8e9 seconds.
    time.unix_nanoseconds() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use tallymon_core::counter::TYPES;
    use tallymon_core::flow::NoValue;
    use tallymon_core::time::Frequency;

    use super::*;

    fn cell(counter_type: CounterType, first: u64, second: u64, frequency: i64) -> Cell {
        let sample = Sample {
            counter_type,
            first,
            second,
            frequency: Frequency(frequency),
            multi_count: 4,
            time: FileTime::from_unix_nanoseconds(2_000_000_000_000_000_000).unwrap(),
        };
        Cell { sample: Some(sample), ..Cell::missing(NoValue::FirstSample) }
    }

    #[test]
    fn every_type_that_is_shown_becomes_a_metric_and_no_base_does() {
        for info in TYPES {
            let shown =
                info.visible && info.value.kind() != Kind::Zero && info.compute != Formula::NotNumeric;
            let is_metric = shown || info.value.is_text();
            assert_eq!(!metrics(info.value).is_empty(), is_metric, "{}", info.name);
        }
    }

    #[test]
    fn a_metric_with_a_unit_ends_with_it() {
        for info in TYPES {
            for metric in metrics(info.value) {
                assert!(metric.suffix.ends_with(metric.unit), "{}: {metric:?}", info.name);
            }
        }
    }

    #[test]
    fn ticks_become_seconds_by_the_sample_s_own_clock() {
        let busy = cell(CounterType::PERF_COUNTER_TIMER, 30, 7, 10);
        assert_eq!(Number::FirstSeconds.of(&busy), Some(Figure::Real(3.0)));
        assert_eq!(Number::FirstSeconds.of(&cell(CounterType::PERF_COUNTER_TIMER, 30, 7, 0)), None);
        let units = cell(CounterType::PERF_100NSEC_TIMER, 15_000_000, 0, 10_000_000);
        assert_eq!(Number::FirstUnits.of(&units), Some(Figure::Real(1.5)));
    }

    #[test]
    fn a_share_without_a_base_is_no_number() {
        let empty = cell(CounterType::PERF_RAW_FRACTION, 1, 0, 0);
        assert_eq!(Number::Ratio.of(&empty), None);
        assert_eq!(
            Number::Ratio.of(&cell(CounterType::PERF_RAW_FRACTION, 1, 4, 0)),
            Some(Figure::Real(0.25))
        );
    }

    #[test]
    fn a_start_time_is_that_of_the_clock() {
        let began = cell(CounterType::PERF_ELAPSED_TIME, 100, 160, 10);
        assert_eq!(Number::StartTime.of(&began), Some(Figure::Real(1_999_999_994.0)));
        assert_eq!(Number::StartTime.of(&cell(CounterType::PERF_ELAPSED_TIME, 0, 160, 10)), None);
        assert_eq!(Number::StartTime.of(&cell(CounterType::PERF_ELAPSED_TIME, 200, 160, 10)), None);
    }
}
