//! Counter paths such as `\\server\Processor(_Total)\% Processor Time`.
//!
//! ```text
//! \\machine\object(parent/instance#index)\counter
//! ```
//!
//! The machine is optional; only objects with instances have parentheses. The grammar has no escape
//! character, and real names contain every one of its special characters. These rules decide:
//!
//! * The instance begins at the first `(` of the object, unless that parenthesis belongs to the object's own
//!   name: its matching `)` is not directly followed by `\`, as in `WF (System.Workflow) 4.0.0.0(w3wp)`. No
//!   object name contains a backslash.
//! * The instance ends at the last `)\` of the path. Everything after it is the counter.
//! * Without an instance, the object ends at the next `\`.
//! * `#` and digits are an index only at the end of the instance, and only as a number without leading zeros.
//!   `#*` means all indexes.
//! * An object or counter that is a decimal number without leading zeros is a title index: `\238(_Total)\6`.
//!
//! An instance that contains `/` is ambiguous: `firefox/3` is thread 3 of firefox, and `/var/log` is a mount
//! point. The path keeps the text; [`InstancePath::candidates`] returns all readings to a caller that knows
//! the object.
//!
//! The parser accepts three more forms, which are never printed:
//!
//! * slashes, which shells leave alone: `//server/Processor(_Total)/% Processor Time`, `/Memory/Pages/sec`.
//!   Here the instance ends at the `)` that matches its `(`, and the counter may contain slashes;
//! * no first separator: `Processor(_Total)\% Processor Time`;
//! * one lost backslash: `\server\Memory\Available Bytes`, see [`Repair`].

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::text::fold;

/// A counter path, split into its parts.
///
/// Printing a path and parsing the text gives the same path, unless one of its names contains text that the
/// grammar reads differently; [`CounterPath::round_trips`] says so. A path parsed from a text with
/// backslashes always round-trips, and prints byte for byte as that text if nothing had to be added to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CounterPath {
    /// Name of the machine without backslashes; `None` for the machine of the query.
    pub machine: Option<String>,
    /// The object.
    pub object: Part,
    /// The instance; `None` for an object without instances.
    pub instance: Option<InstancePath>,
    /// The counter.
    pub counter: Part,
}

/// A parsed counter path, and the repair that its text needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedPath {
    /// The path.
    pub path: CounterPath,
    /// What was wrong with the text and was repaired. Worth a note to the user.
    pub repaired: Option<Repair>,
}

/// A repair in the text of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repair {
    /// One or both of the two backslashes before the machine are missing, but there are three parts. Shells
    /// remove one between double quotes; fish does so even between single quotes.
    LostBackslash,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repair::LostBackslash => f.write_str(
                "read as \\\\machine\\object\\counter; the shell took a backslash away: put the path in single \
                 quotes or write //machine/object/counter",
            ),
        }
    }
}

impl CounterPath {
    /// Parses a path in any of its forms, see the [module](self). White space before the path and line ends
    /// after it are ignored.
    ///
    /// ```
    /// use tallymon_core::path::{CounterPath, Part, Repair};
    ///
    /// let parsed = CounterPath::parse(r"\srv1\Processor(_Total)\% Processor Time")?;
    /// assert_eq!(parsed.repaired, Some(Repair::LostBackslash));
    /// assert_eq!(parsed.path.machine.as_deref(), Some("srv1"));
    /// assert_eq!(parsed.path.counter, Part::Name("% Processor Time".into()));
    /// assert_eq!(parsed.path.to_string(), r"\\srv1\Processor(_Total)\% Processor Time");
    /// # Ok::<(), tallymon_core::path::PathError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first part that is missing, empty or not closed, and its byte offset in `text`.
    pub fn parse(text: &str) -> Result<ParsedPath, PathError> {
        let trimmed = text.trim_start();
        let at = text.len().saturating_sub(trimmed.len());
        let trimmed = trimmed.trim_end_matches(['\r', '\n']);
        if trimmed.is_empty() {
            return Err(PathError { kind: PathErrorKind::NoPath, part: PathPart::Object, at });
        }
        let rest = Span { text: trimmed, at };
        for separator in [Separator::Backslash, Separator::Slash] {
            let Some(behind) = rest.strip(separator) else {
                continue;
            };
            let Some(behind) = behind.strip(separator) else {
                return parse_local(behind, separator);
            };
            return parse_remote(behind, separator);
        }
        parse_local(rest, Separator::of_shorthand(rest.text))
    }

