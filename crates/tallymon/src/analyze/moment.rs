//! One moment in words: which counters were unlike the rest of the log, and who was busiest.

use tallymon_core::counter::CounterType;
use tallymon_core::time::FileTime;

use super::cause::{Cause, causes};
use super::course::Course;
use super::headline::HEADLINES;
use super::pass::Pass;
use super::rule::Resource;
use super::shape::median;
use super::watch::Range;

/// How far from the usual a value must be, in standard deviations, to be named.
const DEVIATIONS: f64 = 3.0;
/// How many counters are named.
const NAMED: usize = 12;

/// One moment of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// The stretch of time that was looked at.
    pub from: FileTime,
    /// Its end.
    pub to: FileTime,
    /// The counters that were unlike the rest of the log, the most unusual ones first.
    pub deviations: Vec<Deviation>,
    /// The counters that were looked at.
    pub looked_at: usize,
    /// Who was busiest, by resource.
    pub busiest: Vec<(Resource, Vec<Cause>)>,
}

/// A counter that was unlike the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviation {
    /// The full path of the counter.
    pub path: String,
    /// Its type, which says the unit.
    pub counter_type: CounterType,
    /// Its mean at that time.
    pub value: f64,
    /// The median over the whole log.
    pub usual: f64,
    /// The distance in standard deviations (from the median absolute deviation).
    pub deviations: f64,
}

/// What is to say about a time; `None` if the logs have no values then.
pub(super) fn of(pass: Pass, time: FileTime) -> Option<Moment> {
    let axis = pass.axis?;
    let (first, last) = (pass.first?, pass.last?);
    if time < first || time > last {
        return None;
    }
    let bucket = axis.bucket(time);
    let mut hosts: Vec<String> = Vec::new();
    let (mut deviations, mut looked_at) = (Vec::new(), 0_usize);
    for course in &pass.courses {
        if !hosts.iter().any(|host| host == course.host()) {
            hosts.push(course.host().to_owned());
        }
        let is_headline = |of: &super::headline::Headline| !of.is_process && course.is(of.object, of.counter);
        if HEADLINES.iter().any(is_headline) {
            looked_at = looked_at.saturating_add(1);
            deviations.extend(deviation(course, bucket));
        }
    }
    deviations.retain(|deviation| deviation.deviations.abs() >= DEVIATIONS);
    deviations.sort_by(|one: &Deviation, other| other.deviations.abs().total_cmp(&one.deviations.abs()));
    deviations.truncate(NAMED);
    let (from, to) = (axis.time(bucket), axis.time(bucket.saturating_add(1)));
    let range = Range { from, to: axis.time(bucket), seconds: 0.0, worst: 0.0, records: 0 };
    let mut busiest = Vec::new();
    for resource in [Resource::Processor, Resource::Memory, Resource::Disk] {
        let of_hosts = hosts.iter().flat_map(|host| causes(&pass, host, resource, &[range]));
        busiest.push((resource, of_hosts.collect::<Vec<_>>()));
    }
    busiest.retain(|(_, causes)| !causes.is_empty());
    Some(Moment { from, to, deviations, looked_at, busiest })
}

fn deviation(course: &Course, bucket: usize) -> Option<Deviation> {
    let value = course.track.buckets().get(bucket)?.mean()?;
    let mut means: Vec<f64> = course.track.means().map(|(_, mean)| mean).collect();
    let usual = median(&mut means)?;
    let mut distances: Vec<f64> = means.iter().map(|mean| (mean - usual).abs()).collect();
    // A course that hardly moves: a hundredth of its size counts as one deviation.
    let spread = (1.4826 * median(&mut distances)?).max(usual.abs() / 100.0);
    if spread <= 0.0 && value == usual {
        return None;
    }
    let deviations = if spread > 0.0 { (value - usual) / spread } else { f64::INFINITY };
    Some(Deviation { path: course.path.clone(), counter_type: course.counter_type, value, usual, deviations })
}
