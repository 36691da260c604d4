//! Finds counters by the words that a user has for them: names, parts of names, and what people call them.
//!
//! [`search`] is a pure function over names and a catalog. It ranks, best first:
//!
//! 1. counters of an idea that the words name: "cpu", "iops", "ram" (`synonyms.rs`);
//! 2. the counter of exactly that name, then the counters of the object of exactly that name;
//! 3. counters in whose names all words occur: as whole words, then as beginnings, then anywhere;
//! 4. counters whose help text has the words that their names do not have.
//!
//! The user's language and English come first. Other loaded languages are searched only if these have
//! nothing.

mod synonyms;

use tallymon_core::title::{Language, TitleIndex};

use crate::catalog::{Catalog, CatalogObject};
use crate::names::Names;
use synonyms::{CONCEPTS, Concept};

/// A counter that [`search`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchHit {
    /// The object's name.
    pub object: TitleIndex,
    /// The counter's name.
    pub counter: TitleIndex,
    /// The language whose texts have the words; the user's language where no text was needed.
    pub language: Language,
    /// How well it fits: higher is better. Only the order has a meaning.
    pub score: u32,
}

/// All counters of `catalog` that fit the words in `text`, best first; equal ones in the order of the
/// catalog.
///
/// Case does not matter. A text without words finds nothing.
///
/// ```
/// use tallymon::{Location, Query, search};
///
/// let query = Query::open(&Location::Local)?;
/// let hits = search(query.names(), query.catalog(), "cpu");
/// assert_eq!(query.names().english(hits[0].object), "Processor");
/// assert_eq!(query.names().english(hits[0].counter), "% Processor Time");
/// # Ok::<(), tallymon::core::flow::SourceError>(())
/// ```
pub fn search(names: &Names, catalog: &Catalog, text: &str) -> Vec<SearchHit> {
    let wanted = Wanted::new(text);
    if wanted.words.is_empty() {
        return Vec::new();
    }
    let own = |language: Language| language == names.preferred() || language == Language::ENGLISH;
    let hits = hits(names, catalog, &wanted, &own);
    if !hits.is_empty() {
        return hits;
    }
    self::hits(names, catalog, &wanted, &|language| !own(language))
}

/// What is searched for.
struct Wanted {
    /// In lower case, one blank between words.
    text: String,
    words: Vec<String>,
    /// The idea that the whole text names.
    concept: Option<&'static Concept>,
    /// For each word the idea that it names by itself.
    word_concepts: Vec<Option<&'static Concept>>,
}

impl Wanted {
    fn new(text: &str) -> Wanted {
        let words: Vec<String> = text.to_lowercase().split_whitespace().map(str::to_string).collect();
        let text = words.join(" ");
        let whole = concept(&text).or_else(|| in_any_order(&words));
        let word_concepts = words.iter().map(|word| concept(word)).collect();
        Wanted { text, words, concept: whole, word_concepts }
    }
}

fn concept(text: &str) -> Option<&'static Concept> {
    CONCEPTS.iter().find(|concept| concept.phrases.contains(&text))
}

/// "used memory" is "memory used".
fn in_any_order(words: &[String]) -> Option<&'static Concept> {
    let is_same = |phrase: &str| {
        let mut parts = phrase.split(' ');
        parts.clone().count() == words.len() && parts.all(|part| words.iter().any(|word| word == part))
    };
    CONCEPTS.iter().find(|concept| concept.phrases.iter().copied().any(is_same))
}

/// Scores of whole texts; sums of words are below all of them.
const CONCEPT: u32 = 100_000;
const EXACT_COUNTER: u32 = 90_000;
const EXACT_OBJECT: u32 = 80_000;
const DEFAULT_COUNTER: u32 = 500;

