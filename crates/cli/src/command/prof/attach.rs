//! Records events of running .NET programs that were not prepared: `tally prof sample`, and the events for
//! reports of incidents.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tallymon::log::new_file::NewFile;
use tallymon_clr::export::TreeOptions;
use tallymon_dotnet::events;
use tallymon_dotnet::incidents::Incidents;
use tallymon_dotnet::nettrace::TraceError;
use tallymon_dotnet::port::{self, EventProvider, PortError, Program, Session, Stream};
use tallymon_dotnet::requests::{self, Requests};

use super::arguments::{ProfSample, Recorded};
use super::list::Listed;
use super::{fold, sampled};
use crate::exit::{Failure, Kind};
use crate::stop::Stop;
use crate::words::say;

/// How long a runtime may take to answer, and to send nothing while it describes its methods.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a program may take to tell its version: one that stands still costs this much, however many do.
const SHORT_PATIENCE: Duration = Duration::from_millis(500);
/// How often to look for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

pub(super) fn sample(arguments: &ProfSample) -> Result<(), Failure> {
    let provider = |name: &str, keywords| EventProvider {
        name: name.into(),
        keywords,
        level: 4,
        arguments: String::new(),
    };
    // The keywords of the runtime that dotnet-trace has by default: other tools expect these events.
    let providers =
        vec![provider(events::SAMPLER, 0xf000_0000_0000), provider(events::RUNTIME, 0x0014_c14f_ccbd)];
    let session = Session { providers, method_names: true, buffer: 256 };
    let file = record(&arguments.recorded, &session)?;
    say(format_args!("the samples are in {}", file.display()));
    if arguments.recorded.output.is_none() {
        let mut profile = sampled::open(&file)?;
        fold(&mut profile, &arguments.fold, usize::MAX);
        let options = TreeOptions { depth: arguments.depth, ..TreeOptions::default() };
        super::print_profile(&profile, &options)?;
    }
    Ok(())
}

/// The running programs that can be seen from here. Each is asked at the same time as the others.
pub(super) fn programs() -> Vec<Listed> {
    let listed = |program: &Program| {
        let runtime = match program.info(SHORT_PATIENCE) {
            Ok(info) => Ok(info.version),
            // It is older than .NET 5.
            Err(PortError::Refused { .. }) => Ok(String::new()),
            Err(error) if error.is_denied() => {
                Err("another user's: only that user and root may attach".into())
            }
            Err(error) => Err(error.to_string()),
        };
        Listed { pid: program.pid, name: program.name.clone(), runtime, profile: profile_of(program.pid) }
    };
    let found = port::programs();
    std::thread::scope(|scope| {
        let asked: Vec<_> = found.iter().map(|program| scope.spawn(move || listed(program))).collect();
        asked.into_iter().filter_map(|one| one.join().ok()).collect()
    })
}

