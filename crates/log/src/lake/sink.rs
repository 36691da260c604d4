//! Writes rows as parts, one for each object and day.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use tallymon_core::flow::{Column, Row, Sink};
use tallymon_core::time::FileTime;

use super::part::{Added, PartWriter, order};
use super::store::Store;
use super::{ROWS_OF_A_GROUP, times};
use crate::parquet::{ColumnBuffer, GroupBuffer, Names, OneValue, Packer, Shape, into_io, microseconds};

/// The most values in memory. When there are more, those of the object with the most are written.
const MOST_VALUES: usize = 1 << 19;

/// For how many values memory is kept, about 30 MB. When there is more, that of empty row groups is freed.
const MOST_ROOM: usize = MOST_VALUES << 1;

/// A part with so many values is complete, some 200 MB: it is put into object storage as one object.
const ROWS_OF_A_PART: u64 = 1 << 26;

/// Writes rows into parts, which no version of the table names yet. Dropping it removes them.
pub(super) struct LakeSink {
    store: Arc<dyn Store>,
    packer: Packer,
    names: Vec<Names>,
    /// The partition of each column, and its place there.
    places: Vec<(usize, usize)>,
    objects: HashMap<Option<String>, usize>,
    partitions: Vec<Partition>,
    /// The day that is being written, and its newest time.
    day: String,
    day_number: u64,
    newest: FileTime,
    values: usize,
    parts: Vec<Added>,
}

/// The values of an object on a day.
#[derive(Default)]
struct Partition {
    object: Option<String>,
    /// Its columns, in the order of a row group.
    columns: Vec<usize>,
    /// The row group that is being filled.
    group: GroupBuffer,
    /// How many values a row has: the last one, or the next ones.
    in_row: usize,
    part: Option<PartWriter>,
}

impl LakeSink {
    /// A sink without values.
    ///
    /// # Errors
    ///
    /// There is no memory for what compresses.
    pub(super) fn new(store: Arc<dyn Store>) -> io::Result<LakeSink> {
        Ok(LakeSink {
            store,
            packer: Shape::Part.packer().map_err(into_io)?,
            names: Vec::new(),
            places: Vec::new(),
            objects: HashMap::new(),
            partitions: Vec::new(),
            day: String::new(),
            day_number: u64::MAX,
            newest: FileTime(0),
            values: 0,
            parts: Vec::new(),
        })
    }

    /// The parts that were written.
    pub(super) fn into_parts(mut self) -> Vec<Added> {
        std::mem::take(&mut self.parts)
    }

    /// Writes the values of a partition as a row group.
    fn flush(&mut self, at: usize) -> io::Result<()> {
        let Some(partition) = self.partitions.get_mut(at).filter(|partition| partition.group.rows() > 0)
        else {
            return Ok(());
        };
        self.values = self.values.saturating_sub(partition.group.rows());
        let mut part = match partition.part.take() {
            Some(part) => part,
            None => PartWriter::new(&*self.store, &self.day, partition.object.as_deref())?,
        };
        let names: Vec<&Names> =
            partition.columns.iter().filter_map(|column| self.names.get(*column)).collect();
        part.write(&mut self.packer, &names, &partition.group)?;
        partition.group.clear();
        if part.rows() < ROWS_OF_A_PART {
            partition.part = Some(part);
        } else {
            self.parts.push(part.close()?);
        }
        self.free_room();
        Ok(())
    }

    /// Frees the memory of empty row groups, if all together have too much.
    fn free_room(&mut self) {
        let room = self.partitions.iter().fold(0usize, |sum, one| sum.saturating_add(one.group.capacity()));
        if room > MOST_ROOM {
            // A row group that is empty already keeps nothing.
            self.partitions.iter_mut().filter(|one| one.group.rows() == 0).for_each(|one| one.group.clear());
        }
    }

    fn flush_all(&mut self) -> io::Result<()> {
        (0..self.partitions.len()).try_for_each(|at| self.flush(at))
    }

    /// Completes all parts.
    fn close_all(&mut self) -> io::Result<()> {
        self.flush_all()?;
        for partition in &mut self.partitions {
            if let Some(part) = partition.part.take() {
                self.parts.push(part.close()?);
            }
        }
        Ok(())
    }

    /// Makes room for rows from a time on. A row group has whole rows if one fits into it.
    fn make_room(&mut self, time: FileTime) -> io::Result<()> {
        let day = times::day_number(time);
        // The row groups of a part follow each other in time.
        if day != self.day_number || time < self.newest {
            self.close_all()?;
            self.day_number = day;
            self.day = times::day(time);
        }
        self.newest = time;
        for at in 0..self.partitions.len() {
            let then = |one: &Partition| one.group.rows().saturating_add(one.in_row);
            if self.partitions.get(at).is_some_and(|one| then(one) > ROWS_OF_A_GROUP) {
                self.flush(at)?;
            }
        }
        while self.values >= MOST_VALUES {
            let by_values = self.partitions.iter().enumerate().max_by_key(|(_, one)| one.group.rows());
            let Some((fullest, _)) = by_values else { break };
            self.flush(fullest)?;
        }
        Ok(())
    }

