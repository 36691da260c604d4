//! Findings of `tally analyze`: of a log, and of the history of the live machine. They are marks on the time
//! axis, and say what, when, who, and what to look at next.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::{Value, json};
use tallymon::analyze::{Analysis, Finding, LAGS_COMPARED, Range, RuleSet, analyze};
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

/// How often a history that goes on is looked through, at most.
const PERIOD: Duration = Duration::from_secs(10);

/// Findings of a history that goes on: one request at a time looks it through, and all others get at once
/// what is known.
#[derive(Debug, Default)]
pub(crate) struct Looks(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    /// When it was looked through last, and what was found then.
    last: Option<(Instant, Arc<Vec<Analysis>>)>,
    is_looking: bool,
}

/// The right to look it through, as long as this lives.
pub(crate) struct Looking<'l>(&'l Looks);

impl Looks {
    fn lock(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to look, or what is known: what was found within [`PERIOD`], or before that while somebody
    /// looks, which is then `pending`.
    pub(crate) fn known_or_look(&self, language: Language) -> Result<Looking<'_>, Value> {
        let mut found = self.lock();
        let is_fresh = found.last.as_ref().is_some_and(|(at, _)| at.elapsed() < PERIOD);
        if !is_fresh && !found.is_looking {
            found.is_looking = true;
            return Ok(Looking(self));
        }
        let known = found.last.as_ref().map(|(_, analyses)| Arc::clone(analyses));
        drop(found);
        let mut known = answer(known.as_ref().map_or(&[], |known| known.as_slice()), None, language);
        if !is_fresh {
            known["pending"] = json!(true);
        }
        Err(known)
    }
}

impl Looking<'_> {
    /// Keeps what was found, and answers with it.
    pub(crate) fn found(self, analyses: Vec<Analysis>, language: Language) -> Value {
        let found = answer(&analyses, None, language);
        self.0.lock().last = Some((Instant::now(), Arc::new(analyses)));
        found
    }
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.0.lock().is_looking = false;
    }
}

/// What the built-in rules and the shapes of courses find in the logs of one recording.
pub(crate) fn analysis(logs: &[PathBuf], options: &ReadOptions) -> Result<Analysis, Refused> {
    let rules = RuleSet::built_in();
    let rules = rules.map_err(|error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error))?;
    analyze(logs, rules, &Selection::default(), options).map_err(Refused::bad_request)
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
    let together = found.together.iter().take(MOST_DETAILS).map(
        |other| json!({ "path": visible(&other.path), "correlation": other.correlation, "lag": other.lag }),
    );
    let found_by = found.found_by();
    let found_by = translation.map_or(found_by.clone(), |known| known.phrase(&found_by));
    json!({
        "title": words(&found.title), "severity": mark, "share": found.share,
        "host": visible(&found.host), "means": words(&found.means), "next": words(&found.next),
        "instances": instances.collect::<Vec<_>>(), "causes": causes.collect::<Vec<_>>(),
        "found_by": found_by, "certainty": found.certainty,
        "moves_with": together.collect::<Vec<_>>(), "compared": found.compared, "lags": LAGS_COMPARED,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_somebody_looks_others_get_what_is_known() {
        let looks = Looks::default();
        let ask = || looks.known_or_look(Language::ENGLISH);
        let looking = ask().unwrap_or_else(|known| panic!("{known}"));
        // Nothing is known yet, and nobody waits for it.
        assert_eq!(ask().err().unwrap(), json!({ "findings": [], "more": 0, "pending": true }));
        // Who looked has left: the next one looks.
        drop(looking);
        let looking = ask().unwrap_or_else(|known| panic!("{known}"));
        let found = looking.found(Vec::new(), Language::ENGLISH);
        assert_eq!(found, json!({ "findings": [], "more": 0 }));
        assert_eq!(ask().err(), Some(found));
        // What was found becomes old: one looks again, and the others get the old findings until then.
        let old = Instant::now().checked_sub(PERIOD).unwrap();
        looks.lock().last.as_mut().unwrap().0 = old;
        let looking = ask().unwrap_or_else(|known| panic!("{known}"));
        assert_eq!(ask().err().unwrap()["pending"], true);
        drop(looking);
        assert!(ask().is_ok());
    }
}
