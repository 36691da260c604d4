//! The folder of Windows for the data of all users, as the registry has it. A variable of the environment can
//! be changed by every program of a user, also for the programs that this user runs as administrator, and
//! services may lack it.
#![allow(unsafe_code, reason = "calls the registry of the system")]

use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr::null_mut;

use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RegGetValueW};

/// Where the system notes its folders.
const KEY: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\ProfileList";

/// `C:\ProgramData`, unless Windows was installed elsewhere.
pub fn program_data() -> PathBuf {
    text(KEY, "ProgramData").map(PathBuf::from).filter(|path| path.is_absolute()).unwrap_or_else(|| {
        let drive = std::env::var_os("SystemDrive").unwrap_or_else(|| "C:".into());
        PathBuf::from(drive).join(r"\ProgramData")
    })
}

/// A text of a key of this machine, with the variables in it replaced.
fn text(key: &str, value: &str) -> Option<OsString> {
    let terminated = |text: &str| -> Vec<u16> { text.encode_utf16().chain([0]).collect() };
    let (key, value) = (terminated(key), terminated(value));
    let mut buffer = [0u16; 1024];
    let mut size = size_of_val(&buffer) as u32;
    // SAFETY: both texts end with 0, and `size` is the number of bytes that may be written.
    let status = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            value.as_ptr(),
            RRF_RT_REG_SZ,
            null_mut(),
            buffer.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    let end = buffer.iter().position(|word| *word == 0)?;
    (status == ERROR_SUCCESS && end > 0).then(|| OsString::from_wide(buffer.get(..end).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_there() {
        assert!(program_data().is_dir(), "{:?}", program_data());
        assert_eq!(text(KEY, "no such value"), None);
    }
}
