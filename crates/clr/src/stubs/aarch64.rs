//! 64-bit ARM: id in X10, the caller's stack pointer in X11, for all three hooks. Untested.
//!
//! It keeps x0 to x7 (arguments and results), x8 (the address of a large result), q0 to q7, the frame pointer
//! and the return address; the runtime's compiler expects no more.
#![allow(unsafe_code)]

use super::Bodies;
use std::arch::naked_asm;

/// A hook that calls one of the bodies.
macro_rules! hook {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        ///
        /// # Safety
        ///
        /// Only code that the runtime compiled may call it, with the id in X10 and the caller's stack pointer
        /// in X11.
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name<B: Bodies>() {
            naked_asm!(
                "stp x29, x30, [sp, #-224]!",
                "mov x29, sp",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "str x8, [sp, #80]",
                "stp q0, q1, [sp, #96]",
                "stp q2, q3, [sp, #128]",
                "stp q4, q5, [sp, #160]",
                "stp q6, q7, [sp, #192]",
                "mov x0, x10",
                "mov x1, x11",
                "bl {body}",
                "ldp x0, x1, [sp, #16]",
                "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]",
                "ldp x6, x7, [sp, #64]",
                "ldr x8, [sp, #80]",
                "ldp q0, q1, [sp, #96]",
                "ldp q2, q3, [sp, #128]",
                "ldp q4, q5, [sp, #160]",
                "ldp q6, q7, [sp, #192]",
                "ldp x29, x30, [sp], #224",
                "ret",
                body = sym B::$name,
            )
        }
    };
}

hook! {
    /// The hook for the beginning of a method, for `SetEnterLeaveFunctionHooks3`.
    enter
}

hook! {
    /// The hook for the return of a method, for `SetEnterLeaveFunctionHooks3`.
    leave
}

hook! {
    /// The hook for a method that ends by jumping to another, for `SetEnterLeaveFunctionHooks3`.
    tail_call
}
