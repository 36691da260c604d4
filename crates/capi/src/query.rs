//! Queries and counters behind the handles of a program.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tallymon::core::counter::CounterType;
use tallymon::core::flow::{NoValue, Sample, Value};
use tallymon::core::time::FileTime;
use tallymon::{CounterHandle, Query, Timer};

use crate::clock;
use crate::events::Event;
use crate::handles::{self, Handle, Object};
use crate::lock::lock;
use crate::logs::{Origin, SourceParameter, TimeInfo};
use crate::machine;
use crate::memory::{Letter, Out, Str};
use crate::other_hosts::{self, HostQuery};
use crate::status::{self, Done, Status};

/// The object behind the handle of a query.
pub(crate) struct OpenQuery {
    pub(crate) origin: Origin,
    pub(crate) user_data: usize,
    /// Handles of its counters.
    counters: BTreeSet<Handle>,
    /// The readings of the last collection, a list for each counter; empty before the first collection.
    found: HashMap<CounterId, Vec<Item>>,
    /// The other machines that its counters are on.
    hosts: Vec<HostQuery>,
    /// How many of its counters are on this machine, or in its log.
    here: usize,
    timer: Option<Timer>,
    /// Records of a log that were read so far.
    position: u64,
}

/// The object behind the handle of a counter.
pub(crate) struct Counter {
    query: Weak<Mutex<OpenQuery>>,
    pub(crate) id: CounterId,
    pub(crate) user_data: usize,
    /// Its path as it was added.
    pub(crate) path: String,
    /// The power of ten of `PdhSetCounterScaleFactor`.
    pub(crate) scale: Mutex<Option<i32>>,
}

/// A counter among those of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CounterId {
    /// Its place in the queries of other machines; `None` for this machine, and for a log.
    host: Option<usize>,
    handle: CounterHandle,
}

/// The value of one instance of a counter.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Parent and name of the instance, without its number, as the arrays of the helper have it.
    pub(crate) name: String,
    pub(crate) counter_type: CounterType,
    pub(crate) default_scale: i32,
    pub(crate) newer: Result<Sample, NoValue>,
    pub(crate) older: Option<Sample>,
    pub(crate) text: Option<String>,
}

/// A query over a data source: this machine, or a log.
pub(crate) fn open(source: impl SourceParameter, user_data: usize, query: Out<Handle>) -> Done {
    if query.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let origin = source.source()?.open()?;
    let open = OpenQuery {
        origin,
        user_data,
        counters: BTreeSet::new(),
        found: HashMap::new(),
        hosts: Vec::new(),
        here: 0,
        timer: None,
        position: 0,
    };
    let handle = handles::insert(Arc::new(Mutex::new(open)));
    query.set(handle.ok_or(status::MEMORY_ALLOCATION_FAILURE)?);
    Ok(())
}

pub(crate) fn close(query: Handle) -> Done {
    let query = handles::remove::<Mutex<OpenQuery>>(query).ok_or(status::INVALID_HANDLE)?;
    let (timer, counters) = {
        let mut open = lock(&query);
        (open.timer.take(), std::mem::take(&mut open.counters))
    };
    // The thread of the timer may hold the query now, so it ends before the query does.
    drop(timer);
    for counter in counters {
        handles::remove::<Counter>(counter);
    }
    Ok(())
}

/// The version of the performance data helper that this library implements.
pub(crate) fn version(version: Out<u32>) -> Done {
    version.set(0x503);
    if version.is_null() { Err(status::INVALID_ARGUMENT) } else { Ok(()) }
}

/// Adds a counter with names in any language.
pub(crate) fn add_local<L: Letter>(
    query: Handle,
    path: Str<L>,
    user_data: usize,
    counter: Out<Handle>,
) -> Done {
    add(query, path, user_data, counter, false)
}

/// Adds a counter with English names.
pub(crate) fn add_english<L: Letter>(
    query: Handle,
    path: Str<L>,
    user_data: usize,
    counter: Out<Handle>,
) -> Done {
    add(query, path, user_data, counter, true)
}

