//! Reads the tasks of this machine, and compares them with what `/proc` prints.

use std::collections::HashMap;

use tallymon_testkit::Ends;

use super::task_record::TaskParts;
use super::tasks::{Tasks, WalkMode};
use crate::test_support::{CAPABILITIES, run_with_capabilities, test_name};

const EVERYTHING: TaskParts = TaskParts(127);

/// `None`, listed as a skip, where the kernel refuses the program.
fn open(way: WalkMode) -> Option<Tasks> {
    match Tasks::open(way) {
        Ok(tasks) => Some(tasks),
        Err(refusal) => {
            refusal.skip_test();
            None
        }
    }
}

#[test]
fn the_record_of_this_process_matches_proc() {
    for way in [WalkMode::Walk, WalkMode::EachTask] {
        let Some(mut tasks) = open(way) else { continue };
        let own = std::process::id();
        let mut seen = HashMap::new();
        let mut found = None;
        tasks
            .read(EVERYTHING, |record| {
                *seen.entry(record.id()).or_insert(0) += 1;
                if record.id() == own {
                    found = Some((
                        record.threads(),
                        record.parent(),
                        record.has_memory(),
                        record.open_files().unwrap_or(0),
                        record.start(),
                        record.file_pages() + record.shared_pages() + record.anonymous_pages(),
                    ));
                }
            })
            .unwrap();
        assert!(seen.values().all(|times| *times == 1), "{way:?} gave a task twice");
        let (threads, parent, has_memory, files, start, pages) = found.unwrap();
        assert!(threads >= 1 && has_memory && files >= 3 && pages > 100, "{threads} {files} {pages}");
        assert_eq!(parent, std::os::unix::process::parent_id());
        let stat = std::fs::read(format!("/proc/{own}/stat")).unwrap();
        let stat = crate::kernel::proc::pid_stat::PidStat::parse(&stat).unwrap();
        assert_eq!(start / 10_000_000, stat.start_ticks);
    }
}

#[test]
fn memory_sizes_match_the_page_tables() {
    // The kernel counts pages per CPU and adds them up when they are many; the page tables are exact.
    let child = Ends(std::process::Command::new("sleep").arg("60").spawn().unwrap());
    let tables = format!("/proc/{}/smaps_rollup", child.id());
    let in_tables = || {
        let text = std::fs::read_to_string(&tables).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Rss:"))?;
        line.trim().strip_suffix(" kB")?.parse::<usize>().ok()
    };
    // It grows until it sleeps; a process that only waits for a processor is ready, not asleep.
    let begin = std::time::Instant::now();
    let sleeps = || {
        let stat = std::fs::read(format!("/proc/{}/stat", child.id())).unwrap();
        crate::kernel::proc::pid_stat::PidStat::parse(&stat).unwrap().state == b'S'
    };
    while !sleeps() {
        assert!(begin.elapsed() < std::time::Duration::from_secs(60), "it never comes to rest");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let before = in_tables();
    assert!(before.is_some(), "its size can be read");
    for way in [WalkMode::Walk, WalkMode::EachTask] {
        let Some(mut tasks) = open(way) else { continue };
        let mut pages = None;
        let read = tasks.read(TaskParts::MEMORY, |record| {
            if record.id() == child.id() {
                pages = Some(record.file_pages() + record.shared_pages() + record.anonymous_pages());
            }
        });
        read.unwrap();
        if !tasks.is_exact() {
            tallymon_testkit::skip("this kernel keeps its counts apart in another way, or not at all");
            continue;
        }
        let page = u64::try_from(rustix::param::page_size()).unwrap() / 1024;
        assert_eq!(pages.map(|pages| pages * page), before.map(|size| size as u64), "{way:?}, in kB");
    }
}

#[test]
fn open_files_are_counted_in_file_tables_of_all_sizes() {
    // The highest descriptor decides how large the table is: 64, 128, 256, 512 and 2,048 files.
    let children: Vec<_> = [9, 100, 200, 300, 1_500]
        .into_iter()
        .filter_map(|highest| {
            // A shell accepts no descriptor above 9 in a redirection.
            let script =
                "import os, sys, time; os.dup2(0, int(sys.argv[1])); print('', flush=True); time.sleep(60)";
            let mut child = std::process::Command::new("python3")
                .args(["-c", script, &highest.to_string()])
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .ok()?;
            let mut byte = [0];
            let told = std::io::Read::read_exact(child.stdout.as_mut()?, &mut byte);
            let child = Ends(child);
            told.ok().map(|()| child)
        })
        .collect();
    if children.is_empty() {
        tallymon_testkit::skip("python3 is not installed");
        return;
    }
    for way in [WalkMode::Walk, WalkMode::EachTask] {
        let Some(mut tasks) = open(way) else { continue };
        let mut counted = HashMap::new();
        let note = |record: super::task_record::Record<'_>| {
            counted.insert(record.id(), record.open_files());
        };
        tasks.read(TaskParts::HANDLES, note).unwrap();
        for child in &children {
            let files = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().count();
            let size = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let size = size.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap().trim();
            // A record has room for the bits of 1,024 files.
            let expected = (size.parse::<u32>().unwrap() <= 1_024).then_some(files as u64);
            assert_eq!(counted.get(&child.id()), Some(&expected), "{way:?}, a table for {size} files");
        }
    }
}

