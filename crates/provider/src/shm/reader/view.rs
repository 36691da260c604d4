//! The bytes of a mapped file that another program writes.
//!
//! Unsafe because it keeps the address of the mapping. The bytes change at any time, which makes every access
//! an atomic one; they are copied, and only the copy is checked.
#![allow(unsafe_code, reason = "the address of a mapping")]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The first bytes of a file.
#[derive(Debug)]
pub(super) struct View {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: it is memory of the process that belongs to no thread, and it is only read, through atomics.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// The `length` bytes from `base` on.
    ///
    /// # Safety
    ///
    /// They are a mapping, and `base` is the beginning of a page. It stays until the view is gone, and
    /// nothing in this process accesses it but through atomics.
    pub(super) const unsafe fn new(base: NonNull<u8>, length: usize) -> View {
        View { base, length }
    }

    /// Where it begins.
    pub(super) const fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// How many bytes it has.
    pub(super) const fn length(&self) -> usize {
        self.length
    }

    /// Copies bytes; false when it has not so many. The place is usually a multiple of 8.
    #[expect(clippy::host_endian_bytes, reason = "the bytes of a word are copied as they are")]
    pub(super) fn copy(&self, buffer: &mut [u8], at: usize) -> bool {
        let end = at.checked_add(buffer.len());
        if end.is_none_or(|end| end > self.length) {
            return false;
        }
        // SAFETY: the place is inside of the view, or at its end.
        let mut from = unsafe { self.base.add(at) };
        if !at.is_multiple_of(8) {
            copy_bytes(buffer, from);
            return true;
        }
        let (words, rest) = buffer.as_chunks_mut::<8>();
        for word in words {
            // SAFETY: 8 bytes from here on are inside of the view, since the buffer is not at its end; the
            // address is a multiple of 8, as the base is that of a page.
            let number = unsafe { from.cast::<AtomicU64>().as_ref() }.load(Ordering::Relaxed);
            *word = number.to_ne_bytes();
            // SAFETY: at most the end of the view.
            from = unsafe { from.add(8) };
        }
        copy_bytes(rest, from);
        true
    }
}

/// Copies bytes from an address that has so many behind it in a view.
fn copy_bytes(buffer: &mut [u8], mut from: NonNull<u8>) {
    for byte in buffer {
        // SAFETY: the byte is inside of the view, since the buffer is not at its end.
        *byte = unsafe { from.cast::<AtomicU8>().as_ref() }.load(Ordering::Relaxed);
        // SAFETY: at most the end of the view.
        from = unsafe { from.add(1) };
    }
}
