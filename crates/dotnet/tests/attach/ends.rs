//! Programs end as always, although somebody reads their counters or has just left.

use tallymon_dotnet::live::DotnetPrograms;

use crate::counters::{EXCEPTIONS, MEMORY, PATIENCE, alone, until};
use crate::hosts::{Host, Running, hosts};

/// So many programs at a time: of .NET 9.0.5, one in three stood still that was read with its meter from its
/// start.
const PROGRAMS: usize = 4;

/// Starts programs.
fn start(host: &Host) -> Vec<Running> {
    let compiled = host.compile();
    (0..PROGRAMS).map(|_| compiled.start()).collect()
}

/// Ends half of the programs before their reader leaves, and the others just after.
fn end(host: &Host, mut programs: Vec<Running>, provider: DotnetPrograms) {
    programs.iter_mut().take(PROGRAMS / 2).for_each(Running::end);
    drop(provider);
    programs.iter_mut().for_each(Running::end);
    for (number, program) in programs.iter_mut().enumerate() {
        assert!(program.ends_within(PATIENCE), ".NET {}: program {number} stands still", host.version);
    }
}

#[test]
fn young_programs_end_while_readers_come_and_go() {
    let _alone = alone();
    for host in hosts() {
        let programs = start(host);
        let mut provider = DotnetPrograms::default();
        for program in &programs {
            until(&mut provider, program, EXCEPTIONS, |_| true);
        }
        end(host, programs, provider);
    }
}

/// From some age on, programs are asked for totals as well, which come from a meter.
#[test]
fn programs_with_totals_end_while_readers_come_and_go() {
    let _alone = alone();
    for host in hosts().iter().filter(|host| host.version == "9.0") {
        let programs = start(host);
        let totals = (MEMORY, "# Gen 2 Collections");
        let mut provider = DotnetPrograms::default();
        until(&mut provider, &programs[0], totals, |_| true);
        // The others are in the midst of it.
        drop(provider);
        let mut provider = DotnetPrograms::default();
        for program in &programs {
            until(&mut provider, program, totals, |_| true);
        }
        end(host, programs, provider);
    }
}
