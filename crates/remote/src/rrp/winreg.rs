//! The calls of the remote registry (MS-RRP) that performance data needs, as NDR.

use super::rpc::{RpcError, u32_at};

/// OpenPerformanceData.
pub const OPEN_PERFORMANCE_DATA: u16 = 3;
/// BaseRegCloseKey.
pub const CLOSE_KEY: u16 = 5;
/// BaseRegQueryValue.
pub const QUERY_VALUE: u16 = 17;

/// The handle of an open key.
pub type Handle = [u8; 20];

/// Any number but 0 says that a pointer points to what follows.
const POINTER: u32 = 0x0002_0000;

/// The rights that are asked for: as many as there are.
const MAXIMUM_ALLOWED: u32 = 0x0200_0000;

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

/// The stub that queries a value into `room` bytes. It has none of these bytes, whatever their number.
pub fn query(handle: &Handle, name: &str, room: u32) -> Vec<u8> {
    let units: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let count = u32::try_from(units.len()).unwrap_or(u32::MAX);
    let bytes = u16::try_from(units.len().saturating_mul(2)).unwrap_or(u16::MAX);
    let mut stub = handle.to_vec();
    let mut word = |word: u32| stub.extend_from_slice(&word.to_le_bytes());
    word(u32::from(bytes) | u32::from(bytes) << 16);
    for each in [POINTER, count, 0, count] {
        word(each);
    }
    stub.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    stub.resize(stub.len().next_multiple_of(4), 0);
    // Type; data with room and no bytes; room; length.
    for each in [POINTER, 0, POINTER, room, 0, 0, POINTER, room, POINTER, 0] {
        stub.extend_from_slice(&u32::to_le_bytes(each));
    }
    stub
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
