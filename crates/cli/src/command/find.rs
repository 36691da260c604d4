//! `tally find`: finds counters by words, in every language.

use std::io::Write;

use serde_json::json;
use tallymon::core::title::Language;
use tallymon::{Query, search};

use crate::arguments::{Common, Find, Naming};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::hosts::{self, Outcome};
use crate::log_hosts::LogHosts;
use crate::words::{line_width, visible, wrap};

/// Columns before a help text.
const INDENT: usize = 4;

pub(crate) fn run(common: &Common, find: &Find) -> Result<(), Failure> {
    let text = find.words.join(" ");
    if text.trim().is_empty() {
        let words = "no word to search for was given; 'tally list' lists all objects";
        return Err(Failure::new(Kind::Usage, words));
    }
    let mut hits = Vec::new();
    let mut outcome = Outcome::default();
    match LogHosts::of(common, &find.of_log, Naming::default())? {
        Some(mut log) => {
            for host in log.meant("").0 {
                add_hits(&mut host.query, &host.prefix, &text, &mut hits)?;
            }
        }
        None => {
            let hosts = hosts::of_paths(common, &[])?;
            let is_one = hosts.len() == 1;
            let (mut open, found) = hosts::open_all(common, hosts)?;
            for host in &mut open {
                // A search means all counters, so it starts all libraries.
                host.query.define_registered()?;
                let prefix = if is_one { "" } else { &host.prefix };
                add_hits(&mut host.query, prefix, &text, &mut hits)?;
            }
            outcome = found;
            if open.is_empty() {
                return outcome.result();
            }
        }
    }
    let mut out = border::stdout();
    if find.json {
        let rows: Vec<_> = hits
            .iter()
            .map(|hit| json!({ "path": hit.path, "language": hit.language.code(), "help": hit.help }))
            .collect();
        writeln!(out, "{}", border::json(&json!(rows)))?;
    } else {
        for hit in &hits {
            writeln!(out, "{}", visible(&hit.path))?;
            if let Some(help) = &hit.help {
                for line in wrap(&visible(help), INDENT, line_width()) {
                    writeln!(out, "{:INDENT$}{line}", "")?;
                }
            }
        }
    }
    if hits.is_empty() {
        return Err(Failure::new(
            Kind::NotFound,
            format_args!("no counter name or help text contains {text:?}"),
        ));
    }
    outcome.result()
}

struct Hit {
    path: String,
    language: Language,
    help: Option<String>,
}

/// Appends the counters that match, best first. `prefix` is the host part of their paths.
fn add_hits(query: &mut Query, prefix: &str, text: &str, hits: &mut Vec<Hit>) -> Result<(), Failure> {
    let mut found = search(query.names(), query.catalog(), text);
    if found.is_empty() {
        query.load_all_names()?;
        found = search(query.names(), query.catalog(), text);
    }
    let (names, catalog) = (query.names(), query.catalog());
    for hit in &found {
        let counter = catalog.object(hit.object).and_then(|object| object.counter(hit.counter));
        // Show the help in the language in which the search matched.
        let help = counter.and_then(|counter| {
            let mut texts = names.all_help(counter.help);
            let own = texts.find(|(language, _)| *language == hit.language).map(|(_, text)| text);
            own.or_else(|| names.help(counter.help)).map(str::to_string)
        });
        hits.push(Hit { path: format!("{prefix}{}", query.path_of(hit)), language: hit.language, help });
    }
    Ok(())
}
