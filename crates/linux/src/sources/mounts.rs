//! Which file systems are mounted where, for both disk objects.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::disks::Device;
use crate::kernel::proc::ParseError;
use crate::kernel::proc::mountinfo::{Mount, mounts};

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSystem {
    pub(crate) device: Device,
    /// Where it is mounted.
    pub(crate) path: PathBuf,
    /// The same as text.
    pub(crate) name: String,
    /// Whether its space is its own: that of memory or of an overlay belongs to something else.
    pub(crate) owns_space: bool,
    /// Whether the kernel knows its space without I/O, and that of every directory on the way to it: such a
    /// query cannot hang and needs no thread of its own.
    pub(crate) answers_at_once: bool,
}

impl FileSystem {
    /// Whether the block device statistics may contain its device.
    pub(crate) fn has_device(&self) -> bool {
        self.device.0 != 0
    }
}

/// The file systems in `/proc/self/mountinfo` that hold user files, in the order of mounting.
///
/// Left out are file systems that only expose the kernel, those hidden below others, and all but one mount of
/// each: the first of its root, or the first of any part if its root is not mounted.
///
/// A malformed line costs its mount only, unless there is no other line.
pub(crate) fn mounted(bytes: &[u8]) -> Result<Vec<FileSystem>, ParseError> {
    let mut list = Vec::new();
    let mut first_error = None;
    for mount in mounts(bytes) {
        match mount {
            Ok(mount) => list.push(mount),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    if let Some(error) = first_error.filter(|_| list.is_empty()) {
        return Err(error);
    }
    let visible = Visible::new(&list);
    let holds_files = |mount: &&Mount<'_>| {
        (mount.has_device() || !SHOWS_THE_KERNEL.contains(&&*mount.kind)) && visible.is_visible(mount)
    };
    let mut places: HashMap<Device, usize> = HashMap::new();
    let mut chosen: Vec<&Mount<'_>> = Vec::new();
    for mount in list.iter().filter(holds_files) {
        match places.get(&mount.device).and_then(|place| chosen.get_mut(*place)) {
            Some(other) => {
                if *other.root != *b"/" && *mount.root == *b"/" {
                    *other = mount;
                }
            }
            None => {
                places.insert(mount.device, chosen.len());
                chosen.push(mount);
            }
        }
    }
    let may_wait = |mount: &&Mount<'_>| !ANSWERS_AT_ONCE.contains(&&*mount.kind);
    let slow: HashSet<&Path> = list.iter().filter(may_wait).map(|mount| path(&mount.point)).collect();
    let file_system = |mount: &Mount<'_>| FileSystem {
        device: mount.device,
        path: PathBuf::from(OsString::from_vec(mount.point.to_vec())),
        name: String::from_utf8_lossy(&mount.point).into_owned(),
        owns_space: mount.has_device() || !SPACE_OF_OTHERS.contains(&&*mount.kind),
        answers_at_once: !path(&mount.point).ancestors().any(|folder| slow.contains(folder)),
    };
    Ok(chosen.into_iter().map(file_system).collect())
}

fn path(point: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(point))
}

/// File systems whose space the kernel knows without asking a disk, a server or a program: it is in the
/// superblock or in counters. FAT and btrfs compute it first, and overlays ask the file system below; they
/// are not listed.
const ANSWERS_AT_ONCE: [&[u8]; 13] = [
    b"cgroup",
    b"cgroup2",
    b"devtmpfs",
    b"erofs",
    b"ext2",
    b"ext3",
    b"ext4",
    b"proc",
    b"ramfs",
    b"squashfs",
    b"sysfs",
    b"tmpfs",
    b"xfs",
];

/// File systems without a device that hold no user files, however many blocks they report.
const SHOWS_THE_KERNEL: [&[u8]; 29] = [
    b"autofs",
    b"bdev",
    b"binder",
    b"binfmt_misc",
    b"bpf",
    b"cgroup",
    b"cgroup2",
    b"configfs",
    b"cpuset",
    b"debugfs",
    b"devpts",
    b"devtmpfs",
    b"efivarfs",
    b"functionfs",
    b"fuse.gvfsd-fuse",
    b"fuse.lxcfs",
    b"fuse.portal",
    b"fusectl",
    b"hugetlbfs",
    b"mqueue",
    b"nfsd",
    b"nsfs",
    b"proc",
    b"pstore",
    b"rpc_pipefs",
    b"securityfs",
    b"selinuxfs",
    b"sysfs",
    b"tracefs",
];

/// File systems whose space is memory, or that of another file system.
const SPACE_OF_OTHERS: [&[u8]; 5] = [b"overlay", b"ramfs", b"rootfs", b"tmpfs", b"aufs"];

/// Finds mounts that are covered by later ones.
struct Visible<'m> {
    /// The parent mount of each mount.
    parents: HashMap<u32, u32>,
    /// The mounts at each path.
    at: HashMap<&'m [u8], Vec<u32>>,
}

