//! Counter paths as people type them: damaged by a shell, mistyped, of another language.

use tallymon::core::path::{CounterPath, InstancePath, Part};
use tallymon::core::title::Language;
use tallymon::{CounterHandle, Location, PathError, PathPart, PathProblem, Query, open};

use crate::arguments::Common;
use crate::exit::{Failure, Kind};
use crate::words::{say, visible};

/// The source that the options name, as a query without paths yet.
pub(crate) fn query(common: &Common) -> Result<Query, Failure> {
    Ok(Query::new(open(&location(common))?, language(common)?)?)
}

/// Where counters come from by the options.
pub(crate) fn location(common: &Common) -> Location {
    match &common.file {
        Some(file) => Location::File(file.clone()),
        // What the environment says is in the options already.
        None => Location::Machine {
            tier: common.tier.unwrap_or_default(),
            profile: common.profile.unwrap_or_default(),
        },
    }
}

/// The language of the option, else of the environment, else English.
pub(crate) fn language(common: &Common) -> Result<Language, Failure> {
    if let Some(text) = &common.lang {
        return Language::parse(text).ok_or_else(|| {
            let words = format!("no language {text:?}: write en, ko, ja, ru, or a Windows code such as 012");
            Failure::new(Kind::Usage, words)
        });
    }
    let variables = ["LC_ALL", "LC_MESSAGES", "LANG"];
    let set = variables.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    // A locale such as C or one that nobody has texts for is English.
    Ok(set.and_then(|value| Language::parse(&value)).unwrap_or(Language::ENGLISH))
}

/// Adds a path, and says on standard error if a shell had damaged it.
pub(crate) fn add(query: &mut Query, text: &str) -> Result<CounterHandle, Failure> {
    let parsed = CounterPath::parse(text).map_err(|error| PathError::syntax(text, error))?;
    let Some(repair) = parsed.repaired else { return Ok(query.add_path(text, &parsed.path)?) };
    if let Some(local) = without_host(query, &parsed.path) {
        return Ok(query.add_path(text, &local)?);
    }
    say(format_args!("{text}: {repair}"));
    Ok(query.add_path(text, &parsed.path)?)
}

/// The reading of a path with one leading backslash and three parts in which nothing was lost: an object, and a counter
/// with a backslash in it. It is right when the first part is no host but an object.
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

/// Adds all paths; the first that can not be added is the failure.
pub(crate) fn add_all(query: &mut Query, paths: &[String]) -> Result<Vec<CounterHandle>, Failure> {
    paths.iter().map(|path| add(query, path)).collect()
}

/// The message of a path error with the path under it and the part at fault marked.
pub(crate) fn drawn(error: &PathError) -> String {
    let before = error.path.get(..error.span.start).unwrap_or_default();
    let part = error.path.get(error.span.clone()).unwrap_or_default();
    let width = |text: &str| unicode_width::UnicodeWidthStr::width(&*visible(text));
    let marks = "^".repeat(width(part).max(1));
    if let PathProblem::Source(_) = &error.problem {
        // The path is not at fault.
        return error.to_string();
    }
    let words = format!("{}{}", error.problem_words(), error.nearest_words());
    let hint = match (&error.problem, error.part) {
        (PathProblem::InstanceMissing(_), _) => {
            "\n  'tally list OBJECT --instances' names those that exist now"
        }
        (_, PathPart::Object) => {
            "\n  'tally list' names all objects, 'tally find WORD' searches them,\n  'tally provider check' tells why those of a library are missing"
        }
        (_, PathPart::Counter) => "\n  'tally list OBJECT' names all counters of an object",
        _ => "",
    };
    format!("{words}\n  {}\n  {}{marks}{hint}", visible(&error.path), " ".repeat(width(before)))
}
