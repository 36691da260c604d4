//! `cargo xtask lint`: the rules for every file, on every target that we promise.

mod dependencies;
mod fidelity;
pub(crate) mod imports;
#[cfg(test)]
mod imports_tests;
mod modules;
mod platform;
#[cfg(test)]
mod platform_tests;
mod sources;

use crate::{api, cargo, run as execute, target_folder};

/// Targets that `core` is built for: no standard library, 32 bits, most significant byte first.
const CORE_TARGETS: &[&str] =
    &["thumbv7em-none-eabi", "i686-unknown-linux-gnu", "powerpc64-unknown-linux-gnu"];
const WINDOWS: &str = "x86_64-pc-windows-gnu";
const ARM: &str = "aarch64-unknown-linux-gnu";

fn run_all() -> Result<(), String> {
    // The quick checks first.
    sources::check()?;
    dependencies::check()?;
    execute(cargo().args(["fmt", "--all", "--check"]))?;
    execute(cargo().args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    execute(cargo().args(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    for folder in ["fuzz", "bench", "bindings/python"] {
        let manifest = format!("{folder}/Cargo.toml");
        execute(cargo().args(["fmt", "--manifest-path", &manifest, "--check"]))?;
        let mut clippy = cargo();
        clippy.args(["clippy", "--manifest-path", &manifest, "--all-targets", "--quiet"]);
        // One folder and one profile for all: dependencies that were checked above are not checked again.
        clippy.env("CARGO_TARGET_DIR", target_folder()).env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
        execute(clippy.args(["--", "-D", "warnings"]))?;
    }
    let mut targets = CORE_TARGETS.to_vec();
    targets.extend([WINDOWS, ARM]);
    crate::add_targets(&targets)?;
    for target in CORE_TARGETS {
        execute(cargo().args(["check", "--quiet", "--package", "tallymon-core", "--target", target]))?;
    }
    // The profiler's hooks are assembled, which a check alone does not do.
    let hooks =
        ["rustc", "--quiet", "--package", "tallymon-clr", "--lib", "--crate-type", "rlib", "--target", ARM];
    execute(cargo().args(hooks))?;
    // Everything but the objects of Linux compiles for Windows.
    execute(cargo().args(["check", "--quiet", "--package", "tallymon-cli", "--target", WINDOWS]))?;
    api::check()
}

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    crate::no_arguments(arguments)?;
    run_all()
}
