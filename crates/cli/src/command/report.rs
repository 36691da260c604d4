//! `tally` without a command and without a terminal: prints one report of the default counters.

use std::time::Duration;

use tallymon::Query;

use super::collect;
use crate::arguments::{Common, Form};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::missing_values::{SEE_DOCTOR, is_curable};
use crate::output::Rows;
use crate::paths;
use crate::usual_counters;
use crate::words::say;

/// Time between the two samples that rates need.
const INTERVAL: Duration = Duration::from_secs(1);

/// Takes two samples a second apart and prints the values.
pub(crate) fn run(common: &Common) -> Result<(), Failure> {
    let mut query = default_query(common)?;
    let time = collect(&mut query, common.file.is_none(), INTERVAL)?;
    let readings = query.readings();
    if let (Some(file), true) = (&common.file, readings.is_empty()) {
        let file = file.display();
        let words = format_args!(
            "{file} has none of the default counters; 'tally list --file {file}' lists what it has"
        );
        return Err(Failure::new(Kind::NotFound, words));
    }
    let mut rows = Rows::new(border::rows(Form::Table), Form::Table, query.system_name(), true);
    rows.row(time, &query)?;
    let curable =
        readings.iter().any(|reading| reading.cell.value.as_ref().is_err_and(|why| is_curable(*why)));
    if curable && common.file.is_none() {
        say(SEE_DOCTOR);
    }
    Ok(())
}

/// The default counters that this source has.
fn default_query(common: &Common) -> Result<Query, Failure> {
    let mut query = paths::query(common)?;
    for path in usual_counters::REPORT {
        // A saved block may lack some of these objects.
        let _ = query.add(path);
    }
    Ok(query)
}
