//! Text reports of other programs: every value that they print is the value that is read.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use tallymon_log::{Cooker, ReadOptions, open, read_bytes};
use tallymon_testkit::{Scratch, peer};

/// The program, a column of its report, our counter with `{}` for the instance, and the factor.
const COLUMNS: &str = r"
vmstat|r|System Extended\Tasks Running|1
vmstat|b|System Extended\Tasks Blocked|1
vmstat|swpd|Memory Details\Swap Used Bytes|1024
vmstat|free|Memory\Free & Zero Page List Bytes|1024
vmstat|buff|Memory Details\Buffer Bytes|1024
vmstat|cache|Memory Details\Cached Bytes|1024
vmstat|si|Memory Details\Swap In Bytes/sec|1024
vmstat|so|Memory Details\Swap Out Bytes/sec|1024
vmstat|bi|Memory Details\Page In Bytes/sec|1024
vmstat|bo|Memory Details\Page Out Bytes/sec|1024
vmstat|in|Processor(_Total)\Interrupts/sec|1
vmstat|cs|System\Context Switches/sec|1
vmstat|us|Processor(_Total)\% User Time|1
vmstat|sy|Processor(_Total)\% Privileged Time|1
vmstat|id|Processor States(_Total)\% Idle|1
vmstat|wa|System Extended\% IO Wait Time|1
vmstat|st|System Extended\% Steal Time|1
mpstat|%usr|Processor States({})\% User|1
mpstat|%nice|Processor States({})\% Nice|1
mpstat|%sys|Processor States({})\% System|1
mpstat|%iowait|Processor States({})\% IO Wait|1
mpstat|%irq|Processor({})\% Interrupt Time|1
mpstat|%soft|Processor({})\% DPC Time|1
mpstat|%steal|Processor States({})\% Steal|1
mpstat|%guest|Processor States({})\% Guest|1
mpstat|%gnice|Processor States({})\% Guest Nice|1
mpstat|%idle|Processor States({})\% Idle|1
iostat|r/s|PhysicalDisk({})\Disk Reads/sec|1
iostat|rkB/s|PhysicalDisk({})\Disk Read Bytes/sec|1024
iostat|rrqm/s|Block Device({})\Read Merges/sec|1
iostat|%rrqm|iostat({})\%rrqm|1
iostat|r_await|PhysicalDisk({})\Avg. Disk sec/Read|0.001
iostat|rareq-sz|PhysicalDisk({})\Avg. Disk Bytes/Read|1024
iostat|w/s|PhysicalDisk({})\Disk Writes/sec|1
iostat|wkB/s|PhysicalDisk({})\Disk Write Bytes/sec|1024
iostat|wrqm/s|Block Device({})\Write Merges/sec|1
iostat|%wrqm|iostat({})\%wrqm|1
iostat|w_await|PhysicalDisk({})\Avg. Disk sec/Write|0.001
iostat|wareq-sz|PhysicalDisk({})\Avg. Disk Bytes/Write|1024
iostat|d/s|Block Device({})\Discards/sec|1
iostat|dkB/s|Block Device({})\Discard Bytes/sec|1024
iostat|drqm/s|iostat({})\drqm/s|1
iostat|%drqm|iostat({})\%drqm|1
iostat|d_await|iostat({})\d_await|1
iostat|dareq-sz|iostat({})\dareq-sz|1
iostat|f/s|Block Device({})\Flushes/sec|1
iostat|f_await|iostat({})\f_await|1
iostat|aqu-sz|PhysicalDisk({})\Avg. Disk Queue Length|1
iostat|%util|Block Device({})\% Active Time|1
iostat|%user|Processor(_Total)\% User Time|-
iostat|%nice|Processor States(_Total)\% Nice|1
iostat|%system|Processor(_Total)\% Privileged Time|1
iostat|%iowait|Processor States(_Total)\% IO Wait|1
iostat|%steal|Processor States(_Total)\% Steal|1
iostat|%idle|Processor States(_Total)\% Idle|1
pidstat|UID|pidstat({})\UID|1
pidstat|PID|Process({})\ID Process|1
pidstat|%usr|Process({})\% User Time|1
pidstat|%system|Process({})\% Privileged Time|1
pidstat|%guest|pidstat({})\%guest|1
pidstat|%wait|pidstat({})\%wait|1
pidstat|%CPU|Process({})\% Processor Time|1
pidstat|CPU|pidstat({})\CPU|1
pidstat|minflt/s|pidstat({})\minflt/s|1
pidstat|majflt/s|pidstat({})\majflt/s|1
pidstat|VSZ|Process({})\Virtual Bytes|1024
pidstat|RSS|Process({})\Working Set|1024
pidstat|%MEM|pidstat({})\%MEM|1
pidstat|kB_rd/s|pidstat({})\kB_rd/s|1
pidstat|kB_wr/s|pidstat({})\kB_wr/s|1
pidstat|kB_ccwr/s|pidstat({})\kB_ccwr/s|1
pidstat|iodelay|pidstat({})\iodelay|1
";

