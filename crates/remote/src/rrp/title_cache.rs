//! A cache of the counter names of hosts. A program may read a host several times, as the monitor does for
//! its dialogs, and the names of a Windows have megabytes.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tallymon_core::title::{Language, Titles};

/// So many tables are kept: those that were read last.
const MOST: usize = 16;

struct CachedTitles {
    host: String,
    language: Language,
    /// The last numbers of names and help texts: with other ones the names are others.
    last: (u32, u32),
    titles: Titles,
}

static CACHE: Mutex<VecDeque<CachedTitles>> = Mutex::new(VecDeque::new());

/// The names of a host, if its last numbers are those of the time when they were read.
pub(super) fn find(host: &str, language: Language, last: (u32, u32)) -> Option<Titles> {
    let cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |it: &&CachedTitles| it.host == host && it.language == language && it.last == last;
    cache.iter().find(is_it).map(|it| it.titles.clone())
}

/// Keeps the names of a host, in the place of older ones.
pub(super) fn keep(host: String, language: Language, last: (u32, u32), titles: &Titles) {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.retain(|it| it.host != host || it.language != language);
    cache.truncate(MOST.saturating_sub(1));
    cache.push_front(CachedTitles { host, language, last, titles: titles.clone() });
}

#[cfg(test)]
mod tests {
    use tallymon_core::title::TitleIndex;

    use super::*;

    #[test]
    fn the_newest_names_of_few_hosts_are_kept() {
        let titles = |name: &str| Titles::from_pairs([(2, name)]);
        let name = |host: &str, last| {
            find(host, Language::ENGLISH, last).map(|titles| titles.name(TitleIndex(2)).unwrap().to_string())
        };
        keep("a".to_string(), Language::ENGLISH, (4, 5), &titles("old"));
        assert_eq!(name("a", (4, 5)).as_deref(), Some("old"));
        assert_eq!(name("a", (6, 7)), None);
        assert_eq!(name("b", (4, 5)), None);
        keep("a".to_string(), Language::ENGLISH, (6, 7), &titles("new"));
        assert_eq!((name("a", (4, 5)), name("a", (6, 7)).as_deref()), (None, Some("new")));
        for host in 0..MOST {
            keep(host.to_string(), Language::ENGLISH, (4, 5), &titles("other"));
        }
        assert_eq!(name("a", (6, 7)), None);
        assert!(name("0", (4, 5)).is_some());
    }
}
