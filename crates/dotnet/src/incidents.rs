//! What happened in a program while its events were recorded: collections, allocations, exceptions, waits for
//! locks, and the size of the thread pool.
//!
//! Events of different threads are not in the order of their times, and methods are described at the end, so
//! the whole of a stream is read first.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use crate::events::{GcStart, HeapStats, Meaning, Method, meaning};
use crate::nettrace::{Trace, TraceError};

/// The most events that are kept; later ones are only counted.
const MOST_EVENTS: usize = 1 << 22;
/// The most methods that are kept.
const MOST_METHODS: usize = 1 << 22;

/// What happened in a program.
#[derive(Debug, Clone, Default)]
pub struct Incidents {
    /// Nanoseconds from the start to the last event.
    pub duration: u64,
    /// The collections, in the order of their beginnings.
    pub collections: Vec<Collection>,
    /// Bytes and objects by type, of the allocations that the runtime picked; about one in 100 KB.
    pub allocations: BTreeMap<String, (u64, u64)>,
    /// The exceptions, by type and the method that threw them: how many, and the last message.
    pub exceptions: BTreeMap<(String, String), (u64, String)>,
    /// The waits for locks, by the method that waited.
    pub waits: BTreeMap<String, Waits>,
    /// The numbers of threads in the thread pool, with their times in nanoseconds from the start.
    pub pool: Vec<(u64, u32)>,
    /// How often the thread pool changed the number of threads that it wants, by reason.
    pub adjustments: BTreeMap<u32, u64>,
    /// Events that are missing: the runtime dropped them, or there were too many.
    pub lost: u64,
    /// Why the stream ended early; what came before that is good.
    pub damage: Option<String>,
}

/// A collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collection {
    /// Nanoseconds from the start of the stream.
    pub at: u64,
    /// Its number, generation and reason.
    pub start: GcStart,
    /// Nanoseconds from its beginning to its end; `None` for one that did not end.
    pub duration: Option<u64>,
    /// Nanoseconds for which all threads were stopped for it.
    pub pause: u64,
    /// The heap after it.
    pub heap: Option<HeapStats>,
}

/// Waits for locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// All of them, in nanoseconds.
    pub total: u64,
    /// The longest, in nanoseconds.
    pub longest: u64,
}

/// An event that is kept.
struct Incident {
    at: u64,
    thread: u64,
    stack: usize,
    what: Meaning,
}

/// The parts of the runtime that throw or wait for others.
const HELPERS: [&str; 6] = [
    "System.Runtime.EH",
    "System.Runtime.ExceptionServices.",
    "System.Runtime.StackFrameIterator",
    "System.Threading.Monitor",
    "System.Threading.Lock",
    "System.Threading.ObjectHeader",
];

