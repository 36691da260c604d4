//! The records of a profile file, one structure each; `docs/formats/profile.md` draws them.
//!
//! The profiler maps these structures into memory and writes them with single stores. Every reader takes the
//! same offsets from here, also one in another process while the program runs. All numbers are little-endian,
//! like every machine that the profiler is built for. A record of zeros is an empty record.
//!
//! Records with a single writing thread (its nodes, its thread record) need no lock: a reader sees each
//! number as it was a moment ago, and a killed program leaves every store that it made.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The first eight bytes of a profile file.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"TLMPROF\0");

/// The version of the layout; a reader refuses later ones.
pub(crate) const VERSION: u32 = 2;

/// Bytes of a method record of version 1, which ends before [`MethodRecord::enters`].
pub(crate) const METHOD_SIZE_1: usize = 64;

/// Bytes of the header; the regions follow it.
pub(crate) const HEADER_SIZE: usize = 4096;

/// Buckets of a histogram of times.
///
/// Bucket 0 counts calls below 2^6 ticks, bucket *n* those from 2^(5+n) to below 2^(6+n), the last one all
/// longer ones.
pub(crate) const BUCKETS: usize = 34;

/// Events of a ring.
///
/// A ring holds a thread's newest events: event number *n* is at *n* modulo this.
pub(crate) const RING: usize = 1 << 16;

/// [`Event::kind`]: a call began.
pub(crate) const EVENT_ENTER: u32 = 1;

/// [`Event::kind`]: a call returned.
pub(crate) const EVENT_LEAVE: u32 = 2;

/// [`Event::kind`]: a call ended in a tail call.
pub(crate) const EVENT_TAIL: u32 = 3;

/// [`Event::kind`]: an exception ended a call.
pub(crate) const EVENT_UNWIND: u32 = 4;

/// [`Event::kind`]: a call had ended without a report.
pub(crate) const EVENT_DROP: u32 = 5;

/// [`Event::kind`]: an exception was thrown; the method is the innermost call's.
pub(crate) const EVENT_THROW: u32 = 6;

/// The state of a complete record.
pub(crate) const READY: u32 = 1;

/// The state of a thread that has ended.
pub(crate) const ENDED: u32 = 2;

/// [`Header::state`]: the runtime reported its end.
pub(crate) const STATE_ENDED: u32 = 2;

/// [`MethodRecord::flags`]: calls of this method are seen.
pub(crate) const METHOD_HOOKED: u32 = 1;

/// [`MethodRecord::flags`]: the method's type is the state machine of an `async` method.
pub(crate) const METHOD_ASYNC: u32 = 2;

/// [`ModuleRecord::flags`]: the module is the user's own, not part of the framework.
pub(crate) const MODULE_USER: u32 = 1;

/// [`ModuleRecord::flags`]: the module has been unloaded.
pub(crate) const MODULE_UNLOADED: u32 = 2;

/// [`Header::flags`]: calls are not inlined in user modules.
pub(crate) const FLAG_EXACT_USER: u32 = 1;

/// [`Header::flags`]: calls are not inlined anywhere.
pub(crate) const FLAG_EXACT_ALL: u32 = 2;

/// [`Header::flags`]: frames end at the exception callbacks, not only by the stack pointer.
pub(crate) const FLAG_UNWIND_EVENTS: u32 = 4;

/// [`Header::flags`]: the compiler's questions about inlining are counted.
pub(crate) const FLAG_INLINING_COUNTED: u32 = 8;

/// [`Header::clock`]: ticks of the processor's time stamp counter.
pub(crate) const CLOCK_TSC: u32 = 1;

/// [`Header::clock`]: nanoseconds of `CLOCK_MONOTONIC`.
pub(crate) const CLOCK_MONOTONIC: u32 = 2;

/// The position of a region in the file.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Region {
    /// Byte offset from the start of the file.
    pub(crate) offset: AtomicU64,
    /// Records (bytes in the text region) that fit.
    pub(crate) capacity: AtomicU64,
    /// Records handed out; bytes of text, also those that did not fit.
    pub(crate) used: AtomicU64,
}

