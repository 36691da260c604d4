//! Computes the numbers of many counters on all processors.
//!
//! One thread reads records. Each worker has some of the counters, and sees all records in their order. So
//! the numbers are the same to the last bit, however many workers there are.

use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle, available_parallelism};

use tallymon_core::flow::{NoValue, Sample};
use tallymon_core::time::FileTime;

use super::ColumnStats;
use super::accumulator::Accumulator;
use super::part::Part;
use crate::quantile::Ranges;
use crate::reader::{Column, Record, value_of};

/// A worker gets so many cells at once, or those of one record: they fit into the memory near a processor.
const CELLS: usize = 1 << 12;
/// How many batches wait for a worker: memory holds these, whatever the length of the log.
const WAITING: usize = 2;
/// No log is read so fast that more workers have work.
const MOST: usize = 16;

/// What a worker gets.
enum Work {
    /// Another log begins: columns have other positions.
    Log,
    /// The next column belongs to a counter of this worker, which may be new.
    Column { counter: usize, new: Option<Box<Accumulator>> },
    /// The next records.
    Records(Batch),
    /// Another part of the log begins.
    EndPart,
    /// The numbers of a whole part, of each column in order.
    Part(Vec<CountedPart>),
}

/// The numbers of a counter in a part of a log, and how many of them are in which range.
pub(crate) type CountedPart = (Part, Ranges);

/// The cells of the columns of one worker in some records. Its memory is used again and again: memory that
/// one thread takes and another one gives back costs more than the numbers do.
#[derive(Debug, Default)]
struct Batch {
    times: Vec<FileTime>,
    /// Those of the first record, then those of the second.
    cells: Vec<Result<Sample, NoValue>>,
}

impl Batch {
    fn clear(&mut self) {
        self.times.clear();
        self.cells.clear();
    }
}

/// A counter, and its numbers.
pub(super) type Finished = (Column, ColumnStats);

/// Some of the counters.
struct Share {
    cap: bool,
    counters: Vec<Accumulator>,
    columns: Vec<PlacedCounter>,
}

/// A counter in the log that is being read.
struct PlacedCounter {
    /// Its number among the counters of the share.
    counter: usize,
    /// Its sample in the record before.
    older: Option<Sample>,
}

impl Share {
    fn new(cap: bool) -> Share {
        Share { cap, counters: Vec::new(), columns: Vec::new() }
    }

    fn finish(self) -> Vec<Finished> {
        self.counters.into_iter().map(|counter| (counter.column.clone(), counter.finish())).collect()
    }

    /// Does some work; returns the memory of a batch.
    fn take(&mut self, work: Work) -> Option<Batch> {
        match work {
            Work::Log => {
                self.columns.clear();
                self.counters.iter_mut().for_each(Accumulator::begin_log);
                None
            }
            Work::Column { counter, new } => {
                self.counters.extend(new.map(|new| *new));
                self.columns.push(PlacedCounter { counter, older: None });
                None
            }
            Work::Records(batch) => {
                self.records(&batch);
                Some(batch)
            }
            Work::EndPart => {
                self.counters.iter_mut().for_each(Accumulator::end_part);
                None
            }
            Work::Part(parts) => {
                for (PlacedCounter { counter, older }, (part, ranges)) in self.columns.iter_mut().zip(&parts)
                {
                    if let Some(counter) = self.counters.get_mut(*counter) {
                        *older = counter.add_part(part, ranges);
                    }
                }
                None
            }
        }
    }

    fn records(&mut self, batch: &Batch) {
        let width = self.columns.len().max(1);
        for (nth, PlacedCounter { counter, older }) in self.columns.iter_mut().enumerate() {
            let Some(counter) = self.counters.get_mut(*counter) else { continue };
            let cells = batch.cells.iter().skip(nth).step_by(width);
            for (time, cell) in batch.times.iter().zip(cells) {
                let value = match cell {
                    Ok(sample) => value_of(older.as_ref(), sample, self.cap),
                    Err(reason) => Err(*reason),
                };
                *older = cell.ok();
                counter.add(*time, cell, &value);
            }
        }
    }
}

/// A share, and what waits for it.
struct Worker<'scope> {
    place: Place<'scope>,
    /// The positions of its columns in the log.
    positions: Vec<usize>,
    batch: Batch,
}

/// Where a share is.
enum Place<'scope> {
    Here(Share),
    Thread(SyncSender<Work>, Receiver<Batch>, ScopedJoinHandle<'scope, Vec<Finished>>),
}

