//! `tally top`: the processes, on the whole terminal or once.

use std::io::{self, IsTerminal};
use std::time::Duration;

use super::{mon, stat};
use crate::arguments::{Common, Mon, Top};
use crate::exit::{Failure, Kind};

/// How many processes are printed without `-n`.
const USUAL: usize = 20;

pub(crate) fn run(common: &Common, wanted: &Top) -> Result<(), Failure> {
    if common.file.is_some() {
        let words = "a saved data block has one moment; 'tally get --file FILE PATH' prints its values";
        return Err(Failure::new(Kind::Usage, words));
    }
    let is_live = !wanted.once && wanted.number.is_none();
    if is_live && io::stdout().is_terminal() && io::stdin().is_terminal() {
        return mon::processes(common, &Mon { interval: wanted.interval, ..Mon::default() });
    }
    let interval = wanted.interval.unwrap_or(Duration::from_secs(1));
    stat::processes(common, interval, wanted.number.unwrap_or(USUAL))
}
