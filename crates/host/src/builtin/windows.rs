//! Windows: its registry answers every request, and runs the providers itself.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Instant;

use tallymon_core::flow::{Source, SourceError};
use tallymon_core::request::Request;
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_provider::{Finding, FindingState, Profile, Provider, TierChoice};
use tallymon_win32::{Registration, WindowsSource, performance_clock, registration, registrations};

use super::Clocks;
pub(crate) use super::portable::{interface_addresses, origin, processes, processor_name, system_name};
use crate::perfmon;
use crate::publishers::Publishers;
use crate::titles;

/// What Windows counts, it has itself; what programs publish comes beside it.
pub(crate) fn providers(_tier: TierChoice, _profile: Profile) -> Result<Vec<Box<dyn Provider>>, SourceError> {
    Ok(vec![Box::new(published()?)])
}

/// What programs publish.
pub(crate) fn published() -> Result<Publishers, SourceError> {
    // Objects of other programs must not take the name of one of Windows, in any language.
    let objects: BTreeSet<TitleIndex> =
        titles::counter_helps()?.into_keys().map(|(object, _)| object).collect();
    let mut taken = Vec::new();
    for language in titles::languages() {
        let titles = titles::nt_titles(language)?;
        taken.extend(objects.iter().filter_map(|object| titles.name(*object).map(str::to_owned)));
    }
    Ok(Publishers::system(taken.iter().map(String::as_str)).except_later(object_names))
}

/// The indexes under which the registry has what programs publish, if that was installed. It is read where
/// they publish it, with the state of each value, so these objects are not taken from the registry.
pub(crate) fn published_indexes() -> Option<RangeInclusive<TitleIndex>> {
    let registration = registration(perfmon::SERVICE)?;
    let last = registration.last_counter.or(registration.first_counter)?;
    Some(TitleIndex(registration.first_counter?)..=TitleIndex(last))
}

/// The names that Windows has for its objects now.
fn object_names() -> Vec<String> {
    let mut registry = WindowsSource::new();
    let mut objects = Vec::new();
    for costly in [false, true] {
        // A registry that cannot be read has no object that a program could be taken for.
        if let Ok(definitions) = registry.definitions(costly) {
            objects.extend(definitions.objects().map(|object| object.header().name));
        }
    }
    let published = published_indexes();
    objects.retain(|object| !published.as_ref().is_some_and(|indexes| indexes.contains(object)));
    let mut names = Vec::new();
    for language in registry.languages() {
        let titles = registry.titles(language).unwrap_or_default();
        names.extend(objects.iter().filter_map(|object| titles.name(*object).map(str::to_owned)));
    }
    names
}

/// The clocks that the blocks of the registry have.
pub(crate) fn clocks() -> Clocks {
    let (perf_time, perf_freq) = performance_clock();
    Clocks { perf_time, perf_freq, ..super::portable::clocks() }
}

/// The registry.
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(crate) fn system_source() -> Option<Box<dyn Source>> {
    Some(Box::new(WindowsSource::new()))
}

/// How well the registry answers, and what is wrong with what is registered.
pub(crate) fn findings(registry: &mut dyn Source) -> Vec<Finding> {
    let titles = registry.titles(Language::ENGLISH).unwrap_or_default();
    let mut findings = vec![answer(registry, &titles)];
    findings.extend(registrations().iter().map(|registration| registered(registration, &titles)));
    findings
}

/// The objects, and those without names.
fn answer(registry: &mut dyn Source, titles: &Titles) -> Finding {
    let subject = "performance registry".to_owned();
    let begin = Instant::now();
    let snapshot = match registry.snapshot(&Request::global()) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            let remedy = "run 'lodctr /R' as administrator, then 'tally doctor' again".to_owned();
            return Finding { subject, state: FindingState::Missing, detail: error.to_string(), remedy };
        }
    };
    let took = begin.elapsed().as_millis();
    let objects: Vec<TitleIndex> = snapshot.objects().map(|object| object.header().name).collect();
    let nameless: Vec<String> =
        objects.iter().filter(|name| titles.name(**name).is_none()).map(|name| name.0.to_string()).collect();
    let languages: Vec<String> = registry.languages().iter().map(ToString::to_string).collect();
    if !nameless.is_empty() {
        let detail = format!("these objects have no English name: {}", nameless.join(", "));
        let remedy = "run 'lodctr /R' as administrator: it makes the tables of names anew".to_owned();
        return Finding { subject, state: FindingState::Limited, detail, remedy };
    }
    let count = objects.len();
    let detail = format!("{count} objects in {took} ms, names in the languages {}", languages.join(", "));
    let (state, remedy) = match count {
        0 => (FindingState::Missing, "run 'lodctr /R' as administrator: no provider answers".to_owned()),
        _ => (FindingState::Good, String::new()),
    };
    Finding { subject, state, detail, remedy }
}

/// How a service is registered.
fn registered(registration: &Registration, titles: &Titles) -> Finding {
    let Registration { service, library, first_counter, last_counter, is_disabled } = registration;
    let subject = format!("provider {service}");
    let limited = |detail: String, remedy: String| Finding {
        subject: subject.clone(),
        state: FindingState::Limited,
        detail,
        remedy,
    };
    let rebuild = "run 'lodctr /R' as administrator, or install the program again".to_owned();
    if *is_disabled {
        let remedy =
            format!("run 'lodctr /E:{service}' as administrator; the event log says why it was disabled");
        return limited("it is disabled".to_owned(), remedy);
    }
    let Some(library) = library else {
        return limited("no library is registered".to_owned(), rebuild);
    };
    // The providers of Windows itself have their indexes from the start.
    match (first_counter, last_counter) {
        (Some(first), Some(last)) if titles.name(TitleIndex(*first)).is_none() => {
            limited(format!("its names, {first} to {last}, are not in the table"), rebuild)
        }
        _ => Finding {
            subject,
            state: FindingState::Good,
            detail: format!("library {library}"),
            remedy: String::new(),
        },
    }
}

#[cfg(test)]
#[path = "windows_tests.rs"]
mod tests;
