//! Findings of what a course does now and then, see [`super::rhythm`]: spikes, periodic load, knees, and
//! hours that are unlike the same hour of other days.

use tallymon_core::time::FileTime;
use tallymon_log::zone::add_minutes;

use super::cause::causes;
use super::course::Course;
use super::findings::{evidence_of, hurt, name_of};
use super::headline::{Bad, HEADLINES, Headline, PAIRS, Pair};
use super::pass::Pass;
use super::rhythm::{self, Hour};
use super::rule::{Resource, Severity};
use super::shape::median;
use super::track::{Axis, HOUR, HourOfCourse};
use super::watch::{Range, seconds_between};
use super::{Evidence, Finding, FindingKind};

/// How far an hour must be from the usual, as a share of the larger value.
const HOUR_SHARE: f64 = 0.3;
/// More unusual hours than this share are no exception.
const HOURS_SHARE: f64 = 0.2;
/// Spikes last at least so many seconds.
const SPIKE_SECONDS: f64 = 5.0;

/// The findings of a course that a rule says nothing about.
pub(super) fn of_course(
    pass: &Pass,
    axis: Axis,
    headline: &Headline,
    course: &Course,
    points: &[(usize, f64)],
) -> Vec<Finding> {
    if headline.is_process {
        return Vec::new();
    }
    let mut found = Vec::new();
    found.extend(period(pass, headline, course, points));
    if found.is_empty() {
        found.extend(spikes(pass, axis, headline, course, points));
    }
    found.extend(hours(pass, headline, course));
    found
}

/// A finding about a headline counter, without its own words.
fn finding(
    pass: &Pass,
    kind: FindingKind,
    (resource, course): (Resource, &Course),
    ranges: Vec<Range>,
    worst: f64,
) -> Finding {
    let seconds: f64 = ranges.iter().map(|range| range.seconds).sum();
    let share = if pass.span() > 0.0 { (seconds / pass.span()).min(1.0) } else { 0.0 };
    let causes = causes(pass, course.host(), resource, &ranges);
    Finding {
        kind,
        title: String::new(),
        severity: Severity::Note,
        resource,
        host: course.host().to_owned(),
        share,
        hurt: hurt(Severity::Note, share) * 0.8,
        instances: vec![Evidence { seconds, worst, ..evidence_of(pass, course, &ranges) }],
        causes,
        together: Vec::new(),
        compared: 0,
        means: String::new(),
        next: String::new(),
        certainty: 0.5,
    }
}

fn spikes(
    pass: &Pass,
    axis: Axis,
    headline: &Headline,
    course: &Course,
    points: &[(usize, f64)],
) -> Option<Finding> {
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    let range = |(from, to): &(usize, usize)| {
        let part = points.get(*from..*to)?;
        let (first, last) = (axis.time(part.first()?.0), axis.time(part.last()?.0.saturating_add(1)));
        let worst = part.iter().fold(0.0_f64, |worst, (_, value)| worst.max(*value));
        Some(Range { from: first, to: last, seconds: seconds_between(first, last), worst, records: 0 })
    };
    let ranges: Vec<Range> = rhythm::spikes(&values, headline.matters)
        .iter()
        .filter_map(range)
        .filter(|range| range.seconds >= SPIKE_SECONDS)
        .collect();
    let worst = ranges.iter().fold(0.0_f64, |worst, range| worst.max(range.worst));
    let (name, count) = (name_of(headline, course), ranges.len());
    let title = match count {
        0 => return None,
        1 => format!("{name} rises for a moment"),
        _ => format!("{name} rises for a moment, {count} times"),
    };
    Some(Finding {
        title,
        means: "For a short time it was far above what is usual here, and then it was over.".to_owned(),
        next: "Look at what ran at these moments: tally why TIME LOG.".to_owned(),
        certainty: 0.8,
        ..finding(pass, FindingKind::Spike, (headline.resource, course), ranges, worst)
    })
}

fn period(pass: &Pass, headline: &Headline, course: &Course, points: &[(usize, f64)]) -> Option<Finding> {
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    // What comes back must be worth a word, and it must be more than what is there between.
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let at = |hundredths: usize| sorted.get(sorted.len().saturating_mul(hundredths) / 100).copied();
    let (low, high) = (at(25)?, at(95)?);
    if !(high >= headline.matters && high - low >= 0.5 * headline.matters) {
        return None;
    }
    let found = rhythm::period(&values)?;
    let seconds = pass.span() / values.len().saturating_sub(1).max(1) as f64 * found.points as f64;
    let range = Range { from: pass.first?, to: pass.last?, seconds: pass.span(), worst: high, records: 0 };
    let usual = median(&mut values.clone());
    let mut made = finding(pass, FindingKind::Period, (headline.resource, course), vec![range], high);
    if let Some(evidence) = made.instances.first_mut() {
        evidence.usual = usual;
    }
    Some(Finding {
        title: format!("{} rises every {}", name_of(headline, course), distance(seconds)),
        hurt: hurt(Severity::Note, 0.5),
        means: "The same work begins again and again: a timer, a schedule, a collection of garbage, a \
                write to disk."
            .to_owned(),
        next: "Look at timers (systemctl list-timers, cron, scheduled tasks) with this distance.".to_owned(),
        certainty: found.likeness,
        ..made
    })
}

