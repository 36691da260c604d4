//! Which objects and counters the metrics of an endpoint become. It is decided once, when the bridge is
//! added, and kept in the file of the bridge.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tallymon_provider::CounterType;

use crate::metrics::{Metrics, Role, Series, Title};

/// The highest offset of a name, which the registry takes.
const HIGHEST_OFFSET: u32 = tallymon_host::registry::HIGHEST_OFFSET;

/// How the values of a counter are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CounterKind {
    /// A count: its whole part.
    Count,
    /// A count of seconds, in units of 100 ns.
    Seconds,
    /// A number with fractions.
    Gauge,
    /// The sum of observations, its whole part, and their number as base.
    Average,
    /// The sum of observations in seconds, in ticks of the performance clock, and their number as base.
    AverageSeconds,
    /// A whole number that goes up and down.
    Whole,
    /// How many of all hit, with the count of all as base.
    HitRate,
    /// A part of a whole, with the whole as base.
    Share,
}

impl CounterKind {
    /// The word for it in a file.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            CounterKind::Count => "count",
            CounterKind::Seconds => "seconds",
            CounterKind::Gauge => "gauge",
            CounterKind::Average => "average",
            CounterKind::AverageSeconds => "average-seconds",
            CounterKind::Whole => "whole",
            CounterKind::HitRate => "hit-rate",
            CounterKind::Share => "share",
        }
    }

    pub(crate) const fn counter_type(self) -> CounterType {
        match self {
            CounterKind::Count => CounterType::PERF_COUNTER_BULK_COUNT,
            CounterKind::Seconds => CounterType::PERF_100NSEC_TIMER,
            CounterKind::Gauge => CounterType::PERF_DOUBLE_RAW,
            CounterKind::Average => CounterType::PERF_AVERAGE_BULK,
            CounterKind::AverageSeconds => CounterType::PERF_AVERAGE_TIMER,
            CounterKind::Whole => CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
            CounterKind::HitRate => CounterType::PERF_SAMPLE_FRACTION,
            CounterKind::Share => CounterType::PERF_LARGE_RAW_FRACTION,
        }
    }

    /// The type of the base that follows.
    pub(crate) const fn base(self) -> Option<CounterType> {
        match self {
            CounterKind::Average | CounterKind::AverageSeconds => Some(CounterType::PERF_AVERAGE_BASE),
            CounterKind::HitRate => Some(CounterType::PERF_SAMPLE_BASE),
            CounterKind::Share => Some(CounterType::PERF_LARGE_RAW_BASE),
            CounterKind::Count | CounterKind::Seconds | CounterKind::Gauge | CounterKind::Whole => None,
        }
    }

    /// Whether a base follows.
    pub(crate) const fn has_base(self) -> bool {
        self.base().is_some()
    }

    /// What the displayed value is, to follow the explanation of the metric.
    const fn words(self) -> &'static str {
        match self {
            CounterKind::Count => "This counter is the difference per second.",
            CounterKind::Seconds => {
                "This counter is the percentage of the time that passed: 100 is one second \
                                     per second."
            }
            CounterKind::Gauge | CounterKind::Whole => "This counter is the last value.",
            CounterKind::HitRate => "This counter is the percentage between two samples.",
            CounterKind::Share => "This counter is the last percentage.",
            CounterKind::Average => "This counter is the average of what was observed between two samples.",
            CounterKind::AverageSeconds => {
                "This counter is the average, in seconds, of what was observed between two samples."
            }
        }
    }
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogCounter {
    /// Its offset from the first index of the bridge.
    pub(crate) offset: u32,
    /// The metric; of an average, the family.
    pub(crate) metric: String,
    pub(crate) kind: CounterKind,
    /// The name that the kind of endpoint gives it; without one the name is made from the metric.
    pub(crate) name: Option<String>,
}

impl CatalogCounter {
    pub(crate) fn name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        if self.kind.has_base() { format!("Avg. {}", self.metric) } else { self.metric.clone() }
    }
}

/// One object: metrics with the same beginning and the same labels.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogObject {
    pub(crate) offset: u32,
    pub(crate) name: String,
    /// The labels whose values are the instance; none for an object without instances.
    #[serde(default)]
    pub(crate) labels: Vec<String>,
    #[serde(rename = "counter")]
    pub(crate) counters: Vec<CatalogCounter>,
}

/// The objects of a bridge.
pub(crate) type Catalog = Vec<CatalogObject>;

