//! Findings about sources that not every machine has or allows: netlink, CPU events, files for root only.

use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use tallymon_provider::{Absence, Finding, FindingState};

use crate::kernel::cups::print_server::count_queues;
use crate::kernel::cups::{CupsError, deadline_in};
use crate::kernel::netlink::socket::RouteSocket;
use crate::kernel::perf::{Event, PerfCounter};
use crate::kernel::reusable_file::{Buffer, ReadMode, ReusableFile};
use crate::kernel::root::Root;
use crate::sources::absence::absence;

/// Reports the state of these sources.
pub(crate) fn findings(root: &Root, socket_diag: &mut RouteSocket) -> Vec<Finding> {
    let mut links = Vec::new();
    let routes = RouteSocket::new().links(&mut links).map(|()| format!("{} network interfaces", links.len()));
    let connections =
        socket_diag.connections_v6().map(|count| format!("{count} connections of TCP over IPv6"));
    let mut all = vec![
        netlink("netlink", "Network Interface", routes.map_err(|error| error.to_string())),
        netlink("sock_diag", "TCPv6", connections.map_err(|error| error.to_string())),
        events(root),
    ];
    // A source that the machine lacks is not reported, only one that it denies.
    let shown = [("/proc/net/rpc/nfsd", "Server"), ("/proc/fs/nfsd/pool_stats", "Server Work Queues")]
        .into_iter()
        .chain([("/proc/fs/cifs/Stats", "SMB Client Share")])
        .map(|(path, object)| (root.proc(path.trim_start_matches("/proc/")), object));
    for (path, object) in shown {
        let subject = path.display().to_string();
        let read = ReusableFile::new(path, ReadMode::Records)
            .read(&mut Buffer::new())
            .map(|_| ())
            .map_err(|error| absence(&error));
        all.extend(file(subject, object, read));
    }
    let meter = root.sys("class/powercap/intel-rapl:0/energy_uj");
    let subject = meter.display().to_string();
    let read = ReusableFile::new(meter, ReadMode::Whole)
        .read(&mut Buffer::new())
        .map(|_| ())
        .map_err(|error| absence(&error));
    all.extend(file(subject, "Energy Meter", read));
    all.push(temperatures(root));
    all.extend(print_server(&root.run("cups/cups.sock")));
    all
}

/// How many temperatures the drivers of this machine provide.
fn temperatures(root: &Root) -> Finding {
    let names = |folder: &Path| -> Vec<std::ffi::OsString> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect()
    };
    let chips = root.sys("class/hwmon");
    let is_sensor = |name: &std::ffi::OsString| {
        name.to_str().is_some_and(|name| name.starts_with("temp") && name.ends_with("_input"))
    };
    let of_chip =
        |chip: &std::ffi::OsString| names(&chips.join(chip)).iter().filter(|name| is_sensor(name)).count();
    let sensors: usize = names(&chips).iter().map(of_chip).sum();
    let zones = names(&root.sys("class/thermal"));
    let is_zone =
        |name: &&std::ffi::OsString| name.to_str().is_some_and(|name| name.starts_with("thermal_zone"));
    let zones = zones.iter().filter(is_zone).count();
    let subject = "temperatures".to_string();
    if sensors > 0 || zones > 0 {
        let detail = format!("{sensors} sensors of chips, {zones} thermal zones");
        return Finding { subject, state: FindingState::Good, detail, remedy: String::new() };
    }
    Finding {
        subject,
        state: FindingState::Missing,
        detail: format!(
            "{} has no sensor; Temperature Sensor and Thermal Zone Information have no instances",
            chips.display()
        ),
        remedy:
            "nothing to do in a virtual machine or container; on hardware load the drivers of its chips, \
            for example with sensors-detect"
                .to_string(),
    }
}

/// The state of the print server, if there is one.
fn print_server(socket: &Path) -> Option<Finding> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let answer = count_queues(socket, deadline_in(PATIENCE));
    let (state, detail, remedy) = match answer {
        Err(CupsError::NoServer) => return None,
        Ok(count) => (FindingState::Good, format!("{count} print queues"), ""),
        Err(error) => (
            FindingState::Missing,
            format!("{error}; Print Queue has no data"),
            "check cupsd, for example with lpstat -t",
        ),
    };
    Some(Finding { subject: socket.display().to_string(), state, detail, remedy: remedy.to_string() })
}

fn netlink(subject: &str, object: &str, answer: Result<String, String>) -> Finding {
    let subject = subject.to_string();
    match answer {
        Ok(detail) => Finding { subject, state: FindingState::Good, detail, remedy: String::new() },
        Err(error) => Finding {
            subject,
            state: FindingState::Missing,
            detail: format!("{error}; {object} lacks the values read there"),
            remedy: "allow AF_NETLINK sockets: RestrictAddressFamilies of a systemd unit, or a filter of \
                system calls"
                .to_string(),
        },
    }
}

