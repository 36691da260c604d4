//! The raw samples of a series, in a few bytes each.
//!
//! Most of a sample repeats: type and frequency do not change, clocks run evenly, and many counts stay the
//! same. A cell is one byte of flags for what changed, then the differences as numbers of variable length.
//! Each chunk of cells is decoded without the chunks before it, so that old chunks can be dropped.

use std::collections::VecDeque;

use tallymon::core::counter::CounterType;
use tallymon::core::flow::Sample;
use tallymon::core::time::{FileTime, Frequency};

use crate::model::packed::{Packed, PutPacked, folded};

/// Cells of a chunk, not counting runs of cells without a sample.
const CHUNK: usize = 128;

/// Bits of the first byte of a cell. A run of cells without a sample is a 0 and its length.
mod bits {
    pub(super) const SAMPLE: u8 = 1;
    /// Type, frequency and multi-count follow.
    pub(super) const NEW_FORM: u8 = 1 << 1;
    /// The second number is 0, the time of the sample, that of the previous sample, or a difference that
    /// follows.
    pub(super) const SECOND: u8 = 3 << 2;
    pub(super) const SECOND_TIME: u8 = 1 << 2;
    pub(super) const SECOND_SAME: u8 = 2 << 2;
    pub(super) const SECOND_STEP: u8 = 3 << 2;
    pub(super) const FIRST_SAME: u8 = 1 << 4;
    pub(super) const STALE: u8 = 1 << 5;
    /// The first number is stored as the change of its difference, not as the difference.
    pub(super) const FIRST_STEP: u8 = 1 << 6;
    /// The sample was not taken at the time of its row: the difference follows.
    pub(super) const OTHER_TIME: u8 = 1 << 7;
}

/// The raw samples of a series, oldest first; rows without one have their place too.
#[derive(Debug, Clone, Default)]
pub(super) struct RawSamples {
    chunks: VecDeque<Chunk>,
    /// The newest rows, which have no sample and are in no chunk yet.
    missing: usize,
    /// The newest sample, in its chunk.
    state: State,
    length: usize,
    bytes: usize,
}

#[derive(Debug, Clone, Default)]
struct Chunk {
    bytes: Vec<u8>,
    cells: usize,
    /// Its oldest cells that are forgotten.
    forgotten: usize,
}

/// The previous sample, from which a cell stores the differences.
#[derive(Debug, Clone, Default)]
struct State {
    form: Option<Form>,
    first: Run,
    second: Run,
}

/// What samples of a series share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Form {
    counter_type: CounterType,
    frequency: Frequency,
    multi_count: u32,
}

/// A number, and its difference to the one before.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    last: u64,
    step: u64,
}

impl Run {
    fn go_to(&mut self, number: u64) {
        *self = Run { last: number, step: number.wrapping_sub(self.last) };
    }
}

impl RawSamples {
    /// Rows that are remembered.
    #[cfg(test)]
    pub(super) const fn len(&self) -> usize {
        self.length
    }

