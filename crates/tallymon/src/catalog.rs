//! What objects and counters a source has, without their values.

use std::collections::HashMap;
use std::sync::Arc;

use tallymon_core::block::{CounterDefinition, DetailLevel, Snapshot};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{RegisteredObjects, Source, SourceError};
use tallymon_core::path::Part;
use tallymon_core::title::{HelpIndex, TitleIndex};

use crate::names::Names;

/// The objects of a source. Clones share them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    objects: Arc<Vec<CatalogObject>>,
    /// Position of each object, by its name.
    positions: Arc<HashMap<TitleIndex, usize>>,
    registered: Arc<RegisteredObjects>,
}

/// An object of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogObject {
    /// Name.
    pub name: TitleIndex,
    /// Help text.
    pub help: HelpIndex,
    /// How much a user has to know.
    pub detail_level: DetailLevel,
    /// Whether it has instances.
    pub has_instances: bool,
    /// Whether `Global` leaves it out.
    pub costly: bool,
    /// Position of the counter that a viewer shows first.
    pub default_counter: Option<usize>,
    /// Every counter definition, base counters included.
    pub counters: Vec<CounterDefinition>,
}

impl Catalog {
    /// Reads the definitions of a source, and the name of its host. Of objects that have to be requested for
    /// their definitions it only knows [that they are registered](Catalog::registered).
    ///
    /// # Errors
    ///
    /// The source does not answer.
    pub fn read(source: &mut dyn Source) -> Result<(String, Catalog), SourceError> {
        let mut catalog = Catalog::default();
        let mut system_name = String::new();
        for costly in [false, true] {
            let snapshot = source.definitions(costly)?;
            catalog.merge(&snapshot, costly);
            system_name = snapshot.system_name().to_string();
        }
        catalog.registered = Arc::new(source.registered());
        Ok((system_name, catalog))
    }

    /// Requests the registered objects, so that the catalog has all objects whose providers answer.
    ///
    /// # Errors
    ///
    /// The source does not answer.
    pub(crate) fn define_registered(&mut self, source: &mut dyn Source) -> Result<(), SourceError> {
        if let Some(request) = self.registered.request() {
            self.merge(&source.snapshot(&request)?, false);
        }
        Ok(())
    }

    /// Objects that exist by registration. Their definitions are in the catalog once their providers have
    /// answered a request.
    pub fn registered(&self) -> &RegisteredObjects {
        &self.registered
    }

    /// The registered objects that a part of a path may name.
    pub(crate) fn named(&self, names: &Names, part: &Part) -> Vec<TitleIndex> {
        let mut found = match part {
            Part::Index(index) => vec![TitleIndex(*index)],
            Part::Name(written) => names.find_all(written),
        };
        found.retain(|one| self.registered.contains(*one));
        found
    }

    /// Adds those objects of a snapshot that the catalog lacks.
    pub(crate) fn merge(&mut self, snapshot: &Snapshot, costly: bool) {
        for object in snapshot.objects() {
            let header = object.header();
            if self.object(header.name).is_none() {
                Arc::make_mut(&mut self.positions).insert(header.name, self.objects.len());
                Arc::make_mut(&mut self.objects).push(CatalogObject {
                    name: header.name,
                    help: header.help,
                    detail_level: header.detail_level,
                    has_instances: object.has_instances(),
                    costly,
                    default_counter: object.default_counter(),
                    counters: object.counters().to_vec(),
                });
            }
        }
    }

    /// All objects in the order of the source.
    pub fn objects(&self) -> &[CatalogObject] {
        &self.objects
    }

    /// The object to show first: Processor, or the first object of a source without it.
    ///
    /// ```
    /// use tallymon::{Location, Query};
    ///
    /// let query = Query::open(&Location::Local)?;
    /// let object = query.catalog().default_object().unwrap();
    /// let counter = object.first_shown().unwrap();
    /// assert_eq!(query.names().english(object.name), "Processor");
    /// assert_eq!(query.names().english(counter.name), "% Processor Time");
    /// # Ok::<(), tallymon::core::flow::SourceError>(())
    /// ```
    pub fn default_object(&self) -> Option<&CatalogObject> {
        const PROCESSOR: TitleIndex = TitleIndex(238);
        self.object(PROCESSOR).or(self.objects.first())
    }

    /// The object with a name.
    pub fn object(&self, name: TitleIndex) -> Option<&CatalogObject> {
        self.objects.get(*self.positions.get(&name)?)
    }
}

impl CatalogObject {
    /// The counters to show: all but bases and labels.
    pub fn visible_counters(&self) -> impl Iterator<Item = &CounterDefinition> {
        self.counters.iter().filter(|counter| counter.counter_type.is_visible())
    }

    /// The counter to show first: the default one, or the first visible one if the default is hidden.
    pub fn first_shown(&self) -> Option<&CounterDefinition> {
        let default = self.default_counter.and_then(|position| self.counters.get(position));
        let shown = default.filter(|counter| counter.counter_type.is_visible());
        shown.or(self.visible_counters().next())
    }

    /// The counters that a path may name: the visible ones, then labels that have a number.
    pub fn named_counters(&self) -> impl Iterator<Item = &CounterDefinition> {
        let is_label = |counter: &&CounterDefinition| {
            counter.counter_type == CounterType::PERF_COUNTER_NODATA && matches!(counter.counter_size, 4 | 8)
        };
        self.visible_counters().chain(self.counters.iter().filter(is_label))
    }

    /// The counter with a name, as [`CatalogObject::named_counters`] has it.
    pub fn counter(&self, name: TitleIndex) -> Option<&CounterDefinition> {
        self.named_counters().find(|counter| counter.name == name)
    }
}
