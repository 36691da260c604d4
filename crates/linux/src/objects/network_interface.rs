//! Network Interface (510): one instance per interface of this network namespace, including the loopback; no
//! `_Total`, as on NT.
//!
//! The values come from netlink, which answers only for the running machine: with other roots the object has
//! no instances.
//!
//! Only few drivers report how many packets were unicast, and some have to ask their hardware first. They are
//! asked from the first request for one of these counters on; otherwise received packets are split by the
//! multicast count of Linux itself.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec,
    ObjectsWriter, PerfTime,
};

use super::object::Object;
use super::spec::{Origin, counters, object};
use crate::kernel::instance_name::instance_name;
use crate::kernel::netlink::ethtool::{EthtoolSocket, MacStats};
use crate::kernel::netlink::socket::RouteSocket;
use crate::kernel::netlink::{FLAG_UP, Link, LinkStats, Qdisc, ROOT};
use crate::kernel::proc::scan::decimal;
use crate::kernel::reusable_file::{Buffer, ReadMode, ReusableFile};
use crate::kernel::root::Root;
use crate::sources::Sources;

counters! {
    /// Positions of the counters.
    At, COUNTERS, ORIGINS {
        BytesTotal: 388, 513, PERF_COUNTER_BULK_COUNT, -4, ADVANCED:
            E "rtnetlink(7): rx_bytes + tx_bytes" "2.6.35";
        Packets: 400, 515, PERF_COUNTER_BULK_COUNT, -1, ADVANCED:
            E "rtnetlink(7): rx_packets + tx_packets" "2.6.35";
        PacketsReceived: 266, 517, PERF_COUNTER_BULK_COUNT, -1, ADVANCED:
            E "rtnetlink(7): rx_packets" "2.6.35";
        PacketsSent: 452, 519, PERF_COUNTER_BULK_COUNT, -1, ADVANCED: E "rtnetlink(7): tx_packets" "2.6.35";
        CurrentBandwidth: 520, 521, PERF_COUNTER_LARGE_RAWCOUNT, -6, ADVANCED:
            E "ethtool netlink: LINKMODES_SPEED * 1000000 | /sys/class/net/NAME/speed * 1000000" "2.6.33";
        BytesReceived: 264, 523, PERF_COUNTER_BULK_COUNT, -4, ADVANCED: E "rtnetlink(7): rx_bytes" "2.6.35";
        PacketsReceivedUnicast: 524, 525, PERF_COUNTER_BULK_COUNT, -1, EXPERT:
            A "ethtool netlink, by name only: FramesReceivedOK - MulticastFramesReceivedOK - \
             BroadcastFramesReceivedOK | rtnetlink(7): rx_packets - multicast" "2.6.35";
        PacketsReceivedNonUnicast: 526, 527, PERF_COUNTER_BULK_COUNT, -1, EXPERT:
            A "ethtool netlink, by name only: MulticastFramesReceivedOK + BroadcastFramesReceivedOK | \
             rtnetlink(7): multicast" "2.6.35";
        PacketsReceivedDiscarded: 528, 529, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED:
            C "rtnetlink(7): rx_dropped + rx_missed_errors" "2.6.35";
        PacketsReceivedErrors: 530, 531, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED:
            E "rtnetlink(7): rx_errors" "2.6.35";
        PacketsReceivedUnknown: 532, 533, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED:
            C "rtnetlink(7): rx_nohandler" "4.6";
        BytesSent: 506, 535, PERF_COUNTER_BULK_COUNT, -4, ADVANCED: E "rtnetlink(7): tx_bytes" "2.6.35";
        PacketsSentUnicast: 536, 537, PERF_COUNTER_BULK_COUNT, -1, EXPERT:
            O "ethtool netlink, by name only: FramesTransmittedOK - MulticastFramesXmittedOK - \
             BroadcastFramesXmittedOK" "5.13";
        PacketsSentNonUnicast: 538, 539, PERF_COUNTER_BULK_COUNT, -1, EXPERT:
            O "ethtool netlink, by name only: MulticastFramesXmittedOK + BroadcastFramesXmittedOK" "5.13";
        PacketsOutboundDiscarded: 540, 541, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED:
            C "rtnetlink(7): tx_dropped" "2.6.35";
        PacketsOutboundErrors: 542, 543, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED:
            E "rtnetlink(7): tx_errors" "2.6.35";
        OutputQueueLength: 544, 545, PERF_COUNTER_LARGE_RAWCOUNT, 0, ADVANCED:
            E "rtnetlink(7): qlen of the queueing disciplines" "2.6.35";
    }
}

