//! The columns of a log sorted into hosts, objects, instances and counters; and how an object is written to
//! a data block.

use std::collections::HashMap;
use std::sync::OnceLock;

use tallymon_core::block::{BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, SourceError, Value, ValueState};
use tallymon_core::path::{CounterPath, InstanceIndex, Part};
use tallymon_core::time::{Frequency, PerfTime};
use tallymon_core::title::{HelpIndex, TitleIndex};
use tallymon_host::titles;
use tallymon_log::Column;

/// Names that are in no table get indexes from here on.
const OWN_NAMES: u32 = 1_000_000;

/// The bytes of a text in a block, in UTF-16 with an end; longer texts are cut there.
const LONGEST_TEXT: u32 = 1024;

#[derive(Debug)]
pub(super) struct LogHost {
    pub(super) name: String,
    pub(super) objects: Vec<LogObject>,
}

#[derive(Debug)]
pub(super) struct LogObject {
    pub(super) name: TitleIndex,
    pub(super) has_instances: bool,
    pub(super) counters: Vec<CounterSpec>,
    /// Names in the order in which instances appear.
    instances: Vec<LogInstance>,
    /// The positions of the instances in the order in which they are written: that of their numbers.
    order: Vec<usize>,
    /// The positions of the instances with a name, in this order.
    pub(super) named: HashMap<String, Vec<usize>>,
    /// The column of an instance and a counter, by their positions.
    pub(super) columns: HashMap<(usize, usize), usize>,
}

/// An instance of a log.
#[derive(Debug)]
struct LogInstance {
    name: String,
    /// Its number among those of its name, as the log has it; `None` for `#*`.
    number: Option<u32>,
    /// Name and number as the log has them.
    text: String,
    /// The last log of several that has it.
    log: usize,
}

impl LogObject {
    /// Orders the instances by their numbers. A block has no numbers: they follow from the order. So an
    /// instance whose number is not the next one, because the log has only some of those of its name, gets a
    /// name with the number in it.
    fn order_instances(&mut self) {
        let mut order: Vec<usize> = (0..self.instances.len()).collect();
        let number = |at: &usize| self.instances.get(*at).map(|instance| instance.number.unwrap_or(u32::MAX));
        if self.instances.iter().any(|instance| instance.number != Some(0)) {
            order.sort_by_key(number);
        }
        self.named.clear();
        let mut odd = Vec::new();
        for at in order {
            let Some(instance) = self.instances.get(at) else { continue };
            let known = self.named.entry(instance.name.clone()).or_default();
            if instance.number.and_then(|number| usize::try_from(number).ok()) == Some(known.len()) {
                known.push(at);
                self.order.push(at);
            } else {
                odd.push(at);
            }
        }
        for at in odd {
            let Some(instance) = self.instances.get_mut(at) else { continue };
            instance.name.clone_from(&instance.text);
            self.named.entry(instance.name.clone()).or_default().push(at);
            self.order.push(at);
        }
    }

    /// Adds it to a block: the definitions only, or also the values, which `value` returns by column, each
    /// with whether it is old or lacks parts.
    pub(super) fn write(
        &self,
        writer: &mut BlockWriter<'_>,
        metadata: bool,
        value: impl Fn(usize) -> Result<(Value, ValueState), NoValue>,
    ) {
        // The values are computed already, whatever types their counters had; texts stay texts.
        let computed: Vec<CounterSpec> = self
            .counters
            .iter()
            .map(|counter| match counter.counter_type.is_text() {
                true => *counter,
                false => {
                    CounterSpec { counter_type: CounterType::PERF_DOUBLE_RAW, size: Some(8), ..*counter }
                }
            })
            .collect();
        let instances = if self.has_instances { InstanceKind::Many } else { InstanceKind::None };
        let counters = if metadata { &self.counters } else { &computed };
        let spec = ObjectSpec { status: !metadata, ..ObjectSpec::new(self.name, instances, counters) };
        let layout = ObjectLayout::new(spec);
        let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
        if metadata {
            return object.metadata();
        }
        let mut values: Vec<Result<(Value, ValueState), NoValue>> = Vec::new();
        let named = self.order.iter().filter_map(|at| Some((*at, &self.instances.get(*at)?.name)));
        for (instance, name) in named {
            values.clear();
            values.extend((0..self.counters.len()).map(|counter| {
                let column = self.columns.get(&(instance, counter));
                column.map_or(Err(NoValue::NoInstance), |column| value(*column))
            }));
            let is_partial = values.iter().any(|value| matches!(value, Ok((_, ValueState::Partial(_)))));
            let mut block = match (self.has_instances, is_partial) {
                (true, true) => object.sums(name, None),
                (true, false) => object.instance(name, None, None),
                (false, true) => object.single_sums(),
                (false, false) => object.single(),
            };
            for (counter, (value, spec)) in values.iter().zip(&computed).enumerate() {
                match value {
                    Ok((Value::Text(text), state)) if spec.counter_type.is_text() => {
                        block.set_text(counter, text);
                        block.state(counter, *state);
                    }
                    // A text of digits only, such as the id of a user without a name.
                    Ok((value, state)) if spec.counter_type.is_text() => {
                        block.set_text(counter, &value.as_f64().unwrap_or_default().to_string());
                        block.state(counter, *state);
                    }
                    // A column of a text log that had numbers first.
                    Ok((Value::Text(_), _)) => block.state(counter, ValueState::Absent(Absence::Other)),
                    Ok((value, state)) => {
                        block.set(counter, value.as_f64().unwrap_or_default().to_bits());
                        block.state(counter, *state);
                    }
                    Err(why) => block.state(counter, ValueState::Absent(absence(*why))),
                }
            }
        }
    }
}

