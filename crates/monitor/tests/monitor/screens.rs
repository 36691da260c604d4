//! Every view and every state, as text in `tests/screens`. `TALLYMON_BLESS=1` writes them again: look at the
//! difference.

use std::fs;
use std::path::PathBuf;

use crossterm::event::{Event, KeyCode, KeyModifiers, MouseEvent, MouseEventKind};
use tallymon::core::flow::{SourceError, SourceErrorKind, ValueState};
use tallymon::core::title::Language;
use tallymon_monitor::Colours;
use tallymon_monitor::chart::Glyphs;
use tallymon_monitor::settings::Settings;

use crate::fake::{Bench, DEFAULTS, DENIED};

/// Compares a screen with the stored one.
#[track_caller]
pub(crate) fn check(name: &str, bench: &mut Bench) -> String {
    check_text(name, bench.screen())
}

/// Compares the text of a screen with the stored one.
#[track_caller]
pub(crate) fn check_text(name: &str, screen: String) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/screens");
    let file = folder.join(format!("{name}.txt"));
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        fs::create_dir_all(&folder).unwrap();
        fs::write(&file, &screen).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(kept == screen, "{name} is now\n{screen}\nand was\n{kept}");
    screen
}

#[track_caller]
pub(crate) fn has(screen: &str, parts: &[&str]) {
    for part in parts {
        assert!(screen.contains(part), "{part:?} is not on\n{screen}");
    }
}

#[test]
fn first_start_and_waiting_for_the_second_sample() {
    let mut bench = Bench::new(DEFAULTS);
    let screen = check("first-start", bench.run(1));
    has(&screen, &["…", "a add · w save · ? help"]);
    bench.key(KeyCode::Down).key(KeyCode::Down);
    let screen = check("waiting", &mut bench);
    has(&screen, &["▶ ╺╺╺    0.0001 Disk Bytes/sec   _Total   PhysicalDisk      web01            …"]);
    has(&screen, &["a rate needs two samples"]);
}

#[test]
fn graph_sweeps_over_the_oldest() {
    let mut bench = Bench::new(DEFAULTS);
    check("graph", bench.run(60));
    let screen = check("graph-second-sweep", bench.run(80));
    has(&screen, &["│", "live ▶"]);
}

#[test]
fn graph_scrolls_when_asked() {
    let mut bench = Bench::new(DEFAULTS);
    check("graph-scroll", bench.run(140).types("m"));
}

#[test]
fn bars() {
    check("bars", Bench::new(DEFAULTS).run(60).types("b"));
}

#[test]
fn report() {
    let paths = [DEFAULTS, &[r"\System\Kernel", r"\Process(*)\Working Set"]].concat();
    let screen = check("report", Bench::new(&paths).run(60).types("r"));
    has(&screen, &["6.1.0-generic"]);
    // With enough room it has statistics as well.
    let mut bench = Bench::new(&paths);
    let screen = check("report-wide", bench.resize(130, 24).run(60).types("r"));
    let memory = screen.lines().find(|line| line.contains("Available MBytes")).unwrap();
    let monitor = bench.app.monitor();
    let known = monitor.statistics(monitor.series().iter().find(|one| one.path.contains("Memory")).unwrap());
    let numbers: Vec<f64> =
        memory.split_whitespace().filter_map(|text| text.replace(',', "").parse().ok()).collect();
    let expected =
        [known.last, known.average, known.minimum, known.maximum].map(|number| number.unwrap().round());
    assert_eq!(numbers, expected, "{screen}");
}

#[test]
fn split() {
    check("split", Bench::new(DEFAULTS).run(60).types("v"));
}

#[test]
fn table_of_processes() {
    let mut bench = Bench::new(&[r"\Process(myapp)\% Processor Time"]);
    check("table", bench.run(60).types("T"));
    // Sorted by another column, the other way around.
    bench.key(KeyCode::Right).types("i");
    check("table-sorted", &mut bench);
}

#[test]
fn highlight_and_cursor() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60).key(KeyCode::Backspace);
    for _ in 0..20 {
        bench.key(KeyCode::Left);
    }
    let screen = check("cursor", &mut bench);
    has(&screen, &["At", "09:40:40"]);
}

#[test]
fn add_dialog_and_its_search() {
    let mut bench = Bench::new(DEFAULTS);
    check("add", bench.run(5).types("a"));
    bench.types("work set").run(1);
    let screen = check("add-search", &mut bench);
    has(&screen, &[r"\Process(_Total)\Working Set", "Working Set as the script"]);
}