const SPEC: ObjectSpec<'static> =
    object(510, 511, DetailLevel::NOVICE, At::BytesTotal.at(), InstanceKind::Many, COUNTERS);

/// The object Network Interface.
pub(super) struct NetworkInterface {
    layout: ObjectLayout<'static>,
    route: RouteSocket,
    qdiscs: Vec<Qdisc>,
    ethtool: EthtoolSocket,
    /// Indexes and speeds of interfaces in 10^6 bits per second, with the change count of the interfaces at
    /// that time, and the time.
    speeds: Vec<(u32, u32)>,
    speeds_of: Option<(u64, Instant)>,
    /// The speed files of interfaces, by index and name, for kernels without ethtool netlink.
    files: HashMap<(u32, Vec<u8>), ReusableFile>,
    buffer: Buffer,
    mac_stats: Vec<(u32, MacStats)>,
    /// Whether a hardware counter was ever requested. From then on it is always read, so that counts continue
    /// as they began.
    asks_hardware: bool,
    /// For each interface, whether its hardware counters were available at the last sample.
    told: HashMap<u32, bool>,
}

/// How long speeds are considered unchanged.
const SPEEDS_LAST: Duration = Duration::from_secs(10);

/// The counters that may come from the hardware.
const OF_HARDWARE: [At; 4] = [
    At::PacketsReceivedUnicast,
    At::PacketsReceivedNonUnicast,
    At::PacketsSentUnicast,
    At::PacketsSentNonUnicast,
];

impl NetworkInterface {
    pub(super) fn new() -> NetworkInterface {
        NetworkInterface {
            layout: ObjectLayout::new(SPEC),
            route: RouteSocket::new(),
            qdiscs: Vec::new(),
            ethtool: EthtoolSocket::new(),
            speeds: Vec::new(),
            speeds_of: None,
            files: HashMap::new(),
            buffer: Buffer::new(),
            mac_stats: Vec::new(),
            asks_hardware: false,
            told: HashMap::new(),
        }
    }

    /// Whether drivers report speeds. They are read again when an interface has changed, and now and then,
    /// because not every change is signalled.
    fn has_speeds(&mut self, sources: &mut Sources) -> bool {
        // Reading the interfaces shows what has changed.
        let changes = sources.interfaces().map(|_| ()).map(|()| sources.changes_of_interfaces());
        let is_known = |(of, at): (u64, Instant)| changes == Ok(of) && at.elapsed() < SPEEDS_LAST;
        if !self.speeds_of.is_some_and(is_known) {
            let result = self.ethtool.speeds(&mut self.speeds);
            self.speeds_of = result.ok().and(changes.ok()).map(|changes| (changes, Instant::now()));
        }
        self.speeds_of.is_some()
    }

