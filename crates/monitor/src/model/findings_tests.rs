//! Tests: where findings are on the time axis, and copies of histories.

use tallymon::analyze::{Evidence, Finding, FindingKind, Range, Resource, RuleSet, Severity};
use tallymon::core::counter::CounterType;
use tallymon::core::time::FileTime;

use super::findings::{Copied, Findings, longest};
use super::monitor::Monitor;

const SECOND: u64 = 10_000_000;

/// A finding in some ranges of seconds.
fn finding(title: &str, severity: Severity, hurt: f64, ranges: &[(u64, u64)]) -> Finding {
    let range = |(from, to): &(u64, u64)| Range {
        from: FileTime(from * SECOND),
        to: FileTime(to * SECOND),
        seconds: (to - from) as f64,
        worst: 1.0,
        records: 1,
    };
    let evidence = Evidence {
        path: r"\Memory\Available MBytes".to_owned(),
        instance: String::new(),
        counter_type: CounterType::PERF_DOUBLE_RAW,
        ranges: ranges.iter().map(range).collect(),
        more_ranges: 0,
        records: 1,
        seconds: 1.0,
        observed: 1.0,
        worst: 1.0,
        usual: None,
        until_limit: None,
        course: vec![Some(1.0); 512],
    };
    Finding {
        kind: FindingKind::Shift,
        title: title.to_owned(),
        severity,
        resource: Resource::Memory,
        host: String::new(),
        share: 0.5,
        hurt,
        instances: vec![evidence],
        causes: Vec::new(),
        together: Vec::new(),
        compared: 0,
        means: String::new(),
        next: String::new(),
        certainty: 1.0,
    }
}

fn analysis(findings: Vec<Finding>) -> tallymon::analyze::Analysis {
    let empty = Copied::of(&Monitor::default(), 1 << 20, 0);
    let made = empty.analysis(RuleSet::built_in().unwrap(), &|| true).unwrap();
    tallymon::analyze::Analysis { findings, ..made }
}

#[test]
fn the_worst_of_a_time_is_what_is_marked() {
    let first = vec![
        finding("note", Severity::Note, 1.0, &[(0, 100)]),
        finding("critical", Severity::Critical, 9.0, &[(20, 30), (50, 50)]),
        finding("warning", Severity::Warning, 3.0, &[(25, 40), (90, 120), (35, 38)]),
    ];
    // The second analysis knows one of them already.
    let second = vec![finding("note", Severity::Note, 1.0, &[(0, 100)])];
    let found = Findings::of([analysis(first), analysis(second)]);
    let titles: Vec<&str> = found.list().iter().map(|found| found.title.as_str()).collect();
    assert_eq!(titles, ["critical", "warning", "note"], "those that hurt most come first");
    assert_eq!(found.worst(), Some(Severity::Critical));
    let (note, warning, critical) = (Some(Severity::Note), Some(Severity::Warning), Some(Severity::Critical));
    for ((from, to), expected) in [
        ((0, 5), note),
        ((0, 19), note),
        ((0, 20), critical),
        ((30, 30), critical),
        ((31, 33), warning),
        ((38, 41), warning),
        ((41, 49), note),
        ((41, 51), critical),
        ((50, 50), critical),
        ((100, 101), warning),
        ((110, 300), warning),
        ((121, 300), None),
    ] {
        let worst = found.worst_between(FileTime(from * SECOND), FileTime(to * SECOND));
        assert_eq!(worst, expected, "{from} to {to}");
    }
    let at = |second| found.at(FileTime(second * SECOND), FileTime(second * SECOND));
    assert_eq!([at(10), at(27), at(95), at(120), at(500)], [Some(2), Some(0), Some(1), Some(1), None]);
    assert_eq!(longest(&found.list()[1]).map(|range| range.from), Some(FileTime(90 * SECOND)));
    // The values of the courses are in the chart, and not kept twice.
    assert!(found.list().iter().all(|found| found.instances[0].course.is_empty()));
}

#[test]
fn of_many_findings_the_worst_are_kept() {
    let many = (0..100).map(|nth| finding(&format!("{nth}"), Severity::Note, f64::from(nth), &[(0, 1)]));
    let found = Findings::of([analysis(many.collect())]);
    assert_eq!((found.list().len(), found.more), (30, 70));
    assert_eq!(found.list()[0].title, "99");
    let none = Findings::of([]);
    assert_eq!((none.worst(), none.at(FileTime(0), FileTime(u64::MAX))), (None, None));
}
