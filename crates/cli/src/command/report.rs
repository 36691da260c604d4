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
use crate::words::say;

/// Counters of the report: processor, memory, disks and network at a glance.
pub(crate) const DEFAULT_COUNTERS: &[&str] = &[
    r"\Processor(_Total)\% Processor Time",
    r"\Processor(_Total)\% User Time",
    r"\Processor(_Total)\% Privileged Time",
    r"\System\Processor Queue Length",
    r"\System\Context Switches/sec",
    r"\System\Processes",
    r"\System\Threads",
    r"\System\System Up Time",
    r"\Memory\Available MBytes",
    r"\Memory\% Committed Bytes In Use",
    r"\Memory\Page Faults/sec",
    r"\Memory\Pages/sec",
    r"\PhysicalDisk(*)\Disk Read Bytes/sec",
    r"\PhysicalDisk(*)\Disk Write Bytes/sec",
    r"\PhysicalDisk(*)\Avg. Disk sec/Transfer",
    r"\LogicalDisk(*)\% Free Space",
    r"\Network Interface(*)\Bytes Received/sec",
    r"\Network Interface(*)\Bytes Sent/sec",
    r"\TCPv4\Connections Established",
    r"\TCPv4\Segments Retransmitted/sec",
];

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
    for path in DEFAULT_COUNTERS {
        // A saved block may lack some of these objects.
        let _ = query.add(path);
    }
    Ok(query)
}