/// Seconds in words.
fn distance(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Loads beyond which something waits, of all pairs.
pub(super) fn knees(pass: &Pass) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for pair in &PAIRS {
        let waits = pass.courses.iter().filter(|course| course.is(pair.wait.0, pair.wait.1));
        for wait in waits.filter(|course| !course.instance().eq_ignore_ascii_case("_total")) {
            let is_load = |course: &&Course| {
                let instance = if pair.is_each { wait.instance() } else { "_Total".to_owned() };
                course.is(pair.load.0, pair.load.1)
                    && course.host() == wait.host()
                    && course.instance().eq_ignore_ascii_case(&instance)
            };
            let is_said = found
                .iter()
                .any(|finding| finding.instances.first().is_some_and(|evidence| evidence.path == wait.path));
            let Some(load) = pass.courses.iter().find(is_load).filter(|_| !is_said) else { continue };
            found.extend(knee(pass, pair, load, wait));
        }
    }
    found
}

fn knee(pass: &Pass, pair: &Pair, load: &Course, wait: &Course) -> Option<Finding> {
    let is_wait = |headline: &&Headline| wait.is(headline.object, headline.counter);
    let headline = HEADLINES.iter().find(is_wait)?;
    let axis = pass.axis?;
    let buckets = load.track.buckets().iter().zip(wait.track.buckets()).enumerate();
    let points: Vec<(usize, f64, f64)> =
        buckets.filter_map(|(at, (load, wait))| Some((at, load.mean()?, wait.mean()?))).collect();
    let pairs: Vec<(f64, f64)> = points.iter().map(|(_, load, wait)| (*load, *wait)).collect();
    let found = rhythm::knee(&pairs, headline.matters)?;
    let mut ranges: Vec<Range> = Vec::new();
    for (at, _, wait) in points.iter().filter(|(_, load, _)| *load > found.load) {
        let (from, to) = (axis.time(*at), axis.time(at.saturating_add(1)));
        match ranges.last_mut().filter(|range| range.to == from) {
            Some(range) => {
                (range.to, range.worst) = (to, range.worst.max(*wait));
                range.seconds += seconds_between(from, to);
            }
            None => {
                ranges.push(Range { from, to, seconds: seconds_between(from, to), worst: *wait, records: 0 });
            }
        }
    }
    let (unit, factor) = crate::human::Unit::of(pair.load.1, load.counter_type);
    let limit = unit.text(found.load * factor);
    Some(Finding {
        title: format!("{} grows beyond {limit} of {}", name_of(headline, wait), pair.load.1),
        means: format!(
            "Up to this load it hardly changes; from there on every bit more makes it longer: the \
             resource is used up there. The load is that of {}.",
            load.path
        ),
        next: "Keep the load below it, spread it, or get more of the resource.".to_owned(),
        certainty: found.explained,
        ..finding(pass, FindingKind::Knee, (pair.resource, wait), ranges, found.after)
    })
}

/// Hours that are unlike the same hour of other days.
fn hours(pass: &Pass, headline: &Headline, course: &Course) -> Option<Finding> {
    let all: Vec<&HourOfCourse> = course.hours.as_ref()?.iter().collect();
    let means: Vec<(u64, f64)> = all.iter().map(|hour| (hour.hour, hour.mean())).collect();
    let is_bad = |hour: &Hour| match headline.bad {
        Bad::High => hour.value > hour.usual,
        Bad::Low => hour.value < hour.usual,
        Bad::Neither => true,
    };
    let mut found = rhythm::unlike_other_days(&means, HOUR_SHARE);
    found.retain(is_bad);
    if found.len() as f64 > HOURS_SHARE * means.len() as f64 {
        return None;
    }
    let furthest = *found.iter().max_by(|one, other| one.deviations.total_cmp(&other.deviations))?;
    let mut ranges: Vec<Range> = Vec::new();
    for hour in &found {
        let Some(first) = all.iter().find(|all| all.hour == hour.hour).map(|hour| hour.first) else {
            continue;
        };
        // Where the local hour begins.
        let into = add_minutes(first, pass.clock.minutes(first)).0 % HOUR;
        let from = FileTime(first.0.saturating_sub(into));
        let to = FileTime(from.0.saturating_add(HOUR));
        match ranges.last_mut().filter(|range| range.to == from) {
            Some(range) => {
                let is_further = (hour.value - hour.usual).abs() > (range.worst - hour.usual).abs();
                range.worst = if is_further { hour.value } else { range.worst };
                range.to = to;
                range.seconds += 3600.0;
            }
            None => ranges.push(Range { from, to, seconds: 3600.0, worst: hour.value, records: 0 }),
        }
    }
    let way = if furthest.value > furthest.usual { "higher" } else { "lower" };
    let mut made = finding(pass, FindingKind::Hour, (headline.resource, course), ranges, furthest.value);
    if let Some(evidence) = made.instances.first_mut() {
        evidence.usual = Some(furthest.usual);
    }
    Some(Finding {
        title: format!("{} is {way} than in the same hour of other days", name_of(headline, course)),
        means: "At this time of the day it usually is otherwise: something ran that does not run on other \
                days, or did not run."
            .to_owned(),
        next: "Compare what ran in this hour with the same hour of the day before.".to_owned(),
        certainty: (furthest.deviations / (furthest.deviations + 6.0)).clamp(0.0, 1.0),
        ..made
    })
}
