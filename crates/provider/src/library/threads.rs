//! `DllMain` of the libraries in this process: it learns of threads that begin and end, as on NT.
//!
//! Linux tells a library nothing about threads, so the functions that start them are taken over:
//! [`export_threads!`](crate::export_threads) gives a program functions `pthread_create` and `thrd_create`. The
//! loader looks in the program first, so every shared library in this process calls these, also the libraries
//! that a provider library needs (that of C++, for example). They start the thread with the C library's function.
//! A key of the thread tells its end: after a return, `pthread_exit`, `thrd_exit` or a cancellation.
//!
//! As on NT, `DllMain` is called by one thread at a time, and the end of a thread is not reported when the library
//! was unloaded before. Threads that the C library starts for itself (timers, asynchronous I/O) and threads
//! of the system call `clone` are not reported.
#![allow(unsafe_code, reason = "functions of the C library and of libraries")]

use std::ffi::{CStr, c_int, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub(super) type DllMain = unsafe extern "system" fn(*mut c_void, u32, *mut c_void) -> u32;

const PROCESS_DETACH: u32 = 0;
const PROCESS_ATTACH: u32 = 1;
const THREAD_ATTACH: u32 = 2;
const THREAD_DETACH: u32 = 3;

/// Gives a program the functions that report threads to `DllMain`. It belongs into the program that loads
/// libraries, and only there: the functions replace those of the C library for the whole process.
#[macro_export]
macro_rules! export_threads {
    () => {
        const _: () = {
            use ::core::ffi::{c_int, c_void};

            #[unsafe(no_mangle)]
            unsafe extern "C" fn pthread_create(
                thread: *mut c_void,
                attributes: *const c_void,
                start: $crate::library::threads::Start<*mut c_void>,
                argument: *mut c_void,
            ) -> c_int {
                // SAFETY: the caller promises what it has to promise to the C library.
                unsafe { $crate::library::threads::pthread_create(thread, attributes, start, argument) }
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn thrd_create(
                thread: *mut c_void,
                start: $crate::library::threads::Start<c_int>,
                argument: *mut c_void,
            ) -> c_int {
                // SAFETY: as above.
                unsafe { $crate::library::threads::thrd_create(thread, start, argument) }
            }
        };
    };
}

/// `DllMain` of the libraries that are loaded. Locked while one of them runs: NT's loader lock.
static LOADED: Mutex<Vec<DllMain>> = Mutex::new(Vec::new());

fn loaded() -> MutexGuard<'static, Vec<DllMain>> {
    // Nothing is kept under the lock that a panic could have left half done.
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn call(main: DllMain, reason: u32) -> u32 {
    let (instance, reserved) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the function is of a library that is loaded; it takes no memory.
    unsafe { main(instance, reason, reserved) }
}

/// Tells a library that this process has loaded it; `false` when it refuses. Threads that exist already are not
/// reported to it, as on NT.
pub(super) fn attach(main: DllMain) -> bool {
    let mut loaded = loaded();
    // Threads that this call starts wait for its end.
    let accepts = call(main, PROCESS_ATTACH) != 0;
    if accepts {
        loaded.push(main);
    }
    accepts
}

/// Tells a library that it is about to be unloaded. Its threads are reported to it no more.
pub(super) fn detach(main: DllMain) {
    let mut loaded = loaded();
    loaded.retain(|other| !std::ptr::fn_addr_eq(*other, main));
    call(main, PROCESS_DETACH);
}

const PTHREAD_CANCEL_DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// Reports this thread to all libraries; `false` when there is none. A cancellation waits until it is done: a
/// thread that ended inside `DllMain` would keep the lock.
fn report(reason: u32) -> bool {
    let mut state: c_int = 0;
    // SAFETY: the variable is there until the function returns.
    unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut state) };
    let loaded = loaded();
    for main in loaded.iter() {
        call(*main, reason);
    }
    let is_reported = !loaded.is_empty();
    drop(loaded);
    // SAFETY: as above.
    unsafe { pthread_setcancelstate(state, &raw mut state) };
    is_reported
}

