//! All files of a version in one text, for `lodctr /S` and `/R`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use super::contents::Contents;
use super::error::Problem;
use super::format::{from_files, to_files};
use super::roots::Scope;

/// The first line, which no other file has.
const HEADER: &str = "# Tallymon registry backup, format 1";

/// All files, one after the other, each after a line with its name in brackets. No line of a file begins with
/// a bracket.
pub(crate) fn to_text(contents: &Contents) -> String {
    let mut text = format!("{HEADER}\n");
    for (name, file) in to_files(contents) {
        // Writing into a String cannot fail.
        let _ = write!(text, "[{name}]\n{file}");
    }
    text
}

/// The opposite of [`to_text`].
pub(crate) fn from_text(scope: Scope, path: &Path, text: &str) -> Result<Contents, Problem> {
    let mut files: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    let mut open: Option<&mut String> = None;
    for (position, line) in text.lines().enumerate() {
        let number = position.saturating_add(1);
        if position == 0 {
            if line != HEADER {
                return Err(Problem::at(path, number, format!("{HEADER:?} needed, found {line:?}")));
            }
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or_else(|| Problem::at(path, number, "a ] needed"))?;
            let (first, file) = files.entry(name).or_insert_with(|| (number, String::new()));
            if *first != number {
                return Err(Problem::at(path, number, format!("the file {name} is in line {first} already")));
            }
            open = Some(file);
        } else if let Some(file) = &mut open {
            file.push_str(line);
            file.push('\n');
        } else if !line.is_empty() {
            return Err(Problem::at(path, number, "the name of a file in brackets needed"));
        }
    }
    let missing = |name: &str| Problem::of(path, format!("the file [{name}] is not in it"));
    from_files(scope, Path::new(""), |name| {
        files.get(name).map(|(_, text)| text.clone()).ok_or_else(|| missing(name))
    })
    .map_err(|mut problem| {
        // A line number in a part becomes one in the whole text.
        let part = problem.path.to_str().and_then(|name| files.get(name));
        if let (Some((first, _)), Some(line)) = (part, problem.line) {
            problem.line = Some(first.saturating_add(line));
        }
        problem.path = path.to_path_buf();
        problem
    })
}
