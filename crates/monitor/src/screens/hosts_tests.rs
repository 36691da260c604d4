//! The page of all hosts, as text in `tests/screens`; `TALLYMON_BLESS=1` writes it again.

use std::fs;
use std::path::PathBuf;

use ratatui::buffer::Buffer;
use tallymon::ClockOffset;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::term::chart::Glyphs;
use crate::term::theme::Colours;

const SECOND: u64 = 10_000_000;

/// A clock that is ahead by so many milliseconds, read through a round trip of two.
fn clock(ahead: i64) -> Option<ClockOffset> {
    let asked = FileTime(134_168_316_000_000_000);
    let trip = SECOND / 500;
    let shown = FileTime((asked.0 + trip / 2).saturating_add_signed(ahead * 10_000));
    Some(ClockOffset::measure(asked, FileTime(asked.0 + trip), shown))
}

/// Hosts in every state: Linux, Windows without pressure, one that is late, one that was refused, one that
/// never answered.
fn hosts() -> Vec<HostRow> {
    let seconds = Duration::from_secs;
    let load = HostLoad {
        busy: Some(12.5),
        memory: Some(71.0),
        disk: Some(3.2),
        disk_bytes: Some(1_536_000.0),
        network: Some(48_000.0),
        pressure: [Some(2.0), Some(0.0), Some(11.5)],
        paging: Some(3.0),
        queue: Some(2.0),
    };
    let windows = HostLoad { busy: Some(91.0), pressure: [None; 3], paging: Some(140.0), ..load.clone() };
    let row = |name: &str, place, state, age: Option<u64>, clock, load| HostRow {
        name: name.into(),
        place,
        state,
        age: age.map(seconds),
        clock,
        load,
    };
    let failed = |why: &str, retry| HostState::Failed { why: why.into(), retry: Some(seconds(retry)) };
    vec![
        row("web1", 0, HostState::Live, Some(0), clock(0), Some(load.clone())),
        row("win1", 1, HostState::Live, Some(0), clock(2_450), Some(windows)),
        row("web10", 2, HostState::Late(seconds(75)), Some(75), clock(-90_000), Some(load.clone())),
        row("db", 3, failed("tls://db:7448: Connection refused", 7), Some(150), clock(0), Some(load)),
        row("web2", 4, failed("ssh://web2: Permission denied (publickey)", 29), None, None, None),
        row("new", 5, HostState::Opening, None, None, None),
    ]
}

/// The page as text.
fn page(language: Language, (columns, lines): (u16, u16), order: HostOrder, chosen: &str) -> String {
    let mut rows = hosts();
    order.sort(&mut rows);
    let area = Rect { x: 0, y: 0, width: columns, height: lines };
    let mut buffer = Buffer::empty(area);
    let at = rows.iter().position(|row| row.name == chosen).unwrap();
    let theme = Theme::new(Colours::Sixteen, Glyphs::Braille);
    let page = Page { rows: &rows, order, at, filter: "" };
    let places = page.draw(&mut buffer, area, Words::of(language), theme);
    let is_shown = places.iter().any(|(_, line)| *line == at);
    assert!(is_shown || lines < 10, "the chosen line is not in view");
    let mut text = String::new();
    for y in 0..lines {
        let (mut line, mut x) = (String::new(), 0);
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide letter covers the cell behind it.
            x += u16::try_from(symbol.width().max(1)).unwrap();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[track_caller]
fn check(name: &str, screen: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/screens/{name}.txt"));
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        fs::write(&file, screen).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(kept == screen, "{name} is now\n{screen}\nand was\n{kept}");
}

#[test]
fn all_hosts_in_four_languages() {
    for (suffix, language) in [
        ("en", Language::ENGLISH),
        ("ko", Language::KOREAN),
        ("ja", Language::JAPANESE),
        ("ru", Language::RUSSIAN),
    ] {
        let wide = page(language, (120, 14), HostOrder::default(), "web10");
        check(&format!("hosts-120x14-{suffix}"), &wide);
        let order = HostOrder { column: HostColumn::State, is_reversed: false };
        check(&format!("hosts-50x10-{suffix}"), &page(language, (50, 10), order, "db"));
    }
}

#[test]
fn every_state_is_said_in_words() {
    for (chosen, parts) in [
        ("web1", &["tasks waited for: CPU 2.0 %, memory 0.0 %, disks 11.5 %"][..]),
        ("win1", &["its clock is ahead by 2.45 s", "pages a second: 140", "140 p/s"]),
        ("web10", &["no answer for 75 s: these are its last values", "its clock is behind by 90.00 s"]),
        ("db", &["Connection refused", "the last values are 2 min old, retry in 8 s"]),
        ("web2", &["Permission denied (publickey)", "no values yet, retry in 30 s"]),
        ("new", &["no values yet", "connecting"]),
    ] {
        let screen = page(Language::ENGLISH, (120, 14), HostOrder::default(), chosen);
        for part in parts {
            assert!(screen.contains(part), "{part:?} is not on\n{screen}");
        }
    }
    // However small the screen is, nothing panics, and the chosen line stays.
    for (columns, lines) in [(1, 3), (10, 4), (20, 5), (200, 60)] {
        page(Language::ENGLISH, (columns, lines), HostOrder::default(), "win1");
    }
}
