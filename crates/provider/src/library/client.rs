//! The reader's side of one library in a child process: starts it, sends requests, and gives up on it when it
//! takes too long.
//!
//! Nothing here waits. [`Client::ask`] sends, [`Client::receive`] takes what has arrived, and [`wait`] waits
//! for many libraries at the same time, for each until its own deadline.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::abi::{GUARD, LONGEST as LONGEST_FILE};
pub use super::attempt::Attempt;
use super::check::Returned;
pub use super::in_process::{InProcess, Indexes};
pub use super::process::Exit;
use super::process::Process;
use super::protocol::{Answer, LONGEST, Load, Loaded, Protections, Request, Stage, wide_of};

/// The environment variable with the name of a library's service.
pub const SERVICE: &str = "TALLYMON_SERVICE";

/// How a library is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The program that loads it.
    pub program: PathBuf,
    /// The library and its functions.
    pub load: Load,
    /// How this process is protected against it.
    pub isolation: Isolation,
    /// The indexes that it gets when it is loaded into this process, where it can do harm; `None` for a
    /// library with a process of its own.
    pub in_process: Option<Indexes>,
    /// Environment variables of its own process, in addition to those of this process that it gets.
    pub environment: Vec<(String, String)>,
    /// Its time limits.
    pub times: Times,
}

/// How a reader is protected against a library in its own process. Each protection is left out where the
/// kernel or a container does not allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// If the reader is root, the library runs as this user, without rights; else as with
    /// [`Isolation::SameUser`].
    OwnUser(u32),
    /// The library runs as the user of the reader, with namespaces, Landlock and seccomp.
    SameUser,
    /// The library is a process of the same user with limits of memory and files.
    None,
}

/// How long a library may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// For an answer; after that, its last values are used.
    pub answer: Duration,
    /// For the first answer, including the start, of a request that names objects of the library.
    pub first_answer: Duration,
    /// The same for a request that names none of its objects, such as `Global`.
    pub first_of_all: Duration,
    /// For Collect until its process is killed.
    pub collect: Duration,
    /// For loading and Open until its process is killed.
    pub open: Duration,
}

impl Times {
    /// The time limits of a registration.
    ///
    /// By default, NT waits 10 seconds for each function, and so does every reader. Here a reader waits 50 ms
    /// for an answer, unless the registration has other values. It waits a second for the first answer if it
    /// has named an object of the library, and that once: a library that has not answered by then is not
    /// waited for until it does. After 10 seconds a library counts as hung; that is never before the reader
    /// stops waiting for it.
    pub fn of(registered: &Registered) -> Times {
        let time = |milliseconds: Option<u32>, default| {
            milliseconds.map_or(Duration::from_millis(default), |time| Duration::from_millis(u64::from(time)))
        };
        let answer = time(registered.deadline, 50);
        let first_answer = time(registered.open_wait, 1000).max(answer);
        let first_of_all = registered.open_wait.map_or(answer, |_| first_answer);
        let (open, collect) = (time(registered.open, 10_000), time(registered.collect, 10_000));
        Times {
            answer,
            first_answer,
            first_of_all,
            collect: collect.max(answer),
            open: open.max(first_answer),
        }
    }
}

/// The time limits in a registration, in milliseconds where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Registered {
    /// `Open Timeout`: after which loading and Open are broken off.
    pub open: Option<u32>,
    /// `Collect Timeout`: after which Collect is broken off.
    pub collect: Option<u32>,
    /// `Deadline`: how long an answer is waited for.
    pub deadline: Option<u32>,
    /// `OpenProcedureWaitTime`, of all services: how long the first answer is waited for.
    pub open_wait: Option<u32>,
}

/// Whether a request means a library, or everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meant {
    /// The request names one of its objects.
    ByName,
    /// The request is for all objects.
    WithAll,
}

/// One of a library's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// Loading, and Open.
    Open,
    /// Collect.
    Collect,
    /// Unloading, and Close.
    Close,
}