    /// Bytes that all of them take.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.capacity().saturating_mul(size_of::<Chunk>()).saturating_add(self.bytes)
    }

    /// Adds rows without a sample.
    pub(super) const fn pad(&mut self, rows: usize) {
        self.missing = self.missing.saturating_add(rows);
        self.length = self.length.saturating_add(rows);
    }

    /// Adds a row of a time, and its sample if it has one.
    pub(super) fn push(&mut self, sample: Option<&Sample>, stale: bool, time: FileTime) {
        let Some(sample) = sample else { return self.pad(1) };
        if self.chunks.back().is_none_or(|chunk| chunk.cells >= CHUNK) {
            self.seal();
            self.chunks.push_back(Chunk::default());
            self.state = State::default();
        }
        let Some(chunk) = self.chunks.back_mut() else { return };
        let before = chunk.bytes.capacity();
        chunk.gap(std::mem::take(&mut self.missing));
        self.state.write(sample, stale, time, &mut chunk.bytes);
        chunk.cells = chunk.cells.saturating_add(1);
        self.bytes = self.bytes.saturating_add(chunk.bytes.capacity().saturating_sub(before));
        self.length = self.length.saturating_add(1);
    }

    /// Gives back what the newest chunk does not need.
    fn seal(&mut self) {
        if let Some(chunk) = self.chunks.back_mut() {
            let before = chunk.bytes.capacity();
            chunk.bytes.shrink_to_fit();
            self.bytes = self.bytes.saturating_sub(before.saturating_sub(chunk.bytes.capacity()));
        }
    }

    /// Keeps the newest `rows` rows.
    pub(super) fn keep(&mut self, rows: usize) {
        let mut surplus = self.length.saturating_sub(rows);
        self.length = self.length.saturating_sub(surplus);
        while let Some(chunk) = self.chunks.front_mut().filter(|_| surplus > 0) {
            let left = chunk.cells.saturating_sub(chunk.forgotten);
            if surplus < left {
                chunk.forgotten = chunk.forgotten.saturating_add(surplus);
                return;
            }
            surplus = surplus.saturating_sub(left);
            self.bytes = self.bytes.saturating_sub(chunk.bytes.capacity());
            self.chunks.pop_front();
        }
        self.missing = self.missing.saturating_sub(surplus);
        if self.chunks.capacity() > self.chunks.len().saturating_mul(4).max(8) {
            self.chunks.shrink_to(self.chunks.len());
        }
    }

    /// Adds the rows of the same series that came later.
    pub(super) fn append(&mut self, mut later: RawSamples) {
        if later.chunks.is_empty() {
            return self.pad(later.length);
        }
        self.seal();
        if self.missing > 0 {
            let mut chunk = Chunk::default();
            chunk.gap(std::mem::take(&mut self.missing));
            self.bytes = self.bytes.saturating_add(chunk.bytes.capacity());
            self.chunks.push_back(chunk);
        }
        self.chunks.append(&mut later.chunks);
        (self.missing, self.state) = (later.missing, later.state);
        self.length = self.length.saturating_add(later.length);
        self.bytes = self.bytes.saturating_add(later.bytes);
    }

    /// The sample of the row that has so many rows behind it. Its time and a second number that is its time are
    /// not known here.
    pub(super) fn before_newest(&self, newer: usize) -> Option<Sample> {
        let mut newer = newer.checked_sub(self.missing)?;
        for chunk in self.chunks.iter().rev() {
            let left = chunk.cells.saturating_sub(chunk.forgotten);
            if newer < left {
                let nth = chunk.cells.checked_sub(newer)?.checked_sub(1)?;
                return Cells::of(chunk).nth(nth)?.map(|cell| cell.sample(FileTime(0)));
            }
            newer = newer.checked_sub(left)?;
        }
        None
    }

    /// The samples of the newest rows, which have these times, oldest first; each with whether it is stale.
    pub(super) fn samples(
        &self,
        times: impl ExactSizeIterator<Item = FileTime>,
    ) -> impl Iterator<Item = Option<(Sample, bool)>> {
        let surplus = self.length.saturating_sub(times.len());
        let early = times.len().saturating_sub(self.length);
        let cells = self.chunks.iter().flat_map(|chunk| Cells::of(chunk).skip(chunk.forgotten));
        let cells = std::iter::repeat_n(None, early)
            .chain(cells)
            .chain(std::iter::repeat_n(None, self.missing))
            .skip(surplus);
        times.zip(cells).map(|(time, cell)| cell.map(|cell: Stored| (cell.sample(time), cell.stale)))
    }
}

impl Chunk {
    /// Writes a run of cells without a sample.
    fn gap(&mut self, cells: usize) {
        if cells > 0 {
            self.bytes.push(0);
            self.bytes.put(cells as u64);
            self.cells = self.cells.saturating_add(cells);
        }
    }
}

