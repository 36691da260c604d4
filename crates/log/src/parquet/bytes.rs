//! Reads the compact form of Thrift, in which Parquet keeps its metadata.

/// Bytes that are not what the format says: what was expected.
pub(super) type Bad = String;

/// How deep structures may lie in each other. Parquet needs six levels.
const DEEPEST: u8 = 16;

/// A position in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'b> {
    bytes: &'b [u8],
    pub(super) at: usize,
}

/// The kinds of values.
pub(super) const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(super) const STRUCT: u8 = 12;

impl<'b> Input<'b> {
    pub(super) const fn new(bytes: &'b [u8]) -> Input<'b> {
        Input { bytes, at: 0 }
    }

    fn ends<T>(&self, found: Option<T>, what: &str) -> Result<T, Bad> {
        found.ok_or_else(|| format!("{what} needed, but the data ends at byte {}", self.at))
    }

    pub(super) fn byte(&mut self) -> Result<u8, Bad> {
        let byte = self.ends(self.bytes.get(self.at).copied(), "a byte")?;
        self.at = self.at.saturating_add(1);
        Ok(byte)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'b [u8], Bad> {
        let end = self.at.checked_add(length);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = self.ends(taken, &format!("{length} bytes"))?;
        self.at = self.at.saturating_add(length);
        Ok(taken)
    }

    pub(super) fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// An unsigned number, seven bits a byte.
    pub(super) fn varint(&mut self) -> Result<u64, Bad> {
        let mut number = 0u64;
        for shift in (0..64u32).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(format!("a number of more than 10 bytes before byte {}", self.at))
    }

    /// A signed number.
    pub(super) fn zigzag(&mut self) -> Result<i64, Bad> {
        let number = self.varint()?;
        Ok((number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg())
    }

    /// A number that is a length or a count.
    pub(super) fn size(&mut self) -> Result<usize, Bad> {
        let number = self.varint()?;
        usize::try_from(number).map_err(|_| format!("a length of {number}"))
    }

    pub(super) fn binary(&mut self) -> Result<&'b [u8], Bad> {
        let length = self.size()?;
        self.take(length)
    }

    /// The head of a list: how many elements, and of which kind. Each element takes at least one byte.
    pub(super) fn list(&mut self) -> Result<(usize, u8), Bad> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.size()?,
            count => usize::from(count),
        };
        if count > self.remaining() {
            return Err(format!("a list of {count} elements in {} bytes", self.remaining()));
        }
        Ok((count, head & 15))
    }

    /// Calls `each` with the number and the kind of every field of a structure. It returns whether it read
    /// the field; others are skipped.
    pub(super) fn fields(
        &mut self,
        mut each: impl FnMut(&mut Input<'b>, i16, u8) -> Result<bool, Bad>,
    ) -> Result<(), Bad> {
        let mut field = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).map_err(|_| "a field number above 32767".to_owned())?,
                step => field.saturating_add(i16::from(step)),
            };
            if !each(self, field, head & 15)? {
                self.skip(head & 15, 0)?;
            }
        }
    }

    /// As [`Input::fields`], for the structures of a list.
    pub(super) fn structures(
        &mut self,
        mut each: impl FnMut(&mut Input<'b>) -> Result<(), Bad>,
    ) -> Result<(), Bad> {
        let (count, kind) = self.list()?;
        if kind != STRUCT && count > 0 {
            return Err(format!("a list of structures needed, found kind {kind}"));
        }
        (0..count).try_for_each(|_| each(self))
    }

    fn skip(&mut self, kind: u8, depth: u8) -> Result<(), Bad> {
        if depth > DEEPEST {
            return Err(format!("structures more than {DEEPEST} deep"));
        }
        let deeper = depth.saturating_add(1);
        match kind {
            TRUE | FALSE => Ok(()),
            BYTE => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            DOUBLE => self.take(8).map(drop),
            BINARY => self.binary().map(drop),
            LIST | SET => {
                let (count, kind) = self.list()?;
                // In a list, a truth value takes a byte.
                let kind = if kind == FALSE || kind == TRUE { BYTE } else { kind };
                (0..count).try_for_each(|_| self.skip(kind, deeper))
            }
            MAP => {
                let count = self.size()?;
                if count == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                (0..count.min(self.remaining())).try_for_each(|_| {
                    self.skip(kinds >> 4, deeper)?;
                    self.skip(kinds & 15, deeper)
                })
            }
            STRUCT => loop {
                let head = self.byte()?;
                if head == 0 {
                    return Ok(());
                }
                if head >> 4 == 0 {
                    self.zigzag()?;
                }
                self.skip(head & 15, deeper)?;
            },
            kind => Err(format!("unknown kind {kind} before byte {}", self.at)),
        }
    }
}
