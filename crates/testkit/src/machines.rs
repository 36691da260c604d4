//! Machines of any size, made of files: what the cost of a sample grows with.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A machine with many of something.
#[derive(Debug, Clone, Copy)]
pub struct LargeMachine {
    /// What it has many of.
    pub name: &'static str,
    /// Title indexes of the objects that have an instance for each of them.
    pub objects: &'static [u32],
    /// Writes its `/proc` and `/sys` into a folder.
    pub write: fn(&Path, usize),
}

/// A machine for each thing that a large one may have many of.
pub const LARGE_MACHINES: [LargeMachine; 4] = [
    LargeMachine { name: "processors", objects: &[238, 900_000], write: processors },
    LargeMachine { name: "control groups", objects: &[1500, 902_400], write: control_groups },
    LargeMachine { name: "mounts", objects: &[236], write: mounts },
    LargeMachine { name: "disks", objects: &[234], write: disks },
];

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    if let Some(parent) = path.parent() {
        make_folder(parent);
    }
    if let Err(error) = fs::write(&path, text) {
        panic!("{}: {error}", path.display());
    }
}

fn make_folder(path: &Path) {
    if let Err(error) = fs::create_dir_all(path) {
        panic!("{}: {error}", path.display());
    }
}

/// With 64 processors a node, and 40 interrupts.
fn processors(folder: &Path, n: usize) {
    let (mut stat, mut heads) = (String::from("cpu  1 2 3 4 5 6 7 8 9 10\n"), String::from("    "));
    for number in 0..n {
        let _ = writeln!(stat, "cpu{number} {number} 2 3 4000 5 6 7 0 0 0");
        let _ = write!(heads, " CPU{number}");
    }
    stat.push_str(
        "intr 1000 1 2 3\nctxt 5000\nbtime 1700000000\nprocesses 77\nprocs_running 1\nprocs_blocked 0\n",
    );
    write(folder, "proc/stat", &stat);
    let row = |head: &str, first: usize| {
        (0..n).fold(format!("{head}:"), |mut row, number| {
            let _ = write!(row, " {}", first + number);
            row
        })
    };
    let interrupts: Vec<String> =
        (0..40).map(|number| row(&number.to_string(), number) + " IO-APIC edge x").collect();
    write(folder, "proc/interrupts", &format!("{heads}\n{}\n", interrupts.join("\n")));
    let softirqs: Vec<String> = ["TIMER", "NET_RX", "SCHED", "RCU"].map(|name| row(name, 5)).to_vec();
    write(folder, "proc/softirqs", &format!("{heads}\n{}\n", softirqs.join("\n")));
    for node in 0..n.div_ceil(64) {
        let last = (node * 64 + 63).min(n.saturating_sub(1));
        let name = format!("sys/devices/system/node/node{node}/cpulist");
        write(folder, &name, &format!("{}-{last}\n", node * 64));
    }
}

fn control_groups(folder: &Path, n: usize) {
    write(folder, "proc/uptime", "100.00 50.00\n");
    write(folder, "sys/fs/cgroup/cgroup.controllers", "cpu io memory pids\n");
    write(folder, "sys/fs/cgroup/cgroup.procs", "1\n");
    for number in 0..n {
        let group = format!("sys/fs/cgroup/system.slice/service-{number}.service");
        let file = |name: &str, text: &str| write(folder, &format!("{group}/{name}"), text);
        file("cgroup.procs", &format!("{}\n", 1000 + number));
        file("cpu.stat", &format!("usage_usec {number}\nuser_usec {number}\nsystem_usec 0\n"));
        file("memory.current", "4096\n");
        file("memory.stat", "anon 4096\nfile 8192\n");
        file("pids.current", "1\n");
    }
}

/// Each of a file system of its own.
fn mounts(folder: &Path, n: usize) {
    let (mut stats, mut mounts) = (String::new(), String::new());
    for number in 0..n {
        let (major, minor) = (260 + number / 256, number % 256);
        let _ = writeln!(stats, "{major} {minor} vd{number} {number} 0 80 5 6 0 70 9 0 10 11");
        let at = number + 30;
        let _ = writeln!(
            mounts,
            "{at} 1 {major}:{minor} / /data/{number} rw shared:{at} - ext4 /dev/vd{number} rw"
        );
    }
    write(folder, "proc/diskstats", &stats);
    write(folder, "proc/self/mountinfo", &mounts);
}

/// Each with a partition, which is mounted.
fn disks(folder: &Path, n: usize) {
    let (mut stats, mut mounts) = (String::new(), String::new());
    for number in 0..n {
        let (major, minor) = (260 + number / 100, number % 100 * 2);
        let _ = writeln!(stats, "{major} {minor} vd{number} {number} 0 80 5 6 0 70 9 0 10 11");
        let _ = writeln!(stats, "{major} {} vd{number}p1 {number} 0 80 5 6 0 70 9 0 10 11", minor + 1);
        let at = number + 30;
        let _ =
            writeln!(mounts, "{at} 1 {major}:{} / /data/{number} rw - ext4 /dev/vd{number}p1 rw", minor + 1);
        let block = format!("sys/block/vd{number}");
        write(folder, &format!("{block}/removable"), "0\n");
        write(folder, &format!("{block}/size"), "2048\n");
        for inner in ["slaves", &format!("vd{number}p1")] {
            make_folder(&folder.join(&block).join(inner));
        }
    }
    write(folder, "proc/diskstats", &stats);
    write(folder, "proc/self/mountinfo", &mounts);
}
