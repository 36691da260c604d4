//! From series to what the overview shows at a time.

use std::borrow::Cow;
use std::collections::HashMap;

use tallymon::core::flow::NoValue;
use tallymon::core::time::FileTime;

use crate::model::Series;
use crate::model::overview::Overview;
use crate::model::overview::counters::{COUNTERS, Metric};
use crate::model::overview::view::{
    Disk, Folded, Gauge, Interface, Memory, OverviewView, Pressure, Processors,
};

/// The sum of all instances.
const TOTAL: &str = "_Total";
/// Bytes of a KiB.
const KIB: f64 = 1_024.0;
/// Bytes of a MiB.
pub(super) const MIB: f64 = 1_048_576.0;

/// The series of each metric at a row.
pub(super) struct Gatherer<'o> {
    overview: &'o Overview,
    series: HashMap<Metric, Vec<&'o Series>>,
    row: Option<u64>,
    /// How long histories are, and that of all processors.
    points: usize,
    wide: usize,
}

impl Overview {
    /// What was at a time, with so many points of history, and `wide` points of all processors.
    pub fn view(&self, time: Option<FileTime>, points: usize, wide: usize) -> OverviewView {
        let mut series: HashMap<Metric, Vec<&Series>> = HashMap::new();
        let metrics: HashMap<&str, Metric> =
            COUNTERS.iter().map(|counter| (counter.path, counter.metric)).collect();
        for one in self.rows().series() {
            if let Some(metric) = metrics.get(one.asked.as_str()) {
                series.entry(*metric).or_default().push(one);
            }
        }
        let row = time.and_then(|time| self.row_of(time));
        let gatherer = Gatherer { overview: self, series, row, points, wide };
        gatherer.view(time)
    }
}