/// The first [`HEADER_SIZE`] bytes.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Header {
    /// [`MAGIC`], stored last when the file is created.
    pub(crate) magic: AtomicU64,
    /// [`VERSION`].
    pub(crate) version: AtomicU32,
    /// [`HEADER_SIZE`].
    pub(crate) header_size: AtomicU32,
    /// Bytes of a [`ModuleRecord`].
    pub(crate) module_size: AtomicU32,
    /// Bytes of a [`ThreadRecord`].
    pub(crate) thread_size: AtomicU32,
    /// Bytes of a [`MethodRecord`].
    pub(crate) method_size: AtomicU32,
    /// Bytes of a [`Node`].
    pub(crate) node_size: AtomicU32,
    /// The modules.
    pub(crate) modules: Region,
    /// The threads.
    pub(crate) threads: Region,
    /// The methods; number 0 is never used.
    pub(crate) methods: Region,
    /// UTF-8 text that others refer to.
    pub(crate) text: Region,
    /// The nodes of all call trees; number 0 is never used.
    pub(crate) nodes: Region,
    /// Process id.
    pub(crate) pid: AtomicU32,
    /// [`READY`] while the program runs, [`STATE_ENDED`] when the runtime ended in order; a killed program
    /// leaves READY.
    pub(crate) state: AtomicU32,
    /// The mode of the settings: 0 dormant, 1 user, 2 all.
    pub(crate) mode: AtomicU32,
    /// `FLAG_` bits.
    pub(crate) flags: AtomicU32,
    /// `CLOCK_` kind of the ticks.
    pub(crate) clock: AtomicU32,
    /// 1 while methods that get compiled get hooks.
    pub(crate) hooks_on: AtomicU32,
    /// Nanoseconds from 1970 to the start.
    pub(crate) started: AtomicU64,
    /// Odd while the clock pair below is being written.
    pub(crate) clock_sequence: AtomicU64,
    /// Ticks at the start.
    pub(crate) first_ticks: AtomicU64,
    /// `CLOCK_MONOTONIC` in nanoseconds at the start.
    pub(crate) first_nanoseconds: AtomicU64,
    /// Ticks at the last reading of the clock.
    pub(crate) last_ticks: AtomicU64,
    /// `CLOCK_MONOTONIC` in nanoseconds at the last reading of the clock.
    pub(crate) last_nanoseconds: AtomicU64,
    /// The profiler's work that a call's own record includes, in 1/256 tick.
    pub(crate) overhead_inner: AtomicU64,
    /// What its caller is charged in addition, in 1/256 tick.
    pub(crate) overhead_outer: AtomicU64,
    /// Major, minor, build and revision number of the runtime, 16 bits each, the major one highest.
    pub(crate) runtime: AtomicU64,
    /// Text: the command line, words with a blank between them.
    pub(crate) command: AtomicU64,
    /// Text: the settings, as `NAME=value` lines.
    pub(crate) settings: AtomicU64,
    /// Text: what did not work, in words; 0 when all did.
    pub(crate) problem: AtomicU64,
    /// Methods that found no room and are not seen.
    pub(crate) lost_methods: AtomicU64,
    /// Threads that found no room and are not seen.
    pub(crate) lost_threads: AtomicU64,
    /// Modules that found no room.
    pub(crate) lost_modules: AtomicU64,
    /// Pieces of text that found no room.
    pub(crate) lost_text: AtomicU64,
    /// The request of another process: [`WANTED_ON`] or [`WANTED_OFF`] in the two lowest bits, and above them
    /// a number that distinguishes requests; 0 for none.
    pub(crate) wanted: AtomicU32,
    /// The last request that was answered, as it was in `wanted`.
    pub(crate) answered: AtomicU32,
    /// The rings of events: a record is a whole ring of [`RING`] events.
    pub(crate) rings: Region,
    /// [`RING`], 0 in a file without rings.
    pub(crate) ring_size: AtomicU32,
    /// Bytes of an [`Event`].
    pub(crate) event_size: AtomicU32,
    /// Threads that found no ring.
    pub(crate) lost_rings: AtomicU64,
    /// The cost of reading the clock twice, in 1/256 tick: the least that a call can cost.
    pub(crate) overhead_clock: AtomicU64,
    /// The least of both parts of the profiler's work together, in 1/256 tick.
    pub(crate) overhead_least: AtomicU64,
    /// The most of both together.
    pub(crate) overhead_most: AtomicU64,
    /// Calls of fewer ticks leave no events; 0 when all leave some.
    pub(crate) events_least: AtomicU64,
}

