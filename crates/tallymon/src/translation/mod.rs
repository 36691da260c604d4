//! Messages in the language of the user, looked up by their English words.
//!
//! Errors and findings are made in English, by crates that other programs use too. A face that shows them to
//! people passes them through a [`Translation`], which knows each message as a template: English words with
//! `{}` where a value stands. What it does not know stays English, and so do the values: names, paths, numbers.

mod template;

use std::borrow::Cow;
use std::ops::Range;
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
            !SEPARATORS.iter().any(|separator| value.contains(separator)) || self.is_known(value)
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
    fn is_known(&self, text: &str) -> bool {
        self.templates.iter().any(|one| one.is_distinct() && one.values(text).is_some())
    }

    /// A text of several parts, of which at least one is known.
    fn parts(&self, text: &str, depth: usize) -> Option<String> {
        let parts = split(text);
        let mut out = String::new();
        let mut is_known = false;
        let (mut first, mut written) = (0, 0);
        while let Some(part) = parts.get(first) {
            out.push_str(text.get(written..part.start)?);
            // The most parts that are one message; all of them were looked at already.
            let most = if first == 0 { parts.len().saturating_sub(1) } else { parts.len() };
            let known = parts.get(first..most)?.iter().enumerate().rev().find_map(|(more, last)| {
                Some((more, last.end, self.whole(text.get(part.start..last.end)?, depth)?))
            });
            let (more, end) = match known {
                Some((more, end, words)) => {
                    is_known = true;
                    out.push_str(&words);
                    (more, end)
                }
                None => {
                    out.push_str(text.get(part.clone())?);
                    (0, part.end)
                }
            };
            written = end;
            first = first.saturating_add(more).saturating_add(1);
        }
        is_known.then_some(out)
    }
}

/// Where the parts of a message are; separators stand between them.
fn split(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    while parts.len() < MOST_PARTS {
        let rest = text.get(start..).unwrap_or_default();
        let next = SEPARATORS.iter().filter_map(|separator| Some((rest.find(separator)?, *separator))).min();
        let Some((at, separator)) = next else { break };
        let end = start.saturating_add(at);
        parts.push(start..end);
        start = end.saturating_add(separator.len());
    }
    parts.push(start..text.len());
    parts
}

#[cfg(test)]
#[path = "translation_tests.rs"]
mod tests;
