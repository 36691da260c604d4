//! The lines of the processes: a list, a tree, or groups that are folded until they are opened.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tallymon::core::time::FileTime;
use tallymon::process::{ProcessFacts, ProcessId};

use crate::model::overview::{Arrangement, OverviewLook, ProcessMetric, ProcessRow};
use crate::model::{Numbers, tree};

/// Which line it is: a process is the same in every second where the source has ids, a group by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineKey {
    name: Arc<str>,
    identity: Option<(u32, u64)>,
    is_group: bool,
}

impl LineKey {
    pub(super) fn process(row: &ProcessRow) -> LineKey {
        LineKey { name: row.name.clone(), identity: row.identity(), is_group: false }
    }

    pub(super) fn group(name: &Arc<str>) -> LineKey {
        LineKey { name: name.clone(), identity: None, is_group: true }
    }

    pub(super) fn of(line: &Line<'_>) -> LineKey {
        if line.group.is_some() { LineKey::group(&line.row.name) } else { LineKey::process(&line.row) }
    }

    /// The name of a group.
    pub(super) fn group_name(&self) -> Option<&Arc<str>> {
        Some(&self.name).filter(|_| self.is_group)
    }

    pub(super) fn is(&self, line: &Line<'_>) -> bool {
        match line.group {
            Some(_) => self.is_group && *self.name == *line.row.name,
            None => self.is_row(&line.row),
        }
    }

    /// Whether it is this process.
    pub(super) fn is_row(&self, row: &ProcessRow) -> bool {
        match self.identity {
            Some(identity) => row.identity() == Some(identity),
            // A group has no identity either.
            None => !self.is_group && *self.name == *row.name,
        }
    }
}

/// The facts that are known, by process.
pub(super) type KnownFacts = HashMap<ProcessId, Option<ProcessFacts>>;

/// The id of a row for the facts of its process.
pub(super) fn id_of(row: &ProcessRow) -> Option<ProcessId> {
    let (id, start) = row.identity()?;
    Some(ProcessId { id, start: FileTime(start) })
}

/// A line of the list: a process, or a group with the sums of its processes.
#[derive(Debug, Clone)]
pub(super) struct Line<'r> {
    pub(super) row: Cow<'r, ProcessRow>,
    /// Its depth in the tree, or in a group.
    pub(super) depth: usize,
    pub(super) group: Option<Group<'r>>,
}

/// What a group is beside its sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group<'r> {
    /// How many processes it has.
    pub(super) members: usize,
    /// Its processes stand below it.
    pub(super) is_open: bool,
    /// Their user, if it is the same for all.
    pub(super) user: Option<&'r str>,
}

/// Which rows are shown, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'s> {
    pub(super) look: &'s OverviewLook,
    /// The text that a process has to contain, in lower case.
    pub(super) filter: &'s str,
    pub(super) facts: &'s KnownFacts,
    /// The groups whose processes are shown.
    pub(super) opened: &'s HashSet<Arc<str>>,
}

