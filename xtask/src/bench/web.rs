//! `cargo xtask bench web`: the page in Chromium, and its server. `crates/serve/page/bench.mjs` measures.

use std::process::Command;

use crate::{cargo, root, run as execute, target_folder};

/// Measures the parts with these names, or all: `first`, `tabs`, `panning`, `large`.
pub(super) fn run(parts: &[String]) -> Result<(), String> {
    let page = root().join("crates/serve/page");
    if !page.join("node_modules/playwright-core").is_dir() {
        return Err(format!(
            "the packages of the page are not installed: run 'npm ci' in {}",
            page.display()
        ));
    }
    execute(cargo().args(["build", "--release", "--package", "tallymon-cli"]))?;
    let tally = target_folder().join("release/tally");
    execute(Command::new("node").arg(page.join("bench.mjs")).arg(tally).args(parts))
}
