//! Windows on x86-64: id in RCX, the caller's stack pointer in RDX, for all three hooks.
//!
//! That is where an ordinary function has its first two arguments. The runtime's compiler reloads arguments
//! itself behind an enter; its documents ask for all registers nevertheless, so all are kept that a function
//! may change.
#![allow(unsafe_code)]

use super::Bodies;
use std::arch::naked_asm;

/// The hook for the beginning of a method, for `SetEnterLeaveFunctionHooks3`.
///
/// # Safety
///
/// Only code that the runtime compiled may call it, with the id in RCX and the caller's stack pointer in RDX.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter<B: Bodies>() {
    // The stack is 8 beside a multiple of 16 here; seven pushes make it even. A function may use the 32 bytes
    // above its return address.
    naked_asm!(
        "push rax",
        "push rcx",
        "push rdx",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "sub rsp, 128",
        "movups [rsp + 32], xmm0",
        "movups [rsp + 48], xmm1",
        "movups [rsp + 64], xmm2",
        "movups [rsp + 80], xmm3",
        "movups [rsp + 96], xmm4",
        "movups [rsp + 112], xmm5",
        "call {body}",
        "movups xmm0, [rsp + 32]",
        "movups xmm1, [rsp + 48]",
        "movups xmm2, [rsp + 64]",
        "movups xmm3, [rsp + 80]",
        "movups xmm4, [rsp + 96]",
        "movups xmm5, [rsp + 112]",
        "add rsp, 128",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "ret",
        body = sym B::enter,
    )
}

/// The hook for the return of a method, for `SetEnterLeaveFunctionHooks3`.
///
/// # Safety
///
/// As for [`enter`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn leave<B: Bodies>() {
    // A result stands in rax or in xmm0.
    naked_asm!(
        "push rax",
        "sub rsp, 48",
        "movups [rsp + 32], xmm0",
        "call {body}",
        "movups xmm0, [rsp + 32]",
        "add rsp, 48",
        "pop rax",
        "ret",
        body = sym B::leave,
    )
}

/// The hook for a method that ends by jumping to another, for `SetEnterLeaveFunctionHooks3`.
///
/// # Safety
///
/// As for [`enter`].
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn tail_call<B: Bodies>() {
    naked_asm!(
        "push rax",
        "sub rsp, 48",
        "movups [rsp + 32], xmm0",
        "call {body}",
        "movups xmm0, [rsp + 32]",
        "add rsp, 48",
        "pop rax",
        "ret",
        body = sym B::tail_call,
    )
}
