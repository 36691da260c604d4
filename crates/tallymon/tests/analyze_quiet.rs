//! False alarms: days of a machine on which nothing is wrong, made of noise as real machines have it, with
//! the work that every system does by itself.
//!
//! The noise of processors and disks has the distribution and the memory that `Tx_BasicPerfCounters.blg`, ten
//! minutes of a real machine with four processors, has: the logarithm of the processor time has a standard
//! deviation of 0.67 and is like itself a second later by 0.71, 5 s later by 0.44, 30 s later by 0.15; that
//! of the disk's queue has one of 1.5, and hardly any memory.
//!
//! `TALLYMON_QUIET_DAYS` says how many days are made, each of another seed.
// A test that cannot go on fails, and this whole program is tests.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use tallymon::analyze::{RuleSet, Values, analyze_values};
use tallymon::core::counter::CounterType;
use tallymon::core::flow::NoValue;
use tallymon::core::path::CounterPath;
use tallymon::core::time::{FileTime, Frequency, UNITS_PER_SECOND};
use tallymon::log::Column;

const HOUR: usize = 3600;
const DAY: usize = 24 * HOUR;

/// Numbers that look like chance, the same for a seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform().max(1e-300), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.uniform()
    }
}

/// Noise with a short and a long memory, of variance 1.
#[derive(Default)]
struct Noise {
    short: f64,
    long: f64,
}

impl Noise {
    fn next(&mut self, chance: &mut Chance) -> f64 {
        let step = |before: f64, memory: f64, chance: &mut Chance| {
            memory * before + (1.0 - memory * memory).sqrt() * chance.normal()
        };
        self.short = step(self.short, 0.45, chance);
        self.long = step(self.long, 0.96, chance);
        0.5_f64.sqrt() * (self.short + self.long)
    }
}

/// What one second has of the work that a system does by itself.
#[derive(Default, Clone, Copy)]
struct Work {
    /// Percent of one processor.
    processor: f64,
    transfers: f64,
    network: f64,
    processes: f64,
}

/// Timers of a usual Linux system: cron, anacron, systemd and its services.
fn work(chance: &mut Chance) -> Vec<Work> {
    let mut all = vec![Work::default(); DAY];
    let mut add = |from: usize, seconds: f64, work: Work| {
        for second in all.iter_mut().skip(from).take(seconds as usize) {
            second.processor += work.processor;
            second.transfers += work.transfers;
            second.network += work.network;
            second.processes += work.processes;
        }
    };
    let job = |processor, transfers, network| Work { processor, transfers, network, processes: 3.0 };
    for hour in 0..24 {
        // run-parts of /etc/cron.hourly.
        add(hour * HOUR + 17 * 60 + 1, chance.between(1.0, 4.0), job(chance.between(40.0, 90.0), 15.0, 0.0));
        for tenth in 0..6 {
            // sadc, and a check of the monitoring.
            add(hour * HOUR + tenth * 600 + 1, 1.0, job(25.0, 4.0, 0.0));
        }
        for minute in 0..60 {
            add(hour * HOUR + minute * 60 + 3, 1.0, job(chance.between(2.0, 12.0), 1.0, 3e3));
        }
    }
    // logrotate, man-db and the lists of packages, at times that systemd moves about.
    add(5, chance.between(1.0, 3.0), job(60.0, 60.0, 0.0));
    add(6 * HOUR + 25 * 60, chance.between(15.0, 40.0), job(chance.between(60.0, 98.0), 120.0, 0.0));
    for half in 0..2 {
        let at = half * 12 * HOUR + chance.between(0.0, 12.0 * 3600.0) as usize;
        add(at, chance.between(10.0, 40.0), job(chance.between(50.0, 95.0), 60.0, 1.5e6));
        add(at + 60, chance.between(5.0, 60.0), job(chance.between(70.0, 99.0), 150.0, 1e4));
    }
    // Somebody looks at something: a shell, an editor.
    for _ in 0..6 {
        let at = chance.between(8.0 * 3600.0, 20.0 * 3600.0) as usize;
        add(at, chance.between(1.0, 30.0), job(chance.between(5.0, 60.0), 10.0, 2e4));
    }
    all
}

