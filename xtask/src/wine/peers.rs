//! The programs and libraries that the tests of the command run beside it, in one folder.
//!
//! Those in C and C++ share no code with what is tested. Those in Rust are what an author of counters builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::TARGET;
use super::prefix::COMPILER;
use crate::{cargo, root, run as execute, target_folder};

/// The variable that names the folder to the tests.
pub(super) const VARIABLE: &str = "TALLYMON_WINDOWS_PEERS";

/// Result, sources below the root, and what the compiler is told.
const COMPILED: &[(&str, &str, &[&str])] = &[
    ("provider.dll", "crates/cli/tests/windows/c/provider.c", &["-Werror", "-shared"]),
    ("gap.dll", "crates/cli/tests/windows/c/gap.c", &["-Werror", "-shared"]),
    ("reader.exe", "crates/cli/tests/windows/c/reader.c", &["-Werror", "-municode"]),
    ("article.dll", "crates/provider/examples/c/myperf1_inst/myperf1_inst.cpp", &["-shared"]),
];

/// What cargo builds: options, the result below the folder of the target, and its name here.
const BUILT: &[(&[&str], &str, &str)] = &[
    (
        &["--package", "tallymon-provider", "--example", "myperf1_inst"],
        "examples/myperf1_inst.dll",
        "rust.dll",
    ),
    (&["--package", "tallymon-provider", "--example", "publish"], "examples/publish.exe", "publish.exe"),
    (&["--package", "tallymon-perf"], "tallymon_perf.dll", "tallymon_perf.dll"),
];

/// Makes all of them; returns their folder.
pub(super) fn make() -> Result<PathBuf, String> {
    let folder = target_folder().join("wine").join("peers");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (result, source, options) in COMPILED {
        let mut compile = Command::new(COMPILER);
        compile
            .args(["-O1", "-Wall"])
            .args(*options)
            .arg("-I")
            .arg(root().join("crates/provider/examples/c"));
        compile.arg("-o").arg(folder.join(result)).arg(root().join(source));
        execute(&mut compile)?;
    }
    for (options, file, result) in BUILT {
        execute(cargo().args(["build", "--quiet", "--target", TARGET]).args(*options))?;
        copy(&target_folder().join(TARGET).join("debug").join(file), &folder.join(result))?;
    }
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}
