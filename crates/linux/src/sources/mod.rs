//! Kernel files and tables that several objects share: kept open, read at most once a request, and only when
//! needed.

pub(crate) mod container_names;
pub(crate) mod control_groups;
pub(crate) mod disk_topology;
pub(crate) mod disks;
pub(crate) mod interfaces;
pub(crate) mod lazy_backend;
pub(crate) mod missing;
pub(crate) mod monotonic;
pub(crate) mod mounts;
pub(crate) mod network_counts;
pub(crate) mod optional;
pub(crate) mod processes;
pub(crate) mod processor_counts;
pub(crate) mod swap;
pub(crate) mod text_files;
pub(crate) mod units;

mod absence;
mod cached_file;
mod file_head;
mod findings;

use std::path::PathBuf;

use tallymon_provider::{Absence, FileTime, PartialSum, PerfTime, ReadWindow};

pub(crate) use self::absence::{absence, absence_of_route};
use self::cached_file::File;
use self::container_names::ContainerNames;
use self::control_groups::{Groups, find_groups};
use self::file_head::FileHead;
use self::processes::{IoTotals, ProcessNeeds, ProcessTable};
use self::swap::{SwapArea, swap_areas};
use crate::kernel::bpf::network::CountedFile;
use crate::kernel::netlink::socket::RouteSocket;
use crate::kernel::number_folder::NumberFolder;
use crate::kernel::proc::flat::Key;
use crate::kernel::proc::interrupts::Interrupts;
use crate::kernel::proc::loadavg::LoadAvg;
use crate::kernel::proc::meminfo::MemInfo;
use crate::kernel::proc::mountstats::{Mount, parse_mountstats};
use crate::kernel::proc::snmp::Snmp;
use crate::kernel::proc::snmp6::Snmp6;
use crate::kernel::proc::stat::Stat;
use crate::kernel::proc::sysvipc::{Semaphores, SharedMemory};
use crate::kernel::proc::vmstat::VmStat;
use crate::kernel::proc::{ParseError, SystemFacts};
use crate::kernel::reusable_file::{Buffer, ReadError, ReadMode, ReusableFile};
use crate::kernel::root::Root;
use crate::kernel::statvfs::Spaces;
use crate::kernel::time::{boot_time, clocks, steady};
use crate::sources::disks::{DiskLine, DiskTable, disk_lines};
use crate::sources::interfaces::{Interface, Interfaces};
use crate::sources::mounts::{FileSystem, mounted};
use crate::sources::network_counts::NetworkCounts;
use crate::sources::processor_counts::ProcessorCounts;
use crate::sources::text_files::{GroupFiles, TextFiles};
use crate::sources::units::Container;
use tallymon_provider::TierChoice;

/// What the requested objects need from the tables that they share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// What is read of each process.
    pub(crate) processes: ProcessNeeds,
}

impl Needs {
    /// Adds the needs of another object.
    pub(crate) fn merge(&mut self, other: Needs) {
        self.processes.merge(other.processes);
    }
}

/// Everything that objects read from.
pub(crate) struct Sources {
    pub(crate) root: Root,
    pub(crate) facts: SystemFacts,
    /// When the current request began: the time of objects that have a clock of their own.
    pub(crate) now: FileTime,
    pub(crate) perf_time: PerfTime,
    /// The oldest read time of the values of the current object.
    earliest: FileTime,
    /// When all processes were read in the current request.
    process_window: Option<(u64, ReadWindow)>,
    pub(crate) spaces: Spaces,
    pub(crate) processes: ProcessTable,
    /// Netlink socket for queries about connections.
    pub(crate) socket_diag: RouteSocket,
    interfaces: Interfaces,
    buffer: Buffer,
    request: u64,
    stat: File<Stat>,
    meminfo: File<MemInfo>,
    vmstat: File<VmStat>,
    /// The lines of `vmstat` before its events, which the BPF program does not read.
    vmstat_head: FileHead<VmStat>,
    loadavg: File<LoadAvg>,
    interrupts: File<Interrupts>,
    softirqs: File<CpuTotals>,
    /// The BPF program that replaces the three files above.
    counts: ProcessorCounts,
    diskstats: File<Vec<DiskLine>>,
    disks: DiskTable,
    mountinfo: File<Vec<FileSystem>>,
    swaps: File<Vec<SwapArea>>,
    semaphores: File<Semaphores>,
    shared_memory: File<SharedMemory>,
    mountstats: File<Vec<Mount>>,
    texts: TextFiles,
    group_texts: GroupFiles,
    /// The control groups, and the request in which they were listed.
    groups: (u64, Result<Groups, Absence>),
    /// The time just before they were listed.
    groups_at: FileTime,
    containers: ContainerNames,
    snmp: File<Snmp>,
    snmp6: File<Snmp6>,
    /// The BPF program that replaces the two files above.
    network: NetworkCounts,
}

