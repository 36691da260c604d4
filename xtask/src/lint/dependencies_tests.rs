//! Tests of the licence expressions.

use serde_json::json;

use super::{LICENCES, accepts, asynchronous};

#[test]
fn reads_licence_expressions() {
    let cases = [
        ("MIT", true),
        ("MIT OR GPL-3.0-only", true),
        ("MIT AND GPL-3.0-only", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", false),
        ("GPL-3.0-only OR (MIT AND Zlib)", true),
        ("Apache-2.0/MIT", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("GPL-2.0 WITH Classpath-exception-2.0", false),
        // A package without a licence, or with a file in its place, is refused.
        ("", false),
        ("MIT MIT", false),
    ];
    for (expression, expected) in cases {
        assert_eq!(accepts(expression, &|licence| LICENCES.contains(&licence)), expected, "{expression}");
    }
}

#[test]
fn only_one_crate_names_tokio() {
    let package = |name: &str, source: Option<&str>, dependency: &str, kind: Option<&str>| {
        let dependencies = json!([{ "name": dependency, "kind": kind }]);
        json!({ "name": name, "source": source, "dependencies": dependencies })
    };
    let problems = asynchronous(&json!({ "packages": [
        package("tallymon-remote", None, "tokio", None),
        package("smb2", Some("registry"), "tokio", None),
        package("tallymon-serve", None, "tokio", Some("dev")),
        package("tallymon-push", None, "hyper", None),
        package("tallymon-push", None, "hyper-util", None),
        package("tallymon-receive", None, "tokio-rustls", Some("build")),
    ]}));
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("tallymon-push names hyper-util;"), "{problems:?}");
    assert!(problems[1].starts_with("tallymon-receive names tokio-rustls;"), "{problems:?}");
}