impl State {
    fn write(&mut self, sample: &Sample, stale: bool, time: FileTime, out: &mut Vec<u8>) {
        let Sample { counter_type, frequency, multi_count, .. } = *sample;
        let form = Form { counter_type, frequency, multi_count };
        let is_new = self.form.replace(form) != Some(form);
        let first = sample.first.wrapping_sub(self.first.last);
        let change = first.wrapping_sub(self.first.step);
        let is_step = size(change) < size(first);
        let second = match sample.second {
            0 => 0,
            second if second == sample.time.0 => bits::SECOND_TIME,
            second if second == self.second.last => bits::SECOND_SAME,
            _ => bits::SECOND_STEP,
        };
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        out.push(
            bits::SAMPLE
                | second
                | flag(is_new, bits::NEW_FORM)
                | flag(first == 0, bits::FIRST_SAME)
                | flag(is_step && first != 0, bits::FIRST_STEP)
                | flag(stale, bits::STALE)
                | flag(sample.time != time, bits::OTHER_TIME),
        );
        if is_new {
            out.put(u64::from(counter_type.0));
            out.put_signed(frequency.0.cast_unsigned());
            out.put(u64::from(multi_count));
        }
        if first != 0 {
            out.put_signed(if is_step { change } else { first });
        }
        if second == bits::SECOND_STEP {
            out.put_signed(sample.second.wrapping_sub(self.second.last).wrapping_sub(self.second.step));
            self.second.go_to(sample.second);
        }
        if sample.time != time {
            out.put_signed(sample.time.0.wrapping_sub(time.0));
        }
        self.first.go_to(sample.first);
    }
}

/// A sample as it is stored: its time depends on that of its row.
#[derive(Clone)]
struct Stored {
    form: Form,
    first: u64,
    /// `None` for the time of the sample.
    second: Option<u64>,
    time_after: u64,
    stale: bool,
}

impl Stored {
    fn sample(&self, time: FileTime) -> Sample {
        let time = FileTime(time.0.wrapping_add(self.time_after));
        let Form { counter_type, frequency, multi_count } = self.form;
        let (first, second) = (self.first, self.second.unwrap_or(time.0));
        Sample { counter_type, first, second, frequency, multi_count, time }
    }
}

/// Reads the cells of a chunk.
struct Cells<'c> {
    bytes: Packed<'c>,
    state: State,
    gap: u64,
}

impl<'c> Cells<'c> {
    fn of(chunk: &'c Chunk) -> Cells<'c> {
        Cells { bytes: Packed::new(&chunk.bytes), state: State::default(), gap: 0 }
    }

    fn stored(&mut self, head: u8) -> Option<Stored> {
        if head & bits::NEW_FORM != 0 {
            self.state.form = Some(Form {
                counter_type: CounterType(u32::try_from(self.bytes.number()?).ok()?),
                frequency: Frequency(self.bytes.signed()?.cast_signed()),
                multi_count: u32::try_from(self.bytes.number()?).ok()?,
            });
        }
        let difference = match head {
            head if head & bits::FIRST_SAME != 0 => 0,
            head if head & bits::FIRST_STEP != 0 => self.bytes.signed()?.wrapping_add(self.state.first.step),
            _ => self.bytes.signed()?,
        };
        let first = self.state.first.last.wrapping_add(difference);
        self.state.first.go_to(first);
        let second = match head & bits::SECOND {
            bits::SECOND_TIME => None,
            bits::SECOND_SAME => Some(self.state.second.last),
            bits::SECOND_STEP => {
                let Run { last, step } = self.state.second;
                let second = self.bytes.signed()?.wrapping_add(step).wrapping_add(last);
                self.state.second.go_to(second);
                Some(second)
            }
            _ => Some(0),
        };
        let time_after = if head & bits::OTHER_TIME != 0 { self.bytes.signed()? } else { 0 };
        Some(Stored { form: self.state.form?, first, second, time_after, stale: head & bits::STALE != 0 })
    }
}

impl Iterator for Cells<'_> {
    /// `None` for a row without a sample.
    type Item = Option<Stored>;

    fn next(&mut self) -> Option<Option<Stored>> {
        if let Some(left) = self.gap.checked_sub(1) {
            self.gap = left;
            return Some(None);
        }
        let head = self.bytes.byte()?;
        if head == 0 {
            self.gap = self.bytes.number()?.checked_sub(1)?;
            return Some(None);
        }
        self.stored(head).map(Some)
    }
}