    /// As [`CounterPath::parse`], and where the text breaks the grammar or would need a repair the first of
    /// its [alternatives](CounterPath::alternatives): only these have an instance without a name.
    ///
    /// ```
    /// use tallymon_core::path::CounterPath;
    ///
    /// assert!(CounterPath::parse(r"\Process()\ID Process").is_err());
    /// let path = CounterPath::of_text(r"\Process()\ID Process")?;
    /// assert_eq!(path.instance.unwrap().text(), "");
    /// # Ok::<(), tallymon_core::path::PathError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`CounterPath::parse`].
    pub fn of_text(text: &str) -> Result<CounterPath, PathError> {
        let parsed = CounterPath::parse(text);
        if let Ok(ParsedPath { path, repaired: None }) = parsed {
            return Ok(path);
        }
        // A backslash in the name of an instance may look like a lost one.
        CounterPath::alternatives(text).next().map_or_else(|| Ok(parsed?.path), Ok)
    }

    /// The other readings of a text with backslashes: the instance begins at any parenthesis and ends at the
    /// last `)\\`, and may be empty. A caller that knows the objects finds the one that is meant, because
    /// names of instances may look like the end of an object's name: `\\Object(k)l\\m)\\Counter`.
    ///
    /// ```
    /// use tallymon_core::path::CounterPath;
    ///
    /// let readings: Vec<_> = CounterPath::alternatives(r"\Process(w)(z)\ID Process").collect();
    /// assert_eq!(readings[0].object.name(), Some("Process"));
    /// assert_eq!(readings[0].instance.as_ref().unwrap().text(), "w)(z");
    /// assert_eq!(readings[1].object.name(), Some("Process(w)"));
    /// ```
    pub fn alternatives(text: &str) -> impl Iterator<Item = CounterPath> {
        let text = text.trim_start().trim_end_matches(['\r', '\n']);
        let (machine, body) = match text.strip_prefix("\\\\") {
            Some(remote) => remote.split_once('\\').map_or((None, ""), |(host, body)| (Some(host), body)),
            None => (None, text.strip_prefix('\\').unwrap_or(text)),
        };
        body.match_indices('(').map_while(move |(open, _)| {
            let (object, behind) = body.split_at_checked(open)?;
            // Names of objects contain no backslash.
            let inside = behind.get(1..).filter(|_| !object.is_empty() && !object.contains('\\'))?;
            let (instance, counter) = inside.rsplit_once(")\\")?;
            (!counter.is_empty()).then(|| CounterPath {
                machine: machine.map(str::to_owned),
                object: Part::parse(object),
                instance: Some(InstancePath::parse(instance)),
                counter: Part::parse(counter),
            })
        })
    }

    /// Whether any part of the path is a pattern, so that the path may match several counters.
    pub fn is_wild(&self) -> bool {
        self.object.is_wild()
            || self.counter.is_wild()
            || self.instance.as_ref().is_some_and(InstancePath::is_wild)
    }

    /// Whether parsing the printed path gives this path again.
    ///
    /// It does not if a part is empty, if the name of an object is a number, or if the text of an instance
    /// looks like the end of an object's name, such as `a)b(c`, among other cases.
    pub fn round_trips(&self) -> bool {
        CounterPath::parse(&self.to_string())
            .is_ok_and(|parsed| parsed.repaired.is_none() && parsed.path == *self)
    }
}

impl fmt::Display for CounterPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CounterPath { machine, object, instance, counter } = self;
        if let Some(machine) = machine {
            write!(f, "\\\\{machine}")?;
        }
        write!(f, "\\{object}")?;
        if let Some(instance) = instance {
            write!(f, "({instance})")?;
        }
        write!(f, "\\{counter}")
    }
}

