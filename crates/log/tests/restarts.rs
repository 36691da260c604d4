//! Restarts of the hosts of a log: all of them are named, also when a host did not answer for a while.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use tallymon_core::counter::CounterType;
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};
use tallymon_log::blg::{BlgWriter, Data, Entry, RawCounter, WriteOptions};
use tallymon_log::info::holes_of;
use tallymon_log::new_file::Overwrite;
use tallymon_log::relog::{Options, relog, relog_to};
use tallymon_log::{Format, ReadOptions, Selection, info};
use tallymon_testkit::Scratch;

const START: u64 = 131_000_000_000_000_000;
const ROWS: u64 = 150;
const MACHINES: u64 = 26;
const NO_MACHINE: u32 = 0x8000_07d0;

fn entry(machine: u64, object: &str, instance: &str, counter: &str, counter_type: CounterType) -> Entry {
    Entry {
        flags: 0,
        user: 0,
        counter_type,
        time_base: 10_000_000,
        scale: 0,
        machine: Some(format!(r"\\m{machine:02}")),
        object: Some(object.to_owned()),
        instance: Some(instance.to_owned()),
        parent: None,
        instance_index: 0,
        counter: Some(counter.to_owned()),
    }
}

fn time(row: u64) -> FileTime {
    FileTime(START + row * 600 * UNITS_PER_SECOND)
}

/// The first rows after the restarts of a machine, and how many rows before each of them it did not answer.
const fn restarts(machine: u64) -> [(u64, u64); 2] {
    [(10 + machine, 1 + machine % 4), (80 + machine, machine % 2)]
}

