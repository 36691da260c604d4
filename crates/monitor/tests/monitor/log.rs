//! Logs in the monitor, and files that are saved from it.

use std::fs;
use std::path::{Path, PathBuf};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tallymon::core::title::Language;
use tallymon::log::ReadOptions;
use tallymon::{Log, Query};
use tallymon_monitor::chart::Glyphs;
use tallymon_monitor::settings::Settings;
use tallymon_monitor::{App, Colours, Options};

use crate::fake::{Bench, DEFAULTS};
use crate::screens::{check, has};

/// A log of an hour with a row every ten seconds: a processor spike in the middle, caused by a process that
/// exists only then.
fn text() -> String {
    let mut text = String::from(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\vm\\Processor(_Total)\\% Processor Time\",\"\\\\vm\\Process(calm)\\% Processor Time\",\
         \"\\\\vm\\Process(busy)\\% Processor Time\",\"\\\\vm\\Memory\\Available MBytes\",\"\\\\vm\\Own Object(one)\\Own Counter\"\r\n",
    );
    for row in 0..360 {
        let spike = (170..180).contains(&row);
        let (minute, second) = (row / 6, row % 6 * 10);
        let busy = if spike { "90.5" } else { " " };
        let total = if spike { 95 } else { 5 + row % 7 };
        text += &format!(
            "\"11/26/2016 13:{minute:02}:{second:02}.000\",\"{total}\",\"{}\",\"{busy}\",\"{}\",\"{row}\"\r\n",
            row % 5,
            4_000 - row
        );
    }
    text
}

/// A folder that is removed after the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tallymon-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

pub(crate) fn open(path: &Path, paths: &[&str], budget: usize) -> Bench {
    let log = Log::open(path, &ReadOptions::default()).unwrap();
    let again = log.clone();
    let query = move || Query::new(Box::new(again.source()), Language::ENGLISH);
    let mut options = Options::new(query.clone());
    options.paths = paths.iter().map(|path| (*path).to_string()).collect();
    (options.glyphs, options.colours) = (Glyphs::Braille, Colours::Sixteen);
    options.log = Some(log);
    options.budget = budget;
    Bench::of(App::new(query().unwrap(), options))
}

const PATHS: &[&str] = &[r"\Processor(_Total)\% Processor Time", r"\Memory\Available MBytes"];

#[test]
fn a_log_opens_in_the_same_view() {
    let folder = Folder::new("replay");
    let file = folder.0.join("hour.csv");
    fs::write(&file, text()).unwrap();
    let mut bench = open(&file, PATHS, 1 << 20);
    let screen = check("log", &mut bench);
    has(&screen, &["LOG", "hour.csv", "360 records", "13:00:00", "13:59:50", "━"]);
    // Jump to a time and open its top contributors: the log has the process that existed only then.
    bench.types(":13:29").key(KeyCode::Enter).key(KeyCode::Enter);
    let screen = check("log-spike", &mut bench);
    has(&screen, &["top contributors at 13:29:00", "busy", "90.50", "At"]);
    bench.key(KeyCode::Esc).types(":2016-11-26 13:10:00").key(KeyCode::Enter);
    assert_eq!(bench.app.monitor().window.cursor, Some(60));
    // Step by step, and playing.
    bench.types("..,");
    assert_eq!(bench.app.monitor().window.cursor, Some(61));
    bench.types("t");
    bench.app.begin_sample();
    bench.app.begin_sample();
    assert_eq!(bench.app.monitor().window.cursor, Some(63));
    bench.types("t");
    bench.app.begin_sample();
    assert_eq!(bench.app.monitor().window.cursor, Some(63));
    // The table shows the time at the cursor, also of unknown objects.
    bench.types(":13:29").key(KeyCode::Enter).key(KeyCode::Down).types("T");
    has(&bench.screen(), &["Process", "busy", "90.50"]);
    // The title of the table shows its filter.
    bench.types("/cal").key(KeyCode::Enter);
    let screen = bench.screen();
    has(&screen, &["Process: 1   sorted by", "   /cal\n", "calm"]);
    assert!(!screen.contains("busy"), "{screen}");
    bench.types("/").key(KeyCode::Esc);
    bench.types("gaown").key(KeyCode::Enter).key(KeyCode::Esc).key(KeyCode::Esc);
    let monitor = bench.app.monitor();
    let own = monitor.series().iter().find(|series| series.path == r"\Own Object(one)\Own Counter").unwrap();
    assert_eq!(own.at(monitor.next(), 359), Some(Ok(359.0)));
}

