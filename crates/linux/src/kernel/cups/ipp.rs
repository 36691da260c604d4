//! Requests and answers of the Internet Printing Protocol (RFC 8010), as far as querying queues and jobs
//! needs it.
//!
//! ```text
//!  message                                    attribute
//!  0  version 2 bytes                         0  tag of its value, from 16 on
//!  2  operation, or status of an answer u16   1  length of the name u16, then the name
//!  4  number of the request u32                  length of the value u16, then the value
//!  8  tag of a group, below 16; attributes; …; tag 3
//! ```
//!
//! All numbers are big-endian. An attribute with an empty name is one more value of the attribute before it.

use crate::kernel::proc::ParseError;

/// The subject of errors.
const FILE: &str = "answer of the print server";
/// The tag after the last group.
const END: u8 = 3;
const INTEGER: u8 = 0x21;
const ENUM: u8 = 0x23;
const KEYWORD: u8 = 0x44;
const URI: u8 = 0x45;

/// A request that is being written.
#[derive(Clone, Debug)]
pub struct Question {
    bytes: Vec<u8>,
}

impl Question {
    /// A request for this operation, in English and UTF-8.
    pub fn new(operation: u16) -> Question {
        let mut bytes = vec![2, 0];
        bytes.extend(operation.to_be_bytes());
        bytes.extend(1_u32.to_be_bytes());
        // The group of operation attributes.
        bytes.push(1);
        Question { bytes }.with(0x47, b"attributes-charset", b"utf-8").with(
            0x48,
            b"attributes-natural-language",
            b"en",
        )
    }

    /// Adds the address of the object that the request is about.
    #[must_use]
    pub fn uri(self, name: &str, value: &str) -> Question {
        self.with(URI, name.as_bytes(), value.as_bytes())
    }

    /// Adds a number.
    #[must_use]
    pub fn number(self, name: &str, value: i32) -> Question {
        self.with(INTEGER, name.as_bytes(), &value.to_be_bytes())
    }

    /// Adds an attribute with one or more keywords.
    #[must_use]
    pub fn words(mut self, name: &str, values: &[&str]) -> Question {
        let mut name = name.as_bytes();
        for value in values {
            self = self.with(KEYWORD, std::mem::take(&mut name), value.as_bytes());
        }
        self
    }

    /// The bytes of the request.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(END);
        self.bytes
    }

    fn with(mut self, tag: u8, name: &[u8], value: &[u8]) -> Question {
        self.bytes.push(tag);
        for part in [name, value] {
            // All of them are short constants of ours.
            self.bytes.extend(u16::try_from(part.len()).unwrap_or(u16::MAX).to_be_bytes());
            self.bytes.extend(part);
        }
        self
    }
}

/// The answer of a print server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The status: below 256 success, from 0x400 a client error, from 0x500 a server error.
    pub status: u16,
    /// Its groups: that of the operation, then one per printer or job.
    pub groups: Vec<Group<'a>>,
}

/// Attributes that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    /// 1 operation attributes, 2 a job, 4 a printer.
    pub tag: u8,
    attributes: Vec<Attribute<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attribute<'a> {
    name: &'a [u8],
    tag: u8,
    value: &'a [u8],
}

impl<'a> Group<'a> {
    /// The number or enumerated value of this name.
    pub fn number(&self, name: &str) -> Option<i32> {
        let found = self.named(name).find(|attribute| matches!(attribute.tag, INTEGER | ENUM))?;
        Some(i32::from_be_bytes(found.value.try_into().ok()?))
    }

    /// All texts of this name: names, keywords and addresses.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        // Tags of text without a language begin here.
        self.named(name).filter(|attribute| attribute.tag >= 0x40).map(|attribute| attribute.value)
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Attribute<'a>> {
        self.attributes.iter().filter(move |attribute| attribute.name == name.as_bytes())
    }
}

