//! The messages between a reader and the child process that has loaded a provider library.
//!
//! Each message is one packet of a socket that keeps packets apart, so a message can neither run into the
//! next nor end in the middle. Everything from the child is read as if an enemy had written it.
//! `docs/formats/child.md` draws the bytes.

use std::fmt;

use super::check::{Guards, Returned};

/// First bytes of every message: `TLYC`.
pub const MAGIC: u32 = u32::from_le_bytes(*b"TLYC");
/// The version that both sides must have; they are installed together.
pub const VERSION: u16 = 4;
/// No message is longer than this in bytes.
pub const LONGEST: usize = 128 << 10;

/// A message from the reader to the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Load a library and call its Open.
    Load(Load),
    /// Call Collect with this query string, in UTF-16 without its end.
    Collect(Vec<u16>),
    /// Call Collect with this query string, and with what others answered in its buffer: so many bytes of
    /// objects, which are in the shared memory.
    Wrap {
        /// The query string, in UTF-16 without its end.
        query: Vec<u16>,
        /// Length of the objects in bytes.
        bytes: u32,
        /// Number of the objects.
        objects: u32,
    },
    /// Call Close, unload the library and end.
    Close,
}

/// Which library, and which functions in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Load {
    /// Path of the library, or a name for the system's loader to look up.
    pub library: String,
    /// Name of the function that is called first.
    pub open: String,
    /// Name of the function that writes the data.
    pub collect: String,
    /// Name of the function that is called last.
    pub close: String,
    /// The argument of Open, in UTF-16 with all its terminators; `None` for NULL.
    pub context: Option<Vec<u16>>,
}

/// A message from the child to the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// How loading and Open went.
    Loaded(Loaded),
    /// What Collect returned. The bytes are in the shared memory.
    Collected {
        /// For the checks.
        returned: Returned,
        /// How often Collect was called until its buffer was large enough.
        calls: u32,
        /// How long that took, in nanoseconds.
        nanoseconds: u64,
    },
    /// What Close returned.
    Closed(u32),
}

/// How loading a library went.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loaded {
    /// How far it came.
    pub stage: Stage,
    /// The error as an NT number: the result of Open, or 126 and 127 for a missing library or function.
    pub error: u32,
    /// The message of the system's loader.
    pub detail: String,
    /// What protects the reader against the library.
    pub protections: Protections,
    /// The number of its process as the file system `/proc` shows it; 0 where that is unknown.
    pub process: u32,
}

/// What protects a reader against a library's process, beside that it is a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Protections(u32);

impl Protections {
    /// It cannot gain rights by executing a program.
    pub const NO_NEW_PRIVS: Protections = Protections(1);
    /// It runs as a user of its own.
    pub const OWN_USER: Protections = Protections(2);
    /// It has a user namespace: it cannot trace the reader although both have the same user.
    pub const USER_NAMESPACE: Protections = Protections(4);
    /// It has a PID namespace: it cannot name other processes, and all that it forks ends with it.
    pub const PID_NAMESPACE: Protections = Protections(8);
    /// Landlock: it changes no files outside of temporary folders, and cannot trace the reader.
    pub const LANDLOCK: Protections = Protections(16);
    /// Landlock since version 6: it sends no signals to others.
    pub const SIGNAL_SCOPE: Protections = Protections(32);
    /// Seccomp: system calls that change other processes or the machine fail.
    pub const SECCOMP: Protections = Protections(64);

    /// The supervisor sees what is refused, and the reader reports it.
    pub const REPORTS: Protections = Protections(128);

    const WORDS: [(Protections, &'static str); 8] = [
        (Protections::NO_NEW_PRIVS, "no new rights"),
        (Protections::OWN_USER, "own user"),
        (Protections::USER_NAMESPACE, "user namespace"),
        (Protections::PID_NAMESPACE, "PID namespace"),
        (Protections::LANDLOCK, "Landlock"),
        (Protections::SIGNAL_SCOPE, "Landlock for signals"),
        (Protections::SECCOMP, "seccomp"),
        (Protections::REPORTS, "events for what is refused"),
    ];

    /// Adds another one.
    pub const fn add(&mut self, other: Protections) {
        self.0 |= other.0;
    }

    /// Whether all of `other` are active.
    pub const fn has(self, other: Protections) -> bool {
        self.0 & other.0 == other.0
    }

    /// The active ones in words.
    pub fn words(self) -> Vec<&'static str> {
        let active = Protections::WORDS.into_iter().filter(|(one, _)| self.has(*one));
        active.map(|(_, words)| words).collect()
    }

