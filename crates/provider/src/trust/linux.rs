//! Owners and modes of Linux.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{Distrust, Sha256, Untrusted};

/// The most links that a path may lead through, as in the kernel.
const MAX_LINKS: usize = 40;

/// Checks that only root and this user can change a file or folder, or put another one in its place: owner
/// and mode of it and of every folder on the way, also through links. What does not exist is not checked.
///
/// A folder in which everybody may create files, such as `/tmp`, is a safe place on the way if only owners
/// can remove files there (the sticky bit). A group may write if it is root's, or the private group of the
/// owner, which has the owner's number.
///
/// # Errors
///
/// The first part that somebody else could change.
pub fn check_path(path: &Path) -> Result<(), Untrusted> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Untrusted { part: path.to_path_buf(), why: Distrust::Io(error.to_string()) })?;
    let mut rest: VecDeque<OsString> = parts(&absolute);
    let mut at = PathBuf::from("/");
    let mut links = 0usize;
    let fail = |part: &Path, why| Err(Untrusted { part: part.to_path_buf(), why });
    loop {
        let about = match std::fs::symlink_metadata(&at) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return fail(&at, Distrust::Io(error.to_string())),
        };
        if about.is_symlink() {
            links = links.saturating_add(1);
            if links > MAX_LINKS {
                return fail(&at, Distrust::Io("too many links".to_string()));
            }
            if !is_trusted(about.uid()) {
                return fail(&at, Distrust::Owner { user: about.uid() });
            }
            // A link of the kernel, as in /proc, leads to an open file; what it says may not be a path.
            let target = match std::fs::read_link(&at) {
                Ok(target) => target,
                Err(error) => return fail(&at, Distrust::Io(error.to_string())),
            };
            at.pop();
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            for part in parts(&target).into_iter().rev() {
                rest.push_front(part);
            }
        } else if let Some(why) = distrust(&about, !rest.is_empty()) {
            return fail(&at, why);
        }
        match rest.pop_front() {
            None => return Ok(()),
            Some(part) if part == ".." => {
                at.pop();
            }
            Some(part) => at.push(part),
        }
    }
}

/// The names in a path, with `..` but without `.` and the root.
fn parts(path: &Path) -> VecDeque<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

/// What is wrong with a file or folder; `on_the_way` if something in it is meant.
fn distrust(about: &std::fs::Metadata, on_the_way: bool) -> Option<Distrust> {
    let (owner, group, mode) = (about.uid(), about.gid(), about.mode());
    if !is_trusted(owner) {
        return Some(Distrust::Owner { user: owner });
    }
    // Others may add names, and the owner of each name is looked at.
    if on_the_way && about.is_dir() && mode & 0o1000 != 0 {
        return None;
    }
    if mode & 0o002 != 0 {
        return Some(Distrust::Everybody);
    }
    let is_private = group == 0 || group == owner;
    (mode & 0o020 != 0 && !is_private).then_some(Distrust::Group { group })
}

/// Whether a user is root or this user, or the unknown root outside of this user namespace.
fn is_trusted(user: u32) -> bool {
    static UNKNOWN: LazyLock<Option<u32>> = LazyLock::new(|| {
        let number = std::fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
        let map = std::fs::read_to_string("/proc/self/uid_map").ok()?;
        let unknown: u32 = number.trim().parse().unwrap_or(65_534);
        (!has_user(&map, unknown)).then_some(unknown)
    });
    user == 0 || user == rustix::process::geteuid().as_raw() || Some(user) == *UNKNOWN
}

/// Whether this process has rights that its user has not, by capabilities of its program file or of a
/// service.
///
/// What such a process loads into itself gets these rights too, so it must not be what its user chose.
pub fn has_more_rights_than_its_user() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    !rustix::process::geteuid().is_root() && permits_something(&status)
}

/// Whether a process with this `status` has capabilities. Without the line, it is believed to have.
fn permits_something(status: &str) -> bool {
    let permitted = status.lines().find_map(|line| line.strip_prefix("CapPrm:"));
    permitted.is_none_or(|bits| bits.trim().bytes().any(|digit| digit != b'0'))
}

/// Whether a user namespace with this `uid_map` has a user.
fn has_user(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map_while(|number| number.parse::<u32>().ok());
        let (Some(first), Some(_), Some(count)) = (numbers.next(), numbers.next(), numbers.next()) else {
            return false;
        };
        user.checked_sub(first).is_some_and(|position| position < count)
    })
}

