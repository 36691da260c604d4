//! Development only: finds sample data, makes folders and terminals for tests, and assembles raw data blocks that no
//! writer of ours touched.
#![forbid(unsafe_code)]

mod ends;
pub mod raw;
mod scratch;
pub mod terminal;

pub use ends::Ends;
pub use scratch::Scratch;

use std::io::Write;
use std::path::PathBuf;

/// A file or folder of the public sample data, `None` (and a line that says so) when the samples are not there.
///
/// They are looked for in `$TALLYMON_TESTDATA`, else in `../shared/testdata` beside the checkout. With
/// `TALLYMON_SAMPLES=required` their absence is a failure.
///
/// # Panics
///
/// When the samples are required and missing.
pub fn shared(relative: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TALLYMON_TESTDATA").map(PathBuf::from).unwrap_or_else(|| {
        // The manifest folder is <checkout>/crates/testkit.
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/testdata")
    });
    let path = root.join(relative);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var_os("TALLYMON_SAMPLES").is_some_and(|value| value == "required");
    assert!(!required, "sample data is required and {} is not there", path.display());
    skip(&format!("sample data {relative} is not there (set TALLYMON_TESTDATA to its folder)"));
    None
}

/// A program that the tests compare with, `None` (and a line that says so) when it is not installed.
///
/// With `TALLYMON_PEERS=required` its absence is a failure.
///
/// # Panics
///
/// When peers are required and this one is missing.
pub fn peer(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    if found.is_none() {
        let required = std::env::var_os("TALLYMON_PEERS").is_some_and(|value| value == "required");
        assert!(!required, "the peer {program} is required and not installed");
        skip(&format!("the program {program} is not installed"));
    }
    found
}

/// Says that a test, or a part of one, can not run here, and why. `cargo xtask test` lists these at its end.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(file) = std::env::var_os("TALLYMON_SKIPS")
        && let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(file)
    {
        // A line that can not be noted was still printed.
        let _ = writeln!(file, "{why}");
    }
}

/// Says that a test of a BPF program can not run here, and why.
pub fn skip_bpf(why: &str) {
    skip(why);
}
