//! GPU Engine, GPU Process Memory and GPU Adapter Memory: how programs use graphics devices.
//!
//! Kernel drivers report usage in the descriptors of programs that have the device open, so all descriptors
//! of all processes have to be read: these objects are read by name only. Drivers from outside the kernel,
//! such as NVIDIA's closed one, report nothing there.

use std::collections::{BTreeMap, BTreeSet};

use tallymon_provider::{
    Absence, CollectRequest, CounterSpec, DetailLevel, Frequency, InstanceKind, ObjectLayout, ObjectSpec,
    ObjectsWriter, PerfTime,
};

use super::object::Object;
use super::spec::{Origin, object, rows};
use super::table::{list, write};
use crate::kernel::proc::drm_fdinfo::{DrmClient, Region};
use crate::sources::Sources;

rows! { ENGINE_COUNTERS, ENGINE_ORIGINS {
    905_602 PERF_100NSEC_TIMER 0 NOVICE: O "/proc/PID/fdinfo: drm-engine-NAME / 100" "5.19";
    905_604 PERF_COUNTER_LARGE_RAWCOUNT -7 ADVANCED: O "/proc/PID/fdinfo: drm-engine-NAME / 100" "5.19";
}}

rows! { PROCESS_COUNTERS, PROCESS_ORIGINS {
    906_202 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE:
        O "/proc/PID/fdinfo: drm-total-REGION, or drm-memory-REGION" "5.19";
    906_204 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE:
        O "/proc/PID/fdinfo: drm-resident-REGION of the device itself" "5.19";
    906_206 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE:
        O "/proc/PID/fdinfo: drm-resident-REGION of the machine" "5.19";
}}

rows! { ADAPTER_COUNTERS, ADAPTER_ORIGINS {
    906_402 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE:
        O "/proc/PID/fdinfo: drm-total-REGION of all clients" "5.19";
    906_404 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE:
        O "/sys/class/drm: mem_info_vram_used | /proc/PID/fdinfo: drm-resident-REGION of the device itself"
         "5.2";
    906_406 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE:
        O "/sys/class/drm: mem_info_gtt_used | /proc/PID/fdinfo: drm-resident-REGION of the machine" "5.2";
    906_408 PERF_COUNTER_RAWCOUNT 0 NOVICE: O "/sys/class/drm: gpu_busy_percent" "4.19";
}}

/// Which of the three objects it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Engines,
    Processes,
    Adapters,
}

/// One of the three objects.
pub(super) struct Gpu {
    layout: ObjectLayout<'static>,
    origins: &'static [Origin],
    part: Part,
}

impl Gpu {
    /// The object GPU Engine: one instance per process, device and engine.
    pub(super) fn engines() -> Gpu {
        Gpu::new(905_600, ENGINE_COUNTERS, ENGINE_ORIGINS, Part::Engines)
    }

    /// The object GPU Process Memory: one instance per process and device.
    pub(super) fn processes() -> Gpu {
        Gpu::new(906_200, PROCESS_COUNTERS, PROCESS_ORIGINS, Part::Processes)
    }

    /// The object GPU Adapter Memory: one instance per device.
    pub(super) fn adapters() -> Gpu {
        Gpu::new(906_400, ADAPTER_COUNTERS, ADAPTER_ORIGINS, Part::Adapters)
    }

    fn new(name: u32, counters: &'static [CounterSpec], origins: &'static [Origin], part: Part) -> Gpu {
        let spec =
            object(name, name.saturating_add(1), DetailLevel::ADVANCED, 0, InstanceKind::Many, counters);
        Gpu { layout: ObjectLayout::new(spec), origins, part }
    }
}

impl Object for Gpu {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        self.origins
    }

    fn costly(&self) -> bool {
        true
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let clients = clients(sources);
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let rows = match self.part {
            Part::Engines => engines(&clients),
            Part::Processes => processes(&clients),
            Part::Adapters => adapters(sources, &clients),
        };
        for (name, values) in rows {
            write(self.layout.spec().counters, &mut object.instance(&name, None, None), &values, 0);
        }
    }
}

type Rows = BTreeMap<String, Vec<Result<u64, Absence>>>;

/// The clients of all processes, each once, however many descriptors it has.
type Clients = BTreeMap<(u32, String, u64), DrmClient>;

