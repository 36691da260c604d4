//! Findings as text for people, and as Markdown.

use std::io::{self, Write};

use tallymon::analyze::{Analysis, Cause, Evidence, Finding, Moment, Range};
use tallymon::core::title::Language;
pub(crate) use tallymon::human::of_path as value;
use tallymon::log::LogClock;
use tallymon::translation::{self, Translation};

use crate::words::{line_width, visible, wrap};

/// The ranges that are listed of one instance.
const RANGES: usize = 3;
/// The instances that are listed of one finding.
const INSTANCES: usize = 3;
/// The width of a small chart.
const CHART: usize = 60;

/// The language of the texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tongue(Option<&'static Translation>);

impl Tongue {
    pub(crate) fn of(language: Language) -> Tongue {
        Tongue(translation::of_findings(language))
    }

    /// An English text in the language.
    pub(crate) fn text(self, english: impl AsRef<str>) -> String {
        let english = english.as_ref();
        self.0.map_or_else(|| english.to_owned(), |known| known.phrase(english))
    }
}

pub(super) fn print(
    out: &mut impl Write,
    found: &Analysis,
    (top, verbose): (usize, bool),
    tongue: Tongue,
) -> io::Result<()> {
    writeln!(out, "{}", summary(found, tongue))?;
    for (at, finding) in found.findings.iter().take(top).enumerate() {
        writeln!(out)?;
        let host = on_host(finding, tongue);
        let title = tongue.text(visible(&finding.title));
        let severity = tongue.text(finding.severity.name());
        writeln!(out, "{}. {severity}: {title}{host}", at.saturating_add(1))?;
        details(out, finding, (&found.clock, tongue), verbose)?;
    }
    let hidden = found.findings.len().saturating_sub(top);
    if hidden > 0 {
        let words = tongue.text(format!("{hidden} more findings; use a larger --top to show them"));
        writeln!(out, "\n{words}")?;
    }
    if verbose {
        for skipped in &found.skipped {
            let (rule, origin) = (visible(&skipped.rule), visible(&skipped.origin));
            let words = format!("not used: {rule} ({origin}): {}", visible(&skipped.reason));
            writeln!(out, "{}", tongue.text(words))?;
        }
    } else if !found.skipped.is_empty() {
        let words =
            format!("{} rules were not used; --verbose lists them with the reasons", found.skipped.len());
        writeln!(out, "\n{}", tongue.text(words))?;
    }
    Ok(())
}

/// The host of a finding, behind its title.
pub(super) fn on_host(finding: &Finding, tongue: Tongue) -> String {
    if finding.host.is_empty() {
        return String::new();
    }
    format!(" {}", tongue.text(format!("on {}", visible(&finding.host))))
}

/// What was looked at, and what was found, in one paragraph.
fn summary(found: &Analysis, tongue: Tongue) -> String {
    let clock = &found.clock;
    let range = found
        .first
        .zip(found.last)
        .map_or(String::new(), |(first, last)| format!(", {} to {}", clock.text(first), clock.text(last)));
    let looked = format!(
        "{} records of {} counters{range}. {} rules had their counters here, {} had not.",
        found.records, found.counters, found.rules_applied, found.rules_without_counters
    );
    let machine: Vec<String> = found
        .parameters
        .iter()
        .filter(|(name, _)| tallymon::analyze::MACHINE_PARAMETERS.contains(&name.as_str()))
        .map(|(name, value)| match value {
            Some(value) => format!("{name} {value:.0}"),
            None => tongue.text(format!("{name} unknown")),
        })
        .collect();
    let findings = match found.findings.len() {
        0 => "Nothing was found.".to_owned(),
        1 => "One finding.".to_owned(),
        count => format!("{count} findings, those that hurt most first."),
    };
    let machine = format!("Taken for the machine: {} (change with --set).", machine.join(", "));
    [looked, machine, findings].map(|line| tongue.text(line)).join("\n")
}

pub(super) fn details(
    out: &mut impl Write,
    finding: &Finding,
    (clock, tongue): (&LogClock, Tongue),
    verbose: bool,
) -> io::Result<()> {
    let shown = if verbose { usize::MAX } else { INSTANCES };
    for (at, evidence) in finding.instances.iter().take(shown).enumerate() {
        writeln!(out, "   {}", visible(&evidence.path))?;
        writeln!(out, "     {}", numbers(evidence, tongue))?;
        for range in evidence.ranges.iter().take(if verbose { usize::MAX } else { RANGES }) {
            writeln!(out, "     {}", tongue.text(range_of(range, evidence, clock)))?;
        }
        let more = (evidence.ranges.len().saturating_sub(if verbose { usize::MAX } else { RANGES })) as u64;
        let more = more.saturating_add(evidence.more_ranges);
        if more > 0 {
            writeln!(out, "     {}", tongue.text(format!("{more} more times")))?;
        }
        if (verbose || at == 0) && !evidence.course.is_empty() {
            writeln!(out, "     {}", chart(&evidence.course))?;
        }
    }
    let hidden = finding.instances.len().saturating_sub(shown);
    if hidden > 0 {
        writeln!(out, "   {}", tongue.text(format!("{hidden} more instances")))?;
    }
    for cause in &finding.causes {
        writeln!(out, "   {}", tongue.text(format!("busy: {}", cause_of(cause))))?;
    }
    for line in moved_with(finding) {
        writeln!(out, "   {}", tongue.text(line))?;
    }
    for text in [&finding.means, &finding.next].into_iter().filter(|text| !text.is_empty()) {
        for line in wrap(&tongue.text(visible(text)), 3, line_width()) {
            writeln!(out, "   {line}")?;
        }
    }
    writeln!(out, "   {}", tongue.text(finding.found_by()))
}

