//! What is known of the meters of a program: its instruments, and the last values of those that somebody
//! wants.
//!
//! The runtime sends all values of an interval together. A set is known when it is complete, and a sum is
//! known at the times of the last sets; between two of them it is taken to grow evenly.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::meters::{Instrument, InstrumentKind, MeterEvent, MeterNumber, MeterValue};

/// The most instruments that are kept of a program, and the most letters of a name, a unit or an explanation.
const MOST_INSTRUMENTS: usize = 2048;
const MOST_LETTERS: usize = 200;
/// The most letters of the tags of a series.
const MOST_TAGS: usize = 400;
/// The most series that are kept of a program. The runtime has a limit of its own, for which readers ask.
const MOST_SERIES: usize = 4096;
/// The most values of one set.
const MOST_VALUES: usize = 2 * MOST_SERIES;
/// Sums that are kept of a series, so that programs whose intervals are not in step can be written for one
/// moment.
const POINTS: usize = 4;
/// A series without a value in so many sets is gone.
const GONE: u64 = 60;

/// The shares of the quantiles that are kept; the runtime has these.
pub(super) const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// What is known of the meters of a program.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    /// The instruments by meter and name.
    instruments: BTreeMap<(String, String), Known>,
    /// Grows with each new instrument.
    pub(super) generation: u64,
    /// Whether the program has published all that it had.
    pub(super) all_published: bool,
    /// Values of the set that comes.
    coming: Vec<MeterValue>,
    /// Complete sets since the session began.
    pub(super) sets: u64,
    /// When the first set of the session began.
    began: u64,
    /// When the newest set was complete.
    pub(super) newest: Option<u64>,
    series: usize,
    /// Whether there are more series or histograms than anybody keeps.
    pub(super) limit_reached: bool,
    /// What the program said about a failure.
    pub(super) problem: Option<String>,
}

#[derive(Debug)]
struct Known {
    instrument: Instrument,
    series: BTreeMap<String, Series>,
}

/// The values of an instrument with one set of tags.
#[derive(Debug, Default)]
pub(crate) struct Series {
    /// A sum, or for histograms that of all values that were seen, at the time of each set.
    sums: VecDeque<(u64, f64)>,
    /// The last value.
    last: f64,
    /// How many values a histogram had, at the time of each set.
    counts: VecDeque<(u64, f64)>,
    /// The quantiles of the last set.
    quantiles: [Option<f64>; QUANTILES.len()],
    /// The number of the last set with it.
    set: u64,
}

impl Series {
    /// The last value.
    pub(super) fn last(&self) -> f64 {
        self.last
    }

    /// The sum at a time; `None` before it is known.
    pub(super) fn sum(&self, time: u64) -> Option<f64> {
        at(&self.sums, time)
    }

    /// How many values a histogram had at a time; `None` before it is known.
    pub(super) fn count(&self, time: u64) -> Option<f64> {
        at(&self.counts, time)
    }

    /// A quantile of the last set that had values.
    pub(super) fn quantile(&self, number: usize) -> Option<f64> {
        self.quantiles.get(number).copied().flatten()
    }

    fn add(&mut self, began: u64, time: u64, is_since_began: bool, number: MeterNumber) {
        match number {
            MeterNumber::Sum(sum) => {
                self.last = sum;
                push(&mut self.sums, is_since_began.then_some(began), time, sum);
            }
            MeterNumber::Last(last) => self.last = last,
            MeterNumber::Histogram { count, sum, quantiles } => {
                let before = |points: &VecDeque<(u64, f64)>| points.back().map_or(0.0, |(_, sum)| *sum);
                let (sums, counts) = (before(&self.sums) + sum, before(&self.counts) + count as f64);
                push(&mut self.sums, Some(began), time, sums);
                push(&mut self.counts, Some(began), time, counts);
                self.last = sums;
                self.quantiles = QUANTILES.map(|wanted| {
                    let near = |(share, _): &&(f64, f64)| (share - wanted).abs() < 1e-6;
                    quantiles.iter().find(near).map(|(_, value)| *value)
                });
            }
        }
    }
}

/// Adds a sum at a time. The first one of a series began with 0 at a time, if that is known.
fn push(points: &mut VecDeque<(u64, f64)>, zero: Option<u64>, time: u64, sum: f64) {
    if points.is_empty()
        && let Some(zero) = zero.filter(|zero| *zero < time)
    {
        points.push_back((zero, 0.0));
    }
    points.push_back((time, sum));
    if points.len() > POINTS {
        points.pop_front();
    }
}

/// The sum at a time: that of the set before, and its part of the growth until the next one.
fn at(points: &VecDeque<(u64, f64)>, time: u64) -> Option<f64> {
    let after = points.iter().position(|(at, _)| *at >= time);
    let Some(after) = after else { return points.back().map(|(_, sum)| *sum) };
    let (next_time, next) = *points.get(after)?;
    if next_time == time {
        return Some(next);
    }
    let (before_time, before) = *points.get(after.checked_sub(1)?)?;
    let length = next_time.saturating_sub(before_time).max(1) as f64;
    let part = time.saturating_sub(before_time) as f64 / length;
    Some(before + (next - before) * part)
}

