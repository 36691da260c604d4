//! A mapped file is cut: the program goes on. Every other signal of this kind does what it did before.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, clippy::unwrap_used, reason = "maps memory; a test fails by panicking")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use tallymon_sigbus::protect;

const PAGE: usize = 4096;
const CASE: &str = "TALLYMON_SIGBUS_CASE";

fn mapped(pages: usize) -> (File, NonNull<u8>) {
    let path = std::env::temp_dir().join(format!("tallymon-sigbus-{}-{pages}", std::process::id()));
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.set_len((pages * PAGE) as u64).unwrap();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses the address.
    let start =
        unsafe { libc::mmap(null_mut(), pages * PAGE, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    (file, NonNull::new(start.cast()).unwrap())
}

fn store(start: NonNull<u8>, at: usize, byte: u8) {
    // SAFETY: within the mapping.
    let place = unsafe { start.add(at) };
    // SAFETY: within the mapping, and any byte is valid.
    unsafe { place.write_volatile(byte) };
}

fn load(start: NonNull<u8>, at: usize) -> u8 {
    // SAFETY: within the mapping.
    let place = unsafe { start.add(at) };
    // SAFETY: within the mapping, and any byte is valid.
    unsafe { place.read_volatile() }
}

#[test]
fn stores_behind_the_end_of_a_cut_file_succeed() {
    let (file, start) = mapped(8);
    // SAFETY: the mapping is never unmapped, and any bytes are valid.
    let protected = unsafe { protect(start, 8 * PAGE) }.unwrap();
    (0..8).for_each(|page| store(start, page * PAGE, 7));
    assert!(!protected.is_cut());
    file.set_len(PAGE as u64 + 5).unwrap();
    let address = start.as_ptr().expose_provenance();
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            scope.spawn(move || {
                let start = NonNull::new(std::ptr::with_exposed_provenance_mut(address)).unwrap();
                for page in 2..8 {
                    store(start, page * PAGE + 10 + usize::from(thread), thread + 1);
                }
            });
        }
    });
    assert!(protected.is_cut());
    // What is there yet is shared as before; what is gone is zeros and what was stored since.
    assert_eq!((load(start, 0), load(start, PAGE), load(start, 2 * PAGE)), (7, 7, 0));
    store(start, 1, 9);
    let mut first = [0; 2];
    std::os::unix::fs::FileExt::read_at(&file, &mut first, 0).unwrap();
    assert_eq!(first, [7, 9]);
    file.set_len(0).unwrap();
    assert_eq!(load(start, 0), 0);
    // An entry is used again.
    drop(protected);
    let (file, start) = mapped(2);
    // SAFETY: as above.
    let protected = unsafe { protect(start, 2 * PAGE) }.unwrap();
    file.set_len(0).unwrap();
    store(start, PAGE, 1);
    assert!(protected.is_cut());
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn own(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if CALLS.fetch_add(1, Ordering::Relaxed) == 0 {
        std::process::exit(43);
    }
}

#[test]
fn the_case_of_a_child() {
    // Does something only when the test below starts it.
    let Ok(case) = std::env::var(CASE) else { return };
    if case == "own" {
        // SAFETY: zeros are such a record.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = own as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        // SAFETY: the record is complete.
        assert_eq!(unsafe { libc::sigaction(libc::SIGBUS, &raw const action, null_mut()) }, 0);
    }
    let (cut, start) = mapped(2);
    // SAFETY: the mapping is never unmapped, and any bytes are valid.
    let _protected = unsafe { protect(start, 2 * PAGE) }.unwrap();
    cut.set_len(0).unwrap();
    store(start, 0, 1);
    // A mapping of somebody else.
    let (file, start) = mapped(1);
    if case == "sent" {
        // SAFETY: it sends a signal to this thread.
        unsafe { libc::raise(libc::SIGBUS) };
    }
    file.set_len(0).unwrap();
    store(start, 0, 1);
    unreachable!("the store behind the end succeeded");
}

#[test]
fn other_faults_do_what_they_did_before() {
    for (case, code, signal) in
        [("none", None, Some(libc::SIGBUS)), ("sent", None, Some(libc::SIGBUS)), ("own", Some(43), None)]
    {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", "the_case_of_a_child"]).env(CASE, case).output().unwrap();
        assert_eq!((child.status.code(), child.status.signal()), (code, signal), "{case}");
    }
}
