//! Starts child processes, and reaps them without making a caller wait.
//!
//! One thread starts all of them, and lives as long as this process: the kernel kills a child when the thread
//! that started it ends, and a thread of the reader may end long before the reader.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::fs::MemfdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal};

use super::client::Settings;

/// Name of the program.
const PROGRAM: &str = "tally-host";
/// User id and group id of `nobody`.
const NOBODY: u32 = 65_534;
/// How long to wait for the end of a child whose socket is closed already.
const END: Duration = Duration::from_millis(20);

/// The program that loads libraries: `$TALLYMON_HOST`, else `tally-host` in the folder of this program, in
/// `../libexec/tallymon` from there, or in `$PATH`; `None` when it is in none of these places.
pub fn find_program() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("TALLYMON_HOST").filter(|given| !given.is_empty()) {
        return Some(PathBuf::from(given));
    }
    let own = std::env::current_exe().ok();
    let folder = own.as_deref().and_then(Path::parent);
    let beside = folder.map(|folder| folder.join(PROGRAM));
    let libexec = folder.and_then(Path::parent).map(|above| above.join("libexec/tallymon").join(PROGRAM));
    let path = std::env::var_os("PATH").unwrap_or_default();
    // An empty or relative folder in the path could be one that any user created.
    let in_path =
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(PROGRAM));
    beside.into_iter().chain(libexec).chain(in_path).find(|file| file.is_file())
}

/// A child process with its socket and the memory that it writes to. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Process {
    /// `None` once another thread waits for it.
    child: Option<std::process::Child>,
    pub(crate) socket: OwnedFd,
    pub(crate) memory: File,
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
        let mut command = Command::new(&settings.program);
        command.envs(settings.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::from(theirs)).stdout(Stdio::from(memory.try_clone()?)).stderr(Stdio::null());
        if settings.as_nobody && rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let child = spawn(command)?;
        Ok(Process { child: Some(child), socket, memory })
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, std::process::Child::id)
    }

    /// Ends it, and reports how it ended if it had ended by itself.
    pub(crate) fn end(mut self) -> Exit {
        let Some(child) = &mut self.child else { return Exit::default() };
        let mut waited = Duration::ZERO;
        let step = Duration::from_micros(200);
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                return Exit { signal: status.signal(), code: status.code() };
            }
            if waited >= END {
                return Exit::default();
            }
            std::thread::sleep(step);
            waited = waited.saturating_add(step);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // Processes that it forked are in its group, even after it has ended. The number can not belong to
        // another group: it was not reaped yet, or its group still has members.
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
        // An error means that it has ended.
        let _ = child.kill();
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
            let mut ending: Vec<std::process::Child> = Vec::new();
            loop {
                let job = match ending.is_empty() {
                    true => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    false => jobs.recv_timeout(Duration::from_millis(20)),
                };
                ending.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
                match job {
                    Ok(Job::Wait(child)) => ending.push(child),
                    Ok(Job::Spawn(mut command, reply)) => {
                        let child = command.spawn();
                        // The child's descriptors must be closed here before anyone waits for the child to
                        // close them.
                        drop(command);
                        if let Err(unwanted) = reply.send(child)
                            && let Ok(mut child) = unwanted.0
                        {
                            let _ = child.kill();
                            ending.push(child);
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
