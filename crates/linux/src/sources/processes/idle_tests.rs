//! Skipping the files of an idle process gives the same numbers as reading them.

use super::reader::ProcessReader;
use crate::kernel::reusable_file::Buffer;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tallymon_provider::FileTime;
use tallymon_provider::Tier;
use tallymon_provider::TierChoice;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tallymon_testkit::{Ends, Scratch};

use super::row::RECHECK_AFTER;
use super::tiers_tests::{WANTS, facts, table};
use super::*;
use crate::kernel::clock::process_cpu_time;
use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::reusable_file::ReusableFile;
use crate::kernel::time::clocks;

/// The processes of this machine, with samples at chosen times and a chosen number of runnable threads.
struct OpenFiles {
    table: ProcessTable,
    now: FileTime,
}

/// A load file in which only this thread is running.
const NOBODY: &str = "0.00 0.00 0.00 1/99 4711\n";

impl OpenFiles {
    fn new() -> OpenFiles {
        // So late that no process started later.
        let now = FileTime(clocks().steady.0 + 100 * RECHECK_AFTER);
        let mut files = OpenFiles { table: table(TierChoice::Only(Tier::T0)), now };
        files.is_said_to_run(NOBODY);
        files
    }

    /// Uses this text as `/proc/loadavg`.
    fn is_said_to_run(&mut self, load: &str) {
        let folder = Scratch::new();
        let path = folder.join("loadavg");
        fs::write(&path, load).unwrap();
        // It stays open when the directory is removed.
        self.table.idle_filter.set_load_file(ReusableFile::pinned(rustix::fs::CWD, &path).unwrap());
    }

    fn rests(&mut self, pid: u32) -> bool {
        self.row(pid).idle.skips_stat
    }

    fn look(&mut self, wants: ProcessNeeds) {
        self.table.begin(wants);
        self.table.refresh(&facts(), self.now, &mut Buffer::new()).unwrap();
    }

    fn wait(&mut self) {
        self.now = FileTime(self.now.0 + RECHECK_AFTER);
    }

    /// Reads this process alone.
    fn read(&mut self, pid: u32, wants: &ProcessNeeds) {
        let ProcessTable { rows, folder, descriptors, scratch, has_handle_counts, .. } = &mut self.table;
        let mut reader = ProcessReader {
            folder,
            has_clocks: true,
            clocks_show_runs: true,
            may_skip_stat: false,
            descriptors,
            buffer: &mut Buffer::new(),
            scratch,
            has_handle_counts,
            facts: &facts(),
            now: self.now,
        };
        rows.iter_mut().find(|row| row.pid == pid).unwrap().read(wants, &mut reader).unwrap();
    }

    /// Uses this as the CPU clock at the time when the process was read.
    fn believe(&mut self, pid: u32, clock: Option<u64>) {
        let row = self.row(pid);
        row.idle.clock = clock;
        row.threads.believe(clock);
    }

    fn row(&mut self, pid: u32) -> &mut ProcessRow {
        self.table.rows.iter_mut().find(|row| row.pid == pid).unwrap()
    }

    /// The values of a process are those that a new table reads.
    fn is_true(&mut self, pid: u32) {
        let mut fresh = OpenFiles::new();
        let wants = self.table.wants;
        fresh.look(wants);
        let (known, read) = (self.row(pid), fresh.row(pid));
        assert_eq!((&known.name, known.values), (&read.name, read.values));
        let threads = |row: &ProcessRow| {
            row.threads().iter().map(|thread| (thread.tid, thread.start, thread.values)).collect::<Vec<_>>()
        };
        if wants.threads.is_some() {
            assert_eq!(threads(known), threads(read));
        }
    }
}

/// Waits until a process is idle.
fn at_rest(pid: u32) {
    let start = Instant::now();
    loop {
        let before = process_cpu_time(pid);
        thread::sleep(Duration::from_millis(20));
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let mut texts = tasks.map(|task| fs::read(task.unwrap().path().join("stat")).unwrap_or_default());
        let rests = |text: Vec<u8>| PidStat::parse(&text).is_ok_and(|stat| matches!(stat.state, b'S' | b'T'));
        if texts.all(rests) && before.is_some() && before == process_cpu_time(pid) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{pid} does not come to rest");
    }
}