impl Meters {
    /// Adds an event. Values are kept for the meters that somebody wants.
    pub(crate) fn add(&mut self, time: u64, event: MeterEvent, wanted: &BTreeSet<String>) {
        match event {
            MeterEvent::Published(instrument) => self.publish(instrument),
            MeterEvent::AllPublished => self.all_published = true,
            MeterEvent::CollectionStart if self.sets == 0 && self.began == 0 => self.began = time,
            MeterEvent::CollectionStop => self.complete(time),
            MeterEvent::Value(value) => {
                if self.coming.len() >= MOST_VALUES {
                    self.limit_reached = true;
                } else if wanted.contains(&value.meter) {
                    self.coming.push(value);
                }
            }
            MeterEvent::SeriesLimit | MeterEvent::HistogramLimit => self.limit_reached = true,
            MeterEvent::Failed(words) => self.problem = Some(words.chars().take(MOST_LETTERS).collect()),
            MeterEvent::CollectionStart | MeterEvent::OtherSession(_) | MeterEvent::OtherSettings { .. } => {}
        }
    }

    fn publish(&mut self, mut instrument: Instrument) {
        let name = (instrument.meter.clone(), instrument.name.clone());
        let is_named = |name: &str| !name.is_empty() && name.len() <= MOST_LETTERS;
        if instrument.kind.is_none() || !is_named(&name.0) || !is_named(&name.1) {
            return;
        }
        if self.instruments.len() >= MOST_INSTRUMENTS {
            self.limit_reached = true;
            return;
        }
        self.instruments.entry(name).or_insert_with(|| {
            self.generation = self.generation.saturating_add(1);
            for text in [&mut instrument.unit, &mut instrument.description] {
                *text = text.chars().take(MOST_LETTERS).collect();
            }
            Known { instrument, series: BTreeMap::new() }
        });
    }

    fn complete(&mut self, time: u64) {
        self.sets = self.sets.saturating_add(1);
        // What a program counts from the time at which somebody reads began with 0 in the set before.
        let began = self.newest.filter(|_| self.sets > 1).unwrap_or(self.began);
        for value in std::mem::take(&mut self.coming) {
            let Some(known) = self.instruments.get_mut(&(value.meter, value.name)) else { continue };
            // Other readers may have had the first values counted for longer.
            let is_since_began = known.instrument.kind == Some(InstrumentKind::Counter) && self.sets > 1;
            let series = match known.series.get_mut(&value.tags) {
                Some(series) => series,
                None if self.series >= MOST_SERIES || value.tags.len() > MOST_TAGS => {
                    self.limit_reached = true;
                    continue;
                }
                None => {
                    self.series = self.series.saturating_add(1);
                    known.series.entry(value.tags).or_default()
                }
            };
            series.set = self.sets;
            series.add(began, time, is_since_began, value.number);
        }
        self.newest = Some(time);
        let sets = self.sets;
        for known in self.instruments.values_mut() {
            let before = known.series.len();
            known.series.retain(|_, series| sets.saturating_sub(series.set) < GONE);
            self.series = self.series.saturating_sub(before.saturating_sub(known.series.len()));
        }
    }

    /// Forgets all values: a session begins, or no more values come.
    pub(crate) fn forget_values(&mut self) {
        self.instruments.values_mut().for_each(|known| known.series.clear());
        self.coming.clear();
        (self.series, self.sets, self.began, self.newest) = (0, 0, 0, None);
        self.limit_reached = false;
    }

    /// The instruments in the order of their meters and names.
    pub(super) fn instruments(&self) -> impl Iterator<Item = &Instrument> {
        self.instruments.values().map(|known| &known.instrument)
    }

    /// Whether the program has a meter of this name.
    pub(super) fn has(&self, meter: &str) -> bool {
        let first = (meter.to_string(), String::new());
        self.instruments.range(first..).next().is_some_and(|((name, _), _)| name == meter)
    }

    /// How many instruments and series each meter has.
    pub(super) fn sizes(&self) -> BTreeMap<&str, (u64, u64)> {
        let mut sizes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for ((meter, _), known) in &self.instruments {
            let (instruments, series) = sizes.entry(meter).or_default();
            *instruments = instruments.saturating_add(1);
            *series = series.saturating_add(u64::try_from(known.series.len()).unwrap_or(u64::MAX));
        }
        sizes
    }

    /// The series of an instrument of this kind by their tags.
    pub(super) fn series(
        &self,
        meter: &str,
        name: &str,
        kind: InstrumentKind,
    ) -> Option<&BTreeMap<String, Series>> {
        let known = self.instruments.get(&(meter.to_string(), name.to_string()))?;
        (known.instrument.kind == Some(kind)).then_some(&known.series)
    }

