//! `cargo xtask api`: writes down the public interface of each crate that is published, one item a line.
//!
//! The lists are in `docs/api`. `cargo xtask lint` compares them, so that a change to an interface is seen in
//! the diff.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use public_api::{Builder, PublicApi};

use crate::{cargo, root, run as execute, target_folder};

/// The published crates, and those whose items `tallymon` passes on: the folder below `crates`, and the
/// name of the package.
const CRATES: &[(&str, &str)] = &[
    ("core", "tallymon-core"),
    ("provider", "tallymon-provider"),
    ("metrics", "tallymon-metrics"),
    ("tracing", "tallymon-tracing"),
    ("host", "tallymon-host"),
    ("log", "tallymon-log"),
    ("remote", "tallymon-remote"),
    ("tallymon", "tallymon"),
];

/// Differences that are printed for each crate; the file shows the others.
const SHOWN: usize = 20;

/// Writes the lists anew.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    crate::no_arguments(arguments)?;
    document()?;
    for (folder, package) in CRATES {
        let file = file_of(folder);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        }
        fs::write(&file, listing(package)?).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// Compares the lists with the sources.
pub(crate) fn check() -> Result<(), String> {
    document()?;
    let mut changes = Vec::new();
    for (folder, package) in CRATES {
        let file = file_of(folder);
        // A crate whose list is missing has nothing but new items.
        let written = fs::read_to_string(&file).unwrap_or_default();
        changes.extend(differences(&written, &listing(package)?, &file));
    }
    if changes.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the public interface is not what docs/api says; if the change is meant, run 'cargo xtask api' and \
        commit \
         its result:\n  {}",
        changes.join("\n  ")
    ))
}

fn file_of(folder: &str) -> PathBuf {
    root().join("docs/api").join(format!("{folder}.txt"))
}

/// Documents the crates as JSON, with all their features, in one run, so that what they have in common is
/// compiled once.
fn document() -> Result<(), String> {
    let mut document = cargo();
    document.args(["doc", "--quiet", "--no-deps", "--lib", "--all-features"]);
    for (_, package) in CRATES {
        document.args(["--package", package]);
    }
    document.env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow");
    // The output as JSON is unstable. The toolchain is pinned, and its format with it, so that nothing
    // changes by surprise, and the stable compiler writes it when this variable is set.
    document.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", folder());
    execute(&mut document)
}

/// A folder of its own: with the variable above, dependencies are compiled anew.
fn folder() -> PathBuf {
    target_folder().join("api")
}

/// The documented interface of a package, sorted.
fn listing(package: &str) -> Result<String, String> {
    let file = folder().join("doc").join(format!("{}.json", package.replace('-', "_")));
    let api = read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let items: BTreeSet<String> = api.items().map(ToString::to_string).collect();
    Ok(items.into_iter().map(|item| item + "\n").collect())
}

fn read(file: &Path) -> Result<PublicApi, public_api::Error> {
    // What every type has (`From<T> for T`, `Send`) and what is derived says nothing of its own.
    Builder::from_rustdoc_json(file)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
}

/// The lines that only one of two lists has.
fn differences(written: &str, found: &str, file: &Path) -> Vec<String> {
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (written.lines().collect(), found.lines().collect());
    let removed = old.difference(&new).map(|line| format!("- {line}"));
    let added = new.difference(&old).map(|line| format!("+ {line}"));
    let mut changes: Vec<String> = removed.chain(added).collect();
    let total = changes.len();
    if total > SHOWN {
        changes.truncate(SHOWN);
        changes.push(format!("and {} more", total - SHOWN));
    }
    if total > 0 {
        let name = file.strip_prefix(root()).unwrap_or(file).display();
        changes.insert(0, format!("{name}: {total} differences"));
    }
    changes
}
