//! Writes rows as parts, one for each object and day.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use tallymon_core::flow::{Column, Row, Sink};
use tallymon_core::time::FileTime;

use super::part::{Added, PartWriter, ranks};
use super::store::Store;
use super::{ROWS_OF_A_GROUP, times};
use crate::parquet::{Names, OneValue, microseconds};

/// The most values in memory, about 50 MB. When there are more, those of the object with the most are
/// written.
const MOST_VALUES: usize = 1 << 19;

/// A part with so many values is complete, some 200 MB: it is put into object storage as one object.
const ROWS_OF_A_PART: u64 = 1 << 26;

/// Writes rows into parts, which no version of the table names yet. Dropping it removes them.
pub(super) struct LakeSink {
    store: Arc<dyn Store>,
    columns: Vec<Names>,
    rank: Vec<usize>,
    /// The partition of each column.
    object_of: Vec<usize>,
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
struct Partition {
    object: Option<String>,
    values: Vec<OneValue>,
    part: Option<PartWriter>,
}

impl LakeSink {
    pub(super) fn new(store: Arc<dyn Store>) -> LakeSink {
        LakeSink {
            store,
            columns: Vec::new(),
            rank: Vec::new(),
            object_of: Vec::new(),
            objects: HashMap::new(),
            partitions: Vec::new(),
            day: String::new(),
            day_number: u64::MAX,
            newest: FileTime(0),
            values: 0,
            parts: Vec::new(),
        }
    }

    /// The parts that were written.
    pub(super) fn into_parts(mut self) -> Vec<Added> {
        std::mem::take(&mut self.parts)
    }

    /// Writes the values of a partition.
    fn flush(&mut self, at: usize) -> io::Result<()> {
        let Some(partition) = self.partitions.get_mut(at).filter(|partition| !partition.values.is_empty())
        else {
            return Ok(());
        };
        let mut values = std::mem::take(&mut partition.values);
        self.values = self.values.saturating_sub(values.len());
        let mut part = match partition.part.take() {
            Some(part) => part,
            None => PartWriter::new(&*self.store, &self.day, partition.object.as_deref())?,
        };
        part.write(&mut values, &self.columns, &self.rank)?;
        values.clear();
        partition.values = values;
        if part.rows() < ROWS_OF_A_PART {
            partition.part = Some(part);
        } else {
            self.parts.push(part.close()?);
        }
        Ok(())
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

    /// The partition with the most values.
    fn fullest(&self) -> usize {
        let by_values =
            self.partitions.iter().enumerate().max_by_key(|(_, partition)| partition.values.len());
        by_values.map_or(0, |(at, _)| at)
    }
}

impl Sink for LakeSink {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.flush_all()?;
        self.columns = columns.iter().map(Names::new).collect();
        self.rank = ranks(&self.columns);
        self.object_of.clear();
        for column in columns {
            let object = column.parts.as_ref().map(|parts| parts.object.to_string());
            let next = self.objects.len();
            let at = *self.objects.entry(object.clone()).or_insert(next);
            if at == self.partitions.len() {
                self.partitions.push(Partition { object, values: Vec::new(), part: None });
            }
            self.object_of.push(at);
        }
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let day = times::day_number(row.time);
        // The row groups of a part follow each other in time.
        if day != self.day_number || row.time < self.newest {
            self.close_all()?;
            self.day_number = day;
            self.day = times::day(row.time);
        }
        self.newest = row.time;
        let microseconds = microseconds(row.time);
        for (column, (cell, object)) in row.cells.iter().zip(&self.object_of).enumerate() {
            let partition = self.partitions.get_mut(*object);
            if let Some((partition, value)) = partition.zip(OneValue::of(column, microseconds, cell)) {
                partition.values.push(value);
                self.values = self.values.saturating_add(1);
            }
        }
        loop {
            let fullest = self.fullest();
            let most = self.partitions.get(fullest).map_or(0, |partition| partition.values.len());
            if most < ROWS_OF_A_GROUP && self.values < MOST_VALUES || most == 0 {
                return Ok(());
            }
            self.flush(fullest)?;
        }
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
