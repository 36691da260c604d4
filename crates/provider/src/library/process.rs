//! Starts child processes, and reaps them without making a caller wait.
//!
//! One thread starts all of them, and lives as long as this process: the kernel kills a child when the thread
//! that started it ends, and a thread of the reader may end long before the reader.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::PipeFlags;

use super::attempt::Counts;
use super::client::{Isolation, SERVICE, Settings};
use super::own_file::own_file;
use super::protocol::Protections;
use crate::trust::check_path;

/// How long to wait for the end of a child whose socket is closed already. A library that has left nothing
/// takes less than a millisecond; what is left is counted when the first of it has ended.
const END: Duration = Duration::from_secs(1);
/// How long a child may take to end what its library left behind.
const LAST: Duration = Duration::from_secs(5);

/// Refuses a program that another user could change, unless it is beside this one, which runs already. `su`
/// keeps `$TALLY_HOST` and `$PATH`.
fn check_program(program: &Path) -> io::Result<()> {
    // The system would look for a name without a folder in every folder of `$PATH`, relative ones too.
    if program.parent().is_none_or(|folder| folder.as_os_str().is_empty()) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it is in none of the folders where it may be"));
    }
    let own = [std::env::current_exe().ok(), own_file()];
    let mut homes = own.iter().flatten().filter_map(|home| home.parent());
    if homes.any(|folder| program.parent() == Some(folder)) {
        return Ok(());
    }
    Ok(check_path(program)?)
}

/// Variables of the reader that every library gets: where files are, language and time zone.
const PASSED: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
];

/// Whether a library gets a variable of the reader: one of [`PASSED`], those that begin with `LC_`, `TALLY_`
/// or `TALLYMON_`, and those that begin with the name of its service in capitals and `_`.
fn is_passed(name: &OsStr, settings: &Settings) -> bool {
    let Some(name) = name.to_str() else { return false };
    let own = settings.environment.iter().find(|(variable, _)| variable == SERVICE).map(|(_, name)| name);
    let capital =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    let own = own.map(|service| service.chars().map(capital).chain(['_']).collect::<String>());
    PASSED.contains(&name)
        || ["LC_", "TALLY_", "TALLYMON_"].into_iter().any(|start| name.starts_with(start))
        || own.is_some_and(|start| name.starts_with(&start))
}

/// A child process with its socket and the memory that it writes to. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Process {
    /// `None` once another thread waits for it.
    child: Option<std::process::Child>,
    pub(crate) socket: OwnedFd,
    pub(crate) memory: File,
    /// What the library prints.
    pub(crate) printed: OwnedFd,
    /// What protects this process against it, once it has said so.
    pub(crate) protections: Protections,
    /// What the library tried and may not do.
    pub(crate) attempts: Counts,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exit {
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Its exit code.
    pub code: Option<i32>,
}

impl Process {
    /// Starts the program.
    pub(crate) fn start(settings: &Settings) -> io::Result<Process> {
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let memory = File::from(rustix::fs::memfd_create("tallymon", MemfdFlags::CLOEXEC)?);
        check_program(&settings.program)?;
        let attempts = Counts::new()?;
        attempts.send(&socket)?;
        let mut command = Command::new(&settings.program);
        if settings.isolation != Isolation::None {
            // The reader's environment may have passwords and keys.
            command.env_clear().envs(std::env::vars_os().filter(|(name, _)| is_passed(name, settings)));
        }
        command.envs(settings.environment.iter().map(|(name, value)| (name, value)));
        // A library that prints more than fits loses it; it is never made to wait.
        let (printed, print) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        command
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(memory.try_clone()?))
            .stderr(Stdio::from(print));
        match settings.isolation {
            Isolation::OwnUser(user) => drop(command.arg(format!("user={user}"))),
            Isolation::SameUser => {}
            Isolation::None => drop(command.arg("unprotected")),
        }
        let child = spawn(command)?;
        let protections = Protections::default();
        Ok(Process { child: Some(child), socket, memory, printed, protections, attempts })
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, std::process::Child::id)
    }

    /// Waits a moment for its end, and reports how it ended.
    pub(crate) fn wait(&mut self) -> Exit {
        let Some(child) = &mut self.child else { return Exit::default() };
        let start = Instant::now();
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                return Exit { signal: status.signal(), code: status.code() };
            }
            if start.elapsed() >= END {
                return Exit::default();
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // It ends everything that the library forked when the socket closes, which the kernel does at once
        // with a PID namespace.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
        if self.protections.has(Protections::PID_NAMESPACE) {
            // An error means that it has ended.
            let _ = child.kill();
        }
        if !matches!(child.try_wait(), Ok(Some(_))) {
            reap(child);
        }
    }
}