/// The profile that a program writes, wherever it is: the profiler has mapped it to write.
pub(super) fn profile_of(pid: u32) -> Option<PathBuf> {
    let maps = fs::read(format!("/proc/{pid}/maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    // 7f00-7f10 rw-s 00000000 08:01 5678    /folder/4711.prof
    let shared = maps.lines().filter(|line| line.split(' ').nth(1) == Some("rw-s"));
    let files = shared.filter_map(|line| line.find('/').and_then(|at| line.get(at..)));
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let seen = |file: &str| [PathBuf::from(file), root.join(file.trim_start_matches('/'))];
    files.flat_map(seen).find(|file| tallymon_clr::reader::is_profile(file))
}

/// The program that an argument means: a process id, or the name of one program that runs.
fn find(program: &str) -> Result<Program, Failure> {
    if let Ok(pid) = program.parse() {
        return port::find(pid).map_err(|error| failure(&error));
    }
    let mut found = port::programs();
    found.retain(|one| one.name == program);
    match &found[..] {
        [one] => Ok(one.clone()),
        [] => {
            let words =
                format!("no running .NET program has the name {program:?}; 'tally prof list' shows all");
            Err(Failure::new(Kind::NotFound, words))
        }
        several => {
            let pids: Vec<String> = several.iter().map(|one| one.pid.to_string()).collect();
            let words =
                format!("several programs have the name {program:?}: {}; give one id", pids.join(", "));
            Err(Failure::new(Kind::Usage, words))
        }
    }
}

fn failure(error: &PortError) -> Failure {
    let kind = match error {
        PortError::NotFound { .. } => Kind::NotFound,
        error if error.is_denied() => Kind::AccessDenied,
        _ => Kind::Unreachable,
    };
    Failure::new(kind, error)
}

/// Records the events of a program into a file, which is returned.
fn record(recorded: &Recorded, session: &Session) -> Result<PathBuf, Failure> {
    let program = find(&recorded.program)?;
    let named = || PathBuf::from(format!("{}-{}.nettrace", file_name(&program.name), program.pid));
    let output = recorded.output.clone().unwrap_or_else(named);
    let failed = |error| Failure::file(&output, &error);
    let new = NewFile::create(&output, recorded.replacing.overwrite()).map_err(failed)?;
    let file = new.file().map_err(failed)?;
    let stop = Stop::on_signals()?;
    let mut stream = program.start(session, PATIENCE).map_err(|error| failure(&error))?;
    stream.set_patience(PATIENCE);
    let work = move |stream| copy_all(stream, file);
    let (result, _) = read(stream, recorded.duration, &stop, work, &mut || Ok(ControlFlow::Continue(())))?;
    match result {
        Ok(()) => {}
        Err(CopyError::Read(error)) => return Err(unreadable(program.pid, &error)),
        Err(CopyError::Write(error)) => return Err(failed(error)),
    }
    new.keep().map_err(failed)?;
    Ok(output)
}

/// The failure for events that cannot be read.
fn unreadable(pid: u32, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Kind::Unreachable, format_args!("process {pid}: reading its events: {error}"))
}

/// What happens in a program for a while.
pub(super) fn incidents(
    program: &str,
    duration: Duration,
    keywords: u64,
    level: u32,
) -> Result<Incidents, Failure> {
    let program = find(program)?;
    let name = events::RUNTIME.into();
    let providers = vec![EventProvider { name, keywords, level, arguments: String::new() }];
    let session = Session { providers, method_names: true, buffer: 64 };
    let stop = Stop::on_signals()?;
    let mut stream = program.start(&session, PATIENCE).map_err(|error| failure(&error))?;
    // A program to which nothing happens sends nothing.
    stream.set_patience(duration.saturating_add(PATIENCE));
    let pid = program.pid;
    let nothing = &mut || Ok(ControlFlow::Continue(()));
    let (result, _) = read(stream, duration, &stop, Incidents::read, nothing)?;
    result.map_err(|error| unreadable(pid, &error))
}

/// How long to wait before a program is told again what is wanted; twice as long each time, up to the second.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// What a program is asked, and how long it takes. `show` gets what is known each time that `every` has
/// passed. When another reader left, and took the program's reports away, a new session begins.
pub(super) fn requests(
    program: &str,
    duration: Duration,
    arguments: String,
    every: Option<Duration>,
    show: &mut dyn FnMut(&Requests) -> Result<(), Failure>,
) -> Result<Requests, Failure> {
    let program = find(program)?;
    let known = Arc::new(Mutex::new(Requests::wanted(&arguments)));
    let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
    let name = requests::DIAGNOSTIC_SOURCE.into();
    let providers = vec![EventProvider { name, keywords: requests::REPORTS, level: 5, arguments }];
    let session = Session { providers, method_names: false, buffer: 64 };
    let stop = Stop::on_signals()?;
    let begun = Instant::now();
    let passed = || u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let copy = || {
        let mut copy = lock().clone();
        // The last report may be old, and a gap open.
        copy.duration = passed();
        copy.end_gap(copy.duration);
        copy
    };
    // The program may have ended. What was seen until then is the result.
    let until_now = |error: &dyn std::fmt::Display| {
        say(format_args!("process {}: {error}; these are the requests until then", program.pid));
        copy()
    };
    let mut next = every.map(|every| begun + every);
    let (mut pause, mut earliest) = (AGAIN.0, begun + AGAIN.0);
    let mut is_first = true;
    loop {
        let mut stream = match program.start(&session, PATIENCE) {
            Ok(stream) => stream,
            Err(error) if is_first => return Err(failure(&error)),
            Err(error) => return Ok(until_now(&error)),
        };
        stream.set_patience(duration.saturating_add(PATIENCE));
        lock().begin_again(passed());
        let mut meanwhile = || {
            if let (Some(every), Some(at)) = (every, next)
                && Instant::now() >= at
            {
                next = Some(at + every);
                show(&copy())?;
            }
            let enough = Instant::now() >= earliest && lock().needs_session();
            Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        let of_thread = known.clone();
        let work = move |stream| -> Result<(), TraceError> { Requests::read(stream, &of_thread) };
        let left = duration.saturating_sub(begun.elapsed());
        let (result, End { enough, at }) = read(stream, left, &stop, work, &mut meanwhile)?;
        match result {
            Err(error) if is_first => return Err(unreadable(program.pid, &error)),
            Err(error) => return Ok(until_now(&error)),
            Ok(()) => {}
        }
        is_first = false;
        if !enough {
            // The end of the own session is reported too.
            lock().forget_after(u64::try_from((at - begun).as_nanos()).unwrap_or(u64::MAX));
            return Ok(copy());
        }
        pause = (pause * 2).min(AGAIN.1);
        earliest = Instant::now() + pause;
    }
}

/// The name of a program without what a path means.
fn file_name(name: &str) -> String {
    let name: String = name.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }).collect();
    if name.is_empty() || name.starts_with('.') { format!("dotnet{name}") } else { name }
}

