//! `tally find`: counters by words in their names and help texts, in every language.

use std::io::{self, Write};

use serde_json::json;
use tallymon::core::title::{HelpIndex, Language, TitleIndex};
use tallymon::{Names, Query};

use crate::arguments::{Common, Find};
use crate::exit::{Failure, Kind};
use crate::log_hosts::LogHosts;
use crate::paths;
use crate::words::{line_width, wrap};

/// Where the help texts begin.
const INDENT: usize = 4;

pub(crate) fn run(common: &Common, find: &Find) -> Result<(), Failure> {
    let words: Vec<String> = find.words.iter().map(|word| word.to_lowercase()).collect();
    let mut hits = Vec::new();
    match LogHosts::of(common, &find.of_log)? {
        Some(mut log) => {
            for host in log.meant("").0 {
                add_hits(&mut host.query, &host.prefix, &words, &mut hits)?;
            }
        }
        None => add_hits(&mut paths::query(common)?, "", &words, &mut hits)?,
    }
    let mut out = io::stdout().lock();
    if find.json {
        let rows: Vec<_> = hits
            .iter()
            .map(|hit| json!({ "path": hit.path, "language": hit.language.code(), "help": hit.help }))
            .collect();
        writeln!(out, "{}", json!(rows))?;
    } else {
        for hit in &hits {
            writeln!(out, "{}", hit.path)?;
            if let Some(help) = &hit.help {
                for line in wrap(help, INDENT, line_width()) {
                    writeln!(out, "{:INDENT$}{line}", "")?;
                }
            }
        }
    }
    if hits.is_empty() {
        let words = find.words.join(" ");
        return Err(Failure::new(
            Kind::NotFound,
            format_args!("no counter has {words:?} in its names or help"),
        ));
    }
    Ok(())
}

struct Hit {
    path: String,
    language: Language,
    help: Option<String>,
}

/// Each counter once, in the language that the words were found in; `prefix` stands before its path.
fn add_hits(query: &mut Query, prefix: &str, words: &[String], hits: &mut Vec<Hit>) -> Result<(), Failure> {
    query.load_all_names()?;
    let names = query.names();
    for object in query.catalog().objects() {
        let instance = if object.has_instances { "(*)" } else { "" };
        for counter in object.visible_counters() {
            let Some(language) = language(names, object.name, counter.name, counter.help, words) else {
                continue;
            };
            let name = |index: TitleIndex| {
                let found = names.all(index).find(|(known, _)| *known == language);
                found.map_or_else(|| names.english(index), |(_, name)| name.to_string())
            };
            // Who searched in a language reads it.
            let help = names.all_help(counter.help).find(|(known, _)| *known == language);
            let help = help.map(|(_, text)| text.to_string());
            hits.push(Hit {
                path: format!("{prefix}\\{}{instance}\\{}", name(object.name), name(counter.name)),
                language,
                help: help.or_else(|| names.help(counter.help).map(str::to_string)),
            });
        }
    }
    Ok(())
}

/// The first language in which every word occurs in the object's name, the counter's name or its help text.
fn language(
    names: &Names,
    object: TitleIndex,
    counter: TitleIndex,
    help: HelpIndex,
    words: &[String],
) -> Option<Language> {
    names.all(counter).map(|(language, _)| language).find(|language| {
        let own = |texts: &mut dyn Iterator<Item = (Language, &str)>| {
            texts
                .filter(|(known, _)| known == language)
                .map(|(_, text)| text.to_lowercase())
                .collect::<String>()
        };
        let text =
            [own(&mut names.all(object)), own(&mut names.all(counter)), own(&mut names.all_help(help))]
                .join("\n");
        words.iter().all(|word| text.contains(word))
    })
}
