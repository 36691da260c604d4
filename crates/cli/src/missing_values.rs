//! Reports of paths without a value.

use std::collections::HashMap;

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
    missing_but("", query, handles, live, (reasons, &[NoValue::NoOperations]))
}

/// As [`missing`], of a host among several: `prefix` goes before paths that do not name their host.
pub(crate) fn missing_of_host(
    prefix: &str,
    query: &Query,
    handles: &[CounterHandle],
    reasons: Reasons,
) -> Result<(), Failure> {
    missing_but(prefix, query, handles, false, (reasons, &[NoValue::NoOperations]))
}

/// As [`missing`], of raw samples: rates need no value.
pub(crate) fn missing_samples(query: &Query, handles: &[CounterHandle], live: bool) -> Result<(), Failure> {
    let allowed = &[NoValue::NoOperations, NoValue::FirstSample];
    missing_but("", query, handles, live, (Reasons::Missing, allowed))
}

/// Reports each path without a value, unless the reason is one of those that are `allowed`.
fn missing_but(
    prefix: &str,
    query: &Query,
    handles: &[CounterHandle],
    live: bool,
    (reasons, allowed): (Reasons, &[NoValue]),
) -> Result<(), Failure> {
    // Whether a path has any value, else the first reason why not.
    let mut found: HashMap<CounterHandle, Result<(), NoValue>> = HashMap::new();
    query.for_each(|value| {
        let has = match value.cell.value {
            // An average without operations is a result, not a missing value.
            Ok(_) => Ok(()),
            Err(why) if allowed.contains(&why) => Ok(()),
            Err(why) => Err(why),
        };
        let known = found.entry(value.handle).or_insert(has);
        *known = known.or(has).or(*known);
    });
    let mut first = None;
    let mut curable = partial_sums(prefix, query, handles, reasons);
    for handle in handles {
        let (why, is_shown) = match found.get(handle) {
            // A wildcard that matches nothing has no line in a table.
            None => (NoValue::NoInstance, false),
            Some(Err(why)) => (*why, reasons == Reasons::InTable),
            Some(Ok(())) => continue,
        };
        let path = query.path(*handle);
        let prefix = if path.starts_with("\\\\") || path.starts_with("//") { "" } else { prefix };
        let advice = nearest(query, *handle, why);
        match (is_shown, advice.trim_start_matches("; ")) {
            (false, _) => say(format_args!("{prefix}{path}: {why}{advice}")),
            (true, "") => {}
            (true, advice) => say(format_args!("{prefix}{path}: {advice}")),
        }
        first.get_or_insert(kind_of(why));
        curable |= is_curable(why);
    }
    if curable && live {
        say(SEE_DOCTOR);
    }
    first.map_or(Ok(()), |kind: Kind| Err(Failure::silent(kind)))
}

/// Reports each path whose value is a sum that lacks some of its parts. Returns whether more rights would help.
fn partial_sums(prefix: &str, query: &Query, handles: &[CounterHandle], reasons: Reasons) -> bool {
    let mut found: HashMap<CounterHandle, PartialSum> = HashMap::new();
    query.for_each(|value| {
        if let Some(sum) = value.cell.partial {
            found.entry(value.handle).or_insert(sum);
        }
    });
    for handle in handles.iter().filter(|_| reasons == Reasons::Missing) {
        if let Some(sum) = found.get(handle) {
            say(format_args!("{prefix}{}: partial sum: {sum}", query.path(*handle)));
        }
    }
    found.values().any(|sum| is_curable(NoValue::NoData(sum.reason)))
}

/// The advice for values that are missing because of how the machine is set up.
pub(crate) const SEE_DOCTOR: &str = "'tally doctor' tells what is missing on this machine and how to get it";

/// Whether a value is missing because of how the machine is set up.
pub(crate) const fn is_curable(why: NoValue) -> bool {
    matches!(why, NoValue::NoData(Absence::NotInThisKernel | Absence::AccessDenied | Absence::ReadFailed))
}

fn nearest(query: &Query, handle: CounterHandle, why: NoValue) -> String {
    if why != NoValue::NoInstance {
        return String::new();
    }
    nearest_words(&query.nearest_instances(handle))
}
