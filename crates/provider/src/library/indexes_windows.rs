//! The first indexes of a service, which `lodctr` writes to the registry.
#![allow(unsafe_code, reason = "calls the registry of the system")]

use std::ptr::null_mut;

use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_DWORD, RegGetValueW};

use super::author::ProviderLibrary;

/// First Counter and First Help; `None` when no names are installed.
pub(super) fn firsts<L: ProviderLibrary>() -> Option<(u32, u32)> {
    const {
        assert!(!L::SERVICE.is_empty(), "for Windows, ProviderLibrary::SERVICE must name the service");
    }
    let key = format!(r"SYSTEM\CurrentControlSet\Services\{}\Performance", L::SERVICE);
    number(&key, "First Counter").zip(number(&key, "First Help"))
}

/// A number of a key of this machine.
fn number(key: &str, value: &str) -> Option<u32> {
    let terminated = |text: &str| -> Vec<u16> { text.encode_utf16().chain([0]).collect() };
    let (key, value) = (terminated(key), terminated(value));
    let mut number = 0u32;
    let mut size = size_of::<u32>() as u32;
    // SAFETY: both texts end with 0, and `size` is the number of bytes that may be written.
    let status = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            value.as_ptr(),
            RRF_RT_REG_DWORD,
            null_mut(),
            (&raw mut number).cast(),
            &raw mut size,
        )
    };
    (status == ERROR_SUCCESS).then_some(number)
}