impl<'m> Visible<'m> {
    fn new(list: &'m [Mount<'_>]) -> Visible<'m> {
        let mut at: HashMap<&[u8], Vec<u32>> = HashMap::new();
        for mount in list {
            at.entry(&mount.point).or_default().push(mount.id);
        }
        Visible { parents: list.iter().map(|mount| (mount.id, mount.parent)).collect(), at }
    }

    /// A mount is covered when another one is mounted at its path, or at a directory above it, and it is not
    /// mounted below that one.
    fn is_visible(&self, mount: &Mount<'_>) -> bool {
        let mut path = HashSet::from([mount.id]);
        let mut id = mount.id;
        while let Some(parent) = self.parents.get(&id).filter(|parent| path.insert(**parent)) {
            id = *parent;
        }
        let point: &[u8] = &mount.point;
        let slashes = point.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let folders = slashes.filter_map(|at| point.get(..at)).filter(|folder| !folder.is_empty());
        let all = [b"/".as_slice(), point].into_iter().chain(folders);
        all.filter_map(|folder| self.at.get(folder)).flatten().all(|other| path.contains(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::proc::fixture::{check_damage, fixture};

    fn names(bytes: &[u8]) -> Vec<String> {
        mounted(bytes).unwrap().into_iter().map(|file_system| file_system.name).collect()
    }

    #[test]
    fn a_current_machine() {
        // The first /dev/shm (25) is covered by the second (30).
        let text = fixture("6.18/mountinfo");
        assert_eq!(names(&text), ["/", "/mnt/tools", "/dev/shm", "/sys/fs/cgroup"]);
        let found = mounted(&text).unwrap();
        assert_eq!((found[0].device, found[0].owns_space, found[0].has_device()), ((254, 0), true, true));
        assert_eq!((found[1].device, found[1].owns_space, found[1].has_device()), ((0, 25), false, false));
        check_damage("6.18/mountinfo", mounted);
    }

    #[test]
    fn escaped_names_and_network_file_systems() {
        let found = mounted(&fixture("written/mountinfo")).unwrap();
        let names: Vec<&str> = found.iter().map(|file_system| file_system.name.as_str()).collect();
        assert_eq!(names, ["/mnt2", "/media/My Disk\t#1\n\\", "/srv/data", "/home/me/s", "/empty", "/plain"]);
        assert_eq!(found[1].path, PathBuf::from("/media/My Disk\t#1\n\\"));
        assert!(found[1].owns_space && !found[1].has_device());
        assert!(!found[4].owns_space);
    }

    #[test]
    fn bind_mounts_count_once() {
        let text = b"20 21 8:1 /home /home rw - ext4 /dev/sda1 rw
21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 8:1 /etc /other rw - ext4 /dev/sda1 rw
23 21 8:2 /a /a rw - ext4 /dev/sda2 rw
24 21 8:2 /b /b rw - ext4 /dev/sda2 rw
25 21 0:40 / /c rw - overlay overlay rw
26 21 0:41 / /d rw - overlay overlay rw
";
        assert_eq!(names(text), ["/", "/a", "/c", "/d"]);
    }

    #[test]
    fn mounts_that_may_hang_are_queried_in_a_thread() {
        let text = b"20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 20 0:40 / /net rw - nfs4 server:/ rw
22 21 8:2 / /net/own rw - ext4 /dev/sda2 rw
23 20 0:41 / /tmp rw - tmpfs tmpfs rw
24 20 8:3 / /stick rw - vfat /dev/sdb1 rw
25 20 0:42 / /netless rw - tmpfs tmpfs rw
26 20 0:43 / /box rw - overlay overlay rw
";
        let found = mounted(text).unwrap();
        let at_once = found.iter().filter(|file_system| file_system.answers_at_once);
        let names: Vec<&str> = at_once.map(|file_system| file_system.name.as_str()).collect();
        // The path /net/own leads through a server that may be gone.
        assert_eq!(names, ["/", "/tmp", "/netless"]);
    }

    #[test]
    fn covered_mounts_are_left_out() {
        let text = b"20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 20 8:2 / /mnt/deep/inner rw - ext4 /dev/sda2 rw
22 20 8:3 / /mnt rw - ext4 /dev/sda3 rw
23 22 8:4 / /mnt/deep rw - ext4 /dev/sda4 rw
24 20 8:5 / /mn rw - ext4 /dev/sda5 rw
";
        assert_eq!(names(text), ["/", "/mnt", "/mnt/deep", "/mn"]);
        // A circle of parents, which no kernel has.
        assert_eq!(names(b"1 2 8:1 / /a rw - x a rw\n2 1 8:2 / /b rw - x b rw\n"), ["/a", "/b"]);
    }

    #[test]
    fn a_damaged_line_costs_its_mount_only() {
        assert_eq!(names(b"many\n21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"), ["/"]);
        assert!(mounted(b"many\n").is_err());
        assert_eq!(mounted(b""), Ok(Vec::new()));
    }
}
