//! Writing texts and lists of texts for a program, or the size that they need.

use crate::memory::{Buf, Letter, Out};
use crate::status::{self, Done, Status};

/// Writes a text with its zero. The size counts units, before and after.
///
/// # Errors
///
/// `PDH_INVALID_ARGUMENT` without a size, or with a size but no buffer; `PDH_MORE_DATA` when the buffer is
/// too small: then only the needed size is written.
pub(crate) fn put<L: Letter>(text: &str, buffer: Buf<L>, size: Out<u32>) -> Done {
    let mut units = L::encode(text);
    units.push(L::ZERO);
    put_units(&units, buffer, size)
}

/// Writes as much of a text as has room, with its zero.
///
/// # Errors
///
/// As [`put`], and `PDH_MORE_DATA` only when there is no room for the zero.
pub(crate) fn put_start<L: Letter>(text: &str, buffer: Buf<L>, size: Out<u32>) -> Done {
    let room = usize::try_from(room(buffer, size)?).unwrap_or(usize::MAX);
    let mut units = Vec::new();
    for letter in text.chars() {
        let next = L::encode(letter.encode_utf8(&mut [0; 4]));
        if units.len().saturating_add(next.len()) >= room {
            break;
        }
        units.extend(next);
    }
    units.push(L::ZERO);
    put_units(&units, buffer, size)
}

/// Writes a list of texts, each with its zero, and one more zero at the end.
pub(crate) fn put_list<L: Letter>(texts: &[String], buffer: Buf<L>, size: Out<u32>) -> Done {
    put_units(&list(texts), buffer, size)
}

/// A list of texts as `MULTI_SZ`. An empty one has two zeros too, because programs look for them.
pub(crate) fn list<L: Letter>(texts: &[String]) -> Vec<L> {
    let mut units = Vec::new();
    for text in texts {
        units.extend(L::encode(text));
        units.push(L::ZERO);
    }
    if texts.is_empty() {
        units.push(L::ZERO);
    }
    units.push(L::ZERO);
    units
}

/// Writes units if there is room for all.
pub(crate) fn put_units<L: Letter>(units: &[L], buffer: Buf<L>, size: Out<u32>) -> Done {
    let room = room(buffer, size)?;
    let needed = u32::try_from(units.len()).unwrap_or(u32::MAX);
    size.set(needed);
    if room < needed {
        return Err(status::MORE_DATA);
    }
    buffer.write(0, units);
    Ok(())
}

/// The size of the program's buffer, in units.
pub(crate) fn room<L: Letter>(buffer: Buf<L>, size: Out<u32>) -> Result<u32, Status> {
    let room = size.get().ok_or(status::INVALID_ARGUMENT)?;
    if room > 0 && buffer.is_null() { Err(status::INVALID_ARGUMENT) } else { Ok(room) }
}
