//! When counters rise above their thresholds and fall below them, in all of a log or of a history, and not
//! only in what a chart shows of it.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tallymon::core::time::FileTime;
use tallymon::core::visible::visible;
use tallymon_monitor::model::crosses;

use crate::chart::{MOST_ASKED, SeriesInfo, number};
use crate::http::Refused;
use crate::parameters::{Parameters, milliseconds};

/// The most crossings that are sent: the newest ones.
const MOST: usize = 50;

/// The values above which counters are alerts, by the path of a series, or by the requested path.
#[derive(Debug)]
pub(crate) struct Thresholds(Vec<(String, f64)>);

impl Thresholds {
    /// Those of a request: `alert=VALUE PATH`, for each of them.
    pub(crate) fn of(parameters: &Parameters) -> Result<Thresholds, Refused> {
        let mut all = Vec::new();
        for text in parameters.all("alert") {
            let words = || format!("alert={:?}: a number, a space and a path are expected", visible(text));
            let known = text.split_once(' ').and_then(|(value, path)| {
                let value = value.parse().ok().filter(|value: &f64| value.is_finite())?;
                Some((path.to_owned(), value))
            });
            all.push(known.ok_or_else(|| Refused::bad_request(words()))?);
        }
        match all.len() {
            0 => Err(Refused::bad_request("the parameter \"alert\" is missing")),
            many if many > MOST_ASKED => {
                Err(Refused::bad_request(format!("{many} thresholds are too many: at most {MOST_ASKED}")))
            }
            _ => Ok(Thresholds(all)),
        }
    }

    /// That of a series. Its own one comes before that of a path with wildcards.
    pub(crate) fn of_series(&self, series: &SeriesInfo) -> Option<f64> {
        let of_path = |path: &str| self.0.iter().find(|(known, _)| known == path).map(|(_, value)| *value);
        of_path(&series.path).or_else(|| of_path(series.asked()))
    }
}

/// A threshold was crossed.
#[derive(Debug)]
struct Crossing {
    time: FileTime,
    /// The value rose above it; else it fell below it.
    begins: bool,
    /// The number of its series.
    series: usize,
    value: f64,
}

/// Takes rows one by one, oldest first, and notes where values cross their thresholds. A gap is no crossing.
#[derive(Debug)]
pub(crate) struct Crossings {
    /// The threshold of each series, and whether its last value was above it.
    series: Vec<(f64, bool)>,
    newest: VecDeque<Crossing>,
    count: u64,
    /// The times of the first and the last row.
    times: Option<(FileTime, FileTime)>,
}

impl Crossings {
    /// Of series with these thresholds.
    pub(crate) fn new(thresholds: impl Iterator<Item = f64>) -> Crossings {
        let series = thresholds.map(|threshold| (threshold, false)).collect();
        Crossings { series, newest: VecDeque::new(), count: 0, times: None }
    }

    /// Takes a row; NaN is no value.
    pub(crate) fn take(&mut self, time: FileTime, values: impl Iterator<Item = f64>) {
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        for (nth, ((threshold, is_over), value)) in self.series.iter_mut().zip(values).enumerate() {
            let Some(begins) = crosses(is_over, *threshold, value) else { continue };
            self.count = self.count.saturating_add(1);
            if self.newest.len() >= MOST {
                self.newest.pop_front();
            }
            self.newest.push_back(Crossing { time, begins, series: nth, value });
        }
    }

    /// The newest ones first, with the paths of their series.
    pub(crate) fn json(&self, series: &[SeriesInfo]) -> Value {
        let one = |found: &Crossing| {
            json!({
                "time": milliseconds(found.time), "begins": found.begins,
                "path": series.get(found.series).map(|info| &info.path), "value": number(found.value),
            })
        };
        json!({
            "count": self.count, "alerts": self.newest.iter().rev().map(one).collect::<Vec<_>>(),
            "from": self.times.map(|(first, _)| milliseconds(first)),
            "to": self.times.map(|(_, last)| milliseconds(last)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crossing_is_counted_and_the_newest_are_kept() {
        let mut found = Crossings::new([10.0, f64::INFINITY].into_iter());
        assert_eq!(found.json(&[]), json!({ "count": 0, "alerts": [], "from": null, "to": null }));
        // Exactly at the threshold is not above it; a gap changes nothing.
        for (second, value) in [10.0, 11.0, f64::NAN, 12.0, 10.0, 3.0].into_iter().enumerate() {
            found.take(FileTime(second as u64), [value, 1e300].into_iter());
        }
        let kept: Vec<_> = found.newest.iter().map(|one| (one.time.0, one.begins, one.value)).collect();
        assert_eq!(kept, [(1, true, 11.0), (4, false, 10.0)]);
        for nth in 0..1_000u64 {
            found.take(FileTime(10 + nth), [if nth % 2 == 0 { 11.0 } else { 9.0 }, 0.0].into_iter());
        }
        assert_eq!((found.count, found.newest.len()), (1_002, MOST));
        assert_eq!(found.newest.back().map(|one| one.time.0), Some(1_009));
        assert_eq!(found.times, Some((FileTime(0), FileTime(1_009))));
    }
}
