//! Reads a profile file, also one that is being written or whose program was killed.
//!
//! You give a path or bytes; you get a [`Profile`]: the program, its modules, methods and threads, and one tree of calls
//! for each thread, times in nanoseconds. Any bytes give a profile or an error that names the field and its offset. The
//! work is bounded by the length of the bytes: counts and offsets in them are cut to what is there, and a node is
//! followed once.

use crate::layout::*;
use crate::names::RawName;
use crate::settings::Mode;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::mem::offset_of;
use std::path::Path;

/// Longest file that is read, in bytes: the largest that the profiler makes.
const MAX_FILE: u64 = 1 << 30;

/// What a profile file tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Process id.
    pub pid: u32,
    /// Whether the runtime ended in order; false while the program runs and after it was killed.
    pub ended: bool,
    /// What was seen from the start.
    pub mode: Mode,
    /// Whether hooks were on at the end.
    pub hooks_on: bool,
    /// Whether inlining was refused: nowhere, in user modules, or everywhere.
    pub exact: Exact,
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
    /// What the profiler's work adds to the time of a call's own record, in nanoseconds.
    pub overhead_inner: f64,
    /// What it adds to the time of the caller, in nanoseconds.
    pub overhead_outer: f64,
    /// What found no room.
    pub lost: Lost,
    /// The modules, in the order of loading.
    pub modules: Vec<Module>,
    /// The methods.
    pub methods: Vec<Method>,
    /// The threads, in the order of appearance.
    pub threads: Vec<Thread>,
    /// The calls of all threads; each thread's root is followed by all that is under it, callers before callees.
    pub calls: Vec<Call>,
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
}

/// A method, or one instantiation of a generic one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// Its name as people write it.
    pub name: String,
    /// Its name as metadata has it.
    pub raw: RawName,
    /// Where it belongs in [`Profile::modules`].
    pub module: Option<usize>,
    /// Its metadata token.
    pub token: u32,
    /// How often it was compiled.
    pub compiled: u32,
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
    /// Calls that needed a node when there was no room.
    pub lost_nodes: u64,
    /// Ends of calls whose beginning was not seen.
    pub unmatched: u64,
}

/// All calls of a method from one place of a call tree. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
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
    /// Calls that were gone without a report of their end.
    pub dropped: u64,
    /// Exceptions thrown while this was the innermost call.
    pub exceptions: u64,
    /// Time of all calls, callees included; of an open call that until the last sign of life.
    pub total: u64,
    /// Time without that of the callees.
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
    /// Ended calls by their time: the shortest time of the bucket in nanoseconds and the count, empty buckets left out.
    pub histogram: Vec<(u64, u32)>,
}

/// All calls of a method in a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MethodTotal {
    /// The method in [`Profile::methods`].
    pub method: usize,
    /// Calls that began.
    pub enters: u64,
    /// Time with callees; of recursive calls only the outermost counts.
    pub total: u64,
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
        /// What was needed.
        needed: u64,
        /// What was found; 0 when the bytes end before.
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

/// Asks the program whose profile is at `path` to switch its hooks on or off; it must have been started in mode
/// dormant. It answers within a tenth of a second or so, see [`Profile::hooks_on`] and [`Profile::problem`].
///
/// # Errors
///
/// When the file can not be written or is not a profile file.
#[cfg(unix)]
pub fn switch(path: &Path, on: bool) -> Result<(), ReadError> {
    use std::os::unix::fs::FileExt;
    let file = File::options().read(true).write(true).open(path).map_err(ReadError::Io)?;
    let mut header = [0; HEADER_SIZE];
    file.read_exact_at(&mut header, 0).map_err(ReadError::Io)?;
    check_header(&header)?;
    let wanted: u32 = if on { 1 } else { 2 };
    let at = offset_of!(Header, wanted) as u64;
    file.write_all_at(&wanted.to_le_bytes(), at).map_err(ReadError::Io)
}

