//! `tally list`: lists objects, or the counters or instances of one object.

use std::io::Write;

use serde_json::{Value as Json, json};
use tallymon::core::path::Part;
use tallymon::core::title::TitleIndex;
use tallymon::{CatalogObject, Query};
use unicode_width::UnicodeWidthStr;

use crate::arguments::{Common, List};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::hosts;
use crate::log_hosts::LogHosts;
use crate::paths;
use crate::words::{WIDEST_COLUMN, say, terminal_width, visible};

pub(crate) fn run(common: &Common, list: &List) -> Result<(), Failure> {
    let common = &Common { instances: list.naming().live(), ..common.clone() };
    if let Some(mut log) = LogHosts::at(common, &list.of_log, &list.time, list.naming())? {
        if list.time.at.is_some() {
            let time = log.collect()?;
            log.say_record(time, &list.time);
        }
        let (hosts, wanted) = log.meant(list.object.as_deref().unwrap_or_default());
        return each(hosts.map(|host| (host.prefix.as_str(), &mut host.query)), wanted, list);
    }
    let wanted = list.object.as_deref().unwrap_or_default();
    let mut hosts = hosts::of_paths(common, list.object.as_slice())?;
    if common.host.is_empty() || wanted.starts_with("\\\\") || wanted.starts_with("//") {
        // Only the host of the object is meant.
        hosts.retain(|host| !host.paths.is_empty() || wanted.is_empty());
    }
    let wanted = hosts::split(wanted).1;
    if hosts.len() > 1 {
        let (mut open, outcome) = hosts::open_all(common, hosts)?;
        if !open.is_empty() {
            each(open.iter_mut().map(|host| (host.prefix.as_str(), &mut host.query)), wanted, list)?;
        }
        return outcome.result();
    }
    let location = hosts.pop().map_or_else(|| paths::here(common), |host| Ok(host.location))?;
    each(std::iter::once(("", &mut paths::query_at(common, &location)?)), wanted, list)
}

/// Lists what each host has; `prefix` is the host part of its paths. An empty `wanted` means all objects. A
/// host without the object is skipped if another host has it.
fn each<'q>(
    hosts: impl Iterator<Item = (&'q str, &'q mut Query)>,
    wanted: &str,
    list: &List,
) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut result = Err(None);
    for (prefix, query) in hosts {
        if wanted.is_empty() {
            objects(prefix, query, list.json, &mut rows)?;
            result = Ok(());
            continue;
        }
        let name = match object(query, wanted) {
            Ok(name) => name,
            Err(failure) => {
                result = result.map_err(|first: Option<Failure>| first.or(Some(failure)));
                continue;
            }
        };
        result = Ok(());
        match list.instances.is_some() {
            true => instances(prefix, query, name, list.json, &mut rows)?,
            false => counters(prefix, query, name, list.json, &mut rows)?,
        }
    }
    if list.json && result.is_ok() {
        writeln!(border::stdout(), "{}", border::json(&json!(rows)))?;
    }
    result.map_err(|failure| failure.unwrap_or_else(|| Failure::new(Kind::NotFound, "there is no host")))
}

