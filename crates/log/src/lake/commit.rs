//! The versions of a table: reading them, and writing the next one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;

use super::action::{State, first};
use super::part::Added;
use super::random::random;
use super::store::{Store, name_of, store_at, whole};
use super::{MOST_OF_VERSION, times};
use crate::error::{LogError, LogErrorKind};

/// How often a writer looks what others wrote, and tries the next number.
const MOST_TRIES: u32 = 10_000;

/// What this process read of tables, so that the next log that it puts in does not read all versions again:
/// the time for many logs would grow with the square of their number. At most one for each writing thread.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());
const MOST_KNOWN: usize = 8;
const MOST_KNOWN_PARTS: usize = 1 << 17;

/// A table without the place where it is.
struct Known {
    root: PathBuf,
    /// The text of its first version, which no other table has.
    first: Vec<u8>,
    state: State,
}

/// A table, as far as its versions were read.
pub(super) struct Table {
    pub(super) store: Arc<dyn Store>,
    pub(super) state: State,
    /// The text of its first version, if this process knows it.
    first: Option<Vec<u8>>,
}

impl Table {
    /// Reads all versions of a table.
    ///
    /// # Errors
    ///
    /// Those of the place where it is, and a table that cannot be read, with the version and the line.
    pub(super) fn open(root: &Path) -> Result<Table, LogError> {
        Table::open_in(store_at(root)?)
    }

    /// The same, of a place.
    pub(super) fn open_in(store: Arc<dyn Store>) -> Result<Table, LogError> {
        if !store.is_table().map_err(|error| LogError::from(error).in_file(store.shown()))? {
            let words = "it is not a lake: it has no folder _delta_log; 'tally relog -f lake' begins one";
            return Err(LogError::new(LogErrorKind::NotALog(words.to_owned())).in_file(store.shown()));
        }
        Table::of_store(store)
    }

    fn unread(store: Arc<dyn Store>) -> Table {
        Table { store, state: State::default(), first: None }
    }

    fn of_store(store: Arc<dyn Store>) -> Result<Table, LogError> {
        let mut table = Table::unread(store);
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

    /// Opens a table to write; begins it if the place is new, or has nothing in it but what is hidden.
    ///
    /// # Errors
    ///
    /// As [`Table::open`], and a folder with other files in it.
    pub(super) fn to_write(store: Arc<dyn Store>) -> Result<Table, LogError> {
        let root = store.shown().to_path_buf();
        let failed = |error: std::io::Error| LogError::from(error).in_file(&root);
        if let Some(table) = Table::known(&store)? {
            table.state.check_writable().map_err(|words| table.unusable(words))?;
            return Ok(table);
        }
        if !store.is_table().map_err(failed)? {
            store
                .begin()
                .map_err(failed)?
                .map_err(|words| LogError::new(LogErrorKind::Request(words)).in_file(&root))?;
        }
        let table = Table::unread(Arc::clone(&store));
        if table.newest()?.0.is_none() {
            // Another writer may begin it meanwhile; then theirs is the first version.
            let created = table.store.created().map_err(failed)?;
            table.write(0, &first(random(), times::unix_milliseconds(created)))?;
        }
        let table = Table::of_store(store)?;
        table.state.check_writable().map_err(|words| table.unusable(words))?;
        Ok(table)
    }

    /// A table that this process knows, with what others wrote since.
    fn known(store: &Arc<dyn Store>) -> Result<Option<Table>, LogError> {
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = {
            let mut known = known();
            let at = known.iter().position(|known| known.root == store.shown());
            at.map(|at| known.swap_remove(at))
        };
        let Some(Known { first, state, .. }) = taken else { return Ok(None) };
        // Another table may have taken its place, or an older copy of it.
        let has = |number| store.one_version(number, MOST_OF_VERSION).ok().flatten();
        let is_same = has(0).is_some_and(|text| text == first);
        if !is_same || has(state.next.saturating_sub(1)).is_none() {
            return Ok(None);
        }
        let mut table = Table { store: Arc::clone(store), state, first: Some(first) };
        table.refresh()?;
        Ok(Some(table))
    }

    /// Keeps what was read for the next log that this process puts in.
    pub(super) fn keep(self) {
        if self.state.parts.len() > MOST_KNOWN_PARTS {
            return;
        }
        // Without it the next one reads all versions.
        let first = self.first.or_else(|| self.store.one_version(0, MOST_OF_VERSION).ok().flatten());
        let Some(first) = first else { return };
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST_KNOWN {
            known.push(Known { root: self.store.shown().to_path_buf(), first, state: self.state });
        }
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

    /// Removes the files of parts after a version could not be written, unless it may appear all the same.
    pub(super) fn discard_after_error(&mut self, parts: &[Added]) {
        // What they cost until the next vacuum is less than a version without its parts.
        if !self.store.may_arrive_late() {
            self.discard_unnamed(parts);
        }
    }

    /// Removes the files of parts that no version names.
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
