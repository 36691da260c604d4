use std::os::unix::fs::symlink;

use tallymon_testkit::Scratch;

use super::*;

fn own_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// A call of this thread, with arguments that live long enough.
fn call(number: c_long, arguments: [u64; 6]) -> Call {
    Call::of_thread(own_thread(), number, arguments)
}

fn address(path: &std::ffi::CStr) -> u64 {
    path.as_ptr().addr() as u64
}

fn c_path(path: &Path) -> std::ffi::CString {
    std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap()
}

#[test]
fn paths_of_the_memory_of_others() {
    for (path, wanted) in [
        ("/proc/12/mem", true),
        ("//proc/./12/task/13/mem", true),
        ("/proc/7/mem", false),
        ("/proc/self/mem", false),
        ("/proc/12/maps", false),
        ("proc/12/mem", false),
        ("/tmp/12/mem", false),
        ("/proc", false),
        ("", false),
    ] {
        assert_eq!(is_memory_of_other(Path::new(path), 7), wanted, "{path}");
    }
    assert!(!is_memory_of_other(Path::new(&OsString::from_vec(b"/proc/12/\xffmem".to_vec())), 7));
}

#[test]
fn memory_is_read_as_far_as_it_is_there() {
    let text = c"/proc/1/mem";
    let thread = std::process::id();
    assert_eq!(path_at(thread, address(text)).unwrap(), Path::new("/proc/1/mem"));
    assert_eq!(path_at(thread, 8), None);
    assert!(memory(thread, 8, 8).is_empty());
}

/// Whether opening a path with these flags changes something outside of a folder.
fn opens_outside(path: &Path, flags: libc::c_int, writable: &Path) -> bool {
    let text = c_path(path);
    let folder = i64::from(libc::AT_FDCWD).cast_unsigned();
    let opened = call(libc::SYS_openat, [folder, address(&text), flags.unsigned_abs().into(), 0o600, 0, 0]);
    is_outside(&Changed::by(&opened).unwrap(), writable)
}

/// Whether something is changed outside of a folder.
fn is_outside(changed: &Changed, writable: &Path) -> bool {
    changed.find(own_thread(), &[writable.to_path_buf()]) == Found::Outside
}

#[test]
fn a_file_is_outside_by_where_it_really_is() {
    let (inside, outside) = (Scratch::new(), Scratch::new());
    let [inside, outside] = [&inside, &outside].map(|folder| std::fs::canonicalize(folder).unwrap());
    for folder in [&inside, &outside] {
        std::fs::write(folder.join("there"), "x").unwrap();
    }
    symlink(&outside, inside.join("folder")).unwrap();
    symlink(outside.join("there"), inside.join("link")).unwrap();
    symlink(outside.join("absent"), inside.join("dangling")).unwrap();
    symlink(&inside, outside.join("back")).unwrap();
    let (write, make) = (libc::O_WRONLY, libc::O_WRONLY | libc::O_CREAT);
    let make_new = make | libc::O_EXCL;
    for (path, flags, wanted) in [
        (inside.join("there"), write, false),
        (inside.join("absent"), make, false),
        (inside.join("../").join(inside.file_name().unwrap()).join("there"), write, false),
        (outside.join("back/absent"), make, false),
        (outside.join("there"), write, true),
        (outside.join("there"), libc::O_RDWR | libc::O_TRUNC, true),
        (outside.join("there"), libc::O_RDONLY, false),
        (outside.join("absent"), make, true),
        (outside.join("absent"), make_new, true),
        // These fail for everybody.
        (outside.join("absent"), write, false),
        (outside.join("there"), make_new, false),
        (outside.join("absent/absent"), make, false),
        (inside.join("folder/there"), write, true),
        (inside.join("folder/absent"), make, true),
        (inside.join("link"), write, true),
        (inside.join("dangling"), make, true),
        (inside.join("..").join(outside.file_name().unwrap()).join("there"), write, true),
        ("/proc/self/comm".into(), write, false),
        ("/dev/stdout".into(), write, false),
    ] {
        assert_eq!(opens_outside(&path, flags, &inside), wanted, "{} {flags:o}", path.display());
    }
}

