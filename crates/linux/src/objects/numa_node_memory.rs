//! NUMA Node Memory: one instance per memory node, and `_Total`.

use tallymon_provider::Absence;

use super::spec::rows;
use super::table::{Table, folders};

rows! { COUNTERS, ORIGINS {
    900_402 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE: E "meminfo:MemTotal / 1024";
    900_404 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE: E "meminfo:MemFree / 1024";
    900_406 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE: A "meminfo:FilePages - :Dirty - :Shmem / 1024" "2.6.32";
    900_408 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE:
        A "meminfo:MemFree + :Active(file) + :Inactive(file) / 1024" "2.6.28";
    900_410 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "meminfo:Dirty + :Writeback / 1024";
    900_412 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "numastat:numa_hit";
    900_414 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "numastat:numa_miss";
    900_416 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "numastat:numa_foreign";
    900_418 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "numastat:other_node";
}}

/// The object NUMA Node Memory. Its first four counters are those of Windows, in MBytes.
pub(super) fn new() -> Table {
    Table::many(900_400, COUNTERS, ORIGINS, |sources| {
        let nodes = folders(sources, "devices/system/node", |name| node(name).is_some())?;
        // A kernel with nodes has one at least. Without one there is nothing to add up, and no total of 0.
        if nodes.is_empty() {
            return Err(Absence::NotInThisKernel);
        }
        let number = |(name, folder): (String, std::path::PathBuf)| {
            (node(&name).unwrap_or_default().to_string(), folder)
        };
        Ok(nodes.into_iter().map(number).collect())
    })
    .with_total()
}

fn node(name: &str) -> Option<&str> {
    name.strip_prefix("node").filter(|number| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use tallymon_core::block::RawValue;
    use tallymon_provider::{Interest, PartialSum, TitleIndex, ValueState};

    use super::super::fake_machine_tests::{Machine, System, collect, instance, named, names};
    use super::*;

    const MEMINFO: &[u8] = b"Node 1 MemTotal:       4096 kB\nNode 1 MemFree:        1024 kB\n\
        Node 1 Active(file):    1024 kB\nNode 1 Inactive(file):  2048 kB\nNode 1 Dirty: 512 kB\n\
        Node 1 Writeback: 512 kB\nNode 1 FilePages: 4096 kB\nNode 1 Shmem: 512 kB\n";

    #[test]
    fn nodes_and_their_sum() {
        let mut machine = Machine::new(&[
            ("sys/devices/system/node/node2/meminfo", MEMINFO),
            ("sys/devices/system/node/node10/meminfo", MEMINFO),
            ("sys/devices/system/node/node10/numastat", b"numa_hit 7\nnuma_miss 2\n"),
            ("sys/devices/system/node/online", b"2,10\n"),
        ]);
        let snapshot = machine.read(900_400);
        assert_eq!(names(&snapshot), ["2", "10", "_Total"]);
        let expected = [(900_402, 8), (900_404, 2), (900_406, 6), (900_408, 8), (900_410, 2), (900_412, 7)];
        for (counter, value) in expected {
            assert_eq!(named(&instance(&snapshot, "_Total"), counter), Ok(value), "{counter}");
        }
        assert!(named(&instance(&snapshot, "2"), 900_412).is_err());
    }

    /// Node 2 has no counts; those of node 3 cannot be read, because a directory has their name.
    #[test]
    fn a_sum_says_how_many_nodes_could_not_be_read() {
        let mut machine = Machine::new(&[
            ("sys/devices/system/node/node2/meminfo", MEMINFO),
            ("sys/devices/system/node/node3/meminfo", MEMINFO),
            ("sys/devices/system/node/node3/numastat/", b""),
            ("sys/devices/system/node/node10/meminfo", MEMINFO),
            ("sys/devices/system/node/node10/numastat", b"numa_hit 7\nnuma_miss 2\n"),
        ]);
        let snapshot = machine.read(900_400);
        let total = instance(&snapshot, "_Total");
        assert_eq!(named(&total, 900_402), Ok(12));
        let position = total.object().position(TitleIndex(900_412)).unwrap();
        let partial = PartialSum::new(1, 2, Absence::ReadFailed).unwrap();
        assert_eq!(total.state(position), ValueState::Partial(partial));
        assert_eq!(total.raw(position), Some(RawValue::Number(7)));
    }

    #[test]
    fn without_nodes_there_is_no_sum() {
        for files in [&[][..], &[("sys/devices/system/node/online", &b"0\n"[..])]] {
            let snapshot = Machine::new(files).read(900_400);
            assert_eq!(names(&snapshot), ["_Total"]);
            for counter in [900_402, 900_412] {
                assert!(named(&instance(&snapshot, "_Total"), counter).is_err(), "{counter}");
            }
        }
    }

    #[test]
    fn the_running_kernel() {
        let Ok(text) = std::fs::read_to_string("/sys/devices/system/node/node0/meminfo") else {
            return tallymon_testkit::skip("this kernel has no nodes of memory");
        };
        let total: u64 = text.lines().next().unwrap().split_whitespace().nth(3).unwrap().parse().unwrap();
        let snapshot = collect(&mut System::open().unwrap(), 900_400, &Interest::everything());
        assert_eq!(named(&instance(&snapshot, "0"), 900_402), Ok(total / 1024));
    }
}
