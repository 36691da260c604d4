//! All tiers give the same values: a BPF pass between two samples of the files.

use crate::kernel::number_folder::NumberFolder;
use crate::kernel::proc::SystemFacts;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tallymon_provider::FileTime;
use tallymon_provider::Tier;
use tallymon_provider::TierChoice;

use tallymon_testkit::Ends;

use super::*;
use crate::kernel::bpf::tasks::{Tasks, WalkMode};
use crate::kernel::clock::process_cpu_time;
use crate::kernel::proc::nanoseconds_to_100ns;
use crate::kernel::reusable_file::Buffer;
use crate::kernel::time::{boot_time, clocks};
use crate::sources::lazy_backend::LazyBackend;
use crate::test_support::{run_in_namespaces, test_name};

/// All values of every process and thread.
pub(crate) const WANTS: ProcessNeeds = ProcessNeeds {
    cpu: true,
    stat: true,
    statm: true,
    io: true,
    status: true,
    handles: true,
    threads: Some(ThreadNeeds { cpu: true, stat: true, switches: true }),
};

pub(super) fn facts() -> SystemFacts {
    SystemFacts {
        page_size: u64::try_from(rustix::param::page_size()).unwrap(),
        ticks_per_second: rustix::param::clock_ticks_per_second(),
        boot_time: boot_time(),
        cpu_count: thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap()),
    }
}

pub(super) fn table(choice: TierChoice) -> ProcessTable {
    ProcessTable::new(NumberFolder::open(Path::new("/proc")).unwrap(), true).with_tier(choice)
}

/// A table with a BPF pass; `None`, listed as a skip, where the kernel refuses the program.
pub(crate) fn bpf_table() -> Option<ProcessTable> {
    let mut table = table(TierChoice::Auto);
    if let Some(refusal) = table.refusal() {
        refusal.skip_test();
        return None;
    }
    Some(table)
}

pub(crate) fn refresh(table: &mut ProcessTable, wants: ProcessNeeds) {
    table.begin(wants);
    table.refresh(&facts(), clocks().steady, &mut Buffer::new()).unwrap();
}

fn row<'t>(table: &'t ProcessTable, other: &ProcessRow) -> Option<&'t ProcessRow> {
    let row = table.rows.binary_search_by_key(&other.pid, |row| row.pid).ok()?;
    table.rows.get(row).filter(|row| row.start == other.start)
}

/// Stops the sampling threads, also when a test fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Pages that Linux may count per CPU before adding them up, times the kinds of pages.
fn slack(facts: &SystemFacts) -> u64 {
    let processors = u64::from(facts.cpu_count);
    facts.pages_to_bytes(processors.saturating_mul(processors.saturating_mul(2).max(32)).saturating_mul(3))
}

fn all_between(
    what: &str,
    row: &ProcessRow,
    low: Available<u64>,
    value: Available<u64>,
    high: Available<u64>,
) {
    if let (Ok(low), Ok(high)) = (low, high) {
        between(what, row, low, value.unwrap(), high);
    }
}

fn between(what: &str, row: &ProcessRow, low: u64, value: u64, high: u64) {
    assert!(low <= value && value <= high, "{what} of {} {}: {low:?} {value:?} {high:?}", row.pid, row.name);
}

#[test]
fn bpf_and_files_agree_while_processes_run() {
    let Some(mut at_once) = bpf_table() else { return };
    let _busy = Ends::start("while :; do :; done");
    let _forks = Ends::start("while :; do /bin/true; done");
    let _renames = Ends::start("sleep 0.05; exec sleep 60");
    let _writes = Ends::start("while :; do echo; done");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let _stops = Stops(&stop);
        let (mut before, mut after) = (table(TierChoice::Only(Tier::T0)), table(TierChoice::Only(Tier::T0)));
        let mut compared = 0;
        let start = Instant::now();
        let mut rounds = 0;
        while rounds < 5 || start.elapsed() < Duration::from_millis(300) {
            rounds += 1;
            refresh(&mut before, WANTS);
            refresh(&mut at_once, WANTS);
            refresh(&mut after, WANTS);
            for between in &at_once.rows {
                if let (Some(low), Some(high)) = (row(&before, between), row(&after, between)) {
                    compare(low, between, high);
                    compared += 1;
                }
            }
            // A process that existed before and after existed in between.
            for low in &before.rows {
                if row(&after, low).is_some() {
                    assert!(row(&at_once, low).is_some(), "{} {} is missing", low.pid, low.name);
                }
            }
        }
        assert!(compared > rounds * 5, "only {compared} rows in {rounds} rounds");
    });
}

