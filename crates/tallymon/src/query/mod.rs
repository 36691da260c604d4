//! A query: you add counter paths once and collect samples as often as you like.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tallymon_core::block::{CounterDefinition, Snapshot};
use tallymon_core::counter::{self, Format};
use tallymon_core::flow::{Source, SourceError};
use tallymon_core::path::{CounterPath, InstancePath, InstancePattern};
use tallymon_core::request::{Interest, Request};
use tallymon_core::time::FileTime;
use tallymon_core::title::{self, Language, TitleIndex};

use crate::catalog::Catalog;
use crate::location::{Location, open};
use crate::matching::{self, IDENTITY_COUNTERS, InstanceKey, Instances, Keys, Matching};
use crate::names::{InstanceNames, Locale, Names};
use crate::path_error::PathError;
use crate::sample::SharedSnapshot;
use crate::source_info::{NoSource, SourceInfo};

mod define;
mod expand;
mod plan;
mod read;
mod resolve;

pub use expand::Expand;
pub use read::{CounterValue, Reading};

use define::Awaited;
use plan::Plan;

/// Counter paths over one source, and the last two samples of them.
pub struct Query {
    source: Box<dyn Source>,
    system_name: String,
    host_names: Vec<String>,
    names: Names,
    catalog: Catalog,
    entries: BTreeMap<CounterHandle, Entry>,
    /// The handle of the next path; handles are not reused.
    next: usize,
    format: Format,
    matching: Matching,
    older: Option<Taken>,
    newer: Option<Taken>,
    /// The request for a sample; built again when paths are added or removed.
    asked: OnceCell<Asked>,
    /// What the paths mean; built again when paths or instances come or go.
    plan: OnceCell<Plan>,
    /// Paths to add once the providers of their objects answer.
    awaited: Vec<Awaited>,
}

/// A path that was added to a [`Query`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterHandle(pub(crate) usize);

/// A path with its names resolved.
struct Entry {
    path: String,
    object: TitleIndex,
    /// One, or all that match a pattern.
    counters: Vec<TitleIndex>,
    chosen: Option<Chosen>,
    /// A power of ten for its values, in place of that of the query's format.
    scale: Option<i32>,
}

/// The request for a sample of all paths.
struct Asked {
    /// The objects of the paths.
    objects: Vec<TitleIndex>,
    request: Request,
}

/// The instances that a path means.
struct Chosen {
    wanted: InstancePath,
    pattern: InstancePattern,
    /// Their positions among the instances `of` the object.
    positions: Vec<usize>,
    of: Option<Arc<Keys>>,
}

/// A snapshot with the names of its instances.
struct Taken {
    snapshot: SharedSnapshot,
    instances: HashMap<TitleIndex, Instances>,
}

impl Query {
    /// A query over a location, with names in English only.
    ///
    /// # Errors
    ///
    /// The location cannot be opened.
    pub fn open(location: &Location) -> Result<Query, SourceError> {
        Query::new(open(location)?, Language::ENGLISH)
    }

    /// A query over a source, for a user of a language; a [`Locale`] also says which names are shown in it.
    ///
    /// # Errors
    ///
    /// The source has no names, or does not say which objects it has.
    pub fn new(mut source: Box<dyn Source>, locale: impl Into<Locale>) -> Result<Query, SourceError> {
        let names = Names::load(source.as_mut(), locale)?;
        let (system_name, catalog) = Catalog::read(source.as_mut())?;
        let host_names = source.host_names();
        Ok(Query::with(source, SourceInfo { system_name, host_names, names, catalog }))
    }

    /// A query without a source of its own: the caller samples, and hands it the snapshots by
    /// [`Query::accept`]. Methods that read a source, such as [`Query::collect`], fail at once.
    ///
    /// See [`Sampler`](crate::sample::Sampler) for an example.
    pub fn over(info: SourceInfo) -> Query {
        Query::with(Box::new(NoSource), info)
    }

    fn with(source: Box<dyn Source>, info: SourceInfo) -> Query {
        let SourceInfo { system_name, host_names, names, catalog } = info;
        Query {
            source,
            system_name,
            host_names,
            names,
            catalog,
            entries: BTreeMap::new(),
            next: 0,
            // A busy process on two processors is at 200 %; capped at 100 it would be a wrong number.
            format: Format { cap100: false, ..Format::default() },
            matching: Matching::default(),
            older: None,
            newer: None,
            asked: OnceCell::new(),
            plan: OnceCell::new(),
            awaited: Vec::new(),
        }
    }

