//! What the files and the faster ways say about themselves, for a user who wonders.

use tallymon_provider::{Absence, Finding, FindingState};

use super::Sources;

impl Sources {
    /// Reads every file once and says how it went.
    pub(crate) fn findings(&mut self) -> Vec<Finding> {
        self.request = self.request.wrapping_add(1);
        let mut findings = Vec::new();
        // Before its files are read below: it is compared with them.
        self.network.finish();
        let _ = (self.snmp(), self.snmp6());
        let uname = rustix::system::uname();
        findings.push(Finding {
            subject: "kernel".to_string(),
            state: FindingState::Good,
            detail: format!(
                "{} {} on {}, {} processors",
                uname.sysname().to_string_lossy(),
                uname.release().to_string_lossy(),
                uname.machine().to_string_lossy(),
                self.facts.cpu_count
            ),
            remedy: String::new(),
        });
        macro_rules! look {
            ($($name:ident),*) => {$(
                let result = self.$name.get(self.request, &mut self.buffer, &mut self.earliest).map(|_| ());
                findings.push(found(self.$name.kept.path().display().to_string(), result, self.$name.trouble.as_deref()));
            )*};
        }
        look!(stat, meminfo, vmstat, loadavg, interrupts, softirqs, diskstats, mountinfo, swaps, snmp, snmp6);
        findings.push(self.counts.finding());
        findings.push(self.network.finding());
        findings.extend(self.processes.findings(&self.root));
        if self.root.is_system() {
            findings.extend(crate::sources::optional::findings(&self.root, &mut self.diagnosis));
        }
        findings
    }
}

fn found(subject: String, result: Result<(), Absence>, trouble: Option<&str>) -> Finding {
    let trouble = trouble.unwrap_or_default().to_string();
    let (state, detail, remedy) = match result {
        Ok(()) => (FindingState::Good, "read".to_string(), String::new()),
        Err(Absence::AccessDenied) => {
            (FindingState::Missing, trouble, "run tally as root, or allow reading this file".to_string())
        }
        Err(Absence::NotInThisKernel) => (
            FindingState::Missing,
            trouble,
            "mount /proc, or use a kernel that provides this file".to_string(),
        ),
        Err(_) => (FindingState::Missing, trouble, "report this with the text of the file".to_string()),
    };
    Finding { subject, state, detail, remedy }
}