/// A level that changes now and then by a step, around a middle: connections, processes, handles.
fn steps(chance: &mut Chance, middle: f64, step: f64, each: f64) -> Vec<f64> {
    let mut level = middle;
    let next = |_| {
        if chance.uniform() < 1.0 / each {
            level += step * chance.normal().signum();
            // Who came goes again.
            level += 0.15 * (middle - level);
        }
        level.round().max(0.0)
    };
    (0..DAY).map(next).collect()
}

/// A heap that fills and is collected.
fn heap(chance: &mut Chance, least: f64, most: f64, seconds: f64) -> Vec<f64> {
    let (mut level, mut base) = (least, least);
    let next = |_| {
        level += (most - least) / seconds * chance.between(0.3, 1.7);
        if level > most {
            base = least * chance.between(0.97, 1.03);
            level = base;
        }
        level
    };
    (0..DAY).map(next).collect()
}

type Series = Vec<Result<f64, NoValue>>;

/// The counters of a day, with their values each second.
fn day(seed: u64) -> Vec<(String, Series)> {
    let mut chance = Chance(seed);
    let work = work(&mut chance);
    let mut all: Vec<(String, Series)> = Vec::new();
    let known = |values: Vec<f64>| -> Series { values.into_iter().map(Ok).collect() };
    let logs = |chance: &mut Chance, median: f64, deviation: f64| -> Vec<f64> {
        let mut noise = Noise::default();
        (0..DAY).map(|_| median * (deviation * noise.next(chance)).exp()).collect()
    };
    let mut sum = vec![0.0; DAY];
    for processor in 0..4 {
        let mut one = logs(&mut chance, 3.0, 0.8);
        for ((value, sum), work) in one.iter_mut().zip(&mut sum).zip(&work) {
            // A job has one thread, which moves about.
            let has_job = chance.uniform() < 0.25 || processor == 0 && work.processor > 20.0;
            *value = (*value + if has_job { work.processor } else { 0.0 }).min(100.0);
            *sum += *value / 4.0;
        }
        all.push((format!(r"\Processor({processor})\% Processor Time"), known(one)));
    }
    all.push((r"\Processor(_Total)\% Processor Time".to_owned(), known(sum.clone())));
    let mut push = |path: &str, values: Series| all.push((path.to_owned(), values));
    let queue = (0..DAY).map(|at| (chance.normal().abs() * 0.6 + work[at].processes / 6.0).floor()).collect();
    push(r"\System\Processor Queue Length", known(queue));
    let switches = logs(&mut chance, 900.0, 0.3);
    push(
        r"\System\Context Switches/sec",
        switches.iter().zip(&work).map(|(one, work)| Ok(one + 40.0 * work.processor)).collect(),
    );
    for (path, factor, most) in [
        (r"\Pressure\% Processor Pressure Some", 0.02, 8.0),
        (r"\Pressure\% IO Pressure Some", 0.15, 40.0),
        (r"\Pressure\% Memory Pressure Some", 0.0, 1.0),
    ] {
        let noise = logs(&mut chance, 0.05, 1.2);
        let of = |(noise, work): (&f64, &Work)| {
            Ok((noise + factor * if path.contains("IO") { work.transfers } else { work.processor }).min(most))
        };
        push(path, noise.iter().zip(&work).map(of).collect());
    }
    let web = heap(&mut chance, 2.2e8, 3.4e8, 900.0);
    let agent = heap(&mut chance, 4.0e7, 4.6e7, 4000.0);
    let cached = logs(&mut chance, 60.0, 0.4);
    let available = (0..DAY).map(|at| 9400.0 - (web[at] + agent[at]) / 1e6 - cached[at]).collect();
    push(r"\Memory\Available MBytes", known(available));
    push(r"\Memory\Committed Bytes", (0..DAY).map(|at| Ok(3.1e9 + web[at] + agent[at])).collect());
    let noise = logs(&mut chance, 2.4e8, 0.01);
    push(r"\Memory\Pool Nonpaged Bytes", known(noise));
    let pages = (0..DAY).map(
        |at| if chance.uniform() < 0.05 { chance.between(1.0, 40.0) } else { 0.0 } + work[at].transfers / 3.0,
    );
    push(r"\Memory\Pages/sec", known(pages.collect()));
    push(r"\Memory\Page Reads/sec", (0..DAY).map(|at| Ok(work[at].transfers / 10.0)).collect());
    push(r"\Memory\Pages Output/sec", known(vec![0.0; DAY]));
    disk(&mut push, &mut chance, &work);
    network(&mut push, &mut chance, &work);
    let threads = steps(&mut chance, 260.0, 2.0, 45.0);
    push(r"\System\Threads", (0..DAY).map(|at| Ok(threads[at] + work[at].processes)).collect());
    let processes = steps(&mut chance, 110.0, 1.0, 200.0);
    push(r"\System\Processes", (0..DAY).map(|at| Ok(processes[at] + work[at].processes)).collect());
    let files = steps(&mut chance, 2100.0, 12.0, 20.0);
    push(r"\Kernel Objects\Open Files", known(files));
    for (name, memory, busy) in [
        ("web", web, 1.0),
        ("agent", agent, 0.3),
        ("journald", heap(&mut chance, 2.5e7, 3.5e7, 20_000.0), 0.1),
    ] {
        push(&format!(r"\Process({name})\Private Bytes"), known(memory.clone()));
        push(
            &format!(r"\Process({name})\Working Set"),
            memory.iter().map(|bytes| Ok(bytes * 0.8 + 1e7)).collect(),
        );
        let handles = steps(&mut chance, 180.0, 3.0, 30.0);
        push(&format!(r"\Process({name})\Handle Count"), known(handles));
        let threads = steps(&mut chance, 24.0, 1.0, 120.0);
        push(&format!(r"\Process({name})\Thread Count"), known(threads));
        let time = logs(&mut chance, busy, 0.9);
        push(&format!(r"\Process({name})\% Processor Time"), known(time));
    }
    all
}

