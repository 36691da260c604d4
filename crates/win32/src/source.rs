//! Requests as values of the performance key.

use std::borrow::Cow;

use tallymon_core::block::Snapshot;
use tallymon_core::flow::performance_registry::{
    FIRST_ROOM, block_name, definitions_name, empty_block, read_growing, titles_from,
};
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::Request;
use tallymon_core::title::{Language, Titles};

use crate::key::Key;

/// Where the languages of the names are.
const PERFLIB: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib";

/// The counters of this machine.
#[derive(Debug)]
pub struct WindowsSource {
    key: Key,
    /// The room that was enough last.
    room: u32,
    system_name: String,
    /// The memory of a block that was given back.
    spare: Vec<u8>,
}

impl Default for WindowsSource {
    fn default() -> WindowsSource {
        WindowsSource::new()
    }
}

impl WindowsSource {
    /// The counters of this machine. Nothing is loaded before the first request.
    pub const fn new() -> WindowsSource {
        WindowsSource {
            key: Key::performance_data(),
            room: FIRST_ROOM,
            system_name: String::new(),
            spare: Vec::new(),
        }
    }

    /// A value of the performance key; `None` if Windows does not know it.
    fn value(&mut self, name: &str) -> Result<Option<Vec<u8>>, SourceError> {
        let mut spare = std::mem::take(&mut self.spare);
        // Windows never cuts an answer without saying so.
        read_growing(
            name,
            &mut self.room,
            |_| false,
            |room| Ok(self.key.query(name, room, std::mem::take(&mut spare))),
        )
        .map_err(|error| {
            SourceError::new(
                error.kind,
                format!("HKEY_PERFORMANCE_DATA: {}{}", error.message, remedy(error.kind)),
            )
        })
    }

    fn block(&mut self, name: &str) -> Result<Snapshot, SourceError> {
        let Some(bytes) = self.value(name)? else { return empty_block(&self.system_name) };
        let snapshot = Snapshot::new(bytes).map_err(|error| {
            let words = format!(
                "HKEY_PERFORMANCE_DATA: the answer to {name:?} is not a valid data block: {error}; \
                 'tally doctor' lists what is registered"
            );
            SourceError::new(SourceErrorKind::BadData, words)
        })?;
        self.system_name = snapshot.system_name().to_string();
        Ok(snapshot)
    }
}

/// What a user can do about an error.
fn remedy(kind: SourceErrorKind) -> Cow<'static, str> {
    match kind {
        SourceErrorKind::AccessDenied => {
            "; add the user to the group Performance Monitor Users, or run it as administrator".into()
        }
        SourceErrorKind::Io => "; 'tally doctor' lists what is registered".into(),
        _ => "".into(),
    }
}

impl Source for WindowsSource {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        match block_name(request) {
            Some(name) => self.block(&name),
            None => empty_block(&self.system_name),
        }
    }

    fn give_back(&mut self, snapshot: Snapshot) {
        self.spare = snapshot.into_spare().take_bytes();
    }

    fn definitions(&mut self, costly: bool) -> Result<Snapshot, SourceError> {
        self.block(definitions_name(costly))
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        titles_from(language, "Help", |name| self.value(name))
    }

    fn languages(&self) -> Vec<Language> {
        let mut languages = vec![Language::ENGLISH];
        let names = Key::of_machine(PERFLIB).map(|key| key.names()).unwrap_or_default();
        // Beside the languages there are `CurrentLanguage` and others.
        let numbers = names.iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit()));
        for language in numbers.filter_map(|name| Language::parse(name)) {
            if !languages.contains(&language) {
                languages.push(language);
            }
        }
        languages
    }
}
