//! Candidates for counter paths: first objects, then instances, then counters.

use std::path::PathBuf;

use tallymon::core::title::TitleIndex;
use tallymon::{CatalogObject, Query};

use super::line::WordPosition;
use super::{Answer, Candidate};
use crate::arguments::{Common, Naming, OfLog};
use crate::log_hosts::LogHosts;
use crate::paths;

/// The parts of a path that a user has typed so far.
#[derive(Debug, PartialEq, Eq)]
struct Typed<'t> {
    /// `\\HOST` or `//HOST`; empty without a host.
    host: &'t str,
    /// What stands between the parts: `\` or `/`.
    separator: char,
    object: &'t str,
    /// The instance, once its bracket is open, and whether the bracket is closed.
    instance: Option<(&'t str, bool)>,
    /// The counter, once its separator is there.
    counter: Option<&'t str>,
}

impl Typed<'_> {
    fn parse(text: &str) -> Typed<'_> {
        let separator = if text.starts_with('/') { '/' } else { '\\' };
        let double = if separator == '/' { "//" } else { "\\\\" };
        let host = match text.strip_prefix(double).and_then(|rest| rest.find(separator)) {
            Some(end) => text.get(..end.saturating_add(2)).unwrap_or_default(),
            None => "",
        };
        let rest = text.strip_prefix(host).unwrap_or(text);
        let rest = rest.strip_prefix(separator).unwrap_or(rest).trim_start_matches(separator);
        let none = Typed { host, separator, object: rest, instance: None, counter: None };
        // A counter has brackets too: "% C1 Time (ACPI)". The instance's bracket comes before a separator.
        let bracket = rest.find('(').filter(|at| rest.find(separator).is_none_or(|end| *at < end));
        let Some(bracket) = bracket else {
            return match rest.split_once(separator) {
                Some((object, counter)) => Typed { object, counter: Some(counter), ..none },
                None => none,
            };
        };
        let (object, inside) = rest.split_at(bracket);
        let inside = inside.get(1..).unwrap_or_default();
        let end = format!("){separator}");
        match (inside.rsplit_once(end.as_str()), inside.strip_suffix(')')) {
            (Some((instance, counter)), _) => {
                Typed { object, instance: Some((instance, true)), counter: Some(counter), ..none }
            }
            (None, Some(instance)) => Typed { object, instance: Some((instance, true)), ..none },
            (None, None) => Typed { object, instance: Some((inside, false)), ..none },
        }
    }

    /// The text of a path with this host and these separators.
    fn path(&self, object: &str, instance: Option<&str>, counter: Option<&str>) -> String {
        let separator = self.separator;
        let mut text = format!("{}{separator}{object}", self.host);
        if let Some(instance) = instance {
            text.push_str(&format!("({instance})"));
        }
        match counter {
            Some(counter) => text.push_str(&format!("{separator}{counter}")),
            None => text.push(separator),
        }
        text
    }
}

/// Paths that begin with what is typed.
pub(super) fn answer(common: &Common, place: &WordPosition<'_>, logs: &[PathBuf]) -> Answer {
    let mut all = Parts::default();
    each_query(common, place, logs, |query| all.add(query, &Typed::parse(place.typed)));
    match all.parts.is_empty() {
        true => Answer::Words(all.whole),
        false => Answer::Parts(all.parts),
    }
}

/// Names of objects.
pub(super) fn objects(common: &Common, place: &WordPosition<'_>, logs: &[PathBuf]) -> Answer {
    let mut all = Vec::new();
    each_query(common, place, logs, |query| {
        for object in matching(query, place.typed) {
            let name = query.names().name(object.name);
            all.push(Candidate::new(name, about(query.names().help(object.help))));
        }
    });
    all.sort_by(|one, other| one.text.cmp(&other.text));
    all.dedup_by(|one, other| one.text == other.text);
    Answer::Words(all)
}

/// Calls a function with the query of each host: of the log, or of this machine. Hosts that cannot be read
/// have no candidates.
fn each_query(common: &Common, place: &WordPosition<'_>, logs: &[PathBuf], mut act: impl FnMut(&mut Query)) {
    let common = Common {
        instances: Default::default(),
        lang: place.value("lang").map(str::to_string).or_else(|| common.lang.clone()),
        file: place.value("file").map(PathBuf::from).or_else(|| common.file.clone()),
        name_form: common.name_form,
        tier: common.tier,
        profile: common.profile,
        // Other machines are not asked while somebody types.
        host: Vec::new(),
        timeout: None,
    };
    if logs.is_empty() {
        if let Ok(mut query) = paths::query(&common) {
            act(&mut query);
        }
        return;
    }
    let of_log = OfLog { log: logs.to_vec(), ..OfLog::default() };
    if let Ok(Some(mut hosts)) = LogHosts::of(&common, &of_log, Naming::default()) {
        hosts.meant("").0.for_each(|host| act(&mut host.query));
    }
}

/// The objects whose names begin with a text, in upper or lower case, in the shown language or in English.
fn matching<'q>(query: &'q Query, typed: &str) -> Vec<&'q CatalogObject> {
    let names = query.names();
    let begins = |object: &&CatalogObject| {
        begins_with(&names.name(object.name), typed) || begins_with(&names.english(object.name), typed)
    };
    query.catalog().objects().iter().filter(begins).collect()
}

