//! One message: its English words with places for values, and its translation.

use std::borrow::Cow;

/// A message with places for values.
#[derive(Debug)]
pub(super) struct Template {
    /// The English words before, between and after the values.
    pieces: Vec<&'static str>,
    translated: &'static str,
}

impl Template {
    pub(super) fn new(english: &'static str, translated: &'static str) -> Template {
        Template { pieces: english.split("{}").collect(), translated }
    }

    /// The length of the words, in bytes.
    pub(super) fn length(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Whether it has enough words that hardly a name or another message looks like it.
    pub(super) fn is_distinct(&self) -> bool {
        let words = self.pieces.iter().flat_map(|piece| piece.split(|letter: char| !letter.is_alphabetic()));
        // As `error: {}`.
        let is_label = self.pieces.first().is_some_and(|piece| piece.ends_with(": "));
        is_label || words.filter(|word| word.len() > 1).count() > 1
    }

    /// The values of a text that this template covers.
    pub(super) fn values<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let (first, more) = self.pieces.split_first()?;
        let mut rest = text.strip_prefix(first)?;
        let Some((last, between)) = more.split_last() else {
            return rest.is_empty().then(Vec::new);
        };
        let mut values = Vec::new();
        for piece in between {
            let at = rest.find(piece)?;
            let (value, behind) = rest.split_at(at);
            values.push(value);
            rest = behind.get(piece.len()..)?;
        }
        values.push(rest.strip_suffix(last)?);
        Some(values)
    }

    /// The values at the ends of a text, without words of ours around them. They end where the next message
    /// begins.
    pub(super) fn open_values<'t>(&self, values: &[&'t str]) -> [Option<&'t str>; 2] {
        let is_open = |piece: Option<&&str>| piece.is_some_and(|piece| piece.is_empty());
        let first = values.first().copied().filter(|_| is_open(self.pieces.first()));
        let last = values.last().copied().filter(|_| is_open(self.pieces.last()));
        [first, last]
    }

    /// The translation with these values.
    pub(super) fn fill(&self, values: &[Cow<'_, str>]) -> String {
        let mut out = String::new();
        let mut rest = self.translated;
        let mut next = values.iter();
        while let Some((before, (number, behind))) =
            rest.split_once('{').and_then(|(before, place)| Some((before, place.split_once('}')?)))
        {
            out.push_str(before);
            let value = match number.parse::<usize>() {
                Ok(number) => values.get(number),
                Err(_) => next.next(),
            };
            out.push_str(value.map_or("", |value| value.as_ref()));
            rest = behind;
        }
        out.push_str(rest);
        out
    }
}