/// Reports that this thread begins, and that it ends when it does.
fn begin() {
    if report(THREAD_ATTACH) {
        let Some(key) = *END.get_or_init(end_key) else { return };
        // SAFETY: the key exists. The value only has to differ from NULL.
        unsafe { libc::pthread_setspecific(key, std::ptr::dangling()) };
    }
}

/// The key whose destructor reports the end of a thread.
static END: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

fn end_key() -> Option<libc::pthread_key_t> {
    unsafe extern "C" fn end(_value: *mut c_void) {
        report(THREAD_DETACH);
    }
    let mut key = 0;
    // SAFETY: the variable is there until the function returns, and `end` for ever.
    (unsafe { libc::pthread_key_create(&raw mut key, Some(end)) } == 0).then_some(key)
}

/// The function of a thread. A thread that ends by `pthread_exit` or a cancellation unwinds it.
pub type Start<T> = unsafe extern "C-unwind" fn(*mut c_void) -> T;

/// What a thread is to do after it was reported.
struct Wanted<T> {
    start: Start<T>,
    argument: *mut c_void,
}

/// Begins a thread. Nothing is left to drop when the thread's function runs, because it may be unwound.
unsafe extern "C-unwind" fn run<T>(wanted: *mut c_void) -> T {
    // SAFETY: `create` passes a box, and nobody else has it.
    let Wanted { start, argument } = *unsafe { Box::from_raw(wanted.cast::<Wanted<T>>()) };
    begin();
    // SAFETY: the caller of `create` promised that the function may be called with this argument.
    unsafe { start(argument) }
}

/// Starts a thread with a function of the C library, which returns 0 if the thread exists.
fn create<T>(
    start: Start<T>,
    argument: *mut c_void,
    real: impl FnOnce(Start<T>, *mut c_void) -> c_int,
) -> c_int {
    let wanted = Box::into_raw(Box::new(Wanted { start, argument }));
    let error = real(run::<T>, wanted.cast());
    if error != 0 {
        // SAFETY: no thread has taken it.
        drop(unsafe { Box::from_raw(wanted) });
    }
    error
}

/// The function of the C library behind that of the program with the same name.
fn behind(name: &CStr) -> Option<std::ptr::NonNull<c_void>> {
    // SAFETY: the name ends with a zero.
    std::ptr::NonNull::new(unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) })
}

/// `pthread_create` of POSIX, in a thread that is reported.
///
/// # Safety
///
/// As for the function of the C library.
pub unsafe fn pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    start: Start<*mut c_void>,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(*mut c_void, *const c_void, Start<*mut c_void>, *mut c_void) -> c_int;
    let Some(real) = behind(c"pthread_create") else { return libc::EAGAIN };
    // SAFETY: the function of this name has this form.
    let real = unsafe { std::mem::transmute::<std::ptr::NonNull<c_void>, Create>(real) };
    // SAFETY: promised by the caller; `run` may be called with what `create` passes.
    create(start, argument, |start, argument| unsafe { real(thread, attributes, start, argument) })
}

/// `thrd_create` of C11, in a thread that is reported.
///
/// # Safety
///
/// As for the function of the C library.
pub unsafe fn thrd_create(thread: *mut c_void, start: Start<c_int>, argument: *mut c_void) -> c_int {
    type Create = unsafe extern "C" fn(*mut c_void, Start<c_int>, *mut c_void) -> c_int;
    /// `thrd_error`.
    const THRD_ERROR: c_int = 2;
    let Some(real) = behind(c"thrd_create") else { return THRD_ERROR };
    // SAFETY: the function of this name has this form.
    let real = unsafe { std::mem::transmute::<std::ptr::NonNull<c_void>, Create>(real) };
    // SAFETY: promised by the caller; `run` may be called with what `create` passes.
    create(start, argument, |start, argument| unsafe { real(thread, start, argument) })
}
