//! Protocol Buffers, as far as the messages of OTLP, remote write and scrapes need them: fields are appended
//! in order. Reading is for the short answers of receivers.

/// A message that is being written.
#[derive(Debug, Default, Clone)]
pub struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

impl Message {
    /// A message without fields.
    pub fn new() -> Message {
        Message::default()
    }

    /// Its bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Fields that are encoded already.
    pub fn append(&mut self, fields: &[u8]) {
        self.0.extend_from_slice(fields);
    }

    fn key(&mut self, field: u32, wire: u64) {
        self.raw(u64::from(field) << 3 | wire);
    }

    fn raw(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A whole number: `int64`, `uint64`, `bool` and enumerations.
    pub fn varint(&mut self, field: u32, number: u64) {
        self.key(field, VARINT);
        self.raw(number);
    }

    /// A `fixed64` or `sfixed64`.
    pub fn fixed64(&mut self, field: u32, number: u64) {
        self.key(field, FIXED64);
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A `double`.
    pub fn double(&mut self, field: u32, number: f64) {
        self.fixed64(field, number.to_bits());
    }

    /// A `string` or `bytes`.
    pub fn bytes(&mut self, field: u32, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.key(field, BYTES);
        self.raw(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A message with its length before it, as messages follow each other in a stream.
    pub fn delimited(&mut self, message: &[u8]) {
        self.raw(message.len() as u64);
        self.0.extend_from_slice(message);
    }

    /// A message in a message.
    pub fn message(&mut self, field: u32, write: impl FnOnce(&mut Message)) {
        let mut inner = Message::new();
        write(&mut inner);
        self.bytes(field, inner.0);
    }
}

/// A field that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'b> {
    /// A whole number.
    Varint(u64),
    /// A text, bytes or a message.
    Bytes(&'b [u8]),
    /// A number of fixed size, which no answer has.
    Fixed,
}

/// The fields of a message with their numbers, up to the first that is no field.
pub fn fields(mut rest: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    std::iter::from_fn(move || {
        let key = varint(&mut rest)?;
        let field = match key & 7 {
            VARINT => Field::Varint(varint(&mut rest)?),
            FIXED64 => take(&mut rest, 8).map(|_| Field::Fixed)?,
            FIXED32 => take(&mut rest, 4).map(|_| Field::Fixed)?,
            BYTES => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                Field::Bytes(take(&mut rest, length)?)
            }
            _ => return None,
        };
        Some((key >> 3, field))
    })
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, left) = rest.split_first()?;
        *rest = left;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut message = Message::new();
        message.varint(1, 300);
        message.fixed64(2, 7);
        message.message(3, |inner| inner.bytes(1, "text"));
        message.varint(4, u64::MAX);
        let bytes = message.into_bytes();
        // The example of the encoding's own documentation: field 1 is 300.
        assert_eq!(bytes[..3], [0x08, 0xac, 0x02]);
        let read: Vec<_> = fields(&bytes).collect();
        let inner = [0x0a, 4, b't', b'e', b'x', b't'];
        let expected = [
            (1, Field::Varint(300)),
            (2, Field::Fixed),
            (3, Field::Bytes(&inner)),
            (4, Field::Varint(u64::MAX)),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn damaged_messages_end() {
        for bytes in [&[0x0a, 200][..], &[0x0a, 0xff], &[0xff; 20], &[0x0b], &[0x09, 1], &[0x0a, 3, 1]] {
            assert_eq!(fields(bytes).next(), None, "{bytes:?}");
        }
    }
}
