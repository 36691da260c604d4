//! Makes findings of what a pass saw: rules that held, levels that shifted, courses that grow; and ranks
//! them.

use std::collections::{BTreeMap, HashSet};

use super::cause::{causes, is_in};
use super::course::Course;
use super::headline::{Bad, HEADLINES, Headline};
use super::pass::Pass;
use super::rule::{Rule, Severity};
use super::shape::{self, correlation};
use super::track::Axis;
use super::watch::{Range, Watch, seconds_between};
use super::{Analysis, Evidence, Finding, FindingKind, Together, unusual};

/// How far a level must shift, in standard deviations of its noise.
const SHIFT_DEVIATIONS: f64 = 6.0;
/// How far a level must shift, as a share of the larger level.
const SHIFT_SHARE: f64 = 0.3;
/// How steadily a course must go up or down: Kendall's tau.
const TREND_TAU: f64 = 0.8;
/// The same of a course that begins to go one way within the log: there are more places where it could.
const LATE_TAU: f64 = 0.9;
/// How much a trend must change over the log, as a share of the middle value.
const TREND_SHARE: f64 = 0.2;
/// The stretches of time that shapes need at least.
const SHAPE_BUCKETS: usize = 40;
/// Courses that move together have at least this correlation.
const TOGETHER: f64 = 0.8;
/// How many of them are named, and for how many findings they are looked for.
const TOGETHER_NAMED: usize = 3;
/// The stretches of time by which one may follow the other.
const LAGS: usize = 3;
/// At how many lags each course is compared with that of a finding.
pub const LAGS_COMPARED: usize = 2 * LAGS + 1;
/// The points of a course that are compared.
const TOGETHER_POINTS: usize = 128;

pub(super) fn of(pass: Pass) -> Analysis {
    let mut findings = by_rules(&pass);
    findings.extend(by_shape(&pass, &findings));
    findings.sort_by(|one, other| other.hurt.total_cmp(&one.hurt).then_with(|| one.title.cmp(&other.title)));
    let compared = move_together(&pass, &mut findings);
    let before_and_after = pass.before_and_after();
    let applied: HashSet<usize> = pass.watches.iter().map(|watch| watch.rule).collect();
    Analysis {
        findings,
        records: pass.records,
        first: pass.first,
        last: pass.last,
        counters: pass.courses.len().saturating_add(pass.without_course),
        rules_applied: applied.len(),
        rules_without_counters: pass.rules.rules.len().saturating_sub(applied.len()),
        parameters: pass.rules.parameters,
        skipped: pass.rules.skipped,
        compared,
        clock: pass.clock,
        notes: pass.notes,
        not_found: pass.not_found,
        axis: pass.axis,
        before_and_after,
    }
}

fn by_rules(pass: &Pass) -> Vec<Finding> {
    let mut groups: BTreeMap<(usize, &str), Vec<&Watch>> = BTreeMap::new();
    for watch in pass.watches.iter().filter(|watch| watch.has_found()) {
        groups.entry((watch.rule, watch.host.as_str())).or_default().push(watch);
    }
    let of_group = |((rule, host), watches): ((usize, &str), Vec<&Watch>)| {
        finding_of_rule(pass, pass.rules.rules.get(rule)?, host, watches)
    };
    groups.into_iter().filter_map(of_group).collect()
}

