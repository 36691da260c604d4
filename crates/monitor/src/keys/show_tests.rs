//! Tests of what readers see of the table: the manual is up to date, and no language lacks words.

use std::fs;
use std::path::PathBuf;

use tallymon::core::title::Language;

use super::binding::Context;
use super::footers::{FOOTERS, HINT};
use super::manual::manual;
use super::show::{footer, footer_in, help_lines, tour_page};
use super::table::bindings;
use super::tour::PAGES;
use crate::words::Words;

#[test]
fn the_manual_is_that_of_the_table() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/monitor-keys.md");
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        fs::write(&file, manual()).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap();
    assert!(kept == manual(), "{} is not up to date: TALLYMON_BLESS=1 writes it", file.display());
}

#[test]
fn every_label_is_there_in_every_language() {
    let labels = bindings().map(|binding| binding.label);
    let briefs = bindings().filter_map(|binding| binding.brief);
    let footers = FOOTERS.iter().chain([&HINT]).flat_map(|footer| footer.entries);
    // Keys that need no words in a footer have none in any language.
    let footers = footers.map(|(_, label)| *label).filter(|label| *label != [""; 4]);
    for label in labels.chain(briefs).chain(footers) {
        let [english, others @ ..] = label;
        assert!(label.iter().all(|text| !text.is_empty()), "{label:?}");
        for text in others {
            let latin = text.replace("x10", "").contains(|letter: char| letter.is_ascii_alphabetic());
            assert!(text != english && !latin, "{text} in {label:?}");
        }
    }
}

#[test]
fn help_lines_fit_their_columns() {
    for language in [Language::ENGLISH, Language::KOREAN, Language::JAPANESE, Language::RUSSIAN] {
        for ascii in [false, true] {
            let words = Words::of(language);
            for (keys, text) in help_lines(words, ascii, "") {
                assert!(crate::term::text::width(&keys) <= 21, "{keys}");
                assert!(!text.is_empty());
            }
            // The words of a line find it, below its heading.
            let found = help_lines(words, ascii, words.pick(&["SPLIT", "분할", "分割", "Части"]));
            assert_eq!(found.len(), 2, "{found:?}");
            assert!(found[0].0.is_empty() && found[1].0.contains("v"), "{found:?}");
            assert!(help_lines(words, ascii, "no such words").is_empty());
        }
    }
}

#[test]
fn a_footer_names_keys_of_the_table() {
    let words = Words::of(Language::ENGLISH);
    for known in FOOTERS {
        let text = footer(known.context, words, true);
        assert!(text.is_ascii() || known.between == " · ", "{text}");
        for (commands, label) in known.entries {
            assert!(!commands.is_empty() && text.contains(label[0]), "{text}");
        }
    }
}

/// Who does not know the program yet finds help, and the way out, on every terminal.
#[test]
fn a_narrow_footer_keeps_help_and_quit() {
    for language in [Language::ENGLISH, Language::KOREAN, Language::JAPANESE, Language::RUSSIAN] {
        let words = Words::of(language);
        for context in [Context::Chart, Context::Log, Context::Table, Context::Overview] {
            for (room, least) in [(78, 5), (38, 3), (24, 2)] {
                let text = footer_in(context, words, false, room);
                assert!(crate::term::text::width(&text) <= room, "{room}: {text}");
                assert!(text.contains("? ") && text.contains("q "), "{text}");
                let parts = text.split("  ").count();
                assert!(parts >= least, "{parts} of {room}: {text}");
            }
        }
    }
}

#[test]
fn every_line_of_the_tour_has_its_keys_in_every_language() {
    for language in [Language::ENGLISH, Language::KOREAN, Language::JAPANESE, Language::RUSSIAN] {
        for page in &PAGES {
            let (title, lines) = tour_page(page, Words::of(language), false);
            assert!(!title.is_empty());
            for ((keys, text), line) in lines.iter().zip(page.lines) {
                // Each command has a key of its own.
                let known = line.commands.iter().filter(|command| {
                    let here = |binding: &&super::binding::KeyBinding| {
                        binding.command == **command && binding.contexts.contains(&line.context)
                    };
                    bindings().any(|binding| here(&binding))
                });
                assert_eq!(known.count(), line.commands.len(), "{text}");
                assert!(!keys.is_empty() && !text.is_empty());
                let room = 72 - unicode_width::UnicodeWidthStr::width(keys.as_str());
                assert!(unicode_width::UnicodeWidthStr::width(text.as_str()) < room, "{keys} {text}");
            }
        }
    }
}
