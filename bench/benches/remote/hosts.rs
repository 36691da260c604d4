//! 500 hosts each second: what they cost their reader, and how late its rows are. All of them answer a first
//! reader; a slow one and a dead one are among those of the rows, of a session and of the page.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::servers::{Net, Relay, Tls};
use tallymon_bench::running::{Group, Running};
use tallymon_testkit::PageAddress;

const HOSTS: usize = 500;
/// A server lets a peer have 32 connections, and 16 at a time show their keys.
const OF_SERVER: usize = 16;
const ROWS: usize = 20;
/// How long a slow host holds back each part of what it says, and of what it is asked.
const SLOW: Duration = Duration::from_millis(700);
/// The first connections, of which a slow one takes several times as long as its parts are held back.
const SETTLED: Duration = Duration::from_secs(15);
const PATH: &str = r"\Processor(_Total)\% Processor Time";

pub(crate) fn run(net: &Net) {
    let servers: Vec<Tls> = (0..HOSTS.div_ceil(OF_SERVER))
        .map(|nth| {
            let name = format!("farm{nth}");
            let server = Tls::start(net, &name);
            server.pair(net, &name, server.port);
            server
        })
        .collect();
    let line = |nth: usize| format!("host{nth} tls://127.0.0.1:{}\n", servers[nth / OF_SERVER].port);
    let all: String = (0..HOSTS).map(line).collect();
    watch(net, &servers, &format!("@{}", net.file("farm", &all, 0o600).display()), "all answer");
    // The slow one has a server to itself, which it shares with nobody who is in a hurry.
    let slow = Tls::start(net, "slow");
    let relay = Relay::slow(slow.port, SLOW);
    slow.pair(net, "slow", relay.port);
    let mut table: String = (0..HOSTS - 2).map(line).collect();
    table.push_str(&format!("slow tls://127.0.0.1:{}\ndead tls://127.0.0.1:1\n", relay.port));
    let table = format!("@{}", net.file("farm-sick", &table, 0o600).display());
    watch(net, &servers, &table, "one is slow, one is dead");
    session(net, &table);
    page(net, &table);
}

/// What a program uses of a core for so long.
fn share(group: &Group, time: Duration) -> f64 {
    let (begin, before) = (Instant::now(), group.cpu());
    thread::sleep(time);
    100.0 * (group.cpu() - before).as_secs_f64() / begin.elapsed().as_secs_f64()
}

