//! Ticked instances: only their values are shown.

use crossterm::event::{KeyCode, MouseButton, MouseEventKind};

use crate::fake::Bench;
use crate::mouse::{LEFT, at};
use crate::properties::control;
use crate::screens::{check, has};

const PATHS: [&str; 4] = [
    r"\Memory\Available MBytes",
    r"\Process(*)\Working Set",
    r"\Process(shell)\% Processor Time",
    r"\Network Interface(*)\Bytes Total/sec",
];

/// The lines of the legend: counter and instance.
fn legend(bench: &mut Bench) -> Vec<String> {
    let screen = bench.screen();
    let lines = screen.lines().filter(|line| line.starts_with(['▶', '✓', '!']));
    lines.map(|line| line.chars().skip(16).take(32).collect::<String>().trim().to_string()).collect()
}

/// Ticks an instance in the table of the processes.
fn tick(bench: &mut Bench, name: &str) {
    bench.types("T");
    at(bench, name, LEFT);
    bench.types(" ");
}

#[test]
fn only_ticked_instances_are_shown() {
    let mut bench = Bench::new(&PATHS);
    bench.run(60);
    assert_eq!(legend(&mut bench).len(), 8);
    tick(&mut bench, "shell");
    has(&check("ticks-table", &mut bench), &["✓ shell", "Process: 4", "myapp#1"]);
    bench.types("g");
    has(&check("ticks", &mut bench), &[" ✓ shell "]);
    assert_eq!(legend(&mut bench).len(), 2);
    let monitor = bench.app.monitor();
    assert_eq!(monitor.chosen().and_then(|series| series.instance.as_deref()), Some("shell"));
    let drawn = monitor.series().iter().filter(|series| monitor.is_drawn(series));
    assert!(drawn.clone().count() == 2 && drawn.clone().all(|series| series.path.contains("(shell)")));
    // In every view, while all values are recorded.
    for view in ["r", "b", "v"] {
        let screen = bench.types(view).screen();
        assert!(
            screen.contains("shell") && !screen.contains("eth0") && !screen.contains("Available"),
            "{screen}"
        );
    }
    let memory = |bench: &Bench| {
        let series = bench.app.monitor().series().iter();
        series.filter(|series| series.path.contains("Memory")).map(|series| series.len()).sum::<usize>()
    };
    let before = memory(&bench);
    bench.run(5);
    assert_eq!(memory(&bench), before + 5);
    // Tick another one; then one key shows all again, and undo takes that back.
    bench.types("g");
    tick(&mut bench, "myapp#1");
    bench.types("g");
    has(&bench.screen(), &[" ✓ shell, myapp#1 "]);
    assert_eq!(legend(&mut bench).len(), 3);
    bench.types("U");
    assert_eq!(legend(&mut bench).len(), 8);
    assert!(!bench.screen().contains("✓ shell"), "{}", bench.screen());
    control(&mut bench, 'z');
    assert_eq!(legend(&mut bench).len(), 3);
    // A new set has no ticks.
    bench.types("e");
    assert!(bench.app.monitor().ticks.is_empty());
}

#[test]
fn the_same_one_stays_ticked_when_it_has_another_name() {
    let mut bench = Bench::new(&[r"\Process(*)\Working Set"]);
    bench.script.ids.set(vec![11, 12, 13, 0]);
    bench.run(10);
    tick(&mut bench, "myapp#1");
    *bench.script.processes.lock() = vec!["myapp", "shell", "_Total"];
    bench.script.ids.set(vec![12, 13, 0]);
    bench.run(3);
    let screen = bench.screen();
    assert!(screen.lines().any(|line| line.starts_with("✓ myapp ")), "{screen}");
    let shown = |bench: &Bench| {
        let monitor = bench.app.monitor();
        let of = monitor.series().iter().filter(|series| monitor.is_drawn(series));
        of.map(|series| series.path.clone()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&bench), [r"\Process(myapp)\Working Set"]);
    // The other mouse button unticks it.
    at(&mut bench, "✓ myapp ", MouseEventKind::Down(MouseButton::Right));
    assert_eq!(shown(&bench).len(), 4, "{}", bench.screen());
}

#[test]
fn a_table_that_has_nothing_to_do_with_them_shows_its_own() {
    let mut bench = Bench::new(&PATHS);
    bench.run(5);
    tick(&mut bench, "shell");
    bench.types("n");
    let screen = bench.screen();
    has(&screen, &["PhysicalDisk: 2", "0 sda"]);
    assert!(!screen.contains("ticked instances only"), "{screen}");
    // A filtered instance can be ticked at once.
    bench.types("/total").key(KeyCode::Enter).types(" ");
    has(&bench.screen(), &["✓ _Total", "✓ shell, _Total"]);
    bench.types(" ").key(KeyCode::Esc).types("Tn");
    // More can be ticked there; a small screen shows their number instead of the names.
    bench.key(KeyCode::Home).types(" ").key(KeyCode::Down).types(" ");
    bench.types("g").resize(130, 30);
    has(&bench.screen(), &["✓ shell, "]);
    bench.resize(40, 12);
    has(&bench.screen(), &["✓ 3 "]);
}
