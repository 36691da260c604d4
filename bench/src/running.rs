//! Programs that end with the benchmark, and what they used.

use std::collections::BTreeSet;
use std::process::{Child, Command};
use std::time::Duration;

/// A program that is ended with this.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        Running(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
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
pub(crate) struct Group(BTreeSet<u32>);

impl Group {
    /// A process, and all that it started.
    pub(crate) fn below(root: u32) -> Group {
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
    pub(crate) fn named(text: &str) -> Group {
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
    pub(crate) fn without(mut self, other: &Group) -> Group {
        self.0.retain(|pid| !other.0.contains(pid));
        self
    }

    /// Processor time of all their threads so far.
    pub(crate) fn cpu(&self) -> Duration {
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

/// The median and the mean of some times, in microseconds.
pub(crate) fn mean(times: Vec<Duration>) -> String {
    let mean = times.iter().sum::<Duration>().checked_div(times.len() as u32).unwrap_or_default();
    let middle = middle(times);
    match middle.split_once(' ') {
        Some((median, _)) => format!("{median} ({:.0})", 1e6 * mean.as_secs_f64()),
        None => middle,
    }
}

/// The median and the best of some times, in microseconds.
pub(crate) fn middle(mut times: Vec<Duration>) -> String {
    times.sort();
    match (times.get(times.len() / 2), times.first()) {
        (Some(median), Some(best)) => {
            format!("{:.0} ({:.0})", 1e6 * median.as_secs_f64(), 1e6 * best.as_secs_f64())
        }
        _ => "-".to_string(),
    }
}
