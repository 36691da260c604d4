//! `tally doctor`: reports what does not work on this machine and how to fix it, then what works.

use std::fs;
use std::io::{self, Write};

use serde_json::json;
use tallymon::{Finding, FindingState, Host};

use crate::arguments::{Common, Doctor};
use crate::border;
use crate::command::capabilities::CAPABILITIES;
use crate::command::rights;
use crate::exit::{Failure, Kind};
use crate::paths;
use crate::words::{line_width, visible, wrap};

/// Columns that the text needs beside the subjects. With fewer the subjects get a line of their own.
const ROOM: usize = 32;

/// Columns of the state and of the two blanks behind it.
const INDENT: usize = 9;

pub(crate) fn run(common: &Common, doctor: &Doctor) -> Result<(), Failure> {
    if common.file.is_some() {
        return Err(Failure::new(Kind::Usage, "doctor checks the running system; leave out --file"));
    }
    if doctor.grant || doctor.revoke {
        return rights::run(doctor);
    }
    let (tier, profile) = paths::machine(common)?;
    let mut host = tallymon::with_bridges(Host::open_as(tier, profile)?);
    let findings = host.findings();
    let mut out = border::stdout();
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
        writeln!(out, "{}", border::json(&json!(rows)))?;
        return Ok(());
    }
    let (good, bad): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().partition(|finding| finding.state == FindingState::Good);
    for problem in problems(&bad, effective_capabilities()) {
        problem.print(&mut out)?;
    }
    if doctor.verbose {
        return Ok(print_good(&mut out, &good)?);
    }
    let count = good.len();
    let word = FindingState::Good.word();
    Ok(writeln!(out, "{word:7}  {count} checks; 'tally doctor --verbose' lists them")?)
}

/// Findings that share a state and a remedy. The remedy is printed once, below all of them.
struct Problem {
    state: FindingState,
    /// Each reason with the objects that it concerns, or one subject with its detail.
    texts: Vec<(String, Vec<String>)>,
    remedy: String,
    /// A command that fixes the problem. It is never wrapped, so that it can be copied.
    command: Option<String>,
}

/// Groups findings by their remedy; those that the user can do something about come first.
fn problems(findings: &[Finding], effective: u64) -> Vec<Problem> {
    let missing: Vec<&str> = CAPABILITIES
        .into_iter()
        .filter(|(name, ..)| findings.iter().any(|finding| names(&finding.remedy, name)))
        .map(|(name, ..)| name)
        .collect();
    let mut problems: Vec<Problem> = Vec::new();
    for finding in findings {
        let needed: Vec<(&str, u32, &str)> =
            CAPABILITIES.into_iter().filter(|(name, ..)| names(&finding.remedy, name)).collect();
        let (remedy, command) = if needed.is_empty() {
            (finding.remedy.clone(), None)
        } else if needed.iter().all(|(_, bit, _)| effective >> bit & 1 == 1) {
            let words = "tally has this right already; the container or a security module denies the access";
            (words.to_owned(), None)
        } else {
            (
                "run tally as root, or give it the rights that it lacks:".to_owned(),
                Some(setcap(&missing, effective)),
            )
        };
        let (reason, subject) = reason_and_subject(finding);
        let same = |problem: &&mut Problem| problem.state == finding.state && problem.remedy == remedy;
        match problems.iter_mut().find(same) {
            Some(problem) => match problem.texts.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, subjects)) => subjects.extend(subject),
                None => problem.texts.push((reason, subject.into_iter().collect())),
            },
            None => {
                let texts = vec![(reason, subject.into_iter().collect())];
                problems.push(Problem { state: finding.state, texts, remedy, command });
            }
        }
    }
    problems.sort_by_key(|problem| {
        let is_curable = !problem.remedy.starts_with("nothing to do") && !problem.remedy.contains("says why");
        (problem.command.is_none(), !is_curable)
    });
    // A remedy for both limited and missing things is printed below the last of them.
    let mut next_remedy = String::new();
    for problem in problems.iter_mut().rev() {
        if problem.remedy == next_remedy {
            problem.remedy.clear();
            problem.command = None;
        } else {
            next_remedy.clone_from(&problem.remedy);
        }
    }
    problems
}

/// The reason that an object lacks values, and the object with their number. Of other findings: subject and
/// detail.
///
/// The detail of an object is such as `degraded in 2ms; 5 values: more rights are needed to read it`.
fn reason_and_subject(finding: &Finding) -> (String, Option<String>) {
    let object = || {
        let name = finding.subject.strip_prefix("object ")?;
        let (_, detail) = finding.detail.split_once("; ")?;
        let (count, reason) = detail.split_once(": ")?;
        // Several reasons are separated by semicolons; such a finding stays as it is.
        let is_single = count.contains("value") && !reason.contains("; ");
        is_single.then(|| (reason.to_owned(), Some(format!("{name} ({count})"))))
    };
    object().unwrap_or_else(|| (format!("{}: {}", finding.subject, finding.detail), None))
}

