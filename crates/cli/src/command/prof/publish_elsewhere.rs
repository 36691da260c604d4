//! Publishing is available on Linux and Windows only. Elsewhere it fails.

use std::time::Duration;

use tallymon_clr::reader::Profile;
use tallymon_clr::settings::Filter;

use super::arguments::ProfPublish;
use crate::exit::{Failure, Kind};

/// Time between two updates.
pub(super) const PERIOD: Duration = Duration::from_millis(500);

pub(super) fn run(_arguments: &ProfPublish) -> Result<(), Failure> {
    Err(unsupported())
}

/// Never created.
pub(super) enum Live {}

impl Live {
    pub(super) fn start(_profile: &Profile, _filter: Filter, _busiest: usize) -> Result<Live, Failure> {
        Err(unsupported())
    }

    pub(super) fn update(&mut self, _profile: &Profile) -> Result<(), Failure> {
        match *self {}
    }
}

fn unsupported() -> Failure {
    Failure::new(Kind::Other, "counters can be published on Linux and Windows only")
}