/// How many bytes a difference takes.
const fn size(difference: u64) -> u32 {
    64u32.saturating_sub(folded(difference).leading_zeros()).div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of all kinds: gaps, other types, clocks that jump, numbers at the ends of their range.
    fn rows(count: u64) -> Vec<(FileTime, Option<(Sample, bool)>)> {
        let row = |row: u64| {
            let time = FileTime(134_168_316_000_000_000 + row * 10_000_000 + row % 7 * 1_234);
            let first = match row % 11 {
                0 => u64::MAX,
                1 => 0,
                _ => row * 1_000 + row * row % 97,
            };
            let second = match row % 5 {
                0 => 0,
                1 => time.0,
                2 => 42,
                _ => row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (row % 50),
            };
            let sample = Sample {
                counter_type: if row % 40 < 20 {
                    CounterType::PERF_COUNTER_BULK_COUNT
                } else {
                    CounterType::PERF_RAW_FRACTION
                },
                first,
                second,
                frequency: Frequency(if row % 30 < 15 { 10_000_000 } else { -1 }),
                multi_count: u32::from(row % 60 < 30),
                time: FileTime(time.0 - u64::from(row.is_multiple_of(13))),
            };
            (time, (row % 9 != 4 && row % 100 < 80).then_some((sample, row.is_multiple_of(17))))
        };
        (0..count).map(row).collect()
    }

    fn read(raw: &RawSamples, rows: &[(FileTime, Option<(Sample, bool)>)]) -> Vec<Option<(Sample, bool)>> {
        raw.samples(rows.iter().map(|(time, _)| *time)).collect()
    }

    #[test]
    fn samples_come_back_as_they_went_in() {
        let rows = rows(1_000);
        let mut raw = RawSamples::default();
        for (time, cell) in &rows {
            raw.push(cell.as_ref().map(|(sample, _)| sample), cell.is_some_and(|(_, stale)| stale), *time);
        }
        let expected = |rows: &[(FileTime, Option<(Sample, bool)>)]| -> Vec<Option<(Sample, bool)>> {
            rows.iter().map(|(_, cell)| *cell).collect()
        };
        assert_eq!(read(&raw, &rows), expected(&rows));
        assert_eq!(read(&raw, &rows[990..]), expected(&rows[990..]), "the newest rows only");
        for left in [999, 700, 512, 128, 19, 1, 0] {
            raw.keep(left);
            assert_eq!(raw.len(), left);
            let newest = &rows[1_000 - left..];
            assert_eq!(read(&raw, newest), expected(newest));
            for newer in 0..=left {
                let wanted = newest.len().checked_sub(newer + 1).and_then(|at| newest[at].1);
                let found = raw.before_newest(newer).map(|sample| sample.first);
                assert_eq!(found, wanted.map(|(sample, _)| sample.first), "{left} {newer}");
            }
        }
        assert_eq!(raw.bytes(), raw.chunks.capacity() * size_of::<Chunk>());
    }

    #[test]
    fn later_rows_follow_those_that_are_put_back() {
        let rows = rows(600);
        for cut in [0, 1, 130, 285, 400] {
            let mut parts = [RawSamples::default(), RawSamples::default()];
            for (at, (time, cell)) in rows.iter().enumerate() {
                let sample = cell.as_ref().map(|(sample, _)| sample);
                parts[usize::from(at >= cut)].push(sample, cell.is_some_and(|(_, stale)| stale), *time);
            }
            let [mut whole, mut later] = parts;
            later.keep(200);
            whole.append(later);
            let expected: Vec<_> =
                rows[..cut].iter().chain(&rows[rows.len() - 200..]).map(|(_, cell)| *cell).collect();
            let times: Vec<FileTime> =
                rows[..cut].iter().chain(&rows[rows.len() - 200..]).map(|(time, _)| *time).collect();
            assert_eq!(whole.samples(times.into_iter()).collect::<Vec<_>>(), expected, "{cut}");
            let real: usize = whole.chunks.iter().map(|chunk| chunk.bytes.capacity()).sum();
            assert_eq!(whole.bytes, real);
        }
    }

    #[test]
    fn a_steady_counter_takes_a_few_bytes_a_row() {
        let mut raw = RawSamples::default();
        for row in 0..12_800u64 {
            let time = FileTime(134_168_316_000_000_000 + row * 10_000_000 + row * 7_919 % 10_000);
            let sample = Sample {
                counter_type: CounterType::PERF_100NSEC_TIMER_INV,
                first: row * 9_900_000 + row * 104_729 % 100_000,
                second: time.0,
                frequency: Frequency(10_000_000),
                multi_count: 1,
                time,
            };
            raw.push(Some(&sample), false, time);
        }
        let each = raw.bytes() as f64 / 12_800.0;
        assert!(each < 5.0, "{each} bytes a row");
    }
}
