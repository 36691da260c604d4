//! The output of `collectl -P`: every number that it prints is the number that is read.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tallymon_log::{Cooker, ReadOptions, open, read_bytes};
use tallymon_testkit::{Scratch, peer};

/// The group, the name of a column, our counter with `{}` for the instance, and the factor. Every other
/// column has a counter of its own name.
const NAMES: &str = r"
CPU|User%|Processor States({})\% User|1
CPU|Nice%|Processor States({})\% Nice|1
CPU|Sys%|Processor States({})\% System|1
CPU|Wait%|Processor States({})\% IO Wait|1
CPU|Irq%|Processor({})\% Interrupt Time|1
CPU|Soft%|Processor({})\% DPC Time|1
CPU|Steal%|Processor States({})\% Steal|1
CPU|Idle%|Processor States({})\% Idle|1
CPU|Totl%|collectl processors({})\Totl%|1
CPU|Guest%|Processor States({})\% Guest|1
CPU|GuestN%|Processor States({})\% Guest Nice|1
CPU|Intrpt|Processor({})\Interrupts/sec|1
CPU|Intrpt/sec|Processor({})\Interrupts/sec|1
CPU|Ctx/sec|System\Context Switches/sec|1
CPU|Proc/sec|System Extended\Tasks Started/sec|1
CPU|L-Avg1|System Extended\Load Average 1 Minute|1
CPU|L-Avg5|System Extended\Load Average 5 Minutes|1
CPU|L-Avg15|System Extended\Load Average 15 Minutes|1
CPU|RunTot|System Extended\Tasks Running|1
CPU|BlkTot|System Extended\Tasks Blocked|1
MEM|Tot|Memory Details\Total Bytes|1024
MEM|Free|Memory\Free & Zero Page List Bytes|1024
MEM|Shared|Page Cache\Shared Memory Bytes|1024
MEM|Buf|Memory Details\Buffer Bytes|1024
MEM|Cached|Memory Details\Cached Bytes|1024
MEM|Slab|Memory Details\Slab Bytes|1024
MEM|Anon|Memory Details\Anonymous Bytes|1024
MEM|Commit|Memory\Committed Bytes|1024
MEM|SwapTot|Memory Details\Swap Total Bytes|1024
MEM|SwapUsed|Memory Details\Swap Used Bytes|1024
MEM|SwapFree|Memory Details\Swap Free Bytes|1024
MEM|Dirty|Page Cache\Dirty Bytes|1024
MEM|Inactive|Memory Details\Inactive Bytes|1024
MEM|PageIn|Memory Details\Page In Bytes/sec|1024
MEM|PageOut|Memory Details\Page Out Bytes/sec|1024
MEM|PageFaults|Memory\Page Faults/sec|1
MEM|PageMajFaults|Memory\Page Reads/sec|1
DSK|OpsTot|PhysicalDisk({})\Disk Transfers/sec|1
DSK|ReadTot|PhysicalDisk({})\Disk Reads/sec|1
DSK|WriteTot|PhysicalDisk({})\Disk Writes/sec|1
DSK|KbTot|PhysicalDisk({})\Disk Bytes/sec|1024
DSK|ReadKBTot|PhysicalDisk({})\Disk Read Bytes/sec|1024
DSK|WriteKBTot|PhysicalDisk({})\Disk Write Bytes/sec|1024
DSK|ReadMrgTot|Block Device({})\Read Merges/sec|1
DSK|WriteMrgTot|Block Device({})\Write Merges/sec|1
DSK|Reads|PhysicalDisk({})\Disk Reads/sec|1
DSK|RMerge|Block Device({})\Read Merges/sec|1
DSK|RKBytes|PhysicalDisk({})\Disk Read Bytes/sec|1024
DSK|WaitR|PhysicalDisk({})\Avg. Disk sec/Read|0.001
DSK|Writes|PhysicalDisk({})\Disk Writes/sec|1
DSK|WMerge|Block Device({})\Write Merges/sec|1
DSK|WKBytes|PhysicalDisk({})\Disk Write Bytes/sec|1024
DSK|WaitW|PhysicalDisk({})\Avg. Disk sec/Write|0.001
DSK|Request|PhysicalDisk({})\Avg. Disk Bytes/Transfer|1024
DSK|QueLen|PhysicalDisk({})\Avg. Disk Queue Length|1
DSK|Wait|PhysicalDisk({})\Avg. Disk sec/Transfer|0.001
DSK|Util|Block Device({})\% Active Time|1
NET|RxPktTot|Network Interface({})\Packets Received/sec|1
NET|TxPktTot|Network Interface({})\Packets Sent/sec|1
NET|RxKBTot|Network Interface({})\Bytes Received/sec|1024
NET|TxKBTot|Network Interface({})\Bytes Sent/sec|1024
NET|RxPkt|Network Interface({})\Packets Received/sec|1
NET|TxPkt|Network Interface({})\Packets Sent/sec|1
NET|RxKB|Network Interface({})\Bytes Received/sec|1024
NET|TxKB|Network Interface({})\Bytes Sent/sec|1024
";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name)
}

