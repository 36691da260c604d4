//! `cargo xtask big-endian`: runs the tests of `core` on a machine that stores the most significant byte
//! first.
//!
//! The machine is the user-mode emulation of qemu; Debian has it and the linker.

use std::process::Command;

use crate::{cargo, run as execute, target_folder};

const TARGET: &str = "powerpc64-unknown-linux-gnu";
const LINKER: &str = "powerpc64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-ppc64";
/// Where Debian keeps the C library for this machine.
const LIBRARIES: &str = "/usr/powerpc64-linux-gnu";

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    crate::no_arguments(arguments)?;
    for program in [LINKER, EMULATOR] {
        if Command::new(program).arg("--version").output().is_err() {
            let remedy = "apt-get install qemu-user gcc-powerpc64-linux-gnu libc6-dev-ppc64-cross";
            return Err(format!("the program {program} is not installed; '{remedy}' installs it"));
        }
    }
    crate::add_targets(&[TARGET])?;
    let mut test = cargo();
    test.args(["test", "--quiet", "--package", "tallymon-core", "--target", TARGET]);
    test.env("CARGO_TARGET_POWERPC64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
    test.env("CARGO_TARGET_POWERPC64_UNKNOWN_LINUX_GNU_RUNNER", format!("{EMULATOR} -L {LIBRARIES}"));
    // Emulation is slow: optimised tests run in a quarter of the time. A folder of its own keeps other builds
    // valid.
    test.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_TARGET_DIR", target_folder().join("big-endian"));
    execute(&mut test)
}
