//! The control groups of both versions, by their paths, for the objects with one instance per group.
//!
//! Groups of version 2 are below `/sys/fs/cgroup` or its subdirectory `unified`, those of version 1 in one
//! directory per controller. Equal paths are one group. `_Total` is the root, which contains all others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tallymon_provider::Absence;

use crate::kernel::root::Root;

/// The controllers of version 1 whose groups are listed, one directory each.
const CONTROLLERS: [&str; 4] = ["cpuacct", "memory", "pids", "cpu"];

/// How deep groups are followed; the kernel allows more, but no program creates them.
const MAX_DEPTH: usize = 32;

/// Each group once: its name, and its path below a hierarchy.
pub(crate) type Groups = Vec<(String, PathBuf)>;

/// Lists all groups.
pub(crate) fn find_groups(root: &Root) -> Result<Groups, Absence> {
    let mut found = BTreeSet::new();
    for hierarchy in ["unified"].iter().chain(&CONTROLLERS) {
        let folder = hierarchy_root(root, hierarchy);
        // The root of version 1 is an ordinary directory when nothing is mounted there.
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
            // Symbolic links never lead to another group.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                walk(&entry.path(), path.join(entry.file_name()), depth.saturating_add(1), found);
            }
        }
    }
    found.insert(path);
}

/// The files that may list the processes of a group: that of version 2, then one per controller of version 1.
pub(crate) fn process_lists(root: &Root, group: &Path) -> impl Iterator<Item = PathBuf> {
    let hierarchies = ["unified"].iter().chain(&CONTROLLERS);
    hierarchies.map(move |hierarchy| hierarchy_root(root, hierarchy).join(group).join("cgroup.procs"))
}

/// The root directory of a hierarchy: version 2 has `/sys/fs/cgroup` to itself when there is no version 1.
fn hierarchy_root(root: &Root, hierarchy: &str) -> PathBuf {
    let all = root.sys("fs/cgroup");
    if hierarchy == "unified" && all.join("cgroup.controllers").exists() { all } else { all.join(hierarchy) }
}

/// The path of a group's file: its hierarchy, the path of the group and the name of the file.
pub(crate) fn group_file(root: &Root, group: &Path, file: &str) -> PathBuf {
    let (hierarchy, name) = file.split_once('/').unwrap_or(("unified", file));
    hierarchy_root(root, hierarchy).join(group).join(name)
}
