//! The properties of the chart and of its lines.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tallymon::core::title::Language;
use tallymon_monitor::model::{Axis, Grid, Look, Picture, Scale, Switch};
use tallymon_monitor::save::Page;
use tallymon_monitor::settings::Settings;
use tallymon_monitor::words::Words;

use crate::fake::{Bench, DEFAULTS};
use crate::screens::{check, has};

pub(crate) fn control(bench: &mut Bench, letter: char) {
    bench.app.event(&Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)));
}

/// The saved picture.
fn svg(bench: &Bench) -> String {
    let local = |time| bench.app.local_time(time);
    let words = Words::of(Language::ENGLISH).grouped(picture(bench).parts.has(Switch::DigitGrouping));
    let page = Page { monitor: bench.app.monitor(), host: "web01", words, local: &local, other: None };
    tallymon_monitor::save::svg(&page)
}

fn picture(bench: &Bench) -> &Picture {
    &bench.app.monitor().picture
}

#[test]
fn titles_axis_and_grid() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60).types("P");
    let screen = check("properties", &mut bench);
    has(
        &screen,
        &["Properties", "Axis maximum", "100", "horizontal", r"\Processor(_Total)\% Processor Time"],
    );
    bench.types("A calm machine").key(KeyCode::Enter);
    bench.key(KeyCode::Down).types("share, %").key(KeyCode::Enter);
    bench.key(KeyCode::Down).types("50").key(KeyCode::Enter);
    bench.key(KeyCode::Down).types("-10").key(KeyCode::Enter);
    bench.key(KeyCode::Down).key(KeyCode::Right).key(KeyCode::Right).key(KeyCode::Esc);
    let (grid, axis) = (Grid::Both, Axis::new(-10.0, 50.0).unwrap());
    let wanted = Picture {
        axis,
        grid,
        title: "A calm machine".into(),
        label: "share, %".into(),
        ..Picture::default()
    };
    assert_eq!(*picture(&bench), wanted);
    let screen = check("properties-of-picture", &mut bench);
    has(&screen, &["A calm machine", "share, %", "  50┤", " -10┤"]);
    // Settings keep them, and each change is a step of its own for undo.
    let settings = bench.app.settings();
    assert_eq!(Settings::parse(&settings.to_string()), Ok(settings.clone()));
    let mut other = Bench::new(&[]);
    other.run(1);
    other.app.apply(&settings);
    assert_eq!(*picture(&other), wanted);
    control(&mut bench, 'z');
    assert_eq!(picture(&bench).grid, Grid::Vertical);
    for _ in 0..5 {
        control(&mut bench, 'z');
    }
    assert_eq!(*picture(&bench), Picture::default());
}

#[test]
fn a_line_has_its_own_colour_pattern_and_width() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60);
    control(&mut bench, 'q');
    for _ in 0..11 {
        bench.key(KeyCode::Down);
    }
    bench.key(KeyCode::Left).key(KeyCode::Down).key(KeyCode::Right).key(KeyCode::Right);
    bench.key(KeyCode::Down).key(KeyCode::Enter).key(KeyCode::Down).key(KeyCode::Left);
    let screen = bench.screen();
    has(&screen, &["Colour", " 8", "╺╺╺", "thick", "0.1"]);
    let look = bench.app.monitor().series()[0].look();
    let wanted =
        Look { scale: Scale::Power(-1), colour: Some(7), pattern: Some(2), width: 2, ..Look::default() };
    assert_eq!(look, wanted);
    bench.key(KeyCode::Esc);
    check("properties-of-line", &mut bench);
    let settings = bench.app.settings();
    assert_eq!(Settings::parse(&settings.to_string()), Ok(settings));
    // The saved picture is the same.
    let svg = svg(&bench);
    assert!(svg.contains("stroke-width=\"3\" stroke-dasharray=\"2 2\""), "{svg}");
}

#[test]
fn an_invalid_axis_changes_nothing() {
    let mut bench = Bench::new(&[]);
    bench.run(1).types("P");
    // Without a line there are only the properties of the chart.
    let screen = bench.screen();
    has(&screen, &["Title", "Grid"]);
    assert!(!screen.contains("Pattern"), "{screen}");
    bench.key(KeyCode::Down).key(KeyCode::Down);
    for text in ["0", "much", "inf", "1e300"] {
        control(&mut bench, 'u');
        bench.types(text).key(KeyCode::Enter);
        has(&bench.screen(), &["not a valid end of the axis"]);
        assert_eq!(*picture(&bench), Picture::default(), "{text}");
    }
    // A typed text without Enter is dropped.
    bench.types("7").key(KeyCode::Esc);
    assert_eq!(*picture(&bench), Picture::default());
    bench.key(KeyCode::Right).key(KeyCode::Down).key(KeyCode::Left);
    assert_eq!(picture(&bench).axis, Axis::new(-20.0, 200.0).unwrap());
    bench.key(KeyCode::Esc);
    assert!(!bench.screen().contains("Properties"));
}

#[test]
fn properties_by_mouse() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(5).types("P");
    let click = |bench: &mut Bench, text: &str| {
        let screen = bench.screen();
        let found = screen.lines().enumerate().find_map(|(row, line)| Some((row, line.find(text)?, line)));
        let (row, at, line) = found.unwrap_or_else(|| panic!("{text:?} is not on\n{screen}"));
        let column = unicode_width::UnicodeWidthStr::width(&line[..at]) as u16;
        let kind = MouseEventKind::Down(MouseButton::Left);
        let event = MouseEvent { kind, column, row: row as u16, modifiers: KeyModifiers::NONE };
        bench.app.event(&Event::Mouse(event));
    };
    click(&mut bench, "Grid");
    assert_eq!(picture(&bench).grid, Grid::Horizontal, "the first click chooses");
    click(&mut bench, "Grid");
    assert_eq!(picture(&bench).grid, Grid::Vertical);
    click(&mut bench, "Title");
    bench.app.event(&Event::Paste("from elsewhere\nand more".to_string()));
    bench.key(KeyCode::Enter);
    assert_eq!(picture(&bench).title, "from elsewhere");
}
