//! Server (330) and Server Work Queues (1300): the kernel's NFS server with its thread pools, and the
//! databases of Samba's server, which only root may read. The kernel's SMB server (ksmbd) reports nothing
//! that NT counts.

use tallymon_provider::{
    Absence, CollectRequest, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec, ObjectsWriter,
    PerfTime,
};

use super::object::Object;
use super::spec::{Origin, object, rows};
use super::table::{Table, write};
use crate::kernel::proc::scan::decimal;
use crate::sources::Sources;

rows! { COUNTERS, ORIGINS {
    388 (333) PERF_COUNTER_BULK_COUNT -4 NOVICE: C "/proc/net/rpc/nfsd:io#1 + :io#2";
    264 (908_001) PERF_COUNTER_BULK_COUNT -4 ADVANCED: C "/proc/net/rpc/nfsd:io#2";
    276 (908_003) PERF_COUNTER_BULK_COUNT -4 ADVANCED: C "/proc/net/rpc/nfsd:io#1";
    340 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    342 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    344 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    346 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    348 PERF_COUNTER_RAWCOUNT 0 ADVANCED: A "/proc/net/rpc/nfsd:rpc#4";
    350 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
    352 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    354 PERF_COUNTER_RAWCOUNT 0 EXPERT: N;
    356 PERF_COUNTER_COUNTER 0 ADVANCED: N;
    358 PERF_COUNTER_COUNTER 0 ADVANCED: N;
    360 PERF_COUNTER_RAWCOUNT -3 NOVICE: A "/proc/net/rpc/nfsd:proc4ops#20";
    362 PERF_COUNTER_RAWCOUNT 0 NOVICE: C "/run/samba/smbXsrv_open_global.tdb";
    314 (365) PERF_COUNTER_RAWCOUNT 0 NOVICE: C "/run/samba/smbXsrv_session_global.tdb";
    366 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    58 (369) PERF_COUNTER_RAWCOUNT -4 EXPERT: N;
    370 PERF_COUNTER_COUNTER 0 WIZARD: N;
    372 PERF_COUNTER_RAWCOUNT -4 EXPERT: N;
    56 (375) PERF_COUNTER_RAWCOUNT -4 EXPERT: N;
    376 PERF_COUNTER_RAWCOUNT 0 WIZARD: N;
    378 PERF_COUNTER_RAWCOUNT -4 ADVANCED: N;
    404 PERF_COUNTER_COUNTER -1 NOVICE: N;
    692 PERF_COUNTER_COUNTER 0 ADVANCED: N;
    1260 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
}}

rows! { QUEUE_COUNTERS, QUEUE_ORIGINS {
    1302 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1304 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1306 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1308 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1310 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    1312 PERF_COUNTER_RAWCOUNT 0 ADVANCED: A "/proc/fs/nfsd/pool_stats:sockets-enqueued" "2.6.30";
    1314 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    264 (1317) PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    506 (1319) PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    1320 PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    288 (1323) PERF_COUNTER_BULK_COUNT 0 ADVANCED: N;
    1324 PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    298 (1327) PERF_COUNTER_BULK_COUNT 0 ADVANCED: N;
    1328 PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    508 (1331) PERF_COUNTER_BULK_COUNT -4 ADVANCED: N;
    1332 PERF_COUNTER_BULK_COUNT 0 ADVANCED: A "/proc/fs/nfsd/pool_stats:packets-arrived" "2.6.30";
    404 PERF_COUNTER_COUNTER 0 ADVANCED: C "/proc/fs/nfsd/pool_stats:sockets-enqueued" "2.6.30";
}}

/// The object Server.
pub(super) fn server() -> Table {
    Table::one(330, COUNTERS, ORIGINS)
}

/// The object Server Work Queues: one instance per thread pool of the NFS server.
pub(super) struct ServerWorkQueues {
    layout: ObjectLayout<'static>,
}

impl ServerWorkQueues {
    pub(super) fn new() -> ServerWorkQueues {
        let spec = object(1300, 1301, DetailLevel::ADVANCED, 0, InstanceKind::Many, QUEUE_COUNTERS);
        ServerWorkQueues { layout: ObjectLayout::new(spec) }
    }
}

