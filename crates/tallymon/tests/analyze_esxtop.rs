//! Findings of VMware's hosts: logs with the shape of those of `esxtop -b -a`, of machines whose trouble is
//! known.
// A test that cannot go on fails, and this whole program is tests.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::Path;

use tallymon::analyze::{Analysis, FindingKind, RuleSet, analyze};
use tallymon::log::{ReadOptions, Selection};
use tallymon_testkit::Scratch;

/// Virtual machines, with the number of their group and of their virtual processors.
const MACHINES: [(&str, u32, u32); 4] =
    [("web", 1302698, 2), ("db (new)", 1303673, 4), ("mail", 1303688, 1), ("batch", 1304663, 8)];

/// What is wrong from the 60th to the 120th of 180 rows; healthy elsewhere.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    Ready,
    Limited,
    Storage,
    Queue,
    Swapping,
    Aborts,
    Drops,
    Memory,
}

/// Numbers between 0 and 1 that look like chance, the same in each run.
fn chance(column: usize, row: u64) -> f64 {
    let mut bits = ((column as u64) << 32) ^ row ^ 0x9E37_79B9_7F4A_7C15;
    for _ in 0..3 {
        bits = (bits ^ (bits >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A column: its path behind the host, the value of a healthy host, and the one of the trouble.
type Columns = Vec<(String, f64, f64)>;

fn columns(trouble: Trouble) -> Columns {
    let mut all: Columns = Vec::new();
    let is = |one: Trouble| trouble == one;
    let bad = |one: Trouble, bad: f64, good: f64| if trouble == one { bad } else { good };
    let mut add = |path: String, good: f64, bad: f64| all.push((path, good, bad));
    add(r"Memory\Machine MBytes".to_owned(), 65_536.0, 65_536.0);
    add(r"Memory\Free MBytes".to_owned(), 9_000.0, bad(Trouble::Memory, 700.0, 9_000.0));
    add(r"Memory\Kernel State".to_owned(), 0.0, bad(Trouble::Memory, 2.0, 0.0));
    for processor in ["0", "1", "2", "3", "_Total"] {
        let busy = bad(Trouble::Ready, 97.0, 20.0);
        add(format!(r"Physical Cpu({processor})\% Processor Time"), 20.0, busy);
        add(format!(r"Physical Cpu({processor})\% Util Time"), 20.0, busy);
    }
    // Idle worlds are always ready, and no virtual processors.
    for processor in 0..4 {
        let world = format!("1:system:{}:idle{processor}", 65537 + processor);
        add(format!(r"Vcpu({world})\% Ready"), 90.0, 90.0);
        add(format!(r"Vcpu({world})\% CoStop"), 0.0, 0.0);
    }
    add(r"Group Cpu(1:system)\% Used".to_owned(), 5.0, 5.0);
    for (name, group, processors) in MACHINES {
        let is_batch = name == "batch";
        let used = if is_batch && is(Trouble::Ready) { 390.0 } else { 15.0 };
        add(format!(r"Group Cpu({group}:{name})\% Used"), 15.0, used);
        add(format!(r"Group Cpu({group}:{name})\% Ready"), 1.0, 40.0);
        for processor in 0..processors {
            let world = format!("{group}:{name}:{}:vmx-vcpu-{processor}:{name}", group + processor);
            let (ready, limited) = match trouble {
                Trouble::Ready => (35.0, 0.0),
                Trouble::Limited if name == "mail" => (40.0, 39.0),
                _ => (0.2, 0.0),
            };
            add(format!(r"Vcpu({world})\% Ready"), 0.2, ready);
            add(format!(r"Vcpu({world})\% Max Limited"), 0.0, limited);
            add(format!(r"Vcpu({world})\% CoStop"), 0.0, 0.0);
            let waits = if name == "web" { bad(Trouble::Swapping, 20.0, 0.0) } else { 0.0 };
            add(format!(r"Vcpu({world})\% Swap Wait"), 0.0, waits);
        }
        let reads = if name == "web" { bad(Trouble::Swapping, 12.0, 0.0) } else { 0.0 };
        add(format!(r"Group Memory({group}:{name})\Swap Read MBytes/sec"), 0.0, reads);
        add(format!(r"Group Memory({group}:{name})\Swap Written MBytes/sec"), 0.0, 0.0);
        add(format!(r"Group Memory({group}:{name})\Memctl MBytes"), 0.0, 0.0);
        add(format!(r"Group Memory({group}:{name})\Memory Consumed Size MBytes"), 4_096.0, 4_096.0);
        let commands = if name == "db (new)" { bad(Trouble::Storage, 900.0, 20.0) } else { 20.0 };
        add(format!(r"Virtual Disk({name})\Commands/sec"), 20.0, commands);
        add(format!(r"Virtual Disk({name}:scsi0:0)\Commands/sec"), 20.0, commands);
        let drops = if name == "web" { bad(Trouble::Drops, 8.0, 0.0) } else { 0.0 };
        let port = format!("vSwitch0:{}:{group}:{name}", 33_554_449 + group);
        add(format!(r"Network Port({port})\% Received Packets Dropped"), 0.0, drops);
        add(format!(r"Network Port({port})\% Outbound Packets Dropped"), 0.0, 0.0);
    }
    for disk in ["mpx.vmhba0:C0:T5:L0", "t10.ATA_____DREVO_X1_SSD____________TW1770103538________"] {
        let is_sick = disk.starts_with("t10");
        let of = |one: Trouble, sick: f64, good: f64| if is_sick { bad(one, sick, good) } else { good };
        let object = format!("Physical Disk SCSI Device({disk})");
        add(format!(r"{object}\Commands/sec"), 50.0, of(Trouble::Storage, 900.0, 50.0));
        add(format!(r"{object}\Average Driver MilliSec/Command"), 2.0, of(Trouble::Storage, 80.0, 2.0));
        add(format!(r"{object}\Average Kernel MilliSec/Command"), 0.02, of(Trouble::Queue, 9.0, 0.02));
        add(format!(r"{object}\Aborts/sec"), 0.0, of(Trouble::Aborts, 3.0, 0.0));
        add(format!(r"{object}\Resets/sec"), 0.0, 0.0);
    }
    all
}

/// Writes the log, with the column of each processor that has no name and no comma.
fn write(path: &Path, trouble: Trouble) {
    let columns = columns(trouble);
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    for (path, ..) in &columns {
        write!(text, ",\"\\\\esx01.example.com\\{path}\"").unwrap();
    }
    let state = |processor: u32| {
        format!("\"\\\\esx01.example.com\\PCPU Power State(PCPU {processor})\\%C-State C0\"")
    };
    writeln!(text, ",{},   -{},   -", state(0), state(1)).unwrap();
    for row in 0..180_u64 {
        let second = row * 5;
        let (hour, minute) = (10 + second / 3600, second / 60 % 60);
        write!(text, "\"04/26/2018 {hour:02}:{minute:02}:{:02}\"", second % 60).unwrap();
        for (at, (path, good, bad)) in columns.iter().enumerate() {
            let value = if (60..120).contains(&row) { bad } else { good };
            let noise = if path.ends_with("Kernel State") { 1.0 } else { 0.95 + 0.1 * chance(at, row) };
            write!(text, ",\"{:.2}\"", value * noise).unwrap();
        }
        writeln!(text, ",\"9.01\",    73.1\"8.93\",    70.{}", row % 10).unwrap();
    }
    std::fs::write(path, text).unwrap();
}

fn found(log: &Path) -> Analysis {
    let rules = RuleSet::built_in().unwrap();
    analyze(&[log.to_owned()], rules, &Selection::default(), &ReadOptions::default()).unwrap()
}

#[test]
fn the_trouble_of_a_host_is_the_first_finding() {
    let folder = Scratch::new();
    let log = folder.join("esxtop.csv");
    let cases: [(Trouble, &[&str], &str, Option<&str>); 8] = [
        (Trouble::Ready, &["esx-ready", "esx-busy"], "", Some("1304663:batch")),
        (Trouble::Limited, &["esx-limited"], "1303688:mail:", None),
        (Trouble::Storage, &["esx-device-slow"], "t10.ATA", Some("db (new)")),
        (Trouble::Queue, &["esx-kernel-latency"], "t10.ATA", None),
        (Trouble::Swapping, &["esx-swap-wait"], "1302698:web:", None),
        (Trouble::Aborts, &["esx-aborts"], "t10.ATA", None),
        (Trouble::Drops, &["esx-drops"], ":1302698:web", None),
        (Trouble::Memory, &["esx-memory-low"], "", None),
    ];
    for (trouble, ids, instance, cause) in cases {
        write(&log, trouble);
        let analysis = found(&log);
        let titles: Vec<&str> = analysis.findings.iter().map(|finding| finding.title.as_str()).collect();
        let first = analysis.findings.first().unwrap_or_else(|| panic!("{ids:?}: nothing was found"));
        let FindingKind::Rule { id, .. } = &first.kind else { panic!("{ids:?}: {titles:?}") };
        assert!(ids.contains(&id.as_str()), "{ids:?}: {titles:?}");
        assert!(first.instances[0].instance.contains(instance), "{ids:?}: {:?}", first.instances[0]);
        let seconds = first.instances[0].seconds;
        assert!((280.0..=305.0).contains(&seconds), "{ids:?}: {seconds} s");
        assert_eq!(first.host, "esx01.example.com");
        if let Some(cause) = cause {
            assert_eq!(first.causes.first().map(|cause| cause.instance.as_str()), Some(cause), "{ids:?}");
        }
        assert_eq!(analysis.notes[0].1.damage_count, 0, "{:?}", analysis.notes[0].1);
        let known = |name: &str| analysis.parameters.iter().find(|(known, _)| known == name).unwrap().1;
        let memory = known("memory_mb").unwrap();
        assert!((62_000.0..69_000.0).contains(&memory) && known("processors") == Some(4.0), "{memory}");
    }
}

#[test]
fn a_healthy_host_has_no_finding() {
    let folder = Scratch::new();
    let log = folder.join("esxtop.csv");
    write(&log, Trouble::None);
    let findings = found(&log).findings;
    assert!(findings.is_empty(), "{:?}", findings[0]);
}
