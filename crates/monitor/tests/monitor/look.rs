//! Areas, top contributors, ranges of time, thresholds, and undo.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tallymon::core::title::Language;
use tallymon_monitor::chart::Glyphs;

use crate::fake::{Bench, DEFAULTS};
use crate::screens::{check, has};

const PROCESSORS: &[&str] = &[r"\Processor(*)\% Processor Time"];

fn mouse(bench: &mut Bench, kind: MouseEventKind, column: u16, row: u16) {
    bench.app.event(&Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
}

fn click(bench: &mut Bench, column: u16, row: u16) {
    mouse(bench, MouseEventKind::Down(MouseButton::Left), column, row);
    mouse(bench, MouseEventKind::Up(MouseButton::Left), column, row);
}

fn undo(bench: &mut Bench) {
    bench.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL)));
}

#[test]
fn areas_and_stacks() {
    let mut bench = Bench::new(PROCESSORS);
    check("area", bench.run(60).types("A"));
    // Two shares of 100 need a longer axis; their sum is not stacked as a third one.
    let screen = check("stacked", bench.types("G"));
    has(&screen, &["160┤"]);
    let mut plain = Bench::with(PROCESSORS, Language::ENGLISH, |options| {
        options.glyphs = Glyphs::Ascii;
    });
    check("stacked-ascii", plain.run(60).types("G"));
    let mut blocks = Bench::with(PROCESSORS, Language::ENGLISH, |options| {
        options.glyphs = Glyphs::Octant;
    });
    check("area-octants", blocks.run(60).types("A"));
}

#[test]
fn a_click_on_a_spike_opens_the_top_contributors() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60);
    bench.screen();
    click(&mut bench, 26, 4);
    let screen = check("spike", &mut bench);
    has(
        &screen,
        &["top contributors at 09:40:2", "Processor: % Processor Time", "Process: % Processor Time"],
    );
    // The largest instance first, with the values of that second.
    let monitor = bench.app.monitor();
    let groups = monitor.top.at(monitor.next(), monitor.window.cursor.unwrap());
    let all = groups.iter().flat_map(|group| &group.instances);
    assert!(all.clone().all(|instance| instance.name != "_Total"), "a sum made nothing: {groups:?}");
    let group = groups.iter().find(|group| group.title == "Process: Working Set").unwrap();
    let values: Vec<f64> = group.instances.iter().map(|instance| instance.value).collect();
    assert!(values.len() == 3 && values.is_sorted_by(|one, other| one >= other), "{values:?}");
    let path = &group.instances[0].path;
    assert_eq!(path, r"\Process(shell)\Working Set", "the third has three shares");
    // The panel follows the cursor, and Enter adds its line to the chart.
    bench.key(KeyCode::Left);
    has(&bench.screen(), &["top contributors at 09:40:"]);
    bench.key(KeyCode::Down).key(KeyCode::Down).key(KeyCode::Enter).run(2).key(KeyCode::Esc);
    let screen = bench.screen();
    assert!(!screen.contains("top contributors at"), "{screen}");
    assert_eq!(bench.app.monitor().series().len(), 6, "one more than before");
    // It reports a time without data, as before the first sample of a counter.
    let mut young = Bench::new(&[r"\Memory\Available MBytes"]);
    *young.script.processes.lock() = vec!["_Total"];
    young.run(3).key(KeyCode::Enter);
    has(&young.screen(), &["no data for this time"]);
}

#[test]
fn the_panel_takes_its_own_clicks() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60);
    bench.screen();
    click(&mut bench, 26, 4);
    let screen = bench.screen();
    let row = screen.lines().position(|line| line.contains("myapp#1 ")).unwrap() as u16;
    let cursor = bench.app.monitor().window.cursor;
    click(&mut bench, 60, row);
    let screen = bench.screen();
    assert_eq!(bench.app.monitor().window.cursor, cursor, "{screen}");
    assert_eq!(bench.style_of("myapp#1 "), bench.style_of("32.00 %"));
    assert_ne!(bench.style_of("myapp#1 "), bench.style_of("46.00 %"), "it is chosen");
    // The wheel chooses the next instance, and a double click adds it.
    mouse(&mut bench, MouseEventKind::ScrollDown, 60, row);
    bench.screen();
    assert_eq!(bench.app.monitor().window.points(), 100, "no zoom");
    click(&mut bench, 60, row + 1);
    assert_eq!(bench.app.settings().counters.len(), DEFAULTS.len(), "one click adds nothing");
    click(&mut bench, 60, row + 1);
    bench.run(1);
    let monitor = bench.app.monitor();
    assert_eq!(monitor.chosen().unwrap().path, r"\Process(shell)\% Processor Time");
    assert_eq!(monitor.series().len(), 6);
    // A drag from the chart into the panel is still a drag.
    mouse(&mut bench, MouseEventKind::Down(MouseButton::Left), 10, 4);
    mouse(&mut bench, MouseEventKind::Drag(MouseButton::Left), 60, row);
    mouse(&mut bench, MouseEventKind::Up(MouseButton::Left), 60, row);
    let screen = bench.screen();
    assert!(bench.app.monitor().window.points() < 100 && !screen.contains("top contributors at"), "{screen}");
}

