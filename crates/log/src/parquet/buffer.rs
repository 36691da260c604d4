//! The values of a row group until it is written, by column: the order that the file has.

use tallymon_core::flow::{Cell, NoValue, Sample};

/// A value and its raw numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneValue {
    /// Since 1970, UTC.
    pub(crate) microseconds: i64,
    pub(crate) sample: Option<Sample>,
    pub(crate) value: Result<f64, NoValue>,
}

impl OneValue {
    /// The row of a cell. An instance that does not exist has none.
    #[inline]
    pub(crate) fn of(microseconds: i64, cell: &Cell) -> Option<OneValue> {
        if matches!(cell, Cell { sample: None, value: Err(NoValue::NoInstance), .. }) {
            return None;
        }
        let value = match &cell.value {
            Ok(value) => value.as_f64().ok_or(NoValue::NotNumeric),
            Err(reason) => Err(*reason),
        };
        Some(OneValue { microseconds, sample: cell.sample, value })
    }
}

/// Each item is a value and its run length.
pub(super) type RunsOf<T> = Vec<(T, u64)>;

/// Adds a value, `count` times, to runs.
#[inline]
pub(super) fn add<T: PartialEq>(runs: &mut RunsOf<T>, next: T, count: u64) {
    match runs.last_mut() {
        Some((last, times)) if *last == next => *times = times.saturating_add(count),
        _ => runs.push((next, count)),
    }
}

/// The values of one counter.
#[derive(Debug, Default)]
pub(crate) struct ColumnBuffer {
    /// Of each row, since 1970, UTC.
    pub(super) microseconds: Vec<u64>,
    /// The raw numbers of the rows that have some, as bits of signed numbers.
    pub(super) first: Vec<u64>,
    pub(super) second: Vec<u64>,
    /// The number of resources of each row; `None` where there are no raw numbers.
    pub(super) multi_count: RunsOf<Option<u32>>,
    /// The bits of the values of the rows that have one.
    pub(super) values: Vec<u64>,
    /// Why each row has no value; `None` where it has one.
    pub(super) missing: RunsOf<Option<NoValue>>,
    is_unordered: bool,
}

impl ColumnBuffer {
    /// Adds a row.
    #[inline]
    pub(crate) fn push(&mut self, row: OneValue) {
        let OneValue { microseconds, sample, value } = row;
        let microseconds = microseconds.cast_unsigned();
        self.is_unordered |=
            self.microseconds.last().is_some_and(|last| last.cast_signed() > microseconds.cast_signed());
        self.microseconds.push(microseconds);
        if let Some(sample) = sample {
            self.first.push(sample.first);
            self.second.push(sample.second);
        }
        add(&mut self.multi_count, sample.map(|sample| sample.multi_count), 1);
        if let Ok(value) = value {
            self.values.push(value.to_bits());
        }
        add(&mut self.missing, value.err(), 1);
    }

    /// Adds rows of these times, which all have raw numbers: those that `raw` adds, and the value that
    /// `value` makes of those of a row.
    pub(crate) fn extend(
        &mut self,
        microseconds: &[u64],
        multi_count: u32,
        raw: impl FnOnce(&mut Vec<u64>, &mut Vec<u64>),
        mut value: impl FnMut(u64, u64) -> Result<f64, NoValue>,
    ) {
        let (last, first) = (self.microseconds.last(), microseconds.first());
        self.is_unordered |=
            last.zip(first).is_some_and(|(last, first)| last.cast_signed() > first.cast_signed());
        self.microseconds.extend_from_slice(microseconds);
        add(&mut self.multi_count, Some(multi_count), microseconds.len() as u64);
        let before = (self.first.len(), self.second.len());
        raw(&mut self.first, &mut self.second);
        let first = self.first.get(before.0..).unwrap_or_default();
        let second = self.second.get(before.1..).unwrap_or_default();
        self.values.reserve(microseconds.len());
        let mut good = 0u64;
        for (first, second) in first.iter().zip(second) {
            match value(*first, *second) {
                Ok(value) => {
                    self.values.push(value.to_bits());
                    good = good.saturating_add(1);
                }
                Err(reason) => {
                    if good > 0 {
                        add(&mut self.missing, None, std::mem::take(&mut good));
                    }
                    add(&mut self.missing, Some(reason), 1);
                }
            }
        }
        if good > 0 {
            add(&mut self.missing, None, good);
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.microseconds.len()
    }

    /// The earliest and the latest time.
    pub(super) fn times(&self) -> Option<(i64, i64)> {
        Some((self.microseconds.first()?.cast_signed(), self.microseconds.last()?.cast_signed()))
    }

    fn clear(&mut self) {
        let ColumnBuffer { microseconds, first, second, multi_count, values, missing, is_unordered } = self;
        [microseconds, first, second, values].into_iter().for_each(Vec::clear);
        multi_count.clear();
        missing.clear();
        *is_unordered = false;
    }

    /// Sorts the rows by time; those of the same time keep their order.
    fn put_in_order(&mut self) {
        if !self.is_unordered {
            return;
        }
        let (mut first, mut second) = (self.first.iter(), self.second.iter());
        let mut values = self.values.iter();
        let mut rows = Vec::new();
        let resources = self.multi_count.iter().flat_map(|(one, count)| (0..*count).map(move |_| *one));
        let reasons = self.missing.iter().flat_map(|(one, count)| (0..*count).map(move |_| *one));
        for ((time, resources), reason) in self.microseconds.iter().zip(resources).zip(reasons) {
            let raw = resources.and_then(|resources| Some((resources, *first.next()?, *second.next()?)));
            let value = if reason.is_none() { values.next() } else { None };
            rows.push((*time, raw, value.copied(), reason));
        }
        rows.sort_by_key(|(time, ..)| time.cast_signed());
        self.clear();
        for (time, raw, value, reason) in rows {
            self.microseconds.push(time);
            if let Some((_, first, second)) = raw {
                self.first.push(first);
                self.second.push(second);
            }
            self.values.extend(value);
            add(&mut self.multi_count, raw.map(|(resources, ..)| resources), 1);
            add(&mut self.missing, reason, 1);
        }
    }
}

/// The values of a row group, by column.
#[derive(Debug, Default)]
pub(crate) struct GroupBuffer {
    pub(super) columns: Vec<ColumnBuffer>,
    rows: usize,
}

impl GroupBuffer {
    /// Room for so many columns. All values of before have been written.
    pub(crate) fn set_columns(&mut self, count: usize) {
        self.clear();
        self.columns.resize_with(count, ColumnBuffer::default);
    }

