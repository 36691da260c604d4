//! The counters that a log is opened with.

use tallymon::core::flow::SourceError;
use tallymon::core::path::CounterPath;
use tallymon::{Locale, Log, Query};

/// How many counters to show of a log that has none of the wanted ones.
const MOST_OF_LOG: usize = 8;

/// How many instances to show of an object that has none of the wanted name.
const MOST_OF_OBJECT: usize = 4;

/// How many hosts of several logs to show at first.
const MOST_HOSTS: usize = 8;

/// The counters to show of a log: those of the given paths that it has, else the first counter of each of its
/// first objects.
///
/// # Errors
///
/// The names of the counters cannot be read.
pub fn usual_of_log(log: &Log, locale: Locale, paths: &[&str]) -> Result<Vec<String>, SourceError> {
    let mut all = Vec::new();
    for host in hosts_of(log) {
        let mut query = Query::new(Box::new(host.source()), locale)?;
        let usual = usual_of_host(&mut query, paths);
        all.extend(usual.into_iter().map(|path| path_of(log, &host, &path)));
    }
    Ok(all)
}

/// Paths for a log: in several logs a path without a host means every host that has it.
///
/// # Errors
///
/// The names of the counters cannot be read.
pub fn meant_of_log(log: &Log, locale: Locale, paths: &[String]) -> Result<Vec<String>, SourceError> {
    let mut all = Vec::new();
    for path in paths {
        let mut found = Vec::new();
        if CounterPath::of_text(path).is_ok_and(|parsed| parsed.machine.is_none()) {
            for host in hosts_of(log) {
                let mut query = Query::new(Box::new(host.source()), locale)?;
                if query.add(path).is_ok() {
                    found.push(path_of(log, &host, path));
                }
            }
        }
        // A path that no host has is shown as an error.
        if found.is_empty() {
            found.push(path.clone());
        }
        all.append(&mut found);
    }
    Ok(all)
}

/// The hosts to show at first: the first one of a single log, all of several logs.
fn hosts_of(log: &Log) -> Vec<Log> {
    if log.parts().len() > 1 {
        log.summary().hosts.iter().take(MOST_HOSTS).filter_map(|host| log.of_host(host)).collect()
    } else {
        vec![log.clone()]
    }
}

/// A path of a host; paths of the first host have no host in them.
fn path_of(log: &Log, host: &Log, path: &str) -> String {
    if host.host() == log.host() { path.to_string() } else { format!("\\\\{}{path}", host.host()) }
}

/// As [`usual_of_log`], of every host of the log: the first counter of each of them, then the second one of
/// each.
///
/// # Errors
///
/// As [`usual_of_log`].
pub fn usual_of_all_hosts(log: &Log, locale: Locale, paths: &[&str]) -> Result<Vec<String>, SourceError> {
    let mut by_host = Vec::new();
    for host in log.summary().hosts.iter().filter_map(|name| log.of_host(name)) {
        let mut query = Query::new(Box::new(host.source()), locale)?;
        let usual = usual_of_host(&mut query, paths);
        by_host
            .push(usual.into_iter().map(|path| path_of(log, &host, &path)).collect::<Vec<_>>().into_iter());
    }
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(by_host.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return Ok(all);
        }
    }
}

/// A wanted path, if the source has its counter. If it has not the instance, such as `_Total`, the first ones
/// that it has.
fn usual_path(query: &mut Query, path: &str) -> Vec<String> {
    let Ok(parsed) = CounterPath::parse(path) else { return Vec::new() };
    let parsed = parsed.path;
    let Ok(object) = query.object(path, &parsed.object) else { return Vec::new() };
    let names = query.names();
    let counter = parsed.counter.to_string();
    let known = query.catalog().object(object);
    if !known.is_some_and(|object| object.visible_counters().any(|one| names.is(one.name, &counter))) {
        return Vec::new();
    }
    let Some(wanted) = parsed.instance.as_ref().filter(|wanted| !wanted.is_wild()) else {
        return vec![path.to_string()];
    };
    let keys = query.instances(object).unwrap_or_default();
    if keys.iter().any(|key| key.to_string().eq_ignore_ascii_case(&wanted.to_string())) {
        return vec![path.to_string()];
    }
    let paths = keys.iter().take(MOST_OF_OBJECT).map(|key| format!("\\{}({key})\\{counter}", parsed.object));
    paths.collect()
}

fn usual_of_host(query: &mut Query, paths: &[&str]) -> Vec<String> {
    let usual: Vec<String> = paths.iter().flat_map(|path| usual_path(query, path)).collect();
    if !usual.is_empty() {
        return usual;
    }
    let objects = query.catalog().objects().to_vec();
    let mut paths = Vec::new();
    for object in objects.iter().take(MOST_OF_LOG) {
        let Some(counter) = object.visible_counters().next().map(|counter| counter.name) else { continue };
        let names = query.names();
        let (name, counter) = (names.english(object.name), names.english(counter));
        let instance = match object.has_instances {
            false => String::new(),
            true => {
                let keys = query.instances(object.name).unwrap_or_default();
                let total = keys.iter().find(|key| key.name == "_Total").or(keys.first());
                let Some(key) = total else { continue };
                format!("({key})")
            }
        };
        paths.push(format!("\\{name}{instance}\\{counter}"));
    }
    paths
}