#[test]
fn every_call_that_changes_files_is_judged_by_its_own_arguments() {
    let (inside, outside) = (Scratch::new(), Scratch::new());
    let [inside, outside] = [&inside, &outside].map(|folder| std::fs::canonicalize(folder).unwrap());
    for folder in [&inside, &outside] {
        std::fs::write(folder.join("there"), "x").unwrap();
    }
    let folders = [&inside, &outside].map(|folder| File::open(folder).unwrap());
    let files = [&inside, &outside].map(|folder| File::open(folder.join("there")).unwrap());
    for (number, places) in CHANGES.iter().chain(OLDER_CHANGES) {
        for (index, (place, finds)) in places.iter().enumerate() {
            let name = match finds {
                Finds::Nothing => c"absent",
                _ => c"there",
            };
            for is_beyond in [false, true] {
                let side = usize::from(is_beyond);
                let folder = [&inside, &outside][side];
                let absolute = c_path(&folder.join(name.to_str().unwrap()));
                let within = c_path(&inside.join(if *finds == Finds::Nothing { "absent" } else { "there" }));
                let mut arguments = [address(&within); 6];
                match *place {
                    Place::Path(at) => arguments[at] = address(&absolute),
                    Place::At(at) | Place::AtOrDescriptor(at) => {
                        arguments[at] = folders[side].as_raw_fd().unsigned_abs().into();
                        arguments[at + 1] = address(name);
                    }
                    Place::Descriptor(at) => arguments[at] = files[side].as_raw_fd().unsigned_abs().into(),
                }
                let changed = Changed::by(&call(*number, arguments)).unwrap();
                let found = is_outside(&changed, &inside);
                assert_eq!(found, is_beyond, "call {number}, path {index}");
            }
        }
    }
    let (how, path) = ([u64::from(libc::O_WRONLY.unsigned_abs()), 0, 0], c_path(&outside.join("there")));
    let at = how.as_ptr().addr() as u64;
    let opened = call(libc::SYS_openat2, [0, address(&path), at, 24, 0, 0]);
    assert!(is_outside(&Changed::by(&opened).unwrap(), &inside));
    assert!(Changed::by(&call(libc::SYS_read, [0; 6])).is_none());
    assert!(!is_change(libc::SYS_read) && is_change(libc::SYS_openat) && is_change(libc::SYS_openat2));
    // Without a path the descriptor is the file.
    let times = [files[1].as_raw_fd().unsigned_abs().into(), 0, 0, 0, 0, 0];
    assert!(is_outside(&Changed::by(&call(libc::SYS_utimensat, times)).unwrap(), &inside));
}

#[test]
fn files_of_other_users_are_seen_where_everybody_may_write() {
    let folder = Scratch::new();
    let folder = std::fs::canonicalize(&folder).unwrap();
    let own = user_of(own_thread()).unwrap();
    assert_eq!(own, rustix::process::geteuid().as_raw());
    let place = |name: &str, folder_mode, file_mode| {
        let place = folder.join(name);
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("there"), "x").unwrap();
        for (path, mode) in [(place.join("there"), file_mode), (place.clone(), folder_mode)] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        }
        place
    };
    let (closed, shared, open) =
        (place("closed", 0o755, 0o644), place("shared", 0o1777, 0o644), place("open", 0o777, 0o666));
    // All belong to this user. Who asks is this one, or another.
    for (path, finds, is_theirs) in [
        (closed.join("there"), Finds::File, true),
        (closed.join("there"), Finds::Entry, true),
        (closed.join("new"), Finds::Nothing, true),
        (shared.join("there"), Finds::FileOrNothing, true),
        (shared.join("there"), Finds::Entry, true),
        (shared.join("there"), Finds::Anything, true),
        (shared.join("new"), Finds::Nothing, false),
        (shared.join("new"), Finds::FileOrNothing, false),
        (open.join("there"), Finds::File, false),
        (open.join("there"), Finds::Entry, false),
        (open.join("new"), Finds::Anything, false),
    ] {
        for (user, wanted) in [(Some(own), false), (Some(own + 1), is_theirs), (None, false)] {
            let found = is_of_other(&path, finds, || user);
            assert_eq!(found, wanted, "{} {finds:?} {user:?}", path.display());
        }
    }
}
