//! Messages in the language of the user, looked up by their English words.
//!
//! Errors and findings are made in English, by crates that other programs use too. A face that shows them to
//! people passes them through a [`Translation`], which knows each message as a template: English words with
//! `{}` where a value stands. What it does not know stays English, and so do the values: names, paths, numbers.

mod template;

use std::borrow::Cow;
use std::sync::OnceLock;

use tallymon_core::title::Language;

use template::Template;

/// How deep messages stand within messages.
const DEEPEST: usize = 6;
/// The most parts of a message; what is behind them counts as one.
const MOST_PARTS: usize = 40;
/// The longest line that is looked at, in bytes: a message has no longer one, but a name may.
const LONGEST: usize = 8192;

/// What stands between the parts of a message.
const SEPARATORS: [&str; 3] = ["; ", ": ", ". "];

/// Translations of findings.
const FINDINGS: &str = include_str!("findings.txt");

/// What [`analyze`](crate::analyze) says, in a language; `None` for English, and for languages without a
/// translation.
pub fn of_findings(language: Language) -> Option<&'static Translation> {
    static KNOWN: [OnceLock<Translation>; 3] = [const { OnceLock::new() }; 3];
    let column = column(language)?;
    Some(KNOWN.get(column)?.get_or_init(|| Translation::of_column(FINDINGS, column)))
}

/// The place of a language behind English.
const fn column(language: Language) -> Option<usize> {
    match language {
        Language::KOREAN => Some(0),
        Language::JAPANESE => Some(1),
        Language::RUSSIAN => Some(2),
        _ => None,
    }
}

/// The messages of one language.
#[derive(Debug)]
pub struct Translation {
    /// Those with the most words come first.
    templates: Vec<Template>,
}

impl Translation {
    /// Texts of one's own: blocks of four lines, which are English, Korean, Japanese and Russian, with empty
    /// lines between them. `{}` stands for a value; a translation that has them in another order says which
    /// one it means, as in `{1} … {0}`. `None` for other languages.
    pub fn of_blocks(blocks: &'static str, language: Language) -> Option<Translation> {
        Some(Translation::of_column(blocks, column(language)?))
    }

    fn of_column(blocks: &'static str, column: usize) -> Translation {
        let template = |block: &'static str| {
            let mut lines = block.lines();
            Some(Template::new(lines.next()?, lines.nth(column)?))
        };
        let mut templates: Vec<Template> = blocks.split("\n\n").filter_map(template).collect();
        templates.sort_by_key(|one| std::cmp::Reverse(one.length()));
        Translation { templates }
    }

    /// A message, which may have several lines. Each line is translated by itself, and of a line that is put
    /// together (`PATH: why; what to do`) each part that is known.
    pub fn message(&self, text: &str) -> String {
        let lines = text.split('\n').map(|line| self.line(line, 0));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// As [`Translation::message`], for a text that is a message as a whole, and may have as little as one
    /// word: such as `note`, or `{} min`.
    pub fn phrase(&self, text: &str) -> String {
        self.line(text, 1).into_owned()
    }

    fn line<'t>(&self, line: &'t str, depth: usize) -> Cow<'t, str> {
        let text = line.trim_start();
        if depth > DEEPEST || text.is_empty() || line.len() > LONGEST {
            return Cow::Borrowed(line);
        }
        let indent = line.get(..line.len().saturating_sub(text.len())).unwrap_or_default();
        let translated = self.whole(text, depth).or_else(|| self.parts(text, depth)).or_else(|| {
            // A line of several, as in a list of what to do.
            let words = text.strip_suffix([',', ';', ':'])?;
            let end = text.get(words.len()..).unwrap_or_default();
            Some(self.whole(words, depth)? + end)
        });
        translated.map_or(Cow::Borrowed(line), |translated| Cow::Owned(format!("{indent}{translated}")))
    }

    /// A text that one template covers.
    fn whole(&self, text: &str, depth: usize) -> Option<String> {
        // Two words and a value could be a part of anything.
        let templates = self.templates.iter().filter(|one| depth > 0 || one.is_distinct());
        let is_one = |value: &str| {
            // A value with several parts is one only if it is a message itself.
            !SEPARATORS.iter().any(|separator| value.contains(separator)) || self.is_known(value, depth)
        };
        let mut found = templates.filter_map(|one| {
            let values = one.values(text)?;
            one.open_values(&values).into_iter().flatten().all(is_one).then_some((one, values))
        });
        let (template, values) = found.next()?;
        let inner: Vec<Cow<'_, str>> =
            values.iter().map(|value| self.line(value, depth.saturating_add(1))).collect();
        Some(template.fill(&inner))
    }

    /// Whether a text is one message.
    fn is_known(&self, text: &str, depth: usize) -> bool {
        let mut templates = self.templates.iter().filter(|one| one.is_distinct());
        depth < DEEPEST && templates.any(|one| one.values(text).is_some())
    }

    /// A text of several parts, of which at least one is known.
    fn parts(&self, text: &str, depth: usize) -> Option<String> {
        let parts = split(text);
        if parts.len() < 2 {
            return None;
        }
        let mut out = String::new();
        let mut is_known = false;
        let mut first = 0;
        while let Some((_, separator)) = parts.get(first) {
            out.push_str(separator);
            // The most parts that are one message.
            let known = (first..parts.len()).rev().find_map(|last| {
                let joined = joined(&parts, first, last)?;
                if joined == text {
                    return None;
                }
                Some((last, self.whole(&joined, depth)?))
            });
            match known {
                Some((last, words)) => {
                    is_known = true;
                    out.push_str(&words);
                    first = last;
                }
                None => out.push_str(parts.get(first).map_or("", |(part, _)| part)),
            }
            first = first.saturating_add(1);
        }
        is_known.then_some(out)
    }
}

/// Parts of a message, each with what stands before it.
fn split(text: &str) -> Vec<(&str, &'static str)> {
    let mut parts = Vec::new();
    let (mut rest, mut before) = (text, "");
    while parts.len() < MOST_PARTS {
        let next = SEPARATORS.iter().filter_map(|separator| Some((rest.find(separator)?, *separator))).min();
        let Some((at, separator)) = next else { break };
        let (part, behind) = rest.split_at(at);
        parts.push((part, before));
        (rest, before) = (behind.get(separator.len()..).unwrap_or_default(), separator);
    }
    parts.push((rest, before));
    parts
}

/// Parts with what stands between them.
fn joined(parts: &[(&str, &'static str)], first: usize, last: usize) -> Option<String> {
    let mut out = parts.get(first)?.0.to_owned();
    for (part, separator) in parts.get(first.saturating_add(1)..=last)? {
        out.push_str(separator);
        out.push_str(part);
    }
    Some(out)
}

#[cfg(test)]
#[path = "translation_tests.rs"]
mod tests;
