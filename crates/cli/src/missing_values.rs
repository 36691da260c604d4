//! Reports of paths without a value.

use std::collections::{HashMap, HashSet};

use tallymon::core::flow::{Absence, NoValue, PartialSum};
use tallymon::{CounterHandle, Query, nearest_words};

use crate::arguments::Form;
use crate::exit::{Failure, Kind, kind_of};
use crate::words::say;

/// Whether reasons were printed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reasons {
    /// The table has them beside the paths: they are not printed again.
    InTable,
    Missing,
}

impl Reasons {
    /// Those of a form of output.
    pub(crate) fn of(form: Form) -> Reasons {
        if form == Form::Table { Reasons::InTable } else { Reasons::Missing }
    }
}

/// Reports each path that has no value, and why. Returns the failure of the first such path. `live` means
/// that the values are of this machine, whose setup the user can change.
pub(crate) fn missing(
    query: &Query,
    handles: &[CounterHandle],
    live: bool,
    reasons: Reasons,
) -> Result<(), Failure> {
    Report { live, reasons, ..REPORT }.missing(query, handles)
}

/// As [`missing`], of a log: paths that `had_value` in an earlier record are not missing.
pub(crate) fn missing_of_log(
    query: &Query,
    handles: &[CounterHandle],
    reasons: Reasons,
    had_value: &dyn Fn(CounterHandle) -> bool,
) -> Result<(), Failure> {
    Report { reasons, had_value, ..REPORT }.missing(query, handles)
}

/// As [`missing`], of a host among several: `prefix` goes before paths that do not name their host.
pub(crate) fn missing_of_host(
    prefix: &str,
    query: &Query,
    handles: &[CounterHandle],
    reasons: Reasons,
) -> Result<(), Failure> {
    Report { prefix, reasons, ..REPORT }.missing(query, handles)
}

/// As [`missing`], of raw samples: rates need no value.
pub(crate) fn missing_samples(query: &Query, handles: &[CounterHandle], live: bool) -> Result<(), Failure> {
    let allowed = &[NoValue::NoOperations, NoValue::FirstSample];
    Report { live, allowed, ..REPORT }.missing(query, handles)
}

/// What is reported, and how.
struct Report<'a> {
    /// Goes before paths that do not name their host.
    prefix: &'a str,
    /// The values are of this machine, whose setup the user can change.
    live: bool,
    reasons: Reasons,
    /// Reasons that are results, such as an average without operations.
    allowed: &'a [NoValue],
    had_value: &'a dyn Fn(CounterHandle) -> bool,
}

const REPORT: Report<'static> = Report {
    prefix: "",
    live: false,
    reasons: Reasons::Missing,
    allowed: &[NoValue::NoOperations],
    had_value: &|_| false,
};

/// What is known of the values of a path.
#[derive(Clone, Copy)]
struct PathValues {
    /// Whether it has any value, else the first reason why not.
    has: Result<(), NoValue>,
    /// The first sum that lacks some of its parts.
    partial: Option<PartialSum>,
}

impl Report<'_> {
    /// Reports each path without a value, and each whose value is a sum that lacks some of its parts.
    fn missing(&self, query: &Query, handles: &[CounterHandle]) -> Result<(), Failure> {
        let mut found: HashMap<CounterHandle, PathValues> = HashMap::new();
        query.for_each(|value| {
            let has = match value.cell.value {
                Ok(_) => Ok(()),
                Err(why) if self.allowed.contains(&why) => Ok(()),
                Err(why) => Err(why),
            };
            let known = found.entry(value.handle).or_insert(PathValues { has, partial: None });
            known.has = known.has.or(has).or(known.has);
            known.partial = known.partial.or(value.cell.partial);
        });
        let mut first = None;
        let mut curable = false;
        let mut told = HashSet::new();
        for handle in handles {
            let path = query.path(*handle);
            let prefix = if path.starts_with("\\\\") || path.starts_with("//") { "" } else { self.prefix };
            let values = found.get(handle);
            if let Some(sum) = values.and_then(|values| values.partial) {
                if self.reasons == Reasons::Missing {
                    say(format_args!("{prefix}{path}: partial sum: {sum}"));
                }
                curable |= is_curable(NoValue::NoData(sum.reason));
            }
            // A wildcard that matches nothing has no line in a table.
            let is_shown = values.is_some() && self.reasons == Reasons::InTable;
            let has = values.map_or(Err(NoValue::NoInstance), |values| values.has);
            let Some(why) = has.err().filter(|_| !(self.had_value)(*handle)) else { continue };
            let advice = advice(query, *handle, why, &mut told);
            match (is_shown, advice.trim_start_matches("; ")) {
                (false, _) => say(format_args!("{prefix}{path}: {why}{advice}")),
                (true, "") => {}
                (true, advice) => say(format_args!("{prefix}{path}: {advice}")),
            }
            first.get_or_insert(kind_of(why));
            curable |= is_curable(why);
        }
        if curable && self.live {
            say(SEE_DOCTOR);
        }
        first.map_or(Ok(()), |kind: Kind| Err(Failure::silent(kind)))
    }
}

/// The advice for values that are missing because of how the machine is set up.
pub(crate) const SEE_DOCTOR: &str = "'tally doctor' tells what is missing on this machine and how to get it";

/// Whether a value is missing because of how the machine is set up.
pub(crate) const fn is_curable(why: NoValue) -> bool {
    matches!(why, NoValue::NoData(Absence::NotInThisKernel | Absence::AccessDenied | Absence::ReadFailed))
}

/// What helps with a missing value: names like the one that is wrong, or what the source says about its fault,
/// which is `told` once.
fn advice(query: &Query, handle: CounterHandle, why: NoValue, told: &mut HashSet<String>) -> String {
    match why {
        NoValue::NoInstance => nearest_words(&query.nearest_instances(handle)),
        NoValue::NoData(Absence::ReadFailed) => {
            let trouble = query.trouble(handle).filter(|words| told.insert(words.clone()));
            trouble.map_or_else(String::new, |words| format!("; {words}"))
        }
        _ => String::new(),
    }
}
