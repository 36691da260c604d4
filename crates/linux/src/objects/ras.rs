//! RAS Port (870) and RAS Total (906): links to other networks over PPP, WireGuard or a tunnel device.

use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime,
};

use super::object::Object;
use super::spec::{Origin, object, rows};
use super::table::{add, write};
use crate::kernel::instance_name::instance_name;
use crate::kernel::netlink::{Link, LinkStats};
use crate::sources::Sources;

macro_rules! ports {
    ($counters:ident, $origins:ident { $($more:tt)* }) => {
        rows! { $counters, $origins {
            872 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "rtnetlink(7): tx_bytes" "2.6.35";
            874 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "rtnetlink(7): rx_bytes" "2.6.35";
            876 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "rtnetlink(7): tx_packets" "2.6.35";
            878 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "rtnetlink(7): rx_packets" "2.6.35";
            880 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
            882 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
            884 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "rtnetlink(7): rx_crc_errors" "2.6.35";
            886 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
            888 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "rtnetlink(7): rx_fifo_errors" "2.6.35";
            890 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "rtnetlink(7): rx_frame_errors" "2.6.35";
            892 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "rtnetlink(7): rx_over_errors" "2.6.35";
            894 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "rtnetlink(7): rx_errors" "2.6.35";
            896 PERF_COUNTER_COUNTER 0 NOVICE: E "rtnetlink(7): tx_bytes" "2.6.35";
            898 PERF_COUNTER_COUNTER 0 NOVICE: E "rtnetlink(7): rx_bytes" "2.6.35";
            900 PERF_COUNTER_COUNTER 0 NOVICE: E "rtnetlink(7): tx_packets" "2.6.35";
            902 PERF_COUNTER_COUNTER 0 NOVICE: E "rtnetlink(7): rx_packets" "2.6.35";
            904 PERF_COUNTER_COUNTER 0 NOVICE: E "rtnetlink(7): rx_errors" "2.6.35";
            $($more)*
        }}
    };
}

ports! { PORT_COUNTERS, PORT_ORIGINS {} }
ports! { TOTAL_COUNTERS, TOTAL_ORIGINS { 908 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "1"; } }

/// One of the two objects.
pub(super) struct Ras {
    layout: ObjectLayout<'static>,
    origins: &'static [Origin],
}

/// The object RAS Port.
pub(super) fn port() -> Ras {
    let spec = object(870, 871, DetailLevel::ADVANCED, 0, InstanceKind::Many, PORT_COUNTERS);
    Ras { layout: ObjectLayout::new(spec), origins: PORT_ORIGINS }
}

/// The object RAS Total; without links all its values are truly 0.
pub(super) fn total() -> Ras {
    let spec = object(906, 907, DetailLevel::ADVANCED, 0, InstanceKind::None, TOTAL_COUNTERS);
    Ras { layout: ObjectLayout::new(spec), origins: TOTAL_ORIGINS }
}

impl Object for Ras {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        self.origins
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let counters = self.layout.spec().counters;
        let links: Result<Vec<_>, Absence> =
            sources.interfaces().map(|all| all.filter(|(link, _)| is_dialled(link)).collect());
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        if self.layout.spec().instances == InstanceKind::None {
            let values = links.map_or_else(
                |absence| vec![Err(absence); counters.len()],
                |links| sum(self.origins, links.into_iter().map(|(_, stats)| stats)),
            );
            return write(counters, &mut object.single(), &values, 0);
        }
        // Without an answer there are no names.
        for (link, stats) in links.unwrap_or_default() {
            let values: Vec<_> = self.origins.iter().map(|origin| value(origin, stats)).collect();
            write(counters, &mut object.instance(&instance_name(&link.name), None, None), &values, 0);
        }
    }
}

/// The sum over all links; 0 without links, for counters with a source.
fn sum<'a>(origins: &[Origin], links: impl Iterator<Item = &'a LinkStats>) -> Vec<Result<u64, Absence>> {
    let nothing = LinkStats::default();
    let none = |origin: &Origin| if origin.source == ONE { Ok(0) } else { value(origin, &nothing) };
    let mut total: Vec<_> = origins.iter().map(none).collect();
    for stats in links {
        let values: Vec<_> = origins.iter().map(|origin| value(origin, stats)).collect();
        add(&mut total, &values);
    }
    total
}

/// The source of the number of links.
const ONE: &str = "1";

