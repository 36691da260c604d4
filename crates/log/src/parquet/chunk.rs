//! Pages of columns that are encoded here, and what the footer has about them. The crate `parquet` writes
//! what is around them.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;

use super::buffer::add;
use super::page_head::{self, PageKind};

/// Bytes that the heads of both pages have at most.
const HEADS: usize = 128;

/// How many parts of a long page are looked at before it is compressed, and how long they are.
const LOOKED_AT: usize = 4;
const LOOKED_AT_ONCE: usize = 1 << 12;

/// A column of a row group, before it is compressed: one page, and a dictionary.
pub(super) struct ColumnData {
    pub(super) rows: u64,
    /// The different values behind each other, and how many they are.
    pub(super) dictionary: Option<(Vec<u8>, usize)>,
    /// Which rows have a value, as [`levels`] writes it, and the values.
    pub(super) data: Vec<u8>,
    pub(super) encoding: Encoding,
    pub(super) statistics: Statistics,
}

/// Compresses pages. Its memory is used for all of them.
pub(crate) struct Packer {
    compression: Compression,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    snappy: snap::raw::Encoder,
}

impl Packer {
    /// What compresses in one way.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub(super) fn new(compression: Compression) -> Result<Packer, ParquetError> {
        let zstd = match compression {
            Compression::ZSTD(level) => {
                let level = ZstdLevel::compression_level(&level);
                Some(zstd::bulk::Compressor::new(level).map_err(|error| failed(&error))?)
            }
            _ => None,
        };
        Ok(Packer { compression, zstd, snappy: snap::raw::Encoder::new() })
    }

    /// The pages of a column, and what the footer has about them.
    ///
    /// # Errors
    ///
    /// Those of the crates.
    pub(super) fn close(
        &mut self,
        data: ColumnData,
        column: ColumnDescPtr,
        bloom_filter: Option<Sbbf>,
    ) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let ColumnData { rows, dictionary, data, encoding, statistics } = data;
        let dictionary_length = dictionary.as_ref().map_or(0, |(values, _)| values.len());
        let (mut packed_dictionary, mut packed, mut pays) = (None, Vec::new(), false);
        if self.may_pay(&data)? {
            packed_dictionary = dictionary.as_ref().map(|(values, _)| self.compress(values)).transpose()?;
            packed = self.compress(&data)?;
            let after = packed.len().saturating_add(packed_dictionary.as_ref().map_or(0, Vec::len));
            pays = is_less(after, data.len().saturating_add(dictionary_length));
        }
        let compression = if pays { self.compression } else { Compression::UNCOMPRESSED };

        let of_data = if pays { packed.len() } else { data.len() };
        let room = of_data.saturating_add(dictionary_length).saturating_add(HEADS);
        let mut out = Vec::with_capacity(room);
        let mut plain = 0usize;
        let mut write = |kind: PageKind, encoding: Encoding, stored: &[u8], length: usize| {
            let begin = out.len();
            page_head::write(&mut out, kind, encoding, (stored, length))?;
            plain = plain.saturating_add(out.len().saturating_sub(begin)).saturating_add(length);
            out.extend_from_slice(stored);
            Ok::<u64, ParquetError>(out.len() as u64)
        };
        let mut data_offset = 0;
        let has_dictionary = dictionary.is_some();
        if let Some((values, count)) = dictionary {
            let stored = packed_dictionary.filter(|_| pays).unwrap_or(values);
            data_offset = write(PageKind::Dictionary(count), Encoding::PLAIN, &stored, dictionary_length)?;
        }
        let length = data.len();
        let stored = write(PageKind::Data(rows), encoding, if pays { &packed } else { &data }, length)?;
        let bytes = Bytes::from(out);
        let plain = plain as u64;
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
        if !encodings.contains(&encoding) {
            encodings.push(encoding);
        }
        let metadata = ColumnChunkMetaData::builder(column)
            .set_encodings(encodings)
            .set_compression(compression)
            .set_total_compressed_size(number(stored))
            .set_total_uncompressed_size(number(plain))
            .set_num_values(number(rows))
            .set_data_page_offset(number(data_offset))
            .set_dictionary_page_offset(has_dictionary.then_some(0))
            .set_statistics(statistics)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: stored,
            rows_written: rows,
            metadata,
            bloom_filter,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes, close))
    }

    /// Whether a long page can become shorter, as some of it says.
    fn may_pay(&mut self, data: &[u8]) -> Result<bool, ParquetError> {
        let step = data.len().checked_div(LOOKED_AT).unwrap_or(0);
        if step < LOOKED_AT_ONCE.saturating_mul(4) {
            return Ok(true);
        }
        let (mut before, mut after) = (0usize, 0usize);
        for part in data.chunks(step).filter_map(|part| part.get(..LOOKED_AT_ONCE)) {
            before = before.saturating_add(part.len());
            after = after.saturating_add(self.compress(part)?.len());
        }
        Ok(is_less(after, before))
    }

    fn compress(&mut self, bytes: &[u8]) -> Result<Vec<u8>, ParquetError> {
        match (&mut self.zstd, self.compression) {
            (Some(zstd), _) => zstd.compress(bytes).map_err(|error| failed(&error)),
            (None, Compression::SNAPPY) => self.snappy.compress_vec(bytes).map_err(|error| failed(&error)),
            (None, other) => Err(failed(&format_args!("{other} is not written here"))),
        }
    }
}

/// Whether so few bytes instead of others are worth it: numbers that are as long as they have to be gain
/// little, and are read faster as they are.
const fn is_less(after: usize, before: usize) -> bool {
    after < before.saturating_sub(before >> 3)
}

fn failed(error: &dyn std::fmt::Display) -> ParquetError {
    ParquetError::General(format!("compressing a page: {error}"))
}

/// Writes which rows have a value, as runs: their length in bytes, and the runs.
pub(super) fn levels(bytes: &mut Vec<u8>, runs: impl Iterator<Item = (bool, u64)>) {
    let (mut merged, mut found) = (Vec::new(), Vec::new());
    runs.for_each(|(is_there, count)| add(&mut merged, is_there, count));
    merged.iter().for_each(|(is_there, count)| run(&mut found, *count, u32::from(*is_there), 1));
    bytes.extend_from_slice(&u32::try_from(found.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes.append(&mut found);
}

/// Writes how many bits positions among `count` values have, and returns it.
pub(super) fn positions_width(bytes: &mut Vec<u8>, count: usize) -> u32 {
    let width = usize::BITS.saturating_sub(count.saturating_sub(1).leading_zeros()).max(1);
    bytes.push(u8::try_from(width).unwrap_or(32));
    width
}

/// Writes a number of `width` bits that follows itself `count` times.
pub(super) fn run(bytes: &mut Vec<u8>, count: u64, value: u32, width: u32) {
    varint(bytes, count << 1);
    bytes.extend(value.to_le_bytes().iter().take(width.div_ceil(8) as usize));
}

/// Writes a number with seven bits in each byte.
pub(super) fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or_default());
}