    /// Those that are not active, in words. One of own user and user namespace is enough.
    pub fn missing(self) -> Vec<&'static str> {
        let either = [Protections::OWN_USER, Protections::USER_NAMESPACE];
        let has_either = either.into_iter().any(|one| self.has(one));
        let replaced = |one: &Protections| has_either && either.contains(one);
        let missing = Protections::WORDS
            .into_iter()
            .filter(|(one, _)| !self.has(*one))
            .filter(|(one, _)| !replaced(one));
        missing.map(|(_, words)| words).collect()
    }
}

/// How far loading a library came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// Everything is there, and Open returned success.
    #[default]
    Open,
    /// The library could not be loaded.
    Library,
    /// It has no function for Open.
    NoOpen,
    /// It has no function for Collect.
    NoCollect,
    /// It has no function for Close.
    NoClose,
    /// Open returned an error.
    OpenFailed,
}

impl Stage {
    const ALL: [Stage; 6] =
        [Stage::Open, Stage::Library, Stage::NoOpen, Stage::NoCollect, Stage::NoClose, Stage::OpenFailed];

    const fn number(self) -> u32 {
        match self {
            Stage::Open => 0,
            Stage::Library => 1,
            Stage::NoOpen => 2,
            Stage::NoCollect => 3,
            Stage::NoClose => 4,
            Stage::OpenFailed => 5,
        }
    }
}

/// A message that is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// The field.
    pub what: &'static str,
    /// Byte offset of the field in the message.
    pub at: usize,
    /// What the protocol requires there.
    pub needed: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message of the child process, {} at byte {}: {} needed", self.what, self.at, self.needed)
    }
}

impl std::error::Error for Malformed {}

mod kind {
    pub(super) const LOAD: u16 = 1;
    pub(super) const COLLECT: u16 = 2;
    pub(super) const CLOSE: u16 = 3;
    pub(super) const WRAP: u16 = 4;
    pub(super) const LOADED: u16 = 17;
    pub(super) const COLLECTED: u16 = 18;
    pub(super) const CLOSED: u16 = 19;
}

impl Request {
    /// The message for this, which is answered under the same number.
    pub fn to_bytes(&self, number: u64) -> Vec<u8> {
        match self {
            Request::Load(load) => {
                let mut out = head(kind::LOAD, number);
                out.extend_from_slice(&u32::from(load.context.is_some()).to_le_bytes());
                for text in [&load.library, &load.open, &load.collect, &load.close] {
                    put_bytes(&mut out, text.as_bytes());
                }
                put_bytes(&mut out, &wide_bytes(load.context.as_deref().unwrap_or_default()));
                out
            }
            Request::Collect(query) => {
                let mut out = head(kind::COLLECT, number);
                out.extend_from_slice(&wide_bytes(query));
                out
            }
            Request::Wrap { query, bytes, objects } => {
                let mut out = head(kind::WRAP, number);
                out.extend_from_slice(&bytes.to_le_bytes());
                out.extend_from_slice(&objects.to_le_bytes());
                out.extend_from_slice(&wide_bytes(query));
                out
            }
            Request::Close => head(kind::CLOSE, number),
        }
    }

    /// Reads a message and its number.
    ///
    /// # Errors
    ///
    /// The message is too short or too long, or has an unknown magic number, version or kind.
    pub fn from_bytes(bytes: &[u8]) -> Result<(u64, Request), Malformed> {
        let (mut fields, kind, number) = Fields::start(bytes)?;
        let request = match kind {
            kind::LOAD => {
                let has_context = fields.u32("flags")? != 0;
                let mut load = Load {
                    library: fields.text("library")?,
                    open: fields.text("open")?,
                    collect: fields.text("collect")?,
                    close: fields.text("close")?,
                    context: None,
                };
                let context = wide(fields.bytes("context")?);
                load.context = has_context.then_some(context);
                Request::Load(load)
            }
            kind::COLLECT => Request::Collect(wide(fields.rest())),
            kind::WRAP => {
                let (bytes, objects) = (fields.u32("bytes")?, fields.u32("objects")?);
                Request::Wrap { query: wide(fields.rest()), bytes, objects }
            }
            kind::CLOSE => Request::Close,
            _ => return Err(fields.malformed("kind", "1, 2, 3 or 4")),
        };
        fields.end()?;
        Ok((number, request))
    }
}

