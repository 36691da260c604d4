//! Checks of the lock file: licences that a user of the crates can accept, each dependency in one version,
//! and asynchronous work in one crate.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::cargo_metadata;

/// Licences that any dependency may have.
const LICENCES: &[&str] =
    &["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "ISC", "Apache-2.0 WITH LLVM-exception"];

/// One package with another licence, and why it is accepted.
struct Exception {
    package: &'static str,
    licence: &'static str,
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        package: "unicode-ident",
        licence: "Unicode-3.0",
        reason: "the tables of Unicode; as permissive as MIT, and only compilers of macros contain them",
    },
    Exception {
        package: "tiny-keccak",
        licence: "CC0-1.0",
        reason: "public domain; a build dependency of ahash, no part of it is in the program",
    },
];

/// A package that is in the lock file in more than one version, and why.
const DUPLICATES: &[(&str, &str)] = &[
    ("getrandom", "ahash of Parquet takes 0.3 and, for its build, 0.2, as does ring; smb2 takes 0.4"),
    ("num-bigint", "Parquet takes 0.5; an option of rcgen that is not chosen names 0.4"),
    ("r-efi", "getrandom 0.3 and 0.4 on UEFI, for which nothing is built"),
    ("syn", "clap and serde have changed to 3, the macros below ratatui have not"),
    ("toml_datetime", "toml takes 0.7; num_enum of smb2 takes 1.1 for its macros"),
    ("windows-sys", "ring has an older one than all others, on Windows only"),
    ("winnow", "toml takes 0.7 itself and 1.0 through its own parser"),
];

/// What only the crate for asynchronous work may name, and that crate.
const ASYNCHRONOUS: &[&str] = &["hyper-util", "tokio", "tokio-rustls"];
const ASYNCHRONOUS_CRATE: &str = "tallymon-remote";

/// Checks all packages that the workspace depends on, for any target and feature.
pub(super) fn check() -> Result<(), String> {
    let metadata = cargo_metadata(&["--all-features", "--locked"])?;
    let packages = packages(&metadata)?;
    let mut problems = licences(&packages);
    problems.extend(duplicates(&packages));
    problems.extend(asynchronous(&metadata));
    if problems.is_empty() { Ok(()) } else { Err(format!("dependencies:\n  {}", problems.join("\n  "))) }
}

/// What the checks need of a package.
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    licence: &'a str,
}

fn packages(metadata: &Value) -> Result<Vec<Package<'_>>, String> {
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    Ok(packages
        .iter()
        .map(|package| Package {
            name: package["name"].as_str().unwrap_or_default(),
            version: package["version"].as_str().unwrap_or_default(),
            licence: package["license"].as_str().unwrap_or_default(),
        })
        .collect())
}

fn licences(packages: &[Package<'_>]) -> Vec<String> {
    let mut unused: BTreeSet<&str> = EXCEPTIONS.iter().map(|exception| exception.package).collect();
    let mut problems = Vec::new();
    for package in packages {
        if accepts(package.licence, &|licence| LICENCES.contains(&licence)) {
            continue;
        }
        let exceptions = EXCEPTIONS.iter().filter(|exception| exception.package == package.name);
        let named: Vec<&str> = exceptions.map(|exception| exception.licence).collect();
        if accepts(package.licence, &|licence| LICENCES.contains(&licence) || named.contains(&licence)) {
            unused.remove(package.name);
        } else {
            problems.push(format!(
                "{} {} has the licence {:?}; allowed are {}, others only by name in {}",
                package.name,
                package.version,
                package.licence,
                LICENCES.join(", "),
                file!(),
            ));
        }
    }
    let unused = EXCEPTIONS.iter().filter(|exception| unused.contains(exception.package));
    problems.extend(unused.map(|exception| {
        let Exception { package, reason, .. } = exception;
        format!("{package} needs no exception any more ({reason}); remove it from {}", file!())
    }));
    problems
}

/// Whether a licence expression (SPDX, or the older `A/B`) can be met with allowed licences only.
fn accepts(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let accepted = either(&mut rest, allowed);
    accepted && rest.is_empty()
}

/// `A OR B`, which binds less than `AND`.
fn either(words: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut accepted = both(words, allowed);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        // Both sides are read, whatever the first one says.
        accepted |= both(words, allowed);
    }
    accepted
}

/// `A AND B`.
fn both(words: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut accepted = single(words, allowed);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        accepted &= single(words, allowed);
    }
    accepted
}

/// A licence, with or without an exception, or an expression in parentheses.
fn single(words: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let accepted = either(words, allowed);
            if let [")", rest @ ..] = *words {
                *words = rest;
            }
            accepted
        }
        [licence, "WITH", exception, rest @ ..] => {
            *words = rest;
            allowed(&format!("{licence} WITH {exception}"))
        }
        [licence, rest @ ..] => {
            *words = rest;
            allowed(licence)
        }
        [] => false,
    }
}

fn duplicates(packages: &[Package<'_>]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(package.name).or_default().insert(package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let allowed = |name: &str| DUPLICATES.iter().any(|(allowed, _)| *allowed == name);
    let mut problems: Vec<String> = versions
        .iter()
        .filter(|(name, _)| !allowed(name))
        .map(|(name, versions)| {
            let versions: Vec<&str> = versions.iter().copied().collect();
            format!(
                "{name} is there in versions {}; take one, or say why in {}",
                versions.join(" and "),
                file!()
            )
        })
        .collect();
    let gone = DUPLICATES.iter().filter(|(name, _)| !versions.contains_key(name));
    problems.extend(gone.map(|(name, reason)| {
        format!("{name} is there in one version ({reason}); remove it from the list in {}", file!())
    }));
    problems
}

/// Our packages that name a crate of asynchronous work, which is in one place. Tests may.
fn asynchronous(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let ours = packages.filter(|package| package["source"].is_null());
    let mut problems = Vec::new();
    for package in ours {
        let name = package["name"].as_str().unwrap_or_default();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let named = dependency["name"].as_str().unwrap_or_default();
            let is_for_tests = dependency["kind"] == "dev";
            if name != ASYNCHRONOUS_CRATE && !is_for_tests && ASYNCHRONOUS.contains(&named) {
                problems.push(format!(
                    "{name} names {named}; take what it needs from {ASYNCHRONOUS_CRATE}::asynchronous"
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
#[path = "dependencies_tests.rs"]
mod tests;
