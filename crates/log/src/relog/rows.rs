//! Reads the rows of an input for its copy: on a thread of its own, so that the rows before are written
//! meanwhile.
//!
//! The rows come in their order, so the output has the same bytes as without the thread. Few rows are in
//! memory at a time, and their memory is used again and again: memory that one thread takes and another one
//! gives back costs more than the rows do.

use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, available_parallelism};

use tallymon_core::flow::{Cell, NoValue, Value};
use tallymon_core::time::FileTime;

use super::Options;
use super::plan::Chosen;
use crate::clock::TimeRange;
use crate::error::{LogError, Notes};
use crate::open::open;
use crate::options::ReadOptions;
use crate::reader::Cooker;

/// So many cells are given to the writer at once, or one row.
const CELLS: usize = 1 << 11;
/// How many batches wait for the writer.
const WAITING: usize = 2;
/// A shorter file is copied before a thread has begun.
const SHORT: u64 = 1 << 18;

/// Which rows are read.
pub(super) struct RowSource<'p> {
    pub(super) chosen: &'p [Chosen],
    pub(super) range: TimeRange,
    pub(super) options: &'p Options,
    pub(super) with_values: bool,
}

/// Takes a row; `false` ends reading.
type TakeRow<'t> = &'t mut dyn FnMut(FileTime, i32, &mut Vec<Cell>) -> bool;

/// Writes a row.
type WriteRow<'w> = &'w mut dyn FnMut(FileTime, i32, &[Cell]) -> Result<(), LogError>;

/// What is known of an input when it was read: its faults, and its records.
pub(super) type ReadInput = (Notes, u64);

/// Some rows on their way to the writer.
#[derive(Default)]
struct Batch {
    rows: Vec<HeldRow>,
    /// How many of them are rows; the others are memory.
    used: usize,
    cells: usize,
}

#[derive(Default)]
struct HeldRow {
    time: FileTime,
    local_minutes: i32,
    cells: Vec<Cell>,
}

impl Batch {
    /// Takes a row, and gives other memory for the next one.
    fn push(&mut self, time: FileTime, local_minutes: i32, cells: &mut Vec<Cell>) {
        if self.used == self.rows.len() {
            self.rows.push(HeldRow::default());
        }
        if let Some(row) = self.rows.get_mut(self.used) {
            self.cells = self.cells.saturating_add(cells.len().max(1));
            (row.time, row.local_minutes) = (time, local_minutes);
            std::mem::swap(&mut row.cells, cells);
            self.used = self.used.saturating_add(1);
        }
    }

    fn is_full(&self) -> bool {
        self.cells >= CELLS
    }

    fn clear(&mut self) {
        (self.used, self.cells) = (0, 0);
    }
}