impl Answer {
    /// The bytes of this answer, with the number of the request that it answers.
    pub fn to_bytes(&self, number: u64) -> Vec<u8> {
        match self {
            Answer::Loaded(loaded) => {
                let mut out = head(kind::LOADED, number);
                out.extend_from_slice(&loaded.stage.number().to_le_bytes());
                out.extend_from_slice(&loaded.error.to_le_bytes());
                out.extend_from_slice(&loaded.protections.0.to_le_bytes());
                out.extend_from_slice(&loaded.process.to_le_bytes());
                put_bytes(&mut out, loaded.detail.as_bytes());
                out
            }
            Answer::Collected { returned, calls, nanoseconds } => {
                let mut out = head(kind::COLLECTED, number);
                let guards = u32::from(returned.guards.before) | u32::from(returned.guards.behind) << 1;
                out.extend_from_slice(&returned.moved.to_le_bytes());
                out.extend_from_slice(&nanoseconds.to_le_bytes());
                let Returned { status, bytes, objects, capacity, .. } = *returned;
                for number in [status, bytes, objects, capacity, guards, *calls] {
                    out.extend_from_slice(&number.to_le_bytes());
                }
                out
            }
            Answer::Closed(status) => {
                let mut out = head(kind::CLOSED, number);
                out.extend_from_slice(&status.to_le_bytes());
                out
            }
        }
    }

    /// Reads a message and its number.
    ///
    /// # Errors
    ///
    /// The message is too short or too long, or has an unknown magic number, version, kind or stage.
    pub fn from_bytes(bytes: &[u8]) -> Result<(u64, Answer), Malformed> {
        let (mut fields, kind, number) = Fields::start(bytes)?;
        let answer = match kind {
            kind::LOADED => {
                let stage = fields.u32("stage")?;
                let stage = Stage::ALL.into_iter().find(|known| known.number() == stage);
                let stage = stage.ok_or(fields.malformed("stage", "0 to 5"))?;
                let (error, protections) = (fields.u32("error")?, Protections(fields.u32("protections")?));
                let (process, detail) = (fields.u32("process")?, fields.text("detail")?);
                Answer::Loaded(Loaded { stage, error, detail, protections, process })
            }
            kind::COLLECTED => {
                let moved = fields.u64("moved")?.cast_signed();
                let nanoseconds = fields.u64("nanoseconds")?;
                let (status, bytes) = (fields.u32("status")?, fields.u32("bytes")?);
                let (objects, capacity) = (fields.u32("objects")?, fields.u32("capacity")?);
                let guards = fields.u32("guards")?;
                let guards = Guards { before: guards & 1 != 0, behind: guards & 2 != 0 };
                let returned = Returned { status, moved, bytes, objects, capacity, guards };
                Answer::Collected { returned, calls: fields.u32("calls")?, nanoseconds }
            }
            kind::CLOSED => Answer::Closed(fields.u32("status")?),
            _ => return Err(fields.malformed("kind", "17, 18 or 19")),
        };
        fields.end()?;
        Ok((number, answer))
    }
}

