//! Tests data blocks: real ones from Windows and Samba, assembled ones with every oddity, and our own.

#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::collections::BTreeMap;
use std::fs;

use tallymon_core::block::{
    BlockWriter, ByteOrder, CachedInstances, CounterBlockMut, CounterSpec, DataBlock, DetailLevel,
    InstanceKind, NumInstances, ObjectLayout, ObjectSpec, Parent, RawValue, Snapshot, SnapshotInstance,
    SnapshotObject, SpareMemory, WriteHeader,
};
use tallymon_core::counter::{self, CounterType};
use tallymon_core::flow::{Absence, NoValue, PartialSum, Value, ValueState};
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{HelpIndex, TitleIndex};
use tallymon_testkit::raw::{Random, RawCounter, RawInstance, RawObject, block};
use tallymon_testkit::shared;

const RAWCOUNT: u32 = 0x0001_0000;
const LARGE_RAWCOUNT: u32 = 0x0001_0100;

/// All 48 blocks recorded on Windows Vista.
fn blocks() -> Vec<(String, Vec<u8>)> {
    let Some(folder) = shared("blocks") else { return Vec::new() };
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "bin"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 48);
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files.into_iter().map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

#[test]
fn every_vista_block_has_the_known_definitions() {
    let Some(file) = shared("blocks/perf_counter_definitions_vista6000.tsv") else { return };
    let mut known: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for line in fs::read_to_string(file).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [object, _, index, _, help, kind, _, size, offset, scale, detail] = fields[..] else {
            panic!("unexpected columns in {line}")
        };
        let row = format!("{index} {help} {kind} {size} {offset} {scale} {detail}");
        known.entry(object.parse().unwrap()).or_default().push(row);
    }
    for (name, bytes) in blocks() {
        let data = DataBlock::parse(&bytes).unwrap();
        assert_eq!(data.header().header_length, 104, "{name}");
        assert_eq!(data.header().perf_freq, Frequency(3_579_545), "{name}");
        let objects: Vec<_> = data.objects().map(Result::unwrap).collect();
        assert_eq!(objects.len(), 1, "{name}");
        for object in objects {
            let found: Vec<String> = object
                .counters()
                .map(Result::unwrap)
                .map(|c| {
                    let (name, help, kind) = (c.name.0, c.help.0, c.counter_type.0);
                    let (size, offset, scale) = (c.counter_size, c.counter_offset, c.default_scale);
                    format!("{name} {help} 0x{kind:08x} {size} {offset} {scale} {}", c.detail_level.0)
                })
                .collect();
            assert_eq!(found, known[&object.header().name.0], "{name}");
        }
        let snapshot = Snapshot::new(bytes).unwrap();
        for object in snapshot.objects() {
            let default = object.counters()[object.default_counter().expect("these objects have one")];
            assert!(!default.counter_type.is_base(), "{name}: {default:?}");
            let expected = match object.header().name.0 {
                2 => 406,
                4 => 40,
                234 | 236 => 200,
                _ => default.name.0,
            };
            assert_eq!(default.name.0, expected, "{name}");
        }
    }
}

#[test]
fn returned_memory_changes_no_snapshot() {
    let files = ["blocks/s00_obj238.bin", "blocks/s01_obj2.bin", "blocks/s01_obj234.bin"];
    let bytes: Vec<Vec<u8>> =
        files.into_iter().filter_map(shared).map(|path| fs::read(path).unwrap()).collect();
    let mut spare = SpareMemory::default();
    for bytes in bytes.iter().chain(bytes.iter().rev()) {
        let mut memory = spare.take_bytes();
        assert!(memory.is_empty());
        memory.extend_from_slice(bytes);
        let at = memory.as_ptr();
        let again = Snapshot::new_in(memory, &mut spare).unwrap();
        assert_eq!(format!("{again:?}"), format!("{:?}", Snapshot::new(bytes.clone()).unwrap()));
        spare = again.into_spare();
        let memory = spare.take_bytes();
        assert_eq!(memory.as_ptr(), at);
        assert!(Snapshot::new_in(vec![1, 2], &mut spare).is_err());
    }
}

/// The value of a counter between the first two Vista samples, for the instance with this name (empty if the
/// object has no instances).
fn vista(object: u32, instance: &str, counter: u32) -> Option<f64> {
    let load = |sample: u32| {
        shared(&format!("blocks/s0{sample}_obj{object}.bin")).map(|path| fs::read(path).unwrap())
    };
    let (older, newer) = (Snapshot::new(load(0)?).unwrap(), Snapshot::new(load(1)?).unwrap());
    let sample = |snapshot: &Snapshot| {
        let object = snapshot.object(TitleIndex(object)).unwrap();
        let position = object.position(TitleIndex(counter)).unwrap();
        object.instances().find(|i| i.name().to_string_lossy() == instance).unwrap().sample(position).unwrap()
    };
    counter::compute(Some(&sample(&older)), &sample(&newer)).unwrap().as_f64()
}