/// Whether the kernel has a graphics device that a program can have open. Where it does not tell, there may
/// be one.
fn may_have_devices(sources: &Sources) -> bool {
    let is_device = |name: &str| {
        let number = name.strip_prefix("card").or_else(|| name.strip_prefix("renderD"));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let devices = super::table::folders(sources, "class/drm", is_device);
    devices.map_or(true, |devices| !devices.is_empty() || !sources.root.sys("class").is_dir())
}

/// Reads the descriptors of all processes, as far as that is allowed; none on a machine without a device,
/// where it would be nearly all that a sample of 1,000 processes costs.
fn clients(sources: &mut Sources) -> Clients {
    let mut found = Clients::new();
    if !may_have_devices(sources) {
        return found;
    }
    let processes = list(sources.root.proc(""), |name| name.bytes().all(|byte| byte.is_ascii_digit()));
    for (name, folder) in processes.unwrap_or_default() {
        let Ok(pid) = name.parse() else { continue };
        for (descriptor, link) in list(folder.join("fd"), |_| true).unwrap_or_default() {
            if !std::fs::read_link(link).is_ok_and(|target| target.starts_with("/dev/dri")) {
                continue;
            }
            let Ok(text) = sources.text_of(folder.join("fdinfo").join(descriptor)) else { continue };
            if let Some(client) = DrmClient::parse(text) {
                found.insert((pid, client.device.clone(), client.client), client);
            }
        }
    }
    found
}

fn engines(clients: &Clients) -> Rows {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for ((pid, device, _), client) in clients {
        for (engine, nanoseconds) in &client.engines {
            // The names are those of Windows, with the address of the device as identifier.
            let sum = sums.entry(format!("pid_{pid}_luid_{device}_phys_0_engtype_{engine}")).or_default();
            let capacity = client.capacities.get(engine).copied().unwrap_or(1).max(1);
            *sum = sum.saturating_add(nanoseconds.checked_div(capacity).unwrap_or(0));
        }
    }
    sums.into_iter().map(|(name, sum)| (name, vec![Ok(sum / 100); 2])).collect()
}

/// Allocated bytes, and resident bytes in the device and in main memory.
#[derive(Clone, Copy, Default)]
struct Memory {
    committed: u64,
    dedicated: u64,
    shared: u64,
}

impl Memory {
    fn add(&mut self, client: &DrmClient) {
        for (name, Region { total, resident }) in &client.regions {
            self.committed = self.committed.saturating_add(*total);
            let own = ["vram", "local", "lmem", "stolen"].iter().any(|kind| name.starts_with(kind));
            let sum = if own { &mut self.dedicated } else { &mut self.shared };
            *sum = sum.saturating_add(*resident);
        }
    }

    fn values(self) -> Vec<Result<u64, Absence>> {
        vec![Ok(self.committed), Ok(self.dedicated), Ok(self.shared)]
    }
}

fn processes(clients: &Clients) -> Rows {
    let mut sums: BTreeMap<String, Memory> = BTreeMap::new();
    for ((pid, device, _), client) in clients {
        sums.entry(format!("pid_{pid}_luid_{device}_phys_0")).or_default().add(client);
    }
    sums.into_iter().map(|(name, memory)| (name, memory.values())).collect()
}

/// Devices that have a card in `/sys` or a client. The driver's number for the whole device is better than a
/// sum.
fn adapters(sources: &mut Sources, clients: &Clients) -> Rows {
    let mut sums: BTreeMap<String, Memory> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for ((_, device, number), client) in clients {
        // A client shared by two processes counts once.
        if known.insert((device, number)) {
            sums.entry(device.clone()).or_default().add(client);
        }
    }
    let cards = super::table::folders(sources, "class/drm", |name| {
        name.strip_prefix("card").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let mut own: BTreeMap<String, [Result<u64, Absence>; 3]> = BTreeMap::new();
    for (card, folder) in cards.unwrap_or_default() {
        let device = std::fs::canonicalize(folder.join("device"));
        let device = device.ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let mut number = |file: &str| {
            let text = sources.text_of(folder.join("device").join(file))?;
            crate::kernel::proc::scan::decimal(text.trim_ascii()).ok_or(Absence::ReadFailed)
        };
        let told = [number("mem_info_vram_used"), number("mem_info_gtt_used"), number("gpu_busy_percent")];
        let device = device.unwrap_or(card);
        sums.entry(device.clone()).or_default();
        own.insert(device, told);
    }
    let row = |(device, memory): (String, Memory)| {
        let mut values = memory.values();
        let none = Err(Absence::NotFromThisDevice);
        let told = own.get(&device).copied().unwrap_or([none; 3]);
        for (value, told) in values.iter_mut().skip(1).zip(told) {
            *value = told.or(*value);
        }
        values.push(told.last().copied().unwrap_or(none).or(none));
        (format!("luid_{device}_phys_0"), values)
    };
    sums.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use tallymon_provider::{Absence, ValueState};

    #[test]
    fn engines_and_memory_of_clients() {
        let client = b"drm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\ndrm-engine-gfx:\t5000 \
            ns\ndrm-engine-dec:\t400 ns\n\
            drm-engine-capacity-dec:\t2\ndrm-total-vram:\t8 KiB\ndrm-resident-vram:\t4 \
            KiB\ndrm-total-gtt:\t2 KiB\ndrm-resident-gtt:\t1 KiB\n";
        let mut machine = Machine::new(&[
            ("proc/12/fdinfo/3", client),
            ("proc/12/fdinfo/4", client),
            ("proc/12/fdinfo/5", b"drm-client-id:\t9\n"),
            ("proc/12/fd/", b""),
            ("proc/13/fdinfo/1", client),
            ("proc/13/fd/", b""),
            ("sys/devices/0000:03:00.0/mem_info_vram_used", b"77777\n"),
            ("sys/devices/0000:03:00.0/gpu_busy_percent", b"42\n"),
            ("sys/class/drm/card0/dev", b"226:0\n"),
            ("sys/class/drm/card0-DP-1/status", b"connected\n"),
        ]);
        let link = |target: &str, name: &str| symlink(target, machine.folder.join(name)).unwrap();
        link("/dev/dri/card0", "proc/12/fd/3");
        link("/dev/dri/renderD128", "proc/12/fd/4");
        link("/dev/null", "proc/12/fd/5");
        link("/dev/dri/card0", "proc/13/fd/1");
        link("../../../devices/0000:03:00.0", "sys/class/drm/card0/device");
        let snapshot = machine.read(905_600);
        let name = |pid: u32, engine: &str| format!("pid_{pid}_luid_0000:03:00.0_phys_0_engtype_{engine}");
        assert_eq!(names(&snapshot), [name(12, "dec"), name(12, "gfx"), name(13, "dec"), name(13, "gfx")]);
        assert_eq!(named(&instance(&snapshot, &name(12, "gfx")), 905_602), Ok(50));
        assert_eq!(named(&instance(&snapshot, &name(12, "dec")), 905_604), Ok(2), "of two engines");
        let snapshot = machine.read(906_200);
        let process = instance(&snapshot, "pid_13_luid_0000:03:00.0_phys_0");
        let memory = [906_202, 906_204, 906_206].map(|counter| named(&process, counter));
        assert_eq!(memory, [Ok(10 << 10), Ok(4 << 10), Ok(1 << 10)]);
        let snapshot = machine.read(906_400);
        let adapter = instance(&snapshot, "luid_0000:03:00.0_phys_0");
        let memory = [906_402, 906_404, 906_406, 906_408].map(|counter| named(&adapter, counter));
        assert_eq!(memory, [Ok(10 << 10), Ok(77_777), Ok(1 << 10), Ok(42)], "one client, shared by two");
    }

    /// The files of programs are many: they are read only where one of them can be a device.
    #[test]
    fn without_a_device_no_descriptors_are_read() {
        let client = b"drm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\ndrm-engine-gfx:\t5000 ns\n";
        for (device, clients) in
            [("card0/dev", 1), ("renderD128/dev", 1), ("version", 0), ("card0-DP-1/status", 0), ("", 1)]
        {
            // Where the kernel tells nothing of devices there may be one.
            let sys = format!("sys/class/drm/{device}");
            let file = if device.is_empty() { "sys/kernel/x" } else { sys.as_str() };
            let mut machine =
                Machine::new(&[("proc/12/fdinfo/3", client), ("proc/12/fd/", b""), (file, b"226:0\n")]);
            symlink("/dev/dri/card0", machine.folder.join("proc/12/fd/3")).unwrap();
            assert_eq!(names(&machine.read(905_600)).len(), clients, "{file}");
        }
    }

    #[test]
    fn a_card_without_clients() {
        let mut machine = Machine::new(&[("sys/class/drm/card1/device/vendor", b"0x8086\n")]);
        let snapshot = machine.read(906_400);
        let adapter = instance(&snapshot, "luid_device_phys_0");
        assert_eq!(named(&adapter, 906_404), Ok(0));
        assert_eq!(named(&adapter, 906_408), Err(ValueState::Absent(Absence::NotFromThisDevice)));
        assert!(names(&machine.read(905_600)).is_empty());
    }
}