#[test]
fn help_and_explanation() {
    let mut bench = Bench::new(DEFAULTS);
    check("help", bench.run(5).types("?"));
    bench.key(KeyCode::Esc).types("x");
    check("explain", &mut bench);
}

#[test]
fn help_is_searched_and_scrolled() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(5).resize(80, 24).types("?");
    // The end is reached by keys and by the wheel.
    let first = bench.screen();
    has(&first, &["Counters and their lines", "▼"]);
    assert!(!first.contains("Ctrl-C"), "it would be no test: {first}");
    bench.key(KeyCode::End);
    has(&bench.screen(), &["Other screens, and out", "Ctrl-C", "▲"]);
    bench.key(KeyCode::Home);
    assert_eq!(bench.screen(), first);
    bench.key(KeyCode::PageDown).key(KeyCode::Down).key(KeyCode::PageUp).key(KeyCode::Up);
    assert_eq!(bench.screen(), first);
    for _ in 0..20 {
        wheel(&mut bench, MouseEventKind::ScrollDown);
    }
    has(&bench.screen(), &["Ctrl-C"]);
    // Words find lines below their headings, also words that a line has no room for.
    bench.types("/HOST");
    let screen = bench.screen();
    has(&screen, &["Keys /HOST", "Overview", "all hosts"]);
    assert!(!screen.contains("Other screens") && !screen.contains("add counters"), "{screen}");
    bench.types("xyz");
    has(&bench.screen(), &["not found"]);
    for _ in 0..7 {
        bench.key(KeyCode::Backspace);
    }
    has(&bench.screen(), &["Keys /", "add counters"]);
    // Escape ends the search, and the next key the help.
    bench.key(KeyCode::Esc);
    assert_eq!(bench.screen(), first);
    bench.key(KeyCode::Esc);
    assert!(!bench.screen().contains("any key closes"));
}

fn wheel(bench: &mut Bench, kind: MouseEventKind) {
    bench.app.event(&Event::Mouse(MouseEvent { kind, column: 40, row: 10, modifiers: KeyModifiers::NONE }));
}

#[test]
fn the_tour_of_one_minute() {
    for (name, language) in [("tour", Language::ENGLISH), ("tour-korean", Language::KOREAN)] {
        let mut bench = Bench::with(DEFAULTS, language, |_| ());
        bench.run(5).types("?").key(KeyCode::Tab);
        check(&format!("{name}-perfmon"), &mut bench);
        bench.key(KeyCode::Tab);
        let screen = check(&format!("{name}-top"), &mut bench);
        has(&screen, &["top"]);
        // Behind the last page the keys come again; any other key closes.
        bench.key(KeyCode::Tab);
        has(&bench.screen(), &["Ctrl-Z"]);
        bench.types("x");
        assert!(!bench.screen().contains("Ctrl-Z"));
    }
}

#[test]
fn no_such_object_counter_or_instance() {
    let mut bench = Bench::new(&[
        r"\Procesor(_Total)\% Processor Time",
        r"\Memory\Availabel MBytes",
        r"\Process(nobody)\Working Set",
        r"\Memory\Available MBytes",
    ]);
    let screen = check("not-found", bench.run(3));
    has(&screen, &["did you mean Processor", "did you mean Available MBytes", "nobody"]);
    let style = bench.style_of("Procesor(");
    assert!(style.add_modifier.contains(ratatui::style::Modifier::UNDERLINED), "{style:?}");
    // The instance may still appear.
    bench.script.processes.lock().push("nobody");
    bench.run(1);
    has(&bench.screen(), &["61,7"]);
}

#[test]
fn an_instance_ends_and_returns() {
    let mut bench = Bench::new(&[r"\Process(*)\% Processor Time"]);
    bench.run(40);
    *bench.script.processes.lock() = vec!["myapp", "_Total"];
    let screen = check("ended", bench.run(10));
    has(&screen, &["ended 09:40:40"]);
    *bench.script.processes.lock() = vec!["myapp", "shell", "_Total"];
    let screen = check("returned", bench.run(10));
    assert_eq!(screen.matches("ended").count(), 1, "{screen}");
}

#[test]
fn a_counter_that_goes_backwards_has_a_gap_and_a_reason() {
    let mut bench = Bench::new(&[r"\PhysicalDisk(_Total)\Disk Bytes/sec"]);
    bench.run(40);
    bench.script.backwards.set(true);
    let screen = check("backwards", bench.run(5));
    has(&screen, &["PDH_CALC_NEGATIVE_VALUE", "! "]);
}

