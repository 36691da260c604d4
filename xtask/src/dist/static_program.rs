//! `tally-static`: one file that runs on every x86-64 Linux, for `tally remote install --program`.
//!
//! It has musl in place of the C library of a machine, and no features: it reads this machine, answers other
//! ones (`serve --stdio`, `serve --tls`) and records. What needs a C library of the machine or weighs much is
//! in the packages only: provider libraries and the profiler, SQLite, Parquet, compressed logs and `rrp://`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{About, output, read, reproducible, write as write_file};
use crate::cargo;

const TARGET: &str = "x86_64-unknown-linux-musl";

/// What its name begins with.
pub(super) const NAME: &str = "tally-static";

/// Compiles the program in a folder, and writes it into that of the packages.
pub(super) fn write(about: &About, profile: &str, build: &Path, folder: &Path) -> Result<PathBuf, String> {
    crate::add_targets(&[TARGET])?;
    let mut command = cargo();
    command.args(["zigbuild", "--locked", "--profile", profile, "--target", TARGET]).arg("--target-dir");
    command.arg(build).args(["--package", "tallymon-cli", "--bin", "tally", "--no-default-features"]);
    reproducible(&mut command, about, build)?;
    crate::run(&mut command)?;
    let built = build.join(TARGET).join(if profile == "dev" { "debug" } else { profile }).join("tally");
    let program = folder.join(format!("{NAME}-{}-x86_64-linux", about.version));
    write_file(&program, &read(&built)?)?;
    crate::run(Command::new("strip").args(["--strip-all", "--enable-deterministic-archives"]).arg(&program))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .map_err(|error| format!("{}: {error}", program.display()))?;
    is_static(&program)?;
    Ok(program)
}

/// Fails if a program needs anything of the machine.
fn is_static(program: &Path) -> Result<(), String> {
    let head = output(Command::new("objdump").arg("-p").arg(program))?;
    match head.lines().find(|line| line.contains("INTERP") || line.contains("NEEDED")) {
        Some(line) => Err(format!("{} is not static: {}", program.display(), line.trim())),
        None => Ok(()),
    }
}