#[test]
fn a_drag_zooms_and_undoing_goes_back() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(90);
    bench.screen();
    mouse(&mut bench, MouseEventKind::Down(MouseButton::Left), 40, 5);
    mouse(&mut bench, MouseEventKind::Drag(MouseButton::Left), 60, 9);
    check("drag", &mut bench);
    mouse(&mut bench, MouseEventKind::Up(MouseButton::Left), 60, 9);
    let view = bench.app.monitor().view();
    assert_eq!((view.start, view.end), (37, 59), "the rows below these columns");
    undo(&mut bench);
    assert_eq!(bench.app.monitor().view(), 0..90);
    assert!(bench.app.monitor().window.is_live());
    undo(&mut bench);
    assert_eq!(bench.app.monitor().view(), 0..90, "there is nothing more to undo");
}

#[test]
fn undo_restores_a_removed_counter_with_its_history() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(10).types("++").key(KeyCode::Delete).run(5);
    let paths = |bench: &Bench| -> Vec<String> {
        bench.app.monitor().series().iter().map(|series| series.path.clone()).collect()
    };
    assert_eq!(paths(&bench).len(), 4);
    undo(&mut bench);
    bench.run(5);
    assert_eq!(paths(&bench)[0], r"\Processor(_Total)\% Processor Time");
    assert_eq!(paths(&bench).len(), 5);
    let monitor = bench.app.monitor();
    let series = &monitor.series()[0];
    let known: Vec<bool> = (0..20).map(|row| series.at(monitor.next(), row).unwrap().is_ok()).collect();
    assert!(known[1..10].iter().all(|known| *known), "{known:?}");
    assert!(known[10..15].iter().all(|known| !*known), "{known:?}");
    assert!(known[16..].iter().all(|known| *known), "{known:?}");
    // The next undo restores the scale.
    let power = |bench: &Bench| bench.app.monitor().power(&bench.app.monitor().series()[0]);
    assert_eq!(power(&bench), 2);
    undo(&mut bench);
    assert_eq!(power(&bench), 1);
    undo(&mut bench);
    assert_eq!(power(&bench), 0);
    // Undo removes an added counter and restores a cleared set.
    bench.app.event(&Event::Paste(r"\Memory\Page Faults/sec".into()));
    bench.run(2);
    assert_eq!(paths(&bench).len(), 6);
    undo(&mut bench);
    bench.run(3);
    assert_eq!(paths(&bench).len(), 5);
    bench.types("e").run(1);
    assert!(paths(&bench).is_empty());
    undo(&mut bench);
    bench.run(3);
    assert_eq!(paths(&bench).len(), 5);
}

#[test]
fn a_line_stays_with_its_process_when_its_number_changes() {
    let mut bench = Bench::new(&[r"\Process(myapp*)\Working Set"]);
    *bench.script.processes.lock() = vec!["myapp", "myapp", "myapp"];
    bench.script.ids.set(vec![10, 11, 12]);
    bench.run(5);
    // The second one ends; the third is #1 from now on.
    bench.script.processes.lock().pop();
    bench.script.ids.set(vec![10, 12]);
    bench.run(3);
    let monitor = bench.app.monitor();
    let lines: Vec<(&str, bool)> =
        monitor.series().iter().map(|series| (series.path.as_str(), series.ended.is_some())).collect();
    let expected = [
        (r"\Process(myapp)\Working Set", false),
        (r"\Process(myapp#1)\Working Set", true),
        (r"\Process(myapp#1)\Working Set", false),
    ];
    assert_eq!(lines, expected);
    // A new process with the same name is another series; a free name is used again.
    *bench.script.processes.lock() = vec!["myapp", "myapp", "myapp"];
    bench.script.ids.set(vec![10, 12, 13]);
    bench.run(2);
    let monitor = bench.app.monitor();
    assert_eq!(monitor.series().len(), 4);
    assert_eq!(monitor.series()[3].path, r"\Process(myapp#2)\Working Set");
    // A removed series stays removed, whatever its number.
    bench.key(KeyCode::Down).key(KeyCode::Down).key(KeyCode::Delete).run(1);
    bench.script.processes.lock().remove(0);
    bench.script.ids.set(vec![12, 13]);
    bench.run(2);
    let left: Vec<&str> = bench.app.monitor().series().iter().map(|series| series.path.as_str()).collect();
    assert_eq!(
        left,
        [r"\Process(myapp)\Working Set", r"\Process(myapp#1)\Working Set", r"\Process(myapp#1)\Working Set"]
    );
}

