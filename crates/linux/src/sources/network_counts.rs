//! The counters of network protocols: from a BPF program in the long run, from files at first.
//!
//! Both give the same numbers. The program is used only after it was compared with the very file that it
//! replaces: that file belongs to the network namespace of our process at the time of opening.

use tallymon_provider::{FileTime, Finding, FindingState, TierChoice};

use crate::kernel::bpf::network::{Comparison, CountedFile, Network, compare};
use crate::kernel::bpf::refusal::Refusal;
use crate::kernel::proc::snmp::Snmp;
use crate::kernel::proc::snmp6::Snmp6;
use crate::kernel::time::steady;
use crate::sources::lazy_backend::LazyBackend;

/// The BPF program that reads the protocol counters, and whether it can be trusted.
#[derive(Debug)]
pub(crate) struct NetworkCounts {
    /// `None` for another machine than this one.
    program: Option<LazyBackend<Network>>,
    /// The last request that the program ran for, and when.
    run: (u64, FileTime),
    /// The last request.
    last_request: u64,
    /// The network namespace of the files; `None` before the first comparison.
    namespace: Option<u64>,
    /// Whether a file with nonzero numbers agreed with the program.
    is_proven: bool,
    /// The files that agreed.
    agreed: Vec<&'static str>,
}

impl NetworkCounts {
    pub(crate) fn new(choice: TierChoice, is_machine: bool) -> NetworkCounts {
        let program = is_machine.then(|| LazyBackend::new(choice, Network::open));
        let run = (0, FileTime(0));
        NetworkCounts { program, run, last_request: 0, namespace: None, is_proven: false, agreed: Vec::new() }
    }

    /// The numbers of a file, and when the program read them; `None` where the file has to be read.
    pub(crate) fn run_once<File: CountedFile>(&mut self, request: u64) -> Option<(FileTime, File)> {
        if self.last_request != request {
            self.last_request = request;
            let now = steady();
            if let Some(result) = self.program.as_mut()?.begin_sample().map(|network| network.run()) {
                self.run = (request, now);
                self.check(result);
            }
        }
        let (run, at) = self.run;
        let is_usable = run == request && self.is_trusted::<File>();
        self.network().filter(|_| is_usable).map(|network| (at, network.read()))
    }

    /// Compares a file, which was read after the last run, with the program.
    pub(crate) fn compare<File: CountedFile>(&mut self, file: &File) {
        let Some(network) = self.network() else { return };
        let before = network.read::<File>();
        let result = network.run();
        self.check(result);
        let Some(network) = self.network() else { return };
        let (after, namespace) = (network.read::<File>(), network.namespace());
        match compare(before, *file, after) {
            Comparison::Other => {
                self.disable(format!("the BPF program disagrees with what {} says", File::NAME))
            }
            likeness => {
                self.namespace = Some(namespace);
                self.is_proven |= likeness == Comparison::Same;
                if !self.agreed.contains(&File::NAME) {
                    self.agreed.push(File::NAME);
                }
            }
        }
    }

    fn network(&mut self) -> Option<&mut Network> {
        self.program.as_mut()?.get()
    }

    fn is_trusted<File: CountedFile>(&self) -> bool {
        self.is_proven && self.agreed.contains(&File::NAME)
    }

    /// Disables the program when a run failed, or read another network namespace than that of the files.
    fn check(&mut self, result: Result<(), Refusal>) {
        let namespace = self.network().map(|network| network.namespace());
        match result {
            Err(refusal) => self.refuse(refusal),
            Ok(()) if self.namespace.is_some_and(|known| namespace != Some(known)) => {
                self.disable("this process has changed its network namespace".to_string());
            }
            Ok(()) => {}
        }
    }

    fn disable(&mut self, reason: String) {
        self.refuse(Refusal { reason, remedy: String::new() });
    }

    fn refuse(&mut self, refusal: Refusal) {
        if let Some(program) = &mut self.program {
            program.disable(refusal);
        }
    }

    /// Loads the program, if that was not tried and is allowed.
    pub(crate) fn load_now(&mut self) {
        if let Some(program) = &mut self.program {
            program.load_now();
        }
    }

    /// Which tier is in use, and why; to be called after both files were read.
    pub(crate) fn finding(&mut self) -> Finding {
        let subject = "counts of network protocols".to_string();
        let mut finding = Finding {
            subject,
            state: FindingState::Good,
            detail: format!("tier T0: {} and {}", Snmp::NAME, Snmp6::NAME),
            remedy: String::new(),
        };
        let Some(program) = &mut self.program else { return finding };
        if let Some(refusal) = program.refusal() {
            finding.state = FindingState::Limited;
            finding.detail.push_str(&format!("; not T2: {}", refusal.reason));
            finding.remedy.clone_from(&refusal.remedy);
        } else if program.is_ready() && !self.is_proven {
            finding.detail.push_str("; T2 once there are counts to compare it with");
        } else if program.is_ready() {
            finding.detail = "tier T2: a BPF program that adds up the counters of all CPUs".to_string();
            if !self.is_trusted::<Snmp6>() {
                finding.detail.push_str(&format!("; {} was not compared", Snmp6::NAME));
            }
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program reads another namespace than the files, which stay open.
    #[test]
    fn after_a_namespace_change_files_are_read() {
        let network = match Network::open() {
            Ok(network) => network,
            Err(refusal) => return refusal.skip_test(),
        };
        let mut counts = NetworkCounts::new(TierChoice::Auto, true);
        counts.program = Some(LazyBackend::of(network));
        assert!(counts.run_once::<Snmp>(1).is_none(), "it was not compared");
        let file = Snmp::parse(&std::fs::read(Snmp::NAME).unwrap()).unwrap();
        counts.compare(&file);
        let Some((_, found)) = counts.run_once::<Snmp>(2) else {
            return tallymon_testkit::skip("nothing was counted here yet, or others come and go");
        };
        assert!(file.ip.in_receives <= found.ip.in_receives);
        counts.namespace = counts.namespace.map(|number| number.wrapping_add(1));
        assert!(counts.run_once::<Snmp>(2).is_some(), "of the run before");
        assert!(counts.run_once::<Snmp>(3).is_none());
        let finding = counts.finding();
        assert!(finding.detail.contains("network namespace") && finding.state == FindingState::Limited);
    }
}