    /// Makes room for rows from a time on that have values of these columns, and returns for how many there
    /// is room: at least one.
    pub(super) fn make_room_for(&mut self, time: FileTime, columns: &[usize]) -> io::Result<usize> {
        self.partitions.iter_mut().for_each(|one| one.in_row = 0);
        for (at, _) in columns.iter().filter_map(|column| self.places.get(*column)) {
            if let Some(partition) = self.partitions.get_mut(*at) {
                partition.in_row = partition.in_row.saturating_add(1);
            }
        }
        self.make_room(time)?;
        let fit = |rows: usize, most: usize, in_row: usize| most.saturating_sub(rows).checked_div(in_row);
        let groups =
            self.partitions.iter().filter_map(|one| fit(one.group.rows(), ROWS_OF_A_GROUP, one.in_row));
        let all = fit(self.values, MOST_VALUES, columns.len());
        Ok(groups.chain(all).min().unwrap_or(usize::MAX).max(1))
    }

    /// Adds rows to a column, for which [`LakeSink::make_room_for`] made room.
    pub(super) fn column(
        &mut self,
        column: usize,
        rows: usize,
        add: impl FnOnce(&mut ColumnBuffer),
    ) -> io::Result<()> {
        let Some((at, place)) = self.places.get(column).copied() else { return Ok(()) };
        // One row of very many columns.
        let then = |one: &Partition| one.group.rows().saturating_add(rows);
        if self.partitions.get(at).is_some_and(|one| then(one) > ROWS_OF_A_GROUP) {
            self.flush(at)?;
        }
        if let Some(partition) = self.partitions.get_mut(at) {
            self.values = self.values.saturating_add(partition.group.extend(place, add));
        }
        Ok(())
    }

    /// Notes the time of the last row that was added.
    pub(super) fn passed(&mut self, time: FileTime) {
        self.newest = time;
    }

    /// Adds a value; a row group that is full is written before.
    fn push(&mut self, (at, column): (usize, usize), value: OneValue) -> io::Result<()> {
        if self.partitions.get(at).is_some_and(|one| one.group.rows() >= ROWS_OF_A_GROUP) {
            self.flush(at)?;
        }
        if let Some(partition) = self.partitions.get_mut(at) {
            partition.group.push(column, value);
            partition.in_row = partition.in_row.saturating_add(1);
            self.values = self.values.saturating_add(1);
        }
        Ok(())
    }
}

impl Sink for LakeSink {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.flush_all()?;
        self.names = columns.iter().map(Names::new).collect();
        self.places = vec![(usize::MAX, 0); columns.len()];
        self.partitions.iter_mut().for_each(|partition| partition.columns.clear());
        for column in order(&self.names) {
            let parts = columns.get(column).and_then(|column| column.parts.as_ref());
            let object = parts.map(|parts| parts.object.to_string());
            let next = self.objects.len();
            let at = *self.objects.entry(object.clone()).or_insert(next);
            if at == self.partitions.len() {
                self.partitions.push(Partition { object, ..Partition::default() });
            }
            if let Some((partition, place)) = self.partitions.get_mut(at).zip(self.places.get_mut(column)) {
                *place = (at, partition.columns.len());
                partition.columns.push(column);
            }
        }
        for partition in &mut self.partitions {
            partition.group.set_columns(partition.columns.len());
            partition.in_row = 0;
        }
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.make_room(row.time)?;
        self.partitions.iter_mut().for_each(|one| one.in_row = 0);
        let microseconds = microseconds(row.time);
        let places = std::mem::take(&mut self.places);
        let mut written = Ok(());
        for (cell, place) in row.cells.iter().zip(&places) {
            if let Some(value) = OneValue::of(microseconds, cell) {
                written = self.push(*place, value);
                if written.is_err() {
                    break;
                }
            }
        }
        self.places = places;
        written
    }

    fn finish(&mut self) -> io::Result<()> {
        self.close_all()
    }
}

impl Drop for LakeSink {
    fn drop(&mut self) {
        self.parts.iter().for_each(|part| part.discard(&*self.store));
    }
}

#[cfg(test)]
mod tests {
    use tallymon_core::counter::CounterType;

    use super::super::folder::Folder;
    use super::*;

    #[test]
    fn objects_that_are_busy_one_after_another_do_not_keep_their_memory() {
        let folder = std::env::temp_dir().join(format!("tallymon-sink-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let column = |object: usize| {
            let path = format!(r"\o{object}\c");
            Column {
                parts: path.parse().ok(),
                path,
                counter_type: CounterType::PERF_COUNTER_RAWCOUNT,
                scale: 0,
                time_base: Default::default(),
                group: 0,
                wild: false,
                live: None,
            }
        };
        let columns: Vec<Column> = (0..12).map(column).collect();
        let mut sink = LakeSink::new(Arc::new(Folder::new(&folder))).unwrap();
        sink.columns(&columns).unwrap();
        sink.make_room(FileTime(0)).unwrap();
        let room = |sink: &LakeSink| sink.partitions.iter().map(|one| one.group.capacity()).sum::<usize>();
        for at in 0..columns.len() {
            for microseconds in 0..i64::try_from(ROWS_OF_A_GROUP).unwrap() {
                sink.push((at, 0), OneValue { microseconds, sample: None, value: Ok(1.0) }).unwrap();
            }
            sink.flush(at).unwrap();
            assert!(room(&sink) <= MOST_ROOM, "{at}: {}", room(&sink));
        }
        assert!(room(&sink) > 0 && sink.values == 0);
        sink.finish().unwrap();
        drop(sink);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
