//! The page in a real browser: every screen, in themes and languages, checked by axe, and without any request
//! to another server. `page/shots.mjs` does it; it needs node, Chromium and what `npm ci` installs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon::log::{Format, relog};
use tallymon_serve::{ReportOptions, report};
use tallymon_testkit::{Scratch, peer, skip};

use crate::answers::log;
use crate::client::Running;
use crate::machine::{Kept, machine};
use crate::profiles::{longer_profile, profile};
use crate::session_logs::segment;

/// Looks with Chromium.
fn look(arguments: &[&OsStr], last: &str) {
    look_with(("shots.mjs", "chromium", "CHROMIUM"), arguments, last);
}

/// Looks with Firefox.
fn look_with_firefox(arguments: &[&OsStr], last: &str) {
    look_with(("firefox.mjs", "firefox-esr", "FIREFOX"), arguments, last);
}

/// Holds back answers with Chromium.
fn look_at_races(arguments: &[&OsStr], last: &str) {
    look_with(("races.mjs", "chromium", "CHROMIUM"), arguments, last);
}

/// Runs a script with these arguments; it must have looked at a screen without finding a fault.
fn look_with((script, browser, variable): (&str, &str, &str), arguments: &[&OsStr], last: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let (Some(node), Some(browser)) = (peer("node"), peer(browser)) else { return };
    if !page.join("node_modules/playwright-core").is_dir() {
        skip("the packages of crates/serve/page are not installed: 'npm ci' there");
        return;
    }
    let looked = Command::new(node).arg(page.join(script)).args(arguments).env(variable, browser).output();
    let looked = looked.unwrap();
    let (out, faults) = (String::from_utf8_lossy(&looked.stdout), String::from_utf8_lossy(&looked.stderr));
    assert!(looked.status.success() && out.contains(&format!("looked at {last}")), "{out}\n{faults}");
}

/// A report of some counters of logs.
pub(crate) fn options(logs: Vec<PathBuf>, paths: Vec<String>) -> ReportOptions {
    ReportOptions {
        logs,
        against: Vec::new(),
        last: None,
        paths,
        usual: Vec::new(),
        reading: tallymon::log::ReadOptions::default(),
        locale: tallymon::core::title::Language::ENGLISH.into(),
    }
}

/// Makes archives with Python: a good one, and some that cannot be unpacked.
const ARCHIVES: &str = r#"
import sys, zipfile
folder, log = sys.argv[1:]
def made(name, names, packing=zipfile.ZIP_DEFLATED):
    path = folder + "/" + name
    with zipfile.ZipFile(path, "w", packing) as new:
        for inside, file in names:
            if file is None: new.writestr(inside, "")
            else: new.write(file, inside)
    return path
def changed(name, change):
    data = bytearray(open(folder + "/good.zip", "rb").read())
    change(data)
    open(folder + "/" + name, "wb").write(data)
