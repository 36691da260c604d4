//! Reads the protocol counters of network namespaces on this machine, and compares them with the files.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::process::Command;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto};
use rustix::thread::{CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_setaffinity};
use tallymon_testkit::Ends;

use super::super::btf::Named;
use super::super::btf::btf_tests::Assembler;
use super::tables::MemberKey;
use super::*;
use crate::kernel::proc::fixture::fixture;
use crate::test_support::{CAPABILITIES, run_in_namespaces, run_with_capabilities, test_name};

/// Set in the copy of a test that runs in a network namespace of its own.
const INSIDE: &str = "TALLYMON_TEST_COUNTS";

/// `None`, listed as a skip, where the kernel refuses the program.
fn open() -> Option<Network> {
    match Network::open() {
        Ok(network) => Some(network),
        Err(refusal) => {
            refusal.skip_test();
            None
        }
    }
}

fn snmp() -> Snmp {
    Snmp::parse(&fs::read("/proc/net/snmp").unwrap()).unwrap()
}

fn snmp6() -> Option<Snmp6> {
    fs::read("/proc/net/snmp6").ok().map(|bytes| Snmp6::parse(&bytes).unwrap())
}

/// The numbers of the file are between two runs of the program. Numbers that do not change are equal.
fn assert_between<File: CountedFile>(low: File, found: File, high: File) {
    let [mut low, mut found, mut high] = [low, found, high];
    for table in File::TABLES {
        for (index, member) in table.members {
            match [&mut low, &mut found, &mut high].map(|of| *member(of)) {
                [None, None, None] => {}
                [Some(low), Some(found), Some(high)] if index.goes_down() && low != high => {
                    tallymon_testkit::skip(&format!("connections came or went: {low} {found} {high}"));
                }
                [Some(low), Some(found), Some(high)] => {
                    assert!(low <= found && found <= high, "{} {index:?}: {low} {found} {high}", table.at);
                }
                numbers => panic!("{} {index:?}: {numbers:?}", table.at),
            }
        }
    }
}

/// Sends datagrams to a listener and to nobody, a connection, a refused connection, and an echo request, all
/// to this machine.
fn talk(to: IpAddr) {
    let mut buffer = [0; 64];
    let receiver = UdpSocket::bind((to, 0)).unwrap();
    let closing = UdpSocket::bind((to, 0)).unwrap();
    let sender = UdpSocket::bind((to, 0)).unwrap();
    let closed = closing.local_addr().unwrap();
    drop(closing);
    sender.send_to(b"tallymon", receiver.local_addr().unwrap()).unwrap();
    receiver.recv(&mut buffer).unwrap();
    sender.send_to(b"tallymon", closed).unwrap();
    let listener = TcpListener::bind((to, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let mut near = TcpStream::connect(address).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    near.write_all(b"tallymon").unwrap();
    assert_eq!(far.read(&mut buffer).unwrap(), 8);
    drop(listener);
    assert!(TcpStream::connect(address).is_err());
    let (family, protocol, kind) = match to {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP, 8),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6, 128),
    };
    let raw = rustix::net::socket(family, SocketType::RAW, Some(protocol)).unwrap();
    // Type, code, checksum, identifier, sequence; for version 6 the kernel computes the checksum.
    let echo = [kind, 0, !kind, 0xff, 0, 0, 0, 0];
    rustix::net::sendto(&raw, &echo, SendFlags::empty(), &SocketAddr::new(to, 0)).unwrap();
    rustix::net::recv(&raw, &mut buffer, RecvFlags::empty()).unwrap();
}

