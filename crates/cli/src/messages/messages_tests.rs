use std::collections::BTreeSet;
use std::path::Path;

use tallymon_testkit::{SourceText, source_texts, translations};

use super::TEXTS;

fn blocks() -> Vec<[&'static str; 4]> {
    translations(TEXTS)
}

/// The words of the operating system and of the parser of arguments, which no source of ours has, and those
/// that are put together of two.
fn is_of_others(english: &str) -> bool {
    if english.starts_with("no ") && english.ends_with(" {}") && english.split(' ').count() == 3 {
        return true;
    }
    const PARSER: [&str; 10] = [
        "argument",
        "subcommand",
        "value",
        "error: {}",
        "tip: {}",
        "Usage: {}",
        "For more information",
        "digit",
        "target type",
        "float",
    ];
    const SYSTEM: [&str; 6] =
        ["(os error {})", "lookup address", "UTF-8", "whole buffer", "end of file", "not in {}"];
    PARSER.iter().chain(&SYSTEM).any(|words| english.contains(words)) || english.contains("empty string")
}

#[test]
fn every_english_line_is_in_a_source() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let known: BTreeSet<String> = ["cli", "core", "host", "log", "remote", "tallymon"]
        .iter()
        .flat_map(|name| source_texts(&crates.join(name).join("src")))
        .map(|SourceText { text, .. }| text)
        .collect();
    assert!(known.len() > 3000, "{}", known.len());
    let unused: Vec<&str> = blocks()
        .iter()
        .map(|block| block[0])
        .filter(|english| !known.contains(*english) && !is_of_others(english))
        .collect();
    assert!(unused.is_empty(), "nothing says these any more:\n{unused:#?}");
}

/// What the commands themselves say is translated; errors of the libraries as far as they are in the table.
/// The programs of Windows (`typeperf`, `logman`) speak as they do there, and findings have a table of their
/// own.
#[test]
fn every_message_of_the_commands_has_a_translation() {
    let known: BTreeSet<&str> = blocks().iter().map(|block| block[0]).collect();
    let is_said = |before: &str| {
        let before = before.trim_end_matches("format_args!(").trim_end_matches("format!(");
        before.ends_with("say(")
            || before.rsplit_once("Failure::new(Kind::").is_some_and(|(_, kind)| {
                kind.ends_with(',') && kind.trim_end_matches(',').chars().all(char::is_alphabetic)
            })
            || before.ends_with("letwords=")
    };
    let words =
        |text: &str| text.split(|letter: char| !letter.is_alphabetic()).filter(|word| word.len() > 1).count();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let missing: BTreeSet<String> = source_texts(&source)
        .into_iter()
        .filter(|found| {
            !found
                .path
                .iter()
                .any(|part| part == "windows" || part == "analyze" || part == "report_markdown.rs")
        })
        .filter(|found| is_said(&found.before) && words(&found.text) > 2)
        .map(|found| found.text)
        .filter(|text| !known.contains(text.as_str()))
        .collect();
    assert!(missing.is_empty(), "add to messages/texts.txt:\n{missing:#?}");
}
