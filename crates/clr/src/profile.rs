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
        ThreadProfile { tree, record, root, frames, depth: 0, pending, n_pending: 0, ring: &[] }
    }

    /// Keeps the newest events in a ring from now on; older ones are lost, and the total count shows how
    /// many.
    pub(crate) fn keep_events(&mut self, ring: &'a [Event]) {
        self.ring = ring;
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
        self.record.events.store(count.wrapping_add(1), Release);
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
            self.keep_event(end.event(), top.method, now);
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
            self.keep_event(end.event(), call.method, now);
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
#[allow(clippy::arithmetic_side_effects, reason = "small numbers of the tests")]
mod tests {
    use super::*;
    use std::cell::Cell;
    use tallymon_testkit::raw::Random;

    /// Storage for one thread; `clock` ticks by hand.
    struct Bench {
        nodes: Vec<Node>,
        region: Region,
        methods: Vec<MethodRecord>,
        index: Vec<AtomicU32>,
        record: ThreadRecord,
        frames: Vec<Frame>,
    }

    impl Bench {
        fn new(n_nodes: usize, n_frames: usize) -> Bench {
            let region = Region::default();
            region.capacity.store(n_nodes as u64, Relaxed);
            region.take();
            Bench {
                nodes: (0..n_nodes).map(|_| Node::new()).collect(),
                region,
                methods: (0..16).map(|_| MethodRecord::default()).collect(),
                index: (0..2 * n_nodes).map(|_| AtomicU32::new(0)).collect(),
                record: ThreadRecord::default(),
                frames: vec![Frame::default(); n_frames],
            }
        }

        fn thread(&mut self) -> ThreadProfile<'_> {
            let tree = Nodes::new(&self.nodes, &self.region, &self.methods, &self.index, || {});
            ThreadProfile::new(tree, &self.record, &mut self.frames)
        }

        /// The tree as text: `method*enters total/callees (leaves tails unwinds dropped)`.
        fn show(&self) -> String {
            let mut out = String::new();
            self.show_node(self.record.root.load(Relaxed), 0, &mut out);
            out
        }

        fn show_node(&self, number: u32, depth: usize, out: &mut String) {
            let node = &self.nodes[number as usize];
            if depth > 0 {
                let n = |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed);
                let ends = [&node.leaves, &node.tails, &node.unwinds, &node.dropped].map(n);
                out.push_str(&format!(
                    "{}{}*{} {}/{} {:?}\n",
                    " ".repeat(depth - 1),
                    node.method.load(Relaxed),
                    n(&node.enters),
                    n(&node.total),
                    n(&node.callees),
                    ends
                ));
            }
            let mut children = Vec::new();
            let mut child = node.first_child.load(Relaxed);
            while child != 0 {
                children.push(child);
                child = self.nodes[child as usize].next_sibling.load(Relaxed);
            }
            for child in children.into_iter().rev() {
                self.show_node(child, depth + 1, out);
            }
        }
    }

    /// Plays events on a fresh thread. `+m@s` enters, `-m@s` leaves, `t m@s` tail-calls, `{m` and `}` unwind,
    /// `c m` catches, `C m@s` handles where unwinding is not reported, `!` throws; each event advances the
    /// clock by 10.
    fn play(events: &str) -> (Bench, String) {
        let mut bench = Bench::new(64, 16);
        let now = Cell::new(0);
        let mut thread = bench.thread();
        for event in events.split_whitespace() {
            now.set(now.get() + 10);
            let (kind, rest) = event.split_at(1);
            let (method, stack) = rest.split_once('@').unwrap_or((rest, "0"));
            let (method, stack) = (method.parse().unwrap_or(0), stack.parse().unwrap());
            match kind {
                "+" => thread.enter(method, stack, || now.get()),
                "-" => thread.leave(method, stack, now.get()),
                "t" => thread.tail_call(method, stack, now.get()),
                "{" => thread.unwind_enter(method),
                "}" => thread.unwind_leave(now.get()),
                "c" => thread.catcher_enter(method),
                "C" => thread.handler_enter(method, stack, now.get()),
                "!" => thread.thrown(now.get()),
                _ => panic!("no such event: {event}"),
            }
        }
        let text = bench.show();
        (bench, text)
    }

    #[test]
    fn calls_nest_and_times_add_up() {
        let (bench, text) = play("+1@100 +2@90 -2@90 +2@90 -2@90 +3@90 +3@80 -3@80 -3@90 -1@100");
        let expected = "1*1 90/50 [1, 0, 0, 0]\n 2*2 20/0 [2, 0, 0, 0]\n\
            \x203*1 30/10 [1, 0, 0, 0]\n  3*1 10/0 [1, 0, 0, 0]\n";
        assert_eq!(text, expected);
        assert_eq!(bench.record.unmatched.load(Relaxed), 0);
        let twice = bench.nodes.iter().find(|node| node.enters.load(Relaxed) == 2).unwrap();
        assert_eq!((twice.shortest.load(Relaxed), twice.longest.load(Relaxed)), (10, 10));
        assert_eq!(twice.histogram[0].load(Relaxed), 2);
    }

    #[test]
    fn a_tail_call_makes_siblings() {
        let (_, text) = play("+1@100 +2@90 t2@90 +3@90 -3@90 -1@100");
        assert_eq!(text, "1*1 50/20 [1, 0, 0, 0]\n 2*1 10/0 [0, 1, 0, 0]\n 3*1 10/0 [1, 0, 0, 0]\n");
    }

    #[test]
    fn unwound_frames_end_at_the_reports() {
        // 3 throws, 2 has a finally block that calls 4, 1 catches.
        let (bench, text) = play("+1@100 +2@90 +3@80 ! {3 } {2 +4@70 -4@70 } {1 c1 +5@60 -5@60 -1@100");
        let expected = "1*1 140/90 [1, 0, 0, 0]\n 2*1 80/40 [0, 0, 1, 0]\n  3*1 30/0 [0, 0, 1, 0]\n\
            \x20 4*1 10/0 [1, 0, 0, 0]\n 5*1 10/0 [1, 0, 0, 0]\n";
        assert_eq!(text, expected);
        assert_eq!(bench.record.exceptions.load(Relaxed), 1);
        let thrower = bench.nodes.iter().find(|node| node.exceptions.load(Relaxed) == 1).unwrap();
        assert_eq!(thrower.method.load(Relaxed), 3);
    }

    #[test]
    fn a_rethrow_and_a_throw_in_finally_leave_no_stale_report() {
        // 2 catches and throws again, 1 catches.
        let (_, text) = play("+1@100 +2@90 +3@80 ! {3 } {2 c2 ! {2 } {1 c1 -1@100");
        assert_eq!(text, "1*1 130/90 [1, 0, 0, 0]\n 2*1 90/30 [0, 0, 1, 0]\n  3*1 30/0 [0, 0, 1, 0]\n");
        // The finally block of 2 throws: the first unwinding of 2 never ends.
        let (_, text) = play("+1@100 +2@90 ! {2 +4@70 ! {4 } {2 } {1 c1 -1@100");
        assert_eq!(text, "1*1 120/80 [1, 0, 0, 0]\n 2*1 80/30 [0, 0, 1, 0]\n  4*1 30/0 [0, 0, 1, 0]\n");
    }

    #[test]
    fn functions_without_hooks_unwind_without_effect() {
        let (_, text) = play("+1@100 {0 } {0 {1 } } -1@100");
        assert_eq!(text, "1*1 50/0 [0, 0, 1, 0]\n");
    }

    #[test]
    fn a_report_that_comes_twice_ends_one_call() {
        let (_, text) = play("+1@100 +2@90 {2 } {2 } {1 c1 -1@100");
        assert_eq!(text, "1*1 80/20 [1, 0, 0, 0]\n 2*1 20/0 [0, 0, 1, 0]\n");
    }

    #[test]
    fn stack_pointer_drops_ended_calls() {
        // No reports at all: 3 and 2 have ended when 1 calls 4.
        let (bench, text) = play("+1@100 +2@90 +3@80 +4@90 -4@90 -1@100");
        assert_eq!(
            text,
            "1*1 50/30 [1, 0, 0, 0]\n 2*1 20/10 [0, 0, 0, 1]\n\
                \x20 3*1 10/0 [0, 0, 0, 1]\n 4*1 10/0 [1, 0, 0, 0]\n"
        );
        assert_eq!(bench.record.unmatched.load(Relaxed), 0);
        // Ended when 1 returns.
        let (_, text) = play("+1@100 +2@90 -1@100");
        assert_eq!(text, "1*1 20/10 [1, 0, 0, 0]\n 2*1 10/0 [0, 0, 0, 1]\n");
        // Ended when 1 catches.
        let (_, text) = play("+1@100 +2@90 +3@80 C1 -1@100");
        assert_eq!(text, "1*1 40/20 [1, 0, 0, 0]\n 2*1 20/10 [0, 0, 1, 0]\n  3*1 10/0 [0, 0, 1, 0]\n");
    }

    #[test]
    fn handler_stack_pointer_drops_ended_calls() {
        // Of the three calls of 2, the outermost one handles the exception: the others have ended, and it
        // calls 3.
        let (bench, text) = play("+1@100 +2@90 +2@80 +2@70 C2@80 +3@75 -3@75 -2@90 -1@100");
        assert_eq!(
            text,
            "1*1 80/60 [1, 0, 0, 0]\n 2*1 60/30 [1, 0, 0, 0]\n  2*1 20/10 [0, 0, 1, 0]\n   2*1 10/0 [0, 0, 1, 0]\n  \
             3*1 10/0 [1, 0, 0, 0]\n"
        );
        assert_eq!(bench.record.unmatched.load(Relaxed), 0);
        // The same for a function without hooks that 1 called, and for one whose caller is not recorded.
        let (_, text) = play("+1@100 +2@80 C0@85 -1@100");
        assert_eq!(text, "1*1 30/10 [1, 0, 0, 0]\n 2*1 10/0 [0, 0, 1, 0]\n");
        let (_, text) = play("+1@100 +2@80 C0@100");
        assert_eq!(text, "1*1 20/10 [0, 0, 1, 0]\n 2*1 10/0 [0, 0, 1, 0]\n");
    }

    #[test]
    fn ends_without_a_beginning_are_counted_only() {
        let (bench, text) = play("-1@100 +1@100 -2@100 t1@90 } c1 C7 -1@100");
        assert_eq!(text, "1*1 60/0 [1, 0, 0, 0]\n");
        assert_eq!(bench.record.unmatched.load(Relaxed), 3);
    }

    #[test]
    fn calls_too_deep_are_counted() {
        let mut bench = Bench::new(8, 2);
        let mut thread = bench.thread();
        for _ in 0..3 {
            thread.enter(1, 100, || 0);
            thread.enter(2, 90, || 0);
            thread.enter(3, 80, || 0); // one frame too deep
            thread.leave(3, 80, 5);
            thread.leave(2, 90, 5);
            thread.leave(1, 100, 5);
        }
        assert_eq!(thread.depth(), 0);
        assert_eq!(bench.show(), "1*3 15/15 [3, 0, 0, 0]\n 2*3 15/0 [3, 0, 0, 0]\n");
        assert_eq!([&bench.record.lost_calls, &bench.record.lost_nodes].map(|n| n.load(Relaxed)), [3, 0]);
    }

    #[test]
    fn calls_without_a_node_count_for_their_method_and_for_no_other_caller() {
        let clock = Cell::new(0);
        let tick = || {
            clock.set(clock.get() + 10);
            clock.get()
        };
        // A root, 1 and its callee 3; no room for 2, which calls 3 a thousand times.
        let mut bench = Bench::new(4, 8);
        let mut thread = bench.thread();
        thread.enter(1, 100, tick);
        thread.enter(3, 90, tick);
        thread.leave(3, 90, tick());
        thread.enter(2, 90, tick);
        for _ in 0..1000 {
            thread.enter(3, 80, tick);
            thread.enter(3, 70, tick); // calls itself
            thread.leave(3, 70, tick());
            thread.thrown(tick());
            thread.leave(3, 80, tick());
        }
        thread.tail_call(2, 90, tick());
        thread.leave(1, 100, tick());
        // 20 ticks of the second 3, 50 of the first, 10 from its end to its next beginning.
        let expected = "1*1 50050/50020 [1, 0, 0, 0]\n 3*1 10/0 [1, 0, 0, 0]\n";
        assert_eq!(bench.show(), expected);
        let flat = |method: usize| {
            let record = &bench.methods[method];
            let ends =
                [&record.leaves, &record.tails, &record.unwinds, &record.dropped].map(|n| n.load(Relaxed));
            let times = [&record.total, &record.ended_total, &record.own, &record.longest];
            (
                record.enters.load(Relaxed),
                ends,
                times.map(|n| n.load(Relaxed)),
                record.exceptions.load(Relaxed),
            )
        };
        assert_eq!(flat(2), (1, [0, 1, 0, 0], [50_010, 50_010, 10_010, 50_010], 0));
        assert_eq!(flat(3), (2000, [2000, 0, 0, 0], [40_000, 50_000, 40_000, 40], 1000));
        assert_eq!(flat(1).0, 0);
        let caller = bench.nodes.iter().find(|node| node.elsewhere.load(Relaxed) > 0).unwrap();
        assert_eq!((caller.method.load(Relaxed), caller.elsewhere.load(Relaxed)), (1, 1));
        assert_eq!(bench.record.unmatched.load(Relaxed), 0);
    }

    #[test]
    fn a_thread_without_a_root_counts_all_its_calls() {
        let mut bench = Bench::new(1, 8);
        let mut thread = bench.thread();
        thread.enter(1, 100, || 5);
        thread.enter(2, 90, || 6);
        thread.leave(2, 90, 8);
        thread.unwind_enter(1);
        thread.unwind_leave(15);
        assert_eq!(thread.depth(), 0);
        let of = |method: usize| {
            [&bench.methods[method].enters, &bench.methods[method].own].map(|n| n.load(Relaxed))
        };
        assert_eq!([of(1), of(2)], [[1, 8], [1, 2]]);
        assert_eq!((bench.methods[1].unwinds.load(Relaxed), bench.record.root.load(Relaxed)), (1, 0));
    }

    #[test]
    fn many_callees_are_found_by_the_index() {
        let mut bench = Bench::new(600, 8);
        bench.methods = (0..300).map(|_| MethodRecord::default()).collect();
        let mut thread = bench.thread();
        thread.enter(299, 100, || 0);
        for _ in 0..3 {
            for method in 1..200 {
                thread.enter(method, 90, || 0);
                thread.enter(299, 80, || 0);
                thread.leave(299, 80, 0);
                thread.leave(method, 90, 0);
            }
        }
        thread.leave(299, 100, 0);
        // A root, its callee, and two nodes for each method.
        assert_eq!(bench.region.used.load(Relaxed), 1 + 2 + 2 * 199);
        let counts: Vec<u64> = bench.nodes.iter().map(|node| node.enters.load(Relaxed)).collect();
        assert_eq!(counts.iter().filter(|count| **count == 3).count(), 2 * 199);
        assert_eq!(bench.record.lost_nodes.load(Relaxed), 0);
    }

    #[test]
    fn the_newest_events_stay_in_the_ring() {
        let mut bench = Bench::new(8, 8);
        let ring: Vec<Event> = (0..4).map(|_| Event::default()).collect();
        let mut thread = bench.thread();
        thread.enter(1, 100, || 1);
        thread.keep_events(&ring);
        thread.enter(2, 90, || 2);
        thread.thrown(3);
        thread.tail_call(2, 90, 4);
        thread.enter(3, 90, || 5);
        thread.leave(1, 100, 6);
        let event = |n: usize| {
            let event = &ring[n % 4];
            (event.kind.load(Relaxed), event.method.load(Relaxed), event.ticks.load(Relaxed))
        };
        assert_eq!(bench.record.events.load(Relaxed), 6);
        let kept = [event(2), event(3), event(4), event(5)];
        assert_eq!(kept, [(EVENT_TAIL, 2, 4), (EVENT_ENTER, 3, 5), (EVENT_DROP, 3, 6), (EVENT_LEAVE, 1, 6)]);
    }

    #[test]
    fn any_events_keep_the_balance() {
        let mut random = Random::new(3);
        for round in 0..200 {
            // Every other time there are too few nodes.
            let mut bench = Bench::new(if round % 2 == 0 { 200 } else { 12 }, 12);
            let mut thread = bench.thread();
            for now in 0..500 {
                let (method, stack) = (random.below(4) as u32, random.below(12) as usize);
                match random.below(8) {
                    0..=2 => thread.enter(method, stack, || now),
                    3 => thread.leave(method, stack, now),
                    4 => thread.tail_call(method, stack, now),
                    5 => thread.unwind_enter(method),
                    6 => thread.unwind_leave(now),
                    _ => thread.handler_enter(method, stack, now),
                }
            }
            let open = thread.depth() as u64;
            let sum = |field: fn(&Node) -> u64| bench.nodes.iter().map(field).sum::<u64>();
            let flat = |field: fn(&MethodRecord) -> u64| bench.methods.iter().map(field).sum::<u64>();
            let flat_enters = flat(|record| record.enters.load(Relaxed));
            let flat_ends = flat(|record| {
                [&record.leaves, &record.tails, &record.unwinds, &record.dropped]
                    .map(|n| n.load(Relaxed))
                    .iter()
                    .sum()
            });
            let enters = sum(|node| node.enters.load(Relaxed));
            let ends = sum(|node| {
                [&node.leaves, &node.tails, &node.unwinds, &node.dropped]
                    .map(|n| n.load(Relaxed))
                    .iter()
                    .sum()
            });
            assert_eq!(enters + flat_enters, ends + flat_ends + open);
            assert_eq!(sum(|node| node.histogram.iter().map(|n| u64::from(n.load(Relaxed))).sum()), ends);
            assert!(enters > 10);
        }
    }
}
