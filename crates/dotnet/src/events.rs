//! What the events of a runtime say.
//!
//! Counters describe their own fields; the runtime's own events have fixed layouts, which its documentation
//! lists and which only grow at their end. An event that this module does not know, or that is too short, is
//! `None`.

use crate::meters::{MeterEvent, meter_event};
use crate::nettrace::{Cursor, Event, TraceError};

/// The part of the runtime with collections, exceptions, locks and methods.
pub const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
/// The same when it describes at the end of a session what existed before it.
pub const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";
/// The part that takes samples of all threads.
pub const SAMPLER: &str = "Microsoft-DotNETCore-SampleProfiler";
/// The part that describes the program at the start of a session.
pub const PIPE: &str = "Microsoft-DotNETCore-EventPipe";
/// The part with the counters of the runtime.
pub const SYSTEM_RUNTIME: &str = "System.Runtime";
/// The part with the instruments of all meters.
pub const METRICS: &str = "System.Diagnostics.Metrics";

/// Keywords of [`RUNTIME`]: collections.
pub const GC: u64 = 0x1;
/// Keywords of [`RUNTIME`]: modules and assemblies.
pub const LOADER: u64 = 0x8;
/// Keywords of [`RUNTIME`]: compiled methods.
pub const JIT: u64 = 0x10;
/// Keywords of [`RUNTIME`]: methods with code that was compiled ahead of time.
pub const NGEN: u64 = 0x20;
/// Keywords of [`RUNTIME`]: locks that threads wait for.
pub const CONTENTION: u64 = 0x4000;
/// Keywords of [`RUNTIME`]: exceptions.
pub const EXCEPTION: u64 = 0x8000;
/// Keywords of [`RUNTIME`]: the thread pool.
pub const THREADING: u64 = 0x1_0000;

/// What an event says.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// A value of an event counter.
    Counter(Counter),
    /// Something about the instruments of meters.
    Meter(MeterEvent),
    /// A collection began.
    GcStart(GcStart),
    /// A collection ended: its number.
    GcEnd(u32),
    /// The heap after a collection.
    HeapStats(HeapStats),
    /// The runtime begins to suspend all threads, for a reason: 1 and 6 are collections.
    SuspendBegin(u32),
    /// All threads run again.
    RestartEnd,
    /// About so many bytes of a type were allocated since the last such event.
    Allocation(Allocation),
    /// An exception was thrown.
    Exception(Exception),
    /// A thread begins to wait for a lock.
    ContentionStart,
    /// It has the lock.
    ContentionStop,
    /// The thread pool has another number of threads.
    PoolThreads(u32),
    /// The thread pool decided how many threads it wants, and why: 6 is starvation.
    PoolAdjustment(u32, u32),
    /// A sample of a thread.
    Sample(Sample),
    /// The code of a method.
    Method(Method),
    /// A module.
    Module(Module),
    /// The command line of the program.
    Program(String),
    /// Major, minor, build and revision number of the runtime.
    Runtime([u16; 4]),
}

/// A value of an event counter.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    /// Its name, such as `gen-0-gc-count`.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// The mean of an interval, or for counts of things that happened the count in it.
    pub value: f64,
    /// Whether it is the count of an interval.
    pub is_count: bool,
    /// The length of the interval in seconds.
    pub interval: f64,
    /// Its unit, if it has one.
    pub unit: String,
}

/// A collection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcStart {
    /// Its number since the program began.
    pub number: u32,
    /// The oldest generation that is collected.
    pub generation: u32,
    /// Why: see [`GcStart::reason_name`].
    pub reason: u32,
    /// 0 with all threads suspended, 1 in the background, 2 suspended while another runs in the background.
    pub kind: u32,
}

