//! `tally compare`: shows which counters differ most between two performance logs.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;
use tallymon::clock::rfc3339;
use tallymon::core::time::FileTime;
use tallymon::log::compare::{Align, Comparison, Difference, compare};
use tallymon::log::{LogClock, ReadOptions};

use super::analyze::moment;
use super::relog::{ended, reading, say_damage, say_not_found, selection};
use super::stats::{number_of, summary_json};
use crate::arguments::{self, AlignBy, Common};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::progress::Progress;
use crate::words::{shown, table, visible};

pub(crate) fn run(_common: &Common, arguments: &arguments::Compare) -> Result<(), Failure> {
    let paths = [arguments.first.as_path(), arguments.second.as_path()];
    let options = ReadOptions { cap: arguments.choice.cap, ..reading(&arguments.reading)? };
    let events = events(arguments, paths, &options)?;
    let align = match arguments.align {
        _ if !events.is_empty() => Align::Events(&events),
        AlignBy::Start => Align::Start,
        AlignBy::Clock => Align::Clock,
    };
    let progress = Progress::of(&options.bytes_read, &paths, 1);
    let found = compare(paths, align, &selection(&arguments.choice)?, &options)?;
    drop(progress);
    let mut out = border::stdout();
    if arguments.json {
        writeln!(out, "{}", as_json(&found, arguments.top))?;
    } else {
        print(&mut out, &found, arguments.top)?;
    }
    say_not_found(&found.not_found);
    let mut damaged = false;
    for side in &found.sides {
        say_damage(&side.path, &side.notes)?;
        damaged |= side.notes.damage_count > 0;
    }
    ended(damaged, &found.not_found)
}

/// When the event was in each log, each by its own clock.
fn events(
    arguments: &arguments::Compare,
    paths: [&Path; 2],
    options: &ReadOptions,
) -> Result<Vec<FileTime>, Failure> {
    let (Some(in_first), in_second) = (arguments.event.first(), arguments.event.get(1)) else {
        return Ok(Vec::new());
    };
    if arguments.event.len() > 2 {
        let words = "--event: two times at most, for two logs";
        return Err(Failure::new(Kind::Usage, words));
    }
    let texts = [in_first, in_second.unwrap_or(in_first)];
    let of_log = |(path, text): (&Path, &String)| {
        let clock = LogClock::of(&[path.to_path_buf()], options)?;
        moment(text, &clock)
    };
    paths.into_iter().zip(texts).map(of_log).collect()
}

const TITLES: [&str; 7] = ["mean A", "mean B", "B - A", "change", "95 % A", "95 % B", "counter"];

fn print(out: &mut impl Write, found: &Comparison, top: usize) -> io::Result<()> {
    for (letter, side) in ["A", "B"].iter().zip(&found.sides) {
        let range = side
            .first
            .zip(side.last)
            .map(|(first, last)| (side.clock.text(first), side.clock.text(last)))
            .map_or(String::new(), |(first, last)| format!(", {first} to {last}"));
        writeln!(out, "{letter}  {}: {} records{range}", shown(&side.path), side.records)?;
    }
    let rows: Vec<_> = found.differences.iter().take(top).map(row).collect();
    table(out, TITLES, &rows)?;
    let more = found.differences.len().saturating_sub(rows.len());
    if more > 0 {
        writeln!(out, "{more} more counters differ less or not at all; use --top to show more")?;
    }
    for (letter, paths) in [("A", &found.only_first), ("B", &found.only_second)] {
        for path in paths.iter().take(top) {
            writeln!(out, "only in {letter}: {}", visible(path))?;
        }
        if paths.len() > top {
            writeln!(out, "only in {letter}: {} more", paths.len() - top)?;
        }
    }
    Ok(())
}

fn row(difference: &Difference) -> [String; TITLES.len()] {
    let number = |number: f64| number_of(number, difference.counter_type);
    let high = |hundredths: Option<f64>| hundredths.map_or_else(|| "-".to_owned(), number);
    [
        number(difference.first.mean),
        number(difference.second.mean),
        number(difference.absolute()),
        change(difference.first.mean, difference.second.mean),
        high(difference.first.percentile(95)),
        high(difference.second.percentile(95)),
        visible(&difference.path).into_owned(),
    ]
}

/// The change from one number to another: a percentage, or a factor from 10 on.
fn change(from: f64, to: f64) -> String {
    if from == to {
        return "0 %".to_owned();
    }
    let quotient = to / from;
    if !quotient.is_finite() || quotient < 0.0 {
        return "-".to_owned();
    }
    if quotient >= 10.0 { format!("x {quotient:.0}") } else { format!("{:+.1} %", (quotient - 1.0) * 100.0) }
}

fn as_json(found: &Comparison, top: usize) -> serde_json::Value {
    json!({
        "logs": found.sides.iter().map(|side| json!({
            "path": side.path.display().to_string(),
            "records": side.records,
            "first": side.first.map(rfc3339),
            "last": side.last.map(rfc3339),
        })).collect::<Vec<_>>(),
        "differences": found.differences.iter().take(top).map(|difference| json!({
            "path": difference.path,
            "type": difference.counter_type.to_string(),
            "unit": difference.counter_type.suffix().as_str(),
            "absolute": difference.absolute(),
            "relative": difference.relative(),
            "deviations": difference.deviations(),
            "first": summary_json(&difference.first),
            "second": summary_json(&difference.second),
        })).collect::<Vec<_>>(),
        "only_first": found.only_first,
        "only_second": found.only_second,
        "not_found": found.not_found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_changes_as_percentage_or_factor() {
        for (from, to, words) in [
            (1.0, 1.5, "+50.0 %"),
            (2.0, 1.0, "-50.0 %"),
            (1.0, 25.0, "x 25"),
            (0.0, 3.0, "-"),
            (0.0, 0.0, "0 %"),
            (-1.0, 1.0, "-"),
        ] {
            assert_eq!(change(from, to), words, "{from} to {to}");
        }
    }
}