impl Object for ServerWorkQueues {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        QUEUE_ORIGINS
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let text = match sources.text("/proc/fs/nfsd/pool_stats") {
            Ok(text) => text,
            // There are pools, but only root may see them.
            Err(Absence::AccessDenied) => {
                let mut hidden = object.instance("_Total", None, None);
                return hidden.absent(0..QUEUE_COUNTERS.len(), Absence::AccessDenied);
            }
            // Without a server there are no pools.
            Err(_) => return,
        };
        for pool in pools(text) {
            let value = |origin: &Origin| match origin.source.rsplit_once(':') {
                Some((_, "packets-arrived")) => pool.arrived.ok_or(Absence::NotInThisKernel),
                Some((_, "sockets-enqueued")) => pool.enqueued.ok_or(Absence::NotInThisKernel),
                _ => Err(Absence::NotOnThisSystem),
            };
            let values: Vec<_> = QUEUE_ORIGINS.iter().map(value).collect();
            write(QUEUE_COUNTERS, &mut object.instance(&pool.name, None, None), &values, 0);
        }
    }
}

/// A thread pool, with its counts since the server started.
#[derive(Debug, PartialEq, Eq)]
struct Pool {
    name: String,
    /// Messages that arrived for it.
    arrived: Option<u64>,
    /// How often a connection had to wait because no thread was idle.
    enqueued: Option<u64>,
}

