//! The monitor over several real servers, in a real terminal.

use tallymon_testkit::terminal::Terminal;

use crate::support::{AVAILABLE, Net, TALLY, has};
use crate::tls::Server;

/// Three servers with keys of their own, in a group of the table.
fn servers(net: &Net) -> Vec<Server> {
    let servers: Vec<Server> =
        ["one", "two", "three"].iter().map(|name| Server::start(net, name, &[])).collect();
    let mut table = String::new();
    for (number, server) in servers.iter().enumerate() {
        server.pair(net);
        table.push_str(&format!("web{} {} web\n", number + 1, server.address));
    }
    net.file("root/hosts", table.as_bytes());
    servers
}

pub(crate) fn open(net: &Net, words: &str) -> Option<Terminal> {
    let terminal = Terminal::open()?;
    terminal.tmux(&["resize-window", "-x", "120", "-y", "40"]);
    terminal
        .line(&format!("TALLY_ROOT={} LC_ALL=C.UTF-8 {TALLY} {words}", net.folder.join("root").display()));
    Some(terminal)
}

/// The line of a host.
fn line<'s>(screen: &'s str, host: &str) -> &'s str {
    screen.lines().find(|line| line.trim_start().starts_with(host)).unwrap_or("")
}

#[test]
fn one_that_is_stopped_and_one_that_ends_delay_none_of_the_others() {
    let net = Net::new(&[]);
    let mut servers = servers(&net);
    let Some(terminal) = open(&net, "mon -H web") else { return };
    terminal.wait_for(&["all hosts: 3 / 3"]);
    let screen = terminal.wait("loads of three hosts", |screen| {
        (1..=3).all(|number| {
            let line = line(screen, &format!("web{number}"));
            // Processors, memory and the age have numbers.
            line.contains("live")
                && line.split_whitespace().filter(|word| word.parse::<f64>().is_ok()).count() > 3
        })
    });
    has(&screen, &["Clock", "±"]);
    servers[1].signal("-STOP");
    servers[2].kill();
    terminal.wait_for(&["all hosts: 1 / 3", "late", "failed", "Connection refused", "retry in"]);
    // The first one goes on: its values are new.
    let screen = terminal.wait("a new value of the first", |screen| line(screen, "web1").contains(" 0 s "));
    assert!(line(&screen, "web1").contains("live"), "{screen}");
    // The chart says it in its legend.
    terminal.types("g");
    terminal.wait_for(&["web1", "web2", "web3", "% Processor Time"]);
    terminal.key("Down");
    terminal.wait_for(&["web2: no answer for ", "these are its last values"]);
    servers[1].signal("-CONT");
    servers[2].restart();
    terminal.types("I");
    terminal.wait_for(&["all hosts: 3 / 3"]);
    // Enter opens the overview of the chosen host.
    terminal.key("End");
    terminal.key("Enter");
    terminal.wait_for(&["─ web3 ", "Processors", "Processes"]);
    terminal.types("q");
}

#[test]
fn values_over_all_hosts_are_lines_of_the_chart() {
    let net = Net::new(&[]);
    let _servers = servers(&net);
    let words = format!("mon -H web --fleet sum,p50 '{AVAILABLE}'");
    let Some(terminal) = open(&net, &words) else { return };
    terminal.wait_for(&["web1", "web2", "web3", "_Fleet.sum", "_Fleet.p50"]);
    terminal.types("q");
}

#[test]
fn what_the_monitor_can_not_show_of_several_hosts_is_said() {
    let net = Net::new(&[("dead*", "exit 255")]);
    let Some(terminal) = Terminal::open() else { return };
    let path = format!("PATH={}:$PATH", net.folder.join("bin").display());
    let root = format!("TALLY_ROOT={}", net.folder.join("root").display());
    for (words, parts) in [
        // Nobody answers: each host is named, and the terminal is left as it was.
        ("mon -H ssh://dead1 -H ssh://dead2", &["ssh://dead1", "ssh://dead2", "code 6"][..]),
        ("mon -H ssh://dead1 --fleet sum", &["need several live hosts", "code 2"]),
        ("top -H ssh://dead1 -H ssh://dead2", &["names 2 hosts", "code 2"]),
    ] {
        terminal.line(&format!("clear; {path} {root} {TALLY} {words}; echo code $?"));
        terminal.wait_for(parts);
    }
}
