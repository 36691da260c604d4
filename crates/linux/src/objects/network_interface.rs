//! Network Interface (510): one instance an interface of this network namespace, the loopback included; no `_Total`, as
//! on NT.
//!
//! The kernel is asked through netlink, which knows only its own machine: pointed at files of another one, the object
//! has no instances.

use std::collections::HashMap;

use tallymon_provider::{
    Absence, Ask, CounterBlockMut, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec,
    ObjectsWriter, PerfTime,
};

use super::Object;
use super::spec::{Origin, counters, object};
use crate::kept::{Buffer, Kept, Shape};
use crate::netlink::socket::{LinkEvents, RouteSocket};
use crate::netlink::{Link, LinkStats, Qdisc, ROOT};
use crate::proc::scan::decimal;
use crate::root::Root;
use crate::sources::Sources;

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        BytesTotal: 388, 513, PERF_COUNTER_BULK_COUNT, -4, ADVANCED: E "rtnetlink(7): rx_bytes + tx_bytes" "2.6.35";
        Packets: 400, 515, PERF_COUNTER_BULK_COUNT, -1, ADVANCED: E "rtnetlink(7): rx_packets + tx_packets" "2.6.35";
        PacketsReceived: 266, 517, PERF_COUNTER_BULK_COUNT, -1, ADVANCED: E "rtnetlink(7): rx_packets" "2.6.35";
        PacketsSent: 452, 519, PERF_COUNTER_BULK_COUNT, -1, ADVANCED: E "rtnetlink(7): tx_packets" "2.6.35";
        CurrentBandwidth: 520, 521, PERF_COUNTER_LARGE_RAWCOUNT, -6, ADVANCED: E "/sys/class/net/NAME/speed * 1000000" "2.6.33";
        BytesReceived: 264, 523, PERF_COUNTER_BULK_COUNT, -4, ADVANCED: E "rtnetlink(7): rx_bytes" "2.6.35";
        PacketsReceivedUnicast: 524, 525, PERF_COUNTER_BULK_COUNT, -1, EXPERT: A "rtnetlink(7): rx_packets - multicast" "2.6.35";
        PacketsReceivedNonUnicast: 526, 527, PERF_COUNTER_BULK_COUNT, -1, EXPERT: A "rtnetlink(7): multicast" "2.6.35";
        PacketsReceivedDiscarded: 528, 529, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED: C "rtnetlink(7): rx_dropped + rx_missed_errors" "2.6.35";
        PacketsReceivedErrors: 530, 531, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED: E "rtnetlink(7): rx_errors" "2.6.35";
        PacketsReceivedUnknown: 532, 533, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED: C "rtnetlink(7): rx_nohandler" "4.6";
        BytesSent: 506, 535, PERF_COUNTER_BULK_COUNT, -4, ADVANCED: E "rtnetlink(7): tx_bytes" "2.6.35";
        PacketsSentUnicast: 536, 537, PERF_COUNTER_BULK_COUNT, -1, EXPERT: N;
        PacketsSentNonUnicast: 538, 539, PERF_COUNTER_BULK_COUNT, -1, EXPERT: N;
        PacketsOutboundDiscarded: 540, 541, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED: C "rtnetlink(7): tx_dropped" "2.6.35";
        PacketsOutboundErrors: 542, 543, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED: E "rtnetlink(7): tx_errors" "2.6.35";
        OutputQueueLength: 544, 545, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED: E "rtnetlink(7): qlen of the queueing disciplines" "2.6.35";
    }
}

const SPEC: ObjectSpec<'static> =
    object(510, 511, DetailLevel::NOVICE, At::BytesTotal.at(), InstanceKind::Many, COUNTERS);

/// The object Network Interface.
pub(super) struct NetworkInterface {
    layout: ObjectLayout<'static>,
    route: RouteSocket,
    /// Tells when an interface comes, goes or changes; opened before the interfaces are first asked for, so that no
    /// change is missed.
    events: Option<LinkEvents>,
    links: Vec<Link>,
    stats: Vec<(u32, LinkStats)>,
    qdiscs: Vec<Qdisc>,
    /// The file with the speed of an interface, by number and name.
    speeds: HashMap<(u32, Vec<u8>), Kept>,
    buffer: Buffer,
}

impl NetworkInterface {
    pub(super) fn new() -> NetworkInterface {
        NetworkInterface {
            layout: ObjectLayout::new(SPEC),
            route: RouteSocket::new(),
            events: None,
            links: Vec::new(),
            stats: Vec::new(),
            qdiscs: Vec::new(),
            speeds: HashMap::new(),
            buffer: Buffer::new(),
        }
    }