/// The values of each record by path, without the host, and the time of day of the record.
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
        let time = record.time.system_time();
        rows.push((format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second), named.collect()));
    }
    assert_eq!(log.about().notes.damage, []);
    rows
}

/// Compares every number of a report with what is read of it.
fn compare(program: &str, path: &Path) {
    let known: HashMap<&str, (&str, &str)> = COLUMNS
        .lines()
        .filter_map(|line| {
            let [of, column, path, factor] = line.split('|').collect::<Vec<_>>()[..] else { return None };
            (of == program).then_some((column, (path, factor)))
        })
        .collect();
    let rows = read(path);
    let text = std::fs::read_to_string(path).unwrap();
    let (mut names, mut row, mut compared): (Vec<String>, usize, usize) = (Vec::new(), usize::MAX, 0);
    for line in text.lines().filter(|line| !line.starts_with("Average") && !line.starts_with("Linux")) {
        let mut words: Vec<&str> = line.split_whitespace().filter(|word| *word != "#").collect();
        // The time of a line finds the row.
        let clock = |word: &str| word.split('T').next_back().unwrap()[..].get(..8).map(str::to_owned);
        let time = words.iter().find(|word| word.matches(':').count() == 2).and_then(|word| clock(word));
        if let Some(time) = &time {
            words.retain(|word| word.matches(':').count() != 2 && word.matches('-').count() != 2);
            if let Some(at) = rows.iter().position(|(known, _)| known == time) {
                row = at;
            }
        }
        if words.is_empty() || words[0] == "procs" {
            continue;
        }
        if words.iter().any(|word| known.contains_key(word))
            && !words.iter().any(|word| word.parse::<f64>().is_ok())
        {
            names = words
                .iter()
                .filter(|word| !matches!(**word, "UTC" | "Time" | "avg-cpu:"))
                .map(|word| (*word).to_owned())
                .collect();
            continue;
        }
        let values = &rows[row].1;
        let first = names[0].as_str();
        let instance = match (first, program) {
            ("CPU", _) if words[0] == "all" => "_Total".to_owned(),
            ("CPU" | "Device", _) => words[0].to_owned(),
            (_, "pidstat") => {
                let at = names.iter().position(|name| name == "PID").unwrap();
                let number: f64 = words[at].parse().unwrap();
                let found =
                    values.iter().find(|(path, value)| path.ends_with(r"\ID Process") && **value == number);
                found
                    .unwrap()
                    .0
                    .strip_prefix("Process(")
                    .unwrap()
                    .strip_suffix(r")\ID Process")
                    .unwrap()
                    .to_owned()
            }
            _ => String::new(),
        };
        for (name, word) in names.iter().zip(&words) {
            let Ok(printed) = word.parse::<f64>() else { continue };
            if matches!(first, "CPU" | "Device") && name == first {
                continue;
            }
            let (path, factor) =
                known.get(name.as_str()).unwrap_or_else(|| panic!("{program}: {name} is unknown"));
            let path = path.replace("{}", &instance);
            let ours = values.get(&path).unwrap_or_else(|| panic!("{line}: {path} is missing"));
            // Windows' user time has the nice time in it.
            let ours = match *factor {
                "-" => ours - values[r"Processor States(_Total)\% Nice"],
                factor => ours / factor.parse::<f64>().unwrap(),
            };
            assert!(
                (ours - printed).abs() < 1e-6 * printed.abs().max(1.0),
                "{line}: {path} is {ours}, not {printed}"
            );
            compared += 1;
        }
    }
    assert!(compared > 40, "{program}: only {compared} values");
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name)
}

#[test]
fn recorded_reports_have_the_values_that_are_printed() {
    for program in ["vmstat", "mpstat", "iostat", "pidstat"] {
        compare(program, &fixture(&format!("{program}.txt")));
    }
}

