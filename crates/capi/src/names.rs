//! Listing what a machine or a log has: objects, counters, instances; and names by index.

use tallymon::core::path::InstanceIndex;
use tallymon::core::title::TitleIndex;
use tallymon::log::Column;
use tallymon::{CatalogObject, Query};

use crate::logs::SourceParameter;
use crate::machine;
use crate::memory::{Buf, Letter, Out, Str};
use crate::other_hosts;
use crate::status::{self, Done, Status};
use crate::text::{put, put_list, room};

/// The bits of a detail level; the bit above them includes costly objects.
const DETAIL_MASK: u32 = 0xFFFF;
const DETAIL_COSTLY: u32 = 0x1_0000;

pub(crate) fn machines<L: Letter>(source: impl SourceParameter, list: Buf<L>, size: Out<u32>) -> Done {
    room(list, size)?;
    let names = match source.source()?.contents()? {
        Some(log) => {
            distinct(log.columns().iter().filter_map(|column| column.parts.as_ref()?.machine.as_deref()))
        }
        None => {
            let here = machine::browse(false, |query| Ok(query.system_name().to_string()))?;
            std::iter::once(here).chain(other_hosts::connected()).collect()
        }
    };
    let written: Vec<String> = names.iter().map(|name| format!("\\\\{name}")).collect();
    put_list(&written, list, size)
}

pub(crate) fn objects<L: Letter>(
    source: impl SourceParameter,
    machine: Str<L>,
    list: Buf<L>,
    size: Out<u32>,
    detail: u32,
    refresh: i32,
) -> Done {
    room(list, size)?;
    let names = match source.source()?.contents()? {
        Some(log) => {
            let of = of_machine(log.columns(), machine.get());
            distinct(of.iter().filter_map(|column| column.parts.as_ref()?.object.name()))
        }
        None => {
            other_hosts::browse(machine.get().as_deref(), refresh != 0, |query| {
                let objects = query.catalog().objects().iter().filter(|object| {
                    object.detail_level.0 <= detail & DETAIL_MASK
                        && (!object.costly || detail & DETAIL_COSTLY != 0)
                });
                let listed = query.catalog().registered().listed.iter().copied();
                let unknown = listed.filter(|object| query.catalog().object(*object).is_none());
                // No library is started to list its objects; their detail levels are not known yet.
                let all = objects.map(|object| object.name).chain(unknown);
                Ok(all.map(|object| query.names().name(object)).collect())
            })?
        }
    };
    put_list(&names, list, size)
}

#[allow(clippy::too_many_arguments, reason = "it is a function of NT")]
pub(crate) fn items<L: Letter>(
    source: impl SourceParameter,
    machine: Str<L>,
    object: Str<L>,
    counters: Buf<L>,
    counters_size: Out<u32>,
    instances: Buf<L>,
    instances_size: Out<u32>,
    detail: u32,
    _flags: u32,
) -> Done {
    let wanted = object.get().filter(|name| !name.is_empty()).ok_or(status::INVALID_ARGUMENT)?;
    room(counters, counters_size)?;
    room(instances, instances_size)?;
    let (found_counters, found_instances) = match source.source()?.contents()? {
        Some(log) => items_of_log(&of_machine(log.columns(), machine.get()), &wanted)?,
        None => other_hosts::browse(machine.get().as_deref(), false, |query| {
            items_of_machine(query, &wanted, detail)
        })?,
    };
    let counters = put_list(&found_counters, counters, counters_size);
    let instances = match found_instances {
        Some(found) => put_list(&found, instances, instances_size),
        None => {
            instances_size.set(0);
            Ok(())
        }
    };
    // Both sizes are written before either is an error.
    counters.and(instances)
}

type CountersAndInstances = (Vec<String>, Option<Vec<String>>);

fn items_of_machine(query: &mut Query, wanted: &str, detail: u32) -> Result<CountersAndInstances, Status> {
    let name = object_of(query, wanted)?;
    let object = query.catalog().object(name).ok_or(status::NO_OBJECT)?;
    let counters = object.visible_counters().filter(|counter| counter.detail_level.0 <= detail & DETAIL_MASK);
    let counters = counters.map(|counter| query.names().name(counter.name)).collect();
    if !object.has_instances {
        return Ok((counters, None));
    }
    let instances = query.instances(name).map_err(|error| status::of_source(&error))?;
    Ok((counters, Some(instances.iter().map(machine::name_without_number).collect())))
}

fn items_of_log(columns: &[&Column], wanted: &str) -> Result<CountersAndInstances, Status> {
    let parts = columns.iter().filter_map(|column| column.parts.as_ref());
    let of_object: Vec<_> =
        parts.filter(|parts| parts.object.to_string().eq_ignore_ascii_case(wanted)).collect();
    if of_object.is_empty() {
        return Err(status::NO_OBJECT);
    }
    let counters = distinct(of_object.iter().filter_map(|parts| parts.counter.name()));
    let with_index = of_object.iter().filter_map(|parts| parts.instance.as_ref()).map(|instance| {
        let index = match instance.index() {
            InstanceIndex::At(index) => index,
            _ => 0,
        };
        (instance.text().to_string(), index)
    });
    // A name is listed once for each number that it has, as for a machine.
    let mut known: Vec<(String, u32)> = Vec::new();
    for instance in with_index {
        if !known.contains(&instance) {
            known.push(instance);
        }
    }
    let instances = (!known.is_empty()).then(|| known.into_iter().map(|(name, _)| name).collect());
    Ok((counters, instances))
}

