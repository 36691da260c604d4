//! Alerts: crossed thresholds are found, listed, shown in the chart, and saved.

use std::fs;

use crossterm::event::KeyCode;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon_monitor::model::{Crossing, MOST_CROSSINGS};
use tallymon_monitor::settings::Settings;

use crate::fake::{Bench, START, wave};
use crate::log::{Folder, open};
use crate::mouse::{LEFT, at};
use crate::properties::control;
use crate::screens::{check, has};

const TOTAL: &str = r"\Processor(_Total)\% Processor Time";
const SECOND: u64 = 10_000_000;

/// Sets a threshold for the chosen line.
fn threshold(bench: &mut Bench, number: &str) {
    bench.types("L");
    control(bench, 'u');
    bench.types(number).key(KeyCode::Enter);
}

/// The crossings in some samples of the script, computed from its wave.
fn expected(samples: u64, threshold: f64) -> Vec<Crossing> {
    let mut over = false;
    // A share of 100, as its type has it.
    let value = |step: u64| wave(step + 18, 40) as f64 / 100.0 * 100.0;
    let crosses =
        |step: &u64| std::mem::replace(&mut over, value(*step) > threshold) != (value(*step) > threshold);
    let steps: Vec<u64> = (0..samples).filter(crosses).collect();
    steps
        .into_iter()
        .map(|step| Crossing {
            time: FileTime(START.0 + step * SECOND),
            path: TOTAL.to_string(),
            value: value(step),
            threshold,
            rises: value(step) > threshold,
        })
        .collect()
}

fn events(bench: &Bench) -> Vec<Crossing> {
    bench.app.monitor().alerts.crossings().iter().cloned().collect()
}

#[test]
fn crossings_before_the_threshold_was_set_are_found_too() {
    let mut bench = Bench::new(&[TOTAL, r"\Memory\Available MBytes"]);
    bench.run(60);
    assert_eq!(events(&bench), []);
    threshold(&mut bench, "80");
    assert_eq!(events(&bench), expected(60, 80.0));
    assert!(!bench.screen().contains("Alerts"), "nothing is new: {}", bench.screen());
    bench.run(40);
    assert_eq!(events(&bench), expected(100, 80.0));
    assert_eq!(events(&bench).len(), 6, "the wave has a period of 40");
    // The title counts new alerts until the list is opened.
    has(&bench.screen(), &[" Alerts: 2 "]);
    let screen = check("alerts", bench.types("E"));
    has(&screen, &["Alerts (6)", "▲ 85", "▼ 80", "back below 80.00: 80.00"]);
    bench.key(KeyCode::Esc);
    assert!(!bench.screen().contains("Alerts: "), "{}", bench.screen());
    // Another threshold has other crossings; without one there are none, and undo restores them.
    threshold(&mut bench, "50");
    let at_50 = events(&bench);
    assert_eq!(at_50, expected(100, 50.0));
    threshold(&mut bench, "");
    assert_eq!(events(&bench), []);
    control(&mut bench, 'z');
    assert_eq!(events(&bench), at_50);
}

#[test]
fn enter_shows_the_time_of_an_alert() {
    let mut bench = Bench::new(&[r"\Memory\Available MBytes", TOTAL]);
    bench.run(100).key(KeyCode::Down);
    threshold(&mut bench, "80");
    bench.key(KeyCode::Up).types("rE").key(KeyCode::End).key(KeyCode::Enter);
    let first = expected(100, 80.0).remove(0);
    let monitor = bench.app.monitor();
    assert_eq!(monitor.window.cursor.and_then(|row| monitor.time(row)), Some(first.time));
    assert_eq!(monitor.chosen().map(|series| series.path.as_str()), Some(TOTAL));
    has(&bench.screen(), &["PAST", "100┤"]);
    // The same by two clicks; a message reports a time that is no longer in memory.
    bench.types("tE");
    at(&mut bench, "▲ 85", LEFT);
    at(&mut bench, "▲ 85", LEFT);
    assert!(bench.app.monitor().window.cursor.is_some(), "{}", bench.screen());
    bench.types("tdE").key(KeyCode::Enter);
    has(&bench.screen(), &["that time is no longer in memory"]);
}

