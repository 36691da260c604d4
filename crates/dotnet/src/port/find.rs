//! Finds the sockets of running .NET programs.
//!
//! A runtime makes its socket `dotnet-diagnostic-PID-KEY-socket` in the folder for temporary files of its own
//! mount namespace. The process id is that of its own namespace; the key is its start time. Sockets of
//! programs that were killed stay, so the key is compared. Anybody can make a socket with the numbers of a
//! process in its name, so it must belong to the user of the process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{PortError, Program};

/// The running .NET programs that can be seen from here, sorted by process id. Programs of other users are
/// among them as far as the system shows them; attaching to them needs root.
pub fn programs() -> Vec<Program> {
    let mut found = BTreeMap::new();
    for socket in own_sockets() {
        let Some((pid, key)) = numbers(&socket) else { continue };
        if !is_by_user_of(&socket, pid) {
            continue;
        }
        if let Some(program) = program(pid, Some(key), socket) {
            found.entry(program.pid).or_insert(program);
        }
    }
    for program in in_containers() {
        found.entry(program.pid).or_insert(program);
    }
    found.into_values().collect()
}

/// The program with a process id.
///
/// # Errors
///
/// There is none, or its socket cannot be seen from here.
pub fn find(pid: u32) -> Result<Program, PortError> {
    programs().into_iter().find(|program| program.pid == pid).ok_or(PortError::NotFound { pid })
}

/// The process id and the key in the name of a socket.
fn numbers(socket: &Path) -> Option<(u32, u64)> {
    let name = socket.file_name()?.to_str()?;
    let (pid, key) = name.strip_prefix("dotnet-diagnostic-")?.strip_suffix("-socket")?.split_once('-')?;
    Some((pid.parse().ok()?, key.parse().ok()?))
}

/// The sockets in this mount namespace: in the folders for temporary files, and those that the kernel lists.
fn own_sockets() -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for folder in [std::env::temp_dir(), PathBuf::from("/tmp")] {
        all.extend(sockets_in(&folder));
    }
    all.extend(listed(Path::new("/proc/net/unix")).into_iter().filter(|socket| is_socket(socket)));
    all
}

/// The sockets of runtimes in a folder.
fn sockets_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| numbers(path).is_some() && is_socket(path)).collect()
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket())
}

/// The sockets of runtimes in the kernel's list of a network namespace.
fn listed(list: &Path) -> Vec<PathBuf> {
    let Ok(list) = fs::read(list) else { return Vec::new() };
    let list = String::from_utf8_lossy(&list);
    let paths = list.lines().filter_map(|line| line.split_once('/').map(|(_, path)| format!("/{path}")));
    paths.map(PathBuf::from).filter(|path| numbers(path).is_some()).collect()
}

/// The program of a process id in this namespace, when it runs and began at the time that the key says.
fn program(pid: u32, key: Option<u64>, socket: PathBuf) -> Option<Program> {
    let started = start_time(pid)?;
    if key.is_some_and(|key| key != started) {
        return None;
    }
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let user = users(pid).get(1).copied()?;
    Some(Program { pid, started, name: name_of(&command), user, socket })
}

/// The start time of a process, in ticks after the start of the machine.
fn start_time(pid: u32) -> Option<u64> {
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name of the process may hold anything; what follows is after the last bracket.
    let end = line.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(line.get(end..)?);
    rest.split_whitespace().nth(20)?.parse().ok()
}