#[test]
fn the_vista_blocks_give_the_published_values() {
    // With as many digits as each value was published with.
    for (object, instance, counter, expected) in [
        (238, "_Total", 6, "82.1481131553226"),
        (238, "_Total", 148, "1228.3777780908947"),
        (236, "C:", 408, "75.188"),
        (236, "C:", 206, "0.008179255989141047"),
        (236, "C:", 218, "1467496.29"),
        (236, "C:", 224, "38505.76"),
        (2, "", 674, "2062.1157831"),
        (2, "", 10, "241.5259"),
    ] {
        let Some(value) = vista(object, instance, counter) else { return };
        let digits = expected.split('.').nth(1).map_or(0, str::len);
        assert_eq!(format!("{value:.digits$}"), expected, "{object} {instance} {counter}");
    }
}

#[test]
fn truncated_or_changed_real_blocks_never_panic() {
    let mut random = Random::new(7);
    let mut samples = blocks();
    for name in ["global-2obj-2inst.bin", "global-all-large-puretdb.bin", "global-zero-text-fraction.bin"] {
        samples.extend(samba(name).map(|bytes| (name.to_string(), bytes)));
    }
    for (name, bytes) in samples {
        // Check every byte only in the first of the six blocks of each object; the others differ in values
        // only.
        let step = if name.starts_with("s00") || name.starts_with("global") { 1 } else { 17 };
        for length in (0..bytes.len()).step_by(step) {
            assert!(Snapshot::new(bytes[..length].to_vec()).is_err(), "{name} cut to {length}");
        }
        for at in (0..bytes.len()).step_by(step) {
            let mut changed = bytes.clone();
            changed[at] ^= (random.below(255) + 1) as u8;
            look_at_everything(changed);
        }
    }
}

/// Checks that the bytes give an error, or a snapshot in which everything can be read.
fn look_at_everything(bytes: Vec<u8>) {
    let Ok(snapshot) = Snapshot::new(bytes) else { return };
    for object in snapshot.objects() {
        let _ = (object.default_counter(), object.header());
        for instance in object.instances() {
            let _ = (instance.name().to_string_lossy(), instance.parent_instance().map(|p| p.parent()));
            for position in 0..object.counters().len() {
                let _ = (instance.text(position), instance.state(position), instance.raw(position));
                if let Ok(sample) = instance.sample(position) {
                    let value =
                        counter::compute(Some(&sample), &sample).ok().and_then(|value| value.as_f64());
                    assert!(value.is_none_or(f64::is_finite));
                }
            }
        }
    }
}

fn samba(name: &str) -> Option<Vec<u8>> {
    shared(&format!("samba/{name}")).map(|path| fs::read(path).unwrap())
}

#[test]
fn samba_excludes_the_header_from_the_total_length() {
    let Some(bytes) = samba("global-2obj-2inst.bin") else { return };
    let length = bytes.len();
    let snapshot = Snapshot::new(bytes).unwrap();
    let header = snapshot.header();
    assert_eq!(usize::try_from(header.header_length + header.total_byte_length).unwrap(), length);
    let widgets = snapshot.object(TitleIndex(2)).unwrap();
    let values: Vec<_> =
        widgets.instances().map(|i| (i.name().to_string_lossy(), number(&i, 0), number(&i, 1))).collect();
    assert_eq!(values, [("alpha".into(), 7, 700_000_000_000), ("beta".into(), 11, 1_100_000_000_000)]);
    let gadget = snapshot.object(TitleIndex(8)).unwrap();
    assert!(!gadget.has_instances());
    let single = gadget.instance(0).unwrap();
    assert_eq!((number(&single, 0), number(&single, 1)), (42, 9_007_199_254_740_992));
    // If the type says 4 bytes and the size says 8, the counter has 8 bytes.
    assert_eq!(widgets.counters()[0].counter_size, 8);
}

#[test]
fn samba_samples_are_read_or_rejected() {
    let Some(bytes) = samba("global-all-large-puretdb.bin") else { return };
    let snapshot = Snapshot::new(bytes).unwrap();
    let first = snapshot.objects().next().unwrap();
    assert_eq!(number(&first.instance(1).unwrap(), 0), 9_007_199_254_740_993);

    let error = Snapshot::new(samba("global-truncated-500.bin").unwrap()).unwrap_err();
    assert_eq!(error.what, "PERF_OBJECT_TYPE.TotalByteLength", "{error}");

    let snapshot = Snapshot::new(samba("global-zero-text-fraction.bin").unwrap()).unwrap();
    let mut texts = Vec::new();
    let mut fractions = Vec::new();
    for object in snapshot.objects() {
        for instance in object.instances() {
            for (position, counter) in object.counters().iter().enumerate() {
                texts.extend(instance.text(position));
                if counter.counter_type == CounterType::PERF_LARGE_RAW_FRACTION {
                    fractions.push(instance.sample(position).unwrap());
                }
            }
        }
    }
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(!fractions.is_empty());
}