/// Opens a plain file for reading that only root and this user can write. Follows no link in the last part of
/// the path and does not wait for the other end of a pipe. The folders above it are for [`check_path`].
///
/// # Errors
///
/// It cannot be opened; it is not a plain file, or others can write it.
pub fn open_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let not_a_file = || Untrusted { part: path.to_path_buf(), why: Distrust::NotAFile };
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::LOOP => not_a_file().into(),
        errno => io::Error::from(errno),
    })?;
    checked(path, File::from(file))
}

/// Creates a folder, and those above it, that only its user can change, whatever the umask is.
///
/// # Errors
///
/// They cannot be created.
pub fn create_folders(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// Creates a new file for writing that only its user can change, whatever the umask is. Follows no link.
///
/// # Errors
///
/// It cannot be created, or something of that name is there.
pub fn create_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o644).open(path)
}

/// Renames a file, in place of one that may be there.
///
/// # Errors
///
/// As [`std::fs::rename`].
pub fn replace(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// Opens a plain file for appending that only root and this user can write, or creates it. Follows no link.
///
/// # Errors
///
/// It cannot be opened; it is not a plain file, or others can write it.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    checked(path, File::options().append(true).create(true).mode(0o644).custom_flags(flags).open(path)?)
}

/// A file that was opened, if it is a plain one that only root and this user can write.
fn checked(path: &Path, file: File) -> io::Result<File> {
    let about = file.metadata()?;
    let why = if about.is_file() { distrust(&about, false) } else { Some(Distrust::NotAFile) };
    match why {
        Some(why) => Err(Untrusted { part: path.to_path_buf(), why }.into()),
        None => Ok(file),
    }
}

/// Copies a file into memory that nobody can change any more, and returns its hash. A process that still maps
/// the file from the time when it could write it changes the file, but not the copy.
///
/// # Errors
///
/// As [`open_file`] and [`check_path`]; there is no memory.
pub fn sealed_copy(path: &Path, longest: u64) -> io::Result<(OwnedFd, [u8; 32])> {
    use rustix::fs::{MemfdFlags, SealFlags};
    check_path(path)?;
    // The path may lead through links; every part was checked.
    let mut file = open_file(&std::fs::canonicalize(path)?)?.take(longest.saturating_add(1));
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut copy = File::from(rustix::fs::memfd_create("tallymon-library", flags)?);
    let mut hash = Sha256::new();
    let mut buffer = vec![0u8; 64 << 10];
    let mut all = 0u64;
    loop {
        let part = match file.read(&mut buffer) {
            Ok(length) => buffer.get(..length).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if part.is_empty() {
            break;
        }
        all = all.saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
        if all > longest {
            let words = format!("{}: longer than {longest} bytes", path.display());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
        }
        hash.add(part);
        copy.write_all(part)?;
    }
    rustix::fs::fcntl_add_seals(
        &copy,
        SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL,
    )?;
    Ok((copy.into(), hash.finish()))
}

/// Creates a new file for writing that only its user can read and change, whatever the umask is. Follows no
/// link.
///
/// # Errors
///
/// It cannot be created, or something of that name is there.
pub fn create_secret(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

/// Creates a folder that only its user can enter, unless it is there, and checks it. One of this user that
/// others can enter, as after a `chmod` or from a backup, is closed for them.
///
/// # Errors
///
/// It cannot be created; others can change it or a folder above it.
pub fn private_folder(path: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => check_path(path)?,
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(folder) => keep_to_user(&File::from(folder)),
        // A link that was there before leads to a folder that was checked, and is the user's choice.
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Takes the rights of others from an open file or folder of this user.
fn keep_to_user(file: &File) -> io::Result<()> {
    let about = file.metadata()?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    if is_own && about.mode() & 0o077 != 0 {
        rustix::fs::fchmod(file, Mode::from_raw_mode(about.mode() & 0o700))?;
    }
    Ok(())
}

/// Opens the file of a lock, or creates it; other users cannot open it. They could hold one that they can
/// read, so an older one that others can read is closed for them.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    // Never truncated: the holder's number is in it.
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let file = checked(path, options.open(path)?)?;
    keep_to_user(&file)?;
    Ok(file)
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
