//! On systems where nothing attaches to running .NET programs.

use std::path::PathBuf;
use std::time::Duration;

use tallymon_dotnet::incidents::Incidents;
use tallymon_dotnet::requests::Requests;

use super::arguments::ProfSample;
use super::list::Listed;
use crate::exit::{Failure, Kind};

pub(super) fn sample(_arguments: &ProfSample) -> Result<(), Failure> {
    Err(unsupported())
}

/// Running programs cannot be found.
pub(super) const fn programs() -> Vec<Listed> {
    Vec::new()
}

/// Nobody says what a program has mapped.
pub(super) const fn profile_of(_pid: u32) -> Option<PathBuf> {
    None
}

pub(super) fn incidents(
    _program: &str,
    _duration: Duration,
    _keywords: u64,
    _level: u32,
) -> Result<Incidents, Failure> {
    Err(unsupported())
}

pub(super) fn requests(
    _program: &str,
    _duration: Duration,
    _arguments: String,
    _every: Option<Duration>,
    _show: &mut dyn FnMut(&Requests) -> Result<(), Failure>,
) -> Result<Requests, Failure> {
    Err(unsupported())
}

fn unsupported() -> Failure {
    Failure::new(Kind::Other, "attaching to .NET programs works on Linux only; recorded files can be read")
}