/// A disk that writes its journal every five seconds, and else has little to do.
fn disk(push: &mut impl FnMut(&str, Series), chance: &mut Chance, work: &[Work]) {
    let (mut latency, mut transfers, mut bytes) = (Series::new(), Series::new(), Series::new());
    for (at, work) in work.iter().enumerate() {
        let journal = if at % 5 == 0 { chance.between(2.0, 14.0) } else { 0.0 };
        let chatter = if chance.uniform() < 0.1 { chance.between(1.0, 6.0) } else { 0.0 };
        let count = (journal + chatter + work.transfers * chance.between(0.5, 1.5)).round();
        transfers.push(Ok(count));
        bytes.push(Ok(count * 9000.0 * (0.4 * chance.normal()).exp()));
        let median = if work.transfers > 50.0 { 0.004 } else { 0.0008 };
        latency.push(if count > 0.0 {
            Ok(median * (1.0 * chance.normal()).exp())
        } else {
            Err(NoValue::NoOperations)
        });
    }
    push(r"\PhysicalDisk(sda)\Avg. Disk sec/Transfer", latency);
    push(r"\PhysicalDisk(sda)\Disk Transfers/sec", transfers);
    push(r"\PhysicalDisk(sda)\Disk Bytes/sec", bytes);
    // Logs grow by 40 MB a day, and are packed at midnight.
    push(
        r"\LogicalDisk(/)\Free Megabytes",
        (0..DAY).map(|at| Ok((52_000.0 - at as f64 * 40.0 / DAY as f64).floor())).collect(),
    );
    push(r"\LogicalDisk(/)\% Free Space", (0..DAY).map(|_| Ok(61.0)).collect());
}

