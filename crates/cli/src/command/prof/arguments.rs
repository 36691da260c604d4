//! Arguments of `tally prof`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::arguments::Replacing;
use crate::arguments::parse::{file_to_write, interval, short_time};

#[derive(Debug, Args)]
pub(crate) struct Prof {
    #[command(subcommand)]
    pub(crate) action: ProfAction,
}

/// The subcommands of `tally prof`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfAction {
    /// List the running .NET programs, and which of them are profiled.
    #[command(visible_alias = "ps")]
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run a program under the profiler, then print its call tree.
    Run(ProfRun),
    /// Sample a running .NET program that was not prepared, then print its call tree.
    Sample(ProfSample),
    /// Show the garbage collections of a running .NET program: pauses, heap, types allocated.
    Gc(ProfIncidents),
    /// Show the exceptions that a running .NET program throws, and where.
    Exceptions(ProfIncidents),
    /// Show where the threads of a running .NET program wait for locks.
    Contention(ProfIncidents),
    /// Show how the thread pool of a running .NET program grows, and whether it starves.
    Threads(ProfIncidents),
    /// Show the HTTP requests of a running .NET program by route and status: number, errors, durations.
    Http(ProfRequests),
    /// Show the database commands of a running .NET program: number, errors, durations.
    Db(ProfRequests),
    /// Print the call tree of a profile file, even of a running or killed program.
    Tree(ProfTree),
    /// Write an HTML report: call tree, flame graph, methods, callers, threads, exceptions.
    Report(ProfReport),
    /// Compare two profiles method by method.
    Diff(ProfDiff),
    /// Convert a profile for another tool, such as speedscope or pprof.
    Export(ProfExport),
    /// Show the busiest methods of a running program, with continuous updates.
    Top(ProfTop),
    /// Publish a running program's calls as counters: .NET Methods and .NET Profiler.
    Publish(ProfPublish),
    /// Summarize a program's profile so far, and show whether its hooks are on.
    Status(ProfStatus),
    /// Start profiling a program that runs with --mode dormant.
    On(ProfOn),
    /// Stop profiling a program; it stays dormant.
    Off(ProfSwitch),
}

#[derive(Debug, Args)]
pub(crate) struct ProfRun {
    /// What to profile.
    #[arg(long, value_enum, default_value = "user", value_name = "MODE")]
    pub(crate) mode: ProfMode,
    /// Profile only methods whose raw names start with this, such as Shop.Cart or Shop.Cart::Add. Repeatable.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) include: Vec<String>,
    /// Do not profile methods whose raw names start with this. Repeatable.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) exclude: Vec<String>,
    /// Turn off inlining, so that every call is counted. Small methods then run slower than usual.
    #[arg(long)]
    pub(crate) exact: bool,
    /// Largest size of the profile file in MiB; it takes as much as it uses. Default: 64, and 256 for
    /// --mode all. Without room, calls lose their place in the tree but not their counts.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(8..=1024))]
    pub(crate) size: Option<u32>,
    /// End the program after this time, such as 90, 500ms or 5m (seconds without a unit).
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub(crate) duration: Option<Duration>,
    /// Publish the busiest methods as counters while the program runs; see 'tally prof publish'.
    #[arg(long)]
    pub(crate) publish: bool,
    /// Extra MiB for time lines: this many threads keep their newest 65,536 events each.
    #[arg(long, default_value = "0", value_name = "MIB",
        value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub(crate) events: u32,
    /// Leave calls shorter than this out of time lines, such as 10us, so that they cover more time.
    #[arg(long, value_name = "TIME", requires = "events", value_parser = short_time)]
    pub(crate) events_min: Option<Duration>,
    /// Profile file to write; %p stands for the process id. Default: a file in the temporary folder.
    #[arg(long, short, value_name = "FILE", value_parser = file_to_write())]
    pub(crate) output: Option<PathBuf>,
    /// The program and its arguments, after two dashes.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What the profiler records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfMode {
    /// Nothing until 'tally prof on'.
    Dormant,
    /// Methods of user modules.
    User,
    /// Every method that is compiled while the program runs.
    All,
}

#[derive(Debug, Args)]
pub(crate) struct ProfSample {
    #[command(flatten)]
    pub(crate) recorded: Recorded,
    /// Show only this many levels; 0 for all.
    #[arg(long, default_value = "0", hide_default_value = true, value_name = "N")]
    pub(crate) depth: usize,
    #[command(flatten)]
    pub(crate) fold: ProfFold,
}

