//! The processes of a directory that tests fill.

use crate::kernel::number_folder::NumberFolder;
use crate::kernel::reusable_file::Buffer;
use crate::kernel::time::clocks;
use crate::objects::object::PROCESS;
use crate::objects::object::THREAD;
use crate::system::System;
use std::fs;
use std::path::PathBuf;
use tallymon_core::block::Snapshot;
use tallymon_core::block::SnapshotInstance;
use tallymon_provider::Absence;
use tallymon_provider::CollectRequest;
use tallymon_provider::FileTime;
use tallymon_provider::Interest;
use tallymon_provider::PartialSum;
use tallymon_provider::TitleIndex;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::ValueState;

use super::processes_tests::*;
use super::tiers_tests::facts;
use super::*;
use crate::kernel::root::Root;

/// A directory used as `/proc`.
struct Fake {
    folder: PathBuf,
}

/// The content of a process's files.
#[derive(Clone, Copy)]
struct Text<'a> {
    comm: &'a str,
    state: char,
    parent: u32,
    flags: u64,
    user_ticks: u64,
    system_ticks: u64,
    threads: u64,
    start_ticks: u64,
    reads: u64,
}

const PROGRAM: Text<'static> = Text {
    comm: "program",
    state: 'S',
    parent: 1,
    flags: 0x40_0000,
    user_ticks: 30,
    system_ticks: 12,
    threads: 1,
    start_ticks: 500,
    reads: 10,
};