fn begins_with(name: &str, typed: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    typed.chars().flat_map(char::to_lowercase).all(|letter| letters.next() == Some(letter))
}

/// The first sentence of a help text.
fn about(help: Option<&str>) -> String {
    let help = help.unwrap_or_default();
    help.split_once(". ").map_or(help.trim_end_matches('.'), |(first, _)| first).to_string()
}

/// Candidates of all hosts.
#[derive(Default)]
struct Parts {
    /// Beginnings of paths.
    parts: Vec<Candidate>,
    /// Whole paths.
    whole: Vec<Candidate>,
}

impl Parts {
    /// Adds the candidates of one host.
    fn add(&mut self, query: &mut Query, typed: &Typed<'_>) {
        if typed.instance.is_none() && typed.counter.is_none() {
            let found: Vec<(TitleIndex, bool)> = matching(query, typed.object)
                .iter()
                .map(|object| (object.name, object.has_instances))
                .collect();
            // A single one goes on: some shells put a blank behind a single candidate, and nobody wants to
            // press a key for it.
            if let [(object, has_instances)] = found.as_slice() {
                return if *has_instances {
                    self.instances(query, typed, *object, "");
                } else {
                    self.counters(query, typed, *object, None, "");
                };
            }
            for (object, has_instances) in found {
                let mut text = typed.path(&query.names().name(object), None, None);
                if has_instances {
                    text.pop();
                    text.push('(');
                }
                let help = query.catalog().object(object).and_then(|object| query.names().help(object.help));
                let about = about(help);
                self.part(Candidate::new(text, about));
            }
            return;
        }
        let wanted = typed.object.to_lowercase();
        let is_named = |object: &&CatalogObject| {
            let name = |name: String| name.to_lowercase() == wanted;
            name(query.names().name(object.name))
                || name(query.names().english(object.name))
                || object.name.0.to_string() == wanted
        };
        let Some(object) = query.catalog().objects().iter().find(is_named).map(|object| object.name) else {
            return;
        };
        match (typed.instance, typed.counter) {
            (instance, Some(counter)) => {
                self.counters(query, typed, object, instance.map(|(instance, _)| instance), counter);
            }
            (Some((instance, true)), None) => self.counters(query, typed, object, Some(instance), ""),
            (Some((instance, false)), None) => self.instances(query, typed, object, instance),
            (None, None) => (),
        }
    }

    fn instances(&mut self, query: &mut Query, typed: &Typed<'_>, object: TitleIndex, begin: &str) {
        let name = query.names().name(object);
        let mut instances: Vec<String> =
            query.instances(object).unwrap_or_default().iter().map(ToString::to_string).collect();
        instances.push("*".to_string());
        instances.retain(|instance| begins_with(instance, begin));
        instances.sort_unstable();
        instances.dedup();
        if let [only] = instances.as_slice() {
            return self.counters(query, typed, object, Some(only), "");
        }
        for instance in instances {
            let about = if instance == "*" { "all instances" } else { "" };
            self.part(Candidate::new(typed.path(&name, Some(&instance), None), about));
        }
    }

    fn counters(
        &mut self,
        query: &Query,
        typed: &Typed<'_>,
        object: TitleIndex,
        instance: Option<&str>,
        begin: &str,
    ) {
        let names = query.names();
        let Some(known) = query.catalog().object(object) else { return };
        for counter in known.visible_counters() {
            let name = names.name(counter.name);
            if begins_with(&name, begin) || begins_with(&names.english(counter.name), begin) {
                let text = typed.path(&names.name(object), instance, Some(&name));
                let candidate = Candidate::new(text, about(names.help(counter.help)));
                if !self.whole.contains(&candidate) {
                    self.whole.push(candidate);
                }
            }
        }
    }

    fn part(&mut self, candidate: Candidate) {
        if !self.parts.contains(&candidate) {
            self.parts.push(candidate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart_at_every_length() {
        for (text, host, object, instance, counter) in [
            ("", "", "", None, None),
            (r"\", "", "", None, None),
            ("Proc", "", "Proc", None, None),
            (r"\Proc", "", "Proc", None, None),
            (r"\Memory\Av", "", "Memory", None, Some("Av")),
            (r"\Process(", "", "Process", Some(("", false)), None),
            (r"\Process(a(b)", "", "Process", Some(("a(b", true)), None),
            (r"\Process(a)\% P", "", "Process", Some(("a", true)), Some("% P")),
            (r"\Process(a\b)\", "", "Process", Some((r"a\b", true)), Some("")),
            (r"\Memory\% C1 (ACPI", "", "Memory", None, Some("% C1 (ACPI")),
            (r"\\web1\Memory\", r"\\web1", "Memory", None, Some("")),
            ("//./LogicalDisk(/var", "//.", "LogicalDisk", Some(("/var", false)), None),
            ("//./LogicalDisk(/var/log)/Fr", "//.", "LogicalDisk", Some(("/var/log", true)), Some("Fr")),
        ] {
            let separator = if text.starts_with('/') { '/' } else { '\\' };
            let wanted = Typed { host, separator, object, instance, counter };
            assert_eq!(Typed::parse(text), wanted, "{text}");
        }
    }
}