#[test]
fn protocol_counters_match_the_files() {
    if std::env::var_os(INSIDE).is_none() {
        if open().is_some() {
            let name = &test_name(module_path!(), "protocol_counters_match_the_files");
            run_in_namespaces(&["--net"], "exec", name, INSIDE);
        }
        return;
    }
    if !Command::new("ip").args(["link", "set", "lo", "up"]).status().is_ok_and(|status| status.success()) {
        return tallymon_testkit::skip("no interface can be changed here");
    }
    let network = Network::open().unwrap();
    let has_v6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    for processor in possible_cpus().unwrap() {
        let mut one = CpuSet::new();
        one.set(usize::try_from(processor).unwrap());
        if sched_setaffinity(None, &one).is_err() {
            tallymon_testkit::skip(&format!("processor {processor} may not send"));
            continue;
        }
        for _ in 0..20 {
            let (low, low6) = (snmp(), snmp6());
            talk(IpAddr::V4(Ipv4Addr::LOCALHOST));
            if has_v6 {
                talk(IpAddr::V6(Ipv6Addr::LOCALHOST));
            }
            network.run().unwrap();
            let (high, high6) = (snmp(), snmp6());
            assert_between(low, network.read(), high);
            if let (Some(low6), Some(high6)) = (low6, high6) {
                assert_between(low6, network.read(), high6);
            }
        }
        // Nothing changes any more but what the ends of closed connections still exchange.
        let (exact, exact6) = (0..100).fold((false, false), |exact, _| {
            network.run().unwrap();
            (exact.0 | (network.read::<Snmp>() == snmp()), exact.1 | (snmp6() == Some(network.read())))
        });
        assert!(exact && (exact6 || snmp6().is_none()), "{:?} {:?}", network.read::<Snmp>(), snmp());
    }
    let found: Snmp = network.read();
    for number in [
        found.ip.in_receives,
        found.icmp.in_msgs,
        found.icmp.out_dest_unreachs,
        found.icmp.in_echos,
        found.icmp.out_echo_reps,
        found.tcp.passive_opens,
        found.tcp.attempt_fails,
        found.udp.in_datagrams,
        found.udp.no_ports,
    ] {
        assert!(number.unwrap() >= 20, "{found:?}");
    }
    let found: Snmp6 = network.read();
    for number in [found.ip.out_octets, found.icmp.in_echos, found.icmp.out_echo_replies, found.udp.no_ports]
    {
        assert!(!has_v6 || number.unwrap() >= 20, "{found:?}");
    }
}

