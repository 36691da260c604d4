//! NT's functions Open, Collect and Close around a [`ProviderLibrary`]: what `export_provider!` expands to.
//!
//! The only unsafe code of the macro is here and in the three functions that it declares: it reads two texts,
//! and writes to a buffer of the caller.
#![allow(unsafe_code, reason = "pointers of the caller of Open and Collect")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use tallymon_core::title::{HelpIndex, TitleIndex};

use super::author::{Opened, Opening, ProviderLibrary};
use super::check::{ERROR_MORE_DATA, ERROR_SUCCESS};
use super::indexes::firsts;

/// `ERROR_FILE_NOT_FOUND`: the first indexes are missing, as if the key of the service had no values.
const ERROR_FILE_NOT_FOUND: u32 = 2;
/// `ERROR_NOT_READY`: Collect before Open.
const ERROR_NOT_READY: u32 = 21;
/// `ERROR_INTERNAL_ERROR`: the library panicked.
const ERROR_INTERNAL_ERROR: u32 = 1359;

/// Exports a type that implements [`ProviderLibrary`] as a provider library: the functions `Open`, `Collect`
/// and `Close`, or functions with other names in this order.
///
/// ```text
/// export_provider!(Tea);
/// export_provider!(Tea, OpenTea, CollectTea, CloseTea);
/// ```
#[macro_export]
macro_rules! export_provider {
    ($library:ty) => {
        $crate::export_provider!($library, Open, Collect, Close);
    };
    ($library:ty, $open:ident, $collect:ident, $close:ident) => {
        const _: () = {
            static EXPORTED: $crate::library::export::Exported<$library> =
                $crate::library::export::Exported::new();

            #[allow(non_snake_case, reason = "the names are NT's, and C calls them")]
            #[unsafe(no_mangle)]
            unsafe extern "system" fn $open(context: *mut u16) -> u32 {
                // SAFETY: the caller of the library promises what Open is promised.
                unsafe { EXPORTED.open(context) }
            }

            #[allow(non_snake_case, reason = "as above")]
            #[unsafe(export_name = concat!(stringify!($open), "Indexes"))]
            extern "system" fn indexes(_service: *const u16, first_counter: u32, first_help: u32) {
                EXPORTED.tell(first_counter, first_help);
            }

            #[allow(non_snake_case, reason = "as above")]
            #[unsafe(no_mangle)]
            unsafe extern "system" fn $collect(
                query: *mut u16,
                data: *mut *mut ::core::ffi::c_void,
                bytes: *mut u32,
                objects: *mut u32,
            ) -> u32 {
                // SAFETY: the caller of the library promises what Collect is promised.
                unsafe { EXPORTED.collect(query, data, bytes, objects) }
            }

            #[allow(non_snake_case, reason = "as above")]
            #[unsafe(no_mangle)]
            extern "system" fn $close() -> u32 {
                EXPORTED.close()
            }
        };
    };
}

/// The library of a `cdylib`.
#[derive(Debug)]
pub struct Exported<L>(Mutex<State<L>>);

#[derive(Debug)]
struct State<L> {
    opened: Option<Opened<L>>,
    /// Its first indexes, when the reader has passed them; else they are where the system has them.
    firsts: Option<(u32, u32)>,
    /// How often it was opened and not closed yet.
    uses: u32,
    /// The last answer; while it waits for a larger buffer, also its request and its number of objects.
    bytes: Vec<u8>,
    waiting: Option<(String, u32)>,
}

impl<L: ProviderLibrary> Default for Exported<L> {
    fn default() -> Exported<L> {
        Exported::new()
    }
}

impl<L: ProviderLibrary> Exported<L> {
    /// A library that is not open.
    pub const fn new() -> Exported<L> {
        Exported(Mutex::new(State { opened: None, firsts: None, uses: 0, bytes: Vec::new(), waiting: None }))
    }

