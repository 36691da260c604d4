//! Byte scanners shared by the parsers: lines, blank-separated fields and decimal numbers.
//!
//! Nothing here allocates or goes back: a kernel file is walked once from the first byte to the last.

use std::borrow::Cow;
use std::iter::FusedIterator;

use super::error::ParseError;

/// What an error expects in place of a counter or a size.
pub(crate) const NEEDED_NUMBER: &str = "a decimal number below 2^64";
/// What an error expects where the kernel may print a negative number.
pub(crate) const NEEDED_SIGNED: &str = "a decimal number in the signed 64-bit range";
/// What an error expects in place of a number with two decimals.
pub(crate) const NEEDED_HUNDREDTHS: &str = "a decimal number with two decimals";
/// What an error expects where any word would do.
pub(crate) const NEEDED_WORD: &str = "a word";

/// The lines of `bytes`, without their line feeds and with the file they belong to.
///
/// A line feed at the end does not begin another line; a last line without one is still a line.
pub(crate) fn lines<'a>(file: &'static str, bytes: &'a [u8]) -> Lines<'a> {
    Lines { file, number: 0, rest: bytes }
}

/// The iterator of [`lines`].
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    file: &'static str,
    number: usize,
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (bytes, rest) = split_at_byte(self.rest, b'\n').unwrap_or((self.rest, b""));
        self.rest = rest;
        self.number = self.number.saturating_add(1);
        Some(Line { location: Location { file: self.file, line: self.number }, bytes })
    }
}

impl FusedIterator for Lines<'_> {}

/// One line with its location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// The file and the line number.
    pub location: Location,
    /// The text without the line feed.
    pub bytes: &'a [u8],
}

impl<'a> Line<'a> {
    /// The blank-separated fields.
    pub(crate) fn fields(self) -> Fields<'a> {
        Fields { location: self.location, rest: self.bytes }
    }

    /// Splits `Key:  rest` at the first colon: the key without blanks around it, and the fields after the
    /// colon.
    ///
    /// `None` when there is no colon.
    pub(crate) fn key_and_fields(self) -> Option<(&'a [u8], Fields<'a>)> {
        let (key, rest) = split_at_byte(self.bytes, b':')?;
        Some((key.trim_ascii(), Fields { location: self.location, rest }))
    }
}

/// A file and a line number, for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// The kernel's name of the file.
    pub file: &'static str,
    /// The line, counted from 1.
    pub line: usize,
}

impl Location {
    /// An error at a column of this line.
    #[cold]
    pub(crate) fn error(self, column: &'static str, needed: &'static str, found: &[u8]) -> ParseError {
        ParseError::new(self.file, self.line, column, needed, found)
    }
}

/// The fields of one line, separated by any number of blanks or tabs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    location: Location,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of `bytes`, a part of the line at `location`.
    pub(crate) fn new(location: Location, bytes: &'a [u8]) -> Fields<'a> {
        Fields { location, rest: bytes }
    }

    /// The location of the line.
    pub(crate) fn location(&self) -> Location {
        self.location
    }

    /// The bytes not yet read, including leading blanks.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next field, `None` at the end of the line.
    #[inline]
    pub(crate) fn next_field(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|byte| !is_blank(*byte))?;
        let field = self.rest.get(start..)?;
        let len = field.iter().position(|byte| is_blank(*byte)).unwrap_or(field.len());
        let (field, rest) = field.split_at_checked(len)?;
        self.rest = rest;
        Some(field)
    }

    /// Skips up to `n` fields.
    #[inline]
    pub(crate) fn skip(&mut self, n: usize) {
        for _ in 0..n {
            self.next_field();
        }
    }

    /// The next field, which must exist.
    #[inline]
    pub(crate) fn word(&mut self, column: &'static str) -> Result<&'a [u8], ParseError> {
        self.next_field().ok_or_else(|| self.location.error(column, NEEDED_WORD, b""))
    }

    /// The next field as an unsigned number; it must exist.
    #[inline]
    pub(crate) fn number(&mut self, column: &'static str) -> Result<u64, ParseError> {
        let field = self.next_field().unwrap_or_default();
        decimal(field).ok_or_else(|| self.location.error(column, NEEDED_NUMBER, field))
    }

    /// The next field as an unsigned number, `None` when the line ends before it.
    ///
    /// For columns that newer kernels append to a line.
    #[inline]
    pub(crate) fn number_if_any(&mut self, column: &'static str) -> Result<Option<u64>, ParseError> {
        match self.next_field() {
            None => Ok(None),
            Some(field) => match decimal(field) {
                Some(number) => Ok(Some(number)),
                None => Err(self.location.error(column, NEEDED_NUMBER, field)),
            },
        }
    }

    /// The next field as a signed number; it must exist.
    #[inline]
    pub(crate) fn signed(&mut self, column: &'static str) -> Result<i64, ParseError> {
        let field = self.next_field().unwrap_or_default();
        signed_decimal(field).ok_or_else(|| self.location.error(column, NEEDED_SIGNED, field))
    }

    /// The next field as hundredths, for example 7 for `0.07`; it must exist.
    pub(crate) fn hundredths(&mut self, column: &'static str) -> Result<u64, ParseError> {
        let field = self.next_field().unwrap_or_default();
        hundredths(field).ok_or_else(|| self.location.error(column, NEEDED_HUNDREDTHS, field))
    }
}

