//! The reference of all built-in counters, `docs/reference/linux-counters.md`, made of their tables and checked by a test.
#![allow(clippy::unwrap_used, reason = "all of it is a test")]

use std::fmt::Write;
use std::path::Path;

use tallymon_core::title::Language;
use tallymon_linux::System;
use tallymon_provider::{Profile, Provider};

use crate::titles;

const HEAD: &str = "# The counters of Linux

Made of the tables of counters; `TALLYMON_BLESS=1 cargo test -p tallymon-host --lib reference` writes it anew.

A source is a file and a key in it: `file:key + :key * 10` is a sum, scaled, and what stands behind `or` counts where
the first is missing. A file without `/` at its beginning is in the folder of the instance. Quality:
E exact, C close, A an approximation, D kept by the collector itself, O only when asked for, Z a true zero,
`-` Linux has nothing like it. Where no source is given, the help of the counter says what it is on Linux
(`tally explain`). *Since* is the first kernel that has the source.
";

/// The whole page.
fn page(honest: &System, system: &System) -> String {
    let names = titles::titles(Language::ENGLISH).unwrap();
    let mut text = HEAD.to_string();
    let mut objects: Vec<_> = system.objects().iter().collect();
    objects.sort_by_key(|object| object.name);
    for object in objects {
        let costly = if system.is_costly(object.name) { ", read by name only" } else { "" };
        let honest = honest.objects().iter().any(|shown| shown.name == object.name);
        let hidden = if honest { "" } else { ", in the profile `nt-strict` only" };
        let name = names.name(object.name).unwrap();
        writeln!(text, "\n## {name} ({}{costly}{hidden})\n", object.name.0).unwrap();
        writeln!(text, "{}\n", names.help(object.help).unwrap()).unwrap();
        text.push_str("| index | counter | type | source | quality | since |\n|---|---|---|---|---|---|\n");
        let origins = system.origins(object.name);
        // An object may say it for the last ones of its counters only, when it shares the others.
        let without = object.counters.len().saturating_sub(origins.len());
        for (position, counter) in object.counters.iter().enumerate() {
            if counter.counter_type.info().is_some_and(|info| info.name.ends_with("_BASE")) {
                continue;
            }
            let origin = position.checked_sub(without).and_then(|position| origins.get(position));
            let source = match origin {
                Some(origin) if !origin.source.is_empty() => {
                    format!("`{}`", origin.source.replace(" | ", "` or `"))
                }
                _ => String::new(),
            };
            let (quality, since) = origin.map_or(("", ""), |origin| (origin.quality.letter(), origin.since));
            let name = names.name(counter.name).unwrap();
            let index = counter.name.0;
            let kind = counter.counter_type.name();
            writeln!(text, "| {index} | {name} | {kind} | {source} | {quality} | {since} |").unwrap();
        }
    }
    text
}

#[test]
fn the_reference_is_that_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/linux-counters.md");
    let page = page(&System::open().unwrap(), &System::open().unwrap().with_profile(Profile::NtStrict));
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let difference = page.lines().zip(written.lines()).find(|(one, other)| one != other);
    assert!(page == written, "{} is old: {difference:?}; TALLYMON_BLESS=1 writes it anew", path.display());
}
