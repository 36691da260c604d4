//! The users who may read a file: those of a group.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::process::Command;

use crate::exit::{Failure, Kind};

/// A group by its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Readers(u32);

impl Readers {
    /// The group with this name or number.
    ///
    /// # Errors
    ///
    /// There is no such group, or nobody can say so.
    pub(crate) fn of_group(name: &str) -> Result<Readers, Failure> {
        // The largest number is no group: it means "as it was".
        if let Some(number) = name.parse().ok().filter(|number| *number != u32::MAX) {
            return Ok(Readers(number));
        }
        // It also knows groups of a domain.
        let asked = Command::new("getent").args(["--", "group", name]).output();
        let asked = asked.map_err(|error| {
            let words = format_args!("looking for the group {name:?}: getent: {error}; its number works too");
            Failure::new(Kind::Other, words)
        })?;
        let line = String::from_utf8_lossy(&asked.stdout);
        let number = line.trim_end().split(':').nth(2).and_then(|number| number.parse().ok());
        number.filter(|_| asked.status.success()).map(Readers).ok_or_else(|| {
            let words = format_args!("no group {name:?} on this machine; 'getent group' lists them");
            Failure::new(Kind::NotFound, words)
        })
    }

    /// Lets the owner write the file, the group read it, and nobody else do anything.
    ///
    /// # Errors
    ///
    /// Those of the operating system: the caller must be in the group, or be root.
    pub(crate) fn may_read(self, file: &File) -> io::Result<()> {
        // Nobody reads it as long as it has its old group.
        file.set_permissions(Permissions::from_mode(0o600))?;
        fchown(file, None, Some(self.0))?;
        file.set_permissions(Permissions::from_mode(0o640))
    }
}
