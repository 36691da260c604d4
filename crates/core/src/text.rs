//! Text in a data block, in UTF-16 of either byte order or in a code page; and case-insensitive comparison of
//! names.
//!
//! Bytes are kept as they are and decoded on demand, because names are compared more often than displayed.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use crate::bytes::ByteOrder;

/// A name in a data block, without its terminator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Name<'a> {
    /// UTF-16, as Windows writes it.
    Wide(WideStr<'a>),
    /// Bytes of some code page.
    Narrow(NarrowStr<'a>),
}

impl<'a> Name<'a> {
    /// The name in `bytes` up to its terminator, or all of `bytes` if there is none.
    ///
    /// Code page 0 is UTF-16 in the byte order of the block; 1200 and 1201 are UTF-16 with an order of their
    /// own.
    pub fn new(bytes: &'a [u8], code_page: CodePage, order: ByteOrder) -> Name<'a> {
        match code_page {
            CodePage::UTF_16 => Name::Wide(WideStr::new(bytes, order).until_nul()),
            CodePage(1200) => Name::Wide(WideStr::new(bytes, ByteOrder::Little).until_nul()),
            CodePage(1201) => Name::Wide(WideStr::new(bytes, ByteOrder::Big).until_nul()),
            _ => Name::Narrow(NarrowStr::new(bytes, code_page).until_nul()),
        }
    }

    /// The bytes of the name.
    pub const fn as_bytes(self) -> &'a [u8] {
        match self {
            Name::Wide(wide) => wide.bytes,
            Name::Narrow(narrow) => narrow.bytes,
        }
    }

    /// Whether there is no text at all.
    pub const fn is_empty(self) -> bool {
        self.as_bytes().is_empty()
    }

    /// Its characters. Undecodable text becomes U+FFFD or, in an unknown code page, `\xNN`.
    pub fn chars(self) -> impl Iterator<Item = char> + Clone + 'a {
        let (wide, narrow) = match self {
            Name::Wide(wide) => (Some(wide), None),
            Name::Narrow(narrow) => (None, Some(narrow)),
        };
        let wide = wide.into_iter().flat_map(WideStr::chars);
        wide.chain(narrow.into_iter().flat_map(NarrowStr::chars))
    }

    /// The text, decoded as [`Name::chars`] does.
    pub fn to_string_lossy(self) -> String {
        match self {
            Name::Wide(wide) => wide.to_string_lossy(),
            Name::Narrow(narrow) => narrow.to_string_lossy(),
        }
    }

    /// The text, borrowed if its bytes are already valid UTF-8.
    pub fn to_cow(self) -> Cow<'a, str> {
        match self {
            Name::Wide(wide) => Cow::Owned(wide.to_string_lossy()),
            Name::Narrow(narrow) => narrow.to_cow(),
        }
    }

    /// Whether it equals this text in any case, see [`eq_ignore_case`].
    pub fn eq_ignore_case(self, other: &str) -> bool {
        match self {
            Name::Wide(wide) => wide.eq_ignore_case(other),
            Name::Narrow(narrow) => narrow.eq_ignore_case(other),
        }
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Wide(wide) => wide.fmt(f),
            Name::Narrow(narrow) => narrow.fmt(f),
        }
    }
}

