//! Decodes the bytes of a profile file into a [`Profile`]: every offset and count is limited to the bytes
//! that exist.

use super::{Call, Elsewhere, Event, EventKind, Method, Module, Profile, ReadError, Thread};
use crate::layout::{self, *};
use crate::names::RawName;
use std::mem::offset_of;

impl Profile {
    pub(super) fn read_modules(&mut self, file: &Bytes<'_>) {
        for record in file.records(offset_of!(Header, modules), size_of::<ModuleRecord>()) {
            let flags = number32(record, offset_of!(ModuleRecord, flags));
            self.modules.push(Module {
                path: file.text(number64(record, offset_of!(ModuleRecord, path))),
                user: flags & MODULE_USER != 0,
                unloaded: flags & MODULE_UNLOADED != 0,
                domain: file.text(number64(record, offset_of!(ModuleRecord, domain))),
            });
        }
    }

    /// Returns the position of each method number; it is the number minus one unless a record is unfinished.
    pub(super) fn read_methods(&mut self, file: &Bytes<'_>) -> Vec<Option<usize>> {
        let mut numbers = Vec::new();
        // The numbers of the callers that the methods were inlined into.
        let mut callers = Vec::new();
        for record in file.records(offset_of!(Header, methods), method_size(file.bytes)) {
            if number32(record, offset_of!(MethodRecord, state)) != READY {
                numbers.push(None);
                continue;
            }
            numbers.push(Some(self.methods.len()));
            let machine = number32(record, offset_of!(MethodRecord, flags)) & METHOD_ASYNC != 0;
            let raw = RawName::decode(&file.text(number64(record, offset_of!(MethodRecord, name))), machine);
            let module = (number32(record, offset_of!(MethodRecord, module)) as usize).checked_sub(1);
            let number = u32::try_from(numbers.len().saturating_sub(1)).unwrap_or(u32::MAX);
            self.methods.push(Method {
                number,
                name: raw.display(),
                raw,
                module: module.filter(|module| *module < self.modules.len()),
                token: number32(record, offset_of!(MethodRecord, token)),
                compiled: number32(record, offset_of!(MethodRecord, compiled)),
                inlined: number32(record, offset_of!(MethodRecord, inlined)),
                inlined_into: None,
                elsewhere: file.elsewhere(record),
            });
            callers.push(number32(record, offset_of!(MethodRecord, inlined_into)) as usize);
        }
        for (method, caller) in self.methods.iter_mut().zip(callers) {
            method.inlined_into = numbers.get(caller).copied().flatten();
        }
        numbers
    }

    pub(super) fn read_threads(&mut self, file: &Bytes<'_>, methods: &[Option<usize>]) {
        let nodes: Vec<&[u8]> = file.records(offset_of!(Header, nodes), size_of::<Node>()).collect();
        let mut seen = vec![false; nodes.len()];
        for record in file.records(offset_of!(Header, threads), size_of::<ThreadRecord>()) {
            let state = number32(record, offset_of!(ThreadRecord, state));
            let root = number32(record, offset_of!(ThreadRecord, root));
            if state != READY && state != ENDED {
                continue;
            }
            let at = match self.read_tree(file, &nodes, &mut seen, root, methods) {
                Some(at) => at,
                // All its calls are elsewhere.
                None if root == 0 => {
                    self.calls.push(file.call(&[], None, None));
                    self.calls.len().saturating_sub(1)
                }
                None => continue,
            };
            self.threads.push(Thread {
                os_id: number32(record, offset_of!(ThreadRecord, os_id)),
                name: file.text(number64(record, offset_of!(ThreadRecord, name))),
                ended: state == ENDED,
                root: at,
                exceptions: number64(record, offset_of!(ThreadRecord, exceptions)),
                lost_calls: number64(record, offset_of!(ThreadRecord, lost_calls)),
                lost_nodes: number64(record, offset_of!(ThreadRecord, lost_nodes)),
                unmatched: number64(record, offset_of!(ThreadRecord, unmatched)),
                first: file.clock.since_start(number64(record, offset_of!(ThreadRecord, first_ticks))),
                lost_events: 0,
                events: Vec::new(),
            });
            if let Some(thread) = self.threads.last_mut() {
                file.events(record, methods, thread);
            }
        }
    }

