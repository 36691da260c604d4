//! The search of the dialog: every word, in any language, in the names of an object or its counters.

use tallymon::core::title::{Language, TitleIndex};

use super::AddDialog;

impl AddDialog {
    /// The objects and counters that have all words of the search, and the best of them chosen.
    pub(crate) fn find(&mut self) {
        let words: Vec<String> = self.search.to_lowercase().split_whitespace().map(str::to_string).collect();
        let names = self.feed.query.names();
        let mut best: Option<(u32, TitleIndex, TitleIndex)> = None;
        let mut objects: Vec<(String, TitleIndex)> = Vec::new();
        for object in self.feed.query.catalog().objects() {
            let mut any = false;
            for counter in object.visible_counters() {
                let Some(score) = self.score(&words, object.name, counter.name) else { continue };
                any = true;
                if !words.is_empty() && best.is_none_or(|(known, ..)| score > known) {
                    best = Some((score, object.name, counter.name));
                }
            }
            if any {
                objects.push((names.name(object.name).to_lowercase(), object.name));
            }
        }
        objects.sort();
        self.objects = objects.into_iter().map(|(_, object)| object).collect();
        self.at = [0, 0, 0, self.at[3]];
        match best {
            Some((_, object, counter)) => self.go_to(object, counter),
            None => self.chose_object(None),
        }
    }

    /// How well a counter fits: 0 when nothing is searched, `None` when a word is nowhere in any language.
    pub(crate) fn score(&self, words: &[String], object: TitleIndex, counter: TitleIndex) -> Option<u32> {
        let names = self.feed.query.names();
        let all = |index: TitleIndex| -> Vec<(Language, String)> {
            names.all(index).map(|(language, name)| (language, name.to_lowercase())).collect()
        };
        if words.is_empty() {
            return Some(0);
        }
        let (objects, counters) = (all(object), all(counter));
        let searched = words.join(" ");
        let mut score = 0u32;
        for word in words {
            let best = counters
                .iter()
                .map(|(_, name)| (name, 2))
                .chain(objects.iter().map(|(_, name)| (name, 1)))
                .filter(|(name, _)| name.contains(word.as_str()))
                .map(|(name, points)| {
                    let starts = name.split([' ', '%', '/', '.']).any(|part| part.starts_with(word.as_str()));
                    points + if starts { 4 } else { 0 }
                })
                .max()?;
            score = score.saturating_add(best);
        }
        // The whole text at once is more than its words here and there.
        if counters.iter().any(|(_, name)| *name == searched) {
            score = score.saturating_add(100);
        } else if counters.iter().any(|(_, name)| name.contains(&searched)) {
            score = score.saturating_add(10);
        }
        let object = self.feed.query.catalog().object(object)?;
        let is_default = object
            .default_counter
            .and_then(|at| object.counters.get(at))
            .is_some_and(|known| known.name == counter);
        Some(score.saturating_mul(2).saturating_add(u32::from(is_default)))
    }
}