/// A 32-bit counter for each CPU, by the number of the CPU.
pub(crate) type CpuTotals = Vec<(u32, u32)>;

/// Column sums of `/proc/softirqs`.
fn softirq_totals(bytes: &[u8]) -> Result<CpuTotals, ParseError> {
    let softirqs = crate::kernel::proc::softirqs::Softirqs::parse(bytes)?;
    Ok(softirqs.cpus.iter().copied().zip(softirqs.totals.iter().copied()).collect())
}

/// The numbers of a file, from the BPF program if it is trusted, else from the file.
fn counted<Numbers: CountedFile>(
    network: &mut NetworkCounts,
    file: &mut File<Numbers>,
    request: u64,
    buffer: &mut Buffer,
    earliest: &mut FileTime,
) -> Result<Numbers, Absence> {
    let is_first = file.request != request;
    if is_first && let Some((at, found)) = network.run_once(request) {
        *earliest = at.min(*earliest);
        return Ok(found);
    }
    let found = *file.get(request, buffer, earliest)?;
    if is_first {
        network.compare(&found);
    }
    Ok(found)
}

/// One accessor per file.
macro_rules! accessors {
    ($($name:ident: $value:ty;)*) => {
        $(
            /// The parsed file of this name in this request.
            pub(crate) fn $name(&mut self) -> Result<&$value, Absence> {
                self.$name.get(self.request, &mut self.buffer, &mut self.earliest)
            }
        )*
    };
}

impl Sources {
    pub(crate) fn open(root: Root, tier: TierChoice) -> Result<Sources, ReadError> {
        let folder = NumberFolder::open(&root.proc)?;
        let facts = SystemFacts {
            page_size: u64::try_from(rustix::param::page_size()).unwrap_or(4096),
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            boot_time: boot_time(),
            cpu_count: std::thread::available_parallelism()
                .map_or(1, |n| u32::try_from(n.get()).unwrap_or(1)),
        };
        let now = clocks();
        let proc = |name: &str| root.proc(name);
        Ok(Sources {
            facts,
            now: now.steady,
            perf_time: now.perf_time,
            earliest: now.steady,
            process_window: None,
            spaces: Spaces::new(),
            processes: ProcessTable::new(folder, root.is_system()).with_tier(tier),
            socket_diag: RouteSocket::of_sockets(),
            interfaces: Interfaces::new(),
            buffer: Buffer::new(),
            request: 0,
            stat: File::new(proc("stat"), ReadMode::Whole, Stat::parse).with_text(),
            meminfo: File::new(proc("meminfo"), ReadMode::Whole, MemInfo::parse).with_text(),
            vmstat: File::new(proc("vmstat"), ReadMode::Records, VmStat::parse).with_text(),
            vmstat_head: FileHead::new(proc("vmstat"), VmStat::parse),
            loadavg: File::new(proc("loadavg"), ReadMode::Whole, LoadAvg::parse),
            interrupts: File::new(proc("interrupts"), ReadMode::Records, Interrupts::parse),
            softirqs: File::new(proc("softirqs"), ReadMode::Records, softirq_totals),
            counts: ProcessorCounts::new(tier, root.is_system()),
            diskstats: File::new(proc("diskstats"), ReadMode::Records, disk_lines),
            disks: DiskTable::default(),
            // Only the real kernel signals changes.
            mountinfo: File::new(proc("self/mountinfo"), ReadMode::Records, mounted)
                .reread_on_change(root.is_system()),
            swaps: File::new(proc("swaps"), ReadMode::Records, swap_areas),
            semaphores: File::new(proc("sysvipc/sem"), ReadMode::Records, Semaphores::parse),
            shared_memory: File::new(proc("sysvipc/shm"), ReadMode::Records, SharedMemory::parse),
            mountstats: File::new(proc("self/mountstats"), ReadMode::Records, parse_mountstats),
            texts: TextFiles::default(),
            group_texts: GroupFiles::default(),
            groups: (0, Err(Absence::NotRequested)),
            containers: ContainerNames::default(),
            groups_at: FileTime(0),
            snmp: File::new(proc("net/snmp"), ReadMode::Whole, Snmp::parse),
            snmp6: File::new(proc("net/snmp6"), ReadMode::Whole, Snmp6::parse),
            network: NetworkCounts::new(tier, root.is_system()),
            root,
        })
    }

