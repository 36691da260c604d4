//! Decodes one column of a row group, page by page.

use std::collections::HashMap;
use std::io::Read;

use super::bytes::{Bad, Input, STRUCT, TRUE};
use super::decode::{deltas, hybrid};
use super::footer::Leaf;

/// The largest page that is read, decompressed. Writers make pages of about 1 MB.
const MOST_OF_PAGE: usize = 1 << 26;

/// The largest window of a page in zstd, as a power of two: 8 MB, which its highest level uses.
const LARGEST_WINDOW: u32 = 23;

/// The values of a column.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// The bits of the value of each row; of a text its position in `texts`. `None` is NULL.
    pub(super) bits: Vec<Option<u64>>,
    /// The different texts.
    pub(super) texts: Vec<String>,
}

impl Values {
    pub(super) fn number(&self, row: usize) -> Option<i64> {
        self.bits.get(row).copied().flatten().map(u64::cast_signed)
    }

    pub(super) fn text(&self, row: usize) -> Option<usize> {
        self.bits.get(row).copied().flatten().and_then(|at| usize::try_from(at).ok())
    }
}

/// The physical types.
const INT32: i64 = 1;
const INT64: i64 = 2;
const DOUBLE: i64 = 5;
const BYTE_ARRAY: i64 = 6;

/// The head of a page.
#[derive(Default)]
struct Page {
    kind: i64,
    length: usize,
    stored: usize,
    values: usize,
    encoding: i64,
    definition_encoding: i64,
    /// Bytes of the two kinds of levels in pages of version 2.
    definition: usize,
    repetition: usize,
    is_plain: bool,
    /// The checksum of what is stored, where the writer has one.
    checksum: Option<u32>,
}