    /// Asks for the statistics, and for the names if they may have changed. Nothing is there when it fails.
    fn refresh(&mut self) {
        let changed = match &mut self.events {
            Some(events) => events.changed(),
            None => {
                // Without events the names are asked for each time.
                self.events = LinkEvents::open().ok();
                true
            }
        };
        if self.route.stats(&mut self.stats).is_err() {
            self.links.clear();
            return;
        }
        let listed = (0..)
            .zip(&self.stats)
            .all(|(place, (index, _))| at_or_near(&self.links, place, |link| link.index == *index).is_some());
        if changed || !listed {
            // An error leaves the list empty, and the next request asks again.
            let _ = self.route.links(&mut self.links);
            self.speeds.retain(|(index, name), _| {
                self.links.iter().any(|link| link.index == *index && link.name == *name)
            });
        }
    }

    /// The speed of an interface in bits per second.
    fn bandwidth(&mut self, root: &Root, link: usize) -> Option<u64> {
        let link = self.links.get(link)?;
        let speed = self.speeds.entry((link.index, link.name.clone())).or_insert_with(|| {
            let name = String::from_utf8_lossy(&link.name);
            Kept::new(root.sys(&format!("class/net/{name}/speed")), Shape::Whole)
        });
        bits_per_second(speed.read(&mut self.buffer).ok()?)
    }
}

impl Object for NetworkInterface {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        ORIGINS
    }

    fn collect(&mut self, ask: &Ask<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let wants = |position: At| {
            COUNTERS.get(position.at()).is_some_and(|counter| ask.interest.wants(SPEC.name, counter.name))
        };
        if sources.root.is_system() {
            self.refresh();
        }
        let queues = match wants(At::OutputQueueLength) && sources.root.is_system() {
            true => self.route.qdiscs(&mut self.qdiscs).map_err(|_| Absence::ReadFailed),
            false => Err(Absence::NotRequested),
        };
        let mut found = Vec::new();
        for number in 0..self.links.len() {
            let bandwidth = match wants(At::CurrentBandwidth) {
                true => self.bandwidth(&sources.root, number).ok_or(Absence::NotFromThisDevice),
                false => Err(Absence::NotRequested),
            };
            found.push(bandwidth);
        }
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        for (place, (link, bandwidth)) in self.links.iter().zip(found).enumerate() {
            // One that went away between the two questions has no values any more.
            let stats = at_or_near(&self.stats, place, |(index, _)| *index == link.index);
            let Some((_, stats)) = stats else { continue };
            let mut values = object.instance(&instance_name(&link.name), None, None);
            write_stats(&mut values, stats);
            let queue = queues.map(|()| queue_length(&self.qdiscs, link.index));
            for (position, value) in [(At::CurrentBandwidth, bandwidth), (At::OutputQueueLength, queue)] {
                match value {
                    Ok(value) => values.set(position.at(), value),
                    Err(absence) => values.absent([position.at()], absence),
                }
            }
        }
    }
}

fn write_stats(values: &mut CounterBlockMut<'_>, stats: &LinkStats) {
    let mut set = |position: At, value| values.set(position.at(), value);
    set(At::BytesReceived, stats.rx_bytes);
    set(At::BytesSent, stats.tx_bytes);
    set(At::BytesTotal, stats.rx_bytes.wrapping_add(stats.tx_bytes));
    set(At::PacketsReceived, stats.rx_packets);
    set(At::PacketsSent, stats.tx_packets);
    set(At::Packets, stats.rx_packets.wrapping_add(stats.tx_packets));
    // Linux counts multicast only; few drivers count broadcast in here.
    set(At::PacketsReceivedNonUnicast, stats.multicast);
    set(At::PacketsReceivedUnicast, stats.rx_packets.saturating_sub(stats.multicast));
    set(At::PacketsReceivedDiscarded, stats.rx_dropped.wrapping_add(stats.rx_missed_errors));
    set(At::PacketsReceivedErrors, stats.rx_errors);
    set(At::PacketsOutboundDiscarded, stats.tx_dropped);
    set(At::PacketsOutboundErrors, stats.tx_errors);
    values.set_or(At::PacketsReceivedUnknown.at(), stats.rx_nohandler, Absence::NotInThisKernel);
    let sent = [At::PacketsSentUnicast.at(), At::PacketsSentNonUnicast.at()];
    values.absent(sent, Absence::NotFromThisDevice);
}

