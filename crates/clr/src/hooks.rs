//! The bodies of the hooks for enter, leave and tail call, behind the functions of [`crate::stubs`] that
//! compiled code calls, and the state of a thread.
//!
//! The thread is in cooperative mode there: while a hook runs, no garbage collection can begin. So hooks
//! never wait, never call the runtime and never allocate. The first hook of a thread maps memory of the
//! kernel once, for the state of the thread and its shadow stack.
//!
//! Unsafe code is here for a thread's pointer to its own state, which no other thread ever sees, and to call
//! the stubs as compiled code does.
#![allow(unsafe_code)]

use crate::clock;
use crate::layout::{ENDED, READY, ThreadRecord};
use crate::map::{self, Map, ThreadMemory};
use crate::profile::ThreadProfile;
use crate::stubs::{self, Bodies};
use crate::system::{self, MAX_DEPTH};
use std::arch::asm;
use std::cell::Cell;
use std::ptr::{NonNull, null_mut, without_provenance_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file of this process, set before the runtime gets the hooks.
static MAP: OnceLock<Map> = OnceLock::new();

thread_local! {
    /// The state of this thread, null before its first event. No destructor: hooks may run until the very
    /// end.
    static CURRENT: Cell<*mut ThreadProfile<'static>> = const { Cell::new(null_mut()) };
}

/// What [`CURRENT`] holds in a thread that is not seen (any more): an address that no state can have.
const NOT_SEEN: *mut ThreadProfile<'static> = without_provenance_mut(1);

/// Whether this process is a fork of the profiled one.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Stops all recording in this process, a fork of the profiled one: both have the same file in their memory.
/// Its only thread is the one that calls this.
pub(crate) fn stop_in_fork() {
    FORKED.store(true, Ordering::SeqCst);
    CURRENT.set(NOT_SEEN);
}

/// Whether this process is a fork of the profiled one, in which nothing is recorded.
pub(crate) fn is_fork() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Makes the hooks write into this file; only the first call counts.
pub(crate) fn set_map(map: Map) {
    // A second profiler in the same process is refused by the runtime, so that the map is there already is a
    // repetition.
    let _ = MAP.set(map);
}

/// The bodies of the hooks of this process.
pub(crate) enum Hooks {}

impl Bodies for Hooks {
    extern "C" fn enter(method: usize, stack: usize) {
        with_thread(|thread| thread.enter(method as u32, stack, clock::now));
        after_hook();
    }

    extern "C" fn leave(method: usize, stack: usize) {
        let now = clock::now();
        with_thread(|thread| thread.leave(method as u32, stack, now));
        after_hook();
    }

    extern "C" fn tail_call(method: usize, stack: usize) {
        let now = clock::now();
        with_thread(|thread| thread.tail_call(method as u32, stack, now));
        after_hook();
    }
}

/// Nothing; tests change registers here, so that a stub that does not restore one is found.
#[cfg(not(all(test, unix, target_arch = "x86_64")))]
#[inline(always)]
const fn after_hook() {}
#[cfg(all(test, unix, target_arch = "x86_64"))]
use tests::trash as after_hook;

/// Runs `f` on the state of this thread, if it has one or there is room for one.
#[inline(always)]
pub(crate) fn with_thread(f: impl FnOnce(&mut ThreadProfile<'static>)) {
    let mut state = CURRENT.get();
    if state.is_null() {
        state = attach();
    }
    if state != NOT_SEEN {
        // SAFETY: the pointer is that of a live state: `attach` or `measure_overhead` put it there, and
        // `end_thread` takes it away before it frees it. Only this thread has it, and `f` never leads back
        // here, so the reference is the only one.
        f(unsafe { &mut *state });
    }
}

/// The record of this thread; creates one if it has none yet.
pub(crate) fn current_record() -> Option<&'static ThreadRecord> {
    let mut record = None;
    with_thread(|thread| record = Some(thread.record()));
    record
}

/// Ends this thread's recording: closes its record and frees its memory; later events are ignored.
pub(crate) fn end_thread() {
    let state = CURRENT.replace(NOT_SEEN);
    if state.is_null() || state == NOT_SEEN {
        return;
    }
    let Some(state) = NonNull::new(state) else { return };
    // SAFETY: `attach` wrote the state there, and no other pointer to it is left.
    let thread = unsafe { state.read() };
    thread.record().state.store(ENDED, Ordering::Release);
    let count = thread.into_frames().len();
    // SAFETY: `attach` got the memory for this state with these frames, and their last use was above.
    unsafe { map::free_thread(state, count) };
}

#[cold]
#[inline(never)]
fn attach() -> *mut ThreadProfile<'static> {
    let state = MAP.get().filter(|_| !is_fork()).and_then(new_thread);
    let state = match state {
        Some(state) => state.as_ptr(),
        None => NOT_SEEN,
    };
    CURRENT.set(state);
    state
}

