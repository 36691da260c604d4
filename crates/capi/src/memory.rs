//! Pointers from C programs: every read and write through one is in this file.
//!
//! Values of these types only come from parameters of exported functions. There the program promises what C
//! always promises: a pointer is NULL, or it points at what its type says, for as long as the call lasts; a
//! text ends with a zero. That promise makes the methods here safe to call.
#![allow(unsafe_code, reason = "the pointers of C programs are read and written here")]

/// A unit of text: a byte of UTF-8 in the A functions, 16 bits of UTF-16 in the W functions.
pub(crate) trait Letter: Copy + PartialEq + 'static {
    /// The zero that ends a text.
    const ZERO: Self;
    /// Encodes a text in these units, without the final zero; it is cut at a zero inside.
    fn encode(text: &str) -> Vec<Self>;
    /// Decodes units; what is no character becomes U+FFFD.
    fn decode(units: &[Self]) -> String;
}

impl Letter for u8 {
    const ZERO: u8 = 0;

    fn encode(text: &str) -> Vec<u8> {
        text.bytes().take_while(|byte| *byte != 0).collect()
    }

    fn decode(units: &[u8]) -> String {
        String::from_utf8_lossy(units).into_owned()
    }
}

impl Letter for u16 {
    const ZERO: u16 = 0;

    fn encode(text: &str) -> Vec<u16> {
        text.encode_utf16().take_while(|unit| *unit != 0).collect()
    }

    fn decode(units: &[u16]) -> String {
        String::from_utf16_lossy(units)
    }
}

/// A text that ends with a zero, or NULL.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Str<L>(*const L);

impl<L: Letter> Str<L> {
    /// The text; `None` for NULL.
    pub(crate) fn get(self) -> Option<String> {
        if self.0.is_null() {
            return None;
        }
        let mut units = Vec::new();
        loop {
            // SAFETY: the program promises a text that ends with a zero, and none was found up to here. C
            // has no promise about alignment of a text that was cast.
            let unit = unsafe { self.0.wrapping_add(units.len()).read_unaligned() };
            if unit == L::ZERO {
                return Some(L::decode(&units));
            }
            units.push(unit);
        }
    }

    /// The texts of a list that ends with an empty text; none for NULL.
    pub(crate) fn get_list(self) -> Vec<String> {
        let mut texts = Vec::new();
        let mut at = self;
        while let Some(text) = at.get().filter(|text| !text.is_empty()) {
            at = Str(at.0.wrapping_add(at.length().saturating_add(1)));
            texts.push(text);
        }
        texts
    }

    /// The text of `count` units, zeros included; `None` for NULL.
    pub(crate) fn get_units(self, count: usize) -> Option<Vec<L>> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: the program promises so many units.
        let unit = |at: usize| unsafe { self.0.wrapping_add(at).read_unaligned() };
        Some((0..count).map(unit).collect())
    }

    /// The number of units before the zero; 0 for NULL.
    pub(crate) fn length(self) -> usize {
        if self.0.is_null() {
            return 0;
        }
        // SAFETY: the program promises a text that ends with a zero; it was not found before `at`.
        let unit = |at: usize| unsafe { self.0.wrapping_add(at).read_unaligned() };
        (0..).position(|at| unit(at) == L::ZERO).unwrap_or(0)
    }
}