/// Whether a remedy names a capability.
fn names(remedy: &str, capability: &str) -> bool {
    remedy.to_ascii_lowercase().contains(capability)
}

/// The command that gives this program the missing capabilities. `setcap` replaces all capabilities of a
/// file, so the command repeats those that the program has.
fn setcap(missing: &[&str], effective: u64) -> String {
    let wanted: Vec<&str> = CAPABILITIES
        .into_iter()
        .filter(|(name, bit, _)| missing.contains(name) || effective >> bit & 1 == 1)
        .map(|(name, ..)| name)
        .collect();
    let file = std::env::current_exe().and_then(fs::canonicalize);
    let file = file.map_or_else(|_| "tally".to_owned(), |file| file.display().to_string());
    let is_plain = file.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-+".contains(letter));
    let file = if is_plain { file } else { format!("'{}'", file.replace('\'', r"'\''")) };
    format!("sudo setcap {}=ep {file}", wanted.join(","))
}

/// The effective capabilities of this process as bits; 0 where there is no such file.
fn effective_capabilities() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}

impl Problem {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let mut texts: Vec<String> = self
            .texts
            .iter()
            .map(|(reason, subjects)| match subjects.as_slice() {
                [] => reason.clone(),
                subjects => format!("{reason}: {}", subjects.join(", ")),
            })
            .collect();
        if !self.remedy.is_empty() {
            texts.push(format!("-> {}", self.remedy));
        }
        let mut word = self.state.word();
        for line in texts.iter().flat_map(|text| wrap(&visible(text), INDENT, line_width())) {
            writeln!(out, "{word:7}  {line}")?;
            word = "";
        }
        match &self.command {
            Some(command) => writeln!(out, "{:INDENT$}   {command}", ""),
            None => Ok(()),
        }
    }
}

/// Prints one row for each finding: state, subject, detail.
fn print_good(out: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    let width = findings.iter().map(|finding| finding.subject.chars().count()).max().unwrap_or(0);
    let indent = |width: usize| INDENT + width + 2;
    let is_stacked = line_width() < indent(width) + ROOM;
    let width = if is_stacked { 0 } else { width };
    for Finding { subject, state, detail, .. } in findings {
        let subject = visible(subject);
        let (mut word, mut subject) = (state.word(), &*subject);
        if is_stacked {
            writeln!(out, "{word:7}  {subject}")?;
            (word, subject) = ("", "");
        }
        for line in wrap(&visible(detail), indent(width), line_width()) {
            writeln!(out, "{word:7}  {subject:width$}  {line}")?;
            (word, subject) = ("", "");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(subject: &str, detail: &str, remedy: &str) -> Finding {
        let (subject, detail, remedy) = (subject.to_owned(), detail.to_owned(), remedy.to_owned());
        Finding { subject, state: FindingState::Limited, detail, remedy }
    }

    fn text(findings: &[Finding], effective: u64) -> String {
        let mut out = Vec::new();
        for problem in problems(findings, effective) {
            problem.print(&mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn groups_problems_and_prints_one_setcap_command() {
        let findings = [
            limited("object Pressure", "degraded in 1ms; 1 value: not here", "'tally get' says why"),
            limited("collector", "tier T0", "give the program CAP_BPF and CAP_PERFMON (setcap x=ep)"),
            limited("object System", "degraded in 2ms; 5 values: no right", "run with CAP_SYS_PTRACE"),
            limited("object Process", "degraded in 3ms; 12 values: no right", "run with CAP_SYS_PTRACE"),
        ];
        let text = text(&findings, 0);
        let mut missing = limited("perf events", "not allowed", "give tally CAP_PERFMON");
        missing.state = FindingState::Missing;
        let both = self::text(&[findings[1].clone(), missing], 0);
        assert!(
            both.starts_with("limited  collector: tier T0\nmissing  perf events: not allowed\n"),
            "{both}"
        );
        assert_eq!(both.matches("-> ").count(), 1, "{both}");
        assert!(text.starts_with("limited  collector: tier T0\n"), "{text}");
        assert!(text.contains("\n         no right: System (5 values), Process (12 values)\n"), "{text}");
        assert_eq!(text.matches("setcap").count(), 1, "{text}");
        assert!(text.contains(" sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep /"), "{text}");
        assert!(
            text.ends_with("limited  not here: Pressure (1 value)\n         -> 'tally get' says why\n"),
            "{text}"
        );
    }

    #[test]
    fn does_not_ask_for_a_capability_that_the_process_has() {
        let findings = [limited("object System", "degraded in 2ms; 5 values: no right", "CAP_SYS_PTRACE")];
        let text = text(&findings, 1 << 19);
        assert!(text.contains("has this right already") && !text.contains("setcap"), "{text}");
        let both = setcap(&["cap_bpf"], 1 << 19);
        assert!(both.starts_with("sudo setcap cap_bpf,cap_sys_ptrace=ep "), "{both}");
    }
}