/// Values of one task: whether it is unchanged, its base priority, its file pages, its open files.
type Known = (bool, i32, u64, Option<u64>);

fn known(tasks: &mut Tasks, pid: u32) -> Known {
    let mut found = None;
    let note = |record: super::task_record::Record<'_>| {
        if record.id() == pid {
            let pages = record.file_pages() + record.shared_pages();
            found = Some((record.is_unchanged(), record.static_priority(), pages, record.open_files()));
        }
    };
    tasks.read(EVERYTHING, note).unwrap();
    found.expect("the task is there")
}

/// Changes that others make to a sleeping process are seen, although it does not run.
#[test]
fn a_sleeping_process_is_unchanged_until_others_change_it() {
    let Some(mut tasks) = open(WalkMode::Walk) else { return };
    let folder = tallymon_testkit::Scratch::new();
    let file = folder.join("mapped");
    std::fs::write(&file, vec![1; 1 << 20]).unwrap();
    // Two processes with the same open files; the second prints its id, sleeps, and is the one observed.
    let script = r"
import ctypes, mmap, os, sys
CLONE_FILES, SIGCHLD = 0x400, 17
mapped = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 1 << 20)
sum(mapped[at] for at in range(0, 1 << 20, 4096))
wait, tell = os.pipe()
# With no stack of its own it goes on as after fork().
if ctypes.CDLL(None).syscall(56, CLONE_FILES | SIGCHLD, 0, 0, 0, 0) == 0:
    # It holds the end of the pipe that it waits at, so that it is killed when the other one ends.
    ctypes.CDLL(None).prctl(1, 9)
    sum(mapped[at] for at in range(0, 1 << 20, 4096))
    os.write(1, str(os.getpid()).encode() + b'\n')
    os.read(wait, 1)
    os.read(wait, 1)
    os._exit(0)
for line in sys.stdin:
    if line == 'open\n':
        os.open('/dev/null', os.O_RDONLY)
    else:
        os.write(tell, b'x')
    os.write(1, b'done\n')
";
    if cfg!(not(target_arch = "x86_64")) {
        return tallymon_testkit::skip("the number of clone(2) in the script is that of x86-64");
    }
    let started = std::process::Command::new("python3")
        .args(["-c", script, &file.display().to_string()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(child) = started else { return tallymon_testkit::skip("python3 is not installed") };
    let mut child = Ends(child);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.0.stdout.take().unwrap()));
    let mut input = child.0.stdin.take().unwrap();
    let pid: u32 = lines.next().unwrap().unwrap().parse().unwrap();
    let mut say = |word: &str| {
        std::io::Write::write_all(&mut input, word.as_bytes()).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "done");
    };
    // Until it sleeps.
    let begin = std::time::Instant::now();
    while !known(&mut tasks, pid).0 {
        assert!(begin.elapsed() < std::time::Duration::from_secs(60), "it never comes to rest");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let (_, priority, pages, files) = known(&mut tasks, pid);
    let priority_of = |priority: i32| {
        rustix::process::setpriority_process(
            rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()),
            priority,
        )
    };
    // Whatever niceness this test was started with, that is another one.
    let niced = 120 + 17;
    assert_ne!(priority, niced);
    priority_of(17).unwrap();
    assert_eq!(known(&mut tasks, pid), (false, niced, pages, files), "its priority was changed");
    assert_eq!(known(&mut tasks, pid), (true, niced, pages, files));
    say("open\n");
    let files = files.map(|files| files + 1);
    assert_eq!(known(&mut tasks, pid), (false, niced, pages, files), "a file was opened for it");
    // The first record for another request is never unchanged.
    tasks.read(TaskParts::CPU, |record| assert!(!record.is_unchanged())).unwrap();
    assert!(!known(&mut tasks, pid).0 && known(&mut tasks, pid).0);
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(0).unwrap();
    let (is_unchanged, _, left, _) = known(&mut tasks, pid);
    // Pages are 4 KiB, or there are fewer of them.
    assert!(!is_unchanged && left < pages, "{left} of {pages} pages are left");
    assert!(known(&mut tasks, pid).0);
    say("run\n");
    let begin = std::time::Instant::now();
    while known(&mut tasks, pid).0 {
        assert!(begin.elapsed() < std::time::Duration::from_secs(60), "it has run");
    }
}

