//! Reads the lines of a text in any encoding.

use std::io::{self, BufRead, Read};

use encoding_rs::Encoding;
use tallymon_core::text::ByteOrder;

use super::guess;

use crate::error::{LogError, LogErrorKind};
use crate::utf16::order_without_mark;

/// A longer line is damage. A hundred thousand counters take half of it.
pub(super) const LONGEST_LINE: u64 = 32 << 20;

/// The encoding of a label such as `windows-1251`, or of the number of a Windows code page.
pub(crate) fn encoding(name: &str) -> Result<&'static Encoding, LogError> {
    let name = name.trim();
    let number = name.to_ascii_lowercase();
    let number = number.strip_prefix("cp").unwrap_or(&number);
    let label = match number {
        "932" => "shift_jis".to_owned(),
        "936" => "gbk".to_owned(),
        "949" => "euc-kr".to_owned(),
        "950" => "big5".to_owned(),
        "866" => "ibm866".to_owned(),
        "20866" => "koi8-r".to_owned(),
        "54936" => "gb18030".to_owned(),
        "65001" => "utf-8".to_owned(),
        "874" | "1250" | "1251" | "1252" | "1253" | "1254" | "1255" | "1256" | "1257" | "1258" => {
            format!("windows-{number}")
        }
        _ => name.to_owned(),
    };
    Encoding::for_label(label.as_bytes()).ok_or_else(|| {
        let words = format!("code page {name:?} is not known; examples: windows-1251, 1252, shift_jis, 949");
        LogError::new(LogErrorKind::Request(words))
    })
}

/// A line of text.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) text: String,
    /// From 1.
    pub(super) number: u64,
    /// The byte of the file where it begins.
    pub(super) byte: u64,
    /// It has a line end. The last line of a cut log has none.
    pub(super) ended: bool,
    pub(super) decoding_failed: bool,
    pub(super) too_long: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Narrow,
    LittleEndian,
    BigEndian,
}

/// The lines of a text in any encoding.
#[derive(Debug)]
pub(super) struct Lines<R> {
    pub(super) input: R,
    width: Width,
    code_page: Option<&'static Encoding>,
    /// The code page that was guessed from the first line that is not UTF-8.
    pub(super) guessed: Option<&'static Encoding>,
    pub(super) number: u64,
    pub(super) byte: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(mut input: R, code_page: Option<&'static Encoding>) -> io::Result<Lines<R>> {
        let (width, mark) = match input.fill_buf()? {
            [0xff, 0xfe, ..] => (Width::LittleEndian, 2),
            [0xfe, 0xff, ..] => (Width::BigEndian, 2),
            [0xef, 0xbb, 0xbf, ..] => (Width::Narrow, 3),
            head => match order_without_mark(head) {
                Some(ByteOrder::Little) => (Width::LittleEndian, 0),
                Some(ByteOrder::Big) => (Width::BigEndian, 0),
                None => (Width::Narrow, 0),
            },
        };
        input.consume(mark);
        // A byte order mark of UTF-8 is stronger than what the caller believes.
        let code_page = if mark == 3 { Some(encoding_rs::UTF_8) } else { code_page };
        Ok(Lines { input, width, code_page, guessed: None, number: 0, byte: mark as u64 })
    }

    /// Bytes that an ASCII character takes.
    pub(super) const fn unit(&self) -> u64 {
        match self.width {
            Width::Narrow => 1,
            Width::LittleEndian | Width::BigEndian => 2,
        }
    }

    pub(super) fn next_line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        loop {
            let room = LONGEST_LINE.saturating_sub(bytes.len() as u64);
            if self.input.by_ref().take(room).read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            let even = bytes.len().is_multiple_of(2);
            match self.width {
                Width::Narrow => break,
                // The line feed is the first byte of two: the second one belongs to it.
                Width::LittleEndian => {
                    if even && !bytes.ends_with(b"\n") {
                        break;
                    }
                    if !even && self.input.by_ref().take(1).read_to_end(&mut bytes)? == 1 {
                        if bytes.ends_with(&[b'\n', 0]) {
                            break;
                        }
                        continue;
                    }
                    if !even {
                        break;
                    }
                }
                Width::BigEndian => {
                    if even && bytes.ends_with(&[0, b'\n']) {
                        break;
                    }
                }
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let byte = self.byte;
        self.byte = self.byte.saturating_add(bytes.len() as u64);
        self.number = self.number.saturating_add(1);
        let too_long = bytes.len() as u64 >= LONGEST_LINE;
        let (mut text, decoding_failed) = self.decode(bytes);
        let ended = text.ends_with('\n');
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        Ok(Some(Line { text, number: self.number, byte, ended, decoding_failed, too_long }))
    }

    /// The code page of the text: the one that is asked for, else the guessed one.
    pub(super) fn code_page(&self) -> Option<&'static Encoding> {
        self.code_page.or(self.guessed)
    }

    fn decode(&mut self, bytes: Vec<u8>) -> (String, bool) {
        let order = match self.width {
            Width::Narrow => {
                if let Some(code_page) = self.code_page {
                    return (code_page.decode_without_bom_handling(&bytes).0.into_owned(), false);
                }
                let guessed = &mut self.guessed;
                return String::from_utf8(bytes).map_or_else(
                    |error| {
                        let bytes = error.as_bytes();
                        let code_page = *guessed.get_or_insert_with(|| guess::code_page(bytes));
                        (code_page.decode_without_bom_handling(bytes).0.into_owned(), true)
                    },
                    |text| (text, false),
                );
            }
            Width::LittleEndian => encoding_rs::UTF_16LE,
            Width::BigEndian => encoding_rs::UTF_16BE,
        };
        (order.decode_without_bom_handling(&bytes).0.into_owned(), false)
    }
}
