//! Files, folders and links of another user, and locks.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::process::{Command, Stdio};
use std::time::Duration;

use tallymon_testkit::{Scratch, attack, other_user};

use super::super::{Lock, LockError};
use super::*;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A folder `a/b` with a file in it.
fn tree() -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    mode(&scratch, 0o755);
    fs::create_dir_all(scratch.join("a/b")).unwrap();
    let file = scratch.join("a/b/file");
    fs::write(&file, "text").unwrap();
    for (path, bits) in [("a", 0o755), ("a/b", 0o755), ("a/b/file", 0o644)] {
        mode(&scratch.join(path), bits);
    }
    (scratch, file)
}

#[test]
fn modes_of_every_part_count() {
    let (scratch, file) = tree();
    assert_eq!(check_path(&file), Ok(()));
    assert_eq!(check_path(&scratch.join("a/b/missing/file")), Ok(()));
    assert!(open_file(&file).is_ok());
    for (part, bits, is_safe) in [
        ("a/b/file", 0o646, false),
        ("a/b/file", 0o600, true),
        ("a/b", 0o757, false),
        ("a/b", 0o1777, true),
        ("a", 0o777, false),
        ("a", 0o1757, true),
    ] {
        let path = scratch.join(part);
        let before = fs::metadata(&path).unwrap().permissions();
        mode(&path, bits);
        let found = check_path(&file);
        assert_eq!(found.is_ok(), is_safe, "{part} {bits:o}: {found:?}");
        assert!(is_safe || found.unwrap_err().to_string().starts_with(&path.display().to_string()));
        fs::set_permissions(&path, before).unwrap();
    }
    // A folder with the sticky bit is safe on the way, but not as the place itself.
    mode(&scratch.join("a/b"), 0o1777);
    assert!(check_path(&scratch.join("a/b")).is_err());
}

#[test]
fn links_are_followed_to_where_they_lead() {
    let (scratch, file) = tree();
    symlink("../a/b", scratch.join("a/link")).unwrap();
    symlink(scratch.join("a/link"), scratch.join("absolute")).unwrap();
    assert_eq!(check_path(&scratch.join("absolute/file")), Ok(()));
    mode(&file, 0o666);
    assert!(check_path(&scratch.join("absolute/file")).is_err());
    symlink("loop", scratch.join("loop")).unwrap();
    assert!(check_path(&scratch.join("loop/file")).unwrap_err().to_string().contains("too many links"));
    // The last part is a plain file.
    mode(&file, 0o644);
    symlink(&file, scratch.join("file")).unwrap();
    assert!(open_file(&scratch.join("file")).unwrap_err().to_string().contains("plain file"));
    assert!(open_file(&scratch).unwrap_err().to_string().contains("plain file"));
}

#[test]
fn attack_own_files_in_the_way_of_root() {
    let Some(other) = other_user() else { return };
    let (scratch, file) = tree();
    for part in ["a/b/file", "a/b", "a"] {
        let path = scratch.join(part);
        chown(&path, Some(other), None).unwrap();
        let found = check_path(&file).unwrap_err();
        assert_eq!((found.part, found.why), (path.clone(), Distrust::Owner { user: other }), "{part}");
        chown(&path, Some(0), None).unwrap();
        chown(&path, None, Some(other)).unwrap();
        mode(&path, 0o775);
        let found = check_path(&file).unwrap_err();
        assert_eq!((found.part, found.why), (path.clone(), Distrust::Group { group: other }), "{part}");
        chown(&path, None, Some(0)).unwrap();
        assert_eq!(check_path(&file), Ok(()), "the group of root");
    }
    // A link of another user in a folder where everybody may create one.
    mode(&scratch.join("a"), 0o1777);
    symlink(scratch.join("a/b"), scratch.join("a/link")).unwrap();
    std::os::unix::fs::lchown(scratch.join("a/link"), Some(other), None).unwrap();
    assert_eq!(check_path(&scratch.join("a/link/file")).unwrap_err().why, Distrust::Owner { user: other });
    attack(
        "other users",
        "own, or be able to write, a file or a folder above it, or a link to it",
        "the path is refused; the message names the part and its owner or mode",
    );
}

