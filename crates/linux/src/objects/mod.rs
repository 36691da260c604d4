//! One object a file: its table of counters, and how they are filled.

pub(crate) mod control_groups;
pub(crate) mod expression;
#[cfg(test)]
pub(crate) mod fake_machine;
pub(crate) mod meter;
pub(crate) mod paging_file;
pub(crate) mod print_queue;
pub(crate) mod spec;

mod block_device;
mod cache;
mod energy_meter;
mod file_system;
mod file_system_kinds;
mod gpu;
mod icmp;
mod icmpv6;
mod ip;
mod job_object_details;
mod kernel_tables;
mod logical_disk;
mod memory;
mod memory_tables;
#[cfg(test)]
mod namespaces_tests;
mod network_interface;
mod network_tables;
mod nfs_client;
mod nt_strict;
mod numa_node_memory;
#[allow(clippy::module_inception, reason = "NT's own name of this object")]
mod objects;
mod performance_counters;
mod physical_disk;
#[cfg(test)]
mod predecessors_tests;
mod pressure;
pub(crate) mod process;
mod processor;
mod processor_information;
mod protocol;
mod ras;
mod sensors;
mod server;
mod smb_client;
pub(crate) mod system;
mod table;
mod tcp;
mod terminal_services;
mod thermal;
pub(crate) mod thread;
mod udp;

use tallymon_provider::{
    Ask, CounterSpec, CounterType, ObjectSpec, ObjectsWriter, Profile, ReadWindow, TitleIndex,
};

use crate::sources::Sources;
use spec::Origin;

/// One performance object.
pub(crate) trait Object: Send {
    /// What it looks like.
    fn spec(&self) -> &ObjectSpec<'static>;

    /// Where the values of its counters come from, one a counter.
    fn origins(&self) -> &'static [Origin];

    /// The steps in which the raw value of the counter at a position grows.
    fn quantum(&self, position: usize) -> u64 {
        let _ = position;
        1
    }

    /// Whether `_Total` is the mean of the other instances, and not their sum, for the counter at a position.
    fn total_is_mean(&self, position: usize) -> bool {
        let _ = position;
        false
    }

    /// From when to when its values were read, if that is not the time of [`Object::collect`].
    fn window(&self, sources: &Sources) -> Option<ReadWindow> {
        let _ = sources;
        None
    }

    /// Whether it is so dear that it is read only when it is asked for by name.
    fn costly(&self) -> bool {
        false
    }

    /// The sources of an object that is a table, for the tests.
    #[cfg(test)]
    fn expressions(&self) -> Option<&[crate::objects::expression::Expression]> {
        None
    }

    /// Writes it. A counter whose source is missing is marked as absent, one that nobody looks at need not be read.
    fn collect(&mut self, ask: &Ask<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>);
}

/// The step of times that the kernel gives in ticks, in 100 ns units: it shows 100 a second, whatever it counts inside.
pub(crate) const TICK: u64 = 100_000;

/// The step of disk times, in 100 ns units: milliseconds.
pub(crate) const MILLISECOND: u64 = 10_000;

/// The step of what disks read and write, in bytes: a sector, of whatever disk.
pub(crate) const SECTOR: u64 = 512;

/// The step of a counter of ticks among counts.
pub(crate) fn quantum_of_ticks(counters: &[CounterSpec], position: usize) -> u64 {
    match counters.get(position).map(|counter| counter.counter_type) {
        Some(CounterType::PERF_100NSEC_TIMER | CounterType::PERF_100NSEC_TIMER_INV) => TICK,
        _ => 1,
    }
}

/// The step of a counter of Process or Thread: the CPU clock is exact; the files give its two parts in ticks.
pub(crate) fn quantum_of_parts(counters: &[CounterSpec], position: usize) -> u64 {
    /// % User Time and % Privileged Time.
    const PARTS: [TitleIndex; 2] = [TitleIndex(142), TitleIndex(144)];
    let is_part = counters.get(position).is_some_and(|counter| PARTS.contains(&counter.name));
    if is_part { TICK } else { 1 }
}