#[test]
fn the_list_is_saved_as_csv_and_with_the_settings() {
    let folder = Folder::new("alerts");
    let mut bench = Bench::new(&[TOTAL]);
    bench.run(50);
    threshold(&mut bench, "80");
    bench.types("Ew");
    has(&bench.screen(), &["save the list as", "-alerts.csv"]);
    let file = folder.file("list.csv");
    control(&mut bench, 'u');
    bench.types(&file).key(KeyCode::Enter);
    has(&bench.screen(), &["saved", "Alerts ("]);
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "\"Time\",\"Counter\",\"Value\",\"Threshold\",\"Direction\"");
    assert_eq!(lines.len(), expected(50, 80.0).len() + 1);
    assert_eq!(
        lines[1],
        "\"2026-03-01 09:40:00.000\",\"\\Processor(_Total)\\% Processor Time\",\"90\",\"80\",\"above\""
    );
    // A name without an ending saves the list with the history and the picture.
    bench.key(KeyCode::Esc).types("w");
    control(&mut bench, 'u');
    bench.types(&folder.file("all")).key(KeyCode::Enter);
    assert_eq!(fs::read_to_string(folder.file("all-alerts.csv")).unwrap(), text);
    // Settings files keep the list, copied settings do not.
    let known = events(&bench);
    let settings = Settings::parse(&bench.app.settings().to_string()).unwrap();
    assert_eq!(settings.alerts, known);
    bench.types("Y");
    let copied = bench.app.take_clipboard().unwrap();
    assert!(copied.contains("threshold = 80.0") && !copied.contains("[[alert]]"), "{copied}");
    let mut other = Bench::new(&[]);
    other.app.apply(&settings);
    assert_eq!(events(&other), known);
    other.script.step.set(50);
    other.run(50);
    // It continues: the value is not above the threshold now, and rises again later.
    assert_eq!(events(&other), expected(100, 80.0));
}

#[test]
fn the_oldest_alerts_are_dropped_when_there_are_too_many() {
    let mut bench = Bench::new(&[TOTAL]);
    let alert = |nth: u64| Crossing {
        time: FileTime(START.0 - 2_000 * SECOND + nth * SECOND),
        path: TOTAL.to_string(),
        value: 90.0,
        threshold: 80.0,
        rises: nth.is_multiple_of(2),
    };
    let alerts: Vec<Crossing> = (0..1_500).map(alert).collect();
    let look = bench.app.settings();
    bench.app.apply(&Settings { alerts: alerts.clone(), ..look });
    assert_eq!(events(&bench), alerts[500..]);
    bench.run(1);
    threshold(&mut bench, "10");
    bench.run(60);
    let known = events(&bench);
    assert_eq!(known.len(), MOST_CROSSINGS);
    assert!(known.ends_with(&expected(61, 10.0)[1..]), "{:?}", &known[990..]);
    let (used, budget) = bench.app.monitor().memory();
    assert!(used < budget);
}

#[test]
fn a_log_has_alerts_of_all_its_time() {
    let folder = Folder::new("alerts-log");
    let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\web01{TOTAL}\"\r\n");
    for second in 0..120u32 {
        let value = if second % 30 < 10 { 95 } else { 20 };
        text += &format!("\"03/01/2026 09:{:02}:{:02}.000\",\"{value}\"\r\n", 40 + second / 60, second % 60);
    }
    fs::write(folder.0.join("hour.csv"), text).unwrap();
    let mut bench = open(&folder.0.join("hour.csv"), &[TOTAL], 1 << 20);
    threshold(&mut bench, "80");
    bench.types("E");
    let times: Vec<u64> = events(&bench).iter().map(|event| (event.time.0 - START.0) / SECOND).collect();
    assert_eq!(times, [0, 10, 30, 40, 60, 70, 90, 100]);
    bench.key(KeyCode::Down).key(KeyCode::Enter);
    let monitor = bench.app.monitor();
    assert_eq!(monitor.window.cursor, Some(90), "the newest but one");
}

#[test]
fn small_screens_and_wide_letters() {
    for (name, language, size) in [
        ("small", Language::ENGLISH, (40, 12)),
        ("korean", Language::KOREAN, (100, 30)),
        ("japanese", Language::JAPANESE, (100, 30)),
    ] {
        let mut bench = Bench::with(&[TOTAL], language, |_| ());
        bench.resize(size.0, size.1).run(50);
        threshold(&mut bench, "80");
        check(&format!("alerts-{name}"), bench.types("E"));
    }
    let mut bench = Bench::new(&[TOTAL]);
    has(&bench.run(1).types("E").screen(), &["no threshold was crossed; L in the chart sets one"]);
}

#[test]
fn the_list_stays_open_while_its_file_is_named() {
    let mut bench = Bench::new(&[TOTAL]);
    bench.run(60);
    threshold(&mut bench, "80");
    let screen = bench.types("Ew").screen();
    has(&screen, &["Alerts (", "save the list as: "]);
    let screen = bench.key(KeyCode::Esc).screen();
    assert!(screen.contains("Alerts (") && !screen.contains("save the list as"), "{screen}");
    bench.key(KeyCode::Esc);
    assert!(!bench.screen().contains("Alerts ("));
}