fn finding_of_rule(pass: &Pass, rule: &Rule, host: &str, mut watches: Vec<&Watch>) -> Option<Finding> {
    watches.sort_by(|one, other| {
        other.seconds.total_cmp(&one.seconds).then_with(|| one.instance.cmp(&other.instance))
    });
    let first = *watches.first()?;
    let evidence = |watch: &&Watch| {
        let course = pass.courses.get((*watch.columns.get(rule.each)?)?)?;
        Some(Evidence {
            records: watch.records,
            seconds: watch.seconds,
            observed: watch.observed,
            worst: watch.worst?,
            more_ranges: watch.more_ranges,
            ..evidence_of(pass, course, &watch.ranges)
        })
    };
    let instances: Vec<Evidence> = watches.iter().filter_map(evidence).collect();
    // A log of one record, or of records without neighbours, has no lengths of time.
    let share = if first.observed > 0.0 { (first.seconds / first.observed).min(1.0) } else { 1.0 };
    Some(Finding {
        kind: FindingKind::Rule {
            id: rule.id.clone(),
            origin: rule.origin.clone(),
            condition: match rule.per_hour {
                false => rule.when.to_string(),
                true => format!("{} (growth in an hour)", rule.when),
            },
        },
        title: rule.title.clone(),
        severity: rule.severity,
        resource: rule.resource,
        host: host.to_owned(),
        share,
        hurt: hurt(rule.severity, share),
        causes: causes(pass, host, rule.resource, &first.ranges),
        together: Vec::new(),
        compared: 0,
        means: rule.means.clone(),
        next: rule.next.clone(),
        certainty: 1.0,
        instances,
    })
}

/// The median of the values that are there.
fn middle(values: &[Option<f64>]) -> Option<f64> {
    shape::median(&mut values.iter().flatten().copied().collect::<Vec<_>>())
}

/// The course of a counter and its usual value outside some ranges.
pub(super) fn evidence_of(pass: &Pass, course: &Course, ranges: &[Range]) -> Evidence {
    let buckets = pass.axis.map_or(0, |axis| axis.buckets);
    let means: Vec<Option<f64>> = (0..buckets).map(|at| course.track.buckets().get(at)?.mean()).collect();
    let means = means.chunks(pass.stretch()).map(middle).collect();
    let usual = pass.axis.and_then(|axis| course.track.median(|bucket| !is_in(axis, ranges, bucket)));
    Evidence {
        path: course.path.clone(),
        instance: course.instance(),
        counter_type: course.counter_type,
        ranges: ranges.to_vec(),
        more_ranges: 0,
        records: 0,
        seconds: 0.0,
        observed: pass.span(),
        worst: 0.0,
        usual,
        until_limit: None,
        course: means,
    }
}

/// Long matters less than much: a tenth of the time hurts a third as much as all of it.
pub(super) fn hurt(severity: Severity, share: f64) -> f64 {
    let weight = match severity {
        Severity::Note => 1.0,
        Severity::Warning => 3.0,
        Severity::Critical => 9.0,
    };
    weight * share.max(0.0).sqrt()
}

fn by_shape(pass: &Pass, known: &[Finding]) -> Vec<Finding> {
    let Some(axis) = pass.axis.filter(|_| pass.points() >= SHAPE_BUCKETS) else { return Vec::new() };
    // What a rule says already is not said again.
    let said: HashSet<&str> = known
        .iter()
        .flat_map(|finding| finding.instances.iter().map(|instance| instance.path.as_str()))
        .collect();
    let mut findings = Vec::new();
    for headline in &HEADLINES {
        let is_it = |course: &&Course| course.is(headline.object, headline.counter);
        for course in pass.courses.iter().filter(is_it).filter(|course| !said.contains(course.path.as_str()))
        {
            let is_sum = course.instance().eq_ignore_ascii_case("_total");
            let is_processor = ["Processor", "Physical Cpu"].contains(&headline.object);
            if headline.is_process && is_sum || is_processor && !is_sum {
                continue;
            }
            let points: Vec<(usize, f64)> = course.track.means().collect();
            // A course that is there for part of the time only says nothing about the whole.
            if points.len() < SHAPE_BUCKETS
                || points.len().saturating_mul(5) < pass.points().saturating_mul(4)
            {
                continue;
            }
            let trend = if headline.is_level { trend(pass, headline, course, &points) } else { None };
            let found = trend.or_else(|| {
                if headline.is_process { None } else { shift(pass, axis, headline, course, &points) }
            });
            let is_alone = found.is_none();
            findings.extend(found);
            if is_alone {
                findings.extend(unusual::of_course(pass, axis, headline, course, &points));
            }
        }
    }
    findings.extend(unusual::knees(pass));
    findings
}

