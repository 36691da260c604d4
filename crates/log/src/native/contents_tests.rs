//! Long logs with contents at their end: what is taken from there is what reading all records gives, and
//! contents that are damaged or wrong change nothing.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, Sample, ValueState};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_testkit::Scratch;

use super::contents::{ChunkPlace, PART_ROWS, PartEntry, Table, decode_places, encode_places};
use super::schema::Instance;
use super::{Counter, Definition, NativeReader, NativeWriter, RowTime, WriteOptions};
use crate::stats::gather_of;
use crate::{Contents, LogClock, LogReader, LogTime, ReadOptions, Selection, Stats, open};

/// Numbers that look random and are the same in each run.
struct Random(tallymon_testkit::raw::Random);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0.below(most as u64) as usize
    }
}

fn random(seed: u64) -> Random {
    Random(tallymon_testkit::raw::Random::new(seed))
}

const SECOND: u64 = 10_000_000;
const START: u64 = 133_000_000_000_000_000;
/// Three parts and a rest.
const ROWS: u64 = 200_000;
const MOST_CHUNK: u64 = 240;

fn definition(object: &str, types: &[CounterType]) -> Definition {
    let counter = |(nth, counter_type): (usize, &CounterType)| Counter {
        name: format!("C{nth}"),
        counter_type: *counter_type,
        scale: 0,
        time_base: Frequency(10_000_000),
        group: u32::try_from(nth).unwrap(),
        wild: true,
    };
    let counters = types.iter().enumerate().map(counter).collect();
    Definition { host: "h".to_owned(), object: object.to_owned(), counters }
}

const TYPES: [CounterType; 5] = [
    CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
    CounterType::PERF_COUNTER_BULK_COUNT,
    CounterType::PERF_100NSEC_TIMER,
    CounterType::PERF_AVERAGE_BULK,
    CounterType::PERF_RAW_FRACTION,
];

/// Rates with resets, averages without operations, absences, an object that is seldom there, one that appears
/// late, processes, and a clock that is set back.
fn write(path: &Path) {
    let options = WriteOptions { statistics_from: Some(1), ..WriteOptions::sealed() };
    let mut writer = NativeWriter::create(path, options).unwrap();
    let often = writer.table(&definition("Often", &TYPES)).unwrap();
    let seldom = writer.table(&definition("Seldom", &TYPES[..2])).unwrap();
    let process = writer.table(&definition("Process", &TYPES[..1])).unwrap();
    let late = writer.table(&definition("Late", &TYPES[..1])).unwrap();
    let mut random = random(11);
    let (mut counts, mut base) = ([0u64; 5], 0u64);
    for row in 0..ROWS {
        let back = if (100_000..100_050).contains(&row) { 30 } else { 0 };
        let time = FileTime(START + (row - back) * SECOND + random.below(1000) as u64);
        let local_minutes = if row < 90_000 { 60 } else { 120 };
        writer.row(RowTime { time, local_minutes }).unwrap();
        let sample = |counter_type: CounterType, first: u64, second: u64| Sample {
            counter_type,
            first,
            second: if counter_type.needs_base() { second } else { time.0 },
            frequency: Frequency(10_000_000),
            multi_count: 1,
            time,
        };
        let id = writer.instance(often, Some("a")).unwrap();
        base += [0, 1, 7][random.below(3)];
        for (nth, counter_type) in TYPES.iter().enumerate() {
            let step = [0, 3, 1000, 123_456][random.below(4)] as u64;
            counts[nth] = if row % 70_001 == 70_000 { 0 } else { counts[nth] + step };
            let first = if nth == 0 { step } else { counts[nth] };
            let value = match random.below(200) {
                0 => Err(NoValue::NoData(Absence::AccessDenied)),
                1 => Err(NoValue::NoInstance),
                _ => Ok(sample(*counter_type, first, base)),
            };
            writer.put(id, nth, value, ValueState::Present);
        }
        if row == 3 || (66_000..66_100).contains(&row) {
            let id = writer.instance(seldom, None).unwrap();
            writer.put(id, 0, Ok(sample(TYPES[0], row, 0)), ValueState::Present);
            writer.put(id, 1, Ok(sample(TYPES[1], row * 7, 0)), ValueState::Present);
        }
        let id = writer.instance(process, Some(&format!("p{}", row / 30_000))).unwrap();
        writer.put(id, 0, Ok(sample(TYPES[0], row % 9, 0)), ValueState::Present);
        if row > 140_000 {
            let id = writer.instance(late, None).unwrap();
            writer.put(id, 0, Ok(sample(TYPES[0], row % 11, 0)), ValueState::Present);
        }
    }
    writer.seal().unwrap();
}

/// The log, made once.
fn long() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = Scratch::new();
        let path = folder.join("long.tally");
        write(&path);
        std::fs::read(path).unwrap()
    })
}

