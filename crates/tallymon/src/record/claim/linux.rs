//! Locks of Linux.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

/// The process that has locked a file, as far as `/proc` shows it.
pub(super) fn holder(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
    let holder = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let is_flock = words.next()? == "FLOCK";
        let process = words.nth(2)?;
        // A file system may show another device here than to `stat`, so that the number of the file decides.
        let is_this = words.next()?.rsplit(':').next()? == inode;
        if is_flock && is_this { process.parse().ok().filter(|process| *process != 0) } else { None }
    };
    locks.lines().find_map(holder)
}