fn compare(low: &ProcessRow, found: &ProcessRow, high: &ProcessRow) {
    let facts = facts();
    all_between("CPU time", found, low.values.cpu, found.values.cpu, high.values.cpu);
    // The kernel prints longer names of its threads than the task holds; they are not shown.
    if low.name == high.name && !low.is_kernel_thread {
        assert_eq!(found.name, low.name);
    }
    assert_eq!(found.is_kernel_thread, low.is_kernel_thread);
    let tick = facts.ticks_to_100ns(1);
    // Sizes may grow and shrink between two samples, but not while the process does not run.
    let has_run = low.values.cpu != high.values.cpu;
    if let (Ok(low), Ok(stat), Ok(high)) = (low.values.stat, found.values.stat, high.values.stat) {
        between("faults", found, low.faults, stat.faults, high.faults);
        // The files round each part down to a tick, and the clock of a running process is slightly ahead.
        let sum = |part: StatValues| part.user + part.privileged;
        between("user and privileged time", found, sum(low), sum(stat), sum(high) + 3 * tick);
        // A thread may have come and gone in between, but not in a process that has not run.
        if !has_run && (low.threads, low.priority, low.parent) == (high.threads, high.priority, high.parent) {
            assert_eq!((stat.threads, stat.priority, stat.parent), (low.threads, low.priority, low.parent));
        }
    }
    if let (Ok(low), Ok(io), Ok(high)) = (low.values.io, found.values.io, high.values.io) {
        between("reads", found, low.read_operations, io.read_operations, high.read_operations);
        between("bytes read", found, low.read_bytes, io.read_bytes, high.read_bytes);
        between("writes", found, low.write_operations, io.write_operations, high.write_operations);
        between("bytes written", found, low.write_bytes, io.write_bytes, high.write_bytes);
    }
    let slack = slack(&facts);
    if let (Ok(low), Ok(memory), Ok(high)) = (low.values.memory, found.values.memory, high.values.memory)
        && low == high
        && !has_run
    {
        assert_eq!(memory.address_space, low.address_space);
        assert!(memory.working_set.abs_diff(low.working_set) <= slack, "{memory:?} {low:?}");
        assert!(memory.private_working_set.abs_diff(low.private_working_set) <= slack, "{memory:?} {low:?}");
    }
    if let (Ok(low), Ok(status), Ok(high)) = (low.values.status, found.values.status, high.values.status)
        && low == high
        && !has_run
    {
        assert_eq!(status.address_space_peak, low.address_space_peak);
        assert_eq!(status.nonpaged, low.nonpaged);
        let differs =
            |one: Option<u64>, other: Option<u64>| one.zip(other).map(|(one, other)| one.abs_diff(other));
        assert!(differs(status.private, low.private).is_some_and(|by| by <= slack), "{status:?} {low:?}");
        let peak = differs(status.working_set_peak, low.working_set_peak);
        assert!(peak.is_some_and(|by| by <= slack), "{status:?} {low:?}");
    }
    if !has_run && low.values.handles == high.values.handles {
        assert_eq!(found.values.handles, low.values.handles, "open files of {}", found.name);
    }
    for thread in found.threads() {
        let find = |row: &'_ ProcessRow| {
            let found =
                row.threads().iter().find(|other| other.tid == thread.tid && other.start == thread.start);
            found.map(|thread| thread.values)
        };
        if let (Some(low), Some(high)) = (find(low), find(high)) {
            all_between("time of a thread", found, low.cpu, thread.values.cpu, high.cpu);
            all_between("switches of a thread", found, low.switches, thread.values.switches, high.switches);
            if let (Ok(low), Ok(stat), Ok(high)) = (low.stat, thread.values.stat, high.stat)
                && (low.base_priority, low.priority) == (high.base_priority, high.priority)
            {
                assert_eq!((stat.base_priority, stat.priority), (low.base_priority, low.priority));
            }
        }
    }
}

