//! Systems without a service manager of Windows.

use crate::exit::{Failure, Kind};

fn elsewhere() -> Failure {
    let words = "only Windows has such a service; here 'tally log start NAME --at-boot' starts a session \
                 with the machine, by systemd";
    Failure::new(Kind::Other, words)
}

pub(crate) fn install() -> Result<(), Failure> {
    Err(elsewhere())
}

pub(crate) fn uninstall() -> Result<(), Failure> {
    Err(elsewhere())
}

pub(crate) fn start() -> Result<(), Failure> {
    Err(elsewhere())
}

pub(crate) fn stop() -> Result<(), Failure> {
    Err(elsewhere())
}

pub(crate) fn status(_as_json: bool) -> Result<(), Failure> {
    Err(elsewhere())
}

pub(crate) fn run() -> Result<(), Failure> {
    Err(elsewhere())
}