impl Profile {
    /// Reads a profile file.
    ///
    /// # Errors
    ///
    /// When the file can not be read or is not a profile file of this version.
    pub fn open(path: &Path) -> Result<Profile, ReadError> {
        let mut bytes = Vec::new();
        for _ in 0..3 {
            bytes.clear();
            let file = File::open(path).map_err(ReadError::Io)?;
            file.take(MAX_FILE).read_to_end(&mut bytes).map_err(ReadError::Io)?;
            // Odd while the clock pair is being written; a program that was killed just then leaves it odd.
            if number64(&bytes, offset_of!(Header, clock_sequence)) & 1 == 0 {
                break;
            }
        }
        Profile::from_bytes(&bytes)
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
            exact,
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
            lost: Lost {
                methods: header64(offset_of!(Header, lost_methods)),
                threads: header64(offset_of!(Header, lost_threads)),
                modules: header64(offset_of!(Header, lost_modules)),
                text: header64(offset_of!(Header, lost_text)),
            },
            modules: Vec::new(),
            methods: Vec::new(),
            threads: Vec::new(),
            calls: Vec::new(),
        };
        profile.read_modules(&file);
        let numbers = profile.read_methods(&file);
        profile.read_threads(&file, &numbers);
        profile.correct();
        Ok(profile)
    }

    /// The method of a call as people write it; the root of a thread is named by its thread.
    pub fn name(&self, call: &Call) -> &str {
        match call.method.and_then(|method| self.methods.get(method)) {
            Some(method) => &method.name,
            None => "(unknown method)",
        }
    }

    /// Calls that began, in all threads.
    pub fn enters(&self) -> u64 {
        self.calls.iter().fold(0, |sum, call| sum.saturating_add(call.enters))
    }

    /// The profiler's own work within the recorded time, in nanoseconds.
    pub fn overhead(&self) -> u64 {
        let ended = self.calls.iter().map(Call::ended).fold(0, u64::saturating_add);
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
                sum.enters = sum.enters.saturating_add(call.enters);
                sum.own = sum.own.saturating_add(call.own);
                sum.corrected_own = sum.corrected_own.saturating_add(call.corrected_own);
                sum.exceptions = sum.exceptions.saturating_add(call.exceptions);
                sum.shortest = [sum.shortest, call.shortest].into_iter().flatten().min();
                sum.longest = sum.longest.max(call.longest);
                if outermost {
                    sum.total = sum.total.saturating_add(call.total);
                }
            });
        }
        totals.retain(|sum| sum.enters > 0);
        totals.sort_by(|a, b| b.own.cmp(&a.own).then(a.method.cmp(&b.method)));
        totals
    }

    /// Visits a call and all under it: down before its callees, up behind them. Depth costs no stack.
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

    fn read_modules(&mut self, file: &Bytes<'_>) {
        for record in file.records(offset_of!(Header, modules), size_of::<ModuleRecord>()) {
            let flags = number32(record, offset_of!(ModuleRecord, flags));
            self.modules.push(Module {
                path: file.text(number64(record, offset_of!(ModuleRecord, path))),
                user: flags & MODULE_USER != 0,
                unloaded: flags & MODULE_UNLOADED != 0,
            });
        }
    }

    /// Returns where the method of each number stands, which is one less when no record is unfinished.
    fn read_methods(&mut self, file: &Bytes<'_>) -> Vec<Option<usize>> {
        let mut numbers = Vec::new();
        for record in file.records(offset_of!(Header, methods), size_of::<MethodRecord>()) {
            if number32(record, offset_of!(MethodRecord, state)) != READY {
                numbers.push(None);
                continue;
            }
            numbers.push(Some(self.methods.len()));
            let machine = number32(record, offset_of!(MethodRecord, flags)) & METHOD_ASYNC != 0;
            let raw = RawName::decode(&file.text(number64(record, offset_of!(MethodRecord, name))), machine);
            let module = (number32(record, offset_of!(MethodRecord, module)) as usize).checked_sub(1);
            self.methods.push(Method {
                name: raw.display(),
                raw,
                module: module.filter(|module| *module < self.modules.len()),
                token: number32(record, offset_of!(MethodRecord, token)),
                compiled: number32(record, offset_of!(MethodRecord, compiled)),
            });
        }
        numbers
    }

    fn read_threads(&mut self, file: &Bytes<'_>, methods: &[Option<usize>]) {
        let nodes: Vec<&[u8]> = file.records(offset_of!(Header, nodes), size_of::<Node>()).collect();
        let mut seen = vec![false; nodes.len()];
        for record in file.records(offset_of!(Header, threads), size_of::<ThreadRecord>()) {
            let state = number32(record, offset_of!(ThreadRecord, state));
            let root = number32(record, offset_of!(ThreadRecord, root));
            if state != READY && state != ENDED {
                continue;
            }
            let Some(at) = self.read_tree(file, &nodes, &mut seen, root, methods) else { continue };
            self.threads.push(Thread {
                os_id: number32(record, offset_of!(ThreadRecord, os_id)),
                name: file.text(number64(record, offset_of!(ThreadRecord, name))),
                ended: state == ENDED,
                root: at,
                exceptions: number64(record, offset_of!(ThreadRecord, exceptions)),
                lost_calls: number64(record, offset_of!(ThreadRecord, lost_calls)),
                lost_nodes: number64(record, offset_of!(ThreadRecord, lost_nodes)),
                unmatched: number64(record, offset_of!(ThreadRecord, unmatched)),
            });
        }
    }

    /// Reads the tree under a node and returns where its root stands; `None` when that is no unseen node.
    fn read_tree(
        &mut self,
        file: &Bytes<'_>,
        nodes: &[&[u8]],
        seen: &mut [bool],
        root: u32,
        methods: &[Option<usize>],
    ) -> Option<usize> {
        let mut take = |number: u32| -> Option<&[u8]> {
            let slot = seen.get_mut(number as usize).filter(|slot| number != 0 && !**slot)?;
            *slot = true;
            nodes.get(number as usize).copied()
        };
        let start = self.calls.len();
        let method_of = |record: &[u8]| {
            let number = number32(record, offset_of!(Node, method)) as usize;
            methods.get(number).copied().flatten()
        };
        let root_record = take(root)?;
        self.calls.push(file.call(root_record, None, None));
        // Calls whose callees are still to be read: where the call stands, and its record.
        let mut open = vec![(start, root_record)];
        while let Some((at, record)) = open.pop() {
            let mut number = number32(record, offset_of!(Node, first_child));
            let mut children = Vec::new();
            while let Some(child) = take(number) {
                children.push(self.calls.len());
                open.push((self.calls.len(), child));
                self.calls.push(file.call(child, method_of(child), Some(at)));
                number = number32(child, offset_of!(Node, next_sibling));
            }
            // The newest callee comes first in the file.
            children.reverse();
            if let Some(call) = self.calls.get_mut(at) {
                call.children = children;
            }
        }
        self.close(start);
        Some(start)
    }

    /// Gives calls whose end was not seen the time until the last sign of life, and all calls the time of their own.
    fn close(&mut self, start: usize) {
        // Callees stand behind their callers, so the way back meets all callees first.
        for at in (start..self.calls.len()).rev() {
            let callees = self.sum(at, |call| call.total);
            let Some(call) = self.calls.get_mut(at) else { continue };
            if call.parent.is_none() {
                call.total = callees;
            }
            // The clocks of two processors, and a moment between two stores, may leave a caller short.
            call.total = call.total.max(callees);
            call.own = call.total.saturating_sub(callees);
        }
    }

    /// Takes the measured work of the profiler out of all times.
    fn correct(&mut self) {
        for at in (0..self.calls.len()).rev() {
            let callees = self.sum(at, |call| call.corrected_total);
            let n_callees = self.sum(at, Call::ended);
            let (inner, outer) = (self.overhead_inner, self.overhead_outer);
            let Some(call) = self.calls.get_mut(at) else { continue };
            let work = inner * call.ended() as f64 + outer * n_callees as f64;
            call.corrected_own = call.own.saturating_sub(work as u64);
            call.corrected_total = call.corrected_own.saturating_add(callees);
        }
    }

    fn sum(&self, at: usize, field: impl Fn(&Call) -> u64) -> u64 {
        let children = self.calls.get(at).map(|call| call.children.as_slice()).unwrap_or_default();
        children.iter().filter_map(|child| self.calls.get(*child)).map(field).fold(0, u64::saturating_add)
    }
}