impl Gatherer<'_> {
    fn view(&self, time: Option<FileTime>) -> OverviewView {
        let (disks, idle_disks) = self.disks();
        let (file_systems, other_file_systems) = self.file_systems();
        let (interfaces, idle_interfaces) = self.interfaces();
        OverviewView {
            time,
            row: self.row.unwrap_or(0),
            processors: self.processors(),
            memory: self.memory(),
            disks,
            idle_disks,
            file_systems,
            other_file_systems,
            interfaces,
            idle_interfaces,
            pressure: Pressure {
                processor: self.single(Metric::ProcessorPressure),
                memory: [Metric::MemoryPressure, Metric::MemoryPressureFull].map(|one| self.single(one)),
                disk: [Metric::DiskPressure, Metric::DiskPressureFull].map(|one| self.single(one)),
            },
            sensors: self.sensors(),
            containers: self.containers(),
            graphics: self.graphics(),
            processes: time.and_then(|time| self.overview.processes.at(time)).map(Cow::into_owned),
        }
    }

    pub(super) fn of(&self, metric: Metric) -> &[&Series] {
        self.series.get(&metric).map_or(&[], Vec::as_slice)
    }

    /// The gauge of a series, each number changed by `change`.
    pub(super) fn gauge(&self, series: &Series, change: impl Fn(f64) -> f64) -> Gauge {
        self.gauge_of(series, self.points, change)
    }

    fn gauge_of(&self, series: &Series, points: usize, change: impl Fn(f64) -> f64) -> Gauge {
        let next = self.overview.rows().next();
        let Some(row) = self.row else {
            return Gauge { path: series.path.clone(), ..Gauge::none() };
        };
        let end = row.saturating_add(1);
        let rows = end.saturating_sub(points as u64)..end;
        let (first, values) = series.values(next, &rows);
        let missing = usize::try_from(first.saturating_sub(rows.start)).unwrap_or(0).min(points);
        let early = std::iter::repeat_n(f32::NAN, missing);
        let numbers = values.map(|value| value.map_or(f32::NAN, |number| change(number) as f32));
        Gauge {
            value: series.at(next, row).unwrap_or(Err(NoValue::NoInstance)).map(&change),
            history: early.chain(numbers).collect(),
            path: series.path.clone(),
        }
    }

    /// The gauge of a counter without instances, or of a total.
    fn single(&self, metric: Metric) -> Gauge {
        self.of(metric).first().map_or_else(Gauge::none, |series| self.gauge(series, |number| number))
    }

    /// The gauge of a counter of an instance.
    pub(super) fn instance(&self, metric: Metric, name: &str, change: impl Fn(f64) -> f64) -> Gauge {
        let found = self.of(metric).iter().find(|series| series.instance.as_deref() == Some(name));
        found.map_or_else(Gauge::none, |series| self.gauge(series, change))
    }

    /// The count of a rate, where the source has it.
    fn total(&self, metric: Metric, name: &str) -> Option<f64> {
        let found = self.of(metric).iter().find(|series| series.instance.as_deref() == Some(name))?;
        let rows = self.overview.rows();
        let row = self.row?;
        let of_series = found.raw_at(rows.next(), row).map(|sample| sample.first);
        let count = of_series.or_else(|| self.overview.count_of(rows.time(row)?, &found.path))?;
        Some(count as f64)
    }

    /// The instances that some counters have at this time, without sums.
    pub(super) fn instances(&self, metrics: &[Metric]) -> Vec<String> {
        let next = self.overview.rows().next();
        let mut names: Vec<String> = Vec::new();
        for series in metrics.iter().flat_map(|metric| self.of(*metric)) {
            let is_there = self
                .row
                .is_some_and(|row| !matches!(series.at(next, row), None | Some(Err(NoValue::NoInstance))));
            if let Some(name) = series.instance.as_ref().filter(|name| is_there && !is_total(name))
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        }
        names
    }

    fn processors(&self) -> Processors {
        let mut each: Vec<(String, Gauge)> = self
            .instances(&[Metric::Busy])
            .into_iter()
            .map(|name| {
                let gauge = self.instance(Metric::Busy, &name, |number| number);
                (name, gauge)
            })
            .collect();
        each.sort_by_key(|(name, _)| processor_number(name));
        let total = self.of(Metric::Busy).iter().find(|series| series.instance.as_deref() == Some(TOTAL));
        let total = match total {
            Some(total) => self.gauge_of(total, self.wide, |number| number),
            None => average(&each),
        };
        // The kernel sums these times over all processors.
        let count = each.len().max(1) as f64;
        let share = |metric| {
            let series = self.of(metric).first();
            series.map_or_else(Gauge::none, |series| self.gauge(series, |number| number / count))
        };
        Processors {
            name: self.overview.processor.clone(),
            total,
            load: [Metric::Load1, Metric::Load5, Metric::Load15].map(|one| self.single(one)),
            waiting_for_disk: share(Metric::WaitingForDisk),
            stolen: share(Metric::Stolen),
            speed: self.single(Metric::Speed),
            each,
            user: self.single(Metric::User),
            kernel: self.single(Metric::Kernel),
            queue: self.single(Metric::Queue),
            processes: self.single(Metric::ProcessCount),
            threads: self.single(Metric::ThreadCount),
            switches: self.single(Metric::Switches),
            up: self.single(Metric::UpTime),
        }
    }

    /// A size of memory in bytes, whichever of its counters the source has.
    fn bytes(&self, metric: Metric) -> Gauge {
        self.of(metric).first().map_or_else(Gauge::none, |series| {
            let factor = match series.counter.0 {
                1380 => KIB,
                1382 | 900_402 => MIB,
                _ => 1.0,
            };
            self.gauge(series, |number| number * factor)
        })
    }

    fn memory(&self) -> Memory {
        Memory {
            total: self.bytes(Metric::TotalMemory).number(),
            available: self.bytes(Metric::Available),
            free: self.single(Metric::Free),
            committed: self.single(Metric::Committed),
            limit: self.single(Metric::CommitLimit),
            swap: self.single(Metric::Swap),
            swap_size: self.single(Metric::SwapSize).number(),
            paging: self.single(Metric::Paging),
        }
    }

    fn disks(&self) -> (Vec<Disk>, Folded) {
        let names =
            self.instances(&[Metric::DiskIdle, Metric::DiskRead, Metric::DiskWrite, Metric::DiskLatency]);
        let disk = |name: String| Disk {
            busy: self.instance(Metric::DiskIdle, &name, |idle| (100.0 - idle).clamp(0.0, 100.0)),
            read: self.instance(Metric::DiskRead, &name, |number| number),
            write: self.instance(Metric::DiskWrite, &name, |number| number),
            latency: self.instance(Metric::DiskLatency, &name, |number| number),
            queue: self.instance(Metric::DiskQueue, &name, |number| number),
            name,
        };
        let mut disks: Vec<Disk> = names.into_iter().map(disk).collect();
        let is_idle = |disk: &Disk| {
            is_virtual_disk(&disk.name) || disk.busy.is_idle() && disk.read.is_idle() && disk.write.is_idle()
        };
        // One disk stays, idle or not: an empty pane would look like a missing one.
        let kept = match disks.iter().position(|disk| !is_idle(disk)) {
            Some(_) => None,
            None => disks.iter().position(|disk| !is_virtual_disk(&disk.name)),
        };
        let mut folded = Folded::default();
        let mut nth = 0usize;
        disks.retain(|disk| {
            let stays = !is_idle(disk) || kept == Some(nth);
            nth = nth.saturating_add(1);
            if !stays {
                folded.add(&disk.name, [&disk.read, &disk.write]);
            }
            stays
        });
        (disks, folded)
    }

    fn interfaces(&self) -> (Vec<Interface>, Folded) {
        let names = self.instances(&[Metric::Received, Metric::Sent]);
        let interface = |name: String| Interface {
            received: self.instance(Metric::Received, &name, |number| number),
            sent: self.instance(Metric::Sent, &name, |number| number),
            totals: [Metric::Received, Metric::Sent].map(|metric| self.total(metric, &name)),
            addresses: self.overview.addresses.get(&name).cloned().unwrap_or_default(),
            // A loopback says 0, and some drivers say the largest number.
            speed: self
                .instance(Metric::Bandwidth, &name, |number| number / 8.0)
                .number()
                .filter(|speed| *speed > 0.0 && *speed < 1e12),
            name,
        };
        let mut interfaces: Vec<Interface> = names.into_iter().map(interface).collect();
        let is_idle = |interface: &Interface| {
            is_virtual_interface(&interface.name) || interface.received.is_idle() && interface.sent.is_idle()
        };
        let kept = match interfaces.iter().position(|interface| !is_idle(interface)) {
            Some(_) => None,
            None => interfaces.iter().position(|interface| !is_virtual_interface(&interface.name)),
        };
        let mut folded = Folded::default();
        let mut nth = 0usize;
        interfaces.retain(|interface| {
            let stays = !is_idle(interface) || kept == Some(nth);
            nth = nth.saturating_add(1);
            if !stays {
                folded.add(&interface.name, [&interface.received, &interface.sent]);
            }
            stays
        });
        (interfaces, folded)
    }
}

