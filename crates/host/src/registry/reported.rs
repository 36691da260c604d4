//! Changes of names that the event log tells of: the one way to install and remove for commands and programs.

use std::path::Path;

use super::error::RegistryError;
use super::manifest::{Manifest, ManifestPackage};
use super::package::Package;
use super::report::{Change, report_failure, report_installed, report_removed, report_warnings};
use super::service::{Service, TitleRange};
use super::writer::{Removed, Writer};
use crate::events::EventLog;

/// A [`Writer`] whose changes, and failures to make them, are events of LoadPerf.
#[derive(Debug)]
pub struct ReportingWriter<'l> {
    writer: Writer,
    log: &'l EventLog,
}

impl Writer {
    /// The same, with its changes in an event log.
    pub const fn reporting(self, log: &EventLog) -> ReportingWriter<'_> {
        ReportingWriter { writer: self, log }
    }
}

impl Package {
    /// As [`Package::read`], with an event of why the names of a file cannot be installed.
    ///
    /// # Errors
    ///
    /// As [`Package::read`].
    pub fn read_to_install(file: &Path, log: &EventLog) -> Result<Package, RegistryError> {
        let name = file.display().to_string();
        Package::read(file, None).inspect_err(|error| report_failure(log, Change::Install, &name, error))
    }
}

impl ReportingWriter<'_> {
    /// The writer itself, for what is no event.
    pub const fn writer(&self) -> &Writer {
        &self.writer
    }

    /// As [`Writer::install`].
    ///
    /// # Errors
    ///
    /// As [`Writer::install`].
    pub fn install(&self, package: &Package, registration: &Service) -> Result<TitleRange, RegistryError> {
        self.installed(package, self.writer.install(package, registration))
    }

    /// As [`Writer::install_names`].
    ///
    /// # Errors
    ///
    /// As [`Writer::install_names`].
    pub fn install_names(&self, package: &Package) -> Result<TitleRange, RegistryError> {
        self.installed(package, self.writer.install_names(package))
    }

    /// As [`Writer::extend_names`].
    ///
    /// # Errors
    ///
    /// As [`Writer::extend_names`].
    pub fn extend_names(&self, package: &Package) -> Result<TitleRange, RegistryError> {
        self.installed(package, self.writer.extend_names(package))
    }

    fn installed(
        &self,
        package: &Package,
        result: Result<TitleRange, RegistryError>,
    ) -> Result<TitleRange, RegistryError> {
        let service = &package.service;
        let range = result.inspect_err(|error| report_failure(self.log, Change::Install, service, error))?;
        report_installed(self.log, service, range);
        report_warnings(self.log, package, self.writer.contents()?.languages());
        Ok(range)
    }

    /// As [`Writer::install_manifest`].
    ///
    /// # Errors
    ///
    /// As [`Writer::install_manifest`].
    pub fn install_manifest(&self, manifest: &Manifest) -> Result<Vec<TitleRange>, RegistryError> {
        let names: Vec<&str> = manifest.providers.iter().map(ManifestPackage::name).collect();
        let ranges = self.writer.install_manifest(manifest);
        let failed = |error: &_| report_failure(self.log, Change::Install, &names.join(", "), error);
        let ranges = ranges.inspect_err(failed)?;
        for (range, name) in ranges.iter().zip(names) {
            report_installed(self.log, name, *range);
        }
        Ok(ranges)
    }

    /// As [`Writer::remove_names`].
    ///
    /// # Errors
    ///
    /// As [`Writer::remove_names`].
    pub fn remove_names(&self, service: &str) -> Result<TitleRange, RegistryError> {
        let range = self.writer.remove_names(service);
        let range = range.inspect_err(|error| report_failure(self.log, Change::Remove, service, error))?;
        report_removed(self.log, service, range);
        Ok(range)
    }

    /// As [`Writer::remove`].
    ///
    /// # Errors
    ///
    /// As [`Writer::remove`].
    pub fn remove(&self, service: &str) -> Result<Removed, RegistryError> {
        let removed = self.writer.remove(service);
        let removed =
            removed.inspect_err(|error| report_failure(self.log, Change::Remove, service, error))?;
        self.removed(&removed);
        Ok(removed)
    }

    /// As [`Writer::remove_manifest`].
    ///
    /// # Errors
    ///
    /// As [`Writer::remove_manifest`].
    pub fn remove_manifest(&self, manifest: &Manifest) -> Result<Vec<Removed>, RegistryError> {
        let removed = self.writer.remove_manifest(manifest)?;
        removed.iter().for_each(|removed| self.removed(removed));
        Ok(removed)
    }

    fn removed(&self, removed: &Removed) {
        if let Some(range) = removed.titles {
            report_removed(self.log, &removed.service, range);
        }
    }

    /// As [`Writer::repair`].
    ///
    /// # Errors
    ///
    /// As [`Writer::repair`].
    pub fn repair(&self) -> Result<Option<(u32, u32)>, RegistryError> {
        self.writer.repair().inspect_err(|error| report_failure(self.log, Change::Repair, "", error))
    }
}
