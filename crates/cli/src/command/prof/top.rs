//! `tally prof top`: shows the busiest methods of a running program, with continuous updates.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tallymon_clr::export::time;
use tallymon_clr::rates::{Look, Rate, rates};
use tallymon_monitor::{Pages, Waited};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::arguments::{ProfSort, ProfTop};
use super::locate;
use crate::border;
use crate::exit::{Failure, Kind};
use crate::stop::{self, Stop, Ticks};
use crate::words::visible;

/// Rows of an update if standard output is not a terminal.
const ROWS: usize = 20;

/// Lines above the methods.
const HEAD: usize = 4;

pub(super) fn run(arguments: &ProfTop) -> Result<(), Failure> {
    let file = locate::find(arguments.program.as_deref())?;
    let mut before = Look::new(locate::open(&file)?);
    let mut output = Output::open()?;
    let mut ticks = Ticks::start(arguments.interval);
    let mut done = 0u64;
    if !output.wait(ticks.next(), |_| Vec::new())? {
        return Ok(());
    }
    loop {
        let after = Look::new(locate::open(&file)?);
        let page = |(width, height): (usize, usize)| {
            let rows = arguments.rows.unwrap_or_else(|| height.saturating_sub(HEAD + 1));
            page(&before, &after, arguments.sort, rows, width)
        };
        output.show(page)?;
        done += 1;
        if arguments.count.is_some_and(|count| done >= count) {
            return Ok(());
        }
        if !locate::is_running(&after.profile) {
            let words = format!("process {} has ended; 'tally prof tree' shows all of it", after.profile.pid);
            return Err(Failure::new(Kind::NoData, words));
        }
        if !output.wait(ticks.next(), page)? {
            return Ok(());
        }
        before = after;
    }
}

/// The lines of one update.
fn page(before: &Look, after: &Look, sort: ProfSort, rows: usize, width: usize) -> Vec<String> {
    let profile = &after.profile;
    let mut now = rates(before, after);
    let key = |rate: &Rate| match sort {
        ProfSort::Calls => rate.calls,
        ProfSort::Own => rate.own,
        ProfSort::Total => rate.total,
    };
    now.methods.sort_by(|a, b| key(b).total_cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
    let mut lines = vec![
        format!("process {}  {}", profile.pid, profile.command),
        format!(
            "{} calls/s  {} exceptions/s  {} threads  {} methods  up {}  profiler's own work {:.1} %",
            short(now.calls),
            short(now.exceptions),
            now.threads,
            profile.methods.len(),
            time(profile.duration),
            100.0 * now.work
        ),
        String::new(),
        format!(
            "{:>9} {:>7} {:>7} {:>9} {:>9} {:>6}  METHOD",
            "CALLS/S", "SELF%", "TOTAL%", "P50", "P99", "OPEN"
        ),
    ];
    if !profile.hooks_on {
        lines.extend(["the hooks are off; 'tally prof on' switches them on".to_string()]);
    }
    for rate in now.methods.iter().take(rows) {
        let latency = |value: Option<u64>| value.map(time).unwrap_or_default();
        let mut line = String::new();
        // Writing into a String cannot fail.
        let _ = write!(
            line,
            "{:>9} {:>7.1} {:>7.1} {:>9} {:>9} {:>6}  {}",
            short(rate.calls),
            rate.own * 100.0,
            rate.total * 100.0,
            latency(rate.median),
            latency(rate.slow),
            rate.open,
            rate.name
        );
        lines.push(line);
    }
    lines.iter().map(|line| cut(line, width)).collect()
}

/// A number with at most four digits.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e7 => format!("{:.1} M", v / 1e6),
        v if v >= 1e4 => format!("{:.1} k", v / 1e3),
        v if v >= 10.0 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}

/// Cuts a line to a width, with dots for what does not fit.
fn cut(line: &str, width: usize) -> String {
    let clean = visible(line);
    if clean.width() <= width {
        return clean.into_owned();
    }
    let dots = DOTS.get(..width).unwrap_or(DOTS);
    let mut left = width.saturating_sub(dots.len());
    let fits = |c: &char| {
        let Some(rest) = left.checked_sub(c.width().unwrap_or(0)) else { return false };
        left = rest;
        true
    };
    clean.chars().take_while(fits).chain(dots.chars()).collect()
}

