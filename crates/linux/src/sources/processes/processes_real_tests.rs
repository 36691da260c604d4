//! The processes of this machine.

use super::descriptors::DescriptorBudget;
use crate::kernel::number_folder::NumberFolder;
use crate::kernel::proc::SystemFacts;
use crate::kernel::reusable_file::Buffer;
use crate::kernel::time::clocks;
use crate::objects::object::PROCESS;
use crate::objects::object::THREAD;
use crate::system::System;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tallymon_core::block::Snapshot;
use tallymon_provider::CollectRequest;
use tallymon_provider::Interest;

use tallymon_provider::FindingState;

use super::descriptors::FileKind;
use super::processes_tests::*;
use super::tiers_tests::facts;
use super::*;
use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::proc::pid_status::PidStatus;
use crate::kernel::reusable_file::{ReadError, Step};
use crate::kernel::root::Root;

fn idle_child() -> Child {
    Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// How many files of these processes are open in this one.
fn open_files_of(pids: &[u32]) -> usize {
    let folders: Vec<String> = pids.iter().map(|pid| format!("/proc/{pid}/")).collect();
    let files = fs::read_dir("/proc/self/fd").unwrap();
    let targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    targets.filter(|target| folders.iter().any(|folder| target.to_string_lossy().starts_with(folder))).count()
}

/// The processes of this machine, with a budget of descriptors.
fn real_table(budget: usize) -> (ProcessTable, SystemFacts) {
    let mut table = ProcessTable::new(NumberFolder::open(Path::new("/proc")).unwrap(), true);
    assert!(table.descriptors.is_proc());
    table.descriptors = DescriptorBudget::new(budget);
    (table, facts())
}

fn refresh(table: &mut ProcessTable, facts: &SystemFacts, ask: &CollectRequest<'_>) {
    table.begin(needs(ask));
    table.refresh(facts, clocks().steady, &mut Buffer::new()).unwrap();
}

#[test]
fn own_values_agree_with_the_text_of_the_kernel() {
    let mut system = System::open().unwrap();
    let own = std::process::id();
    let before = crate::kernel::clock::process_cpu_time(own).unwrap() / 100;
    let first = processes(&mut system);
    let after = crate::kernel::clock::process_cpu_time(own).unwrap() / 100;
    let text = fs::read("/proc/self/stat").unwrap();
    let stat = PidStat::parse(&text).unwrap();
    assert!((before..=after).contains(&value(&first, own, CPU).unwrap()));
    assert_eq!(value(&first, own, PARENT), Ok(stat.parent));
    let boot_time = crate::kernel::time::boot_time().0;
    let started = value(&first, own, STARTED).unwrap();
    assert_eq!(started, boot_time + stat.start_ticks * 10_000_000 / rustix::param::clock_ticks_per_second());
    assert_eq!(value(&first, own, PRIORITY), Ok(priority::base_priority(&stat)));
    // Other tests run in threads of this process meanwhile.
    assert!(value(&first, own, THREADS).unwrap().abs_diff(stat.threads) < 64);
    let status = PidStatus::parse(&fs::read("/proc/self/status").unwrap()).unwrap();
    let near = |value: u64, kib: Option<u64>| value.abs_diff(kib.unwrap() * 1024) < 256 << 20;
    assert!(near(value(&first, own, WORKING_SET).unwrap(), status.resident));
    assert!(near(value(&first, own, PRIVATE).unwrap(), status.private()));
    assert!(value(&first, own, VIRTUAL_PEAK).unwrap() >= value(&first, own, VIRTUAL).unwrap() / 2);
    assert!(value(&first, own, READS).unwrap() > 0);
    assert!(value(&first, own, HANDLES).unwrap() >= 3);
    let second = processes(&mut system);
    assert!(value(&second, own, READS).unwrap() > value(&first, own, READS).unwrap());
    assert!(value(&second, own, USER).unwrap() >= value(&first, own, USER).unwrap());
    assert_eq!(value(&second, own, STARTED), Ok(started));
}

#[test]
fn a_busy_child_uses_cpu_time() {
    let mut system = System::open().unwrap();
    let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let id = child.id();
    let wanted = interest(&[CPU]);
    // Before the first sample: this thread may lose its processor between the two.
    let start = Instant::now();
    let first = value(&collect(&mut system, &[PROCESS], &wanted), id, CPU).unwrap();
    let used = loop {
        std::thread::sleep(Duration::from_millis(20));
        let used = value(&collect(&mut system, &[PROCESS], &wanted), id, CPU).unwrap() - first;
        if used > 1_000_000 || start.elapsed() > Duration::from_secs(60) {
            break used;
        }
    };
    let elapsed = u64::try_from(start.elapsed().as_nanos() / 100).unwrap();
    end(child);
    assert!(used > 1_000_000, "{used} units of 100 ns in {elapsed}");
    assert!(used <= elapsed + 1_000_000, "one thread has used more than the time that passed");
}

#[test]
fn a_child_that_ends_between_two_samples_is_gone() {
    let mut system = System::open().unwrap();
    let child = idle_child();
    let id = child.id();
    let objects = [PROCESS, THREAD];
    let everything = Interest::everything();
    let first = collect(&mut system, &objects, &everything);
    // Between fork and exec it has the name of this test.
    assert!(value(&first, id, CPU).is_ok());
    end(child);
    let second = collect(&mut system, &objects, &everything);
    assert!(process(&second, id).is_none());
    assert!(with_id(second.object(THREAD).unwrap(), id).is_none());
    for name in ["_Total", "System", "Idle"] {
        let has = |snapshot: &Snapshot| names(snapshot).iter().any(|known| known == name);
        if !has(&first) || !has(&second) {
            continue;
        }
        for counter in [CPU, USER, PRIVILEGED] {
            let (before, after) = (raw(&named(&first, name), counter), raw(&named(&second, name), counter));
            assert!(before.unwrap() <= after.unwrap(), "{name} {counter}");
        }
    }
}

#[test]
fn an_exec_changes_the_name() {
    let mut system = System::open().unwrap();
    let mut child =
        Command::new("sh").args(["-c", "read line; exec sleep 600"]).stdin(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    let wait_for = |system: &mut System, wanted: &str| {
        let start = Instant::now();
        loop {
            let snapshot = processes(system);
            let name = process(&snapshot, id).unwrap().name().to_string_lossy();
            if name == wanted || start.elapsed() > Duration::from_secs(60) {
                break (name, raw(&process(&snapshot, id).unwrap(), STARTED));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let (name, started) = wait_for(&mut system, "sh");
    assert_eq!(name, "sh");
    use std::io::Write;
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(wait_for(&mut system, "sleep"), ("sleep".to_string(), started));
    end(child);
}

#[test]
fn own_threads_are_listed() {
    let mut system = System::open().unwrap();
    let (ready, wait) = std::sync::mpsc::channel::<u64>();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let sleeper = std::thread::spawn(move || {
        ready.send(u64::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap()).unwrap();
        let _ = stopped.recv();
    });
    let sleeper_id = wait.recv().unwrap();
    let own_id = u64::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
    let objects = [PROCESS, THREAD];
    let start = Instant::now();
    loop {
        let snapshot = collect(&mut system, &objects, &Interest::everything());
        let object = snapshot.object(THREAD).unwrap();
        let thread = |id: u64| object.instances().find(|thread| raw(thread, THREAD_ID) == Ok(id)).unwrap();
        assert_eq!(raw(&thread(own_id), STATE), Ok(2), "the thread that asks runs");
        assert!(raw(&thread(own_id), CPU).unwrap() > 0);
        let parent = thread(sleeper_id).parent_instance().unwrap();
        assert_eq!(raw(&parent, ID), Ok(u64::from(std::process::id())));
        // It may not be waiting yet.
        if (raw(&thread(sleeper_id), STATE), raw(&thread(sleeper_id), WAIT_REASON)) == (Ok(5), Ok(6)) {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "the thread that waits is not seen waiting");
    }
    drop(stop);
    sleeper.join().unwrap();
    let snapshot = collect(&mut system, &objects, &Interest::everything());
    let mut threads = snapshot.object(THREAD).unwrap().instances();
    assert!(threads.all(|thread| raw(&thread, THREAD_ID) != Ok(sleeper_id)));
}

#[test]
fn five_hundred_children_leave_no_descriptor() {
    // More than the files of all processes and threads of a busy machine, so that those of children fit.
    const BUDGET: usize = 20_000;
    let (mut table, facts) = real_table(BUDGET);
    let ask = CollectRequest::everything(&[PROCESS, THREAD]);
    // Ids are reused where others start programs by the thousand; start times distinguish them.
    let (mut pids, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        let children: Vec<Child> = (0..10).map(|_| idle_child()).collect();
        refresh(&mut table, &facts, &ask);
        for child in &children {
            let row = table.programs().find(|row| row.pid == child.id()).unwrap();
            assert_eq!(row.threads().len(), 1);
            assert!(kept_files(row) >= 7 || table.descriptors.open() == BUDGET, "its files are kept");
            pids.push(child.id());
            ours.push((row.pid, row.start));
        }
        children.into_iter().for_each(end);
    }
    refresh(&mut table, &facts, &ask);
    let kept: usize = table.rows.iter().map(kept_files).sum();
    assert_eq!(table.descriptors.open(), kept);
    assert!(table.rows.iter().all(|row| !ours.contains(&(row.pid, row.start))));
    // Tests running in parallel sample all processes too, and close their files when they end.
    let start = Instant::now();
    loop {
        pids.retain(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        if open_files_of(&pids) == 0 {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{} descriptors are left", open_files_of(&pids));
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(table);
}

/// How many files of a row are open.
fn kept_files(row: &ProcessRow) -> usize {
    let own = row.files.as_deref().map(|files| [&files.stat, &files.statm, &files.io, &files.status]);
    own.into_iter().flatten().filter(|file| file.is_some()).count() + row.threads.kept_files()
}

#[test]
fn the_descriptor_budget_is_kept_and_costs_no_value() {
    let (mut table, facts) = real_table(20);
    let children: Vec<Child> = (0..24).map(|_| idle_child()).collect();
    let memory = interest(&[WORKING_SET]);
    let times = interest(&[USER]);
    let objects = [PROCESS];
    for (interest, kind) in [(&memory, FileKind::Statm), (&memory, FileKind::Statm), (&times, FileKind::Stat)]
    {
        for round in 0..2 {
            refresh(&mut table, &facts, &CollectRequest { objects: &objects, interest });
            assert!(table.descriptors.open() <= 20);
            assert_eq!(table.descriptors.open(), table.rows.iter().map(kept_files).sum::<usize>());
            for child in &children {
                let row = table.programs().find(|row| row.pid == child.id()).unwrap();
                let is_there =
                    if kind == FileKind::Statm { row.values.memory.is_ok() } else { row.values.stat.is_ok() };
                assert!(is_there, "{kind:?} in round {round}");
            }
        }
        // The files needed now have replaced those needed before.
        let of_kind = |row: &&ProcessRow| match kind {
            FileKind::Statm => row.files.as_ref().is_some_and(|files| files.statm.is_some()),
            _ => row.files.as_ref().is_some_and(|files| files.stat.is_some()),
        };
        assert_eq!(table.rows.iter().filter(of_kind).count(), 20, "{kind:?}");
    }
    children.into_iter().for_each(end);
}

#[test]
fn switches_of_the_first_thread_come_from_the_process_status() {
    let child = idle_child();
    let path = format!("/proc/{0}/task/{0}/status", child.id());
    let file = || PidStatus::parse(&fs::read(&path).unwrap()).unwrap().context_switches().unwrap();
    // The directory of the threads, `stat` and `schedstat` of the only one; `status` only if that of the
    // process is not read.
    for (objects, kept) in [(&[PROCESS, THREAD][..], 3), (&[THREAD], 4)] {
        // Room for the files of a thousand other processes, too.
        let (mut table, facts) = real_table(20_000);
        for _ in 0..2 {
            let before = file();
            refresh(&mut table, &facts, &CollectRequest::everything(objects));
            let after = file();
            let row = table.programs().find(|row| row.pid == child.id()).unwrap();
            let [thread] = row.threads() else { panic!("it has one thread") };
            let switches = thread.values.switches.unwrap();
            assert!((before..=after).contains(&switches), "{before} {switches} {after}");
            assert_eq!(row.threads.kept_files(), kept, "{objects:?}");
        }
    }
    end(child);
}

#[test]
fn after_running_out_of_descriptors_reads_recover() {
    let (mut table, facts) = real_table(100);
    let child = idle_child();
    let ask = CollectRequest::everything(&[PROCESS]);
    refresh(&mut table, &facts, &ask);
    let before = table.descriptors.open();
    assert!(before >= 4);
    table.descriptors.failed(&ReadError::new(Path::new("1/io"), Step::Open, rustix::io::Errno::MFILE));
    refresh(&mut table, &facts, &ask);
    refresh(&mut table, &facts, &ask);
    assert!(table.descriptors.open() <= before / 2);
    let row = table.programs().find(|row| row.pid == child.id()).unwrap();
    assert!(row.values.memory.is_ok() && row.values.io.is_ok());
    end(child);
}

#[test]
fn findings_name_tier_budget_and_denied_files() {
    let (mut table, _) = real_table(100);
    let findings = table.findings(&Root::system());
    let find = |subject: &str| findings.iter().find(|finding| finding.subject == subject).unwrap();
    assert!(find("collector").detail.starts_with("tier T"));
    let descriptors = find("descriptors");
    assert_eq!(descriptors.state, FindingState::Limited);
    assert!(descriptors.detail.contains("at most 100 ") && descriptors.remedy.contains("ulimit -n"));
    // Every finding that is not good has a remedy.
    for finding in &findings {
        assert_eq!(finding.state == FindingState::Good, finding.remedy.is_empty(), "{finding:?}");
    }
    let is_denied = |pid: u32| {
        let read = fs::read(format!("/proc/{pid}/io"));
        read.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
    };
    table.list().unwrap();
    let any_denied = table.pids.iter().any(|pid| is_denied(*pid));
    let io = findings.iter().find(|finding| finding.subject.starts_with("I/O")).unwrap();
    assert_eq!(io.state == FindingState::Limited, any_denied, "{io:?}");
}