impl GcStart {
    /// The reason in words.
    pub fn reason_name(&self) -> &'static str {
        match self.reason {
            0 => "small objects allocated",
            1 => "the program asked",
            2 => "the machine is low on memory",
            3 => "nothing",
            4 => "large objects allocated",
            5 => "out of room for small objects",
            6 => "out of room for large objects",
            7 => "the program asked, not waiting",
            8 => "stress test",
            9 => "low memory, not waiting",
            10 => "the program asked, compacting",
            _ => "another reason",
        }
    }

    /// Whether the program asked for the collection.
    pub fn is_induced(&self) -> bool {
        matches!(self.reason, 1 | 7 | 10)
    }
}

/// The heap after a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapStats {
    /// Bytes in generation 0, 1, 2, of large objects, and of pinned objects.
    pub sizes: [u64; 5],
    /// Bytes that survived in each of them.
    pub promoted: [u64; 5],
    /// Bytes that only finalizers keep.
    pub finalization_bytes: u64,
    /// Objects that only finalizers keep.
    pub finalization_objects: u64,
    /// Objects that may not move.
    pub pinned: u32,
    /// Blocks for locks and hash codes.
    pub sink_blocks: u32,
    /// Handles.
    pub handles: u32,
}

/// An allocation that was picked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// Bytes allocated since the last one that was picked.
    pub bytes: u64,
    /// The type of the object.
    pub type_name: String,
    /// Whether it is a large object.
    pub large: bool,
}

/// An exception that was thrown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// Its type.
    pub type_name: String,
    /// Its message.
    pub message: String,
}

/// A sample of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// It runs .NET code.
    Managed,
    /// It is in code of the system, which may wait.
    External,
    /// The runtime could not tell.
    Unknown,
}

/// The code of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// Where it begins.
    pub start: u64,
    /// Its bytes.
    pub size: u32,
    /// The number of its module.
    pub module: u64,
    /// Its metadata token.
    pub token: u32,
    /// Its type with the namespace.
    pub type_name: String,
    /// Its name.
    pub name: String,
    /// Its signature.
    pub signature: String,
}

/// A module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its number.
    pub id: u64,
    /// Its path.
    pub path: String,
}

/// What an event says; `None` for one that this module does not know.
pub fn meaning(event: &Event<'_>) -> Option<Meaning> {
    match event.kind.provider.as_str() {
        RUNTIME => runtime(event).ok().flatten(),
        RUNDOWN => rundown(event).ok().flatten(),
        SAMPLER => sample(event),
        PIPE => event.values().text("CommandLine").map(|command| Meaning::Program(command.into())),
        METRICS => meter_event(event).map(Meaning::Meter),
        _ if event.kind.name == "EventCounters" => counter(event).map(Meaning::Counter),
        _ => None,
    }
}

fn counter(event: &Event<'_>) -> Option<Counter> {
    let values = event.values();
    let (value, is_count) = match (values.number("Increment"), values.number("Mean")) {
        (Some(increment), _) => (increment, true),
        (None, mean) => (mean?, false),
    };
    let text = |name| values.text(name).unwrap_or_default().to_string();
    Some(Counter {
        name: values.text("Name")?.to_string(),
        display_name: text("DisplayName"),
        value,
        is_count,
        interval: values.number("IntervalSec").unwrap_or(0.0),
        unit: text("DisplayUnits"),
    })
}

fn sample(event: &Event<'_>) -> Option<Meaning> {
    let (kind, _) = event.payload.split_first_chunk::<4>()?;
    Some(Meaning::Sample(match u32::from_le_bytes(*kind) {
        1 => Sample::External,
        2 => Sample::Managed,
        _ => Sample::Unknown,
    }))
}

/// The field that is missing does not matter: such an event is not known.
const FIELD: &str = "a field";