/// Which way [`Profile::walk`] passes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// From its caller, before its callees.
    Down,
    /// Back to its caller, behind its callees.
    Up,
}

impl Call {
    /// Calls that ended, in whatever way.
    pub fn ended(&self) -> u64 {
        [self.leaves, self.tails, self.unwinds, self.dropped].into_iter().fold(0, u64::saturating_add)
    }

    /// A time that this part of the ended calls did not exceed, in nanoseconds: the end of the histogram's bucket, so at
    /// most twice too long. `None` before the first ended call.
    pub fn percentile(&self, part: f64) -> Option<u64> {
        let counts = self.histogram.iter().map(|(_, count)| u64::from(*count));
        let wanted = (counts.clone().fold(0, u64::saturating_add) as f64 * part.clamp(0.0, 1.0)).ceil();
        let mut sum = 0u64;
        for ((start, _), count) in self.histogram.iter().zip(counts) {
            sum = sum.saturating_add(count);
            if sum as f64 >= wanted {
                return Some(
                    start.saturating_mul(2).clamp(self.shortest?, self.longest?.max(self.shortest?)),
                );
            }
        }
        None
    }
}

/// How ticks become nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Clock {
    /// Ticks per nanosecond.
    rate: f64,
    /// Ticks at the last sign of life.
    last: u64,
}

