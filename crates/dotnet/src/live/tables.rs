//! The objects and their counters: names, types, help, and where each value comes from.

use tallymon_provider::CounterType as Type;

use super::state::{PAUSES, PROMOTED, State};
use crate::events::HeapStats;

/// An object.
pub(super) struct Table {
    /// The index of its name; that of its first counter is two more.
    pub(super) index: u32,
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// The position of the default counter in `counters`.
    pub(super) default: u16,
    pub(super) counters: &'static [Row],
}

/// A counter.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) kind: Type,
    /// The power of ten for charts.
    pub(super) scale: i32,
    pub(super) source: From,
    pub(super) help: &'static str,
}

/// Where a value comes from.
pub(super) enum From {
    /// The process id.
    Pid,
    /// A number that is the same in every program.
    Always(u64),
    /// A number: a level, or a total.
    Level(fn(&State) -> Option<f64>),
    /// A sum at a time, by its name.
    Sum(&'static str),
    /// A share, in percent.
    Share(fn(&State) -> Option<f64>),
    /// A number of the list of meters.
    Listed,
    /// .NET has no such number any more, or tells it to nobody.
    Nowhere,
}

impl Row {
    const fn new(name: &'static str, kind: Type, scale: i32, source: From, help: &'static str) -> Row {
        Row { name, kind, scale, source, help }
    }
}

const COUNT: Type = Type::PERF_COUNTER_RAWCOUNT;
const LARGE: Type = Type::PERF_COUNTER_LARGE_RAWCOUNT;
const RATE: Type = Type::PERF_COUNTER_BULK_COUNT;
const SHARE: Type = Type::PERF_RAW_FRACTION;

/// Collections of a generation and of all older ones, which include it.
fn collections(state: &State, youngest: usize) -> Option<f64> {
    let generations = ["gen0", "gen1", "gen2"];
    let of = |name: &&str| state.instrument("dotnet.gc.collections", &format!("gc.heap.generation={name}"));
    generations.get(youngest..)?.iter().map(of).sum()
}

fn heap(state: &State, field: fn(&HeapStats) -> u64) -> Option<f64> {
    state.heap.as_ref().map(|stats| field(stats) as f64)
}

fn promoted(stats: &HeapStats, generation: usize) -> u64 {
    stats.promoted.get(generation).copied().unwrap_or(0)
}

/// Bytes of generation 1, 2, large objects and, where there are such, pinned objects.
fn all_heaps(state: &State) -> Option<f64> {
    let needed = ["gen-1-size", "gen-2-size", "loh-size"].iter().map(|name| state.value(name));
    Some(needed.sum::<Option<f64>>()? + state.value("poh-size").unwrap_or(0.0))
}

/// Committed bytes, from the meter of .NET 9 or the counter of .NET 6, which has millions.
fn committed(state: &State) -> Option<f64> {
    let exact = state.instrument("dotnet.gc.last_collection.memory.committed_size", "");
    exact.or_else(|| state.value("gc-committed").map(|megabytes| megabytes * 1e6))
}

/// The share of the last interval; the counter has milliseconds per second.
fn time_in_jit(state: &State) -> Option<f64> {
    state.value("time-in-jit").map(|milliseconds| milliseconds / 10.0)
}

/// The object that lists the meters of programs; its values come from what their sessions know.
pub(super) const METERS: &Table = &Table {
    index: 931_400,
    name: ".NET Meters",
    help: "The meters (System.Diagnostics.Metrics) of .NET programs of .NET 8 and later that have run for \
           five seconds. Each meter is an object of its own name once this object was read.",
    default: 1,
    counters: METER_LIST,
};

const METER_LIST: &[Row] = &[
    Row::new("Instruments", COUNT, 0, From::Listed, "Instruments of the meter."),
    Row::new(
        "Time Series",
        COUNT,
        0,
        From::Listed,
        "Sets of tags of all of its instruments that have values, as far as somebody reads the meter.",
    ),
    Row::new(
        "Limit Reached",
        COUNT,
        0,
        From::Listed,
        "1 when the program has more time series or histograms than are read, in any of its meters; else 0.",
    ),
    Row::new("Process ID", COUNT, 0, From::Pid, "Id of the process."),
];

pub(super) const TABLES: &[Table] = &[
    Table {
        index: 930_000,
        name: ".NET CLR Memory",
        help: "Garbage collection in .NET programs, under the names of .NET Framework. The runtime of \
        each program is \
               asked through its diagnostics socket while somebody reads these counters.",
        default: 17,
        counters: MEMORY,
    },
    Table {
        index: 930_200,
        name: ".NET CLR Exceptions",
        help: "Exceptions in .NET programs, under the names of .NET Framework.",
        default: 1,
        counters: EXCEPTIONS,
    },
    Table {
        index: 930_400,
        name: ".NET CLR Jit",
        help: "Compilation in .NET programs while they run, under the names of .NET Framework.",
        default: 3,
        counters: JIT,
    },
    Table {
        index: 930_600,
        name: ".NET CLR LocksAndThreads",
        help: "Locks and threads in .NET programs, under the names of .NET Framework.",
        default: 1,
        counters: LOCKS,
    },
    Table {
        index: 930_800,
        name: ".NET CLR Loading",
        help: "Classes and assemblies that .NET programs have loaded, under the names of .NET Framework.",
        default: 11,
        counters: LOADING,
    },
    Table {
        index: 931_000,
        name: "System.Runtime",
        help: "The counters that .NET programs have about themselves since .NET Core 3.0, under their own \
        names.",
        default: 0,
        counters: SYSTEM_RUNTIME,
    },
    Table {
        index: 931_200,
        name: ".NET CLR Interop",
        help: "Calls between .NET programs and COM, under the names of .NET Framework. .NET counts none of \
               them.",
        default: 3,
        counters: INTEROP,
    },
    Table { ..*METERS },
];

const INTEROP: &[Row] = &[
    Row::new("# of CCWs", COUNT, 0, From::Nowhere, "Objects that COM clients refer to. It has no source."),
    Row::new("# of Stubs", COUNT, 0, From::Nowhere, "Stubs for calls of native code. It has no source."),
    Row::new("# of marshalling", COUNT, 0, From::Nowhere, "Values passed to native code. It has no source."),
    Row::new(
        "# of TLB imports / sec",
        RATE,
        0,
        From::Always(0),
        "Type libraries imported per second: always 0, because .NET cannot import them.",
    ),
    Row::new(
        "# of TLB exports / sec",
        RATE,
        0,
        From::Always(0),
        "Type libraries exported per second: always 0, because .NET cannot export them.",
    ),
    Row::new("Process ID", COUNT, 0, From::Pid, "Id of the process."),
];

const MEMORY: &[Row] = &[
    Row::new(
        "# Gen 0 Collections",
        COUNT,
        0,
        From::Level(|state| {
            collections(state, 0).or_else(|| state.collection.map(|start| f64::from(start.number)))
        }),
        "Collections of generation 0 since the program began, with those of older generations, which \
        include it. \
         Before .NET 9 it is known after the first collection that is seen.",
    ),
    Row::new(
        "# Gen 1 Collections",
        COUNT,
        0,
        From::Level(|state| collections(state, 1)),
        "Collections of generation 1 since the program began, with those of generation 2. Known from .NET \
        9 on, in programs older than five seconds.",
    ),
    Row::new(
        "# Gen 2 Collections",
        COUNT,
        0,
        From::Level(|state| collections(state, 2)),
        "Collections of generation 2 since the program began. Known from .NET 9 on, in programs older than \
         five seconds.",
    ),
    Row::new(
        "Promoted Memory from Gen 0",
        LARGE,
        -4,
        From::Level(|state| heap(state, |stats| promoted(stats, 0))),
        "Bytes that survived the last collection in generation 0. Known after a collection that is seen.",
    ),
    Row::new(
        "Promoted Memory from Gen 1",
        LARGE,
        -4,
        From::Level(|state| heap(state, |stats| promoted(stats, 1))),
        "Bytes that survived the last collection in generation 1. Known after a collection that is seen.",
    ),
    Row::new(
        "Gen 0 Promoted Bytes/Sec",
        RATE,
        -4,
        From::Sum(PROMOTED[0]),
        "Bytes per second that survived collections in generation 0.",
    ),
    Row::new(
        "Gen 1 Promoted Bytes/Sec",
        RATE,
        -4,
        From::Sum(PROMOTED[1]),
        "Bytes per second that survived collections in generation 1.",
    ),
    Row::new(
        "Promoted Finalization-Memory from Gen 0",
        LARGE,
        -4,
        From::Level(|state| heap(state, |stats| stats.finalization_bytes)),
        "Bytes that survived the last collection only because their objects wait for finalizers.",
    ),
    Row::new("Process ID", COUNT, 0, From::Pid, "Id of the process."),
    Row::new(
        "Gen 0 heap size",
        LARGE,
        -5,
        From::Level(|state| state.value("gen-0-size")),
        "Bytes in generation 0 after the last collection. .NET Framework showed its budget instead.",
    ),
    Row::new(
        "Gen 1 heap size",
        LARGE,
        -5,
        From::Level(|state| state.value("gen-1-size")),
        "Bytes in generation 1 after the last collection.",
    ),
    Row::new(
        "Gen 2 heap size",
        LARGE,
        -6,
        From::Level(|state| state.value("gen-2-size")),
        "Bytes in generation 2 after the last collection.",
    ),
    Row::new(
        "Large Object Heap size",
        LARGE,
        -6,
        From::Level(|state| state.value("loh-size")),
        "Bytes of large objects after the last collection.",
    ),
    Row::new(
        "Finalization Survivors",
        COUNT,
        0,
        From::Level(|state| heap(state, |stats| stats.finalization_objects)),
        "Objects that survived the last collection only because they wait for finalizers.",
    ),
    Row::new(
        "# GC Handles",
        COUNT,
        0,
        From::Level(|state| heap(state, |stats| u64::from(stats.handles))),
        "Handles at the last collection. Known after a collection that is seen.",
    ),
    Row::new("Allocated Bytes/sec", RATE, -4, From::Sum("alloc-rate"), "Bytes allocated per second."),
    Row::new(
        "# Induced GC",
        COUNT,
        0,
        From::Nowhere,
        "Collections that the program asked for. A running program does not tell how many there were.",
    ),
    Row::new(
        "% Time in GC",
        SHARE,
        0,
        From::Share(|state| state.value("time-in-gc")),
        "Share of the time between the last two collections that the last one took, in whole percent, as the \
         runtime computes it.",
    ),
    Row::new(
        "# Bytes in all Heaps",
        LARGE,
        -6,
        From::Level(all_heaps),
        "Bytes in generations 1 and 2, of large and of pinned objects, after the last collection.",
    ),
    Row::new(
        "# Total committed Bytes",
        LARGE,
        -6,
        From::Level(committed),
        "Bytes that the collector has from the system. Known from .NET 6 on.",
    ),
    Row::new(
        "# Total reserved Bytes",
        LARGE,
        -6,
        From::Nowhere,
        "Addresses that the collector has reserved. .NET tells this to nobody.",
    ),
    Row::new(
        "# of Pinned Objects",
        COUNT,
        0,
        From::Level(|state| heap(state, |stats| u64::from(stats.pinned))),
        "Objects that the last collection could not move. Known after a collection that is seen.",
    ),
    Row::new(
        "# of Sink Blocks in use",
        COUNT,
        0,
        From::Level(|state| heap(state, |stats| u64::from(stats.sink_blocks))),
        "Blocks with locks and hash codes of objects. Known after a collection that is seen.",
    ),
];

const EXCEPTIONS: &[Row] = &[
    Row::new(
        "# of Exceps Thrown",
        COUNT,
        0,
        From::Nowhere,
        "Exceptions since the program began. A running program does not tell how many there were.",
    ),
    Row::new(
        "# of Exceps Thrown / sec",
        RATE,
        0,
        From::Sum("exception-count"),
        "Exceptions thrown per second.",
    ),
    Row::new("# of Filters / sec", RATE, 0, From::Nowhere, "Exception filters per second. It has no source."),
    Row::new(
        "# of Finallys / sec",
        RATE,
        0,
        From::Nowhere,
        "Finally blocks per second that ran because of exceptions. It has no source.",
    ),
    Row::new(
        "Throw To Catch Depth / sec",
        RATE,
        0,
        From::Nowhere,
        "Stack frames per second between throw and catch. It has no source.",
    ),
    Row::new("Process ID", COUNT, 0, From::Pid, "Id of the process."),
];

const JIT: &[Row] = &[
    Row::new(
        "# of Methods Jitted",
        LARGE,
        -2,
        From::Level(|state| state.value("methods-jitted-count")),
        "Methods compiled since the program began. Known from .NET 5 on.",
    ),
    Row::new(
        "# of IL Bytes Jitted",
        LARGE,
        -4,
        From::Level(|state| state.value("il-bytes-jitted")),
        "Bytes of intermediate language compiled since the program began. Known from .NET 5 on.",
    ),
    Row::new(
        "Total # of IL Bytes Jitted",
        LARGE,
        -4,
        From::Level(|state| state.value("il-bytes-jitted")),
        "The same as # of IL Bytes Jitted.",
    ),
    Row::new(
        "IL Bytes Jitted / sec",
        RATE,
        -2,
        From::Sum("il-bytes-jitted"),
        "Bytes of intermediate language compiled per second. Known from .NET 5 on.",
    ),
    Row::new(
        "Standard Jit Failures",
        COUNT,
        0,
        From::Nowhere,
        "Methods that could not be compiled. It has no source.",
    ),
    Row::new(
        "% Time in Jit",
        SHARE,
        0,
        From::Share(time_in_jit),
        "Share of the last tenth of a second that was spent compiling; above 100 with several threads. Known \
         from .NET 6 on.",
    ),
    Row::new("Process ID", COUNT, 0, From::Pid, "Id of the process."),
];

const LOCKS: &[Row] = &[
    Row::new(
        "Total # of Contentions",
        LARGE,
        0,
        From::Level(|state| state.instrument("dotnet.monitor.lock_contentions", "")),
        "How often threads had to wait for a lock since the program began. Known from .NET 9 on, in programs \
         older than five seconds.",
    ),
    Row::new(
        "Contention Rate / sec",
        RATE,
        0,
        From::Sum("monitor-lock-contention-count"),
        "How often per second threads had to wait for a lock.",
    ),
    Row::new(
        "Current Queue Length",
        COUNT,
        0,
        From::Nowhere,
        "Threads that wait for a lock. It has no source.",
    ),
    Row::new(
        "Queue Length Peak",
        COUNT,
        0,
        From::Nowhere,
        "The most threads that waited for a lock. It has no source.",
    ),
    Row::new(
        "Queue Length / sec",
        RATE,
        0,
        From::Nowhere,
        "Threads per second that began to wait for a lock. It has no source.",
    ),
    Row::new(
        "# of current logical Threads",
        COUNT,
        0,
        From::Nowhere,
        ".NET thread objects. It has no source.",
    ),
    Row::new(
        "# of current physical Threads",
        COUNT,
        0,
        From::Nowhere,
        "Threads of the system that the runtime made. It has no source.",
    ),
    Row::new(
        "# of current recognized threads",
        COUNT,
        0,
        From::Nowhere,
        "Threads that the runtime did not make but knows. It has no source.",
    ),
    Row::new(
        "# of total recognized threads",
        COUNT,
        0,
        From::Nowhere,
        "Threads that the runtime did not make and ever knew. It has no source.",
    ),
    Row::new(
        "rate of recognized threads / sec",
        RATE,
        0,
        From::Nowhere,
        "Such threads per second that became known. It has no source.",
    ),
    Row::new("Process ID", COUNT, 0, From::Pid, "Id of the process."),
];

const LOADING: &[Row] = &[
    Row::new("Total Classes Loaded", COUNT, 0, From::Nowhere, "Classes loaded in all. It has no source."),
    Row::new("% Time Loading", SHARE, 0, From::Nowhere, "Share of the time spent loading. It has no source."),
    Row::new(
        "Assembly Search Length",
        COUNT,
        0,
        From::Nowhere,
        "Length of the search path. It has no source.",
    ),
    Row::new(
        "Total # of Load Failures",
        COUNT,
        0,
        From::Nowhere,
        "Classes that failed to load. It has no source.",
    ),
    Row::new("Rate of Load Failures", RATE, 0, From::Nowhere, "The same per second. It has no source."),
    Row::new("Bytes in Loader Heap", LARGE, -4, From::Nowhere, "Bytes for loaded classes. It has no source."),
    Row::new(
        "Total appdomains unloaded",
        COUNT,
        0,
        From::Always(0),
        "Application domains unloaded: always 0, because .NET has only one.",
    ),
    Row::new("Rate of appdomains unloaded", RATE, 0, From::Always(0), "The same per second: always 0."),
    Row::new("Current Classes Loaded", COUNT, 0, From::Nowhere, "Classes that are loaded. It has no source."),
    Row::new(
        "Rate of Classes Loaded",
        RATE,
        0,
        From::Nowhere,
        "Classes loaded per second. It has no source.",
    ),
    Row::new("Current appdomains", COUNT, 0, From::Always(1), "Application domains: always 1 in .NET."),
    Row::new(
        "Current Assemblies",
        COUNT,
        0,
        From::Level(|state| state.value("assembly-count")),
        "Assemblies that are loaded.",
    ),
    Row::new("Total Appdomains", COUNT, 0, From::Always(1), "Application domains in all: always 1 in .NET."),
    Row::new(
        "Rate of appdomains",
        RATE,
        0,
        From::Always(1),
        "Application domains made per second: always 0.",
    ),
    Row::new("Total Assemblies", COUNT, 0, From::Nowhere, "Assemblies loaded in all. It has no source."),
    Row::new("Rate of Assemblies", RATE, 0, From::Nowhere, "Assemblies loaded per second. It has no source."),
    Row::new("Process ID", COUNT, 0, From::Pid, "Id of the process."),
];

/// Bytes of a counter that has megabytes.
fn megabytes(state: &State, name: &str) -> Option<f64> {
    state.value(name).map(|megabytes| megabytes * 1e6)
}

const SYSTEM_RUNTIME: &[Row] = &[
    Row::new(
        "CPU Usage",
        SHARE,
        0,
        From::Share(|state| state.value("cpu-usage")),
        "Share of all processors that the program uses, in percent.",
    ),
    Row::new(
        "Working Set Bytes",
        LARGE,
        -7,
        From::Level(|state| megabytes(state, "working-set")),
        "Physical memory of the program; .NET Core 3.1 has it in whole millions of bytes.",
    ),
    Row::new(
        "GC Heap Bytes",
        LARGE,
        -7,
        From::Level(|state| megabytes(state, "gc-heap-size")),
        "Memory that the collector believes to be in use; .NET Core 3.1 has it in whole millions of bytes.",
    ),
    Row::new(
        "Gen 0 GC Count/sec",
        RATE,
        0,
        From::Sum("gen-0-gc-count"),
        "Collections of generation 0 and older per second.",
    ),
    Row::new(
        "Gen 1 GC Count/sec",
        RATE,
        0,
        From::Sum("gen-1-gc-count"),
        "Collections of generation 1 and older per second.",
    ),
    Row::new(
        "Gen 2 GC Count/sec",
        RATE,
        0,
        From::Sum("gen-2-gc-count"),
        "Collections of generation 2 per second.",
    ),
    Row::new(
        "% Time in GC since last GC",
        SHARE,
        0,
        From::Share(|state| state.value("time-in-gc")),
        "Share of the time between the last two collections that the last one took, in whole percent.",
    ),
    Row::new(
        "% GC Pause Time",
        Type::PERF_OBJ_TIME_TIMER,
        0,
        From::Sum(PAUSES),
        "Share of the time in which all threads were suspended for collections, by the events of the \
        runtime.",
    ),
    Row::new(
        "Gen 0 Size",
        LARGE,
        -5,
        From::Level(|state| state.value("gen-0-size")),
        "Bytes in generation 0 after the last collection.",
    ),
    Row::new(
        "Gen 1 Size",
        LARGE,
        -5,
        From::Level(|state| state.value("gen-1-size")),
        "Bytes in generation 1 after the last collection.",
    ),
    Row::new(
        "Gen 2 Size",
        LARGE,
        -6,
        From::Level(|state| state.value("gen-2-size")),
        "Bytes in generation 2 after the last collection.",
    ),
    Row::new(
        "LOH Size",
        LARGE,
        -6,
        From::Level(|state| state.value("loh-size")),
        "Bytes of large objects after the last collection.",
    ),
    Row::new(
        "POH Size",
        LARGE,
        -5,
        From::Level(|state| state.value("poh-size")),
        "Bytes of pinned objects after the last collection. Known from .NET 5 on.",
    ),
    Row::new(
        "GC Fragmentation",
        SHARE,
        0,
        From::Share(|state| state.value("gc-fragmentation")),
        "Share of the heap that is unused between objects, in percent. Known from .NET 5 on.",
    ),
    Row::new(
        "GC Committed Bytes",
        LARGE,
        -6,
        From::Level(committed),
        "Bytes that the collector has from the system. Known from .NET 6 on.",
    ),
    Row::new("Allocation Rate", RATE, -4, From::Sum("alloc-rate"), "Bytes allocated per second."),
    Row::new("Exception Count/sec", RATE, 0, From::Sum("exception-count"), "Exceptions thrown per second."),
    Row::new(
        "Monitor Lock Contention Count/sec",
        RATE,
        0,
        From::Sum("monitor-lock-contention-count"),
        "How often per second threads had to wait for a lock.",
    ),
    Row::new(
        "ThreadPool Thread Count",
        COUNT,
        0,
        From::Level(|state| state.value("threadpool-thread-count")),
        "Threads of the thread pool.",
    ),
    Row::new(
        "ThreadPool Queue Length",
        COUNT,
        0,
        From::Level(|state| state.value("threadpool-queue-length")),
        "Work items that wait for a thread of the pool.",
    ),
    Row::new(
        "ThreadPool Completed Work Items/sec",
        RATE,
        0,
        From::Sum("threadpool-completed-items-count"),
        "Work items that the thread pool completed per second.",
    ),
    Row::new(
        "Number of Active Timers",
        COUNT,
        0,
        From::Level(|state| state.value("active-timer-count")),
        "Timers that are active.",
    ),
    Row::new(
        "Number of Assemblies Loaded",
        COUNT,
        0,
        From::Level(|state| state.value("assembly-count")),
        "Assemblies that are loaded.",
    ),
    Row::new(
        "IL Bytes Jitted",
        LARGE,
        -4,
        From::Level(|state| state.value("il-bytes-jitted")),
        "Bytes of intermediate language compiled since the program began. Known from .NET 5 on.",
    ),
    Row::new(
        "Methods Jitted",
        LARGE,
        -2,
        From::Level(|state| state.value("methods-jitted-count")),
        "Methods compiled since the program began. Known from .NET 5 on.",
    ),
    Row::new(
        "% Time in JIT",
        SHARE,
        0,
        From::Share(time_in_jit),
        "Share of the last tenth of a second that was spent compiling. Known from .NET 6 on.",
    ),
    Row::new("Process ID", COUNT, 0, From::Pid, "Id of the process."),
];