impl FromStr for CounterPath {
    type Err = PathError;

    /// Parses a path like [`CounterPath::parse`], without reporting a repair.
    fn from_str(text: &str) -> Result<CounterPath, PathError> {
        CounterPath::parse(text).map(|parsed| parsed.path)
    }
}

/// The object or the counter of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// A name in any language, or a pattern with `*`.
    Name(String),
    /// A title index, the same in every language.
    Index(u32),
}

impl Part {
    /// Parses a part: a decimal number up to 4294967295 without leading zeros is an index, everything else a
    /// name.
    pub fn parse(text: &str) -> Part {
        parse_number(text).map_or_else(|| Part::Name(text.to_owned()), Part::Index)
    }

    /// The name or pattern.
    pub fn name(&self) -> Option<&str> {
        match self {
            Part::Name(name) => Some(name),
            Part::Index(_) => None,
        }
    }

    /// The title index.
    pub const fn index(&self) -> Option<u32> {
        match self {
            Part::Name(_) => None,
            Part::Index(index) => Some(*index),
        }
    }

    /// The matcher for names; `None` for an index.
    pub fn pattern(&self) -> Option<Pattern> {
        self.name().map(Pattern::new)
    }

    /// Whether it is a pattern.
    pub fn is_wild(&self) -> bool {
        self.name().is_some_and(|name| name.contains(WILDCARD))
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Part {
        Part::parse(text)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Name(name) => f.write_str(name),
            Part::Index(index) => index.fmt(f),
        }
    }
}

/// The instance of a path: the text between the parentheses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InstancePath {
    text: String,
    index: InstanceIndex,
}

/// Selects one of several instances with the same name (and the same parent name), counted in the order of
/// the data block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum InstanceIndex {
    /// Not written: the first instance, or all of them if the name is a pattern.
    #[default]
    Implied,
    /// `#n`, from 0.
    At(u32),
    /// `#*`.
    Any,
}

impl InstancePath {
    /// Parses the text between the parentheses.
    ///
    /// ```
    /// use tallymon_core::path::{InstanceIndex, InstancePath};
    ///
    /// let instance = InstancePath::parse("firefox/0#1");
    /// assert_eq!((instance.text(), instance.index()), ("firefox/0", InstanceIndex::At(1)));
    /// let instance = InstancePath::parse("C# compiler");
    /// assert_eq!((instance.text(), instance.index()), ("C# compiler", InstanceIndex::Implied));
    /// ```
    pub fn parse(text: &str) -> InstancePath {
        let (text, index) = match text.rsplit_once('#') {
            Some((name, "*")) if !name.is_empty() => (name, InstanceIndex::Any),
            Some((name, digits)) if !name.is_empty() => match parse_number(digits) {
                Some(index) => (name, InstanceIndex::At(index)),
                None => (text, InstanceIndex::Implied),
            },
            _ => (text, InstanceIndex::Implied),
        };
        InstancePath { text: text.to_owned(), index }
    }

    /// The path of an instance of a data block: its parent's name if it has a parent, its name, and the
    /// number of instances with the same names before it.
    ///
    /// `#0` is not printed, unless the name itself ends like an index.
    pub fn new(parent: Option<&str>, name: &str, index: u32) -> InstancePath {
        let text = match parent {
            Some(parent) => [parent, "/", name].concat(),
            None => name.to_owned(),
        };
        let ends_like_index = InstancePath::parse(&text).index != InstanceIndex::Implied;
        let index =
            if index == 0 && !ends_like_index { InstanceIndex::Implied } else { InstanceIndex::At(index) };
        InstancePath { text, index }
    }

    /// The text without the index, as written: a name, or a parent's name and a name, or patterns.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The index.
    pub const fn index(&self) -> InstanceIndex {
        self.index
    }