/// A pointer to one value, or NULL.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Out<T> {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T: Copy> Out<T> {
    pub(crate) const fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The value there; `None` for NULL.
    pub(crate) fn get(self) -> Option<T> {
        // SAFETY: the program promises a value of this type at every pointer that is not NULL.
        if self.0.is_null() { None } else { Some(unsafe { self.0.read_unaligned() }) }
    }

    /// Writes a value, unless it is NULL.
    pub(crate) fn set(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the program promises room for a value of this type at every pointer that is not NULL.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

/// Room for several values, whose number comes in another parameter; or NULL.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Buf<T>(*mut T);

impl<T> Clone for Buf<T> {
    fn clone(&self) -> Buf<T> {
        *self
    }
}

impl<T> Copy for Buf<T> {}

impl<T: Copy> Buf<T> {
    pub(crate) const fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address of a byte offset, to be written for the program.
    pub(crate) const fn address(self, bytes: usize) -> *mut u8 {
        self.0.cast::<u8>().wrapping_add(bytes)
    }

    /// Writes values at a byte offset. The caller has compared their size with that of the program's
    /// buffer. Writes nothing through NULL.
    pub(crate) fn write<V: Copy>(self, bytes: usize, values: &[V]) {
        if self.0.is_null() {
            return;
        }
        let to = self.address(bytes);
        // SAFETY: the program promises the size that it gave, and the caller stays within it; what is
        // written is plain data of this library and overlaps nothing of the program.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), to, size_of_val(values)) };
    }

    /// Reads one of the values that the program promises; zero for NULL.
    #[cfg(any(target_os = "linux", windows))]
    #[inline(always)]
    pub(crate) fn at(self, position: usize) -> T
    where
        T: Default,
    {
        if self.0.is_null() {
            return T::default();
        }
        // SAFETY: the program promises so many values that there is one at this position.
        unsafe { self.0.wrapping_add(position).read_unaligned() }
    }

    /// Reads `count` values, which the program promises; empty for NULL.
    pub(crate) fn read(self, count: usize) -> Vec<T> {
        if self.0.is_null() {
            return Vec::new();
        }
        // SAFETY: the program promises so many values.
        let value = |at: usize| unsafe { self.0.wrapping_add(at).read_unaligned() };
        (0..count).map(value).collect()
    }
}

impl<L: Letter> Buf<L> {
    /// The text there; `None` for NULL.
    pub(crate) fn text(self) -> Option<String> {
        Str(self.0.cast_const()).get()
    }
}

/// An address in a structure that the program gets.
pub(crate) type Address<L> = *mut L;

/// An object of this library that the program owns, or NULL: it gets the object once and gives it back once.
///
/// A parameter of this type was made by [`Owned::new`] and was not given back yet. Several threads may use
/// it at once, so it has to be `Sync`.
#[cfg(any(target_os = "linux", windows))]
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Owned<T>(*mut T);

#[cfg(any(target_os = "linux", windows))]
impl<T> Clone for Owned<T> {
    fn clone(&self) -> Owned<T> {
        *self
    }
}

#[cfg(any(target_os = "linux", windows))]
impl<T> Copy for Owned<T> {}

#[cfg(any(target_os = "linux", windows))]
impl<T: Send + Sync> Owned<T> {
    /// Gives an object to the program.
    pub(crate) fn new(object: T) -> Owned<T> {
        Owned(Box::into_raw(Box::new(object)))
    }

    /// The object; `None` for NULL.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&T> {
        // SAFETY: the program promises NULL or what `new` made, and that nobody gives it back before the
        // call ends.
        unsafe { self.0.as_ref() }
    }

    /// Takes the object back; `None` for NULL.
    pub(crate) fn take(self) -> Option<Box<T>> {
        // SAFETY: the program promises NULL or what `new` made, and that it uses it no more from here on.
        (!self.0.is_null()).then(|| unsafe { Box::from_raw(self.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_reads_as_nothing() {
        assert_eq!(Str::<u8>(std::ptr::null()).get(), None);
        assert_eq!(Str::<u16>(std::ptr::null()).length(), 0);
        assert_eq!(Out::<u32>(std::ptr::null_mut()).get(), None);
        Out::<u32>(std::ptr::null_mut()).set(7);
        Buf::<u8>(std::ptr::null_mut()).write(0, &[1u8]);
        assert!(Buf::<u8>(std::ptr::null_mut()).read(3).is_empty());
    }

    #[cfg(any(target_os = "linux", windows))]
    #[test]
    fn owned_objects_come_back() {
        assert_eq!(Owned::<u32>(std::ptr::null_mut()).get(), None);
        assert_eq!(Owned::<u32>(std::ptr::null_mut()).take(), None);
        let owned = Owned::new(7u32);
        assert_eq!(owned.get(), Some(&7));
        assert_eq!(owned.take(), Some(Box::new(7)));
    }

    #[test]
    fn decodes_what_it_encodes() {
        for text in ["", "Processor", "메모리", "😀"] {
            let mut bytes = u8::encode(text);
            bytes.push(0);
            assert_eq!(Str(bytes.as_ptr()).get().as_deref(), Some(text));
            let mut units = u16::encode(text);
            assert_eq!(Str(units.as_ptr()).get_units(units.len()).as_deref(), Some(&units[..]));
            units.push(0);
            assert_eq!(Str(units.as_ptr()).get().as_deref(), Some(text));
            assert_eq!(Str(units.as_ptr()).length(), units.len() - 1);
        }
        for texts in [vec![], vec!["one".to_string(), "two".to_string()]] {
            assert_eq!(Str(crate::text::list::<u8>(&texts).as_ptr()).get_list(), texts);
        }
        assert_eq!(u16::decode(&[0xd800]), "\u{fffd}");
        assert_eq!(u8::encode("a\0b"), [b'a']);
    }
}
