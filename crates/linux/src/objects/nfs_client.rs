//! Redirector (262) and NFS Client Mount: what the NFS mounts in this mount namespace have done; Redirector
//! includes SMB mounts.

use tallymon_provider::{
    Absence, CollectRequest, CounterSpec, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec,
    ObjectsWriter, PerfTime,
};

use super::object::Object;
use super::smb_client;
use super::spec::{Origin, object, rows};
use super::table::{add, write};
use crate::kernel::proc::cifs_stats::Share;
use crate::kernel::proc::mountstats::{Mount, Requests};
use crate::sources::Sources;

rows! { COUNTERS, ORIGINS {
    388 PERF_COUNTER_BULK_COUNT -4 NOVICE:
        C "/proc/self/mountstats: bytes sent and received of all requests + /proc/fs/cifs/Stats: bytes read \
         and written";
    406 (908_009) PERF_COUNTER_COUNTER 0 NOVICE:
        A "/proc/self/mountstats: READ and WRITE requests + /proc/fs/cifs/Stats: Reads + Writes";
    400 PERF_COUNTER_BULK_COUNT -1 NOVICE:
        C "/proc/self/mountstats: transmissions and requests + /proc/fs/cifs/Stats: SMBs twice";
    264 PERF_COUNTER_BULK_COUNT -4 ADVANCED:
        C "/proc/self/mountstats: bytes received of all requests + /proc/fs/cifs/Stats: Bytes read";
    266 PERF_COUNTER_BULK_COUNT -1 ADVANCED:
        C "/proc/self/mountstats: all requests + /proc/fs/cifs/Stats: SMBs";
    268 PERF_COUNTER_BULK_COUNT -4 EXPERT: C "/proc/self/mountstats: pages read";
    270 PERF_COUNTER_BULK_COUNT -4 EXPERT:
        C "/proc/self/mountstats: normal bytes read + /proc/fs/cifs/Stats: Bytes read";
    272 PERF_COUNTER_BULK_COUNT -4 EXPERT:
        A "/proc/self/mountstats: normal bytes read without those from the server";
    274 PERF_COUNTER_BULK_COUNT -4 NOVICE:
        E "/proc/self/mountstats: server bytes read + /proc/fs/cifs/Stats: Bytes read";
    276 PERF_COUNTER_BULK_COUNT -4 ADVANCED:
        C "/proc/self/mountstats: bytes sent of all requests + /proc/fs/cifs/Stats: Bytes written";
    278 PERF_COUNTER_BULK_COUNT -1 ADVANCED:
        C "/proc/self/mountstats: transmissions + /proc/fs/cifs/Stats: SMBs";
    280 PERF_COUNTER_BULK_COUNT -4 EXPERT: C "/proc/self/mountstats: pages written";
    282 PERF_COUNTER_BULK_COUNT -4 EXPERT:
        C "/proc/self/mountstats: normal bytes written + /proc/fs/cifs/Stats: Bytes written";
    284 PERF_COUNTER_BULK_COUNT -4 EXPERT: N;
    286 PERF_COUNTER_BULK_COUNT -4 NOVICE:
        E "/proc/self/mountstats: server bytes written + /proc/fs/cifs/Stats: Bytes written";
    10 (908_005) PERF_COUNTER_COUNTER 0 NOVICE:
        A "/proc/self/mountstats: READ requests + /proc/fs/cifs/Stats: Reads";
    290 PERF_COUNTER_COUNTER -1 ADVANCED: N;
    292 PERF_COUNTER_COUNTER -1 ADVANCED:
        E "/proc/self/mountstats: READ requests + /proc/fs/cifs/Stats: Reads";
    294 PERF_COUNTER_COUNTER 0 EXPERT: N;
    296 PERF_COUNTER_COUNTER -1 EXPERT: N;
    12 (908_007) PERF_COUNTER_COUNTER 0 NOVICE:
        A "/proc/self/mountstats: WRITE requests + /proc/fs/cifs/Stats: Writes";
    300 PERF_COUNTER_COUNTER -1 ADVANCED: N;
    302 PERF_COUNTER_COUNTER -1 ADVANCED:
        E "/proc/self/mountstats: WRITE requests + /proc/fs/cifs/Stats: Writes";
    304 PERF_COUNTER_COUNTER 0 EXPERT: N;
    306 PERF_COUNTER_COUNTER -1 EXPERT: N;
    308 PERF_COUNTER_COUNTER 0 ADVANCED: N;
    310 PERF_COUNTER_COUNTER 0 ADVANCED: N;
    312 PERF_COUNTER_COUNTER 0 NOVICE:
        C "/proc/self/mountstats: timeouts and errors of all requests + /proc/fs/cifs/Stats: the sum of \
         failed";
    314 PERF_COUNTER_RAWCOUNT 0 NOVICE:
        C "/proc/self/mountstats: servers of the mounts + /proc/fs/cifs/Stats: sessions";
    316 PERF_COUNTER_RAWCOUNT 0 ADVANCED:
        C "/proc/self/mountstats: connects behind the first + /proc/fs/cifs/Stats: reconnects";
    318 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    320 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    322 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    324 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    326 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    328 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
    392 PERF_COUNTER_RAWCOUNT 0 ADVANCED: N;
}}

