//! Counters as the two databases from which Samba answers Windows' performance tools: `names.tdb` and
//! `data.tdb`.
//!
//! Samba's part is old and has habits that these tables go around: it serves every value in 8 bytes, so only
//! types of 64 bits are exported; it reads a zero from an empty value; it breaks on names that are long or
//! not ASCII; and it numbers counters without gaps. What it cannot say at all is left out, see
//! [`SambaTables::left_out`].

use std::collections::BTreeMap;

use tallymon_core::block::{RawValue, Snapshot, SnapshotInstance, SnapshotObject};
use tallymon_core::counter::{CounterType, Denominator, TYPES, TypeInfo};
use tallymon_core::flow::ValueState;
use tallymon_core::title::{HelpIndex, TitleIndex, Titles};

use crate::tdb::database;

/// The longest name or help text in bytes: Samba's reader breaks at 256.
const LONGEST: usize = 250;

/// The most instances of an object: a query of Samba takes a second for 5,000.
const MOST_INSTANCES: usize = 1_000;

/// The bits of a counter type that are its size, and their value for 64 bits.
const SIZE_BITS: u32 = 0x300;
const LARGE: u32 = 0x100;

/// A counter that is exported.
#[derive(Debug)]
struct Exported {
    /// Its position in the object.
    position: usize,
    /// Its number in the tables of Samba.
    number: u32,
    name: String,
    help: String,
    counter_type: CounterType,
}

/// An object that is exported.
#[derive(Debug)]
struct ExportedObject {
    title: TitleIndex,
    number: u32,
    name: String,
    help: String,
    has_instances: bool,
    counters: Vec<Exported>,
    /// The names of its instances in `names.tdb`.
    instances: Vec<String>,
    /// The last values, for those that are missing later.
    last: BTreeMap<(String, usize), u64>,
}

/// The databases of some objects, sample after sample. Numbers stay the same.
#[derive(Debug)]
pub struct SambaTables {
    objects: Vec<ExportedObject>,
    left_out: Vec<String>,
    count: u32,
}

/// The bytes of the databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SambaFiles {
    /// `data.tdb`, which has to be replaced first.
    pub data: Vec<u8>,
    /// `names.tdb`.
    pub names: Vec<u8>,
}

impl SambaTables {
    /// The tables of all objects of a snapshot.
    pub fn new(snapshot: &Snapshot, titles: &Titles) -> SambaTables {
        let mut tables = SambaTables { objects: Vec::new(), left_out: Vec::new(), count: 0 };
        for object in snapshot.objects() {
            tables.add(&object, titles);
        }
        tables
    }