fn hits(
    names: &Names,
    catalog: &Catalog,
    wanted: &Wanted,
    searched: &dyn Fn(Language) -> bool,
) -> Vec<SearchHit> {
    let mut hits = Vec::new();
    for object in catalog.objects() {
        let english_object = names.english(object.name);
        let default = object.first_shown().map(|counter| counter.name);
        // `TCP` of NT 4 means the object that is TCPv4 now.
        let by_old_name = names.was(object.name, &wanted.text).then_some((EXACT_OBJECT, names.preferred()));
        for counter in object.visible_counters() {
            let english_counter = names.english(counter.name);
            let mut best = by_old_name;
            if let Some(position) =
                wanted.concept.and_then(|it| position(it, &english_object, &english_counter))
            {
                // Two counters of an idea differ by more than anything else may add.
                best = Some((CONCEPT.saturating_sub(position.saturating_mul(1000)), names.preferred()));
            }
            for (language, texts) in texts(names, object, counter, searched) {
                let Some(score) = texts.score(wanted, &english_object, &english_counter) else { continue };
                // Of equal ones the user's own language.
                let is_better = best.is_none_or(|(known, found)| {
                    score > known
                        || (score == known && found != names.preferred() && language == names.preferred())
                });
                if is_better {
                    best = Some((score, language));
                }
            }
            let Some((score, language)) = best else { continue };
            let bonus = if default == Some(counter.name) { DEFAULT_COUNTER } else { 0 };
            let score = score.saturating_add(bonus);
            hits.push(SearchHit { object: object.name, counter: counter.name, language, score });
        }
    }
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.score));
    hits
}

fn position(concept: &Concept, object: &str, counter: &str) -> Option<u32> {
    let found = concept.counters.iter().position(|known| *known == (object, counter))?;
    u32::try_from(found).ok()
}

/// The texts of one counter in one language, in lower case.
struct Texts {
    object: String,
    counter: String,
    help: String,
}

/// The texts of a counter in each searched language. A text that a language lacks is empty.
fn texts(
    names: &Names,
    object: &CatalogObject,
    counter: &tallymon_core::block::CounterDefinition,
    searched: &dyn Fn(Language) -> bool,
) -> Vec<(Language, Texts)> {
    let lower =
        |found: Option<(Language, &str)>| found.map_or_else(String::new, |(_, text)| text.to_lowercase());
    let mut seen: Vec<Language> = Vec::new();
    let mut texts = Vec::new();
    for (language, name) in names.all(counter.name).filter(|(language, _)| searched(*language)) {
        let is_it = |(known, _): &(Language, &str)| *known == language;
        // A language may have two names: that of Windows, which is English, and our translation.
        let nth = seen.iter().filter(|known| **known == language).count();
        seen.push(language);
        let mut objects = names.all(object.name).filter(is_it);
        let first = objects.next();
        let of_counter = Texts {
            object: lower(nth.checked_sub(1).and_then(|more| objects.nth(more)).or(first)),
            counter: name.to_lowercase(),
            help: lower(names.all_help(counter.help).find(is_it)),
        };
        texts.push((language, of_counter));
    }
    texts
}

impl Texts {
    /// How well the counter fits; `None` when one of the words occurs nowhere.
    fn score(&self, wanted: &Wanted, english_object: &str, english_counter: &str) -> Option<u32> {
        if self.counter == wanted.text {
            return Some(EXACT_COUNTER);
        }
        if self.object == wanted.text {
            return Some(EXACT_OBJECT);
        }
        let mut least = u32::MAX;
        let mut sum = 0u32;
        for (word, concept) in wanted.words.iter().zip(&wanted.word_concepts) {
            let by_name = [
                occurrence(&self.counter, word, [50, 25, 8]),
                occurrence(&self.object, word, [30, 15, 5]),
                occurrence(&self.help, word, [3, 2, 1]),
            ];
            let by_idea = concept.and_then(|it| position(it, english_object, english_counter)).map(|_| 20);
            let best = by_name.into_iter().flatten().chain(by_idea).max()?;
            least = least.min(best);
            sum = sum.saturating_add(best);
        }
        // One word that is in the help text only weighs more than the others in the names.
        let whole = if self.counter.contains(&wanted.text) { 20 } else { 0 };
        Some(least.saturating_mul(1000).saturating_add(sum).saturating_add(whole))
    }
}

/// The points of a word in a text: as a whole word, as the beginning of one, anywhere in it.
fn occurrence(text: &str, word: &str, [whole, beginning, anywhere]: [u32; 3]) -> Option<u32> {
    if !text.contains(word) {
        return None;
    }
    let mut points = anywhere;
    for part in text.split(|letter: char| !letter.is_alphanumeric()) {
        if part == word {
            return Some(whole);
        }
        if part.starts_with(word) {
            points = beginning;
        }
    }
    Some(points)
}

#[cfg(test)]
mod search_tests;
