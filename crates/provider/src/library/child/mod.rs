//! The child process: loads one library, and calls its functions on request.
//!
//! Its standard input is the socket to the reader, its standard output the file that Collect writes to. The
//! library finds both closed, and no other file open. The process leads its own session, can not gain rights,
//! writes no core dump, and ends when the reader does.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketType, recv, send};
use rustix::process::{Resource, Rlimit, Signal};

use super::abi::{Buffer, LONGEST as LONGEST_FILE, Library, Others, close_all_but};
use super::check::ERROR_SUCCESS;
use super::protocol::{Answer, Ask, LONGEST, Load, Loaded, Stage};

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
    match prepare().and_then(|(socket, memory)| Server::new(socket, memory)?.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
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
    rustix::stdio::dup2_stdout(&nothing)?;
    drop(nothing);
    // Killing the group of this session later reaches the processes that the library forked. The call fails
    // when the process leads a session already, which is as good.
    let _ = rustix::process::setsid();
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::thread::set_no_new_privs(true)?;
    limit(Resource::Core, 0)?;
    limit(Resource::As, ADDRESS_SPACE)?;
    limit(Resource::Nofile, FILES)?;
    limit(Resource::Fsize, LONGEST_FILE as u64)?;
    Ok((socket, File::from(memory)))
}

/// Lowers a limit for good; a lower one is kept.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let old = rustix::process::getrlimit(resource);
    let most = old.maximum.map_or(most, |maximum| maximum.min(most));
    rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    Ok(())
}

/// Kills this process, and those that it forked, when the reader has gone and Close does not return.
fn watch(socket: &OwnedFd) -> io::Result<()> {
    let socket = socket.try_clone()?;
    std::thread::Builder::new().name("watch".to_string()).stack_size(64 << 10).spawn(move || {
        let mut entries = [PollFd::new(&socket, PollFlags::empty())];
        while let Ok(0) | Err(Errno::INTR) = poll(&mut entries, None) {}
        std::thread::sleep(LAST_CLOSE);
        let own = rustix::process::getpid();
        // The process was told to end and did not. No one is left to report an error to.
        let _ = rustix::process::kill_process_group(own, Signal::KILL);
        let _ = rustix::process::kill_process(own, Signal::KILL);
    })?;
    Ok(())
}

struct Server {
    socket: OwnedFd,
    buffer: Buffer,
    library: Option<Library>,
}

impl Server {
    fn new(socket: OwnedFd, memory: File) -> io::Result<Server> {
        watch(&socket)?;
        Ok(Server { socket, buffer: Buffer::new(memory)?, library: None })
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
            let (number, ask) = Ask::from_bytes(bytes).map_err(io::Error::other)?;
            let (answer, last) = match ask {
                Ask::Load(load) => (Answer::Loaded(self.load(&load)), false),
                Ask::Collect(query) => (self.collect(&query, Others::default())?, false),
                Ask::Wrap { query, bytes, objects } => {
                    let others = self.buffer.read(bytes)?;
                    (self.collect(&query, Others { bytes: &others, count: objects })?, false)
                }
                Ask::Close => (Answer::Closed(self.close()), true),
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
            error => Loaded { stage: Stage::OpenFailed, error, detail: String::new() },
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
