//! Makes few large parts of many small ones, and removes files that no version needs.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tallymon_core::counter::CounterType;
use tallymon_core::flow::Column;

use super::action::Part;
use super::commit::Table;
use super::part::{Added, PartWriter, order};
use super::read::rows_of;
use super::store::{Store, Stored};
use super::{ROWS_OF_A_GROUP, path, times};
use crate::column_list::ColumnList;
use crate::error::LogError;
use crate::parquet::{GroupBuffer, Names, OneValue, Rows, Shape, into_io, microseconds};

/// A part of this size stays as it is.
const LARGE: u64 = 1 << 26;

/// The most values of parts that are made one, about 400 MB of memory.
const MOST_VALUES: u64 = 1 << 22;

/// What [`compact`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compacted {
    /// Parts that were made into others, and their bytes.
    pub removed: u64,
    /// Bytes of them.
    pub removed_bytes: u64,
    /// Parts that were made of them.
    pub added: u64,
    /// Bytes of these.
    pub added_bytes: u64,
    /// Parts that stay as they are, because they cannot be read or another writer removed them, and why.
    pub remarks: Vec<String>,
}

/// What [`vacuum`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Vacuumed {
    /// Files that were removed.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that no version needs, but are too young.
    pub kept: u64,
}

/// Makes one part of the small ones of each object and day. Values stay as they are. The old files stay for
/// readers of earlier versions, see [`vacuum`].
///
/// # Errors
///
/// The table cannot be read or written. What was made before stays.
pub fn compact(root: &Path) -> Result<Compacted, LogError> {
    let mut table = Table::open(root)?;
    table.state.check_writable().map_err(|words| table.unusable(words))?;
    let mut partitions: BTreeMap<(Option<String>, Option<String>), Vec<Part>> = BTreeMap::new();
    for part in table.state.parts.values().filter(|part| part.size < LARGE) {
        partitions.entry((part.day.clone(), part.object.clone())).or_default().push(part.clone());
    }
    let mut done = Compacted::default();
    for ((day, object), mut parts) in partitions {
        let Some(day) = day else { continue };
        parts.sort_by_key(|part| part.least);
        let (mut chosen, mut values): (Vec<Part>, u64) = (Vec::new(), 0);
        for part in parts {
            let rows = part.rows.unwrap_or(MOST_VALUES);
            if values.saturating_add(rows) > MOST_VALUES {
                merge(&mut table, &day, object.as_deref(), &std::mem::take(&mut chosen), &mut done)?;
                values = 0;
            }
            values = values.saturating_add(rows);
            chosen.push(part);
        }
        merge(&mut table, &day, object.as_deref(), &chosen, &mut done)?;
    }
    Ok(done)
}

/// Makes one part of several.
fn merge(
    table: &mut Table,
    day: &str,
    object: Option<&str>,
    parts: &[Part],
    done: &mut Compacted,
) -> Result<(), LogError> {
    if parts.len() < 2 {
        return Ok(());
    }
    let root = table.root().to_path_buf();
    let mut merged = Merged::default();
    for part in parts {
        // What cannot be read whole stays where it is.
        if let Err(error) = rows_of(&*table.store, part, |rows| merged.add(rows)) {
            done.remarks.push(format!("day={day} {}: {error}", object.unwrap_or_default()));
            return Ok(());
        }
    }
    let failed = |error: io::Error| LogError::from(error).in_file(&root);
    let added = merged.write(&*table.store, day, object).map_err(failed)?;
    let committed = table.commit(|state| {
        if parts.iter().any(|part| !state.parts.contains_key(&part.path)) {
            return None;
        }
        let mut actions = vec![json!({"commitInfo": {
            "timestamp": added.milliseconds,
            "operation": "OPTIMIZE",
            "operationParameters": {},
            "engineInfo": concat!("tallymon ", env!("CARGO_PKG_VERSION")),
        }})];
        actions.extend(parts.iter().map(|part| removal(part, added.milliseconds)));
        actions.push(added.action(false));
        Some(actions)
    });
    match committed {
        Ok(Some(_)) => {
            done.removed = done.removed.saturating_add(parts.len() as u64);
            done.removed_bytes =
                parts.iter().fold(done.removed_bytes, |sum, part| sum.saturating_add(part.size));
            done.added = done.added.saturating_add(1);
            done.added_bytes = done.added_bytes.saturating_add(added.part.size);
            Ok(())
        }
        Ok(None) => {
            table.discard_unnamed(std::slice::from_ref(&added));
            done.remarks.push(format!("day={day} {}: another writer changed it", object.unwrap_or_default()));
            Ok(())
        }
        Err(error) => {
            table.discard_after_error(std::slice::from_ref(&added));
            Err(error)
        }
    }
}

