//! Print Queue (1450): one instance a queue of CUPS, the print server of Linux, and `_Total`.
//!
//! CUPS counts nothing by itself: it knows the queues as they are, and the jobs that ended as far as its history goes back. So what NT
//! counts since the print server began is counted here: what the history has at the first look, and what has ended since. Asking means
//! to wait for another program, so it is done in a thread, and who does not want to wait longer gets the last answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use tallymon_provider::{
    Absence, Ask, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime,
    ValueState,
};

use super::Object;
use super::network_interface::instance_name;
use super::spec::{Origin, counters, object};
use crate::kernel::cups::ipp::{Group, Question, decode};
use crate::kernel::cups::{self, CupsError};
use crate::sources::Sources;

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        TotalJobsPrinted: 1452, 1453, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: D "CUPS: jobs with job-state 9 (completed)";
        BytesPrinted: 1454, 1455, PERF_COUNTER_BULK_COUNT, -4, ADVANCED: D "CUPS: job-k-octets * 1024 of completed jobs";
        TotalPagesPrinted: 1456, 1457, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: D "CUPS: job-media-sheets-completed of completed jobs";
        Jobs: 1458, 1459, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: E "CUPS: queued-job-count";
        References: 1460, 1461, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: N;
        MaxReferences: 1462, 1463, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: N;
        JobsSpooling: 1464, 1465, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: C "CUPS: jobs with job-state-reasons job-incoming";
        MaxJobsSpooling: 1466, 1467, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: D "the most Jobs Spooling since the reader started";
        OutOfPaperErrors: 1468, 1469, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: D "CUPS: how often printer-state-reasons got media-empty or media-needed";
        NotReadyErrors: 1470, 1471, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: D "CUPS: how often printer-state-reasons got offline, timed-out, cover-open, door-open or interlock-open";
        JobErrors: 1472, 1473, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: D "CUPS: jobs with job-state 8 (aborted)";
        EnumerateNetworkPrinterCalls: 1474, 1475, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: N;
        AddNetworkPrinterCalls: 1476, 1477, PERF_COUNTER_RAWCOUNT, -1, WIZARD: N;
    }
}

const SPEC: ObjectSpec<'static> =
    object(1450, 1451, DetailLevel::ADVANCED, At::Jobs.at(), InstanceKind::Many, COUNTERS);

/// Counters that are made of the jobs and not of the queues.
const OF_JOBS: [At; 6] = [
    At::TotalJobsPrinted,
    At::BytesPrinted,
    At::TotalPagesPrinted,
    At::JobsSpooling,
    At::MaxJobsSpooling,
    At::JobErrors,
];

/// How long a request waits for an answer.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long an answer is awaited by the thread that asks.
const DEADLINE: Duration = Duration::from_secs(5);
/// The most jobs that are asked for at once, which is what CUPS gives at most by default.
const AT_ONCE: i32 = 500;
/// How often more jobs are asked for; what is left is asked for the next time.
const QUESTIONS: usize = 20;
const GET_JOBS: u16 = 0x000a;
const CUPS_GET_PRINTERS: u16 = 0x4002;
/// The status of an answer that there is nothing of the kind.
const NOT_FOUND: u16 = 0x0406;

/// What is known of a queue at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Printer {
    name: String,
    jobs: u64,
    out_of_paper: bool,
    not_ready: bool,
}

/// What is known of a job at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Job {
    number: i32,
    queue: String,
    /// 3 to 6 before it has ended, 7 canceled, 8 aborted, 9 completed.
    state: i32,
    /// Whether it is still being handed over.
    spooling: bool,
    bytes: u64,
    sheets: u64,
}

/// An answer: the queues, and the jobs from the first one that was asked for, if they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Answer {
    printers: Vec<Printer>,
    jobs: Option<Vec<Job>>,
}

/// What was counted of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    printed: u64,
    bytes: u64,
    sheets: u64,
    errors: u64,
    spooling: u64,
    most_spooling: u64,
    jobs: u64,
    paper: u64,
    not_ready: u64,
    /// Whether these were so at the last look.
    is_out_of_paper: bool,
    is_not_ready: bool,
}

/// The object Print Queue.
pub(super) struct PrintQueue {
    layout: ObjectLayout<'static>,
    /// The question that was not answered yet.
    open: Option<Receiver<Result<Answer, CupsError>>>,
    queues: BTreeMap<String, Counts>,
    most_spooling: u64,
    /// The first job that may not have ended when jobs were looked at last.
    first: i32,
    /// The jobs from that one on that have ended and were counted.
    ended: BTreeSet<i32>,
    /// Whether the jobs have been looked at.
    knows_jobs: bool,
    /// Whether the queues have been looked at.
    knows_queues: bool,
}

