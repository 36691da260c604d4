//! Why the kernel refuses a BPF program, and what would help.

use std::io;

use rustix::thread::CapabilitySet;

use super::assembler::AssemblerError;
use super::sys::LoadError;

/// Why BPF cannot be used here, and what would help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What failed, as a sentence without the final period.
    pub reason: String,
    /// What to do; empty when nothing helps.
    pub remedy: String,
}

impl Refusal {
    /// Skips a test because the kernel refuses the program.
    #[cfg(test)]
    pub(crate) fn skip_test(&self) {
        tallymon_testkit::skip_bpf(&format!("{}; {}", self.reason, self.remedy));
    }

    pub(super) fn of_kernel(reason: String) -> Refusal {
        Refusal { reason, remedy: String::new() }
    }
}

/// The refusal for an error of the system call.
pub(super) fn syscall_refusal(error: &io::Error) -> Refusal {
    if error.raw_os_error() == Some(libc::ENOSYS) {
        return Refusal {
            reason: format!("this kernel has no BPF: {error}"),
            remedy: "use a kernel that was built with CONFIG_BPF_SYSCALL".to_string(),
        };
    }
    // The verifier returns EACCES when a capability is missing, and also for a program that it finds unsafe.
    let is_denied = error.raw_os_error() == Some(libc::EPERM) || !has_rights();
    let remedy = if is_denied {
        "give the program CAP_BPF and CAP_PERFMON (setcap cap_bpf,cap_perfmon=ep), or run it as root"
    } else {
        ""
    };
    Refusal { reason: format!("the kernel refuses BPF: {error}"), remedy: remedy.to_string() }
}

fn has_rights() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| {
        sets.effective.contains(CapabilitySet::BPF | CapabilitySet::PERFMON)
            || sets.effective.contains(CapabilitySet::SYS_ADMIN)
    })
}

pub(super) fn assembler_refusal(error: AssemblerError) -> Refusal {
    Refusal::of_kernel(error.to_string())
}

pub(super) fn load_refusal(load_refusal: LoadError) -> Refusal {
    let mut refusal = syscall_refusal(&load_refusal.error);
    // If a capability is missing, the verifier's log does not help.
    if !load_refusal.log.is_empty() && refusal.remedy.is_empty() {
        refusal.reason = format!("{}; its verifier says: {}", refusal.reason, load_refusal.log);
    }
    refusal
}
