//! What a report has of logs with more series than it has room for.

use tallymon_testkit::Scratch;

use super::*;

#[test]
fn what_is_found_and_the_strips_are_not_cut() {
    let scratch = Scratch::new();
    let processes = (0..80).map(|nth| format!(r"Process(p{nth})\% Processor Time"));
    let others = [
        r"PhysicalDisk(0 C:)\Avg. Disk sec/Transfer",
        r"PhysicalDisk(0 C:)\Disk Transfers/sec",
        r"PhysicalDisk(0 C:)\Disk Bytes/sec",
        r"PhysicalDisk(1 D:)\Disk Bytes/sec",
        r"Processor Information(_Total)\% Processor Time",
        r"Memory\% Committed Bytes In Use",
        r"Network Interface(eth0)\Bytes Total/sec",
    ];
    let counters: Vec<String> = processes.chain(others.map(str::to_string)).collect();
    let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\WEB\\{}\"", counters.join("\",\"\\\\WEB\\"));
    for nth in 0..600u32 {
        text.push_str(&format!("\r\n\"03/01/2026 00:{:02}:{:02}.000\"", nth / 60, nth % 60));
        text.push_str(&",\"1\"".repeat(80));
        let latency = if (200..500).contains(&nth) { 0.4 } else { 0.001 };
        text.push_str(&format!(",\"{latency}\",\"50\",\"1000\",\"2000\",\"9\",\"40\",\"7\""));
    }
    let file = scratch.join("many.csv");
    std::fs::write(&file, text + "\r\n").unwrap();
    // The counter that something is found in is a usual one too, behind all others.
    let usual = [r"\Process(*)\% Processor Time", r"\PhysicalDisk(*)\Avg. Disk sec/Transfer"];
    let options = ReportOptions {
        logs: vec![file],
        against: Vec::new(),
        last: None,
        paths: Vec::new(),
        usual: usual.map(str::to_string).to_vec(),
        reading: ReadOptions::default(),
        locale: Locale::from(Language::ENGLISH),
    };
    let mut made = report(&options).unwrap();
    assert!(made.findings().findings.iter().any(|one| one.title.contains("slowly")), "nothing was found");
    assert_eq!((made.series(), made.left_out), (MOST_SERIES, 22));
    let lines = made.lines();
    assert!(lines.iter().any(|line| line.counter == "Avg. Disk sec/Transfer"), "{lines:?}");
    let found = strips(&mut made.chart);
    let shown: Vec<(&str, bool)> = found.iter().map(|(word, path)| (*word, path.contains("1 D:"))).collect();
    let expected = [("processor", false), ("memory", false), ("disk", true), ("network", false)];
    assert_eq!(shown, expected, "{found:?}");
}
