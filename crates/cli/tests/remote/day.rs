//! Long runs of a reader of another machine: what many samples leave open and take of memory, in the reader
//! and in the program that answers.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use tallymon::{Location, Query};
use tallymon_testkit::terminal::clean;
use tallymon_testkit::{attack, attack_count};

use crate::smbd::{PASSWORD, STRICT, Samba, passwords};
use crate::support::{Net, good};

/// Samples in an hour, one a second.
const HOUR: usize = 3_600;
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

/// In the environment of this program when it is the reader: the host, the path, and the samples to take.
const READER: [&str; 3] = ["TALLYMON_TEST_HOST", "TALLYMON_TEST_PATH", "TALLYMON_TEST_SAMPLES"];

/// The reader of a day, in a process of its own, whose memory and descriptors nothing else uses. It takes
/// samples as fast as they are answered, so its clock is simulated: one sample is one second. After each
/// tenth it writes a line, and goes on when it has read one.
#[test]
fn reader_of_a_day() {
    let [Ok(host), Ok(path), Ok(samples)] = READER.map(std::env::var) else { return };
    let location = Location::Remote {
        name: "far".to_string(),
        address: host.parse().unwrap(),
        timeout: Duration::from_secs(60),
    };
    let mut query = Query::open(&location).unwrap();
    let counter = query.add(&path).unwrap();
    let samples: usize = samples.parse().unwrap();
    for number in 1..=samples {
        query.collect().unwrap();
        let readings = query.readings_of(counter);
        assert!(!readings.is_empty(), "sample {number}");
        assert!(
            number == 1 || readings.iter().all(|reading| reading.value().cell.value.is_ok()),
            "sample {number}"
        );
        if number % (samples / 10) == 0 {
            println!("taken {number}");
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
    }
}

/// Reads a day of samples of a host, and compares what each process has after each tenth with the first one.
fn read_for_a_day(net: &Net, host: &str, path: &str, processes: usize) {
    let samples = attack_count(HOUR, 24 * HOUR).to_string();
    let mut command = clean(std::env::current_exe().unwrap());
    let bin = format!("{}:{}", net.folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    command.args(["day::reader_of_a_day", "--exact", "--nocapture", "--test-threads=1"]);
    command.env("PATH", bin).env("TALLY_ROOT", net.folder.join("root"));
    command.envs(READER.into_iter().zip([host, path, &samples]));
    let reader = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
    let mut reader = Reader(reader.unwrap());
    let mut go_on = reader.0.stdin.take().unwrap();
    let rows = BufReader::new(reader.0.stdout.take().unwrap()).lines();
    let mut first = Vec::new();
    let mut tenths = 0;
    for row in rows {
        let row = row.unwrap();
        // The harness may have begun this line.
        if !row.contains("taken ") {
            continue;
        }
        tenths += 1;
        if tenths == 1 {
            first = family(reader.0.id()).into_iter().map(|process| (process, Level::of(process))).collect();
            assert_eq!(first.len(), processes, "{host}");
        }
        for (process, first) in &first {
            let now = Level::of(*process);
            println!("{host}: {row}: {now:?}, first {first:?}");
            assert_eq!((now.files, now.threads), (first.files, first.threads), "{host}: {row}");
            assert!(now.memory <= first.memory + SLACK, "{host}: {row}: {now:?}, first {first:?}");
        }
        writeln!(go_on).unwrap();
    }
    assert!(reader.0.wait().unwrap().success(), "{host}");
    assert_eq!(tenths, 10, "{host}");
}

#[test]
fn attack_a_day_of_a_program_that_answers_over_ssh() {
    let net = Net::new(&[("far", &good())]);
    // The reader, and the program that answers in place of ssh.
    read_for_a_day(&net, "ssh://far", r"\Processor(*)\% Processor Time", 2);
    attack(
        "other machines",
        "a day of samples of 'tally serve --stdio', 86,400 one after the other",
        "descriptors, threads and memory of both programs stay as they were after a tenth of them",
    );
}

#[test]
fn attack_a_day_of_a_performance_registry() {
    let net = Net::new(&[]);
    let Some(samba) = Samba::start(&net.folder, "samba", STRICT) else { return };
    passwords(&net, &format!("nobody@* {PASSWORD}\n"));
    let host = format!("rrp://nobody@127.0.0.1:{}", samba.port);
    read_for_a_day(&net, &host, r"\Widgets(*)\Widget Count", 1);
    attack(
        "other machines",
        "a day of samples of the performance registry of Samba, 86,400 one after the other",
        "descriptors, threads and memory stay as they were after a tenth of them",
    );
}
