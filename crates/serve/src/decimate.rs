//! Rows for a chart: all of them, or the smallest and the largest value of each stretch of time: then every
//! value in the answer was measured. Only who asks for averages gets them, and the answer says so.

use tallymon::core::time::FileTime;

/// Rows of some series that all have the same times.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rows {
    /// Times; of a stretch its begin and its middle.
    pub(crate) times: Vec<FileTime>,
    /// The values of each series; NaN where there is none.
    pub(crate) columns: Vec<Vec<f64>>,
    /// How many rows there were.
    pub(crate) of: u64,
    /// Each two rows, or of averages each row, are a stretch of time, in which there were more.
    pub(crate) is_decimated: bool,
    /// What a stretch of time becomes.
    pub(crate) aggregate: Aggregate,
}

/// What the values of a stretch of time become.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Aggregate {
    /// The smallest and the largest one, in their order: two rows.
    #[default]
    Extremes,
    /// Their mean: one row.
    Average,
}

impl Aggregate {
    /// The word in addresses and answers.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Aggregate::Extremes => "minmax",
            Aggregate::Average => "avg",
        }
    }

    /// The one of an address.
    pub(crate) fn of(word: Option<&str>) -> Option<Aggregate> {
        [Aggregate::Extremes, Aggregate::Average]
            .into_iter()
            .find(|one| word.is_none_or(|word| word == one.word()))
    }
}

/// Takes rows one by one and keeps at most as many as asked for, two for each stretch of time.
#[derive(Debug)]
pub(crate) struct Decimator {
    rows: Rows,
    from: u64,
    /// Units of time of a stretch.
    width: u64,
    most: usize,
    current: Option<Stretch>,
}

#[derive(Debug)]
struct Stretch {
    number: u64,
    /// Of each series, if it has a value.
    values: Vec<Option<Values>>,
}

/// The values of a series in a stretch.
#[derive(Debug, Clone, Copy)]
struct Values {
    least: f64,
    most: f64,
    /// The smallest one came before the largest one.
    rises: bool,
    sum: f64,
    count: u64,
}

impl Values {
    fn with(known: Option<Values>, value: f64) -> Values {
        let Some(known) = known else {
            return Values { least: value, most: value, rises: true, sum: value, count: 1 };
        };
        let (least, most, rises) = match known {
            Values { least, most, .. } if value < least => (value, most, false),
            Values { least, most, .. } if value > most => (least, value, true),
            Values { least, most, rises, .. } => (least, most, rises),
        };
        Values { least, most, rises, sum: known.sum + value, count: known.count.saturating_add(1) }
    }
}

impl Decimator {
    /// Keeps at most `most` rows of a range of time.
    pub(crate) fn new(
        series: usize,
        from: FileTime,
        to: FileTime,
        most: usize,
        aggregate: Aggregate,
    ) -> Decimator {
        let most = most.max(2);
        let stretches = match aggregate {
            Aggregate::Extremes => (most / 2).max(1) as u64,
            Aggregate::Average => most as u64,
        };
        let width = to.0.saturating_sub(from.0).saturating_add(1).div_ceil(stretches).max(1);
        let rows = Rows { columns: vec![Vec::new(); series], aggregate, ..Rows::default() };
        Decimator { rows, from: from.0, width, most, current: None }
    }

    /// Takes a row.
    pub(crate) fn push(&mut self, time: FileTime, values: impl Iterator<Item = f64>) {
        self.rows.of = self.rows.of.saturating_add(1);
        if self.rows.is_decimated {
            self.widen(time, values);
            return;
        }
        self.rows.times.push(time);
        for (column, value) in self.rows.columns.iter_mut().zip(values) {
            column.push(value);
        }
        if self.rows.times.len() > self.most {
            self.begin_stretches();
        }
    }

    /// The rows.
    pub(crate) fn finish(mut self) -> Rows {
        self.close();
        self.rows
    }

    /// There are too many rows: those that came so far become stretches.
    fn begin_stretches(&mut self) {
        let (columns, of) = (vec![Vec::new(); self.rows.columns.len()], self.rows.of);
        let aggregate = self.rows.aggregate;
        let stretches = Rows { columns, is_decimated: true, of, aggregate, ..Rows::default() };
        let before = std::mem::replace(&mut self.rows, stretches);
        for (nth, time) in before.times.iter().enumerate() {
            self.widen(
                *time,
                before.columns.iter().map(|column| column.get(nth).copied().unwrap_or(f64::NAN)),
            );
        }
    }

