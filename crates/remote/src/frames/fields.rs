//! Numbers and texts in the body of a frame.

use super::FrameError;

/// Writes the fields of a frame, one after another.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn of(kind: u8) -> Writer {
        Writer(vec![kind])
    }

    pub(crate) fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(crate) fn u16(&mut self, number: u16) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A number of things. More than 2^32 of them are more than the longest frame.
    pub(crate) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// The body of the frame.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads the fields of a frame. It never reads past the end, and no count in it decides how much memory is
/// taken.
#[derive(Debug)]
pub(crate) struct Reader<'b> {
    rest: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(body: &'b [u8]) -> Reader<'b> {
        Reader { rest: body, at: 0 }
    }

    fn take(&mut self, length: usize, field: &'static str) -> Result<&'b [u8], FrameError> {
        let short = FrameError::Short { field, at: self.at, needed: length, found: self.rest.len() };
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(short)?;
        self.rest = rest;
        self.at = self.at.saturating_add(length);
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], FrameError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, field)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, FrameError> {
        self.array::<1>(field).map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, FrameError> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, FrameError> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, FrameError> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self, field: &'static str) -> Result<&'b [u8], FrameError> {
        let length = self.u32(field)?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX), field)
    }

    pub(crate) fn text(&mut self, field: &'static str) -> Result<&'b str, FrameError> {
        let at = self.at;
        std::str::from_utf8(self.bytes(field)?).map_err(|_| FrameError::NoText { field, at })
    }

    /// Reads a list: its count, and each item.
    pub(crate) fn list<T>(
        &mut self,
        field: &'static str,
        mut item: impl FnMut(&mut Reader<'b>) -> Result<T, FrameError>,
    ) -> Result<Vec<T>, FrameError> {
        let count = self.u32(field)?;
        let mut all = Vec::new();
        for _ in 0..count {
            // Every item takes bytes, so a count that lies ends at the end of the frame.
            all.push(item(self)?);
        }
        Ok(all)
    }

    /// Fails if anything is left.
    pub(crate) fn end(self) -> Result<(), FrameError> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(FrameError::TooMuch { at: self.at, left }),
        }
    }
}