    /// Counters that are not exported, each with the reason.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    fn next_number(&mut self) -> u32 {
        self.count = self.count.saturating_add(1);
        self.count.saturating_mul(2)
    }

    fn add(&mut self, object: &SnapshotObject<'_>, titles: &Titles) {
        let title = object.header().name;
        let name = ascii(titles.name(title).unwrap_or_default());
        let help = ascii(titles.help(object.header().help).unwrap_or_default());
        let chosen = self.chosen(object, &name, titles);
        if chosen.is_empty() {
            return;
        }
        let number = self.next_number();
        let mut counters = Vec::new();
        for (position, counter_type, counter, help) in chosen {
            let number = self.next_number();
            counters.push(Exported { position, number, name: counter, help, counter_type });
        }
        self.objects.push(ExportedObject {
            title,
            number,
            name,
            help,
            has_instances: object.has_instances(),
            counters,
            instances: Vec::new(),
            last: BTreeMap::new(),
        });
    }

    /// The counters that Samba can serve: position, type, name and help text.
    fn chosen(
        &mut self,
        object: &SnapshotObject<'_>,
        object_name: &str,
        titles: &Titles,
    ) -> Vec<(usize, CounterType, String, String)> {
        let definitions = object.counters();
        let mut chosen = Vec::new();
        let mut takes_base = false;
        for (position, definition) in definitions.iter().enumerate() {
            let counter_type = definition.counter_type;
            let name = titles.name(definition.name).unwrap_or_default();
            let help = titles.help(HelpIndex(definition.help.0)).unwrap_or_default();
            if counter_type.is_base() {
                // Taken with the counter before it, or not at all.
                if let Some(wide) = widened(counter_type).filter(|_| takes_base) {
                    chosen.push((position, wide.value, ascii(name), ascii(help)));
                }
                takes_base = false;
                continue;
            }
            takes_base = false;
            if TYPES.iter().find(|info| info.value == counter_type).is_some_and(|info| !info.visible) {
                continue;
            }
            let base = definitions.get(position.saturating_add(1)).map(|next| next.counter_type);
            match why_not(object, position, counter_type, base) {
                Ok(wide) => {
                    takes_base = wide.base.is_some();
                    chosen.push((position, wide.value, ascii(name), ascii(help)));
                }
                Err(why) => self.left_out.push(format!("\\{object_name}\\{name}: {why}")),
            }
        }
        chosen
    }

    /// The databases with the values of a snapshot.
    ///
    /// `data.tdb` has at least as many instances as the `names.tdb` before, so that a reader finds values for
    /// every name whichever file it opens first. `None` if the tables are too large.
    pub fn files(&mut self, snapshot: &Snapshot) -> Option<SambaFiles> {
        let header = snapshot.header();
        let mut data = BTreeMap::new();
        let mut names = BTreeMap::new();
        let put = |table: &mut BTreeMap<Vec<u8>, Vec<u8>>, key: String, value: Vec<u8>| {
            table.insert(key.into_bytes(), value);
        };
        let decimal = |number: u64| number.to_string().into_bytes();
        put(&mut data, "0PerfTime".into(), decimal(header.perf_time.0.cast_unsigned()));
        put(&mut data, "0PerfTime100nSec".into(), decimal(header.perf_time_100ns.0));
        put(&mut names, "0PerfFreq".into(), decimal(header.perf_freq.0.cast_unsigned()));
        put(&mut names, "1".into(), decimal(self.count.into()));
        for object in &mut self.objects {
            let number = object.number;
            put(&mut names, number.to_string(), object.name.clone().into_bytes());
            put(&mut names, number.saturating_add(1).to_string(), object.help.clone().into_bytes());
            put(&mut names, format!("{number}rel"), b"p".to_vec());
            for counter in &object.counters {
                let own = counter.number;
                put(&mut names, own.to_string(), counter.name.clone().into_bytes());
                put(&mut names, own.saturating_add(1).to_string(), counter.help.clone().into_bytes());
                put(&mut names, format!("{own}rel"), format!("c[{number}]").into_bytes());
                put(&mut names, format!("{own}type"), decimal(counter.counter_type.0.into()));
            }
            let found = snapshot.object(object.title);
            if !object.has_instances {
                let instance = found.and_then(|found| found.instance(0));
                let values = object.values("", instance.as_ref());
                for (counter, value) in object.counters.iter().zip(values) {
                    // Samba takes the text "0" for the letter, and nothing for zero.
                    let text = if value == 0 { Vec::new() } else { decimal(value) };
                    put(&mut data, counter.number.to_string(), text);
                }
                continue;
            }
            let instances: Vec<SnapshotInstance<'_>> =
                found.iter().flat_map(SnapshotObject::instances).take(MOST_INSTANCES).collect();
            let named: Vec<String> = instances.iter().map(full_name).collect();
            let before = object.instances.len();
            for (at, (instance, name)) in instances.iter().zip(&named).enumerate() {
                let values = object.values(name, Some(instance));
                put(
                    &mut data,
                    format!("{number}i{at}"),
                    values.iter().flat_map(|value| value.to_le_bytes()).collect(),
                );
                put(&mut names, format!("{number}i{at}name"), name.clone().into_bytes());
            }
            for at in named.len()..before {
                put(&mut data, format!("{number}i{at}"), vec![0; object.counters.len().saturating_mul(8)]);
            }
            // Never read, and without them the whole answer is empty.
            for counter in &object.counters {
                put(&mut data, counter.number.to_string(), b"1".to_vec());
            }
            put(&mut names, format!("{number}inst"), decimal(named.len().try_into().unwrap_or(u64::MAX)));
            object.last.retain(|(name, _), _| named.contains(name));
            object.instances = named;
        }
        Some(SambaFiles { data: database(&data)?, names: database(&names)? })
    }
}

