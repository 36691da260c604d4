//! Writes rows of columns, as other logs have them, into a native log.

use std::collections::HashMap;
use std::io;

use tallymon_core::flow::{NoValue, Sample};

use super::output::Output;
use super::schema::{Counter, Definition, Instance, Listed};
use super::write::{InstanceId, NativeWriter, RowTime};
use crate::reader::Column;

/// Writes rows whose columns are known from the start.
#[derive(Debug)]
pub struct RowWriter<W: Output> {
    writer: NativeWriter<W>,
    /// The instances, each with the positions in a row of its columns.
    places: Vec<(InstanceId, Vec<usize>)>,
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
}

/// An instance with its columns and the positions of these in a row.
struct Named {
    text: Option<String>,
    columns: Vec<(Listed, usize)>,
}

impl<W: Output> RowWriter<W> {
    /// Makes objects and instances of columns.
    ///
    /// The writer should keep instances: it is not told again what a column is.
    ///
    /// # Errors
    ///
    /// Those of the output, and too many columns.
    pub fn new<'a>(
        mut writer: NativeWriter<W>,
        columns: impl IntoIterator<Item = &'a Column>,
    ) -> io::Result<RowWriter<W>> {
        let mut objects: Vec<Object> = Vec::new();
        let mut by_name: HashMap<(String, String), usize> = HashMap::new();
        for (position, column) in columns.into_iter().enumerate() {
            let (host, object, instance) = match &column.parts {
                Some(parts) => (
                    parts.machine.clone().unwrap_or_default(),
                    parts.object.to_string(),
                    parts.instance.as_ref().map(ToString::to_string),
                ),
                None => (String::new(), String::new(), None),
            };
            let place = *by_name.entry((host.clone(), object.clone())).or_insert_with(|| {
                let definition = Definition { host, object, counters: Vec::new() };
                objects.push(Object { definition, ..Object::default() });
                objects.len().saturating_sub(1)
            });
            if let Some(object) = objects.get_mut(place) {
                object.add(column, instance, position);
            }
        }
        let mut places = Vec::new();
        for object in objects {
            let table = writer.table(&object.definition)?;
            for Named { text, columns } in object.instances {
                let (listed, positions): (Vec<Listed>, Vec<usize>) = columns.into_iter().unzip();
                let plain = listed.len() == object.definition.counters.len()
                    && listed.iter().zip(&object.definition.counters).enumerate().all(
                        |(nth, (listed, counter))| {
                            listed.counter == nth && listed.group == counter.group && listed.path.is_none()
                        },
                    );
                let instance = Instance { text, columns: (!plain).then_some(listed) };
                places.push((writer.instance_with(table, instance, 0)?, positions));
            }
        }
        Ok(RowWriter { writer, places })
    }

    /// Writes a row: one value for each column, or why there is none.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn row(&mut self, time: RowTime, values: &[Result<Sample, NoValue>]) -> io::Result<()> {
        self.writer.row(time)?;
        for (instance, positions) in &self.places {
            let value = |position: &usize| values.get(*position).unwrap_or(&Err(NoValue::NoInstance));
            self.writer.put_all(*instance, positions.iter().map(|position| (value(position), false)));
        }
        Ok(())
    }

    /// The writer below, to flush or seal it.
    pub fn into_inner(self) -> NativeWriter<W> {
        self.writer
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
        // The group of the first instance is that of the counter; others have their own where it differs.
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
        let place = *self.by_text.entry(instance.clone()).or_insert_with(|| {
            instances.push(Named { text: instance, columns: Vec::new() });
            instances.len().saturating_sub(1)
        });
        if let Some(named) = instances.get_mut(place) {
            named.columns.push((listed, position));
        }
    }
}
