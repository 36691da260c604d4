//! System calls that change files, and whether those files are outside of the folders that a library may
//! change.
//!
//! The kernel decides whether a call succeeds. What is found here is counted only, so a library gains nothing
//! by changing a path between this look and the call.

use std::ffi::{OsString, c_long};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use super::confine::Call;

/// The longest path that the kernel takes, with its end.
const LONGEST_PATH: usize = 4096;

/// Which arguments of a call, from 0 on, name a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A path, relative to the working folder.
    Path(usize),
    /// A descriptor of a folder, and after it a path relative to that folder.
    At(usize),
    /// The same, or without a path a descriptor of the file.
    AtOrDescriptor(usize),
    /// A descriptor of the file.
    Descriptor(usize),
}

/// What the call finds there. Otherwise it fails for everybody, and is no attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finds {
    /// A file; links are followed.
    File,
    /// A file, or nothing, and then it is made; links are followed.
    FileOrNothing,
    /// A file or a link.
    Entry,
    /// Neither a file nor a link.
    Nothing,
    /// Anything or nothing; links are not followed.
    Anything,
}

type Change = (c_long, &'static [(Place, Finds)]);

/// Calls that always change something.
const CHANGES: &[Change] = &[
    (libc::SYS_mkdirat, &[(Place::At(0), Finds::Nothing)]),
    (libc::SYS_mknodat, &[(Place::At(0), Finds::Nothing)]),
    (libc::SYS_symlinkat, &[(Place::At(1), Finds::Nothing)]),
    (libc::SYS_linkat, &[(Place::At(2), Finds::Nothing)]),
    (libc::SYS_unlinkat, &[(Place::At(0), Finds::Entry)]),
    (libc::SYS_renameat2, &[(Place::At(0), Finds::Entry), (Place::At(2), Finds::Anything)]),
    (libc::SYS_truncate, &[(Place::Path(0), Finds::File)]),
    (libc::SYS_fchmodat, &[(Place::At(0), Finds::File)]),
    (libc::SYS_fchownat, &[(Place::At(0), Finds::Entry)]),
    (libc::SYS_fchmod, &[(Place::Descriptor(0), Finds::File)]),
    (libc::SYS_fchown, &[(Place::Descriptor(0), Finds::File)]),
    (FCHMODAT2, &[(Place::At(0), Finds::File)]),
    (libc::SYS_utimensat, &[(Place::AtOrDescriptor(0), Finds::File)]),
    (libc::SYS_setxattr, &[(Place::Path(0), Finds::File)]),
    (libc::SYS_lsetxattr, &[(Place::Path(0), Finds::Entry)]),
    (libc::SYS_fsetxattr, &[(Place::Descriptor(0), Finds::File)]),
    (libc::SYS_removexattr, &[(Place::Path(0), Finds::File)]),
    (libc::SYS_lremovexattr, &[(Place::Path(0), Finds::Entry)]),
    (libc::SYS_fremovexattr, &[(Place::Descriptor(0), Finds::File)]),
    (SETXATTRAT, &[(Place::At(0), Finds::File)]),
    (REMOVEXATTRAT, &[(Place::At(0), Finds::File)]),
];

/// Calls of Linux 6.6 and 6.13, which have the same number everywhere.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;

/// Those among them that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLDER_CHANGES: &[Change] = &[
    (libc::SYS_creat, &[(Place::Path(0), Finds::FileOrNothing)]),
    (libc::SYS_mkdir, &[(Place::Path(0), Finds::Nothing)]),
    (libc::SYS_mknod, &[(Place::Path(0), Finds::Nothing)]),
    (libc::SYS_symlink, &[(Place::Path(1), Finds::Nothing)]),
    (libc::SYS_link, &[(Place::Path(1), Finds::Nothing)]),
    (libc::SYS_rmdir, &[(Place::Path(0), Finds::Entry)]),
    (libc::SYS_unlink, &[(Place::Path(0), Finds::Entry)]),
    (libc::SYS_rename, &[(Place::Path(0), Finds::Entry), (Place::Path(1), Finds::Anything)]),
    (libc::SYS_renameat, &[(Place::At(0), Finds::Entry), (Place::At(2), Finds::Anything)]),
    (libc::SYS_chmod, &[(Place::Path(0), Finds::File)]),
    (libc::SYS_chown, &[(Place::Path(0), Finds::File)]),
    (libc::SYS_lchown, &[(Place::Path(0), Finds::Entry)]),
    (libc::SYS_utime, &[(Place::Path(0), Finds::File)]),
    (libc::SYS_utimes, &[(Place::Path(0), Finds::File)]),
    (libc::SYS_futimesat, &[(Place::AtOrDescriptor(0), Finds::File)]),
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_CHANGES: &[Change] = &[];

/// Calls that open a file, where its path is, and which argument has the flags.
#[cfg(target_arch = "x86_64")]
const OPENS: &[(c_long, Place, usize)] =
    &[(libc::SYS_openat, Place::At(0), 2), (libc::SYS_open, Place::Path(0), 1)];
#[cfg(not(target_arch = "x86_64"))]
const OPENS: &[(c_long, Place, usize)] = &[(libc::SYS_openat, Place::At(0), 2)];

/// Flags of an open that changes something.
pub(super) const CHANGING_FLAGS: u32 =
    (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC).unsigned_abs();

/// Calls that open a file, and which argument has their flags.
pub(super) fn opens() -> impl Iterator<Item = (c_long, usize)> {
    OPENS.iter().map(|(call, _, flags)| (*call, *flags))
}

/// The other calls that may change files. A filter cannot see the flags of `openat2`, which are in memory.
pub(super) fn others() -> impl Iterator<Item = c_long> {
    CHANGES.iter().chain(OLDER_CHANGES).map(|(call, _)| *call).chain([libc::SYS_openat2])
}

/// Whether a call may change files.
pub(super) fn is_change(number: c_long) -> bool {
    opens().map(|(call, _)| call).chain(others()).any(|call| call == number)
}

/// Where the files are that a call changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Where the library may change them, or the call fails for everybody.
    Own,
    /// One is outside of these folders.
    Outside,
    /// One is in these folders, belongs to another user, and only that one may change it.
    OfOther,
}