/// Three full stops, because not every terminal can show an ellipsis character.
const DOTS: &str = "...";

/// Where updates go: the full screen of a terminal shows one at a time, a file or a pipe gets all of them.
enum Output {
    Terminal(Pages, Arc<AtomicBool>),
    Stream(Stop),
}

impl Output {
    fn open() -> Result<Output, Failure> {
        if io::stdout().is_terminal() {
            let stop = stop::with_full_screen()?;
            return Ok(Output::Terminal(Pages::open()?, stop));
        }
        Ok(Output::Stream(Stop::on_signals()?))
    }

    /// Shows a page, which `page` creates for a number of columns and rows.
    fn show(&mut self, page: impl Fn((usize, usize)) -> Vec<String>) -> io::Result<()> {
        match self {
            Output::Terminal(pages, _) => {
                let (width, height) = pages.size()?;
                pages.show(&page((width.into(), height.into())))
            }
            Output::Stream(_) => {
                let mut text = page((usize::MAX, ROWS + HEAD + 1)).join("\n");
                text.push_str("\n\n");
                let mut out = border::stdout();
                out.write_all(text.as_bytes())?;
                out.flush()
            }
        }
    }

    /// Waits until a time, and shows the page again when the terminal needs it; `false` when the user quit.
    fn wait(&mut self, until: Instant, page: impl Fn((usize, usize)) -> Vec<String>) -> io::Result<bool> {
        loop {
            let waited = match self {
                Output::Terminal(pages, stop) => pages.wait(until, || stop.load(Ordering::Relaxed))?,
                Output::Stream(stop) => return Ok(stop.wait_until(until)),
            };
            match waited {
                Waited::Elapsed => return Ok(true),
                Waited::Quit => return Ok(false),
                Waited::Redraw => self.show(&page)?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]
    use super::*;
    use tallymon_clr::reader::{Call, Method, Profile, Thread};

    /// A program of one method with so many calls.
    fn look(duration: u64, calls: u64, own: u64) -> Look {
        // A header without records; the test adds its own method and calls.
        let mut bytes = vec![0; 4096];
        bytes[..8].copy_from_slice(b"TLMPROF\0");
        for (at, value) in [(8, 1u32), (12, 4096), (16, 64), (20, 128), (24, 64), (28, 256), (172, 1)] {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let mut profile = Profile::from_bytes(&bytes).unwrap();
        profile.duration = duration;
        profile.methods.push(Method {
            number: 7,
            name: "N.C.Run()\u{1b}[2J".into(),
            raw: Default::default(),
            module: None,
            token: 0,
            compiled: 1,
            inlined: 0,
            inlined_into: None,
            elsewhere: Default::default(),
        });
        let call = Call {
            method: Some(0),
            parent: Some(0),
            enters: calls,
            leaves: calls,
            own,
            total: own * 2,
            shortest: Some(100),
            longest: Some(900),
            histogram: vec![(128, calls as u32 - 1), (1024, 1)],
            ..Call::default()
        };
        profile.calls = vec![Call { children: vec![1], ..Call::default() }, call];
        profile.threads.push(Thread {
            os_id: 1,
            name: String::new(),
            ended: false,
            root: 0,
            exceptions: 0,
            lost_calls: 0,
            lost_nodes: 0,
            unmatched: 0,
            first: 0,
            lost_events: 0,
            events: Vec::new(),
        });
        Look::new(profile)
    }

    #[test]
    fn page_fits_and_has_no_control_characters() {
        let (before, after) = (look(1_000_000_000, 11, 0), look(3_000_000_000, 211, 500_000_000));
        let page = page(&before, &after, ProfSort::Own, 5, 80);
        assert_eq!(page.len(), HEAD + 1);
        assert_eq!(page[4], "      100    25.0    50.0    128 ns    128 ns      0  N.C.Run()\u{fffd}[2J");
        assert!(page.iter().all(|line| line.chars().count() <= 80), "{page:?}");
        assert_eq!(cut(&page[4], 60), "      100    25.0    50.0    128 ns    128 ns      0  N.C...");
        assert_eq!(
            (cut("호출 수", 6), cut("calls", 2), cut("", 0)),
            ("호...".into(), "..".into(), String::new())
        );
    }
}
