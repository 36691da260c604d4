//! Messages on standard error in the language of the user: errors, remarks, and what is wrong with arguments.

use std::sync::OnceLock;

use tallymon::translation::Translation;

use crate::language;

/// Blocks of four lines: English, Korean, Japanese, Russian. See [`Translation::of_blocks`].
pub(crate) const TEXTS: &str = include_str!("texts.txt");

/// The messages of the language that the command line or the environment chooses.
fn known() -> Option<&'static Translation> {
    static KNOWN: OnceLock<Option<Translation>> = OnceLock::new();
    let read = || {
        let arguments: Vec<_> = std::env::args_os().collect();
        Translation::of_blocks(TEXTS, language::of_arguments(&arguments))
    };
    KNOWN.get_or_init(read).as_ref()
}

/// A message in the language of the user. What has no translation stays English.
pub(crate) fn in_language(english: String) -> String {
    match known() {
        Some(known) => known.message(&english),
        None => english,
    }
}

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
