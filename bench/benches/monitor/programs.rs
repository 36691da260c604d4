//! The whole program once a second, compared with other system monitors: CPU time and wake-ups, all at the
//! same time, each in a terminal of 200x50.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use tallymon_bench::WATCHED;

/// How long the programs run before the measurement, which excludes their start.
const SETTLE: Duration = Duration::from_secs(8);
const MEASURED: Duration = Duration::from_secs(60);

/// A program, with the arguments that make it show the machine once a second.
struct Program {
    name: &'static str,
    command: String,
}

/// A running program, and the resources that it had used at some time.
struct Running {
    name: &'static str,
    pid: String,
    before: Used,
}

#[derive(Clone, Copy, Default)]
struct Used {
    ticks: u64,
    switches: u64,
}

pub(crate) fn measure() {
    let socket = format!("tallymon-bench-{}", std::process::id());
    let folder = std::env::temp_dir().join(&socket);
    fs::create_dir_all(folder.join("btop")).expect("a folder for settings");
    fs::write(folder.join("btop/btop.conf"), "update_ms = 1000\n").expect("settings of btop");
    println!(
        "\nthe whole program at 200x50, once a second, all at the same time for {} s",
        MEASURED.as_secs()
    );
    let mut running = Vec::new();
    for program in programs(&folder) {
        match start(&socket, &program) {
            Some(pid) => running.push(Running { name: program.name, pid, before: Used::default() }),
            None => println!("{:24} left out: it did not start", program.name),
        }
    }
    sleep(SETTLE);
    for one in &mut running {
        one.before = used(&one.pid);
    }
    sleep(MEASURED);
    println!("{:24} {:>10} {:>14} {:>8}", "", "CPU", "wake-ups/s", "times");
    let second = rustix::param::clock_ticks_per_second() as f64;
    let mut ours = None;
    for one in &running {
        let now = used(&one.pid);
        let Some(ticks) = now.ticks.checked_sub(one.before.ticks) else {
            println!("{:24} it has ended", one.name);
            continue;
        };
        let share = ticks as f64 / second / MEASURED.as_secs_f64() * 100.0;
        let wakes = now.switches.saturating_sub(one.before.switches) as f64 / MEASURED.as_secs_f64();
        let ours = *ours.get_or_insert(share);
        println!("{:24} {share:>9.2}% {wakes:>14.1} {:>8.1}", one.name, share / ours);
    }
    tmux(&socket, &["kill-server"]);
    fs::remove_dir_all(&folder).ok();
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

/// Starts a program in its own terminal, and returns its process.
fn start(socket: &str, program: &Program) -> Option<String> {
    let command = format!("exec env {}", program.command);
    let size = ["new-session", "-d", "-P", "-F", "#{pane_pid}", "-x", "200", "-y", "50", &command];
    let output = tmux(socket, &size)?;
    let pid = output.trim().to_string();
    (!pid.is_empty()).then_some(pid)
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
fn used(pid: &str) -> Used {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    // The name is in parentheses and may contain anything; user and system time are 11 and 12 fields after
    // it.
    let stat = read(format!("/proc/{pid}/stat"));
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let switches = threads
        .map(|thread| read(thread.path().join("status").to_string_lossy().into_owned()))
        .filter_map(|status| {
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .sum();
    Used { ticks, switches }
}