#[test]
fn a_thousand_samba_instances() {
    let Some(file) = shared("samba/global-1000inst-10cnt.bin.gz") else { return };
    let Some(gzip) = tallymon_testkit::peer("gzip") else { return };
    let output = std::process::Command::new(gzip).arg("-dc").arg(file).output().unwrap();
    assert!(output.status.success());
    let snapshot = Snapshot::new(output.stdout).unwrap();
    let object = snapshot.objects().next().unwrap();
    assert_eq!(object.instances().len(), 1000);
    for (n, instance) in object.instances().enumerate() {
        let values: Vec<u64> = (0..10).map(|counter| number(&instance, counter)).collect();
        let first = values[0];
        assert_eq!(first / 1000, n as u64);
        assert_eq!(values, (first..first + 10).collect::<Vec<_>>(), "instance {n}");
    }
}

fn number(instance: &SnapshotInstance<'_>, position: usize) -> u64 {
    match instance.raw(position) {
        Some(RawValue::Number(number)) => number,
        other => panic!("no number: {other:?}"),
    }
}

fn raw_instance(name: &str, data: &[u8]) -> RawInstance {
    RawInstance { name: name.into(), parent: (0, 0), unique_id: -1, data: data.to_vec() }
}

fn raw_object(counters: Vec<RawCounter>, instances: Vec<RawInstance>) -> RawObject {
    RawObject { name: 500, counters, num_instances: None, instances, code_page: 0, clock: (0, 0) }
}

fn rawcount() -> RawCounter {
    RawCounter { name: 502, kind: RAWCOUNT, size: 4, offset: 4 }
}

#[test]
fn both_byte_orders_give_the_same_snapshot() {
    for big in [false, true] {
        let data = if big { 7u32.to_be_bytes() } else { 7u32.to_le_bytes() };
        let object = raw_object(vec![rawcount()], vec![raw_instance("이름", &data)]);
        let snapshot = Snapshot::new(block(big, 123, 10_000_000, 1_000, &[object])).unwrap();
        let expected = if big { ByteOrder::Big } else { ByteOrder::Little };
        assert_eq!(snapshot.header().byte_order, expected);
        assert_eq!(snapshot.system_name(), "TEST");
        assert_eq!(snapshot.header().perf_time, PerfTime(123));
        assert_eq!(snapshot.header().system_time.year, 2026);
        let instance = snapshot.object(TitleIndex(500)).unwrap().instance(0).unwrap();
        assert_eq!(instance.name().to_string_lossy(), "이름");
        assert_eq!(number(&instance, 0), 7);
    }
}

#[test]
fn every_kind_of_instance_count() {
    let cases = [
        (None, vec![raw_instance("a", &[1, 0, 0, 0]), raw_instance("b", &[2, 0, 0, 0])], true, vec![1, 2]),
        (Some(0), vec![], true, vec![]),
        (Some(-1), vec![raw_instance("", &[3, 0, 0, 0])], false, vec![3]),
        (Some(-2), vec![], true, vec![]),
        (Some(-3), vec![], false, vec![]),
    ];
    for (num_instances, instances, has, expected) in cases {
        let object = RawObject { num_instances, ..raw_object(vec![rawcount()], instances) };
        let snapshot = Snapshot::new(block(false, 0, 0, 0, &[object.clone(), object])).unwrap();
        assert_eq!(
            snapshot.objects().len(),
            2,
            "{num_instances:?}: the second object is found behind the first"
        );
        let object = snapshot.objects().nth(1).unwrap();
        assert_eq!(object.has_instances(), has, "{num_instances:?}");
        let values: Vec<u64> = object.instances().map(|i| number(&i, 0)).collect();
        assert_eq!(values, expected, "{num_instances:?}");
    }
    let wrong = RawObject { num_instances: Some(-4), ..raw_object(vec![], vec![]) };
    let error = Snapshot::new(block(false, 0, 0, 0, &[wrong])).unwrap_err();
    assert_eq!(error.what, "PERF_OBJECT_TYPE.NumInstances");
}

#[test]
fn a_block_may_hold_fewer_objects_than_promised() {
    let object = raw_object(vec![rawcount()], vec![raw_instance("a", &[1, 0, 0, 0])]);
    let mut bytes = block(false, 0, 0, 0, &[object.clone(), object]);
    bytes[28..32].copy_from_slice(&4u32.to_le_bytes());
    let snapshot = Snapshot::new(bytes).unwrap();
    assert_eq!((snapshot.header().num_object_types, snapshot.objects().len()), (4, 2));
}

#[test]
fn names_in_code_pages() {
    for (code_page, name) in [(65001u32, "größe"), (1252, "abc"), (949, "abc"), (0, "Größe")] {
        let object =
            RawObject { code_page, ..raw_object(vec![rawcount()], vec![raw_instance(name, &[0; 4])]) };
        let snapshot = Snapshot::new(block(false, 0, 0, 0, &[object])).unwrap();
        let found = snapshot.objects().next().unwrap().instance(0).unwrap().name().to_string_lossy();
        assert_eq!(found, name, "code page {code_page}");
    }
}