fn sleeper() -> Ends {
    let child = Ends(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap());
    at_rest(child.0.id());
    child
}

/// A process that runs the commands it receives, and nothing else.
struct Servant {
    child: Ends,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Servant {
    /// `None`, listed as a skip, where there is no Python.
    fn start() -> Option<Servant> {
        let script =
            "import sys, threading, time\nfor line in sys.stdin: exec(line); print('done', flush=True)";
        let mut command = Command::new(tallymon_testkit::peer("python3")?);
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child: Child = command.spawn().unwrap();
        let orders = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut servant = Servant { child: Ends(child), orders, answers };
        servant.does("pass");
        Some(servant)
    }

    fn id(&self) -> u32 {
        self.child.0.id()
    }

    fn begins(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n", "{order}");
    }

    fn does(&mut self, order: &str) {
        self.begins(order);
        at_rest(self.id());
    }
}

/// Starts two more threads that wait.
const THREADS: &str =
    "for _ in range(2): threading.Thread(target=threading.Event().wait, daemon=True).start()";

/// Set in the copy of the test below that strace watches.
const WATCHED: &str = "TALLYMON_TEST_STILL";

/// A directory that does not exist: changing to it marks a position in the trace.
const MARK: &str = "/tallymon-still";

#[test]
fn an_idle_process_costs_few_system_calls() {
    if std::env::var_os(WATCHED).is_some() {
        let mut files = OpenFiles::new();
        for wait in [false, false, true] {
            let _ = std::env::set_current_dir(MARK);
            if wait {
                files.wait();
            }
            files.look(WANTS);
        }
        let _ = std::env::set_current_dir(MARK);
        return;
    }
    let sleeper = sleeper();
    let Some(mut servant) = Servant::start() else { return };
    servant.does(THREADS);
    let name = &crate::test_support::test_name(module_path!(), "an_idle_process_costs_few_system_calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-y", "-o", "/dev/stderr"]).arg(std::env::current_exe().unwrap());
    let Ok(output) = command.args(["--exact", name]).env(WATCHED, "").output() else {
        return tallymon_testkit::skip("strace is not installed");
    };
    let text = String::from_utf8_lossy(&output.stderr);
    let looks: Vec<&str> = text.split(MARK).collect();
    let [_, first, second, third, _] = looks[..] else {
        let first = text.lines().next().unwrap_or_default();
        return tallymon_testkit::skip(&format!("strace may not watch a process here: {first}"));
    };
    for (pid, threads) in [(sleeper.0.id(), 1), (servant.id(), 3)] {
        let others = calls(first, pid);
        for file in ["pread64 status", "pread64 io", "getdents64 task", "pread64 task/T/schedstat"] {
            assert!(others.iter().any(|call| call == file), "{file} is not among {others:?}");
        }
        let mut expected = vec!["clock_gettime", "pread64 statm"];
        expected.extend((0..threads).map(|_| "sched_getattr"));
        assert_eq!(calls(second, pid), expected);
        expected = vec!["clock_gettime", "pread64 stat"];
        // The `stat` of the process is that of its only thread.
        expected.extend((0..threads).filter(|_| threads > 1).map(|_| "pread64 task/T/stat"));
        expected.extend(["pread64 statm", "pread64 status", "newfstatat fd"]);
        assert_eq!(calls(third, pid), expected);
    }
}

/// The system calls about a process: name and file of each.
fn calls(text: &str, pid: u32) -> Vec<String> {
    let clock = format!("{:#x}", (!pid << 3) | 2);
    let threads: Vec<String> = fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .map(|task| task.unwrap().file_name().into_string().unwrap())
        .collect();
    let call = |line: &str| {
        let (name, rest) = line.split_once('(')?;
        let name = name.rsplit(' ').next()?;
        if name == "clock_gettime" && rest.contains(&clock) {
            return Some(name.to_string());
        }
        if name == "sched_getattr"
            && rest.split_once(',').is_some_and(|(id, _)| threads.iter().any(|tid| tid == id))
        {
            return Some(name.to_string());
        }
        let (_, path) =
            rest.split_once(&format!("</proc/{pid}/")).or_else(|| rest.split_once(&format!("\"{pid}/")))?;
        let path = path.split(['>', '"']).next()?;
        let file = path.rsplit('/').next()?;
        let file = if path.starts_with("task/") { format!("task/T/{file}") } else { path.to_string() };
        Some(format!("{name} {file}"))
    };
    text.lines().filter_map(call).collect()
}