    /// Names and objects of the source, for another query over the same source: see [`Query::over`].
    pub fn info(&self) -> SourceInfo {
        SourceInfo {
            system_name: self.system_name.clone(),
            host_names: self.host_names.clone(),
            names: self.names.clone(),
            catalog: self.catalog.clone(),
        }
    }

    /// Takes the query apart, so that a [`Sampler`](crate::Sampler) can sample its source on another thread.
    /// Paths and samples are dropped; [`Query::over`] makes new queries from the info.
    pub fn into_source(self) -> (Box<dyn Source>, SourceInfo) {
        let Query { source, system_name, host_names, names, catalog, .. } = self;
        (source, SourceInfo { system_name, host_names, names, catalog })
    }

    /// How values are formatted from now on. At first no scale is applied and no percentage is capped.
    ///
    /// ```
    /// use tallymon::core::counter::{Format, Scale};
    /// use tallymon::{Location, Query};
    ///
    /// let mut query = Query::open(&Location::Local)?;
    /// // As for a chart: at most 100 %, and scaled as each counter says.
    /// query.set_format(Format { cap100: true, scale: Scale::Default, thousand: false });
    /// # Ok::<(), tallymon::core::flow::SourceError>(())
    /// ```
    pub const fn set_format(&mut self, format: Format) {
        self.format = format;
    }

    /// How instances are matched from the next collection on.
    pub const fn set_matching(&mut self, matching: Matching) {
        self.matching = matching;
    }

    /// Adds a path: names in any language of the source, or numbers; wildcards in instance and counter.
    ///
    /// An instance need not exist yet; readings say
    /// [`NoValue::NoInstance`](tallymon_core::flow::NoValue::NoInstance) until it does.
    ///
    /// # Errors
    ///
    /// The part of the path that does not exist, with the nearest names that do.
    pub fn add(&mut self, path: &str) -> Result<CounterHandle, PathError> {
        let parsed = self.parse(path)?;
        self.add_path(path, &parsed.path)
    }

    /// Adds a path that was parsed already; `text` is what the user wrote, for messages.
    ///
    /// # Errors
    ///
    /// As [`Query::add`].
    pub fn add_path(&mut self, text: &str, path: &CounterPath) -> Result<CounterHandle, PathError> {
        let mut entry = self.resolve(text, path)?;
        if let Some(newer) = &self.newer {
            entry.choose(newer.instances.get(&entry.object).map(|known| &known.keys));
        }
        let handle = CounterHandle(self.next);
        self.next = self.next.saturating_add(1);
        self.entries.insert(handle, entry);
        self.forget_meaning();
        Ok(handle)
    }

    /// Removes a path with its samples. The other handles stay valid.
    pub fn remove(&mut self, handle: CounterHandle) {
        self.entries.remove(&handle);
        self.forget_meaning();
    }

    /// Forgets what was worked out of the paths, after one was added or removed.
    fn forget_meaning(&mut self) {
        self.asked.take();
        self.plan.take();
    }

