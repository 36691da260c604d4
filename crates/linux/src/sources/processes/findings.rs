//! Reports what can be read about the processes on this machine.

use std::path::Path;

use rustix::thread::CapabilitySet;
use tallymon_provider::{Finding, FindingState};

use super::descriptors::{DescriptorBudget, FileKind};
use super::table::{ProcessTable, hides_others};
use crate::kernel::reusable_file::{Buffer, ReusableFile};
use crate::kernel::root::Root;

impl ProcessTable {
    /// What can be read about the processes here, and what cannot.
    pub(crate) fn findings(&mut self, root: &Root) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut pids = Vec::new();
        let listed = self.folder.list(&mut pids);
        let clocks =
            if self.has_clocks { "CPU clocks exact to the nanosecond" } else { "CPU times in ticks" };
        findings.push(match listed {
            Ok(()) => Finding {
                subject: "processes".to_string(),
                state: FindingState::Good,
                detail: format!("{} in {}; {clocks}", pids.len(), root.proc.display()),
                remedy: String::new(),
            },
            Err(error) => Finding {
                subject: "processes".to_string(),
                state: FindingState::Missing,
                detail: error.to_string(),
                remedy: "mount /proc, or allow listing it".to_string(),
            },
        });
        let may_read_all = rustix::thread::capabilities(None)
            .is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_PTRACE));
        findings.push(self.bpf.finding(self.has_clocks, may_read_all));
        if self.has_clocks && self.bpf.is_active() {
            // The BPF pass keeps no files open, and I/O is never denied.
            return findings;
        }
        findings.push(self.finding_of_descriptors());
        if root.is_system() {
            findings.push(self.finding_of_hidden());
        }
        findings.extend(self.finding_of_io(&pids));
        findings
    }

    fn finding_of_descriptors(&self) -> Finding {
        let budget = self.descriptors.budget();
        let detail = format!(
            "at most {budget} files of processes are kept open, {} are now; the limit of open files is {}",
            self.descriptors.open(),
            DescriptorBudget::limit()
        );
        let subject = "descriptors".to_string();
        if budget < self.rows.len().saturating_mul(2).max(512) {
            let remedy =
                "raise the limit with ulimit -n; beyond it every file is opened for each sample".to_string();
            Finding { subject, state: FindingState::Limited, detail, remedy }
        } else {
            Finding { subject, state: FindingState::Good, detail, remedy: String::new() }
        }
    }

    fn finding_of_hidden(&self) -> Finding {
        let hidden = hides_others(&self.folder);
        let subject = "other users' processes".to_string();
        if hidden {
            Finding {
                subject,
                state: FindingState::Limited,
                detail: "/proc is mounted with hidepid: only our own user's processes are visible, and \
                         no sum over all processes is known"
                    .to_string(),
                remedy: "run as root or in the group of the mount option gid, or mount /proc without hidepid"
                    .to_string(),
            }
        } else {
            Finding {
                subject,
                state: FindingState::Good,
                detail: "visible: /proc is mounted without hidepid, or hidepid does not apply to us"
                    .to_string(),
                remedy: String::new(),
            }
        }
    }

    fn finding_of_io(&mut self, pids: &[u32]) -> Option<Finding> {
        let mut buffer = Buffer::new();
        let (mut denied, mut read) = (0_usize, 0_usize);
        for pid in pids {
            let path = format!("{pid}/{}", FileKind::Io.file_name());
            let result = ReusableFile::pinned(&self.folder, Path::new(&path))
                .and_then(|mut file| file.read(&mut buffer).map(|_| ()));
            match result {
                Ok(()) => read = read.saturating_add(1),
                Err(error) if error.is_denied() => denied = denied.saturating_add(1),
                Err(_) => {}
            }
        }
        let subject = "I/O of other users' processes".to_string();
        if denied > 0 {
            Some(Finding {
                subject,
                state: FindingState::Limited,
                detail: format!(
                    "/proc/PID/io is denied for {denied} of {} processes: the I/O of _Total and System \
                        lacks them",
                    denied.saturating_add(read)
                ),
                remedy: "give the program CAP_SYS_PTRACE (setcap cap_sys_ptrace=ep) or run it as root"
                    .to_string(),
            })
        } else if read > 0 {
            Some(Finding {
                subject,
                state: FindingState::Good,
                detail: format!("/proc/PID/io can be read for all {read} processes"),
                remedy: String::new(),
            })
        } else {
            None
        }
    }
}