#[test]
fn a_log_longer_than_the_memory_shows_a_part_and_jumps() {
    let folder = Folder::new("long");
    let file = folder.0.join("hour.csv");
    fs::write(&file, text()).unwrap();
    // Memory for 100 rows of two series and a time, less what the series themselves use.
    let mut bench = open(&file, PATHS, 100 * 24 * 2);
    let rows = bench.app.monitor().rows();
    assert!(rows.start == 0 && (50..100).contains(&rows.end), "{rows:?}");
    has(&bench.screen(), &[&format!("records in memory {} / 360", rows.end)]);
    bench.types(":13:50").key(KeyCode::Enter);
    let monitor = bench.app.monitor();
    let cursor = monitor.window.cursor.unwrap();
    let time = monitor.time(cursor).unwrap().system_time();
    assert_eq!((time.hour, time.minute, time.second), (13, 50, 0));
    bench.types(":13:00").key(KeyCode::Enter);
    let time = bench.app.monitor().time(bench.app.monitor().window.cursor.unwrap()).unwrap().system_time();
    assert_eq!((time.minute, time.second), (0, 0));
}

/// The time at the left end of the chart and that at its right end, in seconds since the beginning of the
/// log.
fn ends(bench: &Bench) -> (u64, u64) {
    let (from, to) = bench.app.monitor().view_times().unwrap();
    let first = bench.app.log().unwrap().summary().first.0;
    ((from.0 - first) / 10_000_000, (to.0 - first) / 10_000_000)
}

#[test]
fn paging_reads_on_beyond_the_memory() {
    let folder = Folder::new("pages");
    let file = folder.0.join("hour.csv");
    fs::write(&file, text()).unwrap();
    let mut bench = open(&file, &[r"\Own Object(one)\Own Counter"], 100 * 16 * 2);
    let held = bench.app.monitor().rows().end;
    assert!((50..110).contains(&held), "{held}");
    // 20 rows in view, ten seconds apart.
    bench.types("[[[").key(KeyCode::Home);
    let points = bench.app.monitor().window.points() as u64;
    assert!((10..=20).contains(&points), "{points}");
    let check = |bench: &Bench| {
        let monitor = bench.app.monitor();
        let (from, _) = ends(bench);
        // Every row in view has its value: the number of its record.
        for (nth, row) in monitor.view().enumerate() {
            let value = monitor.series()[0].at(monitor.next(), row).unwrap().unwrap();
            assert_eq!(value, (from / 10) as f64 + nth as f64);
        }
        assert_eq!(monitor.view().count() as u64, points);
        assert!(monitor.rows().end - monitor.rows().start <= held + 2, "no more memory than before");
    };
    assert_eq!(ends(&bench).0, 0);
    let mut pages = 0;
    while ends(&bench).1 < 3_590 {
        let before = ends(&bench);
        bench.key(KeyCode::PageDown);
        check(&bench);
        let after = ends(&bench);
        assert!(after.0 > before.0 && after.0 <= before.1 + 10, "nothing is left out: {before:?} {after:?}");
        pages += 1;
    }
    assert!((360 / points..=1_000).contains(&pages), "{pages}");
    while ends(&bench).0 > 0 {
        let before = ends(&bench);
        bench.key(KeyCode::PageUp);
        check(&bench);
        let after = ends(&bench);
        assert!(after.0 < before.0 && after.1 + 10 >= before.0, "nothing is left out: {before:?} {after:?}");
    }
    // The legend shows the last value in view.
    let shown = bench.app.monitor().view().end - 1;
    let legend = bench.screen().lines().find(|line| line.starts_with('▶')).unwrap().to_string();
    assert!(legend.ends_with(&format!(" {shown}.000")) || legend.ends_with(&format!(" {shown}")), "{legend}");
    // The ends of the log, and back.
    bench.key(KeyCode::End);
    assert_eq!(ends(&bench).1, 3_590);
    bench.key(KeyCode::Home);
    assert_eq!(ends(&bench).0, 0);
    check(&bench);
    // The cursor and playing read on as well.
    let cursor = |bench: &Bench| {
        let time = bench.app.monitor().time(bench.app.monitor().window.cursor.unwrap()).unwrap();
        (time.0 - bench.app.log().unwrap().summary().first.0) / 10_000_000
    };
    let last = bench.app.monitor().rows().end - 1;
    bench.types(&format!(":13:{:02}:{:02}", last / 6, last % 6 * 10)).key(KeyCode::Enter);
    assert_eq!(cursor(&bench), last * 10);
    bench.types(".");
    assert_eq!(cursor(&bench), last * 10 + 10);
    for _ in 0..held {
        bench.types(",");
    }
    assert_eq!(cursor(&bench), (last + 1 - held) * 10);
    bench.types(&format!(":13:{:02}:{:02}", last / 6, last % 6 * 10)).key(KeyCode::Enter).types("t");
    for _ in 0..held + 20 {
        bench.app.begin_sample();
        bench.settle();
    }
    assert!(cursor(&bench) > (last + held) * 10, "{}", cursor(&bench));
}