    /// Sets the power of ten that multiplies the values of one path, within [`counter::SCALE_RANGE`];
    /// `None` for that of the query's format.
    ///
    /// Returns whether there is such a path and such a scale.
    ///
    /// ```
    /// use tallymon::core::flow::Value;
    /// use tallymon::{Location, Query};
    ///
    /// let mut query = Query::open(&Location::Local)?;
    /// let counter = query.add(r"\System\Threads")?;
    /// assert!(query.set_scale(counter, Some(3)) && !query.set_scale(counter, Some(8)));
    /// query.collect()?;
    /// let Ok(Value::Integer(thousands)) = query.readings_of(counter)[0].cell.value else { panic!() };
    /// assert!(thousands >= 1000 && thousands % 1000 == 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_scale(&mut self, handle: CounterHandle, power: Option<i32>) -> bool {
        let known = power.is_none_or(|power| counter::SCALE_RANGE.contains(&power));
        let entry = self.entries.get_mut(&handle).filter(|_| known);
        self.plan.take();
        entry.map(|entry| entry.scale = power).is_some()
    }

    /// The scale that [`Query::set_scale`] gave to a path.
    pub fn scale(&self, handle: CounterHandle) -> Option<i32> {
        self.entries.get(&handle)?.scale
    }

    /// The existing instances whose names are nearest to that in a path, best first.
    pub fn nearest_instances(&self, handle: CounterHandle) -> Vec<String> {
        let (Some(entry), Some(newer)) = (self.entries.get(&handle), &self.newer) else { return Vec::new() };
        let Some(wanted) = entry.chosen.as_ref().map(|chosen| &chosen.wanted) else { return Vec::new() };
        let keys = newer.instances.get(&entry.object).map_or(&[][..], |known| known.keys.list.as_slice());
        let names: Vec<String> = keys.iter().map(InstanceKey::to_string).collect();
        let nearest = title::nearest(&wanted.to_string(), names.iter().map(String::as_str), 3);
        nearest.into_iter().map(str::to_string).collect()
    }

    /// The definition of the counter of a path; the first one when the counter is a pattern.
    ///
    /// ```
    /// use tallymon::core::counter::CounterType;
    /// use tallymon::{Location, Query};
    ///
    /// let mut query = Query::open(&Location::Local)?;
    /// let counter = query.add(r"\Processor(_Total)\% Processor Time")?;
    /// let definition = query.definition(counter).unwrap();
    /// assert_eq!(definition.counter_type, CounterType::PERF_100NSEC_TIMER_INV);
    /// assert!(query.names().help(definition.help).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn definition(&self, handle: CounterHandle) -> Option<&CounterDefinition> {
        let entry = self.entries.get(&handle)?;
        self.catalog.object(entry.object)?.counter(*entry.counters.first()?)
    }

    /// Why values of a path are old or missing, as far as the source knows; `None` when it knows of no fault.
    pub fn trouble(&self, handle: CounterHandle) -> Option<String> {
        self.source.trouble(self.entries.get(&handle)?.object)
    }

    /// The text of a path as it was added.
    pub fn path(&self, handle: CounterHandle) -> &str {
        self.entries.get(&handle).map_or("", |entry| &entry.path)
    }

    /// Whether a path means all instances that match a pattern.
    pub(crate) fn is_wild(&self, handle: CounterHandle) -> bool {
        let chosen = self.entries.get(&handle).and_then(|entry| entry.chosen.as_ref());
        chosen.is_some_and(|chosen| chosen.wanted.is_wild())
    }

    /// Takes a sample of every path.
    ///
    /// # Errors
    ///
    /// The source does not answer. The samples from before stay.
    pub fn collect(&mut self) -> Result<FileTime, SourceError> {
        let asked = self.asked.get_or_init(|| Asked::of(&self.entries));
        let answer = self.source.snapshot(&asked.request);
        Ok(self.accept(answer?))
    }

    /// The request that [`Query::collect`] sends to the source, for a caller that samples elsewhere, such
    /// as a [`Sampler`](crate::sample::Sampler), and hands the answer to [`Query::accept`].
    pub fn request(&self) -> Request {
        self.asked.get_or_init(|| Asked::of(&self.entries)).request.clone()
    }

    /// As [`Query::collect`], but takes every object that is not costly, even without a path.
    ///
    /// # Errors
    ///
    /// The source does not answer. The samples from before stay.
    pub fn collect_everything(&mut self) -> Result<FileTime, SourceError> {
        let snapshot = self.source.snapshot(&Request::global())?;
        Ok(self.accept(snapshot))
    }

    /// Object, counters and instances of each path.
    pub(crate) fn meant(&self) -> impl Iterator<Item = (TitleIndex, &[TitleIndex], Option<&InstancePath>)> {
        self.entries.values().map(|entry| {
            (entry.object, entry.counters.as_slice(), entry.chosen.as_ref().map(|chosen| &chosen.wanted))
        })
    }

    /// Takes a snapshot as the newest sample of every path, and returns its time. Several queries can
    /// accept the same snapshot, if it was requested for all of them.
    pub fn accept(&mut self, snapshot: impl Into<SharedSnapshot>) -> FileTime {
        self.accept_shared(snapshot.into())
    }

    fn accept_shared(&mut self, snapshot: SharedSnapshot) -> FileTime {
        let before = self.newer.take();
        let mut instances = HashMap::new();
        let mut are_same = before.is_some();
        for name in &self.asked.get_or_init(|| Asked::of(&self.entries)).objects {
            let known = before.as_ref().and_then(|taken| taken.instances.get(name));
            let object = snapshot.object(*name).filter(|object| object.has_instances());
            let Some(object) = object else {
                are_same &= known.is_none();
                continue;
            };
            let older = before.as_ref().and_then(|taken| taken.snapshot.object(*name)).zip(known);
            let now = Instances::of(object, older, (self.matching, self.names.instances()));
            are_same &= known.is_some_and(|known| Arc::ptr_eq(&known.keys, &now.keys));
            instances.insert(*name, now);
        }
        let time = snapshot.header().perf_time_100ns;
        if !are_same {
            for entry in self.entries.values_mut() {
                entry.choose(instances.get(&entry.object).map(|known| &known.keys));
            }
            self.plan.take();
        }
        if let Some(oldest) = std::mem::replace(&mut self.older, before)
            && let Some(memory) = oldest.snapshot.release()
        {
            self.source.give_back(memory);
        }
        self.newer = Some(Taken { snapshot, instances });
        time
    }

    /// Whether any path has a counter whose value needs two samples.
    pub fn needs_two_samples(&self) -> bool {
        self.entries.values().any(|entry| {
            let object = self.catalog.object(entry.object);
            entry.counters.iter().any(|name| {
                let counter = object.and_then(|object| object.counter(*name));
                counter.is_some_and(|counter| counter.counter_type.needs_two_samples())
            })
        })
    }

    /// The last snapshot.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.newer.as_ref().map(|taken| &*taken.snapshot)
    }

    /// What objects and counters the source has.
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The names of the source.
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// Loads the names of every language, for a search.
    ///
    /// # Errors
    ///
    /// A table cannot be read.
    pub fn load_all_names(&mut self) -> Result<(), SourceError> {
        self.plan.take();
        self.names.load_all(self.source.as_mut())
    }

    /// The instances that an object has now.
    ///
    /// ```
    /// use tallymon::core::path::Part;
    /// use tallymon::{Location, Query};
    ///
    /// let mut query = Query::open(&Location::Local)?;
    /// let processor = query.object("Processor", &Part::parse("Processor"))?;
    /// let instances = query.instances(processor)?;
    /// assert!(instances.iter().any(|instance| instance.name == "_Total"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The source does not answer.
    pub fn instances(&mut self, object: TitleIndex) -> Result<Vec<InstanceKey>, SourceError> {
        instances(self.source.as_mut(), object, self.names.instances())
    }
}