/// What came of asking a library.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// It answered; the answer is not checked yet.
    Answered(Answered),
    /// It could not be loaded, or Open failed.
    NotLoaded(Loaded),
    /// It did not answer in time.
    Late {
        /// The function that is running.
        during: Function,
        /// How long it has been running.
        running: Duration,
        /// An answer to an earlier request that came since.
        earlier: Option<Answered>,
    },
    /// It did not answer for so long that its process was killed.
    Hung {
        /// The function that was running.
        during: Function,
    },
    /// Its process ended.
    Crashed {
        /// The function that was running.
        during: Function,
        /// How the process ended.
        exit: Exit,
    },
    /// Its process sent something that is no answer, and was killed.
    Rubbish(String),
    /// It crashed or hung, and is not called before this time.
    Resting {
        /// When it is called again.
        until: Instant,
    },
    /// The child process could not be started.
    NoProcess(io::Error),
}

/// What Collect returned.
#[derive(Debug, Clone, Default)]
pub struct Answered {
    /// Its numbers.
    pub returned: Returned,
    /// As much of the bytes as could be read.
    pub data: Vec<u8>,
    /// How often Collect was called until the buffer was large enough.
    pub calls: u32,
    /// How long that took.
    pub time: Duration,
}

/// The pause after the first failure; it doubles with each further one.
const FIRST_REST: Duration = Duration::from_secs(1);
/// The most bytes of a library's output that are kept until somebody takes them.
const MOST_PRINTED: usize = 64 << 10;
/// The longest pause.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// One library in its child process.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    process: Option<Process>,
    /// How often a process was started.
    started: u64,
    /// The library in this process, once it is loaded.
    here: Option<InProcess>,
    phase: Phase,
    /// The request in progress; `None` once it has an outcome.
    asked: Option<Asked>,
    outcome: Option<Outcome>,
    earlier: Option<Answered>,
    /// Failures in a row.
    failures: u32,
    rest: Option<Instant>,
    /// Number of the last message.
    number: u64,
    /// The next start is waited for as a first one: it has neither answered nor been late before.
    is_new: bool,
    /// The number of the library's process, which the child says; 0 before that.
    library_process: u32,
    printed: Vec<u8>,
    attempts: Vec<Attempt>,
    message: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No library is loaded; there may be a process.
    Unloaded,
    Loading {
        since: Instant,
    },
    Ready,
    Collecting {
        since: Instant,
        /// Whether this belongs to the request in progress, not to an earlier one.
        current: bool,
    },
    Closing,
}

impl Phase {
    /// The function that the library is in, or was in last.
    const fn function(self) -> Function {
        match self {
            Phase::Unloaded | Phase::Loading { .. } => Function::Open,
            Phase::Ready | Phase::Collecting { .. } => Function::Collect,
            Phase::Closing => Function::Close,
        }
    }
}

#[derive(Debug)]
struct Asked {
    query: Vec<u16>,
    /// Objects that it is to change, and their number.
    wrapped: Option<(Vec<u8>, u32)>,
    deadline: Instant,
}

impl Client {
    /// A library that is not loaded yet.
    pub fn new(settings: Settings) -> Client {
        Client {
            settings,
            process: None,
            started: 0,
            here: None,
            phase: Phase::Unloaded,
            asked: None,
            outcome: None,
            earlier: None,
            failures: 0,
            rest: None,
            number: 0,
            is_new: true,
            library_process: 0,
            printed: Vec::new(),
            attempts: Vec::new(),
            message: Vec::new(),
        }
    }

    /// How it is run.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The process id of the library, if it has a process.
    pub fn process_id(&self) -> Option<u32> {
        let process = self.process.as_ref()?;
        Some(if self.library_process == 0 { process.id() } else { self.library_process })
    }

    /// What protects this process against the library, as its process says.
    pub fn protections(&self) -> Option<Protections> {
        self.process.as_ref().map(|process| process.protections)
    }

    /// What the library has printed since the last call: at most 64 KB.
    pub fn take_printed(&mut self) -> Vec<u8> {
        self.read_printed();
        std::mem::take(&mut self.printed)
    }

    /// What the library tried since the last call and may not do, each kind once.
    pub fn take_attempts(&mut self) -> Vec<Attempt> {
        self.read_attempts();
        std::mem::take(&mut self.attempts)
    }

    /// Reads what the library tried, before its process is forgotten.
    fn read_attempts(&mut self) {
        let found = self.process.as_mut().map(|process| process.attempts.take()).unwrap_or_default();
        for kind in found {
            if !self.attempts.contains(&kind) {
                self.attempts.push(kind);
            }
        }
    }