/// The paths of a call that changes files, as the library gave them, each in the folder that it is relative
/// to. `None` for another call.
pub(super) struct Changed(Vec<(PathBuf, Finds)>);

impl Changed {
    pub(super) fn by(call: &Call) -> Option<Changed> {
        let number = call.number?;
        if let Some((_, place, flags)) = OPENS.iter().find(|(open, ..)| *open == number) {
            return Some(Changed::opened(call, *place, *call.arguments.get(*flags)?));
        }
        if number == libc::SYS_openat2 {
            let [_, _, at, ..] = call.arguments;
            let flags = memory(call.thread, at, 8).try_into().map_or(0, u64::from_le_bytes);
            return Some(Changed::opened(call, Place::At(0), flags));
        }
        let (_, places) = CHANGES.iter().chain(OLDER_CHANGES).find(|(change, _)| *change == number)?;
        let paths = places.iter().filter_map(|(place, finds)| Some((path(call, *place)?, *finds)));
        Some(Changed(paths.collect()))
    }

    fn opened(call: &Call, place: Place, flags: u64) -> Changed {
        let has = |flag: libc::c_int| flags & u64::from(flag.unsigned_abs()) != 0;
        let finds = match (has(libc::O_CREAT), has(libc::O_EXCL)) {
            (true, true) => Finds::Nothing,
            (true, false) => Finds::FileOrNothing,
            (false, _) => Finds::File,
        };
        let changes = flags & u64::from(CHANGING_FLAGS) != 0;
        Changed(path(call, place).filter(|_| changes).map(|path| (path, finds)).into_iter().collect())
    }

    /// Whether one is the memory of another process than that of this thread.
    pub(super) fn is_memory_of_other(&self, thread: u32) -> bool {
        self.0.iter().any(|(path, _)| is_memory_of_other(path, thread))
    }

    /// Where they are, when a thread changes them that may change what is in these files and folders, which
    /// are absolute and without links.
    pub(super) fn find(&self, thread: u32, writable: &[PathBuf]) -> Found {
        let mut found = Found::Own;
        for (path, finds) in self.0.iter().filter(|(path, _)| !is_own(path)) {
            let Some(file) = file_at(path, *finds).filter(|file| is_in_a_folder(file)) else { continue };
            if !writable.iter().any(|writable| file.starts_with(writable)) {
                return Found::Outside;
            }
            if is_of_other(&file, *finds, || user_of(thread)) {
                found = Found::OfOther;
            }
        }
        found
    }

    #[cfg(test)]
    pub(super) fn names(&self, path: &[u8]) -> bool {
        self.0.iter().any(|(name, _)| name.as_os_str().as_encoded_bytes() == path)
    }
}

/// The first bytes at an address in the memory of a thread; fewer, or none, where they cannot be read.
fn memory(thread: u32, at: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0u8; length];
    let found = File::open(format!("/proc/{thread}/mem")).and_then(|memory| memory.read_at(&mut bytes, at));
    bytes.truncate(found.unwrap_or(0));
    bytes
}