impl<'s> Shown<'s> {
    /// The lines in the order of the screen.
    pub(super) fn lines<'r>(self, rows: &'r [ProcessRow]) -> Vec<Line<'r>>
    where
        's: 'r,
    {
        self.arranged(self.passing(rows))
    }

    fn facts_of(self, row: &ProcessRow) -> Option<&'s ProcessFacts> {
        self.facts.get(&id_of(row)?)?.as_ref()
    }

    /// The rows that pass the filter, in the order of the look.
    pub(super) fn passing(self, rows: &[ProcessRow]) -> Vec<&ProcessRow> {
        let filter = self.filter;
        let passes = |row: &&ProcessRow| {
            filter.is_empty()
                || row.name.to_lowercase().contains(filter)
                || row.id.is_some_and(|id| id.to_string() == filter)
                || self.facts_of(row).is_some_and(|facts| {
                    let unit = facts.unit.as_deref().unwrap_or_default();
                    [facts.command.as_str(), &facts.user, unit]
                        .iter()
                        .any(|text| text.to_lowercase().contains(filter))
                })
        };
        let mut passing: Vec<&ProcessRow> = rows.iter().filter(passes).collect();
        passing.sort_by(|one, other| self.order(one, other));
        passing
    }

    fn order(self, one: &ProcessRow, other: &ProcessRow) -> Ordering {
        let number = |row: &ProcessRow| row.number(self.look.order);
        let order = match (number(one), number(other)) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            // Rows without a value go to the end.
            (one, other) => return other.is_some().cmp(&one.is_some()),
        };
        let order = if self.look.ascending { order } else { order.reverse() };
        // Equal rows keep their places between two samples.
        order
            .then_with(|| other.processor.unwrap_or(0.0).total_cmp(&one.processor.unwrap_or(0.0)))
            .then_with(|| other.memory.unwrap_or(0.0).total_cmp(&one.memory.unwrap_or(0.0)))
            .then_with(|| one.id.cmp(&other.id))
            .then_with(|| one.name.cmp(&other.name))
    }

    /// Sorted rows as lines.
    pub(super) fn arranged<'r>(self, rows: Vec<&'r ProcessRow>) -> Vec<Line<'r>>
    where
        's: 'r,
    {
        let line = |row, depth| Line { row: Cow::Borrowed(row), depth, group: None };
        match self.look.arrangement {
            Arrangement::List => rows.into_iter().map(|row| line(row, 0)).collect(),
            Arrangement::Tree => {
                let numbers: Vec<Numbers> =
                    rows.iter().map(|row| (row.id.map(u64::from), row.parent.map(u64::from))).collect();
                let order = tree(&numbers).into_iter();
                order.filter_map(|(position, depth)| Some(line(*rows.get(position)?, depth))).collect()
            }
            Arrangement::Groups => self.groups(rows),
        }
    }

    /// The processes of each service or container, else those of each program, as one line with their sums. A
    /// process that is alone in its group is a line of its own.
    fn groups<'r>(self, rows: Vec<&'r ProcessRow>) -> Vec<Line<'r>>
    where
        's: 'r,
    {
        let mut groups: Vec<(&str, Vec<&'r ProcessRow>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for row in rows {
            let unit = self.facts_of(row).and_then(|facts| facts.unit.as_deref());
            let name: &str = unit.unwrap_or_else(|| program(&row.name));
            let place = *places.entry(name).or_insert_with(|| {
                groups.push((name, Vec::new()));
                groups.len().saturating_sub(1)
            });
            if let Some((_, members)) = groups.get_mut(place) {
                members.push(row);
            }
        }
        let whole = |(name, members): (&str, Vec<&'r ProcessRow>)| match &*members {
            [alone] => (Line { row: Cow::Borrowed(*alone), depth: 0, group: None }, Vec::new()),
            _ => {
                let row = sum(name, &members);
                let is_open = self.opened.contains(&row.name);
                let group = Group { members: members.len(), is_open, user: self.user_of(&members) };
                (Line { row: Cow::Owned(row), depth: 0, group: Some(group) }, members)
            }
        };
        let mut groups: Vec<_> = groups.into_iter().map(whole).collect();
        groups.sort_by(|(one, _), (other, _)| self.order(&one.row, &other.row));
        let mut lines = Vec::with_capacity(groups.len());
        for (line, members) in groups {
            let is_open = line.group.as_ref().is_some_and(|group| group.is_open);
            lines.push(line);
            if is_open {
                let below = members.into_iter();
                lines.extend(below.map(|row| Line { row: Cow::Borrowed(row), depth: 1, group: None }));
            }
        }
        lines
    }

    /// The user of processes, if it is known and the same for all.
    fn user_of(self, members: &[&ProcessRow]) -> Option<&'s str> {
        let mut users = members.iter().map(|row| Some(self.facts_of(row)?.user.as_str()));
        let first = users.next()??;
        users.all(|user| user == Some(first)).then_some(first)
    }
}

/// The name of a program without the number that tells its processes apart: `nginx` of `nginx#1`.
fn program(instance: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let own = instance.rsplit_once('#').filter(|(_, number)| is_number(number));
    own.map_or(instance, |(name, _)| name)
}

/// The sums of processes; a number that none of them has stays absent. Its smallest id gives it its place
/// when processes are sorted by id.
fn sum(name: &str, members: &[&ProcessRow]) -> ProcessRow {
    let total = |metric: ProcessMetric| {
        let numbers = members.iter().filter_map(|row| row.number(metric));
        numbers.reduce(|sum, number| sum + number)
    };
    let small = |metric| total(metric).map(|number| number as f32);
    ProcessRow {
        name: name.into(),
        id: members.iter().filter_map(|row| row.id).min(),
        parent: None,
        start: 0,
        processor: small(ProcessMetric::Processor),
        memory: total(ProcessMetric::Memory),
        bytes: small(ProcessMetric::InputOutput),
        threads: small(ProcessMetric::Threads),
    }
}
