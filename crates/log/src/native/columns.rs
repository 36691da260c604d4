//! The rows of a chunk by column, as the chunk has them: for writers that keep columns, too. A row that is
//! made of a chunk costs several times what its numbers cost.

use std::io::Read;
use std::ops::Range;

use tallymon_core::time::FileTime;

use super::column_rows::ColumnRows;
use super::read::NativeReader;
use super::table::CLOCKS;
use crate::error::LogError;

/// The clocks of each object in each row of a chunk.
pub(crate) struct ChunkClocks(Vec<[Vec<u64>; CLOCKS]>);

impl<R: Read> NativeReader<R> {
    /// The rows of the chunk that were not read yet; reads the next chunk if there are none. `None` at the
    /// end.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub(crate) fn chunk_rows(&mut self) -> Result<Option<Range<usize>>, LogError> {
        while self.row >= self.rows {
            if !self.next_chunk()? {
                self.rows = 0;
                return Ok(None);
            }
        }
        Ok(Some(self.row..self.rows))
    }

    /// The time of a row of the chunk, and its minutes for the local time.
    pub(crate) fn row_time(&self, row: usize) -> (FileTime, i32) {
        let minutes = super::series::unzigzag(self.minutes.at(row));
        (FileTime(self.times.at(row)), i32::try_from(minutes).unwrap_or_default())
    }

    /// The clocks of the objects in the chunk.
    pub(crate) fn chunk_clocks(&self) -> ChunkClocks {
        let start = |clock: usize| match clock {
            1..=3 => vec![0; self.rows],
            _ => (0..self.rows).map(|row| self.times.at(row)).collect(),
        };
        // The clocks of an object follow those of the object of the same host before it.
        let mut of_hosts: Vec<[Vec<u64>; CLOCKS]> =
            (0..self.hosts.len()).map(|_| std::array::from_fn(start)).collect();
        let clocks = self.tables.iter().map(|table| {
            let Some(before) = of_hosts.get_mut(table.host) else { return std::array::from_fn(start) };
            table.add_clocks(before);
            before.clone()
        });
        ChunkClocks(clocks.collect())
    }

    /// Gives the columns that the chunk has. The others are not given: their instances do not exist in any of
    /// its rows.
    ///
    /// # Errors
    ///
    /// Those of `each`.
    pub(crate) fn each_column<E>(
        &self,
        clocks: &ChunkClocks,
        mut each: impl FnMut(ColumnRows<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (number, (table, clocks)) in self.tables.iter().zip(&clocks.0).enumerate() {
            table.each_column(self.rows, clocks, |cell, column| {
                // An instance that came back has its columns twice; the later ones count.
                let place = self.places.get(column.column).copied().flatten();
                if place == Some((number, cell)) && !column.is_gone() { each(column) } else { Ok(()) }
            })?;
        }
        Ok(())
    }

    /// Goes behind the last row of the chunk.
    pub(crate) fn pass_chunk(&mut self) {
        let passed = self.rows.saturating_sub(self.row);
        if let Some(last) = self.rows.checked_sub(1) {
            self.seek_to(last);
            self.count.newest = Some(FileTime(self.times.at(last)));
        }
        self.row = self.rows;
        self.about.records = self.about.records.saturating_add(passed as u64);
    }
}
