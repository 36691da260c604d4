//! The tables of `docs/fidelity.md`: every test that they name exists.

use std::fs;

use super::sources::SourceFile;
use crate::root;

const PAGE: &str = "docs/fidelity.md";

/// Says which tests of the page do not exist, and which rows name none.
pub(super) fn check(files: &[SourceFile]) -> Result<Vec<String>, String> {
    let path = root().join(PAGE);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let rows = rows(&text);
    if rows.is_empty() {
        return Err(format!("{PAGE}: no table has a column `test`"));
    }
    Ok(rows.into_iter().flat_map(|(rule, tests)| problems(rule, tests, files)).collect())
}

/// First and last cell of each row of the tables whose last column is `test`.
fn rows(text: &str) -> Vec<(&str, &str)> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        let (true, Some(first), Some(last)) = (line.starts_with('|'), cells.first(), cells.last()) else {
            is_inside = false;
            continue;
        };
        if *last == "test" {
            is_inside = true;
        } else if is_inside && !line.starts_with("|---") {
            rows.push((*first, *last));
        }
    }
    rows
}

/// What is wrong with the last cell of a row: a crate in backquotes, then its tests, modules and files.
fn problems(rule: &str, tests: &str, files: &[SourceFile]) -> Vec<String> {
    let mut found = Vec::new();
    let (mut prefix, mut count) = (String::new(), 0usize);
    for word in tests.split('`').skip(1).step_by(2).filter(|word| !word.contains('=')) {
        let mut folders = ["crates", "examples"].iter().map(|above| format!("{above}/{word}/"));
        if let Some(folder) = folders.find(|one| files.iter().any(|file| file.path.starts_with(one))) {
            prefix = folder;
            continue;
        }
        count = count.saturating_add(1);
        let mut own = files.iter().filter(|file| !prefix.is_empty() && file.path.starts_with(&prefix));
        if !own.any(|file| has_test(file, word)) {
            found.push(format!("{PAGE}: `{rule}`: {prefix} has no test `{word}`"));
        }
    }
    if count == 0 {
        found.push(format!("{PAGE}: `{rule}` names no test"));
    }
    found
}

/// Whether a file has a test of this name, or is the module of this name and has tests.
fn has_test(file: &SourceFile, name: &str) -> bool {
    let names: Vec<&str> = name.split("::").collect();
    let Some((last, modules)) = names.split_last() else { return false };
    let is_in = |modules: &[&str]| {
        let path = file.path.trim_end_matches(".rs");
        let mut folders = path.split('/');
        let mut is_next = |module: &str| {
            folders.any(|folder| folder == module || folder.strip_suffix("_tests") == Some(module))
        };
        modules.iter().all(|module| is_next(module))
    };
    let function = format!("fn {last}(");
    let is_test = |start: usize| {
        let before = file.text.get(..start).unwrap_or_default();
        // Up to the line of the function.
        let before = before.rsplit_once('\n').map_or("", |(before, _)| before);
        let mut attributes = before.lines().rev().take_while(|line| line.trim_start().starts_with("#["));
        attributes.any(|line| line.trim() == "#[test]")
    };
    let has_function = file.text.match_indices(&function).any(|(start, _)| is_test(start));
    is_in(modules) && has_function || is_in(&names) && file.text.contains("#[test]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_string(), text: text.to_string() }
    }

    #[test]
    fn a_test_that_does_not_exist_is_named() {
        let files = [
            file("crates/log/tests/relog.rs", "#[test]\nfn equals() {}\n\nfn helper() {}\n"),
            file(
                "crates/core/src/counter/style_tests.rs",
                "    #[test]\n    #[cfg(unix)]\n    fn digits() {}\n",
            ),
        ];
        let page = "| rule | test |\n|---|---|\n| a | `log` `relog::equals`; `core` `counter::style`, `digits` |\n\
                    | b | `log` `relog::helper` |\n| c | `log` `relog::gone` |\n| d | - |\n\n\
                    | format | loss |\n|---|---|\n| x | `nothing` |\n";
        let rows = rows(page);
        assert_eq!(rows.len(), 4);
        let all: Vec<String> =
            rows.into_iter().flat_map(|(rule, tests)| problems(rule, tests, &files)).collect();
        let expected = [
            "`b`: crates/log/ has no test `relog::helper`",
            "`c`: crates/log/ has no test `relog::gone`",
            "`d` names no test",
        ];
        assert_eq!(all, expected.map(|words| format!("docs/fidelity.md: {words}")));
    }
}
