//! What the overview shows at one time: plain numbers with their names, units are those of the metric.

use tallymon::core::flow::NoValue;
use tallymon::core::time::FileTime;

use crate::model::overview::process_row::ProcessRow;

/// A number now, and what it was before.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauge {
    /// The number, or why there is none.
    pub value: Result<f64, NoValue>,
    /// The numbers up to this time, oldest first; NaN where there was none.
    pub history: Vec<f32>,
    /// The path of its counter.
    pub path: String,
}

impl Gauge {
    /// A counter that the source does not have.
    pub const fn none() -> Gauge {
        Gauge { value: Err(NoValue::NoCounter), history: Vec::new(), path: String::new() }
    }

    /// The number, if there is one.
    pub fn number(&self) -> Option<f64> {
        self.value.as_ref().ok().copied()
    }

    /// Whether nothing happened for as long as the history goes back.
    pub fn is_idle(&self) -> bool {
        let is_some = |number: f32| number > 0.05;
        !self.number().is_some_and(|number| number > 0.05)
            && !self.history.iter().any(|number| is_some(*number))
    }
}

/// The processors.
#[derive(Debug, Clone, PartialEq)]
pub struct Processors {
    /// Their name, where it is known: on the running machine.
    pub name: Option<String>,
    /// Per cent of each processor.
    pub each: Vec<(String, Gauge)>,
    /// Per cent of all of them.
    pub total: Gauge,
    /// Per cent in programs and in the kernel.
    pub user: Gauge,
    /// Per cent in the kernel.
    pub kernel: Gauge,
    /// Tasks that run or wait, over one, five and fifteen minutes.
    pub load: [Gauge; 3],
    /// Per cent of all processors in which tasks waited for a disk.
    pub waiting_for_disk: Gauge,
    /// Per cent of all processors that the host gave to other virtual machines.
    pub stolen: Gauge,
    /// Megahertz.
    pub speed: Gauge,
    /// Tasks that wait.
    pub queue: Gauge,
    /// Processes.
    pub processes: Gauge,
    /// Threads.
    pub threads: Gauge,
    /// Switches between tasks a second.
    pub switches: Gauge,
    /// Seconds since the start of the machine.
    pub up: Gauge,
}

/// Memory, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// All of it, where the source has it.
    pub total: Option<f64>,
    /// What programs can still get.
    pub available: Gauge,
    /// What nothing uses.
    pub free: Gauge,
    /// Committed memory.
    pub committed: Gauge,
    /// The limit of committed memory.
    pub limit: Gauge,
    /// Per cent of the swap.
    pub swap: Gauge,
    /// The size of the swap, where the source has it.
    pub swap_size: Option<f64>,
    /// Pages a second from and to disks.
    pub paging: Gauge,
}

impl OverviewView {
    /// The hottest sensor.
    pub fn hottest(&self) -> Option<&Sensor> {
        self.sensors.first().filter(|sensor| sensor.kind == SensorKind::Temperature)
    }
}

impl Memory {
    /// All memory and what programs can still get. `None` where the source does not have both, or where they
    /// contradict each other: then nothing is known of what is used.
    fn total_and_available(&self) -> Option<(f64, f64)> {
        let (total, available) = (self.total?, self.available.number()?);
        (available <= total).then_some((total, available))
    }

    /// What programs and the kernel use, what they gave up if asked, and what nothing uses; `None` where the
    /// source does not say it.
    pub fn parts(&self) -> Option<[f64; 3]> {
        let (total, available) = self.total_and_available()?;
        let free = self.free.number().unwrap_or(available).min(available);
        Some([total - available, available - free, free])
    }

    /// Per cent that is in use: of the memory, else of the commit limit.
    pub fn share(&self) -> Option<f64> {
        if let Some((total, available)) = self.total_and_available() {
            return (total > 0.0).then(|| ((total - available) / total * 100.0).clamp(0.0, 100.0));
        }
        let (committed, limit) = (self.committed.number()?, self.limit.number()?);
        (limit > 0.0).then(|| (committed / limit * 100.0).clamp(0.0, 100.0))
    }

    /// The same per cent in the past, oldest first; nothing where it is not known.
    pub fn share_history(&self) -> Vec<f32> {
        let (past, whole, is_left) = match self.total_and_available() {
            Some((total, _)) => (&self.available, Some(total), true),
            None => (&self.committed, self.limit.number(), false),
        };
        let Some(whole) = whole.filter(|whole| *whole > 0.0) else { return Vec::new() };
        let share = |number: &f32| {
            let part = f64::from(*number) / whole * 100.0;
            (if is_left { 100.0 - part } else { part }) as f32
        };
        past.history.iter().map(share).collect()
    }
}