    /// The speed of an interface in bits per second, after the drivers were asked; unknown for an interface
    /// that is switched off.
    fn bandwidth(&mut self, root: Option<&Root>, link: &Link) -> Option<u64> {
        if link.flags & FLAG_UP == 0 {
            return None;
        }
        let Some(root) = root else {
            let (_, speed) = self.speeds.iter().find(|(index, _)| *index == link.index)?;
            return u64::from(*speed).checked_mul(1_000_000);
        };
        let name = String::from_utf8_lossy(&link.name);
        let path = |file: &str| root.sys(&format!("class/net/{name}/{file}"));
        let speed = self.files.entry((link.index, link.name.clone())).or_insert_with(|| {
            // A different index means an interface of another network namespace.
            let is_same = ReusableFile::new(path("ifindex"), ReadMode::Whole)
                .read(&mut self.buffer)
                .is_ok_and(|text| decimal(text.trim_ascii()) == Some(u64::from(link.index)));
            ReusableFile::new(path(if is_same { "speed" } else { "" }), ReadMode::Whole)
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

    fn collect(&mut self, ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let wants = |position: At| {
            COUNTERS.get(position.at()).is_some_and(|counter| ask.interest.wants(SPEC.name, counter.name))
        };
        let is_system = sources.root.is_system();
        let queues = match wants(At::OutputQueueLength) && is_system {
            true => self.route.qdiscs(&mut self.qdiscs).map_err(|_| Absence::ReadFailed),
            false => Err(Absence::NotRequested),
        };
        let wants_speed = wants(At::CurrentBandwidth) && is_system;
        // A kernel before 5.6 has speeds in files only.
        let root = (wants_speed && !self.has_speeds(sources)).then(|| sources.root.clone());
        let wants_packets = OF_HARDWARE.into_iter().any(wants);
        self.asks_hardware |= wants_packets && !ask.interest.wants_object_fully(SPEC.name);
        let asks_hardware = self.asks_hardware && wants_packets && is_system;
        if !asks_hardware || self.ethtool.mac_stats(&mut self.mac_stats).is_err() {
            self.mac_stats.clear();
        }
        let mut speeds = Vec::new();
        if wants_speed && let Ok(interfaces) = sources.interfaces() {
            speeds.extend(interfaces.map(|(link, _)| self.bandwidth(root.as_ref(), link)));
        }
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        // Without an answer there are no names.
        let Ok(interfaces) = sources.interfaces() else { return };
        let mut told = HashMap::new();
        for (place, (link, stats)) in interfaces.enumerate() {
            let mut values = object.instance(&instance_name(&link.name), None, None);
            write_stats(&mut values, stats);
            let bandwidth = match wants_speed {
                true => speeds.get(place).copied().flatten().ok_or(Absence::NotFromThisDevice),
                false => Err(Absence::NotRequested),
            };
            let queue = queues.map(|()| queue_length(&self.qdiscs, link.index));
            for (position, value) in [(At::CurrentBandwidth, bandwidth), (At::OutputQueueLength, queue)] {
                match value {
                    Ok(value) => values.set(position.at(), value),
                    Err(absence) => values.absent([position.at()], absence),
                }
            }
            let mac = self.mac_stats.iter().find(|(index, _)| *index == link.index).map(|(_, mac)| mac);
            told.insert(link.index, mac.is_some());
            // Counts of different things must not be subtracted.
            let is_other =
                wants_packets && self.told.get(&link.index).is_some_and(|was| *was != mac.is_some());
            let why = match (is_other, asks_hardware) {
                (true, _) => Absence::FirstSample,
                (false, true) => Absence::NotFromThisDevice,
                (false, false) => Absence::NotRequested,
            };
            for (position, value) in OF_HARDWARE.into_iter().zip(kinds_of_packets(stats, mac)) {
                values.set_or(position.at(), value.filter(|_| wants_packets && !is_other), why);
            }
        }
        if wants_packets {
            self.told = told;
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
    set(At::PacketsReceivedDiscarded, stats.rx_dropped.wrapping_add(stats.rx_missed_errors));
    set(At::PacketsReceivedErrors, stats.rx_errors);
    set(At::PacketsOutboundDiscarded, stats.tx_dropped);
    set(At::PacketsOutboundErrors, stats.tx_errors);
    values.set_or(At::PacketsReceivedUnknown.at(), stats.rx_nohandler, Absence::NotInThisKernel);
}

/// Unicast and other packets: both received, then both sent.
fn kinds_of_packets(stats: &LinkStats, mac: Option<&MacStats>) -> [Option<u64>; 4] {
    let sum = |one: Option<u64>, other: Option<u64>| Some(one?.wrapping_add(other?));
    let hardware = mac.copied().unwrap_or_default();
    let received = sum(hardware.multicast_frames_received_ok, hardware.broadcast_frames_received_ok);
    let sent = sum(hardware.multicast_frames_xmitted_ok, hardware.broadcast_frames_xmitted_ok);
    let all_received = hardware.frames_received_ok.filter(|_| received.is_some()).unwrap_or(stats.rx_packets);
    let all_sent = hardware.frames_transmitted_ok.unwrap_or(stats.tx_packets);
    // Linux itself counts only multicast; few drivers include broadcast.
    let received = received.unwrap_or(stats.multicast);
    [
        Some(all_received.saturating_sub(received)),
        Some(received),
        sent.map(|sent| all_sent.saturating_sub(sent)),
        sent,
    ]
}

/// Packets waiting in the outermost queue of an interface, which includes the queues below it. An interface
/// without a queue keeps none waiting.
fn queue_length(qdiscs: &[Qdisc], index: u32) -> u64 {
    let outermost = qdiscs.iter().filter(|qdisc| qdisc.index == index && qdisc.parent == ROOT);
    let lengths = outermost.filter_map(|qdisc| qdisc.queue).map(|queue| u64::from(queue.length));
    lengths.fold(0, u64::saturating_add)
}

/// A speed as the kernel prints it, in 10^6 bits per second; `None` for -1, which drivers report for an
/// unknown speed.
fn bits_per_second(text: &[u8]) -> Option<u64> {
    // Some drivers print the -1 as an unsigned number of 32 bits.
    let speed = decimal(text.trim_ascii()).filter(|speed| *speed != u64::from(u32::MAX))?;
    speed.checked_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::process::Command;

    use super::super::fake_machine_tests::{Machine, System, collect, instance, names, raw};
    use super::*;
    use crate::kernel::netlink::Queue;
    use tallymon_provider::{Interest, TitleIndex, ValueState};

    #[test]
    fn speeds() {
        assert_eq!(bits_per_second(b"1000\n"), Some(1_000_000_000));
        assert_eq!(bits_per_second(b"0\n"), Some(0));
        for none in ["-1\n", "4294967295\n", "", "fast\n", "18446744073709551615\n"] {
            assert_eq!(bits_per_second(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn the_outermost_queue_is_the_queue_length() {
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
    fn another_root_has_no_interfaces() {
        let snapshot = Machine::new(&[("proc/net/dev", b"eth0: 1 2 3")]).read(510);
        assert!(names(&snapshot).is_empty());
        assert!(snapshot.objects().next().unwrap().has_instances());
    }

    /// The raw value of a statistic of the loopback.
    fn loopback(system: &mut System, position: At) -> u64 {
        raw(&instance(&collect(system, 510, &Interest::everything()), "lo"), position.at()).unwrap()
    }

    /// The number after the last of these keys in JSON text.
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
        let mut system = System::open().unwrap();
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
        // Each datagram has 8 bytes of UDP and 20 of IP; the loopback does not count its 14 of Ethernet.
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
    fn only_requested_counters_are_queried() {
        let mut system = System::open().unwrap();
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
        let expected = Err(ValueState::Absent(Absence::NotRequested));
        assert_eq!(raw(&lo, At::PacketsSentUnicast.at()), expected, "not asked for by name");
        assert!(raw(&lo, At::PacketsReceivedUnicast.at()).is_ok());
        let mut interest = Interest::everything();
        interest.add(TitleIndex(510), TitleIndex(536));
        for interest in [&interest, &Interest::everything()] {
            let snapshot = collect(&mut system, 510, interest);
            let lo = instance(&snapshot, "lo");
            // The loopback has no hardware; once requested, hardware counters are always read.
            let expected = Err(ValueState::Absent(Absence::NotFromThisDevice));
            assert_eq!(raw(&lo, At::PacketsSentUnicast.at()), expected);
        }
    }

    #[test]
    fn packets_are_split_by_hardware_counters_where_available() {
        let stats = LinkStats { rx_packets: 100, tx_packets: 50, multicast: 7, ..LinkStats::default() };
        assert_eq!(kinds_of_packets(&stats, None), [Some(93), Some(7), None, None]);
        let all = MacStats {
            frames_transmitted_ok: Some(49),
            frames_received_ok: Some(99),
            multicast_frames_xmitted_ok: Some(1),
            broadcast_frames_xmitted_ok: Some(2),
            multicast_frames_received_ok: Some(3),
            broadcast_frames_received_ok: Some(4),
        };
        assert_eq!(kinds_of_packets(&stats, Some(&all)), [Some(92), Some(7), Some(46), Some(3)]);
        let part = MacStats { broadcast_frames_received_ok: None, frames_transmitted_ok: None, ..all };
        assert_eq!(kinds_of_packets(&stats, Some(&part)), [Some(93), Some(7), Some(47), Some(3)]);
        let old = LinkStats { rx_packets: 1, multicast: 2, ..stats };
        assert_eq!(kinds_of_packets(&old, None)[0], Some(0), "counted at different moments");
    }

    /// Packets sent into one end of a virtual cable arrive at the other, and match the kernel's files.
    #[test]
    fn a_virtual_cable_created_by_the_test() {
        let ends = ["a", "b"].map(|end| format!("tlv{end}{}", std::process::id() % 1_000_000));
        let [one, other] = &ends;
        let ip =
            |words: &[&str]| Command::new("ip").args(words).output().is_ok_and(|out| out.status.success());
        if !ip(&["link", "add", one, "type", "veth", "peer", "name", other]) {
            return tallymon_testkit::skip("no cable can be made here");
        }
        let file = |name: &str, file: &str| -> u64 {
            let text = std::fs::read_to_string(format!("/sys/class/net/{name}/statistics/{file}")).unwrap();
            text.trim().parse().unwrap()
        };
        assert!(ip(&["link", "set", one, "up"]) && ip(&["link", "set", other, "up"]));
        // The kernel itself looks for neighbours as soon as the cable is up.
        for _ in 0..100 {
            if file(one, "tx_packets") > 0 && file(other, "tx_packets") > 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        // Nothing goes through a cable that is unplugged.
        assert!(ip(&["link", "set", one, "down"]));
        let snapshot = collect(&mut System::open().unwrap(), 510, &Interest::everything());
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
            tallymon_testkit::skip("without IPv6 nothing went through the cable");
        }
    }
}