fn runtime(event: &Event<'_>) -> Result<Option<Meaning>, TraceError> {
    let mut fields = Cursor::new(event.payload, 0);
    Ok(Some(match event.kind.id {
        1 => Meaning::GcStart(GcStart {
            number: fields.u32(FIELD)?,
            generation: fields.u32(FIELD)?,
            reason: fields.u32(FIELD)?,
            kind: fields.u32(FIELD)?,
        }),
        2 => Meaning::GcEnd(fields.u32(FIELD)?),
        3 => Meaning::RestartEnd,
        4 => Meaning::HeapStats(heap_stats(&mut fields)?),
        9 => Meaning::SuspendBegin(fields.u32(FIELD)?),
        10 => Meaning::Allocation(allocation(&mut fields, event.pointer_size)?),
        50 | 51 | 57 => Meaning::PoolThreads(fields.u32(FIELD)?),
        55 => {
            fields.u64(FIELD)?;
            Meaning::PoolAdjustment(fields.u32(FIELD)?, fields.u32(FIELD)?)
        }
        80 => Meaning::Exception(Exception { type_name: fields.text(FIELD)?, message: fields.text(FIELD)? }),
        81 => Meaning::ContentionStart,
        91 => Meaning::ContentionStop,
        143 => Meaning::Method(method(&mut fields)?),
        152 => Meaning::Module(module(&mut fields)?),
        _ => return Ok(None),
    }))
}

fn rundown(event: &Event<'_>) -> Result<Option<Meaning>, TraceError> {
    let mut fields = Cursor::new(event.payload, 0);
    Ok(match event.kind.id {
        143 | 144 => Some(Meaning::Method(method(&mut fields)?)),
        153 | 154 => Some(Meaning::Module(module(&mut fields)?)),
        187 => {
            // The number of the runtime in its process, and what it is for.
            fields.take(4, FIELD)?;
            let mut version = [0; 4];
            for part in &mut version {
                *part = fields.u16(FIELD)?;
            }
            Some(Meaning::Runtime(version))
        }
        _ => None,
    })
}

fn heap_stats(fields: &mut Cursor<'_>) -> Result<HeapStats, TraceError> {
    let mut stats = HeapStats::default();
    for (size, promoted) in stats.sizes.iter_mut().zip(&mut stats.promoted).take(4) {
        *size = fields.u64(FIELD)?;
        *promoted = fields.u64(FIELD)?;
    }
    stats.finalization_bytes = fields.u64(FIELD)?;
    stats.finalization_objects = fields.u64(FIELD)?;
    stats.pinned = fields.u32(FIELD)?;
    stats.sink_blocks = fields.u32(FIELD)?;
    stats.handles = fields.u32(FIELD)?;
    // From .NET 5 on, after the number of the runtime, the heap of pinned objects.
    fields.u16(FIELD)?;
    if fields.left() >= 16 {
        let [.., size] = &mut stats.sizes;
        let [.., promoted] = &mut stats.promoted;
        *size = fields.u64(FIELD)?;
        *promoted = fields.u64(FIELD)?;
    }
    Ok(stats)
}

fn allocation(fields: &mut Cursor<'_>, pointer_size: u32) -> Result<Allocation, TraceError> {
    fields.u32(FIELD)?;
    let large = fields.u32(FIELD)? == 1;
    fields.u16(FIELD)?;
    let bytes = fields.u64(FIELD)?;
    fields.address(pointer_size, FIELD)?;
    Ok(Allocation { bytes, type_name: fields.text(FIELD)?, large })
}

fn method(fields: &mut Cursor<'_>) -> Result<Method, TraceError> {
    fields.u64(FIELD)?;
    let module = fields.u64(FIELD)?;
    let start = fields.u64(FIELD)?;
    let size = fields.u32(FIELD)?;
    let token = fields.u32(FIELD)?;
    fields.u32(FIELD)?;
    Ok(Method {
        start,
        size,
        module,
        token,
        type_name: fields.text(FIELD)?,
        name: fields.text(FIELD)?,
        signature: fields.text(FIELD)?,
    })
}

fn module(fields: &mut Cursor<'_>) -> Result<Module, TraceError> {
    let id = fields.u64(FIELD)?;
    // The assembly, the flags, and a word that is not used.
    fields.take(16, FIELD)?;
    Ok(Module { id, path: fields.text(FIELD)? })
}
