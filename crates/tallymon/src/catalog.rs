//! What objects and counters a source has, without their values.

use std::sync::Arc;

use tallymon_core::block::{CounterDefinition, DetailLevel, Snapshot};
use tallymon_core::flow::{Source, SourceError};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::title::{HelpIndex, TitleIndex};

/// The objects of a source. Clones share them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    objects: Arc<Vec<CatalogObject>>,
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
    /// Reads the definitions of a source, and the name of its host.
    ///
    /// # Errors
    ///
    /// The source does not answer.
    pub fn read(source: &mut dyn Source) -> Result<(String, Catalog), SourceError> {
        let mut catalog = Catalog::default();
        let mut system_name = String::new();
        for costly in [false, true] {
            let kind = RequestKind::Metadata { costly, old: false };
            let snapshot = source.snapshot(&Request::from(kind))?;
            catalog.merge(&snapshot, costly);
            system_name = snapshot.system_name().to_string();
        }
        Ok((system_name, catalog))
    }

    /// Adds those objects of a snapshot that the catalog lacks.
    pub(crate) fn merge(&mut self, snapshot: &Snapshot, costly: bool) {
        for object in snapshot.objects() {
            let header = object.header();
            if self.object(header.name).is_none() {
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
        self.objects.iter().find(|object| object.name == name)
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

    /// The visible counter with a name.
    pub fn counter(&self, name: TitleIndex) -> Option<&CounterDefinition> {
        self.visible_counters().find(|counter| counter.name == name)
    }
}