    /// Reads the tree under a node and returns the position of its root; `None` when there is no such node or
    /// it was read before.
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
        // Calls whose callees are still to be read: the position of the call, and its record.
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
            if let Some(elsewhere) = self.elsewhere(file, record, at, &children) {
                children.push(self.calls.len());
                self.calls.push(elsewhere);
            }
            if let Some(call) = self.calls.get_mut(at) {
                call.children = children;
            }
        }
        self.close(start);
        Some(start)
    }

    /// The callees of a call that found no node, as one call without callees: their time is that part of the
    /// callees' time that the nodes under the call do not have.
    fn elsewhere(&mut self, file: &Bytes<'_>, record: &[u8], at: usize, children: &[usize]) -> Option<Call> {
        let enters = u64::from(number32(record, offset_of!(Node, elsewhere)));
        if enters == 0 {
            return None;
        }
        let known = children.iter().filter_map(|child| self.calls.get(*child));
        let known = known.map(|call| call.ended_total).fold(0, u64::saturating_add);
        let number = |at| number64(record, at);
        let is_root = number32(record, offset_of!(Node, parent)) == 0;
        let ended = number(offset_of!(Node, callees));
        let open = if is_root { 0 } else { number(offset_of!(Node, open_callees)) };
        let in_open = self.calls.get(at).is_some_and(|call| call.open);
        let all = file.clock.nanoseconds(ended.saturating_add(if in_open { open } else { 0 }));
        let total = if is_root { all } else { all.saturating_sub(known) };
        let method = *self.elsewhere.get_or_insert_with(|| {
            self.methods.push(Method::elsewhere());
            self.methods.len().saturating_sub(1)
        });
        let mut call = file.call(&[], Some(method), Some(at));
        (call.enters, call.leaves, call.total, call.ended_total) = (enters, enters, total, total);
        Some(call)
    }

    /// Extends calls without an end to the last sign of life, and computes the own time of all calls.
    fn close(&mut self, start: usize) {
        // Callees follow their callers, so a walk from the end meets all callees first.
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

    /// Subtracts the measured cost of the profiler from all times for which it is known well enough.
    pub(super) fn correct(&mut self) {
        self.uncorrected = 0;
        for at in (0..self.calls.len()).rev() {
            let callees = self.sum(at, |call| call.corrected_total);
            let n_callees = self.sum(at, Call::ended);
            let (inner, outer) = (self.overhead_inner, self.overhead_outer);
            let Some((own, ended)) = self.calls.get(at).map(|call| (call.own, call.ended())) else {
                continue;
            };
            let work = inner * ended as f64 + outer * n_callees as f64;
            let corrected = self.corrected(own, work);
            let is_raw = own > 0 && work >= 1.0 && corrected == own;
            self.uncorrected = self.uncorrected.saturating_add(u64::from(is_raw));
            let Some(call) = self.calls.get_mut(at) else { continue };
            call.corrected_own = corrected;
            call.corrected_total = call.corrected_own.saturating_add(callees);
        }
    }

    /// A time without the work in it, in nanoseconds; the time itself where less is left than the work is
    /// unsure.
    pub(super) fn corrected(&self, time: u64, work: f64) -> u64 {
        let (least, most) = self.overhead_range;
        let whole = self.overhead_inner + self.overhead_outer;
        let unsure = if whole > 0.0 { work * (most - least).max(0.0) / whole } else { 0.0 };
        let left = time.saturating_sub(work as u64);
        if unsure > left as f64 { time } else { left }
    }

    fn sum(&self, at: usize, field: impl Fn(&Call) -> u64) -> u64 {
        let children = self.calls.get(at).map(|call| call.children.as_slice()).unwrap_or_default();
        children.iter().filter_map(|child| self.calls.get(*child)).map(field).fold(0, u64::saturating_add)
    }
}

/// How ticks become nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Ticks per nanosecond.
    pub(super) rate: f64,
    /// Ticks at the start.
    first: u64,
    /// Ticks at the last sign of life.
    last: u64,
}

impl Clock {
    pub(super) fn read(bytes: &[u8]) -> Clock {
        let number = |at| number64(bytes, at);
        let last = number(offset_of!(Header, last_ticks));
        let first = number(offset_of!(Header, first_ticks));
        let ticks = last.saturating_sub(first);
        let first_nanoseconds = number(offset_of!(Header, first_nanoseconds));
        let nanoseconds = number(offset_of!(Header, last_nanoseconds)).saturating_sub(first_nanoseconds);
        let counter = number32(bytes, offset_of!(Header, clock)) == CLOCK_TSC;
        let rate =
            if counter && ticks > 0 && nanoseconds > 0 { ticks as f64 / nanoseconds as f64 } else { 1.0 };
        Clock { rate, first, last }
    }

    /// From the start of the profile.
    fn since_start(self, ticks: u64) -> u64 {
        self.nanoseconds(ticks.saturating_sub(self.first))
    }

    fn nanoseconds(self, ticks: u64) -> u64 {
        // A float that is too large becomes the largest number.
        (ticks as f64 / self.rate) as u64
    }
}

/// The whole file, and how its ticks become nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) clock: Clock,
}

impl<'a> Bytes<'a> {
    /// The records in use of the region that the header describes at `at`.
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