impl Clock {
    fn read(bytes: &[u8]) -> Clock {
        let number = |at| number64(bytes, at);
        let last = number(offset_of!(Header, last_ticks));
        let ticks = last.saturating_sub(number(offset_of!(Header, first_ticks)));
        let first_nanoseconds = number(offset_of!(Header, first_nanoseconds));
        let nanoseconds = number(offset_of!(Header, last_nanoseconds)).saturating_sub(first_nanoseconds);
        let counter = number32(bytes, offset_of!(Header, clock)) == CLOCK_TSC;
        let rate =
            if counter && ticks > 0 && nanoseconds > 0 { ticks as f64 / nanoseconds as f64 } else { 1.0 };
        Clock { rate, last }
    }

    fn nanoseconds(self, ticks: u64) -> u64 {
        // A float that is too large becomes the largest number.
        (ticks as f64 / self.rate) as u64
    }
}

#[derive(Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    clock: Clock,
}

impl<'a> Bytes<'a> {
    /// The records of the region whose description stands at `at` of the header, those that are handed out and there.
    fn records(&self, at: usize, size: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (start, capacity, used) = self.region(at);
        let count = usize::try_from(used.min(capacity)).unwrap_or(usize::MAX);
        let from = usize::try_from(start).ok().and_then(|start| self.bytes.get(start..)).unwrap_or_default();
        from.chunks_exact(size).take(count)
    }

    fn region(&self, at: usize) -> (u64, u64, u64) {
        let field = |offset: usize| number64(self.bytes, at.saturating_add(offset));
        (
            field(offset_of!(Region, offset)),
            field(offset_of!(Region, capacity)),
            field(offset_of!(Region, used)),
        )
    }

