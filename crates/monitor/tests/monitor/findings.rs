//! Findings: marks at the time axis, the list of them, and the chart of one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossterm::event::KeyCode;
use tallymon::core::title::Language;
use tallymon::log::ReadOptions;
use tallymon::{Log, Query};
use tallymon_monitor::chart::Glyphs;
use tallymon_monitor::{App, Colours, Options};

use crate::fake::Bench;
use crate::log::Folder;
use crate::mouse::{LEFT, at};
use crate::screens::{check, has};

const TOTAL: &str = r"\Processor(_Total)\% Processor Time";
const MINUTE: Duration = Duration::from_secs(60);

/// An hour with a row every ten seconds. All processors are busy from 10 to 20 minutes, by a process; and
/// memory is short from 40 to 45 minutes.
fn text() -> String {
    let mut text = String::from(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\vm\\Processor(_Total)\\% Processor Time\",\
         \"\\\\vm\\Process(calm)\\% Processor Time\",\"\\\\vm\\Process(busy)\\% Processor Time\",\
         \"\\\\vm\\Memory\\Available MBytes\",\"\\\\vm\\System\\Threads\"\r\n",
    );
    for row in 0..360_u32 {
        let (is_busy, is_short) = ((60..120).contains(&row), (240..270).contains(&row));
        let total = if is_busy { 97 } else { 5 + row % 7 };
        let busy = if is_busy { 96.5 } else { 1.5 };
        let memory = if is_short { 40 } else { 4_000 - row % 5 };
        text += &format!(
            "\"11/26/2016 13:{:02}:{:02}.000\",\"{total}\",\"{}\",\"{busy}\",\"{memory}\",\"{}\"\r\n",
            row / 6,
            row % 6 * 10,
            row % 5,
            300 + row % 3
        );
    }
    text
}

fn log(folder: &Folder) -> PathBuf {
    let file = folder.0.join("hour.csv");
    fs::write(&file, text()).unwrap();
    file
}

fn open(file: &Path, language: Language, change: impl FnOnce(&mut Options)) -> Bench {
    let log = Log::open(file, &ReadOptions::default()).unwrap();
    let again = log.clone();
    let query = move || Query::new(Box::new(again.source()), language);
    let mut options = Options::new(query.clone());
    options.paths = vec![TOTAL.to_string()];
    (options.glyphs, options.colours) = (Glyphs::Braille, Colours::Sixteen);
    options.log = Some(log);
    change(&mut options);
    Bench::of(App::new(query().unwrap(), options))
}

/// Waits until the history or the log was looked through.
fn look(bench: &mut Bench) {
    bench.app.begin_sample();
    let begin = Instant::now();
    while bench.app.looks_for_findings() {
        bench.app.findings_come(MINUTE);
        assert!(begin.elapsed() < MINUTE, "nobody answers");
    }
}

#[test]
fn marks_lie_where_something_is_wrong_and_enter_shows_it() {
    let folder = Folder::new("findings");
    let mut bench = open(&log(&folder), Language::ENGLISH, |_| ());
    let before = bench.screen();
    assert!(!before.contains("Findings"), "{before}");
    look(&mut bench);
    let screen = check("findings-marks", &mut bench);
    has(&screen, &["Findings: 3", "W━━━━", "C━━━"]);
    let screen = check("findings", bench.types("W"));
    has(&screen, &["Findings (3)", "All processors are busy", "warning", "critical", "13:39:50"]);
    // Enter: the counter is charted and chosen, the range is in view, and the text stands above it.
    bench.key(KeyCode::Home).key(KeyCode::Enter);
    let screen = check("findings-shown", &mut bench);
    let monitor = bench.app.monitor();
    assert_eq!(monitor.chosen().map(|series| series.path.as_str()), Some(r"\Memory\Available MBytes"));
    let (from, to) = monitor.view_times().unwrap();
    let clock = |time: tallymon::core::time::FileTime| {
        let time = time.system_time();
        (time.hour, time.minute)
    };
    assert!(clock(from) >= (13, 36) && clock(to) <= (13, 48), "{:?} to {:?}", clock(from), clock(to));
    has(&screen, &["(critical)", "worst 40.0 MiB, usual", "3.9 GiB", "next: ", "rule memory-"]);
    // The list opens at what is shown; Escape in the chart takes the text away.
    has(&bench.types("!").screen(), &["Findings (3)"]);
    bench.key(KeyCode::Esc).key(KeyCode::Esc);
    assert!(!bench.screen().contains("next: "), "{}", bench.screen());
}

