//! `tally prof gc`, `exceptions`, `contention` and `threads`: what happened in a running program, or in a
//! file of `tally prof sample`.

use std::cmp::Reverse;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use tallymon::log::open_regular;
use tallymon_clr::export::time;
use tallymon_dotnet::events;
use tallymon_dotnet::incidents::{Incidents, adjustment_name};

use super::arguments::ProfIncidents;
use super::{attach, sampled};
use crate::border;
use crate::exit::Failure;
use crate::words::say;

/// Which report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Collections,
    Exceptions,
    Contention,
    Threads,
}

impl Subject {
    /// The events of the runtime that it needs, and how detailed.
    fn events(self) -> (u64, u32) {
        match self {
            // Allocations are events of the last level.
            Subject::Collections => (events::GC, 5),
            Subject::Exceptions => (events::EXCEPTION, 2),
            Subject::Contention => (events::CONTENTION, 4),
            Subject::Threads => (events::THREADING, 4),
        }
    }
}

pub(super) fn run(subject: Subject, arguments: &ProfIncidents) -> Result<(), Failure> {
    let file = Path::new(&arguments.program);
    let incidents = if sampled::is_stream(file) {
        let input = open_regular(file).map_err(|error| Failure::file(file, &error))?;
        Incidents::read(BufReader::new(input)).map_err(|error| sampled::failure(file, &error))?
    } else {
        let (keywords, level) = subject.events();
        attach::incidents(&arguments.program, arguments.duration, keywords, level)?
    };
    if let Some(damage) = &incidents.damage {
        say(format_args!("{damage}; what came before it is shown"));
    }
    if incidents.lost > 0 {
        say(format_args!("{} events are missing: the runtime dropped them", incidents.lost));
    }
    let mut out = BufWriter::new(border::stdout());
    match subject {
        Subject::Collections => collections(&incidents, arguments.rows, &mut out)?,
        Subject::Exceptions => exceptions(&incidents, arguments.rows, &mut out)?,
        Subject::Contention => contention(&incidents, arguments.rows, &mut out)?,
        Subject::Threads => threads(&incidents, arguments.rows, &mut out)?,
    }
    Ok(out.flush()?)
}

/// Says how many rows a table leaves out.
pub(super) fn more(all: usize, rows: usize, out: &mut dyn Write) -> std::io::Result<()> {
    match all.saturating_sub(rows) {
        0 => Ok(()),
        left => writeln!(out, "{left} more; --rows shows them"),
    }
}

fn collections(incidents: &Incidents, rows: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let all = &incidents.collections;
    let of = |generation| all.iter().filter(|one| one.start.generation == generation).count();
    let pauses = || all.iter().map(|one| one.pause);
    let (sum, longest) = (pauses().sum::<u64>(), pauses().max().unwrap_or(0));
    writeln!(
        out,
        "{} collections in {}: {} of generation 0, {} of 1, {} of 2",
        all.len(),
        time(incidents.duration),
        of(0),
        of(1),
        of(2)
    )?;
    let share = 100.0 * sum as f64 / incidents.duration.max(1) as f64;
    writeln!(out, "all threads stopped for {} ({share:.2} %), at most for {}", time(sum), time(longest))?;
    if !all.is_empty() {
        let (number, heap) = ("number", "heap after");
        writeln!(out, "\n{:>11} {number:>7} gen {:>11} {heap:>13} {:>13}  why", "at", "stopped", "survived")?;
    }
    for one in all.iter().take(rows) {
        let sum =
            |sizes: &[u64; 5]| sizes.iter().fold(0u64, |sum, size| sum.saturating_add(*size)).to_string();
        let heap = one.heap.map_or("-".into(), |heap| sum(&heap.sizes));
        let survived = one.heap.map_or("-".into(), |heap| sum(&heap.promoted));
        let (number, generation) = (one.start.number, one.start.generation);
        let background = if one.start.kind == 1 { ", in the background" } else { "" };
        writeln!(
            out,
            "{:>11} {number:>7} {generation:>3} {:>11} {heap:>13} {survived:>13}  {}{background}",
            time(one.at),
            time(one.pause),
            one.start.reason_name()
        )?;
    }
    more(all.len(), rows, out)?;
    if incidents.allocations.is_empty() {
        return Ok(());
    }
    let mut types: Vec<_> = incidents.allocations.iter().collect();
    types.sort_by_key(|(_, (bytes, _))| Reverse(*bytes));
    writeln!(out, "\nallocated, from about one object in 100 KB\n{:>15}  type", "bytes")?;
    for (name, (bytes, _)) in types.iter().take(rows) {
        writeln!(out, "{bytes:>15}  {name}")?;
    }
    more(types.len(), rows, out)
}

