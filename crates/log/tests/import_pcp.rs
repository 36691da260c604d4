//! Archives of Performance Co-Pilot: every value that `pmdumplog` prints of an archive is the raw value that
//! is read of it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::{BTreeSet, HashMap};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::Sample;
use tallymon_log::{Cooker, Format, ReadOptions, info, open, open_pcp};
use tallymon_testkit::{Pcp, Scratch, skip};

/// Metrics that become counters of Windows or of this project: the metric, the instance (`{}` for that of the
/// archive), the counter, and what our raw value is divided by. Every other metric keeps its name.
const METRICS: &str = r"
kernel.percpu.cpu.irq.hard|{}|Processor\% Interrupt Time|10000
kernel.percpu.cpu.irq.soft|{}|Processor\% DPC Time|10000
kernel.percpu.cpu.vuser|{}|Processor States\% User|10000
kernel.percpu.cpu.vnice|{}|Processor States\% Nice|10000
kernel.percpu.cpu.sys|{}|Processor States\% System|10000
kernel.percpu.cpu.idle|{}|Processor States\% Idle|10000
kernel.percpu.cpu.wait.total|{}|Processor States\% IO Wait|10000
kernel.percpu.cpu.steal|{}|Processor States\% Steal|10000
kernel.percpu.cpu.guest|{}|Processor States\% Guest|10000
kernel.percpu.cpu.guest_nice|{}|Processor States\% Guest Nice|10000
kernel.percpu.cpu.user|{}|kernel.percpu.cpu\user|10000
kernel.percpu.cpu.nice|{}|kernel.percpu.cpu\nice|10000
kernel.percpu.cpu.intr|{}|kernel.percpu.cpu\intr|10000
kernel.all.cpu.irq.hard|_Total|Processor\% Interrupt Time|1
kernel.all.cpu.irq.soft|_Total|Processor\% DPC Time|1
kernel.all.cpu.sys|_Total|Processor States\% System|1
kernel.all.cpu.idle|_Total|Processor States\% Idle|1
kernel.all.cpu.vuser|_Total|Processor States\% User|1
kernel.all.cpu.vnice|_Total|Processor States\% Nice|1
kernel.all.cpu.wait.total|_Total|Processor States\% IO Wait|1
kernel.all.cpu.steal|_Total|Processor States\% Steal|1
kernel.all.cpu.guest|_Total|Processor States\% Guest|1
kernel.all.cpu.guest_nice|_Total|Processor States\% Guest Nice|1
kernel.all.cpu.user|_Total|kernel.all.cpu\user|1
kernel.all.cpu.nice|_Total|kernel.all.cpu\nice|1
kernel.all.cpu.intr|_Total|kernel.all.cpu\intr|1
kernel.all.load|1 minute|System Extended\Load Average 1 Minute|1
kernel.all.load|5 minute|System Extended\Load Average 5 Minutes|1
kernel.all.load|15 minute|System Extended\Load Average 15 Minutes|1
kernel.all.pswitch||System\Context Switches/sec|1
kernel.all.sysfork||System Extended\Tasks Started/sec|1
kernel.all.running||System Extended\Tasks Running|1
kernel.all.blocked||System Extended\Tasks Blocked|1
kernel.all.nprocs||System\Threads|1
kernel.all.nptys||Kernel Objects\Pseudo Terminals|1
kernel.all.pid_max||Kernel Objects\Process ID Limit|1
kernel.all.entropy.avail||Kernel Objects\Entropy Bits|1
kernel.all.pressure.cpu.some.total||Pressure\% Processor Pressure Some|10
kernel.all.pressure.memory.some.total||Pressure\% Memory Pressure Some|10
kernel.all.pressure.memory.full.total||Pressure\% Memory Pressure Full|10
kernel.all.pressure.io.some.total||Pressure\% IO Pressure Some|10
kernel.all.pressure.io.full.total||Pressure\% IO Pressure Full|10
kernel.all.pressure.irq.full.total||Pressure\% Interrupt Pressure Full|10
proc.nprocs||System\Processes|1
disk.dev.total|{}|PhysicalDisk\Disk Transfers/sec|1
disk.dev.read|{}|PhysicalDisk\Disk Reads/sec|1
disk.dev.write|{}|PhysicalDisk\Disk Writes/sec|1
disk.dev.total_bytes|{}|PhysicalDisk\Disk Bytes/sec|1024
disk.dev.read_bytes|{}|PhysicalDisk\Disk Read Bytes/sec|1024
disk.dev.write_bytes|{}|PhysicalDisk\Disk Write Bytes/sec|1024
disk.dev.total_rawactive|{}|PhysicalDisk\% Disk Time|10000
disk.dev.read_rawactive|{}|PhysicalDisk\% Disk Read Time|10000
disk.dev.write_rawactive|{}|PhysicalDisk\% Disk Write Time|10000
disk.dev.aveq|{}|PhysicalDisk\Avg. Disk Queue Length|10000
disk.dev.inflight|{}|PhysicalDisk\Current Disk Queue Length|1
disk.dev.avactive|{}|Block Device\% Active Time|10000
disk.dev.read_merge|{}|Block Device\Read Merges/sec|1
disk.dev.write_merge|{}|Block Device\Write Merges/sec|1
disk.dev.discard|{}|Block Device\Discards/sec|1
disk.dev.discard_bytes|{}|Block Device\Discard Bytes/sec|1024
disk.dev.flush|{}|Block Device\Flushes/sec|1
disk.dev.capacity|{}|Block Device\Capacity Bytes|1024
disk.all.total|_Total|PhysicalDisk\Disk Transfers/sec|1
disk.all.read|_Total|PhysicalDisk\Disk Reads/sec|1
disk.all.write|_Total|PhysicalDisk\Disk Writes/sec|1
disk.all.total_bytes|_Total|PhysicalDisk\Disk Bytes/sec|1024
disk.all.read_bytes|_Total|PhysicalDisk\Disk Read Bytes/sec|1024
disk.all.write_bytes|_Total|PhysicalDisk\Disk Write Bytes/sec|1024
disk.all.aveq|_Total|PhysicalDisk\Avg. Disk Queue Length|10000
disk.all.total_rawactive|_Total|PhysicalDisk\Avg. Disk sec/Transfer|10000
mem.util.available|{}|Memory\Available Bytes|1024
mem.util.committed_AS|{}|Memory\Committed Bytes|1024
mem.util.commitLimit|{}|Memory\Commit Limit|1024
mem.util.free|{}|Memory\Free & Zero Page List Bytes|1024
mem.util.mapped|{}|Page Cache\Mapped Bytes|1024
mem.util.shmem|{}|Page Cache\Shared Memory Bytes|1024
mem.util.dirty|{}|Page Cache\Dirty Bytes|1024
mem.util.writeback|{}|Page Cache\Writeback Bytes|1024
mem.util.slabReclaimable|{}|Memory Extended\Reclaimable Slab Bytes|1024
mem.util.slabUnreclaimable|{}|Memory Extended\Unreclaimable Slab Bytes|1024
mem.util.kernelStack|{}|Memory Extended\Kernel Stack Bytes|1024
mem.util.pageTables|{}|Memory Extended\Page Table Bytes|1024
mem.util.anonhugepages|{}|Memory Extended\Huge Page Bytes|1024
mem.util.bufmem|{}|Memory Details\Buffer Bytes|1024
mem.util.cached|{}|Memory Details\Cached Bytes|1024
mem.util.swapTotal|{}|Memory Details\Swap Total Bytes|1024
mem.util.swapFree|{}|Memory Details\Swap Free Bytes|1024
mem.util.swapCached|{}|Memory Details\Swap Cached Bytes|1024
mem.util.active|{}|Memory Details\Active Bytes|1024
mem.util.inactive|{}|Memory Details\Inactive Bytes|1024
mem.util.anonpages|{}|Memory Details\Anonymous Bytes|1024
mem.util.slab|{}|Memory Details\Slab Bytes|1024
mem.util.vmallocUsed|{}|Memory Details\Vmalloc Used Bytes|1024
mem.vmstat.pgpgin|{}|Memory Details\Page In Bytes/sec|1024
mem.vmstat.pgpgout|{}|Memory Details\Page Out Bytes/sec|1024
mem.vmstat.pswpout|{}|Memory\Pages Output/sec|1
mem.vmstat.pswpin|{}|Memory Details\Swap In Pages/sec|1
mem.vmstat.pgfault|{}|Memory\Page Faults/sec|1
mem.vmstat.pgmajfault|{}|Memory\Page Reads/sec|1
mem.vmstat.pgscan_kswapd|{}|Page Cache\Pages Scanned by Daemon/sec|1
mem.vmstat.pgscan_direct|{}|Page Cache\Pages Scanned Directly/sec|1
mem.vmstat.pgsteal_kswapd|{}|Page Cache\Pages Reclaimed by Daemon/sec|1
mem.vmstat.pgsteal_direct|{}|Page Cache\Pages Reclaimed Directly/sec|1
mem.vmstat.oom_kill|{}|Memory Extended\Out of Memory Kills/sec|1
mem.vmstat.nr_dirtied|{}|Page Cache\Pages Dirtied/sec|1
mem.vmstat.nr_written|{}|Page Cache\Pages Written/sec|1
mem.physmem||Memory Details\Total Bytes|1024
network.interface.in.packets|{}|Network Interface\Packets Received/sec|1
network.interface.out.packets|{}|Network Interface\Packets Sent/sec|1
network.interface.in.bytes|{}|Network Interface\Bytes Received/sec|1
network.interface.out.bytes|{}|Network Interface\Bytes Sent/sec|1
network.interface.in.errors|{}|Network Interface\Packets Received Errors|1
network.interface.out.errors|{}|Network Interface\Packets Outbound Errors|1
network.interface.in.drops|{}|Network Interface\Packets Received Discarded|1
network.interface.out.drops|{}|Network Interface\Packets Outbound Discarded|1
network.tcp.currestab|{}|TCPv4\Connections Established|1
network.tcp.activeopens|{}|TCPv4\Connections Active|1
network.tcp.passiveopens|{}|TCPv4\Connections Passive|1
network.tcp.attemptfails|{}|TCPv4\Connection Failures|1
network.tcp.estabresets|{}|TCPv4\Connections Reset|1
network.tcp.insegs|{}|TCPv4\Segments Received/sec|1
network.tcp.outsegs|{}|TCPv4\Segments Sent/sec|1
network.tcp.retranssegs|{}|TCPv4\Segments Retransmitted/sec|1
network.tcp.inerrs|{}|TCP Details\Segments Received Errors/sec|1
network.tcp.outrsts|{}|TCP Details\Resets Sent/sec|1
network.tcp.listenoverflows|{}|TCP Extended\Listen Overflows/sec|1
network.tcp.listendrops|{}|TCP Extended\Listen Drops/sec|1
network.tcp.timeouts|{}|TCP Extended\Timeouts/sec|1
network.tcp.fastretrans|{}|TCP Extended\Fast Retransmits/sec|1
network.tcp.slowstartretrans|{}|TCP Extended\Slow Start Retransmits/sec|1
network.tcp.synretrans|{}|TCP Extended\SYN Retransmits/sec|1
network.udp.indatagrams|{}|UDPv4\Datagrams Received/sec|1
network.udp.outdatagrams|{}|UDPv4\Datagrams Sent/sec|1
network.udp.noports|{}|UDPv4\Datagrams No Port/sec|1
network.udp.inerrors|{}|UDPv4\Datagrams Received Errors|1
network.ip.inreceives|{}|IPv4\Datagrams Received/sec|1
network.ip.outrequests|{}|IPv4\Datagrams Sent/sec|1
network.ip.forwdatagrams|{}|IPv4\Datagrams Forwarded/sec|1
network.ip.indelivers|{}|IPv4\Datagrams Received Delivered/sec|1
network.ip.indiscards|{}|IPv4\Datagrams Received Discarded|1
network.ip.outdiscards|{}|IPv4\Datagrams Outbound Discarded|1
network.ip.outnoroutes|{}|IPv4\Datagrams Outbound No Route|1
filesys.capacity|{}|File System\Total Bytes|1024
filesys.free|{}|File System\Free Bytes|1024
filesys.avail|{}|File System\Available Bytes|1024
filesys.usedfiles|{}|File System\Files|1
filesys.freefiles|{}|File System\Files Free|1
filesys.readonly|{}|File System\Mounted Read Only|1
vfs.files.count||Kernel Objects\Open Files|1
vfs.files.max||Kernel Objects\Open File Limit|1
vfs.inodes.count||Kernel Objects\Inodes|1
vfs.inodes.free||Kernel Objects\Free Inodes|1
vfs.dentry.count||Kernel Objects\Directory Entries|1
vfs.dentry.free||Kernel Objects\Unused Directory Entries|1
vfs.aio.count||Kernel Objects\Asynchronous Requests|1
proc.psinfo.pid|{}|Process\ID Process|1
proc.psinfo.ppid|{}|Process\Creating Process ID|1
proc.psinfo.utime|{}|Process\% User Time|10000
proc.psinfo.stime|{}|Process\% Privileged Time|10000
proc.psinfo.minflt|{}|proc.psinfo\minflt|1
proc.psinfo.maj_flt|{}|proc.psinfo\maj_flt|1
proc.psinfo.vsize|{}|Process\Virtual Bytes|1024
proc.psinfo.rss|{}|Process\Working Set|1024
proc.psinfo.threads|{}|Process\Thread Count|1
proc.psinfo.priority|{}|proc.psinfo\priority|1
proc.memory.vmpeak|{}|Process\Virtual Bytes Peak|1024
proc.memory.vmhwm|{}|Process\Working Set Peak|1024
proc.memory.vmswap|{}|proc.memory\vmswap|1024
proc.io.rchar|{}|Process\IO Read Bytes/sec|1
proc.io.wchar|{}|Process\IO Write Bytes/sec|1
proc.io.syscr|{}|Process\IO Read Operations/sec|1
proc.io.syscw|{}|Process\IO Write Operations/sec|1
";