/// CRC-32C bit by bit, unlike the one under test.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    })
}

/// Makes the checksum of the record at a byte right.
fn mend(bytes: &mut [u8], at: usize) {
    let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
    let summed = [&bytes[at + 3..at + 8], &bytes[at + 12..at + 12 + length]].concat();
    bytes[at + 8..at + 12].copy_from_slice(&crc(&summed).to_le_bytes());
}

/// The records behind the chunks: kind, place, length of the body.
fn behind(bytes: &[u8]) -> Vec<(u8, usize, usize)> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let mut at = number(bytes.len() - 8);
    let mut found = Vec::new();
    while at < bytes.len() {
        assert_eq!(&bytes[at..at + 3], b"\xa7TL");
        let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        found.push((bytes[at + 3], at, length));
        at += 12 + length;
    }
    found
}

/// The contents of a log, and the byte where its chunks end.
fn table_of(bytes: &[u8]) -> (Table, u64) {
    let records = behind(bytes);
    let (_, at, length) = *records.iter().find(|(kind, ..)| *kind == b'T').unwrap();
    let end = records[0].1 as u64;
    (Table::decode(&bytes[at + 12..at + 12 + length], end).unwrap(), end)
}

/// The same log, whose contents no reader finds.
fn without(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = bytes.len() - 40;
    assert_eq!(bytes[at + 3], b'P');
    bytes[at + 3] = b'p';
    mend(&mut bytes, at);
    bytes
}

