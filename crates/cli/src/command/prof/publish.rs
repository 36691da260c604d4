//! `tally prof publish`: what a profiled program calls, as counters that every reader sees.
//!
//! The reader's side publishes, not the profiled program: the library in that program has no dependencies, makes no file but
//! its own, and goes on when a reader is slow. Raw totals are published, so that nothing is lost between two updates.

use std::collections::HashMap;
use std::time::Duration;

use tallymon_clr::reader::{MethodTotal, Profile};
use tallymon_clr::settings::Filter;
use tallymon_provider::CounterType;
use tallymon_provider::shm::{CounterSet, Group, NewInstance, PublishError, Publisher};

use super::arguments::ProfPublish;
use super::place;
use crate::exit::{Failure, Kind};
use crate::stop::{Stop, Ticks};

const METHODS: &str = ".NET Methods";
const PROFILER: &str = ".NET Profiler";

/// How often the counters are brought up to date.
pub(super) const PERIOD: Duration = Duration::from_millis(500);

/// Instances that are kept when the busiest methods change, for each method that is asked for.
const KEPT: usize = 4;

pub(super) fn run(arguments: &ProfPublish) -> Result<(), Failure> {
    let file = place::find(arguments.program.as_deref())?;
    let profile = place::open(&file)?;
    let filter = Filter { include: arguments.include.clone(), exclude: arguments.exclude.clone() };
    let mut live = Live::start(&profile, filter, arguments.methods)?;
    eprintln!(
        "tally: process {} is published; try 'tally watch \"\\.NET Methods(*)\\Calls/sec\"'",
        profile.pid
    );
    let stop = Stop::on_signals()?;
    let mut ticks = Ticks::start(PERIOD);
    loop {
        let profile = place::open(&file)?;
        live.update(&profile)?;
        if !place::is_running(&profile) || !stop.wait_until(ticks.next()) {
            return Ok(());
        }
    }
}

/// A profile as published counters.
pub(super) struct Live {
    publisher: Publisher,
    process: Row,
    /// By the number of the method.
    methods: HashMap<u32, MethodRow>,
    filter: Filter,
    /// Methods that get in at an update.
    busiest: usize,
}

/// An instance and its numbers. The numbers are written through the group, the instance keeps them visible.
struct Row {
    instance: tallymon_provider::shm::Instance,
    group: Group,
}

/// A method, with what was set last.
struct MethodRow {
    row: Row,
    last: [u64; 7],
}

impl Live {
    /// Publishes a process; its methods follow with the first update.
    pub(super) fn start(profile: &Profile, filter: Filter, busiest: usize) -> Result<Live, Failure> {
        let publisher = Publisher::start("tally-prof", &sets()).map_err(failure)?;
        let name = process_name(&profile.command);
        let id = i32::try_from(profile.pid).ok();
        let process =
            Row::new(&publisher, PROFILER, "Calls/sec", &NewInstance { name: &name, id, parent: None })?;
        Ok(Live { publisher, process, methods: HashMap::new(), filter, busiest })
    }

    /// Brings all counters up to date, and publishes methods that became busy.
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
        // They come with the one that has the most time of its own first.
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
                let row = Row::new(&self.publisher, METHODS, "Calls/sec", &new)?;
                self.methods.insert(method.number, MethodRow { row, last: [0; 7] });
            }
            if let Some(row) = self.methods.get_mut(&method.number) {
                row.set(numbers(total));
            }
        }
        Ok(())
    }
}

impl Row {
    fn new(publisher: &Publisher, set: &str, counter: &str, new: &NewInstance<'_>) -> Result<Row, Failure> {
        let instance = publisher.instance(set, new).map_err(failure)?;
        let group = instance.group(counter).map_err(failure)?;
        Ok(Row { instance, group })
    }

    /// Sets all numbers, in the order of their declaration.
    fn set(&mut self, values: &[u64]) {
        self.group.update(|numbers| {
            for (position, value) in values.iter().enumerate() {
                numbers.set(position, *value);
            }
        });
    }
}

