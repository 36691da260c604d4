//! Changes to the settings of installed services.

use tallymon_core::title::TitleIndex;

use super::error::{RegistryError, RegistryErrorKind};
use super::service::Service;
use super::setting::{PerflibSetting, ServiceSetting, SettingText};
use super::trust::{Trust, ValidationCode};
use super::writer::Writer;

impl Writer {
    /// Sets the objects of a service (`Object List`), instead of those that came with its names. With an
    /// empty list it gets requests for every object that is in no other list.
    ///
    /// # Errors
    ///
    /// There is no such service; it has no names, and an object is not one of NT's own; the registry cannot
    /// be written.
    pub fn set_object_list(&self, service: &str, objects: &[TitleIndex]) -> Result<(), RegistryError> {
        self.change(|contents| {
            let name = self.name_of(contents, service)?;
            contents.change = format!("object list of {name}");
            if let Some(service) = contents.service_mut(&name) {
                service.object_list = objects.to_vec();
            }
            Ok(())
        })
    }

    /// Enables or disables a service (`Disable Performance Counters`).
    ///
    /// # Errors
    ///
    /// There is no such service; the registry cannot be written.
    pub fn set_enabled(&self, service: &str, enabled: bool) -> Result<(), RegistryError> {
        let word = if enabled { "enable" } else { "disable" };
        self.change_service(service, word, |service| service.disabled = !enabled)
    }

    /// Marks the library of a service as trusted, as it is now; a later change of the file ends that. Returns
    /// whether it is trusted: a library that is not a file, or has no absolute path, cannot be identified
    /// and stays unmarked.
    ///
    /// # Errors
    ///
    /// There is no such service; the registry cannot be written.
    pub fn trust(&self, service: &str) -> Result<Trust, RegistryError> {
        let mut trust = Trust::Unmarked;
        self.change_service(service, "trust", |service| {
            service.validation_code = service.library.as_deref().and_then(ValidationCode::of);
            service.trusted = true;
            trust = service.trust();
        })?;
        Ok(trust)
    }

    /// Sets a number of a service, or removes it.
    ///
    /// # Errors
    ///
    /// The number is not valid; there is no such service; the registry cannot be written.
    pub fn set(
        &self,
        service: &str,
        setting: ServiceSetting,
        value: Option<u32>,
    ) -> Result<(), RegistryError> {
        let text = setting.text();
        check_setting(&text, value)?;
        self.change_service(service, &format!("{} of", text.name), |service| setting.set(service, value))
    }

    /// Sets a number of all services, or removes it.
    ///
    /// # Errors
    ///
    /// The number is not valid; the registry cannot be written.
    pub fn set_perflib(&self, setting: PerflibSetting, value: Option<u32>) -> Result<(), RegistryError> {
        check_setting(&setting.text(), value)?;
        self.change(|contents| {
            contents.change = format!("{} of all", setting.text().name);
            match value {
                Some(value) => _ = contents.perflib.insert(setting, value),
                None => _ = contents.perflib.remove(&setting),
            }
            Ok(())
        })
    }

    fn change_service(
        &self,
        service: &str,
        word: &str,
        change: impl FnOnce(&mut Service),
    ) -> Result<(), RegistryError> {
        self.change(|contents| {
            let name = self.name_of(contents, service)?;
            contents.change = format!("{word} {name}");
            if let Some(service) = contents.service_mut(&name) {
                change(service);
            }
            Ok(())
        })
    }
}

fn check_setting(text: &SettingText, value: Option<u32>) -> Result<(), RegistryError> {
    match value {
        Some(value) if value > text.highest => {
            let words = format!("{} is {value}; at most {} needed ({})", text.name, text.highest, text.about);
            Err(RegistryError::new(RegistryErrorKind::Usage, words))
        }
        _ => Ok(()),
    }
}
