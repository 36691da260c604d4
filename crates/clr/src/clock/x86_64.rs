//! The time stamp counter of x86-64.
#![allow(unsafe_code, reason = "one instruction")]

/// The counter now.
#[inline(always)]
pub(super) fn ticks() -> u64 {
    // SAFETY: the instruction reads a register that every x86-64 processor has and changes nothing else. It is
    // chosen only where the kernel's clock is this counter, which the C library then reads in the same way.
    unsafe { core::arch::x86_64::_rdtsc() }
}
