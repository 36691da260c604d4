//! Container: one instance per container of docker, podman, Kubernetes, LXC and systemd-nspawn, by its name;
//! the counters that `docker stats` shows.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tallymon_provider::Absence;

use super::control_groups::{place, processes};
use super::spec::rows;
use super::table::Table;
use crate::sources::Sources;
use crate::sources::units::Container;

rows! { COUNTERS, ORIGINS {
    910_002 PERF_100NSEC_TIMER 0 NOVICE:
        E "unified/cpu.stat:usage_usec * 10 | cpuacct/cpuacct.usage / 100" "2.6.24";
    // As docker does, without file pages that were not used for long.
    910_004 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE:
        E "unified/memory.current - unified/memory.stat:inactive_file | \
            memory/memory.usage_in_bytes - memory/memory.stat:total_inactive_file" "2.6.25";
    910_006 PERF_COUNTER_LARGE_RAWCOUNT -6 NOVICE:
        E "unified/memory.max | memory/memory.limit_in_bytes" "2.6.25";
    910_008 PERF_RAW_FRACTION 0 NOVICE:
        E "unified/memory.current - unified/memory.stat:inactive_file | \
            memory/memory.usage_in_bytes - memory/memory.stat:total_inactive_file" "2.6.25";
    910_008 PERF_RAW_BASE 0 NOVICE:
        E "unified/memory.max | memory/memory.limit_in_bytes | /proc/meminfo:MemTotal * 1024";
    910_010 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "net/dev:#1";
    910_012 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "net/dev:#9";
    910_014 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "unified/io.stat:rbytes" "4.5";
    910_016 PERF_COUNTER_BULK_COUNT -4 NOVICE: E "unified/io.stat:wbytes" "4.5";
    910_018 PERF_COUNTER_RAWCOUNT 0 NOVICE: E "unified/pids.current | pids/pids.current" "4.3";
    910_020 PERF_100NSEC_TIMER 0 ADVANCED:
        E "unified/cpu.stat:throttled_usec * 10 | cpu/cpu.stat:throttled_time / 100" "3.2";
    910_022 PERF_COUNTER_LARGE_RAWCOUNT 0 ADVANCED:
        E "unified/memory.events:oom_kill | memory/memory.oom_control:oom_kill" "4.13";
    910_024 PERF_100NSEC_TIMER 0 ADVANCED: E "unified/cpu.pressure:some.total * 10" "4.20";
    910_026 PERF_100NSEC_TIMER 0 ADVANCED: E "unified/memory.pressure:some.total * 10" "4.20";
    910_028 PERF_100NSEC_TIMER 0 ADVANCED: E "unified/io.pressure:some.total * 10" "4.20";
}}

/// The object Container.
pub(super) fn new() -> Table {
    Table::many(910_000, COUNTERS, ORIGINS, containers).at(file).of_groups()
}

/// The containers by name, each with the path of its control group.
fn containers(sources: &mut Sources) -> Result<Vec<(String, PathBuf)>, Absence> {
    let groups = sources.groups()?.clone();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (name, path) in groups {
        // Parents come first. A group inside a container may have the same id.
        if let Some(container) = Container::of_group(&name).filter(|container| seen.insert(container.clone()))
        {
            let name = sources.container_name(&container).unwrap_or_else(|| container.label());
            found.push((name, path));
        }
    }
    Ok(found)
}

/// A file of the container's group; or `net/dev` of one of its processes.
fn file(sources: &mut Sources, group: &Path, file: &str) -> Result<PathBuf, Absence> {
    if file != "net/dev" {
        return place(sources, group, file);
    }
    let process = first_process(sources, group)?.ok_or(Absence::Vanished)?;
    let path = sources.root.proc(&format!("{process}/{file}"));
    // The kernel numbers the files of each network. Containers may share that of the machine, whose counts
    // are those of everybody.
    let number = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.ino()).ok();
    match (number(&path), number(&sources.root.proc("1/net/dev"))) {
        (Some(own), Some(machine)) if own == machine => Err(Absence::NotFromThisDevice),
        _ => Ok(path),
    }
}

/// A process of a group or of a group inside it: an init system in a container has groups of its own.
fn first_process(sources: &mut Sources, group: &Path) -> Result<Option<u32>, Absence> {
    // Groups are sorted by their paths, so those inside follow.
    let groups = sources.groups()?;
    let from = groups.partition_point(|(_, path)| path.as_path() < group);
    let inside = groups.iter().skip(from).map(|(_, path)| path).take_while(|path| path.starts_with(group));
    let inside: Vec<PathBuf> = inside.cloned().collect();
    Ok(inside.iter().find_map(|group| processes(sources, group).first().copied()))
}