/// A record that `pmdumplog` printed: seconds of the day, and metric, instance and value.
type Dumped = (f64, Vec<(String, String, String)>);

fn seconds(text: &str) -> Option<f64> {
    let [hours, minutes, seconds] = text.split(':').collect::<Vec<_>>()[..] else { return None };
    let (hours, minutes): (f64, f64) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(hours * 3600.0 + minutes * 60.0 + seconds.parse::<f64>().ok()?)
}

/// Parses the output of `pmdumplog`.
fn parse(text: &str) -> Vec<Dumped> {
    let mut records: Vec<Dumped> = Vec::new();
    let mut metric = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if !line.starts_with(' ') {
            if let Some(time) = trimmed.split(' ').next().and_then(seconds) {
                records.push((time, Vec::new()));
            }
            continue;
        }
        let mut rest = trimmed;
        if !trimmed.starts_with("inst [") {
            let (name, behind) = trimmed.split_once(" (").unwrap().1.split_once("):").unwrap();
            metric = name.to_owned();
            rest = behind.trim();
        }
        let Some((head, value)) = rest.split_once("value ") else { continue };
        let instance = match head.trim().strip_prefix("inst [") {
            Some(named) => {
                named.split_once(" or ").unwrap().1.trim_end_matches(']').trim_matches('"').to_owned()
            }
            None => String::new(),
        };
        records.last_mut().unwrap().1.push((metric.clone(), instance, value.to_owned()));
    }
    records
}

