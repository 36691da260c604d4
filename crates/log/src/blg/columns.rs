//! Finds the column of a counter, and builds paths from the entries of a counter list.

use std::collections::HashMap;

use tallymon_core::flow::{Absence, NoValue, Sample};
use tallymon_core::path::{CounterPath, InstancePath, Part};
use tallymon_core::time::Frequency;

use super::records::Entry;
use crate::reader::Column;

/// Maps counters to columns, so that a counter has the same column in every record.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// Entries of counter lists by their path and their number among equal paths in the list.
    pub(super) entries: HashMap<(String, u32), u32>,
    /// Groups by entry and title index of the counter (0 in counter mode).
    groups: HashMap<(u32, u32), u32>,
    /// Columns by group and instance.
    columns: HashMap<(u32, String), usize>,
    /// The columns of each group.
    pub(super) members: HashMap<u32, Vec<usize>>,
    /// Whether the samples of a column have local times.
    pub(super) local: Vec<bool>,
    /// The cells of a record that has no values.
    pub(super) blank: Vec<Result<Sample, NoValue>>,
}

impl Columns {
    pub(super) fn group(&mut self, entry: u32, counter: u32) -> u32 {
        let next = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        *self.groups.entry((entry, counter)).or_insert(next)
    }

    pub(super) fn column(
        &mut self,
        columns: &mut Vec<Column>,
        group: u32,
        instance: &str,
        local: bool,
        make: impl FnOnce() -> Column,
    ) -> usize {
        let (local_flags, members, blank) = (&mut self.local, &mut self.members, &mut self.blank);
        *self.columns.entry((group, instance.to_owned())).or_insert_with(|| {
            let made = make();
            blank.push(Err(if made.wild { NoValue::NoInstance } else { NoValue::NoData(Absence::Other) }));
            columns.push(made);
            local_flags.push(local);
            let column = columns.len().saturating_sub(1);
            members.entry(group).or_default().push(column);
            column
        })
    }
}

pub(super) fn instance_path(parent: Option<&str>, name: &str, index: u32) -> InstancePath {
    // A name in the list is already spelled as in a path, with its number.
    match (parent, index) {
        (None, 0) => InstancePath::parse(name),
        _ => InstancePath::new(parent, name, index),
    }
}

pub(super) fn column_of(entry: &Entry, instance: Option<InstancePath>, group: u32, wild: bool) -> Column {
    let part = |name: &Option<String>| Part::Name(name.clone().unwrap_or_default());
    let parts = CounterPath {
        machine: entry.machine.as_ref().map(|name| name.trim_start_matches('\\').to_owned()),
        object: part(&entry.object),
        instance,
        counter: part(&entry.counter),
    };
    Column {
        path: parts.to_string(),
        parts: Some(parts),
        counter_type: entry.counter_type,
        scale: entry.scale,
        time_base: Frequency(entry.time_base),
        group,
        wild,
        live: None,
    }
}

/// The path of an entry, for messages and to recognise it in another list.
pub(super) fn entry_path(entry: &Entry) -> String {
    let instance = entry
        .instance
        .as_deref()
        .map(|name| InstancePath::new(entry.parent.as_deref(), name, entry.instance_index));
    column_of(entry, instance, 0, false).path
}