#[test]
fn a_sealed_copy_never_changes() {
    let (_scratch, file) = tree();
    let (copy, hash) = sealed_copy(&file, 4).unwrap();
    let mut expected = Sha256::new();
    expected.add(b"text");
    assert_eq!(hash, expected.finish());
    let writer = File::from(copy);
    assert!((&writer).write_all(b"other").is_err() && writer.set_len(0).is_err());
    fs::write(&file, "longer").unwrap();
    assert_eq!(sealed_copy(&file, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}

#[test]
fn the_second_holder_names_the_first() {
    let (scratch, _) = tree();
    let name = "name.lock";
    assert_eq!(Lock::is_held(&scratch, name), Some(false));
    let held = Lock::take(&scratch, name, Duration::ZERO).unwrap();
    assert_eq!(Lock::is_held(&scratch, name), Some(true));
    let error = Lock::take(&scratch, name, Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, LockError::Held { .. }), "{error}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    drop(held);
    assert!(Lock::take(&scratch, name, Duration::ZERO).is_ok());
    let private = scratch.join("private");
    assert_eq!(fs::metadata(&private).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(private.join(name)).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn attack_hold_a_lock_as_another_user() {
    let Some(other) = other_user() else { return };
    let (scratch, _) = tree();
    drop(Lock::take(&scratch, "lock", Duration::ZERO).unwrap());
    // As after `chmod -R a+rX`, or from a backup: the next holder closes both for others.
    mode(&scratch.join("private"), 0o755);
    mode(&scratch.join("private/lock"), 0o644);
    drop(Lock::take(&scratch, "lock", Duration::ZERO).unwrap());
    for (part, bits) in [("private", 0o700), ("private/lock", 0o600)] {
        let about = fs::metadata(scratch.join(part)).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, bits, "{part}");
    }
    // Another user cannot even open it.
    for options in ["--shared", "--exclusive"] {
        let mut flock = Command::new("flock");
        flock.args([options, "--nonblock"]).arg(scratch.join("private/lock")).arg("true");
        flock.stderr(Stdio::null());
        std::os::unix::process::CommandExt::uid(&mut flock, other);
        match flock.status() {
            Ok(status) => assert!(!status.success(), "{options}"),
            Err(error) => return tallymon_testkit::skip(&format!("flock did not start: {error}")),
        }
    }
    // A folder or a lock of another user is not used.
    chown(scratch.join("private/lock"), Some(other), None).unwrap();
    let error = Lock::take(&scratch, "lock", Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains(&format!("belongs to user {other}")), "{error}");
    chown(scratch.join("private"), Some(other), None).unwrap();
    let error = Lock::take(&scratch, "lock", Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("private belongs to user"), "{error}");
    fs::remove_dir_all(scratch.join("private")).unwrap();
    // Links, pipes and folders in its place.
    fs::create_dir(scratch.join("private")).unwrap();
    symlink(scratch.join("a/b/file"), scratch.join("private/link")).unwrap();
    let pipe = scratch.join("private/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o666)).unwrap();
    fs::create_dir(scratch.join("private/folder")).unwrap();
    for name in ["link", "pipe", "folder"] {
        assert!(matches!(Lock::take(&scratch, name, Duration::ZERO), Err(LockError::Io(..))), "{name}");
    }
    assert_eq!(fs::read_to_string(scratch.join("a/b/file")).unwrap(), "text");
    attack(
        "other users",
        "hold, own or replace a lock: flock, also of one that all may read, a link, a pipe, a folder",
        "the lock cannot be opened by others; one that is not ours is refused by name, and nothing waits",
    );
}

#[test]
fn users_of_namespaces() {
    assert!(has_user("         0          0 4294967295\n", 65_534));
    assert!(!has_user("         0       1000          1\n", 65_534));
    assert!(has_user("0 1000 1\n1 100000 65536\n", 65_534));
}