/// The local time of each record as collectl prints it, and its values by path without the host.
fn read(path: &Path) -> Vec<(String, HashMap<String, f64>)> {
    let mut log = open(path, &ReadOptions::default()).unwrap();
    let mut cooker = Cooker::default();
    let mut rows = Vec::new();
    while let Some(record) = log.next_record().unwrap() {
        let values = cooker.cook(&record);
        let paths = log.about().columns.iter().map(|column| match column.path.strip_prefix(r"\\") {
            Some(path) => path.split_once('\\').unwrap().1.to_owned(),
            None => column.path[1..].to_owned(),
        });
        let named = paths.zip(values).filter_map(|(path, value)| Some((path, value.ok()?.as_f64()?)));
        let minutes = i64::from(record.local_minutes) * 60 * 10_000_000;
        let local = tallymon_core::time::FileTime(record.time.0.checked_add_signed(minutes).unwrap());
        let time = local.system_time();
        let time = format!(
            "{:04}{:02}{:02} {:02}:{:02}:{:02}",
            time.year, time.month, time.day, time.hour, time.minute, time.second
        );
        rows.push((time, named.collect()));
    }
    assert_eq!(log.about().notes.damage, []);
    rows
}

/// Compares every number with what is read; how many there were.
fn compare(path: &Path) -> usize {
    let rows = read(path);
    let text = std::fs::read_to_string(path).unwrap();
    let heading = text.lines().find(|line| line.starts_with("#Date Time ")).unwrap();
    let names: Vec<&str> = heading.split(' ').skip(2).collect();
    let lines = text.lines().filter(|line| line.starts_with("20"));
    let (mut compared, mut nth) = (0, 0);
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let (time, values) = &rows[nth];
        assert_eq!(*time, words[..2].join(" "));
        nth += 1;
        for (name, printed) in names.iter().zip(&words[2..]) {
            let Ok(printed) = printed.parse::<f64>() else { continue };
            let (inside, name) = name[1..].split_once(']').unwrap();
            let (group, instance) = inside.split_once(':').unwrap_or((inside, "_Total"));
            if name == "Name" {
                continue;
            }
            let known = NAMES.lines().find_map(|line| {
                let [of, column, path, factor] = line.split('|').collect::<Vec<_>>()[..] else { return None };
                (of == group && column == name).then(|| (path.replace("{}", instance), factor))
            });
            let other = || match group {
                "CPU" | "MEM" => format!(r"collectl {group}\{name}"),
                "DSK" | "NET" => format!(r"collectl {group}({instance})\{name}"),
                _ if inside.contains(':') => format!(r"collectl {group} by instance({instance})\{name}"),
                _ => format!(r"collectl {group}\{name}"),
            };
            let (path, factor) = known.unwrap_or_else(|| (other(), "1"));
            let ours = *values.get(&path).unwrap_or_else(|| panic!("{line}: {path} is missing"));
            let expected = printed * factor.parse::<f64>().unwrap();
            assert!(
                (ours - expected).abs() < 1e-9 * expected.abs().max(1.0),
                "{path} is {ours}, not {expected}"
            );
            compared += 1;
        }
    }
    assert_eq!(nth, rows.len());
    compared
}

