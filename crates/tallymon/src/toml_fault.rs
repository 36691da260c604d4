//! What is wrong with a TOML file, in one line.

use std::ops::Range;

/// Says where a TOML text cannot be read, and why: `line 1, column 6: unclosed array`. `span` has the bytes
/// at fault, and `problem` is what the parser said of them.
///
/// ```
/// let words = tallymon::toml_fault("a = 1\nb = [\n", Some(10..11), "unclosed array,\nexpected `]`");
/// assert_eq!(words, "line 2, column 5: unclosed array, expected `]`");
/// ```
pub fn toml_fault(text: &str, span: Option<Range<usize>>, problem: &str) -> String {
    let problem = problem.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let Some(before) = span.and_then(|span| text.get(..span.start)) else { return problem };
    let line = before.matches('\n').count().saturating_add(1);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1);
    format!("line {line}, column {column}: {problem}")
}