#[derive(Debug, Args)]
pub(crate) struct ProfIncidents {
    /// Process id, the name of a program of which one runs, or a file of 'tally prof sample'.
    #[arg(value_name = "PID|NAME|FILE")]
    pub(crate) program: String,
    /// How long to look at a program, such as 30, 500ms or 2m (seconds without a unit). Ctrl-C ends it
    /// earlier.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = interval)]
    pub(crate) duration: Duration,
    /// Show only this many rows of each table.
    #[arg(long, default_value = "40", value_name = "N")]
    pub(crate) rows: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ProfRequests {
    /// Process id, or the name of a program of which one runs.
    #[arg(value_name = "PID|NAME")]
    pub(crate) program: String,
    /// How long to look at a program, such as 30, 500ms or 2m (seconds without a unit). Ctrl-C ends it
    /// earlier.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = interval)]
    pub(crate) duration: Duration,
    /// Print what is known so far again and again, each time that this time has passed.
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub(crate) every: Option<Duration>,
    /// Show only this many rows of each table.
    #[arg(long, default_value = "40", value_name = "N")]
    pub(crate) rows: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is recorded of a running program.
#[derive(Debug, Args)]
pub(crate) struct Recorded {
    /// Process id, or the name of a program of which one runs.
    #[arg(value_name = "PID|NAME")]
    pub(crate) program: String,
    /// How long to record, such as 30, 500ms or 2m (seconds without a unit). Ctrl-C ends it earlier.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = interval)]
    pub(crate) duration: Duration,
    /// File to write; without it NAME-PID.nettrace in this folder, and the call tree is printed.
    #[arg(long, short, value_name = "FILE", value_parser = file_to_write())]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
}

#[derive(Debug, Args)]
pub(crate) struct ProfTree {
    /// Process id or profile file.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: String,
    /// Subtract the profiler's measured cost from the times.
    #[arg(long)]
    pub(crate) corrected: bool,
    /// Show only this many levels; 0 for all.
    #[arg(long, default_value = "0", hide_default_value = true, value_name = "N")]
    pub(crate) depth: usize,
    #[command(flatten)]
    pub(crate) fold: ProfFold,
}

/// Which places of a call tree are folded into (elsewhere).
#[derive(Debug, Args)]
pub(crate) struct ProfFold {
    /// Fold places of the tree that took less time than this, callees included, such as 10ms. Their calls
    /// still count for their methods.
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub(crate) min: Option<Duration>,
    /// Fold what methods of the framework call within the framework. Their first methods stay, and the ways
    /// back into the program.
    #[arg(long)]
    pub(crate) fold_framework: bool,
    /// Show threads whose names are equal but for numbers, and those without names, as one each.
    #[arg(long)]
    pub(crate) merge_threads: bool,
    /// Keep only about this many places of the tree, those with the most time.
    #[arg(long, value_name = "N")]
    pub(crate) places: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct ProfExport {
    /// Process id or profile file.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: String,
    #[command(flatten)]
    pub(crate) fold: ProfFold,
    /// Output format.
    #[arg(long, short, value_enum, default_value = "speedscope", value_name = "FORMAT")]
    pub(crate) format: ProfForm,
}

/// Output formats of `tally prof export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfForm {
    /// For www.speedscope.app.
    Speedscope,
    /// For Perfetto and chrome://tracing.
    Chrome,
    /// For KCachegrind and callgrind_annotate.
    Callgrind,
    /// For go tool pprof, a protocol buffer in gzip.
    Pprof,
    /// For profiler.firefox.com.
    Firefox,
    /// Everything, as one JSON document.
    Json,
    /// One stack per line with its own time in nanoseconds, for flame graphs.
    Collapsed,
    /// One stack per line with its number of calls.
    CollapsedCalls,
}

#[derive(Debug, Args)]
pub(crate) struct ProfReport {
    /// Process id or profile file.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: String,
    /// HTML file to write.
    #[arg(long, short, value_name = "FILE", value_parser = file_to_write())]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) fold: ProfFold,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
}

#[derive(Debug, Args)]
pub(crate) struct ProfDiff {
    /// Profile from before the change: a file, or the id of a process that runs.
    #[arg(value_name = "BEFORE")]
    pub(crate) before: String,
    /// Profile from after the change.
    #[arg(value_name = "AFTER")]
    pub(crate) after: String,
    /// Show only this many methods.
    #[arg(long, default_value = "40", value_name = "N")]
    pub(crate) rows: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ProfTop {
    /// Process id or profile file. Default: the running program that started last.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: Option<String>,
    /// Time between updates, such as 2, 500ms or 1m (seconds without a unit).
    #[arg(long, short, default_value = "1s", value_name = "TIME", value_parser = interval)]
    pub(crate) interval: Duration,
    /// Stop after this many updates.
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Sort methods by this column, largest first.
    #[arg(long, value_enum, default_value = "self", value_name = "COLUMN")]
    pub(crate) sort: ProfSort,
    /// Show only this many methods. Default: as many as fit.
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<usize>,
}

/// Columns that methods are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfSort {
    /// Calls per second.
    Calls,
    /// Time without callees.
    #[value(name = "self")]
    Own,
    /// Time with callees.
    Total,
}

#[derive(Debug, Args)]
pub(crate) struct ProfPublish {
    /// Process id or profile file. Default: the running program that started last.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: Option<String>,
    /// Publish this many methods: those with the most time of their own.
    #[arg(long, default_value = "25", value_name = "N")]
    pub(crate) methods: usize,
    /// Publish only methods whose raw names start with this. Repeatable.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) include: Vec<String>,
    /// Do not publish methods whose raw names start with this. Repeatable.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) exclude: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProfStatus {
    /// Process id or profile file. Default: the running program that started last.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProfOn {
    /// Process id or profile file.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: String,
    /// From now on profile only methods whose raw names start with this. Repeatable.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) include: Vec<String>,
    /// From now on do not profile methods whose raw names start with this. Repeatable.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) exclude: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProfSwitch {
    /// Process id or profile file.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: String,
}
