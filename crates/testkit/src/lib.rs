//! Development only: finds sample data and assembles raw data blocks that no writer of ours touched.
#![forbid(unsafe_code)]

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
    eprintln!("skipped: sample data {relative} is not there (set TALLYMON_TESTDATA to its folder)");
    None
}
