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

/// Result, source below the root, and what the compiler is told. It runs in the folder of the results.
const COMPILED: &[(&str, &str, &[&str])] = &[
    ("provider.dll", "crates/cli/tests/windows/c/provider.c", &["-Werror", "-shared"]),
    ("process.dll", "crates/cli/tests/windows/c/process.c", &["-Werror", "-shared"]),
    ("gap.dll", "crates/cli/tests/windows/c/gap.c", &["-Werror", "-shared"]),
    ("reader.exe", "crates/cli/tests/windows/c/reader.c", &["-Werror", "-municode"]),
    ("article.dll", "crates/provider/examples/c/myperf1_inst/myperf1_inst.cpp", &["-shared"]),
    // Uses `%u` for DWORD, which is no long on Linux.
    (
        "publish-c.exe",
        "crates/capi/tests/c/publish.c",
        &["-Wno-format", "tallymon_capi.dll", "-Wl,-Bstatic", "-lpthread"],
    ),
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
    (&["--package", "tallymon-capi"], "tallymon_capi.dll", "tallymon_capi.dll"),
];

/// Makes all of them; returns their folder.
pub(super) fn make() -> Result<PathBuf, String> {
    let folder = target_folder().join("wine").join("peers");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (options, file, result) in BUILT {
        execute(cargo().args(["build", "--quiet", "--target", TARGET]).args(*options))?;
        copy(&target_folder().join(TARGET).join("debug").join(file), &folder.join(result))?;
    }
    // With the headers of Windows, a program needs this one of ours.
    copy(&root().join("crates/capi/include/tallymon.h"), &folder.join("tallymon.h"))?;
    for (result, source, options) in COMPILED {
        let mut compile = Command::new(COMPILER);
        compile.current_dir(&folder).args(["-O1", "-Wall", "-I", "."]);
        compile.arg("-I").arg(root().join("crates/provider/examples/c"));
        compile.args(["-o", result]).arg(root().join(source)).args(*options);
        execute(&mut compile)?;
    }
    Ok(folder)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}
