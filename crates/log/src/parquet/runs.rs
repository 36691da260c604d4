//! Columns whose values belong to counters: names, types, frequencies. Rows are sorted by counter, so such a
//! column is a few long runs. The crate `parquet` looks each row up in its dictionary; here each run is looked
//! up, and its encoding is the one that such a column has anyway: a dictionary, and runs of positions in it.

use std::collections::HashMap;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

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
    runs: Vec<(Option<u32>, u64)>,
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
        match self.runs.last_mut() {
            Some((last, times)) if *last == position => *times = times.saturating_add(count),
            _ => self.runs.push((position, count)),
        }
    }

    /// The pages of the column, and what the footer has about them.
    ///
    /// # Errors
    ///
    /// Those of the crate.
    pub(super) fn close(
        self,
        column: ColumnDescPtr,
        compression: Compression,
        filter: Option<u64>,
    ) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let rows = self.runs.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        let mut out = TrackedWrite::new(Vec::new());
        let (mut data_offset, mut stored, mut plain) = (0u64, 0u64, 0u64);
        let mut pages = SerializedPageWriter::new(&mut out);
        let mut write = |page: Page, length: usize| -> Result<u64, ParquetError> {
            let spec = pages.write_page(CompressedPage::new(page, length))?;
            stored = stored.saturating_add(spec.compressed_size as u64);
            plain = plain.saturating_add(spec.uncompressed_size as u64);
            Ok(spec.compressed_size as u64)
        };
        let has_dictionary = !self.values.is_empty();
        if has_dictionary {
            let dictionary = self.dictionary();
            let page = Page::DictionaryPage {
                buf: compressed(&dictionary, compression)?,
                num_values: u32::try_from(self.values.len()).unwrap_or(u32::MAX),
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            data_offset = write(page, dictionary.len())?;
        }
        let data = self.data(column.max_def_level() > 0);
        let page = Page::DataPage {
            buf: compressed(&data, compression)?,
            num_values: u32::try_from(rows).unwrap_or(u32::MAX),
            encoding: if has_dictionary { Encoding::RLE_DICTIONARY } else { Encoding::PLAIN },
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        write(page, data.len())?;
        let bytes = Bytes::from(out.into_inner()?);
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let metadata = ColumnChunkMetaData::builder(column)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_compression(compression)
            .set_total_compressed_size(number(stored))
            .set_total_uncompressed_size(number(plain))
            .set_num_values(number(rows))
            .set_data_page_offset(number(data_offset))
            .set_dictionary_page_offset(has_dictionary.then_some(0))
            .set_statistics(self.statistics())
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: stored,
            rows_written: rows,
            metadata,
            bloom_filter: filter.map(|most| self.filter(most)).transpose()?,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes, close))
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
    fn data(&self, is_optional: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        if is_optional {
            let mut levels = Vec::new();
            for (position, count) in &self.runs {
                run(&mut levels, *count, u32::from(position.is_some()), 1);
            }
            bytes.extend_from_slice(&u32::try_from(levels.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.append(&mut levels);
        }
        let last = self.values.len().saturating_sub(1);
        let width = usize::BITS.saturating_sub(last.leading_zeros()).max(1);
        if !self.values.is_empty() {
            bytes.push(u8::try_from(width).unwrap_or(32));
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

    fn filter(&self, most: u64) -> Result<Sbbf, ParquetError> {
        let mut filter = Sbbf::new_with_ndv_fpp(most, 0.01)?;
        self.values.iter().for_each(|value| filter.insert(value.as_slice()));
        Ok(filter)
    }
}

/// A run of a number of `width` bits.
fn run(bytes: &mut Vec<u8>, count: u64, value: u32, width: u32) {
    let mut head = count << 1;
    while head >= 0x80 {
        bytes.push(u8::try_from(head & 0x7f).unwrap_or_default() | 0x80);
        head >>= 7;
    }
    bytes.push(u8::try_from(head).unwrap_or_default());
    bytes.extend(value.to_le_bytes().iter().take(width.div_ceil(8) as usize));
}

fn compressed(bytes: &[u8], compression: Compression) -> Result<Bytes, ParquetError> {
    let failed =
        |error: &dyn std::fmt::Display| ParquetError::General(format!("compressing a page: {error}"));
    let stored = match compression {
        Compression::UNCOMPRESSED => Ok(bytes.to_vec()),
        Compression::SNAPPY => snap::raw::Encoder::new().compress_vec(bytes).map_err(|error| failed(&error)),
        Compression::ZSTD(level) => {
            zstd::bulk::compress(bytes, ZstdLevel::compression_level(&level)).map_err(|error| failed(&error))
        }
        other => Err(failed(&format_args!("{other} is not written here"))),
    };
    stored.map(Bytes::from)
}
