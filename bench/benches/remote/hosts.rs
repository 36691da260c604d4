//! 500 hosts each second: what they cost their reader, and how late its rows are.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::servers::{Net, Tls};
use tallymon_bench::running::{Group, Running};

const HOSTS: usize = 500;
/// A server lets a peer have 32 connections, and 16 at a time show their keys.
const OF_SERVER: usize = 16;
const ROWS: usize = 20;

pub(crate) fn run(net: &Net) {
    let servers: Vec<Tls> = (0..HOSTS.div_ceil(OF_SERVER))
        .map(|nth| {
            let name = format!("farm{nth}");
            let server = Tls::start(net, &name);
            server.pair(net, &name, server.port);
            server
        })
        .collect();
    let table: String = (0..HOSTS)
        .map(|nth| format!("host{nth} tls://127.0.0.1:{}\n", servers[nth / OF_SERVER].port))
        .collect();
    let file = net.file("farm", &table, 0o600);
    let mut command = net.tally();
    command.args(["watch", r"\Processor(_Total)\% Processor Time", "--json", "-i", "1s", "-c"]);
    command.arg((ROWS + 1).to_string()).arg("-H").arg(format!("@{}", file.display()));
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
    println!("{HOSTS} hosts at 1 Hz by TLS, {} servers, {} rows", servers.len(), rows.len());
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
