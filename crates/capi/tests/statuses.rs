//! Every status of the header: a C program gets it, or the documentation says why no function returns it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::collections::BTreeSet;

use tallymon_testkit::peer;

mod bench;

use bench::{Bench, SANITIZED, lines};

/// The names of the header.
fn of_header() -> BTreeSet<&'static str> {
    let names = include_str!("../include/pdhmsg.h").lines().filter_map(|line| {
        let name = line.strip_prefix("#define ")?.split(' ').next()?;
        name.starts_with("PDH_").then_some(name)
    });
    names.collect()
}

/// The names of the table of statuses that nothing gives, each with the reason beside it.
fn of_documentation() -> BTreeSet<&'static str> {
    let page = include_str!("../../../docs/c-interface.md");
    let (_, table) = page.split_once("## Statuses that nothing gives").unwrap();
    let rows = table.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| PDH_"));
    let names = rows.flat_map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, names, reason, _] = cells[..] else { panic!("{row}") };
        assert!(reason.len() > 20, "{row}");
        names.split(", ")
    });
    names.collect()
}

#[test]
fn every_status_is_returned_or_has_a_reason() {
    let (Some(gcc), Some(setsid)) = (peer("gcc"), peer("setsid")) else { return };
    let bench = Bench::new("statuses");
    let warnings = ["-Wall", "-Wextra", "-Wno-sign-compare", "-Wno-missing-field-initializers"];
    let program = bench.compile(&gcc, &[SANITIZED, &warnings].concat(), &["tests/c/statuses.c"]);
    let output = bench.run(&setsid).arg("--wait").arg(&program).arg(&bench.0).output().unwrap();
    let said = lines(&output);
    let (summary, given) = said.split_last().unwrap();
    assert!(summary.ends_with(" 0 on purpose not, 0 wrong"), "{summary}");
    let given: BTreeSet<&str> = given.iter().map(String::as_str).collect();
    let (header, reasons) = (of_header(), of_documentation());
    assert!(header.len() > 85, "{header:?}");
    let both: Vec<_> = given.intersection(&reasons).collect();
    assert!(both.is_empty(), "given, and in the table of those that nothing gives: {both:?}");
    let known: BTreeSet<&str> = given.union(&reasons).copied().collect();
    let forgotten: Vec<_> = header.symmetric_difference(&known).collect();
    assert!(
        forgotten.is_empty(),
        "in the header or with a check or a reason, but not in both: {forgotten:?}"
    );
}