/// The value for an origin.
fn value(origin: &Origin, stats: &LinkStats) -> Result<u64, Absence> {
    let name = origin.source.rsplit(": ").next().unwrap_or_default();
    match name {
        "tx_bytes" => Ok(stats.tx_bytes),
        "rx_bytes" => Ok(stats.rx_bytes),
        "tx_packets" => Ok(stats.tx_packets),
        "rx_packets" => Ok(stats.rx_packets),
        "rx_crc_errors" => Ok(stats.rx_crc_errors),
        "rx_fifo_errors" => Ok(stats.rx_fifo_errors),
        "rx_frame_errors" => Ok(stats.rx_frame_errors),
        "rx_over_errors" => Ok(stats.rx_over_errors),
        "rx_errors" => Ok(stats.rx_errors),
        ONE => Ok(1),
        _ => Err(Absence::NotOnThisSystem),
    }
}

/// Whether an interface is such a link: type 512 (PPP), or a tunnel of a program or of WireGuard.
fn is_dialled(link: &Link) -> bool {
    const PPP: u16 = 512;
    link.hardware == PPP || [b"tun".as_slice(), b"wireguard"].contains(&link.made_by.as_slice())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::fake_machine_tests::{Machine, System, collect, instance, named, names};
    use super::*;
    use tallymon_provider::{Interest, ValueState};

    #[test]
    fn which_interfaces_are_ras_links() {
        let link = |hardware, made_by: &str| Link {
            index: 1,
            name: b"x".to_vec(),
            hardware,
            flags: 0,
            mtu: None,
            state: None,
            made_by: made_by.as_bytes().to_vec(),
            stats: None,
        };
        let all = [(512, ""), (512, "ppp"), (65534, "wireguard"), (65534, "tun"), (1, "tun")];
        assert!(all.into_iter().all(|(hardware, made_by)| is_dialled(&link(hardware, made_by))));
        let none = [(1, ""), (772, ""), (1, "veth"), (1, "bridge")];
        assert!(!none.into_iter().any(|(hardware, made_by)| is_dialled(&link(hardware, made_by))));
    }

    #[test]
    fn links_and_their_sum() {
        let ppp = LinkStats { rx_bytes: 100, rx_errors: 2, tx_packets: 9, ..LinkStats::default() };
        let tunnel = LinkStats { rx_bytes: 11, rx_fifo_errors: 5, ..LinkStats::default() };
        let at = |name: u32| TOTAL_COUNTERS.iter().position(|counter| counter.name.0 == name).unwrap();
        let total = sum(TOTAL_ORIGINS, [&ppp, &tunnel].into_iter());
        let of = |values: &[Result<u64, Absence>], names: [u32; 7]| names.map(|name| values[at(name)]);
        // Bytes and bytes/sec received, frames sent, overruns of the line, errors/sec, links, compression.
        let names = [874, 898, 876, 888, 904, 908, 880];
        let missing = Err(Absence::NotOnThisSystem);
        assert_eq!(of(&total, names), [Ok(111), Ok(111), Ok(9), Ok(5), Ok(2), Ok(2), missing]);
        let nothing = sum(TOTAL_ORIGINS, std::iter::empty());
        assert_eq!(of(&nothing, names), [Ok(0), Ok(0), Ok(0), Ok(0), Ok(0), Ok(0), missing]);
    }

    #[test]
    fn another_root_has_no_links() {
        let mut machine = Machine::new(&[("sys/class/net/ppp0/type", b"512\n")]);
        assert!(names(&machine.read(870)).is_empty());
        let snapshot = machine.read(906);
        assert_eq!(named(&instance(&snapshot, ""), 908), Ok(0));
        assert_eq!(named(&instance(&snapshot, ""), 880), Err(ValueState::Absent(Absence::NotOnThisSystem)));
    }

    #[test]
    fn a_tunnel_created_by_the_test() {
        let name = format!("tly{}", std::process::id() % 1_000_000);
        let ip =
            |words: &[&str]| Command::new("ip").args(words).output().is_ok_and(|out| out.status.success());
        if !ip(&["tuntap", "add", "dev", &name, "mode", "tun"]) {
            return tallymon_testkit::skip("no tunnel can be made here");
        }
        let snapshot = collect(&mut System::open().unwrap(), 870, &Interest::everything());
        let removed = ip(&["tuntap", "del", "dev", &name, "mode", "tun"]);
        assert_eq!(named(&instance(&snapshot, &name), 872), Ok(0));
        assert!(removed, "{name} could not be removed");
    }
}
