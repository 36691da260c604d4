//! Adds to the word of the processor that runs this thread, without a lock: restartable sequences of Linux.
//!
//! glibc registers for each thread an area that the kernel keeps up to date: the number of the processor is
//! in it, and the program says in it which instructions must not be interrupted half way. When the thread is
//! moved, preempted or gets a signal between the first and the last of them, the kernel continues at an abort
//! address instead. So one plain `add` as the last instruction is enough: no other thread can run on this
//! processor between the reading of its number and the addition.
//!
//! Unsafe for three things: looking up where glibc has the area, reading these variables, and the sequence
//! itself. An aborted sequence is not tried again here: the function returns false, and the caller adds in
//! another way, so that there is no loop that a debugger with single steps could keep running for ever.
#![allow(unsafe_code, reason = "inline assembly, and variables of the C library that it may not have")]

use std::arch::asm;
use std::ffi::{CStr, c_uint};
use std::ptr::NonNull;
use std::sync::OnceLock;

/// The words before an abort address: `ud1 edi, [rip + ...]` with the signature that glibc registers on this
/// machine.
const SIGNATURE: u32 = 0x5305_3053;

/// Bytes of the area that are used here: up to the end of the pointer to the current sequence.
const NEEDED: c_uint = 16;

/// Where the area of each thread is: the same distance from each thread's own pointer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Area {
    offset: isize,
}

impl Area {
    /// The area, if glibc has one and registered it when the program started. It does not when the kernel is
    /// too old, or with `GLIBC_TUNABLES=glibc.pthread.rseq=0`.
    pub(crate) fn registered() -> Option<Area> {
        static AREA: OnceLock<Option<Area>> = OnceLock::new();
        *AREA.get_or_init(|| {
            // SAFETY: glibc declares it as `const unsigned int __rseq_size`.
            let size = unsafe { variable::<c_uint>(c"__rseq_size") }?;
            // SAFETY: glibc declares it as `const ptrdiff_t __rseq_offset`.
            let offset = unsafe { variable::<isize>(c"__rseq_offset") }?;
            (size >= NEEDED).then_some(Area { offset })
        })
    }

    /// Number of the processor that runs this thread now. Very large when the kernel refused the area of this
    /// thread.
    #[inline(always)]
    pub(crate) fn processor(self) -> u32 {
        let processor: u32;
        // SAFETY: the area is part of the thread's own block, which glibc makes for every thread, registered
        // or not; it is at least `NEEDED` bytes long. It is only read.
        unsafe {
            asm!(
                "mov {processor:e}, dword ptr fs:[{area} + 4]",
                area = in(reg) self.offset,
                processor = out(reg) processor,
                options(nostack, preserves_flags, readonly),
            );
        }
        processor
    }

    /// Adds `n` to the word of the processor that runs this thread: `first` and `stride` bytes on for each
    /// processor.
    ///
    /// False when nothing was added: the thread was interrupted, its processor has a number that is not below
    /// `processors`, or the kernel refused the area of this thread.
    ///
    /// # Safety
    ///
    /// * For each number below `processors` there are 8 bytes at `first + stride * number`, aligned to 8,
    ///   which are mapped for writing during the call.
    /// * In this process they are otherwise only read, as atomics, or changed by this function.
    #[inline(always)]
    pub(crate) unsafe fn add(self, first: NonNull<u8>, stride: usize, processors: u32, n: u64) -> bool {
        let done: u64;
        // SAFETY:
        // * The area is part of the thread's own block (see `processor`), and only this thread and the kernel
        //   use it.
        // * The description of the sequence is 32 bytes, aligned to 32, in memory that is mapped as long as
        //   this code is; the area does not point to it any longer at the end, so this also holds when a
        //   library is unloaded.
        // * The sequence 3..4 has no call and no stack, and only its last instruction changes anything, the
        //   word; its address is one that the caller vouches for, since the number of the processor is
        //   compared first.
        // * The abort address 6 is outside of the sequence and has the registered signature in front of it.
        //   All that is used there is a register that is an output.
        // * A signal handler that runs a sequence itself clears the area; the kernel has aborted ours before
        //   it runs.
        unsafe {
            asm!(
                ".pushsection __rseq_cs, \"aw\"",
                ".balign 32",
                "2:",
                ".long 0, 0",
                ".quad 3f, 4f - 3f, 6f",
                ".popsection",
                "lea {scratch}, [rip + 2b]",
                "mov qword ptr fs:[{area} + 8], {scratch}",
                "3:",
                "mov {scratch:e}, dword ptr fs:[{area} + 4]",
                "cmp {scratch:e}, {processors:e}",
                "jae 6f",
                "imul {scratch}, {stride}",
                "add qword ptr [{first} + {scratch}], {n}",
                "4:",
                "mov {scratch:e}, 1",
                "jmp 7f",
                ".byte 0x0f, 0xb9, 0x3d",
                ".long {signature}",
                "6:",
                "xor {scratch:e}, {scratch:e}",
                "7:",
                "mov qword ptr fs:[{area} + 8], 0",
                area = in(reg) self.offset,
                processors = in(reg) processors,
                stride = in(reg) stride,
                first = in(reg) first.as_ptr(),
                n = in(reg) n,
                signature = const SIGNATURE,
                scratch = out(reg) done,
                options(nostack),
            );
        }
        done != 0
    }
}

/// The value of a constant variable of the C library; `None` when it has none of this name.
///
/// # Safety
///
/// A variable of this name is of the type `T`, which is valid for all bytes, and does not change.
unsafe fn variable<T: Copy>(name: &CStr) -> Option<T> {
    // SAFETY: the name ends with a zero byte, and the default handle is always valid.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let address = NonNull::new(address.cast::<T>())?;
    // SAFETY: the caller says that a `T` is there; the C library stays loaded.
    Some(unsafe { address.read() })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn aborted_additions_have_no_effect() {
        let Some(area) = Area::registered() else {
            tallymon_testkit::skip("this C library has no area for restartable sequences");
            return;
        };
        // Words of 1,024 processors, 64 bytes apart.
        let words: Vec<AtomicU64> = (0..1024 * 8).map(|_| AtomicU64::new(0)).collect();
        let first = || NonNull::from(words.as_slice()).cast::<u8>();
        let added = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let first = first();
                    for _ in 0..100_000 {
                        // SAFETY: the words are there for each of the 1,024 numbers, and nobody else changes
                        // them.
                        let done = unsafe { area.add(first, 64, 1024, 3) };
                        added.fetch_add(u64::from(done), Ordering::Relaxed);
                    }
                });
            }
        });
        let sum: u64 = words.iter().map(|word| word.load(Ordering::Relaxed)).sum();
        let added = added.load(Ordering::Relaxed);
        assert!(added > 790_000, "only {added} of 800,000 were not interrupted");
        assert_eq!(sum, 3 * added);
        assert!(area.processor() < 1024);
        // SAFETY: no number is below 0, so no word is needed.
        assert!(!unsafe { area.add(first(), 64, 0, 1) });
    }
}
