//! Another log drawn over the current one: both begin at the same place, or as far apart as the user moved
//! them.

use std::collections::HashMap;

use tallymon::core::flow::{NoValue, Value};
use tallymon::core::time::FileTime;

use crate::model::monitor::Monitor;
use crate::model::point::Point;
use crate::model::series::Series;

/// The values of another log, and how its times map to those of the chart.
#[derive(Debug, Clone, Default)]
pub struct Compared {
    /// The first time of the other log, and the time of the chart where it is drawn.
    begins: (FileTime, FileTime),
    /// How far it is moved to the right, in units of 100 ns.
    moved: i64,
    times: Vec<FileTime>,
    /// The values of each counter, and the position of each path in lower case.
    values: Vec<Vec<Point>>,
    paths: HashMap<String, usize>,
}

impl Compared {
    /// A log without values whose first time, `theirs`, is drawn at `ours`.
    pub fn new(theirs: FileTime, ours: FileTime) -> Compared {
        Compared { begins: (theirs, ours), ..Compared::default() }
    }

    /// Forgets all values and expects those of these paths.
    pub fn begin(&mut self, paths: &[String]) {
        self.times.clear();
        self.values = vec![Vec::new(); paths.len()];
        self.paths = paths.iter().enumerate().map(|(nth, path)| (path.to_lowercase(), nth)).collect();
    }

    /// Adds a row: a value for each of the paths.
    pub fn push(&mut self, time: FileTime, values: &[Result<Value, NoValue>]) {
        // Times stay in order also where the clock was set back.
        self.times.push(self.times.last().map_or(time, |last| time.max(*last)));
        for (points, value) in self.values.iter_mut().zip(values) {
            points.push(Point::of(value));
        }
    }

    /// Moves it to the right, or to the left, in units of 100 ns.
    pub fn shift(&mut self, by: i64) {
        self.moved = self.moved.saturating_add(by);
    }

    /// How far it was moved to the right, in units of 100 ns.
    pub const fn moved(&self) -> i64 {
        self.moved
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.times.len()
    }

    /// Whether it has a counter.
    pub fn has(&self, path: &str) -> bool {
        self.points(path).is_some()
    }

    fn points(&self, path: &str) -> Option<&Vec<Point>> {
        self.values.get(*self.paths.get(&path.to_lowercase())?)
    }

    /// Its own time at a time of the chart.
    fn theirs(&self, time: FileTime) -> FileTime {
        let (theirs, ours) = self.begins;
        let since = i128::from(time.0) - i128::from(ours.0) - i128::from(self.moved);
        let time = i128::from(theirs.0).saturating_add(since).max(0);
        FileTime(u64::try_from(time).unwrap_or(u64::MAX))
    }

    /// The values at some times of the chart, which are in order except for one step back at most.
    pub fn values<'a>(
        &'a self,
        path: &str,
        times: impl Iterator<Item = Option<FileTime>> + 'a,
    ) -> impl Iterator<Item = Option<f64>> + 'a {
        let points = self.points(path).map_or(&[][..], Vec::as_slice);
        let mut at = 0;
        times.map(move |time| {
            at = self.before(self.theirs(time?), at)?;
            points.get(at)?.read().ok()
        })
    }

    /// The mean of a counter between two times of the chart.
    pub fn average(&self, path: &str, from: FileTime, to: FileTime) -> Option<f64> {
        let points = self.points(path)?;
        let (from, to) = (self.theirs(from), self.theirs(to));
        let first = self.times.partition_point(|time| *time < from);
        let end = self.times.partition_point(|time| *time <= to).min(points.len());
        let numbers = points.get(first..end)?.iter().filter_map(|point| point.read().ok());
        let (sum, count) =
            numbers.fold((0.0, 0u64), |(sum, count), number| (sum + number, count.saturating_add(1)));
        (count > 0).then(|| sum / count as f64)
    }

    /// The last row at or before a time; none before the first, nor behind the last. It is usually near
    /// `hint`.
    fn before(&self, time: FileTime, hint: usize) -> Option<usize> {
        let last = *self.times.last()?;
        if time > last {
            return None;
        }
        let is_early = |nth: usize| self.times.get(nth).is_some_and(|known| *known <= time);
        if is_early(hint) {
            let near = (hint..hint.saturating_add(4)).find(|nth| !is_early(nth.saturating_add(1)));
            if near.is_some() {
                return near;
            }
        }
        self.times.partition_point(|known| *known <= time).checked_sub(1)
    }
}

