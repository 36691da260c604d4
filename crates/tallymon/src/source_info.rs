//! What a source has, without its values: names, objects, counters.

use tallymon_core::block::Snapshot;
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::path::CounterPath;
use tallymon_core::request::Request;
use tallymon_core::title::{Language, TitleIndex, Titles};

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

/// Which registered objects are defined in a [`SourceInfo`]. A registered object is known by its name; its
/// counters are known once its provider has been started and has answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Definitions {
    /// None of them: no provider is started.
    #[default]
    None,
    /// Those that these paths name: no other provider is started.
    OfPaths(Vec<String>),
    /// All of them, for a list or a search of all counters: every provider is started.
    All,
}

impl SourceInfo {
    /// Asks a source, for a user of a language. Names are loaded in every language that the source has, so
    /// that paths in any of them are found without asking again.
    ///
    /// # Errors
    ///
    /// The source has no names, or does not say which objects it has.
    pub fn read(
        source: &mut dyn Source,
        locale: impl Into<Locale>,
        definitions: &Definitions,
    ) -> Result<SourceInfo, SourceError> {
        let mut names = Names::load(source, locale)?;
        names.load_all(source)?;
        let (system_name, catalog) = Catalog::read(source)?;
        let mut info = SourceInfo { system_name, host_names: source.host_names(), names, catalog };
        match definitions {
            Definitions::None => {}
            Definitions::OfPaths(paths) => {
                let undefined = info.undefined(paths);
                if !undefined.is_empty() {
                    info.catalog.merge(&source.snapshot(&Request::objects(undefined))?, false);
                }
            }
            Definitions::All => info.catalog.define_registered(source)?,
        }
        Ok(info)
    }

    /// The registered objects that some paths name and that have no definition here. A text that is not a
    /// path names none.
    pub fn undefined<P: AsRef<str>>(&self, paths: &[P]) -> Vec<TitleIndex> {
        let parsed = paths.iter().filter_map(|path| CounterPath::of_text(path.as_ref()).ok());
        let named = parsed.flat_map(|path| self.catalog.named(&self.names, &path.object));
        named.filter(|object| self.catalog.object(*object).is_none()).collect()
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
