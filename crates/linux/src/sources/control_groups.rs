//! The control groups of both versions, by their paths, for the objects that have one instance a group.
//!
//! The groups are found below `/sys/fs/cgroup`: those of version 2 there or in `unified`, those of version 1 in a folder
//! for each controller. Equal paths are one group. `_Total` is the root, which all others are part of.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tallymon_provider::Absence;

use crate::kernel::root::Root;

/// The controllers of version 1 whose groups are looked for, each a folder.
const CONTROLLERS: [&str; 4] = ["cpuacct", "memory", "pids", "cpu"];

/// How deep groups are followed; the kernel allows more, but no program makes them.
const MAX_DEPTH: usize = 32;

/// Every group once: its name, and its path below a hierarchy.
pub(crate) type Groups = Vec<(String, PathBuf)>;

/// Looks for the groups.
pub(crate) fn find_groups(root: &Root) -> Result<Groups, Absence> {
    let mut found = BTreeSet::new();
    for hierarchy in ["unified"].iter().chain(&CONTROLLERS) {
        let folder = hierarchy_root(root, hierarchy);
        // The root of version 1 is a plain folder when nothing is mounted there.
        if folder.join("cgroup.procs").exists() {
            walk(&folder, PathBuf::new(), 0, &mut found);
        }
    }
    if found.is_empty() {
        return Err(Absence::NotInThisKernel);
    }
    let named = |path: PathBuf| match path.to_string_lossy() {
        name if name.is_empty() => ("_Total".to_string(), path),
        name => (format!("/{name}"), path),
    };
    Ok(found.into_iter().map(named).collect())
}

fn walk(folder: &Path, path: PathBuf, depth: usize, found: &mut BTreeSet<PathBuf>) {
    if depth < MAX_DEPTH {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            // Links lead nowhere that is a group.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                walk(&entry.path(), path.join(entry.file_name()), depth.saturating_add(1), found);
            }
        }
    }
    found.insert(path);
}

/// The files that may list the processes of a group: that of version 2, then one for each controller of version 1.
pub(crate) fn process_lists(root: &Root, group: &Path) -> impl Iterator<Item = PathBuf> {
    let hierarchies = ["unified"].iter().chain(&CONTROLLERS);
    hierarchies.map(move |hierarchy| hierarchy_root(root, hierarchy).join(group).join("cgroup.procs"))
}

/// Where a hierarchy is: version 2 has the place of all of them to itself when there is no version 1.
fn hierarchy_root(root: &Root, hierarchy: &str) -> PathBuf {
    let all = root.sys("fs/cgroup");
    if hierarchy == "unified" && all.join("cgroup.controllers").exists() { all } else { all.join(hierarchy) }
}

/// The file of a group: its hierarchy, the path of the group and the name of the file.
pub(crate) fn group_file(root: &Root, group: &Path, file: &str) -> PathBuf {
    let (hierarchy, name) = file.split_once('/').unwrap_or(("unified", file));
    hierarchy_root(root, hierarchy).join(group).join(name)
}