#[test]
fn forks_and_exits_keep_the_table_correct() {
    // This variable requests the full run, which takes minutes.
    let count = std::env::var("TALLYMON_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(200_u32);
    let open_files = || fs::read_dir("/proc/self/fd").unwrap().count();
    for choice in [TierChoice::Only(Tier::T0), TierChoice::Auto] {
        let mut table = table(choice);
        refresh(&mut table, WANTS);
        let mut forks = Ends::start(&format!(
            "i=0; while [ $i -lt {count} ]; do (:) & i=$((i + 1)); [ $((i % 20)) = 0 ] && wait; done; wait"
        ));
        let sums = |table: &ProcessTable| {
            let mut sum = ProcessSum::zero(&WANTS);
            table.programs().for_each(|row| sum.add(row));
            sum.add_exited(table.exited_programs());
            (sum.values().0.cpu.unwrap(), sum.values().0.stat.unwrap().faults)
        };
        let mut last = sums(&table);
        let mut is_over = false;
        let mut samples = 0;
        // On a busy machine they may all have ended before the first look.
        while !is_over || samples < 3 {
            is_over = is_over || forks.0.try_wait().unwrap().is_some();
            refresh(&mut table, WANTS);
            samples += 1;
            let now = sums(&table);
            assert!(last.0 <= now.0 && last.1 <= now.1, "a sum stepped back: {last:?} {now:?}");
            last = now;
            assert!(table.rows.is_sorted_by_key(|row| row.pid));
            for row in &table.rows {
                assert!(row.start <= clocks().steady && row.start_ticks.is_some() && !row.name.is_empty());
            }
            // Ten samples a second in a long run, as many as possible in a short one.
            thread::sleep(Duration::from_millis(if count > 10_000 { 100 } else { 5 }));
        }
        assert!(samples > 1);
        refresh(&mut table, WANTS);
        let listed: Vec<&ProcessRow> = table.rows.iter().filter(|row| row.values.cpu.is_ok()).collect();
        for row in &listed {
            // Each start time is that of the process that has the id now.
            let Ok(text) = fs::read(format!("/proc/{}/stat", row.pid)) else { continue };
            let stat = crate::kernel::proc::pid_stat::PidStat::parse(&text).unwrap();
            if stat.start_ticks <= row.start_ticks.unwrap() {
                assert_eq!(row.start_ticks, Some(stat.start_ticks), "{} {}", row.pid, row.name);
            }
        }
        let kept = table.descriptors.open();
        let all = open_files();
        drop(table);
        // Other tests open and close files at the same time, but not thousands.
        assert!(open_files() + kept < all + 200, "{kept} kept, {all} before, {} after", open_files());
    }
}

#[test]
fn processes_between_two_samples_are_in_the_sums() {
    let Some(mut table) = bpf_table() else { return };
    let cpu = |table: &mut ProcessTable| {
        refresh(table, WANTS);
        let mut sum = ProcessSum::zero(&WANTS);
        table.programs().for_each(|row| sum.add(row));
        sum.add_exited(table.exited_programs());
        (sum.values().0.cpu.unwrap(), sum.values().0.stat.unwrap().faults, table.exited_threads().cpu)
    };
    let before = cpu(&mut table);
    let script = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
    let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
    let used = nanoseconds_to_100ns(process_cpu_time(child.id()).unwrap());
    child.wait().unwrap();
    // The kernel releases the program after a grace period on all CPUs.
    let start = Instant::now();
    let mut after = before;
    while after.2 < before.2 + used && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(20));
        let now = cpu(&mut table);
        assert!(after.0 <= now.0 && after.1 <= now.1, "a sum stepped back: {after:?} {now:?}");
        after = now;
    }
    assert!(after.0 >= before.0 + used && after.2 >= before.2 + used, "{before:?} + {used}: {after:?}");
}

/// Set in the copy of the test below that is the first process of a pid namespace.
const INSIDE: &str = "TALLYMON_TEST_INSIDE";

