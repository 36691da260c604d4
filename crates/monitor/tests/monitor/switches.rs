//! Parts of the chart that are switched off, and tooltips.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind};
use tallymon::core::title::Language;
use tallymon_monitor::model::{Grid, Switch, Switches, factor};
use tallymon_monitor::settings::Settings;
use tallymon_monitor::words::Words;

use crate::fake::{Bench, DEFAULTS};
use crate::screens::{check, has};

fn hover(bench: &mut Bench, column: u16, row: u16) {
    let event = MouseEvent { kind: MouseEventKind::Moved, column, row, modifiers: KeyModifiers::NONE };
    bench.app.event(&Event::Mouse(event));
}

fn hasnt(screen: &str, parts: &[&str]) {
    for part in parts {
        assert!(!screen.contains(part), "{part:?} is on\n{screen}");
    }
}

#[test]
fn each_part_is_switched_off_and_on() {
    let mut bench = Bench::new(DEFAULTS);
    let all = bench.run(60).key(KeyCode::Down).key(KeyCode::Up).screen();
    let parts = ["  Line    Scale Counter", "─ Last ", " 100┤", "09:40:00", "3,520"];
    for (key, part) in ('1'..).zip(parts) {
        has(&all, &[part]);
        let without = bench.types(&key.to_string()).screen();
        hasnt(&without, &[part]);
        let others: Vec<&str> = parts.into_iter().filter(|other| *other != part).collect();
        // The legend has the values.
        has(&without, &others[..if key == '1' { 3 } else { 4 }]);
        assert_eq!(without.lines().count(), all.lines().count());
        assert_eq!(bench.types(&key.to_string()).screen(), all);
    }
    // Without all parts the chart has the whole screen.
    let bare = check("switches-bare", bench.types("1234"));
    assert!(bare.lines().nth(1).unwrap().starts_with('┤'), "{bare}");
    // Settings keep them, and undo restores them one by one.
    let settings = bench.app.settings();
    assert!(settings.to_string().contains("\nlegend = false\nvalue_bar = false\n"), "{settings}");
    assert_eq!(Settings::parse(&settings.to_string()), Ok(settings.clone()));
    let mut other = Bench::new(&[]);
    other.run(1).app.apply(&settings);
    assert_eq!(other.app.monitor().picture.parts, bench.app.monitor().picture.parts);
    for _ in 0..4 {
        bench.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL)));
    }
    assert_eq!(bench.app.monitor().picture.parts, Switches::default());
    assert_eq!(bench.screen(), all);
}

#[test]
fn other_views_and_the_grid() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60).types("P").types("Quiet").key(KeyCode::Enter).key(KeyCode::Esc);
    for view in ["g", "A", "G", "b", "r", "v"] {
        let screen = bench.types(view).screen();
        assert!(screen.lines().nth(1).unwrap().contains("Quiet"), "{view}: {screen}");
    }
    for view in ["b", "v"] {
        has(&bench.types(view).screen(), &["─ Last "]);
        hasnt(&bench.types("2").screen(), &["─ Last "]);
        bench.types("2");
    }
    for grid in [Grid::Vertical, Grid::Both, Grid::None, Grid::Horizontal] {
        bench.types("#");
        assert_eq!(bench.app.monitor().picture.grid, grid);
    }
}

#[test]
fn digits_are_grouped_as_in_the_language() {
    let grouped = [(Language::ENGLISH, "3,520"), (Language::JAPANESE, "3,520"), (Language::RUSSIAN, "3 520")];
    for (language, number) in grouped {
        let mut bench = Bench::with(DEFAULTS, language, |_| ());
        has(&bench.run(60).screen(), &[number]);
        let plain = bench.types("5").screen();
        hasnt(&plain, &[number]);
        has(&plain, &["3520"]);
        has(&bench.types("r").screen(), &["3520"]);
    }
}

#[test]
fn the_dialog_has_all_switches_also_on_a_small_terminal() {
    let mut bench = Bench::new(DEFAULTS);
    let screen = check("properties-switches", bench.run(60).types("P").types("5"));
    has(&screen, &["Legend", "Value bar", "Axis numbers", "Times", "Digit grouping", "Tooltips", "on"]);
    bench.key(KeyCode::Esc);
    for _ in 0..5 {
        bench.key(KeyCode::Down);
    }
    bench.key(KeyCode::Right);
    assert!(!bench.app.monitor().picture.parts.has(Switch::Legend));
    bench.key(KeyCode::Enter);
    assert!(bench.app.monitor().picture.parts.has(Switch::Legend));
    for _ in 0..9 {
        bench.key(KeyCode::Down);
    }
    // The last one is in view also with ten rows.
    let screen = bench.resize(60, 12).screen();
    let chosen = screen.lines().find(|line| line.contains("Scale") && line.contains("(default)"));
    assert!(chosen.is_some(), "{screen}");
}

#[test]
fn a_tooltip_describes_what_the_mouse_points_at() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60);
    bench.screen();
    hover(&mut bench, 30, 4);
    let screen = check("tooltip", &mut bench);
    // The path and the value of the nearest line, at the time below the pointer.
    let told = |bench: &Bench, screen: &str, line: usize| -> (usize, f64) {
        let monitor = bench.app.monitor();
        let lines: Vec<&str> = screen.lines().collect();
        let series = monitor.series().iter().position(|series| lines[line].contains(&series.path)).unwrap();
        let own = &monitor.series()[series];
        let row = monitor
            .rows()
            .find(|row| {
                let time = monitor.time(*row).unwrap().system_time();
                let clock = format!(" {:02}:{:02}:{:02}  ", time.hour, time.minute, time.second);
                lines[line + 1].chars().skip(32).collect::<String>().starts_with(&clock)
            })
            .unwrap();
        assert_eq!(row, 27, "{screen}");
        let value = own.at(monitor.next(), row).unwrap().unwrap();
        let number = Words::of(Language::ENGLISH).numbers().number_of(value, own.counter_type);
        has(lines[line + 1], &[&number]);
        (series, value * factor(monitor.power(own)))
    };
    let high = told(&bench, &screen, 5);
    hover(&mut bench, 30, 19);
    let screen = bench.screen();
    let low = told(&bench, &screen, 20);
    assert!(high.0 != low.0 && high.1 > low.1, "{high:?} {low:?}");
    // A line of the legend, whose columns may be cut.
    let legend = screen.lines().position(|line| line.contains("Available MBytes") && line.starts_with('✓'));
    hover(&mut bench, 10, u16::try_from(legend.unwrap()).unwrap());
    has(&bench.screen(), &[r" \Memory\Available MBytes", "Last  3,5"]);
    // Any key closes it, and it can be switched off.
    bench.key(KeyCode::Down);
    hasnt(&bench.screen(), &["Last  3,5"]);
    bench.types("6");
    hover(&mut bench, 10, u16::try_from(legend.unwrap()).unwrap());
    hasnt(&bench.screen(), &["Last  3,5"]);
    // Small charts have tooltips, too.
    bench.types("6v");
    bench.screen();
    hover(&mut bench, 5, 3);
    has(&bench.screen(), &[r" \Processor(_Total)\% Processor Time"]);
}

#[test]
fn without_a_legend_a_tooltip_describes_the_cursor() {
    let mut bench = Bench::new(DEFAULTS);
    bench.run(60).types("1").key(KeyCode::Left).key(KeyCode::Left);
    let screen = check("tooltip-cursor", &mut bench);
    has(&screen, &[r"\Processor(_Total)\% Processor Time", "09:40:58  "]);
    bench.types("1");
    hasnt(&bench.screen(), &["09:40:58  "]);
}