    /// Reads what the library has printed, before its process is forgotten.
    fn read_printed(&mut self) {
        let Some(process) = &self.process else { return };
        let mut part = vec![0u8; MOST_PRINTED.saturating_sub(self.printed.len())];
        // Without output there is an error, and at the end of the pipe nothing.
        while !part.is_empty() {
            match rustix::io::read(&process.printed, part.as_mut_slice()) {
                Ok(length) if length > 0 => {
                    self.printed.extend_from_slice(part.get(..length).unwrap_or_default());
                    part.truncate(part.len().saturating_sub(length));
                }
                _ => return,
            }
        }
    }

    /// How often a process was started for it.
    pub const fn started(&self) -> u64 {
        self.started
    }

    /// Sends a query string. The outcome follows later, or at once when the library cannot be asked.
    pub fn ask(&mut self, query: &str, meant: Meant) {
        self.begin(query, None, meant);
    }

    /// Sends objects of other providers to be changed; otherwise as [`Client::ask`].
    pub fn ask_to_wrap(&mut self, query: &str, objects: Vec<u8>, count: u32) {
        self.begin(query, Some((objects, count)), Meant::ByName);
    }

    fn begin(&mut self, query: &str, wrapped: Option<(Vec<u8>, u32)>, meant: Meant) {
        let now = Instant::now();
        let times = self.settings.times;
        self.outcome = None;
        self.asked = Some(Asked { query: wide_of(query), wrapped, deadline: now });
        if self.settings.in_process.is_some() {
            return self.ask_here();
        }
        if let Phase::Collecting { current, .. } = &mut self.phase {
            *current = false;
        }
        self.receive();
        if self.outcome.is_some() {
            return;
        }
        let time = match (self.is_new, meant) {
            (false, _) => times.answer,
            (true, Meant::ByName) => times.first_answer,
            (true, Meant::WithAll) => times.first_of_all,
        };
        // A library that is still busy with an earlier request is waited for once, from the start of that.
        let since = match self.phase {
            Phase::Loading { since } | Phase::Collecting { since, .. } => since,
            Phase::Unloaded | Phase::Ready | Phase::Closing => now,
        };
        if let Some(asked) = &mut self.asked {
            asked.deadline = since.checked_add(time).unwrap_or(now);
        }
        match self.phase {
            Phase::Unloaded => self.start(now),
            Phase::Ready => self.send_collect(now),
            Phase::Loading { since } => {
                if now.duration_since(since) > times.open {
                    self.fail(Outcome::Hung { during: Function::Open });
                }
            }
            Phase::Closing => {}
            Phase::Collecting { since, .. } => {
                if now.duration_since(since) > times.collect {
                    self.fail(Outcome::Hung { during: Function::Collect });
                }
            }
        }
    }

    /// Takes what has arrived from the child, up to the outcome.
    pub fn receive(&mut self) {
        while let Some(process) = self.process.as_ref().filter(|_| self.outcome.is_none()) {
            self.message.resize(LONGEST, 0);
            match recv(&process.socket, self.message.as_mut_slice(), RecvFlags::DONTWAIT) {
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Ok((0, _)) | Err(_) => self.died(),
                Ok((length, _)) => {
                    let answer = Answer::from_bytes(self.message.get(..length).unwrap_or_default());
                    match answer {
                        Ok((number, answer)) if number == self.number => self.take(answer),
                        Ok((number, _)) => {
                            let words = format!("it answered message {number}, not {}", self.number);
                            self.fail(Outcome::Rubbish(words));
                        }
                        Err(error) => self.fail(Outcome::Rubbish(error.to_string())),
                    }
                }
            }
        }
    }

    /// What came of asking, after [`wait`].
    pub fn outcome(&mut self) -> Outcome {
        self.asked = None;
        let during = self.phase.function();
        if let Phase::Collecting { current, .. } = &mut self.phase {
            *current = false;
        }
        let running = match self.phase {
            Phase::Loading { since } | Phase::Collecting { since, .. } => since.elapsed(),
            Phase::Unloaded | Phase::Ready | Phase::Closing => Duration::ZERO,
        };
        let earlier = self.earlier.take();
        self.outcome.take().unwrap_or_else(|| {
            // A start that nobody has waited for long enough to be a first one is still new.
            self.is_new &= during == Function::Open && running < self.settings.times.first_answer;
            Outcome::Late { during, running, earlier }
        })
    }

