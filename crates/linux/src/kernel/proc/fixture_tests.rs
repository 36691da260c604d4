//! Tests that the list of kernel files for tests is complete.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::fixture::fixture;

#[test]
fn readme_names_every_fixture_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut present = BTreeSet::new();
    let mut folders: Vec<PathBuf> = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path != root.join("README.md") {
                present.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let readme = String::from_utf8(fixture("README.md")).unwrap();
    // The files are in the first column between backquotes, the origin is in the second.
    let cells = readme.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let mut listed = BTreeSet::new();
    for (files, origin) in cells {
        assert!(origin.contains("captured") || origin.contains("written"), "{files}: no origin");
        for file in files.split("`, `") {
            assert!(listed.insert(file.to_owned()), "{file} is listed twice");
        }
    }
    assert_eq!(listed, present);
}
