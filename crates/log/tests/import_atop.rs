//! The output of `atop -P`: rates are what atop says that grew, divided by its interval, and levels are what
//! it prints. `import_atop_raw` compares raw logs with this output.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tallymon_core::flow::Sample;
use tallymon_log::{Column, Cooker, ReadOptions, open, read_bytes};
use tallymon_testkit::{Scratch, peer};

/// The label, the place of a word behind the interval (behind the state for a process), how it is computed,
/// our counter with `{}` for the instance, and the factor. `/s` is what grew a second, `now` the value,
/// `%` the share of the times of the processor.
const VALUES: &str = r"
CPU|3|%|Processor States(_Total)\% User|1
CPU|2|%|Processor States(_Total)\% System|1
CPU|5|%|Processor States(_Total)\% Idle|1
CPU|6|%|System Extended\% IO Wait Time|1
cpu|2|%|Processor States({})\% System|1
cpu|4|%|Processor States({})\% Nice|1
cpu|5|%|Processor States({})\% Idle|1
cpu|6|%|Processor States({})\% IO Wait|1
cpu|7|%|Processor({})\% Interrupt Time|1
cpu|8|%|Processor({})\% DPC Time|1
cpu|9|%|Processor States({})\% Steal|1
CPL|1|now|System Extended\Load Average 1 Minute|1
CPL|2|now|System Extended\Load Average 5 Minutes|1
CPL|3|now|System Extended\Load Average 15 Minutes|1
CPL|4|/s|System\Context Switches/sec|1
CPL|5|/s|Processor(_Total)\Interrupts/sec|1
MEM|1|now|Memory Details\Total Bytes|4096
MEM|2|now|Memory\Free & Zero Page List Bytes|4096
MEM|3|now|Memory Details\Cached Bytes|4096
MEM|5|now|Memory Details\Slab Bytes|4096
MEM|6|now|Page Cache\Dirty Bytes|4096
MEM|20|now|Memory Extended\Page Table Bytes|4096
MEM|12|now|atop MEM\huge_page_size|1
SWP|4|now|Memory\Committed Bytes|4096
SWP|5|now|Memory\Commit Limit|4096
PAG|10|/s|Memory Details\Page In Bytes/sec|4096
PAG|11|/s|Memory Details\Page Out Bytes/sec|4096
PAG|1|/s|atop PAG\scans|1
PSI|4|/s|Pressure\% Processor Pressure Some|0.0001
PSI|16|/s|Pressure\% IO Pressure Some|0.0001
PSI|20|/s|Pressure\% IO Pressure Full|0.0001
PSI|1|now|atop PSI\processor_some_10_s|1
DSK|1|/s|Block Device({})\% Active Time|0.1
DSK|2|/s|PhysicalDisk({})\Disk Reads/sec|1
DSK|3|/s|PhysicalDisk({})\Disk Read Bytes/sec|512
DSK|4|/s|PhysicalDisk({})\Disk Writes/sec|1
DSK|5|/s|PhysicalDisk({})\Disk Write Bytes/sec|512
DSK|8|now|PhysicalDisk({})\Current Disk Queue Length|1
DSK|9|now|atop DSK({})\queue_while_busy|1
NET|1|/s|Network Interface({})\Packets Received/sec|1
NET|2|/s|Network Interface({})\Bytes Received/sec|1
NET|3|/s|Network Interface({})\Packets Sent/sec|1
NET|4|/s|Network Interface({})\Bytes Sent/sec|1
NET upper|1|/s|TCPv4\Segments Received/sec|1
NET upper|2|/s|TCPv4\Segments Sent/sec|1
NET upper|13|now|TCPv4\Connections Established|1
NET upper|7|/s|atop NET upper\IP_delivered|1
NUM|3|now|NUMA Node Memory({})\Total MBytes|0.00390625
NUM|5|now|atop NUM({})\active|4096
PRG|3|now|Process({})\Thread Count|1
PRC|1|/s|Process({})\% User Time|1
PRC|2|/s|Process({})\% Privileged Time|1
PRM|1|now|Process({})\Virtual Bytes|1024
PRM|2|now|Process({})\Working Set|1024
PRM|7|/s|atop PRM({})\major_faults|1
PRD|3|/s|atop PRD({})\Disk Read Bytes/sec|512
PRD|5|/s|atop PRD({})\Disk Write Bytes/sec|512
";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name)
}

