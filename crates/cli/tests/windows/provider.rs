//! A provider library in the registry of the machine, for as long as a test runs.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tallymon_testkit::skip;

/// The library of `c/provider.c`, and the program of `c/reader.c`.
const LIBRARY: &str = "TALLYMON_PERF_PROVIDER";
const READER: &str = "TALLYMON_PERF_READER";

/// One test at a time: they share the registry of the machine.
static MACHINE: Mutex<()> = Mutex::new(());

/// A registered provider. Dropping it removes it.
pub(crate) struct Provider {
    service: &'static str,
    _machine: Option<MutexGuard<'static, ()>>,
}

impl Provider {
    /// Registers the library of the tests; `None` (and a reported skip) when it was not compiled.
    pub(crate) fn register(service: &'static str) -> Option<Provider> {
        let (Some(library), Some(_)) = (std::env::var_os(LIBRARY), std::env::var_os(READER)) else {
            skip("the provider and the reader in C are not compiled: 'cargo xtask wine' does it");
            return None;
        };
        let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let library = std::path::absolute(PathBuf::from(library)).unwrap();
        let provider = Provider::register_library(service, library.to_str().unwrap());
        Some(Provider { service: provider.forget(), _machine: Some(machine) })
    }

    /// Registers a library, whatever it is.
    pub(crate) fn register_library(service: &'static str, library: &str) -> Provider {
        let provider = Provider { service, _machine: None };
        for (name, value) in
            [("Library", library), ("Open", "Open"), ("Collect", "Collect"), ("Close", "Close")]
        {
            provider.change(&["add", &provider.key(), "/v", name, "/t", "REG_SZ", "/d", value, "/f"]);
        }
        provider
    }

    /// Disables it as Windows does after a failure.
    pub(crate) fn disable(&self) {
        let name = "Disable Performance Counters";
        self.change(&["add", &self.key(), "/v", name, "/t", "REG_DWORD", "/d", "1", "/f"]);
    }

    /// The service, which stays registered.
    fn forget(self) -> &'static str {
        let service = self.service;
        std::mem::forget(self);
        service
    }

    fn key(&self) -> String {
        format!(r"HKLM\SYSTEM\CurrentControlSet\Services\{}\Performance", self.service)
    }

    fn change(&self, words: &[&str]) {
        let output = Command::new("reg").args(words).output().unwrap();
        assert!(output.status.success(), "reg {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let key = format!(r"HKLM\SYSTEM\CurrentControlSet\Services\{}", self.service);
        // What stays is removed with the prefix.
        let _ = Command::new("reg").args(["delete", &key, "/f"]).output();
    }
}

/// What the reader in C prints.
pub(crate) fn reader(words: &[&str]) -> String {
    let output = Command::new(std::env::var_os(READER).unwrap()).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}