    /// Calls the library in this process, and waits until it returns.
    fn ask_here(&mut self) {
        let (Some(indexes), Some(asked)) = (&self.settings.in_process, self.asked.take()) else { return };
        let mut here =
            match self.here.take().map_or_else(|| InProcess::load(&self.settings.load, indexes), Ok) {
                Ok(here) => here,
                Err(loaded) => return self.finish(Outcome::NotLoaded(loaded)),
            };
        let (objects, count) = asked.wrapped.unwrap_or_default();
        match here.collect_of(&asked.query, &objects, count) {
            Ok(answered) => self.finish(Outcome::Answered(answered)),
            Err(error) => self.finish(Outcome::NoProcess(error)),
        }
        self.here = Some(here);
    }

    fn start(&mut self, now: Instant) {
        if let Some(until) = self.rest.filter(|until| *until > now) {
            return self.finish(Outcome::Resting { until });
        }
        if self.process.is_none() {
            match Process::start(&self.settings) {
                Ok(process) => {
                    self.process = Some(process);
                    self.started = self.started.saturating_add(1);
                }
                Err(error) => return self.finish(Outcome::NoProcess(error)),
            }
        }
        self.phase = Phase::Loading { since: now };
        self.send(&Request::Load(self.settings.load.clone()));
    }

    fn send_collect(&mut self, now: Instant) {
        if let Some(asked) = &mut self.asked {
            let query = std::mem::take(&mut asked.query);
            let wrapped = asked.wrapped.take();
            self.phase = Phase::Collecting { since: now, current: true };
            let Some((bytes, objects)) = wrapped else { return self.send(&Request::Collect(query)) };
            match (self.write(&bytes), u32::try_from(bytes.len())) {
                (Ok(()), Ok(bytes)) => self.send(&Request::Wrap { query, bytes, objects }),
                (Err(error), _) => self.fail(Outcome::NoProcess(error)),
                (_, Err(_)) => self.fail(Outcome::Rubbish("what it wraps is too long for it".to_string())),
            }
        }
    }

    fn send(&mut self, request: &Request) {
        self.number = self.number.wrapping_add(1);
        let Some(process) = &self.process else { return };
        // At most one message is under way, so there is always room for it.
        match send(&process.socket, &request.to_bytes(self.number), SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
        {
            Ok(_) => {}
            Err(Errno::MSGSIZE) => self.fail(Outcome::Rubbish("the request is too long for it".to_string())),
            Err(_) => self.died(),
        }
    }

    fn take(&mut self, answer: Answer) {
        match (answer, self.phase) {
            (Answer::Loaded(loaded), Phase::Loading { .. }) => {
                self.library_process = loaded.process;
                if let Some(process) = &mut self.process {
                    process.protections = loaded.protections;
                }
                if loaded.stage == Stage::Open {
                    self.phase = Phase::Ready;
                    self.send_collect(Instant::now());
                } else {
                    self.phase = Phase::Unloaded;
                    self.finish(Outcome::NotLoaded(loaded));
                }
            }
            (Answer::Collected { returned, calls, nanoseconds }, Phase::Collecting { current, .. }) => {
                let time = Duration::from_nanos(nanoseconds);
                let answered = Answered { returned, data: self.read(returned.bytes), calls, time };
                self.phase = Phase::Ready;
                self.failures = 0;
                self.is_new = false;
                if current {
                    self.finish(Outcome::Answered(answered));
                } else {
                    self.earlier = Some(answered);
                    self.send_collect(Instant::now());
                }
            }
            (Answer::Closed(_), Phase::Closing) => {
                self.phase = Phase::Unloaded;
                self.finish(Outcome::Answered(Answered::default()));
            }
            (other, _) => self.fail(Outcome::Rubbish(format!("it was not asked for {other:?}"))),
        }
    }

    /// Writes objects to the start of the buffer of Collect, before the child gets the message.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let Some(process) = &self.process else { return Ok(()) };
        process.memory.write_all_at(bytes, GUARD as u64)
    }

