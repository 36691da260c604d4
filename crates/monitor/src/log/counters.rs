//! The counters that a log is opened with.

use tallymon::core::flow::SourceError;
use tallymon::core::path::CounterPath;
use tallymon::core::title::Language;
use tallymon::{Log, Query};

/// How many counters a log is opened with when it has none of those that were asked for.
const MOST_OF_LOG: usize = 8;

/// How many hosts of several logs are shown at first.
const MOST_HOSTS: usize = 8;

/// What a log is opened with when nobody says which counters: those of some paths that it has; else the first counters of
/// its first objects.
///
/// # Errors
///
/// The names of the counters can not be read.
pub fn usual_of_log(log: &Log, language: Language, paths: &[&str]) -> Result<Vec<String>, SourceError> {
    let mut all = Vec::new();
    for host in hosts_of(log) {
        let mut query = Query::new(Box::new(host.source()), language)?;
        let usual = usual_of_host(&mut query, paths);
        all.extend(usual.into_iter().map(|path| path_of(log, &host, &path)));
    }
    Ok(all)
}

/// Paths as they are meant of a log: of several logs, one without a host means all hosts that have it.
///
/// # Errors
///
/// The names of the counters can not be read.
pub fn meant_of_log(log: &Log, language: Language, paths: &[String]) -> Result<Vec<String>, SourceError> {
    let mut all = Vec::new();
    for path in paths {
        let mut found = Vec::new();
        if CounterPath::parse(path).is_ok_and(|parsed| parsed.path.machine.is_none()) {
            for host in hosts_of(log) {
                let mut query = Query::new(Box::new(host.source()), language)?;
                if query.add(path).is_ok() {
                    found.push(path_of(log, &host, path));
                }
            }
        }
        // What nobody has is shown as such.
        if found.is_empty() {
            found.push(path.clone());
        }
        all.append(&mut found);
    }
    Ok(all)
}

/// The hosts that are shown at first: of one log its first one, of several logs all.
fn hosts_of(log: &Log) -> Vec<Log> {
    if log.parts().len() > 1 {
        log.summary().hosts.iter().take(MOST_HOSTS).filter_map(|host| log.of_host(host)).collect()
    } else {
        vec![log.clone()]
    }
}

/// A path of a host of a log; that of the first has no host in it.
fn path_of(log: &Log, host: &Log, path: &str) -> String {
    if host.host() == log.host() { path.to_string() } else { format!("\\\\{}{path}", host.host()) }
}

fn usual_of_host(query: &mut Query, paths: &[&str]) -> Vec<String> {
    let has = |query: &mut Query, path: &str| {
        let parsed = CounterPath::parse(path).ok()?.path;
        let object = query.object(path, &parsed.object).ok()?;
        let names = query.names();
        let counters = query.catalog().object(object)?.visible_counters();
        counters.map(|counter| counter.name).find(|name| names.is(*name, &parsed.counter.to_string()))
    };
    let usual: Vec<String> =
        paths.iter().filter(|path| has(query, path).is_some()).map(|path| path.to_string()).collect();
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
