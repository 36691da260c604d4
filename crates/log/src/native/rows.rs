//! Writes rows whose columns are known from the start into a native log.

use std::collections::HashMap;
use std::io;

use tallymon_core::flow::{Cell, Column, NoValue, Row, Sample, Sink, Value, ValueState};

use super::output::Output;
use super::schema::{Counter, Definition, Instance, Listed};
use super::write::{InstanceId, NativeWriter, RowTime};

/// Writes rows with raw samples into a native log. Its columns are fixed.
#[derive(Debug)]
pub struct NativeSink<W: Output> {
    /// `None` once the log is sealed.
    writer: Option<NativeWriter<W>>,
    instances: Vec<InstanceCells>,
}

/// Where the values of an instance are in a row.
#[derive(Debug)]
struct InstanceCells {
    id: InstanceId,
    /// The positions of its cells.
    cells: Vec<usize>,
    /// One of its counters is a text.
    has_texts: bool,
}

/// Columns of one object of one host.
#[derive(Default)]
struct Object {
    definition: Definition,
    /// Positions of counters that are in the definition.
    counters: HashMap<Counter, usize>,
    instances: Vec<Named>,
    /// Positions of instances by their text.
    by_text: HashMap<Option<String>, usize>,
    /// The last instance with a column of each group.
    last_of_group: HashMap<u32, usize>,
}

/// An instance with its columns, and their positions in a row.
struct Named {
    text: Option<String>,
    columns: Vec<(Listed, usize)>,
}

impl<W: Output> NativeSink<W> {
    /// Writes into this log, which should keep instances
    /// ([`WriteOptions::keep_instances`](super::WriteOptions)): the sink describes each column once.
    pub const fn new(writer: NativeWriter<W>) -> NativeSink<W> {
        NativeSink { writer: Some(writer), instances: Vec::new() }
    }

    /// The writer below, to flush or seal it; `None` after [`Sink::finish`].
    pub fn into_inner(self) -> Option<NativeWriter<W>> {
        self.writer
    }

    fn writer(&mut self) -> io::Result<&mut NativeWriter<W>> {
        self.writer.as_mut().ok_or_else(|| io::Error::other("the log is complete"))
    }

    fn put(writer: &mut NativeWriter<W>, instance: &InstanceCells, cells: &[Cell]) {
        if !instance.has_texts {
            writer.put_all(instance.id, instance.cells.iter().map(|at| raw(cells.get(*at))));
            return;
        }
        for (nth, at) in instance.cells.iter().enumerate() {
            if let Some(Cell { value: Ok(Value::Text(text)), .. }) = cells.get(*at) {
                writer.put_text(instance.id, nth, text);
                continue;
            }
            let (sample, state) = raw(cells.get(*at));
            writer.put(instance.id, nth, sample, state);
        }
    }
}

/// The sample of a cell, and its state.
#[inline]
fn raw(cell: Option<&Cell>) -> (Result<Sample, NoValue>, ValueState) {
    let Some(cell) = cell else { return (Err(NoValue::NoInstance), ValueState::Present) };
    let state = match cell.partial {
        _ if cell.stale => ValueState::Stale,
        Some(sum) => ValueState::Partial(sum),
        None => ValueState::Present,
    };
    (cell.raw(), state)
}

impl<W: Output> Sink for NativeSink<W> {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        if !self.instances.is_empty() {
            return Err(io::Error::other("the columns of this log cannot change after its first row"));
        }
        let mut objects: Vec<Object> = Vec::new();
        let mut by_name: HashMap<(String, String), usize> = HashMap::new();
        for (position, column) in columns.iter().enumerate() {
            let (host, object, instance) = match &column.parts {
                Some(parts) => (
                    parts.machine.clone().unwrap_or_default(),
                    parts.object.to_string(),
                    parts.instance.as_ref().map(ToString::to_string),
                ),
                None => (String::new(), String::new(), None),
            };
            let at = *by_name.entry((host.clone(), object.clone())).or_insert_with(|| {
                let definition = Definition { host, object, counters: Vec::new() };
                objects.push(Object { definition, ..Object::default() });
                objects.len().saturating_sub(1)
            });
            if let Some(object) = objects.get_mut(at) {
                object.add(column, instance, position);
            }
        }
        for object in objects {
            let table = self.writer()?.table(&object.definition)?;
            for Named { text, columns: of_instance } in object.instances {
                let (listed, cells): (Vec<Listed>, Vec<usize>) = of_instance.into_iter().unzip();
                let is_plain = listed.len() == object.definition.counters.len()
                    && listed.iter().zip(&object.definition.counters).enumerate().all(
                        |(nth, (listed, counter))| {
                            listed.counter == nth && listed.group == counter.group && listed.path.is_none()
                        },
                    );
                let instance = Instance { text, columns: (!is_plain).then_some(listed) };
                let id = self.writer()?.instance_with(table, instance, 0)?;
                let is_text = |cell: &usize| columns.get(*cell).is_some_and(|c| c.counter_type.is_text());
                let has_texts = cells.iter().any(is_text);
                self.instances.push(InstanceCells { id, cells, has_texts });
            }
        }
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let NativeSink { writer, instances } = self;
        let Some(writer) = writer else { return Err(io::Error::other("the log is complete")) };
        writer.row(RowTime { time: row.time, local_minutes: row.local_minutes })?;
        for instance in instances {
            NativeSink::put(writer, instance, row.cells);
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        match self.writer.take() {
            Some(writer) => writer.seal().map(drop),
            None => Ok(()),
        }
    }

    fn needs_values(&self) -> bool {
        false
    }
}

impl Object {
    fn add(&mut self, column: &Column, instance: Option<String>, position: usize) {
        let name = match &column.parts {
            Some(parts) => parts.counter.to_string(),
            None => column.path.clone(),
        };
        let counter = Counter {
            name,
            counter_type: column.counter_type,
            scale: column.scale,
            time_base: column.time_base,
            group: column.group,
            wild: column.wild,
        };
        let rebuilt = self.definition.path(instance.as_deref(), &counter).to_string();
        // A counter has the group of its first instance; other instances have their own group if it differs.
        let key = Counter { group: 0, ..counter.clone() };
        let definition = &mut self.definition;
        let number = *self.counters.entry(key).or_insert_with(|| {
            definition.counters.push(counter);
            definition.counters.len().saturating_sub(1)
        });
        let listed = Listed {
            counter: number,
            group: column.group,
            path: (rebuilt != column.path).then(|| column.path.clone()),
            bare: column.parts.is_none(),
        };
        let instances = &mut self.instances;
        // A reader orders the columns of a group by their instances. If a later instance has a column of this
        // group already, the instance gets a second place behind it.
        let least = self.last_of_group.get(&column.group).copied().unwrap_or(0);
        let at = match self.by_text.get(&instance) {
            Some(at) if *at >= least => *at,
            _ => {
                instances.push(Named { text: instance.clone(), columns: Vec::new() });
                let at = instances.len().saturating_sub(1);
                self.by_text.insert(instance, at);
                at
            }
        };
        self.last_of_group.insert(column.group, at);
        if let Some(named) = instances.get_mut(at) {
            named.columns.push((listed, position));
        }
    }
}