#[test]
fn a_value_above_the_scale_is_marked() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60).types("++");
    has(&check("above", &mut bench), &["▲", "100.0"]);
}

#[test]
fn a_provider_that_is_late_is_marked() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(10).key(KeyCode::Down);
    bench.script.memory.set(Some(ValueState::Stale));
    has(&check("stale", bench.run(3)), &["⚠", "old value"]);
}

#[test]
fn access_denied_says_what_to_do() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(10).key(KeyCode::Down);
    bench.script.memory.set(Some(DENIED));
    let screen = check("denied", bench.run(3).resize(140, 30));
    has(&screen, &["more rights are needed", "tally doctor"]);
}

#[test]
fn a_host_that_can_not_be_reached_is_tried_again() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(20);
    let error = SourceError::new(SourceErrorKind::Unreachable, "web01 does not answer: connection refused");
    *bench.script.failure.lock() = Some(error);
    let screen = check("unreachable", bench.run(3));
    has(&screen, &["connection refused", "retry in 8 s"]);
    let milliseconds = std::time::Duration::from_millis;
    for (left, shown) in [(7_600, "8 s"), (7_000, "7 s"), (300, "1 s"), (0, "1 s")] {
        bench.app.count_down(milliseconds(left));
        has(&bench.screen(), &[&format!("retry in {shown}")]);
    }
    assert!(!bench.app.count_down(milliseconds(900)), "it looks the same");
    assert!(bench.app.count_down(milliseconds(1_001)));
    *bench.script.failure.lock() = None;
    has(&check("reachable", bench.run(3)), &["live"]);
    assert_eq!(bench.app.pause(), std::time::Duration::from_secs(1));
}

#[test]
fn damaged_data_is_reported_with_its_offset() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(20);
    let error = SourceError::new(SourceErrorKind::BadData, "not a valid data block: 12 bytes needed at 4096");
    *bench.script.failure.lock() = Some(error);
    has(&check("damaged", bench.run(1)), &["at 4096"]);
}

#[test]
fn frozen_and_past() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60).types("f");
    let before = bench.screen();
    let frozen = check("frozen", bench.run(20));
    has(&frozen, &["FROZEN", "09:41:19"]);
    // The chart stays as it was.
    let chart = |screen: &str| screen.lines().skip(1).take(18).map(str::to_string).collect::<Vec<_>>();
    assert_eq!(chart(&frozen), chart(&before));
    bench.types("t").run(200).key(KeyCode::PageUp).key(KeyCode::PageUp);
    has(&check("past", &mut bench), &["PAST"]);
}

#[test]
fn tiny_terminals_have_the_report() {
    let mut bench = Bench::new(DEFAULTS);
    check("tiny", bench.run(10).resize(59, 20));
    check("tiny-low", bench.resize(100, 14));
    // The value matters most: it is whole, and the distinct part of the name is beside it.
    let screen = check("tiny-narrow", bench.resize(20, 12));
    has(&screen, &["65.00 %", "3,220", "810,000", "44,000", "17,500"]);
    // A number that does not fit is not cut into another number.
    let mut young = Bench::new(&[r"\PhysicalDisk(_Total)\Disk Bytes/sec"]);
    has(&young.run(10).resize(10, 8).screen(), &["8.10e5"]);
    for (columns, rows) in [(1, 1), (3, 2), (10, 3), (20, 40), (200, 3), (300, 100)] {
        for view in "gAGbrvT?xaP".chars() {
            bench.types(&view.to_string()).resize(columns, rows).screen();
            bench.key(KeyCode::Esc).key(KeyCode::Esc);
        }
    }
}

#[test]
fn korean_is_aligned() {
    let mut bench = Bench::with(DEFAULTS, Language::KOREAN, |_| ());
    let screen = check("korean", bench.run(60));
    has(&screen, &["프로세서", "최대"]);
    // The last values end in the same column.
    let ends: Vec<usize> = screen
        .lines()
        .filter(|line| line.contains("web01") && !line.contains("Tallymon"))
        .map(unicode_width::UnicodeWidthStr::width)
        .collect();
    assert!(ends.len() >= 4 && ends.windows(2).all(|pair| pair[0] == pair[1]), "{ends:?}\n{screen}");
    check("korean-add", bench.types("a").types("집합"));
}

#[test]
fn japanese_and_russian_words() {
    check("japanese", Bench::with(DEFAULTS, Language::JAPANESE, |_| ()).run(5).types("?"));
    check("russian", Bench::with(DEFAULTS, Language::RUSSIAN, |_| ()).run(5).types("?"));
}

