//! Any bytes as the log of a table, over parts that are sound: an error, or records whose values can all be
//! computed. A line `---` ends a version, so that versions take back and name again what others did.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use tallymon_log::{Cooker, ReadOptions, open};

/// The most versions of a table.
const VERSIONS: usize = 6;

const PART: &[u8] = include_bytes!("../parts/memory.parquet");

/// The folder of the table, with a part that the corpus names.
fn table() -> &'static PathBuf {
    static TABLE: OnceLock<PathBuf> = OnceLock::new();
    TABLE.get_or_init(|| {
        let table = std::env::temp_dir().join(format!("tallymon-fuzz-lake-{}", std::process::id()));
        let parts = table.join("day=2026-11-24/object=Memory");
        fs::create_dir_all(&parts).unwrap();
        fs::create_dir_all(table.join("_delta_log")).unwrap();
        fs::write(parts.join("part-1.parquet"), PART).unwrap();
        table
    })
}

fuzz_target!(|data: &[u8]| {
    let table = table();
    let mut versions: Vec<Vec<u8>> = vec![Vec::new()];
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        if line == b"---\n" && versions.len() < VERSIONS {
            versions.push(Vec::new());
        } else if let Some(version) = versions.last_mut() {
            version.extend_from_slice(line);
        }
    }
    for number in 0..VERSIONS {
        let name = table.join(format!("_delta_log/{number:020}.json"));
        match versions.get(number) {
            Some(version) => fs::write(name, version).unwrap(),
            // That of the input before.
            None => drop(fs::remove_file(name)),
        }
    }
    let Ok(mut log) = open(table, &ReadOptions::default()) else { return };
    let mut cooker = Cooker::default();
    while let Ok(Some(record)) = log.next_record() {
        for value in cooker.cook(&record).into_iter().flatten() {
            assert!(value.as_f64().is_none_or(f64::is_finite));
        }
    }
});
