//! What the network's protocols count: from a program in the kernel for who stays, from files for others.
//!
//! The numbers of both are the same. Nobody sees one of the program before it was compared with the very file that
//! would be read: that one belongs to the network namespace that our process was in when the file was opened.

use tallymon_provider::{FileTime, Finding, FindingState, TierChoice};

use crate::kernel::bpf::network::{Comparison, CountedFile, Network, compare};
use crate::kernel::bpf::refusal::Refusal;
use crate::kernel::proc::snmp::Snmp;
use crate::kernel::proc::snmp6::Snmp6;
use crate::kernel::time::steady;
use crate::sources::lazy_backend::LazyBackend;

/// What the kernel counts of the network's protocols, as far as a program reads it.
#[derive(Debug)]
pub(crate) struct NetworkCounts {
    /// `None` for another machine than this one.
    program: Option<LazyBackend<Network>>,
    /// The request that the program has run for, and when.
    run: (u64, FileTime),
    /// The last request that was a look.
    looked: u64,
    /// The namespace of the files; `None` while none was compared.
    namespace: Option<u64>,
    /// Whether a file with other numbers than zeros agreed with the program.
    is_proven: bool,
    /// The files that agreed.
    agreed: Vec<&'static str>,
}

impl NetworkCounts {
    pub(crate) fn new(choice: TierChoice, is_machine: bool) -> NetworkCounts {
        let program = is_machine.then(|| LazyBackend::new(choice, Network::open));
        let run = (0, FileTime(0));
        NetworkCounts { program, run, looked: 0, namespace: None, is_proven: false, agreed: Vec::new() }
    }

    /// What a file would say, and when it was read by the program, once a request; `None` where the file is to be read.
    pub(crate) fn look<File: CountedFile>(&mut self, request: u64) -> Option<(FileTime, File)> {
        if self.looked != request {
            self.looked = request;
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

    /// Compares a file with the program. It was read after the last look.
    pub(crate) fn compare<File: CountedFile>(&mut self, file: &File) {
        let Some(network) = self.network() else { return };
        let before = network.read::<File>();
        let result = network.run();
        self.check(result);
        let Some(network) = self.network() else { return };
        let (after, namespace) = (network.read::<File>(), network.namespace());
        match compare(before, *file, after) {
            Comparison::Other => {
                self.give_up(format!("what is read of the network is not what {} says", File::NAME))
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

    /// Gives the program up when a run has failed, or was of another network namespace than the files.
    fn check(&mut self, result: Result<(), Refusal>) {
        let namespace = self.network().map(|network| network.namespace());
        match result {
            Err(refusal) => self.refuse(refusal),
            Ok(()) if self.namespace.is_some_and(|known| namespace != Some(known)) => {
                self.give_up("this process has changed its network namespace".to_string());
            }
            Ok(()) => {}
        }
    }

    fn give_up(&mut self, reason: String) {
        self.refuse(Refusal { reason, remedy: String::new() });
    }

    fn refuse(&mut self, refusal: Refusal) {
        if let Some(program) = &mut self.program {
            program.give_up(refusal);
        }
    }

    /// Makes the program, if nobody has tried yet and it is allowed.
    pub(crate) fn finish(&mut self) {
        if let Some(program) = &mut self.program {
            program.finish();
        }
    }

    /// Which tier is in use and why, for a user who wonders; after a look at both files.
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
        } else if program.works() && !self.is_proven {
            finding.detail.push_str("; T2 when something was counted to compare it with");
        } else if program.works() {
            finding.detail =
                "tier T2: a program in the kernel that adds up what all processors have".to_string();
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

    /// What it reads is no longer what its files say, since these stay open.
    #[test]
    fn a_process_that_has_left_its_network_reads_files() {
        let network = match Network::open() {
            Ok(network) => network,
            Err(refusal) => return refusal.skip_test(),
        };
        let mut counts = NetworkCounts::new(TierChoice::Auto, true);
        counts.program = Some(LazyBackend::of(network));
        assert!(counts.look::<Snmp>(1).is_none(), "it was not compared");
        let file = Snmp::parse(&std::fs::read(Snmp::NAME).unwrap()).unwrap();
        counts.compare(&file);
        let Some((_, found)) = counts.look::<Snmp>(2) else {
            return tallymon_testkit::skip("nothing was counted here yet, or others come and go");
        };
        assert!(file.ip.in_receives <= found.ip.in_receives);
        counts.namespace = counts.namespace.map(|number| number.wrapping_add(1));
        assert!(counts.look::<Snmp>(2).is_some(), "of the run before");
        assert!(counts.look::<Snmp>(3).is_none());
        let finding = counts.finding();
        assert!(finding.detail.contains("network namespace") && finding.state == FindingState::Limited);
    }
}