/// The action that removes a part.
fn removal(part: &Part, milliseconds: u64) -> serde_json::Value {
    json!({"remove": {
        "path": part.path,
        "deletionTimestamp": milliseconds,
        "dataChange": false,
        "extendedFileMetadata": true,
        "partitionValues": {"day": part.day, "object": part.object},
        "size": part.size,
    }})
}

/// The values of several parts.
#[derive(Default)]
struct Merged {
    list: ColumnList,
    columns: Vec<Column>,
    /// With the number of the column of each.
    values: Vec<(usize, OneValue)>,
}

impl Merged {
    fn add(&mut self, rows: &Rows) {
        let mut places: HashMap<(usize, CounterType), usize> = HashMap::new();
        for row in 0..rows.count() {
            let Some(time) = rows.time(row) else { continue };
            let (path, counter_type) = (rows.path(row), rows.counter_type(row));
            let place = *places.entry((path, counter_type)).or_insert_with(|| {
                let key = (rows.path_text(path).to_owned(), counter_type, 0);
                self.list
                    .find(&key)
                    .unwrap_or_else(|| self.list.add(&mut self.columns, key, rows.base_and_scale(row), None))
            });
            let sample = rows.has_raw(row).then(|| rows.sample(row, counter_type, time).ok()).flatten();
            let microseconds = microseconds(time);
            self.values.push((place, OneValue { microseconds, sample, value: rows.value(row) }));
        }
    }

    fn write(mut self, store: &dyn Store, day: &str, object: Option<&str>) -> io::Result<Added> {
        let names: Vec<Names> = self.columns.iter().map(Names::new).collect();
        let order = order(&names);
        let mut rank = vec![0; names.len()];
        for (nth, column) in order.iter().enumerate() {
            if let Some(place) = rank.get_mut(*column) {
                *place = nth;
            }
        }
        let sorted: Vec<&Names> = order.iter().filter_map(|column| names.get(*column)).collect();
        // Row groups follow each other in time.
        self.values.sort_by_key(|(_, value)| value.microseconds);
        let mut part = PartWriter::new(store, day, object)?;
        let mut packer = Shape::Part.packer().map_err(into_io)?;
        let mut group = GroupBuffer::default();
        group.set_columns(names.len());
        for values in self.values.chunks(ROWS_OF_A_GROUP) {
            for (column, value) in values {
                group.push(rank.get(*column).copied().unwrap_or(rank.len()), *value);
            }
            part.write(&mut packer, &sorted, &group)?;
            group.clear();
        }
        part.close()
    }
}

/// Removes files below a table that no version needs: parts of writers that were killed, and parts that were
/// removed from the table. `now` is the time, and `age` how long they stay for readers and writers that are
/// at work.
///
/// # Errors
///
/// The table cannot be read, or a file not removed.
pub fn vacuum(root: &Path, now: SystemTime, age: Duration) -> Result<Vacuumed, LogError> {
    let table = Table::open(root)?;
    table.state.check_writable().map_err(|words| table.unusable(words))?;
    let mut sweep = Sweep { table: &table, before: now.checked_sub(age), done: Vacuumed::default() };
    let failed = |error: io::Error| LogError::from(error).in_file(root);
    for file in table.store.parts().map_err(failed)? {
        sweep.file(&file).map_err(failed)?;
    }
    Ok(sweep.done)
}

/// The files of a table, one after the other.
struct Sweep<'t> {
    table: &'t Table,
    before: Option<SystemTime>,
    done: Vacuumed,
}

impl Sweep<'_> {
    fn file(&mut self, file: &Stored) -> io::Result<()> {
        let below = Path::new(&file.below);
        let is_same = |spelled: &&String| path::meant(spelled).is_ok_and(|meant| meant == below);
        let state = &self.table.state;
        let spelled = path::spelled(&file.below);
        // Others spell paths in other ways.
        let is_needed = state.parts.contains_key(&spelled) || state.parts.keys().any(|path| is_same(&path));
        if is_needed {
            return Ok(());
        }
        let removed = state.removed.get(&spelled).copied().unwrap_or_default();
        let since = file.milliseconds.max(removed);
        if self.before.is_none_or(|before| since >= times::unix_milliseconds(before)) {
            self.done.kept = self.done.kept.saturating_add(1);
            return Ok(());
        }
        self.table.store.remove(below)?;
        self.done.files = self.done.files.saturating_add(1);
        self.done.bytes = self.done.bytes.saturating_add(file.bytes);
        Ok(())
    }
}