/// A disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// Its instance.
    pub name: String,
    /// Per cent of the time in which it works.
    pub busy: Gauge,
    /// Bytes read a second.
    pub read: Gauge,
    /// Bytes written a second.
    pub write: Gauge,
    /// Seconds that a transfer takes.
    pub latency: Gauge,
    /// Requests that are not finished.
    pub queue: Gauge,
}

/// A file system.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSystem {
    /// Its instance: where it is mounted, or its letter.
    pub name: String,
    /// Per cent that are in use, as `df` has it: of what programs can use.
    pub share: Gauge,
    /// Bytes in use, where the size is known.
    pub used: Option<f64>,
    /// Bytes that programs can still write.
    pub free: Gauge,
    /// Its size in bytes, where it is known.
    pub size: Option<f64>,
}

/// What a sensor measures, in the order of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SensorKind {
    /// Degrees Celsius.
    Temperature,
    /// Per cent of a battery's charge.
    Charge,
    /// Watts.
    Power,
    /// Turns a minute.
    Fan,
}

/// A sensor that has a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensor {
    /// Its chip and label.
    pub name: String,
    /// What it measures.
    pub kind: SensorKind,
    /// The number in the unit of its kind.
    pub gauge: Gauge,
}

/// A container.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// Per cent of one processor.
    pub busy: Gauge,
    /// Bytes of memory in use.
    pub memory: Gauge,
    /// Bytes received a second.
    pub received: Gauge,
    /// Bytes sent a second.
    pub sent: Gauge,
}

/// A graphics processor.
#[derive(Debug, Clone, PartialEq)]
pub struct Graphics {
    /// Its address.
    pub name: String,
    /// Per cent of the time in which it works.
    pub busy: Gauge,
    /// Bytes in use of its own memory.
    pub own: Gauge,
    /// Bytes in use of the memory that it shares with the machine.
    pub shared: Gauge,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq)]
pub struct Interface {
    /// Its instance.
    pub name: String,
    /// Bytes received a second.
    pub received: Gauge,
    /// Bytes sent a second.
    pub sent: Gauge,
    /// Bytes that it can send a second, where it says so.
    pub speed: Option<f64>,
    /// Bytes received and sent since the machine or the interface started, where the source has the counts.
    pub totals: [Option<f64>; 2],
    /// Its addresses now, with the lengths of their prefixes: `192.0.2.7/24`. Empty where they are not known: for
    /// a log and for another machine.
    pub addresses: Vec<String>,
}

/// Instances that share one line: idle ones and virtual ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Folded {
    /// Their names.
    pub names: Vec<String>,
    /// The sums of their numbers: bytes in and out.
    pub sums: [f64; 2],
}

/// What tasks waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Pressure {
    /// Processor: some task waited.
    pub processor: Gauge,
    /// Memory: some task waited, all tasks waited.
    pub memory: [Gauge; 2],
    /// Disks: some task waited, all tasks waited.
    pub disk: [Gauge; 2],
}

/// Everything that the overview shows at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct OverviewView {
    /// The time; `None` before the first sample.
    pub time: Option<FileTime>,
    /// Number of the row, for pictures that move with it.
    pub row: u64,
    /// Processors.
    pub processors: Processors,
    /// Memory.
    pub memory: Memory,
    /// Disks that work, busiest first.
    pub disks: Vec<Disk>,
    /// The other disks.
    pub idle_disks: Folded,
    /// File systems with files of people, fullest first.
    pub file_systems: Vec<FileSystem>,
    /// The other file systems: in memory, images, those of containers.
    pub other_file_systems: Folded,
    /// Interfaces that work, in their order.
    pub interfaces: Vec<Interface>,
    /// The other interfaces.
    pub idle_interfaces: Folded,
    /// Pressure.
    pub pressure: Pressure,
    /// Sensors that have a value: the hottest first, then batteries, power and fans.
    pub sensors: Vec<Sensor>,
    /// Containers, busiest first.
    pub containers: Vec<Container>,
    /// Graphics processors with a value, busiest first.
    pub graphics: Vec<Graphics>,
    /// Processes, in the order of the source; `None` where none are kept of this time.
    pub processes: Option<Vec<ProcessRow>>,
}
