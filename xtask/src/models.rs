//! `cargo xtask loom`: the code between writers and readers of published counters, tried in every
//! order in which words become visible.

use std::path::PathBuf;

use crate::{cargo, root, run as execute};

/// Every order, which takes some seconds.
pub(crate) fn loom(arguments: &[String]) -> Result<(), String> {
    none(arguments)?;
    // A folder of its own: the flag makes everything anew.
    let mut models = cargo();
    models.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target("loom"));
    execute(models.args([
        "test",
        "--quiet",
        "--release",
        "--package",
        "tallymon-provider",
        "--lib",
        "models",
    ]))
}

fn target(name: &str) -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    folder.join(name)
}

fn none(arguments: &[String]) -> Result<(), String> {
    if arguments.is_empty() { Ok(()) } else { Err(format!("unknown arguments {arguments:?}; it takes none")) }
}