    /// The text that a reference leads to; empty when it leads outside, shown as well as possible when it is not UTF-8.
    fn text(&self, reference: u64) -> String {
        let (start, capacity, _) = self.region(offset_of!(Header, text));
        let (offset, length) = (reference >> 32, reference & 0xFFFF_FFFF);
        if offset.saturating_add(length) > capacity {
            return String::new();
        }
        let place = |offset: u64| usize::try_from(start.checked_add(offset)?).ok();
        let text = place(offset).zip(place(offset.saturating_add(length)));
        let text = text.and_then(|(from, to)| self.bytes.get(from..to)).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    fn call(&self, record: &[u8], method: Option<usize>, parent: Option<usize>) -> Call {
        let number = |at| number64(record, at);
        let time = |at| self.clock.nanoseconds(number64(record, at));
        let mut call = Call {
            method,
            parent,
            children: Vec::new(),
            enters: number(offset_of!(Node, enters)),
            leaves: number(offset_of!(Node, leaves)),
            tails: number(offset_of!(Node, tails)),
            unwinds: number(offset_of!(Node, unwinds)),
            dropped: number(offset_of!(Node, dropped)),
            exceptions: number(offset_of!(Node, exceptions)),
            total: time(offset_of!(Node, total)),
            own: 0,
            corrected_total: 0,
            corrected_own: 0,
            shortest: None,
            longest: None,
            open: false,
            histogram: Vec::new(),
        };
        if call.ended() > 0 {
            call.shortest = Some(time(offset_of!(Node, shortest)));
            call.longest = Some(time(offset_of!(Node, longest)));
        }
        call.open = call.enters > call.ended();
        if call.open {
            let start = number(offset_of!(Node, open_start));
            call.total =
                call.total.saturating_add(self.clock.nanoseconds(self.clock.last.saturating_sub(start)));
        }
        for bucket in 0..BUCKETS {
            let count =
                number32(record, offset_of!(Node, histogram).saturating_add(bucket.saturating_mul(4)));
            if count > 0 {
                call.histogram.push((self.clock.nanoseconds(bucket_start(bucket)), count));
            }
        }
        call
    }
}

fn check_header(bytes: &[u8]) -> Result<(), ReadError> {
    if bytes.len() < HEADER_SIZE {
        let (at, needed) = (bytes.len(), HEADER_SIZE as u64);
        return Err(ReadError::Format { what: "Header", at, needed, found: at as u64 });
    }
    let fields32 = [
        ("Header.version", offset_of!(Header, version), VERSION),
        ("Header.header_size", offset_of!(Header, header_size), HEADER_SIZE as u32),
        ("Header.module_size", offset_of!(Header, module_size), size_of::<ModuleRecord>() as u32),
        ("Header.thread_size", offset_of!(Header, thread_size), size_of::<ThreadRecord>() as u32),
        ("Header.method_size", offset_of!(Header, method_size), size_of::<MethodRecord>() as u32),
        ("Header.node_size", offset_of!(Header, node_size), size_of::<Node>() as u32),
    ];
    let magic = number64(bytes, offset_of!(Header, magic));
    if magic != MAGIC {
        return Err(ReadError::Format { what: "Header.magic", at: 0, needed: MAGIC, found: magic });
    }
    for (what, at, needed) in fields32 {
        let found = number32(bytes, at);
        if found != needed {
            return Err(ReadError::Format { what, at, needed: needed.into(), found: found.into() });
        }
    }
    Ok(())
}

/// The number at an offset, 0 where the bytes end before.
fn number64(bytes: &[u8], at: usize) -> u64 {
    let part = at.checked_add(8).and_then(|end| bytes.get(at..end)).and_then(|part| part.try_into().ok());
    part.map_or(0, u64::from_le_bytes)
}

fn number32(bytes: &[u8], at: usize) -> u32 {
    let part = at.checked_add(4).and_then(|end| bytes.get(at..end)).and_then(|part| part.try_into().ok());
    part.map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tallymon_testkit::raw::Random;

    /// A node to be written: method, calls, ticks, first child, next sibling.
    pub(crate) struct RawNode(pub u32, pub u64, pub u64, pub u32, pub u32);

    /// Assembles a file by the offsets of the format description, not by the structures of the writer: 1 module, the
    /// named methods from number 1, one thread whose root is node 1, nodes from number 1, 2 ticks per nanosecond.
    pub(crate) fn file(methods: &[&str], nodes: &[RawNode]) -> Vec<u8> {
        let mut bytes = vec![0; 65536];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, b"TLMPROF\0");
        for (at, value) in [(8, 1u32), (12, 4096), (16, 64), (20, 128), (24, 64), (28, 256)] {
            put(at, &value.to_le_bytes());
        }
        let mut text = String::from("dotnet app.dll");
        let mut reference = |words: &str| {
            let at = text.len() as u64;
            text.push_str(words);
            (at << 32) | words.len() as u64
        };
        let regions = [
            (32, 4096u64, 4u64, 1u64),
            (56, 8192, 4, 1),
            (80, 12288, 64, methods.len() as u64 + 1),
            (104, 20480, 4096, 0),
            (128, 24576, 160, nodes.len() as u64 + 1),
        ];
        for (at, offset, capacity, used) in regions {
            for (number, value) in [offset, capacity, used].into_iter().enumerate() {
                put(at + 8 * number, &value.to_le_bytes());
            }
        }
        for (at, value) in [(152, 77u32), (156, 2), (160, 1), (164, 4), (168, 1), (172, 1)] {
            put(at, &value.to_le_bytes());
        }
        // Started, sequence, first ticks and nanoseconds, last ticks and nanoseconds, overheads of 4 and 2 ticks.
        for (number, value) in
            [5u64, 2, 1000, 500, 3000, 1500, 1024, 512, 0x0008_0000_0001_0002, 14].into_iter().enumerate()
        {
            put(176 + 8 * number, &value.to_le_bytes());
        }
        put(4096, &[1, 0, 0, 0, 1]);
        put(4112, &reference("/app/a.dll").to_le_bytes());
        put(8192, &[1, 0, 0, 0, 99, 0, 0, 0, 1]);
        put(8208, &reference("main").to_le_bytes());
        for (number, name) in methods.iter().enumerate() {
            let at = 12288 + 64 * (number + 1);
            put(at, &[1, 0, 0, 0, 1, 0, 0, 0, 1]);
            put(at + 24, &reference(name).to_le_bytes());
        }
        for (number, RawNode(method, calls, ticks, child, sibling)) in nodes.iter().enumerate() {
            let at = 24576 + 256 * (number + 1);
            for (field, value) in [(0, method), (8, child), (12, sibling)] {
                put(at + field, &value.to_le_bytes());
            }
            for (field, value) in [(24, *calls), (32, *calls), (64, *ticks), (80, *ticks), (88, *ticks)] {
                put(at + field, &value.to_le_bytes());
            }
            put(at + 120, &(*calls as u32).to_le_bytes());
        }
        put(20480, text.as_bytes());
        bytes
    }

