//! The border to the runtime: the class factory, the callback with 98 slots that the runtime calls, and our
//! calls of its `ICorProfilerInfo` and `IMetaDataImport2`.
//!
//! The runtime loads the library, gets a factory from [`DllGetClassObject`] and a callback from the factory,
//! and calls `Initialize` with its own interface. [`crate::session`] decides what a callback does; this module
//! only converts each call to a Rust one and back. It checks every HRESULT: a profiler that ignores one runs
//! and records nothing.
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | result codes, GUIDs, and how a function of an interface is called |
//! | `ids.rs`, `events.rs` | the numbers of the runtime, and what it can be asked to tell |
//! | `callback.rs` | what the runtime calls |
//! | `info.rs` | `ICorProfilerInfo5`: what the runtime tells about its functions, classes and threads |
//! | `metadata.rs` | `IMetaDataImport2`: the names in a module |
//!
//! Unsafe code is here because all of this is C: tables of functions by number, pointers that a call fills
//! in, and buffers with a length. Pointers of the runtime leave this module only inside of [`Info`] and
//! [`Metadata`].
#![allow(unsafe_code)]

mod callback;
pub(crate) mod events;
mod ids;
mod info;
mod metadata;

use std::ffi::c_void;
use std::fmt;
use std::ptr::{NonNull, null_mut};

pub use callback::DllGetClassObject;
pub(crate) use ids::{Hresult, Id, Token};
pub(crate) use info::Info;
pub(crate) use metadata::Metadata;

const S_OK: Hresult = 0;
const E_NOINTERFACE: Hresult = 0x8000_4002_u32 as Hresult;
const E_POINTER: Hresult = 0x8000_4003_u32 as Hresult;
const CLASS_E_NOAGGREGATION: Hresult = 0x8004_0110_u32 as Hresult;
const CLASS_E_CLASSNOTAVAILABLE: Hresult = 0x8004_0111_u32 as Hresult;

/// The answer of a profiler that rejects this process; the runtime continues without it.
const CANCEL_ACTIVATION: Hresult = 0x8013_1375_u32 as Hresult;

/// A call of the runtime that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ComError {
    /// The function.
    pub what: &'static str,
    /// Its result code.
    pub code: Hresult,
}

impl fmt::Display for ComError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed with {:#010x}", self.what, self.code)
    }
}

impl std::error::Error for ComError {}

/// An interface id, in the memory order of a GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Guid(u32, u16, u16, [u8; 8]);

impl Guid {
    /// From its text without dashes and braces.
    const fn new(number: u128) -> Guid {
        let tail = number as u64;
        Guid((number >> 96) as u32, (number >> 80) as u16, (number >> 64) as u16, tail.to_be_bytes())
    }
}

const CLASS_PROFILER: Guid = Guid::new(0x9E2B38F2_7355_4C61_A54F_434B7AC266C0);
const IUNKNOWN: Guid = Guid::new(0x00000000_0000_0000_C000_000000000046);
const ICLASS_FACTORY: Guid = Guid::new(0x00000001_0000_0000_C000_000000000046);
const ICOR_PROFILER_INFO5: Guid = Guid::new(0x07602928_CE38_4B83_81E7_74ADAF781214);
const IMETA_DATA_IMPORT2: Guid = Guid::new(0xFCE5EFA0_8BBA_4F8E_A036_8F2022B08466);

/// `ICorProfilerCallback` to `ICorProfilerCallback11`; the last table includes all earlier ones.
const CALLBACKS: [Guid; 11] = [
    Guid::new(0x176FBED1_A55C_4796_98CA_A9DA0EF883E7),
    Guid::new(0x8A8CC829_CCF2_49FE_BBAE_0F022228071A),
    Guid::new(0x4FD2ED52_7731_4B8D_9469_03D2CC3086C5),
    Guid::new(0x7B63B2E3_107D_4D48_B2F6_F61E229470D2),
    Guid::new(0x8DFBA405_8C9F_45F8_BFFA_83B14CEF78B5),
    Guid::new(0xFC13DF4B_4448_4F4F_950C_BA8D19D00C36),
    Guid::new(0xF76A2DBA_1D52_4539_866C_2AA518F9EFC3),
    Guid::new(0x5BED9B15_C079_4D47_BFE2_215A140C07E0),
    Guid::new(0x27583EC3_C8F5_482F_8052_194B8CE4705A),
    Guid::new(0xCEC5B60E_C69C_495F_87F6_84D28EE16FFB),
    Guid::new(0x42350846_AAED_47F7_B128_FD0C98881CDE),
];