/// The UTF-16 units of a text.
pub fn wide_of(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn head(kind: u16, number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    // A text of 4 GiB is longer than any message, and refused when the message is.
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn wide_bytes(units: &[u16]) -> Vec<u8> {
    units.iter().flat_map(|unit| unit.to_le_bytes()).collect()
}

fn wide(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks_exact(2).filter_map(|pair| pair.first_chunk().copied().map(u16::from_le_bytes)).collect()
}

/// The fields of a message, read one after the other.
struct Fields<'a> {
    left: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn start(bytes: &'a [u8]) -> Result<(Fields<'a>, u16, u64), Malformed> {
        let mut fields = Fields { left: bytes, at: 0 };
        if fields.u32("magic")? != MAGIC {
            return Err(Malformed { what: "magic", at: 0, needed: "TLYC" });
        }
        let (version, kind) = (fields.u16("version")?, fields.u16("kind")?);
        if version != VERSION {
            return Err(Malformed { what: "version", at: 4, needed: "3, the version of this program" });
        }
        let number = fields.u64("number")?;
        Ok((fields, kind, number))
    }

    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let Some((array, left)) = self.left.split_first_chunk::<N>() else {
            return Err(self.malformed(what, "more bytes"));
        };
        self.left = left;
        self.at = self.at.saturating_add(N);
        Ok(*array)
    }

    fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        self.take(what).map(u16::from_le_bytes)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        self.take(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        self.take(what).map(u64::from_le_bytes)
    }

    fn bytes(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.u32(what)?).unwrap_or(usize::MAX);
        let Some((bytes, left)) = self.left.split_at_checked(length) else {
            return Err(self.malformed(what, "as many bytes as its length says"));
        };
        self.left = left;
        self.at = self.at.saturating_add(length);
        Ok(bytes)
    }

    /// A text. Bytes that are not UTF-8 are replaced, because the text is only shown.
    fn text(&mut self, what: &'static str) -> Result<String, Malformed> {
        self.bytes(what).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    fn rest(&mut self) -> &'a [u8] {
        self.at = self.at.saturating_add(self.left.len());
        std::mem::take(&mut self.left)
    }

    fn end(&self) -> Result<(), Malformed> {
        if self.left.is_empty() { Ok(()) } else { Err(self.malformed("end", "no more bytes")) }
    }

    const fn malformed(&self, what: &'static str, needed: &'static str) -> Malformed {
        Malformed { what, at: self.at, needed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Vec<Request> {
        let load = Load {
            library: "/usr/lib/libmy.so".into(),
            open: "Open".into(),
            collect: "Сбор".into(),
            close: "Close".into(),
            context: Some(vec![65, 0, 0]),
        };
        let without = Load { context: None, ..load.clone() };
        let wrap = Request::Wrap { query: wide_of("2"), bytes: 408, objects: 1 };
        vec![
            Request::Load(load),
            Request::Load(without),
            Request::Collect(wide_of("Global")),
            wrap,
            Request::Close,
        ]
    }

    fn answers() -> Vec<Answer> {
        let guards = Guards { before: true, behind: false };
        let returned = Returned { status: 1, moved: -8, bytes: 2, objects: 3, capacity: 4, guards };
        let stages = Stage::ALL.map(|stage| {
            Answer::Loaded(Loaded {
                stage,
                error: 126,
                detail: "no".into(),
                protections: Protections(5),
                process: 77,
            })
        });
        let mut answers = vec![Answer::Collected { returned, calls: 5, nanoseconds: 6 }, Answer::Closed(7)];
        answers.extend(stages);
        answers
    }

    #[test]
    fn messages_go_round() {
        for request in requests() {
            assert_eq!(Request::from_bytes(&request.to_bytes(9)), Ok((9, request)));
        }
        for answer in answers() {
            assert_eq!(Answer::from_bytes(&answer.to_bytes(u64::MAX)), Ok((u64::MAX, answer)));
        }
    }

    #[test]
    fn protections_in_words() {
        let mut some = Protections::NO_NEW_PRIVS;
        some.add(Protections::OWN_USER);
        assert_eq!(some.words(), ["no new rights", "own user"]);
        assert_eq!(
            some.missing(),
            ["PID namespace", "Landlock", "Landlock for signals", "seccomp", "events for what is refused"]
        );
        assert!(Protections::default().missing().len() == 8 && Protections::default().words().is_empty());
    }

    #[test]
    fn cut_and_long_messages_are_refused() {
        for answer in answers() {
            let mut bytes = answer.to_bytes(1);
            for length in 0..bytes.len() {
                assert!(Answer::from_bytes(&bytes[..length]).is_err(), "{answer:?} of {length} bytes");
            }
            bytes.push(0);
            assert_eq!(Answer::from_bytes(&bytes).unwrap_err().what, "end");
        }
        let mut other = Answer::Closed(0).to_bytes(1);
        other[4] = 1;
        assert_eq!(Answer::from_bytes(&other).unwrap_err().what, "version");
        other[0] = 0;
        assert_eq!(Answer::from_bytes(&other).unwrap_err().what, "magic");
        assert_eq!(Answer::from_bytes(&Request::Close.to_bytes(1)).unwrap_err().what, "kind");
        // A length that promises 4 GiB.
        let mut long = Answer::Loaded(Loaded::default()).to_bytes(1);
        let at = long.len() - 4;
        long[at..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Answer::from_bytes(&long).unwrap_err().what, "detail");
    }
}
