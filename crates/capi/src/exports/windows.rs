//! The functions of windows.h, winreg.h, loadperf.h and tallymon.h.

use super::{both, plain};
use crate::handles::Handle;
use crate::memory::{Buf, Out, Str};
use crate::registry::{self, ERROR_NOT_ENOUGH_MEMORY};
use crate::windows::{self, CivilTime, Halves};

plain! {
    GetLastError = windows::last_error => 0, () -> u32;
    SetLastError = windows::set_last_error => (), (error: u32) -> ();
    Sleep = windows::sleep => (), (milliseconds: u32) -> ();
    GetTickCount = windows::tick_count => 0, () -> u32;
    GetTickCount64 = windows::tick_count_64 => 0, () -> u64;
    QueryPerformanceCounter = windows::counter => 0, (count: Out<i64>) -> i32;
    QueryPerformanceFrequency = windows::frequency => 0, (frequency: Out<i64>) -> i32;
    GetSystemTime = windows::system_time => (), (time: Out<CivilTime>) -> ();
    GetLocalTime = windows::local_time => (), (time: Out<CivilTime>) -> ();
    GetSystemTimeAsFileTime = windows::file_time => (), (time: Out<Halves>) -> ();
    FileTimeToSystemTime = windows::to_system_time => 0, (time: Out<Halves>, civil: Out<CivilTime>) -> i32;
    SystemTimeToFileTime = windows::to_file_time => 0, (civil: Out<CivilTime>, time: Out<Halves>) -> i32;
    FileTimeToLocalFileTime = windows::to_local => 0, (time: Out<Halves>, local: Out<Halves>) -> i32;
    CompareFileTime = windows::compare_times => 0, (first: Out<Halves>, second: Out<Halves>) -> i32;
    SetEvent = windows::set_event => 0, (event: Handle) -> i32;
    ResetEvent = windows::reset_event => 0, (event: Handle) -> i32;
    WaitForSingleObject = windows::wait => u32::MAX, (handle: Handle, milliseconds: u32) -> u32;
    CloseHandle = windows::close_handle => 0, (handle: Handle) -> i32;
    MultiByteToWideChar = windows::to_wide => 0,
        (page: u32, flags: u32, text: Str<u8>, bytes: i32, wide: Buf<u16>, units: i32) -> i32;
    WideCharToMultiByte = windows::to_bytes => 0,
        (page: u32, flags: u32, wide: Str<u16>, units: i32, text: Buf<u8>, bytes: i32, default: Str<u8>,
         used: Out<i32>) -> i32;
    RegCloseKey = registry::close => ERROR_NOT_ENOUGH_MEMORY, (key: Handle) -> u32;
    TallymonSetNeededSize = registry::set_needed_size => 0, (wanted: i32) -> i32;
}

both! { plain, L,
    RegQueryValueExA RegQueryValueExW = registry::query_value::<L> => ERROR_NOT_ENOUGH_MEMORY,
        (key: Handle, name: Str<L>, reserved: Out<u32>, kind: Out<u32>, data: Buf<u8>,
         bytes: Out<u32>) -> u32;
    RegOpenKeyExA RegOpenKeyExW = registry::open => ERROR_NOT_ENOUGH_MEMORY,
        (key: Handle, path: Str<L>, options: u32, access: u32, result: Out<Handle>) -> u32;
    RegConnectRegistryA RegConnectRegistryW = registry::connect => ERROR_NOT_ENOUGH_MEMORY,
        (machine: Str<L>, key: Handle, result: Out<Handle>) -> u32;
    CreateEventA CreateEventW = windows::create_event => 0,
        (security: Out<u8>, manual: i32, set: i32, name: Str<L>) -> Handle;
    GetComputerNameA GetComputerNameW = windows::computer_name => 0, (buffer: Buf<L>, size: Out<u32>) -> i32;
    CompareStringA CompareStringW = windows::compare => 0,
        (locale: u32, flags: u32, first: Str<L>, first_length: i32, second: Str<L>,
         second_length: i32) -> i32;
    LoadPerfCounterTextStringsA LoadPerfCounterTextStringsW = windows::load_texts => ERROR_NOT_ENOUGH_MEMORY,
        (command_line: Str<L>, quiet: i32) -> u32;
    UnloadPerfCounterTextStringsA UnloadPerfCounterTextStringsW = windows::unload_texts => ERROR_NOT_ENOUGH_MEMORY,
        (command_line: Str<L>, quiet: i32) -> u32;
}