#[test]
fn a_pid_namespace_shows_its_processes_with_its_ids() {
    if std::env::var_os(INSIDE).is_some() {
        let mut at_once = bpf_table().expect("outside the kernel let us");
        let child = Ends::start("sleep 60 & wait");
        // Until the shell has started its child, which has the shell's name at first.
        let mut files = table(TierChoice::Only(Tier::T0));
        while !files.rows.iter().any(|row| row.name == "sleep") {
            refresh(&mut files, WANTS);
        }
        refresh(&mut at_once, WANTS);
        let numbers = |table: &ProcessTable| table.rows.iter().map(|row| row.pid).collect::<Vec<_>>();
        assert_eq!(std::process::id(), 1);
        assert_eq!(numbers(&at_once), numbers(&files));
        for (one, other) in at_once.rows.iter().zip(&files.rows) {
            let stat =
                |row: &ProcessRow| row.values.stat.map(|stat| (stat.parent, stat.threads, stat.priority));
            assert_eq!((&one.name, one.start, stat(one)), (&other.name, other.start, stat(other)));
        }
        assert!(at_once.rows.iter().any(|row| row.pid == child.0.id()));
        let (tasks, _) = at_once.bpf.program.get().expect("it works");
        assert!(tasks.exits_refusal().is_some_and(|refusal| refusal.reason.contains("namespace")));
        return;
    }
    if bpf_table().is_none() {
        return;
    }
    let name = &test_name(module_path!(), "a_pid_namespace_shows_its_processes_with_its_ids");
    run_in_namespaces(&["--pid", "--fork", "--mount-proc"], "exec", name, INSIDE);
}

#[test]
fn more_threads_than_one_run_has_records() {
    let Some(mut table) = bpf_table() else { return };
    let little = Tasks::open_with(WalkMode::Walk, 16).unwrap();
    table.bpf.program = LazyBackend::of((Box::new(little), WalkMode::Walk));
    let parked = std::sync::Mutex::new(());
    thread::scope(|scope| {
        let held = parked.lock().unwrap();
        for _ in 0..100 {
            scope.spawn(|| drop(parked.lock()));
        }
        has_threads(&mut table, std::process::id(), 101);
        drop(held);
    });
}

