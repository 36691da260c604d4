//! Reads a profile file, also while it is written or after its program was killed.
//!
//! You pass a path or bytes; you get a [`Profile`]: the program, its modules, methods and threads, and one
//! call tree per thread, with times in nanoseconds. Any bytes give a profile, or an error that names the
//! field and its offset. The length of the bytes limits the work: counts and offsets are limited to the bytes
//! that exist, and each node is followed once.

mod decode;
mod file;
mod fold;
mod sampled;
mod threads;

use crate::layout::*;
use crate::names::RawName;
use crate::settings::Mode;
use decode::{Bytes, Clock, check_header, number32, number64};
pub use fold::Folded;
pub use sampled::{SampledMethod, SampledProgram, SampledTree};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::mem::offset_of;
use std::path::Path;

/// The contents of a profile file.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Process id.
    pub pid: u32,
    /// Whether the runtime ended in order; false while the program runs and after it was killed.
    pub ended: bool,
    /// What was recorded from the start.
    pub mode: Mode,
    /// Whether hooks were on at the end.
    pub hooks_on: bool,
    /// Whether a request to switch the hooks has not been answered yet.
    pub asked: bool,
    /// Whether inlining was refused: nowhere, in user modules, or everywhere.
    pub exact: Exact,
    /// Whether the compiler's questions about inlining were counted, see [`Method::inlined`].
    pub inlining_counted: bool,
    /// Whether the runtime's reports ended the calls that exceptions ended.
    pub unwind_events: bool,
    /// Whether times are from the processor's time stamp counter.
    pub time_stamp_counter: bool,
    /// Nanoseconds from 1970 to the start.
    pub started: u64,
    /// Nanoseconds from the start to the last sign of life.
    pub duration: u64,
    /// Major, minor, build and revision number of the runtime; 3.1 calls itself 4.0.30319.0.
    pub runtime: [u16; 4],
    /// The command line, words with a blank between them.
    pub command: String,
    /// The settings, as `NAME=value` lines.
    pub settings: String,
    /// What did not work, in words; empty when all did.
    pub problem: String,
    /// The profiler's cost within the time of a call's own record, in nanoseconds.
    pub overhead_inner: f64,
    /// The profiler's cost within the time of the caller, in nanoseconds.
    pub overhead_outer: f64,
    /// The least and the most of both costs together, in nanoseconds, as it was measured when the program
    /// began; 0 in older files.
    pub overhead_range: (f64, f64),
    /// Places of the tree whose corrected times are the raw ones, because the cost is not known well enough
    /// for them.
    pub uncorrected: u64,
    /// The cost of reading the clock twice, the least that a call can cost, in nanoseconds; 0 when it was not
    /// measured.
    pub overhead_clock: f64,
    /// What found no room.
    pub lost: Lost,
    /// The modules, in the order of loading.
    pub modules: Vec<Module>,
    /// The methods.
    pub methods: Vec<Method>,
    /// The threads, in the order of appearance.
    pub threads: Vec<Thread>,
    /// The calls of all threads; each thread's root is followed by all that is under it, callers before
    /// callees.
    pub calls: Vec<Call>,
    /// For a profile of samples instead of calls: their number. The calls of a place are then the samples in
    /// which it was on the stack, and times are estimates from these.
    pub samples: Option<u64>,
    /// The method in [`Profile::methods`] that stands for all calls without a place in the tree; `None` when
    /// every call has one.
    pub elsewhere: Option<usize>,
}

/// Where counts are exact because nothing is inlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exact {
    /// Nowhere: what the compiler inlined is not counted.
    No,
    /// In user modules.
    User,
    /// Everywhere.
    All,
}

/// What the profiler could not record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    /// Methods without a record; they are not seen.
    pub methods: u64,
    /// Threads without a record; they are not seen.
    pub threads: u64,
    /// Modules without a record.
    pub modules: u64,
    /// Texts without room: names that are empty here.
    pub text: u64,
    /// Threads that found no room for their events.
    pub rings: u64,
}