/// The state of a new thread, in memory of its own: the process's allocator must not be called here.
fn new_thread(map: &'static Map) -> Option<NonNull<ThreadProfile<'static>>> {
    let Some(ThreadMemory { state, frames }) = map::thread_memory(MAX_DEPTH) else {
        map.header.lost_threads.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    // The last record is for all threads that find no other: their calls are counted by method.
    let last = map.threads.len().saturating_sub(1);
    let number = map.header.threads.take().map(|number| number as usize).filter(|number| *number < last);
    let own = number.and_then(|number| map.threads.get(number));
    let thread = match own {
        Some(record) => {
            record.os_id.store(system::thread_id(), Ordering::Relaxed);
            let mut thread = ThreadProfile::new(map.nodes(), record, frames);
            thread.keep_events(map.take_ring(record), map.header.events_least.load(Ordering::Relaxed));
            thread
        }
        None => ThreadProfile::elsewhere(map.nodes(), map.threads.get(last)?, frames),
    };
    let record = thread.record();
    record.first_ticks.store(clock::now(), Ordering::Relaxed);
    record.state.store(READY, Ordering::Release);
    // SAFETY: the memory is new, aligned and large enough for a state.
    unsafe { state.write(thread) };
    Some(state)
}

/// What recording a call costs, in 1/256 tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overhead {
    /// The part that a call's own record includes.
    pub(crate) inner: u64,
    /// The part that its caller is charged.
    pub(crate) outer: u64,
    /// The least and the most of both together, as far as it was seen more than a few times.
    pub(crate) least: u64,
    pub(crate) most: u64,
}

/// Measures the cost of recording a call, by calling the hooks around nothing: one method again and again,
/// and several in turn, as programs do both.
///
/// Both parts come from one round, so that they fit together: the cost has two or more usual values, and the
/// least of each part alone may come from different ones. `None` when there is no memory for it.
pub(crate) fn measure_overhead() -> Option<Overhead> {
    const ROUNDS: usize = 128;
    const CALLS: u64 = 64;
    const METHODS: usize = 8;
    let map = Map::scratch().ok()?;
    let ThreadMemory { state: memory, frames } = map::thread_memory(64)?;
    let mut state = ThreadProfile::new(map.nodes(), map.threads.first()?, frames);
    let before = CURRENT.replace(&raw mut state);
    let total = || {
        let mut ticks = 0u64;
        with_thread(|thread| {
            let totals = (1..=METHODS as u32).filter_map(|method| thread.total_of(method));
            ticks = totals.fold(0, u64::saturating_add);
        });
        ticks
    };
    let mut rounds = [(0, 0); ROUNDS];
    for (number, round) in rounds.iter_mut().enumerate() {
        let several = number % 2;
        let (before, start) = (total(), clock::now());
        for call in 0..CALLS as usize {
            let method = if several == 1 { call % METHODS } else { 0 };
            call_hooks(method.wrapping_add(1), 4096);
        }
        let whole = clock::now().saturating_sub(start);
        let inner = total().saturating_sub(before);
        *round = (whole.saturating_mul(256) / CALLS, inner.saturating_mul(256) / CALLS);
    }
    CURRENT.set(before);
    let count = state.into_frames().len();
    // SAFETY: the memory is from above, and the frames in it were used last in the line above.
    unsafe { map::free_thread(memory, count) };
    rounds.sort_unstable();
    // A round that was interrupted is among the longest.
    let (whole, inner) = rounds[ROUNDS / 4];
    let inner = inner.min(whole);
    let (least, most) = (rounds[ROUNDS / 32].0, rounds[ROUNDS * 3 / 4].0);
    Some(Overhead { inner, outer: whole.saturating_sub(inner), least, most })
}

/// The hooks of an empty call, called as compiled code does.
#[cfg(all(target_arch = "x86_64", unix))]
fn call_hooks(method: usize, stack: usize) {
    // SAFETY: the registers are those that the hook wants, the stack is even here, and all that the hook may
    // change is declared.
    unsafe {
        asm!(
            "call {hook}", hook = sym stubs::enter::<Hooks>,
            in("r14") method, in("r15") stack, clobber_abi("C"),
        );
    }
    // SAFETY: as above.
    unsafe {
        asm!(
            "call {hook}", hook = sym stubs::leave::<Hooks>,
            inout("rdi") method => _, inout("rsi") stack => _,
            clobber_abi("C"),
        );
    }
}

/// The hooks of an empty call, called as compiled code does.
#[cfg(all(target_arch = "x86_64", windows))]
fn call_hooks(method: usize, stack: usize) {
    // SAFETY: the registers are those that the hook wants, the stack is even here, it has the room that a
    // function may use above its return address, and all that the hook may change is declared.
    unsafe {
        asm!(
            "sub rsp, 32",
            "call {hook}",
            "add rsp, 32",
            hook = sym stubs::enter::<Hooks>,
            inout("rcx") method => _, inout("rdx") stack => _, clobber_abi("C"),
        );
    }
    // SAFETY: as above.
    unsafe {
        asm!(
            "sub rsp, 32",
            "call {hook}",
            "add rsp, 32",
            hook = sym stubs::leave::<Hooks>,
            inout("rcx") method => _, inout("rdx") stack => _, clobber_abi("C"),
        );
    }
}

/// The hooks of an empty call, called as compiled code does.
#[cfg(target_arch = "aarch64")]
fn call_hooks(method: usize, stack: usize) {
    // SAFETY: the registers are those that the hook wants, and all that the hook may change is declared.
    unsafe {
        asm!(
            "bl {hook}", hook = sym stubs::enter::<Hooks>, inout("x10") method => _, inout("x11") stack => _,
            clobber_abi("C"),
        );
    }
    // SAFETY: as above.
    unsafe {
        asm!(
            "bl {hook}", hook = sym stubs::leave::<Hooks>, inout("x10") method => _, inout("x11") stack => _,
            clobber_abi("C"),
        );
    }
}

#[cfg(all(test, unix, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Changes every register that an ordinary function may change, so that the hooks must have kept what
    /// counts.
    pub(super) fn trash() {
        // SAFETY: all that is changed is declared.
        unsafe {
            asm!(
                "pcmpeqd xmm0, xmm0",
                "pcmpeqd xmm1, xmm1",
                "pcmpeqd xmm2, xmm2",
                "pcmpeqd xmm3, xmm3",
                "pcmpeqd xmm4, xmm4",
                "pcmpeqd xmm5, xmm5",
                "pcmpeqd xmm6, xmm6",
                "pcmpeqd xmm7, xmm7",
                "mov rax, -2",
                "mov rcx, -2",
                "mov rdx, -2",
                "mov rsi, -2",
                "mov rdi, -2",
                "mov r8, -2",
                "mov r9, -2",
                "mov r10, -2",
                "mov r11, -2",
                clobber_abi("C"),
            );
        }
    }

    /// Loads patterns into every register that can hold arguments, calls the enter hook and stores the
    /// registers.
    fn registers_after_enter(general: &mut [u64; 9], vectors: &mut [u64; 16]) {
        // SAFETY: the hook is called by its own convention; the registers that are used are saved or
        // declared, and the two arrays are as long as what is loaded and stored.
        unsafe {
            asm!(
                "push rbx",
                "push r12",
                "mov rbx, {general}",
                "mov r12, {vectors}",
                "movups xmm0, [r12]",
                "movups xmm1, [r12 + 16]",
                "movups xmm2, [r12 + 32]",
                "movups xmm3, [r12 + 48]",
                "movups xmm4, [r12 + 64]",
                "movups xmm5, [r12 + 80]",
                "movups xmm6, [r12 + 96]",
                "movups xmm7, [r12 + 112]",
                "mov rax, [rbx]",
                "mov rcx, [rbx + 8]",
                "mov rdx, [rbx + 16]",
                "mov rsi, [rbx + 24]",
                "mov rdi, [rbx + 32]",
                "mov r8, [rbx + 40]",
                "mov r9, [rbx + 48]",
                "mov r10, [rbx + 56]",
                "mov r11, [rbx + 64]",
                "call {hook}",
                "mov [rbx], rax",
                "mov [rbx + 8], rcx",
                "mov [rbx + 16], rdx",
                "mov [rbx + 24], rsi",
                "mov [rbx + 32], rdi",
                "mov [rbx + 40], r8",
                "mov [rbx + 48], r9",
                "mov [rbx + 56], r10",
                "mov [rbx + 64], r11",
                "movups [r12], xmm0",
                "movups [r12 + 16], xmm1",
                "movups [r12 + 32], xmm2",
                "movups [r12 + 48], xmm3",
                "movups [r12 + 64], xmm4",
                "movups [r12 + 80], xmm5",
                "movups [r12 + 96], xmm6",
                "movups [r12 + 112], xmm7",
                "pop r12",
                "pop rbx",
                hook = sym stubs::enter::<Hooks>,
                general = in(reg) general.as_mut_ptr(),
                vectors = in(reg) vectors.as_mut_ptr(),
                in("r14") 1usize,
                in("r15") 4096usize,
                clobber_abi("C"),
            );
        }
    }

    #[test]
    fn the_enter_hook_keeps_every_argument_register() {
        set_map(Map::scratch().unwrap());
        clock::choose(crate::settings::ClockChoice::Auto);
        let mut general: [u64; 9] = std::array::from_fn(|n| 0x1111_1111_1111_1111 * (n as u64 + 1));
        let mut vectors: [u64; 16] = std::array::from_fn(|n| 0x0101_0101_0101_0101 * (n as u64 + 1));
        let (before, vectors_before) = (general, vectors);
        for _ in 0..3 {
            registers_after_enter(&mut general, &mut vectors);
            assert_eq!(general, before);
            assert_eq!(vectors, vectors_before);
        }
        let mut depth = 0;
        with_thread(|thread| depth = thread.depth());
        assert_eq!(depth, 1, "an enter at the same stack pointer ends the one before");
    }

    #[test]
    fn the_leave_hooks_keep_both_result_registers() {
        set_map(Map::scratch().unwrap());
        for hook in [
            stubs::leave::<Hooks> as unsafe extern "C" fn() as usize,
            stubs::tail_call::<Hooks> as unsafe extern "C" fn() as usize,
        ] {
            let (mut rax, mut rdx) = (0x1234_5678_9ABC_DEF0u64, 0x0FED_CBA9_8765_4321u64);
            let (mut xmm0, mut xmm1) = (1.5f64, -2.25f64);
            // SAFETY: the hook is called by its own convention, and what it may change is declared.
            unsafe {
                asm!(
                    "call r8",
                    inout("r8") hook => _, inout("rax") rax, inout("rdx") rdx,
                    inout("rdi") 1usize => _, inout("rsi") 4096usize => _,
                    inout("xmm0") xmm0, inout("xmm1") xmm1,
                    clobber_abi("C"),
                );
            }
            assert_eq!((rax, rdx, xmm0, xmm1), (0x1234_5678_9ABC_DEF0, 0x0FED_CBA9_8765_4321, 1.5, -2.25));
        }
    }

    #[test]
    fn the_overhead_is_measured_and_small() {
        let overhead = measure_overhead().unwrap();
        let Overhead { inner, outer, least, most } = overhead;
        // More than 10 microseconds for a call would mean that something is broken, on the slowest machine.
        assert!(inner > 0 && inner / 256 < 30_000 && outer / 256 < 30_000, "{overhead:?}");
        assert!(least <= inner + outer && inner + outer <= most, "{overhead:?}");
    }

    #[test]
    fn ended_thread_is_not_recorded() {
        set_map(Map::scratch().unwrap());
        let record = std::thread::spawn(|| {
            let record = current_record().unwrap();
            assert_eq!(record.os_id.load(Ordering::Relaxed), system::thread_id());
            end_thread();
            assert!(current_record().is_none());
            end_thread();
            record
        });
        assert_eq!(record.join().unwrap().state.load(Ordering::Relaxed), ENDED);
    }
}
