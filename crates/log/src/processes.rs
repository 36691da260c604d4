//! Logs in which the instances of processes have their process ids in their names.
//!
//! Windows names the second process of a name `name#1`. When the first one ends, the second one becomes
//! `name`, and its values go on in the column of the first. A log that has the counter ID Process too says
//! when that happens, so that each process gets columns of its own.

use std::collections::{HashMap, HashSet};

use tallymon_core::counter::compute;
use tallymon_core::flow::{NoValue, PartialSum, Sample};
use tallymon_core::path::{CounterPath, InstancePath, Part};

use crate::error::LogError;
use crate::reader::{About, Column, Contents, LogPlace, LogReader, PartStatistics, Record, RecordPosition};

/// The counter that says which process an instance is.
const ID_PROCESS: &str = "ID Process";
/// The object whose instances are processes.
const OBJECT: &str = "Process";

/// A name with a process id, as Performance Monitor's `ProcessNameFormat` 2 has it.
pub fn with_process_id(name: &str, id: u64) -> String {
    format!("{name}_{id}")
}

/// Which instances get a name with the process id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessNames {
    /// All.
    Always,
    /// Those that have the name of another process before them.
    OnChange,
}

/// Reads another log, and gives each process columns of its own.
pub(crate) struct ByProcess<'r> {
    inner: Box<dyn LogReader + 'r>,
    names: ProcessNames,
    about: About,
    /// The instances of processes in the other log.
    slots: Vec<Slot>,
    slot_of: HashMap<Instance, usize>,
    /// Columns of the other log that were looked at.
    columns: usize,
    /// For each column of the other log: its column now, if it has one.
    places: Vec<Option<usize>>,
    /// For each column: its column in the other log, in the last record.
    sources: Vec<Option<usize>>,
    /// The columns of processes by their paths.
    by_path: HashMap<String, usize>,
    /// How each process is named: the instance that it was first, or a name with its process id.
    labels: HashMap<(Option<String>, String, u64), InstancePath>,
    /// Which process had the name of an instance first.
    owners: HashMap<Instance, u64>,
}

/// An instance: its host, and its name with its number.
type Instance = (Option<String>, String);

/// An instance that is one process after another.
struct Slot {
    instance: Instance,
    /// The column with the process id, if the log has it.
    id_column: Option<usize>,
    /// The columns of the instance.
    columns: Vec<usize>,
    /// The process that it is.
    id: Option<u64>,
    /// Whether the last record has it.
    lives: bool,
    /// Its columns that have a place for this process.
    placed: usize,
}

