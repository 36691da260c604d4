//! The queues of the print server, and the jobs in its history.

use std::path::Path;
use std::time::Instant;

use super::ipp::{Group, Question, decode};
use super::{CupsError, ask};

/// The most jobs of one request, which is the default limit of CUPS.
const AT_ONCE: i32 = 500;
/// The most requests for jobs of one sample; the next sample continues.
const QUESTIONS: usize = 20;
const GET_JOBS: u16 = 0x000a;
const CUPS_GET_PRINTERS: u16 = 0x4002;
/// The status of an answer without any items.
const NOT_FOUND: u16 = 0x0406;

/// A queue at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Printer {
    /// Its name, as CUPS writes it.
    pub name: String,
    /// Jobs that wait or are being printed.
    pub jobs: u64,
    /// Whether a reason of its state is missing paper.
    pub out_of_paper: bool,
    /// Whether it is offline, or a cover or door is open.
    pub not_ready: bool,
}

/// A job at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Job {
    /// Its number at this server.
    pub number: i32,
    /// The name of its queue.
    pub queue: String,
    /// 3 to 6 while it is pending or printing, 7 canceled, 8 aborted, 9 completed.
    pub state: i32,
    /// Whether it is still being received.
    pub spooling: bool,
    /// Its size.
    pub bytes: u64,
    /// Sheets of paper that were printed.
    pub sheets: u64,
}

/// The queues, and the jobs from the first requested one on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// All queues.
    pub printers: Vec<Printer>,
    /// The jobs; `None` when only queues were queried.
    pub jobs: Option<Vec<Job>>,
}

/// How many queues the print server has that listens at `socket`.
///
/// # Errors
///
/// There is no server, it refuses, or it does not answer by `deadline`.
pub(crate) fn count_queues(socket: &Path, deadline: Instant) -> Result<usize, CupsError> {
    query(socket, None, deadline).map(|answer| answer.printers.len())
}

/// Queries the queues, and the jobs from `first` on.
///
/// # Errors
///
/// There is no server, it refuses, or it does not answer by `deadline`.
pub(crate) fn query(socket: &Path, first: Option<i32>, deadline: Instant) -> Result<Answer, CupsError> {
    let printers = Question::new(CUPS_GET_PRINTERS)
        .words("requested-attributes", &["printer-name", "queued-job-count", "printer-state-reasons"]);
    let bytes = ask(socket, &printers.finish(), deadline)?;
    let printers = groups(&bytes, 4)?.iter().filter_map(printer).collect();
    let Some(mut first) = first else { return Ok(Answer { printers, jobs: None }) };
    let mut jobs = Vec::new();
    for _ in 0..QUESTIONS {
        let question = Question::new(GET_JOBS)
            .uri("printer-uri", "ipp://localhost/")
            .number("first-job-id", first)
            .number("limit", AT_ONCE)
            .words("requested-attributes", &JOB_ATTRIBUTES)
            .words("which-jobs", &["all"]);
        let bytes = ask(socket, &question.finish(), deadline)?;
        let found: Vec<Job> = groups(&bytes, 2)?.iter().filter_map(job).collect();
        let last = found.iter().map(|job| job.number).max().unwrap_or(first);
        let is_all = found.len() < usize::try_from(AT_ONCE).unwrap_or(usize::MAX) || last < first;
        jobs.extend(found);
        if is_all {
            break;
        }
        first = last.saturating_add(1);
    }
    Ok(Answer { printers, jobs: Some(jobs) })
}

const JOB_ATTRIBUTES: [&str; 6] = [
    "job-id",
    "job-printer-uri",
    "job-state",
    "job-state-reasons",
    "job-k-octets",
    "job-media-sheets-completed",
];

/// The groups of an answer with this tag.
fn groups(bytes: &[u8], tag: u8) -> Result<Vec<Group<'_>>, CupsError> {
    let answer = decode(bytes).map_err(CupsError::Answer)?;
    match answer.status {
        0..=0xff => Ok(answer.groups.into_iter().filter(|group| group.tag == tag).collect()),
        // A server without queues answers like this.
        NOT_FOUND => Ok(Vec::new()),
        0x0401..=0x0403 => Err(CupsError::Denied),
        status => Err(CupsError::Status(status)),
    }
}

pub(crate) fn printer(group: &Group<'_>) -> Option<Printer> {
    const NOT_READY: [&[u8]; 5] = [b"offline", b"timed-out", b"cover-open", b"door-open", b"interlock-open"];
    const OUT_OF_PAPER: [&[u8]; 2] = [b"media-empty", b"media-needed"];
    let has = |wanted: &[&[u8]]| {
        group.texts("printer-state-reasons").any(|reason| {
            // The severity follows the keyword.
            let ends = [b"-error".as_slice(), b"-warning", b"-report"];
            let word = ends.into_iter().find_map(|end| reason.strip_suffix(end)).unwrap_or(reason);
            wanted.contains(&word)
        })
    };
    Some(Printer {
        name: text(group.texts("printer-name").next()?),
        jobs: count(group, "queued-job-count"),
        out_of_paper: has(&OUT_OF_PAPER),
        not_ready: has(&NOT_READY),
    })
}

pub(crate) fn job(group: &Group<'_>) -> Option<Job> {
    let queue = group.texts("job-printer-uri").next()?;
    let name = queue.rsplit(|byte| *byte == b'/').next().unwrap_or(queue);
    Some(Job {
        number: group.number("job-id")?,
        queue: text(&plain(name)),
        state: group.number("job-state")?,
        spooling: group.texts("job-state-reasons").any(|reason| reason == b"job-incoming"),
        bytes: count(group, "job-k-octets").saturating_mul(1024),
        sheets: count(group, "job-media-sheets-completed"),
    })
}

/// A count; 0 for a missing or negative attribute.
fn count(group: &Group<'_>, name: &str) -> u64 {
    group.number(name).and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Decodes a part of an address, in which `%` and two hexadecimal digits stand for a character.
pub(crate) fn plain(part: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = part;
    while let Some((first, behind)) = rest.split_first() {
        let code = behind
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    bytes
}
