//! Which block devices are whole disks, and which disks are below each device.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

use super::disks::Device;
use crate::kernel::proc::scan::decimal;
use crate::kernel::reusable_file::{Buffer, ReadMode, ReusableFile};
use crate::kernel::root::Root;

/// Which devices are disks, and which devices use which disks.
#[derive(Default)]
pub(crate) struct DiskTopology {
    pub(crate) disks: Vec<Disk>,
    /// For each device, the positions in `disks` of the disks below it: one, or several for a volume that
    /// spans disks.
    below: HashMap<Device, Vec<usize>>,
}

/// A disk.
pub(crate) struct Disk {
    pub(crate) device: Device,
    /// The kernel's name.
    pub(crate) name: String,
    /// The size file of a drive with a removable medium; 0 without a medium.
    size: Option<ReusableFile>,
}

impl DiskTopology {
    /// Finds the disks among the devices in `/sys/block`.
    pub(crate) fn find(root: &Root, names: &[(Device, String)]) -> DiskTopology {
        let tree = Tree::read(root, names);
        let mut disks: Vec<Disk> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (device, name) in names {
            if tree.is_disk(name) {
                places.insert(name, disks.len());
                let removable = tree.number(name, "removable") == Some(1);
                let watched = removable || tree.number(name, "size") == Some(0);
                let size = watched.then(|| ReusableFile::new(tree.path(name).join("size"), ReadMode::Whole));
                disks.push(Disk { device: *device, name: name.clone(), size });
            }
        }
        let mut below = HashMap::new();
        for (device, name) in names {
            let found = tree.disks_below(name);
            below.insert(*device, found.iter().filter_map(|disk| places.get(disk).copied()).collect());
        }
        DiskTopology { disks, below }
    }

    /// The positions in `disks` of the disks below a device.
    pub(crate) fn below(&self, device: Device) -> &[usize] {
        self.below.get(&device).map_or(&[], Vec::as_slice)
    }
}

impl Disk {
    /// Whether it has a medium; true for drives with a fixed one.
    pub(crate) fn has_medium(&mut self, buffer: &mut Buffer) -> bool {
        match &mut self.size {
            None => true,
            // If the size cannot be read, the drive is just being removed.
            Some(size) => size.read(buffer).is_ok_and(|text| decimal(text.trim_ascii()) != Some(0)),
        }
    }
}

/// The whole devices in `/sys/block`, and their partitions.
struct Tree<'a> {
    root: &'a Root,
    /// The devices that a whole device is composed of; empty for a disk.
    slaves: HashMap<&'a str, Vec<String>>,
    /// The whole device of a partition.
    whole: HashMap<&'a str, &'a str>,
}

impl<'a> Tree<'a> {
    fn read(root: &'a Root, names: &'a [(Device, String)]) -> Tree<'a> {
        let mut tree = Tree { root, slaves: HashMap::new(), whole: HashMap::new() };
        for (_, name) in names {
            if tree.path(name).is_dir() {
                let slaves = fs::read_dir(tree.path(name).join("slaves")).into_iter().flatten().flatten();
                // Below /sys, a `/` in a name is written as `!`.
                let slave = |entry: fs::DirEntry| entry.file_name().to_string_lossy().replace('!', "/");
                tree.slaves.insert(name, slaves.map(slave).collect());
            }
        }
        for (_, name) in names {
            // The name of a partition begins with that of its device, so not every device has to be searched.
            let of = |length: usize| {
                let whole = name.get(..length).filter(|whole| tree.slaves.contains_key(whole))?;
                tree.path(whole).join(name.replace('/', "!")).is_dir().then_some(whole)
            };
            if !tree.slaves.contains_key(name.as_str())
                && let Some(whole) = (1..name.len()).rev().find_map(of)
            {
                tree.whole.insert(name, whole);
            }
        }
        tree
    }

    /// The directory of a whole device.
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.sys("block").join(name.replace('/', "!"))
    }

    /// The number in a file of a whole device.
    fn number(&self, name: &str, file: &str) -> Option<u64> {
        decimal(fs::read(self.path(name).join(file)).ok()?.trim_ascii())
    }

    fn is_disk(&self, name: &str) -> bool {
        // A volume that is being created has no slaves yet, so its kind is checked too.
        let is_volume = || ["dm", "md"].iter().any(|kind| self.path(name).join(kind).is_dir());
        self.slaves.get(name).is_some_and(Vec::is_empty) && !is_in_memory(name) && !is_volume()
    }

    /// The disks below a device; for a disk the disk itself.
    fn disks_below<'t>(&'t self, name: &'t str) -> BTreeSet<&'t str> {
        let mut seen = BTreeSet::from([name]);
        let mut open = vec![name];
        let mut found = BTreeSet::new();
        while let Some(name) = open.pop() {
            if self.is_disk(name) {
                found.insert(name);
            }
            let whole = self.whole.get(name).copied();
            let slaves = self.slaves.get(name).into_iter().flatten().map(String::as_str);
            // Each name is followed once, so that a circle in damaged files ends.
            open.extend(whole.into_iter().chain(slaves).filter(|below| seen.insert(below)));
        }
        found
    }
}

/// Whether a device is backed by a file (`loop0`) or by memory (`ram0`, `zram0`).
fn is_in_memory(name: &str) -> bool {
    ["loop", "ram", "zram"].iter().any(|kind| {
        let number = name.strip_prefix(kind);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}
