//! Query strings: what a performance query requests.
//!
//! On Windows these are the value names of `HKEY_PERFORMANCE_DATA`. Every text is a query; the answer to a
//! meaningless one is a data block without objects.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::title::{Language, TitleIndex};

/// A parsed query string, and the counters of the answer that the caller will read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The meaning of the query string.
    pub kind: RequestKind,
    /// Which counters of the answer the caller will read. Not part of the query string.
    pub interest: Interest,
}

/// What a query string requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RequestKind {
    /// `Global`, or an empty text: all objects except costly ones.
    #[default]
    Global,
    /// `Costly`: the objects that are expensive to collect.
    Costly,
    /// `230 232`: the objects with these names, in the requested order. The answer may have others too.
    Objects(Vec<TitleIndex>),
    /// `Counter`, `Counter 012`: the name table of a language; English if none is given.
    Names(Option<Language>),
    /// `Help`, `Help 012`, or the old word `Explain`: the help table of a language; English if none is given.
    Help(Option<Language>),
    /// `Foreign host`, `Foreign host 230`: objects of another machine that this one can reach.
    Foreign {
        /// Name of the machine, without blanks.
        host: String,
        /// The objects; all objects if the list is empty.
        objects: Vec<TitleIndex>,
    },
    /// `OLD_Global`: all objects of version 1 providers, except costly ones.
    OldGlobal,
    /// `MetadataGlobal`, `OLD_MetadataGlobal`, `MetadataCostly`, `OLD_MetadataCostly`: definitions without
    /// instances and values.
    Metadata {
        /// The costly objects instead of the others.
        costly: bool,
        /// Only version 1 providers.
        old: bool,
    },
    /// Any other text, without surrounding blanks. Its answer has no objects.
    Unknown(String),
}

impl Request {
    /// Parses a query string.
    ///
    /// Words are separated by blanks; case and a terminating NUL are ignored. A query that starts with a
    /// number is a list of objects. Words in such a list that are not a number from 1 to 4294967295 are
    /// dropped, because no object can have them. If no word is left, the list is empty and so is the answer;
    /// it never becomes a request for everything.
    ///
    /// ```
    /// use tallymon_core::request::{Request, RequestKind};
    /// use tallymon_core::title::TitleIndex;
    ///
    /// let request = Request::parse(" 230  232");
    /// assert_eq!(request.kind, RequestKind::Objects(vec![TitleIndex(230), TitleIndex(232)]));
    /// assert_eq!(request.to_string(), "230 232");
    /// assert_eq!(Request::parse("ABCD").kind, RequestKind::Unknown("ABCD".into()));
    /// ```
    pub fn parse(text: &str) -> Request {
        let text = text.trim_matches(|char: char| char == '\0' || char.is_whitespace());
        RequestKind::parse(text).unwrap_or_else(|| RequestKind::Unknown(text.to_owned())).into()
    }

    /// A request for all objects except costly ones.
    pub const fn global() -> Request {
        Request { kind: RequestKind::Global, interest: Interest::everything() }
    }

    /// A request for these objects.
    pub fn objects(objects: impl IntoIterator<Item = TitleIndex>) -> Request {
        RequestKind::Objects(objects.into_iter().collect()).into()
    }

    /// The same request from a caller that will read only these counters.
    pub fn with_interest(self, interest: Interest) -> Request {
        Request { interest, ..self }
    }

    /// One request whose answer contains the answers to both requests; `None` if no single query string means
    /// both, such as `Global` together with `Costly`.
    ///
    /// ```
    /// use tallymon_core::request::Request;
    ///
    /// let both = Request::parse("230 238").union(&Request::parse("238 2")).unwrap();
    /// assert_eq!(both.to_string(), "230 238 2");
    /// assert!(Request::global().union(&both).is_none());
    /// ```
    pub fn union(&self, other: &Request) -> Option<Request> {
        let kind = match (&self.kind, &other.kind) {
            // An empty list requests nothing, even if its interest is everything.
            (RequestKind::Objects(own), RequestKind::Objects(_)) if own.is_empty() => {
                return Some(other.clone());
            }
            (RequestKind::Objects(_), RequestKind::Objects(others)) if others.is_empty() => {
                return Some(self.clone());
            }
            (RequestKind::Objects(own), RequestKind::Objects(others)) => {
                RequestKind::Objects(merged(own, others))
            }
            (
                RequestKind::Foreign { host, objects: own },
                RequestKind::Foreign { host: other_host, objects: others },
            ) if host.eq_ignore_ascii_case(other_host) => {
                // No objects means all of them.
                let all = own.is_empty() || others.is_empty();
                let objects = if all { Vec::new() } else { merged(own, others) };
                RequestKind::Foreign { host: host.clone(), objects }
            }
            (own, others) if own == others => own.clone(),
            _ => return None,
        };
        let interest = match (self.limited_interest(), other.limited_interest()) {
            (Some(own), Some(others)) => own.union(&others),
            _ => Interest::everything(),
        };
        Some(Request { kind, interest })
    }