#[test]
fn reports_of_this_machine_have_the_values_that_are_printed() {
    let folder = Scratch::new();
    let runs: [(&str, &[&str]); 4] = [
        ("vmstat", &["-t", "1", "3"]),
        ("mpstat", &["-P", "ALL", "1", "2"]),
        ("iostat", &["-t", "-x", "1", "2"]),
        ("pidstat", &["-u", "-r", "-d", "-h", "-p", "ALL", "1", "1"]),
    ];
    for (program, options) in runs {
        let Some(found) = peer(program) else { continue };
        let mut command = Command::new(found);
        command.args(options).env("LC_ALL", "C").env("S_TIME_FORMAT", "ISO").env("TZ", "UTC");
        let out = command.output().unwrap();
        let path = folder.join(program);
        std::fs::write(&path, out.stdout).unwrap();
        compare(program, &path);
    }
}

/// The counter that a value of nmon becomes, by its line and its column, and what it is multiplied by.
fn of_nmon(word: &str, title: &str) -> (String, f64) {
    const MIB: f64 = 1_048_576.0;
    let processor = word.strip_prefix("CPU").map(|nth| match nth.parse::<u32>() {
        Ok(nth) => (nth - 1).to_string(),
        Err(_) => "_Total".to_owned(),
    });
    if let Some(cpu) = processor {
        let name = match title {
            "User%" => "Processor({})\\% User Time",
            "Sys%" => "Processor({})\\% Privileged Time",
            "Wait%" => "Processor States({})\\% IO Wait",
            "Idle%" => "Processor States({})\\% Idle",
            "Steal%" => "Processor States({})\\% Steal",
            other => &format!("nmon CPU({{}})\\{other}"),
        };
        return (name.replace("{}", &cpu), 1.0);
    }
    match (word, title) {
        ("NET" | "NETPACKET", _) => {
            let (interface, way) = title.split_once('-').unwrap();
            let (name, factor) = match way {
                "read-KB/s" => ("Bytes Received/sec", 1024.0),
                "write-KB/s" => ("Bytes Sent/sec", 1024.0),
                "read/s" => ("Packets Received/sec", 1.0),
                _ => ("Packets Sent/sec", 1.0),
            };
            (format!(r"Network Interface({interface})\{name}"), factor)
        }
        ("DISKBUSY", _) => (format!(r"Block Device({title})\% Active Time"), 1.0),
        ("DISKREAD", _) => (format!(r"PhysicalDisk({title})\Disk Read Bytes/sec"), 1024.0),
        ("DISKWRITE", _) => (format!(r"PhysicalDisk({title})\Disk Write Bytes/sec"), 1024.0),
        ("DISKXFER", _) => (format!(r"PhysicalDisk({title})\Disk Transfers/sec"), 1.0),
        ("DISKBSIZE", _) => (format!(r"PhysicalDisk({title})\Avg. Disk Bytes/Transfer"), 1024.0),
        ("MEM", "memfree") => (r"Memory\Free & Zero Page List Bytes".to_owned(), MIB),
        ("MEM", "memtotal") => (r"Memory Details\Total Bytes".to_owned(), MIB),
        ("MEM", "swaptotal") => (r"Memory Details\Swap Total Bytes".to_owned(), MIB),
        ("MEM", "swapfree") => (r"Memory Details\Swap Free Bytes".to_owned(), MIB),
        ("MEM", "cached") => (r"Memory Details\Cached Bytes".to_owned(), MIB),
        ("MEM", "buffers") => (r"Memory Details\Buffer Bytes".to_owned(), MIB),
        ("MEM", "swapcached") => (r"Memory Details\Swap Cached Bytes".to_owned(), MIB),
        ("MEM", "active") => (r"Memory Details\Active Bytes".to_owned(), MIB),
        ("MEM", "inactive") => (r"Memory Details\Inactive Bytes".to_owned(), MIB),
        ("PROC", "Runnable") => (r"System Extended\Tasks Running".to_owned(), 1.0),
        ("PROC", "Blocked") => (r"System Extended\Tasks Blocked".to_owned(), 1.0),
        ("PROC", "pswitch") => (r"System\Context Switches/sec".to_owned(), 1.0),
        ("PROC", "fork") => (r"System Extended\Tasks Started/sec".to_owned(), 1.0),
        ("PROC", "exec") => (r"nmon PROC\exec".to_owned(), 1.0),
        _ => (format!(r"nmon {word}\{title}"), 1.0),
    }
}

