//! Objects, counters, instances, explanations, the overview and contributors as JSON.

use serde_json::{Value, json};
use tallymon::core::time::FileTime;
use tallymon::core::title::TitleIndex;
use tallymon::core::visible::visible;
use tallymon::{CatalogObject, Explanation, InstanceKey, Log, LogSummary, Names, Reading, SourceInfo};
use tallymon_monitor::model::overview::{Folded, Gauge, Overview, SensorKind};
use tallymon_monitor::model::{HostRow, HostState, TopGroup, TopInstance, tag_of};

use crate::chart::{is_number, number};
use crate::http::Refused;
use crate::parameters::milliseconds;
use crate::process_list::{self, ProcessTexts};

/// How many faults of a log are named.
const MOST_FAULTS: usize = 5;
/// The most counters that a search finds.
const MOST_FOUND: usize = 200;
/// How many rows a gauge shows, and that of all processors.
const GAUGE_ROWS: usize = 60;
const WIDE_ROWS: usize = 150;

/// A machine on the page of all.
pub(crate) fn host_row(row: &HostRow) -> Value {
    let (state, retry) = match &row.state {
        HostState::Opening => ("opening", None),
        HostState::Live => ("live", None),
        HostState::Late(_) => ("late", None),
        // While it is tried again there is nothing left to wait for.
        HostState::Failed { retry, .. } => ("failed", retry.filter(|left| !left.is_zero())),
    };
    let load = row.load.clone().unwrap_or_default();
    let clock = row.clock.map(|clock| {
        json!({ "seconds": clock.seconds(), "error": clock.error_seconds(), "certain": clock.is_certain() })
    });
    json!({
        "name": visible(&row.name), "state": state, "retry": retry.map(|time| time.as_secs_f64()),
        "age": row.age.map(|age| age.as_secs_f64()), "clock": clock,
        "processor": load.busy.map(number), "memory": load.memory.map(number), "disk": load.disk.map(number),
        "diskBytes": load.disk_bytes.map(number), "network": load.network.map(number),
        "pressure": load.pressure.map(|share| share.map(number)), "paging": load.paging.map(number),
        "queue": load.queue.map(number),
    })
}

/// The objects of a source.
pub(crate) fn objects(info: &SourceInfo) -> Value {
    let names = &info.names;
    let object = |object: &CatalogObject| {
        json!({
            "index": object.name.0,
            "name": visible(&names.name(object.name)),
            "english": names.english(object.name),
            "help": names.help(object.help).map(visible),
            "instances": object.has_instances,
            "costly": object.costly,
            "detail": object.detail_level.name(),
            "counters": object.visible_counters().count(),
        })
    };
    info.catalog.objects().iter().map(object).collect()
}

/// The counters of an object.
pub(crate) fn counters(info: &SourceInfo, object: &str) -> Result<Value, Refused> {
    let object = find(info, object)?;
    let default = object.first_shown().map(|counter| counter.name);
    Ok(object.visible_counters().map(|counter| one_counter(info, object, counter, default)).collect())
}

/// Counters that some words mean, best first.
pub(crate) fn search(info: &SourceInfo, words: &str) -> Value {
    let hits = tallymon::search(&info.names, &info.catalog, words);
    let counters = hits.iter().take(MOST_FOUND).filter_map(|hit| {
        let object = info.catalog.object(hit.object)?;
        let counter = object.counter(hit.counter)?;
        let mut one = one_counter(info, object, counter, None);
        one["object"] = json!(object.name.0);
        one["objectName"] = json!(visible(&info.names.name(object.name)));
        one["objectEnglish"] = json!(info.names.english(object.name));
        one["instances"] = json!(object.has_instances);
        Some(one)
    });
    counters.collect()
}