fn exceptions(incidents: &Incidents, rows: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let count: u64 = incidents.exceptions.values().map(|(count, _)| *count).sum();
    writeln!(out, "{count} exceptions in {}", time(incidents.duration))?;
    let mut all: Vec<_> = incidents.exceptions.iter().collect();
    all.sort_by_key(|(_, (count, _))| Reverse(*count));
    for ((type_name, place), (count, message)) in all.iter().take(rows) {
        writeln!(out, "\n{count:>9} {type_name} in {place}\n          {message}")?;
    }
    more(all.len(), rows, out)
}

fn contention(incidents: &Incidents, rows: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let count: u64 = incidents.waits.values().map(|waits| waits.count).sum();
    let total: u64 = incidents.waits.values().map(|waits| waits.total).sum();
    writeln!(out, "{count} waits for locks in {}, {} in all", time(incidents.duration), time(total))?;
    let mut all: Vec<_> = incidents.waits.iter().collect();
    all.sort_by_key(|(_, waits)| Reverse(waits.total));
    if !all.is_empty() {
        writeln!(out, "\n{:>9} {:>11} {:>11}  waiting in", "waits", "total", "longest")?;
    }
    for (place, waits) in all.iter().take(rows) {
        writeln!(out, "{:>9} {:>11} {:>11}  {place}", waits.count, time(waits.total), time(waits.longest))?;
    }
    more(all.len(), rows, out)
}

fn threads(incidents: &Incidents, rows: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let numbers = || incidents.pool.iter().map(|(_, threads)| *threads);
    match (numbers().min(), numbers().max(), numbers().next_back()) {
        (Some(least), Some(most), Some(last)) => {
            let duration = time(incidents.duration);
            writeln!(out, "thread pool in {duration}: {least} to {most} threads, {last} at the end")?;
        }
        _ => writeln!(out, "the thread pool did not change its number of threads")?,
    }
    let mut all: Vec<_> = incidents.adjustments.iter().collect();
    all.sort_by_key(|(_, count)| Reverse(**count));
    if !all.is_empty() {
        writeln!(out, "\n{:>9}  why it wanted another number", "times")?;
    }
    for (reason, count) in all.iter().take(rows) {
        writeln!(out, "{count:>9}  {}", adjustment_name(**reason))?;
    }
    more(all.len(), rows, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_dotnet::events::{GcStart, HeapStats};
    use tallymon_dotnet::incidents::{Collection, Waits};

    #[test]
    fn reports_say_what_happened() {
        let mut incidents = Incidents { duration: 2_000_000_000, ..Incidents::default() };
        let text = |incidents: &Incidents,
                    write: fn(&Incidents, usize, &mut dyn Write) -> std::io::Result<()>| {
            let mut out = Vec::new();
            write(incidents, 1, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&incidents, exceptions), "0 exceptions in 2.000 s\n");
        assert_eq!(text(&incidents, contention), "0 waits for locks in 2.000 s, 0 ns in all\n");
        assert_eq!(text(&incidents, threads), "the thread pool did not change its number of threads\n");
        let nothing = "0 collections in 2.000 s: 0 of generation 0, 0 of 1, 0 of 2\n\
                       all threads stopped for 0 ns (0.00 %), at most for 0 ns\n";
        assert_eq!(text(&incidents, collections), nothing);
        let start = GcStart { number: 7, generation: 2, reason: 1, kind: 1 };
        let heap = HeapStats { sizes: [1, 2, 3, 4, 5], promoted: [0, 0, 3, 4, 0], ..HeapStats::default() };
        let one = Collection { at: 1_000, start, duration: Some(9), pause: 20_000_000, heap: Some(heap) };
        incidents.collections = vec![one, one];
        incidents.allocations = [("A".into(), (5, 1)), ("B".into(), (500_000, 3))].into();
        let report = text(&incidents, collections);
        let parts = [
            "2 collections in 2.000 s: 0 of generation 0, 0 of 1, 2 of 2",
            "stopped for 40.00 ms (2.00 %), at most for 20.00 ms",
            "    1.00 us       7   2    20.00 ms            15             7  the program asked, in the \
             background\n1 more",
            "         500000  B\n1 more; --rows shows them\n",
        ];
        parts.iter().for_each(|part| assert!(report.contains(part), "{part}\n{report}"));
        incidents.exceptions = [(("E".into(), "N.T.M".into()), (3, "no".into()))].into();
        assert_eq!(
            text(&incidents, exceptions),
            "3 exceptions in 2.000 s\n\n        3 E in N.T.M\n          no\n"
        );
        incidents.waits = [("N.T.W".into(), Waits { count: 2, total: 3000, longest: 2000 })].into();
        assert!(text(&incidents, contention).ends_with("        2     3.00 us     2.00 us  N.T.W\n"));
        (incidents.pool, incidents.adjustments) = (vec![(1, 4), (2, 9), (3, 6)], [(6, 2), (3, 1)].into());
        let report = text(&incidents, threads);
        assert!(report.starts_with("thread pool in 2.000 s: 4 to 9 threads, 6 at the end\n"), "{report}");
        assert!(report.contains("        2  starvation") && report.ends_with("1 more; --rows shows them\n"));
    }
}
