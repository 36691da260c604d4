//! A machine made of files, and the values of its objects, for the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tallymon_core::block::{BlockWriter, RawValue, Snapshot, SnapshotInstance, WriteHeader};
use tallymon_provider::{CollectRequest, Interest, Provider, TitleIndex, ValueState};

use crate::kernel::root::Root;
use crate::kernel::time::clocks;
pub(super) use crate::system::System;

/// A machine whose `/proc` and `/sys` are in a directory of its own, which is removed with it.
pub(super) struct Machine {
    pub(super) folder: PathBuf,
    system: System,
}

impl Machine {
    /// A machine with these files; a name that ends with `/` is a directory.
    pub(super) fn new(files: &[(&str, &[u8])]) -> Machine {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tallymon-machine-{}-{number}", std::process::id()));
        fs::create_dir_all(folder.join("proc")).unwrap();
        for (name, bytes) in files {
            write(&folder, name, bytes);
        }
        let system = System::open_below(Root::below(&folder)).unwrap();
        Machine { folder, system }
    }

    /// Creates or changes a file.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        write(&self.folder, name, bytes);
    }

    /// All counters of one object.
    pub(super) fn read(&mut self, object: u32) -> Snapshot {
        self.read_only(object, &Interest::everything())
    }

    /// Some counters of one object.
    pub(super) fn read_only(&mut self, object: u32, interest: &Interest) -> Snapshot {
        collect(&mut self.system, object, interest)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Files that cannot be removed stay in the temporary directory.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    if name.ends_with('/') {
        fs::create_dir_all(path).unwrap();
    } else {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Collects one object of a machine.
pub(super) fn collect(system: &mut System, object: u32, interest: &Interest) -> Snapshot {
    let objects = [TitleIndex(object)];
    let ask = CollectRequest { objects: &objects, interest };
    let now = clocks();
    let header = WriteHeader {
        system_name: "FAKE",
        default_object: -1,
        perf_time: now.perf_time,
        perf_freq: now.perf_freq,
        perf_time_100ns: now.steady,
        system_time: now.civil,
    };
    let mut bytes = Vec::new();
    let mut block = BlockWriter::growing(&mut bytes, &header);
    system.collect(&ask, block.objects()).unwrap();
    block.finish().unwrap();
    Snapshot::new(bytes).unwrap()
}

/// The names of the instances of the only object.
pub(super) fn names(snapshot: &Snapshot) -> Vec<String> {
    let object = snapshot.objects().next().unwrap();
    object.instances().map(|instance| instance.name().to_string_lossy()).collect()
}

/// An instance of the only object by its name; empty for an object without instances.
pub(super) fn instance<'s>(snapshot: &'s Snapshot, name: &str) -> SnapshotInstance<'s> {
    let object = snapshot.objects().next().unwrap();
    let found = object.instances().find(|instance| instance.name().to_string_lossy() == name);
    found.unwrap_or_else(|| panic!("no instance {name:?} among {:?}", names(snapshot)))
}

/// A present raw value, or `Err` with its state.
pub(super) fn raw(instance: &SnapshotInstance<'_>, position: usize) -> Result<u64, ValueState> {
    match (instance.state(position), instance.raw(position)) {
        (ValueState::Present, Some(RawValue::Number(number))) => Ok(number),
        (state, _) => Err(state),
    }
}

/// The present raw value of a counter, by its name index.
pub(super) fn named(instance: &SnapshotInstance<'_>, counter: u32) -> Result<u64, ValueState> {
    raw(instance, instance.object().position(TitleIndex(counter)).unwrap())
}
