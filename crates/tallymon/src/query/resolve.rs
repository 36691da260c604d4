//! Looking up the names of a path: what they mean, or which part is wrong.

use tallymon_core::flow::SourceError;
use tallymon_core::path::{CounterPath, ParsedPath, Part};
use tallymon_core::title::{self, TitleIndex};

use super::{Chosen, Entry, Query};
use crate::catalog::CatalogObject;
use crate::names::Names;
use crate::path_error::{PathError, PathPart, PathProblem};
use crate::search::{SearchHit, search};

/// Paths that an error suggests for words at most.
const SUGGESTIONS: usize = 3;

impl Query {
    /// Checks that object and counter of a path exist, without adding it.
    ///
    /// ```
    /// use tallymon::{Location, PathPart, Query};
    ///
    /// let mut query = Query::open(&Location::Local)?;
    /// let error = query.check(r"\Memory\Availble Bytes").unwrap_err();
    /// assert_eq!(error.part, PathPart::Counter);
    /// assert_eq!(&error.path[error.span.clone()], "Availble Bytes");
    /// assert_eq!(error.nearest[0], "Available Bytes");
    /// # Ok::<(), tallymon::core::flow::SourceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Query::add`]. An instance that does not exist now is no error.
    pub fn check(&mut self, path: &str) -> Result<(), PathError> {
        self.named(path).map(drop)
    }

    /// The object and the counter of a path, the first one when the counter is a pattern. Adds nothing.
    ///
    /// # Errors
    ///
    /// As [`Query::check`].
    pub fn named(&mut self, path: &str) -> Result<(TitleIndex, Option<TitleIndex>), PathError> {
        let parsed = self.parse(path)?;
        let entry = self.resolve(path, &parsed.path)?;
        Ok((entry.object, entry.counters.first().copied()))
    }

    /// Parses a counter path. For a text that is not a path but words, such as "cpu", the error has the paths
    /// of the counters that [`search`] finds for them.
    ///
    /// # Errors
    ///
    /// The text does not follow the grammar of counter paths, or a table of names cannot be read.
    pub fn parse(&mut self, text: &str) -> Result<ParsedPath, PathError> {
        let parsed = CounterPath::parse(text);
        let is_known = |object: &Part| self.resolve_object(object).is_some();
        if !parsed.as_ref().is_ok_and(|parsed| parsed.repaired.is_none() && is_known(&parsed.path.object)) {
            // The name of an instance may look like other parts of a path.
            if let Some(path) = CounterPath::alternatives(text).find(|other| is_known(&other.object)) {
                return Ok(ParsedPath { path, repaired: None });
            }
        }
        let error = match parsed {
            Ok(parsed) => return Ok(parsed),
            Err(error) => PathError::syntax(text, error),
        };
        if !text.contains(char::is_alphanumeric) || text.contains(['\\', '/', '(']) {
            return Err(error);
        }
        let mut hits = search(&self.names, &self.catalog, text);
        if hits.is_empty() && self.names.load_all(self.source.as_mut()).is_ok() {
            hits = search(&self.names, &self.catalog, text);
        }
        let nearest = hits.iter().take(SUGGESTIONS).map(|hit| self.path_of(hit)).collect();
        Err(PathError { span: 0..text.len(), problem: PathProblem::NotAPath, nearest, ..error })
    }

    /// The path of a counter that [`search`] found, for all instances, in the language of the hit. In the
    /// user's own language names have the form that the user chose.
    pub fn path_of(&self, hit: &SearchHit) -> String {
        let name = |index: TitleIndex| {
            if hit.language == self.names.preferred() {
                return self.names.name(index);
            }
            let found = self.names.all(index).find(|(language, _)| *language == hit.language);
            found.map_or_else(|| self.names.english(index), |(_, name)| name.to_string())
        };
        let has_instances = self.catalog.object(hit.object).is_some_and(|object| object.has_instances);
        let instance = if has_instances { "(*)" } else { "" };
        format!("\\{}{instance}\\{}", name(hit.object), name(hit.counter))
    }

    /// Looks up the names of a path.
    pub(super) fn resolve(&mut self, text: &str, path: &CounterPath) -> Result<Entry, PathError> {
        let error = |part, found: &str, problem, nearest| {
            // The counter is the last part; the text of any other part may occur again after it.
            let at = if part == PathPart::Counter { text.rfind(found) } else { text.find(found) };
            let span = at.map_or(0..text.len(), |at| at..at + found.len());
            PathError { path: text.to_string(), part, span, problem, nearest }
        };
        if let Some(machine) = &path.machine
            && !self.is_this_host(machine)
        {
            let problem = PathProblem::OtherHost(self.system_name.clone());
            return Err(error(PathPart::Host, machine, problem, Vec::new()));
        }
        let object = self.object(text, &path.object)?;
        let mut counters = self.resolve_counters(object, &path.counter);
        if counters.is_empty() {
            self.names
                .load_all(self.source.as_mut())
                .map_err(|source| error(PathPart::Path, text, PathProblem::Source(source), Vec::new()))?;
            counters = self.resolve_counters(object, &path.counter);
        }
        let known = self.catalog.object(object);
        if counters.is_empty() {
            let wanted = path.counter.to_string();
            let all = known.into_iter().flat_map(CatalogObject::visible_counters).map(|counter| counter.name);
            let nearest = self.nearest(&wanted, all);
            return Err(error(PathPart::Counter, &wanted, PathProblem::Unknown(wanted.clone()), nearest));
        }
        let has_instances = known.is_some_and(|object| object.has_instances);
        match (&path.instance, has_instances) {
            (None, true) => {
                let name = self.names.name(object);
                let found = path.object.to_string();
                return Err(error(PathPart::Object, &found, PathProblem::InstanceMissing(name), Vec::new()));
            }
            (Some(instance), false) => {
                let name = self.names.name(object);
                let found = format!("({instance})");
                return Err(error(PathPart::Instance, &found, PathProblem::NoInstances(name), Vec::new()));
            }
            _ => {}
        }
        let chosen = path.instance.clone().map(|wanted| Chosen {
            pattern: wanted.pattern(),
            wanted,
            positions: Vec::new(),
            of: None,
        });
        Ok(Entry { path: text.to_string(), object, counters, chosen, scale: None })
    }