impl PrintQueue {
    pub(super) fn new() -> PrintQueue {
        PrintQueue {
            layout: ObjectLayout::new(SPEC),
            open: None,
            queues: BTreeMap::new(),
            most_spooling: 0,
            first: 1,
            ended: BTreeSet::new(),
            knows_jobs: false,
            knows_queues: false,
        }
    }

    /// Waits a little for the answer to the question that is open, or to a new one.
    fn ask(&mut self, socket: PathBuf, wants_jobs: bool) -> Result<Answer, CupsError> {
        let (open, patience) = match self.open.take() {
            // It was waited for once.
            Some(open) => (open, Duration::ZERO),
            None => {
                let (send, open) = sync_channel(1);
                let first = self.first;
                let thread = std::thread::Builder::new().name("tally-cups".into()).stack_size(256 << 10);
                let asks = move || {
                    // Nobody may be there any more to hear it.
                    let _ = send.send(ask(&socket, wants_jobs.then_some(first), Instant::now() + DEADLINE));
                };
                thread.spawn(asks).map_err(|error| CupsError::Socket(error.kind()))?;
                (open, PATIENCE)
            }
        };
        match open.recv_timeout(patience) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                self.open = Some(open);
                Err(CupsError::Late)
            }
            Err(RecvTimeoutError::Disconnected) => Err(CupsError::Late),
        }
    }

    /// Counts what an answer has that was not counted yet.
    fn count(&mut self, answer: Answer) {
        self.knows_queues = true;
        self.queues.retain(|name, _| answer.printers.iter().any(|printer| printer.name == *name));
        for printer in answer.printers {
            let counts = self.queues.entry(printer.name).or_default();
            counts.jobs = printer.jobs;
            counts.paper += u64::from(printer.out_of_paper && !counts.is_out_of_paper);
            counts.not_ready += u64::from(printer.not_ready && !counts.is_not_ready);
            counts.is_out_of_paper = printer.out_of_paper;
            counts.is_not_ready = printer.not_ready;
        }
        let Some(jobs) = answer.jobs else { return };
        self.knows_jobs = true;
        self.queues.values_mut().for_each(|counts| counts.spooling = 0);
        for job in &jobs {
            let is_new = job.state >= 7 && self.ended.insert(job.number);
            // The queue of an old job may be gone.
            let Some(counts) = self.queues.get_mut(&job.queue) else { continue };
            counts.spooling += u64::from(job.state < 7 && job.spooling);
            if is_new && job.state == 9 {
                counts.printed += 1;
                counts.bytes = counts.bytes.wrapping_add(job.bytes);
                counts.sheets = counts.sheets.wrapping_add(job.sheets);
            }
            counts.errors += u64::from(is_new && job.state == 8);
        }
        for counts in self.queues.values_mut() {
            counts.most_spooling = counts.most_spooling.max(counts.spooling);
        }
        self.most_spooling = self.most_spooling.max(self.queues.values().map(|counts| counts.spooling).sum());
        let last = jobs.iter().map(|job| job.number).max().map_or(self.first, |last| last.saturating_add(1));
        let unfinished = jobs.iter().filter(|job| job.state < 7).map(|job| job.number).min();
        self.first = unfinished.unwrap_or(last).max(self.first);
        self.ended = self.ended.split_off(&self.first);
    }
}

impl Object for PrintQueue {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn quantum(&self, position: usize) -> u64 {
        if position == At::BytesPrinted.at() { 1024 } else { 1 }
    }

    /// Another program is asked, which a service manager may start for it.
    fn costly(&self) -> bool {
        true
    }

