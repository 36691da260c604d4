//! `tally doctor`: what works on this machine, what does not, and how to get it.

use std::io::{self, Write};

use serde_json::json;
use tallymon::{Finding, FindingState, Host};

use crate::arguments::{Common, Doctor};
use crate::exit::{Failure, Kind};

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
    let width = findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
    for Finding { subject, state, detail, remedy } in &findings {
        writeln!(out, "{:7}  {subject:width$}  {detail}", state.word())?;
        if *state != FindingState::Good && !remedy.is_empty() {
            writeln!(out, "{:7}  {:width$}  -> {remedy}", "", "")?;
        }
    }
    Ok(())
}