impl ExportedObject {
    /// The values of an instance. One that is missing now is the last one: Samba cannot say that there is
    /// none.
    fn values(&mut self, name: &str, instance: Option<&SnapshotInstance<'_>>) -> Vec<u64> {
        let mut values = Vec::new();
        for counter in &self.counters {
            let key = (name.to_string(), counter.position);
            let now = instance.and_then(|instance| number(instance, counter.position));
            let value = now.or_else(|| self.last.get(&key).copied()).unwrap_or_default();
            self.last.insert(key, value);
            values.push(value);
        }
        values
    }
}

/// The number of a counter; `None` if there is none.
fn number(instance: &SnapshotInstance<'_>, position: usize) -> Option<u64> {
    if matches!(instance.state(position), ValueState::Absent(_)) {
        return None;
    }
    match instance.raw(position)? {
        RawValue::Number(number) => Some(number),
        RawValue::Bytes(_) | RawValue::Nothing => None,
    }
}

/// The type of 64 bits that a counter has in Samba, or why it can have none.
fn why_not(
    object: &SnapshotObject<'_>,
    position: usize,
    counter_type: CounterType,
    base: Option<CounterType>,
) -> Result<&'static TypeInfo, &'static str> {
    let wide = widened(counter_type).ok_or("Samba serves numbers of 64 bits only, and its type has none")?;
    if wide.denominator == Denominator::ObjectTime {
        return Err("Samba has no clocks of objects");
    }
    if wide.base.is_some() && base.and_then(widened).map(|base| base.value) != wide.base {
        return Err("Samba serves numbers of 64 bits only, and its base has none");
    }
    let mut instances = object.instances();
    if instances.any(|instance| number(&instance, position).is_none()) {
        return Err("it has no value here, and Samba cannot say so");
    }
    Ok(wide)
}

/// The type with the same meaning and a size of 64 bits.
fn widened(counter_type: CounterType) -> Option<&'static TypeInfo> {
    let wide = CounterType(counter_type.0 & !SIZE_BITS | LARGE);
    let known = |wanted: CounterType| TYPES.iter().find(|info| info.value == wanted && !info.ours);
    let (narrow, wide) = (known(counter_type)?, known(wide)?);
    // Some types of another size have another meaning.
    let same = narrow.formula == wide.formula && narrow.denominator == wide.denominator;
    (same && !counter_type.is_text()).then_some(wide)
}

/// The name of an instance, with its parent: Samba has no parents.
fn full_name(instance: &SnapshotInstance<'_>) -> String {
    let own = instance.name().to_string_lossy();
    match instance.parent_instance() {
        Some(parent) => ascii(&format!("{}/{own}", parent.name().to_string_lossy())),
        None => ascii(&own),
    }
}

/// A text that Samba's reader takes: printable ASCII that is not too long.
fn ascii(text: &str) -> String {
    let letters =
        text.chars().map(|letter| if letter.is_ascii() && !letter.is_control() { letter } else { '?' });
    let all: String = letters.collect();
    match all.get(..LONGEST) {
        Some(begin) if all.len() > LONGEST => format!("{begin}..."),
        _ => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_32_bits_become_those_of_64_with_the_same_meaning() {
        for (narrow, wide) in [
            ("PERF_COUNTER_RAWCOUNT", Some("PERF_COUNTER_LARGE_RAWCOUNT")),
            ("PERF_COUNTER_COUNTER", Some("PERF_COUNTER_BULK_COUNT")),
            ("PERF_COUNTER_LARGE_RAWCOUNT", Some("PERF_COUNTER_LARGE_RAWCOUNT")),
            ("PERF_RAW_FRACTION", Some("PERF_LARGE_RAW_FRACTION")),
            ("PERF_100NSEC_TIMER", Some("PERF_100NSEC_TIMER")),
            ("PERF_AVERAGE_TIMER", None),
            ("PERF_COUNTER_TEXT", None),
        ] {
            let of_name = |name: &str| TYPES.iter().find(|info| info.name == name).unwrap();
            let found = widened(of_name(narrow).value).map(|info| info.name);
            assert_eq!(found, wide, "{narrow}");
        }
    }

    #[test]
    fn texts_fit_samba() {
        assert_eq!(ascii("Größe\n"), "Gr??e?");
        let long = ascii(&"x".repeat(1000));
        assert!(long.len() < 256 && long.ends_with("x..."), "{long}");
    }
}
