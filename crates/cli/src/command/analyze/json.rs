//! Findings as JSON.

use serde_json::{Value, json};
use tallymon::analyze::{Analysis, Cause, Evidence, Finding, FindingKind, LAGS_COMPARED, Moment, Range};
use tallymon::clock::rfc3339;

pub(super) fn analysis(found: &Analysis) -> Value {
    json!({
        "first": found.first.map(rfc3339),
        "last": found.last.map(rfc3339),
        "records": found.records,
        "counters": found.counters,
        "rules_applied": found.rules_applied,
        "rules_without_counters": found.rules_without_counters,
        "courses_compared": found.compared,
        "parameters": found.parameters.iter().map(|(name, value)| (name.clone(), json!(value)))
            .collect::<serde_json::Map<_, _>>(),
        "findings": found.findings.iter().map(finding).collect::<Vec<_>>(),
        "skipped": found.skipped.iter().map(|skipped| json!({
            "file": skipped.origin,
            "rule": skipped.rule,
            "reason": skipped.reason,
        })).collect::<Vec<_>>(),
    })
}

pub(super) fn finding(found: &Finding) -> Value {
    let mut value = json!({
        "kind": match &found.kind {
            FindingKind::Rule { .. } => "rule",
            FindingKind::Shift => "shift",
            FindingKind::Trend => "trend",
            FindingKind::Spike => "spike",
            FindingKind::Period => "period",
            FindingKind::Knee => "knee",
            FindingKind::Hour => "hour",
        },
        "title": found.title,
        "severity": found.severity.name(),
        "resource": found.resource.name(),
        "host": found.host,
        "share_of_time": found.share,
        "hurt": found.hurt,
        "certainty": found.certainty,
        "instances": found.instances.iter().map(evidence).collect::<Vec<_>>(),
        "causes": found.causes.iter().map(cause).collect::<Vec<_>>(),
        "moves_with": found.together.iter().map(|other| json!({
            "path": other.path,
            "correlation": other.correlation,
            "lag_seconds": other.lag,
        })).collect::<Vec<_>>(),
        "courses_compared": found.compared,
        "lags_compared": LAGS_COMPARED,
        "means": found.means,
        "next": found.next,
    });
    if let (FindingKind::Rule { id, origin, condition }, Some(object)) = (&found.kind, value.as_object_mut())
    {
        object.insert("rule".to_owned(), json!({ "id": id, "file": origin, "condition": condition }));
    }
    value
}

fn evidence(evidence: &Evidence) -> Value {
    json!({
        "path": evidence.path,
        "instance": evidence.instance,
        "type": evidence.counter_type.to_string(),
        "unit": evidence.counter_type.suffix().as_str(),
        "worst": evidence.worst,
        "usual": evidence.usual,
        "seconds": evidence.seconds,
        "observed_seconds": evidence.observed,
        "records": evidence.records,
        "seconds_until_limit": evidence.until_limit,
        "ranges": evidence.ranges.iter().map(range).collect::<Vec<_>>(),
        "more_ranges": evidence.more_ranges,
        // The mean of each stretch of time; null where there is no value.
        "course": evidence.course,
    })
}

fn range(range: &Range) -> Value {
    json!({
        "from": rfc3339(range.from),
        "to": rfc3339(range.to),
        "seconds": range.seconds,
        "worst": range.worst,
        "records": range.records,
    })
}

fn cause(cause: &Cause) -> Value {
    json!({
        "path": cause.path,
        "instance": cause.instance,
        "during": cause.during,
        "otherwise": cause.otherwise,
        "share": cause.share,
        "unit": cause.counter_type.suffix().as_str(),
    })
}

pub(super) fn moment(found: &Moment) -> Value {
    json!({
        "from": rfc3339(found.from),
        "to": rfc3339(found.to),
        "counters_looked_at": found.looked_at,
        "unusual": found.deviations.iter().map(|deviation| json!({
            "path": deviation.path,
            "value": deviation.value,
            "usual": deviation.usual,
            "deviations": deviation.deviations,
            "unit": deviation.counter_type.suffix().as_str(),
        })).collect::<Vec<_>>(),
        "busiest": found.busiest.iter().map(|(resource, causes)| json!({
            "resource": resource.name(),
            "instances": causes.iter().map(cause).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}