fn put(folder: &Scratch, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn contents_of(path: &Path) -> Option<Contents> {
    open(path, &ReadOptions::default()).unwrap().contents(true).unwrap()
}

/// Statistics whose percentiles are exact up to so many values in all columns; and the bytes that were read.
fn stats_of(path: &Path, selection: &Selection, exact: usize) -> (Stats, u64) {
    let options = ReadOptions::default();
    let paths = [path.to_path_buf()];
    let range = selection.range_of(&paths, &options).unwrap();
    let before = options.bytes_read.count();
    let mut found = gather_of(&paths, selection, range, &options, exact).unwrap();
    found.notes.clear();
    (found, options.bytes_read.count() - before)
}

fn selection(counters: &[&str], range: Option<(u64, u64)>) -> Selection {
    let time = |row: u64| LogTime::Utc(FileTime(START + row * SECOND));
    Selection {
        counters: counters.iter().map(|path| path.parse().unwrap()).collect(),
        from: range.map(|(from, _)| time(from)),
        to: range.map(|(_, to)| time(to)),
    }
}

#[test]
fn contents_say_what_a_scan_finds() {
    let folder = Scratch::new();
    let path = put(&folder, "a.tally", long());
    let contents = contents_of(&path).unwrap();
    assert!(contents_of(&put(&folder, "b.tally", &without(long()))).is_none());
    let mut scanned = open(&path, &ReadOptions::default()).unwrap();
    let (mut records, mut clock, mut growth) = (Vec::new(), LogClock::default(), Vec::new());
    scanned
        .scan(&mut |record| {
            clock.note(record.time, record.local_minutes);
            if growth.last().is_none_or(|(_, columns)| *columns < record.columns) {
                growth.push((records.len() as u64, record.columns));
            }
            records.push(record);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(contents.records, ROWS);
    assert_eq!(contents.records, records.len() as u64);
    assert_eq!((contents.first, contents.last), (records[0].time, records.last().unwrap().time));
    assert_eq!((contents.clock, contents.growth), (clock, growth));
    assert_eq!(contents.local_minutes, 120);
    assert_eq!(contents.columns, scanned.about().columns);
    assert_eq!(contents.parts.len(), 4);
    // From each place the same records follow as on the way from the beginning.
    let mut reader = open(&path, &ReadOptions::default()).unwrap();
    reader.contents(true).unwrap().unwrap();
    let mut count = 0;
    for nth in 0..contents.parts.len() {
        let places = reader.places(nth).unwrap();
        assert_eq!(places[0].count, contents.parts[nth].place.count);
        for place in places.iter().step_by(37) {
            assert!(reader.seek_to(place.position).unwrap());
            for record in records.iter().skip(place.count as usize).take(3) {
                let next = reader.next_record().unwrap().unwrap();
                assert_eq!((next.time, next.local_minutes), (record.time, record.local_minutes));
            }
        }
        count += places.len() as u64;
    }
    assert!(count >= ROWS / MOST_CHUNK);
    assert!(reader.places(99).unwrap().is_empty());
    assert!(reader.about().notes.damage.is_empty());
}

/// Counters, a range in rows, how many values are exact, and whether only some of the log is read.
type StatsRow<'r> = (&'r [&'r str], Option<(u64, u64)>, usize, bool);

#[test]
fn statistics_of_parts_are_those_of_records() {
    let folder = Scratch::new();
    let path = put(&folder, "a.tally", long());
    let plain = put(&folder, "b.tally", &without(long()));
    let often = &[r"\Often(*)\*"][..];
    let first = &[r"\Often(a)\C3"][..];
    const ALL: usize = 1 << 24;
    const FEW: usize = 20_000;
    let rows: [StatsRow; 12] = [
        (often, None, ALL, false),
        (often, None, FEW, true),
        (often, Some((1, ROWS)), FEW, true),
        (often, Some((0, ROWS - 9)), FEW, true),
        (first, Some((0, 66_000)), FEW, true),
        (&[r"\Often(*)\*", r"\Seldom\*"], None, FEW, true),
        (&[r"\Seldom\*"], None, ALL, true),
        (&[r"\Seldom\*"], Some((65_000, 120_000)), ALL, true),
        (&[r"\Process(*)\*"], None, FEW, false),
        (&[r"\Late\*"], None, FEW, false),
        (&[], None, FEW, false),
        (often, Some((ROWS - 20, ROWS)), FEW, false),
    ];
    for (counters, range, exact, is_partial) in rows {
        let what = format!("{counters:?} {range:?} {exact}");
        let selection = selection(counters, range);
        let (with, read) = stats_of(&path, &selection, exact);
        let (without, all) = stats_of(&plain, &selection, exact);
        assert_eq!(with, without, "{what}");
        assert!(!with.columns.is_empty() && with.records > 0);
        assert_eq!(read < all * 4 / 5, is_partial, "{what}: {read} of {all}");
    }
}

#[test]
fn contents_are_no_part_of_a_log_that_goes_on() {
    let folder = Scratch::new();
    let path = put(&folder, "a.tally", long());
    let mut writer = NativeWriter::append_to(&path, WriteOptions::default()).unwrap();
    let time = FileTime(START + (ROWS + 5) * SECOND);
    writer.row(RowTime { time, local_minutes: 0 }).unwrap();
    writer.flush().unwrap();
    drop(writer);
    assert!(contents_of(&path).is_none());
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(&bytes[..behind(long())[0].1], &long()[..behind(long())[0].1]);
    let mut log = open(&path, &ReadOptions::default()).unwrap();
    let mut records = 0;
    log.scan(&mut |_| {
        records += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((records, log.about().notes.damage_count), (ROWS + 1, 0));
    // A stream gives all rows too, and no damage.
    let mut stream = NativeReader::new(long()).unwrap();
    stream.scan(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((stream.about().records, stream.about().notes.damage_count), (ROWS, 0));
}

#[test]
fn attack_contents_that_are_wrong_lead_nowhere() {
    let folder = Scratch::new();
    let right = contents_of(&put(&folder, "a.tally", long())).unwrap();
    let records = behind(long());
    let mut random = random(3);
    let (mut refused, mut taken) = (0, 0);
    for round in 0..tallymon_testkit::attack_count(120, 2000) {
        let mut bytes = long().to_vec();
        let wanted = [b'T', b'K', b'P', b'S'][round % 4];
        let of_kind: Vec<_> = records.iter().filter(|(kind, ..)| *kind == wanted).collect();
        let (_, at, length) = *of_kind[random.below(of_kind.len())];
        for _ in 0..=random.below(3) {
            // Most at the end, where the parts are.
            let place = if random.below(2) == 0 {
                random.below(length)
            } else {
                length - 1 - random.below(length.min(60))
            };
            bytes[at + 12 + place] = match random.below(3) {
                0 => bytes[at + 12 + place] ^ 1,
                1 => 0xff,
                _ => random.below(256) as u8,
            };
        }
        if round % 8 < 4 {
            mend(&mut bytes, at);
        }
        let path = put(&folder, "m.tally", &bytes);
        let mut reader = open(&path, &ReadOptions::default()).unwrap();
        let Some(contents) = reader.contents(true).unwrap() else {
            refused += 1;
            continue;
        };
        taken += 1;
        for (nth, part) in contents.parts.iter().enumerate() {
            for place in reader.places(nth).unwrap() {
                assert!(place.count < ROWS);
            }
            let _ = reader.statistics(nth, &[0, 1, 2], round % 2 == 0).unwrap();
            if right.parts.get(nth).map(|right| right.place) == Some(part.place) {
                continue;
            }
            // A wrong place is refused, or there are rows at it.
            assert!(reader.seek_to(part.place.position).unwrap());
            let _ = reader.next_record().unwrap();
        }
    }
    assert!(refused > 20 && taken > 20, "{refused} refused, {taken} taken");
    tallymon_testkit::attack(
        "logs and other files",
        "write false contents into a long log, with checksums that fit",
        "wrong places are refused or lead to whole rows; times and statistics that fit together are believed",
    );
}

#[test]
fn attack_contents_that_name_a_place_twice_are_refused() {
    let (table, end) = table_of(long());
    let is_taken = |change: &dyn Fn(&mut Vec<PartEntry>)| {
        let mut table = table.clone();
        change(&mut table.parts);
        Table::decode(&table.encode(), end).is_ok()
    };
    assert!(is_taken(&|_| {}));
    assert!(is_taken(&|parts| parts[2].statistics = None));
    assert!(!is_taken(&|parts| parts[2].statistics = parts[1].statistics));
    assert!(!is_taken(&|parts| parts[1].statistics = parts[2].statistics));
    assert!(!is_taken(&|parts| parts[1].statistics = Some(end)));
    assert!(!is_taken(&|parts| parts[2].places = parts[1].places));
    assert!(!is_taken(&|parts| parts[0].places = end));
    let is_clock_taken = |changes: usize| {
        let changes = vec![(START, 60); changes];
        Table::decode(&Table { changes, ..table.clone() }.encode(), end).is_ok()
    };
    assert!(is_clock_taken(1 << 16));
    assert!(!is_clock_taken((1 << 16) + 1));
    tallymon_testkit::attack(
        "logs and other files",
        "contents of a long log that name one record for millions of parts",
        "they are refused, and the log is walked through",
    );
}

#[test]
fn a_part_has_no_more_places_than_rows() {
    let part = PartEntry { at: 100, records: 1 << 20, most: u64::MAX, ..PartEntry::default() };
    let is_taken = |count: u64| {
        let place = |nth: u64| ChunkPlace { at: 100 + nth, before: nth, first: 0, most: 0 };
        let places: Vec<ChunkPlace> = (0..count).map(place).collect();
        decode_places(&encode_places(&places), &part, u64::MAX).is_ok()
    };
    assert!(is_taken(PART_ROWS));
    assert!(!is_taken(PART_ROWS + 1));
}

/// An object whose paths together have 500 MiB, in a definition of about 1 MiB.
fn long_names() -> Definition {
    let mut definition = definition("Long", &[TYPES[0]; 500]);
    definition.host = "h".repeat(1 << 20);
    definition
}

#[test]
fn attack_names_that_are_too_long_together_are_refused() {
    let (mut table, end) = table_of(long());
    table.definitions = vec![long_names().encode()];
    table.instances = vec![(0, 0, Instance { text: None, columns: None })];
    table.growth = vec![(0, 500)];
    assert!(Table::decode(&table.encode(), end).is_err());
    table.definitions = vec![definition("Short", &[TYPES[0]; 500]).encode()];
    assert!(Table::decode(&table.encode(), end).is_ok());
    table.instances.push((0, 1, Instance { text: None, columns: Some(Vec::new()) }));
    assert!(Table::decode(&table.encode(), end).is_err());

    let mut writer = NativeWriter::new(Vec::new(), WriteOptions::sealed()).unwrap();
    let object = writer.table(&long_names()).unwrap();
    let time = FileTime(START);
    writer.row(RowTime { time, local_minutes: 0 }).unwrap();
    let id = writer.instance(object, None).unwrap();
    let sample = Sample {
        counter_type: TYPES[0],
        first: 1,
        second: 0,
        frequency: Frequency(10_000_000),
        multi_count: 1,
        time,
    };
    writer.put(id, 0, Ok(sample), ValueState::Present);
    let bytes = writer.seal().unwrap();
    let mut reader = NativeReader::new(&bytes[..]).unwrap();
    assert!(reader.next_record().unwrap().is_none());
    let about = reader.about();
    assert!(about.columns.is_empty());
    assert!(
        about.notes.damage.iter().any(|damage| damage.to_string().contains("names")),
        "{:?}",
        about.notes
    );
    tallymon_testkit::attack(
        "logs and other files",
        "a native log of 2 MB whose paths together have 500 MB",
        "its columns are refused before they are made, and the damage is named",
    );
}

#[test]
fn damage_behind_the_contents_is_said_when_it_is_read() {
    let folder = Scratch::new();
    let mut bytes = long().to_vec();
    let mut reader = open(&put(&folder, "a.tally", &bytes), &ReadOptions::default()).unwrap();
    reader.contents(true).unwrap().unwrap();
    let places = reader.places(1).unwrap();
    let place = places[places.len() / 3];
    let at = place.position.byte as usize;
    bytes[at + 40] ^= 4;
    let mut reader = open(&put(&folder, "b.tally", &bytes), &ReadOptions::default()).unwrap();
    assert!(reader.contents(true).unwrap().is_some());
    assert_eq!(reader.about().notes.damage_count, 0);
    assert!(reader.seek_to(place.position).unwrap());
    reader.next_record().unwrap().unwrap();
    let notes = &reader.about().notes;
    assert!(notes.damage.iter().any(|damage| damage.byte == at as u64), "{notes:?}");
}
