//! What can be written behind `tally prof`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::arguments::parse::interval;

#[derive(Debug, Args)]
pub(crate) struct Prof {
    #[command(subcommand)]
    pub(crate) action: ProfAction,
}

/// What to do with a profile.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfAction {
    /// Run a program under the profiler, then print its call tree.
    Run(ProfRun),
    /// Print the call tree of a profile file, also of a program that still runs or was killed.
    Tree(ProfTree),
    /// Write a report as one HTML file: call tree, flame graph, methods, callers and callees, threads, exceptions.
    Report(ProfReport),
    /// Compare two profiles, method by method.
    Diff(ProfDiff),
    /// Print a profile in another form.
    Export(ProfExport),
    /// Show what a running program calls, again and again.
    Top(ProfTop),
    /// Publish what a running program calls as counters, objects .NET Methods and .NET Profiler, until it ends.
    Publish(ProfPublish),
    /// Say what a program's profile has so far, and whether its hooks are on.
    Status(ProfStatus),
    /// Switch a program on that was started with --mode dormant.
    On(ProfOn),
    /// Switch it off again.
    Off(ProfSwitch),
}

#[derive(Debug, Args)]
pub(crate) struct ProfRun {
    /// What is seen: methods of user modules, everything, or nothing until it is switched on.
    #[arg(long, value_enum, default_value = "user", value_name = "MODE")]
    pub(crate) mode: ProfMode,
    /// Only methods whose raw names begin so, such as Shop.Cart or Shop.Cart::Add. It can be given several times.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) include: Vec<String>,
    /// Never methods whose raw names begin so. It can be given several times.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) exclude: Vec<String>,
    /// Keep calls from being inlined, so that every one is counted; small methods then run slower than they do in truth.
    #[arg(long)]
    pub(crate) exact: bool,
    /// Size of the profile file in MiB.
    #[arg(long, default_value = "64", value_name = "MIB",
        value_parser = clap::value_parser!(u32).range(8..=1024))]
    pub(crate) size: u32,
    /// End the program after this time, in seconds or with a unit: 500ms, 90s, 5m.
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub(crate) duration: Option<Duration>,
    /// Publish the busiest methods as counters while the program runs, see 'tally prof publish'.
    #[arg(long)]
    pub(crate) publish: bool,
    /// MiB in addition for time lines: each of so many threads keeps its newest 65,536 events.
    #[arg(long, default_value = "0", value_name = "MIB",
        value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub(crate) events: u32,
    /// The profile file; %p stands for the process id. In the temporary folder without it.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The program and its arguments, behind two dashes.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What the profiler sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfMode {
    /// Nothing until it is switched on.
    Dormant,
    /// Methods of user modules.
    User,
    /// Every method that is compiled while the program runs.
    All,
}

#[derive(Debug, Args)]
pub(crate) struct ProfTree {
    /// A profile file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Take the measured cost of the profiler out of the times.
    #[arg(long)]
    pub(crate) corrected: bool,
    /// Show this many levels.
    #[arg(long, default_value = "0", hide_default_value = true, value_name = "N")]
    pub(crate) depth: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ProfExport {
    /// A profile file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The form.
    #[arg(long, short, value_enum, default_value = "speedscope", value_name = "FORMAT")]
    pub(crate) format: ProfForm,
}

/// Forms of a profile.
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
    /// One stack a line with its own time in nanoseconds, for flame graphs.
    Collapsed,
    /// One stack a line with its calls.
    CollapsedCalls,
}

#[derive(Debug, Args)]
pub(crate) struct ProfReport {
    /// A process id, or a profile file.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: String,
    /// The report.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ProfDiff {
    /// The profile file of before.
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// The profile file of after.
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// Show this many methods.
    #[arg(long, default_value = "40", value_name = "N")]
    pub(crate) rows: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ProfTop {
    /// A process id, or a profile file; the program that was started last without it.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: Option<String>,
    /// Time between updates, in seconds or with a unit.
    #[arg(long, short, default_value = "1s", value_name = "TIME", value_parser = interval)]
    pub(crate) interval: Duration,
    /// End after this many updates.
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) count: Option<u64>,
    /// What stands first.
    #[arg(long, value_enum, default_value = "self", value_name = "COLUMN")]
    pub(crate) sort: ProfSort,
    /// Show this many methods; as many as fit without it.
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<usize>,
}

/// Columns that methods are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfSort {
    /// Calls a second.
    Calls,
    /// Time without callees.
    #[value(name = "self")]
    Own,
    /// Time with callees.
    Total,
}

#[derive(Debug, Args)]
pub(crate) struct ProfPublish {
    /// A process id, or a profile file; the program that was started last without it.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: Option<String>,
    /// Publish this many methods, those with the most time of their own.
    #[arg(long, default_value = "25", value_name = "N")]
    pub(crate) methods: usize,
    /// Only methods whose raw names begin so. It can be given several times.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) include: Vec<String>,
    /// Never methods whose raw names begin so. It can be given several times.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) exclude: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProfStatus {
    /// A process id, or a profile file; the program that was started last without it.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProfOn {
    /// A process id, or a profile file.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: String,
    /// From now on only methods whose raw names begin so. It can be given several times.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) include: Vec<String>,
    /// From now on never methods whose raw names begin so. It can be given several times.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) exclude: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProfSwitch {
    /// A process id, or a profile file.
    #[arg(value_name = "PID|FILE")]
    pub(crate) program: String,
}
