//! The versions of a table: reading them, and writing the next one.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;

use super::action::{State, first};
use super::part::Added;
use super::store::{Store, name_of, store_at, whole};
use super::{MOST_OF_VERSION, times};
use crate::error::{LogError, LogErrorKind};

/// How often a writer looks what others wrote, and tries the next number.
const MOST_TRIES: u32 = 10_000;

/// A table, as far as its versions were read.
pub(super) struct Table {
    pub(super) store: Arc<dyn Store>,
    pub(super) state: State,
}

impl Table {
    /// Reads all versions of a table.
    ///
    /// # Errors
    ///
    /// Those of the place where it is, and a table that can not be read, with the version and the line.
    pub(super) fn open(root: &Path) -> Result<Table, LogError> {
        let store = store_at(root)?;
        if !store.is_table().map_err(|error| LogError::from(error).in_file(root))? {
            let words = "it is no lake: it has no folder _delta_log; 'tally relog -f lake' begins one";
            return Err(LogError::new(LogErrorKind::NotALog(words.to_owned())).in_file(root));
        }
        Table::of_store(store)
    }

    fn of_store(store: Arc<dyn Store>) -> Result<Table, LogError> {
        let mut table = Table { store, state: State::default() };
        let (newest, has_checkpoint) = table.newest()?;
        table.refresh()?;
        let next = table.state.next;
        if newest.is_none_or(|newest| newest >= next) {
            let words = match newest {
                _ if has_checkpoint => format!(
                    "version {next} of the table is not there, and its checkpoints are not read; set \
                     delta.enableExpiredLogCleanup to false, and begin another table"
                ),
                Some(newest) => format!("version {next} of the table is missing, but {newest} is there"),
                None => "the folder _delta_log has no version 0".to_owned(),
            };
            return Err(table.unusable(words));
        }
        Ok(table)
    }

    /// Opens a table to write; begins it if the folder is new, or has nothing in it but what is hidden.
    ///
    /// # Errors
    ///
    /// As [`Table::open`], and a folder with other files in it.
    pub(super) fn to_write(root: &Path) -> Result<Table, LogError> {
        let failed = |error: std::io::Error| LogError::from(error).in_file(root);
        let store = store_at(root)?;
        if !store.is_table().map_err(failed)? {
            store
                .begin()
                .map_err(failed)?
                .map_err(|words| LogError::new(LogErrorKind::Request(words)).in_file(root))?;
        }
        let table = Table { store: Arc::clone(&store), state: State::default() };
        if table.newest()?.0.is_none() {
            // Another writer may begin it meanwhile; then theirs is the first version.
            let created = table.store.created().map_err(failed)?;
            table.write(0, &first(random(), times::unix_milliseconds(created)))?;
        }
        let table = Table::of_store(store)?;
        table.state.check_writable().map_err(|words| table.unusable(words))?;
        Ok(table)
    }

    /// The number of the newest version, and whether there are checkpoints.
    fn newest(&self) -> Result<(Option<u64>, bool), LogError> {
        let folder = whole(self.root(), Path::new(super::LOG));
        self.store.newest().map_err(|error| LogError::from(error).in_file(&folder))
    }

    /// Its name for messages.
    pub(super) fn root(&self) -> &Path {
        self.store.shown()
    }

    pub(super) fn unusable(&self, words: String) -> LogError {
        LogError::new(LogErrorKind::Unusable(words)).in_file(self.root())
    }

    /// Reads the versions that came since.
    pub(super) fn refresh(&mut self) -> Result<(), LogError> {
        loop {
            let version = self.state.next;
            let name = name_of(version);
            let failed =
                |error: std::io::Error| LogError::from(error).in_file(&whole(self.root(), Path::new(&name)));
            let Some(text) = self.store.version(version, MOST_OF_VERSION).map_err(failed)? else {
                return Ok(());
            };
            if text.len() as u64 > MOST_OF_VERSION {
                let words =
                    format!("version {version} has more than {MOST_OF_VERSION} bytes, the most that is read");
                return Err(self.unusable(words));
            }
            let text = String::from_utf8(text).map_err(|error| {
                self.unusable(format!("{name}, byte {}: no UTF-8", error.utf8_error().valid_up_to()))
            })?;
            for (nth, line) in (1u64..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
                if let Err(words) = self.state.add(line) {
                    return Err(self.unusable(format!("{name}, line {nth}: {words}")));
                }
            }
            self.state.next = version.saturating_add(1);
        }
    }

    /// Writes a version if no other writer did; returns whether.
    fn write(&self, version: u64, actions: &[Json]) -> Result<bool, LogError> {
        let mut text = String::new();
        for action in actions {
            text.push_str(&action.to_string());
            text.push('\n');
        }
        if text.len() as u64 > MOST_OF_VERSION {
            let words =
                "the log has more parts than one version may name; put in a part of it (--from, --to)";
            return Err(LogError::new(LogErrorKind::Request(words.to_owned())).in_file(self.root()));
        }
        let written = self.store.write_version(version, text.as_bytes());
        written
            .map_err(|error| LogError::from(error).in_file(&whole(self.root(), Path::new(&name_of(version)))))
    }

    /// Removes the files of parts after an error, unless a version names them all the same.
    pub(super) fn discard_unnamed(&mut self, parts: &[Added]) {
        if self.refresh().is_ok() {
            let unnamed = parts.iter().filter(|part| !self.state.parts.contains_key(&part.part.path));
            unnamed.for_each(|part| part.discard(&*self.store));
        }
    }

    /// Writes the next version. Before each try `actions` is asked for it, with what the table is now; `None`
    /// when there is nothing to write any more. Returns the number of the version.
    ///
    /// # Errors
    ///
    /// Those of the operating system, or the table changed so that nothing can be added.
    pub(super) fn commit(
        &mut self,
        mut actions: impl FnMut(&State) -> Option<Vec<Json>>,
    ) -> Result<Option<u64>, LogError> {
        for _ in 0..MOST_TRIES {
            self.refresh()?;
            self.state.check_writable().map_err(|words| self.unusable(words))?;
            let Some(actions) = actions(&self.state) else { return Ok(None) };
            let version = self.state.next;
            if self.write(version, &actions)? {
                return Ok(Some(version));
            }
        }
        Err(self.unusable(format!("{MOST_TRIES} times another writer came first; try again")))
    }
}

/// A number that no other process has.
pub(super) fn random() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    let id = u128::from(std::process::id());
    half().wrapping_shl(64) ^ half() ^ id
}