struct Row {
    seconds: f64,
    samples: HashMap<String, Sample>,
    texts: HashMap<String, String>,
    stale: BTreeSet<String>,
}

fn read(path: &Path) -> Vec<Row> {
    let mut log = open(path, &ReadOptions::default()).unwrap();
    assert_eq!(log.about().format, Format::Pcp);
    let mut rows = Vec::new();
    let mut cooker = Cooker::default();
    while let Some(record) = log.next_record().unwrap() {
        cooker.cook(&record);
        let mut row =
            Row { seconds: 0.0, samples: HashMap::new(), texts: HashMap::new(), stale: BTreeSet::new() };
        row.seconds = record.time.unix_nanoseconds().rem_euclid(86_400_000_000_000) as f64 / 1e9;
        for (at, column) in log.about().columns.iter().enumerate() {
            let path = column.path.trim_start_matches('\\').split_once('\\').unwrap().1.to_owned();
            if log.is_stale(at) {
                row.stale.insert(path.clone());
            }
            if let Some(text) = log.text(at) {
                assert_eq!(column.counter_type, CounterType::PERF_COUNTER_TEXT);
                row.texts.insert(path.clone(), text.to_owned());
            }
            if let Some(Ok(sample)) = record.cells.get(at) {
                row.samples.insert(path, *sample);
            }
        }
        rows.push(row);
    }
    assert_eq!(log.about().notes.damage, []);
    rows
}

