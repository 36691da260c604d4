//! Searches over the built-in names, as users type them.

use std::collections::HashSet;

use tallymon_core::title::Language;

use super::{CONCEPTS, search};
use crate::{Location, Query};

fn query(language: Language) -> Query {
    let source = crate::open(&Location::Local).unwrap();
    Query::new(source, language).unwrap()
}

#[cfg(target_os = "linux")]
fn first_paths(query: &Query, text: &str, most: usize) -> Vec<String> {
    let names = query.names();
    search(names, query.catalog(), text)
        .iter()
        .take(most)
        .map(|hit| format!("{}\\{}", names.english(hit.object), names.english(hit.counter)))
        .collect()
}

#[test]
#[cfg(target_os = "linux")]
fn everyday_words_find_the_counter_that_people_mean() {
    let query = query(Language::ENGLISH);
    for (text, wanted) in [
        ("cpu", r"Processor\% Processor Time"),
        ("CPU Usage", r"Processor\% Processor Time"),
        ("memory used", r"Memory\% Committed Bytes In Use"),
        ("used  memory", r"Memory\% Committed Bytes In Use"),
        ("ram", r"Memory\% Committed Bytes In Use"),
        ("disk latency", r"PhysicalDisk\Avg. Disk sec/Transfer"),
        ("iops", r"PhysicalDisk\Disk Transfers/sec"),
        ("load", r"System Extended\Load Average 1 Minute"),
        ("swap", r"Paging File\% Usage"),
        ("packet loss", r"Network Interface\Packets Received Discarded"),
        ("temperature", r"Thermal Zone Information\Temperature"),
        ("uptime", r"System\System Up Time"),
        ("загрузка процессора", r"Processor\% Processor Time"),
        ("메모리 사용량", r"Memory\% Committed Bytes In Use"),
        ("空きメモリ", r"Memory\Available MBytes"),
        // The object of exactly that name, its default counter first.
        ("processor", r"Processor\% Processor Time"),
        ("thread", r"Thread\% Processor Time"),
        // Names before help texts.
        ("context switches", r"System\Context Switches/sec"),
        ("available mbytes", r"Memory\Available MBytes"),
        // An idea and a name together.
        ("cpu process", r"Process\% Processor Time"),
    ] {
        assert_eq!(first_paths(&query, text, 1), [wanted], "{text}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_users_language_comes_before_the_others() {
    let mut korean = query(Language::KOREAN);
    korean.load_all_names().unwrap();
    let hits = search(korean.names(), korean.catalog(), "시간");
    assert!(!hits.is_empty());
    assert!(hits.iter().all(|hit| hit.language == Language::KOREAN), "{hits:?}");

    // English texts with "memory" silence those of other languages; a Korean word is found all the same.
    let mut english = query(Language::ENGLISH);
    english.load_all_names().unwrap();
    let languages = |text: &str| -> HashSet<Language> {
        search(english.names(), english.catalog(), text).iter().map(|hit| hit.language).collect()
    };
    assert_eq!(languages("memory"), HashSet::from([Language::ENGLISH]));
    assert_eq!(languages("시간"), HashSet::from([Language::KOREAN]));
}

#[test]
#[cfg(target_os = "linux")]
fn paths_have_the_form_that_the_user_chose() {
    let path = |language, form, text: &str| {
        let source = crate::open(&Location::Local).unwrap();
        let query = Query::new(source, crate::Locale { language, names: form, ..language.into() }).unwrap();
        let hits = search(query.names(), query.catalog(), text);
        query.path_of(&hits[0])
    };
    let of = |language, form| path(language, form, "cpu");
    assert_eq!(of(Language::JAPANESE, crate::NameForm::Nt), r"\Processor(*)\% Processor Time");
    assert_eq!(of(Language::JAPANESE, crate::NameForm::Translated), r"\プロセッサ(*)\% プロセッサ時間");
    assert_eq!(of(Language::KOREAN, crate::NameForm::Translated), r"\프로세서(*)\% 프로세서 시간");
}

#[test]
#[cfg(target_os = "linux")]
fn a_name_of_windows_2000_finds_the_object_of_today_first() {
    let query = query(Language::ENGLISH);
    for (old, object) in [("TCP", "TCPv4"), ("udp", "UDPv4"), ("IP", "IPv4")] {
        let hits = search(query.names(), query.catalog(), old);
        assert_eq!(query.names().english(hits[0].object), object, "{old}");
    }
}

#[test]
fn a_text_without_words_finds_nothing() {
    let query = query(Language::ENGLISH);
    assert!(search(query.names(), query.catalog(), "  ").is_empty());
    assert!(search(query.names(), query.catalog(), "no such thing anywhere").is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn every_idea_names_counters_that_exist() {
    let titles: HashSet<String> = {
        let mut source = crate::open(&Location::Local).unwrap();
        let titles = source.titles(Language::ENGLISH).unwrap();
        titles.names().map(|(_, name)| name.to_string()).collect()
    };
    for concept in CONCEPTS {
        for counter in concept.counters {
            assert!(titles.contains(counter.0) && titles.contains(counter.1), "{counter:?}");
        }
    }
}

#[test]
fn a_phrase_stands_for_one_idea() {
    let mut seen = HashSet::new();
    for phrase in CONCEPTS.iter().flat_map(|concept| concept.phrases) {
        assert!(seen.insert(phrase), "{phrase} is there twice");
        assert_eq!(phrase.to_lowercase(), *phrase);
        assert_eq!(phrase.split_whitespace().collect::<Vec<_>>().join(" "), *phrase);
    }
}
