//! Values of this machine, each compared with an independent reading, under a load that the test makes.
//!
//! Raw values that only rise must lie between two independent readings, one before and one after ours, so
//! no tolerance has to be guessed. For values that go up and down a tolerance is stated.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::collections::BTreeSet;
use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tallymon::core::flow::Sample;
use tallymon::core::title::TitleIndex;
use tallymon::{Location, Query, Reading};
use tallymon_testkit::{Ends, peer, skip};

fn query(paths: &[&str]) -> Query {
    let mut query = Query::open(&Location::Local).unwrap();
    for path in paths {
        query.add(path).unwrap_or_else(|error| panic!("{error}"));
    }
    query
}

fn number(reading: &Reading) -> f64 {
    let value = reading.cell.value.as_ref().unwrap_or_else(|why| panic!("{}: {why}", reading.path));
    value.as_f64().unwrap()
}

fn sample(reading: &Reading) -> Sample {
    reading.cell.sample.unwrap_or_else(|| panic!("{}: {:?}", reading.path, reading.cell.value))
}

/// The output of a program; `None` when it is not installed.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    peer(program)?;
    let output = Command::new(program).args(arguments).env("LC_ALL", "C").output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A child that burns one processor.
fn busy() -> Ends {
    Ends::start("while :; do :; done")
}

/// Looks again until something is so. What others do to this machine can come between two readings.
fn until(what: &str, mut is_so: impl FnMut() -> Result<(), String>) {
    let start = Instant::now();
    while let Err(seen) = is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}: {seen}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The numbers of a line of `/proc/stat`.
fn stat_line(name: &str) -> Vec<u64> {
    let text = fs::read_to_string("/proc/stat").unwrap();
    let line = text.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
    line.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect()
}

/// The built-in objects, NT's own and ours, without those of programs and libraries that others have put on
/// this machine. Programs of .NET do not say when they read their counters.
fn is_built_in(object: TitleIndex) -> bool {
    let is_ours = (900_000..=999_999).contains(&object.0) && !(930_000..=931_999).contains(&object.0);
    (1..=1847).contains(&object.0) || is_ours
}

#[test]
fn every_rate_has_an_error_or_the_reason_why_not() {
    let mut query = Query::open(&Location::Local).unwrap();
    let instances = |has_instances| if has_instances { "(*)" } else { "" };
    let objects = query.catalog().objects().iter();
    let paths = objects.map(|object| format!(r"\{}{}\*", object.name.0, instances(object.has_instances)));
    for path in paths.collect::<Vec<_>>() {
        query.add(&path).unwrap_or_else(|error| panic!("{error}"));
    }
    query.collect().unwrap();
    thread::sleep(Duration::from_millis(1200));
    query.collect().unwrap();
    let mut objects = BTreeSet::new();
    for reading in query.readings() {
        let is_rate = reading.definition.counter_type.needs_two_samples();
        let (path, error, why) = (&reading.path, reading.error(), reading.why_no_error());
        if !is_rate || reading.cell.value.is_err() {
            assert_eq!(why, None, "{path}");
        } else if is_built_in(reading.object) {
            let precision = reading.precision.unwrap_or_else(|| panic!("{path}: nobody knows when"));
            let (older, newer) = (precision.older, precision.newer);
            let is_ordered = older.begin <= older.end && older.end <= newer.begin && newer.begin <= newer.end;
            assert!(is_ordered, "{path}: {older:?} {newer:?}");
            assert!(error.is_some_and(|error| error.is_finite() && error >= 0.0), "{path}: {error:?}");
            assert_eq!(why, None, "{path}");
            objects.insert(reading.object.0);
        } else {
            assert_ne!(error.is_some(), why.is_some(), "{path}");
        }
    }
    for object in [2, 4, 230, 232, 238, 510, 546, 638, 900_000, 990_000] {
        assert!(objects.contains(&object), "no rate of object {object} among {objects:?}");
    }
}