#[test]
fn changes_by_others_to_an_idle_process_are_seen() {
    let Some(mut servant) = Servant::start() else { return };
    let mapped = std::env::temp_dir().join(format!("tallymon-still-{}", std::process::id()));
    fs::write(&mapped, vec![1; 4 << 20]).unwrap();
    let path = mapped.display();
    servant.does(&format!(
        "import mmap; file = open('{path}', 'r+b'); map = mmap.mmap(file.fileno(), 0); sum(map[::4096])"
    ));
    let mut parent = Command::new("sh");
    parent.args(["-c", "sleep 600 & echo $!; read line"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut parent = Ends(parent.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(parent.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let orphan = Orphan(line.trim_end().parse().unwrap());
    at_rest(orphan.0);
    let (sleeper, id) = (sleeper(), servant.id());
    servant.does(THREADS);
    let mut threads: Vec<u32> = Vec::new();

    let mut files = OpenFiles::new();
    files.look(WANTS);
    threads.extend(files.row(id).threads().iter().map(|thread| thread.tid));
    let values = |files: &mut OpenFiles, pid| (files.row(pid).values, files.row(pid).idle.clock);
    let priority = |files: &mut OpenFiles, pid: u32| {
        let stat = files.row(pid).threads()[0].values.stat.unwrap();
        (files.row(pid).values.stat.unwrap().priority, stat.base_priority, stat.priority)
    };
    let before = [sleeper.0.id(), orphan.0, id].map(|pid| values(&mut files, pid));
    // 8, unless this test was started with another niceness.
    let (program, base, now) = priority(&mut files, sleeper.0.id());
    assert!(program == base && base == now && now != 5, "{program} {base} {now}");

    let pid = Pid::from_child(&sleeper.0);
    rustix::process::setpriority_process(Some(pid), 10).unwrap();
    let thread = threads.iter().find(|tid| **tid != id).copied().unwrap();
    let thread = Pid::from_raw(i32::try_from(thread).unwrap());
    rustix::process::setpriority_process(thread, 10).unwrap();
    drop(parent.0.stdin.take());
    // A zombie is still listed.
    let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(&parent.0)), exited).unwrap();
    fs::OpenOptions::new().write(true).open(&mapped).unwrap().set_len(0).unwrap();
    fs::remove_file(&mapped).unwrap();
    // Resets the peak of its working set, which not every kernel can do.
    let _ = fs::write(format!("/proc/{id}/clear_refs"), "5");

    files.look(WANTS);
    for (pid, (before, clock)) in [sleeper.0.id(), orphan.0, id].into_iter().zip(before) {
        files.is_true(pid);
        let (after, after_clock) = values(&mut files, pid);
        assert!(clock.is_some() && clock == after_clock, "it has run");
        assert_ne!(before, after);
    }
    assert_eq!(priority(&mut files, sleeper.0.id()), (5, 5, 5));
    assert_eq!(before[1].0.stat.unwrap().parent, u64::from(parent.0.id()));
    let working_set = |values: ProcessValues| values.memory.unwrap().working_set;
    let after = working_set(files.row(id).values);
    assert!(after + (4 << 20) <= working_set(before[2].0), "{after} {:?}", before[2].0.memory);
}

/// A process that is not our child any more.
struct Orphan(u32);

impl Drop for Orphan {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0).ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
    }
}

#[test]
fn a_stopped_process_is_shown_as_stopped() {
    let sleeper = sleeper();
    let (id, pid) = (sleeper.0.id(), Pid::from_child(&sleeper.0));
    let mut files = OpenFiles::new();
    for (signal, state) in [(Signal::CONT, b'S'), (Signal::STOP, b'T'), (Signal::CONT, b'S')] {
        kill_process(pid, signal).unwrap();
        let start = Instant::now();
        let found = loop {
            files.look(WANTS);
            let stat = files.row(id).threads()[0].values.stat.unwrap();
            if stat.state == state || start.elapsed() > Duration::from_secs(60) {
                break stat.state;
            }
        };
        assert_eq!(char::from(found), char::from(state));
        at_rest(id);
        files.look(WANTS);
        files.is_true(id);
    }
}