#[test]
fn recorded_outputs_have_the_values_that_are_printed() {
    for (name, least) in [("collectl.txt", 500), ("collectl-cpu.txt", 60), ("collectl-dsk.txt", 30)] {
        let compared = compare(&fixture(name));
        assert!(compared > least, "{name}: only {compared} values");
    }
}

#[test]
fn an_output_of_this_machine_has_the_values_that_are_printed() {
    let Some(collectl) = peer("collectl") else { return };
    let folder = Scratch::new();
    let mut command = Command::new(collectl);
    command.args(["-scdnmDNCjt", "-i1", "-c2", "-P"]).env("LC_ALL", "C").stderr(Stdio::null());
    let out = command.stdin(Stdio::null()).output().unwrap();
    let path = folder.join("collectl");
    std::fs::write(&path, out.stdout).unwrap();
    assert!(compare(&path) > 200);
}

#[test]
fn the_lines_about_the_machine_say_its_name_and_zone() {
    let mut log = open(&fixture("collectl-dsk.txt"), &ReadOptions::default()).unwrap();
    let first = log.next_record().unwrap().unwrap();
    assert_eq!(first.local_minutes, 330);
    assert_eq!(first.time.system_time().to_string(), "2026-11-23 14:40:41.000");
    assert!(log.about().columns.iter().all(|column| column.path.starts_with(r"\\web01\")));
    assert_eq!(log.about().writer.as_deref(), Some("collectl V4.3.1-1"));
}

#[test]
fn processes_are_instances_with_their_ids() {
    let path = fixture("collectl-processes.txt");
    let rows = read(&path);
    assert_eq!(rows.len(), 3);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut compared = 0;
    for line in text.lines().filter(|line| line.starts_with("20")) {
        let words: Vec<&str> = line.split(' ').collect();
        let time = words[..2].join(" ");
        let values = &rows.iter().find(|(known, _)| *known == time).unwrap().1;
        let id: f64 = words[2].parse().unwrap();
        let is_own =
            |path: &str| Some(path.strip_prefix("Process(")?.strip_suffix(r")\ID Process")?.to_owned());
        let name = values.iter().find_map(|(path, value)| (*value == id).then(|| is_own(path))?).unwrap();
        let program = words[29].rsplit('/').next().unwrap();
        assert!(name == program || name.starts_with(&format!("{program}#")), "{name} for {line}");
        let printed = |at: usize, factor: f64| words[at].parse::<f64>().unwrap() * factor;
        for (path, expected) in [
            (r"\Working Set", printed(10, 1024.0)),
            (r"\Virtual Bytes", printed(8, 1024.0)),
            (r"\% Processor Time", printed(18, 1.0)),
            (r"\Creating Process ID", printed(5, 1.0)),
            (r"\Page Faults/sec", printed(27, 1.0) + printed(28, 1.0)),
        ] {
            assert_eq!(values.get(&format!("Process({name}){path}")), Some(&expected), "{line}: {path}");
            compared += 1;
        }
    }
    assert!(compared > 50);
}

#[test]
fn what_can_not_be_read_is_named() {
    let raw = b"# Collectl:   V4.3.1-1\n# Host:       web01\n>>> 1795444839.001 <<<\ncpu 1 2 3\n";
    let error = read_bytes(raw, &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("collectl -p FILE -P"), "{error}");
    let packed = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0];
    let error = read_bytes(&packed, &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("unpack it first: gunzip"), "{error}");
    let text = "#Date Time [CPU]User% [CPU]Sys%\n20261123 14:40:06 1 2\n20261123 25:40:06 1 2\n\
        20261123 14:40:07 1\n";
    let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
    while log.next_record().unwrap().is_some() {}
    let lines: Vec<Option<u64>> = log.about().notes.damage.iter().map(|damage| damage.line).collect();
    assert_eq!(lines, [Some(3), Some(4)]);
}
