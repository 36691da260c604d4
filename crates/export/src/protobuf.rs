//! Protocol Buffers, as far as the messages of OTLP, remote write and scrapes need them: fields are appended
//! in order. Reading gives fields as they come, without memory of its own, so a hostile message costs no more
//! than its bytes.

use std::fmt;

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
    /// A number of eight bytes: `fixed64`, `sfixed64` and `double`.
    Fixed64(u64),
    /// A number of four bytes: `fixed32`, `sfixed32` and `float`.
    Fixed32(u32),
}

/// Bytes that are no field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadField {
    /// Where the field begins, in bytes from the beginning of its message.
    pub offset: usize,
}

impl fmt::Display for BadField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no field of Protocol Buffers at byte {} of its message", self.offset)
    }
}

impl std::error::Error for BadField {}

/// The fields of a message with their numbers, up to the first that is no field.
pub fn fields(bytes: &[u8]) -> impl Iterator<Item = (u64, Field<'_>)> {
    checked_fields(bytes).map_while(Result::ok)
}

/// The fields of a message with their numbers. Bytes that are no field are the last item.
pub fn checked_fields(bytes: &[u8]) -> impl Iterator<Item = Result<(u64, Field<'_>), BadField>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let offset = bytes.len().saturating_sub(rest.len());
        let field = field(&mut rest);
        if field.is_none() {
            rest = &[];
        }
        Some(field.ok_or(BadField { offset }))
    })
}

/// Takes a field off the front; `None` for bytes that are none.
fn field<'b>(rest: &mut &'b [u8]) -> Option<(u64, Field<'b>)> {
    let key = varint(rest)?;
    let field = match key & 7 {
        VARINT => Field::Varint(varint(rest)?),
        FIXED64 => Field::Fixed64(u64::from_le_bytes(*take(rest, 8)?.first_chunk()?)),
        FIXED32 => Field::Fixed32(u32::from_le_bytes(*take(rest, 4)?.first_chunk()?)),
        BYTES => {
            let length = usize::try_from(varint(rest)?).ok()?;
            Field::Bytes(take(rest, length)?)
        }
        _ => return None,
    };
    Some((key >> 3, field))
}

/// The numbers of a repeated field of numbers of eight bytes: all in one, as they are usually written, or
/// one.
/// `None` for a field of another form.
pub fn packed_fixed64(field: Field<'_>) -> Option<impl Iterator<Item = u64> + '_> {
    let (chunks, one) = match field {
        Field::Bytes(bytes) => (bytes.as_chunks::<8>(), None),
        Field::Fixed64(number) => (<[u8]>::as_chunks::<8>(&[]), Some(number)),
        _ => return None,
    };
    let (numbers, rest) = chunks;
    rest.is_empty().then(|| numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).chain(one))
}

/// As [`packed_fixed64`], of numbers of variable size. The rest behind one that is damaged is left out.
pub fn packed_varint(field: Field<'_>) -> Option<impl Iterator<Item = u64> + '_> {
    let (mut rest, one) = match field {
        Field::Bytes(bytes) => (bytes, None),
        Field::Varint(number) => (&[][..], Some(number)),
        _ => return None,
    };
    Some(std::iter::from_fn(move || varint(&mut rest)).chain(one))
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
            (2, Field::Fixed64(7)),
            (3, Field::Bytes(&inner)),
            (4, Field::Varint(u64::MAX)),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn damaged_messages_end() {
        for bytes in [&[0x0a, 200][..], &[0x0a, 0xff], &[0xff; 20], &[0x0b], &[0x09, 1], &[0x0a, 3, 1]] {
            assert_eq!(fields(bytes).next(), None, "{bytes:?}");
            let read: Vec<_> = checked_fields(bytes).collect();
            assert_eq!(read, [Err(BadField { offset: 0 })], "{bytes:?}");
        }
        let read: Vec<_> = checked_fields(&[0x08, 1, 0x0a, 9, 0]).collect();
        assert_eq!(read, [Ok((1, Field::Varint(1))), Err(BadField { offset: 2 })]);
    }

    #[test]
    fn repeated_numbers_are_packed_or_alone() {
        let two = [1u64.to_le_bytes(), 2u64.to_le_bytes()].concat();
        let fixed = |field| packed_fixed64(field).map(Iterator::collect::<Vec<_>>);
        assert_eq!(fixed(Field::Bytes(&two)), Some(vec![1, 2]));
        assert_eq!(fixed(Field::Fixed64(3)), Some(vec![3]));
        assert_eq!((fixed(Field::Bytes(&two[1..])), fixed(Field::Varint(1))), (None, None));
        let varint = |field| packed_varint(field).map(Iterator::collect::<Vec<_>>);
        assert_eq!(varint(Field::Bytes(&[1, 0xac, 2, 0xff])), Some(vec![1, 300]));
        assert_eq!((varint(Field::Varint(4)), varint(Field::Fixed64(4))), (Some(vec![4]), None));
    }
}
