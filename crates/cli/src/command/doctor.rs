//! `tally doctor`: what works on this machine, what does not, and how to get it.

use std::io::{self, Write};

use serde_json::json;
use tallymon::{Finding, FindingState, Host};

use crate::arguments::{Common, Doctor};
use crate::exit::{Failure, Kind};
use crate::words::{line_width, wrap};

pub(crate) fn run(common: &Common, doctor: &Doctor) -> Result<(), Failure> {
    if common.file.is_some() {
        return Err(Failure::new(Kind::Usage, "doctor looks at the running system; leave --file out"));
    }
    let findings = Host::open()?.findings();
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
    // State, subject, and two blanks behind each.
    let indent = 7 + 2 + width + 2;
    for Finding { subject, state, detail, remedy } in &findings {
        let (mut word, mut subject) = (state.word(), subject.as_str());
        let mut texts = vec![detail.clone()];
        if *state != FindingState::Good && !remedy.is_empty() {
            texts.push(format!("-> {remedy}"));
        }
        for line in texts.iter().flat_map(|text| wrap(text, indent, line_width())) {
            writeln!(out, "{word:7}  {subject:width$}  {line}")?;
            // They stand before the first line only.
            (word, subject) = ("", "");
        }
    }
    Ok(())
}
