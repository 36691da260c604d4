//! Little-endian numbers out of bytes, each access checked; everything about BLG is built from these.

use tallymon_core::error::{Error, ErrorKind};

/// The `length` bytes at `at`.
pub(crate) fn slice<'a>(
    data: &'a [u8],
    at: usize,
    length: usize,
    what: &'static str,
) -> Result<&'a [u8], Error> {
    at.checked_add(length).and_then(|end| data.get(at..end)).ok_or_else(|| truncated(data, at, length, what))
}

/// Everything from `at` on.
pub(crate) fn rest<'a>(data: &'a [u8], at: usize, what: &'static str) -> Result<&'a [u8], Error> {
    data.get(at..).ok_or_else(|| truncated(data, at, 0, what))
}

#[cold]
fn truncated(data: &[u8], at: usize, length: usize, what: &'static str) -> Error {
    let found = data.len().saturating_sub(at) as u64;
    Error { what, at, kind: ErrorKind::Truncated { needed: length as u64, found } }
}

fn array<const N: usize>(data: &[u8], at: usize, what: &'static str) -> Result<[u8; N], Error> {
    let chunk = data.get(at..).and_then(|rest| rest.first_chunk::<N>());
    chunk.copied().ok_or_else(|| truncated(data, at, N, what))
}

pub(crate) fn u16(data: &[u8], at: usize, what: &'static str) -> Result<u16, Error> {
    array(data, at, what).map(u16::from_le_bytes)
}

pub(crate) fn u32(data: &[u8], at: usize, what: &'static str) -> Result<u32, Error> {
    array(data, at, what).map(u32::from_le_bytes)
}

pub(crate) fn i32(data: &[u8], at: usize, what: &'static str) -> Result<i32, Error> {
    array(data, at, what).map(i32::from_le_bytes)
}

pub(crate) fn u64(data: &[u8], at: usize, what: &'static str) -> Result<u64, Error> {
    array(data, at, what).map(u64::from_le_bytes)
}

/// A 32-bit length or offset. Where it does not fit a `usize` nothing is that long, so that what follows fails.
pub(crate) fn length(data: &[u8], at: usize, what: &'static str) -> Result<usize, Error> {
    Ok(usize::try_from(u32(data, at, what)?).unwrap_or(usize::MAX))
}

/// An error about a number that the format does not allow.
pub(crate) const fn value(what: &'static str, at: usize, needed: &'static str, found: u64) -> Error {
    Error { what, at, kind: ErrorKind::Value { needed, found } }
}

/// An error about a length or offset that leads outside.
pub(crate) const fn outside(what: &'static str, at: usize, found: u64, least: u64, most: u64) -> Error {
    Error { what, at, kind: ErrorKind::Outside { found, least, most } }
}

/// `length` rounded up to a multiple of 8.
pub(crate) const fn align8(length: usize) -> usize {
    length.saturating_add(7) & !7
}
