//! Groups of users are not those of Unix here.

use std::fs::File;
use std::io;

use crate::exit::{Failure, Kind};

/// There is none.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Readers {}

impl Readers {
    /// Refuses every group.
    pub(crate) fn of_group(name: &str) -> Result<Readers, Failure> {
        let words = format_args!("--group {name}: this system has no groups of Unix");
        Err(Failure::new(Kind::Usage, words))
    }

    pub(crate) fn may_read(self, _file: &File) -> io::Result<()> {
        match self {}
    }
}