/// The instances that an object of a source has now.
pub(crate) fn instances(
    source: &mut dyn Source,
    object: TitleIndex,
    names: InstanceNames,
) -> Result<Vec<InstanceKey>, SourceError> {
    let mut interest = Interest::everything();
    interest.add(object, IDENTITY_COUNTERS[0]);
    let snapshot = source.snapshot(&Request::objects([object]).with_interest(interest))?;
    let found = snapshot.object(object).filter(|object| object.has_instances());
    Ok(found.map(|object| matching::keys(object, names)).unwrap_or_default())
}

impl Entry {
    /// Finds the instances of the path among those of its object.
    fn choose(&mut self, keys: Option<&Arc<Keys>>) {
        let Some(chosen) = &mut self.chosen else { return };
        let is_same = match (&chosen.of, keys) {
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            (before, now) => before.is_none() && now.is_none(),
        };
        if !is_same {
            chosen.positions =
                keys.map(|keys| keys.chosen(&chosen.wanted, &chosen.pattern)).unwrap_or_default();
            chosen.of = keys.cloned();
        }
    }
}

impl Asked {
    fn of(entries: &BTreeMap<CounterHandle, Entry>) -> Asked {
        let mut interest = Interest::everything();
        let mut objects = BTreeSet::new();
        for entry in entries.values() {
            objects.insert(entry.object);
            for counter in entry.counters.iter().chain(&IDENTITY_COUNTERS) {
                interest.add(entry.object, *counter);
            }
        }
        let objects: Vec<TitleIndex> = objects.into_iter().collect();
        let request = Request::objects(objects.iter().copied()).with_interest(interest);
        Asked { objects, request }
    }
}