/// Where the words of a switch request begin; they go up to the end of the header: see
/// [`crate::settings::Filter::lines`].
pub(crate) const REQUEST: usize = 2048;

/// [`Header::wanted`]: hooks on.
pub(crate) const WANTED_ON: u32 = 1;

/// [`Header::wanted`]: hooks off.
pub(crate) const WANTED_OFF: u32 = 2;

/// A module (an assembly file).
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct ModuleRecord {
    /// [`READY`] when the rest is written.
    pub(crate) state: AtomicU32,
    /// `MODULE_` bits.
    pub(crate) flags: AtomicU32,
    /// The runtime's `ModuleID`.
    pub(crate) id: AtomicU64,
    /// Text: its path, or its name when it has none.
    pub(crate) path: AtomicU64,
    /// Text: the application domain that it was loaded into; 0 when unknown.
    pub(crate) domain: AtomicU64,
}

/// A method, or one instantiation of a generic one.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct MethodRecord {
    /// [`READY`] when the rest is written.
    pub(crate) state: AtomicU32,
    /// `METHOD_` bits.
    pub(crate) flags: AtomicU32,
    /// Number of the module plus one; 0 when unknown.
    pub(crate) module: AtomicU32,
    /// Metadata token.
    pub(crate) token: AtomicU32,
    /// The runtime's `FunctionID`.
    pub(crate) id: AtomicU64,
    /// Text: the parts of the name, see [`crate::names::RawName::encode`].
    pub(crate) name: AtomicU64,
    /// How often it was compiled.
    pub(crate) compiled: AtomicU32,
    /// How often the compiler was allowed to inline it. The compiler then decides whether it does.
    pub(crate) inlined: AtomicU32,
    /// Number of the method that has the last of these places, 0 when that is no method with hooks.
    pub(crate) inlined_into: AtomicU32,
    /// Nothing yet.
    pub(crate) reserved: [AtomicU32; 5],
    /// Calls elsewhere: those that found no node. These and the following are of such calls only, and all
    /// threads add to them.
    pub(crate) enters: AtomicU64,
    /// Those that returned.
    pub(crate) leaves: AtomicU64,
    /// Those that ended in a tail call.
    pub(crate) tails: AtomicU64,
    /// Those that an exception ended.
    pub(crate) unwinds: AtomicU64,
    /// Those that had ended without a report when a later event came.
    pub(crate) dropped: AtomicU64,
    /// Ticks of those that ended, callees included; of a method that calls itself only the outermost call.
    pub(crate) total: AtomicU64,
    /// Ticks of all those that ended, callees included.
    pub(crate) ended_total: AtomicU64,
    /// Ticks without callees.
    pub(crate) own: AtomicU64,
    /// Longest of those that ended, in ticks.
    pub(crate) longest: AtomicU64,
    /// Exceptions thrown while one of them was the innermost call.
    pub(crate) exceptions: AtomicU64,
}

/// A thread that ran managed code. Its counts are written by that thread alone.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub(crate) struct ThreadRecord {
    /// [`READY`] while it runs, [`ENDED`] afterwards.
    pub(crate) state: AtomicU32,
    /// Kernel thread id.
    pub(crate) os_id: AtomicU32,
    /// The node that all its outermost calls hang under.
    pub(crate) root: AtomicU32,
    /// Number of its ring of events plus one, 0 without one.
    pub(crate) ring: AtomicU32,
    /// Text: its name, 0 when it has none.
    pub(crate) name: AtomicU64,
    /// Ticks when it was first seen.
    pub(crate) first_ticks: AtomicU64,
    /// Exceptions thrown.
    pub(crate) exceptions: AtomicU64,
    /// Calls that were deeper than the shadow stack and are not in the tree.
    pub(crate) lost_calls: AtomicU64,
    /// Calls elsewhere: without room for a node of their own or of a caller.
    pub(crate) lost_nodes: AtomicU64,
    /// Leaves and tail calls without the enter they belong to.
    pub(crate) unmatched: AtomicU64,
    /// Events written into the ring since the start; the ring has the newest [`RING`] of them. Written after
    /// the event.
    pub(crate) events: AtomicU64,
    /// The most that [`ThreadRecord::events`] ever was: the events of a short call are taken back.
    pub(crate) most_events: AtomicU64,
}