impl Incidents {
    /// Reads a stream, up to its damage if it is damaged.
    ///
    /// # Errors
    ///
    /// It is not an event stream of version 4, or cannot be read.
    pub fn read(input: impl Read) -> Result<Incidents, TraceError> {
        let mut trace = Trace::new(input)?;
        let start = *trace.start();
        let mut incidents = Incidents::default();
        let (mut kept, mut methods) = (Vec::new(), Vec::new());
        let (mut stacks, mut numbers) = (vec![Vec::new()], HashMap::new());
        numbers.insert(Vec::new(), 0usize);
        let mut more_events = 0u64;
        loop {
            let more = trace.next(&mut |event| match meaning(event) {
                Some(Meaning::Method(method)) if methods.len() < MOST_METHODS => methods.push(method),
                Some(what) if is_incident(&what) => {
                    if kept.len() >= MOST_EVENTS {
                        more_events = more_events.saturating_add(1);
                        return;
                    }
                    let known = numbers.get(event.stack).copied();
                    let stack = known.unwrap_or_else(|| {
                        stacks.push(event.stack.to_vec());
                        let number = stacks.len().saturating_sub(1);
                        numbers.insert(event.stack.to_vec(), number);
                        number
                    });
                    kept.push(Incident {
                        at: start.nanoseconds(event.ticks),
                        thread: event.thread,
                        stack,
                        what,
                    });
                }
                _ => {}
            });
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(TraceError::Io(error)) => return Err(TraceError::Io(error)),
                Err(damage) => {
                    incidents.damage = Some(damage.to_string());
                    break;
                }
            }
        }
        incidents.lost = trace.lost().saturating_add(more_events);
        kept.sort_by_key(|kept| kept.at);
        methods.sort_by_key(|method| method.start);
        let places: Vec<String> = stacks.iter().map(|stack| place(&methods, stack)).collect();
        incidents.add_all(kept, &places);
        Ok(incidents)
    }

    fn add_all(&mut self, kept: Vec<Incident>, places: &[String]) {
        let mut stopped = None;
        // When each thread began to wait.
        let mut waiting: HashMap<u64, (u64, usize)> = HashMap::new();
        for Incident { at, thread, stack, what } in kept {
            self.duration = self.duration.max(at);
            let place = |stack: usize| places.get(stack).cloned().unwrap_or_default();
            match what {
                Meaning::SuspendBegin(1 | 6) => stopped = Some(at),
                Meaning::SuspendBegin(_) => stopped = None,
                Meaning::RestartEnd => {
                    if let (Some(begin), Some(last)) = (stopped.take(), self.collections.last_mut()) {
                        last.pause = last.pause.saturating_add(at.saturating_sub(begin));
                    }
                }
                Meaning::GcStart(start) => {
                    let collection = Collection { at, start, duration: None, pause: 0, heap: None };
                    self.collections.push(collection);
                }
                Meaning::GcEnd(number) => {
                    let mut open = self.collections.iter_mut().rev();
                    if let Some(one) = open.find(|one| one.start.number == number) {
                        one.duration = Some(at.saturating_sub(one.at));
                    }
                }
                Meaning::HeapStats(stats) => {
                    if let Some(last) = self.collections.last_mut() {
                        last.heap = Some(stats);
                    }
                }
                Meaning::Allocation(picked) => {
                    let (bytes, objects) = self.allocations.entry(picked.type_name).or_default();
                    *bytes = bytes.saturating_add(picked.bytes);
                    *objects = objects.saturating_add(1);
                }
                Meaning::Exception(thrown) => {
                    let (count, message) =
                        self.exceptions.entry((thrown.type_name, place(stack))).or_default();
                    *count = count.saturating_add(1);
                    *message = thrown.message;
                }
                Meaning::ContentionStart => {
                    waiting.insert(thread, (at, stack));
                }
                Meaning::ContentionStop => {
                    let Some((begin, stack)) = waiting.remove(&thread) else { continue };
                    let time = at.saturating_sub(begin);
                    let waits = self.waits.entry(place(stack)).or_default();
                    waits.count = waits.count.saturating_add(1);
                    waits.total = waits.total.saturating_add(time);
                    waits.longest = waits.longest.max(time);
                }
                Meaning::PoolThreads(threads) => self.pool.push((at, threads)),
                Meaning::PoolAdjustment(_, reason) => {
                    let count = self.adjustments.entry(reason).or_default();
                    *count = count.saturating_add(1);
                }
                _ => {}
            }
        }
    }
}

fn is_incident(what: &Meaning) -> bool {
    matches!(
        what,
        Meaning::GcStart(_)
            | Meaning::GcEnd(_)
            | Meaning::HeapStats(_)
            | Meaning::SuspendBegin(_)
            | Meaning::RestartEnd
            | Meaning::Allocation(_)
            | Meaning::Exception(_)
            | Meaning::ContentionStart
            | Meaning::ContentionStop
            | Meaning::PoolThreads(_)
            | Meaning::PoolAdjustment(..)
    )
}

/// The innermost method of a stack that does not only help others.
fn place(methods: &[Method], stack: &[u64]) -> String {
    let found = stack.iter().filter_map(|address| {
        let after = methods.partition_point(|method| method.start <= *address);
        let method = methods.get(after.checked_sub(1)?)?;
        (address.saturating_sub(method.start) <= u64::from(method.size)).then_some(method)
    });
    let mut found = found.filter(|method| !HELPERS.iter().any(|helper| method.type_name.starts_with(helper)));
    found.next().map_or_else(|| "(unknown)".into(), |method| format!("{}.{}", method.type_name, method.name))
}

/// A reason of the thread pool for another number of threads.
pub fn adjustment_name(reason: u32) -> &'static str {
    match reason {
        0 => "warming up",
        1 => "first value",
        2 => "trying",
        3 => "climbing",
        4 => "the load changed",
        5 => "settled",
        6 => "starvation: work waited and no thread became free",
        7 => "a thread was not needed",
        8 => "threads block",
        _ => "another reason",
    }
}
