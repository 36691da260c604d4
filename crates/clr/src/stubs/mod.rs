//! The functions that compiled code calls at each enter, leave and tail call: a file for each calling
//! convention.
//!
//! Compiled methods call them by a convention of their own: only the registers that each file lists may
//! change. A stub saves the others, makes an ordinary call of a function of [`Bodies`], and restores them.
//!
//! | file | id | caller's stack pointer | tested |
//! |---|---|---|---|
//! | `x86_64_unix.rs` | R14 on enter, RDI on leave and tail call | R15, RSI | .NET Core 3.1, .NET 8, .NET 10 |
//! | `x86_64_windows.rs` | RCX | RDX | .NET Core 3.1 and .NET 8 of Windows, under Wine |
//! | `aarch64.rs` | X10 | X11 | compiled only: no such machine was there |
//!
//! Unsafe code is here because the functions are naked.

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod convention;
#[cfg(all(target_arch = "x86_64", unix))]
#[path = "x86_64_unix.rs"]
mod convention;
#[cfg(all(target_arch = "x86_64", windows))]
#[path = "x86_64_windows.rs"]
mod convention;

pub(crate) use convention::{enter, leave, tail_call};

/// The functions that the stubs call: ordinary functions that get the method's id and the stack pointer of
/// its caller.
///
/// They run while the thread keeps the garbage collector waiting, must not wait themselves, and must not
/// unwind.
pub(crate) trait Bodies {
    /// A method begins.
    extern "C" fn enter(method: usize, stack: usize);
    /// A method returns.
    extern "C" fn leave(method: usize, stack: usize);
    /// A method ends by a jump to another.
    extern "C" fn tail_call(method: usize, stack: usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Nothing {}

    impl Bodies for Nothing {
        extern "C" fn enter(_method: usize, _stack: usize) {}
        extern "C" fn leave(_method: usize, _stack: usize) {}
        extern "C" fn tail_call(_method: usize, _stack: usize) {}
    }

    #[test]
    fn each_hook_has_code_of_its_own() {
        // A stub is generic, so it is assembled only where it is used.
        let all = [enter::<Nothing>, leave::<Nothing>, tail_call::<Nothing>]
            .map(|hook: unsafe extern "C" fn()| hook as usize);
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
    }
}