/// The kernel's names for a number in its source and in its file are mostly the same.
#[test]
fn each_member_has_the_name_of_its_column() {
    fn check<File: CountedFile>(text: &str, parse: fn(&[u8]) -> File, columns: &[(&str, &str)]) {
        let mut file = parse(text.as_bytes());
        for table in File::TABLES {
            for (index, member) in table.members {
                let number = member(&mut file).unwrap();
                let at = columns.iter().position(|(_, text)| text.parse() == Ok(number)).unwrap();
                let column = columns[at].0.trim_start_matches("Ip6").trim_start_matches("Icmp6");
                let column = column.trim_start_matches("Udp6");
                let expected = match column {
                    "InReceives" => "INPKTS".to_string(),
                    "ForwDatagrams" => "OUTFORWDATAGRAMS".to_string(),
                    "OutTransmits" => "OUTPKTS".to_string(),
                    "InCsumErrors" => "CSUMERRORS".to_string(),
                    other => other.to_uppercase().replace("OUTRATELIMIT", "RATELIMIT"),
                };
                match index {
                    MemberKey::Named(names) => assert_eq!(names[0].split_once("MIB_").unwrap().1, expected),
                    MemberKey::Message(number) => {
                        let types = if table.at.contains("v6") { MESSAGES_OF_6 } else { MESSAGES };
                        let sent = column.strip_prefix("Out");
                        let name = sent.or(column.strip_prefix("In")).unwrap();
                        let (_, kind) = types.iter().find(|(known, _)| *known == name).unwrap();
                        assert_eq!(*number, kind + if sent.is_some() { 0x100 } else { 0 }, "{column}");
                    }
                }
            }
        }
    }
    /// The numbers are those of RFC 792 and 950.
    const MESSAGES: &[(&str, u32)] = &[
        ("EchoReps", 0),
        ("DestUnreachs", 3),
        ("SrcQuenchs", 4),
        ("Redirects", 5),
        ("Echos", 8),
        ("TimeExcds", 11),
        ("ParmProbs", 12),
        ("Timestamps", 13),
        ("TimestampReps", 14),
        ("AddrMasks", 17),
        ("AddrMaskReps", 18),
    ];
    /// RFC 4443, 2710, 4861 and 3810.
    const MESSAGES_OF_6: &[(&str, u32)] = &[
        ("DestUnreachs", 1),
        ("PktTooBigs", 2),
        ("TimeExcds", 3),
        ("ParmProblems", 4),
        ("Echos", 128),
        ("EchoReplies", 129),
        ("GroupMembQueries", 130),
        ("GroupMembResponses", 131),
        ("GroupMembReductions", 132),
        ("RouterSolicits", 133),
        ("RouterAdvertisements", 134),
        ("NeighborSolicits", 135),
        ("NeighborAdvertisements", 136),
        ("Redirects", 137),
        ("MLDv2Reports", 143),
    ];
    // The same files with another number in each column.
    let text = String::from_utf8(fixture("6.18/net-snmp")).unwrap();
    let (mut numbered, mut columns, mut lines) = (String::new(), Vec::new(), text.lines());
    while let (Some(names), Some(_)) = (lines.next(), lines.next()) {
        let mut words = names.split(' ');
        let section = words.next().unwrap();
        let first = columns.len();
        columns.extend(words.map(|name| (name, String::new())));
        for (at, (_, number)) in columns.iter_mut().enumerate().skip(first) {
            *number = (at + 1000).to_string();
        }
        let numbers: Vec<&str> = columns[first..].iter().map(|(_, number)| number.as_str()).collect();
        numbered.push_str(&format!("{names}\n{section} {}\n", numbers.join(" ")));
    }
    let columns: Vec<(&str, &str)> = columns.iter().map(|(name, number)| (*name, number.as_str())).collect();
    check(&numbered, |bytes| Snmp::parse(bytes).unwrap(), &columns);
    let text = String::from_utf8(fixture("6.18/net-snmp6")).unwrap();
    let names: Vec<&str> = text.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    let numbers: Vec<String> = (0..names.len()).map(|at| (at + 1000).to_string()).collect();
    let columns: Vec<(&str, &str)> = names.into_iter().zip(numbers.iter().map(String::as_str)).collect();
    let numbered: String = columns.iter().map(|(name, number)| format!("{name} {number}\n")).collect();
    check(&numbered, |bytes| Snmp6::parse(bytes).unwrap(), &columns);
}

/// `/proc/net` belongs to the first thread of a process, wherever the others are.
#[test]
fn a_thread_in_another_namespace_reads_its_process_namespace() {
    let Some(network) = open() else { return };
    let mut child = Ends(Command::new("unshare").args(["--net", "sleep", "60"]).spawn().unwrap());
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    let other = format!("/proc/{}/ns/net", child.id());
    let is_elsewhere = || fs::read_link(&other).is_ok_and(|other| other != own);
    while !is_elsewhere() && child.0.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let namespace = fs::File::open(&other);
    let moved = std::thread::spawn(move || {
        move_into_link_name_space(namespace?.as_fd(), Some(LinkNameSpaceType::Network))?;
        let low = snmp();
        network.run().unwrap();
        assert_between(low, network.read(), snmp());
        assert!(own.to_str().unwrap().contains(&network.namespace().to_string()), "{own:?}");
        // The namespace of the thread itself has other numbers.
        let inside = Snmp::parse(&fs::read("/proc/thread-self/net/snmp")?).unwrap();
        assert_eq!(compare(inside, inside, inside), Comparison::Empty);
        std::io::Result::Ok(())
    });
    if let Err(error) = moved.join().unwrap() {
        tallymon_testkit::skip(&format!("no other namespace can be entered: {error}"));
    }
}

