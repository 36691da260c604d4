//! `tally doctor --grant` and `--revoke` where files have no capabilities.

use crate::arguments::Doctor;
use crate::exit::{Failure, Kind};

/// Says that there is nothing to give.
pub(crate) fn run(_: &Doctor) -> Result<(), Failure> {
    Err(Failure::new(
        Kind::Usage,
        "rights of a program file are there on Linux only; run tally as administrator",
    ))
}