#[test]
fn ascii_without_colour() {
    let mut bench = Bench::with(DEFAULTS, Language::ENGLISH, |options| {
        options.glyphs = Glyphs::Ascii;
        options.colours = Colours::None;
    });
    let screen = check("ascii", bench.run(60));
    assert!(screen.is_ascii(), "{screen}");
    assert_eq!(bench.style_of("Tallymon").fg, Some(ratatui::style::Color::Reset));
    for keys in ["A", "G", "b", "v", "r", "T", "?", "x", "P", "a"] {
        let screen = bench.types(keys).screen();
        assert!(screen.is_ascii(), "{keys}:\n{screen}");
        bench.key(KeyCode::Esc);
    }
}

#[test]
fn lines_have_the_colours_of_their_terminal() {
    use ratatui::style::Color;
    for (colours, wanted) in [
        (Colours::None, [Color::Reset, Color::Reset]),
        (Colours::Sixteen, [Color::LightCyan, Color::Yellow]),
        (Colours::Indexed, [Color::Indexed(74), Color::Indexed(214)]),
        (Colours::True, [Color::Rgb(86, 180, 233), Color::Rgb(230, 159, 0)]),
    ] {
        let mut bench = Bench::with(DEFAULTS, Language::ENGLISH, |options| options.colours = colours);
        bench.run(3);
        // The patterns differ whatever the colours are.
        let found = ["━━━", "━╺━"].map(|sample| bench.style_of(sample).fg);
        assert_eq!(found, wanted.map(Some), "{colours:?}");
    }
}

#[test]
fn the_host_of_another_machine_is_shown() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(3).types(r"p\\elsewhere\Memory\Available MBytes").key(KeyCode::Enter);
    let screen = check("elsewhere", bench.run(3));
    has(&screen, &[r"\\elsewhere\Memory", "leave the host out"]);
    // The host of this monitor may be named.
    let mut own = Bench::new(&[]);
    own.run(1).types(r"p\\WEB01\Memory\Available MBytes").key(KeyCode::Enter);
    has(&own.run(3).screen(), &["▶ ━━━", "Available MBytes", " 3,0"]);
}

#[test]
fn nothing_chosen() {
    let mut bench = Bench::new(&[]);
    has(&check("empty", bench.run(3)), &["No counters"]);
}

#[test]
fn the_table_shows_an_object_by_name_and_the_columns_that_were_chosen() {
    let mut bench = Bench::new(&[r"\Process(myapp)\% Processor Time"]);
    bench.run(5).types("TJ");
    check("table-objects", &mut bench);
    bench.types("inter").key(KeyCode::Enter).run(2);
    has(&bench.screen(), &["Network Interface: 2"]);
    bench.types("Jproc");
    let screen = bench.screen();
    has(&screen, &["Process ", "Processor "]);
    assert!(!screen.contains("PhysicalDisk"), "{screen}");
    bench.types("xyz");
    has(&bench.screen(), &["not found"]);
    // Enter on nothing chooses nothing.
    bench.key(KeyCode::Enter);
    for _ in 0..3 {
        bench.key(KeyCode::Backspace);
    }
    bench.key(KeyCode::Enter).run(2);
    let screen = bench.screen();
    has(&screen, &["Process: 4"]);
    // Without the arrow of the order, which a table that is opened again has in its first place.
    let heading = |bench: &mut Bench| {
        let line = bench.screen().lines().nth(3).unwrap_or_default().replace('▼', " ");
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let before = heading(&mut bench);
    // The sorted column goes to the right, and is hidden there.
    bench.types(")");
    let moved = heading(&mut bench);
    assert_ne!(moved, before);
    bench.types("X");
    let hidden = heading(&mut bench);
    assert!(hidden != moved && bench.app.settings().columns.is_some(), "{hidden}");
    let kept = bench.app.settings().columns.unwrap().0["Process"].clone();
    // The choice stays while other objects are shown, and in a settings file.
    bench.types("nN").run(1);
    assert_eq!(heading(&mut bench), hidden);
    let settings = bench.app.settings().to_string();
    assert_eq!(Settings::parse(&settings).unwrap().columns.unwrap().0["Process"], kept);
    bench.types("M");
    assert_eq!(heading(&mut bench), before);
    assert!(bench.app.settings().columns.is_none());
    // The last column stays.
    for _ in 0..60 {
        bench.types("X");
    }
    assert_eq!(bench.app.settings().columns.unwrap().0["Process"].len(), 1);
}