/// Names of processes are shortened, and several may be equal; their numbers are found by `ID Process`.
fn process(row: &Row, instance: &str) -> Option<String> {
    let number: u64 = instance.split(' ').next()?.parse().ok()?;
    let found = row.samples.iter().find(|(path, sample)| {
        path.starts_with("Process(") && path.ends_with(r")\ID Process") && sample.first == number
    });
    let path = found?.0;
    Some(path.strip_prefix("Process(")?.strip_suffix(r")\ID Process")?.to_owned())
}

fn compare(path: &Path, dumped: &str, at_least: usize) {
    let known: HashMap<&str, Vec<&str>> = METRICS
        .lines()
        .filter_map(|line| Some((line.split('|').next()?, line.split('|').skip(1).collect())))
        .filter(|(_, parts): &(_, Vec<&str>)| parts.len() == 3)
        .collect();
    // The three instances of one metric become three counters.
    let loads = [("1 minute", "1 Minute"), ("5 minute", "5 Minutes"), ("15 minute", "15 Minutes")];
    let rows = read(path);
    let mut compared = 0;
    for (time, values) in parse(dumped) {
        let row = rows.iter().rfind(|row| row.seconds <= time + 1e-6).expect("a row for each record");
        for (metric, instance, value) in values {
            let (prefix, name) = metric.rsplit_once('.').unwrap();
            let of_process = ["proc.psinfo.", "proc.memory.", "proc.io.", "proc.schedstat."]
                .iter()
                .any(|begin| metric.starts_with(begin));
            let shown = match of_process {
                true => match process(row, &instance) {
                    Some(name) => name,
                    // A process that ended while it was read has no number.
                    None => continue,
                },
                false if metric.starts_with("kernel.percpu.cpu.") => instance.replace("cpu", ""),
                false => instance.clone(),
            };
            let load = loads.iter().find(|(name, _)| metric == "kernel.all.load" && *name == instance);
            let (path, divisor) = match (load, known.get(metric.as_str())) {
                (Some((_, minutes)), _) => (format!(r"System Extended\Load Average {minutes}"), 1.0),
                (None, Some(parts)) => {
                    let instance = parts[0].replace("{}", &shown);
                    let (object, counter) = parts[1].split_once('\\').unwrap();
                    let object =
                        if instance.is_empty() { object.to_owned() } else { format!("{object}({instance})") };
                    (format!(r"{object}\{counter}"), parts[2].parse::<f64>().unwrap())
                }
                (None, None) => {
                    let find =
                        |path: String| row.samples.contains_key(&path) || row.texts.contains_key(&path);
                    let named = |prefix: &str, counter: &str, instance: &str| match instance {
                        "" => format!(r"{prefix}\{counter}"),
                        _ => format!(r"{prefix}({instance})\{counter}"),
                    };
                    // A family of metrics has the rest of the name as its counter.
                    let mut dots: Vec<(String, String)> = vec![(prefix.to_owned(), name.to_owned())];
                    for (at, _) in metric.match_indices('.') {
                        dots.push((metric[..at].to_owned(), metric[at + 1..].to_owned()));
                    }
                    let total = if instance.is_empty() { "_Total" } else { &shown };
                    let path = dots
                        .iter()
                        .flat_map(|(object, rest)| [named(object, rest, &shown), named(object, rest, total)])
                        .find(|path| find(path.clone()))
                        .unwrap_or_else(|| panic!("{metric} [{instance}] {value} is lost"));
                    (path, f64::NAN)
                }
            };
            assert!(!row.stale.contains(&path), "{path} is old");
            if let Some(text) = value.strip_prefix('"') {
                // pmdumplog cuts long texts.
                let text = text.strip_suffix('"').unwrap_or(text).trim_end_matches("...");
                let ours = row.texts.get(&path).unwrap_or_else(|| panic!("{metric}: {path} has no text"));
                assert!(ours.starts_with(text), "{metric} [{instance}]: {text:?} and {ours:?}");
                compared += 1;
                continue;
            }
            let Ok(theirs) = value.parse::<f64>() else { continue };
            let sample = row.samples.get(&path).unwrap_or_else(|| panic!("{metric} [{instance}]: no {path}"));
            let raw = match sample.counter_type {
                CounterType::PERF_DOUBLE_RAW => f64::from_bits(sample.first),
                _ => sample.first as f64,
            };
            let stamp = sample.time.unix_nanoseconds().rem_euclid(86_400_000_000_000) as f64 / 1e9;
            assert!((stamp - time).abs() < 1e-5, "{path} is of {stamp}, not of {time}");
            // Metrics without a line above are multiplied by the unit that the archive names.
            let units = [1.0, 1024.0, 1_048_576.0, 10.0, 10_000.0, 10_000_000.0, 0.01, 1e6];
            let fits =
                |unit: f64| (raw / unit - theirs).abs() <= theirs.abs() * 1e-6 + (1.0 / unit).max(1e-6);
            let fits = if divisor.is_nan() { units.into_iter().any(fits) } else { fits(divisor) };
            assert!(fits, "{metric} [{instance}] is {value}, {path} is {raw}");
            compared += 1;
        }
    }
    assert!(compared >= at_least, "only {compared} values were compared");
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name)
}

