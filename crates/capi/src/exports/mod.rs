//! Everything that C sees: names, parameters and calling convention. The work is done in the other modules.
//!
//! A panic is caught here and becomes an error of the function. Nothing here reads a pointer: parameters
//! have the types of [`crate::memory`], which do that.
#![allow(unsafe_code, reason = "a function that C can call has a name that nobody else may have")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::{self, Done};

mod pdh;
#[cfg(any(target_os = "linux", windows))]
mod publish;
// Windows has these functions itself, and a second `Sleep` in a program would be the one that everything
// calls.
#[cfg(not(windows))]
mod windows;

/// The return value of a function of the performance data helper.
fn status(act: impl FnOnce() -> Done) -> i32 {
    // A panic is a bug in this library; the program gets no value and goes on.
    guard(status::INVALID_DATA, || act().err().unwrap_or(status::VALID_DATA)).cast_signed()
}

/// The return value of a function; `panicked` if it panics.
fn guard<R>(panicked: R, act: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or(panicked)
}

/// Functions with one name, which return what a Rust function returns, or `$panicked`.
macro_rules! plain {
    ($($name:ident = $function:path => $panicked:expr, ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        /// See the headers.
        ///
        /// # Safety
        ///
        /// * Every pointer is NULL, or points at what its type says for as long as the call lasts.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            $crate::exports::guard($panicked, || $function($($argument),*))
        }
    )*};
}

/// Functions with one name, which return a status.
macro_rules! statuses {
    ($($name:ident = $function:path, ($($argument:ident: $type:ty),*);)*) => {$(
        /// See pdh.h.
        ///
        /// # Safety
        ///
        /// * Every pointer is NULL, or points at what its type says for as long as the call lasts.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
            $crate::exports::status(|| $function($($argument),*))
        }
    )*};
}

/// Functions with two names, for bytes and for 16-bit units: `$letter` stands for one of the two in the
/// parameters.
macro_rules! both {
    ($kind:ident, $letter:ident, $($ansi:ident $wide:ident = $function:path $(=> $panicked:expr)?, ($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        mod ansi {
            use super::*;
            type $letter = u8;
            $kind! { $($ansi = $function $(=> $panicked)?, ($($argument: $type),*) $(-> $result)?;)* }
        }
        mod wide {
            use super::*;
            type $letter = u16;
            $kind! { $($wide = $function $(=> $panicked)?, ($($argument: $type),*) $(-> $result)?;)* }
        }
    };
}

use {both, plain, statuses};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catches_panics() {
        assert_eq!(status(|| panic!("on purpose")), status::INVALID_DATA.cast_signed());
        assert_eq!(status(|| Err(status::NO_DATA)), status::NO_DATA.cast_signed());
        assert_eq!(status(|| Ok(())), 0);
    }
}