/// The labels of a series that make its instance: all of them, or the chosen ones and those that tell buckets
/// and quantiles apart.
pub(crate) fn chosen_labels<'a>(
    series: &'a Series,
    chosen: Option<&'a [String]>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let texts = series.labels.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    texts.filter(move |(name, _)| is_chosen(name, chosen))
}

fn is_chosen(name: &str, chosen: Option<&[String]>) -> bool {
    chosen.is_none_or(|chosen| name == "le" || name == "quantile" || chosen.iter().any(|label| label == name))
}

/// The counters of an endpoint by labels, metric and kind, each with its family and the title that its kind
/// of endpoint gives it.
type Found<'a> = BTreeMap<(Vec<&'a str>, &'a str, CounterKind), (&'a str, Option<&'a Title>)>;

fn find<'a>(metrics: &'a Metrics, chosen: Option<&'a [String]>) -> Found<'a> {
    let mut found = Found::new();
    for (metric, title, labels) in metrics.declared() {
        let labels = labels.iter().map(String::as_str).filter(|label| is_chosen(label, chosen)).collect();
        found.insert((labels, metric, title.kind), (metric, Some(title)));
    }
    for series in metrics.series.iter().filter(|series| !metrics.has_title(&series.metric)) {
        let labels = chosen_labels(series, chosen).map(|(name, _)| name).collect();
        let (family, role) = metrics.role(&series.metric);
        let in_seconds = metrics.is_in_seconds(family);
        let (metric, kind) = match role {
            Role::Created => continue,
            // The number of observations is not in seconds, though its family is.
            Role::Count if in_seconds && !is_part_of(&series.metric, family) => {
                (series.metric.as_str(), CounterKind::Seconds)
            }
            Role::Count => (series.metric.as_str(), CounterKind::Count),
            Role::Gauge => (series.metric.as_str(), CounterKind::Gauge),
            Role::Sum if in_seconds => (family, CounterKind::AverageSeconds),
            Role::Sum => (family, CounterKind::Average),
        };
        found.insert((labels, metric, kind), (family, None));
    }
    found
}

/// The metrics of each object, by the title or beginning of the object and by labels.
type Groups<'a> = BTreeMap<(&'a str, Vec<&'a str>), Vec<(&'a str, CounterKind, Option<&'a Title>)>>;

fn group(found: Found<'_>) -> Groups<'_> {
    let mut shared: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (family, _) in found.values() {
        shared.entry(two_words(family)).or_default().insert(family);
    }
    let mut groups = Groups::new();
    for ((labels, metric, kind), (family, title)) in found {
        let two = two_words(family);
        let is_shared = shared.get(two).is_some_and(|families| families.len() > 1);
        let prefix = match title {
            Some(title) => title.object.as_str(),
            None if is_shared => two,
            None => family.split('_').next().unwrap_or(family),
        };
        groups.entry((prefix, labels)).or_default().push((metric, kind, title));
    }
    groups
}

/// The catalog of what an endpoint has now, for a bridge of this name.
///
/// # Errors
///
/// There are more names than the registry takes.
pub(crate) fn learn(
    bridge: &str,
    metrics: &Metrics,
    chosen: Option<&[String]>,
) -> Result<Catalog, &'static str> {
    let mut taken = BTreeSet::new();
    let mut next = 0u32;
    let mut offset = || {
        let offset = next;
        next = next.checked_add(2).filter(|next| *next <= HIGHEST_OFFSET)?;
        Some(offset)
    };
    const FULL: &str = "it has more than 32,767 names; choose labels, or a part of its metrics";
    let mut catalog = Catalog::new();
    for ((prefix, labels), counters) in group(find(metrics, chosen)) {
        let has_title = counters.iter().any(|(_, _, title)| title.is_some());
        let named: &[&str] = if has_title { &[] } else { &labels };
        let name = object_name(bridge, prefix, named, &mut taken);
        let mut object = CatalogObject {
            offset: offset().ok_or(FULL)?,
            name,
            labels: labels.into_iter().map(str::to_owned).collect(),
            counters: Vec::new(),
        };
        for (metric, kind, title) in counters {
            let (offset, name) = (offset().ok_or(FULL)?, title.map(|title| title.counter.clone()));
            object.counters.push(CatalogCounter { offset, metric: metric.to_owned(), kind, name });
        }
        catalog.push(object);
    }
    Ok(catalog)
}