#[test]
fn recorded_archives_have_the_values_that_pmdumplog_printed() {
    for version in ["pcp-v2", "pcp-v3"] {
        let dumped = std::fs::read_to_string(fixture(&format!("{version}.txt"))).unwrap();
        for path in [format!("{version}.0"), format!("{version}.meta"), version.to_owned()] {
            compare(&fixture(&path), &dumped, 500);
        }
    }
}

/// What `pmrep -u -o csv` prints of one metric: its instances, and the values of each record by its time.
struct Printed {
    metric: String,
    instances: Vec<String>,
    rows: Vec<(f64, Vec<Option<f64>>)>,
}

/// Parses sections, each with a line `== metric` and what was printed of it.
fn parse_pmrep(text: &str) -> Vec<Printed> {
    let section = |section: &str| {
        let mut lines = section.lines();
        let metric = lines.next()?.trim().to_owned();
        // A text, or a metric without an instance, is an error of pmrep.
        let heads = lines.next()?.strip_prefix("Time,")?;
        let name = |head: &str| {
            let name = head.trim_matches('"').strip_prefix(metric.as_str()).unwrap_or_default();
            name.strip_prefix('-').unwrap_or_default().to_owned()
        };
        let instances = heads.split("\",\"").map(name).collect();
        let row = |line: &str| {
            let (time, values) = line.split_once(',')?;
            Some((seconds(time)?, values.split(',').map(|value| value.parse().ok()).collect()))
        };
        let rows = lines.filter_map(row).collect();
        Some(Printed { metric, instances, rows })
    };
    text.split("== ").filter_map(section).collect()
}

