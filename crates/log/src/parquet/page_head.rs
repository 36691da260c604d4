//! The head of a page, in Thrift's compact form, with the checksum that the crate `parquet` leaves out.

use parquet::basic::Encoding;
use parquet::errors::ParquetError;

use super::bytes::STRUCT;
use super::chunk::varint;
use super::numbers::zigzag;

/// What a page holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum PageKind {
    /// The values of so many rows, with levels in RLE.
    Data(u64),
    /// So many different values.
    Dictionary(usize),
}

/// The kind of a field with a number of 32 bits.
const I32: u8 = 5;

/// Writes a head. `plain` is how long the page is before it is compressed.
///
/// # Errors
///
/// The page is too long, or its encoding is none that is written here.
pub(super) fn write(
    out: &mut Vec<u8>,
    kind: PageKind,
    encoding: Encoding,
    (stored, plain): (&[u8], usize),
) -> Result<(), ParquetError> {
    let long = || ParquetError::General(format!("a page of {plain} bytes is too long"));
    let number = |number: usize| i32::try_from(number).map_err(|_| long());
    let (page, field, values) = match kind {
        PageKind::Data(rows) => (0, 5, usize::try_from(rows).map_err(|_| long())?),
        PageKind::Dictionary(values) => (2, 7, values),
    };
    let mut before = 0;
    push(out, &mut before, (1, I32));
    put(out, page);
    push(out, &mut before, (2, I32));
    put(out, number(plain)?);
    push(out, &mut before, (3, I32));
    put(out, number(stored.len())?);
    push(out, &mut before, (4, I32));
    put(out, crc32fast::hash(stored).cast_signed());
    push(out, &mut before, (field, STRUCT));
    let mut inner = 0;
    push(out, &mut inner, (1, I32));
    put(out, number(values)?);
    push(out, &mut inner, (2, I32));
    put(out, code(encoding)?);
    if let PageKind::Data(_) = kind {
        // Definition and repetition levels.
        for field in [3, 4] {
            push(out, &mut inner, (field, I32));
            put(out, code(Encoding::RLE)?);
        }
    }
    out.extend([0, 0]);
    Ok(())
}

/// The number of an encoding.
fn code(encoding: Encoding) -> Result<i32, ParquetError> {
    match encoding {
        Encoding::PLAIN => Ok(0),
        Encoding::RLE => Ok(3),
        Encoding::DELTA_BINARY_PACKED => Ok(5),
        Encoding::RLE_DICTIONARY => Ok(8),
        other => Err(ParquetError::General(format!("the encoding {other} is not written here"))),
    }
}

/// Begins a field; its number is the difference from the one before.
fn push(out: &mut Vec<u8>, before: &mut u8, (field, kind): (u8, u8)) {
    out.push(field.saturating_sub(*before) << 4 | kind);
    *before = field;
}

/// Writes a number; those near 0 are short.
fn put(out: &mut Vec<u8>, number: i32) {
    varint(out, zigzag(i64::from(number).cast_unsigned()));
}