/// Adds a counter. English names are always accepted; with `english`, no others.
fn add<L: Letter>(
    query: Handle,
    path: Str<L>,
    user_data: usize,
    counter: Out<Handle>,
    english: bool,
) -> Done {
    let path = path.get().ok_or(status::INVALID_ARGUMENT)?;
    if counter.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let shared = OpenQuery::of_handle(query)?;
    if path.is_empty() {
        return Err(status::NO_COUNTERNAME);
    }
    let mut open = lock(&shared);
    let host = match open.origin {
        Origin::Live(_) => open.host(other_hosts::machine_of(&path).as_deref())?,
        Origin::Log(..) => None,
    };
    let open = &mut *open;
    let handle = match &mut open.origin {
        Origin::Live(query) => {
            let of_host = host.and_then(|at| open.hosts.get_mut(at)).map(|host| &mut host.query);
            let query = of_host.unwrap_or(query);
            if english && !machine::is_english(query, &path) {
                return Err(status::NO_OBJECT);
            }
            query.add(&path).map_err(|error| status::of_path(&error))?
        }
        Origin::Log(query, _) => {
            let id = query.add(&path).map_err(|error| status::of_path(&error))?;
            if !query.has(id) && !path.contains('*') {
                query.remove(id);
                return Err(status::ENTRY_NOT_IN_LOG_FILE);
            }
            id
        }
    };
    if host.is_none() {
        open.here = open.here.saturating_add(1);
    }
    let id = CounterId { host, handle };
    let new = Counter { query: Arc::downgrade(&shared), id, user_data, path, scale: Mutex::new(None) };
    let handle = handles::insert(Arc::new(new)).ok_or(status::MEMORY_ALLOCATION_FAILURE)?;
    open.counters.insert(handle);
    counter.set(handle);
    Ok(())
}

pub(crate) fn remove(counter: Handle) -> Done {
    let known = Counter::of_handle(counter)?;
    let query = known.query()?;
    let mut open = lock(&query);
    handles::remove::<Counter>(counter);
    open.counters.remove(&counter);
    open.found.remove(&known.id);
    let open = &mut *open;
    let CounterId { host, handle } = known.id;
    if let Some(at) = host {
        open.hosts.get_mut(at).into_iter().for_each(|host| host.query.remove(handle));
        return Ok(());
    }
    open.here = open.here.saturating_sub(1);
    match &mut open.origin {
        Origin::Live(query) => query.remove(handle),
        Origin::Log(query, _) => query.remove(handle),
    }
    Ok(())
}

pub(crate) fn collect(query: Handle) -> Done {
    let query = OpenQuery::of_handle(query)?;
    let mut open = lock(&query);
    open.collect().map(drop)
}

/// As [`collect`], and returns the local time of the sample.
pub(crate) fn collect_with_time(query: Handle, time: Out<i64>) -> Done {
    if time.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let query = OpenQuery::of_handle(query)?;
    let mut open = lock(&query);
    let taken = open.collect()?;
    time.set(open.local(taken).0.cast_signed());
    Ok(())
}

/// Collects on a thread at an interval in seconds, and sets an event after each sample; 0 seconds ends that.
pub(crate) fn collect_on_timer(query: Handle, seconds: u32, event: Handle) -> Done {
    let shared = OpenQuery::of_handle(query)?;
    let (before, idle) = {
        let mut open = lock(&shared);
        (open.timer.take(), open.counters.is_empty())
    };
    // Its thread may wait for the query now, so the lock is free while the thread ends.
    drop(before);
    if idle {
        return Err(status::NO_DATA);
    }
    if seconds == 0 {
        return Ok(());
    }
    // An invalid event is no error: the samples are taken all the same.
    let event = handles::get::<Event>(event);
    let weak = Arc::downgrade(&shared);
    let timer = Timer::start(Duration::from_secs(seconds.into()), move || {
        let Some(query) = weak.upgrade() else { return };
        // A failed sample may succeed the next time; the values have the reason.
        let _ = lock(&query).collect();
        if let Some(event) = &event {
            event.set();
        }
    });
    lock(&shared).timer = Some(timer.map_err(|_| status::MEMORY_ALLOCATION_FAILURE)?);
    Ok(())
}