    /// The text that a reference leads to; empty when it leads outside, shown as well as possible when it is
    /// not UTF-8.
    pub(super) fn text(&self, reference: u64) -> String {
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

    /// The newest events of a thread in their order, and how many older ones were lost.
    fn events(&self, record: &[u8], methods: &[Option<usize>], thread: &mut Thread) {
        let n_written = number64(record, offset_of!(ThreadRecord, events));
        let ring = (number32(record, offset_of!(ThreadRecord, ring)) as usize).checked_sub(1);
        let mut rings =
            self.records(offset_of!(Header, rings), RING.saturating_mul(size_of::<layout::Event>()));
        let Some(ring) = ring.and_then(|number| rings.nth(number)) else { return };
        // Events that were taken back had overwritten older ones.
        let most = number64(record, offset_of!(ThreadRecord, most_events)).max(n_written);
        thread.lost_events = most.saturating_sub(RING as u64).min(n_written);
        for number in thread.lost_events..n_written {
            let place = usize::try_from(number).unwrap_or_default() % RING;
            let record = place.saturating_mul(size_of::<layout::Event>());
            let record = ring.get(record..).unwrap_or_default();
            let kind = match number32(record, offset_of!(layout::Event, kind)) {
                EVENT_ENTER => EventKind::Enter,
                EVENT_LEAVE => EventKind::Leave,
                EVENT_TAIL => EventKind::Tail,
                EVENT_UNWIND => EventKind::Unwind,
                EVENT_DROP => EventKind::Drop,
                EVENT_THROW => EventKind::Throw,
                _ => continue,
            };
            let method = number32(record, offset_of!(layout::Event, method)) as usize;
            thread.events.push(Event {
                at: self.clock.since_start(number64(record, offset_of!(layout::Event, ticks))),
                method: methods.get(method).copied().flatten(),
                kind,
            });
        }
    }

    /// The calls of a method that found no node.
    fn elsewhere(&self, record: &[u8]) -> Elsewhere {
        let number = |at| number64(record, at);
        let time = |at| self.clock.nanoseconds(number64(record, at));
        Elsewhere {
            enters: number(offset_of!(MethodRecord, enters)),
            leaves: number(offset_of!(MethodRecord, leaves)),
            tails: number(offset_of!(MethodRecord, tails)),
            unwinds: number(offset_of!(MethodRecord, unwinds)),
            dropped: number(offset_of!(MethodRecord, dropped)),
            total: time(offset_of!(MethodRecord, total)),
            ended_total: time(offset_of!(MethodRecord, ended_total)),
            own: time(offset_of!(MethodRecord, own)),
            longest: time(offset_of!(MethodRecord, longest)),
            exceptions: number(offset_of!(MethodRecord, exceptions)),
        }
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
            ended_total: time(offset_of!(Node, total)),
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
                call.histogram.push((self.clock.nanoseconds(bucket_end(bucket)), count));
            }
        }
        call
    }
}

pub(super) fn check_header(bytes: &[u8]) -> Result<(), ReadError> {
    if bytes.len() < HEADER_SIZE {
        let (at, needed) = (bytes.len(), HEADER_SIZE as u64);
        return Err(ReadError::Format { what: "Header", at, needed, found: at as u64 });
    }
    let fields32 = [
        ("Header.header_size", offset_of!(Header, header_size), HEADER_SIZE as u32),
        ("Header.module_size", offset_of!(Header, module_size), size_of::<ModuleRecord>() as u32),
        ("Header.thread_size", offset_of!(Header, thread_size), size_of::<ThreadRecord>() as u32),
        ("Header.method_size", offset_of!(Header, method_size), method_size(bytes) as u32),
        ("Header.node_size", offset_of!(Header, node_size), size_of::<Node>() as u32),
    ];
    let magic = number64(bytes, offset_of!(Header, magic));
    if magic != MAGIC {
        return Err(ReadError::Format { what: "Header.magic", at: 0, needed: MAGIC, found: magic });
    }
    let version = number32(bytes, offset_of!(Header, version));
    if !(1..=VERSION).contains(&version) {
        let (what, at) = ("Header.version", offset_of!(Header, version));
        return Err(ReadError::Format { what, at, needed: VERSION.into(), found: version.into() });
    }
    for (what, at, needed) in fields32 {
        let found = number32(bytes, at);
        if found != needed {
            return Err(ReadError::Format { what, at, needed: needed.into(), found: found.into() });
        }
    }
    Ok(())
}

/// Bytes of a method record, by the version of the file.
pub(super) fn method_size(header: &[u8]) -> usize {
    match number32(header, offset_of!(Header, version)) {
        1 => METHOD_SIZE_1,
        _ => size_of::<MethodRecord>(),
    }
}

/// The number at an offset, 0 where the bytes end before.
pub(super) fn number64(bytes: &[u8], at: usize) -> u64 {
    let part = at.checked_add(8).and_then(|end| bytes.get(at..end)).and_then(|part| part.try_into().ok());
    part.map_or(0, u64::from_le_bytes)
}

pub(super) fn number32(bytes: &[u8], at: usize) -> u32 {
    let part = at.checked_add(4).and_then(|end| bytes.get(at..end)).and_then(|part| part.try_into().ok());
    part.map_or(0, u32::from_le_bytes)
}