    /// Passes the first indexes of the service, as a reader does that loads the library into its own process.
    /// Both are 0 when no names are installed.
    pub fn tell(&self, first_counter: u32, first_help: u32) {
        self.with(|state| {
            state.firsts = (first_counter != 0).then_some((first_counter, first_help));
            ERROR_SUCCESS
        });
    }

    /// Open. Unless the reader has passed them, the indexes are in the environment; on Windows they are in
    /// the registry, in the key `Performance` of [`ProviderLibrary::SERVICE`].
    ///
    /// # Safety
    ///
    /// `context` is NULL, or points to UTF-16 texts that each end with a zero, followed by one more zero.
    pub unsafe fn open(&self, context: *const u16) -> u32 {
        // SAFETY: promised by the caller.
        let export = unsafe { texts(context) };
        self.with(|state| {
            let Some((first_counter, first_help)) = state.firsts.or_else(firsts::<L>) else {
                return ERROR_FILE_NOT_FOUND;
            };
            let (first_counter, first_help) = (TitleIndex(first_counter), HelpIndex(first_help));
            let opening = Opening { export: export.clone(), first_counter, first_help };
            if state.opened.is_none() {
                match Opened::new(&opening) {
                    Ok(opened) => state.opened = Some(opened),
                    Err(error) => return error,
                }
            }
            state.uses = state.uses.saturating_add(1);
            ERROR_SUCCESS
        })
    }

    /// Collect. An answer that does not fit is kept for the next call, so that the library is called once per
    /// request.
    ///
    /// # Safety
    ///
    /// * `query` is NULL, or points to a UTF-16 text that ends with a zero.
    /// * `data`, `bytes` and `objects` may be read and written, and `*bytes` bytes behind `*data` may be
    ///   written.
    /// * If the library wraps objects, `*objects` objects stand there, each as long as its first field says.
    ///   What is behind them may be uninitialised.
    pub unsafe fn collect(
        &self,
        query: *const u16,
        data: *mut *mut c_void,
        bytes: *mut u32,
        objects: *mut u32,
    ) -> u32 {
        // SAFETY: promised by the caller.
        let query = unsafe { text(query) };
        // SAFETY: promised by the caller.
        let capacity = unsafe { bytes.read() };
        // SAFETY: promised by the caller.
        let start = unsafe { data.read() };
        // SAFETY: promised by the caller.
        let n_originals = if L::WRAPS { unsafe { objects.read() } } else { 0 };
        // SAFETY: promised by the caller.
        let originals = unsafe { objects_at(start.cast::<u8>(), capacity as usize, n_originals) };
        let mut answer = (0u32, 0u32);
        let status = self.with(|state| {
            let State { opened: Some(opened), bytes, waiting, .. } = state else { return ERROR_NOT_READY };
            let count = match waiting.take().filter(|(waiting, _)| *waiting == query) {
                Some((_, count)) => count,
                None if L::WRAPS => opened.wrap(&originals, n_originals, bytes),
                None => match opened.collect(&query, bytes) {
                    Ok(count) => count,
                    Err(error) => return error,
                },
            };
            let Some(length) = u32::try_from(bytes.len()).ok().filter(|length| *length <= capacity) else {
                *waiting = Some((query, count));
                return ERROR_MORE_DATA;
            };
            // SAFETY: the length was compared with what may be written, and an own vector is elsewhere.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.cast::<u8>(), bytes.len()) };
            answer = (length, count);
            ERROR_SUCCESS
        });
        // SAFETY: promised by the caller.
        unsafe { data.write(start.wrapping_byte_add(answer.0 as usize)) };
        // SAFETY: promised by the caller.
        unsafe { bytes.write(answer.0) };
        // SAFETY: promised by the caller.
        unsafe { objects.write(answer.1) };
        status
    }

    /// Close. The library is dropped with its last use.
    pub fn close(&self) -> u32 {
        self.with(|state| {
            state.uses = state.uses.saturating_sub(1);
            if state.uses == 0 {
                (state.opened, state.waiting) = (None, None);
            }
            ERROR_SUCCESS
        })
    }

