//! Says what is wrong: reads logs once, applies [rules](RuleSet) to every instance, looks for shifts and
//! trends, and names who caused what it found.
//!
//! Memory is bounded by the counters, not by the length of the logs: each counter is kept as at most 512
//! stretches of time ([`Track`]), while rules see every record.
//!
//! | module | does |
//! |---|---|
//! | `rule`, `expression`, `pal` | rules as data: TOML, and threshold files of PAL |
//! | `pass` | reads the logs (`ahead`), and runs every rule (`watch`) on every instance (`course`) |
//! | `machine`, `values` | the processors and the memory of a machine; values that are in memory already |
//! | `track`, `shape` | the course of a counter: medians, shifts, trends, correlation |
//! | `rhythm`, `unusual` | spikes, periodic load, knees, hours unlike those of other days; findings of them |
//! | `findings` | makes findings of both, and ranks them |
//! | `cause` | which instances were busiest at that time |
//! | `moment` | one moment in words: what was unlike the rest |
//! | `pieces` | whether two logs that were read as one look like before and after |
//! | `against` | before and after: what changed beyond its own noise, and which findings are new |

mod against;
mod ahead;
mod cause;
mod course;
mod expression;
mod findings;
mod headline;
mod machine;
mod moment;
mod pal;
mod pass;
mod pieces;
mod rhythm;
mod rule;
mod shape;
mod track;
mod unusual;
mod values;
#[cfg(test)]
mod values_tests;
mod watch;

use std::path::PathBuf;

use tallymon_core::counter::CounterType;
use tallymon_core::time::FileTime;
use tallymon_core::visible::visible;
use tallymon_log::{LogClock, LogError, Notes, ReadOptions, Selection};

pub use against::{Against, Change, Effect, against};
pub use cause::Cause;
pub use expression::{Expression, ExpressionError};
pub use findings::LAGS_COMPARED;
pub use moment::{Deviation, Moment};
pub use rule::{
    MACHINE_PARAMETERS, RESOURCES, Resource, Rule, RuleError, RuleSet, SEVERITIES, Severity, Skipped,
};
pub use shape::{Shift, Trend, correlation, shift, trend};
pub use track::{Axis, Bucket, Track};
pub use values::Values;
pub use watch::Range;

use pass::Pass;

/// What [`analyze()`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// The findings; those that hurt most come first.
    pub findings: Vec<Finding>,
    /// Records that were read.
    pub records: u64,
    /// Time of the first one, UTC.
    pub first: Option<FileTime>,
    /// Time of the last one, UTC.
    pub last: Option<FileTime>,
    /// Counters, each instance by itself.
    pub counters: usize,
    /// Rules of which at least one instance was in the logs.
    pub rules_applied: usize,
    /// Rules whose counters are not in the logs.
    pub rules_without_counters: usize,
    /// Rules that were not used, and why.
    pub skipped: Vec<Skipped>,
    /// The parameters of the rules, and where the values of the machine come from.
    pub parameters: Vec<(String, Option<f64>)>,
    /// Courses that were compared with those of findings; strong ones among many may be chance.
    pub compared: usize,
    /// The clock of the logs.
    pub clock: LogClock,
    /// Faults and remarks of each log.
    pub notes: Vec<(PathBuf, Notes)>,
    /// Selected counters that the logs do not have.
    pub not_found: Vec<String>,
    /// The time axis of all courses.
    pub axis: Option<Axis>,
    /// Two logs that were read as one, the earlier one first, although they look like before and after: both
    /// have the same hosts and the same counters that are looked at, and the later one begins long after the
    /// end of the other.
    pub before_and_after: Option<(PathBuf, PathBuf)>,
}

/// How a finding was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingKind {
    /// By a rule: its id, its file, and its condition.
    Rule {
        /// The name of the rule.
        id: String,
        /// The file of the rule, or the name of the built-in set.
        origin: String,
        /// The condition as written.
        condition: String,
    },
    /// The level changed and stayed.
    Shift,
    /// It grows or falls all the time.
    Trend,
    /// It is far above the usual for a short time.
    Spike,
    /// It rises again and again in the same distance.
    Period,
    /// It grows from one load on, and not below.
    Knee,
    /// In one hour it is unlike the same hour of other days.
    Hour,
}

