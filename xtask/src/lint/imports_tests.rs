//! Tests of the circles and layers of imports, with small crates as text.

use std::collections::BTreeMap;

use super::imports::{circle_problem, circles, layers};
use super::modules::Modules;
use super::sources::SourceFile;

/// The modules of a crate of some files, the root first.
fn read(files: &[(&str, &str)]) -> Modules {
    let file = |(path, text): &(&str, &str)| SourceFile {
        path: format!("crates/a/src/{path}"),
        text: text.to_string(),
    };
    let files: Vec<SourceFile> = files.iter().map(file).collect();
    let by_path: BTreeMap<&str, &SourceFile> = files.iter().map(|file| (file.path.as_str(), file)).collect();
    Modules::read(&files[0].path, &by_path).expect("modules")
}

/// The arrows as text, such as `b.rs > c.rs`.
fn arrows(files: &[(&str, &str)]) -> Vec<String> {
    let modules = read(files);
    let short = |path: &str| path.trim_start_matches("crates/a/src/").to_string();
    modules.arrows().keys().map(|(from, to)| format!("{} > {}", short(from), short(to))).collect()
}

#[test]
fn arrows_lead_to_where_a_name_is_defined() {
    let root = ("lib.rs", "mod b;\nmod c;\npub use c::C;\npub struct Here;");
    let c = ("c.rs", "pub struct C;\npub mod inner { pub struct D; }");
    let cases: &[(&str, &[&str])] = &[
        // Through the root, which only passes the name on.
        ("use crate::C;", &["b.rs > c.rs"]),
        ("use super::{C as E};", &["b.rs > c.rs"]),
        ("use crate::c;", &["b.rs > c.rs"]),
        ("use crate::c::{self, inner::D};", &["b.rs > c.rs"]),
        ("use crate::c::inner::*;", &["b.rs > c.rs"]),
        ("fn f() -> crate::c::C { crate::c::C }", &["b.rs > c.rs"]),
        ("fn f() { println!(\"{:?}\", crate::c::C); }", &["b.rs > c.rs"]),
        ("use super::*;\nuse c::C;", &["b.rs > c.rs"]),
        // What the parent defines is the parent's, and other crates are others.
        ("use crate::Here;", &[]),
        ("use super::Here;", &[]),
        ("use std::fmt;\nuse c::C;", &[]),
        ("use log::log;\nfn f() { log::log(); }", &[]),
        ("#[cfg(test)]\nmod tests { use crate::c::C; }", &[]),
        ("mod own { use super::super::C; }", &["b.rs > c.rs"]),
    ];
    for (text, expected) in cases {
        let found = arrows(&[root, ("b.rs", text), c]);
        let found: Vec<&String> = found.iter().filter(|arrow| !arrow.starts_with("lib.rs")).collect();
        assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn a_module_may_be_one_of_several_files() {
    let root = "#[cfg(unix)]\nmod p;\n#[cfg(windows)]\n#[path = \"w.rs\"]\nmod p;\n\
                #[cfg_attr(unix, path = \"x/u.rs\")]\n\
                #[cfg_attr(windows, path = \"x/w.rs\")]\nmod q;\nmod b;";
    let b = "use crate::{p::f, q::g};";
    let files = [("lib.rs", root), ("b.rs", b), ("p.rs", "pub fn f() {}"), ("w.rs", "pub fn f() {}")];
    let files = [&files[..], &[("x/u.rs", "pub fn g() {}"), ("x/w.rs", "pub fn g() {}")]].concat();
    assert_eq!(arrows(&files), ["b.rs > p.rs", "b.rs > w.rs", "b.rs > x/u.rs", "b.rs > x/w.rs"]);
}

/// A crate whose modules `a`, `b` and so on import the next one, and the last one the first.
fn ring(count: u8) -> Modules {
    let names: Vec<String> = (0..count).map(|at| char::from(b'a' + at).to_string()).collect();
    let root: String = names.iter().map(|name| format!("mod {name};\n")).collect();
    let mut files = vec![("lib.rs".to_string(), root)];
    for (name, next) in names.iter().zip(names.iter().cycle().skip(1)) {
        files.push((format!("{name}.rs"), format!("//! Holds {name}. And more.\nuse crate::{next};")));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    read(&files)
}

#[test]
fn circles_are_found_and_may_only_shrink() {
    for (count, allowed, words) in [
        (3, 3, None),
        (
            4,
            3,
            Some("4 files need each other in a circle, 3 may; one way around: a.rs -> b.rs -> c.rs -> d.rs"),
        ),
        (5, 6, Some("its largest circle has 5 files now")),
        (5, 5, None),
        (6, 5, Some("6 files need each other")),
    ] {
        let modules = ring(count);
        let arrows = modules.arrows();
        assert_eq!(circles(&arrows).iter().map(std::collections::BTreeSet::len).max(), Some(count.into()));
        let problem = circle_problem("a", &arrows, allowed);
        assert_eq!(problem.is_some(), words.is_some(), "{problem:?}");
        assert!(problem.unwrap_or_default().contains(words.unwrap_or_default()));
    }
    let straight = read(&[("lib.rs", "mod a;\nmod b;"), ("a.rs", "use crate::b;"), ("b.rs", "")]);
    assert_eq!(circle_problem("a", &straight.arrows(), 3), None);
    assert!(circle_problem("a", &straight.arrows(), 9).is_some_and(|words| words.contains("no circle")));
}

#[test]
fn a_module_is_described_by_the_first_sentence_of_its_header() {
    let text = "//! Holds [`A`] and\n//! [`b`](mod@b), [d](D), no [c]. And more.\n//!\n//! Much more.";
    assert_eq!(read(&[("lib.rs", text)]).0[0].summary, "Holds `A` and `b`, d, no [c]");
    assert_eq!(read(&[("lib.rs", "struct A;")]).0[0].summary, "");
}

#[test]
fn layers_begin_with_what_imports_nothing() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;"),
        ("a.rs", "use crate::b::x;\nuse crate::d;"),
        ("b/mod.rs", "mod in_b;\npub use in_b::x;"),
        ("b/in_b.rs", "use crate::c;\npub fn x() {}"),
        ("c.rs", "use crate::b;"),
        ("d.rs", "pub struct D;"),
    ];
    let layers = layers(&read(&files));
    let layers: Vec<(usize, Vec<&str>)> =
        layers.iter().map(|(layer, names)| (*layer, names.iter().map(String::as_str).collect())).collect();
    assert_eq!(layers, [(2, vec!["a"]), (1, vec!["b", "c"]), (1, vec!["d"])]);
}
