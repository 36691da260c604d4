//! Writes the pages of counter types and of reasons for missing values with `TALLYMON_BLESS=1`, and compares
//! them.

#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::fmt::Write as _;
use std::path::Path;

use tallymon_core::counter::TYPES;
use tallymon_core::flow::NoValue;

#[track_caller]
fn compare(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{} is not up to date; TALLYMON_BLESS=1 writes it", path.display());
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn the_page_of_types_is_that_of_the_table() {
    let mut text = "# Counter types

How a counter becomes a value. N is the raw value, D the clock, F the clock's ticks per second, B the base or
multi count; 0 is the older sample and 1 the newer one. `tally explain PATH` shows the same with the
numbers of a counter. This page is made from the table of the program.

| type | number | value | equation | suffix |
|---|---|---|---|---|
"
    .to_string();
    for known in TYPES {
        let own = if known.ours { " (Tallymon's own)" } else { "" };
        let names: Vec<String> =
            [known.name].iter().chain(known.aliases).map(|name| format!("`{name}`")).collect();
        let formula =
            if known.formula.is_empty() { String::new() } else { format!("`{}`", cell(known.formula)) };
        let suffix = known.suffix.as_str();
        writeln!(
            text,
            "| {}{own} | `0x{:08X}` | {} | {formula} | {} |",
            names.join(" "),
            known.value.0,
            cell(known.summary),
            if suffix.is_empty() { String::new() } else { format!("`{suffix}`") }
        )
        .unwrap();
    }
    compare("types.md", &text);
}

#[test]
fn the_page_of_missing_values_has_every_reason() {
    let mut text = "# Why a value is missing

A value that cannot be computed is never 0. Tables say one of these reasons, and the C interface returns the
status of PDH. This page is made from the table of the program.

| reason | status of PDH | number |
|---|---|---|
"
    .to_string();
    for reason in NoValue::ALL {
        let status = reason.pdh_status();
        writeln!(text, "| {} | `{}` | `0x{:08X}` |", cell(&reason.to_string()), status.name, status.code)
            .unwrap();
    }
    compare("missing-values.md", &text);
}