#[test]
fn text_counters_in_both_encodings() {
    let mut data: Vec<u8> = "Größe".encode_utf16().chain([0, 0, 0]).flat_map(u16::to_le_bytes).collect();
    data.extend_from_slice(b"caf\xe9\0\0\0\0");
    let counters = vec![
        RawCounter { name: 502, kind: 0x0000_0b00, size: 16, offset: 4 },
        RawCounter { name: 504, kind: 0x0001_0b00, size: 8, offset: 20 },
    ];
    let object = raw_object(counters, vec![raw_instance("x", &data)]);
    let snapshot = Snapshot::new(block(false, 0, 0, 0, &[object])).unwrap();
    let instance = snapshot.objects().next().unwrap().instance(0).unwrap();
    assert_eq!(instance.text(0).as_deref(), Some("Größe"));
    assert_eq!(instance.text(1).as_deref(), Some("café"));
    assert_eq!(instance.sample(0), Err(NoValue::NotNumeric));
}

#[test]
fn bases_are_found_by_order_and_may_share_data() {
    // Two precision timers, each followed by a definition of the same time stamp, as in Vista's disk objects.
    let timer = |name, offset| RawCounter { name, kind: 0x2057_0500, size: 8, offset };
    let stamp = |name| RawCounter { name, kind: 0x4003_0500, size: 8, offset: 24 };
    let lonely = RawCounter { name: 506, kind: 0x2002_0400, size: 4, offset: 4 };
    let mut data = vec![0; 4];
    for value in [100u64, 200, 1000] {
        data.extend_from_slice(&value.to_le_bytes());
    }
    let counters = vec![timer(502, 8), stamp(502), timer(504, 16), stamp(504), lonely];
    let object = raw_object(counters, vec![raw_instance("x", &data)]);
    let snapshot = Snapshot::new(block(false, 0, 0, 0, &[object])).unwrap();
    let instance = snapshot.objects().next().unwrap().instance(0).unwrap();
    let pair = |position| instance.sample(position).map(|sample| (sample.first, sample.second));
    assert_eq!(pair(0), Ok((100, 1000)));
    assert_eq!(pair(2), Ok((200, 1000)));
    assert_eq!(pair(4), Err(NoValue::NoBase));
    assert_eq!(pair(5), Err(NoValue::NoCounter));
}

#[test]
fn a_multi_count_is_in_the_next_definition_or_after_the_value() {
    let timer = RawCounter { name: 502, kind: 0x2251_0500, size: 8, offset: 8 };
    let base = RawCounter { name: 502, kind: 0x4203_0500, size: 8, offset: 24 };
    let mut data = vec![0; 4];
    for value in [5u64, 3, 4] {
        data.extend_from_slice(&value.to_le_bytes());
    }
    for (counters, expected) in [(vec![timer, base], 4), (vec![timer], 3)] {
        let object = raw_object(counters, vec![raw_instance("x", &data)]);
        let snapshot = Snapshot::new(block(false, 0, 0, 9_000, &[object])).unwrap();
        let sample = snapshot.objects().next().unwrap().instance(0).unwrap().sample(0).unwrap();
        assert_eq!((sample.multi_count, sample.second), (expected, 9_000));
    }
}

#[test]
fn each_time_base_uses_its_clock() {
    let kinds = [
        (0x1041_0400, 77, 10_000_000),
        (0x2051_0500, 88, 10_000_000),
        (0x2061_0500, 99, 1_000),
        (0x3024_0500, 99, 1_000),
    ];
    for (kind, second, frequency) in kinds {
        let counter = RawCounter { name: 502, kind, size: 8, offset: 8 };
        let mut object = raw_object(vec![counter], vec![raw_instance("x", &[0; 12])]);
        object.clock = (99, 1_000);
        let snapshot = Snapshot::new(block(false, 77, 10_000_000, 88, &[object])).unwrap();
        let sample = snapshot.objects().next().unwrap().instance(0).unwrap().sample(0).unwrap();
        assert_eq!((sample.second, sample.frequency.0), (second, frequency), "{kind:#x}");
    }
}

#[test]
fn parents_are_found_through_several_levels() {
    let child = |name: &str, parent| RawInstance { parent, ..raw_instance(name, &[0; 4]) };
    let object = |name, instances| RawObject { name, ..raw_object(vec![rawcount()], instances) };
    let grandparents = object(10, vec![child("g0", (0, 0)), child("g1", (0, 0))]);
    let parents = object(20, vec![child("p0", (10, 1))]);
    let children = object(40, vec![child("c0", (20, 0)), child("c1", (20, 9)), child("c2", (30, 0))]);
    let snapshot = Snapshot::new(block(false, 0, 0, 0, &[children, grandparents, parents])).unwrap();
    let children: Vec<_> = snapshot.object(TitleIndex(40)).unwrap().instances().collect();
    let parent = children[0].parent_instance().unwrap();
    assert_eq!(parent.name().to_string_lossy(), "p0");
    assert_eq!(parent.parent_instance().unwrap().name().to_string_lossy(), "g1");
    assert_eq!(children[1].parent(), Some(Parent { object: TitleIndex(20), instance: 9 }));
    assert!(children[1].parent_instance().is_none(), "there is no tenth parent");
    assert!(children[2].parent_instance().is_none(), "there is no such object");
}