    /// Whether it may match several instances.
    pub fn is_wild(&self) -> bool {
        self.index == InstanceIndex::Any || self.text.contains(WILDCARD)
    }

    /// All readings as a parent's name and a name: first the whole text as a name, then a split at each `/`
    /// from left to right, with neither side empty.
    ///
    /// Use the first for an object whose instances have no parents, and the others for an object whose
    /// instances have parents.
    ///
    /// ```
    /// use tallymon_core::path::InstancePath;
    ///
    /// let instance = InstancePath::parse("kworker/0:1/17");
    /// let readings: Vec<_> = instance.candidates().collect();
    /// let split = [(None, "kworker/0:1/17"), (Some("kworker"), "0:1/17"), (Some("kworker/0:1"), "17")];
    /// assert_eq!(readings, split);
    /// ```
    pub fn candidates(&self) -> impl Iterator<Item = (Option<&str>, &str)> + Clone {
        let splits = self.text.match_indices(PARENT_END).filter_map(|(at, _)| {
            let (parent, name) = (self.text.get(..at)?, self.text.get(at.saturating_add(1)..)?);
            (!parent.is_empty() && !name.is_empty()).then_some((Some(parent), name))
        });
        core::iter::once((None, self.text.as_str())).chain(splits)
    }

    /// The matcher for the instances of a data block.
    pub fn pattern(&self) -> InstancePattern {
        InstancePattern { text: Pattern::new(&self.text), index: self.index }
    }
}

impl fmt::Display for InstancePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match self.index {
            InstanceIndex::Implied => Ok(()),
            InstanceIndex::At(index) => write!(f, "#{index}"),
            InstanceIndex::Any => f.write_str("#*"),
        }
    }
}

/// Compares the instances of an object with the instance of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstancePattern {
    text: Pattern,
    index: InstanceIndex,
}

impl InstancePattern {
    /// Whether the names of an instance match, whatever its index.
    ///
    /// An instance without a parent matches if the whole text matches its name. An instance with a parent
    /// matches if, split at one of its `/`, the text matches the parent's name and the name. A pattern
    /// without `/` is compared with `parent/name`, so `*` matches all instances, and `fire*` all instances
    /// whose parent's name begins with `fire`.
    pub fn matches(&self, parent: Option<&str>, name: &str) -> bool {
        let pattern = self.text.folded.as_slice();
        let Some(parent) = parent else {
            return glob(pattern, fold(name.chars()));
        };
        let mut any_split = false;
        let splits = pattern.iter().enumerate().filter(|(_, char)| **char == PARENT_END);
        for (at, _) in splits {
            let (Some(left), Some(right)) = (pattern.get(..at), pattern.get(at.saturating_add(1)..)) else {
                continue;
            };
            if left.is_empty() || right.is_empty() {
                continue;
            }
            any_split = true;
            if glob(left, fold(parent.chars())) && glob(right, fold(name.chars())) {
                return true;
            }
        }
        !any_split && glob(pattern, fold(parent.chars().chain([PARENT_END]).chain(name.chars())))
    }

    /// Whether the index of an instance matches: the number of instances with the same names before it.
    pub fn matches_index(&self, index: u32) -> bool {
        match self.index {
            InstanceIndex::Implied => index == 0 || !self.text.is_literal(),
            InstanceIndex::At(wanted) => index == wanted,
            InstanceIndex::Any => true,
        }
    }
}

/// A name, or a pattern in which each `*` matches any text, including none. Matching ignores case. There is
/// no other special character.
///
/// ```
/// use tallymon_core::path::Pattern;
///
/// let pattern = Pattern::new("svc*");
/// assert!(pattern.matches("SvcHost") && !pattern.matches("lsass"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The case-folded pattern.
    folded: Vec<char>,
}

impl Pattern {
    /// Creates a matcher; every text is a valid pattern.
    pub fn new(text: &str) -> Pattern {
        Pattern { folded: fold(text.chars()).collect() }
    }

    /// Whether it has no `*`, so that it matches only one name.
    pub fn is_literal(&self) -> bool {
        !self.folded.contains(&WILDCARD)
    }