fn one_counter(
    info: &SourceInfo,
    _object: &CatalogObject,
    counter: &tallymon::core::block::CounterDefinition,
    default: Option<TitleIndex>,
) -> Value {
    let (names, kind) = (&info.names, counter.counter_type);
    json!({
        "index": counter.name.0,
        "name": visible(&names.name(counter.name)),
        "english": names.english(counter.name),
        "help": names.help(counter.help).map(visible),
        "type": kind.to_string(),
        "meaning": kind.info().map(|info| info.summary),
        "formula": kind.info().map(|info| info.formula),
        "unit": kind.suffix().as_str(),
        "scale": counter.default_scale,
        "detail": counter.detail_level.name(),
        "default": default == Some(counter.name),
    })
}

/// An object by its number, or its name in any language.
pub(crate) fn find<'i>(info: &'i SourceInfo, text: &str) -> Result<&'i CatalogObject, Refused> {
    let number = text.parse().ok().map(TitleIndex);
    let by_number = number.and_then(|number| info.catalog.object(number));
    let by_name = || info.catalog.objects().iter().find(|object| info.names.is(object.name, text));
    by_number.or_else(by_name).ok_or_else(|| {
        Refused::not_found(format!("no object {:?}; /api/v1/objects lists them", visible(text)))
    })
}

/// Names of instances.
pub(crate) fn instances(keys: &[InstanceKey]) -> Value {
    let one = |key: &InstanceKey| {
        let name = key.to_string();
        json!({ "name": name, "shown": visible(&name) })
    };
    keys.iter().map(one).collect()
}

/// What a counter means, in every language, with its numbers.
pub(crate) fn explanation(
    found: &Explanation,
    names: &Names,
    reading: &Reading,
    origin: Option<&str>,
) -> Value {
    let (object, counter) = (reading.object, reading.counter);
    let definition = &reading.definition;
    let helps = names
        .all_help(definition.help)
        .map(|(language, text)| json!({ "language": tag_of(language), "text": visible(text) }));
    let texts = |index| -> Value {
        names
            .all(index)
            .map(|(language, name)| json!({ "language": tag_of(language), "name": visible(name) }))
            .collect()
    };
    let value = match &found.value {
        Ok(value) => json!({ "number": value.as_f64().map(number), "text": text(value) }),
        Err(why) => json!({ "missing": why.to_string() }),
    };
    json!({
        "path": found.path, "shown": visible(&found.local_path), "indexPath": found.index_path,
        "objectHelp": found.object_help.as_deref().map(visible), "help": found.help.as_deref().map(visible),
        "type": found.counter_type, "typeNumber": definition.counter_type.0, "meaning": found.meaning,
        "unit": found.unit, "formula": found.formula, "numbers": found.numbers, "value": value,
        "scale": found.default_scale,
        "detail": found.detail, "objectNames": texts(object), "counterNames": texts(counter),
        "helps": helps.collect::<Vec<_>>(), "origin": origin.map(visible),
    })
}

/// A value in full; a text as it may be shown.
fn text(value: &tallymon::core::flow::Value) -> String {
    match value {
        tallymon::core::flow::Value::Number(number) => number.to_string(),
        tallymon::core::flow::Value::Integer(number) => number.to_string(),
        tallymon::core::flow::Value::Text(text) => visible(text).into_owned(),
        _ => String::new(),
    }
}

/// The largest instances at a time.
pub(crate) fn contributors(time: Option<FileTime>, groups: &[TopGroup], names: &Names) -> Value {
    let group = |group: &TopGroup| {
        let one = |one: &TopInstance| {
            let value = number(one.value);
            json!({ "name": visible(&one.name), "path": one.path, "value": value })
        };
        let instances: Vec<Value> = group.instances.iter().map(one).collect();
        let unit = group.counter_type.suffix().as_str();
        // A title without a name is that of a program that has ended.
        let title = |object: String, counter: String| {
            let has_no_name = is_number(&object, group.object) || is_number(&counter, group.counter);
            let title = if has_no_name { group.title.clone() } else { format!("{object}: {counter}") };
            visible(&title).into_owned()
        };
        json!({
            "title": title(names.name(group.object), names.name(group.counter)),
            "english": title(names.english(group.object), names.english(group.counter)),
            "unit": unit, "instances": instances,
        })
    };
    json!({ "time": time.map(milliseconds), "groups": groups.iter().map(group).collect::<Vec<_>>() })
}

