//! The virtual counter of 64-bit ARM.
#![allow(unsafe_code, reason = "one instruction")]

/// The counter now.
#[inline(always)]
pub(super) fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets programs read this register, and reading it changes nothing.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}
