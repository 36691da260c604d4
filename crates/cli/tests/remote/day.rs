//! Long runs of a reader of another machine: what many samples leave open and take of memory, in the reader
//! and in the program that answers.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use tallymon_testkit::terminal::clean;
use tallymon_testkit::{attack, attack_count};

use crate::smbd::{PASSWORD, STRICT, Samba, passwords};
use crate::support::{AVAILABLE, Net, TALLY, good};

/// Kilobytes within which memory stays: an allocator keeps some pages.
const SLACK: u64 = 4096;

/// A reader that is ended with its test.
struct Reader(Child);

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a process has: open descriptors, threads, and kilobytes of anonymous memory.
#[derive(Debug, Clone, Copy)]
struct Level {
    files: usize,
    threads: usize,
    memory: u64,
}

impl Level {
    fn of(process: u32) -> Level {
        let folder = Path::new("/proc").join(process.to_string());
        let count = |name: &str| fs::read_dir(folder.join(name)).unwrap().count();
        let status = fs::read_to_string(folder.join("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        let memory = line.trim_end_matches("kB").trim().parse().unwrap();
        Level { files: count("fd"), threads: count("task"), memory }
    }
}

/// A process and those that it has started.
fn family(process: u32) -> Vec<u32> {
    let mut all = vec![process];
    for task in fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(children.split_whitespace().map(|child| child.parse::<u32>().unwrap()));
    }
    all
}

/// Reads many samples of a host, and compares an early moment with a late one.
fn read_for_long(net: &Net, host: &str, path: &str, samples: usize, processes: usize) {
    let mut command = clean(TALLY);
    let bin = format!("{}:{}", net.folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    command.args(["watch", path, "-H", host, "--timeout", "60s", "-i", "10ms", "--count"]);
    command.arg(samples.to_string()).env("PATH", bin).env("TALLY_ROOT", net.folder.join("root"));
    let reader = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
    let mut reader = Reader(reader.unwrap());
    let rows = BufReader::new(reader.0.stdout.take().unwrap()).lines();
    // The reader waits when nobody takes its rows, so it still runs at these.
    let (early, late) = (samples / 10, samples - 10);
    let mut before = Vec::new();
    let mut seen = 0;
    for row in rows {
        row.unwrap();
        seen += 1;
        if seen == early {
            before = family(reader.0.id()).into_iter().map(|process| (process, Level::of(process))).collect();
            assert_eq!(before.len(), processes, "{host}");
        }
        if seen == late {
            for (process, before) in &before {
                let now = Level::of(*process);
                println!("{host}: {before:?} after {early} samples, {now:?} after {late}");
                assert_eq!((now.files, now.threads), (before.files, before.threads), "{host}");
                assert!(now.memory <= before.memory + SLACK, "{host}: {now:?}, {before:?} before");
            }
        }
    }
    assert!(reader.0.wait().unwrap().success(), "{host}");
    assert!(seen >= samples, "{host}: {seen} rows");
}

#[test]
fn attack_many_samples_of_a_program_that_answers_over_ssh() {
    let net = Net::new(&[("far", &good())]);
    // The reader, and the program that answers in place of ssh.
    read_for_long(&net, "ssh://far", AVAILABLE, attack_count(300, 1_500), 2);
    attack(
        "other machines",
        "1,500 samples of 'tally serve --stdio', one after the other",
        "descriptors, threads and memory of both programs stay as they were after a tenth of them",
    );
}

#[test]
fn attack_many_samples_of_a_performance_registry() {
    let net = Net::new(&[]);
    let Some(samba) = Samba::start(&net, "samba", STRICT) else { return };
    passwords(&net, &format!("nobody@* {PASSWORD}\n"));
    let host = format!("rrp://nobody@127.0.0.1:{}", samba.port);
    read_for_long(&net, &host, r"\Widgets(*)\Widget Count", attack_count(300, 1_500), 1);
    attack(
        "other machines",
        "1,500 samples of the performance registry of Samba, one after the other",
        "descriptors, threads and memory stay as they were after a tenth of them",
    );
}