/// Whether a counter is a share of time, of which NT shows the mean of processors and disks.
pub(crate) fn is_share_of_time(counters: &[CounterSpec], position: usize) -> bool {
    let kind = counters.get(position).map(|counter| counter.counter_type);
    matches!(
        kind,
        Some(
            CounterType::PERF_100NSEC_TIMER
                | CounterType::PERF_100NSEC_TIMER_INV
                | CounterType::PERF_PRECISION_100NS_TIMER
        )
    )
}

/// Process, the parent of Thread.
pub(crate) const PROCESS: TitleIndex = TitleIndex(230);
/// Thread.
pub(crate) const THREAD: TitleIndex = TitleIndex(232);

/// Job Object, the parent of Job Object Details.
pub(crate) const JOB_OBJECT: TitleIndex = TitleIndex(1500);
/// Job Object Details.
pub(crate) const JOB_OBJECT_DETAILS: TitleIndex = TitleIndex(1548);

/// The objects of a profile.
pub(crate) fn of(profile: Profile) -> Vec<Box<dyn Object>> {
    let mut objects = all();
    if profile == Profile::NtStrict {
        objects.extend(nt_strict::all());
    }
    objects
}

/// Every object that this system has a source for. Process stands before Thread, whose instances name their parents by position,
/// and System before both, so that what it reads beside the processes is of the same window.
fn all() -> Vec<Box<dyn Object>> {
    vec![
        Box::new(system::System::new()),
        Box::new(memory::Memory::new()),
        Box::new(process::Process::new()),
        Box::new(thread::Thread::new()),
        Box::new(physical_disk::PhysicalDisk::new()),
        Box::new(logical_disk::LogicalDisk::new()),
        Box::new(processor::Processor::new()),
        Box::new(objects::Objects::new()),
        Box::new(network_interface::NetworkInterface::new()),
        Box::new(ip::v4()),
        Box::new(ip::v6()),
        Box::new(icmp::new()),
        Box::new(icmpv6::new()),
        Box::new(tcp::v4()),
        Box::new(tcp::TcpV6::new()),
        Box::new(udp::v4()),
        Box::new(udp::v6()),
        Box::new(pressure::new()),
        Box::new(numa_node_memory::new()),
        Box::new(thermal::ThermalZones::new()),
        Box::new(energy_meter::EnergyMeter::new()),
        Box::new(cache::new()),
        Box::new(control_groups::jobs()),
        Box::new(control_groups::control_groups()),
        Box::new(job_object_details::JobObjectDetails::new()),
        Box::new(processor_information::ProcessorInformation::new()),
        Box::new(network_tables::tcp()),
        Box::new(network_tables::ip()),
        Box::new(network_tables::sockets()),
        Box::new(network_tables::tracking()),
        Box::new(network_tables::backlog()),
        Box::new(network_tables::virtual_server()),
        Box::new(memory_tables::page_cache()),
        Box::new(memory_tables::memory()),
        Box::new(kernel_tables::objects()),
        Box::new(kernel_tables::system()),
        Box::new(kernel_tables::softirqs()),
        Box::new(ras::port()),
        Box::new(ras::total()),
        Box::new(nfs_client::NfsClient::redirector()),
        Box::new(nfs_client::NfsClient::mounts()),
        Box::new(smb_client::SmbClientShare::new()),
        Box::new(server::server()),
        Box::new(server::ServerWorkQueues::new()),
        Box::new(sensors::supplies()),
        Box::new(sensors::fans()),
        Box::new(sensors::voltages()),
        Box::new(block_device::devices()),
        Box::new(file_system::FileSystems::new()),
        Box::new(block_device::arrays()),
        Box::new(block_device::members()),
        Box::new(file_system_kinds::xfs()),
        Box::new(file_system_kinds::ext4()),
        Box::new(file_system_kinds::btrfs()),
        Box::new(terminal_services::TerminalServices::new()),
        Box::new(terminal_services::sessions()),
        Box::new(print_queue::PrintQueue::new()),
        Box::new(gpu::Gpu::engines()),
        Box::new(gpu::Gpu::processes()),
        Box::new(gpu::Gpu::adapters()),
        Box::new(performance_counters::PerformanceCounters::new()),
        Box::new(paging_file::PagingFile::new()),
    ]
}
