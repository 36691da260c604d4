//! Any bytes as an INI file and its symbol file, separated by a line `####`: names that can be installed, or
//! mistakes with their lines.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tallymon_host::registry::{Package, Roots, Writer};

/// In memory if the system has such a folder.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = parent.join(format!("tallymon-fuzz-package-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("it can be made");
    folder
});

fuzz_target!(|input: &[u8]| {
    let border = input.windows(5).position(|part| part == b"####\n");
    let (ini, symbols) = match border {
        Some(at) => (&input[..at], &input[at + 5..]),
        None => (input, &b"#define A 0\n#define B 2\n"[..]),
    };
    let path = FOLDER.join("f.ini");
    fs::write(&path, ini).expect("there is room");
    fs::write(FOLDER.join("f.h"), symbols).expect("there is room");
    match Package::read(&path, None) {
        Ok(package) => {
            assert!(package.titles.iter().all(|title| title.offset.is_multiple_of(2)));
            // An empty registry installs it, or says why not.
            let roots = Roots::in_folder(&FOLDER);
            let checked = Writer::open(&roots, None).and_then(|writer| writer.check(&package));
            if let Ok(range) = checked {
                assert!(range.first_counter <= range.last_counter && range.first_help <= range.last_help);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
