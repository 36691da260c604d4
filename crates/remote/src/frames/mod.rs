//! The bytes that two Tallymons exchange, without any connection.
//!
//! Both sides begin with a greeting of 12 bytes: the text `TALLYMON`, then the lowest and the highest version
//! of the frames that they know, as numbers of 16 bits. Then the reader sends a [`Question`], waits for its
//! [`Answer`], and so on. Each of them is a frame: its length as a number of 32 bits, then that many bytes,
//! of which the first is the kind. All numbers are little-endian; `docs/formats/frames.md` lists every
//! field.
//!
//! Both sides treat every byte as hostile: a frame has at most [`MOST_BYTES`], memory grows with the bytes
//! that have arrived and not with the length that was announced, and no count in a frame is believed.

mod answer;
pub(crate) mod fields;
mod question;

use std::fmt;
use std::io::{self, Read, Write};

pub use answer::Answer;
pub use question::Question;

/// The version of the frames.
pub const VERSION: u16 = 1;

/// The longest frame: as much as Windows lets one answer of a registry have.
pub const MOST_BYTES: u32 = 64 << 20;

/// So much of a body is written together with its length.
const TOGETHER: usize = 16 << 10;

/// So much memory is taken for a body because its length says so. More is taken as its bytes come.
const BELIEVED: usize = 256 << 10;

/// The first bytes of a greeting.
const MAGIC: [u8; 8] = *b"TALLYMON";

/// The bytes of a greeting.
const GREETING: usize = 12;

