//! The commands, one module each.

pub(crate) mod analyze;
pub(crate) mod browse;
mod capabilities;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod complete;
pub(crate) mod dashboard;
pub(crate) mod doctor;
pub(crate) mod dump;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod find;
pub(crate) mod get;
pub(crate) mod info;
#[cfg(feature = "parquet")]
pub(crate) mod lake;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod mon;
mod nsclient;
pub(crate) mod prof;
pub(crate) mod provider;
pub(crate) mod push;
pub(crate) mod relog;
pub(crate) mod remote;
mod remote_install;
pub(crate) mod report;
pub(crate) mod report_file;
mod report_markdown;
#[cfg_attr(not(target_os = "linux"), path = "no_rights.rs")]
mod rights;
pub(crate) mod serve;
mod serve_receive;
mod serve_samba;
mod serve_tls;
pub(crate) mod stat;
pub(crate) mod stats;
pub(crate) mod top;
pub(crate) mod watch;

use std::thread;
use std::time::Duration;

use tallymon::Query;
use tallymon::core::time::FileTime;

use crate::exit::Failure;
use crate::host_answer::Answer;

/// Collects once, or twice an interval apart if a value needs two samples. A source that is not live never
/// changes, so it is collected once only.
pub(crate) fn collect(query: &mut Query, live: bool, interval: Duration) -> Result<FileTime, Failure> {
    Ok(collect_timed(query, live, interval)?.0)
}

/// Collects the second sample, where the values of a query that was collected need one.
fn collect_again(query: &mut Query, live: bool, interval: Duration) -> Result<Option<FileTime>, Failure> {
    if !live || !query.needs_two_samples() {
        return Ok(None);
    }
    thread::sleep(interval);
    Ok(Some(query.collect()?))
}

/// Collects as [`collect`] does, and measures the answer.
pub(crate) fn collect_timed(
    query: &mut Query,
    live: bool,
    interval: Duration,
) -> Result<(FileTime, Answer), Failure> {
    let (first, answer) = Answer::collect(query)?;
    if !live || !query.needs_two_samples() {
        return Ok((first, answer));
    }
    thread::sleep(interval);
    let (time, newer) = Answer::collect(query)?;
    Ok((time, answer.or_newer(newer)))
}