pub(crate) fn is_live(query: Handle) -> i32 {
    OpenQuery::of_handle(query).is_ok_and(|query| matches!(lock(&query).origin, Origin::Live(_))).into()
}

/// Sets which records of the log of a query are read: local times, both included.
pub(crate) fn set_range(query: Handle, info: Out<TimeInfo>) -> Done {
    let TimeInfo { start: first, end: last, .. } = info.get().ok_or(status::INVALID_ARGUMENT)?;
    let query = OpenQuery::of_handle(query)?;
    let mut open = lock(&query);
    let Origin::Log(log, _) = &mut open.origin else { return Err(status::DATA_SOURCE_IS_REAL_TIME) };
    if last <= first {
        return Err(status::INVALID_ARGUMENT);
    }
    let minutes = log.log().summary().local_minutes;
    let utc = |local: i64| clock::utc(FileTime(u64::try_from(local).unwrap_or(0)), minutes);
    log.set_range(utc(first), utc(last));
    open.found.clear();
    open.position = 0;
    Ok(())
}

/// Puts what a query collected last below its counters.
fn put_items(found: &mut HashMap<CounterId, Vec<Item>>, host: Option<usize>, query: &Query) {
    query.for_each(|value| {
        let (newer, text) = match value.cell.value {
            Ok(Value::Text(text)) => (Err(NoValue::NotNumeric), Some(text)),
            Err(why) => (value.cell.sample.ok_or(why), None),
            Ok(_) => (value.cell.sample.ok_or(NoValue::NotNumeric), None),
        };
        found.entry(CounterId { host, handle: value.handle }).or_default().push(Item {
            name: value.instance.map(machine::name_without_number).unwrap_or_default(),
            counter_type: value.definition.counter_type,
            default_scale: value.definition.default_scale,
            newer,
            older: value.older,
            text,
        });
    });
}

impl Object for Mutex<OpenQuery> {}

impl Object for Counter {}

impl OpenQuery {
    /// The query of a handle.
    pub(crate) fn of_handle(query: Handle) -> Result<Arc<Mutex<OpenQuery>>, Status> {
        handles::get(query).ok_or(status::INVALID_HANDLE)
    }

    /// Handles of its counters.
    pub(crate) const fn counters(&self) -> &BTreeSet<Handle> {
        &self.counters
    }

    /// Records of its log that were read so far, including the current one.
    pub(crate) const fn position(&self) -> u64 {
        self.position
    }

    /// Takes a sample of every counter, and returns its time, UTC. `PDH_NO_DATA` when no counter has data.
    pub(crate) fn collect(&mut self) -> Result<FileTime, Status> {
        match self.advance()? {
            (time, true) => Ok(time),
            (_, false) => Err(status::NO_DATA),
        }
    }

    /// Takes a sample of every counter, and returns its time, UTC, and whether any counter has data.
    pub(crate) fn advance(&mut self) -> Result<(FileTime, bool), Status> {
        if self.counters.is_empty() {
            return Err(status::NO_DATA);
        }
        let time = match &mut self.origin {
            Origin::Live(query) => {
                let time = if self.here > 0 || self.hosts.is_empty() {
                    query.collect().map_err(|error| status::of_source(&error))?
                } else {
                    tallymon::clock::now()
                };
                self.found.values_mut().for_each(Vec::clear);
                put_items(&mut self.found, None, query);
                self.collect_hosts();
                time
            }
            Origin::Log(query, _) => {
                let next = query.collect().map_err(|error| status::of_source(&error))?;
                let time = next.ok_or(status::NO_MORE_DATA)?;
                self.position = self.position.saturating_add(1);
                self.found.clear();
                for handle in &self.counters {
                    let Ok(counter) = Counter::of_handle(*handle) else { continue };
                    let readings =
                        query.readings_of(counter.id.handle).map_err(|error| status::of_source(&error))?;
                    let items = readings.into_iter().map(|reading| Item {
                        name: reading
                            .parts
                            .and_then(|parts| Some(parts.instance?.text().to_string()))
                            .unwrap_or_default(),
                        counter_type: reading.counter_type,
                        default_scale: reading.default_scale,
                        newer: match (reading.cell.sample, reading.cell.value) {
                            (Some(sample), _) => Ok(sample),
                            (None, Err(why)) => Err(why),
                            (None, Ok(_)) => Err(NoValue::NotNumeric),
                        },
                        older: reading.older,
                        text: None,
                    });
                    self.found.insert(counter.id, items.collect());
                }
                time
            }
        };
        let has_data = |item: &Item| item.newer.is_ok() || item.text.is_some();
        Ok((time, self.found.values().flatten().any(has_data)))
    }

