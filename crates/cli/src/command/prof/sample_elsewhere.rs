//! `tally prof sample` on systems where it does not attach.

use super::arguments::ProfSample;
use crate::exit::{Failure, Kind};

pub(super) fn run(_arguments: &ProfSample) -> Result<(), Failure> {
    Err(Failure::new(
        Kind::Other,
        "attaching to .NET programs works on Linux only; recorded files can be read",
    ))
}
