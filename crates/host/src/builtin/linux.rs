//! The built-in objects of Linux.

use tallymon_core::flow::{SourceError, SourceErrorKind};
use tallymon_linux::System;
use tallymon_provider::{Profile, Provider, TierChoice};

use super::Clocks;
use crate::provider_object;
use crate::publishers::Publishers;
use crate::titles;

pub(crate) fn providers(tier: TierChoice, profile: Profile) -> Result<Vec<Box<dyn Provider>>, SourceError> {
    let system =
        System::open_with(tier).map_err(|error| SourceError::new(SourceErrorKind::Io, error.to_string()))?;
    let system = system.with_profile(profile);
    // What programs publish must not take the place of what is built in, in no language.
    let mut taken = Vec::new();
    for language in titles::languages() {
        let titles = titles::titles(language)?;
        let objects = system.objects().iter().chain([&provider_object::SPEC]);
        let names = objects.filter_map(|object| titles.name(object.name));
        taken.extend(names.map(str::to_string));
    }
    let publishers = Publishers::system(taken.iter().map(String::as_str));
    Ok(vec![Box::new(system), Box::new(publishers)])
}

pub(crate) fn system_name() -> String {
    tallymon_linux::host_name()
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
    use super::*;
    use crate::registry::{BASE_INDEX, OWN_INDEXES};

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
}