/// The names of all languages, by small letters. They take longer than the rest of opening a log, so they are
/// made once.
struct KnownNames {
    names: HashMap<String, TitleIndex>,
    /// The counters of known objects by name. Objects may have counters of one name with different indexes.
    counters: HashMap<(TitleIndex, String), TitleIndex>,
    helps: HashMap<(TitleIndex, TitleIndex), HelpIndex>,
}

impl KnownNames {
    fn all() -> Result<&'static KnownNames, SourceError> {
        static ALL: OnceLock<KnownNames> = OnceLock::new();
        if let Some(all) = ALL.get() {
            return Ok(all);
        }
        let (mut known, mut counters) = (HashMap::new(), HashMap::new());
        let helps = titles::counter_helps()?;
        // A name with several indexes means the first of them; English comes first.
        for language in titles::languages() {
            for names in [titles::titles(language)?, titles::translations(language)?] {
                for (index, name) in names.names() {
                    known.entry(name.to_lowercase()).or_insert(index);
                }
                for (object, counter) in helps.keys() {
                    if let Some(name) = names.name(*counter) {
                        counters.entry((*object, name.to_lowercase())).or_insert(*counter);
                    }
                }
            }
        }
        Ok(ALL.get_or_init(|| KnownNames { names: known, counters, helps }))
    }
}

/// Sorts columns into hosts, objects, instances and counters.
pub(super) struct ColumnTree {
    known: &'static KnownNames,
    /// The names that are only in this log.
    own: HashMap<String, TitleIndex>,
    pub(super) own_names: Vec<(TitleIndex, String)>,
    pub(super) hosts: Vec<LogHost>,
    /// Position of each host, of each object of each, and of each instance of each, by the text of the log;
    /// those of hosts in small letters.
    host_positions: HashMap<String, usize>,
    object_positions: HashMap<(usize, TitleIndex), usize>,
    instances: HashMap<(usize, usize, String), usize>,
    /// Instances whose names differ only in case, by the name in small letters.
    spellings: HashMap<(usize, usize, String), Vec<usize>>,
}

impl ColumnTree {
    pub(super) fn new() -> Result<ColumnTree, SourceError> {
        Ok(ColumnTree {
            known: KnownNames::all()?,
            own: HashMap::new(),
            own_names: Vec::new(),
            hosts: Vec::new(),
            host_positions: HashMap::new(),
            object_positions: HashMap::new(),
            instances: HashMap::new(),
            spellings: HashMap::new(),
        })
    }

    /// Orders what was put.
    pub(super) fn finish(&mut self) {
        for object in self.hosts.iter_mut().flat_map(|host| &mut host.objects) {
            object.order_instances();
        }
    }

    /// Adds the column at a position; `log` is the number of its log among several. Returns the position of
    /// the first column of the same counter and instance, which is the one shown; `None` for a column that is
    /// no counter.
    pub(super) fn put(&mut self, log: usize, position: usize, column: &Column) -> Option<usize> {
        // The name of an instance may look like other parts of a path; then the object is unknown.
        let is_known = |parts: &CounterPath| match &parts.object {
            Part::Name(name) => self.known_name(&name.to_lowercase()).is_some(),
            Part::Index(_) => true,
        };
        let other = match &column.parts {
            Some(parts) if is_known(parts) => None,
            _ => CounterPath::alternatives(&column.path).find(is_known),
        };
        let parts = other.as_ref().or(column.parts.as_ref())?;
        let host = self.host(parts);
        let object = self.object(host, parts);
        let instance = self.instance(log, (host, object), parts);
        let known = self.hosts.get(host).and_then(|host| host.objects.get(object))?.name;
        let name = self.counter(known, &parts.counter);
        let help = self.known.helps.get(&(known, name)).copied().unwrap_or(name.help());
        let object = self.known_object(host, object)?;
        let counter = object.counters.iter().position(|known| known.name == name).unwrap_or_else(|| {
            object.counters.push(CounterSpec {
                help,
                scale: column.scale,
                size: Some(if column.counter_type.is_text() { LONGEST_TEXT } else { 8 }),
                ..CounterSpec::new(name, column.counter_type)
            });
            object.counters.len().saturating_sub(1)
        });
        // In a text log each column has its own type, and some texts of a counter may look like numbers.
        if let Some(spec) = object.counters.get_mut(counter)
            && column.counter_type.is_text()
        {
            (spec.counter_type, spec.size) = (column.counter_type, Some(LONGEST_TEXT));
        }
        Some(*object.columns.entry((instance, counter)).or_insert(position))
    }

