//! The fields that events describe themselves, and their values.

use super::{Cursor, TraceError};

/// The most fields of an event, and the deepest level of fields within fields.
const MOST_FIELDS: u32 = 1024;
const DEEPEST: u32 = 8;

/// A field of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: FieldKind,
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// Fields of its own.
    Fields(Vec<Field>),
    /// A number, by its .NET type code.
    Number(u32),
    /// A text.
    Text,
    /// This many bytes.
    Bytes(usize),
    /// Something that this reader does not know; the values after it are not known either.
    Unknown,
}

/// A value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// The values of an event by the names of their fields. Fields within fields have no names of their own here:
/// the counters wrap theirs into a field `Payload`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values(Vec<(String, Value)>);

impl Values {
    /// The number in a field.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.iter().find_map(|(field, value)| match value {
            Value::Number(number) if field == name => Some(*number),
            _ => None,
        })
    }

    /// The text in a field.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|(field, value)| match value {
            Value::Text(text) if field == name => Some(text.as_str()),
            _ => None,
        })
    }

    /// All values in their order.
    pub fn iter(&self) -> impl Iterator<Item = &(String, Value)> {
        self.0.iter()
    }
}

/// Reads descriptions of fields.
pub(super) fn fields(cursor: &mut Cursor<'_>, depth: u32) -> Result<Vec<Field>, TraceError> {
    let at = cursor.at();
    let count = cursor.u32("the number of fields")?;
    if count > MOST_FIELDS || depth > DEEPEST {
        return Err(TraceError::Damaged { what: "the number of fields", at });
    }
    let mut all = Vec::new();
    for _ in 0..count {
        let kind = match cursor.u32("the type of a field")? {
            1 => FieldKind::Fields(fields(cursor, depth.saturating_add(1))?),
            17 => FieldKind::Bytes(16),
            18 => FieldKind::Text,
            code @ (3..=14 | 16) => FieldKind::Number(code),
            _ => FieldKind::Unknown,
        };
        all.push(Field { name: cursor.text("the name of a field")?, kind });
    }
    Ok(all)
}

/// The values of fields, as far as they are there and known.
pub(super) fn values(fields: &[Field], payload: &[u8]) -> Values {
    let mut all = Values::default();
    let mut cursor = Cursor::new(payload, 0);
    // What is missing in a payload ends it: the values before it are good.
    let _ = add(fields, &mut cursor, &mut all);
    all
}

fn add(fields: &[Field], cursor: &mut Cursor<'_>, all: &mut Values) -> Result<(), TraceError> {
    for field in fields {
        let value = match &field.kind {
            FieldKind::Fields(inner) => {
                add(inner, cursor, all)?;
                continue;
            }
            FieldKind::Bytes(count) => {
                cursor.take(*count, "a field")?;
                continue;
            }
            FieldKind::Text => Value::Text(cursor.text("a field")?),
            FieldKind::Number(code) => Value::Number(number(*code, cursor)?),
            FieldKind::Unknown => {
                return Err(TraceError::Damaged { what: "a field of a known type", at: cursor.at() });
            }
        };
        all.0.push((field.name.clone(), value));
    }
    Ok(())
}

/// Reads a number of a .NET type. Large numbers lose digits beyond the sixteenth.
fn number(code: u32, cursor: &mut Cursor<'_>) -> Result<f64, TraceError> {
    const WHAT: &str = "a field";
    Ok(match code {
        // Streams have truth values of four bytes.
        3 | 10 => f64::from(cursor.u32(WHAT)?),
        4 | 8 => f64::from(cursor.u16(WHAT)?),
        5 => f64::from(cursor.byte(WHAT)?.cast_signed()),
        6 => f64::from(cursor.byte(WHAT)?),
        7 => f64::from(cursor.u16(WHAT)?.cast_signed()),
        9 => f64::from(cursor.u32(WHAT)?.cast_signed()),
        11 => cursor.u64(WHAT)?.cast_signed() as f64,
        13 => f64::from(f32::from_bits(cursor.u32(WHAT)?)),
        14 => f64::from_bits(cursor.u64(WHAT)?),
        _ => cursor.u64(WHAT)? as f64,
    })
}