def locked(data):
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(mark, at + 4)
def damaged(data): data[200] ^= 0x55
readme = folder + "/readme.html"
open(readme, "w").write("<p>no log</p>")
inside = [("of ann/inside.blg", log), ("__MACOSX/._inside.blg", readme), ("readme.html", readme), ("empty/", None)]
good = made("good.zip", inside)
changed("locked.zip", locked)
changed("damaged.zip", damaged)
changed("cut.zip", lambda data: data.__delitem__(slice(len(data) // 2, None)))
changed("list.zip", lambda data: data.__setitem__(slice(-10, -6), b"\xff\xff\xff\x7f"))
made("empty.zip", [("empty/", None)])
made("bzip2.zip", inside, zipfile.ZIP_BZIP2)
made("nested.zip", [("good.zip", good)])
made("text.zip", [("notes.txt", readme)])
"#;

/// A folder with archives, in which a BLG is.
fn archives(scratch: &Scratch, log: &Path) -> Option<PathBuf> {
    let python = peer("python3")?;
    let folder = scratch.join("archives");
    std::fs::create_dir_all(&folder).unwrap();
    // The server of the tests takes 1 MiB.
    let text = std::fs::read_to_string(log).unwrap();
    let short = scratch.join("short.csv");
    std::fs::write(&short, text.lines().take(300).collect::<Vec<_>>().join("\r\n") + "\r\n").unwrap();
    let blg = scratch.join("inside.blg");
    let options = relog::Options { format: Format::Blg, ..relog::Options::default() };
    relog::relog(&[short], &blg, &options).unwrap();
    let made = Command::new(python).args(["-c", ARCHIVES]).arg(&folder).arg(&blg).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(folder)
}

#[test]
fn every_screen_in_a_browser() {
    let scratch = Scratch::new();
    let usual = vec![r"\Processor(_Total)\% Processor Time".into(), r"\Memory\Available MBytes".into()];
    let interval = std::time::Duration::from_millis(500);
    let machine = machine(&Kept::new(), &scratch, true, &[profile(&scratch), longer_profile(&scratch)]);
    let server = Running::with(tallymon_serve::Options { usual, interval, ..machine });
    let (shots, log) = (scratch.join("shots"), log(&scratch));
    let archives = archives(&scratch, &log);
    let all = [server.first.as_ref(), shots.as_ref(), log.as_ref()].into_iter();
    let all: Vec<&OsStr> = all.chain(archives.iter().map(AsRef::as_ref)).collect();
    look(&all, "phone");
}

/// Answers that come after somebody has moved on, clicks that come twice, logs that are closed while they are
/// shown, and a server that is gone for a while.
#[test]
fn what_comes_late_changes_nothing_else() {
    let scratch = Scratch::new();
    let usual = vec![r"\Processor(_Total)\% Processor Time".into(), r"\Memory\Available MBytes".into()];
    let interval = std::time::Duration::from_millis(500);
    let kept = Kept::new();
    (1..=3).for_each(|number| drop(segment(&scratch, number)));
    kept.put_in(&scratch.join("ring"));
    let machine = machine(&kept, &scratch, true, &[]);
    let options = tallymon_serve::Options { usual, interval, uploads: 64 << 20, ..machine };
    let server = Running::with(options);
    let (shots, log, profile) = (scratch.join("shots"), log(&scratch), profile(&scratch));
    look_at_races(&[server.first.as_ref(), shots.as_ref(), log.as_ref(), profile.as_ref()], "back");
}

/// A day of two counters, one of which has spikes, with holes.
fn spiky(scratch: &Scratch) -> PathBuf {
    let names = ["a", "b"];
    let head = names.map(|name| format!(r#","\\WEB\Process({name})\% Processor Time""#)).concat();
    let row = |nth: u32| {
        let second = nth * 15;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let spike = if nth.is_multiple_of(97) { 99 } else { nth % 7 };
        let first = if nth.is_multiple_of(500) { " ".to_string() } else { spike.to_string() };
        let wave = 50.0 + 40.0 * (f64::from(nth) / 200.0).sin();
        format!("\r\n\"03/01/2026 {hour:02}:{minute:02}:{second:02}.000\",\"{first}\",\"{wave:.2}\"")
    };
    let file = scratch.join("spiky.csv");
    let rows: String = (0..5_760).map(row).collect();
    std::fs::write(&file, format!("\"(PDH-CSV 4.0) (UTC)(0)\"{head}{rows}\r\n")).unwrap();
    file
}

/// A range that is selected has the numbers of all its rows: in a report and on the page, by pointer and by
/// keys, in charts and heat maps.
#[test]
fn what_is_selected_has_the_numbers_of_every_row() {
    let scratch = Scratch::new();
    let log = spiky(&scratch);
    let made = report(&options(vec![log.clone()], vec![r"\Process(*)\% Processor Time".into()]));
    let page = scratch.join("report.html");
    std::fs::write(&page, made.unwrap().html().unwrap()).unwrap();
    let server = Running::start(false, std::slice::from_ref(&log));
    let (address, shots) = (format!("file://{}", page.display()), scratch.join("shots"));
    let all = [address.as_ref(), server.first.as_ref(), shots.as_ref(), log.as_ref()];
    look_with(("brush.mjs", "chromium", "CHROMIUM"), &all, "heat");
}

/// A browser opens six connections to a server: more tabs than that, each with another counter, go on.
#[test]
fn ten_tabs_with_different_counters_go_on() {
    let scratch = Scratch::new();
    let server = Running::start(true, &[]);
    let shots = scratch.join("shots");
    look_with(("tabs.mjs", "chromium", "CHROMIUM"), &[server.first.as_ref(), shots.as_ref()], "tabs");
}

#[test]
fn attack_the_page_with_a_log_of_hostile_names() {
    let scratch = Scratch::new();
    let (object, counter) = ("<img src=x onerror=alert`1`>", "</script><script>alert`2`</script>");
    let instances = ["<svg onload=alert`3`>", "javascript:alert`6`//\"\"><i>", "a\u{1b}[2J\u{202e}b"];
    let mut head: String =
        instances.iter().map(|name| format!(r#","\\<em>host\{object}({name})\{counter}""#)).collect();
    head.push_str(r#","\\<em>host\Memory<hr>\Available <u>MBytes""#);
    let file = |name: &str, by: u32| {
        let row = |nth: u32| {
            let values = (0..4).map(|column| format!(",\"{}\"", nth * by + column)).collect::<String>();
            format!("\r\n\"03/01/2026 00:00:{nth:02}.000\"{values}")
        };
        let rows: String = (0..60).map(row).collect();
        let text = format!("\"(PDH-CSV 4.0) (<img src=x onerror=alert`5`>)(0)\"{head}{rows}\r\n");
        let path = scratch.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (log, other) = (file("<img src=x onerror=alert`4`>.csv", 1), file("'\"><script>alert`4`.csv", 3));
    let server = Running::start(true, &[]);
    let shots = scratch.join("shots");
    let all = [server.first.as_ref(), shots.as_ref(), log.as_ref(), other.as_ref()];
    look_with(("hostile.mjs", "chromium", "CHROMIUM"), &all, "compare");
    tallymon_testkit::attack(
        "pages",
        "objects, counters, instances, the host, the time zone and the file of a log that is dropped on the \
         page are called like HTML and scripts",
        "every view, causes, properties, Explain, Add counters, Logs and Compare show them as text; nothing \
         of them runs or asks another server",
    );
}

#[test]
fn the_screens_in_firefox() {
    let scratch = Scratch::new();
    let usual = vec![r"\Processor(_Total)\% Processor Time".into(), r"\Memory\Available MBytes".into()];
    let interval = std::time::Duration::from_millis(500);
    let machine = machine(&Kept::new(), &scratch, true, &[]);
    let server = Running::with(tallymon_serve::Options { usual, interval, ..machine });
    let (shots, log) = (scratch.join("shots"), log(&scratch));
    let archive = archives(&scratch, &log).map(|folder| folder.join("good.zip"));
    let all = [server.first.as_ref(), shots.as_ref(), log.as_ref()].into_iter();
    let all: Vec<&OsStr> = all.chain(archive.iter().map(AsRef::as_ref)).collect();
    look_with_firefox(&all, "keys");
    let made = report(&options(vec![log], vec![r"\Process(*)\% Processor Time".into()]));
    let page = scratch.join("report.html");
    std::fs::write(&page, made.unwrap().html().unwrap()).unwrap();
    let address = format!("file://{}", page.display());
    look_with_firefox(&[address.as_ref(), shots.as_ref()], "report-monitor");
}

/// The page of all machines: one of them answers, one is a saved block, one is gone; their names are hostile.
#[test]
fn the_page_of_all_machines_in_two_browsers() {
    let scratch = Scratch::new();
    let gone = tallymon::Location::File(scratch.join("gone.bin"));
    let machines = vec![
        ("web10".to_string(), tallymon::Location::Local),
        ("web2".to_string(), tallymon::Location::Local),
        ("<img src=x onerror=alert(1)></script>".to_string(), gone),
    ];
    let server = Running::with(tallymon_serve::Options { machines, ..crate::client::options() });
    let (shots, address) = (scratch.join("shots"), format!("{}#hosts", server.first));
    look(&[address.as_ref(), shots.as_ref()], "fleet-phone");
    look_with_firefox(&[address.as_ref(), shots.as_ref()], "fleet");
}

#[test]
fn attack_a_report_with_hostile_names() {
    let scratch = Scratch::new();
    let names = ["</script><img src=x onerror=alert(1)>", "<script>alert(2)</script>"];
    let head = names.map(|name| format!(r#","\\WEB\Process({name})\% Processor Time""#)).concat();
    let text = r#"
"03/01/2026 00:00:00.000","1","2"
"03/01/2026 00:00:15.000","99","1"
"03/01/2026 00:00:30.000","3","4"
"#;
    let file = scratch.join("</title><img src=x>.csv".replace('/', "_"));
    std::fs::write(&file, format!("\"(PDH-CSV 4.0) (UTC)(0)\"{head}{text}")).unwrap();
    let made = report(&options(vec![file], vec![r"\Process(*)\% Processor Time".into()]));
    let html = made.unwrap().html().unwrap();
    // The data is compressed and in base64: no name is in the file as it is.
    assert!(!html.contains("alert(") && !html.contains("<img"));
    let file = scratch.join("report.html");
    std::fs::write(&file, &html).unwrap();
    let (address, shots) = (format!("file://{}", file.display()), scratch.join("shots"));
    look(&[address.as_ref(), shots.as_ref()], "report-monitor");
    tallymon_testkit::attack(
        "pages",
        "instances and the file of a log in a report are called like HTML and scripts",
        "they are compressed data and shown as text; the report runs its own script only, \
         and requests nothing",
    );
}

/// A report of two logs has both in each chart, the table of what changed, and the names of both.
#[test]
fn a_report_that_compares_two_logs() {
    let scratch = Scratch::new();
    let log = |name: &str, hour: u32, load: u32| {
        let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
        (0..3).for_each(|nth| text.push_str(&format!(",\"\\\\W\\Processor({nth})\\% Processor Time\"")));
        for second in 0..600u32 {
            let (minute, rest) = (second / 60, second % 60);
            text.push_str(&format!("\r\n\"11/21/2026 {hour}:{minute:02}:{rest:02}.500\""));
            (0..3).for_each(|nth| text.push_str(&format!(",\"{}\"", load + nth + second % 5)));
        }
        let file = scratch.join(name);
        std::fs::write(&file, text + "\r\n").unwrap();
        file
    };
    let (old, new) = (log("old.csv", 9, 20), log("new.csv", 12, 80));
    let of_new = options(vec![new], vec![r"\Processor(*)\% Processor Time".into()]);
    let made = report(&ReportOptions { against: vec![old], ..of_new });
    let (page, shots) = (scratch.join("report.html"), scratch.join("shots"));
    std::fs::write(&page, made.unwrap().html().unwrap()).unwrap();
    let address = format!("file://{}", page.display());
    let wanted = ["old.csv: Nov 21, 2026, 09:00:00", "worse", "≈ % Processor Time (2)", "0:09:59"];
    let arguments: Vec<&OsStr> =
        [address.as_ref(), shots.as_ref()].into_iter().chain(wanted.map(AsRef::as_ref)).collect();
    look(&arguments, "report-monitor");
}

/// What is found has a line in the report, whether or not its counter is a usual one; the overview has a
/// strip for each part of the machine, and the report says what the machine has.
#[test]
fn a_report_shows_what_it_found_and_the_whole_time() {
    let scratch = Scratch::new();
    let counters = [
        r"Processor(_Total)\% Processor Time",
        r"Memory\% Committed Bytes In Use",
        r"PhysicalDisk(0 C:)\Avg. Disk sec/Transfer",
        r"PhysicalDisk(0 C:)\Disk Transfers/sec",
        r"PhysicalDisk(0 C:)\Disk Bytes/sec",
        r"PhysicalDisk(1 D:)\Disk Bytes/sec",
        r"Network Interface(eth0)\Bytes Total/sec",
    ];
    let head = counters.map(|counter| format!(",\"\\\\WEB\\{counter}\"")).concat();
    let row = |nth: u32| {
        let slow = (200..500).contains(&nth);
        let time = format!("\r\n\"03/01/2026 00:{:02}:{:02}.000\"", nth / 60, nth % 60);
        let values = format!(
            ",\"{}\",\"40\",\"{}\",\"50\",\"1000\",\"2000\",\"7\"",
            nth % 9,
            if slow { 0.4 } else { 0.001 }
        );
        time + &values
    };
    let file = scratch.join("slow.csv");
    std::fs::write(
        &file,
        format!("\"(PDH-CSV 4.0) (UTC)(0)\"{head}{}\r\n", (0..600).map(row).collect::<String>()),
    )
    .unwrap();
    let usual = vec![r"\Memory\% Committed Bytes In Use".to_string()];
    let mut made = report(&ReportOptions { usual, ..options(vec![file], Vec::new()) }).unwrap();
    assert!(made.findings().findings.iter().any(|one| one.title.contains("slowly")), "nothing was found");
    let lines = made.lines();
    let latency = lines.iter().filter(|line| line.counter == "Avg. Disk sec/Transfer");
    assert_eq!(latency.count(), 1, "{lines:?}");
    assert_eq!((made.left_out, &made.not_found), (0, &Vec::new()));
    let (page, shots) = (scratch.join("report.html"), scratch.join("shots"));
    std::fs::write(&page, made.html().unwrap()).unwrap();
    let address = format!("file://{}", page.display());
    // A strip each for processor, memory, disk (that with more bytes) and network; there is no pressure.
    let wanted = [
        "PhysicalDisk: 0 C:; 1 D:",
        "Network Interface: eth0",
        "Overview",
        "Processor\n% Processor Time _Total",
        "Average 40, Maximum 40",
        "Disk\nDisk Bytes/sec 1 D:",
        "Network\nBytes Total/sec eth0",
        "Avg. Disk sec/Transfer",
    ];
    let arguments: Vec<&OsStr> =
        [address.as_ref(), shots.as_ref()].into_iter().chain(wanted.iter().map(OsStr::new)).collect();
    look(&arguments, "report-monitor");
}

/// A sum that lacks parts says so below its counter.
#[test]
fn a_partial_sum_says_what_it_lacks() {
    let scratch = Scratch::new();
    let file = scratch.join("partial.json");
    let row = |second: u32| {
        let value = r#"{"path":"\\\\web\\Process(_Total)\\IO Read Bytes/sec","value":7,"partial":"1 of 117 refused"}"#;
        format!("{{\"time\":\"2026-03-01T00:00:0{second}Z\",\"values\":[{value}]}}\n")
    };
    std::fs::write(&file, (0..4).map(row).collect::<String>()).unwrap();
    let made = report(&options(vec![file], vec![r"\Process(_Total)\IO Read Bytes/sec".into()]));
    let (page, shots) = (scratch.join("report.html"), scratch.join("shots"));
    std::fs::write(&page, made.unwrap().html().unwrap()).unwrap();
    let address = format!("file://{}", page.display());
    look(&[address.as_ref(), shots.as_ref(), "partial sum: 1 of 117 refused".as_ref()], "report-monitor");
}

/// A report has the times on the clock of its log, whatever the zone of the browser is; and says which.
#[test]
fn a_report_has_the_clock_of_its_log() {
    for (zone, said) in [
        (" (Pacific Standard Time)(480)", "Pacific Standard Time, UTC-08:00"),
        (" (RTZ 2 (winter))(-180)", "UTC+03:00"),
        ("", "unknown: the times are as in the log"),
    ] {
        let scratch = Scratch::new();
        let file = scratch.join("zone.csv");
        let head = format!("\"(PDH-CSV 4.0){zone}\",\"\\\\W\\Memory\\Available MBytes\"");
        let row = |second: u32| format!("\r\n\"01/15/2020 10:07:{second:02}.000\",\"1\"");
        std::fs::write(&file, head + &(11..15).map(row).collect::<String>()).unwrap();
        let made = report(&options(vec![file], vec![r"\Memory\Available MBytes".into()]));
        let (page, shots) = (scratch.join("report.html"), scratch.join("shots"));
        std::fs::write(&page, made.unwrap().html().unwrap()).unwrap();
        let address = format!("file://{}", page.display());
        let begin = "Jan 15, 2020, 10:07:11";
        look(&[address.as_ref(), shots.as_ref(), begin.as_ref(), said.as_ref()], "report-monitor");
    }
}

#[test]
fn a_day_of_32_counters_is_less_than_a_megabyte() {
    let scratch = Scratch::new();
    let mut random = tallymon_testkit::raw::Random::new(7);
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    (0..32).for_each(|nth| text.push_str(&format!(",\"\\\\W\\Process(p{nth})\\% Processor Time\"")));
    for nth in 0..5_760u32 {
        let second = nth * 15;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        text.push_str(&format!("\r\n\"03/01/2026 {hour:02}:{minute:02}:{second:02}.000\""));
        // Noise: nothing is harder to compress.
        (0..32).for_each(|_| text.push_str(&format!(",\"{}\"", random.below(1_000_000_000) as f64 / 1e7)));
    }
    let file = scratch.join("day.csv");
    std::fs::write(&file, text + "\r\n").unwrap();
    let made = report(&options(vec![file], vec![r"\Process(*)\% Processor Time".into()]));
    let mut made = made.unwrap();
    let html = made.html().unwrap();
    assert!(html.len() < 1_000_000 && made.left_out == 0, "{} bytes", html.len());
}

/// A report of a log with many hosts has counters of all of them, not of the first one only.
#[test]
fn a_report_of_many_hosts_has_all_of_them() {
    let scratch = Scratch::new();
    let file = scratch.join("hosts.csv");
    let head: String =
        (1..=26).map(|host| format!(",\"\\\\web{host:02}\\Memory\\Available MBytes\"")).collect();
    let row = ",\"1\"".repeat(26);
    let text = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{head}\r\n\"03/01/2026 00:00:00.000\"{row}\r\n");
    std::fs::write(&file, text).unwrap();
    let memory = r"\Memory\Available MBytes".to_string();
    for paths in [Vec::new(), vec![memory.clone()]] {
        let usual = vec![r"\Processor(_Total)\% Processor Time".into(), memory.clone()];
        let made = report(&ReportOptions { usual, ..options(vec![file.clone()], paths) });
        let made = made.unwrap();
        assert_eq!((made.series(), made.left_out, made.not_found), (26, 0, Vec::new()));
    }
}

/// Gaps, restarts and the busiest instances are in the report, in its picture and on its screen.
#[test]
fn a_report_says_when_nothing_was_recorded_and_who_was_busiest() {
    let scratch = Scratch::new();
    let file = scratch.join("holes.csv");
    let names = ["_Total", "hog", "sleeper"];
    let head = names.map(|name| format!(r#","\\W\Process({name})\% Processor Time""#)).concat();
    // Every ten seconds but for half an hour; the hog runs in every second record.
    let row = |nth: u32| {
        let minutes = nth / 6 + if nth < 60 { 0 } else { 30 };
        let hog = 80 * (nth % 2);
        format!("\r\n\"03/01/2026 00:{minutes:02}:{:02}.000\",\"99\",\"{hog}\",\"1\"", nth % 6 * 10)
    };
    let text = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{head}{}\r\n", (0..120).map(row).collect::<String>());
    std::fs::write(&file, text).unwrap();
    let mut made = report(&options(vec![file], vec![r"\Process(*)\% Processor Time".into()])).unwrap();
    assert_eq!(made.logs.gaps.iter().map(|(_, seconds)| *seconds).collect::<Vec<_>>(), [1810.0]);
    assert_eq!(made.logs.gap_count, 1);
    let busiest: Vec<(&str, f64, f64)> =
        made.busiest[0].instances.iter().map(|one| (one.name.as_str(), one.mean, one.max)).collect();
    assert_eq!(busiest, [("hog", 40.0, 80.0), ("sleeper", 1.0, 1.0)]);
    let picture = made.svg();
    assert!(picture.contains("no record for 1810 s after") && picture.contains("hog 40"), "{picture}");
    let (page, shots) = (scratch.join("report.html"), scratch.join("shots"));
    std::fs::write(&page, made.html().unwrap()).unwrap();
    let address = format!("file://{}", page.display());
    let words = ["Gaps", "+ 0:30:10", "Process: % Processor Time", "hog\t40\t80"];
    let arguments: Vec<&OsStr> =
        [address.as_ref(), shots.as_ref()].into_iter().chain(words.iter().map(OsStr::new)).collect();
    look(&arguments, "report-monitor");
}
