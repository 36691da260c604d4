//! Other programs that collect all processes. A program that is not installed is left out, with a message.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions};
use tallymon_bench::median;
use tallymon_linux::internals::process_cpu_time;

use crate::Row;

const ROUNDS: usize = 5;

/// All rows of other programs.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = libraries();
    for (program, arguments) in [
        ("ps", &["-e", "-o", "pid,comm,time,rss"][..]),
        ("ps", &["-eLo", "pid,tid,time,comm"]),
        ("pidstat", &["-u", "-r", "-d", "-p", "ALL"]),
        ("pidstat", &["-t", "-u", "-p", "ALL"]),
    ] {
        let name = format!("{program} {}", arguments.join(" "));
        rows.extend(Row::of(name, command(ROUNDS, || Command::new(program).args(arguments).spawn_silent())));
    }
    rows.extend(pcp());
    rows.extend(node_exporter());
    rows
}

fn libraries() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut system = sysinfo::System::new().expect("it knows Linux");
    let time = median(ROUNDS, || {
        system.refresh_processes(sysinfo::ProcessesToUpdate::All, true);
    });
    rows.push(Row { name: "sysinfo: refresh_processes, its default".to_string(), time });
    let mut system = sysinfo::System::new().expect("it knows Linux");
    let kind = sysinfo::ProcessRefreshKind::nothing().with_cpu().with_memory().without_tasks();
    let time = median(ROUNDS, || {
        system.refresh_processes_specifics(sysinfo::ProcessesToUpdate::All, true, kind);
    });
    rows.push(Row { name: "sysinfo: CPU and memory only, no threads".to_string(), time });
    let processes = || procfs::process::all_processes().expect("/proc is there").flatten();
    let time = median(ROUNDS, || {
        let stats = processes().flat_map(|process| process.stat());
        std::hint::black_box(stats.map(|stat| stat.utime).sum::<u64>());
    });
    rows.push(Row { name: "procfs: all_processes, stat of each".to_string(), time });
    let time = median(ROUNDS, || {
        for process in processes() {
            std::hint::black_box((process.stat().ok(), process.statm().ok()));
            std::hint::black_box((process.io().ok(), process.status().ok()));
        }
    });
    rows.push(Row { name: "procfs: stat, statm, io, status of each".to_string(), time });
    rows
}

/// The median CPU time of a program with a resolution of 1 ns; `None`, with a message, if it does not run.
fn command(rounds: usize, start: impl Fn() -> Option<Child>) -> Option<Duration> {
    let mut times: Vec<Duration> = (0..rounds).map_while(|_| cpu_time(start()?)).collect();
    times.sort();
    times.get(times.len() / 2).copied()
}

/// CPU time of a child until its end: its clock exists until the child is waited for.
fn cpu_time(mut child: Child) -> Option<Duration> {
    let pid = Pid::from_child(&child);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    rustix::process::waitid(WaitId::Pid(pid), options).ok()?;
    let time = process_cpu_time(child.id()).map(Duration::from_nanos);
    child.wait().ok().filter(|status| status.success())?;
    time
}

trait SpawnSilent {
    fn spawn_silent(&mut self) -> Option<Child>;
}

impl SpawnSilent for Command {
    fn spawn_silent(&mut self) -> Option<Child> {
        let child = self.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        child.map_err(|error| println!("{} is left out: {error}", self.get_program().display())).ok()
    }
}

/// Kills the process when dropped.
struct Ends(Child, Option<PathBuf>);

impl Drop for Ends {
    fn drop(&mut self) {
        // The PCP daemon ends its helpers only if it is asked to end.
        let _ = rustix::process::kill_process(Pid::from_child(&self.0), rustix::process::Signal::TERM);
        let _ = self.0.wait();
        if let Some(folder) = &self.1 {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// `pminfo -f proc`, with the daemon and its helper for processes, on this machine only.
fn pcp() -> Option<Row> {
    const PORT: &str = "44399";
    let folder = std::env::temp_dir().join(format!("tallymon-pcp-{}", std::process::id()));
    fs::create_dir_all(&folder).ok()?;
    let file = |name: &str| folder.join(name);
    fs::write(file("pmcd.conf"), "proc 3 pipe binary /usr/lib/pcp/pmdas/proc/pmdaproc -d 3\n").ok()?;
    let path = format!("{}:/usr/lib/pcp/bin", std::env::var("PATH").unwrap_or_default());
    let mut daemon = Command::new("/usr/lib/pcp/bin/pmcd");
    // The helper writes a log into its working directory.
    daemon.current_dir(&folder).env("PATH", &path).args([
        "-f",
        "-A",
        "-i",
        "127.0.0.1",
        "-p",
        PORT,
        "-T",
        "0",
    ]);
    daemon.arg("-c").arg(file("pmcd.conf")).arg("-l").arg(file("log")).arg("-s").arg(file("socket"));
    daemon.args(["-n", "/usr/lib/pcp/pmns/root_proc"]);
    let daemon = Ends(daemon.spawn_silent()?, Some(folder));
    let ask = || {
        let mut client = Command::new("pminfo");
        client.env("PMCD_PORT", PORT).args(["-h", "127.0.0.1", "-f", "proc"]).spawn_silent()
    };
    let begin = Instant::now();
    while cpu_time(ask()?).is_none() {
        sleep(Duration::from_millis(100));
        if begin.elapsed() > Duration::from_secs(20) {
            println!("pcp is left out: its daemon does not answer");
            return None;
        }
    }
    let children = format!("/proc/{0}/task/{0}/children", daemon.0.id());
    let helpers = fs::read_to_string(children).unwrap_or_default();
    let helpers: Vec<u32> = helpers.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    let pids: Vec<u32> = helpers.into_iter().chain([daemon.0.id()]).collect();
    let daemons = || Duration::from_nanos(pids.iter().filter_map(|pid| process_cpu_time(*pid)).sum());
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map_while(|_| {
            let before = daemons();
            Some(cpu_time(ask()?)? + (daemons() - before))
        })
        .collect();
    times.sort();
    Row::of("pcp: pminfo -f proc".to_string(), times.get(times.len() / 2).copied())
}

/// A scrape of node_exporter with its processes collector.
fn node_exporter() -> Option<Row> {
    const ADDRESS: &str = "127.0.0.1:44398";
    let mut daemon = Command::new("prometheus-node-exporter");
    daemon.args([&format!("--web.listen-address={ADDRESS}"), "--collector.processes"]);
    let daemon = Ends(daemon.spawn_silent()?, None);
    let scrape = || {
        let mut stream = TcpStream::connect(ADDRESS).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        text.contains("node_processes_pids").then_some(())
    };
    let begin = Instant::now();
    while scrape().is_none() {
        sleep(Duration::from_millis(100));
        if begin.elapsed() > Duration::from_secs(20) {
            println!("node_exporter is left out: it does not answer");
            return None;
        }
    }
    let now = || process_cpu_time(daemon.0.id()).map(Duration::from_nanos);
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map_while(|_| {
            let before = now()?;
            scrape()?;
            Some(now()? - before)
        })
        .collect();
    times.sort();
    Row::of("node_exporter: a scrape, processes as states".to_string(), times.get(times.len() / 2).copied())
}