/// A module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its path, or its name when it has none.
    pub path: String,
    /// Whether it is the user's own.
    pub user: bool,
    /// Whether it has been unloaded.
    pub unloaded: bool,
    /// The application domain that it was loaded into; empty when unknown.
    pub domain: String,
}

/// A method, or one instantiation of a generic one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// Its number in the file, which never changes; 0 for `(elsewhere)`, which stands for many methods.
    pub number: u32,
    /// Its name as people write it.
    pub name: String,
    /// Its name as in metadata.
    pub raw: RawName,
    /// Where it belongs in [`Profile::modules`].
    pub module: Option<usize>,
    /// Its metadata token.
    pub token: u32,
    /// How often it was compiled, 0 when it only ever was a part of others.
    pub compiled: u32,
    /// Places at which the compiler thought of putting it into its caller. Calls from there may not be
    /// counted.
    pub inlined: u32,
    /// The method at the last of these places, if it is recorded.
    pub inlined_into: Option<usize>,
    /// Its calls without a place in a call tree.
    pub elsewhere: Elsewhere,
}

/// The calls of a method that have no place in a call tree, because the file had no room for more places.
/// Times are in nanoseconds.
///
/// The tree shows them where they belong as calls of a method named `(elsewhere)`, without their callees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Elsewhere {
    /// Calls that began.
    pub enters: u64,
    /// Calls that returned.
    pub leaves: u64,
    /// Calls that ended in a tail call.
    pub tails: u64,
    /// Calls that an exception ended.
    pub unwinds: u64,
    /// Calls that had ended without a report.
    pub dropped: u64,
    /// Time of the ended calls, callees included; of recursive calls only the outermost counts.
    pub total: u64,
    /// Time of the ended calls, callees included.
    pub ended_total: u64,
    /// Time of the ended calls without the callees.
    pub own: u64,
    /// Longest ended call.
    pub longest: u64,
    /// Exceptions thrown while one of them was the innermost call.
    pub exceptions: u64,
}

impl Elsewhere {
    /// Calls that ended, in whatever way.
    pub fn ended(&self) -> u64 {
        [self.leaves, self.tails, self.unwinds, self.dropped].into_iter().fold(0, u64::saturating_add)
    }
}

impl Method {
    /// Stands in the trees for calls that have no place there.
    fn elsewhere() -> Method {
        Method {
            number: 0,
            name: "(elsewhere)".into(),
            raw: RawName { method: "(elsewhere)".into(), ..RawName::default() },
            module: None,
            token: 0,
            compiled: 0,
            inlined: 0,
            inlined_into: None,
            elsewhere: Elsewhere::default(),
        }
    }
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Kernel thread id.
    pub os_id: u32,
    /// Its name, empty when it has none.
    pub name: String,
    /// Whether it has ended.
    pub ended: bool,
    /// Its root in [`Profile::calls`]; that call has no method.
    pub root: usize,
    /// Exceptions thrown.
    pub exceptions: u64,
    /// Calls that were too deep to be in the tree.
    pub lost_calls: u64,
    /// Calls without a place in the tree, see [`Elsewhere`].
    pub lost_nodes: u64,
    /// Ends of calls whose beginning was not seen.
    pub unmatched: u64,
    /// Nanoseconds from the start of the profile to when it was first seen.
    pub first: u64,
    /// Events that newer ones have overwritten.
    pub lost_events: u64,
    /// Its newest events in their order; empty unless the settings enable them.
    pub events: Vec<Event>,
}

/// Something that happened in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds from the start of the profile.
    pub at: u64,
    /// The method in [`Profile::methods`], `None` when it has no record.
    pub method: Option<usize>,
    /// What happened.
    pub kind: EventKind,
}

/// What happened in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A call began.
    Enter,
    /// A call returned.
    Leave,
    /// A call ended by a jump to another method.
    Tail,
    /// An exception ended a call.
    Unwind,
    /// A call had ended without a report.
    Drop,
    /// An exception was thrown by this method or something that it called and that is not seen.
    Throw,
}

