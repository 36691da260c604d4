//! Before and after: which headline counters changed beyond their own noise, and which findings are new.
//!
//! Each course is cut into ten parts, and each part has a median. A counter changed if all parts of one log
//! lie above all parts of the other, if the levels are three standard deviations of the parts apart, and a
//! tenth of the larger level. Of two equal machines whose parts are independent, the first condition alone
//! holds once in 92,378 counters.

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};
use std::path::PathBuf;

use tallymon_core::counter::CounterType;
use tallymon_core::path::CounterPath;
use tallymon_log::{LogError, ReadOptions, Selection};

use super::course::Course;
use super::findings;
use super::headline::{Bad, HEADLINES};
use super::pass::Pass;
use super::rule::{RuleSet, Severity};
use super::shape::median;
use super::{Analysis, Finding, FindingKind};

/// The parts of each log.
const PARTS: usize = 10;
/// How far the levels are apart, in standard deviations of the parts.
const DEVIATIONS: f64 = 3.0;
/// How far the levels are apart, as a share of the larger one.
const SHARE: f64 = 0.1;

/// What differs between two logs.
#[derive(Debug, Clone, PartialEq)]
pub struct Against {
    /// What was found in the log before.
    pub before: Analysis,
    /// What was found in the log after.
    pub after: Analysis,
    /// Counters whose level changed, those that became worse first.
    pub changes: Vec<Change>,
    /// How many counters were compared.
    pub compared: usize,
    /// Headline counters in both logs that have too few records to say anything.
    pub too_short: usize,
}

/// What a change means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It became worse.
    Worse,
    /// Neither way is worse by itself.
    Different,
    /// It became better.
    Better,
}

/// A counter whose level changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its path; without the host if each log has one host.
    pub path: String,
    /// Its type, which says the unit.
    pub counter_type: CounterType,
    /// What the change means.
    pub effect: Effect,
    /// The level before: the median of the parts.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// The distance of the levels in standard deviations of the parts; infinite if the parts are all equal.
    pub deviations: f64,
}

impl Effect {
    /// The effect in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Effect::Worse => "worse",
            Effect::Different => "different",
            Effect::Better => "better",
        }
    }

    /// How much it matters; `None` if it is good.
    pub const fn severity(self) -> Option<Severity> {
        match self {
            Effect::Worse => Some(Severity::Warning),
            Effect::Different => Some(Severity::Note),
            Effect::Better => None,
        }
    }
}

impl Change {
    /// The difference of the levels as a share of the larger one, from -1 to 1.
    pub fn share(&self) -> f64 {
        share(self.before, self.after)
    }
}

impl Against {
    /// The findings of the log after that the log before does not have.
    pub fn new_findings(&self) -> Vec<&Finding> {
        without(&self.after.findings, &self.before.findings)
    }

    /// The findings of the log before that the log after does not have any longer.
    pub fn gone_findings(&self) -> Vec<&Finding> {
        without(&self.before.findings, &self.after.findings)
    }

    /// The severity of what became worse; `None` if nothing did.
    pub fn worst(&self) -> Option<Severity> {
        let findings = self.new_findings().into_iter().map(|finding| finding.severity);
        findings.chain(self.changes.iter().filter_map(|change| change.effect.severity())).max()
    }
}

/// Compares the log after a change with the log before it.
///
/// # Errors
///
/// A log cannot be read.
pub fn against(
    before: &[PathBuf],
    after: &[PathBuf],
    rules: &RuleSet,
    selection: &Selection,
    options: &ReadOptions,
) -> Result<Against, LogError> {
    let before = Pass::read(before, rules.clone(), selection, options, &|| true)?;
    let after = Pass::read(after, rules.clone(), selection, options, &|| true)?;
    let hosts_matter = !(has_one_host(&before) && has_one_host(&after));
    let mut first = courses(&before, hosts_matter);
    let (mut changes, mut compared, mut too_short) = (Vec::new(), 0usize, 0usize);
    for (key, (path, course, bad)) in courses(&after, hosts_matter) {
        let Some((_, earlier, _)) = first.remove(&key) else { continue };
        let values = |course: &Course| course.track.means().map(|(_, mean)| mean).collect::<Vec<f64>>();
        let Some((old, new)) = parts(&values(earlier)).zip(parts(&values(course))) else {
            too_short = too_short.saturating_add(1);
            continue;
        };
        compared = compared.saturating_add(1);
        let counter_type = course.counter_type;
        changes.extend(change(old, new).map(|(before, after, deviations)| {
            let effect = match (bad, after > before) {
                (Bad::Neither, _) => Effect::Different,
                (Bad::High, true) | (Bad::Low, false) => Effect::Worse,
                (Bad::High, false) | (Bad::Low, true) => Effect::Better,
            };
            Change { path, counter_type, effect, before, after, deviations }
        }));
    }
    changes.sort_by(|one, other| {
        let far = other.share().abs().total_cmp(&one.share().abs());
        one.effect.cmp(&other.effect).then(far).then_with(|| one.path.cmp(&other.path))
    });
    Ok(Against { changes, compared, too_short, before: findings::of(before), after: findings::of(after) })
}

/// The findings that others do not have: another rule; or, without a rule, another kind, counter, instance
/// or way of it. Titles also say when it began, how often it was, or beyond which limit.
fn without<'f>(findings: &'f [Finding], others: &[Finding]) -> Vec<&'f Finding> {
    let known: Vec<Identity<'_>> = others.iter().map(Identity::of).collect();
    findings.iter().filter(|finding| !known.contains(&Identity::of(finding))).collect()
}

