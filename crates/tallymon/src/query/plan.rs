//! What the paths of a query mean now: which counter of which instances, in the order of reading.
//!
//! The plan is built again when paths, or instances of their objects, come or go, not for every sample:
//! most samples have the instances of the one before. Reading ten thousand paths then walks one list of a
//! few bytes each.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use tallymon_core::title::TitleIndex;

use super::{CounterHandle, Entry};

/// All values of a query, in the order of its paths.
#[derive(Debug, Default)]
pub(super) struct Plan {
    runs: Vec<Run>,
    /// Each counter of the runs, once.
    columns: Vec<ColumnName>,
    /// Positions of instances, path after path.
    positions: Vec<usize>,
    /// Texts shared by the paths of a column, built when paths are first wanted.
    texts: OnceCell<HashMap<ColumnName, ColumnText>>,
}

/// What all paths of one counter begin and end with.
#[derive(Debug)]
pub(super) struct ColumnText {
    /// The object, after its backslash.
    pub(super) start: String,
    pub(super) counter: String,
}

/// A counter of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ColumnName {
    pub(super) object: TitleIndex,
    pub(super) counter: TitleIndex,
}

/// One counter of one path.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) handle: CounterHandle,
    /// Position of its counter in the plan.
    pub(super) column: usize,
    /// The scale of the path.
    pub(super) scale: Option<i32>,
    /// The path names an instance that does not exist.
    pub(super) is_missing: bool,
    positions: Range<usize>,
}

impl Plan {
    pub(super) fn of(entries: &BTreeMap<CounterHandle, Entry>) -> Plan {
        let mut plan = Plan::default();
        let mut known: HashMap<ColumnName, usize> = HashMap::new();
        for (handle, entry) in entries {
            let start = plan.positions.len();
            let is_missing = match &entry.chosen {
                // An object without instances has its values at the position of the first instance.
                None => {
                    plan.positions.push(0);
                    false
                }
                Some(chosen) => {
                    plan.positions.extend_from_slice(&chosen.positions);
                    chosen.positions.is_empty() && !chosen.wanted.is_wild()
                }
            };
            let positions = start..plan.positions.len();
            for counter in &entry.counters {
                let name = ColumnName { object: entry.object, counter: *counter };
                let column = *known.entry(name).or_insert_with(|| {
                    plan.columns.push(name);
                    plan.columns.len().saturating_sub(1)
                });
                let positions = positions.clone();
                plan.runs.push(Run { handle: *handle, column, scale: entry.scale, is_missing, positions });
            }
        }
        plan
    }

    /// All runs, in the order of reading.
    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The runs of one path.
    pub(super) fn runs_of(&self, handle: CounterHandle) -> &[Run] {
        let start = self.runs.partition_point(|run| run.handle < handle);
        let behind = self.runs.get(start..).unwrap_or_default();
        let length = behind.partition_point(|run| run.handle == handle);
        behind.get(..length).unwrap_or_default()
    }

    /// The counters of the runs.
    pub(super) fn columns(&self) -> &[ColumnName] {
        &self.columns
    }

    /// Texts shared by the paths of each column; built once.
    pub(super) fn texts(&self, make: impl Fn(ColumnName) -> ColumnText) -> &HashMap<ColumnName, ColumnText> {
        self.texts.get_or_init(|| self.columns.iter().map(|name| (*name, make(*name))).collect())
    }

    /// Positions of the instances of a run in their object.
    pub(super) fn positions(&self, run: &Run) -> &[usize] {
        self.positions.get(run.positions.clone()).unwrap_or_default()
    }
}