enum Job {
    Spawn(Box<Command>, Sender<io::Result<std::process::Child>>),
    Wait(std::process::Child),
}

/// The thread that starts and waits; `None` when it could not be started.
fn thread() -> Option<&'static Sender<Job>> {
    static THREAD: OnceLock<Option<Sender<Job>>> = OnceLock::new();
    let start = || {
        let (sender, jobs) = channel::<Job>();
        let run = move || {
            // They were killed, but a process in the middle of a read from a dead disk may take its time.
            let mut ending: Vec<(std::process::Child, Instant)> = Vec::new();
            loop {
                let job = match ending.is_empty() {
                    true => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    false => jobs.recv_timeout(Duration::from_millis(20)),
                };
                ending.retain_mut(|(child, since)| {
                    if since.elapsed() > LAST {
                        let _ = child.kill();
                    }
                    matches!(child.try_wait(), Ok(None))
                });
                match job {
                    Ok(Job::Wait(child)) => ending.push((child, Instant::now())),
                    Ok(Job::Spawn(mut command, reply)) => {
                        let child = command.spawn();
                        // The child's descriptors must be closed here before anyone waits for the child to
                        // close them.
                        drop(command);
                        if let Err(unwanted) = reply.send(child)
                            && let Ok(mut child) = unwanted.0
                        {
                            let _ = child.kill();
                            ending.push((child, Instant::now()));
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        std::thread::Builder::new().name("tally-host starter".to_string()).spawn(run).ok().map(|_| sender)
    };
    THREAD.get_or_init(start).as_ref()
}

fn spawn(command: Command) -> io::Result<std::process::Child> {
    let gone = || io::Error::other("the thread that starts child processes does not answer");
    let (sender, reply) = channel();
    thread().ok_or_else(gone)?.send(Job::Spawn(Box::new(command), sender)).map_err(|_| gone())?;
    // A process that was forked from a reader has no such thread.
    reply.recv_timeout(Duration::from_secs(5)).map_err(|_| gone())?
}

fn reap(child: std::process::Child) {
    if let Some(thread) = thread() {
        // Without the thread it stays a zombie until this process ends.
        let _ = thread.send(Job::Wait(child));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::client::Times;
    use crate::library::protocol::Load;

    #[test]
    fn a_library_gets_no_other_variables() {
        let settings = Settings {
            program: Default::default(),
            load: Load::default(),
            isolation: Isolation::SameUser,
            in_process: None,
            environment: vec![(SERVICE.to_string(), "My-Service".to_string())],
            times: Times::of(&Default::default()),
        };
        for (name, wanted) in [
            ("PATH", true),
            ("TZ", true),
            ("LC_ALL", true),
            ("TALLYMON_ROOT", true),
            ("MY_SERVICE_SOCKET", true),
            ("MY_SERVICES", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("LD_PRELOAD", false),
            ("SSH_AUTH_SOCK", false),
            ("", false),
        ] {
            assert_eq!(is_passed(OsStr::new(name), &settings), wanted, "{name}");
        }
    }
}