/// A session over the hosts: its processor time, and what its log lacks.
fn session(net: &Net, table: &str) {
    let folder = net.path("logs");
    let mut command = net.tally();
    command.args(["log", "start", "farm", "-i", "1s", "-c", PATH, "-H", table, "-o", &folder]);
    let started = command.output().expect("it runs");
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    let shown = || -> Value {
        let output = net.tally().args(["log", "list", "--json"]).output().expect("it runs");
        serde_json::from_slice(&output.stdout).expect("it is JSON")
    };
    thread::sleep(SETTLED);
    let process = shown()[0]["process"].as_u64().expect("it runs");
    let group = Group::below(u32::try_from(process).expect("it is the number of a process"));
    let before = shown()[0]["records"].as_u64().unwrap_or_default();
    let used = share(&group, Duration::from_secs(ROWS as u64));
    let after = shown();
    let records = after[0]["records"].as_u64().unwrap_or_default() - before;
    let stopped = net.tally().args(["log", "stop", "farm"]).output().expect("it runs");
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    println!("a session over {HOSTS} hosts at 1 Hz, one slow, one dead");
    println!("session, of a core           {used:>8.1} %");
    println!("records in {ROWS} s             {records:>8}");
    println!("in trouble                   {}", after[0]["troubled_hosts"]);
    let log = fs::read_dir(&folder).expect("it is there").flatten().map(|entry| entry.path());
    let log = log.filter(|path| path.is_file()).max().expect("there is a log");
    let csv = net.path("farm.csv");
    let copied = net.tally().arg("relog").arg(&log).args(["-y", "-o", &csv]).output().expect("it runs");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let text = fs::read_to_string(&csv).expect("it is there");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split("\",\"").collect()).collect();
    let (head, last) = (rows[0].clone(), &rows[rows.len().saturating_sub(records as usize)..]);
    let lacks = |column: usize| {
        last.iter()
            .filter(|row| row.get(column).is_none_or(|cell| cell.trim_matches('"').trim().is_empty()))
            .count()
    };
    let of = |name: &str| head.iter().position(|path| path.contains(&format!(r"\\{name}\"))).map(lacks);
    let others: usize = (1..head.len()).filter(|column| !head[*column].contains(r"\\slow\")).map(lacks).sum();
    println!(
        "columns; cells without value {:>8} of the slow host: {:?}, of all others: {others}",
        head.len() - 1,
        of("slow")
    );
}

/// The page over the hosts: processor time of its server, and how long it takes to say how all are.
fn page(net: &Net, table: &str) {
    let mut command = net.tally();
    command.args(["serve", "--port", "0", "-i", "1s", "-H", table]);
    let mut server = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let address = PageAddress::read(server.0.stdout.take().expect("it is a pipe"));
    let group = Group::below(server.id());
    thread::sleep(SETTLED);
    let used = share(&group, Duration::from_secs(ROWS as u64));
    let mut times = Vec::new();
    let mut states = Vec::new();
    for _ in 0..ROWS / 2 {
        let begin = Instant::now();
        let (status, body) = address.ask("api/v1/fleet");
        times.push(begin.elapsed());
        assert_eq!(status, 200, "{body}");
        let rows: Vec<Value> = serde_json::from_str(&body).expect("it is JSON");
        let count = |state: &str| rows.iter().filter(|row| row["state"] == state).count();
        states.push(format!("{}-{}-{}", count("live"), count("late"), count("failed")));
        thread::sleep(Duration::from_secs(1));
    }
    times.sort();
    println!("the page over {HOSTS} hosts at 1 Hz, one slow, one dead");
    println!("server, of a core            {used:>8.1} %");
    println!(
        "answer about all hosts after {:>8.0} ms median, {:.0} ms most",
        1e3 * times[times.len() / 2].as_secs_f64(),
        1e3 * times[times.len() - 1].as_secs_f64()
    );
    println!("live - late - failed         {}", states.join(" "));
}

/// Rows on the screen.
fn watch(net: &Net, servers: &[Tls], table: &str, what: &str) {
    let mut command = net.tally();
    command.args(["watch", PATH, "--json", "-i", "1s", "-c"]);
    command.arg((ROWS + 1).to_string()).arg("-H").arg(table);
    command.stderr(Stdio::null());
    let mut reader = Running::start(command.stdout(Stdio::piped()));
    let of_reader = Group::below(reader.id());
    let groups: Vec<Group> = servers.iter().map(|server| Group::below(server.program.id())).collect();
    let of_servers = || groups.iter().map(Group::cpu).sum::<Duration>();
    let lines = BufReader::new(reader.0.stdout.take().expect("it is a pipe")).lines();
    let begin = Instant::now();
    let mut rows: Vec<(Instant, usize, usize)> = Vec::new();
    let mut first = None;
    let mut last = None;
    for line in lines.map_while(Result::ok) {
        let used = (Instant::now(), of_reader.cpu(), of_servers());
        first.get_or_insert(used);
        rows.push((used.0, line.matches("\"path\":").count(), line.matches("\"stale\":true").count()));
        last = Some(used);
    }
    let (Some(first), Some(last)) = (first, last) else { panic!("the reader printed nothing") };
    let share = |before: Duration, after: Duration| {
        100.0 * (after - before).as_secs_f64() / (last.0 - first.0).as_secs_f64()
    };
    println!("{HOSTS} hosts at 1 Hz by TLS, {} servers, {} rows: {what}", servers.len(), rows.len());
    println!("reader, of a core            {:>8.1} %", share(first.1, last.1));
    println!("all servers, of a core       {:>8.1} %", share(first.2, last.2));
    println!("first row after              {:>8.2} s", (first.0 - begin).as_secs_f64());
    let late = rows.iter().zip(0_u32..).map(|(row, nth)| (row.0 - first.0).as_secs_f64() - f64::from(nth));
    let late: Vec<f64> = late.collect();
    let least = late.iter().copied().fold(f64::INFINITY, f64::min);
    let mut late: Vec<f64> = late.iter().map(|late| 1e3 * (late - least)).collect();
    late.sort_by(f64::total_cmp);
    println!(
        "rows later than the earliest {:>8.0} ms median, {:.0} ms most",
        late[late.len() / 2],
        late[late.len() - 1]
    );
    let values: Vec<String> = rows.iter().map(|row| format!("{}-{}", row.1, row.2)).collect();
    println!("hosts in each row - stale    {}", values.join(" "));
}
