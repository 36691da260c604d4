//! `cargo xtask dist`: release packages for x86-64 Linux, as a tar, for Debian and for RPM; a wheel for
//! Python, and a package for .NET.
//!
//! Programs are linked against glibc 2.31 (Debian 11, Ubuntu 20.04, RHEL 9) by zig's linker, which has the
//! symbol tables of every glibc. They cannot be static: `tally-host` loads provider libraries, the .NET
//! runtime loads the profiler, and C programs load `libtallymon.so`; all of these need the C library of the
//! machine. For a host without that library there is one more file, see `static_program`.
//!
//! The packages depend only on the sources, the compiler and zig: every time is the time of the last commit,
//! paths of this machine are mapped away, and lists are sorted. `--twice` builds everything in two folders
//! and compares. `--check` installs each package in a fresh Debian 11 and runs it.
//!
//! `--short` is for every run of CI: the programs of the tests instead of optimized ones, packed twice,
//! compared, and installed over a copy of this machine in memory. It leaves out the old C library, the
//! optimized build, whether two of those are the same, and Debian 11.
//!
//! `--windows` makes the packages for Windows instead, see `windows`.

pub(crate) mod check;
mod deb;
mod files;
mod nuget;
mod projects;
mod rpm;
mod static_program;
mod wheel;
mod windows;
mod zip;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::files::Tree;
use crate::{cargo, output, root, target_folder};

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
    /// How hard gzip tries: one of its options.
    effort: &'static str,
}

impl About {
    const SUMMARY: &'static str = "Windows performance counters, everywhere";
    const DESCRIPTION: &'static str = "Reads, records, charts and publishes performance counters with the \
        names, types and formulas of Windows NT, and opens Windows' performance logs.";
    const MAINTAINER: &'static str = "The Tallymon developers <tallymon@users.noreply.github.com>";
    const LICENCE: &'static str = "MIT OR Apache-2.0";
    const HOMEPAGE: &'static str = env!("CARGO_PKG_REPOSITORY");

    fn read(effort: &'static str) -> Result<About, String> {
        let epoch = output(Command::new("git").current_dir(root()).args(["log", "-1", "--format=%ct"]))?;
        let epoch = epoch.trim().parse().map_err(|_| format!("git printed {epoch:?}, not a time"))?;
        Ok(About { version: env!("CARGO_PKG_VERSION").to_string(), epoch, effort })
    }

    fn name(&self) -> String {
        format!("tallymon-{}-x86_64-linux-gnu", self.version)
    }
}

/// What to make.
struct Order {
    profile: String,
    is_checked: bool,
    is_twice: bool,
    is_short: bool,
    is_windows: bool,
    /// The folder of programs that were compiled before, to try the packages alone.
    built: Option<PathBuf>,
}

impl Order {
    fn parse(arguments: &[String]) -> Result<Order, String> {
        let profile = "dist".to_string();
        let mut order = Order {
            profile,
            is_checked: false,
            is_twice: false,
            is_short: false,
            is_windows: false,
            built: None,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--check" => order.is_checked = true,
                "--twice" => order.is_twice = true,
                "--short" => order.is_short = true,
                "--windows" => order.is_windows = true,
                "--profile" => {
                    order.profile =
                        words.next().ok_or("--profile needs a name, such as dist or dev")?.clone();
                }
                "--built" => order.built = Some(PathBuf::from(words.next().ok_or("--built needs a folder")?)),
                other => {
                    let options = "--profile NAME, --built FOLDER, --check, --twice, --short and --windows";
                    return Err(format!("unknown argument {other:?}; it takes {options}"));
                }
            }
        }
        if order.is_short {
            (order.is_checked, order.is_twice) = (true, true);
            order.profile = "dev".to_string();
        }
        Ok(order)
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let order = Order::parse(arguments)?;
    let changed = output(Command::new("git").current_dir(root()).args(["status", "--porcelain"]))?;
    if !changed.trim().is_empty() && order.profile == "dist" && order.built.is_none() {
        let words = "the tree has changes that are not committed; a release comes from a commit. \
            For a trial: --profile dev";
        return Err(format!("{words}\n{}", changed.trim_end()));
    }
    let about = About::read(if order.is_short { "-1" } else { "-9" })?;
    if order.is_windows {
        return windows::make(&about, &order);
    }
    let folders = ["packages", "packages-again"].map(|name| target_folder().join(name));
    let builds = ["dist-build", "dist-build-again"].map(|name| target_folder().join(name));
    let packages = make(&about, &order, &builds[0], &folders[0])?;
    if order.is_twice {
        // The short form compiles once.
        let build = if order.is_short { &builds[0] } else { &builds[1] };
        let again = make(&about, &order, build, &folders[1])?;
        for (one, two) in packages.iter().zip(&again) {
            if read(one)? != read(two)? {
                let words = "differ: the build is not reproducible";
                return Err(format!("{} and {} {words}", one.display(), two.display()));
            }
        }
        eprintln!("made twice, the same bytes");
    }
    for package in &packages {
        let size = fs::metadata(package).map_or(0, |metadata| metadata.len());
        eprintln!("{:>9} kB  {}", size / 1000, package.display());
    }
    if order.is_checked {
        check::all(&about, &packages, order.is_short)?;
    }
    Ok(())
}

/// Makes the packages in a folder, of programs that are compiled in another. Returns their files.
fn make(about: &About, order: &Order, build: &Path, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let library = if order.is_short { wheel::Library::Own } else { wheel::Library::Oldest };
    let built = match &order.built {
        Some(built) => built.clone(),
        None if order.is_short => {
            // The programs of the tests, which are there already when CI comes to this.
            crate::build_all(&["--quiet"])?;
            target_folder().join("debug")
        }
        None => compile(about, &order.profile, build)?,
    };
    if !order.is_short {
        for file in BUILT {
            needs_old_library(&built.join(file))?;
        }
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let tree = Tree::stage(about, &built, &folder.join("tree"))?;
    let compiled = if order.is_short { target_folder() } else { build.join("python") };
    let mut packages = vec![
        tree.tar(about, folder)?,
        deb::write(about, &tree, folder)?,
        rpm::write(about, &tree, folder)?,
        wheel::write(about, &order.profile, library, &compiled, folder)?,
        nuget::write(about, &tree, folder)?,
    ];
    if !order.is_short && order.built.is_none() {
        packages.push(static_program::write(about, &order.profile, &build.join("static"), folder)?);
    }
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
    reproducible(&mut command, about, build)?;
    crate::run(&mut command)?;
    Ok(build.join("x86_64-unknown-linux-gnu").join(if profile == "dev" { "debug" } else { profile }))
}

/// Lets a compilation depend on nothing of this machine.
fn reproducible(command: &mut Command, about: &About, build: &Path) -> Result<(), String> {
    // Paths in messages of panics: those of this machine say nothing to a user, and make builds differ.
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let home = home.ok_or("neither CARGO_HOME nor HOME says where the sources of crates are")?;
    let mut flags = format!("--remap-path-prefix={}=/tallymon", root().display());
    flags += &format!(" --remap-path-prefix={}=/cargo", home.display());
    // The folder of the build holds generated sources.
    flags += &format!(" --remap-path-prefix={}=/build", build.display());
    command.env("RUSTFLAGS", &flags).env("SOURCE_DATE_EPOCH", about.epoch.to_string());
    command.env("CARGO_INCREMENTAL", "0");
    Ok(())
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

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), String> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(file, bytes).map_err(|error| format!("{}: {error}", file.display()))
}