#[test]
fn a_log_of_windows_opens() {
    let Some(file) = tallymon_testkit::shared("logs/Tx_BasicPerfCounters.blg") else { return };
    let mut bench = open(&file, &[r"\Processor(_Total)\% Processor Time"], 1 << 24);
    assert_eq!(bench.app.monitor().rows(), 0..601);
    let monitor = bench.app.monitor();
    let series = &monitor.series()[0];
    assert_eq!(
        series.at(monitor.next(), 0).map(|value| value.is_ok()),
        Some(false),
        "a share needs two samples"
    );
    // The same numbers as in a copy of the log.
    let folder = Folder::new("windows");
    let csv = folder.file("copy.csv");
    bench.types("w");
    for _ in 0..60 {
        bench.key(KeyCode::Backspace);
    }
    bench.types(&csv).key(KeyCode::Enter);
    has(&bench.screen(), &["saved: "]);
    let copy = Log::open(Path::new(&csv), &ReadOptions::default()).unwrap();
    let key = series_key();
    let column =
        copy.column(tallymon::core::title::TitleIndex(238), tallymon::core::title::TitleIndex(6), Some(&key));
    let mut row = 0;
    let monitor = bench.app.monitor();
    copy.read(&[column.unwrap()], |_, values| {
        let ours = monitor.series()[0].at(monitor.next(), row).unwrap().ok();
        let theirs = values.values[0].as_ref().ok().and_then(|value| value.as_f64());
        assert_eq!(ours, theirs, "row {row}");
        row += 1;
        true
    })
    .unwrap();
    assert_eq!(row, 601);
}

#[test]
fn opening_a_log_keeps_the_live_history() {
    let folder = Folder::new("opened");
    let mut bench = Bench::new(DEFAULTS);
    bench.run(30).types("A");
    let paths = |bench: &Bench| -> Vec<String> {
        bench.app.monitor().series().iter().map(|series| series.path.clone()).collect()
    };
    let (before, view) = (paths(&bench), bench.screen());
    // A file that is neither log nor settings changes nothing, and neither does a text that parses as empty
    // settings.
    fs::write(folder.0.join("empty.txt"), "# nothing\n").unwrap();
    for name in ["empty.txt", "nowhere.blg"] {
        bench.types("O").types(&folder.file(name)).key(KeyCode::Enter);
        has(&bench.screen(), &[name]);
        assert_eq!((paths(&bench), bench.app.monitor().rows()), (before.clone(), 0..30), "{name}");
    }
    // The content decides: this is a text log without an ending. It has a time slider, and the current
    // counters that the log has as well.
    fs::write(folder.0.join("hour"), text()).unwrap();
    bench.types("O").types(&folder.file("hour")).key(KeyCode::Enter);
    let screen = bench.screen();
    has(&screen, &["LOG", " hour ", "360 records", "13:00:00", "13:59:50"]);
    assert_eq!(paths(&bench), PATHS);
    bench.types(":13:29").key(KeyCode::Enter).key(KeyCode::Enter);
    has(&bench.screen(), &["top contributors at 13:29:00", "busy"]);
    let click = |bench: &mut Bench, column, row| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        bench.app.event(&Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
    };
    bench.key(KeyCode::Esc).key(KeyCode::Esc);
    click(&mut bench, 50, 28);
    let cursor = bench.app.monitor().window.cursor.unwrap();
    assert!((150..210).contains(&cursor), "{cursor}");
    // Then a log of another format, with other counters.
    if let Some(file) = tallymon_testkit::shared("logs/Tx_BasicPerfCounters.blg") {
        bench.types("O").types(&file.to_string_lossy()).key(KeyCode::Enter);
        has(&bench.screen(), &["Tx_BasicPerfCounters.blg"]);
        assert_eq!(bench.app.monitor().rows(), 0..601);
    }
    // Back to live samples: the same picture continues.
    let now = |bench: &mut Bench| {
        bench.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('t'), KeyModifiers::CONTROL)));
    };
    now(&mut bench);
    assert_eq!(bench.screen(), view);
    bench.run(5);
    assert_eq!((paths(&bench), bench.app.monitor().rows()), (before, 0..35));
    let memory = &bench.app.monitor().series()[1];
    assert!((25..35).all(|row| memory.at(35, row).unwrap().is_ok()), "a value of one sample has no gap");
    now(&mut bench);
    assert_eq!(bench.app.monitor().rows(), 0..35, "there is nothing else to go back to");
    // Settings with another ending.
    fs::write(folder.0.join("mine.txt"), bench.app.settings().to_string()).unwrap();
    let mut other = Bench::new(&[]);
    other.run(1).types("O").types(&folder.file("mine.txt")).key(KeyCode::Enter).run(3);
    assert_eq!(other.app.settings(), bench.app.settings());
}

