//! A build that unpacks nothing.

use std::fs::File;

use super::{Packing, Unpacked};
use crate::error::{Damage, LogError};
use crate::options::ReadOptions;
use crate::reader::LogReader;

/// Nothing is unpacked.
pub(crate) fn unpack(_: File, _: Packing, _: &ReadOptions) -> Result<Option<Unpacked>, LogError> {
    Ok(None)
}

/// The log as it is: nothing was unpacked.
pub(crate) fn noted(log: Box<dyn LogReader>, _: Option<Damage>) -> Box<dyn LogReader> {
    log
}

/// Nothing is unpacked.
pub(crate) fn count_unpacked(_: &[u8], _: u64) -> u64 {
    0
}
