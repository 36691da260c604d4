//! What a provider of performance counters implements.
//!
//! A provider declares its objects once, as constant tables of [`ObjectSpec`], and writes their values on
//! request. It never computes a length or an offset, and never assigns the index of a name: the writer and
//! the registry do.
//!
//! [`library::author`] declares a shared library with NT's functions Open, Collect and Close.
//!
//! A program with counters of its own that is not a provider publishes them through the module `shm` (on
//! Linux and Windows).
//!
//! ```
//! use tallymon_provider::*;
//!
//! const COUNTERS: &[CounterSpec] =
//!     &[CounterSpec::new(TitleIndex(5002), CounterType::PERF_COUNTER_RAWCOUNT)];
//! const GADGETS: ObjectSpec = ObjectSpec::new(TitleIndex(5000), InstanceKind::None, COUNTERS);
//!
//! struct Gadgets {
//!     layout: ObjectLayout<'static>,
//! }
//!
//! impl Provider for Gadgets {
//!     fn objects(&self) -> &[ObjectSpec<'static>] {
//!         &[GADGETS]
//!     }
//!
//!     fn collect(&mut self, request: &CollectRequest<'_>, out: &mut ObjectsWriter<'_>) -> Result<(), ProviderError> {
//!         if request.wants(GADGETS.name) {
//!             out.object(&self.layout, PerfTime(0), Frequency(0)).single().set(0, 42);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let mut gadgets = Gadgets { layout: ObjectLayout::new(GADGETS) };
//! let mut buffer = Vec::new();
//! let mut out = ObjectsWriter::growing(&mut buffer);
//! gadgets.collect(&CollectRequest::everything(&[GADGETS.name]), &mut out).unwrap();
//! assert_eq!(out.count(), 1);
//! ```
// Only the files in the table of ARCHITECTURE.md allow it.
#![deny(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod library;
#[cfg(any(target_os = "linux", windows))]
pub mod shm;

pub mod environment;
pub mod process;
pub mod profile;
pub mod status;
pub mod tier;
pub mod trust;

use std::borrow::Cow;
use std::fmt;

pub use profile::{Profile, UnknownProfile};
pub use status::{Health, SourceName, SourceStatus};
pub use tallymon_core::block::{
    CachedInstances, CounterBlockMut, CounterSpec, DetailLevel, InstanceKind, Object, ObjectLayout,
    ObjectSpec, ObjectWriter, ObjectsWriter, Parent, ReadInfo, ReadWindow, WriteCounts, with_counter,
};
pub use tallymon_core::counter::CounterType;
pub use tallymon_core::flow::{Absence, PartialSum, ValueState};
pub use tallymon_core::request::Interest;
pub use tallymon_core::time::{FileTime, Frequency, PerfTime};
pub use tallymon_core::title::{HelpIndex, Language, TitleIndex, Titles};
pub use tier::{Tier, TierChoice};

/// Answers for some objects.
///
/// A provider can move to another thread, together with the source that uses it.
pub trait Provider: Send {
    /// The objects that it answers for.
    fn objects(&self) -> &[ObjectSpec<'static>];

    /// The objects that the instances of `object` name as parents. A request for `object` gets these too, in
    /// the same block.
    fn parents(&self, object: TitleIndex) -> &[TitleIndex] {
        let _ = object;
        &[]
    }

    /// Whether reading an object costs so much that `Global` leaves it out.
    fn is_costly(&self, object: TitleIndex) -> bool {
        let _ = object;
        false
    }

    /// Writes the requested objects, each at most once, in any order of parents and children.
    ///
    /// An object whose source is missing is left out, or written with values marked absent; that is no error.
    ///
    /// # Errors
    ///
    /// Nothing could be read at all. The caller discards what was written so far.
    fn collect(
        &mut self,
        request: &CollectRequest<'_>,
        out: &mut ObjectsWriter<'_>,
    ) -> Result<(), ProviderError>;

    /// Why an object that it was to write is missing from its last answer; `None` when the answer had it.
    fn trouble(&self, object: TitleIndex) -> Option<String> {
        let _ = object;
        None
    }

    /// Looks for new and removed objects. Called before each request and before the names are read; a
    /// provider whose objects never change has nothing to do.
    fn refresh(&mut self) {}

    /// Looks for an object that is costly to find, by a name that nobody has otherwise; whether it is among
    /// [`Provider::objects`] now. Case and blanks do not matter in names.
    fn discover(&mut self, object: &str) -> bool {
        let _ = object;
        false
    }

    /// The names and help texts of its own indexes in a language, in English where it has none in that;
    /// nothing for a provider whose texts are NT's or are installed.
    fn titles(&self, language: Language) -> Titles {
        let _ = language;
        Titles::new()
    }

    /// The languages of its texts, besides English.
    fn languages(&self) -> Vec<Language> {
        Vec::new()
    }

    /// The health of each of its sources, and what each has cost in this process. A source is a built-in
    /// object or a program.
    fn sources(&self) -> Vec<SourceStatus> {
        Vec::new()
    }

    /// What it can and cannot read on this machine, for a user who wants to know why a value is missing.
    fn findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}

/// The objects and counters that a provider is to write.
#[derive(Debug, Clone, Copy)]
pub struct CollectRequest<'a> {
    /// The objects, sorted; all of them are objects of this provider.
    pub objects: &'a [TitleIndex],
    /// The counters that the reader will use. A provider may mark others as not requested instead of reading
    /// them.
    pub interest: &'a Interest,
}

impl CollectRequest<'_> {
    /// Requests all counters of some objects.
    pub fn everything(objects: &[TitleIndex]) -> CollectRequest<'_> {
        const EVERYTHING: &Interest = &Interest::everything();
        CollectRequest { objects, interest: EVERYTHING }
    }

    /// Whether an object is requested.
    pub fn wants(&self, object: TitleIndex) -> bool {
        self.objects.contains(&object)
    }

    /// Whether an object is requested and the reader will use this counter of it.
    pub fn wants_counter(&self, object: TitleIndex, counter: TitleIndex) -> bool {
        self.wants(object) && self.interest.wants(object, counter)
    }
}

/// Why a provider could read nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    /// What failed, where, and what to do.
    pub message: Cow<'static, str>,
}

impl ProviderError {
    /// An error with its words.
    pub fn new(message: impl Into<Cow<'static, str>>) -> ProviderError {
        ProviderError { message: message.into() }
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ProviderError {}

/// One thing that a provider found out about this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The subject, in a few words: `kernel`, `/proc/diskstats`, `I/O of other users' processes`.
    pub subject: String,
    /// How good it is.
    pub state: FindingState,
    /// What was found, in one sentence.
    pub detail: String,
    /// How to get what is missing; empty when nothing is missing.
    pub remedy: String,
}

/// How good something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingState {
    /// It works.
    Good,
    /// It works in part: some counters have no value.
    Limited,
    /// It does not work.
    Missing,
}

impl FindingState {
    /// The state in one word.
    pub const fn word(self) -> &'static str {
        match self {
            FindingState::Good => "ok",
            FindingState::Limited => "limited",
            FindingState::Missing => "missing",
        }
    }
}
