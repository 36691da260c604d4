//! RAS Port (870) and RAS Total (906): links to another network over PPP, WireGuard or a tunnel device.

use std::path::{Path, PathBuf};

use tallymon_provider::Absence;

use super::spec::rows;
use super::table::{Table, folders};
use crate::sources::Sources;

macro_rules! ports {
    ($counters:ident, $origins:ident { $($more:tt)* }) => {
        rows! { $counters, $origins {
            872 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "statistics/tx_bytes";
            874 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "statistics/rx_bytes";
            876 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "statistics/tx_packets";
            878 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "statistics/rx_packets";
            880 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
            882 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
            884 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "statistics/rx_crc_errors";
            886 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
            888 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "statistics/rx_fifo_errors";
            890 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "statistics/rx_frame_errors";
            892 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "statistics/rx_over_errors";
            894 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "statistics/rx_errors";
            896 PERF_COUNTER_COUNTER 0 NOVICE: E "statistics/tx_bytes";
            898 PERF_COUNTER_COUNTER 0 NOVICE: E "statistics/rx_bytes";
            900 PERF_COUNTER_COUNTER 0 NOVICE: E "statistics/tx_packets";
            902 PERF_COUNTER_COUNTER 0 NOVICE: E "statistics/rx_packets";
            904 PERF_COUNTER_COUNTER 0 NOVICE: E "statistics/rx_errors";
            $($more)*
        }}
    };
}

ports! { PORT_COUNTERS, PORT_ORIGINS {} }
ports! { TOTAL_COUNTERS, TOTAL_ORIGINS { 908 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "1"; } }

/// The object RAS Port.
pub(super) fn port() -> Table {
    Table::many(870, PORT_COUNTERS, PORT_ORIGINS, links)
}

/// The object RAS Total: without links everything in it is 0, and that is the truth.
pub(super) fn total() -> Table {
    Table::sum(906, TOTAL_COUNTERS, TOTAL_ORIGINS, links)
}

fn links(sources: &mut Sources) -> Result<Vec<(String, PathBuf)>, Absence> {
    let mut found = folders(sources, "class/net", |_| true)?;
    found.retain(|(_, folder)| is_dialled(folder));
    Ok(found)
}

/// Whether an interface leads through another one: it is of type 512 (PPP), a tun device, or made by WireGuard.
fn is_dialled(folder: &Path) -> bool {
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    read("type").trim() == "512"
        || folder.join("tun_flags").exists()
        || read("uevent").lines().any(|line| line == "DEVTYPE=wireguard")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::fake::{Machine, collect, instance, named, names};
    use tallymon_provider::{Absence, Interest, ValueState};

    #[test]
    fn links_and_their_sum() {
        let mut machine = Machine::new(&[
            ("sys/class/net/eth0/type", b"1\n"),
            ("sys/class/net/eth0/statistics/rx_bytes", b"999\n"),
            ("sys/class/net/ppp0/type", b"512\n"),
            ("sys/class/net/ppp0/statistics/rx_bytes", b"100\n"),
            ("sys/class/net/ppp0/statistics/rx_errors", b"2\n"),
            ("sys/class/net/wg0/type", b"65534\n"),
            ("sys/class/net/wg0/uevent", b"DEVTYPE=wireguard\nINTERFACE=wg0\n"),
            ("sys/class/net/wg0/statistics/rx_bytes", b"11\n"),
        ]);
        let snapshot = machine.read(870);
        assert_eq!(names(&snapshot), ["ppp0", "wg0"]);
        assert_eq!(named(&instance(&snapshot, "ppp0"), 874), Ok(100));
        let snapshot = machine.read(906);
        let total = instance(&snapshot, "");
        assert_eq!((named(&total, 898), named(&total, 904), named(&total, 908)), (Ok(111), Ok(2), Ok(2)));
        let snapshot = Machine::new(&[]).read(906);
        let total = instance(&snapshot, "");
        assert_eq!((named(&total, 874), named(&total, 908)), (Ok(0), Ok(0)));
        assert_eq!(named(&total, 880), Err(ValueState::Absent(Absence::NotOnThisSystem)));
    }

    #[test]
    fn a_tunnel_that_was_made_here() {
        let name = format!("tly{}", std::process::id() % 1_000_000);
        let ip =
            |words: &[&str]| Command::new("ip").args(words).output().is_ok_and(|out| out.status.success());
        if !ip(&["tuntap", "add", "dev", &name, "mode", "tun"]) {
            return eprintln!("no tunnel can be made here: not compared");
        }
        let snapshot = collect(&mut crate::System::open().unwrap(), 870, &Interest::everything());
        let removed = ip(&["tuntap", "del", "dev", &name, "mode", "tun"]);
        assert_eq!(named(&instance(&snapshot, &name), 872), Ok(0));
        assert!(removed, "{name} could not be removed");
    }
}
