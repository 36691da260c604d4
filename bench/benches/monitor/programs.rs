//! The whole program once a second, compared with other system monitors: CPU time, wake-ups and bytes sent to
//! the terminal, all at the same time, each in a terminal of 200x50; on this machine as it is, and with 1,000
//! more processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use tallymon_bench::WATCHED;
use tallymon_bench::idle::Idle;
use tallymon_bench::running::Group;

/// How long the programs run before the measurement, which excludes their start.
const SETTLE: Duration = Duration::from_secs(8);
const MEASURED: Duration = Duration::from_secs(60);
/// How many more processes there are.
const PROCESSES: [usize; 2] = [0, 1_000];

/// A program, with the arguments that make it show the machine once a second.
struct Program {
    name: &'static str,
    command: String,
}

/// A running program, and the resources that it had used at some time.
struct Running {
    name: &'static str,
    pid: u32,
    /// What it has sent to its terminal.
    sent: PathBuf,
    before: Used,
}

#[derive(Clone, Copy, Default)]
struct Used {
    cpu: Duration,
    switches: u64,
    bytes: u64,
}

pub(crate) fn measure() {
    let socket = format!("tallymon-bench-{}", std::process::id());
    let folder = std::env::temp_dir().join(&socket);
    for (path, text) in SETTINGS {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap_or(&folder)).expect("a folder for settings");
        fs::write(file, text).expect("settings");
    }
    let programs = programs(&folder);
    for processes in PROCESSES {
        let idle = Idle::processes(processes);
        println!(
            "\nthe whole program at 200x50 with {} more processes, once a second, all together for {} s",
            idle.count(),
            MEASURED.as_secs()
        );
        together(&programs, &socket, &folder);
    }
    fs::remove_dir_all(&folder).ok();
}

/// Once a second for each, in the files where they look for it.
const SETTINGS: [(&str, &str); 2] = [("btop/btop.conf", "update_ms = 1000\n"), ("htop/htoprc", "delay=10\n")];

/// Runs all programs at the same time, and prints what each used.
fn together(programs: &[Program], socket: &str, folder: &Path) {
    let mut running = Vec::new();
    for program in programs {
        match start(socket, folder, program) {
            Some(started) => running.push(started),
            None => println!("{:24} left out: it did not start", program.name),
        }
    }
    sleep(SETTLE);
    for one in &mut running {
        one.before = used(one);
    }
    sleep(MEASURED);
    println!("{:24} {:>10} {:>14} {:>14} {:>8}", "", "CPU", "wake-ups/s", "bytes/update", "times");
    let mut ours = None;
    for one in &running {
        let now = used(one);
        let Some(cpu) = now.cpu.checked_sub(one.before.cpu).filter(|cpu| !cpu.is_zero()) else {
            println!("{:24} it has ended", one.name);
            continue;
        };
        let seconds = MEASURED.as_secs_f64();
        let share = cpu.as_secs_f64() / seconds * 100.0;
        let wakes = now.switches.saturating_sub(one.before.switches) as f64 / seconds;
        let bytes = now.bytes.saturating_sub(one.before.bytes) as f64 / seconds;
        let ours = *ours.get_or_insert(share);
        println!("{:24} {share:>9.2}% {wakes:>14.1} {bytes:>14.0} {:>8.1}", one.name, share / ours);
    }
    tmux(socket, &["kill-server"]);
}

/// Our program first, then the installed ones of the others.
fn programs(folder: &Path) -> Vec<Program> {
    let tally = tallymon_bench::built("tally");
    let paths = WATCHED.map(|path| format!("'{path}'")).join(" ");
    let ours = format!("'{}' mon {paths} -i 1s", tally.display());
    let mut programs = vec![
        Program { name: "tally", command: format!("'{}'", tally.display()) },
        Program { name: "tally mon", command: ours.clone() },
        Program { name: "tally mon --no-top", command: format!("{ours} --no-top") },
    ];
    let settings = folder.display();
    for (name, command) in [
        ("btop", format!("XDG_CONFIG_HOME='{settings}' btop --utf-force")),
        ("htop", format!("XDG_CONFIG_HOME='{settings}' htop")),
        ("btm", format!("XDG_CONFIG_HOME='{settings}' btm --rate 1000")),
    ] {
        let found = Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
        if found {
            programs.push(Program { name, command });
        } else {
            println!("{name:24} left out: it is not installed");
        }
    }
    programs
}

/// Starts a program in its own terminal, which also writes to a file what it is sent.
fn start(socket: &str, folder: &Path, program: &Program) -> Option<Running> {
    let command = format!("exec env {}", program.command);
    let form = "#{pane_id} #{pane_pid}";
    let size = ["new-session", "-d", "-P", "-F", form, "-x", "200", "-y", "50", &command];
    let output = tmux(socket, &size)?;
    let (pane, pid) = output.trim().split_once(' ')?;
    let sent = folder.join(format!("{pid}.sent"));
    tmux(socket, &["pipe-pane", "-O", "-t", pane, &format!("exec cat > '{}'", sent.display())])?;
    Some(Running { name: program.name, pid: pid.parse().ok()?, sent, before: Used::default() })
}

fn tmux(socket: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new("tmux")
        .args(["-L", socket, "-f", "/dev/null", "-u"])
        .args(arguments)
        .env_remove("TMUX")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The resources used by all threads of a process; nothing if it has ended.
fn used(one: &Running) -> Used {
    let pid = one.pid;
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let switches = threads
        .map(|thread| read(thread.path().join("status").to_string_lossy().into_owned()))
        .filter_map(|status| {
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .sum();
    // Threads that have ended are in the ticks of the process only.
    let cpu = Group::of([pid]).cpu().max(ticks(&read(format!("/proc/{pid}/stat"))));
    Used { cpu, switches, bytes: fs::metadata(&one.sent).map_or(0, |data| data.len()) }
}

/// Processor time by the clock ticks of a process.
fn ticks(stat: &str) -> Duration {
    // The name is in parentheses and may contain anything; user and system time are 11 and 12 fields after
    // it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}