/// Something that happened in a thread, for a time line.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Event {
    /// Ticks.
    pub(crate) ticks: AtomicU64,
    /// Number of the method.
    pub(crate) method: AtomicU32,
    /// `EVENT_` kind.
    pub(crate) kind: AtomicU32,
}

/// A method at one place of a thread's call tree.
///
/// A path can be open only once in its thread, so a node holds the start of its open call.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Node {
    /// Number of the method; 0 for the root of a thread.
    pub(crate) method: AtomicU32,
    /// The caller's node, 0 for a root.
    pub(crate) parent: AtomicU32,
    /// The newest callee, 0 for none.
    pub(crate) first_child: AtomicU32,
    /// The next older callee of the same caller, 0 for none.
    pub(crate) next_sibling: AtomicU32,
    /// The callee that was called last; only speed depends on it.
    pub(crate) last_child: AtomicU32,
    /// Callees of this call that found no node, see [`MethodRecord::enters`]; a full count stays.
    pub(crate) elsewhere: AtomicU32,
    /// Calls that began.
    pub(crate) enters: AtomicU64,
    /// Calls that returned.
    pub(crate) leaves: AtomicU64,
    /// Calls that ended in a tail call.
    pub(crate) tails: AtomicU64,
    /// Calls that an exception ended, as the runtime reported it.
    pub(crate) unwinds: AtomicU64,
    /// Calls that had ended without a report when a later event came.
    pub(crate) dropped: AtomicU64,
    /// Ticks of all ended calls, callees included.
    pub(crate) total: AtomicU64,
    /// Ticks of the callees of all ended calls; of a root only those of its calls elsewhere.
    pub(crate) callees: AtomicU64,
    /// Shortest ended call in ticks, 0 before the first.
    pub(crate) shortest: AtomicU64,
    /// Longest ended call in ticks.
    pub(crate) longest: AtomicU64,
    /// Exceptions thrown while this was the innermost call.
    pub(crate) exceptions: AtomicU64,
    /// Ticks at the start of the open call (of the last one when none is open).
    pub(crate) open_start: AtomicU64,
    /// Ticks of the ended callees of the open call.
    pub(crate) open_callees: AtomicU64,
    /// Ended calls by their time, see [`BUCKETS`]; a full count stays at its largest value.
    pub(crate) histogram: [AtomicU32; BUCKETS],
}

impl Node {
    /// An empty node.
    pub(crate) const fn new() -> Node {
        Node {
            method: AtomicU32::new(0),
            parent: AtomicU32::new(0),
            first_child: AtomicU32::new(0),
            next_sibling: AtomicU32::new(0),
            last_child: AtomicU32::new(0),
            elsewhere: AtomicU32::new(0),
            enters: AtomicU64::new(0),
            leaves: AtomicU64::new(0),
            tails: AtomicU64::new(0),
            unwinds: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            total: AtomicU64::new(0),
            callees: AtomicU64::new(0),
            shortest: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            exceptions: AtomicU64::new(0),
            open_start: AtomicU64::new(0),
            open_callees: AtomicU64::new(0),
            histogram: [const { AtomicU32::new(0) }; BUCKETS],
        }
    }
}

impl Default for Node {
    fn default() -> Node {
        Node::new()
    }
}

impl Region {
    /// Takes the next record; `None` when the region is full. It may get more room later.
    pub(crate) fn take(&self) -> Option<u32> {
        let capacity = self.capacity.load(Ordering::Relaxed);
        let next = |used: u64| (used < capacity).then(|| used.saturating_add(1));
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        taken.ok().and_then(|number| u32::try_from(number).ok())
    }
}

/// Adds to a number that only this thread writes: it needs no lock, and a reader never sees half of a change.
#[inline(always)]
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
}

/// The bucket of a time in ticks.
#[inline(always)]
pub(crate) fn bucket(ticks: u64) -> usize {
    let bits = u64::BITS.wrapping_sub(ticks.leading_zeros()) as usize;
    bits.saturating_sub(6).min(BUCKETS - 1)
}