fn trend(pass: &Pass, headline: &Headline, course: &Course, points: &[(usize, f64)]) -> Option<Finding> {
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    let (begin, found) = match shape::steady_trend(&values, TREND_TAU) {
        Some(found) => (0, found),
        None => shape::late_trend(&values, headline.bad == Bad::High, LATE_TAU)?,
    };
    let grown = values.get(begin..)?;
    let middle = shape::median(&mut grown.to_vec())?;
    let change = found.slope * grown.len() as f64;
    let is_bad = match headline.bad {
        Bad::High => change > 0.0,
        Bad::Low => change < 0.0,
        Bad::Neither => return None,
    };
    if !is_bad || change.abs() < TREND_SHARE * middle.abs() || is_step(grown, change) {
        return None;
    }
    let last = found.intercept + change;
    let width = pass.span() / values.len().max(1) as f64;
    let until_limit = headline.limit.map(|limit| ((limit - last) / found.slope * width).max(0.0));
    let from = if begin == 0 { pass.first? } else { pass.axis?.time(points.get(begin)?.0) };
    let seconds = seconds_between(from, pass.last?);
    let range = Range { from, to: pass.last?, seconds, worst: last, records: 0 };
    let share = if pass.span() > 0.0 { seconds / pass.span() } else { 1.0 };
    let name = name_of(headline, course);
    let way = if change > 0.0 { "grows" } else { "falls" };
    let title = match begin {
        0 => format!("{name} {way} all the time"),
        _ => format!("{name} {way} from some time on, up to the end"),
    };
    let is_soon = until_limit.is_some_and(|left| left < 2.0 * seconds);
    let severity = if is_soon || headline.is_process { Severity::Warning } else { Severity::Note };
    let evidence = Evidence {
        seconds,
        worst: last,
        usual: Some(found.intercept),
        until_limit,
        ..evidence_of(pass, course, &[range])
    };
    Some(Finding {
        kind: FindingKind::Trend,
        title,
        severity,
        resource: headline.resource,
        host: course.host().to_owned(),
        share,
        hurt: hurt(severity, 0.5 * share),
        instances: vec![evidence],
        causes: if headline.is_process { Vec::new() } else { causes(pass, course.host(), headline.resource, &[range]) },
        together: Vec::new(),
        compared: 0,
        means: "A level that only goes one way is used up in the end: a leak, a queue that nobody empties, or data \
                that collects."
            .to_owned(),
        next: "Look at a longer log: does it go on like this, or does it level off after a start?".to_owned(),
        certainty: found.tau.abs(),
    })
}

/// A headline counter with its instance.
pub(super) fn name_of(headline: &Headline, course: &Course) -> String {
    let instance = course.instance();
    if instance.is_empty() {
        headline.counter.to_owned()
    } else {
        format!("{} of {instance}", headline.counter)
    }
}

/// Whether nearly all of the change happens at one place: that is a shift, not a trend.
fn is_step(values: &[f64], change: f64) -> bool {
    let largest = values
        .windows(2)
        .filter_map(|pair| Some((pair.get(1)? - pair.first()?).abs()))
        .fold(0.0_f64, f64::max);
    largest > 0.5 * change.abs()
}

