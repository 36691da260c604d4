//! Making, parsing, expanding and checking counter paths; and information about a counter.

use tallymon::core::path::{CounterPath, InstanceIndex, InstancePath, Part};
use tallymon::log::select::columns_of;
use tallymon::{Expand, PathPart, Query};

use crate::handles::Handle;
use crate::lock::lock;
use crate::logs::SourceParameter;
use crate::machine;
use crate::memory::{Address, Buf, Letter, Out, Str};
use crate::other_hosts;
use crate::query::Counter;
use crate::status::{self, Done, Status};
use crate::text::{put, put_list, room};

/// `dwInstanceIndex` of an instance without a number.
const NO_INDEX: u32 = u32::MAX;
/// The limit of units of an instance name.
const MAX_PATH: usize = 260;
const NO_EXPAND_COUNTERS: u32 = 1;
const NO_EXPAND_INSTANCES: u32 = 2;
const REFRESH_COUNTERS: u32 = 4;

/// `PDH_COUNTER_PATH_ELEMENTS` as input.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct GivenElements<L> {
    machine: Str<L>,
    object: Str<L>,
    instance: Str<L>,
    parent: Str<L>,
    index: u32,
    counter: Str<L>,
}

/// `PDH_COUNTER_PATH_ELEMENTS` as output.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Elements<L> {
    machine: Address<L>,
    object: Address<L>,
    instance: Address<L>,
    parent: Address<L>,
    index: u32,
    counter: Address<L>,
}

/// `PDH_COUNTER_INFO`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CounterInfo<L> {
    length: u32,
    counter_type: u32,
    version: u32,
    status: u32,
    scale: i32,
    default_scale: i32,
    user_data: usize,
    query_user_data: usize,
    full_path: Address<L>,
    elements: Elements<L>,
    explain: Address<L>,
    data: [u32; 1],
}

/// Texts after a structure, and their addresses.
struct Behind<L> {
    start: Buf<u8>,
    head: usize,
    units: Vec<L>,
}

impl<L: Letter> Behind<L> {
    const fn new(start: Buf<u8>, head: usize) -> Behind<L> {
        Behind { start, head, units: Vec::new() }
    }

    /// Adds a text, and returns its address; NULL for none.
    fn add(&mut self, text: Option<&str>) -> Address<L> {
        let Some(text) = text else { return std::ptr::null_mut() };
        let at = self.head.saturating_add(self.units.len().saturating_mul(size_of::<L>()));
        self.units.extend(L::encode(text));
        self.units.push(L::ZERO);
        self.start.address(at).cast()
    }

    fn elements(&mut self, path: &CounterPath, here: &str) -> Elements<L> {
        let machine = format!("\\\\{}", path.machine.as_deref().unwrap_or(here));
        let (parent, instance, index) = split(path.instance.as_ref());
        Elements {
            machine: self.add(Some(&machine)),
            object: self.add(Some(&path.object.to_string())),
            instance: self.add(instance.as_deref()),
            parent: self.add(parent.as_deref()),
            index,
            counter: self.add(Some(&path.counter.to_string())),
        }
    }

    /// Writes a structure and the texts after it, if there is room for all.
    fn finish<T: Copy>(self, structure: T, bytes: Out<u32>) -> Done {
        let room = bytes.get().ok_or(status::INVALID_ARGUMENT)?;
        let needed = self.head.saturating_add(size_of_val(self.units.as_slice()));
        let needed = u32::try_from(needed).unwrap_or(u32::MAX);
        bytes.set(needed);
        if room < needed {
            return Err(status::MORE_DATA);
        }
        self.start.write(0, &[structure]);
        self.start.write(self.head, &self.units);
        Ok(())
    }
}

/// Parent, name and number of an instance. Only the object could tell whether a `/` is part of a name; here
/// the parent ends at the first `/`.
fn split(instance: Option<&InstancePath>) -> (Option<String>, Option<String>, u32) {
    let Some(path) = instance else { return (None, None, NO_INDEX) };
    let index = match path.index() {
        InstanceIndex::At(index) => index,
        InstanceIndex::Implied | InstanceIndex::Any => NO_INDEX,
    };
    match path.candidates().nth(1) {
        Some((parent, name)) => (parent.map(str::to_string), Some(name.to_string()), index),
        None => (None, Some(path.text().to_string()), index),
    }
}

