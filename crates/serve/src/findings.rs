//! Findings of `tally analyze`: of a log, and of the history of the live machine. They are marks on the time
//! axis, and say what, when, who, and what to look at next.

use std::path::PathBuf;

use hyper::StatusCode;
use serde_json::{Value, json};
use tallymon::analyze::{Analysis, Finding, Range, RuleSet, analyze};
use tallymon::core::title::Language;
use tallymon::core::visible::visible;
use tallymon::log::{ReadOptions, Selection};
use tallymon::translation::of_findings;

use crate::http::Refused;
use crate::parameters::milliseconds;

/// The most findings of a report or an answer.
pub(crate) const MOST_FINDINGS: usize = 30;
/// The most ranges and instances of a finding.
const MOST_DETAILS: usize = 5;

/// What the built-in rules and the shapes of courses find in a log.
pub(crate) fn analysis(log: PathBuf, options: &ReadOptions) -> Result<Analysis, Refused> {
    let rules = RuleSet::built_in();
    let rules = rules.map_err(|error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error))?;
    analyze(&[log], rules, &Selection::default(), options).map_err(Refused::bad_request)
}

/// The findings about a host, of one or more analyses; those that hurt most come first.
pub(crate) fn answer(analyses: &[Analysis], host: Option<&str>, language: Language) -> Value {
    let is_of_host =
        |one: &&Finding| host.is_none_or(|host| one.host.is_empty() || one.host.eq_ignore_ascii_case(host));
    let mut all: Vec<&Finding> = Vec::new();
    for one in analyses.iter().flat_map(|analysis| &analysis.findings).filter(is_of_host) {
        // Both analyses of a live machine may have the same counter.
        if !all.iter().any(|known| known.title == one.title && known.host == one.host) {
            all.push(one);
        }
    }
    all.sort_by(|one, other| other.hurt.total_cmp(&one.hurt));
    let shown: Vec<Value> =
        all.iter().take(MOST_FINDINGS).map(|one| finding(one, one.severity.name(), language)).collect();
    json!({ "findings": shown, "more": all.len().saturating_sub(MOST_FINDINGS) })
}

/// A finding in a language; `mark` is its severity, or what became of it since another log.
pub(crate) fn finding(found: &Finding, mark: &str, language: Language) -> Value {
    let translation = of_findings(language);
    let words = |text: &str| {
        let text = visible(text);
        translation.map_or_else(|| text.clone().into_owned(), |known| known.message(&text))
    };
    let instances = found.instances.iter().take(MOST_DETAILS).map(|one| {
        let range = |range: &Range| {
            json!({ "from": milliseconds(range.from), "to": milliseconds(range.to), "worst": range.worst })
        };
        let more = one.ranges.len().saturating_sub(MOST_DETAILS) as u64;
        // The times of what is gone are not on the axis of the report.
        let shown = if mark == "gone" { 0 } else { MOST_DETAILS };
        json!({
            "path": visible(&one.path), "worst": one.worst, "usual": one.usual,
            "unit": one.counter_type.suffix().as_str(),
            "ranges": one.ranges.iter().take(shown).map(range).collect::<Vec<_>>(),
            "more": if shown == 0 { 0 } else { more.saturating_add(one.more_ranges) },
        })
    });
    let causes = found.causes.iter().take(MOST_DETAILS).map(|one| {
        let unit = one.counter_type.suffix().as_str();
        json!({ "name": visible(&one.instance), "during": one.during, "unit": unit })
    });
    json!({
        "title": words(&found.title), "severity": mark, "share": found.share,
        "host": visible(&found.host), "means": words(&found.means), "next": words(&found.next),
        "instances": instances.collect::<Vec<_>>(), "causes": causes.collect::<Vec<_>>(),
    })
}