#[test]
fn unaligned_data_is_read() {
    // A counter at an odd offset, in a block that starts at an odd address.
    let counters = vec![RawCounter { name: 502, kind: LARGE_RAWCOUNT, size: 8, offset: 5 }];
    let mut data = vec![0u8];
    data.extend_from_slice(&0x0102_0304_0506_0708u64.to_le_bytes());
    let mut moved = vec![0xaa];
    moved.extend_from_slice(&block(false, 0, 0, 0, &[raw_object(counters, vec![raw_instance("x", &data)])]));
    let data = DataBlock::parse(&moved[1..]).unwrap();
    let object = data.objects().next().unwrap().unwrap();
    let definition = object.counters().next().unwrap().unwrap();
    let instance = object.instances().next().unwrap().unwrap();
    assert_eq!(instance.counter_block.raw(&definition), Ok(RawValue::Number(0x0102_0304_0506_0708)));
}

#[test]
fn errors_name_field_offset_and_numbers() {
    let good = block(false, 0, 0, 0, &[raw_object(vec![rawcount()], vec![raw_instance("abc", &[0; 4])])]);
    let patched = |at: usize, value: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        Snapshot::new(bytes).unwrap_err().to_string()
    };
    // The header is 104 bytes long, the object header 64, the definition 40.
    let end = good.len();
    for (at, value, expected) in [
        (0, 0, "PERF_DATA_BLOCK.Signature at byte 0: \"PERF\" in UTF-16 needed".to_string()),
        (20, 9_999, format!("PERF_DATA_BLOCK at byte 0: 9999 bytes needed, {end} left")),
        (24, 10, format!("PERF_DATA_BLOCK.HeaderLength at byte 24: 10 is out of range, 88 to {end} needed")),
        (
            104,
            12,
            format!(
                "PERF_OBJECT_TYPE.TotalByteLength at byte 104: 12 is out of range, 64 to {} needed",
                end - 104
            ),
        ),
        (
            168,
            3,
            "PERF_COUNTER_DEFINITION.ByteLength at byte 168: 3 is out of range, 40 to 40 needed".to_string(),
        ),
        (
            208,
            4_000,
            format!("PERF_INSTANCE_DEFINITION.ByteLength at byte 208: 4000 bytes needed, {} left", end - 208),
        ),
        (240, 2, "PERF_COUNTER_BLOCK.ByteLength at byte 240: 2 is out of range, 4 to".to_string()),
    ] {
        let found = patched(at, value);
        assert!(found.starts_with(&expected), "{found}\nexpected: {expected}");
    }
}

#[test]
fn work_is_bounded_by_the_input_length() {
    // Numbers that promise two billion objects, counters or instances.
    let good = block(false, 0, 0, 0, &[raw_object(vec![rawcount()], vec![raw_instance("a", &[0; 4])])]);
    for (at, is_ok) in [(28, true), (104 + 32, false), (104 + 40, false)] {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
        // The point of this test is that it ends.
        assert_eq!(Snapshot::new(bytes).is_ok(), is_ok, "field at {at}");
    }
}

const fn spec(name: u32, kind: CounterType) -> CounterSpec {
    CounterSpec { scale: -1, detail: DetailLevel::EXPERT, ..CounterSpec::new(TitleIndex(name), kind) }
}

const COUNTERS: &[CounterSpec] = &[
    spec(502, CounterType::PERF_COUNTER_RAWCOUNT),
    spec(504, CounterType::PERF_COUNTER_BULK_COUNT),
    spec(506, CounterType::PERF_COUNTER_COUNTER),
    spec(508, CounterType::PERF_RAW_FRACTION),
    spec(508, CounterType::PERF_RAW_BASE),
    spec(510, CounterType::PERF_PRECISION_100NS_TIMER),
    spec(510, CounterType::PERF_PRECISION_TIMESTAMP),
    CounterSpec { shares: Some(6), ..spec(512, CounterType::PERF_PRECISION_TIMESTAMP) },
    CounterSpec { size: Some(16), ..spec(514, CounterType::PERF_COUNTER_TEXT) },
];

const MANY: ObjectSpec<'static> = ObjectSpec {
    name: TitleIndex(500),
    help: HelpIndex(501),
    detail: DetailLevel::NOVICE,
    default_counter: 1,
    instances: InstanceKind::Many,
    status: true,
    counters: COUNTERS,
};

const HEADER: WriteHeader<'static> = WriteHeader {
    system_name: "웹서버",
    default_object: 500,
    perf_time: PerfTime(123_456),
    perf_freq: Frequency(10_000_000),
    perf_time_100ns: FileTime(134_000_000_000_000_000),
    system_time: FileTime(134_000_000_000_000_000),
};