pub(crate) fn make<L: Letter>(
    elements: Out<GivenElements<L>>,
    path: Buf<L>,
    size: Out<u32>,
    flags: u32,
) -> Done {
    let elements = elements.get().ok_or(status::INVALID_ARGUMENT)?;
    room(path, size)?;
    if flags & 0xFFFF != 0 {
        return Err(status::NOT_IMPLEMENTED);
    }
    let given = |text: Str<L>| text.get().filter(|text| !text.is_empty());
    let has_instances = |object: &Part| {
        machine::browse(false, |query| {
            let known = query.object("", object).ok().and_then(|name| query.catalog().object(name));
            Ok(known.is_some_and(|known| known.has_instances))
        })
    };
    let (Some(object), Some(counter)) = (given(elements.object), given(elements.counter)) else {
        return Err(status::INVALID_ARGUMENT);
    };
    let object = Part::parse(&object);
    // An empty text means no instance, as NULL does, unless the object has instances: one may have no name.
    let name = elements.instance.get();
    let name = match name {
        Some(name) if name.is_empty() && !has_instances(&object)? => None,
        name => name,
    };
    let instance = name.map(|name| {
        let index = if elements.index == NO_INDEX { 0 } else { elements.index };
        InstancePath::new(given(elements.parent).as_deref(), &name, index)
    });
    let machine = given(elements.machine).map(|name| name.trim_start_matches('\\').to_string());
    let made = CounterPath { machine, object, instance, counter: Part::parse(&counter) };
    put(&made.to_string(), path, size)
}

pub(crate) fn parse<L: Letter>(path: Str<L>, elements: Buf<u8>, bytes: Out<u32>, flags: u32) -> Done {
    let text = path.get().ok_or(status::INVALID_ARGUMENT)?;
    match bytes.get() {
        Some(room) if room == 0 || !elements.is_null() => {}
        _ => return Err(status::INVALID_ARGUMENT),
    }
    if flags & 0xFFFF != 0 {
        return Err(status::NOT_IMPLEMENTED);
    }
    // The objects of this machine decide where the name of an instance begins.
    let (path, here) = machine::browse(false, |query| {
        let path = query.parse(&text).map_err(|_| status::INVALID_PATH)?.path;
        Ok((path, query.system_name().to_string()))
    })?;
    let mut behind = Behind::<L>::new(elements, size_of::<Elements<L>>());
    let elements = behind.elements(&path, &here);
    behind.finish(elements, bytes)
}

pub(crate) fn parse_instance<L: Letter>(
    text: Str<L>,
    instance: Buf<L>,
    instance_size: Out<u32>,
    parent: Buf<L>,
    parent_size: Out<u32>,
    index: Out<u32>,
) -> Done {
    let text = text.get().ok_or(status::INVALID_ARGUMENT)?;
    room(instance, instance_size)?;
    room(parent, parent_size)?;
    if text.is_empty() || text.encode_utf16().count() >= MAX_PATH {
        return Err(status::INVALID_INSTANCE);
    }
    let (of_parent, name, number) = split(Some(&InstancePath::parse(&text)));
    let name = put(&name.unwrap_or_default(), instance, instance_size);
    let of_parent = put(&of_parent.unwrap_or_default(), parent, parent_size);
    index.set(if number == NO_INDEX { 0 } else { number });
    // Both sizes are written before either is an error.
    name.and(of_parent)
}

pub(crate) fn validate<L: Letter>(path: Str<L>) -> Done {
    validate_in(0, path)
}

/// Checks a path of a bound source.
pub(crate) fn validate_in<L: Letter>(source: Handle, path: Str<L>) -> Done {
    let text = path.get().filter(|text| !text.is_empty()).ok_or(status::INVALID_ARGUMENT)?;
    match source.source()?.contents()? {
        Some(log) => {
            let found = columns_of(&text, log.columns()).map_err(|_| status::BAD_COUNTERNAME)?;
            if found.is_empty() { Err(status::ENTRY_NOT_IN_LOG_FILE) } else { Ok(()) }
        }
        None => {
            let machine = other_hosts::machine_of(&text);
            other_hosts::browse(machine.as_deref(), false, |query| check(query, &text))
        }
    }
}

fn check(query: &mut Query, text: &str) -> Done {
    query.check(text).map_err(|error| status::of_path(&error))?;
    let path = query.parse(text).map_err(|_| status::BAD_COUNTERNAME)?.path;
    let Some(wanted) = path.instance.filter(|instance| !instance.is_wild()) else { return Ok(()) };
    let object = query.object(text, &path.object).map_err(|error| status::of_path(&error))?;
    let pattern = wanted.pattern();
    let instances = query.instances(object).map_err(|error| status::of_source(&error))?;
    let exists = instances
        .iter()
        .any(|key| pattern.matches(key.parent.as_deref(), &key.name) && pattern.matches_index(key.number));
    if exists { Ok(()) } else { Err(status::NO_INSTANCE) }
}

