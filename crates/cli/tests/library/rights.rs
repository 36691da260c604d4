//! What a library's process may do, as the kernel tells it.

use std::fs;

use tallymon::Host;
use tallymon::registry::Service;

use crate::support::{Place, Provider, ask, objects};

/// A file of the process of the only library.
fn of_process(host: &Host, file: &str) -> String {
    let process = host.libraries().first().and_then(|status| status.process).unwrap();
    fs::read_to_string(format!("/proc/{process}/{file}")).unwrap()
}

/// The words behind the name of a line.
fn words<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().collect()
}

#[test]
fn a_library_has_limits_and_gains_no_rights() {
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    let mut host = place.host();
    assert_eq!(objects(&ask(&mut host, "Global")), [index]);
    let limits = of_process(&host, "limits");
    for (name, most) in [
        ("Max address space", 1u64 << 30),
        ("Max open files", 256),
        ("Max file size", 64 << 20),
        ("Max core file size", 0),
    ] {
        let found: Vec<u64> =
            words(&limits, name).iter().take(2).map(|number| number.parse().unwrap()).collect();
        assert!(found.len() == 2 && found.iter().all(|limit| *limit <= most), "{limits}");
    }
    assert_eq!(words(&of_process(&host, "status"), "NoNewPrivs:"), ["1"]);
}

#[test]
fn root_can_have_a_library_loaded_by_nobody() {
    let own = fs::read_to_string("/proc/self/status").unwrap();
    if words(&own, "Uid:").first() != Some(&"0") {
        tallymon_testkit::skip("only root can give its rights away");
        return;
    }
    let place = Place::new();
    let Some(index) = place.install(&Provider::default()) else { return };
    let registration = Service { name: "MyPerf".to_string(), as_nobody: true, ..Service::default() };
    place.writer().register(&[registration]).unwrap();
    let mut host = place.host();
    assert_eq!(objects(&ask(&mut host, "Global")), [index]);
    let status = of_process(&host, "status");
    for name in ["Uid:", "Gid:"] {
        assert_eq!(words(&status, name), ["65534"; 4], "{status}");
    }
    assert!(words(&status, "Groups:").is_empty(), "{status}");
    assert_eq!(words(&status, "CapEff:"), ["0000000000000000"], "{status}");
    // Without the option it has a user of its own, and with another one the rights of whoever asks.
    let other = Provider { service: "Other", ..Provider::default() };
    place.writer().remove("MyPerf").unwrap();
    place.install(&other).unwrap();
    ask(&mut host, "Global");
    let status = of_process(&host, "status");
    let user: u32 = words(&status, "Uid:")[0].parse().unwrap();
    assert!((61_184..65_519).contains(&user), "{status}");
    assert_eq!(words(&status, "CapEff:"), ["0000000000000000"], "{status}");
    let registration = Service { name: "Other".to_string(), as_caller: true, ..Service::default() };
    place.writer().register(&[registration]).unwrap();
    ask(&mut host, "Global");
    assert_eq!(words(&of_process(&host, "status"), "Uid:"), ["0"; 4]);
}