/// The programs in other mount namespaces, as far as this user may look into them.
fn in_containers() -> Vec<Program> {
    let space = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    let Some(own) = space("self") else { return Vec::new() };
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let mut spaces: HashMap<PathBuf, Vec<u32>> = HashMap::new();
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if let Some(space) = space(&pid.to_string()).filter(|space| *space != own) {
            spaces.entry(space).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    for pids in spaces.values() {
        let Some(first) = pids.first() else { continue };
        let root = PathBuf::from(format!("/proc/{first}/root"));
        let mut sockets: BTreeSet<PathBuf> = sockets_in(&root.join("tmp")).into_iter().collect();
        let listed = listed(Path::new(&format!("/proc/{first}/net/unix")));
        let within = listed.iter().filter_map(|path| Some(root.join(path.strip_prefix("/").ok()?)));
        sockets.extend(within.filter(|socket| is_socket(socket)));
        if sockets.is_empty() {
            continue;
        }
        let outer: HashMap<u32, u32> = pids.iter().filter_map(|pid| Some((inner_pid(*pid)?, *pid))).collect();
        for socket in sockets {
            let pid = numbers(&socket).and_then(|(inner, _)| outer.get(&inner).copied());
            // Start times may be counted from another moment there.
            let pid = pid.filter(|pid| is_by_user_of(&socket, *pid));
            found.extend(pid.and_then(|pid| program(pid, None, socket)));
        }
    }
    found
}

/// Whether a user of a process, or root, made a socket. One that somebody else made would stand in the way of
/// the one on which the process listens.
fn is_by_user_of(socket: &Path, pid: u32) -> bool {
    let Ok(owner) = fs::symlink_metadata(socket).map(|about| about.uid()) else { return false };
    owner == 0 || users(pid).contains(&owner)
}

/// The users of a process: the real one, the effective one, and others that it may become.
fn users(pid: u32) -> Vec<u32> {
    let status = fs::read(format!("/proc/{pid}/status")).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    users.split_whitespace().filter_map(|user| user.parse().ok()).collect()
}

/// The process id of a process in its own namespace.
fn inner_pid(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

/// The name of a program by its command line: that of its assembly, or of the program file.
fn name_of(command: &[u8]) -> String {
    let words: Vec<&[u8]> = command.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    let file = |word: &[u8]| {
        let text = String::from_utf8_lossy(word).into_owned();
        Path::new(&text).file_name().and_then(OsStr::to_str).unwrap_or(&text).to_string()
    };
    let first = words.first().map(|word| file(word)).unwrap_or_default();
    let is_assembly = |name: &String| name.ends_with(".dll") || name.ends_with(".exe");
    // Only `dotnet` gets the assembly as an argument. `exec` has options before it, with files of their own.
    let assembly =
        if first == "dotnet" { words.iter().skip(1).map(|word| file(word)).find(is_assembly) } else { None };
    let name = assembly.unwrap_or(first);
    let stem = [".dll", ".exe"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    stem.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_assembly() {
        let cases: [(&[u8], &str); 7] = [
            (b"dotnet\0/app/shop.dll\0--port\x005", "shop"),
            (b"/usr/bin/dotnet\0exec\0--runtimeconfig\0a.json\0/x/my.app.dll\0other.dll\0", "my.app"),
            (b"/opt/azmcp/azmcp\0server\0", "azmcp"),
            (b"./tool.exe\0x.dll\0", "tool"),
            (b"dotnet\0run\0", "dotnet"),
            (b"a\nb\0", "a b"),
            (b"", ""),
        ];
        for (command, name) in cases {
            assert_eq!(name_of(command), name, "{}", String::from_utf8_lossy(command));
        }
    }

    #[test]
    fn sockets_have_a_process_and_a_key() {
        assert_eq!(numbers(Path::new("/tmp/dotnet-diagnostic-12-34-socket")), Some((12, 34)));
        for name in ["dotnet-diagnostic-12-socket", "dotnet-diagnostic-a-1-socket", "dotnet-diagnostic-1-2"] {
            assert_eq!(numbers(Path::new(name)), None, "{name}");
        }
        let own = std::process::id();
        let started = start_time(own).unwrap();
        assert_eq!(inner_pid(own), Some(own));
        assert!(program(own, Some(started), PathBuf::new()).is_some());
        assert_eq!(program(own, Some(started + 1), PathBuf::new()), None);
    }

    #[test]
    fn the_kernels_list_has_the_paths_of_sockets() {
        let text = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                    00: 00000002 00000000 00010000 0001 01 1 /a b/dotnet-diagnostic-7-8-socket\n\
                    01: 00000002 00000000 00010000 0001 01 2 @/dotnet-diagnostic\n02: 0 0\n";
        let folder = tallymon_testkit::Scratch::new();
        let file = folder.join("unix");
        fs::write(&file, text).unwrap();
        assert_eq!(listed(&file), [PathBuf::from("/a b/dotnet-diagnostic-7-8-socket")]);
    }
}