/// Writes four objects: with instances, without, with none at the moment, and with definitions only.
fn fill(writer: &mut BlockWriter<'_>) {
    let many = ObjectLayout::new(MANY);
    let single = ObjectSpec { name: TitleIndex(600), instances: InstanceKind::None, status: false, ..MANY };
    let single = ObjectLayout::new(single);
    let mut object = writer.objects().object(&many, PerfTime(55), Frequency(1_000));
    for (name, id) in [("first", None), ("второй", Some(7)), ("", None)] {
        let mut values = object.instance(name, Some(Parent { object: TitleIndex(600), instance: 0 }), id);
        values.set(0, 41);
        values.set(1, 1 << 40);
        values.set(2, (1 << 32) + 5);
        values.set_fraction(3, 3 << 33, 4 << 33);
        values.set(5, 10);
        values.set(6, 20);
        values.set_text(8, "too long a text");
        values.state(1, ValueState::Stale);
        values.state(2, ValueState::Absent(Absence::AccessDenied));
    }
    drop(object);
    let mut object = writer.objects().object(&single, PerfTime(0), Frequency(0));
    object.single().set(1, 9);
    drop(object);
    drop(writer.objects().object(&many, PerfTime(0), Frequency(0)));
    writer.objects().object(&many, PerfTime(0), Frequency(0)).metadata();
}

fn written() -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut writer = BlockWriter::growing(&mut buffer, &HEADER);
    fill(&mut writer);
    assert_eq!(writer.finish(), Ok(buffer.len()));
    buffer
}

#[test]
fn written_blocks_are_read_back() {
    let bytes = written();
    assert_eq!(bytes.len() % 8, 0);
    let snapshot = Snapshot::new(bytes).unwrap();
    assert_eq!(snapshot.system_name(), "웹서버");
    assert_eq!(snapshot.header().system_time.file_time().unwrap().0 / 10_000, HEADER.system_time.0 / 10_000);
    let objects: Vec<_> = snapshot.objects().collect();
    let kinds: Vec<_> = objects.iter().map(|object| object.header().num_instances).collect();
    assert_eq!(
        kinds,
        [NumInstances::Many(3), NumInstances::None, NumInstances::Many(0), NumInstances::MetadataMany]
    );
    assert_eq!(objects[0].header().perf_time, PerfTime(55));
    // The status counter is the last definition, and it is hidden.
    assert_eq!(objects[0].counters().len(), COUNTERS.len() + 1);
    assert!(!objects[0].counters().last().unwrap().counter_type.is_visible());
    let second = objects[0].instance(1).unwrap();
    assert_eq!(second.name().to_string_lossy(), "второй");
    assert_eq!((objects[0].instance(0).unwrap().unique_id(), second.unique_id()), (None, Some(7)));
    assert_eq!(second.parent_instance().unwrap().object().header().name, TitleIndex(600));
    assert_eq!((number(&second, 0), number(&second, 1)), (41, 1 << 40));
    assert_eq!(number(&second, 2), 5, "a 4-byte rate wraps around");
    assert_eq!(second.text(8).as_deref(), Some("too lon"));
    assert_eq!((second.state(0), second.state(1)), (ValueState::Present, ValueState::Stale));
    assert_eq!(second.sample(2), Err(NoValue::NoData(Absence::AccessDenied)));
    assert_eq!(counter::compute(None, &second.sample(3).unwrap()), Ok(Value::Number(75.0)));
    assert_eq!(number(&second, 7), 20, "shared data");
    // Eight-byte values are at multiples of 8, so that C programs can read them in place.
    for (position, counter) in objects[0].counters().iter().enumerate().filter(|(_, c)| c.counter_size == 8) {
        let at = second.counter_block().at() + counter.counter_offset as usize;
        assert_eq!(at % 8, 0, "counter {position}");
    }
}

#[test]
fn a_number_that_does_not_fit_is_out_of_range() {
    let layout = ObjectLayout::new(MANY);
    let mut buffer = Vec::new();
    let mut writer = BlockWriter::growing(&mut buffer, &HEADER);
    writer.objects().object(&layout, PerfTime(0), Frequency(0)).instance("x", None, None).set(0, 1 << 32);
    writer.finish().unwrap();
    let snapshot = Snapshot::new(buffer).unwrap();
    let instance = snapshot.objects().next().unwrap().instance(0).unwrap();
    assert_eq!(number(&instance, 0), u64::from(u32::MAX), "old readers see the largest number");
    assert_eq!(instance.sample(0), Err(NoValue::NoData(Absence::OutOfRange)));
}

#[test]
fn a_buffer_that_is_too_small_reports_the_needed_size() {
    let whole = written();
    let needed = whole.len();
    for size in (0..needed).step_by(13).chain([needed - 1]) {
        let mut buffer = vec![0xee; size];
        let mut writer = BlockWriter::fixed(&mut buffer, &HEADER);
        fill(&mut writer);
        assert_eq!(writer.finish().unwrap_err().needed, needed, "with {size} bytes");
    }
    let mut buffer = vec![0xee; needed];
    let mut writer = BlockWriter::fixed(&mut buffer, &HEADER);
    fill(&mut writer);
    assert_eq!(writer.finish(), Ok(needed));
    assert_eq!(buffer, whole, "both ways make the same bytes");
}

