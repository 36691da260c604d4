//! Any bytes as a manifest: counter sets that can be installed, or a list of mistakes.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tallymon_host::registry::{Manifest, Roots, Writer};

/// In memory if the system has such a folder.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = parent.join(format!("tallymon-fuzz-manifest-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("it can be made");
    folder
});

fuzz_target!(|input: &[u8]| {
    let path = FOLDER.join("f.man");
    fs::write(&path, input).expect("there is room");
    match Manifest::read(&path, None) {
        Ok(manifest) => {
            assert!(manifest.providers.iter().all(|provider| provider.guid().starts_with('{')));
            let roots = Roots::in_folder(&FOLDER);
            let checked = Writer::open(&roots, None).and_then(|writer| writer.check_manifest(&manifest));
            if let Ok(ranges) = checked {
                assert_eq!(ranges.len(), manifest.providers.len());
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
