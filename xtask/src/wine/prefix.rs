//! The folder that Wine takes for a computer: made in `target`, with no display, and with its processes ended
//! when the task ends.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::found;
use crate::{root, run as execute, target_folder};

pub(super) const COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// Debian keeps Wine out of PATH unless its package `wine` is there too.
const PLACES: &[&str] = &["wine64", "/usr/lib/wine/wine64"];
const SERVERS: &[&str] = &["/usr/lib/wine/wineserver", "/usr/lib/wine/wineserver64"];

/// A prefix that is ready. Dropping it ends every process in it.
pub(crate) struct Prefix {
    folder: PathBuf,
    wine: String,
    /// One task at a time: the end of one ends the processes of all.
    _lock: File,
}

impl Prefix {
    /// Makes it unless it is there.
    pub(crate) fn prepare() -> Result<Prefix, String> {
        let remedy = "apt-get install --no-install-recommends wine64 g++-mingw-w64-x86-64";
        let missing =
            |program: &str| format!("the program {program} is not installed; '{remedy}' installs it");
        let wine = found("wine", PLACES).ok_or_else(|| missing("wine"))?;
        found(COMPILER, &[]).ok_or_else(|| missing(COMPILER))?;
        let folder = target_folder().join("wine").join("prefix");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let lock = folder.with_file_name("lock");
        let failed = |error| format!("{}: {error}", lock.display());
        let held = File::create(&lock).map_err(failed)?;
        held.lock().map_err(failed)?;
        let prefix = Prefix { folder, wine, _lock: held };
        // Without it the server ends between two programs, and the second one may meet it while it ends.
        prefix.server("-p")?;
        let system = prefix.drive_c().join("windows").join("system32");
        if !system.join("kernel32.dll").exists() {
            let mut boot = Command::new("timeout");
            boot.args(["300", &prefix.wine, "wineboot", "--init"]);
            prefix.set(&mut boot);
            execute(&mut boot)?;
        }
        let library = system.join("bcryptprimitives.dll");
        if !library.exists() {
            let source = root().join("xtask/src/wine/bcryptprimitives.c");
            let mut compile = Command::new(COMPILER);
            compile.args(["-shared", "-O1", "-o"]).arg(&library).arg(&source).arg("-ladvapi32");
            execute(&mut compile)?;
        }
        Ok(prefix)
    }

    /// Has a command, and what it starts, use this prefix.
    pub(crate) fn set(&self, command: &mut Command) {
        command.env("WINEPREFIX", &self.folder).env("WINEDEBUG", "-all");
        // No windows, and no offers to download Mono and Gecko. The first program that may have windows would
        // start Wine's explorer, which keeps the pipes of that program open.
        command.env_remove("DISPLAY").env("WINEDLLOVERRIDES", "mscoree,mshtml,explorer.exe=");
        // Names of files are UTF-8 on both sides.
        command.env("LC_ALL", "C.UTF-8");
    }

    /// Runs the program that keeps the processes of a prefix.
    fn server(&self, option: &str) -> Result<(), String> {
        let server = found("wineserver", SERVERS).ok_or("the program wineserver is not installed")?;
        let mut command = Command::new(server);
        command.arg(option).stdout(Stdio::null()).stderr(Stdio::null());
        self.set(&mut command);
        // It reports a failure when there is nothing left to do.
        command.status().map(drop).map_err(|error| format!("wineserver {option}: {error}"))
    }

    /// The program that runs those of Windows.
    pub(crate) fn wine(&self) -> &str {
        &self.wine
    }

    /// Its drive C.
    pub(crate) fn drive_c(&self) -> PathBuf {
        self.folder.join("drive_c")
    }

    /// What runs a program for at most so many seconds.
    pub(super) fn runner(&self, seconds: &str) -> String {
        format!("timeout --kill-after=10 {seconds} {}", self.wine)
    }
}

impl Drop for Prefix {
    fn drop(&mut self) {
        if let Err(error) = self.server("-k") {
            eprintln!("processes of Wine may be left: {error}");
        }
    }
}