    /// Begins a request: from now on every file is read again when it is needed.
    pub(crate) fn begin(&mut self, needs: Needs) {
        self.request = self.request.wrapping_add(1);
        let now = clocks();
        self.now = now.steady;
        self.perf_time = now.perf_time;
        self.processes.begin(needs.processes);
    }

    /// Begins an object, at this time.
    pub(crate) fn begin_object(&mut self, now: FileTime) {
        self.earliest = now;
    }

    /// The oldest read time of the values of the current object.
    pub(crate) fn earliest(&self) -> FileTime {
        self.earliest
    }

    /// From when to when all processes were read in the current request.
    pub(crate) fn process_window(&self) -> Option<ReadWindow> {
        self.process_window.filter(|(request, _)| *request == self.request).map(|(_, window)| window)
    }

    /// Reads the processes once a request, and notes when. Files that the first object has read before belong
    /// to the same window: the CPUs of Idle, and what System needs besides the processes.
    fn refresh_processes(&mut self) -> Result<(), Absence> {
        let begin = self.process_window().map_or(self.earliest, |window| window.begin);
        self.earliest = self.earliest.min(begin);
        let refreshed = self.processes.refresh(&self.facts, self.now, &mut self.buffer);
        if self.process_window().is_none() {
            self.process_window = Some((self.request, ReadWindow { begin, end: steady() }));
        }
        refreshed
    }

    accessors! {
        stat: Stat;
        meminfo: MemInfo;
        vmstat: VmStat;
        loadavg: LoadAvg;
        swaps: Vec<SwapArea>;
        semaphores: Semaphores;
        shared_memory: SharedMemory;
        mountstats: Vec<Mount>;
    }

    /// The numbers of `/proc/net/snmp`.
    pub(crate) fn snmp(&mut self) -> Result<Snmp, Absence> {
        let (file, buffer) = (&mut self.snmp, &mut self.buffer);
        counted(&mut self.network, file, self.request, buffer, &mut self.earliest)
    }

    /// The numbers of `/proc/net/snmp6`.
    pub(crate) fn snmp6(&mut self) -> Result<Snmp6, Absence> {
        let (file, buffer) = (&mut self.snmp6, &mut self.buffer);
        counted(&mut self.network, file, self.request, buffer, &mut self.earliest)
    }

    /// Interrupts of each CPU.
    pub(crate) fn interrupts(&mut self) -> Result<CpuTotals, Absence> {
        let columns =
            |found: &Interrupts| found.cpus.iter().copied().zip(found.totals.iter().copied()).collect();
        let last_request = self.counts.run_once(self.request);
        if let Some((at, found)) = last_request.zip(self.counts.interrupts())
            && (self.interrupts.value.is_err() || self.counts.is_aligned())
        {
            self.earliest = at.min(self.earliest);
            return Ok(columns(&found));
        }
        let file = self.interrupts.get(self.request, &mut self.buffer, &mut self.earliest)?;
        if last_request.is_some() {
            self.counts.align(file);
        }
        Ok(columns(file))
    }

