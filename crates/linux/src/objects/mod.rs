//! The performance objects, one per file: a table of counters, and the code that fills it.

mod container;
mod control_group_details;
mod control_groups;
mod expression;
#[cfg(test)]
pub(crate) mod fake_machine_tests;
pub(crate) mod meter;
pub(crate) mod object;
mod paging_file;
mod print_queue;
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
mod memory_controller;
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
mod process_details;
mod processor;
mod processor_information;
mod protocol;
mod quantum;
mod ras;
mod sensors;
mod server;
mod smb_client;
pub(crate) mod system;
mod table;
mod tcp;
mod temperature;
mod terminal_services;
mod thermal;
pub(crate) mod thread;
mod udp;

use tallymon_provider::{CollectRequest, Profile};

use crate::sources::Needs;
use object::Object;

/// The sum of the needs of the requested objects.
pub(crate) fn needs<'o>(
    requested: impl Iterator<Item = &'o Box<dyn Object>>,
    request: &CollectRequest<'_>,
) -> Needs {
    let mut needs = Needs::default();
    requested.for_each(|object| needs.merge(object.needs(request)));
    needs
}

/// The objects of a profile.
pub(crate) fn of(profile: Profile) -> Vec<Box<dyn Object>> {
    let mut objects = all();
    if profile == Profile::NtStrict {
        objects.extend(nt_strict::all());
    }
    objects
}

/// All objects with a source on Linux. Process comes before Thread, whose instances name their parents by
/// position. System comes before both, so that its other files belong to the same window as the processes.
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
        Box::new(control_group_details::ControlGroupDetails::new()),
        Box::new(container::new()),
        Box::new(job_object_details::JobObjectDetails::new()),
        Box::new(process_details::ProcessDetails::new()),
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
        Box::new(temperature::TemperatureSensors::new()),
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
        Box::new(memory_controller::controllers()),
    ]
}