    pub(crate) fn sample() -> Vec<u8> {
        let methods = ["N.A\0\0Main\0\0()", "N.A\0\0Work\0\0(int)"];
        let nodes = [
            RawNode(0, 0, 0, 2, 0),
            RawNode(1, 1, 1000, 4, 0),
            RawNode(1, 2, 100, 0, 0),
            RawNode(2, 3, 400, 3, 0),
        ];
        file(&methods, &nodes)
    }

    #[test]
    fn a_file_reads_as_the_format_says() {
        let profile = Profile::from_bytes(&sample()).unwrap();
        assert_eq!(
            (profile.pid, profile.ended, profile.mode, profile.exact),
            (77, true, Mode::User, Exact::No)
        );
        assert_eq!((profile.unwind_events, profile.hooks_on, profile.time_stamp_counter), (true, true, true));
        assert_eq!((profile.duration, profile.runtime), (1000, [8, 0, 1, 2]));
        assert_eq!((profile.command.as_str(), profile.problem.as_str()), ("dotnet app.dll", ""));
        assert_eq!((profile.overhead_inner, profile.overhead_outer), (2.0, 1.0));
        assert_eq!(profile.modules, [Module { path: "/app/a.dll".into(), user: true, unloaded: false }]);
        assert_eq!(profile.methods[1].name, "N.A.Work(int)");
        assert_eq!(profile.methods[1].module, Some(0));
        assert_eq!((profile.threads[0].os_id, profile.threads[0].name.as_str()), (99, "main"));
        let names: Vec<&str> = profile.calls.iter().map(|call| profile.name(call)).collect();
        assert_eq!(names, ["(unknown method)", "N.A.Main()", "N.A.Work(int)", "N.A.Main()"]);
        let main = &profile.calls[1];
        assert_eq!((main.total, main.own, main.enters, main.open), (500, 300, 1, false));
        // 2 for the call itself and 1 for each of three callees.
        assert_eq!(main.corrected_own, 295);
        assert_eq!(main.histogram, [(0, 1)]);
        assert_eq!(main.percentile(0.5), Some(500));
        assert_eq!(profile.overhead(), 18);
        let totals = profile.method_totals();
        assert_eq!((totals[0].method, totals[0].enters, totals[0].total, totals[0].own), (0, 3, 500, 350));
        assert_eq!((totals[1].method, totals[1].enters, totals[1].total, totals[1].own), (1, 3, 200, 150));
    }