#[cfg(unix)]
#[test]
fn keys_work_while_a_file_is_opened_and_escape_stops_it() {
    let folder = Folder::new("slow");
    // What comes of opening it, that a plain file is needed, is not taken: until then it is being opened.
    let pipe = folder.file("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut bench = Bench::new(DEFAULTS);
    bench.run(3).types("O").types(&pipe);
    let key = |bench: &mut Bench, code| {
        bench.app.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    };
    key(&mut bench, KeyCode::Enter);
    assert!(bench.app.is_opening());
    has(&bench.screen(), &["opening pipe.csv", "0 %", "Esc stops", "live"]);
    bench.run(3);
    assert_eq!(bench.app.monitor().rows(), 0..6);
    // Other keys work as always.
    key(&mut bench, KeyCode::Char('f'));
    has(&bench.screen(), &["FROZEN", "opening pipe.csv"]);
    key(&mut bench, KeyCode::Esc);
    assert!(!bench.app.is_opening() && !bench.screen().contains("opening"));
    // The next file need not wait for it, and opening it closes the dialog.
    fs::write(folder.0.join("hour"), text()).unwrap();
    bench.types("fO").types(&folder.file("hour"));
    key(&mut bench, KeyCode::Enter);
    key(&mut bench, KeyCode::Char('?'));
    while bench.app.is_opening() {
        bench.app.file_comes(std::time::Duration::from_secs(60));
    }
    bench.settle();
    let screen = bench.screen();
    has(&screen, &["LOG", " hour ", "360 records"]);
    assert!(!screen.contains("Keys"), "{screen}");
}

#[test]
fn a_log_of_several_days_shows_dates_and_a_dropped_file_opens() {
    let folder = Folder::new("days");
    let mut text = String::from(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\vm\\Memory\\Available MBytes\",\"\\\\vm\\System\\Threads\"\r\n",
    );
    for hour in 0..72 {
        let (day, hour) = (28 + hour / 24, hour % 24);
        text += &format!("\"11/{day}/2016 {hour:02}:15:30.000\",\"{}\",\"700000\"\r\n", hour * 100);
    }
    let file = folder.file("days.csv");
    fs::write(&file, text).unwrap();
    let mut bench = Bench::new(&[r"\Memory\Available MBytes"]);
    bench.run(3);
    bench.app.event(&Event::Paste(format!("'{file}' ")));
    bench.settle();
    let screen = bench.screen();
    has(&screen, &["LOG", "days.csv", "72 records", " 11-28 00:15 ━", "━ 11-30 23:15", "     11-28 00:15 "]);
    bench.types(":2016-11-29 12:00").key(KeyCode::Enter);
    has(&bench.screen(), &[" 11-29 12:15:30 "]);
    // Also when only some hours of it are in view.
    bench.types("[[[");
    has(&bench.screen(), &[" 11-29 12:15:30 ", " 11:15:30 "]);
    bench.types("]]]");
    // Fit all lines to the chart.
    bench.app.event(&Event::Paste(r"\System\Threads".to_string()));
    bench.settle();
    bench.types("F");
    let powers: Vec<i32> =
        bench.app.monitor().series().iter().map(|one| bench.app.monitor().power(one)).collect();
    assert_eq!(powers, [-2, -4]);
}

fn series_key() -> tallymon::InstanceKey {
    tallymon::InstanceKey { name: "_Total".to_string(), ..Default::default() }
}

#[test]
fn a_damaged_log_says_so() {
    let Some(file) = tallymon_testkit::shared("logs/Tx_BasicPerfCounters.blg") else { return };
    let folder = Folder::new("damaged");
    let mut bytes = fs::read(file).unwrap();
    bytes.truncate(200_000);
    let cut = folder.0.join("cut.blg");
    fs::write(&cut, bytes).unwrap();
    let mut bench = open(&cut, &[r"\Processor(_Total)\% Processor Time"], 1 << 24);
    let rows = bench.app.monitor().rows();
    assert!(rows.end > 100 && rows.end < 601, "{rows:?}");
    let screen = bench.resize(140, 30).screen();
    has(&screen, &["the log is damaged", "byte"]);
    check("log-damaged", &mut bench);
}

#[test]
fn tab_completes_the_path_of_a_file() {
    let folder = Folder::new("completed");
    for name in ["monday one.tallymon", "monday two.tallymon"] {
        std::fs::write(folder.file(name), "").unwrap();
    }
    let mut bench = Bench::new(DEFAULTS);
    bench.resize(180, 24);
    bench.run(1).types("O").types(&folder.file("mon")).key(KeyCode::Tab).settle();
    let screen = bench.screen();
    has(&screen, &["/monday\\", " monday one.tallymon  monday two.tallymon"]);
    bench.types("t").key(KeyCode::Tab).settle();
    let screen = bench.screen();
    has(&screen, &["monday\\ two.tallymon"]);
    assert!(!screen.contains("one.tallymon"), "{screen}");
    // It is the file that opens: an empty one has default settings.
    bench.key(KeyCode::Enter).settle();
    assert!(!bench.screen().contains("monday"), "{}", bench.screen());
    // The name of a file to write has its blanks as they are.
    bench.types("w").key(KeyCode::Null);
    bench.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL)));
    bench.types(&folder.file("monday o")).key(KeyCode::Tab).settle();
    has(&bench.screen(), &["monday one.tallymon"]);
}