/// More threads than the first run has records for, nearly all of them in one process.
#[test]
fn thousands_of_threads_in_one_process() {
    // This variable requests tens of thousands.
    let count = std::env::var("TALLYMON_THREADS").ok().and_then(|count| count.parse().ok()).unwrap_or(3000);
    let (Some(mut table), Some(python)) = (bpf_table(), tallymon_testkit::peer("python3")) else { return };
    let script = format!(
        "import sys, threading; threading.stack_size(65536); wait = threading.Event().wait
for _ in range({count}): threading.Thread(target=wait, daemon=True).start()
print('ready', flush=True); sys.stdin.read()"
    );
    let mut command = Command::new(python);
    command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut many = Ends(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(many.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    for _ in 0..3 {
        has_threads(&mut table, many.0.id(), count + 1);
    }
    // The files give the same threads in the same states.
    let all = |table: &ProcessTable| -> Vec<(u32, FileTime)> {
        let row = table.rows.iter().find(|row| row.pid == many.0.id()).unwrap();
        row.threads().iter().map(|thread| (thread.tid, thread.start)).collect()
    };
    let mut files = self::table(TierChoice::Only(Tier::T0));
    refresh(&mut files, WANTS);
    assert_eq!(all(&table), all(&files));
}

/// Samples all processes, and checks the threads of one.
fn has_threads(table: &mut ProcessTable, pid: u32, count: usize) {
    refresh(table, WANTS);
    assert!(table.bpf.is_active(), "{:?}", table.bpf.refusal());
    let row = table.rows.iter().find(|row| row.pid == pid).unwrap();
    assert!(row.threads().len() >= count, "{} of {count}", row.threads().len());
    assert!(row.threads().is_sorted_by(|one, other| one.tid < other.tid), "a thread was given twice");
    assert_eq!(row.values.stat.map(|stat| stat.threads), Ok(row.threads().len() as u64));
}

/// Set in the copy of the test below that strace watches: its tier.
const WATCHED: &str = "TALLYMON_TEST_TIER";

/// How often a tier is traced before the test fails.
const LOOKS: usize = 10;

/// A directory that does not exist: changing to it marks a position in the trace.
const MARK: &str = "/tallymon-mark";

#[test]
fn one_counter_costs_only_its_system_calls() {
    if let Ok(tier) = std::env::var(WATCHED) {
        let mut table = table(tier.parse().unwrap());
        let wants = ProcessNeeds { cpu: true, ..ProcessNeeds::default() };
        let (facts, mut buffer) = (facts(), Buffer::new());
        for _ in 0..2 {
            let _ = std::env::set_current_dir(MARK);
            table.begin(ProcessNeeds::default());
            table.wants = wants;
            table.refresh(&facts, clocks().steady, &mut buffer).unwrap();
        }
        let _ = std::env::set_current_dir(MARK);
        return;
    }
    let mut tiers = vec!["t0"];
    tiers.extend(bpf_table().map(|_| "t2"));
    let mut enough = None;
    // Other tests start processes, whose files are read: only a sample without such a start counts.
    for (tier, attempt) in tiers.into_iter().flat_map(|tier| (0..LOOKS).map(move |attempt| (tier, attempt))) {
        if enough == Some(tier) {
            continue;
        }
        let name = &test_name(module_path!(), "one_counter_costs_only_its_system_calls");
        let result = Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/stderr"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(WATCHED, tier)
            .output();
        let Ok(output) = result else {
            tallymon_testkit::skip("strace is not installed");
            return;
        };
        let text = String::from_utf8_lossy(&output.stderr);
        let (first, second) =
            (text.split(MARK).nth(1).unwrap_or_default(), text.split(MARK).nth(2).unwrap_or_default());
        if text.split(MARK).count() != 4 {
            tallymon_testkit::skip(&format!(
                "strace may not watch a process here: {}",
                text.lines().next().unwrap_or_default()
            ));
            return;
        }
        let count = |call: &str| second.matches(&format!(" {call}(")).count();
        // The first refresh identifies the processes; the second reads the clock of each, and files of new
        // ones only.
        let opened = second.lines().filter_map(|line| line.split_once(" openat(")?.1.split('"').nth(1));
        let of_new_ones = opened.filter(|file| !first.contains(&format!("\"{file}\""))).count();
        let files = count("openat") + count("pread64") + count("statx") + count("newfstatat");
        let files = files.saturating_sub(2 * of_new_ones);
        assert!(files <= 10 || attempt + 1 < LOOKS, "{tier}: {second}");
        if files > 10 {
            continue;
        }
        enough = Some(tier);
        if tier == "t2" {
            let processors = thread::available_parallelism().unwrap().get();
            let clocks = count("clock_gettime");
            assert_eq!(count("bpf"), 1);
            assert!(clocks <= processors + 2 && count("getdents64") == 0, "{second}");
        } else {
            assert!(count("clock_gettime") > 5 && count("getdents64") <= 3, "{second}");
        }
    }
}

#[test]
fn the_program_is_loaded_only_after_some_samples() {
    let mut table = table(TierChoice::Auto);
    let mut last = 0;
    let mut look = |table: &mut ProcessTable| {
        refresh(table, WANTS);
        let mut sum = ProcessSum::zero(&WANTS);
        table.programs().for_each(|row| sum.add(row));
        sum.add_exited(table.exited_programs());
        let now = sum.values().0.cpu.unwrap();
        assert!(last <= now, "the CPU time of all stepped back: {last} {now}");
        last = now;
    };
    for _ in 0..2 {
        look(&mut table);
        assert!(!table.bpf.is_active() && table.bpf.refusal().is_none(), "nobody may have tried yet");
    }
    let kept = table.descriptors.open();
    let start = Instant::now();
    while !table.bpf.is_active() {
        if let Some(refusal) = table.bpf.refusal() {
            refusal.skip_test();
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "the program is not there yet");
        look(&mut table);
        thread::sleep(Duration::from_millis(5));
    }
    look(&mut table);
    assert!(table.descriptors.open() < kept, "{} of {kept} files are still open", table.descriptors.open());
}
