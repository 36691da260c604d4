//! Programs that end with the benchmark, and what they used.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Longer than any program takes to listen on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that is ended with this.
#[derive(Debug)]
pub struct Running(pub Child);

impl Running {
    /// Starts it.
    ///
    /// # Panics
    ///
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Running {
        Running(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Processor time of all its threads so far.
    pub fn cpu(&self) -> Duration {
        Group::of([self.id()]).cpu()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes that work together.
#[derive(Debug, Default)]
pub struct Group(BTreeSet<u32>);

impl Group {
    /// These processes.
    pub fn of(pids: impl IntoIterator<Item = u32>) -> Group {
        Group(pids.into_iter().collect())
    }

    /// A process, and all that it started.
    pub fn below(root: u32) -> Group {
        let mut known = BTreeSet::from([root]);
        let pairs: Vec<(u32, u32)> = processes().filter_map(|pid| Some((pid, parent(pid)?))).collect();
        loop {
            let before = known.len();
            known.extend(
                pairs.iter().filter(|pair| known.contains(&pair.1)).map(|pair| pair.0).collect::<Vec<_>>(),
            );
            if known.len() == before {
                return Group(known);
            }
        }
    }

    /// The processes with this text in their arguments, and all that they started.
    pub fn named(text: &str) -> Group {
        let mut known = BTreeSet::new();
        for pid in processes().filter(|pid| *pid != std::process::id()) {
            let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&arguments).contains(text) {
                known.extend(Group::below(pid).0);
            }
        }
        Group(known)
    }

    /// These processes without some others.
    pub fn without(mut self, other: &Group) -> Group {
        self.0.retain(|pid| !other.0.contains(pid));
        self
    }

    /// Processor time of all their threads so far.
    pub fn cpu(&self) -> Duration {
        let tasks = self.0.iter().filter_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).ok());
        let nanoseconds = tasks.flatten().filter_map(|task| {
            let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanoseconds.sum())
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").expect("this is Linux");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may have spaces.
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// A port that was free a moment ago.
///
/// # Panics
///
/// No port is free.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

/// Waits for a server of this machine to listen at a port.
///
/// # Panics
///
/// It does not listen within a minute.
pub fn wait_for(port: u16) {
    let (begin, at) = (Instant::now(), SocketAddr::from(([127, 0, 0, 1], port)));
    while TcpStream::connect(at).is_err() {
        assert!(begin.elapsed() < PATIENCE, "nothing listens at port {port}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a server of this machine answers to a program that wants text.
///
/// # Panics
///
/// It does not answer, or not with text.
pub fn get(address: &str, target: &str) -> String {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--header", "Accept: text/plain"]);
    let answer = curl.arg(format!("http://{address}{target}")).output().expect("curl is there");
    assert!(answer.status.success(), "{address}{target}: {}", String::from_utf8_lossy(&answer.stderr));
    String::from_utf8(answer.stdout).expect("the answer is text")
}