/// The name of the instance that a line about a process became, with the prefix of its paths.
fn process_of(values: &HashMap<String, f64>, id: f64, program: &str) -> String {
    let own = values.iter().find(|(path, value)| {
        path.starts_with("Process(") && path.ends_with(r"\ID Process") && **value == id
    });
    let path = own.unwrap_or_else(|| panic!("no process {id} {program}")).0;
    let name = path.strip_prefix("Process(").unwrap().strip_suffix(r")\ID Process").unwrap();
    assert!(name == program || name.starts_with(&format!("{program}#")), "{name} is {program}");
    format!("Process({name})")
}

/// Compares every number of a file of nmon. Returns how many there are, and how many are of processes.
fn compare_nmon(path: &Path) -> (usize, usize) {
    let rows = read(path);
    let text = std::fs::read_to_string(path).unwrap();
    let mut titles: HashMap<&str, Vec<&str>> = HashMap::new();
    let (mut row, mut compared, mut of_processes) = (usize::MAX, 0, 0);
    let equal = |values: &HashMap<String, f64>, path: &str, expected: f64, line: &str| {
        let ours = values.get(path).unwrap_or_else(|| panic!("no {path}: {line}"));
        assert!((ours - expected).abs() <= 1e-9 * expected.abs(), "{path}: {ours} and {expected}: {line}");
    };
    for line in text.lines() {
        let parts: Vec<&str> = line.split(',').collect();
        match parts[..] {
            // About the machine, and what nmon counts of the file systems only if it is asked to.
            ["AAA" | "BBBP", ..] => {}
            ["ZZZZ", _, ..] => row = row.wrapping_add(1),
            ["TOP", id, snapshot, ..] if snapshot.starts_with("T0") => {
                // The name of a program may have commas.
                let (&[user, system, size, resident, _, _, _, minor, major], [name @ .., threads, _]) =
                    parts[4..].split_first_chunk::<9>().unwrap_or_else(|| panic!("{line}"))
                else {
                    panic!("{line}")
                };
                let program = &name.join(",");
                let values = &rows[row].1;
                let process = process_of(values, id.parse().unwrap(), program);
                let number = |text: &str| text.parse::<f64>().unwrap();
                for (counter, expected) in [
                    ("% Processor Time", number(parts[3])),
                    ("% User Time", number(user)),
                    ("% Privileged Time", number(system)),
                    ("Virtual Bytes", number(size) * 1024.0),
                    ("Working Set", number(resident) * 1024.0),
                    ("Page Faults/sec", number(minor) + number(major)),
                    ("Thread Count", number(threads)),
                ] {
                    equal(values, &format!("{process}\\{counter}"), expected, line);
                    of_processes += 1;
                }
            }
            ["TOP", ..] => {}
            [word, second, ..] if !second.starts_with("T0") => {
                titles.insert(word, parts[2..].to_vec());
            }
            [word, ..] => {
                for (title, value) in titles[word].iter().zip(&parts[2..]) {
                    let Ok(printed) = value.parse::<f64>() else { continue };
                    if printed < 0.0 || (printed == 0.0 && value.starts_with('-')) {
                        continue;
                    }
                    let (path, factor) = of_nmon(word, title);
                    equal(&rows[row].1, &path, printed * factor, line);
                    compared += 1;
                }
            }
            _ => {}
        }
    }
    assert_eq!(rows.len(), 3);
    (compared, of_processes)
}

/// A process that ends with the test, also with one that fails.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_of_nmon_has_its_values() {
    let (compared, _) = compare_nmon(&fixture("nmon.nmon"));
    assert!(compared > 150, "only {compared} values");
    let Some(nmon) = peer("nmon") else { return };
    let folder = Scratch::new();
    let path = folder.join("fresh.nmon");
    // Something that nmon lists: it leaves out processes without processor time.
    let busy = Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap());
    // It goes on in the background, and prints the id of that process.
    let out =
        Command::new(nmon).arg("-F").arg(&path).args(["-s", "1", "-c", "3", "-t", "-p"]).output().unwrap();
    let id: u32 = String::from_utf8(out.stdout).unwrap().trim().parse().unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
        stat.is_ok_and(|stat| stat.contains("(nmon)") && !stat.contains(") Z "))
    };
    while runs() && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(busy);
    let (compared, of_processes) = compare_nmon(&path);
    assert!(compared > 150 && of_processes >= 14, "{compared} values, {of_processes} of processes");
}