    fn host(&mut self, parts: &CounterPath) -> usize {
        let name = parts.machine.clone().unwrap_or_default();
        let hosts = &mut self.hosts;
        *self.host_positions.entry(name.to_lowercase()).or_insert_with(|| {
            hosts.push(LogHost { name, objects: Vec::new() });
            hosts.len().saturating_sub(1)
        })
    }

    fn known_object(&mut self, host: usize, object: usize) -> Option<&mut LogObject> {
        self.hosts.get_mut(host)?.objects.get_mut(object)
    }

    fn object(&mut self, host: usize, parts: &CounterPath) -> usize {
        let name = self.object_name(&parts.object);
        let Some(known) = self.hosts.get_mut(host) else { return 0 };
        *self.object_positions.entry((host, name)).or_insert_with(|| {
            known.objects.push(LogObject {
                name,
                has_instances: parts.instance.is_some(),
                counters: Vec::new(),
                instances: Vec::new(),
                order: Vec::new(),
                named: HashMap::new(),
                columns: HashMap::new(),
            });
            known.objects.len().saturating_sub(1)
        })
    }

    /// The position of an instance; the only one of an object without instances is 0.
    ///
    /// Names that differ only in case are different instances of one log. Another log may spell a name
    /// differently, so they are the same instance there unless it has both.
    fn instance(&mut self, log: usize, (host, object): (usize, usize), parts: &CounterPath) -> usize {
        let (text, name, number) = match &parts.instance {
            Some(instance) => {
                let number = match instance.index() {
                    InstanceIndex::Implied => Some(0),
                    InstanceIndex::At(number) => Some(number),
                    InstanceIndex::Any => None,
                };
                (instance.to_string(), instance.text().to_string(), number)
            }
            None => (String::new(), String::new(), Some(0)),
        };
        let Some(known) = self.hosts.get_mut(host).and_then(|host| host.objects.get_mut(object)) else {
            return 0;
        };
        let spellings = self.spellings.entry((host, object, text.to_lowercase())).or_default();
        let exact = self.instances.entry((host, object, text.clone()));
        let instances = &mut known.instances;
        let position = *exact.or_insert_with(|| {
            let is_of_other = |at: &&usize| instances.get(**at).is_some_and(|one| one.log != log);
            spellings.iter().find(is_of_other).copied().unwrap_or_else(|| {
                spellings.push(instances.len());
                instances.push(LogInstance { name, number, text, log });
                instances.len().saturating_sub(1)
            })
        });
        if let Some(instance) = known.instances.get_mut(position) {
            instance.log = log;
        }
        position
    }

    /// The index of a name in small letters, if one is known.
    fn known_name(&self, lower: &str) -> Option<TitleIndex> {
        self.known.names.get(lower).or_else(|| self.own.get(lower)).copied()
    }

    /// The index of an object's name. TCP of NT 4 is TCPv4, unless the name is in a table.
    fn object_name(&mut self, part: &Part) -> TitleIndex {
        let old = part.name().filter(|name| self.known_name(&name.to_lowercase()).is_none());
        old.and_then(titles::old_object).unwrap_or_else(|| self.index(part))
    }

    /// The index of a counter's name among the counters of its object, else among all names.
    fn counter(&mut self, object: TitleIndex, part: &Part) -> TitleIndex {
        let own = part.name().and_then(|name| self.known.counters.get(&(object, name.to_lowercase())));
        own.copied().unwrap_or_else(|| self.index(part))
    }

    fn index(&mut self, part: &Part) -> TitleIndex {
        let name = match part {
            Part::Index(index) => return TitleIndex(*index),
            Part::Name(name) => name,
        };
        let lower = name.to_lowercase();
        if let Some(known) = self.known_name(&lower) {
            return known;
        }
        let (own_names, next) = (&mut self.own_names, OWN_NAMES);
        *self.own.entry(lower).or_insert_with(|| {
            // Names have even indexes; the index after each is for its help text.
            let count = u32::try_from(own_names.len()).unwrap_or(u32::MAX);
            let index = TitleIndex(next.saturating_add(count.saturating_mul(2)));
            own_names.push((index, name.clone()));
            index
        })
    }
}

fn absence(why: NoValue) -> Absence {
    match why {
        NoValue::FirstSample => Absence::FirstSample,
        NoValue::NoInstance => Absence::Vanished,
        NoValue::NoData(absence) => absence,
        _ => Absence::Other,
    }
}
