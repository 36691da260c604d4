//! Numbers and texts of files of Kerberos: the highest byte first, each length checked.

use super::Principal;

/// So many parts has a name at most.
const MOST_PARTS: u32 = 32;

/// What is left to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'b>(pub(super) &'b [u8]);

impl<'b> Bytes<'b> {
    pub(super) fn take(&mut self, count: usize, field: &str) -> Result<&'b [u8], String> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| format!("{field} needs {count} bytes, and {} are left", self.0.len()))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn u8(&mut self, field: &str) -> Result<u8, String> {
        Ok(self.take(1, field)?.first().copied().unwrap_or_default())
    }

    pub(super) fn u16(&mut self, field: &str) -> Result<u16, String> {
        let bytes = self.take(2, field)?;
        Ok(bytes.first_chunk::<2>().copied().map_or(0, u16::from_be_bytes))
    }

    pub(super) fn u32(&mut self, field: &str) -> Result<u32, String> {
        let bytes = self.take(4, field)?;
        Ok(bytes.first_chunk::<4>().copied().map_or(0, u32::from_be_bytes))
    }

    /// Bytes behind their length of 32 bits.
    pub(super) fn long(&mut self, field: &str) -> Result<&'b [u8], String> {
        let length = self.u32(field)?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX), field)
    }

    /// Bytes behind their length of 16 bits.
    pub(super) fn short(&mut self, field: &str) -> Result<&'b [u8], String> {
        let length = self.u16(field)?;
        self.take(length.into(), field)
    }
}

/// Text, and the parts of a name.
pub(super) fn text(bytes: &[u8], field: &str) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| format!("{field} is not a text in UTF-8"))
}

/// A realm and so many parts of a name, each read with `part`.
pub(super) fn principal<'b>(
    bytes: &mut Bytes<'b>,
    count: u32,
    part: impl Fn(&mut Bytes<'b>, &str) -> Result<&'b [u8], String>,
) -> Result<Principal, String> {
    if count > MOST_PARTS {
        return Err(format!("a name has {count} parts"));
    }
    let realm = text(part(bytes, "a realm")?, "a realm")?;
    let name = (0..count).map(|_| text(part(bytes, "a name")?, "a name")).collect::<Result<_, _>>()?;
    Ok(Principal { name, realm })
}