/// All calls of a method from one place of a call tree. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Call {
    /// The method in [`Profile::methods`], `None` for the root of a thread and for a method without a record.
    pub method: Option<usize>,
    /// The caller in [`Profile::calls`], `None` for a root.
    pub parent: Option<usize>,
    /// The callees, in the order of their first calls.
    pub children: Vec<usize>,
    /// Calls that began.
    pub enters: u64,
    /// Calls that returned.
    pub leaves: u64,
    /// Calls that ended in a tail call.
    pub tails: u64,
    /// Calls that an exception ended.
    pub unwinds: u64,
    /// Calls that had ended without a report.
    pub dropped: u64,
    /// Exceptions thrown while this was the innermost call.
    pub exceptions: u64,
    /// Time of all calls, callees included; of an open call that until the last sign of life.
    pub total: u64,
    /// Time of the ended calls, callees included.
    pub ended_total: u64,
    /// Time without the callees.
    pub own: u64,
    /// `total` without the measured work of the profiler; never more than `total`.
    pub corrected_total: u64,
    /// `own` without the measured work of the profiler; never more than `own`.
    pub corrected_own: u64,
    /// Shortest ended call, `None` before the first.
    pub shortest: Option<u64>,
    /// Longest ended call, `None` before the first.
    pub longest: Option<u64>,
    /// Whether a call is open.
    pub open: bool,
    /// Ended calls by their time: the upper limit of a bucket in nanoseconds, twice that of the bucket
    /// before, and the count; without empty buckets.
    pub histogram: Vec<(u64, u32)>,
}

/// All calls of a method in a profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MethodTotal {
    /// The method in [`Profile::methods`].
    pub method: usize,
    /// Calls that began.
    pub enters: u64,
    /// Calls that ended in a tail call.
    pub tails: u64,
    /// Calls that an exception ended.
    pub unwinds: u64,
    /// Calls that ended, in whatever way.
    pub ended: u64,
    /// Calls that are open, in all threads.
    pub open: u64,
    /// Time with callees; of recursive calls only the outermost counts.
    pub total: u64,
    /// Time of the ended calls including callees, each call by itself: divided by `ended`, the average time
    /// of a call.
    pub ended_total: u64,
    /// `total` without the measured work of the profiler.
    pub corrected_total: u64,
    /// Time without callees.
    pub own: u64,
    /// `own` without the measured work of the profiler.
    pub corrected_own: u64,
    /// Shortest ended call, `None` before the first.
    pub shortest: Option<u64>,
    /// Longest ended call, `None` before the first.
    pub longest: Option<u64>,
    /// Exceptions thrown while it was the innermost call.
    pub exceptions: u64,
    /// Ended calls by their time, as in [`Call::histogram`].
    pub histogram: BTreeMap<u64, u64>,
}

impl MethodTotal {
    /// As [`Call::percentile`], for all calls of the method.
    pub fn percentile(&self, part: f64) -> Option<u64> {
        let counts = self.histogram.iter().map(|(end, count)| (*end, *count));
        percentile(counts, part, self.shortest?, self.longest?)
    }
}

