//! "Tallymon Provider": the health and cost of each source of counters.
//!
//! It has one instance per source: built-in objects by their names, libraries and programs by their own. A
//! source returns a [`SourceStatus`]; only this module knows the object.

use std::time::Duration;

use tallymon_core::title::{Language, Titles};
use tallymon_provider::{
    Absence, CounterSpec, CounterType, DetailLevel, Finding, FindingState, Frequency, Health, InstanceKind,
    ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime, SourceName, SourceStatus, TitleIndex,
};

use crate::titles;

/// The index of the object.
pub(crate) const NAME: TitleIndex = TitleIndex(990_000);

/// Bytes of the text with the reason: 127 characters and the terminator.
const REASON_BYTES: u32 = 256;
/// Bytes of the text with the codes of languages: so many, with a space behind each, or the terminator.
const MOST_LANGUAGES: usize = 8;
const LANGUAGES_BYTES: u32 = 64;

/// A counter; its help follows its name.
const fn counter(
    name: u32,
    counter_type: CounterType,
    scale: i32,
    detail: DetailLevel,
    size: Option<u32>,
) -> CounterSpec {
    CounterSpec { scale, detail, size, ..CounterSpec::new(TitleIndex(name), counter_type) }
}

/// The counters; [`fn@write`] sets them in this order.
const COUNTERS: &[CounterSpec] = &[
    counter(990_002, CounterType::PERF_AVERAGE_TIMER, 5, DetailLevel::ADVANCED, Some(8)),
    counter(990_002, CounterType::PERF_AVERAGE_BASE, 0, DetailLevel::ADVANCED, None),
    counter(990_004, CounterType::PERF_100NSEC_TIMER, 0, DetailLevel::ADVANCED, None),
    counter(990_006, CounterType::PERF_COUNTER_BULK_COUNT, 0, DetailLevel::ADVANCED, None),
    counter(990_008, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, -6, DetailLevel::ADVANCED, None),
    counter(990_010, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, DetailLevel::ADVANCED, None),
    counter(990_012, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, DetailLevel::NOVICE, None),
    counter(990_014, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, DetailLevel::NOVICE, None),
    counter(990_016, CounterType::PERF_COUNTER_LARGE_RAWCOUNT, 0, DetailLevel::NOVICE, None),
    counter(990_018, CounterType::PERF_COUNTER_RAWCOUNT, 1, DetailLevel::NOVICE, None),
    counter(990_020, CounterType::PERF_COUNTER_TEXT, 0, DetailLevel::NOVICE, Some(REASON_BYTES)),
    counter(990_022, CounterType::PERF_COUNTER_TEXT, 0, DetailLevel::ADVANCED, Some(LANGUAGES_BYTES)),
];

/// The object's definition.
pub(crate) const SPEC: ObjectSpec<'static> = ObjectSpec {
    detail: DetailLevel::ADVANCED,
    status: true,
    ..ObjectSpec::new(NAME, InstanceKind::Many, COUNTERS)
};

/// Writes the object, one instance per source. Of two sources with the same name, the second gets a number
/// after it.
pub(crate) fn write(sources: &[SourceStatus], out: &mut ObjectsWriter<'_>) {
    let english = titles::titles(Language::ENGLISH).unwrap_or_default();
    let layout = ObjectLayout::new(SPEC);
    let mut object = out.object(&layout, PerfTime(0), Frequency(0));
    for source in sources {
        let SourceStatus { name, collections, busy, last, errors, late, restarts, health, reason, languages } =
            source;
        let mut block = object.instance(&words(name, &english), None, None);
        let busy = units(*busy);
        block.set(0, busy);
        block.set(1, *collections);
        block.set(2, busy);
        block.set(3, *collections);
        if *collections > 0 {
            block.set(4, nanoseconds(*last));
        } else {
            block.absent([4], Absence::FirstSample);
        }
        block.set(5, *collections);
        block.set(6, *errors);
        block.set_or(7, *late, Absence::NotFromThisDevice);
        block.set_or(8, *restarts, Absence::NotFromThisDevice);
        block.set(9, u64::from(*health as u8));
        block.set_text(10, if reason.is_empty() { health.word() } else { reason });
        let known = match name {
            SourceName::Object(index) => titles::languages_of(*index),
            SourceName::Named(_) => languages,
        };
        let codes: Vec<String> = known.iter().take(MOST_LANGUAGES).map(ToString::to_string).collect();
        block.set_text(11, &codes.join(" "));
    }
}