/// The values of each record by path, without the host.
fn read(path: &Path) -> Vec<HashMap<String, f64>> {
    let mut log = open(path, &ReadOptions::default()).unwrap();
    let mut cooker = Cooker::default();
    let mut rows = Vec::new();
    while let Some(record) = log.next_record().unwrap() {
        let values = cooker.cook(&record);
        let paths =
            log.about().columns.iter().map(|column| {
                column.path.strip_prefix(r"\\").unwrap().split_once('\\').unwrap().1.to_owned()
            });
        rows.push(
            paths.zip(values).filter_map(|(path, value)| Some((path, value.ok()?.as_f64()?))).collect(),
        );
    }
    assert_eq!(log.about().notes.damage, []);
    rows
}

/// Compares what atop printed with what is read; how many numbers there were.
fn compare(path: &Path) -> usize {
    let rows = read(path);
    let text = std::fs::read_to_string(path).unwrap();
    let samples: Vec<&str> = text.split("\nSEP").map(str::trim).filter(|part| !part.is_empty()).collect();
    assert_eq!(rows.len(), samples.len());
    let mut compared = 0;
    for (nth, (row, sample)) in rows.iter().zip(samples).enumerate() {
        // Lines of threads: what each label has in their place.
        let is_thread = |line: &&str| {
            let place = ["PRG", "PRC", "PRM", "PRD"].iter().position(|label| line.starts_with(label));
            let tail = [" n 0 0 - ", " n ", " n ", " n n"];
            match place {
                Some(0) => line.contains(tail[0]),
                Some(1) => line.rsplit(' ').nth(5) == Some("n"),
                Some(2) => line.rsplit(' ').nth(6) == Some("n"),
                Some(3) => line.ends_with(tail[3]),
                _ => false,
            }
        };
        for line in sample.lines().filter(|line| *line != "RESET" && !is_thread(line)) {
            // Of graphics and of a module that few have.
            if ["PRN", "PRE", "CGR"].iter().any(|label| line.starts_with(label)) {
                continue;
            }
            let words: Vec<&str> = line.splitn(7, ' ').collect();
            let interval: f64 = words[5].parse().unwrap();
            let rest = words[6];
            let label = if rest.starts_with("upper") { "NET upper" } else { words[0] };
            let (instance, values): (String, Vec<&str>) = match label {
                _ if label.starts_with("PR") => {
                    let (id, after) = rest.split_once(' ').unwrap();
                    let id: f64 = id.parse().unwrap();
                    let of = |path: &String| {
                        path.strip_prefix("Process(")?.strip_suffix(r")\ID Process").map(str::to_owned)
                    };
                    let found = row.iter().find_map(|(path, value)| (*value == id).then(|| of(path))?);
                    let found = found.unwrap_or_else(|| panic!("{line}: no process has this id"));
                    // The names here have no `) X ` in them.
                    let state = after.find(") ").map(|_| {
                        let end = after.match_indices(") ").find(|(at, _)| {
                            after.as_bytes().get(at + 3) == Some(&b' ')
                                && after.as_bytes()[at + 2].is_ascii_uppercase()
                        });
                        end.unwrap().0 + 4
                    });
                    (found, after[state.unwrap()..].split(' ').collect())
                }
                "cpu" => (rest.split(' ').nth(1).unwrap().to_owned(), rest.split(' ').collect()),
                _ => (rest.split(' ').next().unwrap().to_owned(), rest.split(' ').collect()),
            };
            for known in VALUES.lines().filter(|known| !known.is_empty()) {
                let [of, place, how, path, factor] = known.split('|').collect::<Vec<_>>()[..] else {
                    panic!("{known}")
                };
                if of != label {
                    continue;
                }
                let path = path.replace("{}", &instance);
                let printed: f64 = values[place.parse::<usize>().unwrap()].parse().unwrap();
                let factor: f64 = factor.parse().unwrap();
                let expected = match how {
                    "now" => printed * factor,
                    "/s" => printed * factor / interval,
                    _ => {
                        let times: f64 = values[2..10].iter().map(|time| time.parse::<f64>().unwrap()).sum();
                        let guest: f64 = values[10].parse().unwrap();
                        let own = if place == "3" { printed - guest } else { printed };
                        own / times * 100.0
                    }
                };
                // A rate needs the sample before of the same process: a name of several may have been that of
                // another one.
                let id = format!(r"Process({instance})\ID Process");
                let is_new = || rows[nth - 1].get(&id) != row.get(&id);
                if how != "now" && (nth == 0 || label.starts_with("PR") && is_new()) {
                    continue;
                }
                let ours = *row.get(&path).unwrap_or_else(|| panic!("{line}: {path} is missing"));
                let near = expected.abs().max(1.0) * 1e-6;
                // Whole numbers in units of their own, such as MBytes, are cut.
                let near = if path.contains("MBytes") { 1.0 } else { near };
                assert!((ours - expected).abs() <= near, "{line}: {path} is {ours}, not {expected}");
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn a_recorded_output_has_the_values_that_are_printed() {
    let compared = compare(&fixture("atop-2.8.1.txt"));
    assert!(compared > 350, "only {compared} values");
}

/// What grew has done so in the interval of its sample, also when the sample before it is missing.
#[test]
fn rates_behind_a_missing_sample_are_those_of_their_interval() {
    let text = std::fs::read_to_string(fixture("atop-2.8.1.txt")).unwrap();
    let mut samples: Vec<&str> = text.split_inclusive("SEP\n").collect();
    samples.remove(2);
    let folder = Scratch::new();
    let path = folder.join("atop.txt");
    std::fs::write(&path, samples.concat()).unwrap();
    assert!(compare(&path) > 200);
}

/// The samples of a counter in each record.
fn samples(text: &str, path: &str) -> Vec<Option<Sample>> {
    let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
    let mut all = Vec::new();
    while let Some(record) = log.next_record().unwrap() {
        let is_it = |column: &Column| column.path.ends_with(path);
        let column = log.about().columns.iter().position(is_it);
        all.push(column.and_then(|column| record.cells.get(column)?.ok()));
    }
    all
}

/// The rate from one sample to another.
fn rate(from: &Sample, to: &Sample) -> f64 {
    (to.first - from.first) as f64 / ((to.second - from.second) as f64 / to.frequency.0 as f64)
}

/// What a damaged line says is lost, and so is its time: averages over it are those of the rest.
#[test]
fn a_damaged_line_makes_no_rate_too_low() {
    let text = std::fs::read_to_string(fixture("atop-2.8.1.txt")).unwrap();
    let path = r"PhysicalDisk(vda)\Disk Reads/sec";
    let whole = samples(&text, path);
    let expected = rate(&whole[2].unwrap(), &whole[3].unwrap());
    let disks: Vec<&str> =
        text.lines().filter(|line| line.starts_with("DSK ") && line.contains(" vda ")).collect();
    let (begin, last) = disks[2].rsplit_once(' ').unwrap();
    for damaged in
        [format!("{begin} x{last}"), disks[2].replace(" vda ", " "), disks[2].replacen("DSK ", "D", 1)]
    {
        let text = text.replacen(disks[2], &damaged, 1);
        let found = samples(&text, path);
        assert_eq!(found[2], None, "{damaged}");
        let over = rate(&found[1].unwrap(), &found[3].unwrap());
        assert!((over - expected).abs() < 1e-6, "{damaged}: {over}, not {expected}");
        // Other counters go on.
        let other = r"PhysicalDisk(vda)\Disk Reads/sec";
        assert_eq!(samples(&text, other)[1], whole[1]);
    }
}

/// A process without a line was idle, unless a line of its sample cannot be read.
#[test]
fn an_idle_process_is_told_from_a_damaged_line() {
    let stamp = |second: u32| format!("web01 {} 2026/11/23 15:40:{second:02} 1", 1_795_444_800 + second);
    let line = |second, id: u32, name: &str, ticks: u32| {
        let stamp = stamp(second);
        format!("PRC {stamp} {id} ({name}) S 100 {ticks} 0 0 120 0 0 0 0 {id} y 1 () 0 -3 -3\n")
    };
    let machine = |second| format!("CPL {} 4 0.1 0.2 0.3 1000 2000\nSEP\n", stamp(second));
    let sample = |second: u32, lines: &[(u32, &str, u32)]| {
        let lines = lines.iter().map(|(id, name, ticks)| line(second, *id, name, *ticks));
        lines.collect::<String>() + &machine(second)
    };
    let all = [
        "RESET\n".to_owned(),
        sample(0, &[(7, "busy", 10), (8, "idle", 10)]),
        sample(1, &[(7, "busy", 50), (8, "idle", 20)]),
        sample(2, &[(7, "busy", 50)]),
        sample(3, &[(7, "busy", 50), (8, "idle", 20)]),
    ]
    .concat();
    let idle = r"Process(idle)\% User Time";
    let busy = r"Process(busy)\% User Time";
    let share = |text: &str, path: &str| {
        let found = samples(text, path);
        // Times of 100 ns become percent.
        rate(&found[1].unwrap(), &found[3].unwrap()) / 1e5
    };
    assert!((share(&all, idle) - 10.0).abs() < 1e-9, "{}", share(&all, idle));
    assert!((share(&all, busy) - 50.0).abs() < 1e-9);
    let third = line(2, 7, "busy", 50);
    for damaged in [third.replace(" 50 ", " 5x "), third.replace("(busy) S", "(busy"), "PRC ??\n".to_owned()]
    {
        let text = all.replacen(&third, &damaged, 1);
        assert_eq!(samples(&text, busy)[2], None);
        assert!((share(&text, busy) - 50.0).abs() < 1e-9, "{damaged}: {}", share(&text, busy));
        // Whether this one was idle then is not known.
        assert!((share(&text, idle) - 20.0).abs() < 1e-9, "{damaged}: {}", share(&text, idle));
    }
}

/// Only an ASCII blank ends a word: others are part of a name.
#[test]
fn other_blanks_are_part_of_a_name() {
    let text = std::fs::read_to_string(fixture("atop-2.8.1.txt")).unwrap();
    let folder = Scratch::new();
    let path = folder.join("atop.txt");
    std::fs::write(&path, text.replace(" vda ", " v\u{2003}a ")).unwrap();
    let (named, plain) = (read(&path), read(&fixture("atop-2.8.1.txt")));
    let value = |rows: &[HashMap<String, f64>], disk: &str| {
        rows[1].get(&format!(r"PhysicalDisk({disk})\Disk Reads/sec")).copied()
    };
    assert!(value(&plain, "vda").is_some_and(|reads| reads > 0.0));
    assert_eq!(value(&named, "v\u{2003}a"), value(&plain, "vda"));
}

#[test]
fn an_output_of_this_machine_has_the_values_that_are_printed() {
    let Some(atop) = peer("atop") else { return };
    let folder = Scratch::new();
    let raw = folder.join("a.raw");
    // It records itself too, which it may not without rights.
    let ran =
        Command::new(&atop).arg("-w").arg(&raw).args(["1", "3"]).stdout(Stdio::null()).status().unwrap();
    assert!(ran.success());
    let out = Command::new(&atop).arg("-r").arg(&raw).args(["-P", "ALL"]).output().unwrap();
    let path = folder.join("atop.txt");
    std::fs::write(&path, &out.stdout).unwrap();
    assert!(compare(&path) > 200);
}

#[test]
fn names_with_brackets_threads_and_reused_ids() {
    let stamp = |second: u32| format!("web01 {} 2026/11/23 15:40:{second:02} 1", 1_795_444_800 + second);
    let line = |second, id, name: &str, state, ticks, kind| {
        format!(
            "PRC {} {id} ({name}) {state} 100 {ticks} 0 0 120 0 0 0 0 {id} {kind} 1 () 0 -3 -3\n",
            stamp(second)
        )
    };
    let text = [
        "RESET\n".to_owned(),
        line(0, 7, "a) b (c", "S", 10, "y"),
        line(0, 8, "a) b (c", "S", 5, "n"),
        line(0, 9, "worker", "S", 100, "y"),
        "SEP\n".to_owned(),
        line(1, 7, "a) b (c", "S", 50, "y"),
        line(1, 9, "worker", "E", 1, "y"),
        "SEP\n".to_owned(),
        // Another process got the id and the name.
        line(2, 9, "worker", "S", 3, "y"),
        "SEP\n".to_owned(),
        line(3, 9, "worker", "S", 25, "y"),
        "SEP\n".to_owned(),
    ]
    .concat();
    let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
    let mut cooker = Cooker::default();
    let mut rows: Vec<HashMap<String, f64>> = Vec::new();
    while let Some(record) = log.next_record().unwrap() {
        assert_eq!(record.local_minutes, 60);
        let values = cooker.cook(&record);
        let paths = log.about().columns.iter().map(|column| column.path.clone());
        rows.push(
            paths.zip(values).filter_map(|(path, value)| Some((path, value.ok()?.as_f64()?))).collect(),
        );
    }
    assert_eq!(log.about().notes.damage, []);
    let remarks = format!("{:?}", log.about().notes);
    assert!(remarks.contains("threads are not read"), "{remarks}");
    let user =
        |row: usize, name: &str| rows[row].get(&format!(r"\\web01\Process({name})\% User Time")).copied();
    let odd: Vec<&String> = rows[1].keys().filter(|path| path.contains("b (c")).collect();
    assert!(!odd.is_empty(), "{:?}", rows[1]);
    let of_odd = rows[1].iter().find(|(path, _)| path.contains("b (c") && path.ends_with("% User Time"));
    assert_eq!(of_odd.map(|(_, value)| *value), Some(50.0));
    assert_eq!(user(1, "worker"), Some(1.0));
    assert_eq!((user(2, "worker#1"), user(3, "worker#1")), (None, Some(25.0)));
}

#[test]
fn lines_that_are_wrong_are_named() {
    let text = std::fs::read_to_string(fixture("atop-2.8.1.txt")).unwrap();
    for (from, to, words) in [
        ("CPL web01 ", "CPL web01 x", "a line needs a label, a host, a time and an interval"),
        ("\nSWP web01", "\nSWP web02", ""),
        (
            "\nCPL web01 1795444801 2026/11/23 15:40:01 1 2 ",
            "\nCPL web01 1795444801 2026/11/23 15:40:01 1 2 x",
            "a value is not a number",
        ),
    ] {
        let hurt = text.replacen(from, to, 1);
        if hurt == text {
            panic!("{from:?} is not in the file");
        }
        let mut log = read_bytes(hurt.as_bytes(), &ReadOptions::default()).unwrap();
        let mut records = 0;
        while log.next_record().unwrap().is_some() {
            records += 1;
        }
        assert_eq!(records, 4);
        let damage = format!("{:?}", log.about().notes.damage);
        assert!(words.is_empty() || damage.contains(words), "{damage}");
    }
    assert!(read_bytes(b"\xef\xbe\xed\xfe rest", &ReadOptions::default()).is_err());
}