#[test]
fn a_table_missing_on_some_cpus_is_absent() {
    let Some(mut network) = open() else { return };
    network.count += 1;
    network.run().unwrap();
    let found: Snmp = network.read();
    assert_eq!((found.ip, found.tcp, found.icmp.in_msgs), (Default::default(), Default::default(), None));
    assert!(found.icmp.in_echos.is_some(), "of these there is one table");
}

#[test]
fn a_process_without_a_network_is_an_error() {
    if open().is_none() {
        return;
    }
    let mut is_there = false;
    let opened = Network::open_with(|btf| {
        let mut kernel = NetworkLayout::new(btf)?;
        let [task] = btf.find([(Named::Struct, "task_struct")]);
        // A pointer of this task that is null: the most urgent task waiting for a lock that this one holds.
        if let Ok(nobody) = btf.field(task.unwrap(), "pi_top_task") {
            kernel.way.first = nobody.offset;
            is_there = true;
        }
        Ok(kernel)
    });
    if !is_there {
        return tallymon_testkit::skip("this kernel has nothing in a task that is known to lead nowhere");
    }
    assert!(opened.unwrap().run().unwrap_err().reason.contains("was not found"));
}

#[test]
fn a_file_is_compared_number_by_number() {
    let file = Snmp::parse(&fixture("6.18/net-snmp")).unwrap();
    let with = |change: fn(&mut Snmp)| {
        let mut changed = file;
        change(&mut changed);
        changed
    };
    let one_more = with(|snmp| *snmp.udp.in_datagrams.as_mut().unwrap() += 1);
    assert_eq!(compare(file, file, file), Comparison::Same);
    assert_eq!(compare(file, file, one_more), Comparison::Same);
    assert_eq!(compare(file, one_more, one_more), Comparison::Same);
    assert_eq!(compare(file, one_more, file), Comparison::Other);
    assert_eq!(compare(one_more, file, one_more), Comparison::Other);
    let without = with(|snmp| snmp.udp.mem_errors = None);
    assert_eq!(compare(file, without, file), Comparison::Other);
    assert_eq!(compare(without, file, without), Comparison::Other);
    // Other connections come and go meanwhile.
    let [low, high] =
        [with(|snmp| snmp.tcp.curr_estab = Some(3)), with(|snmp| snmp.tcp.curr_estab = Some(7))];
    assert_eq!(compare(low, high, low), Comparison::Same);
    assert_eq!(compare(high, file, low), Comparison::Same);
    // Zeros, and numbers without per-CPU counts, prove nothing.
    let mut nothing = file;
    for (_, member) in V4.iter().flat_map(|table| table.members) {
        *member(&mut nothing) = Some(0);
    }
    assert_eq!(compare(nothing, nothing, nothing), Comparison::Empty);
    nothing.icmp.in_echos = Some(5);
    assert_eq!(compare(nothing, nothing, nothing), Comparison::Empty);
    nothing.icmp.in_msgs = Some(5);
    assert_eq!(compare(nothing, nothing, nothing), Comparison::Same);
}