fn objects(prefix: &str, query: &Query, as_json: bool, all: &mut Vec<Json>) -> Result<(), Failure> {
    let mut objects: Vec<(String, &CatalogObject)> =
        query.catalog().objects().iter().map(|object| (query.names().name(object.name), object)).collect();
    objects.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out = border::stdout();
    let mut registered = registered(query);
    if as_json {
        all.extend(objects.iter().map(|(name, object)| {
            json!({
                "name": format!("{}{name}", before(prefix)),
                "english": query.names().english(object.name),
                "index": object.name.0,
                "counters": object.visible_counters().count(),
                "instances": object.has_instances,
                "costly": object.costly,
                "help": query.names().help(object.help),
            })
        }));
        all.extend(registered.iter().map(|(name, object)| {
            json!({
                "name": format!("{}{name}", before(prefix)),
                "english": query.names().english(*object),
                "index": object.0,
                "registered": true,
                "trouble": query.trouble_of(*object),
            })
        }));
        return Ok(());
    }
    let names = objects.iter_mut().map(|(name, _)| name).chain(registered.iter_mut().map(|(name, _)| name));
    for name in names {
        *name = visible(name).into_owned();
    }
    let all_names = objects.iter().map(|(name, _)| name).chain(registered.iter().map(|(name, _)| name));
    let width = all_names.map(|name| name.width()).max().unwrap_or(0).min(WIDEST_COLUMN);
    let indexes = objects.iter().map(|(_, object)| object.name);
    let digits = digits(indexes.chain(registered.iter().map(|(_, object)| *object)));
    for (name, object) in objects {
        let counters = object.visible_counters().count();
        let kind = if object.has_instances { "instances" } else { "" };
        let gap = " ".repeat(width.saturating_sub(name.width()));
        let line = format!(
            "{}{name}{gap}  {:>digits$}  {counters:>3} counters  {kind}",
            visible(&before(prefix)),
            object.name.0
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    for (name, object) in registered {
        let gap = " ".repeat(width.saturating_sub(name.width()));
        let state = query.trouble_of(object).unwrap_or_else(|| "registered".to_string());
        writeln!(out, "{}{name}{gap}  {:>digits$}  {}", before(prefix), object.0, visible(&state))?;
    }
    for service in &query.catalog().registered().unlisted {
        say(format_args!(
            "service {0} does not list its objects ([objects] in its INI file); 'tally provider check {0}' \
             loads its library and lists them",
            service.service
        ));
    }
    Ok(())
}

/// Name and index of the objects that libraries have registered, sorted by name. No library is started to
/// list them, so their counters are not known.
fn registered(query: &Query) -> Vec<(String, TitleIndex)> {
    let catalog = query.catalog();
    let listed = catalog.registered().listed.iter().filter(|object| catalog.object(**object).is_none());
    let mut registered: Vec<(String, TitleIndex)> =
        listed.map(|object| (query.names().name(*object), *object)).collect();
    registered.sort();
    registered
}

/// The host before the name of an object; empty if there is only one host.
fn before(prefix: &str) -> String {
    if prefix.is_empty() { String::new() } else { format!("{prefix}\\") }
}

fn counters(
    prefix: &str,
    query: &Query,
    name: TitleIndex,
    as_json: bool,
    all: &mut Vec<Json>,
) -> Result<(), Failure> {
    let Some(object) = query.catalog().object(name) else { return Ok(()) };
    let object_name = query.names().name(name);
    let instance = if object.has_instances { "(*)" } else { "" };
    let mut rows: Vec<(String, &_)> = object
        .visible_counters()
        .map(|counter| {
            (format!("{prefix}\\{object_name}{instance}\\{}", query.names().name(counter.name)), counter)
        })
        .collect();
    let mut out = border::stdout();
    if as_json {
        all.extend(rows.iter().map(|(path, counter)| {
            json!({
                "path": path,
                "english": query.names().english(counter.name),
                "index": counter.name.0,
                "type": counter.counter_type.to_string(),
                "unit": counter.counter_type.suffix().as_str(),
                "scale": counter.default_scale,
                "detail": counter.detail_level.name(),
                "help": query.names().help(counter.help),
            })
        }));
        return Ok(());
    }
    for (path, _) in &mut rows {
        *path = visible(path).into_owned();
    }
    let width = rows.iter().map(|(path, _)| path.width()).max().unwrap_or(0).min(WIDEST_COLUMN);
    let digits = digits(rows.iter().map(|(_, counter)| counter.name));
    let lines: Vec<(String, String)> = rows
        .iter()
        .map(|(path, counter)| {
            let gap = " ".repeat(width.saturating_sub(path.width()));
            let unit = counter.counter_type.suffix().as_str();
            (format!("{path}{gap}  {:>digits$}  {unit:5}", counter.name.0), counter.counter_type.to_string())
        })
        .collect();
    // Leave out the types if the terminal is too narrow for them; 'tally explain' shows them.
    let widest = lines.iter().map(|(line, name)| line.width() + 2 + name.width()).max().unwrap_or(0);
    let with_types = terminal_width().is_none_or(|columns| widest <= columns);
    for (line, name) in lines {
        let name = if with_types { name.as_str() } else { "" };
        writeln!(out, "{}", format!("{line}  {name}").trim_end())?;
    }
    Ok(())
}

/// The width of a column of indexes.
fn digits(indexes: impl Iterator<Item = TitleIndex>) -> usize {
    indexes.map(|index| index.0.to_string().len()).max().unwrap_or(0)
}

fn instances(
    prefix: &str,
    query: &mut Query,
    name: TitleIndex,
    as_json: bool,
    all: &mut Vec<Json>,
) -> Result<(), Failure> {
    let object_name = query.names().name(name);
    if query.catalog().object(name).is_some_and(|object| !object.has_instances) {
        return Err(Failure::new(Kind::Usage, format_args!("{object_name} has no instances")));
    }
    let keys = query.instances(name)?;
    let mut out = border::stdout();
    if as_json {
        all.extend(keys.iter().map(|key| {
            json!({
                "instance": key.to_string(), "name": key.name, "parent": key.parent, "number": key.number,
            })
        }));
        return Ok(());
    }
    for key in keys {
        writeln!(out, "{}", visible(&format!("{prefix}\\{object_name}({key})")))?;
    }
    Ok(())
}

/// Finds the object that an argument names, with or without a backslash or an instance.
fn object(query: &mut Query, wanted: &str) -> Result<TitleIndex, Failure> {
    let trimmed = wanted.trim_matches(|letter| letter == '\\' || letter == '/');
    let text = trimmed.strip_suffix("(*)").unwrap_or(trimmed);
    query.object(wanted, &Part::parse(text)).map_err(Failure::from)
}
