//! The mouse in lists: the add dialog, the table, small charts.

use crossterm::event::{Event, KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::fake::{Bench, DEFAULTS};

/// Sends a mouse event at the first letter of a text on the screen.
#[track_caller]
pub(crate) fn at(bench: &mut Bench, text: &str, kind: MouseEventKind) {
    let screen = bench.screen();
    let found = screen.lines().enumerate().find_map(|(row, line)| Some((row, line.split_once(text)?.0)));
    let (row, before) = found.unwrap_or_else(|| panic!("{text:?} is not on\n{screen}"));
    let column = unicode_width::UnicodeWidthStr::width(before) as u16;
    bench.app.event(&Event::Mouse(MouseEvent {
        kind,
        column,
        row: row as u16,
        modifiers: KeyModifiers::NONE,
    }));
}

pub(crate) const LEFT: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

#[test]
fn the_add_dialog_works_with_the_mouse_alone() {
    let mut bench = Bench::new(&[]);
    bench.run(1).types("a");
    at(&mut bench, "Memory ", LEFT);
    at(&mut bench, "Process ", LEFT);
    at(&mut bench, "Working Set", LEFT);
    at(&mut bench, "* all", LEFT);
    let path = r"\Process(*)\Working Set";
    assert!(bench.screen().contains(path), "{}", bench.screen());
    assert!(bench.app.monitor().series().is_empty());
    // A double click adds, and the dialog stays.
    at(&mut bench, "* all", LEFT);
    bench.run(1);
    assert!(bench.screen().contains("added"), "{}", bench.screen());
    assert_eq!(bench.app.monitor().series().len(), 4);
    // The wheel moves in the list below the pointer; titles and the space beside lists take no click.
    at(&mut bench, "Object (", MouseEventKind::ScrollUp);
    assert!(!bench.screen().contains(path), "{}", bench.screen());
    at(&mut bench, "Search", LEFT);
    at(&mut bench, "Instance (", LEFT);
    at(&mut bench, "type:", MouseEventKind::ScrollDown);
    assert_eq!(bench.app.settings().counters, [path]);
}

#[test]
fn the_table_by_mouse() {
    let mut bench = Bench::new(&[r"\Process(shell)\% Processor Time"]);
    bench.run(3).types("T");
    let order = |bench: &mut Bench| {
        let screen = bench.screen();
        let place = |name: &str| screen.lines().position(|line| line.starts_with(name)).unwrap();
        (place("shell"), place("myapp "))
    };
    at(&mut bench, "Working Set", LEFT);
    let (shell, app) = order(&mut bench);
    assert!(shell < app, "largest first\n{}", bench.screen());
    at(&mut bench, "Working Set▼", LEFT);
    let (shell, app) = order(&mut bench);
    assert!(app < shell, "smallest first\n{}", bench.screen());
    at(&mut bench, "myapp ", LEFT);
    at(&mut bench, "myapp ", MouseEventKind::ScrollDown);
    at(&mut bench, "shell", LEFT);
    at(&mut bench, "myapp#1", LEFT);
    at(&mut bench, "myapp#1", LEFT);
    bench.run(1);
    assert_eq!(
        bench.app.settings().counters,
        [r"\Process(shell)\% Processor Time", r"\Process(myapp#1)\Working Set"]
    );
}

#[test]
fn a_click_chooses_in_the_chart_and_closes_help() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(5).types("v");
    for (text, position) in [("Bytes Total/sec lo", 4), ("Available MBytes", 1), ("Disk Bytes/sec _Total", 2)]
    {
        at(&mut bench, text, LEFT);
        assert_eq!(bench.app.monitor().selected(), position, "{text}\n{}", bench.screen());
    }
    bench.types("?");
    at(&mut bench, "Keys", LEFT);
    assert!(!bench.screen().contains("any key closes"));
    bench.types("x").key(KeyCode::Esc);
}
