//! Writes rows of samples into a BLG.

use std::io::{self, Seek, Write};
use std::sync::Arc;

use tallymon_core::flow::{Cell, Column, NoValue, Row, Sample, Sink};
use tallymon_core::path::CounterPath;

use super::records::{Data, Entry, LONGEST_TEXT, RawCounter, flags};
use super::write::{BlgWriter, WriteOptions};
use crate::zone::add_minutes;

/// Writes rows with raw samples into a BLG. Its columns are fixed.
#[derive(Debug)]
pub struct BlgSink<W: Write + Seek> {
    state: State<W>,
    /// Where the value of each entry of the counter list comes from.
    entries: Vec<EntryCells>,
    values: Vec<Data>,
    not_in_it: Vec<String>,
}

#[derive(Debug)]
enum State<W> {
    /// The counter list is not known yet.
    New(W, WriteOptions),
    Open(BlgWriter<W>),
    Finished,
}

/// The cells that one entry of the counter list is written from.
#[derive(Debug)]
enum EntryCells {
    /// A counter of one instance, or of an object without instances.
    Single(usize),
    /// A counter of the instances of a wildcard: positions of cells, and the names of the instances.
    Multi(Vec<(usize, Arc<str>)>),
}

impl<W: Write + Seek> BlgSink<W> {
    /// Nothing is written before the columns are known.
    pub const fn new(out: W, options: WriteOptions) -> BlgSink<W> {
        BlgSink {
            state: State::New(out, options),
            entries: Vec::new(),
            values: Vec::new(),
            not_in_it: Vec::new(),
        }
    }

    /// The columns that a BLG cannot hold, each with the reason: text that is not a counter path, and names
    /// that are longer than readers accept.
    pub fn left_out(&self) -> &[String] {
        &self.not_in_it
    }

    /// Adds a column to the counter list.
    fn add(&mut self, list: &mut Vec<Entry>, last: &mut Option<Counter>, position: usize, column: &Column) {
        let Column { parts: Some(parts), counter_type, scale, time_base, .. } = column else {
            self.not_in_it.push(format!("{:?} is not a counter path and cannot be in a BLG", column.path));
            return;
        };
        if is_too_long(parts) {
            let begin: String = column.path.chars().take(60).collect();
            let words = format!("has a name of more than {LONGEST_NAME} characters and cannot be in a BLG");
            self.not_in_it.push(format!("{begin:?}... {words}"));
            return;
        }
        // An instance without a name is one of a wildcard: alone it would look like an object without
        // instances.
        let is_wild = parts.instance.as_ref().is_some_and(|one| column.wild || one.text().is_empty());
        let counter = Counter::of(parts, column);
        // Instances of one wildcard follow each other in a table, and become one entry again.
        if is_wild
            && last.as_ref() == Some(&counter)
            && let Some(EntryCells::Multi(members)) = self.entries.last_mut()
        {
            members.push((position, instance_text(parts).into()));
            return;
        }
        let instance =
            if is_wild { Some("*".to_owned()) } else { parts.instance.as_ref().map(ToString::to_string) };
        list.push(Entry {
            flags: if is_wild { flags::EXPORTED | flags::WILDCARD } else { flags::EXPORTED },
            user: 0,
            counter_type: *counter_type,
            time_base: time_base.0,
            scale: *scale,
            machine: parts.machine.as_ref().map(|machine| format!("\\\\{machine}")),
            object: Some(parts.object.to_string()),
            instance,
            parent: None,
            instance_index: 0,
            counter: Some(parts.counter.to_string()),
        });
        self.entries.push(if is_wild {
            EntryCells::Multi(vec![(position, instance_text(parts).into())])
        } else {
            EntryCells::Single(position)
        });
        *last = is_wild.then_some(counter);
    }
}

/// What the columns of one wildcard have in common.
#[derive(Debug, PartialEq, Eq)]
struct Counter {
    machine: Option<String>,
    object: String,
    counter: String,
    counter_type: u32,
    scale: i32,
}