impl Page {
    fn read(input: &mut Input<'_>) -> Result<Page, Bad> {
        let mut page = Page { kind: -1, encoding: -1, definition_encoding: 3, ..Page::default() };
        let size = |input: &mut Input<'_>| -> Result<usize, Bad> {
            let number = input.zigzag()?;
            usize::try_from(number).map_err(|_| format!("a length of {number}"))
        };
        input.fields(|input, field, kind| {
            match (field, kind) {
                (1, _) => page.kind = input.zigzag()?,
                (2, _) => page.length = size(input)?,
                (3, _) => page.stored = size(input)?,
                // 32 bits, which some writers give a sign.
                (4, _) => page.checksum = Some(input.zigzag()? as u32),
                (head @ (5 | 7), STRUCT) => input.fields(|input, field, _| {
                    match field {
                        1 => page.values = size(input)?,
                        2 => page.encoding = input.zigzag()?,
                        3 if head == 5 => page.definition_encoding = input.zigzag()?,
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?,
                (8, STRUCT) => input.fields(|input, field, kind| {
                    match field {
                        1 => page.values = size(input)?,
                        4 => page.encoding = input.zigzag()?,
                        5 => page.definition = size(input)?,
                        6 => page.repetition = size(input)?,
                        7 => {
                            page.is_plain = kind != TRUE;
                            return Ok(false);
                        }
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        if page.length > MOST_OF_PAGE {
            return Err(format!("a page of {} bytes; {MOST_OF_PAGE} are the most", page.length));
        }
        Ok(page)
    }
}

/// Decodes a column of `rows` rows.
pub(super) fn column(chunk: &[u8], codec: i64, leaf: Leaf, rows: usize) -> Result<Values, Bad> {
    let mut decoder = Decoder { leaf, values: Values::default(), known: HashMap::new(), dictionary: None };
    let mut input = Input::new(chunk);
    while decoder.values.bits.len() < rows {
        let page = Page::read(&mut input)?;
        let stored = input.take(page.stored)?;
        if page.checksum.is_some_and(|checksum| checksum != crc32fast::hash(stored)) {
            return Err("a page whose checksum is wrong: its bytes were changed".to_owned());
        }
        let left = rows.saturating_sub(decoder.values.bits.len());
        match page.kind {
            0 => {
                let bytes = expand(stored, page.length, codec)?;
                decoder.first_version(&page, &bytes, left)?;
            }
            2 => {
                let bytes = expand(stored, page.length, codec)?;
                decoder.dictionary(&page, &bytes, rows)?;
            }
            3 => {
                let levels = page.definition.saturating_add(page.repetition);
                let (levels, data) =
                    stored.split_at_checked(levels).ok_or("levels are longer than their page")?;
                let codec = if page.is_plain { 0 } else { codec };
                let bytes = expand(data, page.length.saturating_sub(levels.len()), codec)?;
                let levels = levels.get(page.repetition..).unwrap_or_default();
                decoder.data(&page, &mut Input::new(levels), &mut Input::new(&bytes), left)?;
            }
            // Pages of other kinds hold no values.
            _ => {}
        }
    }
    Ok(decoder.values)
}

/// Decompresses a page.
fn expand(stored: &[u8], length: usize, codec: i64) -> Result<Vec<u8>, Bad> {
    match codec {
        0 => Ok(stored.to_vec()),
        1 => {
            let found = snap::raw::decompress_len(stored).map_err(|error| error.to_string())?;
            if found != length {
                return Err(format!("a page of {length} bytes has {found} bytes"));
            }
            snap::raw::Decoder::new().decompress_vec(stored).map_err(|error| error.to_string())
        }
        6 => {
            let mut decoder = zstd::stream::read::Decoder::new(stored).map_err(|error| error.to_string())?;
            decoder.window_log_max(LARGEST_WINDOW).map_err(|error| error.to_string())?;
            // It grows with what is there, not by what the page says.
            let mut bytes = Vec::new();
            let most = (length as u64).saturating_add(1);
            decoder.take(most).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
            if bytes.len() != length {
                return Err(format!("a page of {length} bytes has {} bytes or more", bytes.len()));
            }
            Ok(bytes)
        }
        other => {
            const NAMES: [&str; 8] =
                ["UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"];
            let name = usize::try_from(other).ok().and_then(|at| NAMES.get(at)).unwrap_or(&"unknown");
            Err(format!("the compression {name} is not read here; write the file again with SNAPPY or ZSTD"))
        }
    }
}

struct Decoder {
    leaf: Leaf,
    values: Values,
    /// The positions of texts.
    known: HashMap<String, u64>,
    dictionary: Option<Vec<u64>>,
}

impl Decoder {
    /// A data page of version 1: levels and values are compressed together.
    fn first_version(&mut self, page: &Page, bytes: &[u8], left: usize) -> Result<(), Bad> {
        let mut input = Input::new(bytes);
        let mut levels: &[u8] = &[];
        if self.leaf.optional {
            if page.definition_encoding != 3 {
                return Err(format!("levels in the encoding {}; RLE is read", page.definition_encoding));
            }
            let length = u32::from_le_bytes(input.take(4)?.try_into().unwrap_or_default());
            levels = input.take(length as usize)?;
        }
        self.data(page, &mut Input::new(levels), &mut input, left)
    }

    /// The values of a data page.
    fn data(
        &mut self,
        page: &Page,
        levels: &mut Input<'_>,
        input: &mut Input<'_>,
        left: usize,
    ) -> Result<(), Bad> {
        if page.values > left {
            return Err(format!("a page of {} values, where {left} are left", page.values));
        }
        let mut present = Vec::new();
        if self.leaf.optional {
            present.reserve(page.values);
            hybrid(levels, 1, page.values, |level| {
                present.push(level == 1);
                Ok(())
            })?;
        } else {
            present.resize(page.values, true);
        }
        let count = present.iter().filter(|present| **present).count();
        let found = match page.encoding {
            0 => self.plain(input, count)?,
            2 | 8 => self.by_dictionary(input, count)?,
            5 if matches!(self.leaf.physical, INT32 | INT64) => {
                deltas(input, count)?.into_iter().map(i64::cast_unsigned).collect()
            }
            other => return Err(format!("values in the encoding {other} are not read here")),
        };
        if found.len() != count {
            return Err(format!("{count} values needed, {} found", found.len()));
        }
        let mut found = found.into_iter();
        self.values.bits.extend(present.iter().map(|present| present.then(|| found.next()).flatten()));
        Ok(())
    }

    fn dictionary(&mut self, page: &Page, bytes: &[u8], rows: usize) -> Result<(), Bad> {
        if self.dictionary.is_some() || page.values > rows {
            return Err(format!("a dictionary of {} values for {rows} rows", page.values));
        }
        self.dictionary = Some(self.plain(&mut Input::new(bytes), page.values)?);
        Ok(())
    }

    fn by_dictionary(&self, input: &mut Input<'_>, count: usize) -> Result<Vec<u64>, Bad> {
        let dictionary = self.dictionary.as_ref().ok_or("positions in a dictionary that is missing")?;
        let mut values = Vec::with_capacity(count);
        if count == 0 {
            return Ok(values);
        }
        let width = u32::from(input.byte()?);
        hybrid(input, width, count, |position| {
            let value = usize::try_from(position).ok().and_then(|at| dictionary.get(at));
            let last = dictionary.len();
            values.push(*value.ok_or_else(|| format!("position {position} in a dictionary of {last}"))?);
            Ok(())
        })?;
        Ok(values)
    }

    /// Values behind each other. The caller bounds their number.
    fn plain(&mut self, input: &mut Input<'_>, count: usize) -> Result<Vec<u64>, Bad> {
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(match self.leaf.physical {
                INT32 => {
                    let number = i32::from_le_bytes(input.take(4)?.try_into().unwrap_or_default());
                    i64::from(number).cast_unsigned()
                }
                INT64 | DOUBLE => u64::from_le_bytes(input.take(8)?.try_into().unwrap_or_default()),
                BYTE_ARRAY => {
                    let length = u32::from_le_bytes(input.take(4)?.try_into().unwrap_or_default());
                    let text = String::from_utf8_lossy(input.take(length as usize)?);
                    match self.known.get(text.as_ref()) {
                        Some(at) => *at,
                        None => {
                            let at = self.values.texts.len() as u64;
                            self.values.texts.push(text.to_string());
                            self.known.insert(text.into_owned(), at);
                            at
                        }
                    }
                }
                other => return Err(format!("values of the physical type {other} are not read here")),
            });
        }
        Ok(values)
    }
}
