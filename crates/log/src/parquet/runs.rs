//! Columns whose values belong to counters: names, types, frequencies. Rows are sorted by counter, so such a
//! column is a few long runs. The crate `parquet` looks each row up in its dictionary; here each run is
//! looked up, and its encoding is the one that such a column has anyway: a dictionary, and runs of positions
//! in it.

use std::collections::HashMap;

use parquet::basic::Encoding;
use parquet::bloom_filter::Sbbf;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::statistics::Statistics;

use super::buffer::{RunsOf, add};
use super::chunk::{ColumnData, levels, positions_width, run};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Int32,
    Int64,
}

/// A column, as runs.
pub(super) struct Runs {
    kind: Kind,
    /// The different values, and where each is in the dictionary.
    positions: HashMap<Vec<u8>, u32>,
    values: Vec<Vec<u8>>,
    /// Positions, `None` for NULL, and how often each follows itself.
    runs: RunsOf<Option<u32>>,
}

impl Runs {
    pub(super) fn new(kind: Kind) -> Runs {
        Runs { kind, positions: HashMap::new(), values: Vec::new(), runs: Vec::new() }
    }

    /// Adds a value, in the bytes of its type, `count` times.
    pub(super) fn add(&mut self, value: Option<&[u8]>, count: u64) {
        let position = value.map(|value| match self.positions.get(value) {
            Some(position) => *position,
            None => {
                let position = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
                self.values.push(value.to_vec());
                self.positions.insert(value.to_vec(), position);
                position
            }
        });
        add(&mut self.runs, position, count);
    }

    /// The column, to be compressed. `is_optional` says whether it may have NULLs.
    pub(super) fn data(&self, is_optional: bool) -> ColumnData {
        let has_dictionary = !self.values.is_empty();
        ColumnData {
            rows: self.runs.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count)),
            dictionary: has_dictionary.then(|| (self.dictionary(), self.values.len())),
            data: self.page(is_optional),
            encoding: if has_dictionary { Encoding::RLE_DICTIONARY } else { Encoding::PLAIN },
            statistics: self.statistics(),
        }
    }

    /// The different values behind each other.
    fn dictionary(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for value in &self.values {
            if self.kind == Kind::Text {
                bytes.extend_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_le_bytes());
            }
            bytes.extend_from_slice(value);
        }
        bytes
    }

    /// Which rows have a value, and where it is in the dictionary.
    fn page(&self, is_optional: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        if is_optional {
            levels(&mut bytes, self.runs.iter().map(|(position, count)| (position.is_some(), *count)));
        }
        if !self.values.is_empty() {
            let width = positions_width(&mut bytes, self.values.len());
            let present = self.runs.iter().filter_map(|(position, count)| Some(((*position)?, *count)));
            present.for_each(|(position, count)| run(&mut bytes, count, position, width));
        }
        bytes
    }

    fn statistics(&self) -> Statistics {
        let nulls = self.runs.iter().filter(|(position, _)| position.is_none());
        let nulls = Some(nulls.fold(0u64, |sum, (_, count)| sum.saturating_add(*count)));
        match self.kind {
            Kind::Text => {
                let text = |value: Option<&Vec<u8>>| value.map(|value| ByteArray::from(value.clone()));
                let (least, largest) = (self.values.iter().min(), self.values.iter().max());
                Statistics::byte_array(text(least), text(largest), None, nulls, false)
            }
            Kind::Int32 => {
                let (least, largest) = self.bounds();
                let short = |value: Option<i64>| value.and_then(|value| i32::try_from(value).ok());
                Statistics::int32(short(least), short(largest), None, nulls, false)
            }
            Kind::Int64 => {
                let (least, largest) = self.bounds();
                Statistics::int64(least, largest, None, nulls, false)
            }
        }
    }

    /// The least and the largest number.
    fn bounds(&self) -> (Option<i64>, Option<i64>) {
        let number =
            |value: &Vec<u8>| match (<[u8; 4]>::try_from(value.as_slice()), value.as_slice().try_into()) {
                (Ok(short), _) => i64::from(i32::from_le_bytes(short)),
                (_, Ok(long)) => i64::from_le_bytes(long),
                _ => 0,
            };
        (self.values.iter().map(number).min(), self.values.iter().map(number).max())
    }

    /// A Bloom filter of the values.
    ///
    /// # Errors
    ///
    /// Those of the crate.
    pub(super) fn filter(&self, most: u64) -> Result<Sbbf, ParquetError> {
        let mut filter = Sbbf::new_with_ndv_fpp(most, 0.01)?;
        self.values.iter().for_each(|value| filter.insert(value.as_slice()));
        Ok(filter)
    }
}