    /// Takes a sample of the other machines. The counters of one that does not answer have no values.
    fn collect_hosts(&mut self) {
        other_hosts::collect(&mut self.hosts);
        for (at, host) in self.hosts.iter().enumerate() {
            if !host.has_failed {
                put_items(&mut self.found, Some(at), &host.query);
            }
        }
        let all = self.counters.iter().filter_map(|handle| Some(Counter::of_handle(*handle).ok()?.id));
        for id in all {
            let Some(host) = id.host.and_then(|at| self.hosts.get(at)).filter(|host| host.has_failed) else {
                continue;
            };
            let Some(definition) = host.query.definition(id.handle) else { continue };
            let gone = Item {
                name: String::new(),
                counter_type: definition.counter_type,
                default_scale: definition.default_scale,
                newer: Err(NoValue::NoMachine),
                older: None,
                text: None,
            };
            self.found.insert(id, vec![gone]);
        }
    }

    /// The place of the query of another machine, which is opened for its first counter; `None` for this
    /// machine.
    fn host(&mut self, machine: Option<&str>) -> Result<Option<usize>, Status> {
        let Some(host) = other_hosts::host_of(machine)? else { return Ok(None) };
        if let Some(known) = self.hosts.iter().position(|known| known.name == host.name) {
            return Ok(Some(known));
        }
        self.hosts.push(HostQuery::open(&host)?);
        Ok(Some(self.hosts.len().saturating_sub(1)))
    }

    /// The query of the machine that a counter is on; `None` for a counter of a log.
    pub(crate) fn live(&self, counter: &Counter) -> Option<&Query> {
        match (&self.origin, counter.id.host) {
            (Origin::Live(query), None) => Some(query),
            (Origin::Live(_), Some(at)) => self.hosts.get(at).map(|host| &host.query),
            (Origin::Log(..), _) => None,
        }
    }

    /// Its queries of other machines.
    pub(crate) fn hosts(&self) -> &[HostQuery] {
        &self.hosts
    }

    /// Whether it has counters of this machine.
    pub(crate) const fn has_counters_here(&self) -> bool {
        self.here > 0
    }

    /// The local time of a sample: that of this machine, or of the machine that wrote the log.
    pub(crate) fn local(&self, time: FileTime) -> FileTime {
        match &self.origin {
            Origin::Live(_) => clock::zone().local(time),
            Origin::Log(log, _) => clock::add_minutes(time, log.log().local_minutes()),
        }
    }

    /// The readings of a counter in the last collection; empty before the first collection.
    pub(crate) fn items(&self, counter: &Counter) -> &[Item] {
        self.found.get(&counter.id).map_or(&[], Vec::as_slice)
    }
}

impl CounterId {
    /// Its handle in the query of its machine.
    pub(crate) const fn handle(self) -> CounterHandle {
        self.handle
    }
}

impl Counter {
    /// The counter of a handle.
    pub(crate) fn of_handle(counter: Handle) -> Result<Arc<Counter>, Status> {
        handles::get(counter).ok_or(status::INVALID_HANDLE)
    }

    /// Its query.
    pub(crate) fn query(&self) -> Result<Arc<Mutex<OpenQuery>>, Status> {
        self.query.upgrade().ok_or(status::INVALID_HANDLE)
    }
}
