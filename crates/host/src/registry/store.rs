//! Versions of a registry on disk: many processes read, one writes, and a crash leaves the old version or the
//! new one.
//!
//! A change builds the next version beside the others, writes it to the disk, and only then switches the link
//! `current` to it, by one rename. Files of a version never change, so a reader that has followed the link
//! needs no lock.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tallymon_provider::trust::{Lock, LockError, check_path};

use super::contents::Contents;
use super::error::{Problem, RegistryError, RegistryErrorKind};
use super::files::{Files, SystemFiles};
use super::format;
use super::roots::Scope;

/// The link to the version in use.
const CURRENT: &str = "current";
/// The new link before it is renamed.
const CURRENT_NEXT: &str = "current.next";
/// The folder that a version is built in.
const NEXT: &str = "next";
/// The folder that a version is taken apart in.
const OLD: &str = "old";
/// Writers wait for each other here, in a folder that others cannot enter.
const LOCK: &str = "registry.lock";
/// How long a writer waits for another one. A change takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many versions are kept.
const KEPT: usize = 8;
/// How often a reader starts again because its version was removed while it was reading; that takes eight
/// changes in the meantime.
const TRIES: usize = 100;

/// A registry on disk.
pub(crate) struct Store<'f> {
    scope: Scope,
    root: PathBuf,
    files: &'f dyn Files,
}

/// A version that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Its number.
    pub number: u32,
    /// Whether it is the one in use.
    pub current: bool,
    /// The change against the previous version; the error of a version that cannot be read.
    pub change: Result<String, RegistryError>,
}

impl Store<'static> {
    /// The registry in a folder, which need not exist yet.
    pub(crate) fn new(scope: Scope, root: &Path) -> Store<'static> {
        Store { scope, root: root.to_path_buf(), files: &SystemFiles }
    }
}

impl<'f> Store<'f> {
    /// The version in use and its number; an empty one with number 0 when nothing was ever installed. Waits
    /// for no lock.
    pub(crate) fn read(&self) -> Result<(u32, Contents), RegistryError> {
        self.check(&self.root)?;
        let mut last = None;
        for _ in 0..TRIES {
            let Some(number) = self.current()? else {
                return Ok((0, Contents::new(self.scope)));
            };
            match self.read_version(number) {
                Err(error)
                    if error.kind == RegistryErrorKind::NotFound && self.current()? != Some(number) =>
                {
                    last = Some(error);
                }
                Err(mut error) if error.kind == RegistryErrorKind::NotFound => {
                    error.kind = RegistryErrorKind::Damaged;
                    return Err(error);
                }
                Err(error) => return Err(error),
                Ok(contents) => return Ok((number, contents)),
            }
        }
        Err(last
            .unwrap_or_else(|| self.error(RegistryErrorKind::Io, "it changes faster than it can be read")))
    }

    /// Builds the next version from the one in use, and returns its number. A failure changes nothing, except
    /// when the disk fails to store the link at the very end, which the error then says.
    pub(crate) fn change<E: From<RegistryError>>(
        &self,
        change: impl FnOnce(&Contents) -> Result<Contents, E>,
    ) -> Result<u32, E> {
        let lock = self.lock()?;
        let (number, old) = self.read()?;
        let mut new = change(&old)?;
        new.parent = number;
        let number = self.write(&new)?;
        drop(lock);
        Ok(number)
    }

    /// Builds a version from scratch, whatever state the one in use is in.
    pub(crate) fn replace(&self, mut new: Contents) -> Result<u32, RegistryError> {
        let lock = self.lock()?;
        new.parent = self.current()?.unwrap_or(0);
        let number = self.write(&new)?;
        drop(lock);
        Ok(number)
    }