/// What a printed value is multiplied by to be ours: shares of a time are milliseconds or microseconds in a
/// second there, and percent here.
fn factor_of_pmrep(metric: &str, processors: f64) -> f64 {
    match metric {
        _ if metric.starts_with("kernel.percpu.cpu.") => 0.1,
        _ if metric.starts_with("kernel.all.cpu.") => 0.1 / processors,
        _ if metric.starts_with("kernel.all.pressure.") => 1e-4,
        _ if metric.ends_with(".aveq") => 1e-3,
        _ if metric.ends_with("active") => 0.1,
        _ if metric.starts_with("disk.") && metric.ends_with("_bytes") => 1024.0,
        "mem.vmstat.pgpgin" | "mem.vmstat.pgpgout" | "filesys.capacity" | "filesys.free"
        | "filesys.avail" | "mem.physmem" => 1024.0,
        _ if metric.starts_with("mem.util.") => 1024.0,
        _ => 1.0,
    }
}

/// Compares the values of counters with those that `pmrep` computes from the same archive. Returns how many
/// are rates, and how many are values of the time.
fn compare_computed(path: &Path, printed: &str) -> (usize, usize) {
    let known: HashMap<&str, (&str, &str)> = METRICS
        .lines()
        .filter_map(|line| match line.split('|').collect::<Vec<_>>()[..] {
            [metric, instance, counter, _] => Some((metric, (instance, counter))),
            _ => None,
        })
        .collect();
    let mut log = open(path, &ReadOptions::default()).unwrap();
    let mut cooker = Cooker::default();
    // The values of each path, by the time of its sample.
    let mut values: HashMap<String, Vec<(f64, CounterType, f64)>> = HashMap::new();
    while let Some(record) = log.next_record().unwrap() {
        let cooked = cooker.cook(&record);
        for (at, column) in log.about().columns.iter().enumerate().filter(|(at, _)| !log.is_stale(*at)) {
            let (Some(Ok(sample)), Some(Ok(value))) = (record.cells.get(at), cooked.get(at)) else {
                continue;
            };
            let Some(value) = value.as_f64() else { continue };
            let time = sample.time.unix_nanoseconds().rem_euclid(86_400_000_000_000) as f64 / 1e9;
            let path = column.path.trim_start_matches('\\').split_once('\\').unwrap().1.to_owned();
            values.entry(path).or_default().push((time, column.counter_type, value));
        }
    }
    let (mut rates, mut levels) = (0, 0);
    let printed = parse_pmrep(printed);
    let processors =
        printed.iter().find(|one| one.metric == "kernel.percpu.cpu.idle").unwrap().instances.len();
    for Printed { metric, instances, rows } in printed {
        let Some((place, counter)) = known.get(metric.as_str()) else { continue };
        // Ours is the time of one transfer, which has no metric.
        if metric == "disk.all.total_rawactive" || metric.starts_with("proc.") {
            continue;
        }
        let is_rate = rows[0].1.iter().all(Option::is_none);
        for (at, instance) in instances.iter().enumerate() {
            let shown = match metric.starts_with("kernel.percpu.cpu.") {
                true => instance.replace("cpu", ""),
                false => instance.clone(),
            };
            let shown = place.replace("{}", &shown);
            let (object, name) = counter.split_once('\\').unwrap();
            let path = match (metric.as_str(), shown.as_str()) {
                // The instances of this metric are counters.
                ("kernel.all.load", _) => {
                    let minutes = instance.replace("minute", "Minutes").replace("1 Minutes", "1 Minute");
                    format!(r"System Extended\Load Average {minutes}")
                }
                (_, "") => (*counter).to_owned(),
                _ => format!(r"{object}({shown})\{name}"),
            };
            for (time, row) in &rows {
                let Some(theirs) = row[at] else { continue };
                let of_path = values.get(&path).map_or(&[][..], Vec::as_slice);
                let Some((_, counter_type, ours)) =
                    of_path.iter().find(|(own, ..)| (own - time).abs() < 2e-6)
                else {
                    panic!("{metric} [{instance}] is {theirs} at {time}: {path} has {of_path:?}");
                };
                let is_total = [
                    CounterType::PERF_COUNTER_RAWCOUNT,
                    CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
                    CounterType::PERF_DOUBLE_RAW,
                ];
                // Counters of NT that are totals, such as errors of an interface.
                if is_rate && is_total.contains(counter_type) {
                    continue;
                }
                let expected = theirs * factor_of_pmrep(&metric, processors as f64);
                // pmrep prints nine places. Ours of all processors are shares of their time as they counted
                // it themselves, those of pmrep of the time of the clock.
                let share = if metric.starts_with("kernel.all.cpu.") { 0.02 } else { 1e-5 };
                let near = (ours - expected).abs() <= share * expected.abs() + 1e-6;
                assert!(near, "{metric} [{instance}] at {time}: {path} is {ours}, not {expected}");
                if is_rate { rates += 1 } else { levels += 1 }
            }
        }
    }
    (rates, levels)
}

