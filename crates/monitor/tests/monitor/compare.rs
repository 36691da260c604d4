//! Another log is drawn over the shown one.

use std::fs;

use crossterm::event::KeyCode;

use crate::fake::Bench;
use crate::log::{Folder, open};
use crate::screens::{check, has};

const TOTAL: &str = r"\Processor(_Total)\% Processor Time";
const MEMORY: &str = r"\Memory\Available MBytes";

/// A log of a hundred seconds; its processor is busy for 20 seconds.
fn text(host: &str, hour: u32, busy: u32, counter: &str) -> String {
    let mut text =
        format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\{host}\\{}\",\"\\\\{host}\\{counter}\"\r\n", &TOTAL[1..]);
    for row in 0..100 {
        let total = if (busy..busy + 20).contains(&row) { 80 } else { 20 };
        let (minute, second) = (row / 60, row % 60);
        text += &format!(
            "\"11/26/2016 {hour}:{minute:02}:{second:02}.000\",\"{total}\",\"{}\"\r\n",
            50 + row % 2
        );
    }
    text
}

/// A monitor over one log, with the other one in the same folder.
fn bench(folder: &Folder) -> Bench {
    fs::write(folder.0.join("before.csv"), text("web01", 8, 20, &MEMORY[1..])).unwrap();
    fs::write(folder.0.join("after.csv"), text("web02", 13, 30, r"System\Threads")).unwrap();
    let mut bench = open(&folder.0.join("after.csv"), &[TOTAL, r"\System\Threads"], 1 << 20);
    bench.types("C");
    has(&bench.screen(), &["compare with a log"]);
    bench.types(&folder.file("before.csv")).key(KeyCode::Enter);
    bench
}

#[test]
fn another_log_is_drawn_over_the_shown_one() {
    let folder = Folder::new("compare");
    let mut bench = bench(&folder);
    // Both begin at the left, whatever their hosts and times; counters that the other log lacks are not
    // compared.
    let screen = check("compare", &mut bench);
    has(&screen, &["after.csv", "≈ before.csv (B-A)", "Change"]);
    let line = |screen: &str, name: &str| -> String {
        screen
            .lines()
            .filter(|line| line.starts_with(['▶', '✓']))
            .find(|line| line.contains(name))
            .unwrap()
            .to_string()
    };
    assert!(line(&screen, "% Processor Time").ends_with(" 0 (+0 %)"), "{screen}");
    assert!(line(&screen, "Threads").ends_with(" –"), "{screen}");
    // The difference at the cursor: this log is busy from 30 to 50, the other one from 20 to 40.
    bench.types(":13:00:25").key(KeyCode::Enter);
    has(&line(&bench.screen(), "% Processor Time"), &[" 20", " +60 (+300 %)"]);
    bench.types(":13:00:45").key(KeyCode::Enter);
    has(&line(&bench.screen(), "% Processor Time"), &[" 80", " -60 (-75 %)"]);
    // Moved by ten seconds they are equal.
    bench.types("}}}}}}}}}}");
    let screen = bench.screen();
    has(&screen, &["≈ before.csv +0:10"]);
    has(&line(&screen, "% Processor Time"), &[" 80", " 0 (+0 %)"]);
    bench.types("{{{{{{{{{{{{{{{{{{{{");
    has(&bench.screen(), &["≈ before.csv -0:10"]);
    // An added counter is compared, too.
    bench.types("}}}}}}}}}}").key(KeyCode::Delete);
    bench.app.event(&crossterm::event::Event::Paste(TOTAL.to_string()));
    bench.settle();
    has(&line(&bench.screen(), "% Processor Time"), &[" -60 (-75 %)"]);
    has(&bench.types("v").screen(), &["before.csv"]);
    // An empty name ends the comparison.
    bench.types("gC").key(KeyCode::Enter);
    let screen = bench.screen();
    assert!(!screen.contains("before.csv") && !screen.contains("Change"), "{screen}");
}

#[test]
fn what_is_saved_has_both() {
    let folder = Folder::new("compare-saved");
    let mut bench = bench(&folder);
    let save = |bench: &mut Bench, name: &str| -> String {
        bench.types("w");
        for _ in 0..60 {
            bench.key(KeyCode::Backspace);
        }
        let file = folder.file(name);
        bench.types(&file).key(KeyCode::Enter);
        has(&bench.screen(), &["saved: "]);
        fs::read_to_string(&file).unwrap()
    };
    let svg = save(&mut bench, "both.svg");
    has(&svg, &["web02  \u{2248} before.csv", "\u{2248} 0 (+0 %)"]);
    // One counter is in both logs, the other one only in this log.
    let lines = |dashes: &str| svg.matches(&format!("stroke-dasharray=\"{dashes}\" stroke-linecap")).count();
    assert_eq!((lines("0 5"), svg.matches("stroke-linejoin").count()), (1, 2), "{svg}");
    let of_others = svg.lines().find(|line| line.contains("\"0 5\"")).unwrap();
    let ours = svg.lines().find(|line| line.contains("stroke-linejoin")).unwrap();
    let path = |line: &str| line.split('"').nth(1).unwrap().to_string();
    assert_ne!(path(of_others), path(ours), "it is busy at another time");
    let html = save(&mut bench, "both.html");
    has(&html, &["<th>Change</th>", "<td>0 (+0 %)</td>", "<td>-</td></tr>", "stroke-dasharray=\"0 5\""]);
    let csv = save(&mut bench, "both.csv");
    let rows: Vec<Vec<&str>> =
        csv.lines().map(|line| line.trim_matches('"').split("\",\"").collect()).collect();
    let total = &TOTAL[1..];
    let paths =
        [format!(r"\\web02\{total}"), format!(r"\\web01\{total}"), format!(r"\\web01 - web02\{total}")];
    assert_eq!(rows[0][1..4], paths.each_ref().map(String::as_str));
    assert_eq!((rows[0].len(), rows.len()), (5, 101));
    assert_eq!(rows[26][1..4], ["20", "80", "60"]);
    assert_eq!(rows[46][1..4], ["80", "20", "-60"]);
    // It opens as a log with two hosts.
    bench.types("O").types(&folder.file("both.csv")).key(KeyCode::Enter);
    has(&bench.screen(), &["both.csv", "web02, web01, web01 - web02"]);
}

#[test]
fn live_samples_are_compared_with_a_log() {
    let folder = Folder::new("compare-now");
    fs::write(folder.0.join("before.csv"), text("old", 8, 20, &MEMORY[1..])).unwrap();
    let mut bench = Bench::new(&[TOTAL, MEMORY]);
    bench.run(40).types("C").types(&folder.file("before.csv")).key(KeyCode::Enter);
    let screen = bench.run(5).screen();
    has(&screen, &["live", "≈ before.csv", "Change"]);
    let memory = screen.lines().find(|line| line.contains("Available MBytes") && line.starts_with('✓'));
    assert!(memory.is_some_and(|line| line.contains(" (-") && line.contains(" %)")), "{screen}");
    let settings = bench.app.settings().to_string();
    bench.types("C").types(&folder.file("mine.tallymon"));
    fs::write(folder.0.join("mine.tallymon"), settings).unwrap();
    bench.key(KeyCode::Enter);
    has(&bench.screen(), &["this is a settings file, not a log"]);
    bench.types("C").types(&folder.file("nowhere.csv")).key(KeyCode::Enter);
    has(&bench.screen(), &["nowhere.csv: "]);
}
