//! x86-64, except Windows: id in R14 and the caller's stack pointer in R15 on enter, in RDI and RSI on leave
//! and tail call.
//!
//! The registers to keep were found by changing all others on .NET Core 3.1 and .NET 8.
//!
//! | hook | must survive |
//! |---|---|
//! | enter | rax rcx rdx rsi rdi r8 r9 r10 r11, xmm0 to xmm7 |
//! | leave, tail call | rax rdx, xmm0 xmm1 |
#![allow(unsafe_code)]

use super::Bodies;
use std::arch::naked_asm;

/// The hook for the beginning of a method, for `SetEnterLeaveFunctionHooks3`.
///
/// # Safety
///
/// Only code that the runtime compiled may call it, with the id in R14 and the caller's stack pointer in R15.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter<B: Bodies>() {
    // The stack pointer is 8 off a multiple of 16 here; nine pushes align it, and 128 bytes keep it aligned.
    naked_asm!(
        "push rax",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "sub rsp, 128",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4",
        "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6",
        "movups [rsp + 112], xmm7",
        "mov rdi, r14",
        "mov rsi, r15",
        "call {body}",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]",
        "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]",
        "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
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
/// Only code that the runtime compiled may call it, with the id in RDI and the caller's stack pointer in RSI.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn leave<B: Bodies>() {
    // A result may stand in rax and rdx, in xmm0 and xmm1, or in one of each. Two pushes and 40 bytes make it
    // even.
    naked_asm!(
        "push rax",
        "push rdx",
        "sub rsp, 40",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "call {body}",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "add rsp, 40",
        "pop rdx",
        "pop rax",
        "ret",
        body = sym B::leave,
    )
}

/// The hook for a method that ends by jumping to another, for `SetEnterLeaveFunctionHooks3`.
///
/// # Safety
///
/// Only code that the runtime compiled may call it, with the id in RDI and the caller's stack pointer in RSI.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn tail_call<B: Bodies>() {
    // It comes before the arguments of the other method are placed, so what a leave keeps is enough.
    naked_asm!(
        "push rax",
        "push rdx",
        "sub rsp, 40",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "call {body}",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "add rsp, 40",
        "pop rdx",
        "pop rax",
        "ret",
        body = sym B::tail_call,
    )
}
