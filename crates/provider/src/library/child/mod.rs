//! The child process: loads one library, and calls its functions on request.
//!
//! Its standard input is the socket to the reader, its standard output the file that Collect writes to, its
//! standard error a pipe whose lines become events. The library finds standard input closed and its output in
//! that pipe, and no other file open. The process leads its own session, cannot gain rights, writes no core
//! dump, and ends when the reader does; `supervise` has the other protections.

mod changes;
mod confine;
mod look;
mod supervise;
mod watch;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketType, recv, send};
use rustix::process::{Resource, Rlimit, Signal};

use super::abi::{Buffer, LONGEST as LONGEST_FILE, Library, Others, close_all_but};
use super::attempt::Counts;
use super::check::ERROR_SUCCESS;
use super::protocol::{Answer, LONGEST, Load, Loaded, Protections, Request, Stage};
use supervise::{Role, Wanted};

/// Address space of the process in bytes; a library that leaks memory reaches this limit and fails.
const ADDRESS_SPACE: u64 = 1 << 30;
/// Files that a library can have open.
const FILES: u64 = 256;
/// How long Close may take after the reader has gone.
const LAST_CLOSE: Duration = Duration::from_secs(2);

/// Serves a reader until it goes away. A program of its own calls this before anything else.
#[expect(clippy::print_stderr, reason = "this is the main function of the program tally-host")]
pub fn serve() -> ExitCode {
    if !matches!(rustix::net::sockopt::socket_type(rustix::stdio::stdin()), Ok(SocketType::SEQPACKET)) {
        eprintln!("tally-host: it is started by programs that read counters of libraries, not by hand");
        return ExitCode::from(2);
    }
    let served = || {
        let wanted = Wanted::of(std::env::args().skip(1))?;
        let (socket, memory) = prepare()?;
        let counts = Counts::receive(&socket)?;
        match supervise::enter(socket, memory, counts, wanted)? {
            Role::Library { socket, memory, protections } => {
                Server::new(socket, memory, protections)?.run().map(|()| ExitCode::SUCCESS)
            }
            Role::Ended(code) => Ok(code),
        }
    };
    match served() {
        Ok(code) => code,
        Err(error) => {
            let error: io::Error = error;
            eprintln!("tally-host: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Takes socket and memory from their descriptors, and removes everything that a library does not need.
fn prepare() -> io::Result<(OwnedFd, File)> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let memory = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    close_all_but(&[socket.as_fd(), memory.as_fd()])?;
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    drop(nothing);
    // What the library prints are events, by whichever of the two it prints it.
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    // The terminal's signals are for the reader. The call fails when the process leads a session already,
    // which is as good.
    let _ = rustix::process::setsid();
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::thread::set_no_new_privs(true)?;
    limit(Resource::Core, 0)?;
    Ok((socket, File::from(memory)))
}

/// The limits of the process that loads the library.
fn limits() -> io::Result<()> {
    limit(Resource::As, ADDRESS_SPACE)?;
    limit(Resource::Nofile, FILES)?;
    limit(Resource::Fsize, LONGEST_FILE as u64)
}

/// Lowers a limit for good; a lower one is kept.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let old = rustix::process::getrlimit(resource);
    let most = old.maximum.map_or(most, |maximum| maximum.min(most));
    rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    Ok(())
}

struct Server {
    socket: OwnedFd,
    buffer: Buffer,
    library: Option<Library>,
    protections: Protections,
}

impl Server {
    fn new(socket: OwnedFd, memory: File, protections: Protections) -> io::Result<Server> {
        Ok(Server { socket, buffer: Buffer::new(memory)?, library: None, protections })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut message = vec![0u8; LONGEST];
        loop {
            let length = match recv(&self.socket, message.as_mut_slice(), RecvFlags::empty()) {
                Ok((length, _)) => length,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let bytes = message.get(..length).unwrap_or_default();
            if bytes.is_empty() {
                self.close();
                return Ok(());
            }
            let (number, request) = Request::from_bytes(bytes).map_err(io::Error::other)?;
            let (answer, last) = match request {
                Request::Load(load) => (Answer::Loaded(self.load(&load)), false),
                Request::Collect(query) => (self.collect(&query, Others::default())?, false),
                Request::Wrap { query, bytes, objects } => {
                    let others = self.buffer.read(bytes)?;
                    (self.collect(&query, Others { bytes: &others, count: objects })?, false)
                }
                Request::Close => (Answer::Closed(self.close()), true),
            };
            match send(&self.socket, &answer.to_bytes(number), SendFlags::NOSIGNAL) {
                Ok(_) => {}
                // The reader did not wait; the next message is its end.
                Err(Errno::PIPE) => {}
                Err(error) => return Err(error.into()),
            }
            if last {
                return Ok(());
            }
        }
    }

    fn load(&mut self, load: &Load) -> Loaded {
        // The number that the reader knows this process by: the file system shows it also in a PID namespace.
        let process = std::fs::read_link("/proc/self").ok();
        let process = process.and_then(|link| link.to_str()?.parse().ok()).unwrap_or_default();
        Loaded { protections: self.protections, process, ..self.load_library(load) }
    }

    fn load_library(&mut self, load: &Load) -> Loaded {
        self.library = None;
        let library = match Library::load(load) {
            Ok(library) => library,
            Err(loaded) => return loaded,
        };
        match library.open(load.context.as_deref()) {
            ERROR_SUCCESS => {
                self.library = Some(library);
                Loaded::default()
            }
            error => Loaded { stage: Stage::OpenFailed, error, ..Loaded::default() },
        }
    }

    fn collect(&mut self, query: &[u16], others: Others<'_>) -> io::Result<Answer> {
        let Some(library) = &self.library else {
            return Err(io::Error::other("it was told to collect before a library was loaded"));
        };
        let start = Instant::now();
        let (returned, calls) = library.collect(query, others, &mut self.buffer)?;
        let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(Answer::Collected { returned, calls, nanoseconds })
    }

    /// Calls Close and unloads the library, if one is loaded.
    fn close(&mut self) -> u32 {
        self.library.take().map_or(ERROR_SUCCESS, |library| library.close())
    }
}