impl Counter {
    fn of(parts: &CounterPath, column: &Column) -> Counter {
        Counter {
            machine: parts.machine.clone(),
            object: parts.object.to_string(),
            counter: parts.counter.to_string(),
            counter_type: column.counter_type.0,
            scale: column.scale,
        }
    }
}

/// The longest name that readers accept, with the two backslashes of a machine and a NUL.
const LONGEST_NAME: usize = LONGEST_TEXT / 2 - 3;

fn is_too_long(parts: &CounterPath) -> bool {
    let machine = parts.machine.as_deref().unwrap_or_default();
    let names = [machine, &parts.object.to_string(), &instance_text(parts), &parts.counter.to_string()];
    // A name has at least a byte for each of its units, so most need not be counted.
    names.iter().any(|name| name.len() > LONGEST_NAME && name.encode_utf16().count() > LONGEST_NAME)
}

fn instance_text(parts: &CounterPath) -> String {
    parts.instance.as_ref().map(ToString::to_string).unwrap_or_default()
}

impl<W: Write + Seek> Sink for BlgSink<W> {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        let State::New(out, mut options) = std::mem::replace(&mut self.state, State::Finished) else {
            return Err(io::Error::other("the columns of a BLG cannot change after its first record"));
        };
        let (mut list, mut last) = (Vec::new(), None);
        for (position, column) in columns.iter().enumerate() {
            self.add(&mut list, &mut last, position, column);
        }
        let frequency = columns.iter().map(|column| column.time_base).max().unwrap_or_default();
        options.header.perf_frequency = frequency;
        self.state = State::Open(BlgWriter::new(out, options, list)?);
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let BlgSink { state: State::Open(writer), entries, values, .. } = self else {
            return Err(io::Error::other("the log has no columns yet, or is complete"));
        };
        let local = add_minutes(row.time, row.local_minutes);
        let cell = |at: usize| row.cells.get(at).map_or(Err(NoValue::NoInstance), Cell::raw);
        // The lists of items are used again: each record has one for each wildcard.
        let mut old = std::mem::take(values).into_iter();
        for entry in entries {
            let list = old.next();
            values.push(match entry {
                EntryCells::Single(at) => Data::Single(match cell(*at) {
                    Ok(sample) => RawCounter {
                        status: 0,
                        time: add_minutes(sample.time, row.local_minutes),
                        first: sample.first.cast_signed(),
                        second: sample.second.cast_signed(),
                        multi_count: sample.multi_count,
                    },
                    Err(reason) => {
                        RawCounter { status: reason.pdh_status().code, time: local, ..RawCounter::default() }
                    }
                }),
                EntryCells::Multi(members) => {
                    let mut items = match list {
                        Some(Data::Multi { items, .. }) => items,
                        _ => Vec::new(),
                    };
                    items.clear();
                    let (mut first, mut status): (Option<Sample>, _) = (None, None);
                    for (at, name) in members {
                        match cell(*at) {
                            Ok(sample) => {
                                first.get_or_insert(sample);
                                let values = (sample.first.cast_signed(), sample.second.cast_signed());
                                items.push((Arc::clone(name), sample.multi_count, values.0, values.1));
                            }
                            Err(NoValue::NoInstance) => {}
                            Err(reason) => status = status.or(Some(reason.pdh_status().code)),
                        }
                    }
                    // A multi record has one status for all its instances: it is written if there are none.
                    let status = if items.is_empty() { status.unwrap_or(0) } else { 0 };
                    let time = first.map_or(local, |sample| add_minutes(sample.time, row.local_minutes));
                    Data::Multi { status, time, items }
                }
            });
        }
        writer.record(row.time, local, values)
    }

    fn finish(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.state, State::Finished) {
            State::Open(writer) => writer.finish().map(drop),
            State::New(..) | State::Finished => Ok(()),
        }
    }

    fn needs_values(&self) -> bool {
        false
    }
}