/// The structures of the path, one table of IP counters, and nothing else.
fn types(values: &[&str]) -> Vec<u8> {
    // 1 long, 2 pointer to it, 3 a short array, then structures of one member each.
    let mut asm = Assembler::new();
    asm.push("long", 1 << 24, &[8, 64]);
    asm.push("", 2 << 24, &[1]);
    let count = u32::try_from(values.len()).unwrap();
    asm.push("", 3 << 24, &[0, 1, 1, count]);
    let [mibs, inum, ip, ns, mib, net_ns, pptrs] =
        ["mibs", "inum", "ip_statistics", "ns", "mib", "net_ns", "pptrs"].map(|name| asm.name(name));
    let [leader, nsproxy] = ["group_leader", "nsproxy"].map(|name| asm.name(name));
    asm.push("ipstats_mib", 4 << 24 | 1, &[count * 8, mibs, 3, 0]);
    asm.push("", 4 << 24 | 1, &[8, inum, 1, 0]);
    asm.push("", 4 << 24 | 1, &[8, ip, 2, 0]);
    asm.push("net", 4 << 24 | 2, &[16, ns, 5, 0, mib, 6, 64]);
    asm.push("nsproxy", 4 << 24 | 1, &[8, net_ns, 2, 0]);
    asm.push("task_struct", 4 << 24 | 2, &[16, leader, 2, 0, nsproxy, 2, 64]);
    asm.push("bpf_array", 4 << 24 | 1, &[8, pptrs, 2, 0]);
    asm.push("timespec64", 4 << 24 | 1, &[8, inum, 1, 0]);
    let names = values.iter().zip(0_u32..).flat_map(|(name, at)| [asm.name(name), at]);
    let names: Vec<u32> = [4].into_iter().chain(names.collect::<Vec<_>>()).collect();
    asm.push("", 6 << 24 | count, &names);
    asm.finish()
}

#[test]
fn counters_unknown_to_the_kernel_are_absent() {
    let bytes = types(&["IPSTATS_MIB_NUM", "IPSTATS_MIB_OUTPKTS", "IPSTATS_MIB_INPKTS"]);
    let kernel = NetworkLayout::new(&Btf::parse(&bytes).unwrap()).unwrap();
    assert!(kernel.each.is_none());
    let tables = kernel.tables().collect::<Vec<_>>();
    assert_eq!((tables.len(), tables[0].at, tables[0].is_of_each), (1, 8, true));
    let offset = |member: fn(&mut Snmp) -> &mut Option<u64>| {
        let mut snmp = Snmp::default();
        let at = V4[0].members.iter().position(|(_, other)| {
            *other(&mut snmp) = Some(1);
            member(&mut snmp).take().is_some()
        });
        tables[0].places[at.unwrap()].map(|place| place.offset)
    };
    assert_eq!(offset(|snmp| &mut snmp.ip.in_receives), Some(16));
    // Sent datagrams were once counted under another name, which now means something else.
    assert_eq!(offset(|snmp| &mut snmp.ip.out_requests), Some(8));
    assert_eq!(offset(|snmp| &mut snmp.ip.out_transmits), None);
    assert_eq!(offset(|snmp| &mut snmp.ip.in_discards), None);
    let bytes = types(&["IPSTATS_MIB_NUM", "IPSTATS_MIB_OUTPKTS", "IPSTATS_MIB_OUTREQUESTS"]);
    let kernel = NetworkLayout::new(&Btf::parse(&bytes).unwrap()).unwrap();
    let found = kernel.v4[0].as_ref().unwrap().places.iter().flatten().map(|place| place.offset);
    assert_eq!(found.collect::<Vec<_>>(), [16, 8]);
}

#[test]
fn types_without_the_namespace_path_are_refused() {
    let mut asm = Assembler::new();
    asm.push("int", 1 << 24, &[4, 32]);
    let bytes = asm.finish();
    let error = NetworkLayout::new(&Btf::parse(&bytes).unwrap()).unwrap_err();
    assert_eq!(error, BtfError::NoField { path: "net".to_string() });
}

#[test]
fn two_capabilities_suffice_and_one_does_not() {
    if let Ok(rights) = std::env::var(CAPABILITIES) {
        match rights.as_str() {
            "bpf,perfmon" => Network::open().unwrap().run().unwrap(),
            _ => assert!(Network::open().unwrap_err().remedy.contains("CAP_PERFMON")),
        }
        return;
    }
    if open().is_some() {
        run_with_capabilities(&test_name(module_path!(), "two_capabilities_suffice_and_one_does_not"));
    }
}
