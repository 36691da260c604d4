//! Writes pprof's format: a protocol buffer in a gzip envelope, as its readers expect.
//!
//! Each place of a thread's call tree is a sample with two values, calls and own nanoseconds, and a label for
//! the thread. Messages are written by hand: a field is its number and kind, then a number in groups of seven
//! bits, or a length and bytes. The envelope stores without compression; pack the file with `gzip` when its
//! size matters.

use super::{MAX_STACK, thread_name};
use crate::reader::{Profile, Step};
use std::collections::HashMap;
use std::io::{self, Write};

/// Writes the profile for `go tool pprof` and what else reads its format.
///
/// # Errors
///
/// Write errors of `out`.
pub fn pprof(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    envelope(&message(profile), out)
}

/// Field numbers of the message `Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const MAPPING: u64 = 3;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING_TABLE: u64 = 6;
    pub(super) const TIME_NANOS: u64 = 9;
    pub(super) const DURATION_NANOS: u64 = 10;
    pub(super) const PERIOD_TYPE: u64 = 11;
    pub(super) const PERIOD: u64 = 12;
    pub(super) const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

fn message(profile: &Profile) -> Vec<u8> {
    let mut strings = Strings::default();
    let mut all = Message::default();
    let calls = value_type(&mut strings, "calls", "count");
    let time = value_type(&mut strings, "time", "nanoseconds");
    all.bytes(field::SAMPLE_TYPE, &calls);
    all.bytes(field::SAMPLE_TYPE, &time);
    all.bytes(field::PERIOD_TYPE, &time);
    all.number(field::PERIOD, 1);
    let thread_key = strings.number("thread");
    // Location and function n + 1 belong to method n; the last ones to methods without a record.
    let unknown = profile.methods.len();
    let id = |method: Option<usize>| (method.unwrap_or(unknown) as u64).saturating_add(1);
    for thread in &profile.threads {
        let label = strings.number(&thread_name(thread));
        let mut path: Vec<u64> = Vec::new();
        profile.walk(thread.root, |call, step| {
            if call.parent.is_none() {
                return;
            }
            if step == Step::Up {
                path.pop();
                return;
            }
            path.push(id(call.method));
            let mut sample = Message::default();
            // The innermost call comes first; a deep stack loses its outermost calls.
            sample.numbers(1, path.iter().rev().take(MAX_STACK).copied());
            sample.numbers(2, [call.enters, call.own].into_iter());
            let mut named = Message::default();
            named.number(1, thread_key);
            named.number(2, label);
            sample.bytes(3, &named);
            all.bytes(field::SAMPLE, &sample);
        });
    }
    // Readers name the profile after the first module, so start with one of the user's.
    let mut modules: Vec<_> = profile.modules.iter().enumerate().collect();
    modules.sort_by_key(|(_, module)| !module.user);
    for (number, module) in modules {
        let mut mapping = Message::default();
        mapping.number(1, (number as u64).saturating_add(1));
        mapping.number(5, strings.number(&module.path));
        // The file lists its functions: readers need not look for them in the program.
        mapping.number(7, 1);
        all.bytes(field::MAPPING, &mapping);
    }
    let named = profile.methods.iter().map(|method| (method.name.as_str(), method.raw.raw(), method.module));
    let last = ("(unknown method)", String::new(), None);
    for (number, (name, raw, module)) in named.chain(std::iter::once(last)).enumerate() {
        let id = (number as u64).saturating_add(1);
        let mut line = Message::default();
        line.number(1, id);
        let mut location = Message::default();
        location.number(1, id);
        let mut function = Message::default();
        function.number(1, id);
        function.number(2, strings.number(name));
        function.number(3, strings.number(&raw));
        if let Some(module) = module {
            location.number(2, (module as u64).saturating_add(1));
            let path = profile.modules.get(module).map(|module| module.path.as_str());
            function.number(4, strings.number(path.unwrap_or_default()));
        }
        location.bytes(4, &line);
        all.bytes(field::LOCATION, &location);
        all.bytes(field::FUNCTION, &function);
    }
    all.number(field::TIME_NANOS, profile.started);
    all.number(field::DURATION_NANOS, profile.duration);
    all.number(field::DEFAULT_SAMPLE_TYPE, strings.number("time"));
    for text in &strings.texts {
        all.text(field::STRING_TABLE, text);
    }
    all.0
}

fn value_type(strings: &mut Strings, kind: &str, unit: &str) -> Message {
    let mut message = Message::default();
    message.number(1, strings.number(kind));
    message.number(2, strings.number(unit));
    message
}

/// Texts, each stored once; number 0 is empty.
struct Strings {
    texts: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings { texts: vec![String::new()], numbers: HashMap::from([(String::new(), 0)]) }
    }
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u64;
        self.texts.push(text.to_string());
        self.numbers.insert(text.to_string(), number);
        number
    }
}

/// A message that is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// A number; a missing field means 0.
    fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    /// All numbers of a repeated field in one piece.
    fn numbers(&mut self, field: u64, values: impl Iterator<Item = u64>) {
        let mut packed = Message::default();
        values.for_each(|value| packed.varint(value));
        self.bytes(field, &packed);
    }

    fn bytes(&mut self, field: u64, message: &Message) {
        self.piece(field, &message.0);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.piece(field, text.as_bytes());
    }

    fn piece(&mut self, field: u64, bytes: &[u8]) {
        self.varint((field << 3) | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Seven bits at a time, the lowest first; the top bit means that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value as u8) | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A gzip member (RFC 1952) whose one stream of stored blocks (RFC 1951, 3.2.4) holds the bytes.
fn envelope(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&[0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF])?;
    let mut blocks = bytes.chunks(0xFFFF).peekable();
    if blocks.peek().is_none() {
        out.write_all(&[1, 0, 0, 0xFF, 0xFF])?;
    }
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.write_all(&[u8::from(blocks.peek().is_none())])?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(&(!length).to_le_bytes())?;
        out.write_all(block)?;
    }
    out.write_all(&checksum(bytes).to_le_bytes())?;
    // The length modulo 2^32, as the format requires.
    out.write_all(&(bytes.len() as u32).to_le_bytes())
}

/// The cyclic redundancy check of gzip: x^32 + ... + 1 with its bits turned round, 0xEDB88320.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_the_checksum_are_those_of_the_documents() {
        let mut message = Message::default();
        message.number(1, 150);
        message.text(2, "testing");
        message.numbers(4, [3, 270, 86942].into_iter());
        let expected = b"\x08\x96\x01\x12\x07testing\x22\x06\x03\x8E\x02\x9E\xA7\x05";
        assert_eq!(message.0, expected);
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
    }
}
