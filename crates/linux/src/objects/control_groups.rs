//! Job Object (1500) and Control Group: one instance per control group of either version, named by its path.

use std::path::{Path, PathBuf};

use tallymon_provider::Absence;

use super::spec::rows;
use super::table::Table;
use crate::kernel::proc::scan::decimal;
use crate::sources::Sources;
use crate::sources::control_groups::{Groups, group_file, process_lists};

rows! { JOB_COUNTERS, JOB_ORIGINS {
    1502 PERF_100NSEC_TIMER 0 NOVICE:
        E "unified/cpu.stat:usage_usec * 10 | cpuacct/cpuacct.usage / 100" "2.6.24";
    1504 PERF_100NSEC_TIMER 0 NOVICE:
        E "unified/cpu.stat:user_usec * 10 | cpuacct/cpuacct.usage_user / 100" "4.7";
    1506 PERF_100NSEC_TIMER 0 NOVICE:
        E "unified/cpu.stat:system_usec * 10 | cpuacct/cpuacct.usage_sys / 100" "4.7";
    1508 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE:
        E "unified/cpu.stat:usage_usec / 1000 | cpuacct/cpuacct.usage / 1000000" "2.6.24";
    1510 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE:
        E "unified/cpu.stat:user_usec / 1000 | cpuacct/cpuacct.usage_user / 1000000" "4.7";
    1512 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE:
        E "unified/cpu.stat:system_usec / 1000 | cpuacct/cpuacct.usage_sys / 1000000" "4.7";
    1514 PERF_COUNTER_COUNTER 0 NOVICE:
        E "unified/memory.stat:pgfault | memory/memory.stat:total_pgfault | memory/memory.stat:pgfault" "3.0";
    1516 PERF_COUNTER_RAWCOUNT 0 NOVICE: N;
    1518 PERF_COUNTER_RAWCOUNT 0 NOVICE:
        C "unified/cgroup.procs | cpuacct/cgroup.procs | memory/cgroup.procs | pids/cgroup.procs" "2.6.32";
    1520 PERF_COUNTER_RAWCOUNT 0 NOVICE:
        C "unified/memory.events:oom_kill | memory/memory.oom_control:oom_kill" "4.13";
    1522 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE:
        E "unified/cpu.stat:usage_usec / 1000 | cpuacct/cpuacct.usage / 1000000" "2.6.24";
    1524 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE:
        E "unified/cpu.stat:user_usec / 1000 | cpuacct/cpuacct.usage_user / 1000000" "4.7";
    1526 PERF_COUNTER_LARGE_RAWCOUNT 0 NOVICE:
        E "unified/cpu.stat:system_usec / 1000 | cpuacct/cpuacct.usage_sys / 1000000" "4.7";
}}

rows! { COUNTERS, ORIGINS {
    902_402 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE:
        E "unified/memory.current | memory/memory.usage_in_bytes" "2.6.25";
    902_404 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED:
        E "unified/memory.peak | memory/memory.max_usage_in_bytes" "2.6.26";
    902_406 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED:
        E "unified/memory.max | memory/memory.limit_in_bytes" "2.6.25";
    902_408 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "unified/memory.high" "4.5";
    902_410 PERF_COUNTER_LARGE_RAWCOUNT -6 EXPERT:
        E "unified/memory.low | memory/memory.soft_limit_in_bytes" "2.6.32";
    902_412 PERF_COUNTER_LARGE_RAWCOUNT -6 EXPERT: E "unified/memory.min" "4.18";
    902_414 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED: E "unified/memory.swap.current" "4.5";
    902_416 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED:
        E "unified/memory.stat:anon | memory/memory.stat:total_rss" "2.6.30";
    902_418 PERF_COUNTER_LARGE_RAWCOUNT -6 ADVANCED:
        E "unified/memory.stat:file | memory/memory.stat:total_cache" "2.6.30";
    902_420 PERF_COUNTER_BULK_COUNT 0 ADVANCED:
        E "unified/memory.stat:pgmajfault | memory/memory.stat:total_pgmajfault" "3.0";
    902_422 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "unified/memory.events:high" "4.5";
    902_424 PERF_COUNTER_BULK_COUNT 0 ADVANCED:
        E "unified/memory.events:max | memory/memory.failcnt" "2.6.25";
    902_426 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED: E "unified/memory.events:oom" "4.5";
    902_428 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED:
        E "unified/memory.events:oom_kill | memory/memory.oom_control:oom_kill" "4.13";
    902_430 PERF_COUNTER_BULK_COUNT 0 ADVANCED:
        E "unified/cpu.stat:nr_periods | cpu/cpu.stat:nr_periods" "3.2";
    902_432 PERF_COUNTER_BULK_COUNT 0 ADVANCED:
        E "unified/cpu.stat:nr_throttled | cpu/cpu.stat:nr_throttled" "3.2";
    902_434 PERF_100NSEC_TIMER 0 ADVANCED:
        E "unified/cpu.stat:throttled_usec * 10 | cpu/cpu.stat:throttled_time / 100" "3.2";
    902_436 PERF_COUNTER_BULK_COUNT -4 ADVANCED: E "unified/io.stat:rbytes" "4.5";
    902_438 PERF_COUNTER_BULK_COUNT -4 ADVANCED: E "unified/io.stat:wbytes" "4.5";
    902_440 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "unified/io.stat:rios" "4.5";
    902_442 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "unified/io.stat:wios" "4.5";
    902_444 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "unified/pids.current | pids/pids.current" "4.3";
    902_446 PERF_COUNTER_RAWCOUNT 0 ADVANCED: E "unified/pids.max | pids/pids.max" "4.3";
    902_448 PERF_COUNTER_BULK_COUNT 0 ADVANCED: E "unified/pids.events:max | pids/pids.events:max" "4.8";
    902_450 PERF_100NSEC_TIMER 0 ADVANCED: E "unified/cpu.pressure:some.total * 10" "4.20";
    902_452 PERF_100NSEC_TIMER 0 ADVANCED: E "unified/memory.pressure:some.total * 10" "4.20";
    902_454 PERF_100NSEC_TIMER 0 ADVANCED: E "unified/memory.pressure:full.total * 10" "4.20";
    902_456 PERF_100NSEC_TIMER 0 ADVANCED: E "unified/io.pressure:some.total * 10" "4.20";
    902_458 PERF_100NSEC_TIMER 0 ADVANCED: E "unified/io.pressure:full.total * 10" "4.20";
}}

