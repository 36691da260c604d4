//! Reports how reading each source went, and which tier is in use.

use tallymon_provider::{Absence, Finding, FindingState};

use super::Sources;

impl Sources {
    /// Reads every file once and reports how it went.
    pub(crate) fn findings(&mut self) -> Vec<Finding> {
        self.request = self.request.wrapping_add(1);
        let mut findings = Vec::new();
        // Load the program before its files are read below, because it is compared with them.
        self.network.load_now();
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
        macro_rules! run_once {
            ($($name:ident),*) => {$(
                let result = self.$name.get(self.request, &mut self.buffer, &mut self.earliest).map(|_| ());
                let path = self.$name.kept.path().display().to_string();
                findings.push(found(path, result, self.$name.error.as_deref()));
            )*};
        }
        run_once!(
            stat, meminfo, vmstat, loadavg, interrupts, softirqs, diskstats, mountinfo, swaps, snmp, snmp6
        );
        findings.push(self.counts.finding());
        findings.push(self.network.finding());
        findings.extend(self.processes.findings(&self.root));
        if self.root.is_system() {
            findings.extend(crate::sources::optional::findings(&self.root, &mut self.socket_diag));
        }
        findings
    }
}

fn found(subject: String, result: Result<(), Absence>, error: Option<&str>) -> Finding {
    let error = error.unwrap_or_default().to_string();
    let (state, detail, remedy) = match result {
        Ok(()) => (FindingState::Good, "read".to_string(), String::new()),
        Err(Absence::AccessDenied) => {
            (FindingState::Missing, error, "run tally as root, or allow reading this file".to_string())
        }
        Err(Absence::NotInThisKernel) => {
            (FindingState::Missing, error, "mount /proc, or use a kernel that provides this file".to_string())
        }
        Err(_) => (FindingState::Missing, error, "report this with the text of the file".to_string()),
    };
    Finding { subject, state, detail, remedy }
}