/// The rows of `pool_stats`, whose first line names the columns: `# pool packets-arrived sockets-enqueued`. A
/// row without a pool number is skipped.
fn pools(text: &[u8]) -> Vec<Pool> {
    let words = |line: &'_ [u8]| -> Vec<Vec<u8>> {
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
    };
    let mut lines = text.split(|byte| *byte == b'\n');
    let mut names = words(lines.next().unwrap_or_default());
    if names.first().is_some_and(|first| first == b"#") {
        names.remove(0);
    }
    let column = |name: &[u8]| names.iter().position(|known| known == name);
    let (pool, arrived, enqueued) =
        (column(b"pool"), column(b"packets-arrived"), column(b"sockets-enqueued"));
    lines
        .filter_map(|line| {
            let fields = words(line);
            let number = |column: Option<usize>| decimal(fields.get(column?)?);
            let name = number(pool)?.to_string();
            Some(Pool { name, arrived: number(arrived), enqueued: number(enqueued) })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::net::TcpListener;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use super::*;
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::ValueState;
    use tallymon_testkit::peer;

    #[test]
    fn nfs_server_traffic() {
        let mut machine = Machine::new(&[("proc/net/rpc/nfsd", &fixture("written/nfsd"))]);
        let snapshot = machine.read(330);
        let values = instance(&snapshot, "");
        for (counter, value) in [(264, 2_000_002), (276, 1_000_001), (388, 3_000_003), (348, 4), (360, 118)] {
            assert_eq!(named(&values, counter), Ok(value), "{counter}");
        }
        assert_eq!(named(&values, 692), Err(ValueState::Absent(Absence::NotOnThisSystem)));
        let snapshot = Machine::new(&[]).read(330);
        let missing = Err(ValueState::Absent(Absence::NotInThisKernel));
        assert_eq!(
            named(&instance(&snapshot, ""), 388),
            missing,
            "no server, and not a server that did nothing"
        );
    }

    #[test]
    fn pools_by_the_names_of_their_columns() {
        let mut machine = Machine::new(&[("proc/fs/nfsd/pool_stats", &fixture("written/nfsd-pool_stats"))]);
        let snapshot = machine.read(1300);
        assert_eq!(names(&snapshot), ["0", "1"]);
        let pool = instance(&snapshot, "1");
        assert_eq!((named(&pool, 1332), named(&pool, 404), named(&pool, 1312)), (Ok(40), Ok(7), Ok(7)));
        assert!(names(&Machine::new(&[]).read(1300)).is_empty());
    }

    #[test]
    fn pools_with_unknown_columns_or_damage() {
        let found = pools(b"# pool new packets-arrived\n3 9 x\nnone\n\n4 9 5\n");
        let pool = |name: &str, arrived| Pool { name: name.to_string(), arrived, enqueued: None };
        assert_eq!(found, [pool("3", None), pool("4", Some(5))]);
        assert!(pools(b"").is_empty());
    }

    /// A Samba server on a port of its own, with all its files in one directory.
    struct Samba(Child);

    impl Samba {
        fn start(configuration: &Path) -> Option<Samba> {
            let smbd = peer("smbd")?;
            let mut command = Command::new(smbd);
            command.args(["-F", "-s"]).arg(configuration).stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok().map(Samba)
        }
    }

    impl Drop for Samba {
        fn drop(&mut self) {
            // It has its own process group, and ends the others when it is told to end.
            let own = rustix::process::Pid::from_child(&self.0);
            let _ = rustix::process::kill_process(own, rustix::process::Signal::TERM);
            let _ = self.0.wait();
        }
    }

    #[test]
    fn samba_sessions_and_files_match_smbstatus() {
        let mut machine = Machine::new(&[("run/samba/", b""), ("share/a", b"text")]);
        let folder = machine.folder.clone();
        // Nobody else uses it at this moment.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let run = folder.join("run/samba");
        let run = run.display();
        let own = [
            "private dir",
            "state directory",
            "lock directory",
            "cache directory",
            "pid directory",
            "ncalrpc dir",
        ];
        let own: String = own.iter().map(|name| format!("{name} = {run}\n")).collect();
        let configuration = folder.join("smb.conf");
        let text = format!(
            "[global]\nserver role = standalone server\nmap to guest = Bad User\nguest account = \
                root\ninterfaces = lo\n\
             bind interfaces only = yes\nsmb ports = {port}\ndisable spoolss = yes\nload printers = no\n\
             log file = {run}/log\n{own}[share]\npath = {}\nguest ok = yes\nread only = no\n",
            folder.join("share").display()
        );
        fs::write(&configuration, text).unwrap();
        let (Some(_samba), Some(client), Some(smbstatus)) =
            (Samba::start(&configuration), peer("smbclient"), peer("smbstatus"))
        else {
            return;
        };
        // The sessions and open files that smbstatus lists.
        let status = || {
            let output =
                Command::new(&smbstatus).arg("-s").arg(&configuration).arg("--json").output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let count = |word: &str| text.matches(word).count() as u64;
            (count("\"session_dialect\""), count("\"share_file_id\""))
        };
        let mut clients = Vec::new();
        let start = Instant::now();
        for wanted in 1..=2 {
            while status() != (wanted, wanted) {
                if start.elapsed() > Duration::from_secs(30) {
                    return tallymon_testkit::skip("a server of Samba cannot be used here");
                }
                let mut command = Command::new(&client);
                command.arg("-s").arg(&configuration).args([
                    "-N",
                    "-p",
                    &port.to_string(),
                    "//127.0.0.1/share",
                ]);
                let streams = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
                let mut child = streams.spawn().unwrap();
                let mut input = child.stdin.take().unwrap();
                input.write_all(b"open a\n").unwrap();
                std::thread::sleep(Duration::from_millis(500));
                if child.try_wait().unwrap().is_none() {
                    clients.push((child, input));
                }
            }
            let snapshot = machine.read(330);
            let values = instance(&snapshot, "");
            assert_eq!((named(&values, 314), named(&values, 362)), (Ok(wanted), Ok(wanted)));
        }
        for (mut child, input) in clients {
            drop(input);
            child.wait().unwrap();
        }
        let start = Instant::now();
        while status() != (0, 0) {
            assert!(start.elapsed() < Duration::from_secs(60), "the clients have gone");
            std::thread::sleep(Duration::from_millis(100));
        }
        let snapshot = machine.read(330);
        let values = instance(&snapshot, "");
        assert_eq!((named(&values, 314), named(&values, 362)), (Ok(0), Ok(0)));
    }
}