/// Why there is no profile.
#[derive(Debug)]
pub enum ReadError {
    /// The file could not be read.
    Io(io::Error),
    /// The bytes are not a profile file.
    Format {
        /// The field.
        what: &'static str,
        /// Its byte offset.
        at: usize,
        /// The required value.
        needed: u64,
        /// The value in the file; 0 when the bytes end earlier.
        found: u64,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => error.fmt(f),
            ReadError::Format { what, at, needed, found } => {
                write!(f, "{what} at byte {at}: needed {needed:#x}, found {found:#x}")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// Requests that the program whose profile is at `path` switches its hooks on, for the methods that both its
/// settings and the filter select, or off. The program must have been started in mode dormant. The request
/// replaces earlier ones. The program answers within about a tenth of a second, see [`Profile::asked`],
/// [`Profile::hooks_on`] and [`Profile::problem`].
///
/// # Errors
///
/// When the file cannot be written or is not a profile file, or the names of the filter are longer than
/// 2,000 bytes.
pub fn switch(path: &Path, on: bool, filter: &crate::settings::Filter) -> Result<(), ReadError> {
    use std::io::{Read, Seek, SeekFrom, Write};
    let mut file = std::fs::File::options().read(true).write(true).open(path).map_err(ReadError::Io)?;
    let mut header = [0; HEADER_SIZE];
    file.read_exact(&mut header).map_err(ReadError::Io)?;
    check_header(&header)?;
    let mut words = filter.lines().into_bytes();
    // A zero ends the words.
    words.push(0);
    if words.len() > 2000 {
        let error = std::io::Error::new(std::io::ErrorKind::InvalidInput, "more than 2,000 bytes of names");
        return Err(ReadError::Io(error));
    }
    let mut write = |at: u64, bytes: &[u8]| {
        file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes)).map_err(ReadError::Io)
    };
    write(REQUEST as u64, &words)?;
    let last = number32(&header, offset_of!(Header, wanted));
    let wanted = (last | 3).wrapping_add(1) | if on { WANTED_ON } else { WANTED_OFF };
    let at = offset_of!(Header, wanted) as u64;
    write(at, &wanted.to_le_bytes())
}

/// Whether a file begins like a profile file.
pub fn is_profile(path: &Path) -> bool {
    file::read_head(path).is_ok_and(|bytes| check_header(&bytes).is_ok())
}

impl Profile {
    /// Reads a profile file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not a profile file of this version.
    pub fn open(path: &Path) -> Result<Profile, ReadError> {
        let mut bytes = Vec::new();
        for _ in 0..3 {
            bytes = file::read(path).map_err(ReadError::Io)?;
            // Odd while the clock pair is being written; a program that was killed just then leaves it odd.
            if number64(&bytes, offset_of!(Header, clock_sequence)) & 1 == 0 {
                break;
            }
        }
        Profile::from_bytes(&bytes)
    }

    /// Reads what a profile file says of its program, without modules, methods, threads and calls, which may
    /// be hundreds of megabytes.
    ///
    /// # Errors
    ///
    /// As [`Profile::open`].
    pub fn open_head(path: &Path) -> Result<Profile, ReadError> {
        Profile::from_bytes(&file::read_head(path).map_err(ReadError::Io)?)
    }

    /// Reads the bytes of a profile file.
    ///
    /// # Errors
    ///
    /// When they are too short for a header or are not a profile file of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Profile, ReadError> {
        check_header(bytes)?;
        let file = Bytes { bytes, clock: Clock::read(bytes) };
        let header32 = |at| number32(bytes, at);
        let header64 = |at| number64(bytes, at);
        let flags = header32(offset_of!(Header, flags));
        let exact = match flags & (FLAG_EXACT_ALL | FLAG_EXACT_USER) {
            0 => Exact::No,
            FLAG_EXACT_USER => Exact::User,
            _ => Exact::All,
        };
        let mode = match header32(offset_of!(Header, mode)) {
            0 => Mode::Dormant,
            1 => Mode::User,
            _ => Mode::All,
        };
        let runtime = header64(offset_of!(Header, runtime));
        let part = |shift: u32| (runtime >> shift) as u16;
        let overhead = |at| header64(at) as f64 / 256.0 / file.clock.rate;
        let first = header64(offset_of!(Header, first_nanoseconds));
        let mut profile = Profile {
            pid: header32(offset_of!(Header, pid)),
            ended: header32(offset_of!(Header, state)) == STATE_ENDED,
            mode,
            hooks_on: header32(offset_of!(Header, hooks_on)) != 0,
            asked: header32(offset_of!(Header, wanted)) != header32(offset_of!(Header, answered)),
            exact,
            inlining_counted: flags & FLAG_INLINING_COUNTED != 0,
            unwind_events: flags & FLAG_UNWIND_EVENTS != 0,
            time_stamp_counter: header32(offset_of!(Header, clock)) == CLOCK_TSC,
            started: header64(offset_of!(Header, started)),
            duration: header64(offset_of!(Header, last_nanoseconds)).saturating_sub(first),
            runtime: [part(48), part(32), part(16), part(0)],
            command: file.text(header64(offset_of!(Header, command))),
            settings: file.text(header64(offset_of!(Header, settings))),
            problem: file.text(header64(offset_of!(Header, problem))),
            overhead_inner: overhead(offset_of!(Header, overhead_inner)),
            overhead_outer: overhead(offset_of!(Header, overhead_outer)),
            overhead_range: (
                overhead(offset_of!(Header, overhead_least)),
                overhead(offset_of!(Header, overhead_most)),
            ),
            uncorrected: 0,
            overhead_clock: overhead(offset_of!(Header, overhead_clock)),
            lost: Lost {
                methods: header64(offset_of!(Header, lost_methods)),
                threads: header64(offset_of!(Header, lost_threads)),
                modules: header64(offset_of!(Header, lost_modules)),
                text: header64(offset_of!(Header, lost_text)),
                rings: header64(offset_of!(Header, lost_rings)),
            },
            modules: Vec::new(),
            methods: Vec::new(),
            threads: Vec::new(),
            calls: Vec::new(),
            samples: None,
            elsewhere: None,
        };
        profile.read_modules(&file);
        let numbers = profile.read_methods(&file);
        profile.read_threads(&file, &numbers);
        profile.correct();
        Ok(profile)
    }

