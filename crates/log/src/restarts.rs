//! Finds restarts of hosts: a single counter that goes backwards belongs to another instance now, but if most
//! counters of a host do, the host was restarted.

use std::collections::HashMap;

use tallymon_core::counter::{CounterType, Denominator};
use tallymon_core::flow::Sample;
use tallymon_core::path::CounterPath;
use tallymon_core::time::FileTime;

use crate::error::Notes;
use crate::info::host_of;
use crate::reader::{Column, Record};

/// The restarts of all hosts of a log.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    /// The last good sample of each column, which may be many records old: a host that restarts does not
    /// answer for a while.
    last: Vec<Option<Sample>>,
    /// The host of each column, as a position in `hosts`; `None` if the column says nothing about restarts.
    host: Vec<Option<usize>>,
    hosts: Vec<Host>,
    by_name: HashMap<String, usize>,
    /// The last good samples of logs that have ended, by the paths of their columns.
    before: HashMap<String, Sample>,
}

#[derive(Debug)]
struct Host {
    /// The counters that moved in the current record.
    long: Moved,
    /// Those of 32 bits, which wrap. They count only if no others moved.
    short: Moved,
    restarts: Vec<FileTime>,
}

/// How many counters went back, and how many forward.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    back: u64,
    forth: u64,
}

impl Host {
    fn has_restarted(&self) -> bool {
        let Moved { back, forth } =
            if self.long.back > 0 || self.long.forth > 0 { self.long } else { self.short };
        back > forth
    }
}

impl Restarts {
    /// Takes the next record.
    pub(crate) fn record(&mut self, record: &Record, columns: &[Column]) {
        for column in columns.iter().skip(self.last.len()) {
            self.last.push(self.before.remove(&column.path));
        }
        for column in columns.iter().skip(self.host.len()) {
            let host = is_of_host(column).then(|| self.host_at(host_of(column)));
            self.host.push(host);
        }
        for host in &mut self.hosts {
            (host.long, host.short) = (Moved::default(), Moved::default());
        }
        for ((cell, last), host) in record.cells.iter().zip(&mut self.last).zip(&self.host) {
            let (Ok(sample), Some(host)) = (cell, host.and_then(|host| self.hosts.get_mut(host))) else {
                continue;
            };
            let is_short = sample.counter_type.default_size() == Some(4);
            let moved = if is_short { &mut host.short } else { &mut host.long };
            // The log before may have had another type.
            let before = last.replace(*sample).filter(|last| last.counter_type == sample.counter_type);
            match before.map(|last| direction(&last, sample)) {
                Some(Direction::Back) => moved.back = moved.back.saturating_add(1),
                Some(Direction::Forth) => moved.forth = moved.forth.saturating_add(1),
                Some(Direction::Same) | None => {}
            }
        }
        for host in self.hosts.iter_mut().filter(|host| host.has_restarted()) {
            if host.restarts.len() < Notes::MOST {
                host.restarts.push(record.time);
            }
        }
    }

    /// A log with these columns has ended: the records that follow are of another one, with its own columns.
    pub(crate) fn end_log(&mut self, columns: &[Column]) {
        let known = columns.iter().zip(self.last.drain(..));
        self.before.extend(known.filter_map(|(column, last)| Some((column.path.clone(), last?))));
        self.host.clear();
    }

    fn host_at(&mut self, name: &str) -> usize {
        if let Some(at) = self.by_name.get(name) {
            return *at;
        }
        let none = Moved::default();
        self.hosts.push(Host { long: none, short: none, restarts: Vec::new() });
        let at = self.hosts.len().saturating_sub(1);
        self.by_name.insert(name.to_owned(), at);
        at
    }

    /// The times of the first records after the restarts of a host.
    pub(crate) fn of(&self, host: &str) -> &[FileTime] {
        let host = self.by_name.get(host).and_then(|at| self.hosts.get(*at));
        host.map_or(&[], |host| host.restarts.as_slice())
    }
}

enum Direction {
    Back,
    Forth,
    Same,
}

/// Whether a column counts something of the host as long as it runs. Processes and threads come and go, and
/// another one takes the name.
fn is_of_host(column: &Column) -> bool {
    let is_transient = |parts: &CounterPath| {
        let object = parts.object.to_string();
        ["Process", "Thread", "Process V2", "230", "232"].iter().any(|name| object.eq_ignore_ascii_case(name))
    };
    let goes_on = column.counter_type.needs_two_samples() || is_up_time(column);
    goes_on && !column.parts.as_ref().is_some_and(is_transient)
}

/// Whether a column is the time since the system started.
fn is_up_time(column: &Column) -> bool {
    column.parts.as_ref().is_some_and(|parts| {
        let (object, counter) = (parts.object.to_string(), parts.counter.to_string());
        let is = |text: &str, names: [&str; 2]| names.iter().any(|name| text.eq_ignore_ascii_case(name));
        is(&object, ["System", "2"]) && is(&counter, ["System Up Time", "674"])
    })
}

fn direction(last: &Sample, sample: &Sample) -> Direction {
    let counter_type = sample.counter_type;
    if counter_type == CounterType::PERF_DOUBLE_RAW {
        // A computed time since the start.
        return ordered(f64::from_bits(last.first), f64::from_bits(sample.first));
    }
    if !counter_type.needs_two_samples() {
        // The start time of the system.
        return match ordered(last.first, sample.first) {
            Direction::Forth => Direction::Back,
            _ => Direction::Same,
        };
    }
    // A clock that counts from the start is the best sign, because counts may be larger after a while.
    if counter_type.denominator() == Denominator::PerfTime && sample.second < last.second {
        return Direction::Back;
    }
    // A count of 32 bits that falls far may have wrapped, or not: that says nothing.
    let fell = last.first.saturating_sub(sample.first);
    let may_wrap = counter_type.default_size() == Some(4) && fell > 1 << 31;
    if may_wrap { Direction::Same } else { ordered(last.first, sample.first) }
}

fn ordered<T: PartialOrd>(last: T, next: T) -> Direction {
    match last.partial_cmp(&next) {
        Some(std::cmp::Ordering::Greater) => Direction::Back,
        Some(std::cmp::Ordering::Less) => Direction::Forth,
        _ => Direction::Same,
    }
}