/// Decodes an answer.
///
/// # Errors
///
/// The bytes are no answer, or are truncated.
pub fn decode(bytes: &[u8]) -> Result<Answer<'_>, ParseError> {
    let mut rest = IppReader { all: bytes, at: 0 };
    let header = rest.take(8, "header")?;
    let status = match header {
        [1..=2, _, high, low, ..] => u16::from_be_bytes([*high, *low]),
        other => return Err(ParseError::new(FILE, 0, "version", "1 or 2", other)),
    };
    let mut groups: Vec<Group<'_>> = Vec::new();
    loop {
        let tag = rest.byte("tag")?;
        if tag == END {
            return Ok(Answer { status, groups });
        }
        if tag < 0x10 {
            groups.push(Group { tag, attributes: Vec::new() });
            continue;
        }
        let name = rest.part("name of an attribute")?;
        let value = rest.part("value of an attribute")?;
        let Some(group) = groups.last_mut() else {
            return Err(ParseError::new(FILE, 0, "group", "one before the first attribute", name));
        };
        let before = group.attributes.last().map_or(name, |attribute| attribute.name);
        let name = if name.is_empty() { before } else { name };
        group.attributes.push(Attribute { name, tag, value });
    }
}

/// The bytes not yet decoded.
struct IppReader<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> IppReader<'a> {
    fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], ParseError> {
        let end = self.at.saturating_add(length);
        let Some(taken) = self.all.get(self.at..end) else {
            let left = self.all.get(self.at..).unwrap_or_default();
            return Err(ParseError::new(FILE, 0, what, "as many bytes as are announced", left));
        };
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self, what: &'static str) -> Result<u8, ParseError> {
        self.take(1, what).map(|bytes| bytes.first().copied().unwrap_or(END))
    }

    /// A length and as many bytes.
    fn part(&mut self, what: &'static str) -> Result<&'a [u8], ParseError> {
        let length = self.take(2, what)?.first_chunk().map_or(0, |length| u16::from_be_bytes(*length));
        self.take(usize::from(length), what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::proc::fixture::{check_damage, fixture};

    #[test]
    fn a_request_has_the_bytes_of_the_protocol() {
        let question = Question::new(0x4002).words("a", &["b", "cd"]).number("n", -2).uri("u", "x").finish();
        let expected = [
            &b"\x02\x00\x40\x02\x00\x00\x00\x01\x01"[..],
            b"\x47\x00\x12attributes-charset\x00\x05utf-8",
            b"\x48\x00\x1battributes-natural-language\x00\x02en",
            b"\x44\x00\x01a\x00\x01b\x44\x00\x00\x00\x02cd",
            b"\x21\x00\x01n\x00\x04\xff\xff\xff\xfe\x45\x00\x01u\x00\x01x\x03",
        ];
        assert_eq!(question, expected.concat());
        // An answer has the same format as a request.
        let answer = decode(&question).unwrap();
        assert_eq!((answer.status, answer.groups.len()), (0x4002, 1));
        let group = &answer.groups[0];
        assert_eq!(group.texts("a").collect::<Vec<_>>(), [b"b".as_slice(), b"cd"]);
        assert_eq!((group.number("n"), group.number("a"), group.number("none")), (Some(-2), None, None));
    }

    #[test]
    fn answers_of_a_server() {
        let bytes = fixture("cups-2.4/jobs");
        let answer = decode(&bytes).unwrap();
        assert_eq!(answer.status, 0);
        let jobs: Vec<_> = answer.groups.iter().filter(|group| group.tag == 2).collect();
        let of = |name: &str| jobs.iter().map(|job| job.number(name)).collect::<Vec<_>>();
        assert_eq!(of("job-id"), [Some(1), Some(2), Some(3)]);
        assert_eq!(of("job-state"), [Some(9), Some(4), Some(9)]);
        assert_eq!(of("time-at-completed")[1], None, "a value that is none");
    }

    #[test]
    fn malformed_answers_are_errors() {
        let said = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
        assert_eq!(
            said(b"HTTP/1.1 200"),
            "answer of the print server: version: needed 1 or 2, found \"HTTP/1.1\""
        );
        assert!(said(b"\x02\x00\x00").contains("header: needed as many bytes as are announced"));
        assert!(said(b"\x02\x00\x00\x00\x00\x00\x00\x01").contains("tag: "));
        assert!(said(b"\x02\x00\x00\x00\x00\x00\x00\x01\x21\x00\x01a\x00\x00\x03").contains("group: "));
        let short = b"\x02\x00\x00\x00\x00\x00\x00\x01\x02\x21\xff\xffjob-id";
        assert!(said(short).contains("name of an attribute: "), "{}", said(short));
        check_damage("cups-2.4/jobs", |bytes| decode(bytes).map(|answer| answer.groups.len()));
    }
}