    /// Timer interrupts of each CPU.
    pub(crate) fn clock_interrupts(&mut self) -> Result<CpuTotals, Absence> {
        let last_request = self.counts.run_once(self.request);
        if let Some((at, found)) = last_request.zip(self.counts.interrupts())
            && let Some(clock) = found.clock
        {
            self.earliest = at.min(self.earliest);
            return Ok(found.cpus.into_iter().zip(clock).collect());
        }
        let file = self.interrupts.get(self.request, &mut self.buffer, &mut self.earliest)?;
        let clock = file.clock.as_ref().ok_or(Absence::NotFromThisDevice)?;
        Ok(file.cpus.iter().copied().zip(clock.iter().copied()).collect())
    }

    /// Soft interrupts of each possible CPU.
    pub(crate) fn softirqs(&mut self) -> Result<CpuTotals, Absence> {
        if let Some((at, found)) = self.counts.run_once(self.request).zip(self.counts.softirqs()) {
            self.earliest = at.min(self.earliest);
            return Ok(found);
        }
        self.softirqs.get(self.request, &mut self.buffer, &mut self.earliest).cloned()
    }

    /// The `/proc/vmstat` counts of page faults and of pages read, swapped out and reclaimed; others may be
    /// missing.
    pub(crate) fn memory_events(&mut self) -> Result<VmStat, Absence> {
        if self.vmstat.request != self.request
            && let Some((at, found)) = self.counts.run_once(self.request).zip(self.counts.events())
        {
            self.earliest = at.min(self.earliest);
            return Ok(found);
        }
        self.vmstat_head.need_all(self.request);
        self.vmstat().copied()
    }

    /// File pages that were read again soon after they were reclaimed, since boot.
    pub(crate) fn file_refaults(&mut self) -> Result<Option<u64>, Absence> {
        if self.vmstat.request != self.request
            && let Some(front) = self.vmstat_head.get(self.request, &mut self.buffer, &mut self.earliest)
        {
            let found = front?.0.file_refaults;
            if found.is_some() {
                return Ok(found);
            }
            self.vmstat_head.was_short();
        }
        Ok(self.vmstat()?.file_refaults)
    }

    /// The first lines of a file, if `keys` may be in them; `None` if not, or if the whole file was read
    /// already.
    pub(crate) fn head(&mut self, path: &'static str, keys: &[Key]) -> Option<&[u8]> {
        let is_first = |key: &Key| key.text().starts_with("nr_") || key.text().starts_with("workingset_");
        if path != "/proc/vmstat" {
            return None;
        }
        if !keys.iter().all(is_first) {
            self.vmstat_head.need_all(self.request);
        }
        if self.vmstat.request == self.request {
            return None;
        }
        let front = self.vmstat_head.get(self.request, &mut self.buffer, &mut self.earliest);
        front.and_then(Result::ok).map(|(_, text)| text)
    }

    /// Notes that a key was not in the first lines.
    pub(crate) fn head_was_short(&mut self) {
        self.vmstat_head.was_short();
    }

    /// The text of a file below `/proc` or `/sys`, read at most once a request.
    pub(crate) fn text(&mut self, path: &'static str) -> Result<&[u8], Absence> {
        macro_rules! typed {
            ($name:ident) => {{
                self.$name()?;
                Ok(self.$name.text.as_deref().unwrap_or_default())
            }};
        }
        match path {
            "/proc/stat" => typed!(stat),
            "/proc/meminfo" => typed!(meminfo),
            "/proc/vmstat" => typed!(vmstat),
            _ => {
                let (read_at, text) = self.texts.get(path, &self.root, self.request, &mut self.buffer);
                self.earliest = self.earliest.min(read_at);
                text
            }
        }
    }

    /// The text of the file of an instance, opened for this read only.
    pub(crate) fn text_of(&mut self, path: PathBuf) -> Result<&[u8], Absence> {
        ReusableFile::new(path, ReadMode::Records).read(&mut self.buffer).map_err(|error| absence(&error))
    }

