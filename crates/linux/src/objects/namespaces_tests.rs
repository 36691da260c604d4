//! Tests in a network namespace of their own, where only the test sends packets, so the counts are exact.

use std::net::UdpSocket;
use std::process::Command;

use super::fake_machine_tests::{collect, instance, named, names};
use crate::test_support::run_in_namespaces;
use tallymon_provider::{Interest, TitleIndex};

use crate::System;

/// Set in the copy of a test that runs in a namespace of its own.
const INSIDE: &str = "TALLYMON_TEST_NETWORK";

const DATAGRAMS: u64 = 40;
const SIZE: u64 = 100;
/// The bytes around the content of a datagram: UDP and IPv4.
const HEADERS: u64 = 8 + 20;

#[test]
fn a_network_namespace_counts_only_its_own_traffic() {
    if std::env::var_os(INSIDE).is_none() {
        let name = &crate::test_support::test_name(
            module_path!(),
            "a_network_namespace_counts_only_its_own_traffic",
        );
        // It has its own /sys too, because the outer one shows the outer interfaces.
        return run_in_namespaces(&["--net", "--mount"], "mount -t sysfs sysfs /sys && exec", name, INSIDE);
    }
    let ip = |words: &[&str]| Command::new("ip").args(words).output().is_ok_and(|out| out.status.success());
    if !ip(&["link", "set", "lo", "up"]) {
        return tallymon_testkit::skip("no interface can be changed here");
    }
    let mut system = System::open().unwrap();
    let mut read = |object: u32, name: &str, counters: &[u32]| -> Vec<u64> {
        let snapshot = collect(&mut system, object, &Interest::everything());
        let found = instance(&snapshot, name);
        counters.iter().map(|counter| named(&found, *counter).unwrap()).collect()
    };
    // Datagrams received and sent; those of UDP, and those to nobody; packets and bytes in and out.
    let (ipv4, udp, link) = ([446, 442], [446, 442, 664], [266, 452, 264, 506]);
    assert_eq!(read(546, "", &ipv4), [0, 0]);
    assert_eq!(read(658, "", &udp), [0, 0, 0]);
    assert_eq!(read(510, "lo", &link), [0, 0, 0, 0]);
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut buffer = [0; 2 * SIZE as usize];
    for _ in 0..DATAGRAMS {
        sender.send_to(&[7; SIZE as usize], receiver.local_addr().unwrap()).unwrap();
        receiver.recv(&mut buffer).unwrap();
    }
    let bytes = DATAGRAMS * (SIZE + HEADERS);
    assert_eq!(read(546, "", &ipv4), [DATAGRAMS, DATAGRAMS]);
    assert_eq!(read(658, "", &udp), [DATAGRAMS, DATAGRAMS, 0]);
    assert_eq!(read(510, "lo", &link), [DATAGRAMS, DATAGRAMS, bytes, bytes]);
    // Interfaces created here are shown here; another kind of link is not part of RAS.
    assert!(ip(&["tuntap", "add", "dev", "tun0", "mode", "tun"]) && ip(&["link", "add", "type", "veth"]));
    let links = [510, 870].map(|object| names(&collect(&mut system, object, &Interest::everything())));
    assert!(["lo", "tun0", "veth0", "veth1"].iter().all(|name| links[0].iter().any(|link| link == name)));
    assert_eq!(links[1], ["tun0"]);
    let everything = collect(&mut system, 510, &Interest::everything());
    let files = std::fs::read_dir("/sys/class/net").unwrap().count();
    assert_eq!(everything.object(TitleIndex(510)).unwrap().instances().count(), files);
}

/// A process that enters a network namespace keeps the outer `/sys`, which shows the outer interfaces.
#[test]
fn interface_files_of_another_namespace_are_ignored() {
    if std::env::var_os(INSIDE).is_none() {
        let name = &crate::test_support::test_name(
            module_path!(),
            "interface_files_of_another_namespace_are_ignored",
        );
        return run_in_namespaces(&["--net"], "exec", name, INSIDE);
    }
    let ip = |words: &[&str]| Command::new("ip").args(words).output().is_ok_and(|out| out.status.success());
    let outside: Vec<String> = std::fs::read_dir("/sys/class/net")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("lo"))
        .collect();
    // One end of the cable has the name of an outer interface, if there is one.
    let name = outside.first().map_or("tly0", String::as_str);
    if !ip(&["link", "add", name, "type", "veth", "peer", "name", "tly1"]) {
        return tallymon_testkit::skip("no cable can be made here");
    }
    assert!(ip(&["link", "set", name, "up"]) && ip(&["tuntap", "add", "dev", "tly2", "mode", "tun"]));
    let mut system = System::open().unwrap();
    let interfaces = collect(&mut system, 510, &Interest::everything());
    let bandwidth = |name: &str| named(&instance(&interfaces, name), 520);
    // The speed of every such cable that is switched on.
    assert_eq!(bandwidth(name), Ok(10_000_000_000), "{outside:?}");
    assert!(bandwidth("tly1").is_err());
    assert!(names(&interfaces).iter().all(|found| ["lo", "tly1", "tly2", name].contains(&found.as_str())));
    let links = collect(&mut system, 870, &Interest::everything());
    assert_eq!(names(&links), ["tly2"]);
    assert_eq!(named(&instance(&collect(&mut system, 906, &Interest::everything()), ""), 908), Ok(1));
    assert!(names(&collect(&mut system, 905_200, &Interest::everything())).is_empty());
}
