use std::collections::BTreeSet;

use tallymon_core::title::Language;
use tallymon_testkit::translations;

use super::{FINDINGS, Translation, of_findings};
use crate::analyze::RuleSet;

const BLOCKS: &str = "{}: {} records of {} counters\n{}: {2}개 카운터의 레코드 {1}개\n{}\n{}

the file {} does not exist\n파일 {}이(가) 없습니다\n-\n-

--force replaces it\n--force로 바꿉니다\n-\n-

{} grows all the time\n{} 계속 증가\n-\n-

{} of {}\n{1}의 {0}\n-\n-

note\n참고\n-\n-

no file {}\n{} 파일 없음\n-\n-

did you mean {}?\n{}입니까?\n-\n-";

fn korean() -> Translation {
    Translation::of_blocks(BLOCKS, Language::KOREAN).unwrap()
}

#[test]
fn a_message_is_translated_with_its_values_and_its_parts() {
    for (english, expected) in [
        ("the file a.blg does not exist", "파일 a.blg이(가) 없습니다"),
        // A part behind others, and a second one.
        (
            "x: the file a.blg does not exist; --force replaces it",
            "x: 파일 a.blg이(가) 없습니다; --force로 바꿉니다",
        ),
        ("x.blg: unknown words; --force replaces it", "x.blg: unknown words; --force로 바꿉니다"),
        ("the file a.blg does not exist, or so", "the file a.blg does not exist, or so"),
        ("no file a; did you mean b?", "a 파일 없음; b입니까?"),
        // Lines by themselves, with their indents.
        ("unknown\n  --force replaces it\n", "unknown\n  --force로 바꿉니다\n"),
        // Another order, and a value that is a message.
        ("a.blg: 7 records of 2 counters", "a.blg: 2개 카운터의 레코드 7개"),
        ("Private Bytes of app grows all the time", "app의 Private Bytes 계속 증가"),
        // Few words could be a part of anything.
        ("the end of the log", "the end of the log"),
        ("note", "note"),
        ("", ""),
    ] {
        assert_eq!(korean().message(english), expected, "{english}");
    }
    assert_eq!(korean().phrase("note"), "참고");
    assert_eq!(korean().phrase("Handles of app"), "app의 Handles");
}

#[test]
fn hostile_names_cost_little_and_stay_as_they_are() {
    let long = "; ".repeat(100_000);
    assert_eq!(korean().message(&long), long);
    let nested = " grows all the time".repeat(300);
    assert!(korean().message(&nested).starts_with(" grows all"));
    let parts = "a: b; ".repeat(12);
    assert_eq!(korean().message(&parts), parts);
    for odd in ["{} of {", "\u{202e}: --force replaces it", "{1}: {0}"] {
        korean().message(odd);
    }
}

#[test]
fn english_and_other_languages_have_no_translation() {
    assert!(of_findings(Language::ENGLISH).is_none());
    assert!(Translation::of_blocks(BLOCKS, Language::parse("de").unwrap_or(Language::ENGLISH)).is_none());
}

#[test]
fn a_growth_in_an_hour_is_translated_with_its_rule() {
    let korean = of_findings(Language::KOREAN).unwrap();
    assert_eq!(
        korean.phrase("rule grown (own.toml): bytes > 100MB (growth in an hour)"),
        "규칙 grown (own.toml): bytes > 100MB (한 시간 동안의 증가)"
    );
}

#[test]
fn every_rule_has_a_translation() {
    let known: BTreeSet<&str> = translations(FINDINGS).iter().map(|[english, ..]| *english).collect();
    let rules = RuleSet::built_in().unwrap();
    let texts = rules.rules.iter().flat_map(|rule| [&rule.title, &rule.means, &rule.next]);
    let missing: BTreeSet<&String> =
        texts.filter(|text| !text.is_empty() && !known.contains(text.as_str())).collect();
    assert!(missing.is_empty(), "add to findings.txt:\n{missing:#?}");
}