    /// Whether the pattern matches the whole of `text`.
    ///
    /// Takes time proportional to the product of both lengths at worst, and to about their sum for real
    /// names.
    pub fn matches(&self, text: &str) -> bool {
        glob(&self.folded, fold(text.chars()))
    }
}

const WILDCARD: char = '*';
const PARENT_END: char = '/';

/// Whether `pattern` matches `text`, both folded.
///
/// Only the last `*` seen ever needs to match more: whatever an earlier one could leave to it, it can match
/// itself. So nothing is tried twice from the same star, and there is no exponential case.
fn glob(pattern: &[char], mut text: impl Iterator<Item = char> + Clone) -> bool {
    let mut at = 0usize;
    // The position after the last star, and the text from which the rest was last tried.
    let mut star = None;
    loop {
        if pattern.get(at) == Some(&WILDCARD) {
            at = at.saturating_add(1);
            if at == pattern.len() {
                return true;
            }
            star = Some((at, text.clone()));
            continue;
        }
        let char = text.next();
        if char.is_none() && at == pattern.len() {
            return true;
        }
        if char.is_some() && pattern.get(at) == char.as_ref() {
            at = at.saturating_add(1);
            continue;
        }
        // The star matches one more character; if there is none left, no match is possible.
        let (Some((behind, from)), Some(_)) = (&mut star, char) else {
            return false;
        };
        from.next();
        (at, text) = (*behind, from.clone());
    }
}

/// A text that is not a counter path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathError {
    /// What is wrong.
    pub kind: PathErrorKind,
    /// The faulty part.
    pub part: PathPart,
    /// Byte offset at which the part begins or should begin: always on a character boundary, at most the end
    /// of the text.
    pub at: usize,
}

/// What is wrong at the offset of a [`PathError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PathErrorKind {
    /// The text is empty.
    NoPath,
    /// A separator and the part are missing: the text ends, or something else follows a closing parenthesis.
    Missing,
    /// The name of the part is empty.
    Empty,
    /// The parenthesis at this offset has no closing parenthesis followed by a separator.
    NotClosed,
}

/// The parts of a counter path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathPart {
    /// The machine.
    Machine,
    /// The object.
    Object,
    /// The instance.
    Instance,
    /// The counter.
    Counter,
}

impl fmt::Display for PathPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathPart::Machine => "machine",
            PathPart::Object => "object",
            PathPart::Instance => "instance",
            PathPart::Counter => "counter",
        })
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PathError { kind, part, at } = self;
        write!(f, "counter path at byte {at}: ")?;
        match kind {
            PathErrorKind::NoPath => f.write_str("\\object\\counter needed, found nothing"),
            PathErrorKind::Missing => write!(f, "a separator and the {part} needed"),
            PathErrorKind::Empty => write!(f, "the name of the {part} needed, found nothing"),
            PathErrorKind::NotClosed => {
                write!(f, "the parenthesis of the {part} is not closed, or no separator follows")
            }
        }
    }
}

impl core::error::Error for PathError {}

/// Parses `machine\object(instance)\counter`.
fn parse_remote(text: Span<'_>, separator: Separator) -> Result<ParsedPath, PathError> {
    let Some(end) = text.text.find(separator.char()) else {
        return Err(match text.text {
            "" => text.error(PathErrorKind::Empty, PathPart::Machine, 0),
            machine => text.error(PathErrorKind::Missing, PathPart::Object, machine.len()),
        });
    };
    let machine = text.part(0, end).named(PathPart::Machine)?;
    let path = text.from(end.saturating_add(1)).body(separator)?.into_path(Some(machine))?;
    Ok(ParsedPath { path, repaired: None })
}

