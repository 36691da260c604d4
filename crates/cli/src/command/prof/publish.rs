//! `tally prof publish`: publishes the calls of a profiled program as counters.
//!
//! This process publishes, not the profiled program: the library in that program has no dependencies, creates
//! only its profile file, and never waits for a reader. The counters are raw totals, so nothing is lost
//! between two updates.

use std::collections::HashMap;
use std::time::Duration;

use tallymon_clr::reader::{MethodTotal, Profile};
use tallymon_clr::settings::Filter;
use tallymon_provider::CounterType;
use tallymon_provider::shm::{CounterSet, Group, NewInstance, PublishError, Publisher};

use super::arguments::ProfPublish;
use super::locate;
use crate::exit::{Failure, Kind};
use crate::stop::{Stop, Ticks};
use crate::words::say;

const METHODS: &str = ".NET Methods";
const PROFILER: &str = ".NET Profiler";

/// Time between two updates of the counters.
pub(super) const PERIOD: Duration = Duration::from_millis(500);

/// Instances to keep when the busiest methods change, as a multiple of the requested number of methods.
const KEPT: usize = 4;

pub(super) fn run(arguments: &ProfPublish) -> Result<(), Failure> {
    let file = locate::find(arguments.program.as_deref())?;
    let profile = locate::open(&file)?;
    let filter = Filter { include: arguments.include.clone(), exclude: arguments.exclude.clone() };
    let mut live = Live::start(&profile, filter, arguments.methods)?;
    say(format_args!(
        "publishing process {}; try 'tally watch \"\\.NET Methods(*)\\Calls/sec\"'",
        profile.pid
    ));
    let stop = Stop::on_signals()?;
    let mut ticks = Ticks::start(PERIOD);
    loop {
        let profile = locate::open(&file)?;
        live.update(&profile)?;
        if !locate::is_running(&profile) || !stop.wait_until(ticks.next()) {
            return Ok(());
        }
    }
}

/// A profile as published counters.
pub(super) struct Live {
    publisher: Publisher,
    process: PublishedInstance,
    /// By method number.
    methods: HashMap<u32, PublishedMethod>,
    filter: Filter,
    /// How many of the busiest methods each update publishes.
    busiest: usize,
}

/// A published instance and its numbers. The group writes the numbers; dropping the instance removes them.
struct PublishedInstance {
    instance: tallymon_provider::shm::Instance,
    group: Group,
}

/// A published method and its last numbers.
struct PublishedMethod {
    row: PublishedInstance,
    last: [u64; 9],
}

impl Live {
    /// Publishes a process; its methods follow with the first update.
    pub(super) fn start(profile: &Profile, filter: Filter, busiest: usize) -> Result<Live, Failure> {
        let publisher = Publisher::start("tally-prof", &sets()).map_err(failure)?;
        let name = process_name(&profile.command);
        let id = i32::try_from(profile.pid).ok();
        let process = PublishedInstance::new(
            &publisher,
            PROFILER,
            "Calls/sec",
            &NewInstance { name: &name, id, parent: None },
        )?;
        Ok(Live { publisher, process, methods: HashMap::new(), filter, busiest })
    }

    /// Updates all counters, and publishes methods that became busy.
    pub(super) fn update(&mut self, profile: &Profile) -> Result<(), Failure> {
        let totals = profile.method_totals();
        let sum = |field: fn(&tallymon_clr::reader::Thread) -> u64| {
            profile.threads.iter().map(field).fold(0, u64::saturating_add)
        };
        let live = profile.threads.iter().filter(|thread| !thread.ended).count();
        self.process.set(&[
            profile.enters(),
            sum(|thread| thread.exceptions),
            profile.overhead() / 100,
            sum(|thread| thread.lost_calls.saturating_add(thread.lost_nodes)),
            sum(|thread| thread.lost_events),
            live as u64,
            totals.len() as u64,
            u64::from(profile.hooks_on),
        ]);
        let most = self.busiest.saturating_mul(KEPT);
        let mut shown = 0;
        // The methods with the most time of their own come first.
        for total in &totals {
            let Some(method) = profile.methods.get(total.method) else { continue };
            if !self.filter.takes(&method.raw, true) {
                continue;
            }
            shown += 1;
            if !self.methods.contains_key(&method.number) {
                if shown > self.busiest || self.methods.len() >= most {
                    continue;
                }
                let name = instance_name(&method.name);
                let new = NewInstance { name: &name, id: None, parent: Some(&self.process.instance) };
                let row = PublishedInstance::new(&self.publisher, METHODS, "Calls/sec", &new)?;
                self.methods.insert(method.number, PublishedMethod { row, last: [0; 9] });
            }
            if let Some(row) = self.methods.get_mut(&method.number) {
                row.set(numbers(total));
            }
        }
        Ok(())
    }
}

impl PublishedInstance {
    fn new(
        publisher: &Publisher,
        set: &str,
        counter: &str,
        new: &NewInstance<'_>,
    ) -> Result<PublishedInstance, Failure> {
        let instance = publisher.instance(set, new).map_err(failure)?;
        let group = instance.group(counter).map_err(failure)?;
        Ok(PublishedInstance { instance, group })
    }

