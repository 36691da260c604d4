//! A keytab: keys of users, services and machines. Version 2 of MIT's format.

use super::bytes::{Bytes, principal};
use super::{Key, Principal};

/// The keys of a keytab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keytab {
    /// The keys, in the order of the file.
    pub keys: Vec<KeytabKey>,
}

/// A key of somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeytabKey {
    /// Whose key it is.
    pub owner: Principal,
    /// How often the key was changed.
    pub version: u32,
    /// The key.
    pub key: Key,
}

impl Keytab {
    /// Reads a keytab.
    ///
    /// # Errors
    ///
    /// The bytes are no keytab of this version, or a field does not fit.
    pub fn parse(bytes: &[u8]) -> Result<Keytab, String> {
        let mut bytes = Bytes(bytes);
        match bytes.u16("the version")? {
            0x0502 => {}
            version => return Err(format!("version 0x{version:04x} is not supported; 2 is")),
        }
        let mut keys = Vec::new();
        while !bytes.0.is_empty() {
            let length = bytes.u32("the length of an entry")?.cast_signed();
            let count = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
            let entry = bytes.take(count, "an entry")?;
            match length {
                0 => break,
                // What is left of an entry that was removed.
                ..0 => {}
                1.. => keys.push(key(Bytes(entry))?),
            }
        }
        Ok(Keytab { keys })
    }
}

fn key(mut bytes: Bytes<'_>) -> Result<KeytabKey, String> {
    let count = bytes.u16("the number of parts of a name")?;
    let owner = principal(&mut bytes, count.into(), Bytes::short)?;
    bytes.u32("the kind of a name")?;
    bytes.u32("the time of a key")?;
    let short = bytes.u8("the version of a key")?;
    let kind = i32::from(bytes.u16("the kind of a key")?);
    let key = Key { kind, bytes: bytes.short("a key")?.to_vec() };
    let version = bytes.u32("").ok().filter(|version| *version != 0).unwrap_or(short.into());
    Ok(KeytabKey { owner, version, key })
}
