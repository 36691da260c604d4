//! What a user does, key by key.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use std::time::Duration;

use tallymon::core::block::Snapshot;
use tallymon::core::flow::{Source, SourceError};
use tallymon::core::request::{Request, RequestKind};
use tallymon::core::title::{Language, Titles};
use tallymon::{Definitions, Location, Query, Sampler};
use tallymon_monitor::{App, Options};

use crate::fake::{Bench, DEFAULTS};

fn names(bench: &Bench) -> Vec<String> {
    bench.app.monitor().series().iter().map(|series| series.path.clone()).collect()
}

#[test]
fn add_by_search_in_another_language() {
    let mut bench = Bench::new(&[]);
    bench.run(1).types("a").types("작업 집합").key(KeyCode::Enter).key(KeyCode::Esc).key(KeyCode::Esc);
    bench.run(2);
    assert_eq!(names(&bench), [r"\Process(_Total)\Working Set"]);
    assert_eq!(bench.app.monitor().selected(), 0);
}

#[test]
fn the_search_knows_what_people_call_counters() {
    for (word, path) in [
        ("cpu", r"\Processor\% Processor Time"),
        ("CPU", r"\Processor\% Processor Time"),
        ("iops", r"\PhysicalDisk\Disk Transfers/sec"),
    ] {
        let mut query = Query::open(&Location::Local).unwrap();
        let mut options = Options::new(|| Query::open(&Location::Local));
        options.top = false;
        query.load_all_names().unwrap();
        let mut bench = Bench::of(App::new(query, options));
        bench.types("a").types(word).key(KeyCode::Enter);
        let added = bench.app.settings().counters;
        // A machine without disks has no sum of them.
        let without_instance = |path: &String| path.replace("(_Total)", "").replace("(*)", "");
        assert_eq!(added.iter().map(without_instance).collect::<Vec<_>>(), [path], "{word}");
    }
}

#[test]
fn add_all_instances_and_follow_new_ones() {
    let mut bench = Bench::new(&[]);
    bench.run(1).types("a").types("working").key(KeyCode::Tab).key(KeyCode::Tab).key(KeyCode::Home);
    bench.key(KeyCode::Enter).key(KeyCode::Esc).key(KeyCode::Esc).run(2);
    assert_eq!(names(&bench).len(), 4);
    bench.script.processes.lock().push("newcomer");
    bench.run(1);
    assert!(names(&bench).contains(&r"\Process(newcomer)\Working Set".to_string()), "{:?}", names(&bench));
}

#[test]
fn a_preview_is_not_recorded() {
    let mut bench = Bench::new(&[r"\Memory\Available MBytes"]);
    bench.run(1).types("a");
    for _ in 0..6 {
        bench.key(KeyCode::Down).run(1);
    }
    bench.key(KeyCode::Esc).run(1);
    assert_eq!(names(&bench), [r"\Memory\Available MBytes"]);
    // The dialog has dropped its query: a sample is one snapshot again.
    let before = bench.script.snapshots.get();
    bench.run(1);
    assert_eq!(bench.script.snapshots.get() - before, 1);
}

#[test]
fn chart_table_and_dialog_share_one_snapshot_a_row() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(2).types("T").run(2);
    bench.key(KeyCode::Char('?')).key(KeyCode::Esc).types("D").run(1);
    let before = bench.script.snapshots.get();
    bench.run(3);
    assert_eq!(bench.script.snapshots.get() - before, 3);
}

#[test]
fn removed_counters_are_no_longer_collected_and_the_others_have_no_gap() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(5).key(KeyCode::Delete).run(5);
    assert!(!names(&bench).contains(&r"\Processor(_Total)\% Processor Time".to_string()));
    let monitor = bench.app.monitor();
    for series in monitor.series() {
        for row in 2..10 {
            assert!(series.at(monitor.next(), row).unwrap().is_ok(), "{} at {row}", series.path);
        }
    }
    let before = bench.script.snapshots.get();
    bench.run(1);
    assert_eq!(bench.script.snapshots.get() - before, 1, "the query from before is gone");
}

#[test]
fn a_new_set_starts_empty() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(5).types("e").run(2);
    assert!(names(&bench).is_empty());
    bench.app.event(&Event::Paste("# saved\n'\\Memory\\Available MBytes',\nnonsense\n".into()));
    bench.run(1);
    assert_eq!(names(&bench), [r"\Memory\Available MBytes"]);
}