/// A log of 26 machines, each of which starts twice and does not answer for a while before.
fn write_machines(path: &Path) {
    let timer = CounterType::PERF_100NSEC_TIMER_INV;
    let rate = CounterType::PERF_COUNTER_COUNTER;
    let entries = (0..MACHINES).flat_map(|machine| {
        [
            entry(machine, "Processor", "_Total", "% Processor Time", timer),
            // It wraps again and again, which is no restart.
            entry(machine, "Network Interface", "eth0", "Packets/sec", rate),
            // Another process takes the name in every row.
            entry(machine, "Process", "work", "% Processor Time", CounterType::PERF_100NSEC_TIMER),
        ]
    });
    let entries: Vec<Entry> = entries.collect();
    let file = File::create(path).unwrap();
    let mut writer = BlgWriter::new(file, WriteOptions::default(), entries).unwrap();
    for row in 0..ROWS {
        let local = time(row);
        let mut values = Vec::new();
        for machine in 0..MACHINES {
            let begun = restarts(machine).map(|(at, _)| at).into_iter().filter(|at| *at <= row).max();
            // Before the first restart the machine was up for a long time.
            let up = begun.map_or(row + 100_000, |begun| row - begun + 1);
            let is_silent = restarts(machine).iter().any(|(at, rows)| (*at - *rows..*at).contains(&row));
            let raw = |first: u64| RawCounter {
                status: if is_silent { NO_MACHINE } else { 0 },
                time: local,
                first: if is_silent { 0 } else { first.cast_signed() },
                second: if is_silent { 0 } else { local.0.cast_signed() },
                multi_count: 1,
            };
            values.push(Data::Single(raw(up * 3_000_000_000)));
            values.push(Data::Single(raw((row * 0x7000_0000) & 0xffff_ffff)));
            values.push(Data::Single(raw((ROWS - row) * 1000)));
        }
        writer.record(local, local, &values).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn all_restarts_of_all_machines_are_named() {
    let folder = Scratch::new();
    let path = folder.join("machines.blg");
    write_machines(&path);
    let info = info(&path, &ReadOptions::default()).unwrap();
    assert_eq!(info.hosts.len(), MACHINES as usize);
    for (machine, host) in (0..).zip(&info.hosts) {
        let expected = restarts(machine).map(|(row, _)| time(row));
        assert_eq!(host.restarts, expected, "{}", host.name);
    }
}

/// Logs that continue each other have what one log of all their records has, also between them.
#[test]
fn parts_of_a_log_have_its_restarts_and_gaps() {
    let folder = Scratch::new();
    let source = folder.join("machines.blg");
    write_machines(&source);
    let read = ReadOptions::default();
    let whole = holes_of(from_ref(&source), &read).unwrap();
    let about = info(&source, &read).unwrap();
    let hosts: Vec<_> = about.hosts.into_iter().map(|host| (host.name, host.restarts)).collect();
    assert_eq!((&whole.restarts, whole.objects, whole.gap_count), (&hosts, 3, 0));
    let mut parts = Vec::new();
    // The first machine starts with row 10, the seventh with row 86; other machines do not answer just then.
    for (nth, (from, to, format)) in
        [(0, 9, Format::Blg), (10, 85, Format::Tally), (86, ROWS, Format::Tally)].into_iter().enumerate()
    {
        let part = folder.join(format!("{nth}"));
        let select =
            Selection { from: Some(time(from).into()), to: Some(time(to).into()), ..Selection::default() };
        relog(from_ref(&source), &part, &Options { format, select, ..Options::default() }).unwrap();
        parts.push(part);
    }
    assert_eq!(holes_of(&parts, &read).unwrap(), whole);
    // Without the part between them there is a gap, and nothing else is lost.
    parts.remove(1);
    let holes = holes_of(&parts, &read).unwrap();
    assert_eq!((holes.gap_count, holes.gaps[0].after, holes.gaps[0].seconds), (1, time(9), 77.0 * 600.0));
    // Each machine has started since then, as its first answer behind the gap says.
    let has_started =
        |times: &[FileTime]| times.first().is_some_and(|first| (time(86)..=time(87)).contains(first));
    assert!(holes.restarts.iter().all(|(_, times)| has_started(times)), "{:?}", holes.restarts);
}

/// Native logs are cut into native logs: what they say is what the same cut of their source says.
#[test]
fn a_cut_native_log_keeps_values_restarts_gaps_and_names() {
    let folder = Scratch::new();
    let [source, whole, cut] = ["machines.blg", "whole.tally", "cut.tally"].map(|name| folder.join(name));
    write_machines(&source);
    let options = |format, select: &Selection, every| Options {
        format,
        select: select.clone(),
        every,
        overwrite: Overwrite::Replace,
        ..Options::default()
    };
    let all = Selection::default();
    relog(from_ref(&source), &whole, &options(Format::Tally, &all, NonZeroU32::MIN)).unwrap();
    let text = |path: &PathBuf, select: &Selection, every| {
        let mut out = Vec::new();
        relog_to(from_ref(path), &mut out, &options(Format::Csv, select, every)).unwrap();
        String::from_utf8(out).unwrap()
    };
    let range =
        |from, to| Selection { from: Some(time(from).into()), to: Some(time(to).into()), ..all.clone() };
    let processor = Selection { counters: vec![r"\\m07\Processor(*)\*".parse().unwrap()], ..range(12, 110) };
    let mut named = 0;
    for (select, every) in [
        (&all, 1),
        (&range(9, 100), 1),
        // It begins while machines do not answer, and ends just after a restart.
        (&range(15, 82), 1),
        (&range(40, 60), 1),
        (&range(20, 20), 1),
        (&all, 7),
        (&range(9, 100), 3),
        (&processor, 1),
    ] {
        let each = NonZeroU32::new(every).unwrap();
        relog(from_ref(&whole), &cut, &options(Format::Tally, select, each)).unwrap();
        let expected = text(&source, select, each);
        assert_eq!(text(&cut, &all, NonZeroU32::MIN), expected, "{select:?} {every}");
        assert_eq!(text(&whole, select, each), expected, "{select:?} {every}");
        // The same selection once more changes nothing.
        assert_eq!(text(&cut, select, NonZeroU32::MIN), expected, "{select:?} {every}");
        let direct = folder.join("direct.blg");
        relog(from_ref(&source), &direct, &options(Format::Blg, select, each)).unwrap();
        let [of_cut, of_direct] = [&cut, &direct].map(|path| info(path, &ReadOptions::default()).unwrap());
        assert_eq!(of_cut.records, of_direct.records);
        for (one, other) in of_cut.hosts.iter().zip(&of_direct.hosts) {
            assert_eq!((&one.name, &one.restarts), (&other.name, &other.restarts), "{select:?} {every}");
            named += one.restarts.len();
        }
        assert_eq!(of_cut.hosts.len(), of_direct.hosts.len());
    }
    assert!(named > 100, "{named}");
}