    /// Sets all numbers, in the order in which the counters are declared.
    fn set(&mut self, values: &[u64]) {
        self.group.update(|numbers| {
            for (position, value) in values.iter().enumerate() {
                numbers.set(position, *value);
            }
        });
    }
}

impl PublishedMethod {
    /// Sets all numbers. All but the last, the open calls, never decrease.
    ///
    /// The profiler subtracts its own cost from times, more with each call, so the time of a method that does
    /// little but call others may decrease. Readers would take a decrease for a restart of the counter.
    fn set(&mut self, now: [u64; 9]) {
        let [.., open] = now;
        for (last, now) in self.last.iter_mut().zip(now) {
            *last = now.max(*last);
        }
        let [.., last] = &mut self.last;
        *last = open;
        self.row.set(&self.last);
    }
}

/// The counters of a method, in the order in which they are declared. Times are in units of 100 ns but for
/// one average.
fn numbers(total: &MethodTotal) -> [u64; 9] {
    // The average covers ended calls only: an open call has a time, but does not count as ended.
    let (ended_total, ended) = (total.ended_total / 100, total.ended);
    let (own, all, nanoseconds) = (total.own / 100, total.total / 100, total.ended_total);
    [total.enters, ended_total, ended, own, all, total.exceptions, nanoseconds, ended, total.open]
}

/// The published counter sets. Readers show these names and help texts.
fn sets() -> [CounterSet; 2] {
    let methods = CounterSet::new(METHODS)
        .help("Methods of profiled .NET programs: those that take the most time, or those that were named.")
        .instances_about(64)
        .together(|set| {
            set.counter("Calls/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Calls begun per second. Calls that the compiler inlined are not counted.")
                .first_shown()
                .average_time("Average Call Time")
                .help("Average time of a call in seconds, including callees.")
                .counter("% Time", CounterType::PERF_100NSEC_TIMER)
                .help("Percentage of time in the method, without callees; above 100 with several threads.")
                .counter("% Time with Callees", CounterType::PERF_100NSEC_TIMER)
                .help("Percentage of time in calls of the method; above 100 with several threads.")
                .counter("Exceptions/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Exceptions per second that were thrown while the method was the innermost call.")
                .average("Average Call Nanoseconds")
                .help("Average time of a call in nanoseconds, including callees.")
                .counter("Active Calls", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .help("Call paths in which the method runs now, in all threads.")
        });
    let profiler = CounterSet::new(PROFILER)
        .help("The profiler in .NET programs: calls recorded, its own cost, and losses.")
        .instances_about(8)
        .together(|set| {
            set.counter("Calls/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Recorded calls per second, of all methods.")
                .first_shown()
                .counter("Exceptions/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Exceptions thrown per second.")
                .counter("% Profiler Time", CounterType::PERF_100NSEC_TIMER)
                .help("The profiler's own work, by its cost at the start, in percent of one processor.")
                .counter("Lost Calls/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Calls lost per second, because they were too deep or the profile was full.")
                .counter("Lost Events/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Time line events per second that newer events overwrote.")
                .counter("Threads", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .help("Threads that were recorded and have not ended.")
                .counter("Methods", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .help("Methods that were called.")
                .counter("Hooks On", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .help("1 while calls are recorded, 0 while the profiler is dormant.")
        });
    [methods, profiler]
}

/// The name of a process: its assembly, or its program.
fn process_name(command: &str) -> String {
    let words = || command.split_whitespace();
    let assembly = words().find(|word| word.ends_with(".dll") || word.ends_with(".exe"));
    let word = assembly.or_else(|| words().next()).unwrap_or("dotnet");
    instance_name(word.rsplit('/').next().unwrap_or(word))
}

/// Replaces the characters that have a meaning in counter paths, as .NET's own counters do, and limits the
/// length to that of an instance name.
fn instance_name(name: &str) -> String {
    let changed = name.chars().map(|c| match c {
        '(' => '[',
        ')' => ']',
        '/' | '\\' | '#' => '_',
        c if c.is_control() => ' ',
        c => c,
    });
    let mut text: String = changed.collect();
    text.truncate(text.floor_char_boundary(200));
    text
}

fn failure(error: PublishError) -> Failure {
    Failure::new(Kind::Other, format_args!("publishing: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]
    use super::*;

    #[test]
    fn instance_names_are_valid_in_paths() {
        assert_eq!(instance_name("N.C.Run(int, A/B)"), "N.C.Run[int, A_B]");
        assert_eq!(instance_name(&"é".repeat(300)).len(), 200);
        assert_eq!(process_name("/usr/bin/dotnet exec /app/shop.dll 3"), "shop.dll");
        assert_eq!(process_name("/opt/app/azmcp --help"), "azmcp");
        assert_eq!(process_name(""), "dotnet");
    }

    #[test]
    fn method_has_one_number_for_each_counter() {
        for set in sets() {
            set.check().unwrap();
        }
        let total = MethodTotal {
            enters: 5,
            ended: 4,
            total: 1000,
            ended_total: 800,
            own: 300,
            exceptions: 2,
            open: 1,
            ..Default::default()
        };
        assert_eq!(numbers(&total), [5, 8, 4, 3, 10, 2, 800, 4, 1]);
    }
}