    /// The version of the runtime as people call it.
    pub fn runtime_name(&self) -> String {
        match self.runtime {
            [0, 0, 0, 0] => ".NET of unknown version".into(),
            [4, 0, 30319, _] => ".NET Core 3.1 or earlier".into(),
            [major, minor, build, _] => format!(".NET {major}.{minor}.{build}"),
        }
    }

    /// The method of a call in source form; the root of a thread has the thread's name.
    pub fn name(&self, call: &Call) -> &str {
        match call.method.and_then(|method| self.methods.get(method)) {
            Some(method) => &method.name,
            None => "(unknown method)",
        }
    }

    /// Calls that have a method and a place in a tree.
    fn placed(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.method.is_none() || call.method != self.elsewhere)
    }

    /// Calls that began, in all threads.
    pub fn enters(&self) -> u64 {
        let placed = self.placed().map(|call| call.enters);
        placed.chain([self.enters_elsewhere()]).fold(0, u64::saturating_add)
    }

    /// Calls that began and have no place in a tree, in all threads.
    pub fn enters_elsewhere(&self) -> u64 {
        self.methods.iter().map(|method| method.elsewhere.enters).fold(0, u64::saturating_add)
    }

    /// The profiler's own work within the recorded time, in nanoseconds.
    pub fn overhead(&self) -> u64 {
        let elsewhere = self.methods.iter().map(|method| method.elsewhere.ended());
        let ended = self.placed().map(Call::ended).chain(elsewhere).fold(0, u64::saturating_add);
        (ended as f64 * (self.overhead_inner + self.overhead_outer)) as u64
    }

    /// All calls of each method that was called, the one with the most time of its own first.
    pub fn method_totals(&self) -> Vec<MethodTotal> {
        let mut totals: Vec<MethodTotal> =
            (0..self.methods.len()).map(|method| MethodTotal { method, ..MethodTotal::default() }).collect();
        // How often each method is open on the way from the root to the current call.
        let mut open = vec![0u32; self.methods.len()];
        for thread in &self.threads {
            self.walk(thread.root, |call, step| {
                let Some(method) = call.method else { return };
                let Some(open) = open.get_mut(method) else { return };
                if step == Step::Up {
                    *open = open.saturating_sub(1);
                    return;
                }
                let outermost = *open == 0;
                *open = open.saturating_add(1);
                let Some(sum) = totals.get_mut(method) else { return };
                let all = [
                    (&mut sum.enters, call.enters),
                    (&mut sum.tails, call.tails),
                    (&mut sum.unwinds, call.unwinds),
                    (&mut sum.ended, call.ended()),
                    (&mut sum.open, u64::from(call.open)),
                    (&mut sum.ended_total, call.ended_total),
                ];
                for (sum, count) in all {
                    *sum = sum.saturating_add(count);
                }
                for (end, count) in &call.histogram {
                    let all = sum.histogram.entry(*end).or_default();
                    *all = all.saturating_add(u64::from(*count));
                }
                sum.own = sum.own.saturating_add(call.own);
                sum.corrected_own = sum.corrected_own.saturating_add(call.corrected_own);
                sum.exceptions = sum.exceptions.saturating_add(call.exceptions);
                sum.shortest = [sum.shortest, call.shortest].into_iter().flatten().min();
                sum.longest = sum.longest.max(call.longest);
                if outermost {
                    sum.total = sum.total.saturating_add(call.total);
                    sum.corrected_total = sum.corrected_total.saturating_add(call.corrected_total);
                }
            });
        }
        self.add_elsewhere(&mut totals);
        totals.retain(|sum| sum.enters > 0 && Some(sum.method) != self.elsewhere);
        totals.sort_by(|a, b| b.own.cmp(&a.own).then(a.method.cmp(&b.method)));
        totals
    }

    /// Adds the calls without a place in a tree.
    fn add_elsewhere(&self, totals: &mut [MethodTotal]) {
        for (sum, method) in totals.iter_mut().zip(&self.methods) {
            let more = &method.elsewhere;
            let ended = more.ended();
            let work = self.overhead_inner * ended as f64;
            let all = [
                (&mut sum.enters, more.enters),
                (&mut sum.tails, more.tails),
                (&mut sum.unwinds, more.unwinds),
                (&mut sum.ended, ended),
                (&mut sum.open, more.enters.saturating_sub(ended)),
                (&mut sum.total, more.total),
                (&mut sum.ended_total, more.ended_total),
                (&mut sum.own, more.own),
                (&mut sum.corrected_total, self.corrected(more.total, work)),
                (&mut sum.corrected_own, self.corrected(more.own, work)),
                (&mut sum.exceptions, more.exceptions),
            ];
            for (sum, count) in all {
                *sum = sum.saturating_add(count);
            }
            if ended > 0 {
                sum.longest = sum.longest.max(Some(more.longest));
            }
        }
    }

    /// Visits a call and all calls under it: `Down` before its callees, `Up` after them. Depth needs no
    /// stack.
    pub fn walk(&self, root: usize, mut visit: impl FnMut(&Call, Step)) {
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        if let Some(call) = self.calls.get(root) {
            visit(call, Step::Down);
        }
        while let Some(last) = path.last_mut() {
            let Some(call) = self.calls.get(last.0) else { break };
            match call.children.get(last.1) {
                Some(&child) => {
                    last.1 = last.1.saturating_add(1);
                    if let Some(callee) = self.calls.get(child) {
                        visit(callee, Step::Down);
                        path.push((child, 0));
                    }
                }
                None => {
                    visit(call, Step::Up);
                    path.pop();
                }
            }
        }
    }
}