rows! { MOUNT_COUNTERS, MOUNT_ORIGINS {
    901_002 PERF_COUNTER_COUNTER 0 NOVICE: E "/proc/self/mountstats: READ requests";
    901_004 PERF_COUNTER_COUNTER 0 NOVICE: E "/proc/self/mountstats: WRITE requests";
    901_006 PERF_COUNTER_COUNTER 0 NOVICE: E "/proc/self/mountstats: all requests";
    901_008 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "/proc/self/mountstats: server bytes read";
    901_010 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "/proc/self/mountstats: server bytes written";
    901_012 PERF_AVERAGE_TIMER 3 ADVANCED: E "/proc/self/mountstats: execute of READ";
    901_012 PERF_AVERAGE_BASE 3 ADVANCED: E "/proc/self/mountstats: READ requests";
    901_014 PERF_AVERAGE_TIMER 3 ADVANCED: E "/proc/self/mountstats: execute of WRITE";
    901_014 PERF_AVERAGE_BASE 3 ADVANCED: E "/proc/self/mountstats: WRITE requests";
    901_016 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/self/mountstats: transmissions without requests";
    901_018 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/self/mountstats: timeouts of all requests";
    901_020 PERF_COUNTER_COUNTER 0 ADVANCED: E "/proc/self/mountstats: errors of all requests" "5.3";
}}

type Values = Vec<Result<u64, Absence>>;

/// The values of Redirector for one mount, in the order of the counters.
fn redirector(mount: &Mount, page_size: u64) -> Values {
    let all = mount.all;
    let none = Err(Absence::NotOnThisSystem);
    let [read, written] = mount.server;
    let pages = mount.pages.map(|pages| Ok(pages.wrapping_mul(page_size)));
    vec![
        Ok(all.bytes_sent.wrapping_add(all.bytes_received)),
        Ok(mount.read.operations.wrapping_add(mount.write.operations)),
        Ok(all.transmissions.wrapping_add(all.operations)),
        Ok(all.bytes_received),
        Ok(all.operations),
        pages[0],
        Ok(mount.normal[0]),
        Ok(mount.normal[0].saturating_sub(read)),
        Ok(read),
        Ok(all.bytes_sent),
        Ok(all.transmissions),
        pages[1],
        Ok(mount.normal[1]),
        none,
        Ok(written),
        Ok(mount.read.operations),
        none,
        Ok(mount.read.operations),
        none,
        none,
        Ok(mount.write.operations),
        none,
        Ok(mount.write.operations),
        none,
        none,
        none,
        none,
        Ok(all.timeouts.wrapping_add(all.errors.unwrap_or(0))),
        // Servers and connections are counted below, over all mounts.
        Ok(0),
        Ok(mount.connects.saturating_sub(1)),
        none,
        none,
        none,
        none,
        none,
        none,
        none,
    ]
}

/// The position of the number of servers.
const SESSIONS: usize = 28;
/// The position of the number of reconnections.
const RECONNECTS: usize = 29;

/// The values of NFS Client Mount. A millisecond is 10,000 ticks of the performance clock.
fn one_mount(mount: &Mount) -> Values {
    let (read, write, all) = (mount.read, mount.write, mount.all);
    vec![
        Ok(read.operations),
        Ok(write.operations),
        Ok(all.operations),
        Ok(mount.server[0]),
        Ok(mount.server[1]),
        Ok(read.milliseconds.wrapping_mul(10_000)),
        Ok(read.operations),
        Ok(write.milliseconds.wrapping_mul(10_000)),
        Ok(write.operations),
        Ok(all.transmissions.saturating_sub(all.operations)),
        Ok(all.timeouts),
        all.errors.ok_or(Absence::NotInThisKernel),
    ]
}

/// One of the two objects.
pub(super) struct NfsClient {
    layout: ObjectLayout<'static>,
    origins: &'static [Origin],
}

impl NfsClient {
    /// The object Redirector: all mounts together.
    pub(super) fn redirector() -> NfsClient {
        NfsClient::new(262, InstanceKind::None, COUNTERS, ORIGINS)
    }

    /// The object NFS Client Mount: one instance per mount point.
    pub(super) fn mounts() -> NfsClient {
        NfsClient::new(901_000, InstanceKind::Many, MOUNT_COUNTERS, MOUNT_ORIGINS)
    }

    fn new(
        name: u32,
        kind: InstanceKind,
        counters: &'static [CounterSpec],
        origins: &'static [Origin],
    ) -> NfsClient {
        let spec = object(name, name.saturating_add(1), DetailLevel::NOVICE, 0, kind, counters);
        NfsClient { layout: ObjectLayout::new(spec), origins }
    }
}