impl Monitor {
    /// The difference of a counter, absolute and as a share: at the cursor, else of the averages. As in
    /// `tally compare A B`, the log that was opened first is the base A, and the difference is B - A.
    pub fn change(&self, compared: &Compared, series: &Series) -> Option<(f64, Option<f64>)> {
        let (ours, theirs) = match self.window.cursor {
            Some(cursor) => {
                let theirs = compared.values(&series.path, std::iter::once(self.time(cursor))).next()??;
                (series.at(self.next(), cursor)?.ok()?, theirs)
            }
            None => {
                let (from, to) = self.view_times()?;
                (self.statistics(series).average?, compared.average(&series.path, from, to)?)
            }
        };
        let change = theirs - ours;
        Some((change, (ours != 0.0).then(|| change / ours.abs() * 100.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = r"\Memory\Available Bytes";

    /// A log that begins at 1,000 with a row every 10, of the numbers from 0 on, laid upon 5,000.
    fn compared() -> Compared {
        let mut compared = Compared::new(FileTime(1_000), FileTime(5_000));
        let paths = [PATH.to_string()];
        compared.begin(&paths);
        for row in 0..100u32 {
            let value = if row == 50 { Err(NoValue::FirstSample) } else { Ok(Value::Number(f64::from(row))) };
            compared.push(FileTime(1_000 + u64::from(row) * 10), &[value]);
        }
        compared
    }

    fn at(compared: &Compared, times: &[u64]) -> Vec<Option<f64>> {
        compared.values(&PATH.to_uppercase(), times.iter().map(|time| Some(FileTime(*time)))).collect()
    }

    #[test]
    fn both_logs_begin_at_the_same_place() {
        let compared = compared();
        let found = at(&compared, &[4_999, 5_000, 5_009, 5_010, 5_500, 5_700, 5_020, 5_990, 5_991]);
        let expected = [None, Some(0.0), Some(0.0), Some(1.0), None, Some(70.0), Some(2.0), Some(99.0), None];
        assert_eq!(found, expected, "also after a step back and over a gap");
        assert!(compared.has(PATH) && !compared.has(r"\Memory\Committed Bytes"));
        assert_eq!(
            compared.values(r"\System\Threads", [Some(FileTime(5_000))].into_iter()).next(),
            Some(None)
        );
    }

    #[test]
    fn the_other_log_can_be_moved() {
        let mut compared = compared();
        compared.shift(20);
        assert_eq!(at(&compared, &[5_000, 5_020, 5_100]), [None, Some(0.0), Some(8.0)]);
        compared.shift(-50);
        assert_eq!((compared.moved(), at(&compared, &[5_000])), (-30, vec![Some(3.0)]));
        compared.shift(i64::MIN);
        assert_eq!(at(&compared, &[5_000]), [None]);
    }

    #[test]
    fn means_are_of_the_matching_rows() {
        let compared = compared();
        assert_eq!(compared.average(PATH, FileTime(5_000), FileTime(5_020)), Some(1.0));
        assert_eq!(compared.average(PATH, FileTime(5_490), FileTime(5_510)), Some(50.0), "a gap is no value");
        assert_eq!(compared.average(PATH, FileTime(6_000), FileTime(7_000)), None);
        assert_eq!(compared.average(r"\System\Threads", FileTime(5_000), FileTime(5_020)), None);
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_rows_in_order() {
        let mut compared = Compared::new(FileTime(0), FileTime(0));
        let paths = [PATH.to_string()];
        compared.begin(&paths);
        for (time, number) in [(10, 1.0), (20, 2.0), (15, 3.0), (30, 4.0)] {
            compared.push(FileTime(time), &[Ok(Value::Number(number))]);
        }
        assert_eq!(at(&compared, &[12, 22, 30]), [Some(1.0), Some(3.0), Some(4.0)]);
    }
}