/// Parses `object(instance)\counter`, or `machine\object(instance)\counter` that has lost the backslashes
/// before it.
fn parse_local(text: Span<'_>, separator: Separator) -> Result<ParsedPath, PathError> {
    let body = text.body(separator)?;
    // Counter names contain no backslash, so a second one means that the first part is a machine. The counter
    // of an object with an instance is left alone, because the text before it is certainly an object.
    let lost =
        separator == Separator::Backslash && body.instance.is_none() && body.counter.text.contains('\\');
    if lost && !body.object.text.is_empty() {
        let path = body.counter.body(separator)?.into_path(Some(body.object))?;
        return Ok(ParsedPath { path, repaired: Some(Repair::LostBackslash) });
    }
    Ok(ParsedPath { path: body.into_path(None)?, repaired: None })
}

/// The separator between the parts of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Backslash,
    Slash,
}

impl Separator {
    const fn char(self) -> char {
        match self {
            Separator::Backslash => '\\',
            Separator::Slash => '/',
        }
    }

    const fn byte(self) -> u8 {
        match self {
            Separator::Backslash => b'\\',
            Separator::Slash => b'/',
        }
    }

    /// The text that ends an instance.
    const fn closing(self) -> &'static str {
        match self {
            Separator::Backslash => ")\\",
            Separator::Slash => ")/",
        }
    }

    /// The separator of a path that does not start with one: the first separator outside parentheses, since
    /// instances contain both kinds.
    fn of_shorthand(text: &str) -> Separator {
        match text.find(['\\', '/', '(']).map(|at| text.as_bytes().get(at)) {
            Some(Some(b'(')) if text.contains(")\\") => Separator::Backslash,
            Some(Some(b'(')) if text.contains(")/") => Separator::Slash,
            Some(Some(b'/')) => Separator::Slash,
            _ => Separator::Backslash,
        }
    }
}

/// A piece of a path's text, with its byte offset.
#[derive(Debug, Clone, Copy)]
struct Span<'a> {
    text: &'a str,
    at: usize,
}

/// The parts of a path after the machine.
#[derive(Debug, Clone, Copy)]
struct Body<'a> {
    object: Span<'a>,
    instance: Option<Span<'a>>,
    counter: Span<'a>,
}

impl<'a> Span<'a> {
    fn strip(self, separator: Separator) -> Option<Span<'a>> {
        let text = self.text.strip_prefix(separator.char())?;
        Some(Span { text, at: self.at.saturating_add(1) })
    }

    /// The piece from `start` to `end`, which both come from a search for ASCII characters in this piece.
    fn part(self, start: usize, end: usize) -> Span<'a> {
        Span { text: self.text.get(start..end).unwrap_or_default(), at: self.at.saturating_add(start) }
    }

    fn from(self, start: usize) -> Span<'a> {
        self.part(start, self.text.len())
    }

    fn error(self, kind: PathErrorKind, part: PathPart, at: usize) -> PathError {
        PathError { kind, part, at: self.at.saturating_add(at) }
    }

    fn named(self, part: PathPart) -> Result<Span<'a>, PathError> {
        if self.text.is_empty() { Err(self.error(PathErrorKind::Empty, part, 0)) } else { Ok(self) }
    }

    /// Splits `object(instance)\counter`.
    fn body(self, separator: Separator) -> Result<Body<'a>, PathError> {
        match object_end(self.text.as_bytes(), separator.byte()) {
            ObjectEnd::Separator(at) => Ok(Body {
                object: self.part(0, at),
                instance: None,
                counter: self.from(at.saturating_add(1)),
            }),
            ObjectEnd::Parenthesis { open, matching } => {
                let start = open.saturating_add(1);
                let inside = self.from(start);
                let end = match (separator, matching) {
                    // With slashes, a counter may contain text that looks like the end of an instance: `...
                    // (Total)/sec`.
                    (Separator::Slash, Some(end)) => Some(end),
                    (Separator::Slash, None) => {
                        inside.text.find(separator.closing()).map(|end| start.saturating_add(end))
                    }
                    (Separator::Backslash, _) => {
                        inside.text.rfind(separator.closing()).map(|end| start.saturating_add(end))
                    }
                };
                let Some(end) = end else {
                    return Err(self.not_closed(open));
                };
                Ok(Body {
                    object: self.part(0, open),
                    instance: Some(self.part(start, end)),
                    counter: self.from(end.saturating_add(2)),
                })
            }
            ObjectEnd::Missing(at) if self.text.is_empty() => {
                Err(self.error(PathErrorKind::Empty, PathPart::Object, at))
            }
            ObjectEnd::Missing(at) => Err(self.error(PathErrorKind::Missing, PathPart::Counter, at)),
        }
    }

    /// The error for an instance that does not end. If the last character is a closing parenthesis, only the
    /// counter is missing.
    fn not_closed(self, open: usize) -> PathError {
        match self.text.strip_suffix(')') {
            Some(before) if before.len() > open => {
                self.error(PathErrorKind::Missing, PathPart::Counter, self.text.len())
            }
            _ => self.error(PathErrorKind::NotClosed, PathPart::Instance, open),
        }
    }
}