/// The object Job Object: NT's counters for groups of processes.
pub(super) fn jobs() -> Table {
    Table::many(1500, JOB_COUNTERS, JOB_ORIGINS, groups).at(place).of_groups()
}

/// The object Control Group: the other counters of Linux.
pub(super) fn control_groups() -> Table {
    Table::many(902_400, COUNTERS, ORIGINS, groups).at(place).of_groups()
}

fn groups(sources: &mut Sources) -> Result<Groups, Absence> {
    sources.groups().cloned()
}

/// The processes of a group: those of version 2, or of the first controller that lists any.
pub(super) fn processes(sources: &mut Sources, group: &Path) -> Vec<u32> {
    let lists: Vec<PathBuf> = process_lists(&sources.root, group).collect();
    let numbers = |path| {
        let lines = sources.text_of_group(path).ok()?.split(|byte| *byte == b'\n');
        // 0 is a process that another namespace hides.
        let numbers =
            lines.filter_map(|line| u32::try_from(decimal(line)?).ok().filter(|number| *number > 0));
        Some(numbers.collect()).filter(|numbers: &Vec<u32>| !numbers.is_empty())
    };
    lists.into_iter().find_map(numbers).unwrap_or_default()
}

/// The file of a group: its hierarchy, the path of the group and the name of the file.
pub(super) fn place(sources: &mut Sources, group: &Path, file: &str) -> Result<PathBuf, Absence> {
    Ok(group_file(&sources.root, group, file))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::super::fake_machine_tests::{Machine, System, collect, instance, named, names};
    use super::*;
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::{Interest, ValueState};

    #[test]
    fn version_2_alone() {
        let cpu = fixture("written/cgroup2/cpu.stat");
        let mut machine = Machine::new(&[
            ("sys/fs/cgroup/cgroup.controllers", b"cpu io memory pids\n"),
            ("sys/fs/cgroup/cgroup.procs", b"1\n2\n"),
            ("sys/fs/cgroup/cpu.stat", b"usage_usec 9000000\nuser_usec 4000000\nsystem_usec 5000000\n"),
            ("sys/fs/cgroup/system.slice/cgroup.procs", b""),
            ("sys/fs/cgroup/system.slice/a.service/cgroup.procs", b"812\n813\n815\n"),
            ("sys/fs/cgroup/system.slice/a.service/cpu.stat", &cpu),
            ("sys/fs/cgroup/system.slice/a.service/memory.stat", &fixture("written/cgroup2/memory.stat")),
            ("sys/fs/cgroup/system.slice/a.service/memory.events", &fixture("written/cgroup2/memory.events")),
            ("sys/fs/cgroup/system.slice/a.service/io.stat", &fixture("written/cgroup2/io.stat")),
            ("sys/fs/cgroup/system.slice/a.service/memory.max", b"max\n"),
            ("sys/fs/cgroup/system.slice/a.service/memory.high", b"8388608\n"),
            ("sys/fs/cgroup/system.slice/a.service/pids.current", b"17\n"),
        ]);
        let snapshot = machine.read(1500);
        assert_eq!(names(&snapshot), ["_Total", "/system.slice", "/system.slice/a.service"]);
        let service = instance(&snapshot, "/system.slice/a.service");
        let expected = [
            (1502, 15_000_000),
            (1504, 10_000_000),
            (1506, 5_000_000),
            (1508, 1500),
            (1514, 4711),
            (1518, 3),
            (1520, 1),
        ];
        for (counter, value) in expected {
            assert_eq!(named(&service, counter), Ok(value), "{counter}");
        }
        assert_eq!(named(&instance(&snapshot, "/system.slice"), 1518), Ok(0), "nobody is in it");
        assert_eq!(named(&instance(&snapshot, "_Total"), 1522), Ok(9000));
        let snapshot = machine.read(902_400);
        let service = instance(&snapshot, "/system.slice/a.service");
        assert_eq!(
            (named(&service, 902_436), named(&service, 902_442)),
            (Ok(1_519_616), Ok(9)),
            "of all disks"
        );
        assert_eq!((named(&service, 902_434), named(&service, 902_444)), (Ok(700_000), Ok(17)));
        let unlimited = Err(ValueState::Absent(Absence::OutOfRange));
        assert_eq!((named(&service, 902_406), named(&service, 902_408)), (unlimited, Ok(8_388_608)));
    }

    #[test]
    fn version_1_beside_version_2() {
        let mut machine = Machine::new(&[
            ("sys/fs/cgroup/unified/cgroup.controllers", b"\n"),
            ("sys/fs/cgroup/unified/cgroup.procs", b"1\n"),
            ("sys/fs/cgroup/cpuacct/cgroup.procs", b"1\n"),
            ("sys/fs/cgroup/cpuacct/docker/x/cgroup.procs", b"5\n"),
            ("sys/fs/cgroup/cpuacct/docker/x/cpuacct.usage", b"2500000000\n"),
            ("sys/fs/cgroup/memory/cgroup.procs", b"1\n"),
            ("sys/fs/cgroup/memory/docker/x/cgroup.procs", b"5\n"),
            ("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", b"4096\n"),
        ]);
        let snapshot = machine.read(1500);
        assert_eq!(names(&snapshot), ["_Total", "/docker", "/docker/x"], "one group, not one a controller");
        let group = instance(&snapshot, "/docker/x");
        assert_eq!((named(&group, 1502), named(&group, 1522)), (Ok(25_000_000), Ok(2500)));
        assert_eq!(named(&group, 1504), Err(ValueState::Absent(Absence::NotInThisKernel)));
        let snapshot = machine.read(902_400);
        assert_eq!(named(&instance(&snapshot, "/docker/x"), 902_402), Ok(4096));
        assert!(names(&Machine::new(&[]).read(1500)).is_empty());
    }

    /// A new group of the running kernel with one busy process in it.
    #[test]
    fn a_new_control_group_of_this_machine() {
        let name = format!("tallymon-test-{}", std::process::id());
        let made = ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"]
            .into_iter()
            .map(|root| Path::new(root).join(&name))
            .find(|folder| folder.with_file_name("cgroup.procs").exists() && fs::create_dir(folder).is_ok());
        let Some(folder) = made else { return tallymon_testkit::skip("no group can be made here") };
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let joined = fs::write(folder.join("cgroup.procs"), child.id().to_string());
        let mut system = System::open().unwrap();
        let mut busy = 0;
        let mut processes = Ok(0);
        // Until it has worked for 50 ms, which takes longer on a busy machine.
        for _ in 0..500 {
            let snapshot = collect(&mut system, 1500, &Interest::everything());
            let group = instance(&snapshot, &format!("/{name}"));
            busy = named(&group, 1522).unwrap_or(0);
            processes = named(&group, 1518);
            if busy >= 50 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let kernel: u64 = ["cpuacct.usage", "cpu.stat"]
            .into_iter()
            .find_map(|file| {
                let text = fs::read_to_string(folder.join(file)).ok()?;
                let number = text.split_whitespace().find_map(|word| word.parse::<u64>().ok())?;
                Some(if file == "cpu.stat" { number / 1000 } else { number / 1_000_000 })
            })
            .unwrap();
        fs::remove_dir(&folder).unwrap();
        joined.unwrap();
        assert!((50..=kernel).contains(&busy), "{busy} {kernel}");
        assert_eq!(processes, Ok(1));
    }
}
