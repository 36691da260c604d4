//! Writes the values of an answer into the objects of a bridge.

use std::collections::{BTreeMap, HashMap};

use tallymon_core::block::{ObjectLayout, ReadWindow};
use tallymon_provider::{Absence, CounterBlockMut, Frequency, ObjectsWriter, PerfTime, TitleIndex};

use crate::catalog::{CatalogObject, CounterKind, chosen_labels};
use crate::metrics::{Metrics, Number, Role};
use crate::provider::read_info;

/// A series that the endpoint does not have now.
const MISSING: Absence = Absence::NotFromThisDevice;
/// 100 ns in a second.
const UNITS: u32 = 10_000_000;

/// The numbers of an instance: for each counter its value, and its base.
type Row = Vec<[Option<Number>; 2]>;

/// The instances of an object by the values of their labels, so that their order stays the same.
type Rows<'a> = BTreeMap<Vec<&'a str>, Row>;

/// An object of a bridge that can be written.
pub(crate) struct BridgeObject {
    pub(crate) catalog: CatalogObject,
    pub(crate) layout: ObjectLayout<'static>,
}

/// Writes the objects that are wanted. Returns how many series no counter has.
pub(crate) fn write(
    objects: &[BridgeObject],
    wanted: &[TitleIndex],
    metrics: &Metrics,
    chosen: Option<&[String]>,
    frequency: Frequency,
    window: ReadWindow,
    out: &mut ObjectsWriter<'_>,
) -> u64 {
    let places = places(objects);
    let mut rows: Vec<Rows<'_>> = objects.iter().map(|_| Rows::new()).collect();
    let mut unknown = 0u64;
    for series in &metrics.series {
        let (labels, texts): (Vec<&str>, Vec<&str>) = chosen_labels(series, chosen).unzip();
        let found = places.get(series.metric.as_str()).map(Vec::as_slice).unwrap_or_default();
        let mut is_known = metrics.role(&series.metric).1 == Role::Created;
        for (_, [object, counter, part]) in found.iter().filter(|(known, _)| *known == labels) {
            is_known = true;
            let counters = objects.get(*object).map_or(0, |object| object.catalog.counters.len());
            let Some(rows) = rows.get_mut(*object) else { continue };
            let row = rows.entry(texts.clone()).or_insert_with(|| vec![[None, None]; counters]);
            let Some(cell) = row.get_mut(*counter).and_then(|cell| cell.get_mut(*part)) else { continue };
            *cell = Some(match *cell {
                // Without chosen labels there is nothing to sum: the endpoint repeats itself.
                Some(before) if chosen.is_some() => before.plus(series.value),
                Some(before) => before,
                None => series.value,
            });
        }
        unknown = unknown.saturating_add(u64::from(!is_known));
    }
    for (object, rows) in objects.iter().zip(&rows) {
        let name = object.layout.spec().name;
        if !wanted.contains(&name) {
            continue;
        }
        let mut writer = out.object(&object.layout, PerfTime(0), Frequency(0));
        if object.catalog.labels.is_empty() {
            let none = vec![[None, None]; object.catalog.counters.len()];
            let row = rows.values().next().unwrap_or(&none);
            write_row(&mut writer.single(), &object.catalog, row, frequency);
        } else {
            for (texts, row) in rows {
                let mut block = writer.instance(&instance_name(texts), None, None);
                write_row(&mut block, &object.catalog, row, frequency);
            }
        }
        drop(writer);
        out.add_read_info(read_info(name, window), window.middle());
    }
    unknown
}

/// Object, counter, and value (0) or base (1), by metric and labels.
type Places<'a> = HashMap<String, Vec<(Vec<&'a str>, [usize; 3])>>;

fn places(objects: &[BridgeObject]) -> Places<'_> {
    let mut places = Places::new();
    for (n, object) in objects.iter().enumerate() {
        let labels: Vec<&str> = object.catalog.labels.iter().map(String::as_str).collect();
        for (position, counter) in object.catalog.counters.iter().enumerate() {
            let parts: &[(&str, usize)] =
                if counter.kind.has_base() { &[("_sum", 0), ("_count", 1)] } else { &[("", 0)] };
            for (ending, part) in parts {
                let metric = format!("{}{ending}", counter.metric);
                places.entry(metric).or_default().push((labels.clone(), [n, position, *part]));
            }
        }
    }
    places
}

fn write_row(block: &mut CounterBlockMut<'_>, object: &CatalogObject, row: &Row, frequency: Frequency) {
    let mut position = 0usize;
    for (counter, [value, base]) in object.counters.iter().zip(row) {
        let raw = value.map_or(Err(MISSING), |value| raw(counter.kind, value, frequency));
        let base = base.map_or(Err(MISSING), raw_count);
        match (raw, counter.kind.has_base(), base) {
            (Ok(value), true, Ok(base)) => {
                block.set(position, value);
                block.set(position.saturating_add(1), base);
            }
            (Ok(value), false, _) => block.set(position, value),
            (Err(why), ..) | (Ok(_), true, Err(why)) => block.set_or(position, None, why),
        }
        position = position.saturating_add(if counter.kind.has_base() { 2 } else { 1 });
    }
}

/// The raw value of a counter.
fn raw(kind: CounterKind, value: Number, frequency: Frequency) -> Result<u64, Absence> {
    match kind {
        CounterKind::Count
        | CounterKind::Average
        | CounterKind::Whole
        | CounterKind::HitRate
        | CounterKind::Share => raw_count(value),
        CounterKind::Seconds => scaled(value, f64::from(UNITS)),
        #[allow(clippy::cast_precision_loss, reason = "clocks tick far less than 2^53 times a second")]
        CounterKind::AverageSeconds => scaled(value, frequency.0 as f64),
        CounterKind::Gauge => Ok(value.float.to_bits()),
    }
}

/// The whole part of a count.
fn raw_count(value: Number) -> Result<u64, Absence> {
    value.whole.map_or_else(|| whole(value.float.floor()), Ok)
}

fn scaled(value: Number, factor: f64) -> Result<u64, Absence> {
    whole((value.float * factor).round())
}

/// A whole number of 64 bits; what is negative, too large or no number has none.
fn whole(number: f64) -> Result<u64, Absence> {
    /// 2^64.
    const END: f64 = 18_446_744_073_709_551_616.0;
    if !(0.0..END).contains(&number) {
        return Err(Absence::OutOfRange);
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in the range")]
    Ok(number as u64)
}

/// The instance of a series: the values of its labels. No label of another program is `_Total`.
pub(crate) fn instance_name(texts: &[&str]) -> String {
    let name = texts.join(",");
    let name: String = name.chars().map(|letter| if letter.is_control() { '_' } else { letter }).collect();
    if name == "_Total" { "[_Total]".to_owned() } else { name }
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
