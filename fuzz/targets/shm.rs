//! Any change of a published file: a reader opens it or says why not, reads it, and ends.
//!
//! The input is a list of changes to a complete file of this process (the checks of process and owner would
//! reject nearly everything else): an offset, a length, and the new bytes there. The first byte says where
//! the file is truncated.
#![no_main]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tallymon_provider::CounterType;
use tallymon_provider::shm::{CounterSet, HistogramShape, Instance, NewInstance, Publisher, Reader};

static WHOLE: LazyLock<Whole> = LazyLock::new(Whole::new);

struct Whole {
    directory: PathBuf,
    bytes: Vec<u8>,
}

impl Whole {
    fn new() -> Whole {
        let directory = std::env::temp_dir().join(format!("tallymon-fuzz-{}", std::process::id()));
        let set = CounterSet::new("Sample")
            .help("Help text.")
            .instances_about(2)
            .counter("Count", CounterType::PERF_COUNTER_BULK_COUNT)
            .unit("kg")
            .counter("Shared", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
            .shared_lanes(2)
            .text("Text", 8)
            .histogram("H", &HistogramShape { bits: 0, most: 8, percentiles: vec![50_000] });
        let publisher =
            Publisher::start_in(&directory.join("own"), "fuzz", &[set]).expect("it can be published");
        let instance = |name, parent: Option<&Instance>| {
            let new = NewInstance { name, id: None, parent };
            publisher.instance("Sample", &new).expect("there is room")
        };
        let first = instance("first", None);
        let _second = instance("second", Some(&first));
        first.text("Text").expect("it is free").set("snow");
        let bytes = fs::read(publisher.path()).expect("it was just written");
        fs::create_dir_all(directory.join("pub")).expect("it can be made");
        Whole { directory, bytes }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((end, mut changes)) = input.split_first() else { return };
    let mut bytes = WHOLE.bytes.clone();
    while let [low, high, length, rest @ ..] = changes {
        let at = usize::from(u16::from_le_bytes([*low, *high])) % bytes.len();
        let n = usize::from(length % 9).min(rest.len());
        for (to, from) in bytes.iter_mut().skip(at).zip(&rest[..n]) {
            *to = *from;
        }
        changes = &rest[n..];
    }
    // 0 truncates nothing; larger values truncate up to the whole file.
    bytes.truncate(bytes.len() - bytes.len() * usize::from(*end) / 255);
    let path = WHOLE.directory.join("pub/1-1-1.pub");
    let _ = fs::remove_file(&path);
    fs::write(&path, &bytes).expect("there is room");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let mut reader = Reader::new([WHOLE.directory.join("pub")]);
    reader.scan();
    for publication in reader.publications_mut() {
        publication.read();
        for (position, object) in publication.objects().iter().enumerate() {
            for instance in publication.instances(position) {
                assert!(instance.name().len() <= 216);
                let values = (0..object.counters.len()).filter(|at| instance.value(*at).is_some());
                assert!(values.count() <= object.counters.len());
                if let Some(parent) = instance.parent() {
                    assert!(parent.position < publication.instances(parent.object).len());
                }
            }
        }
    }
    // Every rejection has a message.
    for refusal in reader.refusals() {
        assert!(!refusal.to_string().is_empty());
    }
});
