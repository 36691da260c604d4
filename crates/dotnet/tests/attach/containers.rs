//! Programs in namespaces of their own, as in a container: their sockets are in a folder that is not ours,
//! their process ids are others, and our network does not list them.

use std::process::Command;

use tallymon_dotnet::live::DotnetPrograms;
use tallymon_dotnet::port::programs;

use crate::counters::{EXCEPTIONS, MEMORY, PATIENCE, alone, snapshot, until, value};
use crate::hosts::{Running, hosts};
use crate::port::sampled;

/// Whether namespaces can be made here; else reports a skip.
fn can_contain() -> bool {
    let made = Command::new("unshare").args(["-m", "-p", "-n", "--fork", "true"]).output();
    let can = made.is_ok_and(|made| made.status.success());
    if !can {
        tallymon_testkit::skip("no namespaces for programs in containers: needs root and unshare");
    }
    can
}

#[test]
fn programs_in_containers_are_listed_counted_and_sampled() {
    if !can_contain() {
        return;
    }
    let _alone = alone();
    for host in hosts() {
        let compiled = host.compile();
        // Both are process 1 in their namespaces.
        let (mut first, mut second) = (compiled.start_in_container(), compiled.start_in_container());
        let listed = programs();
        for running in [&first, &second] {
            let program = listed.iter().find(|program| program.pid == running.pid).unwrap();
            assert_eq!(program.name, if host.version == "10.0" { "host" } else { "attach" });
            let socket = program.socket.to_string_lossy();
            assert!(
                socket.starts_with("/proc/") && socket.contains("/root/tmp/dotnet-diagnostic-1-"),
                "{socket}"
            );
            if let Ok(info) = program.info(PATIENCE) {
                assert_eq!(info.pid, 1, "as it is there");
            } else {
                assert_eq!(host.version, "3.1", "the others answer");
            }
        }
        let mut provider = DotnetPrograms::default();
        let exceptions =
            |provider: &mut DotnetPrograms, running: &Running| until(provider, running, EXCEPTIONS, |_| true);
        let before = [&first, &second].map(|running| exceptions(&mut provider, running));
        assert_eq!(first.ask("throw 30"), "ok");
        assert_eq!(second.ask("throw 70"), "ok");
        for (running, before, thrown) in [(&first, before[0], 30), (&second, before[1], 70)] {
            let now = until(&mut provider, running, EXCEPTIONS, |now| now - before >= thrown);
            assert_eq!(now - before, thrown, ".NET {}", host.version);
            let pid = value(&snapshot(&mut provider), running, MEMORY, "Process ID");
            assert_eq!(pid, Ok(u64::from(running.pid)), "as it is here");
        }
        assert_eq!(first.ask("spin"), "ok");
        let samples = sampled(&first.program());
        assert_eq!((samples.damage.as_deref(), samples.lost), (None, 0), ".NET {}", host.version);
        assert!(samples.methods.iter().any(|method| method.name == "Three"), ".NET {}", host.version);
        // When one is gone the other one is still there.
        drop(first);
        let listed: Vec<u32> = programs().iter().map(|program| program.pid).collect();
        assert!(listed.contains(&second.pid), "{listed:?}");
    }
}
