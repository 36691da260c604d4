//! `tally doctor`: what works on this machine, what does not, and how to get it.

use std::io::{self, Write};

use serde_json::json;
use tallymon::{Finding, FindingState, Host};

use crate::arguments::{Common, Doctor};
use crate::exit::{Failure, Kind};
use crate::words::{line_width, wrap};

/// Columns that the words need beside the subjects; with fewer they stand below.
const ROOM: usize = 32;

pub(crate) fn run(common: &Common, doctor: &Doctor) -> Result<(), Failure> {
    if common.file.is_some() {
        return Err(Failure::new(Kind::Usage, "doctor looks at the running system; leave --file out"));
    }
    let mut host = Host::open_as(common.tier.unwrap_or_default(), common.profile.unwrap_or_default())?;
    let findings = host.findings();
    let mut out = io::stdout().lock();
    if doctor.json {
        let rows: Vec<_> = findings
            .iter()
            .map(|finding| {
                json!({
                    "subject": finding.subject,
                    "state": finding.state.word(),
                    "detail": finding.detail,
                    "remedy": finding.remedy,
                })
            })
            .collect();
        writeln!(out, "{}", json!(rows))?;
        return Ok(());
    }
    let width = findings.iter().map(|finding| finding.subject.chars().count()).max().unwrap_or(0);
    // State, subject, and two blanks behind each; a subject that stands above takes no column.
    let indent = |width: usize| 7 + 2 + width + 2;
    let stacked = line_width() < indent(width) + ROOM;
    let width = if stacked { 0 } else { width };
    for Finding { subject, state, detail, remedy } in &findings {
        let (mut word, mut subject) = (state.word(), subject.as_str());
        let mut texts = vec![detail.clone()];
        if *state != FindingState::Good && !remedy.is_empty() {
            texts.push(format!("-> {remedy}"));
        }
        if stacked {
            writeln!(out, "{word:7}  {subject}")?;
            (word, subject) = ("", "");
        }
        for line in texts.iter().flat_map(|text| wrap(text, indent(width), line_width())) {
            writeln!(out, "{word:7}  {subject:width$}  {line}")?;
            // They stand before the first line only.
            (word, subject) = ("", "");
        }
    }
    Ok(())
}