fn shift(
    pass: &Pass,
    axis: Axis,
    headline: &Headline,
    course: &Course,
    points: &[(usize, f64)],
) -> Option<Finding> {
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    let usual = shape::median(&mut values.clone())?;
    let least_noise = if headline.is_count { usual.max(0.0).sqrt() } else { 0.0 };
    let found = shape::shift_beyond(&values, SHIFT_DEVIATIONS, least_noise)?;
    let change = found.after - found.before;
    if change.abs() < SHIFT_SHARE * found.before.abs().max(found.after.abs()) {
        return None;
    }
    let (at, _) = *points.get(found.at)?;
    let is_bad = match headline.bad {
        Bad::High => change > 0.0,
        Bad::Low => change < 0.0,
        Bad::Neither => false,
    };
    // The time of the new level if that is worse, else the time before it.
    let (from, to) = if is_bad || headline.bad == Bad::Neither {
        (axis.time(at), pass.last?)
    } else {
        (pass.first?, axis.time(at))
    };
    let worst = if is_bad || headline.bad == Bad::Neither { found.after } else { found.before };
    let range = Range { from, to, seconds: seconds_between(from, to), worst, records: 0 };
    let share = if pass.span() > 0.0 { range.seconds / pass.span() } else { 0.0 };
    let way = if change > 0.0 { "rises" } else { "falls" };
    let name = name_of(headline, course);
    let evidence = Evidence { seconds: range.seconds, worst, ..evidence_of(pass, course, &[range]) };
    Some(Finding {
        kind: FindingKind::Shift,
        title: format!("{name} {way} and stays there"),
        severity: Severity::Note,
        resource: headline.resource,
        host: course.host().to_owned(),
        share,
        hurt: hurt(Severity::Note, share) * 0.8,
        instances: vec![evidence],
        causes: causes(pass, course.host(), headline.resource, &[range]),
        together: Vec::new(),
        compared: 0,
        means: "Something else runs since then, or it runs in another way.".to_owned(),
        next: "Compare what runs before and after: deployments, jobs, settings.".to_owned(),
        certainty: (found.deviations / (found.deviations + SHIFT_DEVIATIONS)).clamp(0.0, 1.0),
    })
}

/// Compares the courses of findings with those of the headline counters. Returns how many were compared.
fn move_together(pass: &Pass, findings: &mut [Finding]) -> usize {
    let Some(axis) = pass.axis.filter(|_| pass.points() >= SHAPE_BUCKETS) else { return 0 };
    let step = pass.points().div_ceil(TOGETHER_POINTS).max(1);
    let thin = |course: &[Option<f64>]| -> Vec<Option<f64>> { course.chunks(step).map(middle).collect() };
    let candidates: Vec<(&Course, Vec<Option<f64>>)> = pass
        .courses
        .iter()
        .filter(|course| {
            HEADLINES
                .iter()
                .any(|headline| !headline.is_process && course.is(headline.object, headline.counter))
        })
        .map(|course| (course, thin(&evidence_of(pass, course, &[]).course)))
        .collect();
    let mut compared = 0_usize;
    let width = seconds_between(axis.time(0), axis.time(step.saturating_mul(pass.stretch())));
    for finding in findings.iter_mut().filter(|finding| finding.severity > Severity::Note).take(10) {
        let Some(first) = finding.instances.first() else { continue };
        let course = thin(&first.course);
        let Some(object) = pass.object_of(&first.path) else { continue };
        for (candidate, values) in &candidates {
            // Counters of the same object move together by their nature, and so do those of the disks.
            let is_other = candidate.object().is_some_and(|other| {
                let is_disk = |object: &str| object.ends_with("disk") || object == "block device";
                other != object && !(is_disk(&other) && is_disk(&object))
            });
            if !is_other || candidate.host() != finding.host {
                continue;
            }
            finding.compared = finding.compared.saturating_add(1);
            if let Some((strength, lag)) = correlation(&course, values, LAGS)
                && strength.abs() >= TOGETHER
            {
                let lag = lag as f64 * width;
                finding.together.push(Together { path: candidate.path.clone(), correlation: strength, lag });
            }
        }
        finding.together.sort_by(|one, other| other.correlation.abs().total_cmp(&one.correlation.abs()));
        finding.together.truncate(TOGETHER_NAMED);
        compared = compared.saturating_add(finding.compared);
    }
    compared
}