#[test]
fn a_saved_file_opens_again() {
    let folder = Folder::new("saved");
    let mut bench = Bench::new(DEFAULTS);
    bench.run(30).types("++").key(KeyCode::Down).types(" ").key(KeyCode::Down).types("S").types("A");
    let save = |bench: &mut Bench, name: &str| {
        bench.types("w");
        for _ in 0..60 {
            bench.key(KeyCode::Backspace);
        }
        bench.types(&folder.file(name)).key(KeyCode::Enter);
        let screen = bench.screen();
        assert!(screen.contains("saved: "), "{name}: {screen}");
    };
    save(&mut bench, "mine.tallymon");
    let settings = Settings::open(&folder.0.join("mine.tallymon")).unwrap();
    assert_eq!(settings, bench.app.settings());
    let mut other = Bench::new(&[]);
    other.run(1).types("O").types(&folder.file("mine.tallymon")).key(KeyCode::Enter).run(3);
    assert_eq!(other.app.settings(), settings);
    other.types("O/nowhere.tallymon").key(KeyCode::Enter);
    has(&other.screen(), &["/nowhere.tallymon: "]);
    // Every format that can be written has the same numbers.
    let formats = tallymon::log::FORMATS.iter().filter(|format| format.writes && format.reads);
    let mut files = 1;
    for format in formats {
        files += 1;
        let name = format!("seen.{}", format.extension);
        save(&mut bench, &name);
        let log = open(&folder.0.join(&name), &[r"\Memory\Available MBytes"], 1 << 20);
        let monitor = log.app.monitor();
        let seen = bench.app.monitor();
        let memory = seen.series().iter().find(|series| series.path.starts_with(r"\Memory")).unwrap();
        assert_eq!(monitor.rows(), 0..30, "{name}");
        for row in 0..30 {
            assert_eq!(monitor.series()[0].at(30, row), memory.at(seen.next(), row), "{name}, row {row}");
        }
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), files, "nothing else is left in the folder");
}