#[test]
fn a_process_that_ran_between_samples_is_read_again() {
    let Some(mut servant) = Servant::start() else { return };
    let id = servant.id();
    let (mut files, mut processes) = (OpenFiles::new(), OpenFiles::new());
    let of_processes = ProcessNeeds { threads: None, ..WANTS };
    files.look(WANTS);
    processes.look(of_processes);
    let mut seen = BTreeSet::new();
    for order in [
        "pass",
        "file = open('/dev/null')",
        "file.close()",
        "memory = bytearray(8 << 20)",
        THREADS,
        // A thread other than the first runs.
        "thread = threading.Thread(target=lambda: sum(range(300000))); thread.start(); thread.join()",
        "open('/proc/self/comm', 'w').write('other')",
        "time.sleep(0.01)",
    ] {
        let before = files.row(id).idle.clock;
        servant.does(order);
        files.look(WANTS);
        files.is_true(id);
        assert!(before < files.row(id).idle.clock, "{order}");
        processes.look(of_processes);
        processes.is_true(id);
        // The same again, with the values kept.
        files.look(WANTS);
        files.is_true(id);
        let row = files.row(id);
        seen.insert((row.name.clone(), row.values.handles.unwrap(), row.threads().len()));
    }
    // Not needed for a while, in which it runs.
    servant.does("pass");
    files.look(of_processes);
    files.look(WANTS);
    files.is_true(id);
    assert!(seen.iter().any(|(name, _, threads)| (name.as_str(), *threads) == ("other", 3)), "{seen:?}");
    assert!(seen.len() >= 4, "{seen:?}");
}

#[test]
fn processes_first_seen_together_are_rechecked_apart() {
    let mut files = OpenFiles::new();
    files.look(WANTS);
    let mut due = BTreeMap::new();
    files.table.rows.iter().for_each(|row| *due.entry(row.idle.checked).or_insert(0) += 1);
    assert!(due.values().all(|count| count * 2 < files.table.rows.len()), "{due:?}");
    assert!(due.keys().all(|checked| files.now.0 - checked.0 < RECHECK_AFTER));
}

#[test]
fn newly_needed_values_of_an_idle_process_are_read() {
    let sleeper = sleeper();
    let id = sleeper.0.id();
    let none = ThreadNeeds::default();
    let mut files = OpenFiles::new();
    for wants in [
        ProcessNeeds { cpu: true, ..ProcessNeeds::default() },
        ProcessNeeds { cpu: true, io: true, threads: Some(none), ..ProcessNeeds::default() },
        WANTS,
        ProcessNeeds { threads: None, io: false, ..WANTS },
        ProcessNeeds {
            status: true,
            threads: Some(ThreadNeeds { switches: true, ..none }),
            ..ProcessNeeds::default()
        },
        ProcessNeeds {
            status: true,
            threads: Some(ThreadNeeds { stat: true, ..none }),
            ..ProcessNeeds::default()
        },
        ProcessNeeds {
            stat: true,
            threads: Some(ThreadNeeds { cpu: true, ..none }),
            ..ProcessNeeds::default()
        },
        WANTS,
    ] {
        for _ in 0..2 {
            files.look(wants);
            files.is_true(id);
        }
    }
}

#[test]
fn a_run_missed_by_the_clock_is_found_later() {
    let Some(mut servant) = Servant::start() else { return };
    let id = servant.id();
    let mut files = OpenFiles::new();
    // Nothing was checked before the first sample; the second starts the time.
    files.look(WANTS);
    files.wait();
    files.look(WANTS);
    let io = |files: &mut OpenFiles| files.row(id).values.io.unwrap().write_operations;
    let before = io(&mut files);
    servant.does("pass");
    files.believe(id, process_cpu_time(id));
    files.look(WANTS);
    assert_eq!(io(&mut files), before, "it was read though the clock says that it has not run");
    files.wait();
    files.look(WANTS);
    assert!(io(&mut files) > before);
    files.is_true(id);
    // New threads are seen then too, also where `status` does not change.
    servant.does(THREADS);
    files.believe(id, process_cpu_time(id));
    files.wait();
    files.look(ProcessNeeds { status: false, ..WANTS });
    files.is_true(id);
}