/// UTF-16 text in bytes of either order, aligned or not.
///
/// An unpaired surrogate and an odd last byte are shown as U+FFFD.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct WideStr<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> WideStr<'a> {
    /// All of `bytes`, including terminators.
    pub const fn new(bytes: &'a [u8], order: ByteOrder) -> WideStr<'a> {
        WideStr { bytes, order }
    }

    /// The text before the first NUL; all of it if there is none.
    pub fn until_nul(self) -> WideStr<'a> {
        let units = self.units().take_while(|unit| *unit != 0).count();
        let end = units.saturating_mul(2);
        // Without a NUL, an odd last byte stays, so that it is visible.
        if end.saturating_add(1) >= self.bytes.len() {
            return self;
        }
        WideStr { bytes: self.bytes.get(..end).unwrap_or(self.bytes), ..self }
    }

    /// Its bytes.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The byte order of its units.
    pub const fn order(self) -> ByteOrder {
        self.order
    }

    /// Whether there are no bytes.
    pub const fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Its whole 16-bit units.
    pub fn units(self) -> impl Iterator<Item = u16> + Clone + 'a {
        let (pairs, _) = self.bytes.as_chunks::<2>();
        pairs.iter().map(move |pair| match self.order {
            ByteOrder::Little => u16::from_le_bytes(*pair),
            ByteOrder::Big => u16::from_be_bytes(*pair),
        })
    }

    /// Its characters; invalid text becomes U+FFFD.
    pub fn chars(self) -> impl Iterator<Item = char> + Clone + 'a {
        let odd = !self.bytes.len().is_multiple_of(2);
        char::decode_utf16(self.units())
            .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
            .chain(odd.then_some(char::REPLACEMENT_CHARACTER))
    }

    /// The text; invalid text becomes U+FFFD.
    pub fn to_string_lossy(self) -> String {
        self.chars().collect()
    }

    /// Whether it equals this text in any case, see [`eq_ignore_case`].
    pub fn eq_ignore_case(self, other: &str) -> bool {
        fold(self.chars()).eq(fold(other.chars()))
    }
}

impl fmt::Display for WideStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_string_lossy())
    }
}

impl fmt::Debug for WideStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string_lossy())
    }
}

/// The number of a Windows code page, as in an object's `CodePage` field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CodePage(pub u32);

impl CodePage {
    /// UTF-16, which is not a code page: the meaning of 0 in a data block.
    pub const UTF_16: CodePage = CodePage(0);
    /// UTF-8.
    pub const UTF_8: CodePage = CodePage(65001);
    /// Windows Western European.
    pub const WINDOWS_1252: CodePage = CodePage(1252);
    /// ISO 8859-1.
    pub const LATIN_1: CodePage = CodePage(28591);
    /// US-ASCII.
    pub const ASCII: CodePage = CodePage(20127);

    /// The character of a byte in a single-byte code page; `None` if the page, or the byte in it, is unknown.
    fn decode(self, byte: u8) -> Option<char> {
        match self {
            _ if byte.is_ascii() => Some(char::from(byte)),
            CodePage::WINDOWS_1252 => {
                let upper = usize::from(byte).checked_sub(0x80).and_then(|at| WINDOWS_1252_UPPER.get(at));
                Some(upper.copied().unwrap_or(char::from(byte)))
            }
            CodePage::LATIN_1 => Some(char::from(byte)),
            _ => None,
        }
    }
}

/// Bytes 0x80 to 0x9f of Windows-1252. The five bytes without a character remain the control characters of
/// ISO 8859-1, as in Windows' own conversion.
const WINDOWS_1252_UPPER: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Text in the bytes of a code page.
///
/// UTF-8, Windows-1252, ISO 8859-1 and ASCII are decoded. Bytes of other pages, and bytes that are not ASCII,
/// are shown as `\xNN`, so that two different names never look the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NarrowStr<'a> {
    bytes: &'a [u8],
    code_page: CodePage,
}

impl<'a> NarrowStr<'a> {
    /// All of `bytes`, including terminators.
    pub const fn new(bytes: &'a [u8], code_page: CodePage) -> NarrowStr<'a> {
        NarrowStr { bytes, code_page }
    }

    /// The text before the first NUL; all of it if there is none.
    pub fn until_nul(self) -> NarrowStr<'a> {
        let bytes = self.bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        NarrowStr { bytes, ..self }
    }

    /// Its bytes.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The code page of its bytes.
    pub const fn code_page(self) -> CodePage {
        self.code_page
    }