/// A log of two hosts with the same counters; one host has one more.
fn of_two_hosts(folder: &Folder) -> PathBuf {
    let mut text = String::from(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\vm\\Processor(_Total)\\% Processor Time\",\"\\\\vm\\Process(calm)\\% Processor Time\",\
         \"\\\\web02\\Processor(_Total)\\% Processor Time\",\"\\\\WEB02\\Process(busy)\\% Processor Time\",\
         \"\\\\web02\\Memory\\Available MBytes\"\r\n",
    );
    for row in 0..60 {
        text += &format!(
            "\"11/26/2016 13:00:{row:02}.000\",\"{row}\",\"1\",\"{}\",\"70\",\"{row}\"\r\n",
            90 - row
        );
    }
    let file = folder.0.join("two.csv");
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_log_of_several_hosts_shows_them_all() {
    let folder = Folder::new("hosts");
    let mut bench = open(&of_two_hosts(&folder), &[r"\Processor(_Total)\% Processor Time"], 1 << 20);
    has(&bench.screen(), &["vm, web02"]);
    // Choose the host in the dialog, and the same counter there.
    bench.types("a").key(KeyCode::BackTab).key(KeyCode::Down);
    let screen = check("log-hosts-add", &mut bench);
    has(&screen, &["Host (2)", r"\\web02\Processor(_Total)\% Processor Time"]);
    bench.key(KeyCode::Enter).key(KeyCode::Esc);
    let screen = check("log-hosts", &mut bench);
    has(&screen, &["_Total   Processor vm ", "_Total   Processor web02 "]);
    let monitor = bench.app.monitor();
    let values: Vec<_> = monitor.series().iter().map(|series| series.at(monitor.next(), 10)).collect();
    assert_eq!(values, [Some(Ok(10.0)), Some(Ok(80.0))]);
    assert_eq!(monitor.chosen().unwrap().path, r"\\web02\Processor(_Total)\% Processor Time");
    // Top contributors, table and explanation belong to the host of the chosen line.
    bench.types(":13:00:10").key(KeyCode::Enter).key(KeyCode::Enter);
    let screen = bench.screen();
    assert!(screen.contains("busy") && !screen.contains("calm"), "{screen}");
    bench.key(KeyCode::Enter).key(KeyCode::Esc);
    let busy = r"\\web02\Process(busy)\% Processor Time";
    assert_eq!(bench.app.monitor().chosen().unwrap().path, busy);
    bench.types("T");
    let screen = bench.screen();
    assert!(screen.contains("busy") && !screen.contains("calm"), "{screen}");
    bench.types("gx");
    has(&bench.screen(), &["% Processor Time", "70"]);
    // Saved files name the hosts, and settings open again.
    bench.key(KeyCode::Esc).key(KeyCode::Esc);
    let settings = bench.app.settings();
    bench.types("w");
    for _ in 0..60 {
        bench.key(KeyCode::Backspace);
    }
    let copy = folder.file("copy.csv");
    bench.types(&copy).key(KeyCode::Enter);
    let text = fs::read_to_string(&copy).unwrap();
    let head = text.lines().next().unwrap().to_lowercase();
    assert_eq!((head.matches(r"\\vm\").count(), head.matches(r"\\web02\").count()), (1, 2), "{head}");
    bench.app.apply(&settings);
    bench.settle();
    assert_eq!(bench.app.settings(), settings);
    // A path of a host that the log does not have.
    bench.app.event(&crossterm::event::Event::Paste(r"\\web03\Memory\Available MBytes".into()));
    has(&bench.screen(), &["web03"]);
}

#[test]
fn a_counter_removed_from_a_log_stays_removed_until_undo() {
    let folder = Folder::new("removed");
    let paths = [r"\Processor(_Total)\% Processor Time", r"\\web02\Process(busy)\% Processor Time"];
    let mut bench = open(&of_two_hosts(&folder), &paths, 1 << 20);
    let seen = |bench: &Bench| -> Vec<String> {
        bench.app.monitor().series().iter().map(|series| series.path.clone()).collect()
    };
    assert_eq!(seen(&bench), paths);
    bench.key(KeyCode::Delete);
    assert_eq!(seen(&bench), paths[1..]);
    bench.key(KeyCode::Delete);
    assert!(seen(&bench).is_empty(), "{:?}", seen(&bench));
    let control = crossterm::event::KeyModifiers::CONTROL;
    let undo = crossterm::event::KeyEvent::new(KeyCode::Char('z'), control);
    for left in [1, 0] {
        bench.app.event(&crossterm::event::Event::Key(undo));
        bench.settle();
        assert_eq!(seen(&bench), paths[left..]);
    }
    let monitor = bench.app.monitor();
    let values: Vec<_> = monitor.series().iter().map(|series| series.at(monitor.next(), 10)).collect();
    assert_eq!(values, [Some(Ok(10.0)), Some(Ok(70.0))]);
}

#[test]
fn processes_are_shown_below_their_parents() {
    let folder = Folder::new("tree");
    let file = folder.0.join("tree.csv");
    // Name, process id, parent process id, and memory.
    let processes = [
        ("_Total", 0, 0, 61),
        ("init", 1, 0, 10),
        ("shell", 7, 1, 5),
        ("server", 8, 1, 20),
        ("job", 9, 7, 15),
        ("orphan", 12, 99, 11),
    ];
    let mut lines = ["\"(PDH-CSV 4.0) (UTC)(0)\"".to_string(), "\"11/26/2016 13:00:00.000\"".to_string()];
    for (name, own, maker, memory) in processes {
        for (counter, value) in
            [("ID Process", own), ("Creating Process ID", maker), ("Working Set", memory * 1_000_000)]
        {
            lines[0] += &format!(",\"\\\\vm\\Process({name})\\{counter}\"");
            lines[1] += &format!(",\"{value}\"");
        }
    }
    let again = lines[1].replace("13:00:00", "13:00:01");
    fs::write(&file, format!("{}\r\n{}\r\n{again}\r\n", lines[0], lines[1])).unwrap();
    let mut bench = open(&file, &[r"\Process(shell)\Working Set"], 1 << 20);
    bench.types("TH");
    let shown = |bench: &mut Bench| {
        let screen = bench.screen();
        let names = screen.lines().map(|line| line.split("  ").collect::<Vec<_>>());
        let known =
            |line: &str| processes.iter().any(|(name, ..)| line.trim_start_matches([' ', '└']) == *name);
        let place = |line: &Vec<&str>| line.iter().position(|part| !part.is_empty());
        names
            .filter_map(|line| Some((place(&line)?, line.get(place(&line)?)?.to_string())))
            .filter(|(_, name)| known(name))
            .map(|(steps, name)| "  ".repeat(steps) + &name)
            .collect::<Vec<_>>()
    };
    let screen = check("table-tree", &mut bench);
    has(&screen, &["Process: 6", "as a tree"]);
    let expected = ["_Total", "orphan", "init", "└ server", "└ shell", "  └ job"];
    assert_eq!(shown(&mut bench), expected, "{screen}");
    // Keys move down the tree, and a filter keeps the found rows at their depth.
    bench.key(KeyCode::Home).types("jjjj").types("/j").key(KeyCode::Enter);
    assert_eq!(shown(&mut bench), ["job"]);
    bench.types("/").key(KeyCode::Backspace).key(KeyCode::Enter).types("H");
    assert_eq!(
        shown(&mut bench),
        ["_Total", "server", "job", "orphan", "init", "shell"],
        "as they are sorted"
    );
    // The tree comes from what is known of the processes, not from the columns that are shown.
    has(&bench.screen(), &["ID Process", "Working Set", "Creating"]);
    bench.types("XX");
    let screen = bench.screen();
    assert!(!screen.contains("Working Set") && !screen.contains("Creating"), "{screen}");
    bench.types(")X");
    bench.types("H");
    let mut families = shown(&mut bench);
    families.sort();
    let mut same = expected.map(str::to_string);
    same.sort();
    assert_eq!(families, same, "each below its parent: {}", bench.screen());
}