/// The scheduler accounts running time at ticks, so a clock may not move meanwhile.
#[test]
fn a_running_process_is_read_whatever_its_clock() {
    const NONSENSE: Available<u64> = Ok(u64::MAX);
    let busy = Ends::start("while :; do :; done");
    let alone = busy.0.id();
    let mut cases = vec![(alone, WANTS), (alone, ProcessNeeds { threads: None, ..WANTS })];
    let servant = Servant::start().map(|mut servant| {
        servant.begins(
            "exec('def spin():\\n while True: pass'); threading.Thread(target=spin, daemon=True).start()",
        );
        servant
    });
    // The same for a thread other than the first.
    cases.extend(servant.as_ref().map(|servant| (servant.id(), WANTS)));
    let mut files = OpenFiles::new();
    files.look(WANTS);
    for (pid, wants) in cases {
        let start = Instant::now();
        loop {
            let clock = process_cpu_time(pid);
            files.believe(pid, clock);
            files.row(pid).values.handles = NONSENSE;
            files.read(pid, &wants);
            assert_ne!(files.row(pid).values.handles, NONSENSE);
            if files.row(pid).idle.clock == clock {
                break;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "its clock never stands still");
        }
    }
}

/// An idle process may have become runnable, so all are read.
#[test]
fn nothing_is_skipped_while_unread_processes_are_runnable() {
    let sleeper = sleeper();
    let id = sleeper.0.id();
    let many = "0.00 0.00 0.00 99999/99999 4711\n";
    let mut files = OpenFiles::new();
    files.look(WANTS);
    // Two samples fail to account for all, the next one succeeds.
    let looks = [
        (NOBODY, true),
        (many, false),
        (NOBODY, true),
        (many, false),
        (many, false),
        (NOBODY, false),
        (NOBODY, true),
    ];
    for (load, rests) in
        looks.into_iter().chain([("0.00 0.00 0.00 0/0 0\n", false), (NOBODY, true), ("nonsense", false)])
    {
        files.is_said_to_run(load);
        files.look(WANTS);
        assert_eq!(files.rests(id), rests, "{load}");
        files.is_true(id);
    }
    files.look(WANTS);
    assert!(!files.rests(id), "a load that says nothing is not asked again");
    files.is_true(id);
}

#[test]
fn a_runnable_process_without_cpu_time_is_seen() {
    let Some(mut servant) = Servant::start() else { return };
    let id = servant.id();
    servant.does("import os; os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])");
    // It waits for the order on a CPU that a more urgent thread occupies.
    let hog = "import os\nos.sched_setaffinity(0, [max(os.sched_getaffinity(0))])\n\
               os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(9))\nprint(flush=True)\nwhile True: \
               pass";
    let python = tallymon_testkit::peer("python3").unwrap();
    let mut hog = Ends(
        Command::new(python).args(["-c", hog]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap(),
    );
    let mut line = String::new();
    BufReader::new(hog.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line.is_empty() {
        return tallymon_testkit::skip("no process may have a real-time priority here");
    }
    let mut table = table(TierChoice::Only(Tier::T0));
    let mut now = clocks().steady;
    let start = Instant::now();
    loop {
        let mut look = || {
            now.0 += 1;
            table.begin(ProcessNeeds::default());
            table.wants = WANTS;
            table.refresh(&facts(), now, &mut Buffer::new()).unwrap();
            let row = table.rows.iter().find(|row| row.pid == id).unwrap();
            (row.idle.clock, row.threads()[0].values.stat.unwrap().state)
        };
        at_rest(id);
        let (before, _) = look();
        writeln!(servant.orders, "pass").unwrap();
        let (after, state) = look();
        line.clear();
        servant.answers.read_line(&mut line).unwrap();
        if before == after && state == b'R' {
            return;
        }
        // The kernel lets other threads run for a twentieth of the time.
        assert!(start.elapsed() < Duration::from_secs(60), "it is never seen ready");
    }
}