/// Splits at the first `byte`, which belongs to neither half; `None` when there is none.
#[inline]
pub(crate) fn split_at_byte(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|b| *b == byte)?;
    let (left, right) = bytes.split_at_checked(at)?;
    Some((left, right.get(1..)?))
}

/// Splits at the last `byte`, which belongs to neither half; `None` when there is none.
#[inline]
pub(crate) fn split_at_last_byte(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().rposition(|b| *b == byte)?;
    let (left, right) = bytes.split_at_checked(at)?;
    Some((left, right.get(1..)?))
}

/// The unsigned decimal number that is all of `text`; `None` for an empty text, another byte or 2^64 and
/// above.
#[inline]
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    // 19 nines fit into 64 bits, so the usual short number needs no check at each digit.
    if text.is_empty() || text.len() > 19 {
        return long_decimal(text);
    }
    let mut number: u64 = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    Some(number)
}

/// The signed decimal number that is all of `text`.
#[inline]
pub(crate) fn signed_decimal(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(digits) => 0_i64.checked_sub_unsigned(decimal(digits)?),
        None => i64::try_from(decimal(text)?).ok(),
    }
}

/// `whole.hh` as hundredths: `decimal(whole) x 100 + hh`; exactly two decimals are needed.
pub(crate) fn hundredths(text: &[u8]) -> Option<u64> {
    let (whole, fraction) = split_at_byte(text, b'.')?;
    if fraction.len() != 2 {
        return None;
    }
    decimal(whole)?.checked_mul(100)?.checked_add(decimal(fraction)?)
}

/// `0-3,8` as pairs of the first and the last number; malformed parts are skipped.
pub(crate) fn ranges(text: &[u8]) -> Vec<(u64, u64)> {
    let parts = text.trim_ascii().split(|byte| *byte == b',');
    let range = |part: &[u8]| match split_at_byte(part, b'-') {
        Some((first, last)) => Some((decimal(first)?, decimal(last)?)),
        None => decimal(part).map(|one| (one, one)),
    };
    parts.filter_map(range).collect()
}

/// Undoes the kernel's escapes in a path: a backslash and three octal digits, as `\\040` for a blank.
///
/// A backslash with anything else after it stays as it is.
pub(crate) fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((left, right)) = split_at_byte(rest, b'\\') {
        plain.extend_from_slice(left);
        match octal_byte(right) {
            Some((byte, right)) => {
                plain.push(byte);
                rest = right;
            }
            None => {
                plain.push(b'\\');
                rest = right;
            }
        }
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}

/// Three octal digits below 400 octal, and what follows them.
fn octal_byte(text: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, rest) = text.split_first_chunk::<3>()?;
    let mut number: u8 = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 7 {
            return None;
        }
        number = number.checked_mul(8)?.checked_add(digit)?;
    }
    Some((number, rest))
}