#[test]
fn a_threshold_is_a_line_and_values_above_it_are_marked() {
    let mut bench = Bench::new(&[r"\Processor(_Total)\% Processor Time", r"\Memory\Available MBytes"]);
    bench.run(30).types("L30").key(KeyCode::Enter);
    let screen = check("threshold", &mut bench);
    has(&screen, &["╌╌╌", "!"]);
    has(&screen, &["above the threshold 30"]);
    bench.types("L").key(KeyCode::Backspace).types("5").key(KeyCode::Enter);
    assert_eq!(bench.app.monitor().series()[0].threshold, Some(35.0));
    assert!(!bench.screen().contains("above the threshold"));
    bench.types("Lmuch").key(KeyCode::Enter);
    has(&bench.screen(), &["not a number"]);
    bench.types("L").key(KeyCode::Backspace).key(KeyCode::Backspace).key(KeyCode::Enter);
    assert_eq!(bench.app.monitor().series()[0].threshold, None);
}

/// The values of all series by path, row by row.
fn values(bench: &Bench) -> Vec<(String, Vec<Option<f64>>)> {
    let monitor = bench.app.monitor();
    let of = |series: &tallymon_monitor::model::Series| {
        let rows = monitor.rows();
        let (_, values) = series.values(monitor.next(), &rows);
        (series.path.clone(), values.map(Result::ok).collect())
    };
    monitor.series().iter().map(of).collect()
}

#[test]
fn clearing_and_a_new_set_can_be_undone_with_all_values() {
    for key in ["d", "e"] {
        let mut bench = Bench::new(DEFAULTS);
        bench.run(30).types("+");
        let monitor = bench.app.monitor();
        let (before, look) = (values(&bench), monitor.series()[0].look());
        let makers = monitor.top.at(monitor.next(), 20);
        bench.types(key);
        assert_eq!(bench.app.monitor().rows().count(), 0, "{key}");
        bench.run(5);
        undo(&mut bench);
        bench.run(5);
        let monitor = bench.app.monitor();
        assert_eq!((monitor.rows(), monitor.series()[0].look()), (0..40, look), "{key}");
        for ((path, before), (now, after)) in before.iter().zip(values(&bench)) {
            assert_eq!((path, before.as_slice()), (&now, after.get(..30).unwrap()), "{key}");
            let since = after.get(30..).unwrap().iter().filter(|value| value.is_some()).count();
            // The new set did not read them, and the first rate after it has no value either.
            assert!(if key == "d" { since == 10 } else { (4..=5).contains(&since) }, "{key} {path} {since}");
        }
        assert_eq!(monitor.top.at(monitor.next(), 20), makers, "{key}: who made it is there again");
        assert!(!monitor.top.at(monitor.next(), 39).is_empty(), "{key}: and goes on");
        has(&bench.screen(), &["09:40:39"]);
    }
}

#[test]
fn cleared_values_are_dropped_when_the_memory_is_needed() {
    let mut bench = Bench::with(DEFAULTS, Language::ENGLISH, |options| options.budget = 64 << 10);
    bench.run(600).types("d");
    let mut most = 0;
    for _ in 0..60 {
        bench.run(10);
        most = most.max(bench.app.monitor().memory().0);
    }
    undo(&mut bench);
    let rows = bench.app.monitor().rows();
    assert_eq!((rows.start >= 600, most <= 64 << 10), (true, true), "{rows:?} {most}");
}

#[test]
fn a_wide_legend_has_statistics_and_units() {
    for (name, language) in [("legend-wide", Language::ENGLISH), ("legend-wide-russian", Language::RUSSIAN)] {
        let mut bench = Bench::with(DEFAULTS, language, |_| ());
        let screen = check(name, bench.resize(170, 24).run(60));
        let memory =
            screen.lines().find(|line| line.contains("Available MBytes") || line.contains("МБ")).unwrap();
        assert!(memory.trim_end().ends_with("MiB"), "{memory}");
        let disk = screen.lines().rfind(|line| line.contains("PhysicalDisk")).unwrap();
        assert!(disk.trim_end().ends_with("B/s"), "{disk}");
    }
    // Without room for all of them there are none.
    let screen = Bench::new(DEFAULTS).resize(100, 24).run(60).screen();
    let heading = screen.lines().find(|line| line.contains("Counter ")).unwrap();
    assert!(!heading.contains("Avg") && !heading.contains("Unit"), "{heading}");
}

#[test]
fn a_stack_has_lines_of_one_unit() {
    let mut bench = Bench::new(DEFAULTS);
    let screen = check("stacked-units", bench.resize(100, 30).run(60).types("G"));
    // Per cent is chosen: 100 of it is the top, and the others are marked as not drawn.
    has(&screen, &[" 100┤"]);
    let mark = |screen: &str, name: &str| {
        screen.lines().rfind(|line| line.contains(name)).unwrap().chars().next().unwrap()
    };
    assert_eq!((mark(&screen, "Available MBytes"), mark(&screen, "eth0")), ('·', '·'));
    // With bytes a second chosen, those of disks and networks are the stack.
    bench.key(KeyCode::Down).key(KeyCode::Down);
    let screen = bench.screen();
    assert_eq!((mark(&screen, "eth0"), mark(&screen, "Available MBytes")), ('✓', '·'), "{screen}");
}