impl MethodRow {
    /// Sets all numbers, none of which goes back but the last, the calls that are open.
    ///
    /// What the profiler itself takes is subtracted from times, more with each call, so that the time of a method that
    /// does next to nothing but call others may become less. Readers take a number that falls for one that began anew.
    fn set(&mut self, now: [u64; 7]) {
        let [.., open] = now;
        for (last, now) in self.last.iter_mut().zip(now) {
            *last = now.max(*last);
        }
        let [.., last] = &mut self.last;
        *last = open;
        self.row.set(&self.last);
    }
}

/// The counters of a method, in the order of their declaration. Times are in units of 100 ns.
fn numbers(total: &MethodTotal) -> [u64; 7] {
    // An open call has time, but no end that it could be divided by, so the average is that of the ended ones.
    let (ended_total, ended) = (total.ended_total / 100, total.ended);
    [total.enters, ended_total, ended, total.own / 100, total.total / 100, total.exceptions, total.open]
}

/// What is published; names and help are those that readers show.
fn sets() -> [CounterSet; 2] {
    let methods = CounterSet::new(METHODS)
        .help("Methods of profiled .NET programs, those that take the most time or are named.")
        .instances_about(64)
        .together(|set| {
            set.counter("Calls/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Calls that began, a second. A call that the compiler inlined is not counted.")
                .first_shown()
                .average_time("Average Call Time")
                .help("Time that a call takes on average, callees included, in seconds.")
                .counter("% Time", CounterType::PERF_100NSEC_TIMER)
                .help("Part of the time in which the method runs, callees left out; of several threads more than 100.")
                .counter("% Time with Callees", CounterType::PERF_100NSEC_TIMER)
                .help("Part of the time in which a call of the method is open; of several threads more than 100.")
                .counter("Exceptions/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Exceptions thrown while the method was the innermost call, a second.")
                .counter("Active Calls", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .help("Paths of calls on which the method runs now, in all threads.")
        });
    let profiler = CounterSet::new(PROFILER)
        .help("The profiler in .NET programs: what it sees, what it costs, and what it lost.")
        .instances_about(8)
        .together(|set| {
            set.counter("Calls/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Calls of all methods that are seen, a second.")
                .first_shown()
                .counter("Exceptions/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Exceptions thrown, a second.")
                .counter("% Profiler Time", CounterType::PERF_100NSEC_TIMER)
                .help("The profiler's own work as measured at its start, as a part of the time of one processor.")
                .counter("Lost Calls/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Calls that were too deep or found no room, a second.")
                .counter("Lost Events/sec", CounterType::PERF_COUNTER_BULK_COUNT)
                .help("Events of time lines that newer ones took the place of, a second.")
                .counter("Threads", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .help("Threads that were seen and have not ended.")
                .counter("Methods", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .help("Methods that were called.")
                .counter("Hooks On", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .help("1 while calls are seen, 0 while the program is dormant.")
        });
    [methods, profiler]
}

/// The name of a process: that of the assembly it runs, or of its program.
fn process_name(command: &str) -> String {
    let words = || command.split_whitespace();
    let assembly = words().find(|word| word.ends_with(".dll") || word.ends_with(".exe"));
    let word = assembly.or_else(|| words().next()).unwrap_or("dotnet");
    instance_name(word.rsplit('/').next().unwrap_or(word))
}

/// A name without the characters that mean something in a counter's path, as .NET's own counters change them; cut to what
/// an instance's name may be long.
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
    fn names_fit_into_paths() {
        assert_eq!(instance_name("N.C.Run(int, A/B)"), "N.C.Run[int, A_B]");
        assert_eq!(instance_name(&"é".repeat(300)).len(), 200);
        assert_eq!(process_name("/usr/bin/dotnet exec /app/shop.dll 3"), "shop.dll");
        assert_eq!(process_name("/opt/app/azmcp --help"), "azmcp");
        assert_eq!(process_name(""), "dotnet");
    }

    #[test]
    fn the_numbers_of_a_method_are_as_many_as_its_counters() {
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
        assert_eq!(numbers(&total), [5, 8, 4, 3, 10, 2, 1]);
    }
}