/// The numbers of a partial sum are behind the status bytes. A sum that finds no space is absent, and so is one
/// whose numbers are lost: none passes for a whole one.
#[test]
fn partial_sums_are_read_back_or_absent() {
    let sum = |missing, why| PartialSum::new(missing, 117, why).unwrap();
    let (refused, lost) = (sum(1, Absence::AccessDenied), sum(116, Absence::Other));
    let layout = ObjectLayout::new(MANY);
    let mut buffer = Vec::new();
    let mut writer = BlockWriter::growing(&mut buffer, &HEADER);
    let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
    let mut values = object.sums("x", None);
    (0..3).for_each(|position| values.set(position, 5));
    values.partial([0, 1], refused);
    values.state(2, ValueState::Partial(lost));
    (2..7).for_each(|missing| values.partial([3], sum(missing, Absence::Vanished)));
    values.partial([5], sum(99, Absence::Vanished));
    object.instance("y", None, None).partial([0], refused);
    drop(object);
    assert_eq!(writer.objects().counts().all_absent(), 2);
    writer.finish().unwrap();
    let state = |buffer: &[u8], position| {
        let snapshot = Snapshot::new(buffer.to_vec()).unwrap();
        let instance = snapshot.objects().next().unwrap().instance(0).unwrap();
        (instance.state(position), instance.sample(position).map(|sample| sample.first))
    };
    for (position, sum) in [(0, refused), (1, refused), (2, lost)] {
        assert_eq!(state(&buffer, position), (ValueState::Partial(sum), Ok(5)));
    }
    let absent = |why| (ValueState::Absent(why), Err(NoValue::NoData(why)));
    assert_eq!(state(&buffer, 5), absent(Absence::Vanished), "space for seven sums only");
    assert_eq!(state(&buffer, 6).0, ValueState::Present);
    let numbers = buffer.windows(8).position(|bytes| bytes == [1, 0, 0, 0, 117, 0, 0, 0]).unwrap();
    for other in [[0, 0, 0, 0, 117, 0, 0, 0], [118, 0, 0, 0, 117, 0, 0, 0], [0; 8]] {
        let mut bytes = buffer.clone();
        bytes[numbers..numbers + 8].copy_from_slice(&other);
        assert_eq!(state(&bytes, 0), absent(Absence::Other), "{other:?}");
    }
}

/// Sets values that depend on a number, and marks some of them.
fn set(values: &mut CounterBlockMut<'_>, number: u64) {
    values.set(0, number);
    values.set(1, number << 33);
    if number.is_multiple_of(2) {
        values.absent([2, 5], Absence::AccessDenied);
        values.state(1, ValueState::Stale);
    }
}

#[test]
fn cached_instances_equal_newly_written_ones() {
    let layout = ObjectLayout::new(MANY);
    let names = ["first", "второй", "", "a long name of an instance", "last"];
    let parent = Some(Parent { object: TitleIndex(600), instance: 3 });
    let mut numbers = [1, 2, 3, 4, 5];
    let mut cached = CachedInstances::default();
    for (name, number) in names.iter().zip(numbers) {
        cached.push(&layout, name, parent, Some(9), |values| set(values, number));
        cached.skip();
    }
    for (position, number) in [(0, 1), (1, 8), (3, 7), (4, 6), (1, 9), (1, 10)] {
        let is_rewritten = cached.rewrite(&layout, position * 2, |values| set(values, number));
        assert!(is_rewritten && !cached.rewrite(&layout, position * 2 + 1, |_| unreachable!()));
        numbers[position] = number;
        let (mut anew, mut repeated) = (Vec::new(), Vec::new());
        let mut writer = BlockWriter::growing(&mut anew, &HEADER);
        let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
        for (name, number) in names.iter().zip(numbers) {
            set(&mut object.instance(name, parent, Some(9)), number);
        }
        drop(object);
        let counts = *writer.objects().counts();
        writer.finish().unwrap();
        let mut writer = BlockWriter::growing(&mut repeated, &HEADER);
        let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
        object.append_cached(&cached);
        assert_eq!(object.instances(), 5);
        drop(object);
        assert_eq!(*writer.objects().counts(), counts);
        writer.finish().unwrap();
        assert!(anew == repeated, "position {position}, number {number}");
    }
}

