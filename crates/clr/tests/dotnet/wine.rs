//! The runtimes of Windows, run by Wine: `cargo xtask wine --dotnet` names the program and the profiler's
//! library.
//!
//! They are out of the wheels for Windows of the packages that have those of Linux.

use std::path::{Path, PathBuf};

use crate::runtimes::{assemble, peers, unpack};

/// The program that runs those of Windows.
const WINE: &str = "TALLYMON_WINE";
/// The profiler's library, compiled for Windows.
const LIBRARY: &str = "TALLYMON_WINE_LIBRARY";

/// What runs a runtime of Windows.
pub(crate) struct Wine {
    pub(crate) program: PathBuf,
    pub(crate) library: PathBuf,
}

impl Wine {
    /// What the task names; `None` without it.
    pub(crate) fn of_environment() -> Option<Wine> {
        let named = |name| std::env::var_os(name).map(PathBuf::from);
        Some(Wine { program: named(WINE)?, library: named(LIBRARY)? })
    }
}

/// The path of a file of this machine as programs under Wine have it.
pub(crate) fn path(path: &Path) -> PathBuf {
    format!("Z:{}", path.display()).replace('/', "\\").into()
}

/// The runtimes by their versions, fetched unless they are there.
pub(crate) fn runtimes() -> [(&'static str, PathBuf); 2] {
    let peers = peers().join("windows");
    let old = peers.join("dotnetcore2-3.1.23/dotnetcore2/bin/dotnet.exe");
    let new = peers.join("dotnet-8.0.15/dotnet.exe");
    let platform = ["--platform", "win_amd64", "--only-binary=:all:"];
    if !old.is_file() {
        unpack(&peers, "dotnetcore2", "3.1.23", &platform);
    }
    if !new.is_file() {
        let package = unpack(&peers, "artifacts_keyring", "1.0.0", &platform);
        let parts = "artifacts_keyring/plugins/plugins/netcore/CredentialProvider.Microsoft";
        assemble(&package.join(parts), &old, new.parent().unwrap(), "8.0.15");
    }
    [("3.1", old), ("8.0", new)]
}
