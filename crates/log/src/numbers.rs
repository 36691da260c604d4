//! Computes the values of records as numbers, for callers that need numbers only.

use tallymon_core::flow::{NoValue, Sample};

use crate::reader::{Record, number_of};

/// Computes the values of records from consecutive samples, as [`Cooker`](crate::Cooker) does, but as numbers
/// only: a text is [`NoValue::NotNumeric`]. It keeps the samples of the last record instead of copies of
/// them.
#[derive(Debug, Clone, Default)]
pub struct NumberCooker {
    older: Vec<Result<Sample, NoValue>>,
}

impl NumberCooker {
    /// The numbers of one record, one for each of its cells. Afterwards the record has the cells of the one
    /// before it.
    pub fn take(&mut self, record: &mut Record, numbers: &mut Vec<Result<f64, NoValue>>) {
        numbers.clear();
        let (known, new) = record.cells.split_at(self.older.len().min(record.cells.len()));
        numbers.extend(known.iter().zip(&self.older).map(|(cell, older)| number(older.as_ref().ok(), cell)));
        numbers.extend(new.iter().map(|cell| number(None, cell)));
        std::mem::swap(&mut self.older, &mut record.cells);
    }
}

/// As [`Cooker`](crate::Cooker) computes it, without a scale and a cap.
#[inline]
fn number(older: Option<&Sample>, cell: &Result<Sample, NoValue>) -> Result<f64, NoValue> {
    number_of(older, cell.as_ref().map_err(|reason| *reason)?, false)
}

#[cfg(test)]
mod tests {
    use tallymon_core::counter::CounterType;
    use tallymon_core::flow::Absence;
    use tallymon_core::time::{FileTime, Frequency};

    use super::*;
    use crate::reader::Cooker;

    /// Numbers that look like chance.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    #[test]
    fn numbers_are_those_of_the_cooker() {
        let types = [
            CounterType::PERF_COUNTER_COUNTER,
            CounterType::PERF_COUNTER_BULK_COUNT,
            CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
            CounterType::PERF_100NSEC_TIMER,
            CounterType::PERF_100NSEC_TIMER_INV,
            CounterType::PERF_DOUBLE_RAW,
            CounterType::PERF_RAW_FRACTION,
            CounterType::PERF_AVERAGE_TIMER,
            CounterType::PERF_ELAPSED_TIME,
            CounterType::PERF_COUNTER_LARGE_DELTA,
            CounterType(0x0000_0b00),
        ];
        let (mut state, mut cooker, mut numbers) = (7, Cooker::default(), NumberCooker::default());
        let (mut made, mut missing) = (0, 0);
        for row in 0..400_u64 {
            // Columns come and go, cells are missing, and counts go back now and then.
            let columns = types.len() + usize::try_from(next(&mut state) % 9).unwrap();
            let cells = (0..columns).map(|at| {
                if next(&mut state).is_multiple_of(7) {
                    return Err(NoValue::NoData(Absence::Other));
                }
                Ok(Sample {
                    counter_type: types[at % types.len()],
                    first: row * 1000 + next(&mut state) % 3000,
                    second: row * 10_000_000 + next(&mut state) % 20_000_000,
                    frequency: Frequency(10_000_000),
                    multi_count: 1,
                    time: FileTime(row * 10_000_000),
                })
            });
            let mut record = Record { cells: cells.collect(), ..Record::default() };
            let expected = cooker.cook(&record);
            let mut found = Vec::new();
            numbers.take(&mut record, &mut found);
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                let expected = expected.as_ref().map_err(|reason| *reason);
                let expected = expected.and_then(|value| value.as_f64().ok_or(NoValue::NotNumeric));
                assert_eq!(*found, expected);
                if found.is_ok() { made += 1 } else { missing += 1 }
            }
        }
        assert!(made > 2000 && missing > 1000, "{made} and {missing}");
    }
}