/// Why bytes are no frame, or no more frames come.
#[derive(Debug)]
#[non_exhaustive]
pub enum FrameError {
    /// The other side closed the connection before this frame.
    Closed,
    /// The connection ended within a frame, or within the greeting.
    Cut {
        /// The bytes that should have come.
        needed: usize,
        /// The bytes that came.
        found: usize,
    },
    /// The other side does not speak this protocol: its first bytes.
    NoGreeting(Vec<u8>),
    /// The other side knows other versions only.
    Version {
        /// Its lowest one.
        lowest: u16,
        /// Its highest one.
        highest: u16,
    },
    /// The frame is longer than any may be.
    TooLong {
        /// Its length in bytes.
        length: u32,
        /// The longest that is read here.
        longest: u32,
    },
    /// The kind of the frame is unknown, or does not belong here.
    Kind(u8),
    /// A field is longer than what is left of its frame.
    Short {
        /// The field.
        field: &'static str,
        /// Where it begins, in bytes.
        at: usize,
        /// The bytes that it needs.
        needed: usize,
        /// The bytes that are left.
        found: usize,
    },
    /// A text is not UTF-8.
    NoText {
        /// The field.
        field: &'static str,
        /// Where it begins, in bytes.
        at: usize,
    },
    /// A table of names or help texts is damaged.
    Titles(tallymon_core::Error),
    /// The frame has more bytes than its fields.
    TooMuch {
        /// Where the fields end.
        at: usize,
        /// The bytes behind them.
        left: usize,
    },
    /// Reading or writing failed.
    Io(io::Error),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> FrameError {
        FrameError::Io(error)
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Closed => f.write_str("the connection was closed"),
            FrameError::Cut { needed, found } => {
                write!(f, "the connection ended after {found} of {needed} bytes")
            }
            FrameError::NoGreeting(bytes) => {
                write!(
                    f,
                    "expected the greeting of 'tally serve --stdio', found {:?}",
                    String::from_utf8_lossy(bytes)
                )
            }
            FrameError::Version { lowest, highest } => write!(
                f,
                "its versions of the frames are {lowest} to {highest}, this program has {VERSION}: install the \
                 same version of tally on both machines"
            ),
            FrameError::TooLong { length, longest } => {
                write!(f, "a frame of {length} bytes; the longest that is read has {longest}")
            }
            FrameError::Kind(kind) => write!(f, "unexpected kind of frame: {kind}"),
            FrameError::Short { field, at, needed, found } => {
                write!(f, "damaged frame: {field} at byte {at} needs {needed} bytes, {found} are left")
            }
            FrameError::NoText { field, at } => write!(f, "damaged frame: {field} at byte {at} is not UTF-8"),
            FrameError::Titles(error) => write!(f, "damaged frame: {error}"),
            FrameError::TooMuch { at, left } => {
                write!(f, "damaged frame: {left} bytes behind the last field, which ends at byte {at}")
            }
            FrameError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FrameError {}

/// Writes the greeting.
///
/// # Errors
///
/// Writing failed.
pub fn write_greeting(out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let mut greeting = MAGIC.to_vec();
    greeting.extend_from_slice(&VERSION.to_le_bytes());
    greeting.extend_from_slice(&VERSION.to_le_bytes());
    out.write_all(&greeting)?;
    out.flush()
}

/// Reads the greeting of the other side.
///
/// # Errors
///
/// It is no greeting, it ends too early, or the versions have none in common.
pub fn read_greeting(input: &mut (impl Read + ?Sized)) -> Result<(), FrameError> {
    let mut greeting = Vec::new();
    // A login script may print less than a greeting and end: what it printed is worth showing.
    while greeting.len() < GREETING {
        let missing = GREETING.saturating_sub(greeting.len());
        let mut part = [0; GREETING];
        let part = part.get_mut(..missing).unwrap_or_default();
        let count = match input.read(part) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        greeting.extend_from_slice(part.get(..count).unwrap_or_default());
        let known = greeting.len().min(MAGIC.len());
        if count == 0 && greeting.is_empty() {
            return Err(FrameError::Closed);
        }
        if greeting.get(..known) != MAGIC.get(..known) {
            // The rest of the line, if it is there already, says more than its first letters.
            let mut more = [0; 80];
            if count == missing
                && let Ok(count) = input.read(&mut more)
            {
                greeting.extend_from_slice(more.get(..count).unwrap_or_default());
            }
            return Err(FrameError::NoGreeting(greeting));
        }
        if count == 0 {
            return Err(FrameError::Cut { needed: GREETING, found: greeting.len() });
        }
    }
    let number = |at: usize| {
        let bytes = greeting.get(at..).and_then(<[u8]>::first_chunk::<2>);
        bytes.map_or(0, |bytes| u16::from_le_bytes(*bytes))
    };
    let (lowest, highest) = (number(8), number(10));
    if (lowest..=highest).contains(&VERSION) { Ok(()) } else { Err(FrameError::Version { lowest, highest }) }
}

/// Writes one frame.
///
/// # Errors
///
/// Writing failed, or the body is longer than a frame may be.
pub fn write_frame(out: &mut (impl Write + ?Sized), body: &[u8]) -> Result<(), FrameError> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    if length > MOST_BYTES {
        return Err(FrameError::TooLong { length, longest: MOST_BYTES });
    }
    // The length by itself would be a message of its own, for which the other side wakes up.
    let (begin, rest) = body.split_at(body.len().min(TOGETHER));
    out.write_all(&[&length.to_le_bytes()[..], begin].concat())?;
    out.write_all(rest)?;
    Ok(out.flush()?)
}

/// Reads the body of one frame.
///
/// # Errors
///
/// The connection ended, or the frame is too long.
pub fn read_frame(input: &mut (impl Read + ?Sized)) -> Result<Vec<u8>, FrameError> {
    read_frame_of(input, MOST_BYTES)
}

/// Reads the body of one frame that has at most `longest` bytes.
///
/// # Errors
///
/// As [`read_frame`].
pub(crate) fn read_frame_of(input: &mut (impl Read + ?Sized), longest: u32) -> Result<Vec<u8>, FrameError> {
    let mut length = Vec::new();
    input.take(4).read_to_end(&mut length)?;
    let length = match length.first_chunk::<4>() {
        Some(length) => u32::from_le_bytes(*length),
        None if length.is_empty() => return Err(FrameError::Closed),
        None => return Err(FrameError::Cut { needed: 4, found: length.len() }),
    };
    if length > longest {
        return Err(FrameError::TooLong { length, longest });
    }
    let needed = usize::try_from(length).unwrap_or(usize::MAX);
    let mut body = Vec::with_capacity(needed.min(BELIEVED));
    input.take(length.into()).read_to_end(&mut body)?;
    if body.len() == needed { Ok(body) } else { Err(FrameError::Cut { needed, found: body.len() }) }
}

#[cfg(test)]
mod frames_tests;