/// Which way [`Profile::walk`] passes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// From its caller, before its callees.
    Down,
    /// Back to its caller, after its callees.
    Up,
}

impl Call {
    /// Calls that ended, in whatever way.
    pub fn ended(&self) -> u64 {
        [self.leaves, self.tails, self.unwinds, self.dropped].into_iter().fold(0, u64::saturating_add)
    }

    /// A time that this part of the ended calls did not exceed, in nanoseconds: the end of the histogram's
    /// bucket, so at most twice too long. `None` before the first ended call.
    pub fn percentile(&self, part: f64) -> Option<u64> {
        let counts = self.histogram.iter().map(|(end, count)| (*end, u64::from(*count)));
        percentile(counts, part, self.shortest?, self.longest?)
    }
}

/// The end of the bucket in which this part of all counts is reached; buckets are their ends and counts.
fn percentile(
    buckets: impl Iterator<Item = (u64, u64)> + Clone,
    part: f64,
    shortest: u64,
    longest: u64,
) -> Option<u64> {
    let all = buckets.clone().map(|(_, count)| count).fold(0, u64::saturating_add);
    let wanted = (all as f64 * part.clamp(0.0, 1.0)).ceil();
    let mut sum = 0u64;
    for (end, count) in buckets {
        sum = sum.saturating_add(count);
        if sum as f64 >= wanted {
            return Some(end.clamp(shortest, longest.max(shortest)));
        }
    }
    None
}

#[cfg(test)]
#[path = "reader_tests.rs"]
pub(crate) mod tests;