#[cfg(test)]
mod tests {
    use super::super::fake_machine_tests::{Machine, instance, named, names};
    use tallymon_provider::{Absence, ValueState};

    const NETWORK: &[u8] =
        b"Inter-| Receive | Transmit\n face |bytes packets errs drop fifo frame compressed \
        multicast|bytes packets\n lo: 9 1 0 0 0 0 0 0 9 1\n eth0: 1000 10 0 0 0 0 0 0 300 3\n";

    #[test]
    fn what_docker_stats_shows() {
        let web = "3f2a1b4c5d6e".to_string() + &"0".repeat(52);
        let group = format!("sys/fs/cgroup/system.slice/docker-{web}.scope");
        let config = format!("var/lib/docker/containers/{web}/config.v2.json");
        let in_group = |name: &str| format!("{group}/{name}");
        let files: Vec<(String, &[u8])> = vec![
            ("sys/fs/cgroup/cgroup.controllers".into(), b"cpu io memory pids\n"),
            ("sys/fs/cgroup/cgroup.procs".into(), b"1\n"),
            ("sys/fs/cgroup/system.slice/cgroup.procs".into(), b""),
            (in_group("cgroup.procs"), b""),
            (in_group("init/cgroup.procs"), b"812\n"),
            (in_group("cpu.stat"), b"usage_usec 9000000\nthrottled_usec 7\n"),
            (in_group("memory.current"), b"1048576\n"),
            (in_group("memory.stat"), b"anon 5\ninactive_file 48576\n"),
            (in_group("memory.max"), b"4000000\n"),
            (in_group("memory.events"), b"oom 1\noom_kill 2\n"),
            (in_group("io.stat"), b"8:0 rbytes=10 wbytes=20\n8:16 rbytes=1 wbytes=2\n"),
            (in_group("pids.current"), b"17\n"),
            ("sys/fs/cgroup/system.slice/nginx.service/cgroup.procs".into(), b"900\n"),
            ("sys/fs/cgroup/lxc/db/cgroup.procs".into(), b"1000\n"),
            ("sys/fs/cgroup/lxc/db/memory.max".into(), b"max\n"),
            ("sys/fs/cgroup/lxc/db/memory.current".into(), b"1024\n"),
            ("sys/fs/cgroup/lxc/db/memory.stat".into(), b"inactive_file 0\n"),
            ("sys/fs/cgroup/memory/cgroup.procs".into(), b"1\n"),
            ("sys/fs/cgroup/memory/lxc/old/cgroup.procs".into(), b"1001\n"),
            ("sys/fs/cgroup/memory/lxc/old/memory.limit_in_bytes".into(), b"9223372036854771712\n"),
            ("proc/812/net/dev".into(), NETWORK),
            ("proc/1/net/dev".into(), NETWORK),
            ("proc/meminfo".into(), b"MemTotal: 8 kB\nMemFree: 1 kB\n"),
            (config, br#"{"Name":"/web"}"#),
        ];
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
        let mut machine = Machine::new(&files);
        // This container shares the network of the machine: the kernel shows the same file.
        std::fs::create_dir_all(machine.folder.join("proc/1000/net")).unwrap();
        std::fs::hard_link(machine.folder.join("proc/1/net/dev"), machine.folder.join("proc/1000/net/dev"))
            .unwrap();
        let snapshot = machine.read(910_000);
        assert_eq!(names(&snapshot), ["db", "old", "web"]);
        let web = instance(&snapshot, "web");
        for (counter, expected) in [
            (910_002, 90_000_000),
            (910_004, 1_000_000),
            (910_006, 4_000_000),
            (910_008, 1_000_000),
            (910_010, 1_000),
            (910_012, 300),
            (910_014, 11),
            (910_016, 22),
            (910_018, 17),
            (910_020, 70),
            (910_022, 2),
        ] {
            assert_eq!(named(&web, counter), Ok(expected), "{counter}");
        }
        let db = instance(&snapshot, "db");
        assert_eq!(named(&db, 910_006), Err(ValueState::Absent(Absence::OutOfRange)), "no limit");
        assert_eq!(named(&instance(&snapshot, "old"), 910_006), Err(ValueState::Absent(Absence::OutOfRange)));
        assert_eq!(named(&db, 910_008), Ok(1_024), "of the machine's memory");
        assert_eq!(named(&db, 910_010), Err(ValueState::Absent(Absence::NotFromThisDevice)));
    }
}
