//! Shadow stacks and call trees: how an enter, a leave, a tail call and an exception change the records of a
//! thread.
//!
//! You pass the events of one thread, each with the stack pointer of the caller; the thread's nodes count
//! calls and add up times. This module does not know .NET, the file or the clock: nodes and frames are
//! slices, and the clock is a function, so tests need no runtime. Nothing here allocates, waits or panics,
//! because it runs inside of the measured calls.
//!
//! # The stack pointer heals
//!
//! An exception ends calls without a leave, and a runtime may report that twice or not at all. So each frame
//! keeps the stack pointer of its caller: the stack grows downwards, so a frame has ended if its pointer is
//! at or below the pointer of a call that begins (below the pointer of a call that ends). Such frames are
//! dropped and counted.
//!
//! # Calls elsewhere
//!
//! When there is no room for another node, a call has no place in the tree, nor have the calls that it makes.
//! Such calls are *elsewhere*: their frames keep their times, and the record of their method counts them, all
//! threads together. So counts and times of a method stay exact, and no call ever hangs under a caller that
//! did not call it. The last caller with a node counts how many of its calls are elsewhere.

use crate::layout::{
    EVENT_DROP, EVENT_ENTER, EVENT_LEAVE, EVENT_TAIL, EVENT_THROW, EVENT_UNWIND, Event, MethodRecord, Node,
    Region, ThreadRecord, add, bucket,
};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Unwinding functions that are remembered while `finally` blocks run inside of the unwinding of others.
const MAX_PENDING: usize = 32;

/// How many nodes are created between two calls of `taken`.
const NODES_TOLD: u32 = 256;

/// How many siblings are looked at one after another before the index is asked.
const FEW_SIBLINGS: usize = 8;

/// How many frames are searched for an earlier call of the same method, for a call elsewhere.
const MAX_SEARCH: usize = 64;

/// An open call.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Frame {
    /// The stack pointer of the caller.
    pub(crate) stack: usize,
    /// The call's node, 0 for a call elsewhere.
    pub(crate) node: u32,
    /// The number of its method.
    pub(crate) method: u32,
    /// Ticks at the start of a call elsewhere; the node has those of the others.
    pub(crate) start: u64,
    /// Ticks of the ended callees of a call elsewhere.
    pub(crate) callees: u64,
}

/// The nodes of all threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nodes<'a> {
    nodes: &'a [Node],
    region: &'a Region,
    methods: &'a [MethodRecord],
    /// Numbers of nodes by caller and method, each at the first empty place from its hash on.
    index: &'a [AtomicU32],
    taken: fn(),
}

/// One thread: its open calls and its call tree.
///
/// Its depth changes with each call, so that it must share no cache line, nor the one fetched along with it,
/// with the state of another thread.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct ThreadProfile<'a> {
    tree: Nodes<'a>,
    record: &'a ThreadRecord,
    root: u32,
    frames: &'a mut [Frame],
    depth: usize,
    pending: [Pending; MAX_PENDING],
    n_pending: usize,
    /// The ring with its newest events; empty when none are kept.
    ring: &'a [Event],
    /// Calls of fewer ticks leave no events in it.
    least: u64,
}

/// A function whose unwinding has begun.
#[derive(Debug, Clone, Copy, Default)]
struct Pending {
    /// 0 when the function has no hooks.
    method: u32,
    depth: usize,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Leave,
    Tail,
    Unwind,
    Drop,
}

