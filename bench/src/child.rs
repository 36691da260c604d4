//! Runs a command, and measures what it used.

use std::process::Command;
use std::time::{Duration, Instant};

/// What a command used.
#[derive(Debug, Clone, Copy)]
pub struct Used {
    /// From its start to its end.
    pub seconds: f64,
    /// CPU time of user and kernel, its children included.
    pub cpu: f64,
    /// The most memory, in MB.
    pub megabytes: f64,
}

/// CPU time of all ended children of this process.
fn children() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may have spaces.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(13)? + ticks(14)?) / rustix::param::clock_ticks_per_second() as f64)
}

/// Runs a command to its end.
///
/// # Panics
///
/// The command cannot be started, or fails.
pub fn run(command: &mut Command) -> Used {
    let (before, start) = (children().unwrap_or(0.0), Instant::now());
    let mut child = command.spawn().expect("the program is there");
    let status = format!("/proc/{}/status", child.id());
    let mut largest = 0.0_f64;
    let ended = loop {
        if let Some(ended) = child.try_wait().expect("it can be waited for") {
            break ended;
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        largest = largest.max(kilobytes.unwrap_or(0.0) / 1e3);
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(ended.success(), "{command:?} ended with {ended}");
    Used {
        seconds: start.elapsed().as_secs_f64(),
        cpu: children().unwrap_or(0.0) - before,
        megabytes: largest,
    }
}