/// The function in a slot of a COM object.
///
/// # Safety
///
/// * `object` is a live COM object whose table has the slot.
/// * `F` is the type of the function there.
unsafe fn slot<F: Copy>(object: NonNull<c_void>, number: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    // SAFETY: a COM object begins with the pointer to its table.
    let table = unsafe { object.cast::<*const *const c_void>().read() };
    // SAFETY: the caller vouches that the table is so long.
    let entry = unsafe { table.add(number) };
    // SAFETY: the entry is readable, and the caller vouches that it is such a function.
    unsafe { entry.cast::<F>().read() }
}

/// Queries a COM object for another interface, which the caller then owns.
///
/// # Safety
///
/// `object` is a live COM object.
unsafe fn query_interface(
    object: NonNull<c_void>,
    interface: &Guid,
    what: &'static str,
) -> Result<NonNull<c_void>, ComError> {
    let mut out: *mut c_void = null_mut();
    // SAFETY: slot 0 of every COM object is QueryInterface.
    let function: unsafe extern "C" fn(*mut c_void, *const Guid, *mut *mut c_void) -> Hresult =
        unsafe { slot(object, 0) };
    // SAFETY: both pointers lead to live variables.
    let code = unsafe { function(object.as_ptr(), interface, &raw mut out) };
    check(what, code)?;
    NonNull::new(out).ok_or(ComError { what, code: E_POINTER })
}

fn check(what: &'static str, code: Hresult) -> Result<(), ComError> {
    if code < 0 { Err(ComError { what, code }) } else { Ok(()) }
}

/// A function of an interface: its name, slot and arguments; the result is a checked HRESULT.
macro_rules! function {
    ($(#[$documentation:meta])* $name:ident, $slot:literal, $what:literal, $($argument:ident: $type:ty),*) => {
        $(#[$documentation])*
        ///
        /// # Safety
        ///
        /// Every pointer may be written, for as many elements as the count beside it says.
        // The arguments are those of the runtime's header.
        #[allow(clippy::too_many_arguments)]
        unsafe fn $name(self, $($argument: $type),*) -> Result<(), ComError> {
            // SAFETY: the object is live, and the slot and its type are those of the runtime's header.
            let function: unsafe extern "C" fn(*mut c_void, $($type),*) -> Hresult = unsafe {
                slot(self.0, $slot)
            };
            // SAFETY: the caller vouches for the arguments.
            check($what, unsafe { function(self.0.as_ptr(), $($argument),*) })
        }
    };
}
use function;

/// The text before the first zero; it is cut when it filled the buffer.
fn terminated(units: &[u16]) -> String {
    let text: Vec<u16> = units.iter().copied().take_while(|unit| *unit != 0).collect();
    String::from_utf16_lossy(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_has_the_memory_order_of_windows() {
        let Guid(a, b, c, d) = CLASS_PROFILER;
        assert_eq!((a, b, c), (0x9E2B_38F2, 0x7355, 0x4C61));
        assert_eq!(d, [0xA5, 0x4F, 0x43, 0x4B, 0x7A, 0xC2, 0x66, 0xC0]);
    }

    #[test]
    fn text_ends_at_the_first_zero() {
        assert_eq!(terminated(&[0x61, 0x62, 0, 0x63]), "ab");
        assert_eq!(terminated(&[0x61, 0xD800]), "a\u{fffd}");
    }
}
