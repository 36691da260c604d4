//! Expanding the wildcards of a path to the paths that exist now.

use tallymon_core::flow::SourceError;
use tallymon_core::path::{CounterPath, InstancePath, Part};
use tallymon_core::title::TitleIndex;

use super::Query;
use crate::catalog::CatalogObject;
use crate::matching::{InstanceKey, chosen};
use crate::path_error::{PathError, PathPart, PathProblem};

/// Which wildcards are expanded. The others stay as they were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Expand {
    /// Wildcards in the counter.
    pub counters: bool,
    /// Wildcards in the instance, its parent and its number.
    pub instances: bool,
}

impl Default for Expand {
    fn default() -> Expand {
        Expand { counters: true, instances: true }
    }
}

impl Query {
    /// The existing paths that match a path with wildcards, in the order of the counters, then of the
    /// instances. Names are in the user's language; the host is in them if the path has one.
    ///
    /// A path without wildcards is returned as it is, whether its instance exists or not.
    ///
    /// ```
    /// use tallymon::{Expand, Location, Query};
    ///
    /// let mut query = Query::open(&Location::Local)?;
    /// let paths = query.expand(r"\Processor(_*)\% User*", Expand::default())?;
    /// assert_eq!(paths[0].to_string(), r"\Processor(_Total)\% User Time");
    /// let keep_instances = Expand { instances: false, ..Expand::default() };
    /// let counters = query.expand(r"\Processor(*)\% User*", keep_instances)?;
    /// assert_eq!(counters[0].to_string(), r"\Processor(*)\% User Time");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Query::add`].
    pub fn expand(&mut self, text: &str, what: Expand) -> Result<Vec<CounterPath>, PathError> {
        let parsed = self.parse(text)?.path;
        let entry = self.resolve(text, &parsed)?;
        let source_error = |error: SourceError| PathError {
            path: text.to_string(),
            part: PathPart::Path,
            span: 0..text.len(),
            problem: PathProblem::Source(error),
            nearest: Vec::new(),
        };
        let instances: Vec<Option<InstancePath>> = match &parsed.instance {
            Some(wanted) if what.instances && wanted.is_wild() => {
                let pattern = wanted.pattern();
                let all = self.instances(entry.object).map_err(source_error)?;
                let matching = chosen(&all, wanted, &pattern);
                matching
                    .into_iter()
                    .filter_map(|at| all.get(at))
                    .map(|key| Some(instance_path(key)))
                    .collect()
            }
            other => vec![other.clone()],
        };
        let counters: Vec<Part> = if parsed.counter.is_wild() && !what.counters {
            vec![parsed.counter.clone()]
        } else {
            entry.counters.iter().map(|name| self.counter_part(entry.object, *name)).collect()
        };
        let object = Part::parse(&self.names.name(entry.object));
        let mut paths = Vec::new();
        for counter in &counters {
            for instance in &instances {
                paths.push(CounterPath {
                    machine: parsed.machine.clone(),
                    object: object.clone(),
                    instance: instance.clone(),
                    counter: counter.clone(),
                });
            }
        }
        Ok(paths)
    }

    /// The name of a counter in the user's language; its number when another counter of the object has the
    /// same name.
    fn counter_part(&self, object: TitleIndex, counter: TitleIndex) -> Part {
        let name = self.names.name(counter);
        let mut counters = self.catalog.object(object).into_iter().flat_map(CatalogObject::visible_counters);
        let meant = counters.find(|known| self.names.is(known.name, &name));
        if meant.is_none_or(|meant| meant.name == counter) {
            Part::parse(&name)
        } else {
            Part::Index(counter.0)
        }
    }
}

fn instance_path(key: &InstanceKey) -> InstancePath {
    InstancePath::new(key.parent.as_deref(), &key.name, key.number)
}
