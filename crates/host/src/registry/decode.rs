//! Decodes a text file: UTF-16 and UTF-8 with or without a byte order mark, else a Windows code page.

use std::path::Path;

use encoding_rs::Encoding;
use tallymon_core::text::CodePage;

use super::error::{Problem, RegistryError, RegistryErrorKind};
use super::files::read_limited;

/// The code pages that a file may be in, by their number in Windows.
const CODE_PAGES: &[(u32, &Encoding)] = &[
    (866, encoding_rs::IBM866),
    (874, encoding_rs::WINDOWS_874),
    (932, encoding_rs::SHIFT_JIS),
    (936, encoding_rs::GBK),
    (949, encoding_rs::EUC_KR),
    (950, encoding_rs::BIG5),
    (1250, encoding_rs::WINDOWS_1250),
    (1251, encoding_rs::WINDOWS_1251),
    (1252, encoding_rs::WINDOWS_1252),
    (1253, encoding_rs::WINDOWS_1253),
    (1254, encoding_rs::WINDOWS_1254),
    (1255, encoding_rs::WINDOWS_1255),
    (1256, encoding_rs::WINDOWS_1256),
    (1257, encoding_rs::WINDOWS_1257),
    (1258, encoding_rs::WINDOWS_1258),
    (20866, encoding_rs::KOI8_R),
    (65001, encoding_rs::UTF_8),
];

/// The end mark that DOS programs put at the end of a text file.
const CONTROL_Z: char = '\u{1a}';

/// The text of a file in any encoding of INI files. Reads at most 64 MB.
///
/// # Errors
///
/// The file cannot be read, or is not text.
pub fn read_text(path: &Path, code_page: Option<CodePage>) -> Result<String, RegistryError> {
    let bytes = read_limited(path).map_err(|error| RegistryError::io(path, "reading", &error))?;
    decode(path, &bytes, code_page)
        .map_err(|problem| RegistryError { kind: RegistryErrorKind::Refused, problems: vec![problem] })
}

/// The text of a file up to its end mark, if it has one.
///
/// A byte order mark decides. Without one, the file is UTF-8 if it is valid UTF-8, else it is in `code_page`,
/// or in 1252 when none is given.
///
/// # Errors
///
/// Bytes that are not text in that encoding, with their line; an unknown code page.
pub(crate) fn decode(path: &Path, bytes: &[u8], code_page: Option<CodePage>) -> Result<String, Problem> {
    let mut text = match bytes {
        [0xff, 0xfe, rest @ ..] => wide(path, rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => wide(path, rest, u16::from_be_bytes)?,
        [0xef, 0xbb, 0xbf, rest @ ..] => std::str::from_utf8(rest).map(str::to_string).map_err(|error| {
            let at = error.valid_up_to();
            let words = format!("the mark at its start says UTF-8, and there is none at byte {at} behind it");
            Problem::at(path, line_of(rest, at), words)
        })?,
        _ if bytes.contains(&0) => {
            let at = bytes.iter().position(|byte| *byte == 0).unwrap_or_default();
            let words = "a zero byte; UTF-16 needs a byte order mark at the start of the file";
            return Err(Problem::at(path, line_of(bytes, at), words));
        }
        _ => narrow(path, bytes, code_page)?,
    };
    if let Some(end) = text.find(CONTROL_Z) {
        text.truncate(end);
    }
    Ok(text)
}

fn wide(path: &Path, bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, Problem> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::new();
    let mut line = 1_usize;
    for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        let letter = decoded.map_err(|error| {
            let half = error.unpaired_surrogate();
            Problem::at(
                path,
                line,
                format!("not UTF-16: {half:#06x} is half of a pair, and the other half is missing"),
            )
        })?;
        if letter == '\n' {
            line = line.saturating_add(1);
        }
        text.push(letter);
    }
    if !rest.is_empty() {
        return Err(Problem::at(path, line, "not UTF-16: the last byte of the file is half of a unit"));
    }
    Ok(text)
}

fn narrow(path: &Path, bytes: &[u8], code_page: Option<CodePage>) -> Result<String, Problem> {
    if code_page.is_none()
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Ok(text.to_string());
    }
    let number = code_page.unwrap_or(CodePage::WINDOWS_1252).0;
    let known = CODE_PAGES.iter().find(|(known, _)| *known == number);
    let (_, encoding) = known.ok_or_else(|| {
        let all: Vec<String> = CODE_PAGES.iter().map(|(number, _)| number.to_string()).collect();
        Problem::of(path, format!("code page {number} is none of {}", all.join(", ")))
    })?;
    let mut text = String::new();
    for (position, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let decoded =
            encoding.decode_without_bom_handling_and_without_replacement(line).ok_or_else(|| {
                let words = format!(
                    "bytes that code page {number} does not have; name the right one with --code-page"
                );
                Problem::at(path, position.saturating_add(1), words)
            })?;
        text.push_str(&decoded);
    }
    Ok(text)
}

/// Number of the line that a byte is in.
fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes.iter().take(at).filter(|byte| **byte == b'\n').count().saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], code_page: Option<u32>) -> Result<String, String> {
        decode(Path::new("f"), bytes, code_page.map(CodePage)).map_err(|problem| problem.to_string())
    }

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "[info]\r\n019=Счётчик\n012=카운터\n011=カウンター\n009=é €\n";
        let le: Vec<u8> =
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> =
            "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
        let with_end = format!("{text}\u{1a}rest").into_bytes();
        for bytes in [le, be, text.into(), format!("\u{feff}{text}").into_bytes(), with_end] {
            assert_eq!(decoded(&bytes, None).as_deref(), Ok(text));
        }
    }

    #[test]
    fn code_pages_of_windows() {
        for (bytes, page, text) in [
            (&b"\xe9 \x80"[..], None, "é €"),
            (b"\xd1\xf7\xb8\xf2\xf7\xe8\xea", Some(1251), "Счётчик"),
            (b"\xc4\xab\xbf\xee\xc5\xcd", Some(949), "카운터"),
            (b"\x83\x4a\x83\x45\x83\x93\x83\x5e", Some(932), "カウンタ"),
            (b"abc\x1arest", None, "abc"),
            (b"", None, ""),
            ("é".as_bytes(), Some(1252), "Ã©"),
        ] {
            assert_eq!(decoded(bytes, page).as_deref(), Ok(text));
        }
    }

    #[test]
    fn invalid_text_is_refused_with_its_line() {
        for (bytes, page, words) in [
            (&b"\xff\xfea\0\n\0\0\xd8b\0"[..], None, "f:2: not UTF-16: 0xd800 is half of a pair"),
            (b"\xff\xfea\0\n\0b", None, "f:2: not UTF-16: the last byte"),
            (b"\xef\xbb\xbfa\n\n\xff", None, "f:3: the mark at its start says UTF-8"),
            (b"a\0b\0", None, "f:1: a zero byte"),
            (b"a\n\xc4", Some(949), "f:2: bytes that code page 949 does not have"),
            (b"a", Some(7), "f: code page 7 is none of 866,"),
        ] {
            let found = decoded(bytes, page).unwrap_err();
            assert!(found.starts_with(words), "{words}: {found}");
        }
    }
}
