//! `cargo xtask loom` and `cargo xtask miri`: the code between writers and readers of published counters, tried in every
//! order in which words become visible, and watched for what unsafe code must not do.

use std::process::Command;

use crate::{cargo, root, run as execute, target_folder};

/// What miri runs: the parts of publishing that need no file to be mapped. The memory is that of the allocator there.
const WATCHED: [&str; 3] = ["shm::map", "shm::check", "shm::name"];

/// Every order, which takes some seconds.
pub(crate) fn loom(arguments: &[String]) -> Result<(), String> {
    crate::no_arguments(arguments)?;
    // A folder of its own: the flag makes everything anew.
    let mut models = cargo();
    models.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target_folder().join("loom"));
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

/// Under miri, where a nightly compiler has it.
pub(crate) fn miri(arguments: &[String]) -> Result<(), String> {
    crate::no_arguments(arguments)?;
    // What the cargo that runs this has set is meant for another compiler.
    let nightly = || {
        let mut cargo = Command::new("cargo");
        cargo.env_remove("RUSTC").env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        cargo.current_dir(root()).args(["+nightly", "miri"]);
        cargo
    };
    if !nightly().arg("--version").output().is_ok_and(|output| output.status.success()) {
        let remedy = "rustup toolchain install nightly --component miri --component rust-src";
        return Err(format!("there is no miri here; '{remedy}' brings it"));
    }
    let mut miri = nightly();
    // The tests make files without a name for what is mapped elsewhere.
    miri.env("CARGO_TARGET_DIR", target_folder().join("miri")).env("MIRIFLAGS", "-Zmiri-disable-isolation");
    execute(miri.args(["test", "--quiet", "--package", "tallymon-provider", "--lib", "--"]).args(WATCHED))
}