/// A catalog with the counters of another one that it does not have, behind its own, which keep their
/// offsets; and the offsets of what is new.
///
/// # Errors
///
/// There are more names than the registry takes.
pub(crate) fn extended(known: &Catalog, now: Catalog) -> Result<(Catalog, BTreeSet<u32>), &'static str> {
    const FULL: &str = "it has more than 32,767 names; remove it, and add it with chosen labels";
    let mut catalog = known.clone();
    let offsets = known.iter().flat_map(|object| {
        std::iter::once(object.offset).chain(object.counters.iter().map(|counter| counter.offset))
    });
    let mut last = offsets.max();
    let mut new = BTreeSet::new();
    let mut offset = || {
        let next = last.map_or(Some(0), |last| last.checked_add(2)).filter(|next| *next <= HIGHEST_OFFSET);
        last = next;
        new.extend(next);
        next
    };
    for found in now {
        let is_known = |counter: &CatalogCounter| {
            let same = |one: &CatalogCounter| one.metric == counter.metric && one.kind == counter.kind;
            known.iter().any(|object| object.labels == found.labels && object.counters.iter().any(same))
        };
        let counters: Vec<CatalogCounter> =
            found.counters.iter().filter(|counter| !is_known(counter)).cloned().collect();
        if counters.is_empty() {
            continue;
        }
        let is_it = |object: &CatalogObject| {
            object.labels == found.labels && object.name.eq_ignore_ascii_case(&found.name)
        };
        let place = match catalog.iter().position(is_it) {
            Some(place) => place,
            None => {
                let is_taken =
                    |name: &str| catalog.iter().any(|object| object.name.eq_ignore_ascii_case(name));
                let numbered = (2u32..).map(|n| format!("{} {n}", found.name));
                let mut names = std::iter::once(found.name.clone()).chain(numbered);
                let name = names.find(|name| !is_taken(name)).unwrap_or(found.name);
                let offset = offset().ok_or(FULL)?;
                catalog.push(CatalogObject { offset, name, labels: found.labels, counters: Vec::new() });
                catalog.len().saturating_sub(1)
            }
        };
        for counter in counters {
            let offset = offset().ok_or(FULL)?;
            if let Some(object) = catalog.get_mut(place) {
                object.counters.push(CatalogCounter { offset, ..counter });
            }
        }
    }
    Ok((catalog, new))
}

/// Whether a metric counts the observations of its family.
fn is_part_of(metric: &str, family: &str) -> bool {
    metric.strip_prefix(family).is_some_and(|ending| ending == "_bucket" || ending == "_count")
}

/// The first two words of a name.
fn two_words(name: &str) -> &str {
    let mut ends = name.match_indices('_').map(|(at, _)| at);
    match (ends.next(), ends.next()) {
        (Some(_), Some(end)) => name.get(..end).unwrap_or(name),
        _ => name,
    }
}

/// The name of an object: bridge, beginning of its metrics, labels. It is not repeated that the metrics begin
/// with the name of the bridge.
fn object_name(bridge: &str, prefix: &str, labels: &[&str], taken: &mut BTreeSet<String>) -> String {
    let rest = prefix.strip_prefix(bridge).and_then(|rest| rest.strip_prefix('_'));
    let by = if labels.is_empty() { String::new() } else { format!(" by {}", labels.join(", ")) };
    let full = format!("{bridge} {prefix}{by}");
    let short = match rest {
        Some(rest) => format!("{bridge} {rest}{by}"),
        None if prefix == bridge => format!("{bridge}{by}"),
        None => full.clone(),
    };
    let numbered = (2u32..).map(|n| format!("{full} {n}"));
    let mut names = [short, full.clone()].into_iter().chain(numbered);
    names.find(|name| taken.insert(name.to_lowercase())).unwrap_or(full)
}

/// The explanation of an object.
pub(crate) fn object_help(object: &CatalogObject, address: &str) -> String {
    if object.labels.is_empty() {
        return format!("Metrics of {address}.");
    }
    format!("Metrics of {address}; an instance is the values of these labels: {}.", object.labels.join(", "))
}

/// The explanation of a counter: what the endpoint says about its family, and what the counter shows.
pub(crate) fn counter_help(counter: &CatalogCounter, metrics: &Metrics) -> String {
    let (family, _) = metrics.role(&counter.metric);
    let about = metrics.families.get(family).or_else(|| metrics.families.get(&counter.metric));
    let mut help = about.map_or("", |family| family.help.trim()).to_owned();
    if !help.is_empty() && !help.ends_with(['.', '!', '?']) {
        help.push('.');
    }
    if let Some(unit) = about.map(|family| family.unit.as_str()).filter(|unit| !unit.is_empty()) {
        help.push_str(&format!(" Unit: {unit}."));
    }
    format!("{help} {}", counter.kind.words()).trim().to_owned()
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