/// Why and when a stream was ended.
struct End {
    /// What was done meanwhile wanted no more.
    enough: bool,
    at: Instant,
}

/// Reads a stream to its end in a thread, and does something again and again meanwhile. After the duration,
/// Ctrl-C, or when that wants no more, the program is asked to end it.
fn read<T: Send + 'static>(
    stream: Stream,
    duration: Duration,
    stop: &Stop,
    work: impl FnOnce(Stream) -> T + Send + 'static,
    meanwhile: &mut dyn FnMut() -> Result<ControlFlow<()>, Failure>,
) -> Result<(T, End), Failure> {
    let (finish, pid) = (stream.finisher(), stream.program().pid);
    let (done, ended) = channel();
    let working = std::thread::spawn(move || {
        let result = work(stream);
        // Nobody waits when the other side failed.
        let _ = done.send(());
        result
    });
    let end = Instant::now() + duration;
    let (mut is_over, mut is_enough) = (false, false);
    while !is_over && !is_enough && Instant::now() < end && !stop.is_wanted() {
        let left = end.saturating_duration_since(Instant::now()).min(LOOK);
        is_over = !matches!(ended.recv_timeout(left), Err(RecvTimeoutError::Timeout));
        is_enough = meanwhile()?.is_break();
    }
    let at = Instant::now();
    if is_over {
        is_enough = false;
        say(format_args!("process {pid} ended its events before the time"));
    } else if let Err(error) = finish.finish(PATIENCE)
        && port::find(pid).is_ok()
    {
        // A program that ends just now needs no answer.
        return Err(failure(&error));
    }
    let result = working.join();
    result
        .map(|result| (result, End { enough: is_enough, at }))
        .map_err(|_| Failure::new(Kind::Other, "the thread that reads the events failed"))
}

/// Which side of a copy failed.
enum CopyError {
    Read(std::io::Error),
    Write(std::io::Error),
}

fn copy_all(mut stream: Stream, file: File) -> Result<(), CopyError> {
    let mut out = BufWriter::new(file);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            // A program that is killed resets its connection: what came before is good.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => return Err(CopyError::Read(error)),
        };
        out.write_all(buffer.get(..read).unwrap_or_default()).map_err(CopyError::Write)?;
    }
    out.flush().map_err(CopyError::Write)
}
