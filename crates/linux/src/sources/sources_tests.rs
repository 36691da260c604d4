//! The numbers of the BPF programs instead of the files of the running machine.

use std::net::UdpSocket;
use std::process::Command;
use std::time::{Duration, Instant};

use super::*;
use crate::kernel::proc::flat::Form;
use crate::test_support::run_in_namespaces;
use tallymon_provider::{FindingState, Tier};

fn sources(choice: TierChoice) -> Sources {
    Sources::open(Root::system(), choice).unwrap()
}

/// Sources with the program loaded; `None`, listed as a skip, where it does not work.
fn sources_with_bpf() -> Option<Sources> {
    let mut sources = sources(TierChoice::Only(Tier::T2));
    sources.begin(Needs::default());
    let finding = sources.counts.finding();
    if finding.detail.starts_with("tier T2") {
        return Some(sources);
    }
    tallymon_testkit::skip_bpf(&finding.detail);
    None
}

#[test]
fn per_cpu_counters_come_without_files() {
    let Some(mut sources) = sources_with_bpf() else { return };
    let mut files = self::sources(TierChoice::Only(Tier::T0));
    files.begin(Needs::default());
    let before = (files.softirqs().unwrap(), files.memory_events().unwrap());
    let found = (sources.softirqs().unwrap(), sources.memory_events().unwrap());
    let (interrupts, clock) = (sources.interrupts(), sources.clock_interrupts());
    files.begin(Needs::default());
    let after = (files.softirqs().unwrap(), files.memory_events().unwrap());
    assert!(before.1.faults <= found.1.faults && found.1.faults <= after.1.faults);
    for (((number, low), found), (_, high)) in before.0.into_iter().zip(found.0).zip(after.0) {
        assert!(found.0 == number && found.1.wrapping_sub(low) <= high.wrapping_sub(low), "CPU{number}");
    }
    assert_eq!((sources.softirqs.reads, sources.vmstat.reads), (0, 0));
    assert_eq!((files.softirqs.reads, files.vmstat.reads), (2, 2));
    // Not every machine counts interrupts and timer interrupts where the program reads them.
    let told = sources.counts.interrupts();
    let expected = u64::from(told.is_none_or(|told| told.clock.is_none()));
    assert_eq!(sources.interrupts.reads, expected);
    let (interrupts, clock) = (interrupts.unwrap(), clock.unwrap());
    assert!(interrupts.iter().zip(&clock).all(|(all, clock)| all.0 == clock.0 && clock.1 > 0));
    // A file that was read anyway is used.
    let file = sources.vmstat().unwrap().faults;
    assert_eq!((sources.memory_events().unwrap().faults, sources.vmstat.reads), (file, 1));
}

#[test]
fn the_program_runs_once_a_request() {
    let Some(mut sources) = sources_with_bpf() else { return };
    let first = sources.memory_events().unwrap().faults;
    // Starting a program causes faults; memory of this process may be mapped already.
    Command::new("true").status().unwrap();
    assert_eq!(sources.memory_events().unwrap().faults, first);
    sources.begin(Needs::default());
    assert!(sources.memory_events().unwrap().faults > first);
}

