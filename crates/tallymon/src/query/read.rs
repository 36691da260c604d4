//! Values of a query: borrowed and without allocating texts, or as owned readings with paths.

use tallymon_core::block::{CounterDefinition, SnapshotColumn, SnapshotObject};
use tallymon_core::counter::{self, Format, Scale};
use tallymon_core::flow::{Absence, Cell, NoValue, Sample, Value, ValueState};
use tallymon_core::path::InstancePath;
use tallymon_core::time::Frequency;
use tallymon_core::title::TitleIndex;

use super::plan::{ColumnName, ColumnText, Plan, Run};
use super::{CounterHandle, Query};
use crate::catalog::CatalogObject;
use crate::matching::{InstanceIdentity, InstanceKey, Instances};
use crate::names::Names;
use crate::precision::Precision;

/// One counter of one instance at the last collection, see [`Query::for_each`].
#[derive(Debug, Clone)]
pub struct CounterValue<'q> {
    /// The path that it belongs to.
    pub handle: CounterHandle,
    /// Object.
    pub object: TitleIndex,
    /// The counter's definition.
    pub definition: &'q CounterDefinition,
    /// Instance; `None` for an object without instances and for a path that matched none.
    pub instance: Option<&'q InstanceKey>,
    /// Identity of the instance, whatever number its name has now; `None` where its object has none.
    pub identity: Option<InstanceIdentity>,
    /// The raw sample and the value.
    pub cell: Cell,
    /// The sample before, of the same instance.
    pub older: Option<Sample>,
    /// How exact the two samples are; `None` where their source does not say.
    pub precision: Option<Precision>,
}

/// One counter of one instance at the last collection, with its path.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The path that it belongs to.
    pub handle: CounterHandle,
    /// Its full path in English, without host and wildcards.
    pub path: String,
    /// Object.
    pub object: TitleIndex,
    /// Counter.
    pub counter: TitleIndex,
    /// Instance; `None` for an object without instances and for a path that matched none.
    pub instance: Option<InstanceKey>,
    /// Identity of the instance, whatever number its name has now; `None` where its object has none.
    pub identity: Option<InstanceIdentity>,
    /// The counter's definition.
    pub definition: CounterDefinition,
    /// The raw sample and the value.
    pub cell: Cell,
    /// The sample before, of the same instance.
    pub older: Option<Sample>,
    /// How exact the two samples are; `None` where their source does not say.
    pub precision: Option<Precision>,
}

impl CounterValue<'_> {
    /// The largest error of the value, to either side; `None` where that is unknown, and for exact values.
    pub fn error(&self) -> Option<f64> {
        self.precision?.error(self.older.as_ref()?, self.cell.sample.as_ref()?)
    }

    /// Why the error of a value is unknown, in words; `None` where it is known, and for values without an
    /// error: missing ones, and those that are no rate, share or average.
    pub fn why_no_error(&self) -> Option<&'static str> {
        if self.cell.value.is_err() || !self.definition.counter_type.needs_two_samples() {
            return None;
        }
        match (self.precision, self.error()) {
            (None, _) => Some("its source does not say when it was read"),
            (Some(_), None) => Some("it is too large to be computed"),
            (Some(_), Some(_)) => None,
        }
    }
}

impl Reading {
    /// The value as [`Query::for_each`] gives it.
    pub fn value(&self) -> CounterValue<'_> {
        CounterValue {
            handle: self.handle,
            object: self.object,
            definition: &self.definition,
            instance: self.instance.as_ref(),
            identity: self.identity,
            cell: self.cell.clone(),
            older: self.older,
            precision: self.precision,
        }
    }

    /// As [`CounterValue::error`].
    pub fn error(&self) -> Option<f64> {
        self.value().error()
    }

    /// As [`CounterValue::why_no_error`].
    pub fn why_no_error(&self) -> Option<&'static str> {
        self.value().why_no_error()
    }

    /// Its full path in the user's language, for people to read; scripts take [`Reading::path`].
    pub fn local_path(&self, names: &Names) -> String {
        // The text in parentheses is the same in every language, even if no such instance exists.
        let behind = self.path.strip_prefix('\\').unwrap_or(&self.path);
        let behind = behind.strip_prefix(names.english(self.object).as_str()).unwrap_or(behind);
        let object = names.name(self.object);
        match behind.strip_suffix(names.english(self.counter).as_str()) {
            Some(instance) => format!("\\{object}{instance}{}", names.name(self.counter)),
            // A counter whose name is ambiguous is in the path by its number.
            None => format!("\\{object}{behind}"),
        }
    }
}

/// A counter in the last two snapshots.
struct ReadColumn<'q> {
    object: TitleIndex,
    definition: &'q CounterDefinition,
    /// Where its samples are, or why there are none.
    newer: Result<SnapshotColumn<'q>, NoValue>,
    older: Option<SnapshotColumn<'q>>,
    /// `None` for an object without instances.
    instances: Option<&'q Instances>,
    precision: Option<Precision>,
}