/// Neighbours that announce themselves, time servers, a monitoring that asks each minute.
fn network(push: &mut impl FnMut(&str, Series), chance: &mut Chance, work: &[Work]) {
    let mut noise = Noise::default();
    let bytes = work.iter().map(|work| Ok(700.0 * (0.9 * noise.next(chance)).exp() + work.network)).collect();
    push(r"\Network Interface(eth0)\Bytes Total/sec", bytes);
    let sent =
        work.iter().map(|work| Ok((chance.normal().abs() * 6.0).floor() + work.network / 1400.0)).collect();
    push(r"\TCPv4\Segments Sent/sec", sent);
    let again = work.iter().map(|work| {
        let is_lost = chance.uniform() < if work.network > 1e5 { 0.1 } else { 0.002 };
        Ok(if is_lost { chance.between(1.0, 4.0).floor() } else { 0.0 })
    });
    push(r"\TCPv4\Segments Retransmitted/sec", again.collect());
    let connections = steps(chance, 7.0, 1.0, 90.0).into_iter().map(Ok).collect();
    push(r"\TCPv4\Connections Established", connections);
}

fn column(path: &str) -> Column {
    let path = format!(r"\\box{path}");
    Column {
        parts: CounterPath::parse(&path).ok().map(|parsed| parsed.path),
        path,
        counter_type: CounterType::PERF_DOUBLE_RAW,
        scale: 0,
        time_base: Frequency(0),
        group: 0,
        wild: false,
        live: None,
    }
}

/// The titles of the findings in some seconds of a day.
fn findings(day: &[(String, Series)], columns: &[Column], seconds: std::ops::Range<usize>) -> Vec<String> {
    let start = 134_000_000_000_000_000_u64;
    let time = |second: usize| (FileTime(start + second as u64 * UNITS_PER_SECOND), 0);
    let times: Vec<(FileTime, i32)> = seconds.clone().map(time).collect();
    let value = |row: usize, column: usize| day[column].1[seconds.start + row];
    let mut rules = RuleSet::built_in().unwrap();
    rules.set("memory_mb", 16_384.0).unwrap();
    let of = Values { columns, times: &times, value: &value };
    let found = analyze_values(&of, rules, || true).unwrap();
    assert_eq!(found.records as usize, seconds.len());
    found.findings.into_iter().map(|finding| finding.title).collect()
}

#[test]
fn days_on_which_nothing_is_wrong_have_few_findings() {
    let days = std::env::var("TALLYMON_QUIET_DAYS").ok().and_then(|days| days.parse().ok()).unwrap_or(1);
    let (mut of_hours, mut of_days) = (BTreeMap::<String, u32>::new(), BTreeMap::<String, u32>::new());
    let mut counters = 0;
    for seed in 1..=days {
        let day = day(seed);
        let columns: Vec<Column> = day.iter().map(|(path, _)| column(path)).collect();
        counters = columns.len();
        for hour in 0..24 {
            for title in findings(&day, &columns, hour * HOUR..(hour + 1) * HOUR) {
                *of_hours.entry(title).or_default() += 1;
            }
        }
        for title in findings(&day, &columns, 0..DAY) {
            *of_days.entry(title).or_default() += 1;
        }
    }
    let (hours, whole) = (of_hours.values().sum::<u32>(), of_days.values().sum::<u32>());
    let hour = f64::from(hours) / (days as f64 * 24.0);
    println!("{days} days of {counters} counters: {hours} findings in single hours: {of_hours:#?}");
    println!("{hour:.4} an hour, {:.6} an hour and counter", hour / counters as f64);
    println!("{whole} findings in whole days: {of_days:#?}");
    // One false alarm at most in two days of hours that are looked through one by one.
    assert!(hour <= 1.0 / 48.0, "{hours} findings in {days} days of single hours: {of_hours:#?}");
    assert!(f64::from(whole) <= 0.5 * days as f64, "{of_days:#?}");
}
