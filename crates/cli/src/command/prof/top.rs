//! `tally prof top`: shows the busiest methods of a running program, with continuous updates.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tallymon_clr::export::time;
use tallymon_clr::reader::{MethodTotal, Profile};
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
    let mut before = Sample::take(&file)?;
    let mut output = Output::open()?;
    let mut ticks = Ticks::start(arguments.interval);
    let mut done = 0u64;
    if !output.wait(ticks.next(), |_| Vec::new())? {
        return Ok(());
    }
    loop {
        let after = Sample::take(&file)?;
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

/// A profile at one time.
struct Sample {
    profile: Profile,
    /// By method number.
    totals: HashMap<u32, MethodTotal>,
}

impl Sample {
    fn take(file: &Path) -> Result<Sample, Failure> {
        Ok(Sample::new(locate::open(file)?))
    }

    fn new(profile: Profile) -> Sample {
        let number = |total: &MethodTotal| profile.methods.get(total.method).map(|method| method.number);
        let totals =
            profile.method_totals().into_iter().filter_map(|total| Some((number(&total)?, total))).collect();
        Sample { profile, totals }
    }
}

/// The activity of a method between two samples.
#[derive(Debug, Clone, PartialEq)]
struct Rate {
    name: String,
    /// Calls per second, counted when they begin.
    calls: f64,
    /// The share of time in which the method ran, without callees. With several threads it may exceed 1.
    own: f64,
    /// The share of time in which the method or its callees ran.
    total: f64,
    /// The 50th percentile of the times of ended calls, in nanoseconds; `None` if no call ended.
    median: Option<u64>,
    /// The 99th percentile.
    slow: Option<u64>,
    /// Open calls.
    open: u64,
    /// Exceptions per second.
    exceptions: f64,
}

/// The methods that ran between two samples.
fn rates(before: &Sample, after: &Sample) -> Vec<Rate> {
    let time = after.profile.duration.saturating_sub(before.profile.duration);
    if time == 0 {
        return Vec::new();
    }
    let nothing = MethodTotal::default();
    let mut rates = Vec::new();
    for (number, now) in &after.totals {
        let was = before.totals.get(number).unwrap_or(&nothing);
        let part = |was: u64, now: u64| now.saturating_sub(was) as f64 / time as f64;
        let a_second = |was, now| part(was, now) * 1e9;
        let mut between = now.clone();
        for (end, count) in &was.histogram {
            if let Some(left) = between.histogram.get_mut(end) {
                *left = left.saturating_sub(*count);
            }
        }
        between.histogram.retain(|_, count| *count > 0);
        let rate = Rate {
            name: after.profile.methods.get(now.method).map(|method| method.name.clone()).unwrap_or_default(),
            calls: a_second(was.enters, now.enters),
            own: part(was.own, now.own),
            total: part(was.total, now.total),
            median: between.percentile(0.5),
            slow: between.percentile(0.99),
            open: now.open,
            exceptions: a_second(was.exceptions, now.exceptions),
        };
        if rate.calls > 0.0 || rate.open > 0 || rate.own > 0.0 {
            rates.push(rate);
        }
    }
    rates
}

/// The lines of one update.
fn page(before: &Sample, after: &Sample, sort: ProfSort, rows: usize, width: usize) -> Vec<String> {
    let profile = &after.profile;
    let mut all = rates(before, after);
    let key = |rate: &Rate| match sort {
        ProfSort::Calls => rate.calls,
        ProfSort::Own => rate.own,
        ProfSort::Total => rate.total,
    };
    all.sort_by(|a, b| key(b).total_cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
    // `sum` of no numbers is -0.0, which would print a minus sign.
    let calls = all.iter().fold(0.0, |sum, rate| sum + rate.calls);
    let exceptions = all.iter().fold(0.0, |sum, rate| sum + rate.exceptions);
    let work = after.profile.overhead().saturating_sub(before.profile.overhead());
    let passed = after.profile.duration.saturating_sub(before.profile.duration).max(1);
    let threads = profile.threads.iter().filter(|thread| !thread.ended).count();
    let mut lines = vec![
        format!("process {}  {}", profile.pid, profile.command),
        format!(
            "{} calls/s  {} exceptions/s  {threads} threads  {} methods  up {}  profiler's own work {:.1} %",
            short(calls),
            short(exceptions),
            profile.methods.len(),
            time(profile.duration),
            100.0 * work as f64 / passed as f64
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
    for rate in all.iter().take(rows) {
        let latency = |value: Option<u64>| value.map(time).unwrap_or_default();
        let mut line = String::new();
        // Writing into a String can not fail.
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
    use tallymon_clr::reader::Method;

    fn sample(duration: u64, calls: u64, own: u64) -> Sample {
        // A header without records; the test adds its own method and totals.
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
        let total = MethodTotal {
            enters: calls,
            own,
            total: own * 2,
            shortest: Some(100),
            longest: Some(900),
            histogram: [(128, calls - 1), (1024, 1)].into(),
            ..MethodTotal::default()
        };
        Sample { profile, totals: [(7, total)].into() }
    }

    #[test]
    fn rates_cover_the_time_between_two_samples() {
        let (before, after) = (sample(1_000_000_000, 11, 0), sample(3_000_000_000, 211, 500_000_000));
        let rates = rates(&before, &after);
        assert_eq!((rates[0].calls, rates[0].own, rates[0].total), (100.0, 0.25, 0.5));
        // The slow call was before the first sample, so only the bucket below 128 ns is left.
        assert_eq!((rates[0].median, rates[0].slow), (Some(128), Some(128)));
        assert!(super::rates(&after, &after).is_empty());
    }

    #[test]
    fn page_fits_and_has_no_control_characters() {
        let (before, after) = (sample(1_000_000_000, 11, 0), sample(3_000_000_000, 211, 500_000_000));
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