    /// Whether there are no bytes.
    pub const fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Its characters. Invalid UTF-8 becomes U+FFFD; bytes without a known character become `\xNN`.
    pub fn chars(self) -> impl Iterator<Item = char> + Clone + 'a {
        let (utf8, other) =
            if self.code_page == CodePage::UTF_8 { (self.bytes, &[][..]) } else { (&[][..], self.bytes) };
        let utf8 = utf8.utf8_chunks().flat_map(|chunk| {
            let broken = !chunk.invalid().is_empty();
            chunk.valid().chars().chain(broken.then_some(char::REPLACEMENT_CHARACTER))
        });
        let other = other.iter().flat_map(move |byte| match self.code_page.decode(*byte) {
            Some(char) => [Some(char), None, None, None].into_iter().flatten(),
            None => {
                let hex = |half: u8| char::from_digit(u32::from(half), 16);
                [Some('\\'), Some('x'), hex(byte >> 4), hex(byte & 15)].into_iter().flatten()
            }
        });
        utf8.chain(other)
    }

    /// The text, decoded as [`NarrowStr::chars`] does.
    pub fn to_string_lossy(self) -> String {
        self.to_cow().into_owned()
    }

    /// The text, borrowed if its bytes are already valid UTF-8.
    pub fn to_cow(self) -> Cow<'a, str> {
        let as_is = match self.code_page {
            CodePage::UTF_8 => true,
            _ => self.bytes.is_ascii(),
        };
        if as_is { String::from_utf8_lossy(self.bytes) } else { Cow::Owned(self.chars().collect()) }
    }

    /// Whether it equals this text in any case, see [`eq_ignore_case`].
    pub fn eq_ignore_case(self, other: &str) -> bool {
        fold(self.chars()).eq(fold(other.chars()))
    }
}

impl fmt::Display for NarrowStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_cow())
    }
}

impl fmt::Debug for NarrowStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_cow())
    }
}

/// Appends `text` as UTF-16, without a terminator.
pub fn append_wide(out: &mut Vec<u8>, text: &str, order: ByteOrder) {
    for unit in text.encode_utf16() {
        out.extend_from_slice(&match order {
            ByteOrder::Little => unit.to_le_bytes(),
            ByteOrder::Big => unit.to_be_bytes(),
        });
    }
}

/// `text` as UTF-16 with a terminating NUL. A NUL inside the text is kept.
///
/// ```
/// use tallymon_core::text::{ByteOrder, encode_wide};
///
/// assert_eq!(encode_wide("_T", ByteOrder::Little), b"_\0T\0\0\0");
/// ```
pub fn encode_wide(text: &str, order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len().saturating_add(1).saturating_mul(2));
    append_wide(&mut out, text, order);
    out.extend_from_slice(&[0, 0]);
    out
}

/// Whether two names are equal in any case.
///
/// Characters are compared by their own lower-case form, independent of language. Counter names need no more,
/// and the result is the same on every machine.
///
/// ```
/// assert!(tallymon_core::text::eq_ignore_case("Процессор", "ПРОЦЕССОР"));
/// ```
pub fn eq_ignore_case(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    fold(one.chars()).eq(fold(other.chars()))
}