    fn widen(&mut self, time: FileTime, values: impl Iterator<Item = f64>) {
        let number = time.0.saturating_sub(self.from).checked_div(self.width).unwrap_or(0);
        // A clock that was set back does not go back to an earlier stretch.
        if self.current.as_ref().is_none_or(|current| number > current.number) {
            self.close();
            self.current = Some(Stretch { number, values: vec![None; self.rows.columns.len()] });
        }
        let Some(current) = &mut self.current else { return };
        for (known, value) in current.values.iter_mut().zip(values) {
            if !value.is_nan() {
                *known = Some(Values::with(*known, value));
            }
        }
    }

    fn close(&mut self) {
        let Some(stretch) = self.current.take() else { return };
        let begin = self.from.saturating_add(stretch.number.saturating_mul(self.width));
        let middle = FileTime(begin.saturating_add(self.width / 2));
        if self.rows.aggregate == Aggregate::Average {
            self.rows.times.push(middle);
            for (column, known) in self.rows.columns.iter_mut().zip(stretch.values) {
                column.push(known.map_or(f64::NAN, |known| known.sum / known.count as f64));
            }
            return;
        }
        self.rows.times.extend([FileTime(begin), middle]);
        for (column, known) in self.rows.columns.iter_mut().zip(stretch.values) {
            column.extend(match known {
                None => [f64::NAN; 2],
                Some(Values { least, most, rises: true, .. }) => [least, most],
                Some(Values { least, most, .. }) => [most, least],
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_stay_as_they_are() {
        let mut rows = Decimator::new(2, FileTime(0), FileTime(30), 4, Aggregate::Extremes);
        for time in [0, 10, 20, 30] {
            rows.push(FileTime(time), [time as f64, f64::NAN].into_iter());
        }
        let rows = rows.finish();
        assert!(!rows.is_decimated && rows.times.len() == 4 && rows.of == 4);
        assert_eq!(rows.columns[0], [0.0, 10.0, 20.0, 30.0]);
    }

    #[test]
    fn every_extreme_of_a_long_range_is_kept_in_its_order() {
        let value = |nth: u64| match nth {
            777 => 1e9,
            778 => -1e9,
            _ => (nth % 7) as f64,
        };
        let mut rows = Decimator::new(1, FileTime(0), FileTime(9_999), 100, Aggregate::Extremes);
        for nth in 0..10_000 {
            rows.push(FileTime(nth), [value(nth)].into_iter());
        }
        let rows = rows.finish();
        assert!(rows.is_decimated && rows.of == 10_000);
        assert_eq!((rows.times.len(), rows.columns[0].len()), (100, 100));
        assert!(rows.times.is_sorted());
        let high = rows.columns[0].iter().position(|value| *value == 1e9).unwrap();
        assert_eq!(rows.columns[0][high + 1], -1e9, "the smallest came behind the largest");
    }

    #[test]
    fn who_asks_for_averages_gets_the_mean_of_each_stretch() {
        let mut rows = Decimator::new(2, FileTime(0), FileTime(999), 10, Aggregate::Average);
        for nth in 0..1_000 {
            let second = if nth < 100 { f64::NAN } else { 7.0 };
            rows.push(FileTime(nth), [(nth % 100) as f64, second].into_iter());
        }
        let rows = rows.finish();
        assert!(rows.is_decimated && rows.of == 1_000 && rows.aggregate == Aggregate::Average);
        assert_eq!((rows.times.len(), rows.times[0]), (10, FileTime(50)));
        assert_eq!(rows.columns[0], [49.5; 10]);
        assert!(rows.columns[1][0].is_nan() && rows.columns[1][1..].iter().all(|value| *value == 7.0));
        assert_eq!(Aggregate::of(None), Some(Aggregate::Extremes));
        assert_eq!(
            (Aggregate::of(Some("avg")), Aggregate::of(Some("sum"))),
            (Some(Aggregate::Average), None)
        );
    }

    #[test]
    fn a_stretch_without_values_is_a_gap_and_a_stretch_without_rows_is_none() {
        let mut rows = Decimator::new(1, FileTime(0), FileTime(99), 4, Aggregate::Extremes);
        for nth in (0..10).chain(90..100) {
            rows.push(FileTime(nth), [if nth < 90 { 1.0 } else { f64::NAN }].into_iter());
        }
        let rows = rows.finish();
        assert_eq!(rows.times, [FileTime(0), FileTime(25), FileTime(50), FileTime(75)]);
        assert_eq!(rows.columns[0][..2], [1.0, 1.0]);
        assert!(rows.columns[0][2..].iter().all(|value| value.is_nan()));
    }
}
