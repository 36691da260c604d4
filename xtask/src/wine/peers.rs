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

/// The example of which package is which file here.
const EXAMPLES: &[(&str, &str, &str)] = &[("tallymon-provider", "myperf1_inst.dll", "rust.dll")];

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
    for (package, file, result) in EXAMPLES {
        let example = file.split('.').next().unwrap_or_default();
        let mut build = cargo();
        build.args(["build", "--quiet", "--target", TARGET, "--package", package, "--example", example]);
        execute(&mut build)?;
        copy(&target_folder().join(TARGET).join("debug/examples").join(file), &folder.join(result))?;
    }
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}