/// The item that matches, looked for at its likely place first: the kernel gives both lists in the same order.
fn at_or_near<T>(list: &[T], place: usize, matches: impl Fn(&T) -> bool) -> Option<&T> {
    list.get(place).filter(|item| matches(item)).or_else(|| list.iter().find(|item| matches(item)))
}

/// The packets that wait in the outermost queue of an interface, which includes those in the queues below it. An
/// interface without a queue keeps none waiting.
fn queue_length(qdiscs: &[Qdisc], index: u32) -> u64 {
    let outermost = qdiscs.iter().filter(|qdisc| qdisc.index == index && qdisc.parent == ROOT);
    let lengths = outermost.filter_map(|qdisc| qdisc.queue).map(|queue| u64::from(queue.length));
    lengths.fold(0, u64::saturating_add)
}

/// A speed as the kernel prints it, in 10^6 bits per second; `None` for -1, which drivers give that know none.
fn bits_per_second(text: &[u8]) -> Option<u64> {
    // Some drivers print the -1 as an unsigned number of 32 bits.
    let speed = decimal(text.trim_ascii()).filter(|speed| *speed != u64::from(u32::MAX))?;
    speed.checked_mul(1_000_000)
}

/// The name of an interface or a queue with the characters replaced that stand for something else in a counter path, as NT does.
pub(super) fn instance_name(name: &[u8]) -> String {
    let replaced = |character| match character {
        '(' => '[',
        ')' => ']',
        '#' | '/' | '\\' => '_',
        other => other,
    };
    String::from_utf8_lossy(name).chars().map(replaced).collect()
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::process::Command;

    use super::super::fake::{Machine, collect, instance, names, raw};
    use super::*;
    use crate::netlink::Queue;
    use tallymon_provider::{Interest, TitleIndex, ValueState};

    #[test]
    fn names_and_speeds() {
        assert_eq!(instance_name(b"eth0"), "eth0");
        assert_eq!(instance_name(b"a(b)#c/d\\e"), "a[b]_c_d_e");
        assert_eq!(instance_name(b"\xff"), "\u{fffd}");
        assert_eq!(bits_per_second(b"1000\n"), Some(1_000_000_000));
        assert_eq!(bits_per_second(b"0\n"), Some(0));
        for none in ["-1\n", "4294967295\n", "", "fast\n", "18446744073709551615\n"] {
            assert_eq!(bits_per_second(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn the_outermost_queue_counts() {
        let queue = |index, parent, length| Qdisc {
            index,
            handle: 1,
            parent,
            queue: Some(Queue { length, ..Queue::default() }),
        };
        let qdiscs = [
            queue(2, 0x10001, 9),
            queue(2, ROOT, 5),
            queue(3, ROOT, 7),
            Qdisc { queue: None, ..queue(4, ROOT, 0) },
        ];
        assert_eq!([1, 2, 3, 4].map(|index| queue_length(&qdiscs, index)), [0, 5, 7, 0]);
    }

    #[test]
    fn another_machine_has_no_interfaces_here() {
        let snapshot = Machine::new(&[("proc/net/dev", b"eth0: 1 2 3")]).read(510);
        assert!(names(&snapshot).is_empty());
        assert!(snapshot.objects().next().unwrap().has_instances());
    }

    /// The raw value of a statistic of the loopback.
    fn loopback(system: &mut crate::System, position: At) -> u64 {
        raw(&instance(&collect(system, 510, &Interest::everything()), "lo"), position.at()).unwrap()
    }

    /// The number behind a key that stands behind other keys in JSON text.
    fn number_behind(text: &str, keys: &[&str]) -> u64 {
        let rest = keys.iter().fold(text, |rest, key| rest.split_once(&format!("\"{key}\":")).unwrap().1);
        let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    }

    /// Sends datagrams over the loopback, and compares the counts with those of another program.
    #[test]
    fn the_running_kernel() {
        const DATAGRAMS: u64 = 64;
        const SIZE: u64 = 1000;
        let mut system = crate::System::open().unwrap();
        let all = names(&collect(&mut system, 510, &Interest::everything()));
        assert!(all.iter().any(|name| name == "lo"), "{all:?}");
        let before = [At::BytesTotal, At::PacketsSent, At::BytesReceived].map(|at| loopback(&mut system, at));
        let ip = |index: usize| {
            let ip = tallymon_testkit::peer("ip")?;
            let output = Command::new(ip).args(["-s", "-j", "link", "show", "dev", "lo"]).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let keys = [["rx", "bytes"], ["tx", "packets"]];
            Some(number_behind(&text, &keys[index]))
        };
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut buffer = [0; 2000];
        for _ in 0..DATAGRAMS {
            sender.send_to(&[7; SIZE as usize], receiver.local_addr().unwrap()).unwrap();
            receiver.recv(&mut buffer).unwrap();
        }
        let bounds = [ip(0), ip(1)];
        let after = [At::BytesTotal, At::PacketsSent, At::BytesReceived].map(|at| loopback(&mut system, at));
        let [total, packets, bytes] = [0, 1, 2].map(|at| after[at] - before[at]);
        // Each datagram has 8 bytes of UDP and 20 of IP around it; the loopback does not count its 14 of Ethernet.
        let least = DATAGRAMS * (SIZE + 28);
        assert!(bytes >= least && total >= 2 * least && packets >= DATAGRAMS, "{bytes} {total} {packets}");
        assert!(bytes < least + (1 << 30), "{bytes}");
        if let [Some(bytes), Some(packets)] = bounds {
            assert!(before[2] + least <= bytes && bytes <= after[2], "{before:?} {bytes} {after:?}");
            assert!(
                before[1] + DATAGRAMS <= packets && packets <= after[1],
                "{before:?} {packets} {after:?}"
            );
        }
    }

    #[test]
    fn only_what_is_wanted_is_asked_for() {
        let mut system = crate::System::open().unwrap();
        let mut interest = Interest::everything();
        interest.add(TitleIndex(510), TitleIndex(264));
        let snapshot = collect(&mut system, 510, &interest);
        let lo = instance(&snapshot, "lo");
        for position in [At::CurrentBandwidth, At::OutputQueueLength] {
            let expected = Err(ValueState::Absent(Absence::NotRequested));
            assert_eq!(raw(&lo, position.at()), expected, "{position:?}");
        }
        let snapshot = collect(&mut system, 510, &Interest::everything());
        let lo = instance(&snapshot, "lo");
        // The loopback has no speed and no queue.
        let expected = Err(ValueState::Absent(Absence::NotFromThisDevice));
        assert_eq!(raw(&lo, At::CurrentBandwidth.at()), expected);
        assert_eq!(raw(&lo, At::OutputQueueLength.at()), Ok(0));
        let expected = Err(ValueState::Absent(Absence::NotFromThisDevice));
        assert_eq!(raw(&lo, At::PacketsSentUnicast.at()), expected);
        assert!(raw(&lo, At::PacketsReceivedUnicast.at()).is_ok());
    }

    /// What goes into one end of a cable comes out at the other, and is what the kernel says in its files.
    #[test]
    fn a_cable_that_was_made_here() {
        let ends = ["a", "b"].map(|end| format!("tlv{end}{}", std::process::id() % 1_000_000));
        let [one, other] = &ends;
        let ip =
            |words: &[&str]| Command::new("ip").args(words).output().is_ok_and(|out| out.status.success());
        if !ip(&["link", "add", one, "type", "veth", "peer", "name", other]) {
            return eprintln!("no cable can be made here: not compared");
        }
        let file = |name: &str, file: &str| -> u64 {
            let text = std::fs::read_to_string(format!("/sys/class/net/{name}/statistics/{file}")).unwrap();
            text.trim().parse().unwrap()
        };
        assert!(ip(&["link", "set", one, "up"]) && ip(&["link", "set", other, "up"]));
        // The kernel itself looks for neighbours as soon as a cable is plugged in.
        for _ in 0..100 {
            if file(one, "tx_packets") > 0 && file(other, "tx_packets") > 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        // Nothing goes through a cable that is unplugged.
        assert!(ip(&["link", "set", one, "down"]));
        let snapshot = collect(&mut crate::System::open().unwrap(), 510, &Interest::everything());
        let found = ends.clone().map(|name| {
            let end = instance(&snapshot, &name);
            [506, 452, 264, 266].map(|counter| raw(&end, end.object().position(TitleIndex(counter)).unwrap()))
        });
        let files = ends.clone().map(|name| {
            ["tx_bytes", "tx_packets", "rx_bytes", "rx_packets"].map(|name_of| Ok(file(&name, name_of)))
        });
        let removed = ip(&["link", "del", one]);
        assert_eq!(found, files);
        assert_eq!((found[0][0], found[0][1]), (found[1][2], found[1][3]), "sent here, received there");
        assert!(removed, "{one} could not be removed");
        if found[0][1] == Ok(0) {
            eprintln!("without IPv6 nothing went through the cable");
        }
    }
}