/// Whether the events of Processor Performance Counters can be counted.
fn events(root: &Root) -> Finding {
    const CYCLES: Event = Event { kind: 0, config: 0 };
    const SWITCHES: Event = Event { kind: 1, config: 3 };
    let level = std::fs::read_to_string(root.proc("sys/kernel/perf_event_paranoid"));
    let level = level.map_or_else(|_| "unknown".to_string(), |level| level.trim().to_string());
    let of = |event| PerfCounter::open(event, 0).map(|_| ());
    event_finding(of(CYCLES), of(SWITCHES), &level)
}

fn event_finding(cycles: Result<(), Errno>, switches: Result<(), Errno>, level: &str) -> Finding {
    let (state, detail, remedy) = match (cycles, switches) {
        (Ok(()), _) => (FindingState::Good, "hardware and kernel events".to_string(), ""),
        (_, Err(Errno::ACCESS | Errno::PERM)) => (
            FindingState::Missing,
            format!(
                "not allowed: kernel.perf_event_paranoid is {level}, and Processor Performance Counters \
                    has no data"
            ),
            "give tally CAP_PERFMON, or set kernel.perf_event_paranoid to 0",
        ),
        (Err(error), Ok(())) => (
            FindingState::Good,
            format!(
                "kernel events only: this CPU has no hardware counters ({})",
                std::io::Error::from(error)
            ),
            "",
        ),
        (_, Err(error)) => (
            FindingState::Missing,
            format!("{}; Processor Performance Counters has no data", std::io::Error::from(error)),
            "use a kernel with CONFIG_PERF_EVENTS",
        ),
    };
    Finding { subject: "perf events".to_string(), state, detail, remedy: remedy.to_string() }
}

/// The finding for a file that may be readable by root only.
fn file(subject: String, object: &str, read: Result<(), Absence>) -> Option<Finding> {
    let (state, detail, remedy) = match read {
        Ok(()) => (FindingState::Good, "read".to_string(), ""),
        Err(Absence::AccessDenied) => (
            FindingState::Missing,
            format!("only root may read it, and {object} has no data"),
            "run tally as root, or allow reading this file",
        ),
        Err(_) => return None,
    };
    Some(Finding { subject, state, detail, remedy: remedy.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_with_and_without_temperatures() {
        let folder = std::env::temp_dir().join(format!("tallymon-temperatures-{}", std::process::id()));
        let chip = folder.join("sys/class/hwmon/hwmon0");
        std::fs::create_dir_all(&chip).unwrap();
        let root = Root::below(&folder);
        let finding = temperatures(&root);
        assert_eq!(finding.state, FindingState::Missing);
        assert!(finding.detail.contains("hwmon has no sensor"), "{}", finding.detail);
        for file in ["temp1_input", "temp1_label", "temp2_input", "fan1_input"] {
            std::fs::write(chip.join(file), "1000\n").unwrap();
        }
        std::fs::create_dir_all(folder.join("sys/class/thermal/thermal_zone0")).unwrap();
        std::fs::create_dir_all(folder.join("sys/class/thermal/cooling_device0")).unwrap();
        let finding = temperatures(&root);
        assert_eq!(finding.state, FindingState::Good);
        assert_eq!(finding.detail, "2 sensors of chips, 1 thermal zones");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_print_server_with_malformed_answers() {
        let path = std::env::temp_dir().join(format!("tallymon-optional-{}", std::process::id()));
        assert_eq!(print_server(&path), None);
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || drop(listener.accept().unwrap()));
        let finding = print_server(&path).unwrap();
        server.join().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(finding.state, FindingState::Missing);
        assert!(finding.detail.ends_with("; Print Queue has no data"), "{}", finding.detail);
    }

    #[test]
    fn findings_of_refused_sources_have_a_remedy() {
        let denied = event_finding(Err(Errno::ACCESS), Err(Errno::ACCESS), "2");
        assert_eq!(denied.state, FindingState::Missing);
        assert!(denied.detail.contains("perf_event_paranoid is 2") && denied.remedy.contains("CAP_PERFMON"));
        let guest = event_finding(Err(Errno::NOENT), Ok(()), "2");
        assert_eq!(guest.state, FindingState::Good);
        assert!(guest.detail.starts_with("kernel events only"), "{}", guest.detail);
        assert_eq!(
            event_finding(Err(Errno::NOSYS), Err(Errno::NOSYS), "unknown").state,
            FindingState::Missing
        );
        let refused =
            netlink("sock_diag", "TCPv6", Err("netlink socket: Operation not permitted".to_string()));
        assert!(refused.remedy.contains("AF_NETLINK") && refused.detail.contains("TCPv6 lacks"));
        let root_only = file("/x".to_string(), "Energy Meter", Err(Absence::AccessDenied)).unwrap();
        assert!(root_only.detail.contains("Energy Meter has no data"));
        assert_eq!(file("/x".to_string(), "Server", Err(Absence::NotInThisKernel)), None);
    }

    #[test]
    fn the_running_machine() {
        let found = findings(&Root::system(), &mut RouteSocket::of_sockets());
        let subjects: Vec<&str> = found.iter().map(|finding| finding.subject.as_str()).take(3).collect();
        assert_eq!(subjects, ["netlink", "sock_diag", "perf events"]);
        assert!(
            found.iter().all(|finding| (finding.state == FindingState::Good) == finding.remedy.is_empty())
        );
    }
}