impl Query {
    /// Visits every value of the last collection, in the order of the paths, then of the instances in the
    /// block. Numbers allocate nothing.
    ///
    /// A path that matches nothing now has one value with the reason, unless it has a wildcard.
    pub fn for_each<'q>(&'q self, mut act: impl FnMut(CounterValue<'q>)) {
        let plan = self.plan();
        let columns: Vec<Option<ReadColumn<'q>>> =
            plan.columns().iter().map(|name| self.read_column(*name)).collect();
        for run in plan.runs() {
            if let Some(Some(column)) = columns.get(run.column) {
                self.read_run(run, column, &mut act);
            }
        }
    }

    /// Every value of the last collection as an owned reading with its path.
    pub fn readings(&self) -> Vec<Reading> {
        self.readings_if(|_| true)
    }

    /// As [`Query::readings`], for selected values only; others cost no texts.
    pub fn readings_if(&self, mut is_wanted: impl FnMut(&CounterValue<'_>) -> bool) -> Vec<Reading> {
        let mut readings = Vec::new();
        self.for_each(|value| {
            if is_wanted(&value) {
                readings.push(self.reading(value));
            }
        });
        readings
    }

    /// As [`Query::for_each`], for one path.
    pub fn for_each_of<'q>(&'q self, handle: CounterHandle, mut act: impl FnMut(CounterValue<'q>)) {
        let plan = self.plan();
        for run in plan.runs_of(handle) {
            let name = plan.columns().get(run.column);
            if let Some(column) = name.and_then(|name| self.read_column(*name)) {
                self.read_run(run, &column, &mut act);
            }
        }
    }

    /// Ticks per second of the clock that divides the values of a path; 0 for types without a clock. `None`
    /// before the first sample, because the frequency comes with the sample.
    ///
    /// ```
    /// use tallymon::core::time::Frequency;
    /// use tallymon::{Location, Query};
    ///
    /// let mut query = Query::open(&Location::Local)?;
    /// let counter = query.add(r"\Processor(_Total)\% Processor Time")?;
    /// assert_eq!(query.time_base(counter), None);
    /// query.collect()?;
    /// assert_eq!(query.time_base(counter), Some(Frequency(10_000_000)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn time_base(&self, handle: CounterHandle) -> Option<Frequency> {
        let mut found = None;
        self.for_each_of(handle, |value| found = found.or(value.cell.sample.map(|sample| sample.frequency)));
        found
    }

