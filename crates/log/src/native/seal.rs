//! Rewrites a recording as a complete log: with longer chunks, and an index at its end.

use std::io::Read;
use std::path::Path;

use super::output::{Output, WriteOptions};
use super::read::NativeReader;
use super::write::{NativeWriter, RowTime};
use crate::error::{LogError, Notes};
use crate::new_file::{NewFile, Overwrite};
use crate::reader::LogReader;

/// Rewrites a log under its own name. The new log replaces the old one when it is complete. Damage is
/// reported and left out, so copy a log with a non-empty list of faults first.
///
/// # Errors
///
/// The file cannot be read, or no file can be written beside it.
pub fn seal(path: &Path) -> Result<Notes, LogError> {
    let mut reader = NativeReader::open(path)?;
    let about = reader.about();
    let writer = about.writer.clone().unwrap_or_else(|| WriteOptions::PROGRAM.to_owned());
    let options = WriteOptions { zone: about.zone.clone(), writer, ..WriteOptions::sealed() };
    let write = move || -> Result<Notes, LogError> {
        let new = NewFile::create(path, Overwrite::Continue)?;
        let mut writer = NativeWriter::new(new.file()?, options)?;
        copy(&mut reader, &mut writer)?;
        writer.seal()?;
        let notes = reader.about().notes.clone();
        // Windows replaces no file that is still open.
        drop(reader);
        new.keep()?;
        Ok(notes)
    };
    write().map_err(|error| error.in_file(path))
}

/// Copies the remaining rows, with their windows, texts and states.
fn copy<R: Read + Send, W: Output>(
    reader: &mut NativeReader<R>,
    writer: &mut NativeWriter<W>,
) -> Result<(), LogError> {
    while let Some(record) = reader.next_record()? {
        writer.row(RowTime { time: record.time, local_minutes: record.local_minutes })?;
        for table in reader.sampled() {
            let id = writer.table(&table.definition)?;
            let [.., begin, end] = table.now;
            writer.window(id, tallymon_core::time::FileTime(begin), tallymon_core::time::FileTime(end));
            for placed in table.instances() {
                let columns = table.columns_of(placed);
                let gone = |column: usize| {
                    matches!(
                        record.cells.get(column),
                        None | Some(Err(tallymon_core::flow::NoValue::NoInstance))
                    )
                };
                // An instance that is gone is not made again.
                if columns.clone().all(|(_, column)| gone(column)) {
                    continue;
                }
                let instance = writer.instance_with(id, placed.instance.clone(), placed.nth)?;
                for (nth, (cell, column)) in columns.enumerate() {
                    match (reader.text(column), record.cells.get(column)) {
                        (Some(text), _) => writer.put_text(instance, nth, text),
                        (None, Some(value)) => writer.put(instance, nth, *value, table.state(cell)),
                        (None, None) => {}
                    }
                }
            }
        }
    }
    Ok(())
}
