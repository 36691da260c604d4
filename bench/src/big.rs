//! A large BLG with the structure of a Windows sample: its records again and again, of one machine or of
//! many.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use tallymon_core::time::FileTime;
use tallymon_log::blg::{BlgWriter, Data, Entry, RawCounter, WriteOptions};
use tallymon_log::{ReadOptions, open};

/// The sample, where `TALLYMON_TESTDATA` names its folder.
pub fn sample() -> Option<PathBuf> {
    let folder = std::env::var_os("TALLYMON_TESTDATA")?;
    Some(PathBuf::from(folder).join("logs/Tx_BasicPerfCounters.blg")).filter(|sample| sample.exists())
}

/// The length of the log to make: 1 GB, or what `TALLYMON_BENCH_BYTES` says.
pub fn wanted_bytes() -> u64 {
    let bytes = std::env::var("TALLYMON_BENCH_BYTES").ok();
    bytes.and_then(|text| text.parse().ok()).unwrap_or(1 << 30)
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}

/// Writes the records of the sample repeatedly, with advancing times, until the log is large enough. Returns
/// how many there are.
///
/// # Panics
///
/// The sample cannot be read, or the log not written.
pub fn write(sample: &Path, big: &Path, wanted: u64, hosts: u32) -> u64 {
    let mut log = open(sample, &ReadOptions::default()).expect("the sample can be read");
    let mut records = Vec::new();
    while let Some(record) = log.next_record().expect("the sample can be read") {
        records.push(record);
    }
    let columns = log.about().columns.clone();
    // One entry per counter. A wildcard has one entry for all instances, which form a group.
    let mut entries = Vec::new();
    let mut places: Vec<Vec<usize>> = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let joins = at > 0 && column.wild && columns[at - 1].group == column.group;
        match places.last_mut().filter(|_| joins) {
            Some(members) => members.push(at),
            None => places.push(vec![at]),
        }
    }
    for host in 0..hosts {
        for place in &places {
            let column = &columns[place[0]];
            let parts = column.parts.as_ref().expect("it is a path");
            let instance = parts.instance.as_ref().map(ToString::to_string);
            entries.push(Entry {
                flags: if column.wild { 0x2000_0001 } else { 0x2000_0000 },
                user: 0,
                counter_type: column.counter_type,
                time_base: column.time_base.0,
                scale: column.scale,
                machine: Some(format!("\\\\HOST{host}")),
                object: Some(parts.object.to_string()),
                instance: if column.wild { Some("*".to_owned()) } else { instance },
                parent: None,
                instance_index: 0,
                counter: Some(parts.counter.to_string()),
            });
        }
    }
    let names: Vec<std::sync::Arc<str>> = columns
        .iter()
        .map(|column| {
            let parts = column.parts.as_ref();
            parts
                .and_then(|parts| parts.instance.as_ref())
                .map(ToString::to_string)
                .unwrap_or_default()
                .into()
        })
        .collect();
    let out = BufWriter::new(File::create(big).expect("it can be written"));
    let mut writer = BlgWriter::new(out, WriteOptions::default(), entries).expect("it can be written");
    let span = records.last().map_or(0, |last| last.time.0 - records[0].time.0 + 10_000_000);
    let mut count = 0;
    while size(big) < wanted {
        for record in &records {
            let later = span * (count / records.len() as u64);
            let time = FileTime(record.time.0 + later);
            let raw = |at: usize| match record.cells.get(at) {
                Some(Ok(sample)) => RawCounter {
                    status: 0,
                    time: FileTime(sample.time.0 + later),
                    first: sample.first.cast_signed(),
                    second: sample.second.cast_signed(),
                    multi_count: sample.multi_count,
                },
                _ => RawCounter { status: 0xc000_0bba, time, ..RawCounter::default() },
            };
            let values: Vec<Data> = places
                .iter()
                .map(|members| {
                    let first = raw(members[0]);
                    if !columns[members[0]].wild {
                        return Data::Single(first);
                    }
                    let item = |at: &usize| {
                        let value = raw(*at);
                        (names[*at].clone(), 1, value.first, value.second)
                    };
                    Data::Multi { status: 0, time: first.time, items: members.iter().map(item).collect() }
                })
                .collect();
            let all: Vec<Data> = (0..hosts).flat_map(|_| values.iter().cloned()).collect();
            writer.record(time, time, &all).expect("it can be written");
            count += 1;
        }
    }
    writer.finish().expect("it can be written");
    count
}