#[test]
fn computed_values_are_those_of_pmrep() {
    // `pmrep` loads its library by a name that only an installed one has.
    const START: &str = "import ctypes.util, glob, runpy, sys\n\
        plain, root = ctypes.util.find_library, sys.argv[1]\n\
        def find(name):\n    \
            found = [one for way in ('', '/*') for one in glob.glob(f'{root}/usr/lib{way}/lib{name}.so.*')]\n    \
            return found[0] if found else plain(name)\n\
        ctypes.util.find_library = find\n\
        sys.path.insert(0, root + '/usr/lib/python3/dist-packages')\n\
        sys.argv = sys.argv[2:]\n\
        runpy.run_path(sys.argv[0], run_name='__main__')\n";
    let mut compared = (0, 0);
    for version in ["pcp-v2", "pcp-v3"] {
        let recorded = std::fs::read_to_string(fixture(&format!("{version}.pmrep"))).unwrap();
        let path = fixture(&format!("{version}.0"));
        let (rates, levels) = compare_computed(&path, &recorded);
        compared = (compared.0 + rates, compared.1 + levels);
        let Some(pcp) = Pcp::find() else { continue };
        // What pmrep of this machine prints is compared too: a few metrics of each kind.
        let mut fresh = String::new();
        for metric in ["kernel.percpu.cpu.idle", "kernel.all.pswitch", "disk.dev.total", "mem.util.free"] {
            let pmrep = pcp.command("/usr/bin/pmrep");
            let environment: Vec<_> = pmrep
                .get_envs()
                .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
                .collect();
            let mut python = Command::new("/usr/bin/python3");
            for (name, value) in environment {
                python.env(name, value.unwrap_or_default());
            }
            python.args(["-c", START]).arg(pcp.path("/")).arg(pmrep.get_program());
            python.arg("-a").arg(fixture(version));
            python.args(["-u", "-z", "-o", "csv", "-P", "9", "-f", "%H:%M:%S.%f", metric]);
            let out = python.output().unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            fresh += &format!("== {metric}\n{}", String::from_utf8(out.stdout).unwrap());
        }
        let (rates, levels) = compare_computed(&path, &fresh);
        assert!(rates >= 10 && levels >= 3, "{rates} rates and {levels} levels of pmrep");
    }
    assert!(compared.0 > 150 && compared.1 > 100, "{compared:?} values were compared");
}

#[test]
fn metrics_with_another_interval_keep_their_rates() {
    let info = info(&fixture("pcp-v3.0"), &ReadOptions::default()).unwrap();
    assert_eq!(info.notes.damage, []);
    let mut log = open(&fixture("pcp-v3.0"), &ReadOptions::default()).unwrap();
    let mut cooker = Cooker::default();
    let (mut rates, mut old) = (0, 0);
    while let Some(record) = log.next_record().unwrap() {
        let values = cooker.cook(&record);
        let faults =
            log.about().columns.iter().position(|column| column.path.ends_with(r"\Memory\Page Faults/sec"));
        let Some(faults) = faults.filter(|at| *at < values.len()) else { continue };
        match (&values[faults], log.is_stale(faults)) {
            (Ok(value), false) => {
                assert!(value.as_f64().unwrap() > 1.0, "a busy machine has page faults: {value:?}");
                rates += 1;
            }
            (Err(_), true) => old += 1,
            _ => {}
        }
    }
    assert!(rates >= 1 && old >= 1, "{rates} rates, {old} old samples");
}

