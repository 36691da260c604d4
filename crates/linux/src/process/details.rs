//! Everything that `/proc` says about one process.

use std::fs;
use std::path::Path;

use tallymon_provider::process::{MOST_ROWS, OpenFile, ProcessDetails, ProcessId, ThreadDetails};

use super::{LinuxProcesses, TEXT, ended, facts, number, read, sockets};
use crate::kernel::proc::kib_to_bytes;
use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::proc::pid_status::PidStatus;
use crate::sources::units::group_of;

/// Files of a control group of version 2 that limit it, or say what it uses.
const GROUP_FILES: [&str; 8] = [
    "memory.current",
    "memory.max",
    "memory.high",
    "memory.swap.max",
    "cpu.max",
    "cpu.weight",
    "pids.current",
    "pids.max",
];

pub(super) fn details(of: &LinuxProcesses, process: ProcessId) -> Result<ProcessDetails, String> {
    let stat = of.stat(process)?;
    let places = [("cwd", "cwd"), ("exe", "exe"), ("root", "root")];
    let places = places.iter().filter_map(|(name, file)| {
        let target = fs::read_link(of.file(process, file)).ok()?;
        let text = target.to_string_lossy().into_owned();
        // Nearly every process has the same root.
        (*name != "root" || text != "/").then_some((*name, text))
    });
    let status = read(&of.file(process, "status"), TEXT).unwrap_or_default();
    let status = PidStatus::parse(&status).unwrap_or_default();
    let groups = read(&of.file(process, "cgroup"), TEXT).unwrap_or_default();
    let group = group_of(&String::from_utf8_lossy(&groups));
    let limits = read(&of.file(process, "limits"), TEXT).unwrap_or_default();
    Ok(ProcessDetails {
        facts: of.read(process).ok_or_else(|| ended(process))?.into(),
        parent: stat.parent,
        state: stat.state,
        nice: stat.nice,
        places: places.collect(),
        memory: memory(&status),
        threads: threads(&of.file(process, "task")),
        files: files(of, process),
        limits: limits_of(&String::from_utf8_lossy(&limits)),
        group_limits: group_limits(&of.root.sys(&format!("fs/cgroup/{}", group.trim_start_matches('/')))),
        group,
    })
}

/// Parts of the memory under the names of `status`.
fn memory(status: &PidStatus) -> Vec<(&'static str, u64)> {
    [
        ("VmRSS", status.resident),
        ("RssAnon", status.resident_anon),
        ("RssFile", status.resident_file),
        ("RssShmem", status.resident_shared),
        ("VmSwap", status.swap),
        ("VmHWM", status.resident_peak),
        ("VmSize", status.virtual_size),
    ]
    .into_iter()
    .filter_map(|(name, kib)| Some((name, kib_to_bytes(kib?))))
    .collect()
}

/// The threads in a folder, those with the most processor time first.
fn threads(folder: &Path) -> Vec<ThreadDetails> {
    let facts = facts();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ROWS);
    let mut threads: Vec<ThreadDetails> = entries
        .filter_map(|entry| {
            let id = number(&entry.file_name())?;
            let bytes = read(&entry.path().join("stat"), TEXT).ok()?;
            let stat = PidStat::parse(&bytes).ok()?;
            Some(ThreadDetails {
                id,
                name: String::from_utf8_lossy(stat.comm).into_owned(),
                state: char::from(stat.state),
                time: facts.ticks_to_100ns(stat.user_ticks.saturating_add(stat.system_ticks)),
            })
        })
        .collect();
    threads.sort_by_key(|thread| (std::cmp::Reverse(thread.time), thread.id));
    threads
}

/// The open files, in the order of their numbers, sockets with their addresses.
fn files(of: &LinuxProcesses, process: ProcessId) -> Result<Vec<OpenFile>, String> {
    let folder = of.file(process, "fd");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<OpenFile> = entries
        .flatten()
        .take(MOST_ROWS)
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
            let is_socket = target.starts_with("socket:");
            Some(OpenFile { number: number(&entry.file_name())?, target, is_socket })
        })
        .collect();
    files.sort_by_key(|file| file.number);
    let inode = |file: &OpenFile| -> Option<u64> {
        file.target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    let wanted: Vec<u64> = files.iter().filter_map(inode).collect();
    // The process may live in another network than this program.
    let known = sockets::sockets(&of.file(process, "net"), &wanted);
    for file in &mut files {
        if let Some(text) = inode(file).and_then(|inode| known.get(&inode)) {
            file.target.clone_from(text);
        }
    }
    Ok(files)
}

/// The lines of `limits`: a name of 26 letters, two limits of 21, a unit.
fn limits_of(text: &str) -> Vec<[String; 3]> {
    let line = |line: &str| {
        let name = line.get(..26)?.trim().to_string();
        let mut rest = line.get(26..)?.split_ascii_whitespace();
        let (soft, hard) = (rest.next()?, rest.next()?);
        let unit = rest.next().map(|unit| format!(" {unit}")).unwrap_or_default();
        Some([name, soft.to_string(), format!("{hard}{unit}")])
    };
    text.lines().skip(1).filter_map(line).collect()
}

/// The limits of a control group of version 2.
fn group_limits(folder: &Path) -> Vec<(&'static str, String)> {
    GROUP_FILES
        .iter()
        .filter_map(|name| {
            let bytes = read(&folder.join(name), 256).ok()?;
            Some((*name, String::from_utf8_lossy(&bytes).trim().to_string()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_a_unit_or_none() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max cpu time              unlimited            unlimited            seconds   \n\
                    Max nice priority         0                    0                    \n\
                    broken\n";
        let expected = [["Max cpu time", "unlimited", "unlimited seconds"], ["Max nice priority", "0", "0"]];
        let expected = expected.map(|row| row.map(str::to_string));
        assert_eq!(limits_of(text), expected);
    }
}