    /// The bytes of an answer. The file is read, never mapped, so that nothing happens here if it is cut
    /// meanwhile. The memory for them is taken at once, as much as the file can fill: growing it step by step
    /// cost more than reading.
    fn read(&self, bytes: u32) -> Vec<u8> {
        let Some(process) = &self.process else { return Vec::new() };
        let there = process.memory.metadata().map_or(0, |about| about.len()).saturating_sub(GUARD as u64);
        let most = LONGEST_FILE.saturating_sub(2 * GUARD);
        let wanted = usize::try_from(u64::from(bytes).min(there)).unwrap_or(most).min(most);
        let mut data = Vec::new();
        if data.try_reserve_exact(wanted).is_err() {
            return data;
        }
        while data.len() < wanted {
            let at = (GUARD as u64).saturating_add(data.len() as u64);
            match rustix::io::pread(&process.memory, spare_capacity(&mut data), at) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        // More may have been reserved, and read.
        data.truncate(wanted);
        data
    }

    /// The child has closed its socket.
    fn died(&mut self) {
        let during = self.phase.function();
        self.read_printed();
        let exit = self.process.as_mut().map(Process::wait).unwrap_or_default();
        self.fail(Outcome::Crashed { during, exit });
    }

    /// Ends the child, and pauses the library.
    fn fail(&mut self, outcome: Outcome) {
        self.forget_process();
        self.phase = Phase::Unloaded;
        let rest = FIRST_REST.saturating_mul(1u32.checked_shl(self.failures).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1).min(30);
        self.rest = Instant::now().checked_add(rest.min(LONGEST_REST));
        self.finish(outcome);
    }

    /// Ends the child, if there is one.
    fn forget_process(&mut self) {
        self.read_printed();
        self.read_attempts();
        self.process = None;
        self.library_process = 0;
    }

    fn finish(&mut self, outcome: Outcome) {
        self.outcome = Some(outcome);
        self.asked = None;
    }
}

/// Waits until every requested library has an outcome or has reached its deadline.
pub fn wait(clients: &mut [&mut Client]) {
    loop {
        let now = Instant::now();
        let mut last: Option<Instant> = None;
        let mut entries = Vec::new();
        for client in clients.iter() {
            if let (Some(asked), Some(process)) = (&client.asked, &client.process)
                && asked.deadline > now
            {
                entries.push(PollFd::new(&process.socket, PollFlags::IN));
                last = Some(last.map_or(asked.deadline, |last| last.min(asked.deadline)));
            }
        }
        let Some(deadline) = last else { return };
        let left = Timespec::try_from(deadline.duration_since(now)).ok();
        // A signal interrupts the wait like a message: take what has arrived, and compute the remaining time
        // again.
        let _ = poll(&mut entries, left.as_ref());
        drop(entries);
        clients.iter_mut().for_each(|client| client.receive());
    }
}

/// How the end of a library went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// Close returned, or the library was not loaded.
    Well,
    /// Its process ended in Close.
    Crashed(Exit),
    /// Close did not return in time, and its process was killed.
    Hung,
}

/// How long Close may take.
pub const CLOSE_TIME: Duration = Duration::from_millis(500);

/// Has the libraries call Close and end, and waits a little for it; returns how it went, in their order.
pub fn close(clients: &mut [&mut Client]) -> Vec<Closed> {
    let now = Instant::now();
    for client in clients.iter_mut() {
        client.receive();
        client.asked = None;
        client.outcome = None;
        if client.phase == Phase::Ready {
            client.phase = Phase::Closing;
            let deadline = now.checked_add(CLOSE_TIME).unwrap_or(now);
            client.asked = Some(Asked { query: Vec::new(), wrapped: None, deadline });
            client.send(&Request::Close);
        }
    }
    wait(clients);
    let end = |client: &mut &mut Client| {
        let closed = match (client.outcome.take(), client.phase) {
            (Some(Outcome::Crashed { exit, .. }), _) => Closed::Crashed(exit),
            (_, Phase::Closing) => Closed::Hung,
            _ => Closed::Well,
        };
        client.here = None;
        if let (Closed::Well, Some(process)) = (closed, &mut client.process) {
            // The supervisor then knows what the library left behind.
            process.wait();
        }
        client.forget_process();
        client.phase = Phase::Unloaded;
        closed
    };
    clients.iter_mut().map(end).collect()
}