/// Ends a program of this test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_archive_of_this_machine_has_the_values_that_pmdumplog_prints() {
    let Some(pcp) = Pcp::find() else { return };
    let programs = ["/usr/lib/pcp/bin/pmcd", "/usr/bin/pmlogger", "/usr/bin/pmdumplog", "/usr/bin/pminfo"];
    let folder = Scratch::new();
    let agents = ["proc 3 dso proc_init", "linux 60 dso linux_init", "pmcd 2 dso pmcd_init"];
    let agents = agents.map(|agent| {
        let name = agent.split(' ').next().unwrap();
        let library = pcp.path(&format!("/var/lib/pcp/pmdas/{name}/pmda_{name}.so"));
        format!("{agent} {}\n", library.display())
    });
    std::fs::write(folder.join("pmcd.conf"), agents.concat()).unwrap();
    // This release of pmcd crashes now and then on counters of the network that newer kernels have.
    // Texts of processes may have line ends, which its dump does not mark.
    let logged = "log mandatory on 500 msec { kernel.percpu.cpu mem.util disk.dev filesys vfs hinv \
                  proc.psinfo.pid proc.psinfo.utime proc.psinfo.stime proc.psinfo.rss proc.psinfo.threads \
                  proc.psinfo.maj_flt proc.psinfo.sname proc.memory.vmhwm proc.schedstat.cpu_time }\n";
    std::fs::write(folder.join("pmlogger.conf"), logged).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let socket = folder.join("pmcd.socket");
    let host = format!("unix://{}", socket.display());
    let quiet = |program: &str| {
        let mut command = pcp.command(program);
        command
            .current_dir(&*folder)
            .env("PCP_RUN_DIR", &*folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let mut pmcd = quiet(programs[0]);
    pmcd.args(["-A", "-f", "-i", "127.0.0.1", "-T", "0", "-c", "pmcd.conf", "-l", "pmcd.log", "-p"]);
    pmcd.arg(port.to_string()).arg("-s").arg(&socket);
    let mut pmcd = Ends(pmcd.spawn().unwrap());
    // It answers when it has loaded its agents.
    while !quiet(programs[3]).args(["-h", &host, "-f", "hinv.ncpu"]).status().unwrap().success() {
        if pmcd.0.try_wait().unwrap().is_some() {
            return skip("pmcd does not start here");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut pmlogger = quiet(programs[1]);
    pmlogger.args(["-c", "pmlogger.conf", "-h", &host, "-s", "3", "-l", "pmlogger.log", "archive"]);
    let mut pmlogger = Ends(pmlogger.spawn().unwrap());
    loop {
        if let Some(status) = pmlogger.0.try_wait().unwrap() {
            let log = std::fs::read_to_string(folder.join("pmlogger.log"));
            assert!(status.success(), "{status}: {log:?}");
            break;
        }
        if pmcd.0.try_wait().unwrap().is_some() {
            return skip("pmcd crashed while pmlogger recorded");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(pmcd);
    let dumped =
        pcp.command(programs[2]).args(["-Z", "UTC", "archive"]).current_dir(&*folder).output().unwrap();
    compare(&folder.join("archive.0"), &String::from_utf8_lossy(&dumped.stdout), 2000);
}

#[test]
fn a_cut_or_missing_file_is_named() {
    let folder = Scratch::new();
    std::fs::copy(fixture("pcp-v3.0"), folder.join("a.0")).unwrap();
    let error = open(&folder.join("a.0"), &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("a.meta"), "{error}");
    std::fs::copy(fixture("pcp-v3.0"), folder.join("renamed")).unwrap();
    let error = open(&folder.join("renamed"), &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains(".meta"), "{error}");
    let metadata = std::fs::read(fixture("pcp-v3.meta")).unwrap();
    let values = std::fs::read(fixture("pcp-v3.0")).unwrap();
    let count = |metadata: &[u8], values: &[u8]| -> Option<(usize, usize)> {
        let volumes = [values];
        let mut log = open_pcp(metadata, &volumes).ok()?;
        let mut count = 0;
        while log.next_record().unwrap().is_some() {
            count += 1;
        }
        Some((count, log.about().notes.damage.len()))
    };
    let whole = count(&metadata, &values).unwrap();
    assert_eq!(whole.1, 0);
    for cut in (0..values.len()).step_by(97) {
        if let Some((rows, damage)) = count(&metadata, &values[..cut]) {
            assert!(rows <= whole.0 && damage <= 1, "cut at {cut}: {rows} rows, {damage} faults");
        }
    }
    for cut in (0..metadata.len()).step_by(997) {
        if let Some((rows, _)) = count(&metadata[..cut], &values) {
            assert!(rows <= whole.0 + 1, "descriptions cut at {cut}: {rows} rows");
        }
    }
}

/// `pmlogger_daily` compresses the volumes of archives, and later their descriptions.
#[cfg(feature = "compressed")]
#[test]
fn compressed_archives_are_read() {
    let scratch = Scratch::new();
    let rows = |path: &Path| {
        let mut log = open(path, &ReadOptions::default()).unwrap();
        let mut rows = Vec::new();
        while let Some(record) = log.next_record().unwrap() {
            rows.push(format!("{record:?}"));
        }
        (rows, log.about().notes.damage_count)
    };
    let expected = rows(&fixture("pcp-v3.meta"));
    assert!(expected.0.len() > 2);
    for (program, ending) in [("xz", "xz"), ("zstd", "zst"), ("gzip", "gz")] {
        let Some(program) = tallymon_testkit::peer(program) else { return };
        let place = |name: &str| scratch.join(format!("{ending}.{name}"));
        let pack = |name: &str| {
            let packed =
                Command::new(&program).arg("-c").arg(fixture(&format!("pcp-v3.{name}"))).output().unwrap();
            std::fs::write(place(&format!("{name}.{ending}")), packed.stdout).unwrap();
        };
        pack("0");
        std::fs::copy(fixture("pcp-v3.meta"), place("meta")).unwrap();
        for given in ["meta", &format!("0.{ending}")] {
            assert_eq!(rows(&place(given)), expected, "{ending} {given}");
        }
        std::fs::remove_file(place("meta")).unwrap();
        pack("meta");
        for given in [format!("meta.{ending}"), format!("0.{ending}")] {
            assert_eq!(rows(&place(&given)), expected, "{ending} {given}");
        }
        assert_eq!(rows(&scratch.join(ending)), expected, "{ending}, its name");
    }
}