#[test]
fn processes_of_nmon_have_names_with_commas_and_damage_is_named() {
    let text = "AAA,progname,nmon\nTOP,%CPU Utilisation\n\
        TOP,0000001,T0001,1.0,1.0,0.0,10,10,1,1,1,5,0,early,1,0\n\
        TOP,+PID,Time,%CPU,%Usr,%Sys,Size,ResSet,ResText,ResData,ShdLib,MinorFault,MajorFault,Command,Threads,IOwaitTime\n\
        ZZZZ,T0001,23:09:22,22-NOV-2026\n\
        TOP,0000007,T0001,12.50,10.00,2.50,100,50,1,2,3,4,1,a,b (c),6,0\n\
        TOP,0000008,T0001,1.00,1.00,0.00,100,50,1,2\n\
        TOP,0000009,T0001,nan,1.00,-1,100,50,1,2,3,4,1,,6,0\n";
    let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
    let record = log.next_record().unwrap().unwrap();
    let values = Cooker::default().cook(&record);
    let columns = log.about().columns.iter().map(|column| column.path.clone());
    let found: HashMap<String, Option<f64>> = columns
        .zip(values)
        .map(|(path, value)| (path, value.ok().and_then(|value| value.as_f64())))
        .collect();
    for (path, expected) in [
        (r"\Process(a,b (c))\% Processor Time", Some(12.5)),
        (r"\Process(a,b (c))\Page Faults/sec", Some(5.0)),
        (r"\Process(a,b (c))\Thread Count", Some(6.0)),
        (r"\Process(unknown)\% Processor Time", None),
        (r"\Process(unknown)\% Privileged Time", None),
        (r"\Process(unknown)\ID Process", Some(9.0)),
    ] {
        assert_eq!(found.get(path), Some(&expected), "{path} in {:?}", found.keys());
    }
    let lines: Vec<Option<u64>> = log.about().notes.damage.iter().map(|damage| damage.line).collect();
    assert_eq!(lines, [Some(3), Some(7)]);
}