    /// Whether the answer to this request contains the answer to `other`.
    ///
    /// This compares only the requests. Only the source knows which objects `Global` has, so `Global` covers
    /// no list of objects.
    pub fn covers(&self, other: &Request) -> bool {
        let has_all = |own: &[TitleIndex], others: &[TitleIndex]| others.iter().all(|one| own.contains(one));
        let has_objects = match (&self.kind, &other.kind) {
            (RequestKind::Objects(_), RequestKind::Objects(others)) if others.is_empty() => return true,
            (RequestKind::Objects(own), RequestKind::Objects(others)) => has_all(own, others),
            (
                RequestKind::Foreign { host, objects: own },
                RequestKind::Foreign { host: other_host, objects: others },
            ) => {
                let has_all = own.is_empty() || !others.is_empty() && has_all(own, others);
                host.eq_ignore_ascii_case(other_host) && has_all
            }
            (own, others) => own == others,
        };
        let has_interest = match (self.limited_interest(), other.limited_interest()) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(others)) => own.union(&others) == own,
        };
        has_objects && has_interest
    }

    /// The interest with every requested object in it; `None` when the request is for all counters of
    /// objects that it does not list.
    fn limited_interest(&self) -> Option<Interest> {
        match &self.kind {
            RequestKind::Objects(objects) if self.interest.is_everything() && !objects.is_empty() => {
                let mut interest = Interest::everything();
                objects.iter().for_each(|object| interest.add_object(*object));
                Some(interest)
            }
            _ => (!self.interest.is_everything()).then(|| self.interest.clone()),
        }
    }
}

impl From<RequestKind> for Request {
    fn from(kind: RequestKind) -> Request {
        Request { kind, interest: Interest::everything() }
    }
}

impl FromStr for Request {
    type Err = core::convert::Infallible;

    fn from_str(text: &str) -> Result<Request, Self::Err> {
        Ok(Request::parse(text))
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl RequestKind {
    /// Words without arguments.
    const WORDS: [(&str, RequestKind); 7] = [
        ("Global", RequestKind::Global),
        ("Costly", RequestKind::Costly),
        ("OLD_Global", RequestKind::OldGlobal),
        ("MetadataGlobal", RequestKind::Metadata { costly: false, old: false }),
        ("MetadataCostly", RequestKind::Metadata { costly: true, old: false }),
        ("OLD_MetadataGlobal", RequestKind::Metadata { costly: false, old: true }),
        ("OLD_MetadataCostly", RequestKind::Metadata { costly: true, old: true }),
    ];

    fn parse(text: &str) -> Option<RequestKind> {
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else {
            return Some(RequestKind::Global);
        };
        let is = |word: &str| first.eq_ignore_ascii_case(word);
        if first.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(RequestKind::Objects(text.split_whitespace().filter_map(object).collect()));
        }
        if is("Foreign") {
            let host = words.next()?.to_owned();
            let everything = words.clone().next().is_none();
            let objects: Vec<TitleIndex> = words.filter_map(object).collect();
            // Bad numbers must not turn a request for one object into a request for all.
            return (everything || !objects.is_empty()).then_some(RequestKind::Foreign { host, objects });
        }
        if is("Counter") || is("Help") || is("Explain") {
            let language = match words.next() {
                Some(word) => Some(Language::parse(word)?),
                None => None,
            };
            let kind = if is("Counter") { RequestKind::Names(language) } else { RequestKind::Help(language) };
            return words.next().is_none().then_some(kind);
        }
        let (_, kind) = RequestKind::WORDS.into_iter().find(|(word, _)| is(word))?;
        words.next().is_none().then_some(kind)
    }
}

impl fmt::Display for RequestKind {
    /// Prints the query string with this meaning.
    ///
    /// An empty list of objects is printed as `0`, an index that no object has, because an empty text means
    /// everything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = |f: &mut fmt::Formatter<'_>, word: &str, language: &Option<Language>| {
            f.write_str(word)?;
            language.map_or(Ok(()), |language| write!(f, " {language}"))
        };
        match self {
            RequestKind::Objects(objects) if objects.is_empty() => f.write_str("0"),
            RequestKind::Objects(objects) => {
                for (position, object) in objects.iter().enumerate() {
                    let blank = if position == 0 { "" } else { " " };
                    write!(f, "{blank}{object}")?;
                }
                Ok(())
            }
            RequestKind::Names(language) => table(f, "Counter", language),
            RequestKind::Help(language) => table(f, "Help", language),
            RequestKind::Foreign { host, objects } => {
                write!(f, "Foreign {host}")?;
                objects.iter().try_for_each(|object| write!(f, " {object}"))
            }
            RequestKind::Unknown(text) => f.write_str(text),
            RequestKind::Global
            | RequestKind::Costly
            | RequestKind::OldGlobal
            | RequestKind::Metadata { costly: _, old: _ } => {
                let word = RequestKind::WORDS.iter().find(|(_, kind)| kind == self).map(|(word, _)| *word);
                f.write_str(word.unwrap_or_default())
            }
        }
    }
}