pub(crate) fn default_object<L: Letter>(
    source: impl SourceParameter,
    machine: Str<L>,
    name: Buf<L>,
    size: Out<u32>,
) -> Done {
    room(name, size)?;
    let found = match source.source()?.contents()? {
        Some(log) => {
            let of = of_machine(log.columns(), machine.get());
            of.iter().find_map(|column| Some(column.parts.as_ref()?.object.to_string()))
        }
        None => other_hosts::browse(machine.get().as_deref(), false, |query| {
            let object = query.catalog().default_object();
            Ok(object.map(|object| query.names().name(object.name)))
        })?,
    };
    put(&found.ok_or(status::NO_OBJECT)?, name, size)
}

pub(crate) fn default_counter<L: Letter>(
    source: impl SourceParameter,
    machine: Str<L>,
    object: Str<L>,
    name: Buf<L>,
    size: Out<u32>,
) -> Done {
    let wanted = object.get().filter(|name| !name.is_empty()).ok_or(status::INVALID_ARGUMENT)?;
    room(name, size)?;
    let found = match source.source()?.contents()? {
        Some(log) => items_of_log(&of_machine(log.columns(), machine.get()), &wanted)?.0.into_iter().next(),
        None => other_hosts::browse(machine.get().as_deref(), false, |query| {
            let index = object_of(query, &wanted)?;
            let object = query.catalog().object(index);
            let counter = object.and_then(CatalogObject::first_shown);
            Ok(counter.map(|counter| query.names().name(counter.name)))
        })?,
    };
    put(&found.ok_or(status::NO_COUNTER)?, name, size)
}

pub(crate) fn name_of_index<L: Letter>(machine: Str<L>, index: u32, name: Buf<L>, size: Out<u32>) -> Done {
    let room = room(name, size)?;
    let found = connected(machine, |query| {
        let names = query.names();
        let known = names.all(TitleIndex(index)).next().is_some();
        Ok(known.then(|| names.name(TitleIndex(index))))
    })?;
    let put = put(&found.ok_or(status::STRING_NOT_FOUND)?, name, size);
    // Unlike others, this function has different statuses for a small buffer and for none.
    put.map_err(
        |status| if status == status::MORE_DATA && room > 0 { status::INSUFFICIENT_BUFFER } else { status },
    )
}

pub(crate) fn index_of_name<L: Letter>(machine: Str<L>, name: Str<L>, index: Out<u32>) -> Done {
    let (Some(name), false) = (name.get(), index.is_null()) else { return Err(status::INVALID_ARGUMENT) };
    let found = connected(machine, |query| {
        let known = query.names().find(&name);
        if known.is_none() {
            query.load_all_names().map_err(|_| status::CANNOT_READ_NAME_STRINGS)?;
        }
        Ok(known.or_else(|| query.names().find(&name)))
    })?;
    index.set(found.ok_or(status::STRING_NOT_FOUND)?.0);
    Ok(())
}

pub(crate) fn connect<L: Letter>(machine: Str<L>) -> Done {
    other_hosts::browse(machine.get().as_deref(), false, |_| Ok(()))
}

/// As [`other_hosts::browse`], with the status of the two functions that look up names.
fn connected<L: Letter, R>(
    machine: Str<L>,
    ask: impl FnOnce(&mut Query) -> Result<R, Status>,
) -> Result<R, Status> {
    other_hosts::browse(machine.get().as_deref(), false, ask).map_err(|status| match status {
        status::NO_MACHINE => status::CANNOT_CONNECT_MACHINE,
        other => other,
    })
}

/// The object of a name.
pub(crate) fn object_of(query: &mut Query, name: &str) -> Result<TitleIndex, Status> {
    query.object(name, &tallymon::core::path::Part::parse(name)).map_err(|error| status::of_path(&error))
}

/// The columns of a machine; those of all machines when none is named.
fn of_machine(columns: &[Column], machine: Option<String>) -> Vec<&Column> {
    let wanted =
        machine.map(|name| name.trim_start_matches('\\').to_string()).filter(|name| !name.is_empty());
    let is_of =
        |column: &&Column| match (&wanted, column.parts.as_ref().and_then(|parts| parts.machine.as_ref())) {
            (Some(wanted), Some(machine)) => machine.eq_ignore_ascii_case(wanted),
            (wanted, None) => wanted.is_none(),
            (None, _) => true,
        };
    columns.iter().filter(is_of).collect()
}

/// Every name once, at its first position; case is ignored.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        if !known.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            known.push(name.to_string());
        }
    }
    known
}
