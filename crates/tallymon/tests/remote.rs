//! Another machine through frames: the same values as here, for every counter type.
#![forbid(unsafe_code)]
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use tallymon::Query;
use tallymon::remote::frames::FrameError;
use tallymon::remote::peer::{Connection, Dial, PeerSource};
use tallymon::remote::serve;
use tallymon_core::block::{
    BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon_core::counter::TYPES;
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::Request;
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{Language, TitleIndex, Titles};

const OBJECT: TitleIndex = TitleIndex(10_000);

/// One object with a counter of every type, two instances, and other values in each sample.
struct EveryType {
    counters: Vec<CounterSpec>,
    sample: u64,
}

impl EveryType {
    fn new() -> EveryType {
        let mut counters = Vec::new();
        for (at, info) in (0u32..).zip(TYPES.iter().filter(|info| info.visible && !info.ours)) {
            let name = TitleIndex(10_002 + 2 * at);
            let size = info.value.to_string().contains("TEXT").then_some(32);
            counters.push(CounterSpec { size, ..CounterSpec::new(name, info.value) });
            if let Some(base) = info.base {
                counters.push(CounterSpec::new(name, base));
            }
        }
        EveryType { counters, sample: 0 }
    }
}

impl Source for EveryType {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let is_metadata = request.to_string().starts_with("Metadata");
        let sample = self.sample;
        self.sample += u64::from(!is_metadata);
        let layout = ObjectLayout::new(ObjectSpec::new(OBJECT, InstanceKind::Many, &self.counters));
        let seconds = 10 + sample;
        let header = WriteHeader {
            system_name: "FAR",
            default_object: -1,
            perf_time: PerfTime(seconds.cast_signed() * 10_000_000),
            perf_freq: Frequency(10_000_000),
            perf_time_100ns: FileTime(132_000_000_000_000_000 + seconds * 10_000_000),
            system_time: FileTime(132_000_000_000_000_000 + seconds * 10_000_000),
        };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        let mut object =
            writer.objects().object(&layout, PerfTime(seconds.cast_signed() * 1000), Frequency(1000));
        if is_metadata {
            object.metadata();
        } else {
            for (number, name) in [(1, "one"), (2, "데이터 #2")] {
                let mut values = object.instance(name, None, Some(number));
                for (at, counter) in self.counters.iter().enumerate() {
                    match counter.size {
                        Some(_) => values.set_text(at, &format!("text {sample}")),
                        None => values
                            .set(at, (at as u64 + 3) * 1_000 * (sample + 1) * number.unsigned_abs() as u64),
                    }
                }
            }
            drop(object);
        }
        writer.finish().unwrap();
        Ok(Snapshot::new(bytes)?)
    }

    fn titles(&mut self, _: Language) -> Result<Titles, SourceError> {
        let mut titles = Titles::new();
        titles.insert_name(OBJECT, "Every Type");
        for counter in &self.counters {
            titles.insert_name(counter.name, format!("Counter {}", counter.name.0));
        }
        Ok(titles)
    }

    fn trouble(&self, object: TitleIndex) -> Option<String> {
        (object == OBJECT).then(|| "half of it is asleep".to_string())
    }
}

/// Connects to a thread that serves a source.
struct Threads;

struct Stream(UnixStream);

impl Dial for Threads {
    fn dial(&mut self) -> Result<Box<dyn Connection>, SourceError> {
        let (here, there) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            let (mut input, mut output) = (there.try_clone().unwrap(), there);
            serve(&mut EveryType::new(), &mut input, &mut output)
        });
        Ok(Box::new(Stream(here)))
    }

    fn name(&self) -> String {
        "test://far".to_string()
    }
}

impl Connection for Stream {
    fn streams(&mut self) -> Option<(Box<dyn Read + Send>, Box<dyn Write + Send>)> {
        Some((Box::new(self.0.try_clone().ok()?), Box::new(self.0.try_clone().ok()?)))
    }

    fn diagnosis(&mut self, _: &FrameError) -> Option<(SourceErrorKind, String)> {
        None
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

/// The values of a source after each of some samples, and what they need.
fn values(source: Box<dyn Source>) -> Vec<String> {
    let mut query = Query::new(source, Language::ENGLISH).unwrap();
    query.add(r"\Every Type(*)\*").unwrap();
    let mut all = Vec::new();
    for _ in 0..3 {
        query.collect().unwrap();
        all.extend(query.readings().iter().map(|reading| {
            format!("{} {:?} {:?}", reading.path, reading.definition.counter_type, reading.cell)
        }));
    }
    all
}

#[test]
fn every_counter_type_has_the_same_value_here_and_through_frames() {
    let here = values(Box::new(EveryType::new()));
    let there = values(Box::new(PeerSource::new(Box::new(Threads), Duration::from_secs(30))));
    for (here, there) in here.iter().zip(&there) {
        assert_eq!(here, there);
    }
    let visible = TYPES.iter().filter(|info| info.visible && !info.ours).count();
    assert_eq!((here.len(), there.len()), (visible * 6, visible * 6));
    // The table is of values, not of reasons why there are none.
    let with_value = here.iter().filter(|line| line.contains("value: Ok")).count();
    assert!(with_value > visible * 4, "{with_value} of {}: {here:#?}", here.len());
}

#[test]
fn the_reason_for_old_values_travels_with_them() {
    let source = PeerSource::new(Box::new(Threads), Duration::from_secs(30)).named("web1");
    let mut query = Query::new(Box::new(source), Language::ENGLISH).unwrap();
    // Under the name in the address, and under that in its blocks.
    let handle = query.add(r"\\web1\Every Type(one)\Counter 10002").unwrap();
    query.add(r"\\far\Every Type(one)\Counter 10002").unwrap();
    assert!(query.add(r"\\web2\Every Type(one)\Counter 10002").is_err());
    query.collect().unwrap();
    assert_eq!(query.trouble(handle).as_deref(), Some("half of it is asleep"));
}
