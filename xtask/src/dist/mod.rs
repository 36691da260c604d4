//! `cargo xtask dist`: release packages for x86-64 Linux, as a tar, for Debian and for RPM.
//!
//! Programs are linked against glibc 2.31 (Debian 11, Ubuntu 20.04, RHEL 9) by zig's linker, which has the
//! symbol tables of every glibc. They can not be static: `tally-host` loads provider libraries, the .NET
//! runtime loads the profiler, and C programs load `libtallymon.so`; all of these need the C library of the
//! machine.
//!
//! The packages depend only on the sources, the compiler and zig: every time is the time of the last commit,
//! paths of this machine are mapped away, and lists are sorted. `--twice` builds everything in two folders
//! and compares. `--check` installs each package in a fresh Debian 11 and runs it.

mod check;
mod deb;
mod files;
mod rpm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::files::Tree;
use crate::{cargo, root, target_folder};

/// The oldest C library on which the programs run.
const GLIBC: &str = "2.31";
/// What is built, and the files that come of it.
const PACKAGES: [&str; 3] = ["tallymon-cli", "tallymon-clr", "tallymon-capi"];
const BUILT: [&str; 4] = ["tally", "tally-host", "libtallymon_clr.so", "libtallymon_capi.so"];

/// What every package says of itself.
struct About {
    version: String,
    /// Seconds since 1970 of the last commit: the time of every file.
    epoch: u64,
}

impl About {
    const SUMMARY: &'static str = "Windows performance counters, everywhere";
    const DESCRIPTION: &'static str = "Reads, records, charts and publishes performance counters with the \
        names, types and formulas of Windows NT, and opens Windows' performance logs.";
    const MAINTAINER: &'static str = "The Tallymon developers <tallymon@users.noreply.github.com>";
    const LICENCE: &'static str = "MIT OR Apache-2.0";
    const HOMEPAGE: &'static str = env!("CARGO_PKG_REPOSITORY");

    fn read() -> Result<About, String> {
        let epoch = output(Command::new("git").current_dir(root()).args(["log", "-1", "--format=%ct"]))?;
        let epoch = epoch.trim().parse().map_err(|_| format!("git printed {epoch:?}, not a time"))?;
        Ok(About { version: env!("CARGO_PKG_VERSION").to_string(), epoch })
    }

    fn name(&self) -> String {
        format!("tallymon-{}-x86_64-linux-gnu", self.version)
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let mut profile = "dist";
    let (mut is_checked, mut is_twice, mut built) = (false, false, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--check" => is_checked = true,
            "--twice" => is_twice = true,
            "--profile" => profile = words.next().ok_or("--profile needs a name, such as dist or dev")?,
            "--built" => built = Some(PathBuf::from(words.next().ok_or("--built needs a folder")?)),
            other => {
                let options = "--profile NAME, --built FOLDER, --check and --twice";
                return Err(format!("unknown argument {other:?}; it takes {options}"));
            }
        }
    }
    let changed = output(Command::new("git").current_dir(root()).args(["status", "--porcelain"]))?;
    if !changed.trim().is_empty() && profile == "dist" && built.is_none() {
        let words = "the tree has changes that are not committed; a release comes from a commit. \
            For a trial: --profile dev";
        return Err(format!("{words}\n{}", changed.trim_end()));
    }
    let about = About::read()?;
    let folder = target_folder().join("packages");
    let packages = match &built {
        // Programs that were compiled before, to try the packages alone.
        Some(built) => make(&about, built, &folder)?,
        None => make(&about, &compile(&about, profile, &target_folder().join("dist-build"))?, &folder)?,
    };
    if is_twice {
        let other = target_folder().join("packages-again");
        let again = compile(&about, profile, &target_folder().join("dist-build-again"))?;
        let again = make(&about, &again, &other)?;
        for (one, two) in packages.iter().zip(&again) {
            let same = read(one)? == read(two)?;
            if !same {
                return Err(format!(
                    "{} and {} differ: the build is not reproducible",
                    one.display(),
                    two.display()
                ));
            }
        }
        eprintln!("two builds, the same bytes");
    }
    for package in &packages {
        let size = fs::metadata(package).map_or(0, |metadata| metadata.len());
        eprintln!("{:>9} kB  {}", size / 1000, package.display());
    }
    if is_checked {
        check::all(&about, &packages)?;
    }
    Ok(())
}

/// Makes the packages of the programs in one folder, in another. Returns their files.
fn make(about: &About, built: &Path, folder: &Path) -> Result<Vec<PathBuf>, String> {
    for file in BUILT {
        needs_old_library(&built.join(file))?;
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let tree = Tree::stage(about, built, &folder.join("tree"))?;
    let packages =
        vec![tree.tar(about, folder)?, deb::write(about, &tree, folder)?, rpm::write(about, &tree, folder)?];
    let mut sums = Command::new("sha256sum");
    sums.current_dir(folder).args(packages.iter().filter_map(|package| package.file_name()));
    let sums = output(&mut sums)?;
    write(&folder.join("SHA256SUMS"), sums.as_bytes())?;
    Ok(packages)
}

/// Compiles the programs and returns the folder that they are in.
fn compile(about: &About, profile: &str, build: &Path) -> Result<PathBuf, String> {
    let is_there =
        Command::new("cargo-zigbuild").arg("--version").output().is_ok_and(|run| run.status.success());
    if !is_there {
        return Err("cargo-zigbuild is missing; python3 -m pip install cargo-zigbuild ziglang".to_string());
    }
    let mut command = cargo();
    command.args(["zigbuild", "--locked", "--profile", profile, "--target"]);
    command.arg(format!("x86_64-unknown-linux-gnu.{GLIBC}")).arg("--target-dir").arg(build);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    // Paths in messages of panics: those of this machine say nothing to a user, and make builds differ.
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let mut flags = format!("--remap-path-prefix={}=/tallymon", root().display());
    if let Some(home) = home {
        flags += &format!(" --remap-path-prefix={}=/cargo", home.display());
    }
    // The folder of the build holds generated sources.
    flags += &format!(" --remap-path-prefix={}=/build", build.display());
    command.env("RUSTFLAGS", &flags).env("SOURCE_DATE_EPOCH", about.epoch.to_string());
    command.env("CARGO_INCREMENTAL", "0");
    crate::run(&mut command)?;
    Ok(build.join("x86_64-unknown-linux-gnu").join(if profile == "dev" { "debug" } else { profile }))
}

/// Fails if a file needs a newer C library than it should.
fn needs_old_library(file: &Path) -> Result<(), String> {
    let symbols = output(Command::new("objdump").arg("-T").arg(file))?;
    let limit = version(GLIBC);
    let newer = symbols.lines().filter(|line| {
        let needed = line
            .split("GLIBC_")
            .nth(1)
            .map(|rest| version(rest.split([')', ' ']).next().unwrap_or_default()));
        needed.is_some_and(|needed| needed > limit)
    });
    let newer: Vec<&str> = newer.collect();
    if newer.is_empty() {
        return Ok(());
    }
    Err(format!("{} needs a C library newer than {GLIBC}:\n{}", file.display(), newer.join("\n")))
}

fn version(text: &str) -> Vec<u32> {
    text.split('.').filter_map(|part| part.parse().ok()).collect()
}

/// Runs a command, and returns what it prints.
fn output(command: &mut Command) -> Result<String, String> {
    let shown = crate::show(command);
    let output = command.output().map_err(|error| format!("{shown} did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("{shown} failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{shown} printed bytes that are no text"))
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), String> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(file, bytes).map_err(|error| format!("{}: {error}", file.display()))
}