#[test]
fn an_exit_record_has_the_final_usage() {
    let Some(tasks) = open(WalkMode::Walk) else { return };
    if let Some(refusal) = tasks.exits_refusal() {
        refusal.skip_test();
        return;
    }
    let script = "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; /bin/true";
    let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
    // Its clock has stopped, and can be read until somebody waits for the process.
    let clock = crate::kernel::clock::process_cpu_time(child.id()).unwrap();
    let stat = std::fs::read(format!("/proc/{}/stat", child.id())).unwrap();
    let stat = crate::kernel::proc::pid_stat::PidStat::parse(&stat).unwrap();
    let mut found = None;
    let number = child.id();
    let is_child = |end: super::exits::ExitRecord| (end.pid == number).then_some(end);
    tasks.take_exits(|end| found = found.or(is_child(end)));
    assert_eq!(found, None, "nobody has waited for it");
    child.wait().unwrap();
    let begin = std::time::Instant::now();
    while found.is_none() && begin.elapsed() < std::time::Duration::from_secs(60) {
        std::thread::sleep(std::time::Duration::from_millis(5));
        tasks.take_exits(|end| found = found.or(is_child(end)));
    }
    let end = found.expect("the kernel has told");
    assert_eq!((end.run_time, end.start / 10_000_000), (clock, stat.start_ticks));
    assert!(end.run_time > 1_000_000 && end.faults >= stat.minor_faults && end.flags & 0x0020_0000 == 0);
    assert!(end.reads > 0 && end.read_bytes > 0, "{end:?}");
}

#[test]
fn runs_with_little_capacity_return_the_same_tasks() {
    let Ok(mut many) = Tasks::open_with(WalkMode::Walk, 1) else {
        tallymon_testkit::skip_bpf("the kernel does not let us");
        return;
    };
    // More threads in a process than the first run has records for, or as many as requested.
    let threads: usize = std::env::var(THREADS).ok().and_then(|number| number.parse().ok()).unwrap_or(20);
    let (stop, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    let started: Vec<_> = (0..threads)
        .map(|_| {
            let wait = std::sync::Arc::clone(&wait);
            let thread = std::thread::Builder::new().stack_size(64 << 10);
            let body = move || {
                let _ = wait.lock().unwrap().recv();
            };
            thread.spawn(body).unwrap()
        })
        .collect();
    let own = std::process::id();
    let mut process = 0;
    let (mut tasks, mut of_own) = (Vec::new(), 0);
    many.read(TaskParts::default(), |record| {
        tasks.push(record.id());
        if record.is_process() {
            process = record.id();
        }
        of_own += usize::from(process == own);
    })
    .unwrap();
    let count = tasks.len();
    assert!(of_own > threads, "{of_own}");
    tasks.sort_unstable();
    tasks.dedup();
    assert_eq!(tasks.len(), count, "a task was given twice");
    drop(stop);
    started.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Sets the number of threads of the test above.
const THREADS: &str = "TALLYMON_TEST_THREADS";

#[test]
fn two_capabilities_suffice_and_one_does_not() {
    if let Ok(rights) = std::env::var(CAPABILITIES) {
        let opened = Tasks::open(WalkMode::Walk);
        match rights.as_str() {
            "bpf,perfmon" => {
                let mut count = 0;
                opened.unwrap().read(EVERYTHING, |_| count += 1).unwrap();
                assert!(count > 1);
            }
            _ => assert!(opened.unwrap_err().remedy.contains("CAP_PERFMON")),
        }
        return;
    }
    if open(WalkMode::Walk).is_some() {
        run_with_capabilities(&test_name(module_path!(), "two_capabilities_suffice_and_one_does_not"));
    }
}