/// The overview at a time, with the processes that are wanted.
pub(crate) fn overview(
    model: &Overview,
    time: Option<FileTime>,
    wanted: &process_list::Wanted,
    texts: Option<&ProcessTexts>,
) -> Value {
    let view = model.view(time, GAUGE_ROWS, WIDE_ROWS);
    let (processors, memory, pressure) = (&view.processors, &view.memory, &view.pressure);
    let each = processors.each.iter().map(|(name, one)| named(name, [("busy", gauge(one))]));
    let parts = memory.parts().map(|parts| parts.map(number));
    let left_out = view.time.map_or(0, |time| model.processes.left_out(time));
    json!({
        "time": view.time.map(milliseconds),
        "processors": {
            "each": each.collect::<Vec<_>>(), "total": gauge(&processors.total),
            "user": gauge(&processors.user), "kernel": gauge(&processors.kernel),
            "queue": gauge(&processors.queue), "processes": gauge(&processors.processes),
            "threads": gauge(&processors.threads), "switches": gauge(&processors.switches),
            "up": gauge(&processors.up), "load": processors.load.each_ref().map(gauge),
            "waitingForDisk": gauge(&processors.waiting_for_disk), "stolen": gauge(&processors.stolen),
            "speed": gauge(&processors.speed),
        },
        "memory": {
            "total": memory.total.map(number), "parts": parts, "share": memory.share(),
            "available": gauge(&memory.available), "committed": gauge(&memory.committed),
            "limit": gauge(&memory.limit), "swap": gauge(&memory.swap),
            "swapSize": memory.swap_size.map(number), "paging": gauge(&memory.paging),
        },
        "disks": view.disks.iter().map(|disk| named(&disk.name, [
            ("busy", gauge(&disk.busy)), ("read", gauge(&disk.read)), ("write", gauge(&disk.write)),
            ("latency", gauge(&disk.latency)), ("queue", gauge(&disk.queue)),
        ])).collect::<Vec<_>>(),
        "idleDisks": folded(&view.idle_disks),
        "fileSystems": view.file_systems.iter().map(|one| named(&one.name, [
            ("share", gauge(&one.share)), ("used", one.used.map_or(Value::Null, number)),
            ("free", gauge(&one.free)), ("size", one.size.map_or(Value::Null, number)),
        ])).collect::<Vec<_>>(),
        "otherFileSystems": folded(&view.other_file_systems),
        "sensors": view.sensors.iter().map(|one| named(&one.name, [
            ("kind", sensor_kind(one.kind).into()), ("gauge", gauge(&one.gauge)),
        ])).collect::<Vec<_>>(),
        "containers": view.containers.iter().map(|one| named(&one.name, [
            ("busy", gauge(&one.busy)), ("memory", gauge(&one.memory)),
            ("received", gauge(&one.received)), ("sent", gauge(&one.sent)),
        ])).collect::<Vec<_>>(),
        "graphics": view.graphics.iter().map(|one| named(&one.name, [
            ("busy", gauge(&one.busy)), ("own", gauge(&one.own)), ("shared", gauge(&one.shared)),
        ])).collect::<Vec<_>>(),
        "interfaces": view.interfaces.iter().map(|one| named(&one.name, [
            ("received", gauge(&one.received)), ("sent", gauge(&one.sent)),
            ("speed", one.speed.map_or(Value::Null, number)),
            ("totals", one.totals.iter().map(|total| total.map_or(Value::Null, number)).collect()),
            ("addresses", one.addresses.iter().map(|address| Value::from(visible(address))).collect()),
        ])).collect::<Vec<_>>(),
        "idleInterfaces": folded(&view.idle_interfaces),
        "pressure": {
            "processor": gauge(&pressure.processor),
            "memory": pressure.memory.each_ref().map(gauge), "disk": pressure.disk.each_ref().map(gauge),
        },
        "processes": view.processes.map(|rows| wanted.json(&rows, left_out, texts)),
    })
}