/// What moved with it, a line for each, and among how many that was found.
fn moved_with(finding: &Finding) -> impl Iterator<Item = String> {
    finding.together.iter().map(together).chain(finding.chance())
}

fn together(other: &tallymon::analyze::Together) -> String {
    let way = if other.correlation > 0.0 { "rises and falls with it" } else { "rises when it falls" };
    let lag = match other.lag {
        lag if lag > 0.0 => format!(", {} later", duration(lag)),
        lag if lag < 0.0 => format!(", {} earlier", duration(-lag)),
        _ => String::new(),
    };
    format!("{} {way}{lag} (correlation {:.2})", visible(&other.path), other.correlation)
}

/// The worst and the usual value, and how long it was so.
fn numbers(evidence: &Evidence, tongue: Tongue) -> String {
    let shown = |number: f64| value(number, &evidence.path, evidence.counter_type);
    let usual = evidence.usual.map_or(String::new(), |usual| format!(", usually {}", shown(usual)));
    let share = if evidence.observed > 0.0 { 100.0 * evidence.seconds / evidence.observed } else { 100.0 };
    let limit = evidence.until_limit.map_or(String::new(), |seconds| {
        format!("; used up in {} if it goes on like this", duration(seconds))
    });
    let (worst, time) = (shown(evidence.worst), duration(evidence.seconds));
    tongue.text(format!("{worst}{usual}; {time} of the time ({share:.0} %){limit}"))
}

fn range_of(range: &Range, evidence: &Evidence, clock: &LogClock) -> String {
    let worst = value(range.worst, &evidence.path, evidence.counter_type);
    let way = if evidence.usual.is_some_and(|usual| range.worst < usual) { "down to" } else { "up to" };
    format!("{} to {}, {way} {worst}", clock.text(range.from), clock.text(range.to))
}

fn cause_of(cause: &Cause) -> String {
    let shown = |number: f64| value(number, &cause.path, cause.counter_type);
    let otherwise = cause.otherwise.map_or(String::new(), |mean| format!(", otherwise {}", shown(mean)));
    let instance = if cause.instance.is_empty() { cause.path.as_str() } else { cause.instance.as_str() };
    format!("{}  {}{otherwise} ({:.0} %)", visible(instance), shown(cause.during), cause.share * 100.0)
}

/// Seconds in the unit that people use.
fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds < 172_800.0 => format!("{:.1} h", seconds / 3600.0),
        seconds => format!("{:.1} days", seconds / 86_400.0),
    }
}

/// A course as a line of blocks: the mean of each stretch, from the smallest to the largest one.
fn chart(course: &[Option<f64>]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let step = course.len().div_ceil(CHART).max(1);
    let mean = |chunk: &[Option<f64>]| {
        let known: Vec<f64> = chunk.iter().flatten().copied().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let means: Vec<Option<f64>> = course.chunks(step).map(mean).collect();
    let low = means.iter().flatten().fold(f64::INFINITY, |low, value| low.min(*value));
    let high = means.iter().flatten().fold(f64::NEG_INFINITY, |high, value| high.max(*value));
    let block = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        BLOCKS.get((share * 7.0).round() as usize).copied().unwrap_or(' ')
    };
    means.iter().map(|mean| mean.map_or(' ', block)).collect()
}

/// The findings as a Markdown document.
pub(super) fn markdown(out: &mut impl Write, found: &Analysis, top: usize, tongue: Tongue) -> io::Result<()> {
    let heading = tongue.text("# Findings");
    writeln!(out, "{heading}\n\n{}\n", summary(found, tongue).replace('\n', "\n\n"))?;
    findings_markdown(out, found, top, ("##", tongue))
}

/// The findings as Markdown, each below a heading of a level.
pub(crate) fn findings_markdown(
    out: &mut impl Write,
    found: &Analysis,
    top: usize,
    (level, tongue): (&str, Tongue),
) -> io::Result<()> {
    list_markdown(out, &found.findings, top, (&found.clock, level, tongue))
}