#[test]
fn the_filter_hides_lines() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(5).types("/bytes net").key(KeyCode::Enter);
    let screen = bench.screen();
    assert!(screen.contains("eth0") && !screen.contains("Available"), "{screen}");
    assert_eq!(bench.app.monitor().chosen().unwrap().instance.as_deref(), Some("eth0"));
    bench.key(KeyCode::Esc);
    assert!(bench.screen().contains("Available"));
}

#[test]
fn frozen_pictures_stay_while_rows_are_recorded() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(10).types("f").run(10);
    assert_eq!(bench.app.monitor().view(), 0..10);
    assert_eq!(bench.app.monitor().rows(), 0..20);
    bench.types("u");
    assert_eq!(bench.app.monitor().view(), 0..20);
    bench.run(5).types("f");
    assert_eq!(bench.app.monitor().view(), 0..25);
}

#[test]
fn back_in_time_by_key_and_by_clock() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(300).types(":09:42").key(KeyCode::Enter);
    let monitor = bench.app.monitor();
    assert_eq!(monitor.window.cursor, Some(120));
    assert!(monitor.view().contains(&120) && monitor.window.is_back());
    bench.types(":25:00").key(KeyCode::Enter);
    assert!(bench.screen().contains("not a time of day"));
    bench.key(KeyCode::End);
    assert!(bench.app.monitor().window.is_live());
    bench.key(KeyCode::Home);
    assert_eq!(bench.app.monitor().view(), 0..100);
}

#[test]
fn mouse_chooses_points_and_zooms() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60);
    let screen = bench.screen();
    let row =
        screen.lines().position(|line| line.contains("Disk Bytes/sec  ") && line.contains("✓")).unwrap();
    let click =
        |column, row, kind| Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
    let left = MouseEventKind::Down(MouseButton::Left);
    bench.app.event(&click(30, row as u16, left));
    assert_eq!(bench.app.monitor().chosen().unwrap().counter_name, "Disk Bytes/sec");
    bench.app.event(&click(30, row as u16, left));
    assert!(bench.app.monitor().highlight, "a double click makes it stand out");
    bench.app.event(&click(20, 5, left));
    let cursor = bench.app.monitor().window.cursor.unwrap();
    assert!((10..25).contains(&cursor), "{cursor}");
    bench.app.event(&click(20, 5, MouseEventKind::ScrollUp));
    assert_eq!(bench.app.monitor().window.points(), 50);
}

#[test]
fn intervals_have_steps() {
    let mut bench = Bench::new(DEFAULTS);
    bench.types(">");
    assert_eq!(bench.app.pause().as_millis(), 2_000);
    bench.types("<<<<<<<<");
    assert_eq!(bench.app.pause().as_millis(), 100);
}

#[test]
fn copying_gives_paths() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(2).types("y");
    assert_eq!(bench.app.take_clipboard().as_deref(), Some(r"\Processor(_Total)\% Processor Time"));
    bench.types("Y");
    let settings = bench.app.take_clipboard().unwrap();
    assert!(settings.contains("interval_ms = 1000") && settings.contains("'\\Memory\\Available MBytes'"));
}

#[test]
fn copying_gives_the_values_in_view() {
    let mut bench = Bench::new(&[r"\Processor(_Total)\% Processor Time", r"\Memory\Available MBytes"]);
    bench.run(120).types("V");
    let text = bench.app.take_clipboard().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 101, "a window has 100 rows: {text}");
    assert_eq!(lines[0], "Time\t\\Processor(_Total)\\% Processor Time\t\\Memory\\Available MBytes");
    let last: Vec<&str> = lines[100].split('\t').collect();
    let monitor = bench.app.monitor();
    assert_eq!(last[0], monitor.time(119).unwrap().system_time().to_string());
    for (series, text) in monitor.series().iter().zip(&last[1..]) {
        assert_eq!(text.parse::<f64>().ok(), series.at(120, 119).unwrap().ok(), "{}", series.path);
    }
    // Hidden lines are left out, and a report is copied as a report.
    bench.types(" rV");
    let report = bench.app.take_clipboard().unwrap();
    assert_eq!(report, format!("\\Memory\\Available MBytes\t{}\n", last[2]));
    // A message reports a text that is too long.
    bench.types("g").run(6_000).types("]]]]]]V");
    assert_eq!(bench.app.take_clipboard(), None);
    assert!(bench.screen().contains("too many values for a clipboard"), "{}", bench.screen());
}

