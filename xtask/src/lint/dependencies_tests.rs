//! Tests of the licence expressions.

use super::{LICENCES, accepts};

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