/// What a finding of one log has in common with the same one of another log.
#[derive(PartialEq)]
enum Identity<'f> {
    Rule { id: &'f str, origin: &'f str },
    Shape { kind: Discriminant<FindingKind>, counter: String, falls: bool },
}

impl Identity<'_> {
    fn of(finding: &Finding) -> Identity<'_> {
        if let FindingKind::Rule { id, origin, .. } = &finding.kind {
            return Identity::Rule { id, origin };
        }
        let path = finding.instances.first().map(|evidence| evidence.path.as_str()).unwrap_or_default();
        let counter = match CounterPath::parse(path) {
            Ok(parsed) => CounterPath { machine: None, ..parsed.path }.to_string(),
            Err(_) => path.to_owned(),
        };
        let falls = [" falls ", " is lower "].iter().any(|way| finding.title.contains(way));
        Identity::Shape { kind: discriminant(&finding.kind), counter: counter.to_lowercase(), falls }
    }
}

fn has_one_host(pass: &Pass) -> bool {
    let mut hosts = pass.courses.iter().map(Course::host);
    let first = hosts.next();
    hosts.all(|host| first.is_some_and(|first| first.eq_ignore_ascii_case(host)))
}

/// The headline counters of a pass by what identifies them in both logs: their paths in lower case. Each has
/// its path, and which way of it is bad.
fn courses(pass: &Pass, hosts_matter: bool) -> BTreeMap<String, (String, &Course, Bad)> {
    let mut found = BTreeMap::new();
    for course in &pass.courses {
        let headline = HEADLINES.iter().find(|headline| course.is(headline.object, headline.counter));
        let Some(headline) = headline else { continue };
        let path = match &course.parts {
            Some(parts) if !hosts_matter => CounterPath { machine: None, ..parts.clone() }.to_string(),
            _ => course.path.clone(),
        };
        found.entry(path.to_lowercase()).or_insert((path, course, headline.bad));
    }
    found
}

/// The median of each part of a course; `None` if it has too few values.
fn parts(values: &[f64]) -> Option<Vec<f64>> {
    if values.len() < PARTS {
        return None;
    }
    let end = |part: usize| values.len().saturating_mul(part) / PARTS;
    (0..PARTS).map(|part| median(&mut values.get(end(part)..end(part.saturating_add(1)))?.to_vec())).collect()
}

/// The levels and their distance, if they differ beyond the noise of the parts.
fn change(mut old: Vec<f64>, mut new: Vec<f64>) -> Option<(f64, f64, f64)> {
    let spread = ((variance(&old) + variance(&new)) / 2.0).sqrt();
    let (before, after) = (median(&mut old)?, median(&mut new)?);
    // They are sorted now.
    let is_apart = old.last()? < new.first()? || new.last()? < old.first()?;
    let distance = (after - before).abs();
    let deviations = if spread > 0.0 { distance / spread } else { f64::INFINITY };
    let is_change = is_apart && deviations >= DEVIATIONS && share(before, after).abs() >= SHARE;
    is_change.then_some((before, after, deviations))
}

fn share(before: f64, after: f64) -> f64 {
    let largest = before.abs().max(after.abs());
    if largest == 0.0 { 0.0 } else { ((after - before) / largest).clamp(-1.0, 1.0) }
}

fn variance(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise whose neighbours depend on each other, around a level: always the same for a seed.
    fn noise(seed: u64, count: usize, level: f64, dependence: f64) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut last = 0.0;
        let mut next = || {
            // The sum of twelve even numbers is nearly normal.
            let sum: f64 = (0..12)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    (state >> 11) as f64 / (1u64 << 53) as f64
                })
                .sum();
            last = dependence * last + (1.0 - dependence * dependence).sqrt() * (sum - 6.0);
            level + last
        };
        (0..count).map(|_| next()).collect()
    }

    fn found(old: &[f64], new: &[f64]) -> Option<(f64, f64, f64)> {
        change(parts(old)?, parts(new)?)
    }

    #[test]
    fn equal_courses_have_no_change() {
        for dependence in [0.0, 0.5, 0.9] {
            for seed in 1..400 {
                let (old, new) =
                    (noise(seed, 120, 20.0, dependence), noise(seed + 5000, 300, 20.0, dependence));
                assert_eq!(found(&old, &new), None, "{dependence} {seed}");
            }
        }
        assert_eq!(found(&[5.0; 40], &[5.0; 40]), None);
    }

    #[test]
    fn levels_beyond_the_noise_are_found() {
        for seed in 1..100 {
            let (old, new) = (noise(seed, 120, 20.0, 0.5), noise(seed + 5000, 120, 25.0, 0.5));
            let (before, after, deviations) = found(&old, &new).unwrap();
            assert!((19.0..21.0).contains(&before) && (24.0..26.0).contains(&after) && deviations >= 3.0);
        }
        // A constant that changed; one that changed by less than a tenth; too few records.
        assert_eq!(found(&[5.0; 40], &[6.0; 40]), Some((5.0, 6.0, f64::INFINITY)));
        assert_eq!(found(&[100.0; 40], &[105.0; 40]), None);
        assert_eq!(found(&[5.0; 9], &[6.0; 40]), None);
    }
}