impl Folded {
    pub(super) fn name(&mut self, name: &str) {
        self.names.push(name.to_string());
    }

    fn add(&mut self, name: &str, numbers: [&Gauge; 2]) {
        self.name(name);
        for (sum, gauge) in self.sums.iter_mut().zip(numbers) {
            *sum += gauge.number().unwrap_or(0.0);
        }
    }
}

/// The mean of all processors, where the source has no total.
fn average(each: &[(String, Gauge)]) -> Gauge {
    let points = each.iter().map(|(_, gauge)| gauge.history.len()).max().unwrap_or(0);
    let mean = |numbers: &mut dyn Iterator<Item = f64>| {
        let (mut sum, mut count) = (0.0, 0u32);
        for number in numbers.filter(|number| !number.is_nan()) {
            sum += number;
            count = count.saturating_add(1);
        }
        (count > 0).then(|| sum / f64::from(count))
    };
    let at = |nth: usize| {
        let numbers = each.iter().filter_map(|(_, gauge)| gauge.history.get(nth)).map(|one| f64::from(*one));
        mean(&mut numbers.into_iter()).map_or(f32::NAN, |number| number as f32)
    };
    let value = mean(&mut each.iter().filter_map(|(_, gauge)| gauge.number()));
    let why = each.iter().find_map(|(_, gauge)| gauge.value.err());
    Gauge {
        value: value.ok_or(why.unwrap_or(NoValue::NoCounter)),
        history: (0..points).map(at).collect(),
        path: each.first().map(|(_, gauge)| gauge.path.clone()).unwrap_or_default(),
    }
}

