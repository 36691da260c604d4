//! Events of changes, languages that come later, and tables of texts as Windows has them.

use std::fs;

use crate::support::Place;

/// The ids of LoadPerf's events since the last look.
fn events(place: &Place) -> Vec<u64> {
    let file = place.0.join("events.jsonl");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(file);
    let id = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["source"], "Microsoft-Windows-LoadPerf", "{line}");
        event["id"].as_u64().unwrap()
    };
    text.lines().map(id).collect()
}

#[test]
fn each_change_of_names_is_an_event_of_loadperf() {
    let place = Place::new();
    let ini = place.ini("One", 2);
    place.ok(&["provider", "add", &ini]);
    assert_eq!(events(&place), [1000, 2005], "and there are other languages than English");
    let before = place.installed();
    for words in [["provider", "add"].as_slice(), &["lodctr"]] {
        assert_eq!(place.run(&[words, &[ini.as_str()]].concat()).0, 1);
        assert_eq!(events(&place), [1002], "{words:?}: indexes do not change");
    }
    assert_eq!(place.installed(), before);
    place.ok(&["unlodctr", "One"]);
    assert_eq!(events(&place), [1001]);
    assert_ne!(place.run(&["unlodctr", "One"]).0, 0);
    assert_eq!(events(&place), [3011]);
    place.ok(&["lodctr", &ini]);
    assert_eq!(events(&place), [1000, 2005]);
    place.ok(&["provider", "remove", "One"]);
    assert_eq!(events(&place), [1001]);
    assert_ne!(place.run(&["lodctr", &ini]).0, 0);
    assert_eq!(events(&place), [3009], "it is not registered");
    let text = fs::read_to_string(&ini).unwrap().replace("[objects]\nSYMBOL0_009_NAME=\n", "");
    place.ok(&["provider", "add", &place.file("bare.ini", text)]);
    assert_eq!(events(&place), [1000, 2000, 2005]);
    // Every version is damaged, so nothing can be gone back to.
    for version in fs::read_dir(place.0.join("registry")).unwrap().flatten() {
        let _ = fs::write(version.path().join("registry.conf"), "nonsense");
    }
    assert_eq!(place.run(&["provider", "remove", "One"]).0, 7);
    assert_eq!(events(&place), [3012, 3011]);
    assert_ne!(place.run(&["lodctr", "/R"]).0, 0);
    assert_eq!(events(&place).last(), Some(&2007));
    // What is installed anew gets the indexes that it had.
    fs::remove_dir_all(place.0.join("registry")).unwrap();
    place.ok(&["provider", "add", &ini]);
    assert_eq!(place.installed(), before);
}

#[test]
fn a_language_that_comes_later() {
    let place = Place::new();
    let (one, two) = (place.ini("One", 1), place.ini("Two", 1));
    place.ok(&["provider", "add", &one, &two]);
    // German is new here, Korean is not.
    let text = fs::read_to_string(&one).unwrap().replace("009=English\n", "009=English\n007=\n012=\n")
        + "SYMBOL0_007_NAME=Eins\nSYMBOL0_007_HELP=Hilfe\nSYMBOL1_012_NAME=하나\n";
    let german = place.file("later.ini", &text);
    place.ok(&["provider", "translate", &german]);
    let texts = |what: &str| -> Vec<String> {
        let out = place.ok(&["dump", what]);
        let lines = out.lines().filter_map(|line| line.split_once('\t'));
        let own = |index: &str| (1848..1900).contains(&index.parse::<u32>().unwrap());
        lines.filter(|(index, _)| own(index)).map(|(_, text)| text.to_string()).collect()
    };
    assert_eq!(texts("Counter 007"), ["Eins", "One 1", "Two 0", "Two 1"]);
    assert_eq!(texts("Help 007"), ["Hilfe", "Help of One 1", "Help of Two 0", "Help of Two 1"]);
    assert_eq!(texts("Counter 012"), ["One 0", "하나", "Two 0", "Two 1"]);
    assert_eq!(texts("Counter 009"), ["One 0", "One 1", "Two 0", "Two 1"]);
    // A service that is installed after that has texts in the new language too.
    place.ok(&["provider", "add", &place.ini("Three", 0)]);
    assert_eq!(texts("Counter 007").last().map(String::as_str), Some("Three 0"));
    let before = place.installed();
    for (text, words) in [
        (text.replace("One 1", "Another 1"), "these are files of another version"),
        (fs::read_to_string(&one).unwrap(), "texts in 009 only"),
        (text.replace("drivername=One", "drivername=Nobody"), "no service \"Nobody\""),
    ] {
        let (code, _, err) = place.run(&["provider", "translate", &place.file("wrong.ini", text)]);
        assert!(code != 0 && err.contains(words), "{words}: {err}");
    }
    assert_eq!(place.installed(), before);
}

#[test]
fn imports_text_tables_in_windows_formats() {
    let place = Place::new();
    place.ok(&["provider", "add", &place.ini("One", 1)]);
    let path = |name: &str| place.0.join(name).display().to_string();
    let (names, helps) = (path("perfc012.dat"), path("perfh012.dat"));
    place.ok(&["dump", "Counter 009", "--raw", &names]);
    place.ok(&["dump", "Help 009", "--raw", &helps]);
    // MULTI_SZ: pairs of index and text in UTF-16, an empty text at the end.
    let bytes = fs::read(&names).unwrap();
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    let text = String::from_utf16(&units).unwrap();
    assert!(text.contains("\x00238\0Processor\0") && text.contains("\x001850\0One 1\0"));
    assert!(text.ends_with("\0\0"));
    let korean: Vec<u8> = text.replace("One 1", "하나").encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&names, korean).unwrap();
    let (code, _, err) = place.run(&["lodctr", "/L:012", &format!("/C:{names}"), &format!("-h:{helps}")]);
    assert!(code == 0 && err.contains("4 texts in 012"), "{err}");
    let dumped = place.ok(&["dump", "Counter 012"]);
    assert!(dumped.contains("\n1848\tOne 0\n1850\t하나\n"), "{dumped}");
    assert!(dumped.contains("\n238\tProcessor\n"), "NT's own stay: {dumped}");
    let before = place.installed();
    // Each is a fault that has damaged tables of some Windows; all are refused, and nothing is written.
    for (language, option, text, words) in [
        ("009", "C", "1850\tUebersetzt\n", "English names are what paths are made of"),
        ("012", "C", "1850\tb\n\tempty\n", "line 2"),
        ("012", "C", "1850\tb\n1852\tc\n", "index 1852"),
        ("012", "C", "1850\t\n", "a text needed"),
        ("012", "C", "1849\thelp\n", "belong to help texts"),
        ("012", "H", "1848\tname\n", "belong to names"),
        ("012", "C", "238\tx\n", "none of the 1 texts"),
        ("nothing", "C", "1850\tb\n", "expected a language such as 012"),
    ] {
        let file = place.file("texts.tsv", text);
        let (code, _, err) = place.run(&["lodctr", &format!("/L:{language}"), &format!("/{option}:{file}")]);
        assert!(code != 0 && err.contains(words), "{text:?}: {err}");
    }
    assert_eq!(place.run(&["lodctr", "/L:012"]).0, 2);
    assert_eq!(place.installed(), before);
}