/// Blocks written over previous ones, of which up to three exist at the same time, equal newly written
/// blocks.
#[test]
fn a_block_in_reused_memory_equals_a_new_one() {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let layouts = [700, 800].map(|name| ObjectLayout::new(ObjectSpec { name: TitleIndex(name), ..MANY }));
    let mut random = Random::new(7);
    let mut cached = [CachedInstances::default(), CachedInstances::default()];
    let (mut spare, mut snapshots, mut expected) = (SpareMemory::default(), Vec::new(), Vec::new());
    for _ in 0..3_000 {
        for _ in 0..random.below(4) {
            let which = random.below(2) as usize;
            let (layout, cached) = (&layouts[which], &mut cached[which]);
            let number = random.below(3);
            match random.below(12) {
                0 => cached.clear(),
                1 => cached.skip(),
                2 | 3 => {
                    let name = NAMES[random.below(4) as usize];
                    cached.push(layout, name, None, None, |values| set(values, number));
                }
                _ => {
                    let _ = cached.rewrite(layout, random.below(6) as usize, |values| set(values, number));
                }
            }
        }
        let turned = random.below(8) == 0;
        let alone = random.below(3);
        let write = |mut writer: BlockWriter<'_>| {
            let mut order = [0, 1];
            if turned {
                order.reverse();
            }
            for which in order {
                let mut object = writer.objects().object(&layouts[which], PerfTime(0), Frequency(0));
                (0..alone).for_each(|number| set(&mut object.instance("alone", None, None), number));
                object.append_cached(&cached[which]);
            }
            writer.finish().unwrap()
        };
        let mut anew = Vec::new();
        let length = write(BlockWriter::growing(&mut anew, &HEADER));
        let mut memory = spare.take_memory();
        assert_eq!(write(BlockWriter::over(&mut memory, &HEADER)), length);
        assert!(memory.bytes() == anew);
        snapshots.push(Snapshot::in_memory(memory, &mut spare).unwrap());
        let found = |snapshot: &Snapshot| {
            let instances = |object: SnapshotObject<'_>| {
                let all = object.instances();
                all.map(|one| format!("{} {:?}", one.name().to_string_lossy(), one.raw(0)))
                    .collect::<Vec<_>>()
            };
            snapshot.objects().map(instances).collect::<Vec<_>>()
        };
        assert_eq!(found(snapshots.last().unwrap()), found(&Snapshot::new(anew.clone()).unwrap()));
        expected.push(anew);
        while snapshots.len() > random.below(3) as usize {
            let at = random.below(snapshots.len() as u64) as usize;
            let (snapshot, expected) = (snapshots.remove(at), expected.remove(at));
            assert!(snapshot.bytes() == expected, "nobody else writes in it");
            spare = if random.below(9) == 0 { snapshot.clone() } else { snapshot }.into_spare();
        }
    }
}

#[test]
fn cached_instances_of_another_layout_are_left_out() {
    let other = ObjectLayout::new(ObjectSpec { name: TitleIndex(700), ..MANY });
    let layout = ObjectLayout::new(MANY);
    let mut cached = CachedInstances::default();
    cached.push(&layout, "one", None, None, |values| values.set(0, 1));
    cached.push(&other, "two", None, None, |_| unreachable!());
    assert!(
        !cached.rewrite(&other, 0, |_| unreachable!()) && !cached.rewrite(&layout, 1, |_| unreachable!())
    );
    assert!(!cached.rewrite(&layout, 2, |_| unreachable!()), "there is none at this position");
    let mut buffer = Vec::new();
    let mut writer = BlockWriter::growing(&mut buffer, &HEADER);
    for (layout, instances) in [(&other, 0), (&layout, 1)] {
        let mut object = writer.objects().object(layout, PerfTime(0), Frequency(0));
        object.append_cached(&cached);
        assert_eq!(object.instances(), instances);
    }
    writer.finish().unwrap();
    assert_eq!(
        Snapshot::new(buffer).unwrap().objects().map(|object| object.instances().count()).sum::<usize>(),
        1
    );
    cached.clear();
    cached.push(&other, "two", None, None, |values| values.set(0, 1));
    assert!(cached.rewrite(&other, 0, |values| values.set(0, 2)));
}

#[test]
fn damage_to_our_own_block_never_panics() {
    let whole = written();
    let mut random = Random::new(99);
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.number() as u8;
        }
        bytes.truncate(bytes.len() - (random.below(4) * random.below(30)) as usize);
        look_at_everything(bytes);
    }
}

#[test]
fn each_of_many_objects_is_found_by_its_name() {
    // Fewer and more than are looked through one by one; names in no order, some of them twice.
    for count in [3u32, 64, 65, 500] {
        let names: Vec<u32> = (0..count).map(|number| number * 7919 % (count - count / 3) * 2).collect();
        let specs = [CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_RAWCOUNT)];
        let header = WriteHeader { perf_freq: Frequency(1), ..WriteHeader::named("h") };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        for (number, name) in (0u64..).zip(&names) {
            let spec = ObjectSpec::new(TitleIndex(*name), InstanceKind::Many, &specs);
            let layout = ObjectLayout::new(spec);
            let mut object = writer.objects().object(&layout, PerfTime(0), Frequency(0));
            object.instance("one", None, None).set(0, number);
        }
        writer.finish().unwrap();
        let snapshot = Snapshot::new(bytes).unwrap();
        for name in 0..2 * count + 3 {
            let first = names.iter().position(|other| *other == name).map(|number| number as u64);
            let found = snapshot.object(TitleIndex(name));
            let found = found.map(|object| object.instance(0).unwrap().sample(0).unwrap().first);
            assert_eq!(found, first, "{name} of {count}");
        }
    }
}