    fn collect(&mut self, ask: &Ask<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let wants = |position: At| {
            COUNTERS.get(position.at()).is_some_and(|counter| ask.interest.wants(SPEC.name, counter.name))
        };
        let wants_jobs = OF_JOBS.into_iter().any(wants);
        let answer = self.ask(sources.root.run("cups/cups.sock"), wants_jobs);
        let state = match answer.map(|answer| self.count(answer)) {
            Ok(()) => Ok(ValueState::Present),
            Err(CupsError::Late) if self.knows_queues => Ok(ValueState::Stale),
            Err(CupsError::NoServer) => Err(Absence::NotOnThisSystem),
            Err(CupsError::Denied) => Err(Absence::AccessDenied),
            Err(_) => Err(Absence::ReadFailed),
        };
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let state = match state {
            Ok(state) => state,
            Err(absence) => {
                return object.instance("_Total", None, None).absent(0..COUNTERS.len(), absence);
            }
        };
        let mut total = Counts::default();
        for counts in self.queues.values() {
            total.add(counts);
        }
        total.most_spooling = self.most_spooling;
        let all = self.queues.iter().map(|(name, counts)| (instance_name(name.as_bytes()), counts));
        for (name, counts) in all.chain([("_Total".to_string(), &total)]) {
            let mut values = object.instance(&name, None, None);
            for (position, value) in counts.values() {
                match value {
                    None => values.absent([position.at()], Absence::NotOnThisSystem),
                    // An open question may be one that asks for queues only.
                    Some(_) if OF_JOBS.contains(&position) && !(wants_jobs && self.knows_jobs) => {
                        values.absent([position.at()], Absence::NotRequested);
                    }
                    Some(value) => {
                        if state == ValueState::Stale {
                            values.state(position.at(), state);
                        }
                        values.set(position.at(), value);
                    }
                }
            }
        }
    }
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        let parts: [(&mut u64, u64); 8] = [
            (&mut self.printed, other.printed),
            (&mut self.bytes, other.bytes),
            (&mut self.sheets, other.sheets),
            (&mut self.errors, other.errors),
            (&mut self.spooling, other.spooling),
            (&mut self.jobs, other.jobs),
            (&mut self.paper, other.paper),
            (&mut self.not_ready, other.not_ready),
        ];
        for (sum, part) in parts {
            *sum = sum.wrapping_add(part);
        }
    }

    /// The counters, and their values as far as CUPS has any.
    fn values(&self) -> [(At, Option<u64>); 13] {
        [
            (At::TotalJobsPrinted, Some(self.printed)),
            (At::BytesPrinted, Some(self.bytes)),
            (At::TotalPagesPrinted, Some(self.sheets)),
            (At::Jobs, Some(self.jobs)),
            (At::References, None),
            (At::MaxReferences, None),
            (At::JobsSpooling, Some(self.spooling)),
            (At::MaxJobsSpooling, Some(self.most_spooling)),
            (At::OutOfPaperErrors, Some(self.paper)),
            (At::NotReadyErrors, Some(self.not_ready)),
            (At::JobErrors, Some(self.errors)),
            (At::EnumerateNetworkPrinterCalls, None),
            (At::AddNetworkPrinterCalls, None),
        ]
    }
}

/// How many queues the print server has that listens at `socket`.
pub(crate) fn count_queues(socket: &Path, deadline: Instant) -> Result<usize, CupsError> {
    ask(socket, None, deadline).map(|answer| answer.printers.len())
}

/// Asks for the queues, and for the jobs from `first` on.
fn ask(socket: &Path, first: Option<i32>, deadline: Instant) -> Result<Answer, CupsError> {
    let printers = Question::new(CUPS_GET_PRINTERS)
        .words("requested-attributes", &["printer-name", "queued-job-count", "printer-state-reasons"]);
    let bytes = cups::ask(socket, &printers.finish(), deadline)?;
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
        let bytes = cups::ask(socket, &question.finish(), deadline)?;
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

/// The groups of an answer that have this tag.
fn groups(bytes: &[u8], tag: u8) -> Result<Vec<Group<'_>>, CupsError> {
    let answer = decode(bytes).map_err(CupsError::Answer)?;
    match answer.status {
        0..=0xff => Ok(answer.groups.into_iter().filter(|group| group.tag == tag).collect()),
        // A server without queues says it so.
        NOT_FOUND => Ok(Vec::new()),
        0x0401..=0x0403 => Err(CupsError::Denied),
        status => Err(CupsError::Status(status)),
    }
}

fn printer(group: &Group<'_>) -> Option<Printer> {
    const NOT_READY: [&[u8]; 5] = [b"offline", b"timed-out", b"cover-open", b"door-open", b"interlock-open"];
    const OUT_OF_PAPER: [&[u8]; 2] = [b"media-empty", b"media-needed"];
    let has = |wanted: &[&[u8]]| {
        group.texts("printer-state-reasons").any(|reason| {
            // How bad it is stands behind the word.
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

fn job(group: &Group<'_>) -> Option<Job> {
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

/// A count, which an attribute that is not there or negative does not have.
fn count(group: &Group<'_>, name: &str) -> u64 {
    group.number(name).and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The characters of a part of an address, in which some are written as `%` and two hexadecimal digits.
fn plain(part: &[u8]) -> Vec<u8> {
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

#[cfg(test)]
mod print_queue_tests;