    /// The last value of an instrument with these tags.
    pub(crate) fn last(&self, meter: &str, name: &str, tags: &str) -> Option<f64> {
        let known = self.instruments.get(&(meter.to_string(), name.to_string()))?;
        known.series.get(tags).map(Series::last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(name: &str, kind: InstrumentKind) -> MeterEvent {
        let (meter, name) = ("Shop".into(), name.into());
        let (unit, description) = (String::new(), String::new());
        MeterEvent::Published(Instrument { meter, name, kind: Some(kind), unit, description })
    }

    fn value(name: &str, tags: &str, number: MeterNumber) -> MeterEvent {
        MeterEvent::Value(MeterValue { meter: "Shop".into(), name: name.into(), tags: tags.into(), number })
    }

    fn set(meters: &mut Meters, begin: u64, end: u64, values: Vec<MeterEvent>) {
        let wanted = BTreeSet::from(["Shop".to_string()]);
        meters.add(begin, MeterEvent::CollectionStart, &wanted);
        values.into_iter().for_each(|value| meters.add(begin, value, &wanted));
        meters.add(end, MeterEvent::CollectionStop, &wanted);
    }

    #[test]
    fn sums_are_known_between_sets() {
        let mut meters = Meters::default();
        let (counter, observed) = (InstrumentKind::Counter, InstrumentKind::ObservableCounter);
        for (name, kind) in [("c", counter), ("o", observed)] {
            meters.add(0, published(name, kind), &BTreeSet::new());
        }
        let sums = |c, o| vec![value("c", "", MeterNumber::Sum(c)), value("o", "", MeterNumber::Sum(o))];
        set(&mut meters, 100, 200, sums(10.0, 1000.0));
        set(&mut meters, 200, 300, sums(30.0, 1010.0));
        let of = |name, kind, time| meters.series("Shop", name, kind).unwrap()[""].sum(time);
        for (time, sum) in [(150, None), (200, Some(10.0)), (250, Some(20.0)), (900, Some(30.0))] {
            assert_eq!(of("c", counter, time), sum, "{time}");
        }
        // What the program counted before it was read is not in the rate.
        for (time, sum) in [(150, None), (200, Some(1000.0)), (250, Some(1005.0))] {
            assert_eq!(of("o", observed, time), sum, "{time}");
        }
        assert!(meters.series("Shop", "c", observed).is_none());
        // A series that comes later began with nothing.
        set(&mut meters, 300, 400, vec![value("c", "new=1", MeterNumber::Sum(4.0))]);
        let new = |time| meters.series("Shop", "c", counter).unwrap()["new=1"].sum(time);
        assert_eq!((new(300), new(350), new(400)), (Some(0.0), Some(2.0), Some(4.0)));
    }

    #[test]
    fn histograms_are_summed_up() {
        let mut meters = Meters::default();
        meters.add(0, published("h", InstrumentKind::Histogram), &BTreeSet::new());
        let seen = |count, sum, quantiles: &[(f64, f64)]| {
            vec![value("h", "a=1", MeterNumber::Histogram { count, sum, quantiles: quantiles.to_vec() })]
        };
        set(&mut meters, 100, 200, seen(2, 3.0, &[(0.5, 1.0), (0.95, 2.0), (0.99, 2.0)]));
        set(&mut meters, 200, 300, seen(4, 8.0, &[(0.5, 2.0)]));
        let series = &meters.series("Shop", "h", InstrumentKind::Histogram).unwrap()["a=1"];
        assert_eq!((series.count(200), series.sum(200)), (Some(2.0), Some(3.0)));
        assert_eq!((series.count(300), series.sum(300)), (Some(6.0), Some(11.0)));
        assert_eq!([0, 1, 3].map(|number| series.quantile(number)), [Some(2.0), None, None]);
    }

    #[test]
    fn hostile_meters_take_little_memory() {
        let mut meters = Meters::default();
        for number in 0..MOST_INSTRUMENTS + 10 {
            meters.add(0, published(&format!("i{number}"), InstrumentKind::Counter), &BTreeSet::new());
        }
        meters.add(0, published(&"x".repeat(MOST_LETTERS + 1), InstrumentKind::Counter), &BTreeSet::new());
        assert_eq!((meters.instruments.len(), meters.limit_reached), (MOST_INSTRUMENTS, true));
        let sum = MeterNumber::Sum(1.0);
        let values = (0..MOST_VALUES + 10).map(|number| value("i1", &number.to_string(), sum.clone()));
        set(&mut meters, 1, 2, values.collect());
        assert_eq!(meters.series, MOST_SERIES);
        set(&mut meters, 2, 3, vec![value("i2", &"x".repeat(MOST_TAGS + 1), sum.clone()); 3]);
        assert_eq!(meters.series, MOST_SERIES);
        // Series that do not come any more make room.
        for time in 0..GONE {
            set(&mut meters, 3 + time, 4 + time, vec![value("i1", "0", sum.clone())]);
        }
        assert_eq!(meters.series, 1);
    }
}