/// The word of a kind of sensor; the page knows its unit.
const fn sensor_kind(kind: SensorKind) -> &'static str {
    match kind {
        SensorKind::Temperature => "temperature",
        SensorKind::Charge => "charge",
        SensorKind::Power => "power",
        SensorKind::Fan => "fan",
    }
}

fn named<const N: usize>(name: &str, fields: [(&str, Value); N]) -> Value {
    let mut one = json!({ "name": visible(name) });
    for (field, value) in fields {
        one[field] = value;
    }
    one
}

/// A number, or why there is none, with what it was before.
fn gauge(gauge: &Gauge) -> Value {
    let history: Vec<Value> =
        gauge.history.iter().map(|value| number((f64::from(*value) * 1000.0).round() / 1000.0)).collect();
    match &gauge.value {
        Ok(value) => json!({ "value": number(*value), "history": history, "path": gauge.path }),
        Err(why) => {
            json!({ "value": null, "missing": why.to_string(), "history": history, "path": gauge.path })
        }
    }
}

fn folded(folded: &Folded) -> Value {
    let names: Vec<_> = folded.names.iter().map(|name| visible(name)).collect();
    json!({ "names": names, "sums": folded.sums.map(number) })
}

/// What is known of a log that is open.
pub(crate) fn log(log: &Log, about: &mut Value) {
    let summary = log.summary();
    about["format"] = json!(summary.format.info().name);
    about["records"] = json!(summary.records);
    about["first"] = json!(milliseconds(summary.first));
    about["last"] = json!(milliseconds(summary.last));
    about["columns"] = json!(log.columns().len());
    let names = summary.hosts.iter().map(|host| visible(host));
    about["hosts"] = names.map(|name| json!(name)).collect();
    about["minutes"] = json!(summary.local_minutes);
    about["clock"] = clock(summary);
    // Of a log that was opened by its contents, also what was met since.
    about["damage"] = json!(summary.notes.damage_count.saturating_add(log.met().damage_count));
    let (first, met) = (&summary.notes.damage, &log.met().damage);
    about["faults"] =
        first.iter().chain(met).take(MOST_FAULTS).map(|fault| json!(visible(&fault.to_string()))).collect();
    let seconds = summary.last.0.saturating_sub(summary.first.0) as f64 / 1e7;
    let steps = summary.records.saturating_sub(1);
    about["interval"] = json!((steps > 0).then(|| seconds / steps as f64));
}

/// Adds the logs of a session that cannot be read to what is wrong in it.
pub(crate) fn unread(logs: &[String], about: &mut Value) {
    about["damage"] = json!(about["damage"].as_u64().unwrap_or_default().saturating_add(logs.len() as u64));
    if let Some(faults) = about["faults"].as_array_mut() {
        faults.splice(0..0, logs.iter().map(|words| json!(visible(words))));
        faults.truncate(MOST_FAULTS);
    }
}

/// The clock of a log: its zone at the first record, and from when on it is how many minutes from UTC.
pub(crate) fn clock(summary: &LogSummary) -> Value {
    let clock = &summary.clock;
    let (name, bias) = clock.zone_label(summary.first);
    let (minutes, sign) = (bias.unsigned_abs(), if bias > 0 { '-' } else { '+' });
    let distance = format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    let zone = if name.starts_with("UTC") { name } else { format!("{name}, {distance}") };
    let changes = clock.changes().iter().map(|(time, minutes)| json!([milliseconds(*time), minutes]));
    json!({
        "zone": (!clock.is_zone_unknown()).then(|| visible(&zone)),
        "changes": changes.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_machine_that_is_tried_again_now_has_no_time_until_then() {
        let shown = |retry| {
            let state = HostState::Failed { why: "gone".into(), retry };
            let row = HostRow { name: "db1".into(), place: 0, state, age: None, clock: None, load: None };
            host_row(&row)["retry"].clone()
        };
        assert_eq!(shown(Some(Duration::ZERO)), Value::Null);
        assert_eq!(shown(Some(Duration::from_secs(2))), json!(2.0));
    }
}
