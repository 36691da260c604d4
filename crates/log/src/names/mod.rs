//! Names of counters in other languages: tables that systems wrote into files, and logs read with English
//! names.
//!
//! Windows writes the names of its own language into a log. The same number, the title index, belongs to a
//! name in every language of one system, so two tables translate a log. [`NameFile`] reads such tables, and
//! [`NameTable`] translates the columns of logs that are opened with it, see
//! [`ReadOptions::names`](crate::ReadOptions::names).

mod file;
mod translated;

use std::collections::{BTreeSet, HashMap, HashSet};

use tallymon_core::path::{CounterPath, Part};
use tallymon_core::title::{Language, TitleIndex, Titles};

pub use file::NameFile;
pub(crate) use translated::Translated;

/// Translates names of objects and counters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameTable {
    /// The indexes of each name in small letters, in any language.
    indexes: HashMap<String, BTreeSet<u32>>,
    /// The names to translate into.
    names: HashMap<u32, String>,
    /// Counters of known objects, by object and counter.
    counters: HashSet<(u32, u32)>,
}

impl NameTable {
    /// A table without names. `counters` says which counters are those of which object: several have the same
    /// name.
    pub fn new(counters: impl IntoIterator<Item = (TitleIndex, TitleIndex)>) -> NameTable {
        let counters = counters.into_iter().map(|(object, counter)| (object.0, counter.0)).collect();
        NameTable { counters, ..NameTable::default() }
    }

    /// Adds names that logs may have.
    pub fn add(&mut self, titles: &Titles) {
        for (index, name) in titles.names() {
            self.indexes.entry(name.to_lowercase()).or_default().insert(index.0);
        }
    }

    /// Adds names that are shown instead. Of several names of an index, the first one stays.
    pub fn add_target(&mut self, titles: &Titles) {
        self.add(titles);
        for (index, name) in titles.names() {
            self.names.entry(index.0).or_insert_with(|| name.to_owned());
        }
    }

    /// The path with the names of the target language; `None` if the object or the counter has none.
    pub fn translate(&self, path: &CounterPath) -> Option<CounterPath> {
        let indexes = |part: &Part| -> Option<Vec<u32>> {
            match part {
                Part::Index(index) => Some(vec![*index]),
                Part::Name(name) => Some(self.indexes.get(&name.to_lowercase())?.iter().copied().collect()),
            }
        };
        let named = |index: &u32| self.names.contains_key(index);
        let (objects, counters) = (indexes(&path.object)?, indexes(&path.counter)?);
        let pairs = objects.iter().flat_map(|object| counters.iter().map(move |counter| (*object, *counter)));
        let pairs: Vec<(u32, u32)> =
            pairs.filter(|(object, counter)| named(object) && named(counter)).collect();
        let known = pairs.iter().find(|pair| self.counters.contains(pair));
        // The counters of a provider follow its object.
        let near = || pairs.iter().min_by_key(|(object, counter)| counter.wrapping_sub(*object));
        let (object, counter) = known.or_else(near)?;
        Some(CounterPath {
            object: Part::Name(self.names.get(object)?.clone()),
            counter: Part::Name(self.names.get(counter)?.clone()),
            ..path.clone()
        })
    }
}

/// The code pages of Windows' ANSI files by language; others use 1252.
const CODE_PAGES: [(u16, &str); 22] = [
    (0x001, "windows-1256"),
    (0x002, "windows-1251"),
    (0x404, "big5"),
    (0x804, "gbk"),
    (0x005, "windows-1250"),
    (0x008, "windows-1253"),
    (0x00d, "windows-1255"),
    (0x00e, "windows-1250"),
    (0x011, "shift_jis"),
    (0x012, "euc-kr"),
    (0x015, "windows-1250"),
    (0x018, "windows-1250"),
    (0x019, "windows-1251"),
    (0x01a, "windows-1250"),
    (0x01b, "windows-1250"),
    (0x01e, "windows-874"),
    (0x01f, "windows-1254"),
    (0x022, "windows-1251"),
    (0x024, "windows-1250"),
    (0x025, "windows-1257"),
    (0x026, "windows-1257"),
    (0x027, "windows-1257"),
];

/// The label of the code page of a language.
fn code_page(language: Option<Language>) -> &'static str {
    let found = CODE_PAGES.iter().find(|(id, _)| language.is_some_and(|language| language.langid() == *id));
    found.map_or("windows-1252", |(_, label)| label)
}
