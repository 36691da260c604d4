//! What the paths of a query mean at present: which counter of which instances, in the order in which they are read.
//!
//! It is worked out when paths, or instances of their objects, come or go, and not for every sample: most samples find
//! what the one before found. Ten thousand paths are then read along one list of a few bytes each.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use tallymon_core::title::TitleIndex;

use super::{CounterHandle, Entry};

/// All values of a query, in the order of its paths.
#[derive(Debug, Default)]
pub(super) struct Plan {
    runs: Vec<Run>,
    /// Each counter that a run is of, once.
    columns: Vec<ColumnName>,
    /// Positions of instances, of one path after the other.
    positions: Vec<usize>,
    /// What the paths of the columns have in common, once somebody wants paths.
    texts: OnceCell<HashMap<ColumnName, ColumnText>>,
}

/// What all paths of a counter begin and end with.
#[derive(Debug)]
pub(super) struct ColumnText {
    /// The object, behind its backslash.
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
    /// Where its counter stands among those of the plan.
    pub(super) column: usize,
    /// The scale of the path.
    pub(super) scale: Option<i32>,
    /// It names an instance that is not there.
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
                // An object without instances has its values where others have the first one.
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

    /// Everything that is read, in its order.
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

    /// The counters that the runs are of.
    pub(super) fn columns(&self) -> &[ColumnName] {
        &self.columns
    }

    /// What the paths of the columns have in common; made once.
    pub(super) fn texts(&self, make: impl Fn(ColumnName) -> ColumnText) -> &HashMap<ColumnName, ColumnText> {
        self.texts.get_or_init(|| self.columns.iter().map(|name| (*name, make(*name))).collect())
    }

    /// Where the instances of a run stand in their object.
    pub(super) fn positions(&self, run: &Run) -> &[usize] {
        self.positions.get(run.positions.clone()).unwrap_or_default()
    }
}
