//! Reads a log on a thread of its own, some records ahead of who takes them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, available_parallelism};

use tallymon_log::{Column, LogError, LogReader, Record};

/// How many cells are passed on together at least; a record is never divided.
const CELLS: usize = 4096;
/// How many such parts are read ahead.
const PARTS: usize = 3;

/// Records that were read.
#[derive(Default)]
struct Part {
    /// Each with the number of columns that were known then.
    records: Vec<(Record, usize)>,
    /// Columns that are new.
    columns: Vec<Column>,
}

/// Gives `each` every record with the columns that are known by then, until it says that it is enough.
///
/// # Errors
///
/// As [`LogReader::next_record`].
pub(super) fn read(
    log: &mut dyn LogReader,
    each: &mut dyn FnMut(&mut Record, &[Column]) -> bool,
) -> Result<(), LogError> {
    if available_parallelism().is_ok_and(|threads| threads.get() > 1) {
        return on_two_threads(log, each);
    }
    read_here(log, each)
}

fn read_here(
    log: &mut dyn LogReader,
    each: &mut dyn FnMut(&mut Record, &[Column]) -> bool,
) -> Result<(), LogError> {
    while let Some(mut record) = log.next_record()? {
        if !each(&mut record, &log.about().columns) {
            break;
        }
        log.reuse(record);
    }
    Ok(())
}

fn on_two_threads(
    log: &mut dyn LogReader,
    each: &mut dyn FnMut(&mut Record, &[Column]) -> bool,
) -> Result<(), LogError> {
    std::thread::scope(|scope| {
        // The log follows when the thread is there.
        let (give, given) = sync_channel::<&mut dyn LogReader>(1);
        let (full, parts) = sync_channel(PARTS);
        let (back, empty) = sync_channel(PARTS.saturating_add(2));
        let job = move || {
            if let Ok(log) = given.recv() {
                read_ahead(log, &full, &empty);
            }
        };
        if Builder::new().name("log".to_owned()).spawn_scoped(scope, job).is_err() {
            return read_here(log, each);
        }
        let _ = give.send(log);
        let mut columns = Vec::new();
        // Without a receiver the thread ends.
        for part in parts {
            let Part { mut records, columns: new } = part?;
            columns.extend(new);
            for (record, known) in &mut records {
                if !each(record, columns.get(..*known).unwrap_or(&columns)) {
                    return Ok(());
                }
            }
            // The memory is used again.
            let _ = back.try_send(records);
        }
        Ok(())
    })
}

/// Reads until the end of the log, or until nobody takes its records any more.
fn read_ahead(
    log: &mut dyn LogReader,
    full: &SyncSender<Result<Part, LogError>>,
    empty: &Receiver<Vec<(Record, usize)>>,
) {
    let mut known = 0_usize;
    let mut used: Vec<(Record, usize)> = Vec::new();
    loop {
        let mut part = Part::default();
        if let Ok(more) = empty.try_recv() {
            used = more;
        }
        let mut cells = 0_usize;
        let mut end = None;
        while cells < CELLS && end.is_none() {
            if let Some((record, _)) = used.pop() {
                log.reuse(record);
            }
            match log.next_record() {
                Ok(Some(record)) => {
                    cells = cells.saturating_add(record.cells.len().max(1));
                    part.records.push((record, log.about().columns.len()));
                }
                Ok(None) => end = Some(Ok(())),
                Err(error) => end = Some(Err(error)),
            }
        }
        let columns = &log.about().columns;
        part.columns = columns.get(known..).unwrap_or_default().to_vec();
        known = columns.len();
        if full.send(Ok(part)).is_err() {
            return;
        }
        match end {
            None => {}
            Some(Ok(())) => return,
            Some(Err(error)) => {
                let _ = full.send(Err(error));
                return;
            }
        }
    }
}