impl Body<'_> {
    fn into_path(self, machine: Option<Span<'_>>) -> Result<CounterPath, PathError> {
        let object = self.object.named(PathPart::Object)?;
        let instance = self.instance.map(|instance| instance.named(PathPart::Instance)).transpose()?;
        let counter = self.counter.named(PathPart::Counter)?;
        Ok(CounterPath {
            machine: machine.map(|machine| machine.text.to_owned()),
            object: Part::parse(object.text),
            instance: instance.map(|instance| InstancePath::parse(instance.text)),
            counter: Part::parse(counter.text),
        })
    }
}

/// What ends the name of an object.
enum ObjectEnd {
    /// A separator.
    Separator(usize),
    /// The parenthesis that opens the instance, and the matching one if a separator follows it.
    Parenthesis { open: usize, matching: Option<usize> },
    /// Neither; the counter should be at this offset.
    Missing(usize),
}

fn object_end(body: &[u8], separator: u8) -> ObjectEnd {
    let mut at = 0usize;
    // The first parenthesis that was taken for part of the name, and the offset after its match.
    let mut first: Option<(usize, usize)> = None;
    while let Some(byte) = body.get(at) {
        if *byte == separator {
            // An unmatched closing parenthesis and a separator: what was taken for the name was the instance.
            return match first {
                Some((open, _)) if at.checked_sub(1).and_then(|before| body.get(before)) == Some(&b')') => {
                    ObjectEnd::Parenthesis { open, matching: None }
                }
                _ => ObjectEnd::Separator(at),
            };
        }
        if *byte != b'(' {
            at = at.saturating_add(1);
            continue;
        }
        let matching = matching_parenthesis(body, at, separator);
        let behind = matching.map(|matching| matching.saturating_add(1));
        match (matching, behind, behind.and_then(|behind| body.get(behind))) {
            (Some(_), _, Some(byte)) if *byte == separator => {
                return ObjectEnd::Parenthesis { open: at, matching };
            }
            (Some(_), Some(behind), _) => {
                first.get_or_insert((at, behind));
                at = behind;
            }
            _ => {
                return ObjectEnd::Parenthesis { open: at, matching: None };
            }
        }
    }
    ObjectEnd::Missing(first.map_or(body.len(), |(_, behind)| behind))
}

/// The parenthesis that matches the one at `open`. `None` if a separator comes first, except after a closing
/// parenthesis: object names contain no separators.
fn matching_parenthesis(body: &[u8], open: usize, separator: u8) -> Option<usize> {
    let mut depth = 0usize;
    let mut crossed = false;
    for (at, byte) in body.iter().enumerate().skip(open) {
        match byte {
            b'(' => depth = depth.saturating_add(1),
            b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let ends = body.get(at.saturating_add(1)) == Some(&separator);
                    return (ends || !crossed).then_some(at);
                }
            }
            _ => crossed |= *byte == separator,
        }
    }
    None
}

/// Parses a decimal number as printed: without a sign and leading zeros.
fn parse_number(text: &str) -> Option<u32> {
    let canonical = text == "0" || (!text.starts_with(['0', '+']) && text.len() <= 10);
    text.parse().ok().filter(|_| canonical)
}
