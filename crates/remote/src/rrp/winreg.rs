//! The calls of the remote registry (MS-RRP) that performance data needs, as NDR.

use super::rpc::{RpcError, u32_at};

/// OpenLocalMachine.
pub const OPEN_LOCAL_MACHINE: u16 = 2;
/// OpenPerformanceData.
pub const OPEN_PERFORMANCE_DATA: u16 = 3;
/// BaseRegCloseKey.
pub const CLOSE_KEY: u16 = 5;
/// BaseRegEnumKey.
pub const ENUM_KEY: u16 = 9;
/// BaseRegOpenKey.
pub const OPEN_KEY: u16 = 15;
/// BaseRegQueryValue.
pub const QUERY_VALUE: u16 = 17;
/// OpenPerformanceText.
pub const OPEN_PERFORMANCE_TEXT: u16 = 32;
/// OpenPerformanceNlsText.
pub const OPEN_PERFORMANCE_NLS_TEXT: u16 = 33;

/// The handle of an open key.
pub type Handle = [u8; 20];

/// Any number but 0 says that a pointer points to what follows.
const POINTER: u32 = 0x0002_0000;

/// The rights that are asked for: as many as there are, and for a key below the machine's to read it.
const MAXIMUM_ALLOWED: u32 = 0x0200_0000;
const READ: u32 = 0x0002_0019;

/// The longest name of a key has so many units.
const MOST_UNITS: u16 = 256;

/// A value of the registry, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The status; 0 is success.
    pub status: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The stub that opens a predefined key.
pub fn open() -> Vec<u8> {
    [0, MAXIMUM_ALLOWED].iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
}

/// The handle in the answer to [`open`], and the status.
///
/// # Errors
///
/// The answer is too short.
pub fn opened(stub: &[u8]) -> Result<(Handle, u32), RpcError> {
    let handle = *stub.first_chunk::<20>().ok_or(RpcError::Short("the handle"))?;
    Ok((handle, u32_at(stub, 20, "the status")?))
}

/// The handle of a key and a text.
fn with_text(handle: &Handle, text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let count = u32::try_from(units.len()).unwrap_or(u32::MAX);
    let bytes = u16::try_from(units.len().saturating_mul(2)).unwrap_or(u16::MAX);
    let mut stub = handle.to_vec();
    for each in [u32::from(bytes) | u32::from(bytes) << 16, POINTER, count, 0, count] {
        stub.extend_from_slice(&each.to_le_bytes());
    }
    stub.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    stub.resize(stub.len().next_multiple_of(4), 0);
    stub
}

fn with_words(mut stub: Vec<u8>, words: &[u32]) -> Vec<u8> {
    stub.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    stub
}

/// The stub that queries a value into `room` bytes. It has none of these bytes, whatever their number.
pub fn query(handle: &Handle, name: &str, room: u32) -> Vec<u8> {
    // Type; data with room and no bytes; room; length.
    let words = [POINTER, 0, POINTER, room, 0, 0, POINTER, room, POINTER, 0];
    with_words(with_text(handle, name), &words)
}

/// The stub that opens a key below another one, to read it. [`opened`] has the answer.
pub fn open_below(handle: &Handle, name: &str) -> Vec<u8> {
    with_words(with_text(handle, name), &[0, READ])
}

/// The stub that asks for the name of a key below another one.
pub fn enumerate(handle: &Handle, index: u32) -> Vec<u8> {
    let room = u32::from(MOST_UNITS);
    let empty = room.saturating_mul(2) << 16;
    // The number; room for the name; room for the class; no time.
    let words = [index, empty, POINTER, room, 0, 0, POINTER, empty, POINTER, room, 0, 0, 0];
    with_words(handle.to_vec(), &words)
}

/// The name in the answer to [`enumerate`]; `None` behind the last one.
///
/// # Errors
///
/// The answer is damaged.
pub fn enumerated(stub: &[u8]) -> Result<Option<String>, RpcError> {
    let end = stub.len().checked_sub(4).ok_or(RpcError::Short("the status"))?;
    if u32_at(stub, end, "the status")? != 0 {
        return Ok(None);
    }
    let words = [4, 8, 12, 16].map(|at| u32_at(stub, at, "the name of a key"));
    let [pointer, room, offset, count] = words;
    let (pointer, room, offset, count) = (pointer?, room?, offset?, count?);
    if pointer == 0 || offset != 0 || count > room || count > MOST_UNITS.into() {
        return Err(RpcError::Value("the length of the name of a key", count));
    }
    let bytes = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(2);
    let name = stub.get(20..bytes.saturating_add(20)).ok_or(RpcError::Short("the name of a key"))?;
    let (units, _) = name.as_chunks::<2>();
    let units: Vec<u16> =
        units.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|unit| *unit != 0).collect();
    Ok(Some(String::from_utf16_lossy(&units)))
}

/// The value in the answer to [`query`].
///
/// # Errors
///
/// The answer is damaged, or has more bytes than there was room for.
pub fn queried(stub: &[u8], room: u32) -> Result<Value, RpcError> {
    let mut at = 0usize;
    let mut word = |field| {
        let word = u32_at(stub, at, field);
        at = at.saturating_add(4);
        word
    };
    if word("the type")? != 0 {
        word("the type")?;
    }
    let mut bytes = Vec::new();
    if word("the data")? != 0 {
        let (most, offset, count) = (word("the room")?, word("the offset")?, word("the length")?);
        if offset != 0 {
            return Err(RpcError::Value("the offset of the data", offset));
        }
        if count > most || count > room {
            return Err(RpcError::Value("the length of the data", count));
        }
        let begin = at;
        let length = usize::try_from(count).unwrap_or(usize::MAX);
        at = begin.saturating_add(length);
        bytes = stub.get(begin..at).ok_or(RpcError::Short("the data"))?.to_vec();
        at = at.next_multiple_of(4);
    }
    let mut word = |field| {
        let word = u32_at(stub, at, field);
        at = at.saturating_add(4);
        word
    };
    for field in ["the size", "the length"] {
        if word(field)? != 0 {
            word(field)?;
        }
    }
    Ok(Value { status: word("the status")?, bytes })
}