    /// Returns to an earlier version, or to the one that the version in use was based on. Returns the numbers
    /// of both.
    pub(crate) fn rollback(&self, to: Option<u32>) -> Result<(u32, u32), RegistryError> {
        let lock = self.lock()?;
        let from = self.current()?.unwrap_or(0);
        let target = match to {
            Some(number) => number,
            None => self.read()?.1.parent,
        };
        let kept = self.numbers()?;
        if !kept.contains(&target) {
            let words = match kept.first() {
                Some(first) => {
                    format!(
                        "version {target} is not kept; the oldest one is {first}, see 'tally provider \
                        rollback --list'"
                    )
                }
                None => "nothing was ever installed, so there is nothing to go back to".to_string(),
            };
            return Err(self.error(RegistryErrorKind::NotFound, words));
        }
        // Do not return to a version that cannot be read.
        self.read_version(target)?;
        self.switch(target)?;
        drop(lock);
        Ok((from, target))
    }

    /// Returns to the newest readable version if the one in use cannot be read. Returns the numbers of the
    /// version that was left and of the one in its place; `None` when there was nothing to repair.
    pub(crate) fn repair(&self) -> Result<Option<(u32, u32)>, RegistryError> {
        let lock = self.lock()?;
        let damage = match self.read() {
            Ok(_) => return Ok(None),
            Err(error) => error,
        };
        let from = self.current().ok().flatten().unwrap_or(0);
        let whole = self.numbers()?.into_iter().rev().find(|number| self.read_version(*number).is_ok());
        let Some(target) = whole else {
            return Err(damage);
        };
        self.switch(target)?;
        drop(lock);
        Ok(Some((from, target)))
    }

    /// The versions that are kept, oldest first.
    pub(crate) fn versions(&self) -> Result<Vec<Version>, RegistryError> {
        let current = self.current()?;
        let one = |number| Version {
            number,
            current: Some(number) == current,
            change: self.read_version(number).map(|contents| contents.change),
        };
        Ok(self.numbers()?.into_iter().map(one).collect())
    }

    /// Whether this process may change the registry; creates its folder.
    pub(crate) fn may_write(&self) -> bool {
        self.prepare().is_ok() && Lock::may_take(&self.root, LOCK).is_ok()
    }

