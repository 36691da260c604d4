//! Print Queue (1450): one instance per queue of CUPS, the print server of Linux, and `_Total`.
//!
//! CUPS counts nothing: it knows the current queues, and finished jobs as far as its history goes back. So
//! NT's counts since the start of the print server are counted here: the jobs in the history at the first
//! sample, and those that finished since. A query waits for another program, so it is made in a thread; a
//! request that does not wait long enough gets the last answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime, ValueState,
};

use super::object::Object;
use super::spec::{Origin, counters, object};
use crate::kernel::cups::print_server::{Answer, query};
use crate::kernel::cups::{CupsError, deadline_in};
use crate::kernel::instance_name::instance_name;
use crate::sources::Sources;

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        TotalJobsPrinted: 1452, 1453, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            D "CUPS: jobs with job-state 9 (completed)";
        BytesPrinted: 1454, 1455, PERF_COUNTER_BULK_COUNT, -4, ADVANCED:
            D "CUPS: job-k-octets * 1024 of completed jobs";
        TotalPagesPrinted: 1456, 1457, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            D "CUPS: job-media-sheets-completed of completed jobs";
        Jobs: 1458, 1459, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: E "CUPS: queued-job-count";
        References: 1460, 1461, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: N;
        MaxReferences: 1462, 1463, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: N;
        JobsSpooling: 1464, 1465, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            C "CUPS: jobs with job-state-reasons job-incoming";
        MaxJobsSpooling: 1466, 1467, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            D "the most Jobs Spooling since the reader started";
        OutOfPaperErrors: 1468, 1469, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            D "CUPS: how often printer-state-reasons got media-empty or media-needed";
        NotReadyErrors: 1470, 1471, PERF_COUNTER_RAWCOUNT, 0, ADVANCED:
            D "CUPS: how often printer-state-reasons got offline, timed-out, cover-open, door-open or \
             interlock-open";
        JobErrors: 1472, 1473, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: D "CUPS: jobs with job-state 8 (aborted)";
        EnumerateNetworkPrinterCalls: 1474, 1475, PERF_COUNTER_RAWCOUNT, 0, ADVANCED: N;
        AddNetworkPrinterCalls: 1476, 1477, PERF_COUNTER_RAWCOUNT, -1, WIZARD: N;
    }
}

const SPEC: ObjectSpec<'static> =
    object(1450, 1451, DetailLevel::ADVANCED, At::Jobs.at(), InstanceKind::Many, COUNTERS);

/// Counters computed from the jobs, not from the queues.
const OF_JOBS: [At; 6] = [
    At::TotalJobsPrinted,
    At::BytesPrinted,
    At::TotalPagesPrinted,
    At::JobsSpooling,
    At::MaxJobsSpooling,
    At::JobErrors,
];

/// How long a request waits for an answer.
#[cfg(not(test))]
fn patience() -> Duration {
    Duration::from_millis(100)
}

#[cfg(test)]
use print_queue_tests::patience;

/// How long the thread waits for the answer; longer in tests, whose machine may be busy.
const DEADLINE: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 5 });
/// The counts of one queue.
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
    /// Whether these states were set at the last sample.
    is_out_of_paper: bool,
    is_not_ready: bool,
}

/// The object Print Queue.
pub(super) struct PrintQueue {
    layout: ObjectLayout<'static>,
    /// The pending query.
    open: Option<Receiver<Result<Answer, CupsError>>>,
    queues: BTreeMap<String, Counts>,
    most_spooling: u64,
    /// The first job that may have been unfinished at the last query.
    first: i32,
    /// The finished jobs from that one on that were counted already.
    ended: BTreeSet<i32>,
    /// Whether jobs were queried before.
    knows_jobs: bool,
    /// Whether queues were queried before.
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

    /// Waits a little for the pending query, or for a new one.
    fn ask(&mut self, socket: PathBuf, wants_jobs: bool) -> Result<Answer, CupsError> {
        let (open, patience) = match self.open.take() {
            // A request has already waited for it.
            Some(open) => (open, Duration::ZERO),
            None => {
                let (send, open) = sync_channel(1);
                let first = self.first;
                let thread = std::thread::Builder::new().name("tally-cups".into()).stack_size(256 << 10);
                let asks = move || {
                    // The receiver may be gone.
                    let _ = send.send(query(&socket, wants_jobs.then_some(first), deadline_in(DEADLINE)));
                };
                thread.spawn(asks).map_err(|error| CupsError::Socket(error.kind()))?;
                (open, patience())
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

    /// Adds the news of an answer to the counts.
    fn count(&mut self, answer: Answer) {
        self.knows_queues = true;
        self.queues.retain(|name, _| answer.printers.iter().any(|printer| printer.name == *name));
        for printer in answer.printers {
            let counts = self.queues.entry(printer.name).or_default();
            counts.jobs = printer.jobs;
            counts.paper =
                counts.paper.saturating_add(u64::from(printer.out_of_paper && !counts.is_out_of_paper));
            counts.not_ready =
                counts.not_ready.saturating_add(u64::from(printer.not_ready && !counts.is_not_ready));
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
            counts.spooling = counts.spooling.saturating_add(u64::from(job.state < 7 && job.spooling));
            if is_new && job.state == 9 {
                counts.printed = counts.printed.saturating_add(1);
                counts.bytes = counts.bytes.wrapping_add(job.bytes);
                counts.sheets = counts.sheets.wrapping_add(job.sheets);
            }
            counts.errors = counts.errors.saturating_add(u64::from(is_new && job.state == 8));
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

    /// It queries another program, which a service manager may have to start.
    fn costly(&self) -> bool {
        true
    }

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
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
                    // The pending query may be one for queues only.
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

    /// The counters with their values, as far as CUPS has any.
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

#[cfg(test)]
mod print_queue_tests;