impl Fake {
    fn new(name: &str) -> Fake {
        let folder = std::env::temp_dir().join(format!("tallymon-table-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("proc")).unwrap();
        fs::write(
            folder.join("proc/stat"),
            "cpu 0 0 0 3000 0 0 0 0 0 0\ncpu0 0 0 0 1000 50 0 0 0 0 0\ncpu1 0 0 0 2000 0 0 0 0 0 0\n",
        )
        .unwrap();
        Fake { folder }
    }

    fn open(&self) -> System {
        System::open_below(Root::below(&self.folder)).unwrap()
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.join("proc").join(relative)
    }

    fn put(&self, pid: u32, text: Text<'_>) {
        let folder = self.path(&pid.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), text.stat(pid)).unwrap();
        let is_user = text.flags & 0x20_0000 == 0 && text.state != 'Z';
        fs::write(folder.join("statm"), if is_user { "1000 300 100 1 0 2 0\n" } else { "0 0 0 0 0 0 0\n" })
            .unwrap();
        fs::write(folder.join("cmdline"), format!("/usr/bin/{}-longer\0-x\0", text.comm)).unwrap();
        fs::write(folder.join("io"), format!("rchar: 1000\nwchar: 200\nsyscr: {}\nsyscw: 4\n", text.reads))
            .unwrap();
        let memory = "VmPeak:\t 5000 kB\nVmSize:\t 4000 kB\nVmHWM:\t 1300 kB\nVmRSS:\t 1200 kB\nRssAnon:\t \
            800 kB\nVmPTE:\t 40 kB\nVmSwap:\t 8 kB\n";
        fs::write(
            folder.join("status"),
            format!("Name:\tx\n{}Threads:\t{}\n", if is_user { memory } else { "" }, text.threads),
        )
        .unwrap();
        fs::create_dir_all(folder.join("fd")).unwrap();
        self.put_thread(pid, pid, text);
    }

    fn put_thread(&self, pid: u32, tid: u32, text: Text<'_>) {
        let folder = self.path(&format!("{pid}/task/{tid}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), text.stat(tid)).unwrap();
        fs::write(folder.join("schedstat"), format!("{} 5 6\n", text.user_ticks * 10_000_100)).unwrap();
        fs::write(
            folder.join("status"),
            "Name:\tx\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n",
        )
        .unwrap();
    }

    fn remove(&self, pid: u32) {
        fs::remove_dir_all(self.path(&pid.to_string())).unwrap();
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Text<'_> {
    fn stat(&self, id: u32) -> String {
        let Text { comm, state, parent, flags, user_ticks, system_ticks, threads, start_ticks, .. } = self;
        format!(
            "{id} ({comm}) {state} {parent} 0 0 0 -1 {flags} 100 0 3 0 {user_ticks} {system_ticks} 0 0 20 \
                0 {threads} 0 \
             {start_ticks} 4096000 300 {}1 0 0 0\n",
            "0 ".repeat(14)
        )
    }
}

#[test]
fn order_names_and_values_of_a_fake_proc() {
    let fake = Fake::new("values");
    let kernel = Text { flags: 0x20_8040, parent: 2, start_ticks: 3, ..PROGRAM };
    fake.put(2, Text { comm: "kthreadd", parent: 0, start_ticks: 2, ..kernel });
    fake.put(15, Text { comm: "kworker/0:1-events", ..kernel });
    fake.put(1, Text { comm: "init", parent: 0, start_ticks: 1, ..PROGRAM });
    fake.put(300, Text { comm: "a) (b", parent: 4_000_000_000, ..PROGRAM });
    fake.put(40, Text { comm: "fifteen-letters", threads: 2, ..PROGRAM });
    fake.put(301, Text { comm: "a/b\\c#d\te\n\u{e9}", ..PROGRAM });
    fake.put(302, Text { comm: "dead", state: 'Z', ..PROGRAM });
    fake.put(303, Text { comm: "", ..PROGRAM });
    for name in ["0", "1", "2"] {
        fs::write(fake.path("40/fd").join(name), "").unwrap();
    }
    let mut system = fake.open();
    let snapshot = processes(&mut system);
    let expected = [
        "Idle",
        "System",
        "init",
        "fifteen-letters-longer",
        "a] [b",
        "a_b_c_d_e_\u{e9}",
        "dead",
        "303",
        "_Total",
    ];
    assert_eq!(names(&snapshot), expected);

    let page = u64::try_from(rustix::param::page_size()).unwrap();
    let boot_time = crate::kernel::time::boot_time().0;
    // The CPU clocks belong to other processes than this directory, so time is in ticks.
    assert_eq!(value(&snapshot, 300, CPU), Ok(42 * 100_000));
    assert_eq!(value(&snapshot, 300, USER), Ok(30 * 100_000));
    assert_eq!(value(&snapshot, 300, PRIVILEGED), Ok(12 * 100_000));
    assert_eq!(value(&snapshot, 300, FAULTS), Ok(103));
    assert_eq!(value(&snapshot, 300, PARENT), Ok(4_000_000_000));
    assert_eq!(value(&snapshot, 300, PRIORITY), Ok(8));
    assert_eq!(value(&snapshot, 300, STARTED), Ok(boot_time + 500 * 100_000));
    assert_eq!(value(&snapshot, 300, VIRTUAL), Ok(1000 * page));
    assert_eq!(value(&snapshot, 300, WORKING_SET), Ok(300 * page));
    assert_eq!(value(&snapshot, 300, 1478), Ok(200 * page));
    assert_eq!(value(&snapshot, 300, VIRTUAL_PEAK), Ok(5000 * 1024));
    assert_eq!(value(&snapshot, 300, PRIVATE), Ok(808 * 1024));
    assert_eq!(value(&snapshot, 300, 182), Ok(808 * 1024));
    assert_eq!(value(&snapshot, 300, NONPAGED), Ok((40 + 16) * 1024));
    assert_eq!(value(&snapshot, 300, READS), Ok(10));
    assert_eq!(value(&snapshot, 300, DATA_BYTES), Ok(1200));
    assert_eq!(value(&snapshot, 300, 56), absent(Absence::NotOnThisSystem));
    assert_eq!(value(&snapshot, 300, 1418), absent(Absence::NotOnThisSystem));
    assert_eq!(value(&snapshot, 40, HANDLES), Ok(3));
    assert_eq!(value(&snapshot, 300, HANDLES), Ok(0));

    // A zombie truly has no memory.
    assert_eq!(value(&snapshot, 302, WORKING_SET), Ok(0));
    assert_eq!(value(&snapshot, 302, PRIVATE), Ok(0));

    let kernel = named(&snapshot, "System");
    assert_eq!(raw(&kernel, ID), Ok(2));
    assert_eq!(raw(&kernel, THREADS), Ok(2));
    assert_eq!(raw(&kernel, CPU), Ok(2 * 42 * 100_000));
    assert_eq!(raw(&kernel, STARTED), Ok(boot_time + 2 * 100_000));

    let idle = named(&snapshot, "Idle");
    assert_eq!(raw(&idle, CPU), Ok(3050 * 100_000));
    assert_eq!(raw(&idle, PRIVILEGED), Ok(3050 * 100_000));
    assert_eq!((raw(&idle, THREADS), raw(&idle, ID), raw(&idle, USER)), (Ok(2), Ok(0), Ok(0)));

    let total = named(&snapshot, "_Total");
    assert_eq!(raw(&total, CPU), Ok((3050 + 8 * 42) * 100_000));
    // Two of Idle, two kernel threads, six programs of which one reports two.
    assert_eq!(raw(&total, THREADS), Ok(2 + 2 + 7));
    assert_eq!(raw(&total, WORKING_SET), Ok(5 * 300 * page));
    assert_eq!((raw(&total, ID), raw(&total, STARTED)), (Ok(0), Ok(boot_time)));
}

#[test]
fn the_object_clock_is_the_steady_time() {
    let fake = Fake::new("clock");
    fake.put(7, PROGRAM);
    let mut system = fake.open();
    let before = clocks().steady.0;
    let snapshot = collect(&mut system, &[PROCESS, THREAD], &Interest::everything());
    for object in [PROCESS, THREAD] {
        let object = snapshot.object(object).unwrap();
        let now = object.header().perf_time.0.cast_unsigned();
        assert!((before..=clocks().steady.0).contains(&now));
        assert_eq!(object.header().perf_freq.0, 10_000_000);
        let instance = object.instances().last().unwrap();
        let sample = instance.sample(object.position(TitleIndex(STARTED)).unwrap()).unwrap();
        assert_eq!((sample.counter_type, sample.second), (CounterType::PERF_ELAPSED_TIME, now));
        assert!(sample.first > 0 && sample.first <= now);
    }
}

#[test]
fn a_process_that_vanishes_costs_its_row_and_nothing_else() {
    let fake = Fake::new("vanish");
    fake.put(1, PROGRAM);
    fake.put(5, Text { user_ticks: 1000, reads: 70, ..PROGRAM });
    fake.put(9, Text { comm: "other", ..PROGRAM });
    let mut system = fake.open();
    let first = processes(&mut system);
    let total = |snapshot: &Snapshot, counter| raw(&named(snapshot, "_Total"), counter).unwrap();
    fake.remove(5);
    // Its directory still exists, but its files do not.
    fs::create_dir(fake.path("6")).unwrap();
    let second = processes(&mut system);
    assert!(process(&second, 5).is_none());
    assert_eq!(names(&second), ["Idle", "program", "other", "_Total"]);
    for counter in [CPU, USER, PRIVILEGED, FAULTS, READS, DATA_BYTES] {
        // Its usage stays in the sum, or every rate of the sum would be negative now.
        assert_eq!(total(&second, counter), total(&first, counter), "{counter}");
        assert_eq!(value(&second, 9, counter), value(&first, 9, counter), "{counter}");
    }
    assert!(total(&second, WORKING_SET) < total(&first, WORKING_SET));
    // Its usage is not lost in later samples, nor counted twice.
    assert_eq!(total(&processes(&mut system), CPU), total(&first, CPU));
    // The I/O of the object System comes from the same rows.
    let snapshot = collect(&mut system, &[SYSTEM], &Interest::everything());
    let object = snapshot.object(SYSTEM).unwrap();
    let instance = object.instance(0).unwrap();
    assert_eq!(raw(&instance, 10), Ok(10 + 70 + 10));
    assert_eq!(raw(&instance, 16), Ok(3 * 1000));
    assert_eq!(raw(&instance, 248), Ok(3), "the folder without files counts as a process");
}

#[test]
fn a_reused_process_id_is_another_row() {
    let fake = Fake::new("reuse");
    fake.put(5, Text { user_ticks: 1000, ..PROGRAM });
    let mut system = fake.open();
    let first = processes(&mut system);
    fake.remove(5);
    fake.put(5, Text { comm: "new", user_ticks: 1, start_ticks: 900, ..PROGRAM });
    let second = processes(&mut system);
    assert_eq!(names(&second), ["Idle", "new", "_Total"]);
    assert_eq!(value(&second, 5, USER), Ok(100_000), "nothing is held at the value of the one before");
    assert_ne!(value(&second, 5, STARTED), value(&first, 5, STARTED));
    assert_eq!(raw(&named(&second, "_Total"), USER), Ok(1001 * 100_000));
}

#[test]
fn times_do_not_decrease_and_names_are_updated() {
    let fake = Fake::new("rising");
    fake.put(5, PROGRAM);
    let mut system = fake.open();
    processes(&mut system);
    fake.put(5, Text { comm: "exec", user_ticks: 29, system_ticks: 14, ..PROGRAM });
    let second = processes(&mut system);
    assert_eq!(names(&second), ["Idle", "exec", "_Total"]);
    assert_eq!((value(&second, 5, USER), value(&second, 5, PRIVILEGED)), (Ok(3_000_000), Ok(1_400_000)));
}

#[test]
fn an_unreadable_file_costs_only_its_counters() {
    let fake = Fake::new("unreadable");
    fake.put(5, PROGRAM);
    fake.put(6, PROGRAM);
    // A directory can be opened like a file, but not read.
    fs::remove_file(fake.path("5/io")).unwrap();
    fs::create_dir(fake.path("5/io")).unwrap();
    // A kernel without this file.
    fs::remove_file(fake.path("6/status")).unwrap();
    let mut system = fake.open();
    let snapshot = processes(&mut system);
    assert_eq!(value(&snapshot, 5, READS), absent(Absence::ReadFailed));
    assert_eq!(value(&snapshot, 5, WORKING_SET), value(&snapshot, 6, WORKING_SET));
    assert_eq!(value(&snapshot, 6, READS), Ok(10));
    assert_eq!(value(&snapshot, 6, PRIVATE), absent(Absence::NotInThisKernel));
    let total = named(&snapshot, "_Total");
    let lacks_one = PartialSum::new(1, 2, Absence::ReadFailed).unwrap();
    assert_eq!(sum(&total, READS), (ValueState::Partial(lacks_one), 10));
    assert!(raw(&total, CPU).is_ok());
    // Files with other content than the kernel's.
    fs::write(fake.path("6/statm"), "many\n").unwrap();
    fs::write(fake.path("6/io"), "rchar: 1\n").unwrap();
    let snapshot = processes(&mut system);
    assert_eq!(value(&snapshot, 6, VIRTUAL), absent(Absence::ReadFailed));
    assert_eq!(value(&snapshot, 6, READS), absent(Absence::ReadFailed));
    assert!(value(&snapshot, 6, CPU).is_ok());
    let total = named(&snapshot, "_Total");
    let readable = value(&snapshot, 5, VIRTUAL).unwrap();
    assert_eq!(sum(&total, VIRTUAL), (ValueState::Partial(lacks_one), readable));
    assert_eq!(raw(&total, READS), absent(Absence::ReadFailed), "nothing is left of the sum");
}

/// The state and the number of a sum.
fn sum(instance: &SnapshotInstance<'_>, counter: u32) -> (ValueState, u64) {
    let position = instance.object().position(TitleIndex(counter)).unwrap();
    (instance.state(position), instance.sample(position).unwrap().first)
}

#[test]
fn a_sum_does_not_jump_when_processes_become_readable_or_unreadable() {
    let fake = Fake::new("partial");
    let program = |reads| Text { reads, ..PROGRAM };
    let refuse = |pid: u32| {
        fs::remove_file(fake.path(&format!("{pid}/io"))).unwrap();
        fs::create_dir(fake.path(&format!("{pid}/io"))).unwrap();
    };
    let allow = |pid: u32, reads| {
        let _ = fs::remove_dir(fake.path(&format!("{pid}/io")));
        fake.put(pid, program(reads));
    };
    [5, 6, 7].into_iter().for_each(|pid| fake.put(pid, PROGRAM));
    refuse(7);
    let mut system = fake.open();
    let mut check = |step: &str, missing: u32, whole: u32, reads: u64| {
        let partial = PartialSum::new(missing, whole, Absence::ReadFailed);
        let expected = (partial.map_or(ValueState::Present, ValueState::Partial), reads);
        let snapshot = collect(&mut system, &[PROCESS, SYSTEM], &Interest::everything());
        let total = named(&snapshot, "_Total");
        assert_eq!(sum(&total, READS), expected, "{step}");
        assert_eq!(raw(&total, FAULTS), Ok(103 * 3), "{step}");
        let system = snapshot.object(SYSTEM).unwrap().instance(0).unwrap();
        assert_eq!(sum(&system, 10), expected, "System: {step}");
        assert!(raw(&system, 248).is_ok(), "{step}");
    };
    check("one is unreadable from the beginning", 1, 3, 20);
    allow(7, 1000);
    check("what it did before is in no rate", 1, 3, 20);
    allow(7, 1005);
    check("what it does now is", 0, 3, 25);
    refuse(6);
    check("one becomes unreadable", 1, 3, 25);
    allow(5, 12);
    check("the others go on", 1, 3, 27);
    allow(6, 50);
    check("what it did while it was unreadable is in no rate", 1, 3, 27);
    allow(6, 51);
    check("what it does now is", 0, 3, 28);
    refuse(6);
    fake.remove(7);
    check("one is unreadable, one has exited", 1, 2, 28);
    fake.remove(6);
    check("the unreadable one has exited too", 0, 1, 28);
}

#[test]
fn a_name_is_checked_again_after_some_seconds() {
    let fake = Fake::new("check");
    fake.put(5, PROGRAM);
    let facts = facts();
    let mut table = ProcessTable::new(NumberFolder::open(&fake.path("")).unwrap(), false);
    let (objects, interest) = ([PROCESS], interest(&[WORKING_SET]));
    let start = clocks().steady.0;
    let mut row_at = |seconds: u64| {
        table.begin(needs(&CollectRequest { objects: &objects, interest: &interest }));
        table.refresh(&facts, FileTime(start + seconds * 10_000_000), &mut Buffer::new()).unwrap();
        let row = table.programs().next().unwrap();
        (row.name.clone(), row.start.0)
    };
    let (_, started) = row_at(0);
    fake.put(5, Text { comm: "exec", ..PROGRAM });
    assert_eq!(row_at(4), ("program".to_string(), started), "reading stat each time would be dear");
    assert_eq!(row_at(6), ("exec".to_string(), started));
    fake.put(5, Text { comm: "other", start_ticks: 600, ..PROGRAM });
    assert_eq!(row_at(8), ("exec".to_string(), started));
    assert_eq!(row_at(12), ("other".to_string(), started + 100 * 100_000));
}

#[test]
fn unrequested_files_are_not_read() {
    let fake = Fake::new("interest");
    fake.put(5, PROGRAM);
    let mut system = fake.open();
    for (counter, file) in [(WORKING_SET, "statm"), (READS, "io"), (PRIVATE, "status"), (THREADS, "stat")] {
        for other in ["statm", "io", "status", "fd", "task"] {
            // Files that must not be read are made unreadable.
            let _ = fs::rename(fake.path(&format!("5/{other}")), fake.path(&format!("5/{other}.away")));
        }
        let _ = fs::rename(fake.path(&format!("5/{file}.away")), fake.path(&format!("5/{file}")));
        let snapshot = collect(&mut system, &[PROCESS], &interest(&[counter]));
        let process = process(&snapshot, 5).unwrap();
        assert!(raw(&process, counter).is_ok(), "{file}");
        assert!(raw(&process, STARTED).is_ok());
        let object = process.object();
        let present: Vec<u32> = (0..object.counters().len())
            .filter(|position| process.state(*position) == ValueState::Present)
            .filter_map(|position| Some(object.counters().get(position)?.name.0))
            .filter(|name| ![ID, STARTED, 0].contains(name))
            .collect();
        assert!(present.contains(&counter) && present.len() <= 6, "{file}: {present:?}");
        assert_eq!(raw(&process, HANDLES), absent(Absence::NotRequested));
    }
}

/// An unreadable thread counts with what it had used before, and the sum says that it lacks it.
#[test]
fn the_sum_of_threads_says_how_many_could_not_be_read() {
    let fake = Fake::new("threads-unread");
    fake.put(40, Text { threads: 2, ..PROGRAM });
    fake.put_thread(40, 45, PROGRAM);
    let refuse = |file: &str| {
        fs::remove_file(fake.path(file)).unwrap();
        fs::create_dir(fake.path(file)).unwrap();
    };
    let mut system = fake.open();
    let mut read = || collect(&mut system, &[PROCESS, THREAD], &Interest::everything());
    let of = |snapshot: &Snapshot| {
        let total = snapshot.object(THREAD).unwrap().instances().last().unwrap();
        [SWITCHES, CPU, USER].map(|counter| sum(&total, counter))
    };
    let mut total = || of(&read());
    let all = total();
    assert_eq!(all[0], (ValueState::Present, 18));
    let unread = |missing| ValueState::Partial(PartialSum::new(missing, 2, Absence::ReadFailed).unwrap());
    refuse("40/task/45/status");
    assert_eq!(total(), [(unread(1), 18), all[1], all[2]]);
    refuse("40/task/45/stat");
    let fewer = total();
    assert_eq!((fewer[2], fewer[1].0), ((unread(1), all[2].1), ValueState::Present));
    refuse("40/status");
    refuse("40/task/40/status");
    let snapshot = read();
    let total = snapshot.object(THREAD).unwrap().instances().last().unwrap();
    assert_eq!(raw(&total, SWITCHES), absent(Absence::ReadFailed), "nothing is left of the sum");
}

#[test]
fn threads_have_their_processes_as_parents() {
    let fake = Fake::new("threads");
    let kernel = Text { flags: 0x20_8040, parent: 2, start_ticks: 3, ..PROGRAM };
    fake.put(2, Text { comm: "kthreadd", parent: 0, ..kernel });
    fake.put(15, Text { comm: "kworker", state: 'I', ..kernel });
    fake.put(1, Text { comm: "init", state: 'T', ..PROGRAM });
    fake.put(40, Text { comm: "server", threads: 3, state: 'R', ..PROGRAM });
    fake.put_thread(40, 50, Text { state: 'R', user_ticks: 5, start_ticks: 700, ..PROGRAM });
    fake.put_thread(40, 45, Text { state: 'S', user_ticks: 0, ..PROGRAM });
    let mut system = fake.open();
    let objects = [PROCESS, THREAD];
    let snapshot = collect(&mut system, &objects, &Interest::everything());
    let threads = |snapshot: &Snapshot| -> Vec<(String, String, u64)> {
        let object = snapshot.object(THREAD).unwrap();
        let row = |thread: SnapshotInstance<'_>| {
            let parent = thread.parent_instance().unwrap().name().to_string_lossy();
            (parent, thread.name().to_string_lossy(), raw(&thread, THREAD_ID).unwrap())
        };
        object.instances().map(row).collect()
    };
    let row = |parent: &str, name: &str, id: u64| (parent.to_string(), name.to_string(), id);
    let mut expected = vec![
        row("Idle", "0", 0),
        row("Idle", "1", 0),
        row("System", "0", 2),
        row("System", "1", 15),
        row("init", "0", 1),
        row("server", "0", 40),
        row("server", "1", 45),
        row("server", "2", 50),
        row("_Total", "_Total", 0),
    ];
    assert_eq!(threads(&snapshot), expected);
    let object = snapshot.object(THREAD).unwrap();
    let thread = |id: u64| object.instances().find(|thread| raw(thread, THREAD_ID) == Ok(id)).unwrap();
    assert_eq!((raw(&thread(50), ID), raw(&thread(15), ID)), (Ok(40), Ok(2)));
    assert_eq!(raw(&thread(50), CPU), Ok(5 * 100_001));
    assert_eq!(raw(&thread(50), USER), Ok(5 * 100_000));
    assert_eq!(raw(&thread(50), SWITCHES), Ok(9));
    // schedstat without times: the ticks of stat count.
    assert_eq!(raw(&thread(45), CPU), Ok(12 * 100_000));
    let state = |id| (raw(&thread(id), STATE).unwrap(), raw(&thread(id), WAIT_REASON).unwrap());
    assert_eq!((state(1), state(15), state(45)), ((5, 5), (5, 0), (5, 6)));
    assert_eq!((state(40).0, state(50).0), (2, 1), "one of two runs on the one processor");
    let boot_time = crate::kernel::time::boot_time().0;
    assert_eq!(raw(&thread(50), STARTED), Ok(boot_time + 700 * 100_000));
    assert_eq!(raw(&thread(50), 706), absent(Absence::NotOnThisSystem));
    let total = |snapshot: &Snapshot, counter| {
        raw(&snapshot.object(THREAD).unwrap().instances().last().unwrap(), counter).unwrap()
    };
    assert_eq!(total(&snapshot, SWITCHES), 6 * 9);
    // Idle of both CPUs, five threads of 30 or 5 ticks, and one with ticks only.
    assert_eq!(total(&snapshot, USER), (4 * 30 + 5) * 100_000);

    // An exited thread is gone, but its usage is not.
    fs::remove_dir_all(fake.path("40/task/45")).unwrap();
    let second = collect(&mut system, &objects, &Interest::everything());
    expected.retain(|row| row.2 != 45);
    expected[6].1 = "1".to_string();
    assert_eq!(threads(&second), expected);
    for counter in [CPU, USER, PRIVILEGED, SWITCHES] {
        assert_eq!(total(&second, counter), total(&snapshot, counter), "{counter}");
    }
    // The same for a whole process.
    fake.remove(40);
    let third = collect(&mut system, &objects, &Interest::everything());
    expected.retain(|row| row.0 != "server");
    assert_eq!(threads(&third), expected);
    assert_eq!(total(&third, SWITCHES), total(&snapshot, SWITCHES));
}

#[test]
fn a_proc_without_any_process_gives_no_sums() {
    let fake = Fake::new("none");
    let snapshot = collect(&mut fake.open(), &[PROCESS, THREAD], &Interest::everything());
    // At least the reader itself exists, so this is not the directory of a kernel.
    assert_eq!(names(&snapshot), ["_Total"]);
    for counter in [CPU, WORKING_SET, READS] {
        assert_eq!(raw(&named(&snapshot, "_Total"), counter), absent(Absence::ReadFailed));
    }
}