#[test]
fn no_counter_decreases_when_the_program_takes_over() {
    if sources_with_bpf().is_none() {
        return;
    }
    let mut sources = sources(TierChoice::Auto);
    let start = Instant::now();
    let mut last: Option<(CpuTotals, u64)> = None;
    let mut more = 5;
    while more > 0 {
        sources.begin(Needs::default());
        let now = (sources.interrupts().unwrap(), sources.memory_events().unwrap().faults.unwrap());
        let numbers = |found: &CpuTotals| found.iter().map(|(number, _)| *number).collect::<Vec<_>>();
        if let Some(last) = last.filter(|last| numbers(&last.0) == numbers(&now.0)) {
            for ((number, before), (_, after)) in last.0.iter().zip(&now.0) {
                assert!(after.wrapping_sub(*before) < 1 << 31, "CPU{number}: {before} {after}");
            }
            assert!(last.1 <= now.1);
        }
        last = Some(now);
        let (reads, request) = (sources.vmstat.reads, sources.request);
        assert!(request > 2 || reads == request, "the first two looks read files");
        more -= usize::from(sources.counts.is_aligned());
        assert!(start.elapsed() < Duration::from_secs(60), "the program is not there yet");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(sources.interrupts.reads < sources.request, "the file is read no more");
}

#[test]
fn released_interrupts_make_no_jump() {
    let Some(mut sources) = sources_with_bpf() else { return };
    const LOST: u32 = 100_000;
    let Some(mut file) = sources.counts.run_once(1).and_then(|_| sources.counts.interrupts()) else {
        tallymon_testkit::skip_bpf("interrupts are read from their file");
        return;
    };
    file.totals.iter_mut().for_each(|total| *total = total.wrapping_sub(LOST));
    sources.counts.align(&file);
    let found = sources.counts.interrupts().unwrap();
    for (total, before) in found.totals.iter().zip(&file.totals) {
        assert!(total.wrapping_sub(*before) < LOST / 2, "it goes on from {before} and not with {total}");
    }
    // A file that has lost nothing needs no correction.
    let Some(mut sources) = sources_with_bpf() else { return };
    sources.counts.run_once(1);
    let file = sources.counts.interrupts().unwrap();
    sources.counts.align(&file);
    assert!(sources.counts.interrupts().unwrap().totals[0].wrapping_sub(file.totals[0]) < LOST / 2);
    assert!(sources.counts.is_aligned());
}

#[test]
fn another_root_is_read_from_files_only() {
    let folder = std::env::temp_dir().join(format!("tallymon-counts-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("proc")).unwrap();
    std::fs::write(folder.join("proc/softirqs"), "CPU0 CPU7\nHI: 3 4\n").unwrap();
    let mut sources = Sources::open(Root::below(&folder), TierChoice::Only(Tier::T2)).unwrap();
    sources.begin(Needs::default());
    assert_eq!(sources.softirqs(), Ok(vec![(0, 3), (7, 4)]));
    assert!(sources.counts.finding().detail.starts_with("tier T0"));
    assert!(sources.network.finding().detail.starts_with("tier T0"));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Sources with the network program loaded; `None`, listed as a skip, where it does not work.
fn sources_with_network_bpf() -> Option<Sources> {
    let mut sources = sources(TierChoice::Only(Tier::T2));
    sources.network.load_now();
    let finding = sources.network.finding();
    if finding.state == FindingState::Good {
        return Some(sources);
    }
    tallymon_testkit::skip_bpf(&finding.detail);
    None
}

/// Sends a datagram to a receiving socket.
fn send(receiver: &UdpSocket) {
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.send_to(b"tallymon", receiver.local_addr().unwrap()).unwrap();
    receiver.recv(&mut [0; 16]).unwrap();
}

fn received(sources: &mut Sources) -> u64 {
    sources.begin(Needs::default());
    sources.snmp().unwrap().udp.in_datagrams.unwrap()
}

#[test]
fn protocol_counters_come_without_files() {
    const INSIDE: &str = "TALLYMON_TEST_SOURCES";
    if std::env::var_os(INSIDE).is_none() {
        // In a network namespace of its own.
        let name = &crate::test_support::test_name(module_path!(), "protocol_counters_come_without_files");
        return run_in_namespaces(&["--net"], "exec", name, INSIDE);
    }
    if !Command::new("ip").args(["link", "set", "lo", "up"]).status().is_ok_and(|status| status.success()) {
        return tallymon_testkit::skip("no interface can be changed here");
    }
    let Some(mut sources) = sources_with_network_bpf() else { return };
    // Nothing was counted yet: zeros prove nothing, and are no contradiction.
    assert_eq!((received(&mut sources), received(&mut sources), sources.snmp.reads), (0, 0, 2));
    let finding = sources.network.finding();
    assert!(finding.detail.starts_with("tier T0") && finding.state == FindingState::Good, "{finding:?}");
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    send(&receiver);
    assert_eq!((received(&mut sources), sources.snmp.reads), (1, 3));
    send(&receiver);
    assert_eq!((received(&mut sources), sources.snmp.reads), (2, 3));
    assert!(sources.network.finding().detail.starts_with("tier T2"));
    // One run per request serves all protocols.
    send(&receiver);
    assert_eq!(sources.snmp().unwrap().udp.in_datagrams, Some(2));
    assert_eq!((received(&mut sources), sources.snmp.reads), (3, 3));
    // Each file is compared once.
    if let Ok(found) = sources.snmp6() {
        sources.begin(Needs::default());
        assert_eq!(sources.snmp6().unwrap().udp, found.udp);
        assert_eq!(sources.snmp6.reads, 1);
    }
}

#[test]
fn protocol_counters_that_disagree_with_the_file_are_dropped() {
    let Some(mut sources) = sources_with_network_bpf() else { return };
    received(&mut sources);
    let mut file = sources.snmp().unwrap();
    file.tcp.in_segs = file.tcp.in_segs.map(|count| count.wrapping_sub(1));
    sources.network.compare(&file);
    let finding = sources.network.finding();
    assert!(finding.detail.contains("/proc/net/snmp says") && finding.state == FindingState::Limited);
    let reads = sources.snmp.reads;
    received(&mut sources);
    assert_eq!(sources.snmp.reads, reads + 1);
}

#[test]
fn the_head_of_vmstat_is_read_without_its_events() {
    let keys = ["nr_written", "nr_dirty"].map(|name| Key::new(Form::Lines, name));
    let Some(mut sources) = sources_with_bpf() else { return };
    let reads =
        |sources: &Sources| (sources.vmstat_head.file.as_ref().map(|file| file.reads), sources.vmstat.reads);
    sources.memory_events().unwrap();
    let refaults = sources.file_refaults().unwrap();
    let front = sources.head("/proc/vmstat", &keys).unwrap();
    assert!(front.windows(10).any(|word| word == b"nr_written"));
    assert_eq!(reads(&sources), (Some(1), 0));
    assert!(sources.head("/proc/meminfo", &keys).is_none());
    let event = [Key::new(Form::Lines, "pgactivate")];
    assert!(sources.head("/proc/vmstat", &event).is_none(), "events stand behind");
    // The whole file has the same numbers, and its head is not read once all of it is there.
    assert!(refaults <= sources.vmstat().unwrap().file_refaults);
    assert!(refaults <= sources.file_refaults().unwrap() && sources.head("/proc/vmstat", &keys).is_none());
    assert_eq!(reads(&sources), (Some(1), 1));
    // A request for events will be repeated: the file is read once.
    sources.begin(Needs::default());
    assert!(sources.head("/proc/vmstat", &keys).is_none() && sources.file_refaults().unwrap().is_some());
    assert_eq!(reads(&sources), (Some(1), 2));
    // If not, it takes one more sample.
    sources.begin(Needs::default());
    assert!(sources.head("/proc/vmstat", &keys).is_some());
    assert_eq!(reads(&sources), (Some(2), 2));
}

#[test]
fn a_short_head_grows_until_the_whole_file_is_read() {
    let folder = std::env::temp_dir().join(format!("tallymon-front-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("proc")).unwrap();
    let line = "nr_something 12345\n";
    let text = line.repeat(2500 / line.len()) + "workingset_refault_file 7\n";
    std::fs::write(folder.join("proc/vmstat"), text).unwrap();
    let mut sources = Sources::open(Root::below(&folder), TierChoice::Auto).unwrap();
    let mut run_once = || {
        sources.begin(Needs::default());
        (sources.file_refaults(), sources.vmstat.reads)
    };
    assert_eq!([run_once(), run_once()], [(Ok(Some(7)), 1), (Ok(Some(7)), 1)]);
    std::fs::write(folder.join("proc/vmstat"), line.repeat(500)).unwrap();
    assert_eq!([run_once(), run_once()], [(Ok(None), 2), (Ok(None), 3)]);
    assert!(sources.vmstat_head.file.is_none(), "who never finds it there does not look twice");
    std::fs::remove_dir_all(&folder).unwrap();
}