impl Worker<'_> {
    fn take(&mut self, work: Work) {
        match &mut self.place {
            Place::Here(share) => {
                if let Some(mut batch) = share.take(work) {
                    batch.clear();
                    self.batch = batch;
                }
            }
            // It only fails when the worker has panicked, which `finish` passes on.
            Place::Thread(sender, ..) => drop(sender.send(work)),
        }
    }

    fn add(&mut self, record: &Record) {
        if self.positions.is_empty() {
            return;
        }
        self.batch.times.push(record.time);
        // A column that the record does not have has no instance.
        let cell = |at: &usize| record.cells.get(*at).copied().unwrap_or(Err(NoValue::NoInstance));
        self.batch.cells.extend(self.positions.iter().map(cell));
    }

    fn flush(&mut self) {
        if self.batch.times.is_empty() {
            return;
        }
        let free = match &self.place {
            Place::Here(_) => None,
            Place::Thread(_, back, _) => back.try_recv().ok(),
        };
        let mut free = free.unwrap_or_default();
        free.clear();
        let batch = std::mem::replace(&mut self.batch, free);
        self.take(Work::Records(batch));
    }
}

/// All counters, and the threads that add up their numbers.
pub(super) struct Workers<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    workers: Vec<Worker<'scope>>,
    /// How many counters all workers have.
    counters: usize,
    are_started: bool,
}

impl<'scope, 'env> Workers<'scope, 'env> {
    /// One worker for each processor. Threads start when there is enough to do.
    pub(super) fn new(scope: &'scope Scope<'scope, 'env>, cap: bool) -> Workers<'scope, 'env> {
        Workers::of(scope, cap, available_parallelism().map_or(1, NonZero::get))
    }

    fn of(scope: &'scope Scope<'scope, 'env>, cap: bool, workers: usize) -> Workers<'scope, 'env> {
        let worker = |_| Worker {
            place: Place::Here(Share::new(cap)),
            positions: Vec::new(),
            batch: Batch::default(),
        };
        let workers = (0..workers.clamp(1, MOST)).map(worker).collect();
        Workers { scope, workers, counters: 0, are_started: false }
    }

    /// Another log begins. The next samples may come from after a restart of the machine.
    pub(super) fn begin_log(&mut self) {
        for worker in &mut self.workers {
            worker.flush();
            worker.positions.clear();
            worker.take(Work::Log);
        }
    }

    /// The next record is the first one of another part of the log.
    pub(super) fn end_part(&mut self) {
        for worker in &mut self.workers {
            worker.flush();
            worker.take(Work::EndPart);
        }
    }

    /// Takes the numbers of a whole part of the log, by the positions of columns.
    pub(super) fn part(&mut self, part_of: &mut dyn FnMut(usize) -> Option<CountedPart>) {
        for worker in &mut self.workers {
            worker.flush();
            let nothing = || (Part::new(), Ranges::default());
            let parts = worker.positions.iter().map(|at| part_of(*at).unwrap_or_else(nothing)).collect();
            worker.take(Work::Part(parts));
        }
    }

    /// Adds a counter, and returns its number.
    pub(super) fn add(&mut self, position: usize, counter: Accumulator) -> usize {
        let number = self.counters;
        self.counters = number.saturating_add(1);
        self.place(position, number, Some(Box::new(counter)));
        number
    }

    /// A counter has a column of this log too.
    pub(super) fn find(&mut self, position: usize, number: usize) {
        self.place(position, number, None);
    }