/// A path in the memory of a thread; `None` where it cannot be read.
fn path_at(thread: u32, at: u64) -> Option<PathBuf> {
    let mut bytes = memory(thread, at, LONGEST_PATH);
    let end = bytes.iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// What a place of a call names, as an absolute path.
fn path(call: &Call, place: Place) -> Option<PathBuf> {
    let argument = |number: usize| call.arguments.get(number).copied();
    let thread = call.thread;
    let of_descriptor = |number: u64| {
        // The kernel takes the lower half as a signed number.
        let [a, b, c, d, ..] = number.to_le_bytes();
        let link = match i32::from_le_bytes([a, b, c, d]) {
            libc::AT_FDCWD => format!("/proc/{thread}/cwd"),
            number => format!("/proc/{thread}/fd/{number}"),
        };
        std::fs::read_link(link).ok()
    };
    let (folder, path) = match place {
        Place::Descriptor(number) => return of_descriptor(argument(number)?),
        Place::Path(number) => (libc::AT_FDCWD.cast_unsigned().into(), path_at(thread, argument(number)?)?),
        Place::AtOrDescriptor(number) if argument(number.checked_add(1)?)? == 0 => {
            return of_descriptor(argument(number)?);
        }
        Place::At(number) | Place::AtOrDescriptor(number) => {
            (argument(number)?, path_at(thread, argument(number.checked_add(1)?)?)?)
        }
    };
    if path.is_absolute() {
        return Some(path);
    }
    let folder = of_descriptor(folder)?;
    // An empty path means the descriptor, where it is allowed.
    Some(if path.as_os_str().is_empty() { folder } else { folder.join(path) })
}

/// Whether a path means something of the process that uses it.
fn is_own(path: &Path) -> bool {
    const OWN: [&str; 6] =
        ["/proc/self", "/proc/thread-self", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"];
    OWN.iter().any(|own| path.starts_with(own))
}

/// Whether a file has a name in a folder: memory files, pipes and sockets have none.
fn is_in_a_folder(file: &Path) -> bool {
    file.is_absolute() && !file.as_os_str().as_encoded_bytes().starts_with(b"/memfd:")
}

/// The file that a call would change, without links; `None` if the call fails because of what is there.
fn file_at(path: &Path, finds: Finds) -> Option<PathBuf> {
    match finds {
        Finds::File => file(path, OFlags::empty()),
        // A link that leads nowhere stays one, as the file that would be made is behind it.
        Finds::FileOrNothing => file(path, OFlags::empty())
            .or_else(|| Some(entry(path)?.parent()?.join(std::fs::read_link(path).ok()?)))
            .or_else(|| entry(path)),
        Finds::Entry => file(path, OFlags::NOFOLLOW),
        Finds::Nothing if file(path, OFlags::NOFOLLOW).is_some() => None,
        Finds::Nothing | Finds::Anything => entry(path),
    }
}

/// Whether a change of this file needs the rights of another user: the owner of the file or, for its entry,
/// of the folder. What others may write is nobody's alone.
fn is_of_other(file: &Path, finds: Finds, user: impl Fn() -> Option<u32>) -> bool {
    let status = |path: &Path| rustix::fs::lstat(path).ok();
    let is_theirs = |status: &Stat| user().is_some_and(|user| user != status.st_uid);
    let is_closed = |status: &Stat| {
        let mode = Mode::from_raw_mode(status.st_mode);
        !mode.intersects(Mode::WGRP | Mode::WOTH) && is_theirs(status)
    };
    let there = status(file);
    if let (Some(there), Finds::File | Finds::FileOrNothing) = (&there, finds) {
        return is_closed(there);
    }
    let Some(folder) = file.parent().and_then(status) else { return false };
    // In such a folder only owners remove or move what is there.
    let is_kept = Mode::from_raw_mode(folder.st_mode).contains(Mode::SVTX) && is_theirs(&folder);
    is_closed(&folder) || is_kept && there.is_some_and(|there| is_theirs(&there))
}

/// The user whose rights over files a thread has; `None` once it has ended.
fn user_of(thread: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next_back()?.parse().ok()
}

/// The name of an entry in its folder, without links before the last part.
fn entry(path: &Path) -> Option<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Some(file(folder, OFlags::empty())?.join(name)),
        _ => file(path, OFlags::NOFOLLOW),
    }
}

/// The name of the file at a path, without links; `None` if there is none. Nothing is opened: a pipe or a
/// device does not notice.
fn file(path: &Path, flags: OFlags) -> Option<PathBuf> {
    match rustix::fs::open(path, flags | OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => {
            let name =
                rustix::fs::readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new()).ok()?;
            Some(PathBuf::from(OsString::from_vec(name.into_bytes())))
        }
        // The library may not look there either, so it is refused.
        Err(Errno::ACCESS) => Some(path.to_path_buf()),
        Err(_) => None,
    }
}

/// Whether this is the path of the memory of another process.
fn is_memory_of_other(path: &Path, thread: u32) -> bool {
    let Some(path) = path.to_str().filter(|path| path.starts_with('/')) else { return false };
    let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    let is_proc = parts.next() == Some("proc");
    let is_other =
        parts.next().and_then(|number| number.parse().ok()).is_some_and(|number: u32| number != thread);
    is_proc && is_other && parts.next_back() == Some("mem")
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod changes_tests;