#[test]
fn who_caused_it_is_named_and_a_click_on_a_mark_opens_it() {
    let folder = Folder::new("findings-click");
    let mut bench = open(&log(&folder), Language::ENGLISH, |_| ());
    look(&mut bench);
    at(&mut bench, "W━━", LEFT);
    has(&bench.screen(), &["who: busy 95 %", "Everything that needs one waits for its turn."]);
    // A click on the chosen line shows it; from the overview and the report as well.
    at(&mut bench, "All processors are busy   ", LEFT);
    let chosen = bench.app.monitor().chosen().map(|series| series.path.clone());
    assert_eq!(chosen.as_deref(), Some(TOTAL));
    for view in ["r", "b", "o"] {
        bench.key(KeyCode::Esc).types(view).types("W");
        has(&bench.screen(), &["Findings (3)"]);
        bench.key(KeyCode::Enter);
        has(&bench.screen(), &["next: ", "100┤"]);
    }
    // The cursor in a mark chooses it too.
    bench.key(KeyCode::Esc).types(":13:41").key(KeyCode::Enter).types("W");
    has(&bench.screen(), &["(critical)"]);
    // No time is left to look at, and no list to step through.
    for key in [KeyCode::End, KeyCode::Down, KeyCode::PageDown, KeyCode::Home, KeyCode::Up] {
        bench.key(key);
    }
    has(&bench.types("q").screen(), &["hour.csv"]);
}

#[test]
fn languages_sizes_and_terminals() {
    let folder = Folder::new("findings-looks");
    let file = log(&folder);
    for (name, language) in
        [("korean", Language::KOREAN), ("japanese", Language::JAPANESE), ("russian", Language::RUSSIAN)]
    {
        let mut bench = open(&file, language, |_| ());
        look(&mut bench);
        bench.resize(80, 24);
        check(&format!("findings-marks-{name}"), &mut bench);
        check(&format!("findings-{name}"), bench.types("W"));
    }
    for (name, size) in [("small", (40, 12)), ("wide", (160, 40)), ("tiny", (20, 6))] {
        let mut bench = open(&file, Language::ENGLISH, |_| ());
        look(&mut bench);
        bench.resize(size.0, size.1);
        check(&format!("findings-marks-{name}"), &mut bench);
        check(&format!("findings-{name}"), bench.types("W"));
        check(&format!("findings-shown-{name}"), bench.key(KeyCode::Enter));
    }
    let mut bench = open(&file, Language::ENGLISH, |options| {
        (options.glyphs, options.colours) = (Glyphs::Ascii, Colours::None);
    });
    look(&mut bench);
    let screen = check("findings-ascii", &mut bench);
    has(&screen, &["W====", "C==="]);
}

#[test]
fn the_history_of_a_live_source_is_looked_through_again() {
    let mut bench = Bench::new(&[r"\System\Processor Queue Length", r"\Processor(*)\% Processor Time"]);
    bench.script.queue.set(Some(1));
    bench.run(20).types("W");
    has(&bench.screen(), &["a minute of history is needed first"]);
    bench.script.queue.set(Some(20));
    bench.key(KeyCode::Esc).run(80);
    look(&mut bench);
    let screen = check("findings-live", &mut bench);
    has(&screen, &["Findings: 1", "W━━"]);
    let screen = check("findings-live-list", bench.types("W"));
    has(&screen, &["Threads wait for a processor", "who: "]);
    has(&bench.key(KeyCode::Enter).screen(), &["PAST", "next: "]);
    // The next look comes after a pause, not with the next sample.
    bench.run(3);
    assert!(!bench.app.looks_for_findings());
    // What was cleared has no findings, once it is looked through again.
    bench.key(KeyCode::Esc).types("td");
    has(&bench.screen(), &["live"]);
}

#[test]
fn a_log_that_can_not_be_read_again_says_so() {
    let folder = Folder::new("findings-gone");
    let file = log(&folder);
    let mut bench = open(&file, Language::ENGLISH, |_| ());
    fs::remove_file(&file).unwrap();
    look(&mut bench);
    has(&bench.types("W").screen(), &["Findings (0)", "hour.csv"]);
    // A quiet log says that nothing stands out.
    let quiet: String = text().lines().take(61).map(|line| format!("{line}\r\n")).collect();
    fs::write(&file, quiet).unwrap();
    let mut bench = open(&file, Language::ENGLISH, |_| ());
    has(&bench.types("W").screen(), &["Findings (0)", "looking for what is wrong"]);
    bench.key(KeyCode::Esc);
    look(&mut bench);
    has(&bench.types("W").screen(), &["Findings (0)", "nothing stands out"]);
}