    /// Adds a value to a column, behind those that it has.
    #[inline]
    pub(crate) fn push(&mut self, column: usize, row: OneValue) {
        if let Some(column) = self.columns.get_mut(column) {
            column.push(row);
            self.rows = self.rows.saturating_add(1);
        }
    }

    /// Lets `add` add rows to a column, and returns how many they are.
    pub(crate) fn extend(&mut self, column: usize, add: impl FnOnce(&mut ColumnBuffer)) -> usize {
        let Some(column) = self.columns.get_mut(column) else { return 0 };
        let before = column.rows();
        add(column);
        let added = column.rows().saturating_sub(before);
        self.rows = self.rows.saturating_add(added);
        added
    }

    /// How many values there are.
    pub(crate) const fn rows(&self) -> usize {
        self.rows
    }

    /// The number of values of each column, and the times of the first and the last one.
    pub(crate) fn by_column(&self) -> impl Iterator<Item = (u64, Option<(i64, i64)>)> {
        self.columns.iter().map(|column| (column.rows() as u64, column.times()))
    }

    /// Sorts the values of each column by time.
    pub(crate) fn put_in_order(&mut self) {
        self.columns.iter_mut().for_each(ColumnBuffer::put_in_order);
    }

    /// Removes all values. Memory is used again, but that of columns without values is freed: each instance
    /// would keep what it needed in its busiest group.
    pub(crate) fn clear(&mut self) {
        for column in &mut self.columns {
            if column.rows() == 0 {
                *column = ColumnBuffer::default();
            } else {
                column.clear();
            }
        }
        self.rows = 0;
    }

    /// For how many values there is memory.
    pub(crate) fn capacity(&self) -> usize {
        self.columns.iter().fold(0, |sum, column| sum.saturating_add(column.microseconds.capacity()))
    }

    /// One kind of numbers of all columns, behind each other.
    pub(super) fn together(&self, of: impl Fn(&ColumnBuffer) -> &Vec<u64>) -> Vec<u64> {
        let mut all = Vec::with_capacity(self.rows);
        self.columns.iter().for_each(|column| all.extend_from_slice(of(column)));
        all
    }

    /// One kind of runs of all columns, behind each other.
    pub(super) fn runs<T: PartialEq + Copy>(&self, of: impl Fn(&ColumnBuffer) -> &RunsOf<T>) -> RunsOf<T> {
        let mut all = Vec::new();
        for column in &self.columns {
            of(column).iter().for_each(|(one, count)| add(&mut all, *one, *count));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use tallymon_core::counter::CounterType;
    use tallymon_core::time::{FileTime, Frequency};

    use super::*;

    #[test]
    fn values_of_a_clock_that_was_set_back_are_sorted() {
        let sample = |first: u64| Sample {
            counter_type: CounterType::PERF_COUNTER_RAWCOUNT,
            first,
            second: first * 10,
            frequency: Frequency(1),
            multi_count: u32::try_from(first % 2).unwrap(),
            time: FileTime(0),
        };
        let rows = [
            (5, Some(sample(1)), Ok(1.0)),
            (9, None, Err(NoValue::NotNumeric)),
            (-7, Some(sample(2)), Err(NoValue::FirstSample)),
            (5, Some(sample(3)), Ok(3.0)),
        ];
        let mut group = GroupBuffer::default();
        group.set_columns(2);
        for (microseconds, sample, value) in rows {
            group.push(1, OneValue { microseconds, sample, value });
        }
        group.put_in_order();
        assert_eq!((group.rows(), group.columns[0].rows()), (4, 0));
        let column = &group.columns[1];
        assert_eq!(column.times(), Some((-7, 9)));
        let times: Vec<i64> = column.microseconds.iter().map(|time| time.cast_signed()).collect();
        assert_eq!(times, [-7, 5, 5, 9]);
        assert_eq!((&column.first[..], &column.second[..]), (&[2, 1, 3][..], &[20, 10, 30][..]));
        assert_eq!(column.multi_count, [(Some(0), 1), (Some(1), 2), (None, 1)]);
        assert_eq!(column.values, [1f64.to_bits(), 3f64.to_bits()]);
        let missing = [(Some(NoValue::FirstSample), 1), (None, 2), (Some(NoValue::NotNumeric), 1)];
        assert_eq!(column.missing, missing);
    }

    #[test]
    fn columns_without_values_in_a_group_keep_no_memory() {
        let mut group = GroupBuffer::default();
        group.set_columns(100);
        for column in 0..100 {
            for microseconds in 0..1000 {
                group.push(column, OneValue { microseconds, sample: None, value: Ok(1.0) });
            }
            assert!(group.capacity() < 3000, "{column}: {}", group.capacity());
            group.clear();
        }
        assert!(group.capacity() > 0);
        group.clear();
        assert_eq!((group.capacity(), group.rows()), (0, 0));
    }
}