impl RowSource<'_> {
    /// Reads the rows of an input, ahead of `write` if there is a processor for that.
    pub(super) fn copy(
        &self,
        nth: usize,
        path: &Path,
        mut write: impl FnMut(FileTime, i32, &[Cell]) -> Result<(), LogError>,
    ) -> Result<ReadInput, LogError> {
        let is_long = crate::file::is_address(path)
            || std::fs::metadata(path).is_ok_and(|data| data.is_dir() || data.len() > SHORT);
        if is_long && available_parallelism().map_or(1, NonZero::get) > 1 {
            return self.copy_ahead(nth, path, &mut write);
        }
        self.copy_here(nth, path, &mut write)
    }

    fn copy_here(&self, nth: usize, path: &Path, write: WriteRow<'_>) -> Result<ReadInput, LogError> {
        let mut failed = None;
        let read = self.read(nth, path, &mut |time, local_minutes, cells| {
            failed = write(time, local_minutes, cells).err();
            failed.is_none()
        });
        match failed {
            Some(error) => Err(error),
            None => read,
        }
    }

    fn copy_ahead(&self, nth: usize, path: &Path, write: WriteRow<'_>) -> Result<ReadInput, LogError> {
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel::<Batch>(WAITING);
            // Never full: there are no more batches than wait, are written, or are filled.
            let (give_back, back) = sync_channel::<Batch>(WAITING.saturating_add(2));
            let job = move || {
                let mut batch = Batch::default();
                let read = self.read(nth, path, &mut |time, local_minutes, cells| {
                    batch.push(time, local_minutes, cells);
                    if !batch.is_full() {
                        return true;
                    }
                    let mut free = back.try_recv().unwrap_or_default();
                    free.clear();
                    // It fails when writing has failed.
                    send.send(std::mem::replace(&mut batch, free)).is_ok()
                });
                let _ = send.send(batch);
                read
            };
            let Ok(reader) = Builder::new().name("relog".to_owned()).spawn_scoped(scope, job) else {
                return self.copy_here(nth, path, write);
            };
            for mut batch in receive {
                for row in batch.rows.iter_mut().take(batch.used) {
                    write(row.time, row.local_minutes, &row.cells)?;
                }
                let _ = give_back.try_send(batch);
            }
            reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Reads the chosen columns of the records in the range.
    fn read(&self, nth: usize, path: &Path, take: TakeRow<'_>) -> Result<ReadInput, LogError> {
        let RowSource { chosen, range, options, with_values } = *self;
        let read = ReadOptions { needed: options.select.clone(), ..options.read.clone() };
        let sources: Vec<Option<usize>> = chosen.iter().map(|chosen| chosen.source(nth)).collect();
        let is_text = |at: &usize| chosen.get(*at).is_some_and(|chosen| chosen.column.counter_type.is_text());
        let texts: Vec<usize> = (0..chosen.len()).filter(is_text).collect();
        let mut log = open(path, &read)?;
        let mut cells = Vec::new();
        let mut in_range = 0u32;
        // Rates start again with each input.
        let mut cooker = Cooker::capped(options.read.cap);
        while let Some(record) = log.next_record().map_err(|error| error.in_file(path))? {
            if !range.has(record.time) {
                continue;
            }
            let keep = in_range == 0;
            in_range = in_range.saturating_add(1) % options.every;
            if !keep {
                continue;
            }
            let raw = sources.iter().map(|source| {
                let cell = source.and_then(|source| record.cells.get(source));
                cell.copied().unwrap_or(Err(NoValue::NoInstance))
            });
            cooker.fill(raw, &mut cells, with_values);
            for (source, cell) in sources.iter().zip(&mut cells) {
                cell.stale = source.is_some_and(|source| log.is_stale(source));
                cell.partial = source.and_then(|source| log.partial(source));
            }
            for at in &texts {
                let source = sources.get(*at).copied().flatten();
                if let Some((cell, text)) = cells.get_mut(*at).zip(source.and_then(|at| log.text(at))) {
                    cell.value = Ok(Value::Text(text.to_owned()));
                }
            }
            let local_minutes = if options.utc { 0 } else { record.local_minutes };
            if !take(record.time, local_minutes, &mut cells) {
                break;
            }
        }
        // Some faults show only in values.
        let about = log.about();
        Ok((about.notes.clone(), about.records))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::plan::Plan;
    use super::*;

    /// A PDH-CSV with numbers, blanks and texts.
    fn log(name: &str, rows: u32) -> PathBuf {
        let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned();
        for column in ["Memory\\Available Bytes", "System\\Threads", "System\\Words"] {
            text.push_str(&format!(",\"\\\\vm\\{column}\""));
        }
        text.push_str("\r\n");
        for row in 0..rows {
            let (minute, second) = (row / 60 % 60, row % 60);
            let number = if row % 7 == 3 { " ".to_owned() } else { row.to_string() };
            let hour = row / 3600;
            let time = format!("11/26/2016 {hour:02}:{minute:02}:{second:02}.000");
            text.push_str(&format!("\"{time}\",\"{number}\",\"{row}\",\"word {row}\"\r\n"));
        }
        let path = std::env::temp_dir().join(format!("tallymon-rows-{name}-{}.csv", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn rows_that_are_read_ahead_are_the_same_rows() {
        // One batch, several, and more than wait.
        for rows in [3, 2000, 20_000] {
            let path = log(&format!("same-{rows}"), rows);
            for options in
                [Options::default(), Options { every: NonZero::new(3).unwrap(), ..Options::default() }]
            {
                let plan = Plan::new(std::slice::from_ref(&path), &options).unwrap();
                let source = plan.source(&options, true);
                let texts = |ahead: bool| {
                    let mut texts = Vec::new();
                    let mut write = |time: FileTime, minutes: i32, cells: &[Cell]| {
                        texts.push(format!("{time:?} {minutes} {cells:?}"));
                        Ok(())
                    };
                    let read = match ahead {
                        true => source.copy_ahead(0, &path, &mut write),
                        false => source.copy_here(0, &path, &mut write),
                    };
                    (read.unwrap(), texts)
                };
                let here = texts(false);
                assert_eq!(here, texts(true));
                assert_eq!(here.1.len() as u32, rows.div_ceil(options.every.get()));
            }
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_writer_that_fails_ends_reading() {
        let path = log("fails", 20_000);
        let options = Options::default();
        let plan = Plan::new(std::slice::from_ref(&path), &options).unwrap();
        let source = plan.source(&options, true);
        for ahead in [true, false] {
            let mut written = 0;
            let mut write = |_: FileTime, _: i32, _: &[Cell]| {
                written += 1;
                match written {
                    1500 => Err(LogError::from(std::io::Error::other("no room"))),
                    _ => Ok(()),
                }
            };
            let read = match ahead {
                true => source.copy_ahead(0, &path, &mut write),
                false => source.copy_here(0, &path, &mut write),
            };
            assert!(read.unwrap_err().to_string().contains("no room"));
            assert_eq!(written, 1500);
        }
        std::fs::remove_file(path).unwrap();
        let gone = source.copy_ahead(0, Path::new("/no/such.csv"), &mut |_, _, _| Ok(()));
        assert!(gone.unwrap_err().to_string().contains("such.csv"));
    }
}
