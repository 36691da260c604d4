//! Keys of the registry: opening, values, subkeys.
#![allow(unsafe_code, reason = "calls the registry of the system")]

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{ERROR_MORE_DATA, ERROR_SUCCESS};
use windows_sys::Win32::System::Registry::{
    HKEY, HKEY_LOCAL_MACHINE, HKEY_PERFORMANCE_DATA, KEY_READ, REG_DWORD, REG_EXPAND_SZ, REG_SZ, RegCloseKey,
    RegEnumKeyExW, RegOpenKeyExW, RegQueryValueExW,
};

/// The longest name of a key, in units with the terminating one.
const LONGEST_NAME: u32 = 256;

/// No text of a service is longer than this in bytes.
const LONGEST_TEXT: usize = 64 << 10;

/// An open key.
#[derive(Debug)]
pub(crate) struct Key(HKEY);

// SAFETY: a handle of the registry is a number that any thread may use.
unsafe impl Send for Key {}

impl Key {
    /// The key with the performance data of this machine. Queries load what answers them; dropping the key
    /// unloads it.
    pub(crate) const fn performance_data() -> Key {
        Key(HKEY_PERFORMANCE_DATA)
    }

    /// Opens a key of this machine for reading; the error is the registry's status.
    pub(crate) fn of_machine(path: &str) -> Result<Key, u32> {
        let path = terminated(path);
        let mut key: HKEY = null_mut();
        // SAFETY: the path ends with 0, and the result has a place.
        let status = unsafe { RegOpenKeyExW(HKEY_LOCAL_MACHINE, path.as_ptr(), 0, KEY_READ, &raw mut key) };
        if status == ERROR_SUCCESS { Ok(Key(key)) } else { Err(status) }
    }

    /// Queries a value into at most `room` bytes. Returns the status and the bytes, which are none after an
    /// error. `spare` is memory to reuse.
    pub(crate) fn query(&self, name: &str, room: u32, spare: Vec<u8>) -> (u32, Vec<u8>) {
        let (status, _, bytes) = self.value(name, room, spare);
        (status, bytes)
    }

    /// A text; `None` where there is none.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let (status, kind, bytes) = self.growing(name);
        (status == ERROR_SUCCESS && matches!(kind, REG_SZ | REG_EXPAND_SZ)).then(|| text_of(&bytes))
    }

    /// A number; `None` where there is none.
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        let (status, kind, bytes) = self.growing(name);
        let number = bytes.first_chunk::<4>().filter(|_| status == ERROR_SUCCESS && kind == REG_DWORD)?;
        Some(u32::from_le_bytes(*number))
    }

    /// The names of the keys below it.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for index in 0..u32::MAX {
            let mut name = [0u16; LONGEST_NAME as usize];
            let mut length = LONGEST_NAME;
            let nothing: *const u32 = null();
            // SAFETY: `length` is the number of units that `name` has room for; the rest is not wanted.
            let status = unsafe {
                RegEnumKeyExW(
                    self.0,
                    index,
                    name.as_mut_ptr(),
                    &raw mut length,
                    nothing,
                    null_mut(),
                    null_mut(),
                    null_mut(),
                )
            };
            match status {
                ERROR_SUCCESS => {
                    let units = usize::try_from(length).ok().and_then(|length| name.get(..length));
                    names.push(String::from_utf16_lossy(units.unwrap_or_default()));
                }
                // A name that is too long is nobody's that is looked for here.
                ERROR_MORE_DATA => {}
                _ => break,
            }
        }
        names
    }

    fn growing(&self, name: &str) -> (u32, u32, Vec<u8>) {
        let mut room = 1024usize;
        loop {
            let answer = self.value(name, u32::try_from(room).unwrap_or(u32::MAX), Vec::new());
            if answer.0 != ERROR_MORE_DATA || room >= LONGEST_TEXT {
                return answer;
            }
            room = room.saturating_mul(4);
        }
    }

    /// Status, type and bytes of a value.
    fn value(&self, name: &str, room: u32, spare: Vec<u8>) -> (u32, u32, Vec<u8>) {
        let name = terminated(name);
        let mut bytes = spare;
        // Zeros, as a provider may leave parts of its answer unwritten.
        bytes.clear();
        bytes.resize(usize::try_from(room).unwrap_or(0), 0);
        let mut size = u32::try_from(bytes.len()).unwrap_or(0);
        let mut kind = 0u32;
        // SAFETY: the name ends with 0, and `size` is the number of bytes that may be written.
        let status = unsafe {
            RegQueryValueExW(
                self.0,
                name.as_ptr(),
                null(),
                &raw mut kind,
                bytes.as_mut_ptr().cast::<c_void>().cast(),
                &raw mut size,
            )
        };
        // The size after an error means nothing, and that after a success may be wrong: a provider wrote it.
        let length = if status == ERROR_SUCCESS { usize::try_from(size).unwrap_or(0) } else { 0 };
        bytes.truncate(length);
        (status, kind, bytes)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: nobody uses the key after this. Closing the predefined key unloads the providers, and the
        // next query loads them again.
        unsafe { RegCloseKey(self.0) };
    }
}

fn terminated(text: &str) -> Vec<u16> {
    text.encode_utf16().filter(|unit| *unit != 0).chain([0]).collect()
}

/// A text of the registry, which may end with 0 or not.
fn text_of(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).filter_map(|unit| Some(u16::from_le_bytes(*unit.first_chunk::<2>()?)));
    let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    String::from_utf16_lossy(&units)
}