/// The characters in the folded form used for comparison.
pub(crate) fn fold<I: Iterator<Item = char> + Clone>(chars: I) -> impl Iterator<Item = char> + Clone {
    chars.flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::{format, vec};

    fn wide(text: &str, order: ByteOrder) -> Vec<u8> {
        let mut bytes = Vec::new();
        append_wide(&mut bytes, text, order);
        bytes
    }

    #[test]
    fn wide_text_of_either_byte_order() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            for text in ["", "_Total", "프로세서", "𝄞 clef", "a\0b"] {
                let bytes = wide(text, order);
                let wide = WideStr::new(&bytes, order);
                assert_eq!(wide.to_string_lossy(), text);
                assert_eq!(wide.to_string(), text);
                assert_eq!(wide.units().count(), text.encode_utf16().count());
                assert!(wide.eq_ignore_case(&text.to_uppercase()), "{text}");
                assert_eq!(format!("{wide:?}"), format!("{text:?}"));
            }
            let bytes = encode_wide("Größe", order);
            assert_eq!(WideStr::new(&bytes, order).to_string_lossy(), "Größe\0");
            assert_eq!(WideStr::new(&bytes, order).until_nul().to_string_lossy(), "Größe");
            let other = if order == ByteOrder::Big { ByteOrder::Little } else { ByteOrder::Big };
            assert_ne!(WideStr::new(&bytes, other).to_string_lossy(), "Größe\0");
        }
    }

    #[test]
    fn damaged_wide_text_is_visible() {
        let show = |bytes: &[u8]| WideStr::new(bytes, ByteOrder::Little).until_nul().to_string_lossy();
        assert_eq!(show(b"a\0b"), "a\u{fffd}");
        assert_eq!(show(b"a"), "\u{fffd}");
        assert_eq!(show(b"a\0\0\0b"), "a");
        assert_eq!(show(b"a\0\0\0"), "a");
        assert_eq!(show(b"\x00\xd8a\0"), "\u{fffd}a");
        assert_eq!(show(b""), "");
    }

    #[test]
    fn known_code_pages_are_decoded() {
        let show = |bytes: &[u8], page| NarrowStr::new(bytes, page).to_string_lossy();
        assert_eq!(show(b"\x80 5 \xdf\x81", CodePage::WINDOWS_1252), "€ 5 ß\u{81}");
        assert_eq!(show(b"\x80\xdf", CodePage::LATIN_1), "\u{80}ß");
        assert_eq!(show("größe".as_bytes(), CodePage::UTF_8), "größe");
        assert_eq!(show(b"a\xffb\xe2\x82", CodePage::UTF_8), "a\u{fffd}b\u{fffd}");
        assert_eq!(show(b"a\xff", CodePage::ASCII), r"a\xff");
        assert_eq!(show(b"\x8f\xa1!", CodePage(949)), r"\x8f\xa1!");
        assert!(NarrowStr::new(b"\xc4pfel", CodePage::WINDOWS_1252).eq_ignore_case("äPFEL"));
        assert!(!NarrowStr::new(b"\xc4pfel", CodePage(949)).eq_ignore_case("äpfel"));
        assert_eq!(NarrowStr::new(b"ab\0c", CodePage::ASCII).until_nul().as_bytes(), b"ab");
    }

    #[test]
    fn upper_half_of_1252_matches_the_published_table() {
        let decoded: Vec<u32> =
            (0x80..=0x9f).map(|byte| u32::from(CodePage::WINDOWS_1252.decode(byte).unwrap())).collect();
        let published = [
            0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152,
            0x8d, 0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122,
            0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
        ];
        assert_eq!(decoded, published);
    }

    #[test]
    fn names_end_at_their_terminator() {
        let bytes = encode_wide("_Total", ByteOrder::Big);
        let name = Name::new(&bytes, CodePage::UTF_16, ByteOrder::Big);
        assert_eq!(name.to_string_lossy(), "_Total");
        assert_eq!(name.to_cow(), "_Total");
        assert!(name.eq_ignore_case("_TOTAL"));
        assert_eq!(name.chars().count(), 6);
        assert_eq!(Name::new(&bytes, CodePage(1201), ByteOrder::Little).to_string(), "_Total");
        let name = Name::new(b"eth0\0\0\0\0", CodePage::UTF_8, ByteOrder::Little);
        assert!(matches!(name.to_cow(), Cow::Borrowed("eth0")));
        assert!(Name::new(&[0, 0], CodePage::UTF_16, ByteOrder::Little).is_empty());
        assert_eq!(format!("{name:>6}|"), "  eth0|");
    }

    #[test]
    fn comparison_ignores_case_in_every_script() {
        assert!(eq_ignore_case("% Processor Time", "% PROCESSOR TIME"));
        assert!(eq_ignore_case("Память", "пАМЯТЬ"));
        assert!(eq_ignore_case("Ａ", "ａ"));
        assert!(eq_ignore_case("메모리", "메모리"));
        assert!(!eq_ignore_case("메모리", "메모라"));
        assert!(!eq_ignore_case("abc", "abcd"));
    }

    #[test]
    fn any_bytes_can_be_shown_as_text() {
        let mut state = 7u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..20_000 {
            let length = random() % 24;
            let bytes: Vec<u8> = (0..length).map(|_| random() as u8).collect();
            let pages = [0, 1200, 1201, 65001, 1252, 28591, 20127, 932];
            let page = CodePage(pages[(random() % 8) as usize]);
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let name = Name::new(&bytes, page, order);
                let text = name.to_string_lossy();
                assert_eq!(name.chars().collect::<String>(), text);
                assert_eq!(name.to_cow(), text);
                assert!(name.eq_ignore_case(&text));
                assert!(name.as_bytes().len() <= bytes.len());
            }
        }
        assert_eq!(vec![0u8; 0], Name::new(&[], CodePage::UTF_16, ByteOrder::Little).as_bytes());
    }
}