    /// Runs a function; a panic becomes an error number, because C cannot unwind.
    fn with(&self, run: impl FnOnce(&mut State<L>) -> u32) -> u32 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        catch_unwind(AssertUnwindSafe(|| run(&mut state))).unwrap_or_else(|_| {
            state.waiting = None;
            ERROR_INTERNAL_ERROR
        })
    }
}

/// A copy of so many objects in a buffer, of those that are whole. Nothing behind them is read, because the
/// rest of the buffer may never have been written.
///
/// # Safety
///
/// At `at` stand `count` objects, or fewer than fill `capacity` bytes; `at` may be NULL if `capacity` is 0.
unsafe fn objects_at(at: *const u8, capacity: usize, count: u32) -> Vec<u8> {
    let mut copy = Vec::new();
    for _ in 0..count {
        let start = copy.len();
        // The first field of an object is its length, four bytes.
        if capacity.saturating_sub(start) < size_of::<u32>() {
            break;
        }
        // SAFETY: an object begins here, and its length is inside of the buffer. C promises no alignment.
        let length = unsafe { at.wrapping_add(start).cast::<u32>().read_unaligned() } as usize;
        if length < size_of::<u32>() || length > capacity.saturating_sub(start) {
            break;
        }
        // SAFETY: the object is inside of the buffer, and the caller says that its bytes are written.
        let object = unsafe { std::slice::from_raw_parts(at.wrapping_add(start), length) };
        copy.extend_from_slice(object);
    }
    copy
}

/// A text that ends with a zero; empty for NULL.
///
/// # Safety
///
/// `at` is NULL or points to such a text.
unsafe fn text(at: *const u16) -> String {
    let mut units = Vec::new();
    while !at.is_null() {
        // SAFETY: no zero was found up to here, so this unit is of the text.
        match unsafe { at.wrapping_add(units.len()).read_unaligned() } {
            0 => break,
            unit => units.push(unit),
        }
    }
    String::from_utf16_lossy(&units)
}

/// Texts up to an empty one; none for NULL.
///
/// # Safety
///
/// `at` is NULL or points to texts that end with a zero, the last of them empty.
unsafe fn texts(mut at: *const u16) -> Vec<String> {
    let mut texts = Vec::new();
    while !at.is_null() {
        // SAFETY: no empty text was found up to here.
        let text = unsafe { text(at) };
        if text.is_empty() {
            break;
        }
        let length = text.encode_utf16().count().saturating_add(1);
        // SAFETY: behind the zero of a text that is not empty there is another text.
        at = unsafe { at.add(length) };
        texts.push(text);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_objects_of_a_buffer_are_read() {
        let object = |length: u32, byte: u8| {
            // As a program in this process writes a number.
            let length =
                if cfg!(target_endian = "little") { length.to_le_bytes() } else { length.to_be_bytes() };
            let mut bytes = length.to_vec();
            bytes.resize(8, byte);
            bytes
        };
        for (objects, count, expected) in [
            (vec![object(8, 1), object(8, 2)], 2, 16),
            (vec![object(8, 1), object(8, 2)], 1, 8),
            (vec![object(8, 1), object(64, 2)], 2, 8),
            (vec![object(8, 1), object(3, 2)], 2, 8),
            (vec![object(0, 1)], u32::MAX, 0),
            (vec![], 0, 0),
        ] {
            let objects = objects.concat();
            // The rest of the buffer was never written: miri finds each byte of it that is read.
            let mut buffer: Vec<u8> = Vec::with_capacity(32);
            buffer.extend_from_slice(&objects);
            // SAFETY: the buffer is that long, and the objects are at its start.
            let copy = unsafe { objects_at(buffer.as_ptr(), 32, count) };
            assert_eq!(copy, objects[..expected]);
        }
        // SAFETY: nothing is read from an empty buffer.
        assert!(unsafe { objects_at(std::ptr::null(), 0, 3) }.is_empty());
    }
}