pub(crate) fn expand_here<L: Letter>(pattern: Str<L>, list: Buf<L>, size: Out<u32>) -> Done {
    // A handle of 0 means this machine.
    expand(0 as Handle, pattern, list, size, 0)
}

pub(crate) fn expand<L: Letter>(
    source: impl SourceParameter,
    pattern: Str<L>,
    list: Buf<L>,
    size: Out<u32>,
    flags: u32,
) -> Done {
    let text = pattern.get().ok_or(status::INVALID_ARGUMENT)?;
    room(list, size)?;
    let known = NO_EXPAND_COUNTERS | NO_EXPAND_INSTANCES | REFRESH_COUNTERS;
    if flags & !known != 0 {
        return Err(status::INVALID_ARGUMENT);
    }
    let paths: Vec<String> = match source.source()?.contents()? {
        Some(log) => {
            let meant = columns_of(&text, log.columns()).map_err(|_| status::INVALID_PATH)?;
            meant.into_iter().filter_map(|at| Some(log.columns().get(at)?.path.clone())).collect()
        }
        None => {
            let machine = other_hosts::machine_of(&text);
            let refresh = flags & REFRESH_COUNTERS != 0;
            other_hosts::browse(machine.as_deref(), refresh, |query| expand_live(query, &text, flags))?
        }
    };
    put_list(&paths, list, size)
}

/// Full paths with the machine, as NT returns them.
fn expand_live(query: &mut Query, text: &str, flags: u32) -> Result<Vec<String>, Status> {
    let what =
        Expand { counters: flags & NO_EXPAND_COUNTERS == 0, instances: flags & NO_EXPAND_INSTANCES == 0 };
    let paths = query.expand(text, what).map_err(|error| match (status::of_path(&error), error.part) {
        // Missing or needless parentheses make the path invalid.
        (status::NO_INSTANCE | status::BAD_COUNTERNAME, _) => status::INVALID_PATH,
        (status::NO_OBJECT, PathPart::Object) => status::NO_OBJECT,
        (status, _) => status,
    })?;
    let here = query.system_name().to_string();
    let full = |path: CounterPath| {
        let machine = path.machine.clone().or_else(|| Some(here.clone()));
        CounterPath { machine, ..path }.to_string()
    };
    Ok(paths.into_iter().map(full).collect())
}

pub(crate) fn info<L: Letter>(counter: Handle, explain: u8, bytes: Out<u32>, buffer: Buf<u8>) -> Done {
    match bytes.get() {
        Some(room) if room == 0 || !buffer.is_null() => {}
        _ => return Err(status::INVALID_ARGUMENT),
    }
    let counter = Counter::of_handle(counter)?;
    let shared = counter.query()?;
    let open = lock(&shared);
    let path = CounterPath::parse(&counter.path).map_err(|_| status::INVALID_PATH)?.path;
    let item = open.items(&counter).first();
    let of_item = item.map(|item| (item.counter_type.0, item.default_scale));
    let mut full = path.clone();
    let mut help = None;
    let (here, described) = match open.live(&counter) {
        Some(query) => {
            let definition = query.definition(counter.id.handle());
            if let Some(definition) = definition
                && !path.counter.is_wild()
            {
                full.counter = Part::parse(&query.names().name(definition.name));
            }
            help = definition.and_then(|definition| query.names().help(definition.help));
            let described = definition.map(|found| (found.counter_type.0, found.default_scale));
            (query.system_name().to_string(), described)
        }
        None => (String::new(), None),
    };
    if full.machine.is_none() && !here.is_empty() {
        full.machine = Some(here.clone());
    }
    let (counter_type, default_scale) = described.or(of_item).unwrap_or_default();
    let status = match item.map(|item| item.newer) {
        Some(Err(why)) => status::of_value(why).1,
        Some(Ok(_)) => status::VALID_DATA,
        // The counter has no sample yet.
        None => status::ITEM_NOT_VALIDATED,
    };
    let mut behind = Behind::<L>::new(buffer, size_of::<CounterInfo<L>>());
    let full_path = behind.add(Some(&full.to_string()));
    let elements = behind.elements(&full, &here);
    let explain = behind.add(help.filter(|_| explain != 0));
    let length = behind.head.saturating_add(size_of_val(behind.units.as_slice()));
    let info = CounterInfo {
        length: u32::try_from(length).unwrap_or(u32::MAX),
        counter_type,
        version: 0,
        status,
        scale: lock(&counter.scale).unwrap_or(0),
        default_scale,
        user_data: counter.user_data,
        query_user_data: open.user_data,
        full_path,
        elements,
        explain,
        data: [0],
    };
    behind.finish(info, bytes)
}