/// The upper limit of a bucket in ticks; the last bucket has none.
pub(crate) fn bucket_end(bucket: usize) -> u64 {
    let shift = u32::try_from(bucket).unwrap_or(u32::MAX).saturating_add(6);
    if bucket >= BUCKETS - 1 { u64::MAX } else { 1u64.checked_shl(shift).unwrap_or(u64::MAX) }
}

// The sizes are part of the format.
const _: () = assert!(size_of::<Header>() <= REQUEST && REQUEST < HEADER_SIZE);
const _: () = assert!(size_of::<ModuleRecord>() == 64);
const _: () = assert!(size_of::<MethodRecord>() == 192);
const _: () = assert!(size_of::<ThreadRecord>() == 128);
const _: () = assert!(size_of::<Node>() == 256);
const _: () = assert!(size_of::<Event>() == 16);

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn offsets_are_those_of_the_format_description() {
        let header = [
            (offset_of!(Header, modules), 32),
            (offset_of!(Header, nodes), 128),
            (offset_of!(Header, pid), 152),
            (offset_of!(Header, hooks_on), 172),
            (offset_of!(Header, clock_sequence), 184),
            (offset_of!(Header, last_nanoseconds), 216),
            (offset_of!(Header, overhead_inner), 224),
            (offset_of!(Header, command), 248),
            (offset_of!(Header, problem), 264),
            (offset_of!(Header, lost_text), 296),
            (offset_of!(Header, wanted), 304),
            (offset_of!(Header, answered), 308),
            (offset_of!(Header, rings), 312),
            (offset_of!(Header, ring_size), 336),
            (offset_of!(Header, lost_rings), 344),
            (offset_of!(Header, overhead_clock), 352),
            (offset_of!(Header, overhead_least), 360),
            (offset_of!(Header, overhead_most), 368),
            (offset_of!(Header, events_least), 376),
        ];
        let records = [
            (offset_of!(ModuleRecord, path), 16),
            (offset_of!(ModuleRecord, domain), 24),
            (offset_of!(ThreadRecord, ring), 12),
            (offset_of!(ThreadRecord, events), 64),
            (offset_of!(ThreadRecord, most_events), 72),
            (offset_of!(MethodRecord, inlined_into), 40),
            (offset_of!(MethodRecord, enters), METHOD_SIZE_1),
            (offset_of!(MethodRecord, total), 104),
            (offset_of!(MethodRecord, exceptions), 136),
            (offset_of!(Node, elsewhere), 20),
            (offset_of!(Event, kind), 12),
            (offset_of!(ThreadRecord, root), 8),
            (offset_of!(ThreadRecord, name), 16),
            (offset_of!(ThreadRecord, unmatched), 56),
            (offset_of!(MethodRecord, name), 24),
            (offset_of!(MethodRecord, compiled), 32),
            (offset_of!(Node, last_child), 16),
            (offset_of!(Node, enters), 24),
            (offset_of!(Node, total), 64),
            (offset_of!(Node, exceptions), 96),
            (offset_of!(Node, open_callees), 112),
            (offset_of!(Node, histogram), 120),
        ];
        for (found, described) in header.into_iter().chain(records) {
            assert_eq!(found, described);
        }
    }

    #[test]
    fn buckets_are_powers_of_two() {
        for (ticks, expected) in [(0, 0), (63, 0), (64, 1), (127, 1), (128, 2), (u64::MAX, BUCKETS - 1)] {
            assert_eq!(bucket(ticks), expected, "{ticks}");
        }
        for number in 1..BUCKETS {
            assert_eq!(bucket(bucket_end(number - 1)), number);
            assert_eq!(bucket(bucket_end(number - 1) - 1), number - 1);
        }
    }

    #[test]
    fn full_region_returns_none() {
        let region = Region::default();
        region.capacity.store(2, Ordering::Relaxed);
        assert_eq!([region.take(), region.take(), region.take()], [Some(0), Some(1), None]);
        assert_eq!(region.used.load(Ordering::Relaxed), 2);
        region.capacity.store(3, Ordering::Relaxed);
        assert_eq!([region.take(), region.take()], [Some(2), None]);
    }
}
