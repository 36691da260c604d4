//! `cargo xtask loom` and `cargo xtask miri`: the code between writers and readers of published counters, in
//! every order in which words become visible; and `core` and the unsafe code of `provider` and `clr` under
//! the checks of miri.

use std::process::Command;

use crate::{cargo, root, run as execute, target_folder};

/// Tests of `core` that miri leaves out: they try so many values that it would need hours.
const TOO_LONG: [&str; 3] = ["digits", "every_day_of_800_years", "any_bytes"];

/// Tests of `provider` that miri runs: what needs no file to be mapped and no other process. Memory that is
/// mapped elsewhere comes from the allocator there. `library::author` keeps definitions for ever, which miri
/// calls a leak.
const PURE: [&str; 8] = [
    "library::check::tests::every_fault",
    "library::export",
    "library::protocol",
    "shm::check",
    "shm::map",
    "shm::name",
    "shm::shared",
    "status",
];

/// The test of `clr` that miri runs: memory that needs no file.
const MEMORY: [&str; 1] = ["map::tests::memory_of_a_thread"];

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

/// Runs tests under miri, of a nightly compiler. It takes two to three minutes.
pub(crate) fn miri(arguments: &[String]) -> Result<(), String> {
    crate::no_arguments(arguments)?;
    if !nightly().arg("--version").output().is_ok_and(|output| output.status.success()) {
        let remedy = "rustup toolchain install nightly --component miri --component rust-src";
        return Err(format!("the compiler nightly with miri is not installed; '{remedy}' installs it"));
    }
    let mut core = nightly();
    core.args(["test", "--quiet", "--package", "tallymon-core", "--lib", "--"]);
    core.args(TOO_LONG.iter().flat_map(|test| ["--skip", test]));
    execute(&mut core)?;
    execute(nightly().args(["test", "--quiet", "--package", "tallymon-provider", "--lib", "--"]).args(PURE))?;
    execute(nightly().args(["test", "--quiet", "--package", "tallymon-clr", "--lib", "--"]).args(MEMORY))
}

/// `cargo miri` of the nightly compiler.
fn nightly() -> Command {
    // The cargo that runs this task has set variables for the pinned compiler.
    let mut cargo = Command::new("cargo");
    cargo.env_remove("RUSTC").env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    // The tests create files without a name in place of mapped ones.
    cargo.env("CARGO_TARGET_DIR", target_folder().join("miri")).env("MIRIFLAGS", "-Zmiri-disable-isolation");
    cargo.current_dir(root()).args(["+nightly", "miri"]);
    cargo
}