    #[test]
    fn open_calls_last_until_the_last_sign_of_life() {
        let mut bytes = sample();
        let main = 24576 + 256 * 2;
        bytes[main + 24] = 2; // a second call began
        bytes[main + 104..main + 112].copy_from_slice(&2000u64.to_le_bytes());
        let profile = Profile::from_bytes(&bytes).unwrap();
        assert!(profile.calls[1].open);
        assert_eq!(profile.calls[1].total, 500 + 500);
    }

    #[test]
    fn errors_name_field_and_offset() {
        let message = |bytes: &[u8]| Profile::from_bytes(bytes).unwrap_err().to_string();
        assert_eq!(message(b"TLM"), "Header at byte 3: needed 0x1000, found 0x3");
        let mut bytes = sample();
        bytes[8] = 2;
        assert_eq!(message(&bytes), "Header.version at byte 8: needed 0x1, found 0x2");
        bytes[0] = b'X';
        assert_eq!(
            message(&bytes),
            "Header.magic at byte 0: needed 0x464f52504d4c54, found 0x464f52504d4c58"
        );
    }

    #[test]
    fn circles_end_and_nodes_count_once() {
        let nodes = [RawNode(0, 0, 0, 2, 1), RawNode(1, 1, 10, 1, 3), RawNode(1, 1, 10, 2, 2)];
        let profile = Profile::from_bytes(&file(&["A\0\0b\0\0()"], &nodes)).unwrap();
        assert_eq!(profile.calls.len(), 3);
        assert_eq!(profile.enters(), 2);
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let good = sample();
        let mut random = Random::new(11);
        let mut read = 0;
        for _ in 0..3000 {
            let mut bytes = good.clone();
            for _ in 0..random.below(40) {
                // Mostly where the records are, sometimes in the header behind the fields that are checked.
                let at = match random.below(3) {
                    0 => 32 + random.below(300),
                    1 => 24576 + random.below(2048),
                    _ => random.below(bytes.len() as u64),
                } as usize;
                bytes[at] = random.below(256) as u8;
            }
            bytes.truncate(if random.below(4) == 0 { random.below(65536) as usize } else { 65536 });
            if let Ok(profile) = Profile::from_bytes(&bytes) {
                read += 1;
                assert!(profile.calls.len() <= bytes.len() / 256);
                profile.method_totals();
                for call in &profile.calls {
                    assert!(call.corrected_own <= call.own && call.own <= call.total);
                    call.percentile(0.99);
                }
            }
        }
        assert!(read > 1000, "{read}");
    }
}
