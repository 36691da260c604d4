//! The functions of the provider library, in NT's form.
//!
//! The only unsafe file, for the pointers of NT's interface. A fault here ends the process of the library, and nothing
//! else.
#![allow(unsafe_code, reason = "functions that are called with pointers")]

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use crate::answer::Answers;
use crate::socket;

const ERROR_SUCCESS: u32 = 0;
/// The library is not registered as it should be.
const ERROR_FILE_NOT_FOUND: u32 = 2;
/// The service does not answer.
const ERROR_NOT_READY: u32 = 21;
const ERROR_INVALID_PARAMETER: u32 = 87;
const ERROR_MORE_DATA: u32 = 234;

static ANSWERS: Mutex<Option<Answers>> = Mutex::new(None);

/// Reads the indexes of the names. The service need not run yet.
#[unsafe(no_mangle)]
pub extern "system" fn BehemothOpen(_device_names: *mut u16) -> u32 {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = (number("TALLYMON_FIRST_COUNTER"), number("TALLYMON_FIRST_HELP"));
    let (Some(first_counter), Some(first_help)) = first else { return ERROR_FILE_NOT_FOUND };
    let answers = Answers::new(first_counter, first_help, socket::path());
    *ANSWERS.lock().unwrap_or_else(PoisonError::into_inner) = Some(answers);
    ERROR_SUCCESS
}

/// Answers a query.
///
/// # Safety
///
/// * `query` is NULL or ends with a zero.
/// * The others are NULL, or point to variables.
/// * `*data` is the start of a buffer of `*bytes` bytes that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn BehemothCollect(
    query: *mut u16,
    data: *mut *mut c_void,
    bytes: *mut u32,
    objects: *mut u32,
) -> u32 {
    // SAFETY: the caller says that it is NULL or points to a variable.
    let data = unsafe { data.as_mut() };
    // SAFETY: as above.
    let bytes = unsafe { bytes.as_mut() };
    // SAFETY: as above.
    let objects = unsafe { objects.as_mut() };
    let (data, bytes, objects) = match (data, bytes, objects) {
        (Some(data), Some(bytes), Some(objects)) if !data.is_null() => (data, bytes, objects),
        _ => return ERROR_INVALID_PARAMETER,
    };
    let capacity = usize::try_from(std::mem::take(bytes)).unwrap_or(0);
    *objects = 0;
    let mut answer = Vec::new();
    // SAFETY: the caller says that it is NULL or ends with a zero.
    let query = unsafe { text(query) };
    let count = match ANSWERS.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        Some(answers) => answers.collect(&query, &mut answer),
        None => return ERROR_NOT_READY,
    };
    let Ok(count) = count else { return ERROR_NOT_READY };
    let Some(length) = u32::try_from(answer.len()).ok().filter(|_| answer.len() <= capacity) else {
        return ERROR_MORE_DATA;
    };
    let start: *mut u8 = data.cast();
    // SAFETY: the answer is not longer than the buffer, which is the caller's and no part of the answer.
    unsafe { std::ptr::copy_nonoverlapping(answer.as_ptr(), start, answer.len()) };
    *data = start.wrapping_add(answer.len()).cast();
    *bytes = length;
    *objects = count;
    ERROR_SUCCESS
}

/// Forgets everything.
#[unsafe(no_mangle)]
pub extern "system" fn BehemothClose() -> u32 {
    *ANSWERS.lock().unwrap_or_else(PoisonError::into_inner) = None;
    ERROR_SUCCESS
}

/// The text behind a pointer; empty for NULL.
///
/// # Safety
///
/// * `text` is NULL or ends with a zero.
unsafe fn text(text: *const u16) -> String {
    let mut units = Vec::new();
    let mut at = text;
    while !at.is_null() {
        // SAFETY: the end was not reached yet.
        let unit = unsafe { *at };
        if unit == 0 {
            break;
        }
        units.push(unit);
        at = at.wrapping_add(1);
    }
    String::from_utf16_lossy(&units)
}
