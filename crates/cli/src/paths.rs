//! Counter paths as people type them: damaged by a shell, mistyped, of another language.

use tallymon::core::path::CounterPath;
use tallymon::core::title::Language;
use tallymon::{CounterHandle, Location, PathError, PathPart, PathProblem, Query, open};

use crate::arguments::Common;
use crate::exit::{Failure, Kind};
use crate::words::say;

/// The source that the options name, as a query without paths yet.
pub(crate) fn query(common: &Common) -> Result<Query, Failure> {
    Ok(Query::new(open(&location(common))?, language(common)?)?)
}

/// Where counters come from by the options.
pub(crate) fn location(common: &Common) -> Location {
    common.file.clone().map_or(Location::Local, Location::File)
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
    if let Some(repair) = parsed.repaired {
        say(format_args!("{text}: {repair}"));
    }
    Ok(query.add_path(text, &parsed.path)?)
}

/// Adds all paths; the first that can not be added is the failure.
pub(crate) fn add_all(query: &mut Query, paths: &[String]) -> Result<Vec<CounterHandle>, Failure> {
    paths.iter().map(|path| add(query, path)).collect()
}

/// The message of a path error with the path under it and the part at fault marked.
pub(crate) fn drawn(error: &PathError) -> String {
    let before = error.path.get(..error.span.start).unwrap_or_default();
    let part = error.path.get(error.span.clone()).unwrap_or_default();
    let width = |text: &str| unicode_width::UnicodeWidthStr::width(text);
    let marks = "^".repeat(width(part).max(1));
    let mut words = String::new();
    match &error.problem {
        PathProblem::Syntax(needed) => words.push_str(needed),
        PathProblem::Unknown(text) => words.push_str(&format!("no {} {text:?}", error.part.word())),
        PathProblem::OtherHost(host) => {
            words.push_str(&format!(
                "only this host, {host:?}, can be read; leave the host out or run tally there"
            ));
        }
        _ => return error.to_string(),
    }
    if let Some((best, rest)) = error.nearest.split_first() {
        words.push_str(&format!("; did you mean {best:?}"));
        for other in rest {
            words.push_str(&format!(", {other:?}"));
        }
        words.push('?');
    }
    let hint = match error.part {
        PathPart::Object => "\n  'tally list' names all objects, 'tally find WORD' searches them",
        PathPart::Counter => "\n  'tally list OBJECT' names all counters of an object",
        _ => "",
    };
    format!("{words}\n  {}\n  {}{marks}{hint}", error.path, " ".repeat(width(before)))
}