impl<'r> ByProcess<'r> {
    pub(crate) fn new(inner: Box<dyn LogReader + 'r>, names: ProcessNames) -> ByProcess<'r> {
        let about = About { columns: Vec::new(), value_bits: Vec::new(), ..inner.about().clone() };
        let mut log = ByProcess {
            inner,
            names,
            about,
            slots: Vec::new(),
            slot_of: HashMap::new(),
            columns: 0,
            places: Vec::new(),
            sources: Vec::new(),
            by_path: HashMap::new(),
            labels: HashMap::new(),
            owners: HashMap::new(),
        };
        log.follow();
        log
    }

    /// Takes the columns that the other log has by now.
    fn follow(&mut self) {
        let columns = &self.inner.about().columns;
        for (at, column) in columns.iter().enumerate().skip(self.columns) {
            let Some(instance) = process_of(column) else {
                self.places.push(Some(self.about.columns.len()));
                self.sources.push(None);
                self.about.columns.push(column.clone());
                continue;
            };
            // The column appears with the first process that it is of.
            self.places.push(None);
            let slots = &mut self.slots;
            let nth = *self.slot_of.entry(instance.clone()).or_insert_with(|| {
                slots.push(Slot {
                    instance,
                    id_column: None,
                    columns: Vec::new(),
                    id: None,
                    lives: false,
                    placed: 0,
                });
                slots.len().saturating_sub(1)
            });
            let Some(slot) = self.slots.get_mut(nth) else { continue };
            slot.columns.push(at);
            let is_id = column.parts.as_ref().is_some_and(|parts| is_named(&parts.counter, ID_PROCESS));
            if slot.id_column.is_none() && is_id {
                slot.id_column = Some(at);
            }
        }
        self.columns = columns.len();
        // A text log finds out later which columns hold texts.
        for (place, column) in self.places.iter().zip(columns) {
            if let Some(own) = place.and_then(|place| self.about.columns.get_mut(place)) {
                own.counter_type = column.counter_type;
            }
        }
    }

    /// Finds which process each instance is in a record, and places its columns.
    fn choose(&mut self, record: &Record) {
        let mut slots = std::mem::take(&mut self.slots);
        for slot in &mut slots {
            // A text log has blanks for an instance that does not exist.
            let lives = |at: &usize| record.cells.get(*at).is_some_and(Result::is_ok);
            slot.lives = slot.id_column.is_none() || slot.columns.iter().any(lives);
            if !slot.lives {
                continue;
            }
            let sample = slot.id_column.and_then(|at| record.cells.get(at)).and_then(|cell| cell.ok());
            // Without a number now it is taken for the process before. `_Total` and Idle have the number 0.
            let id = sample.map(|sample| process_id(&sample)).or(slot.id).unwrap_or(0);
            if slot.id == Some(id) && slot.placed == slot.columns.len() {
                continue;
            }
            (slot.id, slot.placed) = (Some(id), slot.columns.len());
            for at in &slot.columns {
                let place = self.place(*at, &slot.instance, id);
                if let Some(known) = self.places.get_mut(*at) {
                    *known = place;
                }
            }
        }
        self.slots = slots;
    }

    /// The column of a column of the other log, while it is of a process.
    fn place(&mut self, at: usize, slot: &Instance, id: u64) -> Option<usize> {
        let column = self.inner.about().columns.get(at)?;
        let parts = column.parts.as_ref()?;
        let own = parts.instance.as_ref()?;
        let label = if id == 0 {
            own.clone()
        } else {
            let key = (slot.0.clone(), own.text().to_owned(), id);
            self.labels
                .entry(key)
                .or_insert_with(|| {
                    let mut is_first = || *self.owners.entry(slot.clone()).or_insert(id) == id;
                    match self.names {
                        ProcessNames::OnChange if is_first() => own.clone(),
                        _ => InstancePath::new(None, &with_process_id(own.text(), id), 0),
                    }
                })
                .clone()
        };
        let parts = CounterPath { instance: Some(label), ..parts.clone() };
        let path = if parts.instance == column.parts.as_ref().and_then(|parts| parts.instance.clone()) {
            column.path.clone()
        } else {
            parts.to_string()
        };
        if let Some(place) = self.by_path.get(&path) {
            return Some(*place);
        }
        let place = self.about.columns.len();
        self.about.columns.push(Column { path: path.clone(), parts: Some(parts), ..column.clone() });
        self.sources.push(None);
        self.by_path.insert(path, place);
        Some(place)
    }

    /// The column of the other log that a column is in the last record.
    fn source(&self, column: usize) -> Option<usize> {
        if self.slots.is_empty() { Some(column) } else { self.sources.get(column).copied().flatten() }
    }

    /// Says at the end which instances kept a name that may be that of several processes.
    fn end(&mut self) {
        let unnamed = self.slots.iter().filter(|slot| slot.id_column.is_none());
        let numbered = unnamed.clone().any(|slot| slot.instance.1.contains('#'));
        let words = match (self.names, unnamed.count()) {
            (_, 0) => return,
            (ProcessNames::Always, count) => format!(
                "{count} instances of processes keep their names, because the log does not have their \
                 {ID_PROCESS}"
            ),
            (ProcessNames::OnChange, _) if numbered => format!(
                "names such as name#1 may be those of several processes, one after another: the log does not \
                 have their {ID_PROCESS}"
            ),
            (ProcessNames::OnChange, _) => return,
        };
        self.about.notes.remark(words);
    }
}

/// The host and the instance of a column, if the instance is a process.
fn process_of(column: &Column) -> Option<Instance> {
    let parts = column.parts.as_ref()?;
    let instance = parts.instance.as_ref()?;
    let host = parts.machine.as_ref().map(|host| host.to_lowercase());
    is_named(&parts.object, OBJECT).then(|| (host, instance.to_string()))
}

/// Whether a column is of a process.
pub(crate) fn is_process(column: &Column) -> bool {
    process_of(column).is_some()
}

fn is_named(part: &Part, wanted: &str) -> bool {
    matches!(part, Part::Name(name) if name.eq_ignore_ascii_case(wanted))
}

/// The process id in a sample of ID Process; 0 for what is none.
fn process_id(sample: &Sample) -> u64 {
    let number = compute(None, sample).ok().and_then(|value| value.as_f64()).unwrap_or(0.0);
    if number >= 1.0 && number <= f64::from(u32::MAX) { number as u64 } else { 0 }
}

impl LogReader for ByProcess<'_> {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        let record = self.inner.next_record()?;
        self.follow();
        let inner = self.inner.about();
        (self.about.records, self.about.records_promised) = (inner.records, inner.records_promised);
        if record.is_none() || self.about.notes.damage_count != inner.notes.damage_count {
            self.about.zone = inner.zone.clone();
            self.about.notes = inner.notes.clone();
        }
        let Some(record) = record else {
            self.end();
            return Ok(None);
        };
        if self.slots.is_empty() {
            // Each column has its own place.
            return Ok(Some(record));
        }
        self.choose(&record);
        self.sources.fill(None);
        let mut cells = vec![Err(NoValue::NoInstance); self.about.columns.len()];
        let mut is_gone = vec![false; record.cells.len()];
        for slot in self.slots.iter().filter(|slot| !slot.lives) {
            for at in &slot.columns {
                if let Some(is_gone) = is_gone.get_mut(*at) {
                    *is_gone = true;
                }
            }
        }
        for (at, ((cell, is_gone), place)) in record.cells.iter().zip(is_gone).zip(&self.places).enumerate() {
            // A process that ended does not hide the one that has its number by now.
            let Some(place) = place.filter(|_| !is_gone) else { continue };
            let (Some(own), Some(source)) = (cells.get_mut(place), self.sources.get_mut(place)) else {
                continue;
            };
            (*own, *source) = (*cell, Some(at));
        }
        Ok(Some(Record { cells, ..record }))
    }

    fn reuse(&mut self, record: Record) {
        self.inner.reuse(record);
    }

    fn text(&self, column: usize) -> Option<&str> {
        self.inner.text(self.source(column)?)
    }

    fn is_stale(&self, column: usize) -> bool {
        self.source(column).is_some_and(|at| self.inner.is_stale(at))
    }

    fn partial(&self, column: usize) -> Option<PartialSum> {
        self.inner.partial(self.source(column)?)
    }

    fn position(&self) -> Option<RecordPosition> {
        self.inner.position()
    }

    fn seek_to(&mut self, position: RecordPosition) -> Result<bool, LogError> {
        self.inner.seek_to(position)
    }

    fn contents(&mut self, take_columns: bool) -> Result<Option<Contents>, LogError> {
        let Some(contents) = self.inner.contents(false)? else { return Ok(None) };
        if !take_columns {
            return Ok(Some(contents));
        }
        // Which columns there are depends on the records, if there are processes.
        if contents.columns.iter().any(|column| process_of(column).is_some()) {
            return Ok(None);
        }
        self.inner.contents(true)?;
        self.follow();
        Ok(Some(contents))
    }

    fn places(&mut self, part: usize) -> Result<Vec<LogPlace>, LogError> {
        self.inner.places(part)
    }

    fn statistics(
        &mut self,
        part: usize,
        wanted: &[usize],
        only_counts: bool,
    ) -> Result<Option<PartStatistics>, LogError> {
        let of_processes: HashSet<usize> = self.slots.iter().flat_map(|slot| slot.columns.clone()).collect();
        let placed = self.places.iter().enumerate().filter(|(at, _)| !of_processes.contains(at));
        let sources: HashMap<usize, usize> = placed.filter_map(|(at, own)| Some(((*own)?, at))).collect();
        let inner: Option<Vec<usize>> = wanted.iter().map(|own| sources.get(own).copied()).collect();
        let Some(inner) = inner else { return Ok(None) };
        let Some(mut found) = self.inner.statistics(part, &inner, only_counts)? else { return Ok(None) };
        let numbers = |(at, own): (&usize, &usize)| found.columns.remove(at).map(|part| (*own, part));
        let columns = inner.iter().zip(wanted).filter_map(numbers).collect();
        Ok(Some(PartStatistics { columns }))
    }

    fn part(&self) -> u64 {
        self.inner.part()
    }
}
