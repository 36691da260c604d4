//! A build that unpacks nothing, and so reads no raw logs.

use std::io::{self, Read};
use std::marker::PhantomData;

use crate::error::{LogError, LogErrorKind};
use crate::import::columns::Columns;
use crate::import::lines::Line;

/// No raw log is read.
pub(super) struct Raw<R>(PhantomData<R>);

impl<R: Read> Raw<R> {
    /// Says so.
    pub(super) fn open(_: R, _: i32) -> Result<(Raw<R>, String), LogError> {
        let words = "a raw log of atop, which is compressed, and this build was made without the feature \
            `compressed`; `atop -r FILE -P ALL > FILE.txt` writes what is read here";
        Err(LogError::new(LogErrorKind::NotALog(words.to_owned())))
    }

    /// There are no lines.
    pub(super) fn next(&mut self, _: &mut Columns) -> io::Result<Option<Line>> {
        Ok(None)
    }
}