/// Findings of logs with this clock as Markdown.
pub(super) fn list_markdown(
    out: &mut impl Write,
    findings: &[Finding],
    top: usize,
    (clock, level, tongue): (&LogClock, &str, Tongue),
) -> io::Result<()> {
    let heads = ["counter", "worst", "usual", "time", "first seen"].map(|head| tongue.text(head));
    for (at, finding) in findings.iter().take(top).enumerate() {
        let on = escaped(&on_host(finding, tongue));
        let title = escaped(&tongue.text(visible(&finding.title)));
        let severity = tongue.text(finding.severity.name());
        writeln!(out, "{level} {}. {severity}: {title}{on}\n", at.saturating_add(1))?;
        writeln!(out, "| {} |\n|---|---|---|---|---|", heads.join(" | "))?;
        for evidence in &finding.instances {
            let shown = |number: f64| value(number, &evidence.path, evidence.counter_type);
            let usual = evidence.usual.map_or_else(|| "-".to_owned(), shown);
            let first = evidence.ranges.first();
            let first = first.map_or_else(|| "-".to_owned(), |range| clock.text(range.from));
            let (worst, time) = (shown(evidence.worst), tongue.text(duration(evidence.seconds)));
            writeln!(out, "| {} | {worst} | {usual} | {time} | {first} |", escaped(&evidence.path))?;
        }
        writeln!(out)?;
        for evidence in finding.instances.iter().take(INSTANCES) {
            times_markdown(out, evidence, (clock, tongue))?;
        }
        for cause in &finding.causes {
            writeln!(out, "- {}", escaped(&tongue.text(format!("busy: {}", cause_of(cause)))))?;
        }
        for line in moved_with(finding).chain([finding.found_by()]) {
            writeln!(out, "- {}", escaped(&tongue.text(line)))?;
        }
        let [means, next] = [&finding.means, &finding.next].map(|text| escaped(&tongue.text(visible(text))));
        writeln!(out, "\n{means} {next}\n")?;
    }
    let hidden = findings.len().saturating_sub(top);
    if hidden > 0 { writeln!(out, "{}", tongue.text(format!("{hidden} more findings."))) } else { Ok(()) }
}

/// When it was so, and the course of the counter as a line of blocks.
fn times_markdown(
    out: &mut impl Write,
    evidence: &Evidence,
    (clock, tongue): (&LogClock, Tongue),
) -> io::Result<()> {
    writeln!(out, "- {}", escaped(&evidence.path))?;
    for range in evidence.ranges.iter().take(RANGES) {
        writeln!(out, "  - {}", escaped(&tongue.text(range_of(range, evidence, clock))))?;
    }
    let more = evidence.ranges.len().saturating_sub(RANGES) as u64;
    let more = more.saturating_add(evidence.more_ranges);
    if more > 0 {
        writeln!(out, "  - {}", tongue.text(format!("{more} more times")))?;
    }
    let chart = chart(&evidence.course);
    // What stands between these quotes keeps its spaces, which are times without values.
    if chart.trim().is_empty() { Ok(()) } else { writeln!(out, "  - `{chart}`") }
}

/// Text that is not taken for Markdown or HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in visible(text).chars() {
        if "\\`*_{}[]<>()#|!~".contains(c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// One moment in words.
pub(super) fn moment(
    out: &mut impl Write,
    found: &Moment,
    clock: &LogClock,
    tongue: Tongue,
) -> io::Result<()> {
    writeln!(out, "{}", tongue.text(format!("{} to {}", clock.text(found.from), clock.text(found.to))))?;
    let heading = if found.deviations.is_empty() {
        format!("None of the {} counters that were looked at was unlike the rest.", found.looked_at)
    } else {
        "Unlike the rest of the log:".to_owned()
    };
    writeln!(out, "{}", tongue.text(heading))?;
    for deviation in &found.deviations {
        let shown = |number: f64| value(number, &deviation.path, deviation.counter_type);
        let (value, usual) = (shown(deviation.value), shown(deviation.usual));
        let words = tongue.text(format!("{value}, usually {usual}"));
        writeln!(out, "   {}  {words}", visible(&deviation.path))?;
    }
    for (resource, causes) in &found.busiest {
        writeln!(out, "{}", tongue.text(format!("Busiest ({}):", resource.name())))?;
        for cause in causes {
            writeln!(out, "   {}", tongue.text(cause_of(cause)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_unit_that_people_use() {
        for (seconds, words) in
            [(0.4, "0 s"), (90.0, "90 s"), (600.0, "10 min"), (9000.0, "2.5 h"), (432_000.0, "5.0 days")]
        {
            assert_eq!(duration(seconds), words);
        }
    }

    #[test]
    fn charts_are_as_wide_as_a_line() {
        let course: Vec<Option<f64>> = (0..512).map(|at| Some(f64::from(at))).collect();
        let chart = chart(&course);
        assert!(chart.starts_with('▁') && chart.ends_with('█') && chart.chars().count() <= CHART, "{chart}");
        assert_eq!(super::chart(&[Some(1.0), None, Some(1.0)]), "▁ ▁");
        assert_eq!(super::chart(&[]), "");
    }

    #[test]
    fn names_are_no_markdown() {
        assert_eq!(escaped("<b>*x*|\u{1b}"), "\\<b\\>\\*x\\*\\|\u{fffd}");
    }
}