impl Object for NfsClient {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        self.origins
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let spec = self.layout.spec();
        let page_size = sources.facts.page_size;
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let client = client(sources);
        let smb = smb_client::stats(sources);
        let client = if smb.is_ok() { Ok(()) } else { client };
        let mounts = sources.mountstats();
        if spec.instances == InstanceKind::Many {
            for mount in mounts.map_or(&[][..], Vec::as_slice) {
                let name = String::from_utf8_lossy(&crate::kernel::proc::scan::unescape(&mount.mount_point))
                    .into_owned();
                write(spec.counters, &mut object.instance(&name, None, None), &one_mount(mount), 0);
            }
            return;
        }
        let mut values = object.single();
        match mounts.map_or(&[][..], Vec::as_slice) {
            [] if client.is_err() => {
                let absence = client.err().unwrap_or(Absence::NotInThisKernel);
                values.absent(0..spec.counters.len(), absence);
            }
            mounts => {
                // A client without mounts has truly read and written nothing.
                let mut total = redirector(&Mount::default(), page_size);
                for mount in mounts {
                    add(&mut total, &redirector(mount, page_size));
                }
                let smb = smb.unwrap_or_default();
                for share in &smb.shares {
                    add(&mut total, &redirector(&as_mount(share), page_size));
                }
                let server =
                    |mount: &Mount| mount.device.split(|byte| *byte == b':').next().map(<[u8]>::to_vec);
                let servers: std::collections::BTreeSet<_> = mounts.iter().filter_map(server).collect();
                if let Some(sessions) = total.get_mut(SESSIONS) {
                    let servers = u64::try_from(servers.len()).unwrap_or(u64::MAX);
                    *sessions = Ok(servers.saturating_add(smb.sessions));
                }
                if let Some(Ok(reconnects)) = total.get_mut(RECONNECTS) {
                    *reconnects = reconnects.wrapping_add(smb.reconnects);
                }
                write(spec.counters, &mut values, &total, 0);
            }
        }
    }
}

/// An SMB share in the terms of NFS: its byte counts are those of files, and each request has an answer.
fn as_mount(share: &Share) -> Mount {
    let requests = |operations| Requests { operations, transmissions: operations, ..Requests::default() };
    let bytes = [share.bytes_read, share.bytes_written];
    Mount {
        normal: bytes,
        server: bytes,
        read: requests(share.reads),
        write: requests(share.writes),
        all: Requests {
            bytes_received: share.bytes_read,
            bytes_sent: share.bytes_written,
            errors: share.failed,
            ..requests(share.requests)
        },
        ..Mount::default()
    }
}

/// Whether the kernel has an NFS client: built in, or loaded at the first mount.
fn client(sources: &mut Sources) -> Result<(), Absence> {
    let text = sources.text("/proc/filesystems")?;
    let mut names = text.split(u8::is_ascii_whitespace);
    if names.any(|name| name == b"nfs" || name == b"nfs4") { Ok(()) } else { Err(Absence::NotInThisKernel) }
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use super::*;
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::ValueState;

    #[test]
    fn mounts_and_their_sum() {
        let mut machine = Machine::new(&[("proc/self/mountstats", &fixture("written/mountstats"))]);
        let snapshot = machine.read(262);
        let values = instance(&snapshot, "");
        for (counter, value) in [
            (264, 9144 + 64),
            (276, 13_044 + 100),
            (388, 9208 + 13_144),
            (272, 300),
            (274, 701),
            (286, 2102),
            (292, 11),
            (312, 6),
            (314, 2),
            (316, 1),
        ] {
            assert_eq!(named(&values, counter), Ok(value), "{counter}");
        }
        assert_eq!(named(&values, 290), Err(ValueState::Absent(Absence::NotOnThisSystem)));
        let snapshot = machine.read(901_000);
        assert_eq!(names(&snapshot), ["/home", "/mnt/old"]);
        let home = instance(&snapshot, "/home");
        assert_eq!((named(&home, 901_012), named(&home, 901_016)), (Ok(500_000), Ok(1)));
        let old = instance(&snapshot, "/mnt/old");
        assert_eq!(named(&old, 901_020), Err(ValueState::Absent(Absence::NotInThisKernel)));
    }

    #[test]
    fn without_mounts_values_are_zero_and_without_a_client_absent() {
        let mut machine = Machine::new(&[
            ("proc/self/mountstats", b"device proc mounted on /proc with fstype proc\n"),
            ("proc/filesystems", b"nodev\tproc\n\text4\nnodev\tnfsd\n"),
        ]);
        let snapshot = machine.read(262);
        let missing = Err(ValueState::Absent(Absence::NotInThisKernel));
        assert_eq!(named(&instance(&snapshot, ""), 388), missing);
        machine.write("proc/filesystems", b"nodev\tproc\nnodev\tnfs\nnodev\tnfs4\n");
        let snapshot = machine.read(262);
        assert_eq!(named(&instance(&snapshot, ""), 388), Ok(0));
        assert_eq!(named(&instance(&snapshot, ""), 316), Ok(0));
        assert!(names(&machine.read(901_000)).is_empty());
        assert_eq!(redirector(&Mount::default(), 1).len(), COUNTERS.len());
        assert_eq!(one_mount(&Mount::default()).len(), MOUNT_COUNTERS.len());
    }
}
