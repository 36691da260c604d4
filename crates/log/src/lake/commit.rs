//! The versions of a table: reading them, and writing the next one.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::action::{State, first};
use super::part::Added;
use super::{LOG, MOST_OF_VERSION, path, times};
use crate::error::{LogError, LogErrorKind};
use crate::new_file::{NewFile, Overwrite};

/// How often a writer looks what others wrote, and tries the next number.
const MOST_TRIES: u32 = 10_000;

/// A table, as far as its versions were read.
pub(super) struct Table {
    pub(super) root: PathBuf,
    pub(super) state: State,
}

/// Whether a path is the folder of a table.
pub fn is_table(path: &Path) -> bool {
    fs::symlink_metadata(path.join(LOG)).is_ok_and(|about| about.is_dir())
}

impl Table {
    /// Reads all versions of a table.
    ///
    /// # Errors
    ///
    /// Those of the operating system, and a table that can not be read, with the version and the line.
    pub(super) fn open(root: &Path) -> Result<Table, LogError> {
        if !is_table(root) {
            let words = "it is no lake: it has no folder _delta_log; 'tally relog -f lake' begins one";
            return Err(LogError::new(LogErrorKind::NotALog(words.to_owned())).in_file(root));
        }
        let mut table = Table { root: root.to_path_buf(), state: State::default() };
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
        let failed = |error: io::Error| LogError::from(error).in_file(root);
        if !is_table(root) {
            fs::create_dir_all(root).map_err(failed)?;
            for entry in fs::read_dir(root).map_err(failed)? {
                let name = entry.map_err(failed)?.file_name();
                if !name.to_string_lossy().starts_with(['_', '.']) {
                    let words = format!("the folder has {name:?} in it, and is no table; name a new folder");
                    return Err(LogError::new(LogErrorKind::Request(words)).in_file(root));
                }
            }
            path::create_folder(root, LOG).map_err(failed)?;
        }
        let table = Table { root: root.to_path_buf(), state: State::default() };
        if table.newest()?.0.is_none() {
            let about = fs::metadata(root.join(LOG)).and_then(|about| about.modified()).map_err(failed)?;
            // Another writer may begin it meanwhile; then theirs is the first version.
            table.write(0, &first(random(), times::unix_milliseconds(about)))?;
        }
        let table = Table::open(root)?;
        table.state.check_writable().map_err(|words| table.unusable(words))?;
        Ok(table)
    }

    /// The number of the newest version, and whether there are checkpoints.
    fn newest(&self) -> Result<(Option<u64>, bool), LogError> {
        let folder = self.root.join(LOG);
        let failed = |error: io::Error| LogError::from(error).in_file(&folder);
        let (mut newest, mut has_checkpoint) = (None, false);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            has_checkpoint |= name.contains(".checkpoint.");
            let digits = name.strip_suffix(".json").filter(|digits| digits.len() == 20);
            newest = newest.max(digits.and_then(|digits| digits.parse::<u64>().ok()));
        }
        Ok((newest, has_checkpoint))
    }

    fn name_of(version: u64) -> String {
        format!("{LOG}/{version:020}.json")
    }

    pub(super) fn unusable(&self, words: String) -> LogError {
        LogError::new(LogErrorKind::Unusable(words)).in_file(&self.root)
    }

    /// Reads the versions that came since.
    pub(super) fn refresh(&mut self) -> Result<(), LogError> {
        loop {
            let version = self.state.next;
            let name = Table::name_of(version);
            let file = match path::open_below(&self.root, Path::new(&name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(LogError::from(error).in_file(&self.root.join(name))),
                Ok(file) => file,
            };
            let mut text = String::new();
            let most = MOST_OF_VERSION.saturating_add(1);
            let read = file.take(most).read_to_string(&mut text);
            read.map_err(|error| LogError::from(error).in_file(&self.root.join(&name)))?;
            if text.len() as u64 > MOST_OF_VERSION {
                let words =
                    format!("version {version} has more than {MOST_OF_VERSION} bytes, the most that is read");
                return Err(self.unusable(words));
            }
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
        let target = self.root.join(Table::name_of(version));
        let mut text = String::new();
        for action in actions {
            text.push_str(&action.to_string());
            text.push('\n');
        }
        if text.len() as u64 > MOST_OF_VERSION {
            let words =
                "the log has more parts than one version may name; put in a part of it (--from, --to)";
            return Err(LogError::new(LogErrorKind::Request(words.to_owned())).in_file(&self.root));
        }
        let write = || {
            let new = NewFile::create(&target, Overwrite::Never)?;
            new.file()?.write_all(text.as_bytes())?;
            new.keep()
        };
        match write() {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(LogError::from(error).in_file(&target)),
        }
    }

    /// Removes the files of parts after an error, unless a version names them all the same.
    pub(super) fn discard_unnamed(&mut self, parts: &[Added]) {
        if self.refresh().is_ok() {
            let unnamed = parts.iter().filter(|part| !self.state.parts.contains_key(&part.part.path));
            unnamed.for_each(|part| part.discard(&self.root));
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
