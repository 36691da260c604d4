//! A provider library in the registry of the machine, for as long as a test runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tallymon_testkit::{Scratch, skip};

/// The folder of what `cargo xtask wine` compiled.
const PEERS: &str = "TALLYMON_WINDOWS_PEERS";

/// One test at a time: they share the registry of the machine.
static MACHINE: Mutex<()> = Mutex::new(());

/// A registered provider. Dropping it removes it.
pub(crate) struct Provider {
    service: &'static str,
    /// Where its library is. It is removed after the key, and before another test begins.
    folder: Option<Scratch>,
    machine: Option<MutexGuard<'static, ()>>,
}

impl Provider {
    /// Registers the library of `c/provider.c`; `None` (and a reported skip) when it was not compiled.
    pub(crate) fn register(service: &'static str) -> Option<Provider> {
        Provider::register_peer(service, "provider.dll")
    }

    /// Registers a library of the peers; `None` (and a reported skip) when it was not compiled.
    pub(crate) fn register_peer(service: &'static str, library: &str) -> Option<Provider> {
        let library = peer(library)?;
        let machine = lock();
        let mut provider = Provider::register_library(service, library.to_str().unwrap());
        provider.machine = Some(machine);
        Some(provider)
    }

    /// Registers a library of the peers behind that of `c/gap.c`, with its first indexes, as `lodctr` writes
    /// them, and a text for Open; `None` (and a reported skip) when it was not compiled.
    pub(crate) fn behind_gap(
        service: &'static str,
        library: &str,
        first: u32,
        export: Option<&str>,
    ) -> Option<Provider> {
        let (library, gap) = (peer(library)?, peer("gap.dll")?);
        let machine = lock();
        let folder = Scratch::new();
        fs::copy(library, folder.join("tested.dll")).unwrap();
        fs::copy(gap, folder.join("gap.dll")).unwrap();
        let mut provider = Provider::register_library(service, folder.join("gap.dll").to_str().unwrap());
        for (name, value) in [("First Counter", first), ("First Help", first + 1)] {
            provider.set(name, "REG_DWORD", &value.to_string());
        }
        if let Some(text) = export {
            let key = format!(r"{}\Linkage", provider.key());
            change(&["add", &key, "/v", "Export", "/t", "REG_MULTI_SZ", "/d", text, "/f"]);
        }
        (provider.folder, provider.machine) = (Some(folder), Some(machine));
        Some(provider)
    }

    /// Registers a library, whatever it is.
    pub(crate) fn register_library(service: &'static str, library: &str) -> Provider {
        let provider = Provider { service, folder: None, machine: None };
        for (name, value) in
            [("Library", library), ("Open", "Open"), ("Collect", "Collect"), ("Close", "Close")]
        {
            provider.set(name, "REG_SZ", value);
        }
        provider
    }

    /// Disables it as Windows does after a failure.
    pub(crate) fn disable(&self) {
        self.set("Disable Performance Counters", "REG_DWORD", "1");
    }

    /// Removes a value, as `unlodctr` does.
    pub(crate) fn unset(&self, name: &str) {
        change(&["delete", &self.performance(), "/v", name, "/f"]);
    }

    /// Writes a value of its key `Performance`.
    pub(crate) fn set(&self, name: &str, kind: &str, value: &str) {
        change(&["add", &self.performance(), "/v", name, "/t", kind, "/d", value, "/f"]);
    }

    fn key(&self) -> String {
        format!(r"HKLM\SYSTEM\CurrentControlSet\Services\{}", self.service)
    }

    fn performance(&self) -> String {
        format!(r"{}\Performance", self.key())
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // What stays is removed with the prefix.
        let _ = Command::new("reg").args(["delete", &self.key(), "/f"]).output();
    }
}

fn lock() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn change(words: &[&str]) {
    let output = Command::new("reg").args(words).output().unwrap();
    assert!(output.status.success(), "reg {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A file that `cargo xtask wine` compiled; `None` (and a reported skip) when it did not.
pub(crate) fn peer(name: &str) -> Option<PathBuf> {
    let file =
        std::env::var_os(PEERS).map(|folder| std::path::absolute(Path::new(&folder).join(name)).unwrap());
    let file = file.filter(|file| file.is_file());
    if file.is_none() {
        skip(&format!("{name} is not compiled: 'cargo xtask wine' does it"));
    }
    file
}

/// What the reader in C prints.
pub(crate) fn reader(words: &[&str]) -> String {
    let output = Command::new(peer("reader.exe").unwrap()).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}