#[test]
fn reports_without_times_say_how_to_get_them() {
    let folder = Scratch::new();
    for (name, text, words) in [
        ("v", "procs -----memory----\n r  b   swpd\n 1  0  0\n", "vmstat -t"),
        ("i", "Linux 6.1 (host) \t22. November 2026 \t_x86_64_\t(2 CPU)\n", "S_TIME_FORMAT=ISO"),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
        let error = open(&folder.join(name), &ReadOptions::default()).err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn line_ends_of_windows_change_nothing() {
    let read = |path: &Path| {
        let mut log = open(path, &ReadOptions::default()).unwrap();
        let records: Vec<_> = std::iter::from_fn(|| log.next_record().unwrap()).collect();
        let paths: Vec<String> = log.about().columns.iter().map(|column| column.path.clone()).collect();
        (paths, records, log.about().notes.damage_count)
    };
    let folder = Scratch::new();
    for name in ["vmstat.txt", "iostat.txt", "mpstat.txt", "pidstat.txt", "nmon.nmon", "promtool.txt"] {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name);
        let text = std::fs::read_to_string(&original).unwrap();
        let copy = folder.join(name);
        std::fs::write(&copy, text.replace('\n', "\r\n")).unwrap();
        let (one, other) = (read(&original), read(&copy));
        assert!(!one.1.is_empty() && one == other, "{name}: {one:?}\n{other:?}");
    }
}

/// A report of `sar -A -f` over midnight and a restart, as it prints it: one table after the other.
const SAR: &str = "Linux 6.1.0 (web01) \t11/22/26 \t_x86_64_\t(2 CPU)

11:40:00 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle
11:50:00 PM     all      1.00      0.00      2.00      0.50      0.00     96.50
12:00:00 AM     all      3.00      0.00      4.00      0.50      0.00     92.50
Average:        all      2.00      0.00      3.00      0.50      0.00     94.50

12:05:00 AM  LINUX RESTART\t(2 CPU)

12:05:10 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle
12:10:00 AM     all      5.00      0.00      6.00      0.50      0.00     88.50
Average:        all      5.00      0.00      6.00      0.50      0.00     88.50

11:40:00 PM dentunusd   file-nr  inode-nr    pty-nr
11:50:00 PM    370109      3892    187341         0
12:00:00 AM    370110      3893    187342         1
Average:       370109      3892    187341         0

12:05:00 AM  LINUX RESTART\t(2 CPU)

12:05:10 AM dentunusd   file-nr  inode-nr    pty-nr
12:10:00 AM    370111      3894    187343         2
Average:       370111      3894    187343         2
";

#[test]
fn a_day_of_sar_has_all_tables_of_a_time_in_one_row() {
    let folder = Scratch::new();
    let path = folder.join("sar.txt");
    // What comes behind a restart has an average of its own, and the next table begins with the first time
    // again.
    let without_restart: String = {
        let (first, rest) = SAR.split_once("\n12:05:00 AM  LINUX").unwrap();
        let (_, second) = rest
            .split_once(
                "88.50\nAverage:        all      5.00      0.00      6.00      0.50      0.00     88.50\n",
            )
            .unwrap();
        let (second, _) = second.split_once("\n12:05:00 AM  LINUX").unwrap();
        format!("{first}{second}")
    };
    for (text, times) in
        [(SAR, &["23:50:00", "00:00:00", "00:10:00"][..]), (&without_restart, &["23:50:00", "00:00:00"][..])]
    {
        std::fs::write(&path, text).unwrap();
        let rows = read(&path);
        assert_eq!(rows.iter().map(|(time, _)| time.as_str()).collect::<Vec<_>>(), times, "{text}");
        for (nth, (time, values)) in rows.iter().enumerate() {
            let is = |counter: &str, expected: f64| {
                let found = values.iter().find(|(path, _)| path.ends_with(counter));
                assert_eq!(found.map(|(_, value)| *value), Some(expected), "{time} {counter}: {values:?}");
            };
            is(r"% User Time", 1.0 + 2.0 * nth as f64);
            is(r"\file-nr", 3892.0 + nth as f64);
            is(r"\pty-nr", nth as f64);
        }
    }
}

#[test]
fn a_whole_report_of_sar_has_the_values_that_are_printed() {
    let (Some(sar), Some(_)) = (peer("sar"), peer("sadf")) else { return };
    let sadc = Path::new("/usr/lib/sysstat/sadc");
    if !sadc.exists() {
        return tallymon_testkit::skip("sadc is not in /usr/lib/sysstat");
    }
    let folder = Scratch::new();
    let (file, path) = (folder.join("sa"), folder.join("sar.txt"));
    assert!(Command::new(sadc).args(["-S", "XALL", "1", "4"]).arg(&file).status().unwrap().success());
    let of_file = Command::new(&sar).args(["-A", "-f"]).arg(&file).env("LC_ALL", "C").output().unwrap();
    let live = Command::new(&sar).args(["-A", "1", "2"]).env("LC_ALL", "C").output().unwrap();
    for (report, rows) in [(of_file.stdout, 3), (live.stdout, 2)] {
        let text = String::from_utf8(report).unwrap();
        std::fs::write(&path, &text).unwrap();
        let read = read(&path);
        assert_eq!(read.len(), rows, "{:?}", read.iter().map(|(time, _)| time).collect::<Vec<_>>());
        let (mut names, mut behind_blank, mut compared) = (Vec::new(), false, 0);
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.is_empty() || line.starts_with("Average") || line.starts_with("Summary") {
                behind_blank = words.is_empty();
                continue;
            }
            if std::mem::take(&mut behind_blank) {
                names = words;
                continue;
            }
            let (_, values) = read.iter().find(|(time, _)| time.contains(words[0])).unwrap();
            let numbers = words.iter().zip(&names).skip(1).filter_map(|(word, name)| {
                (!["CPU", "INTR", "TTY", "DEV", "IFACE", "FILESYSTEM", "BUS", "NODE"].contains(name))
                    .then(|| word.parse::<f64>().ok())?
            });
            for number in numbers {
                // Some are in other units in their counter.
                let near = |value: &f64| {
                    [1.0, 1024.0, 0.001]
                        .iter()
                        .any(|factor| (value - number * factor).abs() <= 1e-6 * value.abs().max(1e-3))
                };
                assert!(values.values().any(near), "{line}: {number} is nowhere");
                compared += 1;
            }
        }
        assert!(compared > 200, "{compared}");
    }
}