#[test]
fn processor_time_matches_proc_stat() {
    let _busy = busy();
    let mut query = query(&[r"\Processor(_Total)\% Processor Time", r"\Processor(_Total)\% User Time"]);
    // Each of our samples lies between two lines of the file.
    let mut sampled = || {
        let before = stat_line("cpu");
        query.collect().unwrap();
        [before, stat_line("cpu")]
    };
    let start = sampled();
    thread::sleep(Duration::from_millis(1500));
    let end = sampled();
    // The most and the least that columns can have grown between our samples. User and nice include the guest
    // times of the last two columns already.
    let grown = |columns: &[usize]| -> [f64; 2] {
        let sum = |line: &[u64]| columns.iter().map(|column| line[*column] as f64).sum::<f64>();
        [(sum(&end[0]) - sum(&start[1])).max(0.0), sum(&end[1]) - sum(&start[0])]
    };
    let all = grown(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let share = |of: [f64; 2]| [of[0] / all[1], of[1] / all[0].max(1.0)].map(|share| 100.0 * share);
    let (idle, user) = (share(grown(&[3, 4])), share(grown(&[0, 1])));
    let readings = query.readings();
    // Ticks of 10 ms: a tolerance of five percentage points.
    let is_within = |value: f64, [least, most]: [f64; 2]| (least - 5.0..=most + 5.0).contains(&value);
    let (busy, found) = (number(&readings[0]), number(&readings[1]));
    assert!(is_within(busy, [100.0 - idle[1], 100.0 - idle[0]]), "{busy} busy, {idle:?} idle");
    assert!(is_within(found, user), "{found} and {user:?}");
    let processors = thread::available_parallelism().unwrap().get() as f64;
    assert!(busy > 50.0 / processors, "the load that was made is seen");
}

#[test]
fn system_counts_match_proc() {
    let mut query =
        query(&[r"\System\Context Switches/sec", r"\System\Processes", r"\System\System Up Time"]);
    let before = stat_line("ctxt")[0];
    query.collect().unwrap();
    let after = stat_line("ctxt")[0];
    let readings = query.readings();
    let switches = sample(&readings[0]).first;
    // The counter has 32 bits.
    assert!((before..=after).any(|count| count & 0xffff_ffff == switches), "{before} {switches} {after}");
    let uptime =
        || -> f64 { fs::read_to_string("/proc/uptime").unwrap().split(' ').next().unwrap().parse().unwrap() };
    let low = uptime();
    query.collect().unwrap();
    let (up, high) = (number(&query.readings()[2]), uptime());
    // The file has hundredths of a second.
    assert!((low - 0.01..=high + 0.01).contains(&up), "{low} {up} {high}");
    until("`ps` sees as many processes", || {
        let Some(text) = output("ps", &["-e", "-o", "pid="]) else { return Ok(()) };
        query.collect().unwrap();
        let ours = number(&query.readings()[1]);
        // `ps` counts itself, and other tests start and end processes meanwhile.
        let processes = text.lines().count() as f64;
        if (ours - processes).abs() <= 20.0 { Ok(()) } else { Err(format!("{ours} and {processes}")) }
    });
}

#[test]
fn memory_matches_meminfo() {
    let mut query =
        query(&[r"\Memory\Available KBytes", r"\Memory\Commit Limit", r"\Memory\Page Faults/sec"]);
    let meminfo = |name: &str| -> f64 {
        let text = fs::read_to_string("/proc/meminfo").unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    until("the memory of the file", || {
        query.collect().unwrap();
        let readings = query.readings();
        // Other tests run meanwhile: a tolerance of 256 MiB.
        let (ours, available) = (number(&readings[0]), meminfo("MemAvailable:"));
        let (limit, of_file) = (number(&readings[1]), meminfo("CommitLimit:") * 1024.0);
        let is_same = (ours - available).abs() < 262_144.0 && limit == of_file;
        if is_same { Ok(()) } else { Err(format!("{ours} and {available} KiB, {limit} and {of_file}")) }
    });
    let faults = || -> u64 {
        let text = fs::read_to_string("/proc/vmstat").unwrap();
        text.lines().find_map(|line| line.strip_prefix("pgfault ")).unwrap().parse().unwrap()
    };
    let before = faults();
    query.collect().unwrap();
    let after = faults();
    let seen = sample(&query.readings()[2]).first;
    let distance = (seen as u32).wrapping_sub(before as u32);
    assert!(u64::from(distance) <= after - before, "{before} {seen} {after}");
}

#[test]
fn time_of_a_busy_process_matches_the_kernel() {
    let busy = busy();
    let pid = busy.0.id();
    let mut query =
        query(&[r"\Process(*)\ID Process", r"\Process(*)\% Processor Time", r"\Process(*)\Working Set"]);
    let ticks = || -> u64 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    query.collect().unwrap();
    let before = ticks();
    // Others may leave it little processor time, but never none.
    until("it is busy", || if ticks() > before + 2 { Ok(()) } else { Err("it has not run".to_string()) });
    query.collect().unwrap();
    let after = ticks();
    let readings = query.readings();
    let own = |path: &str| {
        let key = readings
            .iter()
            .find(|reading| reading.path.ends_with("ID Process") && number(reading) == f64::from(pid))
            .and_then(|reading| reading.instance.clone())
            .expect("the process is there");
        readings
            .iter()
            .find(|r| r.path.ends_with(path) && r.instance.as_ref() == Some(&key))
            .cloned()
            .unwrap()
    };
    // The raw value is the CPU time in 100 ns, exact; `stat` rounds down to ticks of 10 ms, user and kernel
    // apart.
    let time = own("% Processor Time");
    let (was, is) = (time.older.unwrap().first / 100_000, sample(&time).first / 100_000);
    assert!(was <= before + 3 && is + 3 >= before && is <= after + 3, "{was} {before} {is} {after}");
    assert!(number(&time) > 0.0, "it is busy: {}", number(&time));
    if let Some(text) = output("ps", &["-o", "rss=", "-p", &pid.to_string()]) {
        let kib: f64 = text.trim().parse().unwrap();
        let ours = number(&own("Working Set")) / 1024.0;
        // The shell may still grow by some pages.
        assert!((ours - kib).abs() <= 512.0, "{ours} and {kib} KiB");
    }
}

#[test]
fn free_space_matches_df() {
    let mut query = query(&[r"\LogicalDisk(/)\Free Megabytes", r"\LogicalDisk(/)\% Free Space"]);
    until("`df` sees as much free space", || {
        let Some(text) = output("df", &["-P", "-B1", "/"]) else { return Ok(()) };
        let fields: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        let (total, free): (f64, f64) = (fields[1].parse().unwrap(), fields[3].parse().unwrap());
        query.collect().unwrap();
        let readings = query.readings();
        let (ours, share) = (number(&readings[0]), number(&readings[1]));
        let (megabytes, of_all) = (free / (1024.0 * 1024.0), 100.0 * free / total);
        // Builds and other tests write meanwhile: a tolerance of 512 MiB.
        let is_same = (ours - megabytes).abs() < 512.0 && (share - of_all).abs() < 1.0;
        if is_same { Ok(()) } else { Err(format!("{ours} and {megabytes} MiB, {share} and {of_all} %")) }
    });
}

#[test]
fn written_bytes_match_diskstats() {
    // The busiest whole disk, as the kernel numbers it.
    let written = || -> Vec<(String, u64)> {
        let text = fs::read_to_string("/proc/diskstats").unwrap();
        let disks = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        disks.map(|fields| (fields[2].to_string(), fields[9].parse::<u64>().unwrap() * 512)).collect()
    };
    let file = std::env::temp_dir().join(format!("tallymon-disk-{}", std::process::id()));
    let mut query = query(&[r"\PhysicalDisk(*)\Disk Write Bytes/sec"]);
    let before = written();
    fs::write(&file, vec![7u8; 4 << 20]).unwrap();
    fs::File::open(&file).unwrap().sync_all().unwrap();
    query.collect().unwrap();
    let after = written();
    fs::remove_file(&file).unwrap();
    let mut compared = 0;
    for reading in query.readings() {
        let name = reading.instance.as_ref().unwrap().name.clone();
        if name == "_Total" {
            continue;
        }
        let device = name.split_whitespace().nth(1).unwrap();
        let of = |all: &[(String, u64)]| all.iter().find(|(known, _)| known == device).unwrap().1;
        let bytes = sample(&reading).first;
        assert!((of(&before)..=of(&after)).contains(&bytes), "{device}: {bytes}");
        compared += 1;
    }
    if compared == 0 {
        skip("this machine shows no whole disk");
    }
}

#[test]
fn traffic_matches_ip() {
    let Some(_) = peer("ip") else { return };
    let received = || -> u64 {
        let text = output("ip", &["-s", "-s", "-o", "link", "show", "lo"]).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "RX:").unwrap();
        // "RX: bytes packets errors ..." and then, after a backslash, the numbers.
        let numbers = words.iter().skip(at + 1).skip_while(|word| word.parse::<u64>().is_err());
        numbers.clone().next().unwrap().parse().unwrap()
    };
    let mut query = query(&[r"\Network Interface(lo)\Bytes Received/sec"]);
    let (receiver, sender) =
        (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let before = received();
    for _ in 0..50 {
        sender.send_to(&[0; 1000], receiver.local_addr().unwrap()).unwrap();
    }
    query.collect().unwrap();
    let after = received();
    let seen = sample(&query.readings()[0]).first;
    assert!((before + 50_000..=after).contains(&seen), "{before} {seen} {after}");
}

#[test]
fn datagrams_match_snmp() {
    let sent = || -> u64 {
        let text = fs::read_to_string("/proc/net/snmp").unwrap();
        let mut lines = text.lines().filter(|line| line.starts_with("Udp:"));
        let column = lines.next().unwrap().split(' ').position(|name| name == "OutDatagrams").unwrap();
        lines.next().unwrap().split(' ').nth(column).unwrap().parse().unwrap()
    };
    let mut query = query(&[r"\UDPv4\Datagrams Sent/sec"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let before = sent();
    for _ in 0..20 {
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
    }
    query.collect().unwrap();
    let after = sent();
    let seen = sample(&query.readings()[0]).first;
    assert!((before + 20..=after).contains(&seen), "{before} {seen} {after}");
}
