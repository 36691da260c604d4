//! Tests of the search for `cfg` in functions.

use super::platform::choices;

fn lines(text: &str) -> Vec<usize> {
    choices(&syn::parse_file(text).expect("Rust"))
}

#[test]
fn finds_what_a_function_chooses() {
    let found: &[(&str, &[usize])] = &[
        ("fn f() -> bool { cfg!(windows) }", &[1]),
        ("fn f() {\n    if cfg!(target_os = \"linux\") && x() {}\n}", &[2]),
        ("fn f() {\n    #[cfg(unix)]\n    g();\n}", &[2]),
        ("fn f() {\n    #[cfg_attr(miri, allow(unused))]\n    let x = 1;\n}", &[2]),
        ("impl A {\n fn f(&self) {\n match self {\n #[cfg(unix)]\n A::B => {}\n }\n }\n}", &[4]),
        ("trait A {\n    fn f() {\n        g(|| cfg!(not(debug_assertions)));\n    }\n}", &[3]),
        ("fn f() {\n    println!(\"{}\", cfg!(unix));\n}", &[2]),
        ("fn f() {\n    #[cfg(all(feature = \"a\", unix))]\n    use a::b;\n}", &[2]),
        ("fn f() {\n    #[cfg(test)]\n    g();\n}", &[2]),
        ("static F: fn() = || {\n    let _ = 1;\n};\nfn g(#[cfg(unix)] a: u8) {}", &[4]),
    ];
    for (text, expected) in found {
        assert_eq!(lines(text), *expected, "{text}");
    }
}

#[test]
fn leaves_items_features_and_tests_alone() {
    let fine = [
        "#[cfg(unix)]\nfn f() {}",
        "const WORD: &str = if cfg!(windows) { \"a\" } else { \"b\" };",
        "enum A { #[cfg(unix)] B }",
        "impl A {\n    #[cfg(unix)]\n    fn f() {}\n}",
        "fn f() {\n #[cfg(feature = \"a\")]\n g();\n let _ = cfg!(not(feature = \"a\"));\n}",
        "#[cfg(test)]\nmod tests {\n    fn f() -> bool { cfg!(windows) }\n}",
        "#[cfg(all(test, unix))]\nfn f() -> bool { cfg!(windows) }",
        "#[test]\nfn f() { if cfg!(windows) {} }",
        "fn f() {\n    #[cfg_attr(feature = \"a\", allow(unused))]\n    let x = 1;\n}",
    ];
    for text in fine {
        assert_eq!(lines(text), Vec::<usize>::new(), "{text}");
    }
}