/// Whether an instance is a sum, as `_Total` and `0,_Total` are.
fn is_total(name: &str) -> bool {
    name.ends_with(TOTAL)
}

/// Processors in the order of their numbers: 2 comes before 10. A group, as in `1,7`, comes first.
fn processor_number(name: &str) -> (u32, u32, String) {
    let (group, number) = name.split_once(',').unwrap_or(("0", name));
    match (group.parse(), number.parse()) {
        (Ok(group), Ok(number)) => (group, number, String::new()),
        _ => (u32::MAX, u32::MAX, name.to_string()),
    }
}

/// Whether a disk is a file or memory: `0 loop3`, `7 ram0`.
fn is_virtual_disk(name: &str) -> bool {
    let device = name.split_whitespace().nth(1).unwrap_or(name);
    ["loop", "ram"].iter().any(|kind| device.strip_prefix(kind).is_some_and(is_number))
}

/// Whether an interface has no cable and no antenna: it belongs to containers, tunnels or this machine only.
fn is_virtual_interface(name: &str) -> bool {
    const PREFIXES: [&str; 22] = [
        "veth",
        "docker",
        "br-",
        "virbr",
        "vnet",
        "dummy",
        "ifb",
        "cni",
        "flannel",
        "cali",
        "vxlan",
        "podman",
        "lxc",
        "lxdbr",
        "gre",
        "gretap",
        "erspan",
        "sit",
        "ip6tnl",
        "tunl",
        "kube-",
        "nodelocaldns",
    ];
    // As Windows names them in its instances.
    const WORDS: [&str; 5] = ["loopback", "isatap", "teredo", "tunneling", "6to4"];
    let small = name.to_lowercase();
    name == "lo"
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || WORDS.iter().any(|word| small.contains(word))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_devices_are_known_by_their_names() {
        for (name, is_virtual) in [
            ("lo", true),
            ("eth0", false),
            ("enp3s0", false),
            ("wlan0", false),
            ("wg0", false),
            ("docker0", true),
            ("veth12ab", true),
            ("MS TCP Loopback interface", true),
            ("Intel[R] 82574L Gigabit Network Connection", false),
            ("isatap.{27A7}", true),
        ] {
            assert_eq!(is_virtual_interface(name), is_virtual, "{name}");
        }
        for (name, is_virtual) in
            [("0 vda /", false), ("3 loop3", true), ("loop0", true), ("1 loopy", false), ("0 C: D:", false)]
        {
            assert_eq!(is_virtual_disk(name), is_virtual, "{name}");
        }
    }

    #[test]
    fn processors_are_in_the_order_of_their_numbers() {
        let mut names = ["10", "2", "0", "1,0", "0,3", "x"];
        names.sort_by_key(|name| processor_number(name));
        assert_eq!(names, ["0", "2", "0,3", "10", "1,0", "x"]);
    }
}