/// The objects of two lists, each once, in the order in which they first appear.
fn merged(own: &[TitleIndex], others: &[TitleIndex]) -> Vec<TitleIndex> {
    let mut seen = BTreeSet::new();
    own.iter().chain(others).copied().filter(|object| seen.insert(*object)).collect()
}

/// A word of a list of objects.
fn object(word: &str) -> Option<TitleIndex> {
    // `str::parse` also accepts a sign, which is not a digit.
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let index: u32 = word.parse().ok().filter(|index| digits && *index != 0)?;
    Some(TitleIndex(index))
}

/// Which counters of which objects a caller will read, so that sources can skip the others.
///
/// It starts as everything, and becomes a selection when the first counter or object is added. From then on,
/// whatever was not added is not needed. Objects that are included only because others name them as parents
/// are needed for their instances only. A base counter has the title index of its numerator, and is included
/// with it.
///
/// ```
/// use tallymon_core::request::Interest;
/// use tallymon_core::title::TitleIndex;
///
/// let (processor, processor_time, user_time) = (TitleIndex(238), TitleIndex(6), TitleIndex(142));
/// let mut interest = Interest::everything();
/// assert!(interest.wants(processor, user_time));
/// interest.add(processor, processor_time);
/// assert!(interest.wants(processor, processor_time) && !interest.wants(processor, user_time));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interest {
    /// The selection; empty means everything. An object without a set needs all its counters.
    objects: BTreeMap<TitleIndex, Option<BTreeSet<TitleIndex>>>,
}

impl Interest {
    /// All counters of all objects.
    pub const fn everything() -> Interest {
        Interest { objects: BTreeMap::new() }
    }

    /// Adds a counter of an object.
    pub fn add(&mut self, object: TitleIndex, counter: TitleIndex) {
        if let Some(counters) = self.objects.entry(object).or_insert_with(|| Some(BTreeSet::new())) {
            counters.insert(counter);
        }
    }

    /// Adds all counters of an object.
    pub fn add_object(&mut self, object: TitleIndex) {
        self.objects.insert(object, None);
    }

    /// The counters that at least one of two interests includes.
    #[must_use]
    pub fn union(&self, other: &Interest) -> Interest {
        if self.is_everything() || other.is_everything() {
            return Interest::everything();
        }
        let mut both = self.clone();
        for (object, counters) in &other.objects {
            match counters {
                Some(counters) => counters.iter().for_each(|counter| both.add(*object, *counter)),
                None => both.add_object(*object),
            }
        }
        both
    }

    /// Whether all counters of all objects are needed.
    pub fn is_everything(&self) -> bool {
        self.objects.is_empty()
    }

    /// The selected objects with their counters, `None` for all counters of an object. Nothing when everything
    /// is needed.
    pub fn entries(&self) -> impl Iterator<Item = (TitleIndex, Option<&BTreeSet<TitleIndex>>)> {
        self.objects.iter().map(|(object, counters)| (*object, counters.as_ref()))
    }

    /// Whether a counter of an object is needed.
    pub fn wants(&self, object: TitleIndex, counter: TitleIndex) -> bool {
        match self.objects.get(&object) {
            Some(Some(counters)) => counters.contains(&counter),
            Some(None) => true,
            None => self.is_everything(),
        }
    }

    /// Whether any counter of an object is needed.
    pub fn wants_object(&self, object: TitleIndex) -> bool {
        self.is_everything() || self.objects.contains_key(&object)
    }

    /// Whether all counters of an object are needed.
    pub fn wants_object_fully(&self, object: TitleIndex) -> bool {
        match self.objects.get(&object) {
            Some(counters) => counters.is_none(),
            None => self.is_everything(),
        }
    }
}