/// A number of 20 and more characters: the largest 64-bit number has 20, and leading zeros are allowed.
#[cold]
fn long_decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[inline]
fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_processors() {
        assert_eq!(ranges(b"0-3,8\n"), [(0, 3), (8, 8)]);
        assert_eq!(ranges(b" 5 "), [(5, 5)]);
        assert_eq!(ranges(b"1-,-2,x,4-7,1-2-3,"), [(4, 7)]);
        assert_eq!(ranges(b""), []);
    }

    #[test]
    fn numbers() {
        for (text, number) in [
            (&b"0"[..], Some(0)),
            (b"00012", Some(12)),
            (b"9999999999999999999", Some(9_999_999_999_999_999_999)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"0000018446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
            (b"", None),
            (b"-1", None),
            (b"+1", None),
            (b"1 ", None),
            (b"1x", None),
            (b"\xff", None),
        ] {
            assert_eq!(decimal(text), number, "{}", text.escape_ascii());
        }
        assert_eq!(signed_decimal(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed_decimal(b"-9223372036854775809"), None);
        assert_eq!(signed_decimal(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(signed_decimal(b"9223372036854775808"), None);
        assert_eq!(signed_decimal(b"--1"), None);
        assert_eq!(signed_decimal(b"-"), None);
        assert_eq!(hundredths(b"12.07"), Some(1207));
        assert_eq!(hundredths(b"12.7"), None);
        assert_eq!(hundredths(b"12"), None);
        assert_eq!(hundredths(b".07"), None);
        assert_eq!(hundredths(b"18446744073709551615.00"), None);
    }

    #[test]
    fn lines_have_numbers_and_the_last_line_feed_ends_the_last_line() {
        let numbered: Vec<(usize, &[u8])> =
            lines("f", b"a\n\nb").map(|line| (line.location.line, line.bytes)).collect();
        assert_eq!(numbered, [(1, &b"a"[..]), (2, b""), (3, b"b")]);
        assert_eq!(lines("f", b"a\n").count(), 1);
        assert_eq!(lines("f", b"").count(), 0);
    }

    #[test]
    fn fields_are_split_at_blanks_and_tabs() {
        let location = Location { file: "f", line: 4 };
        let mut fields = Fields::new(location, b"  key\t 12 -3  0.50 word ");
        assert_eq!(fields.next_field(), Some(&b"key"[..]));
        assert_eq!(fields.number("n"), Ok(12));
        assert_eq!(fields.signed("s"), Ok(-3));
        assert_eq!(fields.hundredths("h"), Ok(50));
        let error = fields.number("bad").unwrap_err();
        assert_eq!((error.line, error.column, error.found.bytes()), (4, "bad", &b"word"[..]));
        assert_eq!(fields.next_field(), None);
        assert_eq!(fields.number_if_any("none"), Ok(None));
        assert!(fields.word("w").is_err());
    }

    #[test]
    fn octal_escapes_are_undone() {
        for (text, plain) in [
            (&b"/dev/sda1"[..], &b"/dev/sda1"[..]),
            (b"/a\\040b\\011c", b"/a b\tc"),
            (b"\\134040", b"\\040"),
            (b"\\", b"\\"),
            (b"\\04", b"\\04"),
            (b"\\048\\400\\377", b"\\048\\400\xff"),
        ] {
            assert_eq!(&*unescape(text), plain, "{}", text.escape_ascii());
        }
        assert!(matches!(unescape(b"plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn keys_end_at_the_first_colon() {
        let line = lines("f", b"  VmRSS:\t 12 kB").next().unwrap();
        let (key, mut fields) = line.key_and_fields().unwrap();
        assert_eq!(key, b"VmRSS");
        assert_eq!(fields.number("VmRSS"), Ok(12));
        assert_eq!(fields.rest(), b" kB");
        assert!(lines("f", b"no colon").next().unwrap().key_and_fields().is_none());
        assert_eq!(split_at_last_byte(b"a)b)c", b')'), Some((&b"a)b"[..], &b"c"[..])));
    }
}
