//! Who caused it: the instances that used most of a resource while a finding held.

use super::course::Course;
use super::pass::Pass;
use super::rule::Resource;
use super::track::Axis;
use super::watch::Range;

/// How many are named.
const NAMED: usize = 5;

/// An instance that was busy.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// The full path of the counter.
    pub path: String,
    /// The instance.
    pub instance: String,
    /// Its type, which says the unit.
    pub counter_type: tallymon_core::counter::CounterType,
    /// Its mean in the ranges of the finding.
    pub during: f64,
    /// Its mean at all other times; `None` if there are none.
    pub otherwise: Option<f64>,
    /// Its share of all instances in the ranges, 0 to 1.
    pub share: f64,
}

/// Counters by which instances use a resource; the first one that a log has is taken.
const USED_BY: [(Resource, &[(&str, &str)]); 5] = [
    (
        Resource::Processor,
        &[
            ("Process", "% Processor Time"),
            ("Control Group", "% Processor Time"),
            ("Job Object", "Current % Processor Time"),
            ("Group Cpu", "% Used"),
        ],
    ),
    (
        Resource::Memory,
        &[
            ("Process", "Private Bytes"),
            ("Process", "Page File Bytes"),
            ("Process", "Working Set"),
            ("Control Group", "Memory Bytes"),
            ("Group Memory", "Memory Consumed Size MBytes"),
        ],
    ),
    (
        Resource::Disk,
        &[
            ("Process", "IO Data Bytes/sec"),
            ("Process", "IO Data Operations/sec"),
            ("PhysicalDisk", "Disk Bytes/sec"),
            ("Virtual Disk", "Commands/sec"),
        ],
    ),
    (
        Resource::Network,
        &[("Network Interface", "Bytes Total/sec"), ("Network Port", "Packets Received/sec")],
    ),
    (Resource::Handles, &[("Process", "Handle Count"), ("Process", "Thread Count")]),
];

/// All of these counters.
pub(super) fn counters() -> impl Iterator<Item = (&'static str, &'static str)> {
    USED_BY.iter().flat_map(|(_, counters)| counters.iter().copied())
}

/// Instances that are sums, or stand for nothing that runs.
fn is_somebody(course: &Course) -> bool {
    let instance = course.instance();
    // esxtop has each virtual machine as a sum of its virtual disks, and the idle ones as `1:idle`.
    let is_part = course.is("Virtual Disk", "Commands/sec") && instance.contains(':');
    !["_total", "idle"].iter().any(|name| instance.eq_ignore_ascii_case(name))
        && !instance.ends_with("_Total")
        && !instance.ends_with(":idle")
        && !is_part
}

/// Whether a bucket is in one of some ranges.
pub(super) fn is_in(axis: Axis, ranges: &[Range], bucket: usize) -> bool {
    ranges.iter().any(|range| (axis.bucket(range.from)..=axis.bucket(range.to)).contains(&bucket))
}

/// The busiest instances of a host in some ranges: those that used most more than at other times come first.
pub(super) fn causes(pass: &Pass, host: &str, resource: Resource, ranges: &[Range]) -> Vec<Cause> {
    let (Some(axis), Some((_, counters))) = (pass.axis, USED_BY.iter().find(|(of, _)| *of == resource))
    else {
        return Vec::new();
    };
    let of = |object: &str, counter: &str| -> Vec<&Course> {
        let courses =
            pass.courses.iter().filter(|course| course.is(object, counter) && course.host() == host);
        courses.filter(|course| is_somebody(course)).collect()
    };
    let found =
        counters.iter().map(|(object, counter)| of(object, counter)).find(|courses| !courses.is_empty());
    let mut causes: Vec<Cause> = found
        .unwrap_or_default()
        .into_iter()
        .filter_map(|course| {
            let during = course.track.mean(|bucket| is_in(axis, ranges, bucket))?;
            Some(Cause {
                path: course.path.clone(),
                instance: course.instance(),
                counter_type: course.counter_type,
                during,
                otherwise: course.track.mean(|bucket| !is_in(axis, ranges, bucket)),
                share: 0.0,
            })
        })
        .filter(|cause| cause.during > 0.0)
        .collect();
    let all: f64 = causes.iter().map(|cause| cause.during).sum();
    for cause in &mut causes {
        cause.share = if all > 0.0 { cause.during / all } else { 0.0 };
    }
    // Who uses much all the time matters, and who uses more than at other times matters more.
    let weight = |cause: &Cause| cause.during + (cause.during - cause.otherwise.unwrap_or(0.0)).max(0.0);
    causes.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    causes.retain(|cause| cause.share >= 0.02);
    causes.truncate(NAMED);
    causes
}
