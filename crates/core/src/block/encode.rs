//! Writes numbers and texts into the bytes of a block. What does not fit is left out; the writer counts the
//! length and reports it at the end.

use super::layout::counter_definition;

/// A length as stored in a block. No valid block is longer than 4 GiB; a longer one gets a wrong length,
/// which readers reject.
pub(super) fn length_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[inline]
pub(super) fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(part) = at.checked_add(bytes.len()).and_then(|end| buffer.get_mut(at..end)) {
        part.copy_from_slice(bytes);
    }
}

#[inline]
pub(super) fn put_u32(buffer: &mut [u8], at: usize, value: u32) {
    put(buffer, at, &value.to_le_bytes());
}

#[inline]
pub(super) fn put_u64(buffer: &mut [u8], at: usize, value: u64) {
    put(buffer, at, &value.to_le_bytes());
}

/// Writes a counter definition; `fields` are name, help, scale, detail level, type, size, offset.
pub(super) fn put_definition(buffer: &mut [u8], at: usize, fields: [u32; 7]) {
    use counter_definition as field;
    const PLACES: [usize; 7] = [
        field::NAME_TITLE_INDEX,
        field::HELP_TITLE_INDEX,
        field::DEFAULT_SCALE,
        field::DETAIL_LEVEL,
        field::COUNTER_TYPE,
        field::COUNTER_SIZE,
        field::COUNTER_OFFSET,
    ];
    put_u32(buffer, at.saturating_add(field::BYTE_LENGTH), length_u32(field::SIZE));
    for (place, value) in PLACES.into_iter().zip(fields) {
        put_u32(buffer, at.saturating_add(place), value);
    }
}

/// Writes a text in UTF-16. The terminator is the zeros already in the buffer.
pub(super) fn put_wide(buffer: &mut [u8], at: usize, text: &str) {
    let Some(part) = buffer.get_mut(at..) else { return };
    if text.is_ascii() {
        for (pair, byte) in part.chunks_exact_mut(2).zip(text.bytes()) {
            pair.copy_from_slice(&[byte, 0]);
        }
    } else {
        for (pair, unit) in part.chunks_exact_mut(2).zip(text.encode_utf16()) {
            pair.copy_from_slice(&unit.to_le_bytes());
        }
    }
}