/// Something that is wrong, or unusual.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// How it was made.
    pub kind: FindingKind,
    /// It in a few words.
    pub title: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub resource: Resource,
    /// The host; empty if the log names none.
    pub host: String,
    /// The share of the time in which it was so, 0 to 1.
    pub share: f64,
    /// How much it hurts: weight of the severity (1, 3, 9) times the square root of the share of time.
    pub hurt: f64,
    /// The instances, worst first.
    pub instances: Vec<Evidence>,
    /// The instances that were busiest meanwhile.
    pub causes: Vec<Cause>,
    /// Other courses that moved with it, strongest first.
    pub together: Vec<Together>,
    /// How many courses were compared with its own, each at [`LAGS_COMPARED`] lags: of many, some move
    /// together by chance.
    pub compared: usize,
    /// What it usually means.
    pub means: String,
    /// What to look at next.
    pub next: String,
    /// 0 to 1: a rule that saw its numbers is sure (1); shapes are as sure as they are strong.
    pub certainty: f64,
}

impl Finding {
    /// What found it, in words, and how sure it is: a rule saw its numbers, so it is.
    pub fn found_by(&self) -> String {
        match &self.kind {
            FindingKind::Rule { id, origin, condition } => {
                format!("rule {} ({}): {}", visible(id), visible(origin), visible(condition))
            }
            _ => format!("found without a rule, {:.0} % sure", self.certainty * 100.0),
        }
    }

    /// Among how many courses those were found that moved with it, in words; `None` if none did.
    pub fn chance(&self) -> Option<String> {
        let compared = self.compared;
        let words = format!(
            "strongest of {compared} counters at {LAGS_COMPARED} lags: of many, some do so by chance"
        );
        (!self.together.is_empty()).then_some(words)
    }
}

/// The numbers of one instance of a finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The full path of the counter.
    pub path: String,
    /// Its instance; empty for an object without instances.
    pub instance: String,
    /// Its type, which says the unit.
    pub counter_type: CounterType,
    /// When it was so.
    pub ranges: Vec<Range>,
    /// Ranges that are not listed.
    pub more_ranges: u64,
    /// Records in which the condition held.
    pub records: u64,
    /// The seconds in which it was so.
    pub seconds: f64,
    /// The seconds in which it is known whether it was so.
    pub observed: f64,
    /// The worst value.
    pub worst: f64,
    /// The median of the course at other times; `None` if it was always so.
    pub usual: Option<f64>,
    /// For trends: seconds from the end of the log until the limit is reached.
    pub until_limit: Option<f64>,
    /// The mean of each stretch of time.
    pub course: Vec<Option<f64>>,
}

/// A course that moved with that of a finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// The full path of the counter.
    pub path: String,
    /// Spearman's correlation of the ranks, -1 to 1.
    pub correlation: f64,
    /// Seconds by which it follows the finding; negative if it comes first.
    pub lag: f64,
}

/// Analyses logs.
///
/// The logs are read in the given order, each once. Rules whose counters are not in the logs do nothing.
///
/// ```
/// use tallymon::analyze::{RuleSet, analyze};
/// use tallymon::log::{ReadOptions, Selection};
///
/// let rules = RuleSet::built_in()?;
/// let error = analyze(&["no such file".into()], rules, &Selection::default(), &ReadOptions::default());
/// assert!(error.is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// A log cannot be read.
pub fn analyze(
    logs: &[PathBuf],
    rules: RuleSet,
    selection: &Selection,
    options: &ReadOptions,
) -> Result<Analysis, LogError> {
    let pass = Pass::read(logs, rules, selection, options, &|| true)?;
    Ok(findings::of(pass))
}

/// As [`analyze()`]; ends early, with `None`, once `wanted` is false: it is asked at every record.
///
/// # Errors
///
/// A log cannot be read.
pub fn analyze_while(
    logs: &[PathBuf],
    rules: RuleSet,
    selection: &Selection,
    options: &ReadOptions,
    wanted: impl Fn() -> bool,
) -> Result<Option<Analysis>, LogError> {
    let pass = Pass::read(logs, rules, selection, options, &wanted)?;
    Ok(wanted().then(|| findings::of(pass)))
}

/// Analyses values in memory, such as the history of a monitor. `None` once `wanted` is false: it is asked at
/// every row.
pub fn analyze_values(values: &Values<'_>, rules: RuleSet, wanted: impl Fn() -> bool) -> Option<Analysis> {
    let pass = Pass::of_values(values, rules, &wanted);
    wanted().then(|| findings::of(pass))
}

/// One moment: what was unlike the rest of the logs, and who was busiest.
///
/// # Errors
///
/// A log cannot be read.
pub fn why(
    logs: &[PathBuf],
    rules: RuleSet,
    time: FileTime,
    selection: &Selection,
    options: &ReadOptions,
) -> Result<Option<Moment>, LogError> {
    let pass = Pass::read(logs, rules, selection, options, &|| true)?;
    Ok(moment::of(pass, time))
}