    fn place(&mut self, position: usize, number: usize, new: Option<Box<Accumulator>>) {
        let all = self.workers.len();
        let (Some(worker), Some(counter)) = (number.checked_rem(all), number.checked_div(all)) else {
            return;
        };
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.flush();
            worker.positions.push(position);
            worker.take(Work::Column { counter, new });
        }
    }

    /// Takes the next record of the log.
    pub(super) fn record(&mut self, record: &Record) {
        for worker in &mut self.workers {
            worker.add(record);
        }
        if self.workers.iter().any(|worker| worker.batch.cells.len() >= CELLS) {
            self.start();
            for worker in self.workers.iter_mut().filter(|worker| worker.batch.cells.len() >= CELLS) {
                worker.flush();
            }
        }
    }

    /// Moves the shares to threads. Those for which there is no thread stay here.
    fn start(&mut self) {
        if self.are_started || self.workers.len() == 1 {
            return;
        }
        self.are_started = true;
        for worker in &mut self.workers {
            let (sender, receiver) = sync_channel(WAITING);
            // Never full: there are no more batches than wait, are worked on, or are filled.
            let (give_back, back) = sync_channel(WAITING.saturating_add(2));
            // The share follows when the thread is there.
            let (give, given) = sync_channel(1);
            let job = move || work(&given, &receiver, &give_back);
            let Ok(thread) = Builder::new().name("stats".to_owned()).spawn_scoped(self.scope, job) else {
                continue;
            };
            let before = std::mem::replace(&mut worker.place, Place::Thread(sender, back, thread));
            if let Place::Here(share) = before {
                let _ = give.send(share);
            }
        }
    }

    /// The counters, in the order in which they were added.
    pub(super) fn finish(mut self) -> Vec<Finished> {
        self.workers.iter_mut().for_each(Worker::flush);
        let share = |worker: Worker<'_>| match worker.place {
            Place::Here(share) => share.finish(),
            Place::Thread(sender, back, thread) => {
                drop((sender, back));
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        };
        let mut shares: Vec<_> = self.workers.into_iter().map(|worker| share(worker).into_iter()).collect();
        let mut all = Vec::with_capacity(self.counters);
        while all.len() < self.counters {
            let before = all.len();
            all.extend(shares.iter_mut().filter_map(Iterator::next));
            if all.len() == before {
                break;
            }
        }
        all
    }
}

/// Takes all work of a share, and gives the memory of batches back.
fn work(given: &Receiver<Share>, receiver: &Receiver<Work>, back: &SyncSender<Batch>) -> Vec<Finished> {
    let mut share = given.recv().unwrap_or(Share::new(false));
    for work in receiver {
        if let Some(batch) = share.take(work) {
            // Without a taker, its memory is free.
            let _ = back.try_send(batch);
        }
    }
    share.finish()
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "small numbers of a test")]
mod tests {
    use tallymon_core::counter::CounterType;
    use tallymon_core::time::Frequency;

    use super::*;

    /// Two logs of rates, with columns that appear late, values that are missing, and a reset.
    fn stats_of(workers: usize, records: u64, columns: usize) -> Vec<ColumnStats> {
        let (counter_type, frequency) = (CounterType::PERF_COUNTER_BULK_COUNT, Frequency(10_000_000));
        std::thread::scope(|scope| {
            let mut workers = Workers::of(scope, false, workers);
            for log in 0..2u64 {
                workers.begin_log();
                let mut known = 0;
                for second in 0..records {
                    let width = if second < 20 { columns / 2 } else { columns };
                    for position in known..width {
                        match log {
                            0 => {
                                let column = Column {
                                    path: format!("\\Object\\{position}"),
                                    parts: None,
                                    counter_type,
                                    scale: 0,
                                    time_base: frequency,
                                    group: 0,
                                    wild: false,
                                    live: None,
                                };
                                assert_eq!(workers.add(position, Accumulator::new(&column, 64)), position);
                            }
                            // In the other order.
                            _ => workers.find(position, columns - 1 - position),
                        }
                    }
                    known = known.max(width);
                    let time = FileTime((log * 1_000_000 + second) * 10_000_000);
                    let cell = |column: usize| {
                        let noise = (second * 2_654_435_761 + column as u64 * 40_503) % 1009;
                        if noise.is_multiple_of(97) {
                            return Err(NoValue::NoInstance);
                        }
                        let first = (second % 50) * 1000 + noise;
                        Ok(Sample { counter_type, first, second: time.0, frequency, multi_count: 1, time })
                    };
                    let cells = (0..width).map(cell).collect();
                    workers.record(&Record { time, local_minutes: 0, cells });
                }
            }
            workers.finish().into_iter().map(|(_, stats)| stats).collect()
        })
    }

    #[test]
    fn numbers_do_not_depend_on_the_number_of_workers() {
        // One batch only, several, and a record that is larger than one.
        let more: &[usize] = &[2, 3, 7, 1000];
        for (records, columns, more) in [(30, 4, more), (1500, 20, more), (25, CELLS, &[3])] {
            let alone = stats_of(1, records, columns);
            assert_eq!(alone.len(), columns);
            assert!(alone.iter().all(|column| column.summary.is_ok_and(|summary| summary.count > 5)));
            for &workers in more {
                assert_eq!(
                    stats_of(workers, records, columns),
                    alone,
                    "{workers} workers, {records} records"
                );
            }
        }
    }
}