    /// The object that a part of a path names; `text` is what the user wrote, for messages.
    ///
    /// # Errors
    ///
    /// There is no such object; the error has the nearest names that exist.
    pub fn object(&mut self, text: &str, part: &Part) -> Result<TitleIndex, PathError> {
        if let Some(object) = self.resolve_object(part) {
            return Ok(object);
        }
        if let Some(object) = self.define(text, part)? {
            return Ok(object);
        }
        // The name may be in a language that is not loaded yet.
        let error = |problem, nearest| {
            let found = part.to_string();
            let span = text.find(&found).map_or(0..text.len(), |at| at..at + found.len());
            PathError { path: text.to_string(), part: PathPart::Object, span, problem, nearest }
        };
        self.names
            .load_all(self.source.as_mut())
            .map_err(|source| error(PathProblem::Source(source), Vec::new()))?;
        if let Some(object) = self.resolve_object(part) {
            return Ok(object);
        }
        if let Some(object) = self.define(text, part)? {
            return Ok(object);
        }
        if let Some(object) =
            self.discover(part).map_err(|source| error(PathProblem::Source(source), Vec::new()))?
        {
            return Ok(object);
        }
        let wanted = part.to_string();
        let defined = self.catalog.objects().iter().map(|object| object.name);
        let listed = self.catalog.registered().listed.iter().copied();
        let nearest = self.nearest(&wanted, defined.chain(listed));
        Err(error(PathProblem::Unknown(wanted), nearest))
    }

    /// Has the source look for an object that is costly to find, and takes its names and definition.
    fn discover(&mut self, part: &Part) -> Result<Option<TitleIndex>, SourceError> {
        let Part::Name(name) = part else { return Ok(None) };
        if part.is_wild() || !self.source.discover(name) {
            return Ok(None);
        }
        self.names = Names::load(self.source.as_mut(), self.names.locale())?;
        let definitions = self.source.definitions(true)?;
        self.catalog.merge(&definitions, true);
        self.source.give_back(definitions);
        Ok(self.resolve_object(part))
    }

    /// Whether a host in a path is that of the source.
    fn is_this_host(&self, machine: &str) -> bool {
        machine.eq_ignore_ascii_case(&self.system_name)
            || machine == "."
            || machine.eq_ignore_ascii_case("localhost")
            || self.host_names.iter().any(|name| machine.eq_ignore_ascii_case(name))
    }

    /// Name of the host of the source.
    pub fn system_name(&self) -> &str {
        &self.system_name
    }

    fn resolve_object(&self, part: &Part) -> Option<TitleIndex> {
        let mut objects = self.catalog.objects().iter().map(|object| object.name);
        match part {
            Part::Index(index) => objects.find(|name| name.0 == *index),
            Part::Name(written) => objects.clone().find(|name| self.names.is(*name, written)).or_else(|| {
                // An object that has a name today is meant before one that had it in NT 4.
                objects.find(|name| self.names.was(*name, written))
            }),
        }
    }

    fn resolve_counters(&self, object: TitleIndex, part: &Part) -> Vec<TitleIndex> {
        let known = self.catalog.object(object).into_iter();
        let names = known.clone().flat_map(CatalogObject::visible_counters).map(|counter| counter.name);
        let mut named = known.flat_map(CatalogObject::named_counters).map(|counter| counter.name);
        match part {
            Part::Index(index) => named.find(|name| name.0 == *index).into_iter().collect(),
            Part::Name(written) => match part.pattern().filter(|_| part.is_wild()) {
                Some(pattern) => names
                    .filter(|name| self.names.all(*name).any(|(_, known)| pattern.matches(known)))
                    .collect(),
                None => named.find(|name| self.names.is(*name, written)).into_iter().collect(),
            },
        }
    }

    fn nearest(&self, wanted: &str, candidates: impl Iterator<Item = TitleIndex>) -> Vec<String> {
        let names: Vec<String> = candidates
            .flat_map(|name| self.names.all(name).map(|(_, text)| text.to_string()).collect::<Vec<_>>())
            .collect();
        let nearest = title::nearest(wanted, names.iter().map(String::as_str), 3);
        nearest.into_iter().map(str::to_string).collect()
    }
}
