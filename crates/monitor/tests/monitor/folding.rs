//! Many instances of one path: the largest are lines, the others one line with their sum.

use crossterm::event::KeyCode;

use crate::fake::Bench;
use crate::screens::{check, has};

const WORKING_SETS: &[&str] = &[r"\Process(*)\Working Set"];

/// A machine with these many processes; the working set of each is larger than that of the one before.
fn many(count: usize) -> Bench {
    let bench = Bench::new(WORKING_SETS);
    *bench.script.processes.lock() = names(count);
    bench
}

fn names(count: usize) -> Vec<&'static str> {
    (0..count).map(|number| &*format!("p{number:02}").leak()).collect()
}

/// The instances in the legend from top to bottom.
fn legend(screen: &str) -> Vec<String> {
    let lines = screen.lines().filter(|line| line.contains("Working Set") && !line.contains("─"));
    let word = |line: &str| {
        line.split("Working Set").nth(1).map(|rest| rest.split("Process").next().unwrap().trim().to_string())
    };
    lines.filter_map(word).collect()
}

#[test]
fn the_largest_are_lines_and_the_others_one() {
    let mut bench = many(30);
    bench.run(20).resize(120, 50);
    let screen = check("folded", &mut bench);
    // The chosen one stays in view; then come the others.
    let mut wanted: Vec<String> = (20..30).rev().map(|number| format!("p{number}")).collect();
    wanted.extend(["p00".to_string(), "19 others".to_string()]);
    assert_eq!(legend(&screen), wanted, "{screen}");
    // The sum of the 19 sizes that are no lines.
    let monitor = bench.app.monitor();
    let last = |number: usize| {
        let name = format!("p{number:02}");
        let series = monitor.series().iter().find(|series| series.instance.as_deref() == Some(name.as_str()));
        series.unwrap().last.as_ref().unwrap().as_f64().unwrap()
    };
    let sum: f64 = (1..20).map(last).sum();
    let digits: String = screen
        .lines()
        .find(|line| line.contains("19 others"))
        .unwrap()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    assert!(digits.ends_with(&format!("{sum:.0}")), "{digits} {sum}: {screen}");
}

#[test]
fn others_come_in_and_a_key_shows_all() {
    let mut bench = many(30);
    bench.run(20).resize(120, 50);
    assert!(!legend(&bench.screen()).contains(&"p31".to_string()));
    // Two larger ones begin.
    *bench.script.processes.lock() = names(32);
    bench.run(3);
    let now = legend(&bench.screen());
    assert_eq!(now[..2], ["p31", "p30"]);
    assert_eq!(now.last().unwrap(), "21 others");
    // Keys move in the order of the legend.
    bench.key(KeyCode::Down);
    let chosen = bench.app.monitor().chosen().unwrap().instance.clone();
    assert!(chosen.is_some_and(|chosen| now.contains(&chosen)), "{now:?}");
    // A filter looks into all of them, and folds what it finds.
    bench.types("/p0").key(KeyCode::Enter);
    assert_eq!(legend(&bench.screen()).len(), 10, "{}", bench.screen());
    bench.types("/").key(KeyCode::Backspace).key(KeyCode::Backspace).key(KeyCode::Enter);
    has(&bench.screen(), &["others"]);
    bench.types("*").resize(120, 90);
    let all = legend(&bench.screen());
    assert_eq!(all.len(), 32, "{all:?}");
    bench.types("*");
    has(&bench.screen(), &["21 others"]);
    // The sum of a stack has the others too; the report has all of them.
    bench.types("G");
    has(&bench.screen(), &["21 others"]);
    bench.types("r").resize(120, 60);
    let screen = bench.screen();
    assert!(!screen.contains("others") && screen.contains("p07"), "{screen}");
}

#[test]
fn few_instances_are_not_folded() {
    let mut bench = many(16);
    bench.run(20).resize(120, 60);
    assert_eq!(legend(&bench.screen()).len(), 16);
}
