//! `tally provider perfmon`, where there is no perfmon.

use std::path::Path;

use crate::exit::{Failure, Kind};

pub(super) fn run(_folder: &Path, _library: Option<&Path>) -> Result<(), Failure> {
    let words = "only Windows has a performance registry; here, 'tally mon' shows what programs publish";
    Err(Failure::new(Kind::Other, words))
}
