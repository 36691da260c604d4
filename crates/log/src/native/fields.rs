//! Writes and reads fields of records: numbers with seven bits in a byte, and texts.

use tallymon_core::bytes::Bytes;
use tallymon_core::error::Error;

use super::series::{unzigzag, zigzag};

/// Writes fields.
pub(super) trait PutFields {
    /// Writes a number with seven bits in each byte, the lowest first; the highest bit says that another byte
    /// follows.
    fn put(&mut self, number: u64);
    /// A number that may be negative, see [`zigzag`].
    fn put_signed(&mut self, number: i64);
    /// Writes the length of a text in bytes, and the text in UTF-8.
    fn put_text(&mut self, text: &str);
}

impl PutFields for Vec<u8> {
    fn put(&mut self, mut number: u64) {
        while number > 0x7f {
            self.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
            number >>= 7;
        }
        self.push(u8::try_from(number).unwrap_or(0));
    }

    fn put_signed(&mut self, number: i64) {
        self.put(zigzag(number));
    }

    fn put_text(&mut self, text: &str) {
        self.put(text.len() as u64);
        self.extend_from_slice(text.as_bytes());
    }
}

/// Reads fields one after another. Errors name the byte within the data.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(super) const fn new(data: &'a [u8]) -> Fields<'a> {
        Fields { data, at: 0 }
    }

    /// Where the next field begins.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) fn number(&mut self, what: &'static str) -> Result<u64, Error> {
        let (start, mut number) = (self.at, 0u64);
        for shift in (0..70).step_by(7) {
            let byte = Bytes::little(self.data).slice(self.at, 1, what)?.data().first().copied().unwrap_or(0);
            self.at = self.at.saturating_add(1);
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            number |= part.wrapping_shl(shift);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::value(what, start, "a number of 64 bits at most", number))
    }

    pub(super) fn signed(&mut self, what: &'static str) -> Result<i64, Error> {
        self.number(what).map(unzigzag)
    }

    /// A number that fits 32 bits.
    pub(super) fn small(&mut self, what: &'static str) -> Result<u32, Error> {
        let at = self.at;
        let number = self.number(what)?;
        u32::try_from(number).map_err(|_| Error::value(what, at, "at most 32 bits", number))
    }

    /// Reads a count of items that take at least one byte each from here on.
    pub(super) fn count(&mut self, what: &'static str) -> Result<usize, Error> {
        let at = self.at;
        let number = self.number(what)?;
        let left = self.data.len().saturating_sub(self.at);
        usize::try_from(number)
            .ok()
            .filter(|count| *count <= left)
            .ok_or_else(|| Error::outside(what, at, number, 0, left as u64))
    }

    pub(super) fn bytes(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let found = Bytes::little(self.data).slice(self.at, length, what)?.data();
        self.at = self.at.saturating_add(length);
        Ok(found)
    }

    pub(super) fn text(&mut self, what: &'static str) -> Result<&'a str, Error> {
        let length = self.count(what)?;
        let at = self.at;
        let found = self.bytes(length, what)?;
        std::str::from_utf8(found).map_err(|error| {
            let at = at.saturating_add(error.valid_up_to());
            Error::value(what, at, "UTF-8", u64::from(self.data.get(at).copied().unwrap_or(0)))
        })
    }

    /// Whether there is no other field.
    pub(super) const fn is_at_end(&self) -> bool {
        self.at >= self.data.len()
    }

    /// The rest of the data.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        let rest = self.data.get(self.at..).unwrap_or_default();
        self.at = self.data.len();
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_back() {
        let mut data = Vec::new();
        let numbers = [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), 1 << 63, u64::MAX];
        for number in numbers {
            data.put(number);
            data.put_signed(number.cast_signed());
        }
        data.put_text("Änderung");
        let mut fields = Fields::new(&data);
        for number in numbers {
            assert_eq!(fields.number("x"), Ok(number));
            assert_eq!(fields.signed("x"), Ok(number.cast_signed()));
        }
        assert_eq!(fields.text("x"), Ok("Änderung"));
        assert_eq!(fields.at(), data.len());
        for length in 0..data.len() {
            let mut fields = Fields::new(&data[..length]);
            while fields.number("x").is_ok() {}
        }
        assert!(Fields::new(&[0xff; 10]).number("x").is_err());
        assert!(Fields::new(&[5, b'a']).text("x").is_err());
        assert!(Fields::new(&[1, 0xff]).text("x").is_err());
    }
}