    /// The text of the file of a control group, which stays open.
    pub(crate) fn text_of_group(&mut self, path: PathBuf) -> Result<&[u8], Absence> {
        self.group_texts.get(path, self.request, &mut self.buffer).map_err(|error| absence(&error))
    }

    /// The control groups, listed at most once a request, so that all objects use the same positions.
    pub(crate) fn groups(&mut self) -> Result<&Groups, Absence> {
        if self.groups.0 != self.request {
            self.groups_at = steady();
            self.groups = (self.request, find_groups(&self.root));
        }
        self.earliest = self.earliest.min(self.groups_at);
        self.groups.1.as_ref().map_err(|absence| *absence)
    }

    /// The name of a container, if its runtime has given it one and we may read it.
    pub(crate) fn container_name(&mut self, container: &Container) -> Option<String> {
        self.containers.of(container, &self.root, self.now)
    }

    /// The object time of objects with a clock of their own, as NT's System, Process and Thread: a file time.
    pub(crate) fn object_time(&self) -> PerfTime {
        PerfTime(self.now.0.cast_signed())
    }

    /// How many processes there are.
    pub(crate) fn process_count(&mut self) -> Result<u64, Absence> {
        if self.processes.counts_by_bpf() {
            self.refresh_processes()?;
        }
        // There is always at least this process. A directory without any process is not /proc.
        let count = self.processes.count(&self.facts, self.now, &mut self.buffer);
        count.and_then(|count| if count == 0 { Err(Absence::ReadFailed) } else { Ok(count) })
    }

    /// How many threads there are, from the same sample as the processes; `None` when this request does not
    /// need that.
    pub(crate) fn thread_count(&mut self) -> Option<u64> {
        if !self.processes.wants().stat {
            return None;
        }
        self.refresh_processes().ok()?;
        self.processes.thread_count()
    }

    /// All block devices, and the root below which more about them is found.
    pub(crate) fn disks(&mut self) -> Result<(&DiskTable, &Root), Absence> {
        let rows = self.diskstats.get(self.request, &mut self.buffer, &mut self.earliest)?;
        self.disks.update(self.request, rows);
        Ok((&self.disks, &self.root))
    }

    /// The mounted file systems, and a number that changes whenever they may have changed.
    pub(crate) fn file_systems(&mut self) -> Result<(&[FileSystem], u64), Absence> {
        self.mountinfo.get(self.request, &mut self.buffer, &mut self.earliest)?;
        let reads = self.mountinfo.reads;
        self.mountinfo.value.as_deref().map(|found| (found, reads)).map_err(|absence| *absence)
    }

    /// The I/O of all processes, including those that exited, and what the sum lacks.
    pub(crate) fn process_io(&mut self) -> Result<(IoTotals, Option<PartialSum>), Absence> {
        self.refresh_processes()?;
        self.processes.io_totals()
    }

    /// The interfaces of this network namespace with their statistics. Netlink only answers for the running
    /// machine; for another root there are none.
    pub(crate) fn interfaces(&mut self) -> Result<impl Iterator<Item = Interface<'_>>, Absence> {
        let all = match self.root.is_system() {
            true => Some(self.interfaces.get(self.request).map_err(|error| absence_of_route(&error))?),
            false => None,
        };
        if let Some((asked, _)) = &all {
            self.earliest = self.earliest.min(*asked);
        }
        Ok(all.into_iter().flat_map(|(_, all)| all))
    }

    /// A number that grows when an interface has changed, as of the last read.
    pub(crate) fn changes_of_interfaces(&self) -> u64 {
        self.interfaces.changes()
    }

    /// All processes, with the values that this request needs.
    pub(crate) fn all_processes(&mut self) -> Result<&ProcessTable, Absence> {
        let wants = self.processes.wants();
        if wants.cpu || wants.stat || wants.threads.is_some() {
            let stat = self.stat.get(self.request, &mut self.buffer, &mut self.earliest);
            self.processes.set_idle(stat, &self.facts);
        }
        self.refresh_processes()?;
        Ok(&self.processes)
    }
}

#[cfg(test)]
mod sources_tests;
