//! `cargo xtask features`: every package with features compiles without any of them, and with each one alone.

use crate::{cargo, cargo_metadata, run as execute};

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    crate::no_arguments(arguments)?;
    let metadata = cargo_metadata(&["--no-deps"])?;
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let Some(name) = package["name"].as_str() else { continue };
        let features = package["features"].as_object().into_iter().flatten();
        let features: Vec<&str> =
            features.map(|(name, _)| name.as_str()).filter(|feature| *feature != "default").collect();
        if features.is_empty() {
            continue;
        }
        check(name, &[])?;
        for feature in features {
            check(name, &["--features", feature])?;
        }
    }
    Ok(())
}

fn check(package: &str, features: &[&str]) -> Result<(), String> {
    let mut clippy = cargo();
    clippy.args(["clippy", "--quiet", "--package", package, "--no-default-features"]).args(features);
    execute(clippy.args(["--", "-D", "warnings"]))
}