    /// The readings of one path, several if it has wildcards. They have the raw values, from which every
    /// value can be computed again.
    ///
    /// ```
    /// use tallymon::core::counter::compute;
    /// use tallymon::{Location, Query};
    ///
    /// let mut query = Query::open(&Location::Local)?;
    /// let counter = query.add(r"\Processor(*)\Interrupts/sec")?;
    /// query.collect()?;
    /// let older = query.readings_of(counter);
    /// std::thread::sleep(std::time::Duration::from_millis(20));
    /// query.collect()?;
    /// let newer = query.readings_of(counter);
    /// let total = r"\Processor(_Total)\Interrupts/sec";
    /// assert!(newer.len() >= 2 && newer.iter().any(|reading| reading.path == total));
    /// for reading in &newer {
    ///     let before = older.iter().find(|older| older.path == reading.path).ok_or("the one before")?;
    ///     let sample = reading.cell.sample.as_ref().ok_or("a raw value")?;
    ///     assert_eq!(compute(before.cell.sample.as_ref(), sample), reading.cell.value);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn readings_of(&self, handle: CounterHandle) -> Vec<Reading> {
        let mut readings = Vec::new();
        self.for_each_of(handle, |value| readings.push(self.reading(value)));
        readings
    }

    fn plan(&self) -> &Plan {
        self.plan.get_or_init(|| Plan::of(&self.entries))
    }

    fn read_column(&self, name: ColumnName) -> Option<ReadColumn<'_>> {
        let definition = self.catalog.object(name.object)?.counter(name.counter)?;
        let [newer, older] =
            [&self.newer, &self.older].map(|taken| taken.as_ref()?.snapshot.object(name.object));
        Some(ReadColumn {
            object: name.object,
            definition,
            newer: match newer {
                Some(object) => column(object, name).ok_or(NoValue::NoCounter),
                // The provider of the object failed, or its objects ended.
                None if self.source.trouble(name.object).is_some() => {
                    Err(NoValue::NoData(Absence::ReadFailed))
                }
                None => Err(NoValue::NoObject),
            },
            older: older.and_then(|object| column(object, name)),
            instances: self.newer.as_ref().and_then(|taken| taken.instances.get(&name.object)),
            precision: precision(newer, older, definition),
        })
    }

    #[inline]
    fn read_run<'q>(&'q self, run: &Run, column: &ReadColumn<'q>, act: &mut impl FnMut(CounterValue<'q>)) {
        let format = Format { scale: run.scale.map_or(self.format.scale, Scale::Power), ..self.format };
        let nothing = |why| CounterValue {
            handle: run.handle,
            object: column.object,
            definition: column.definition,
            instance: None,
            identity: None,
            cell: Cell::missing(why),
            older: None,
            precision: None,
        };
        let samples = match &column.newer {
            Ok(_) | Err(NoValue::NoCounter) if run.is_missing => return act(nothing(NoValue::NoInstance)),
            Err(why @ (NoValue::NoObject | NoValue::NoData(_))) => return act(nothing(*why)),
            other => other,
        };
        let precision = column.precision.map(|precision| Precision { format, ..precision });
        for position in self.plan().positions(run) {
            let before = match column.instances {
                Some(instances) => instances.pairs.before(*position),
                None => Some(*position),
            };
            let (cell, older) = match samples {
                Ok(newer) => {
                    let older = column.older.zip(before);
                    let older = older.and_then(|(column, before)| column.sample(before).ok());
                    read(newer, *position, older, column.definition, &format)
                }
                Err(why) => (Cell::missing(*why), None),
            };
            let known = column.instances;
            let instance = known.and_then(|known| known.keys.list.get(*position));
            let precision = precision
                .map(|precision| precision.of_instance(instance.map(|instance| instance.name.as_str())));
            act(CounterValue {
                handle: run.handle,
                object: column.object,
                definition: column.definition,
                instance,
                identity: known.and_then(|known| known.identities.get(*position).copied().flatten()),
                cell,
                older,
                precision,
            });
        }
    }

    /// A value with its path. Texts shared by the paths of one counter are built once, until paths come or
    /// go.
    fn reading(&self, value: CounterValue<'_>) -> Reading {
        let name = ColumnName { object: value.object, counter: value.definition.name };
        let text = self.plan().texts(|name| self.column_text(name)).get(&name);
        let (start, counter) = text.map_or(("", ""), |text| (text.start.as_str(), text.counter.as_str()));
        let wanted = || Some(self.entries.get(&value.handle)?.chosen.as_ref()?.wanted.clone());
        let instance = match value.instance {
            Some(key) => Some(InstancePath::new(key.parent.as_deref(), &key.name, key.number)),
            None => wanted(),
        };
        Reading {
            path: match instance {
                Some(instance) => format!("{start}({instance})\\{counter}"),
                None => format!("{start}\\{counter}"),
            },
            handle: value.handle,
            object: value.object,
            counter: value.definition.name,
            instance: value.instance.cloned(),
            identity: value.identity,
            definition: *value.definition,
            cell: value.cell,
            older: value.older,
            precision: value.precision,
        }
    }

    fn column_text(&self, name: ColumnName) -> ColumnText {
        let object = self.catalog.object(name.object);
        ColumnText {
            start: format!("\\{}", self.names.english(name.object)),
            counter: object.map(|object| self.name_in_path(object, name.counter)).unwrap_or_default(),
        }
    }

    /// The English name of a counter; its number when another counter of the object has the same name.
    fn name_in_path(&self, object: &CatalogObject, counter: TitleIndex) -> String {
        let name = self.names.english(counter);
        let meant = object.visible_counters().find(|known| self.names.is(known.name, &name));
        if meant.is_none_or(|meant| meant.name == counter) { name } else { counter.0.to_string() }
    }
}

fn column(object: SnapshotObject<'_>, name: ColumnName) -> Option<SnapshotColumn<'_>> {
    object.column(object.position(name.counter)?)
}

/// How exact the samples of a counter are.
fn precision(
    newer: Option<SnapshotObject<'_>>,
    older: Option<SnapshotObject<'_>>,
    definition: &CounterDefinition,
) -> Option<Precision> {
    let newer = newer?;
    let position = newer.position(definition.name)?;
    Some(Precision {
        older: older?.window()?,
        newer: newer.window()?,
        quantum: newer.quantum(position),
        total_quantum: newer.quantum_of_total(position),
        default_scale: definition.default_scale,
        format: Format::default(),
    })
}

/// The cell of a sample: with the value that it gives together with the sample before of the same instance.
#[inline]
fn read(
    column: &SnapshotColumn<'_>,
    position: usize,
    older: Option<Sample>,
    definition: &CounterDefinition,
    format: &Format,
) -> (Cell, Option<Sample>) {
    let sample = match column.sample(position) {
        Ok(sample) => sample,
        // Text counters have no sample.
        Err(why) => {
            let state = column.state(position);
            let value = match (column.text(position), state) {
                (Some(_), ValueState::Absent(absence)) => Err(NoValue::NoData(absence)),
                (Some(text), _) => Ok(Value::Text(text)),
                (None, _) => Err(why),
            };
            let stale = value.is_ok() && state == ValueState::Stale;
            return (Cell { value, stale, ..Cell::missing(NoValue::NotNumeric) }, None);
        }
    };
    let state = column.state(position);
    let stale = state == ValueState::Stale;
    let partial = if let ValueState::Partial(sum) = state { Some(sum) } else { None };
    let value = counter::compute(older.as_ref(), &sample);
    let value =
        value.map(|value| counter::apply(value, definition.counter_type, definition.default_scale, format));
    (Cell { sample: Some(sample), value, stale, partial, error: None }, older)
}
