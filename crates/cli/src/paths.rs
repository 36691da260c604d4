//! Counter paths as users type them: damaged by a shell, mistyped, or in another language.

use tallymon::core::path::{CounterPath, InstancePath, Part};
use tallymon::core::title::Language;
use tallymon::{CounterHandle, Locale, Location, PathError, Profile, Query, TierChoice, open};

use crate::arguments::Common;
use crate::exit::{Failure, Kind};
use crate::hosts;
use crate::language;
use crate::path_message::Home;
use crate::words::say;

/// Opens the source that the options name, as a query without paths.
pub(crate) fn query(common: &Common) -> Result<Query, Failure> {
    query_at(common, &location(common)?)
}

/// Opens a source, as a query without paths for the language of the options.
pub(crate) fn query_at(common: &Common, location: &Location) -> Result<Query, Failure> {
    Ok(Query::new(open(location)?, locale(common)?)?)
}

/// Opens the source that the options or some paths name, for a command that reads one host, as a query
/// without paths.
pub(crate) fn query_of(common: &Common, paths: &[String]) -> Result<Query, Failure> {
    query_at(common, &location_of(common, paths)?)
}

/// The source that the options or some paths name, for a command that reads one host.
pub(crate) fn location_of(common: &Common, paths: &[String]) -> Result<Location, Failure> {
    let mut all = hosts::of_paths(common, paths)?;
    match all.pop().filter(|_| all.is_empty()) {
        Some(host) => Ok(host.location),
        None => {
            let words = format!(
                "--host and the paths name {} hosts, and this command reads one; get, watch, list, find, mon \
                 and serve read several",
                all.len().saturating_add(1)
            );
            Err(Failure::new(Kind::Usage, words))
        }
    }
}

/// The source that the options name, for a command that reads one host.
pub(crate) fn location(common: &Common) -> Result<Location, Failure> {
    let mut hosts = hosts::named(common)?.into_iter();
    match (hosts.next(), hosts.count()) {
        (None, _) => here(common),
        (Some(host), 0) => Ok(hosts::remote(common, &host)),
        (Some(_), more) => {
            let words = format!(
                "--host names {} hosts, and this command reads one; get, watch, list, find, mon and serve \
                 read several",
                more.saturating_add(1)
            );
            Err(Failure::new(Kind::Usage, words))
        }
    }
}

/// The source that the options name, without other machines.
pub(crate) fn here(common: &Common) -> Result<Location, Failure> {
    Ok(match &common.file {
        Some(file) => Location::File(file.clone()),
        None => {
            let (tier, profile) = machine(common)?;
            Location::Machine { tier, profile }
        }
    })
}

/// How this machine is read, and what of it is shown: by the options, else by the environment.
pub(crate) fn machine(common: &Common) -> Result<(TierChoice, Profile), Failure> {
    let wrong = |name: &str, words: String| Failure::new(Kind::Usage, format_args!("{name}: {words}"));
    let tier = common.tier.map_or_else(TierChoice::of_environment, Ok);
    let profile = common.profile.map_or_else(Profile::of_environment, Ok);
    Ok((
        tier.map_err(|error| wrong(TierChoice::VARIABLE, error.to_string()))?,
        profile.map_err(|error| wrong(Profile::VARIABLE, error.to_string()))?,
    ))
}

/// The language of `--lang`, else of the environment, else English; and the names of `--names`.
pub(crate) fn locale(common: &Common) -> Result<Locale, Failure> {
    Ok(Locale {
        names: common.name_form.unwrap_or_default(),
        instances: common.instances,
        ..Locale::from(language(common)?)
    })
}

fn language(common: &Common) -> Result<Language, Failure> {
    if let Some(text) = &common.lang {
        return Language::parse(text).ok_or_else(|| {
            let words = format!("no language {text:?}: write en, ko, ja, ru, or a Windows code such as 012");
            Failure::new(Kind::Usage, words)
        });
    }
    Ok(language::of_locale())
}

/// Adds a path to a query. Reports on standard error if a shell had damaged the path.
pub(crate) fn add(query: &mut Query, text: &str) -> Result<CounterHandle, Failure> {
    Ok(try_add(query, text)?)
}

/// As [`add`], for a query of a log. Its errors name the commands that list the log.
pub(crate) fn add_of_log(query: &mut Query, text: &str) -> Result<CounterHandle, Failure> {
    try_add(query, text).map_err(|error| Failure::of_path(&error, Home::Log))
}

/// As [`add`], with the library's error.
pub(crate) fn try_add(query: &mut Query, text: &str) -> Result<CounterHandle, PathError> {
    let parsed = query.parse(text)?;
    let Some(repair) = parsed.repaired else { return query.add_or_await(text, &parsed.path) };
    if let Some(local) = without_host(query, &parsed.path) {
        return query.add_or_await(text, &local);
    }
    say(format_args!("{text}: {repair}"));
    query.add_or_await(text, &parsed.path)
}

/// Reads a path of three parts with one leading backslash as an object and a counter whose name contains a
/// backslash, instead of as a host path that lost a backslash. `None` if the first part is not an object.
fn without_host(query: &mut Query, path: &CounterPath) -> Option<CounterPath> {
    let machine = path.machine.as_deref()?;
    if machine.eq_ignore_ascii_case(query.system_name()) {
        return None;
    }
    let (machine, instance) = match machine.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((object, instance)) => (object, Some(InstancePath::parse(instance))),
        None => (machine, None),
    };
    let object = Part::parse(machine);
    query.object(machine, &object).ok()?;
    let object_and_counter = CounterPath { machine: None, ..path.clone() }.to_string();
    let counter = Part::parse(object_and_counter.strip_prefix('\\')?);
    Some(CounterPath { machine: None, object, instance, counter })
}

/// Adds the paths that can be added. Returns the failure for the others, `None` if there are none.
///
/// Each other path is reported on standard error, so that one mistake among good paths hides no value. If no
/// path can be added, the failure is the error, and has the message of the first path.
pub(crate) fn add_good(
    query: &mut Query,
    paths: &[String],
) -> Result<(Vec<CounterHandle>, Option<Failure>), Failure> {
    let mut handles = Vec::new();
    let mut failures = Vec::new();
    for path in paths {
        match add(query, path) {
            Ok(handle) => handles.push(handle),
            Err(failure) => failures.push(failure),
        }
    }
    let rest = rest_of(failures, !handles.is_empty())?;
    Ok((handles, rest))
}

/// Reports paths that cannot be added beside some that can (`is_any_good`), and returns the failure for the
/// end of the command. Without a good path, the first failure is the error.
pub(crate) fn rest_of(failures: Vec<Failure>, is_any_good: bool) -> Result<Option<Failure>, Failure> {
    let mut failures = failures.into_iter();
    let Some(first) = failures.next() else { return Ok(None) };
    if !is_any_good {
        failures.filter_map(|failure| failure.message).for_each(say);
        return Err(first);
    }
    first.message.into_iter().chain(failures.filter_map(|failure| failure.message)).for_each(say);
    Ok(Some(Failure::silent(Kind::NotFound)))
}