impl<'a> Nodes<'a> {
    /// The nodes and their region. Number 0 must be taken already: it means no node. `methods` count the
    /// calls that find no node. `index` is zero and should have twice as many places as there are nodes; an
    /// empty one makes callers with many callees slow. `taken` is called from time to time when nodes were
    /// used, so that another thread allocates more; it must not wait.
    pub(crate) fn new(
        nodes: &'a [Node],
        region: &'a Region,
        methods: &'a [MethodRecord],
        index: &'a [AtomicU32],
        taken: fn(),
    ) -> Nodes<'a> {
        Nodes { nodes, region, methods, index, taken }
    }

    /// The places of the index for a callee, the most likely first.
    fn places(&self, caller: u32, method: u32) -> impl Iterator<Item = &'a AtomicU32> + use<'a> {
        let key = (u64::from(caller) << 32) | u64::from(method);
        // 2^64 over the golden ratio: the upper bits depend on all bits of the key.
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let start = (hash as usize).checked_rem(self.index.len()).unwrap_or(0);
        let (before, from) = self.index.split_at_checked(start).unwrap_or((&[], &[]));
        from.iter().chain(before)
    }

    /// A callee by the index.
    fn indexed(&self, caller: u32, method: u32) -> Option<(u32, &'a Node)> {
        for place in self.places(caller, method) {
            let number = place.load(Acquire);
            if number == 0 {
                return None;
            }
            let node = self.nodes.get(number as usize)?;
            if node.parent.load(Relaxed) == caller && node.method.load(Relaxed) == method {
                return Some((number, node));
            }
        }
        None
    }

    /// Puts a node into the index. Nodes of other threads are put there at the same time.
    fn insert(&self, caller: u32, method: u32, number: u32) {
        for place in self.places(caller, method) {
            if place.load(Relaxed) == 0 && place.compare_exchange(0, number, AcqRel, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// A new node under `parent`, `None` when there is no room.
    fn create(self, method: u32, parent: u32) -> Option<u32> {
        let number = self.region.take()?;
        if number.is_multiple_of(NODES_TOLD) {
            (self.taken)();
        }
        let node = self.nodes.get(number as usize)?;
        node.method.store(method, Relaxed);
        node.parent.store(parent, Relaxed);
        Some(number)
    }

    /// The callee `method` of a node; created by the first call.
    #[inline(always)]
    fn callee(&self, caller: u32, method: u32) -> Option<(u32, &'a Node)> {
        let node = self.nodes.get(caller as usize)?;
        let last = node.last_child.load(Relaxed);
        if let Some(callee) = self.nodes.get(last as usize)
            && last != 0
            && callee.method.load(Relaxed) == method
        {
            return Some((last, callee));
        }
        self.other_callee(caller, node, method)
    }

    #[inline(never)]
    fn other_callee(&self, caller: u32, node: &Node, method: u32) -> Option<(u32, &'a Node)> {
        let mut number = node.first_child.load(Relaxed);
        let mut seen = 0usize;
        while number != 0 {
            let callee = self.nodes.get(number as usize)?;
            if callee.method.load(Relaxed) == method {
                node.last_child.store(number, Relaxed);
                return Some((number, callee));
            }
            seen = seen.wrapping_add(1);
            if seen == FEW_SIBLINGS && !self.index.is_empty() {
                if let Some((number, callee)) = self.indexed(caller, method) {
                    node.last_child.store(number, Relaxed);
                    return Some((number, callee));
                }
                break;
            }
            number = callee.next_sibling.load(Relaxed);
        }
        let number = self.create(method, caller)?;
        let callee = self.nodes.get(number as usize)?;
        self.insert(caller, method, number);
        callee.next_sibling.store(node.first_child.load(Relaxed), Relaxed);
        // A reader that sees the node sees its method too.
        node.first_child.store(number, Release);
        node.last_child.store(number, Relaxed);
        Some((number, callee))
    }
}

impl<'a> ThreadProfile<'a> {
    /// A thread without open calls. `frames` bounds the depth of its shadow stack. Without room for its root,
    /// all its calls are elsewhere.
    pub(crate) fn new(
        tree: Nodes<'a>,
        record: &'a ThreadRecord,
        frames: &'a mut [Frame],
    ) -> ThreadProfile<'a> {
        let root = tree.create(0, 0).unwrap_or(0);
        record.root.store(root, Relaxed);
        ThreadProfile::with_root(tree, record, frames, root)
    }

    /// A thread whose calls are all elsewhere. Many threads may have the same record then.
    pub(crate) fn elsewhere(
        tree: Nodes<'a>,
        record: &'a ThreadRecord,
        frames: &'a mut [Frame],
    ) -> ThreadProfile<'a> {
        ThreadProfile::with_root(tree, record, frames, 0)
    }

    fn with_root(
        tree: Nodes<'a>,
        record: &'a ThreadRecord,
        frames: &'a mut [Frame],
        root: u32,
    ) -> ThreadProfile<'a> {
        let pending = [Pending::default(); MAX_PENDING];
        ThreadProfile { tree, record, root, frames, depth: 0, pending, n_pending: 0, ring: &[], least: 0 }
    }

    /// Keeps the newest events in a ring from now on; older ones are lost, and the total count shows how
    /// many. Calls of fewer than `least` ticks leave none.
    pub(crate) fn keep_events(&mut self, ring: &'a [Event], least: u64) {
        (self.ring, self.least) = (ring, least);
    }

    /// Keeps the end of a call. One that was too short is taken back instead: what it called was shorter
    /// still, so its beginning is the newest event, unless it threw an exception.
    #[inline(never)]
    fn keep_end(&self, end: End, method: u32, elapsed: u64, now: u64) {
        let last = self.record.events.load(Relaxed).checked_sub(1);
        let place = last.and_then(|last| usize::try_from(last).ok()?.checked_rem(self.ring.len()));
        let begin = place
            .and_then(|place| self.ring.get(place))
            .filter(|event| event.kind.load(Relaxed) == EVENT_ENTER && event.method.load(Relaxed) == method);
        match last.filter(|_| elapsed < self.least && begin.is_some()) {
            Some(last) => self.record.events.store(last, Release),
            None => self.keep_event(end.event(), method, now),
        }
    }

    /// Never inlined: the way without a ring is to stay short.
    #[inline(never)]
    fn keep_event(&self, kind: u32, method: u32, ticks: u64) {
        let count = self.record.events.load(Relaxed);
        let place = usize::try_from(count).ok().and_then(|count| count.checked_rem(self.ring.len()));
        let Some(event) = place.and_then(|place| self.ring.get(place)) else { return };
        event.ticks.store(ticks, Relaxed);
        event.method.store(method, Relaxed);
        event.kind.store(kind, Relaxed);
        // A reader that reads the count before and after its copy knows which events were overwritten in the
        // meantime.
        let count = count.wrapping_add(1);
        if count > self.record.most_events.load(Relaxed) {
            self.record.most_events.store(count, Relaxed);
        }
        self.record.events.store(count, Release);
    }

    /// The thread's record.
    pub(crate) fn record(&self) -> &'a ThreadRecord {
        self.record
    }

    /// The frames, when the thread has ended.
    pub(crate) fn into_frames(self) -> &'a mut [Frame] {
        self.frames
    }

    /// Ticks of all ended calls of a method directly from the thread's root.
    pub(crate) fn total_of(&self, method: u32) -> Option<u64> {
        let (_, node) = self.tree.callee(self.root, method)?;
        Some(node.total.load(Relaxed))
    }

    /// Calls that are open.
    #[cfg(test)]
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// A call begins; `stack` is the stack pointer of its caller.
    ///
    /// The clock is read last, so that as little as possible of the work here counts as the callee's.
    #[inline(always)]
    pub(crate) fn enter(&mut self, method: u32, stack: usize, clock: impl Fn() -> u64) {
        let mut caller = self.root;
        if let Some(top) = self.top() {
            if top.stack <= stack {
                self.drop_while(|frame| frame.stack <= stack, clock());
            }
            caller = self.top().map_or(self.root, |frame| frame.node);
        }
        let Some(frame) = self.frames.get_mut(self.depth) else {
            self.record.lost_calls.fetch_add(1, Relaxed);
            return;
        };
        if caller == 0 {
            return self.enter_elsewhere(caller, method, stack, clock);
        }
        let Some((number, node)) = self.tree.callee(caller, method) else {
            return self.enter_elsewhere(caller, method, stack, clock);
        };
        (frame.stack, frame.node, frame.method) = (stack, number, method);
        self.depth = self.depth.wrapping_add(1);
        node.open_callees.store(0, Relaxed);
        // The start must be stored before the call counts as open, or a reader would combine it with an old
        // start.
        let now = clock();
        node.open_start.store(now, Relaxed);
        node.enters.store(node.enters.load(Relaxed).wrapping_add(1), Release);
        if !self.ring.is_empty() {
            self.keep_event(EVENT_ENTER, method, now);
        }
    }

    /// A call begins that has no place in the tree. There is room for its frame.
    #[cold]
    #[inline(never)]
    fn enter_elsewhere(&mut self, caller: u32, method: u32, stack: usize, clock: impl Fn() -> u64) {
        let Some(frame) = self.frames.get_mut(self.depth) else { return };
        self.depth = self.depth.wrapping_add(1);
        self.record.lost_nodes.fetch_add(1, Relaxed);
        if let Some(caller) = self.tree.nodes.get(caller as usize).filter(|_| caller != 0) {
            let count = caller.elsewhere.load(Relaxed).saturating_add(1);
            caller.elsewhere.store(count, Relaxed);
        }
        if let Some(record) = self.tree.methods.get(method as usize) {
            record.enters.fetch_add(1, Relaxed);
        }
        let now = clock();
        *frame = Frame { stack, node: 0, method, start: now, callees: 0 };
        if !self.ring.is_empty() {
            self.keep_event(EVENT_ENTER, method, now);
        }
    }

    /// A call returns. `now` was read first, for the same reason.
    #[inline(always)]
    pub(crate) fn leave(&mut self, method: u32, stack: usize, now: u64) {
        self.end(method, stack, now, End::Leave);
    }

    /// A call ends by a jump to another method, whose enter follows.
    #[inline(always)]
    pub(crate) fn tail_call(&mut self, method: u32, stack: usize, now: u64) {
        self.end(method, stack, now, End::Tail);
    }

    /// An exception is thrown.
    pub(crate) fn thrown(&mut self, now: u64) {
        self.record.exceptions.fetch_add(1, Relaxed);
        let (node, method) = self.top().map_or((self.root, 0), |frame| (frame.node, frame.method));
        if node != 0 {
            if let Some(node) = self.tree.nodes.get(node as usize) {
                add(&node.exceptions, 1);
            }
        } else if let Some(record) = self.tree.methods.get(method as usize) {
            record.exceptions.fetch_add(1, Relaxed);
        }
        if !self.ring.is_empty() {
            self.keep_event(EVENT_THROW, method, now);
        }
    }

    /// The unwinding of a function begins; 0 for a function without hooks. Its `finally` blocks may run
    /// before the unwinding ends.
    pub(crate) fn unwind_enter(&mut self, method: u32) {
        // Entries that an exception in a finally block left belong to frames that have ended.
        while let Some(last) = self.last_pending()
            && (last.depth > self.depth || (last.depth == self.depth && last.method == method && method != 0))
        {
            self.n_pending = self.n_pending.saturating_sub(1);
        }
        if self.n_pending == MAX_PENDING {
            self.pending.copy_within(1.., 0);
            self.n_pending = MAX_PENDING - 1;
        }
        if let Some(slot) = self.pending.get_mut(self.n_pending) {
            *slot = Pending { method, depth: self.depth };
            self.n_pending = self.n_pending.saturating_add(1);
        }
    }

    /// The function whose unwinding began last has ended.
    ///
    /// A report without a beginning, or about a function that is not the innermost one, changes nothing: the
    /// next stack pointer will show what has ended.
    pub(crate) fn unwind_leave(&mut self, now: u64) {
        let Some(pending) = self.last_pending() else { return };
        self.n_pending = self.n_pending.saturating_sub(1);
        if pending.method != 0 && self.top_method() == Some(pending.method) {
            self.pop(now, End::Unwind);
        }
    }

    /// A function catches: its unwinding, which had begun, does not end it.
    pub(crate) fn catcher_enter(&mut self, method: u32) {
        if let Some(last) = self.last_pending()
            && last.method == method
        {
            self.n_pending = self.n_pending.saturating_sub(1);
        }
    }

    /// A function handles an exception, in a runtime that does not report unwinding reliably: the calls
    /// inside of it have ended.
    ///
    /// `method` is 0 for a function without hooks; `stack` is its own stack pointer, 0 when unknown.
    pub(crate) fn handler_enter(&mut self, method: u32, stack: usize, now: u64) {
        let open = self.frames.get(..self.depth).unwrap_or_default();
        let remains = |frame: &Frame| if stack != 0 { frame.stack > stack } else { frame.method == method };
        // Without the pointer, a method that calls itself is taken for its innermost call; if that is wrong,
        // the next event drops it.
        let remaining = open.iter().rposition(remains).map_or(0, |at| at.saturating_add(1));
        if remaining == 0 && stack == 0 {
            return;
        }
        while self.depth > remaining {
            self.pop(now, End::Unwind);
        }
    }

    #[inline(always)]
    fn end(&mut self, method: u32, stack: usize, now: u64, end: End) {
        if self.top().is_some_and(|top| top.stack < stack) {
            self.drop_while(|frame| frame.stack < stack, now);
        }
        if self.top().is_some_and(|top| top.stack == stack) && self.top_method() == Some(method) {
            self.pop(now, end);
        } else {
            self.record.unmatched.fetch_add(1, Relaxed);
        }
    }

    #[inline(always)]
    fn top(&self) -> Option<Frame> {
        self.frames.get(self.depth.checked_sub(1)?).copied()
    }

    #[inline(always)]
    fn top_method(&self) -> Option<u32> {
        Some(self.top()?.method)
    }

    fn last_pending(&self) -> Option<Pending> {
        self.pending.get(self.n_pending.checked_sub(1)?).copied()
    }

    #[inline(never)]
    fn drop_while(&mut self, gone: impl Fn(&Frame) -> bool, now: u64) {
        while self.top().is_some_and(|top| gone(&top)) {
            self.pop(now, End::Drop);
        }
    }

    /// Ends the innermost call and adds its time to its node and to its caller's open call.
    #[inline(always)]
    fn pop(&mut self, now: u64, end: End) {
        let Some(top) = self.top() else { return };
        self.depth = self.depth.wrapping_sub(1);
        if top.node == 0 {
            return self.pop_elsewhere(top, now, end);
        }
        let Some(node) = self.tree.nodes.get(top.node as usize) else { return };
        // The time stamp counters of two processors may differ by a few ticks.
        let elapsed = now.saturating_sub(node.open_start.load(Relaxed));
        add(&node.total, elapsed);
        add(&node.callees, node.open_callees.load(Relaxed));
        let shortest = node.shortest.load(Relaxed);
        if shortest == 0 || elapsed < shortest {
            // 0 means that nothing ended yet.
            node.shortest.store(elapsed.max(1), Relaxed);
        }
        if elapsed > node.longest.load(Relaxed) {
            node.longest.store(elapsed, Relaxed);
        }
        if let Some(count) = node.histogram.get(bucket(elapsed)) {
            count.store(count.load(Relaxed).saturating_add(1), Relaxed);
        }
        let caller = self.top().map_or(self.root, |frame| frame.node);
        if let Some(caller) = self.tree.nodes.get(caller as usize) {
            add(&caller.open_callees, elapsed);
        }
        let ended = match end {
            End::Leave => &node.leaves,
            End::Tail => &node.tails,
            End::Unwind => &node.unwinds,
            End::Drop => &node.dropped,
        };
        ended.store(ended.load(Relaxed).wrapping_add(1), Release);
        if !self.ring.is_empty() {
            self.keep_end(end, top.method, elapsed, now);
        }
    }

    /// Adds the time of a call elsewhere, whose frame is gone already, to its method and its caller.
    #[cold]
    #[inline(never)]
    fn pop_elsewhere(&mut self, call: Frame, now: u64, end: End) {
        let elapsed = now.saturating_sub(call.start);
        let open = self.frames.get(..self.depth).unwrap_or_default();
        // Of a method that calls itself only the outermost call counts for the time with callees.
        let inner = open.iter().rev().take(MAX_SEARCH).any(|frame| frame.method == call.method);
        if let Some(record) = self.tree.methods.get(call.method as usize) {
            record.ended_total.fetch_add(elapsed, Relaxed);
            record.total.fetch_add(if inner { 0 } else { elapsed }, Relaxed);
            record.own.fetch_add(elapsed.saturating_sub(call.callees), Relaxed);
            record.longest.fetch_max(elapsed, Relaxed);
            let ended = match end {
                End::Leave => &record.leaves,
                End::Tail => &record.tails,
                End::Unwind => &record.unwinds,
                End::Drop => &record.dropped,
            };
            ended.fetch_add(1, Release);
        }
        match self.depth.checked_sub(1).and_then(|at| self.frames.get_mut(at)) {
            Some(caller) if caller.node == 0 => caller.callees = caller.callees.saturating_add(elapsed),
            caller => {
                let caller = caller.map_or(self.root, |frame| frame.node);
                if let Some(caller) = self.tree.nodes.get(caller as usize).filter(|_| caller != 0) {
                    add(&caller.open_callees, elapsed);
                    // A root never ends.
                    if caller.parent.load(Relaxed) == 0 {
                        add(&caller.callees, elapsed);
                    }
                }
            }
        }
        if !self.ring.is_empty() {
            self.keep_end(end, call.method, elapsed, now);
        }
    }
}

impl End {
    /// Its [`Event::kind`].
    fn event(self) -> u32 {
        match self {
            End::Leave => EVENT_LEAVE,
            End::Tail => EVENT_TAIL,
            End::Unwind => EVENT_UNWIND,
            End::Drop => EVENT_DROP,
        }
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod profile_tests;