#[test]
fn saving_writes_csv_and_a_picture_and_overwrites_nothing() {
    let folder = std::env::temp_dir().join(format!("tallymon-monitor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let name = folder.join("seen").to_str().unwrap().to_string();
    let mut bench = Bench::new(DEFAULTS);
    bench.run(20).types("w");
    let control = KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL);
    bench.app.event(&Event::Key(control));
    bench.types(&name).key(KeyCode::Enter);
    let csv = std::fs::read_to_string(format!("{name}.csv")).unwrap();
    let mut lines = csv.split("\r\n");
    assert_eq!(
        lines.next().unwrap(),
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\web01\\Processor(_Total)\\% Processor Time\",\
         \"\\\\web01\\Memory\\Available MBytes\",\"\\\\web01\\PhysicalDisk(_Total)\\Disk Bytes/sec\",\
         \"\\\\web01\\Network Interface(eth0)\\Bytes Total/sec\",\"\\\\web01\\Network Interface(lo)\\Bytes Total/sec\""
    );
    assert_eq!(lines.next().unwrap(), "\"03/01/2026 09:40:00.000\",\"90\",\"3000\",\" \",\" \",\" \"");
    assert_eq!(lines.count(), 20, "19 more rows and the end of the last");
    let svg = std::fs::read_to_string(format!("{name}.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{svg}");
    // Two paths a line: in the chart and in the legend; five lines of the axis.
    assert_eq!(svg.matches("<path").count(), 5 + 2 * 5);
    bench.types("w");
    bench.app.event(&Event::Key(control));
    bench.types(&name).key(KeyCode::Enter);
    assert!(bench.screen().contains("exists"), "{}", bench.screen());
    // No ending is guessed; the message names those that there are.
    bench.types("w");
    bench.app.event(&Event::Key(control));
    bench.types(&name).types(".pdf").key(KeyCode::Enter);
    assert!(bench.screen().contains(".csv, .tsv, .tally"), "{}", bench.screen());
    // When one of several files exists, none is written.
    std::fs::remove_file(format!("{name}.csv")).unwrap();
    bench.types("w");
    bench.app.event(&Event::Key(control));
    bench.types(&name).key(KeyCode::Enter);
    assert!(bench.screen().contains("exists"), "{}", bench.screen());
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["seen.svg"]);
    // The same picture on a page, with a table of all lines.
    bench.types("w");
    bench.app.event(&Event::Key(control));
    bench.types(&name).types(".html").key(KeyCode::Enter);
    let page = std::fs::read_to_string(format!("{name}.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains(&svg), "{page}");
    assert_eq!(page.matches("<tr><td>").count(), 5);
    let memory = page.lines().find(|line| line.contains(r"<td>\Memory\Available MBytes</td>")).unwrap();
    assert_eq!(memory.matches("<td>").count(), 5, "{memory}");
    assert!(!memory.contains("<td>-</td>"), "{memory}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_table_leads_to_the_chart() {
    let mut bench = Bench::new(&[r"\Process(shell)\Working Set"]);
    bench.run(5).types("T").key(KeyCode::Down).key(KeyCode::Down).key(KeyCode::Enter).types("g").run(2);
    assert_eq!(names(&bench).len(), 2, "{:?}", names(&bench));
    assert_eq!(bench.app.monitor().selected(), 1);
}

#[test]
fn a_table_closes_with_its_view_and_is_no_longer_sampled() {
    let mut bench = Bench::new(&[r"\Processor(_Total)\% Processor Time"]);
    // Every row is one snapshot: the table adds its counters to the request.
    let sampled = |bench: &mut Bench| {
        let before = bench.script.snapshots.get();
        bench.run(1);
        assert_eq!(bench.script.snapshots.get() - before, 1);
        bench.script.sampled.lock().clone()
    };
    bench.run(2);
    let alone = sampled(&mut bench);
    for close in ['g', 'b', 'r'] {
        bench.types("T");
        let both = sampled(&mut bench);
        assert!(both.covers(&alone) && !alone.covers(&both), "the table has a query of its own: {both:?}");
        bench.app.event(&Event::Key(KeyEvent::new(KeyCode::Char(close), KeyModifiers::CONTROL)));
        assert_eq!(sampled(&mut bench), alone, "Ctrl-{close}");
    }
}

#[test]
fn no_key_at_any_time_stops_it() {
    let codes = [
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Insert,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::F(1),
    ];
    let mut bench = Bench::new(DEFAULTS);
    // A fixed pseudo-random sequence.
    let mut number = 1u32;
    for round in 0..4_000u32 {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let pick = (number >> 16) as usize;
        if pick.is_multiple_of(3) {
            bench.key(codes[pick / 3 % codes.len()]);
        } else {
            let letter = char::from(b' ' + (pick / 3 % 95) as u8);
            // Saving writes files where the test runs.
            if letter != 'w' && letter != 's' {
                bench.key(KeyCode::Char(letter));
            }
        }
        if round % 5 == 0 {
            bench.run(1);
        }
        if round % 7 == 0 {
            bench.resize(20 + (pick % 100) as u16, 5 + (pick % 40) as u16).screen();
        }
    }
    bench.resize(100, 30).screen();
}

/// A source that answers only when the test lets it.
struct Gate {
    answers: std::sync::mpsc::Receiver<()>,
    source: tallymon::FileSource,
    open: bool,
}

impl Source for Gate {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        // Its metadata are requested before the gate closes.
        if matches!(request.kind, RequestKind::Objects(_)) && !self.open {
            self.open = self.answers.recv().is_err();
        }
        self.source.snapshot(request)
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        self.source.titles(language)
    }
}

#[test]
fn a_source_that_hangs_does_not_freeze_the_screen() {
    let folder = std::env::temp_dir().join(format!("tallymon-gate-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("block.bin");
    let bytes = crate::fake::block();
    std::fs::write(&file, bytes).unwrap();
    let (go, answers) = std::sync::mpsc::channel();
    let mut gate = Some(Gate { answers, source: tallymon::FileSource::open(file).unwrap(), open: false });
    let sampler = Sampler::start(move || Ok(Box::new(gate.take().unwrap()))).unwrap();
    let info =
        sampler.info(Language::ENGLISH, Definitions::None).wait(Duration::from_secs(60)).unwrap().unwrap();
    let mut options = Options::live(sampler);
    options.paths = vec![r"\Memory\Available MBytes".to_string()];
    let mut app = App::new(Query::over(info), options);
    app.begin_sample();
    assert!(!app.sample_comes(Duration::ZERO) && app.is_waiting());
    // The next sample is due and the last one has not arrived: a gap.
    app.begin_sample();
    assert_eq!(app.monitor().rows(), 0..1);
    // A key is taken at once.
    app.event(&Event::Key(KeyEvent::new(KeyCode::Char('b'), KeyModifiers::NONE)));
    std::thread::sleep(Duration::from_millis(1_010));
    assert!(app.late().is_some());
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(90, 20)).unwrap();
    terminal.draw(|frame| app.draw(frame)).unwrap();
    let screen = terminal.backend().to_string();
    assert!(screen.contains("the source does not answer"), "{screen}");
    // The time of the gap and the delay come from the clock of this machine.
    let is_clock =
        |text: &str| text.len() == 8 && text.chars().all(|letter| letter == ':' || letter.is_numeric());
    let plain = |line: &str| {
        let words =
            line.trim_matches('"').split(' ').map(|word| if is_clock(word) { "hh:mm:ss" } else { word });
        let line = words.collect::<Vec<_>>().join(" ").trim_end().to_string();
        let seconds = line.strip_suffix(" s").map(|line| line.trim_end_matches(char::is_numeric).trim_end());
        seconds.unwrap_or(&line).to_string()
    };
    let screen: Vec<String> = screen.lines().map(plain).collect();
    crate::screens::check_text("hanging", screen.join("\n") + "\n");
    drop(go);
    assert!(app.sample_comes(Duration::from_secs(60)));
    assert!(app.late().is_none());
    assert_eq!(app.monitor().rows(), 0..2);
    assert!(app.monitor().series()[0].last.is_ok());
    std::fs::remove_dir_all(&folder).unwrap();
}
