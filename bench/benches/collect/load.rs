//! The load of the machine: idle processes, and one process with idle threads.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use tallymon_bench::idle::Idle;

/// One process with `n` sleeping threads. It runs this program, see [`sleep_in_threads`].
pub(crate) fn threads(n: usize) -> Idle {
    let own = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(own);
    let mut child = command
        .args([THREADS, &n.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts");
    // The process writes a byte once all threads exist.
    let mut byte = [0];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut byte).expect("all threads start");
    Idle::one(child)
}

/// The argument that makes this program a process with idle threads.
pub(crate) const THREADS: &str = "--threads";

/// Starts `n` threads, reports it with a byte, and sleeps until it is killed.
pub(crate) fn sleep_in_threads(n: usize) {
    for _ in 1..n {
        let thread = thread::Builder::new().stack_size(64 << 10);
        thread.spawn(|| thread::sleep(Duration::from_secs(3600))).expect("a thread starts");
    }
    println!();
    thread::sleep(Duration::from_secs(3600));
}