    /// Number of the version in use; `None` before the first.
    pub(crate) fn current(&self) -> Result<Option<u32>, RegistryError> {
        let path = self.root.join(CURRENT);
        let target = match self.files.read_link(&path) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(RegistryError::io(&path, "following the link", &error)),
        };
        let number = version_number(&target).ok_or_else(|| {
            let words = format!("it must lead to a version such as v000042, and leads to {target:?}");
            RegistryError::of(RegistryErrorKind::Damaged, Problem::of(&path, words))
        })?;
        Ok(Some(number))
    }

    fn read_version(&self, number: u32) -> Result<Contents, RegistryError> {
        let folder = self.root.join(version_name(number));
        self.check(&folder)?;
        format::from_files(self.scope, &folder, |name| {
            let path = folder.join(name);
            let bytes =
                self.files.read(&path).map_err(|error| RegistryError::io(&path, "reading", &error))?;
            String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
                let problem = Problem::at(&path, line.saturating_add(1), format!("no UTF-8 at byte {at}"));
                RegistryError::of(RegistryErrorKind::Damaged, problem)
            })
        })
    }

    /// Numbers of all complete versions, ascending.
    fn numbers(&self) -> Result<Vec<u32>, RegistryError> {
        let names = match self.files.list(&self.root) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(RegistryError::io(&self.root, "reading the folder", &error)),
        };
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| version_number(name)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn write(&self, contents: &Contents) -> Result<u32, RegistryError> {
        contents.check().map_err(|words| {
            self.error(RegistryErrorKind::Internal, format!("the change would make damaged tables: {words}"))
        })?;
        let last = self.numbers()?.last().copied().unwrap_or(0).max(self.current()?.unwrap_or(0));
        let number = last
            .checked_add(1)
            .ok_or_else(|| self.error(RegistryErrorKind::Io, "there are no more numbers of versions"))?;
        let next = self.root.join(NEXT);
        let failed = |what: &'static str| {
            let path = next.clone();
            move |error: io::Error| RegistryError::io(&path, what, &error)
        };
        self.remove(NEXT).map_err(failed("removing what an interrupted change left"))?;
        self.files.create_folders(&next).map_err(failed("making the folder"))?;
        for (name, text) in format::to_files(contents) {
            let path = next.join(name);
            let io = |error: io::Error| RegistryError::io(&path, "writing", &error);
            self.files.create(&path, text.as_bytes()).map_err(io)?;
            self.files.sync(&path).map_err(io)?;
        }
        self.files.sync_folder(&next).map_err(failed("synchronising"))?;
        let version = self.root.join(version_name(number));
        self.files.rename(&next, &version).map_err(failed("renaming"))?;
        self.switch(number)?;
        // Old versions do no harm: what cannot be removed now is removed with the next change.
        let _ = self.prune(number);
        Ok(number)
    }

    /// Switches the link to a version.
    fn switch(&self, number: u32) -> Result<(), RegistryError> {
        let (next, current) = (self.root.join(CURRENT_NEXT), self.root.join(CURRENT));
        let failed = |error: io::Error| RegistryError::io(&current, "changing the link", &error);
        self.files.sync_folder(&self.root).map_err(failed)?;
        match self.files.remove_file(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        self.files.link(&version_name(number), &next).map_err(failed)?;
        self.files.rename(&next, &current).map_err(failed)?;
        // All readers see the change now; this is the only place that can report that it is not stored on the
        // disk.
        let late =
            |error| RegistryError::io(&current, "it is changed, but the disk does not keep it", &error);
        self.files.sync_folder(&self.root).map_err(late)
    }

    /// Removes the oldest versions. A version is renamed first, so that every folder with the name of a
    /// version is complete.
    fn prune(&self, current: u32) -> Result<(), RegistryError> {
        let failed = |error: io::Error| RegistryError::io(&self.root, "removing an old version", &error);
        self.remove(OLD).map_err(failed)?;
        let numbers = self.numbers()?;
        let surplus = numbers.len().saturating_sub(KEPT);
        for number in numbers.into_iter().take(surplus).filter(|number| *number != current) {
            self.files.rename(&self.root.join(version_name(number)), &self.root.join(OLD)).map_err(failed)?;
            self.remove(OLD).map_err(failed)?;
        }
        Ok(())
    }

    /// Removes a folder of the registry with the files in it, if it is there.
    fn remove(&self, name: &str) -> io::Result<()> {
        let folder = self.root.join(name);
        let names = match self.files.list(&folder) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for name in names {
            self.files.remove_file(&folder.join(name))?;
        }
        self.files.remove_folder(&folder)
    }

    /// Waits until no other process writes, but not for ever. The lock ends with its process, also when that
    /// is killed.
    fn lock(&self) -> Result<Lock, RegistryError> {
        self.prepare()?;
        Lock::take(&self.root, LOCK, PATIENCE).map_err(|error| self.not_locked(&error))
    }

    /// Creates the folder of the registry unless it is there, and checks it.
    fn prepare(&self) -> Result<(), RegistryError> {
        // Before as well, so that nothing is created in a place of others.
        self.check(&self.root)?;
        self.files
            .create_folders(&self.root)
            .map_err(|error| RegistryError::io(&self.root, "making the folder", &error))?;
        self.check(&self.root)
    }

    fn not_locked(&self, error: &LockError) -> RegistryError {
        match error {
            LockError::Io(path, error) => RegistryError::io(path, "opening the lock", error),
            held => self.error(RegistryErrorKind::Io, held.to_string()),
        }
    }

    /// Refuses a folder that others than root and this user can change: what is registered there would run
    /// with the rights of this user.
    fn check(&self, folder: &Path) -> Result<(), RegistryError> {
        check_path(folder).map_err(|untrusted| {
            let words = format!("this registry is not used: {untrusted}");
            RegistryError::of(RegistryErrorKind::AccessDenied, Problem::of(&self.root, words))
        })
    }

    fn error(&self, kind: RegistryErrorKind, words: impl Into<String>) -> RegistryError {
        RegistryError::of(kind, Problem::of(&self.root, words))
    }
}

impl From<Problem> for RegistryError {
    /// A problem in a file of the registry itself.
    fn from(problem: Problem) -> RegistryError {
        RegistryError::of(RegistryErrorKind::Damaged, problem)
    }
}

fn version_name(number: u32) -> String {
    format!("v{number:06}")
}

fn version_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('v').filter(|digits| digits.len() >= 6)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|number| version_name(*number) == name)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