/// The line of `tally doctor` about a built-in object; other sources describe themselves in more detail.
pub(crate) fn finding(source: &SourceStatus, english: &Titles) -> Option<Finding> {
    let SourceName::Object(_) = source.name else { return None };
    let state = match source.health {
        Health::NotAsked | Health::Healthy => FindingState::Good,
        Health::Degraded => FindingState::Limited,
        Health::Unsupported | Health::Failed => FindingState::Missing,
    };
    let mut detail = match source.health {
        Health::NotAsked => format!("{}: it costs much, and is read by name only", source.health.word()),
        health => format!("{} in {:.0?}", health.word(), source.last),
    };
    if !source.reason.is_empty() {
        detail = format!("{detail}; {}", source.reason);
    }
    let remedy = source.health.remedy(&source.reason);
    let subject = format!("object {}", words(&source.name, english));
    Some(Finding { subject, state, detail, remedy: remedy.to_string() })
}

/// The name of the instance of a source.
fn words(name: &SourceName, english: &Titles) -> String {
    match name {
        SourceName::Object(index) => {
            english.name(*index).map_or_else(|| index.0.to_string(), ToString::to_string)
        }
        SourceName::Named(name) => name.clone(),
    }
}

/// In units of 100 ns, the ticks of the performance clock.
fn units(time: Duration) -> u64 {
    nanoseconds(time) / 100
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_core::block::{BlockWriter, Snapshot, WriteHeader};
    use tallymon_core::flow::{NoValue, ValueState};
    use tallymon_core::time::FileTime;

    /// The object that these sources make.
    fn snapshot(sources: &[SourceStatus]) -> Snapshot {
        let header = WriteHeader {
            system_name: "here",
            default_object: -1,
            perf_time: PerfTime(1),
            perf_freq: Frequency(10_000_000),
            perf_time_100ns: FileTime(1),
            system_time: FileTime(1),
        };
        let mut buffer = Vec::new();
        let mut writer = BlockWriter::growing(&mut buffer, &header);
        write(sources, writer.objects());
        writer.finish().unwrap();
        Snapshot::new(buffer).unwrap()
    }

    #[test]
    fn sources_are_instances() {
        let library = SourceStatus {
            collections: 3,
            busy: Duration::from_micros(70),
            last: Duration::from_nanos(20_001),
            errors: 1,
            late: Some(2),
            restarts: Some(4),
            health: Health::Failed,
            reason: "it crashed".into(),
            languages: [Language::ENGLISH, Language::GERMAN].into(),
            ..SourceStatus::new(SourceName::Named("service Gadgets".to_string()))
        };
        let snapshot = snapshot(&[SourceStatus::new(SourceName::Object(TitleIndex(238))), library]);
        let object = snapshot.object(NAME).unwrap();
        let instances: Vec<_> = object.instances().collect();
        let first =
            |instance: usize, position| instances[instance].sample(position).map(|sample| sample.first);
        assert_eq!(instances[0].name().to_string_lossy(), "Processor");
        assert_eq!(first(0, 4), Err(NoValue::NoData(Absence::FirstSample)));
        assert_eq!(first(0, 7), Err(NoValue::NoData(Absence::NotFromThisDevice)));
        assert_eq!(instances[0].text(10).as_deref(), Some("not asked"));
        assert_eq!(instances[0].text(11).as_deref(), Some("009 012 011 019"));
        assert_eq!(instances[1].text(11).as_deref(), Some("009 007"));
        assert_eq!(instances[1].name().to_string_lossy(), "service Gadgets");
        let values: Vec<u64> = (0..10).map(|position| first(1, position).unwrap()).collect();
        assert_eq!(values, [700, 3, 700, 3, 20_001, 3, 1, 2, 4, 4]);
        assert_eq!(instances[1].sample(0).map(|sample| sample.second), Ok(3));
        assert_eq!(instances[1].text(10).as_deref(), Some("it crashed"));
        assert_eq!(instances[1].state(10), ValueState::Present);
    }
}
