//! What a source has, without its values: names, objects, counters.

use tallymon_core::block::Snapshot;
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::Request;
use tallymon_core::title::{Language, Titles};

use crate::catalog::Catalog;
use crate::names::{Locale, Names};

/// All that a query has to know about a source before it can look up paths. Clones share the tables.
#[derive(Debug, Clone)]
pub struct SourceInfo {
    /// Name of the host that the source is of.
    pub system_name: String,
    /// Other names of that host in paths.
    pub host_names: Vec<String>,
    /// Names and help texts.
    pub names: Names,
    /// Objects and counters.
    pub catalog: Catalog,
}

impl SourceInfo {
    /// Asks a source, for a user of a language. Names are loaded in every language that the source has, so
    /// that paths in any of them are found without asking again.
    ///
    /// # Errors
    ///
    /// The source has no names, or does not say which objects it has.
    pub fn read(source: &mut dyn Source, locale: impl Into<Locale>) -> Result<SourceInfo, SourceError> {
        let mut names = Names::load(source, locale)?;
        names.load_all(source)?;
        let (system_name, mut catalog) = Catalog::read(source)?;
        catalog.define_registered(source)?;
        Ok(SourceInfo { system_name, host_names: source.host_names(), names, catalog })
    }
}

/// The source of a query that is handed its samples.
pub(crate) struct NoSource;

impl Source for NoSource {
    fn snapshot(&mut self, _request: &Request) -> Result<Snapshot, SourceError> {
        Err(no_source())
    }

    fn titles(&mut self, _language: Language) -> Result<Titles, SourceError> {
        Err(no_source())
    }
}

fn no_source() -> SourceError {
    SourceError::new(SourceErrorKind::Unsupported, "this query has no source of its own: a sampler feeds it")
}
