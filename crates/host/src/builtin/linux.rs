//! The built-in objects of Linux.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::title::TitleIndex;
use tallymon_dotnet::live::DotnetPrograms;
use tallymon_linux::System;
use tallymon_provider::process::Processes;
use tallymon_provider::{Finding, Profile, Provider, TierChoice};

use super::Clocks;
use crate::provider_object;
use crate::publishers::Publishers;
use crate::titles;

pub(crate) fn providers(tier: TierChoice, profile: Profile) -> Result<Vec<Box<dyn Provider>>, SourceError> {
    let system =
        System::open_with(tier).map_err(|error| SourceError::new(SourceErrorKind::Io, error.to_string()))?;
    let system = system.with_profile(profile);
    // Objects of other programs must not take the name of a built-in object, in any language. Reading the
    // names costs more than most commands do, so it waits until a program publishes.
    let objects: BTreeSet<TitleIndex> =
        system.objects().iter().chain([&provider_object::SPEC]).map(|object| object.name).collect();
    let publishers = Publishers::system(tallymon_dotnet::live::object_names());
    let names = move || titles::names_in_all_languages(&objects);
    let publishers = publishers.except_later(names.clone());
    let programs = DotnetPrograms::except_later(names);
    Ok(vec![Box::new(system), Box::new(publishers), Box::new(programs)])
}

/// The kernel has no registry that answers requests; the providers do.
pub(crate) fn system_source() -> Option<Box<dyn Source>> {
    None
}

/// None in such a registry.
pub(crate) fn published_indexes() -> Option<RangeInclusive<TitleIndex>> {
    None
}

/// Without such a registry there is nothing to find out about it.
pub(crate) fn findings(_: &mut dyn Source) -> Vec<Finding> {
    Vec::new()
}

pub(crate) fn system_name() -> String {
    tallymon_linux::host_name()
}

pub(crate) fn processes() -> Option<Arc<dyn Processes>> {
    Some(Arc::new(tallymon_linux::process::LinuxProcesses::system()))
}

pub(crate) fn interface_addresses() -> HashMap<String, Vec<String>> {
    tallymon_linux::interface_addresses()
}

pub(crate) fn processor_name() -> Option<String> {
    tallymon_linux::processor_name()
}

pub(crate) fn origin(object: TitleIndex, counter: TitleIndex) -> Option<String> {
    let origin = tallymon_linux::origin(object, counter).filter(|origin| !origin.source.is_empty())?;
    Some(origin.source.replace(" | ", " or "))
}

pub(crate) fn clocks() -> Clocks {
    let now = tallymon_linux::clocks();
    Clocks {
        perf_time: now.perf_time,
        perf_freq: now.perf_freq,
        time_100ns: now.steady,
        system_time: now.civil,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tallymon_core::title::{HelpIndex, Language, TitleIndex};

    use super::*;
    use crate::registry::{BASE_INDEX, OWN_INDEXES};

    /// An index is the name of one thing, whichever provider has it.
    #[test]
    fn providers_share_no_index() {
        let system = System::open().unwrap().with_profile(Profile::NtStrict);
        let mut own = std::collections::BTreeSet::new();
        for object in system.objects().iter().chain([&provider_object::SPEC]) {
            own.insert(object.name);
            own.extend(object.counters.iter().map(|counter| counter.name));
        }
        let programs = DotnetPrograms::default();
        for object in programs.objects() {
            assert!(OWN_INDEXES.contains(&object.name.0), "{}", object.name.0);
            for name in object.counters.iter().map(|counter| counter.name).chain([object.name]) {
                assert!(!own.contains(&name), "the index {} is that of another object or counter", name.0);
            }
        }
    }

    #[test]
    fn names_in_all_languages_are_those_of_the_tables() {
        let system = System::open().unwrap();
        let objects: BTreeSet<TitleIndex> = system.objects().iter().map(|object| object.name).collect();
        let wanted: BTreeSet<String> = titles::languages()
            .into_iter()
            .flat_map(|language| {
                let titles = titles::titles(language).unwrap();
                objects
                    .iter()
                    .filter_map(|object| titles.name(*object).map(str::to_owned))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert!(wanted.len() > objects.len());
        assert_eq!(titles::names_in_all_languages(&objects).into_iter().collect::<BTreeSet<_>>(), wanted);
    }

    #[test]
    fn everything_has_a_name_and_help_in_every_language() {
        let system = System::open().unwrap().with_profile(Profile::NtStrict);
        for language in titles::languages() {
            let titles = titles::titles(language).unwrap();
            for object in system.objects().iter().chain([&provider_object::SPEC]) {
                let counters = object.counters.iter().map(|counter| (counter.name, counter.help));
                for (name, help) in counters.chain([(object.name, object.help)]) {
                    let known = name.0 <= BASE_INDEX || OWN_INDEXES.contains(&name.0);
                    assert!(known, "{}: the index {} is nobody's", object.name.0, name.0);
                    let place = format!("{language:?}: object {}, counter {}", object.name.0, name.0);
                    assert!(titles.name(name).is_some_and(|text| !text.trim().is_empty()), "{place}");
                    assert!(titles.help(help).is_some_and(|text| text.ends_with(['.', '。'])), "{place}");
                }
            }
        }
    }

    /// The help of a counter has the index after its name, unless several objects use that name with
    /// different meanings. Then its help has an index of its own: a free one, or the one that NT assigned.
    #[test]
    fn the_help_of_a_counter_is_its_own() {
        // NT assigned the help of these counters of Process after names that belong to Browser, and that of a
        // counter of Network Interface after a name that it does not use.
        const GIVEN_BY_NT: [(u32, u32); 4] = [(6, 189), (142, 157), (144, 159), (388, 513)];
        let system = System::open().unwrap().with_profile(Profile::NtStrict);
        let titles = titles::titles(Language::ENGLISH).unwrap();
        let mut users: BTreeMap<HelpIndex, TitleIndex> = BTreeMap::new();
        for object in system.objects().iter().chain([&provider_object::SPEC]) {
            for counter in object.counters {
                let place =
                    format!("object {}, counter {}, help {}", object.name.0, counter.name.0, counter.help.0);
                let first = *users.entry(counter.help).or_insert(counter.name);
                assert_eq!(first, counter.name, "{place}: the help of another counter");
                let before = TitleIndex(counter.help.0 - 1);
                let follows_another = before != counter.name && titles.name(before).is_some();
                let given = GIVEN_BY_NT.contains(&(counter.name.0, counter.help.0));
                assert!(!follows_another || given, "{place}: the help of {:?}", titles.name(before));
            }
        }
        assert!(users.len() > 700, "{}", users.len());
    }
}
