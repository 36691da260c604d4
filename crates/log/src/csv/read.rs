//! Reads PDH-CSV and PDH-TSV of every writer: Windows in any language, typeperf's console, VMware's esxtop, files that
//! went through an editor.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead, Read, Seek, SeekFrom};

use encoding_rs::Encoding;
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, Sample};
use tallymon_core::path::CounterPath;
use tallymon_core::time::{FileTime, Frequency, SystemTime};

use crate::error::{Damage, LogError, LogErrorKind};
use crate::format::{Format, ReadOptions};
use crate::reader::{About, Column, LogReader, ReadPlace, Record};
use crate::zone::{Zone, add_minutes};

/// A line of more than this many bytes is damage: a hundred thousand counters take half of it.
const LONGEST_LINE: u64 = 32 << 20;

/// Reads a text log line by line.
#[derive(Debug)]
pub struct CsvReader<R> {
    lines: Lines<R>,
    about: About,
    separator: char,
    /// The column of each field behind the time.
    places: Vec<usize>,
    known: HashMap<(String, u32), usize>,
    fixed_bias: Option<i32>,
    /// Text lines that are no rows were noted.
    text_noted: bool,
    /// The line of the last record.
    last_line: String,
    /// Where it stands, and the line of the header before it.
    place: Option<ReadPlace>,
    header_line: u64,
    /// Brings the input to a byte, when it can go back.
    seek: Option<fn(&mut R, u64) -> io::Result<()>>,
}

impl<R: BufRead + Seek> CsvReader<R> {
    /// As [`CsvReader::new`], of what can go back to any line.
    ///
    /// # Errors
    ///
    /// As [`CsvReader::new`].
    pub fn seekable(input: R, options: &ReadOptions) -> Result<CsvReader<R>, LogError> {
        let mut reader = CsvReader::new(input, options)?;
        reader.seek = Some(|input, byte| input.seek(SeekFrom::Start(byte)).map(drop));
        Ok(reader)
    }
}

impl<R: BufRead> CsvReader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    ///
    /// Those of the operating system, a code page that nobody knows, and a text without a first line of a log.
    pub fn new(input: R, options: &ReadOptions) -> Result<CsvReader<R>, LogError> {
        let code_page = options.code_page.as_deref().map(encoding).transpose()?;
        let mut reader = CsvReader {
            lines: Lines::new(input, code_page)?,
            about: About::new(Format::Csv),
            separator: ',',
            places: Vec::new(),
            known: HashMap::new(),
            fixed_bias: options.bias,
            text_noted: false,
            last_line: String::new(),
            place: None,
            header_line: 0,
            seek: None,
        };
        loop {
            let Some(line) = reader.lines.next_line()? else {
                let words = "needed a first line with \"(PDH-\", found none".to_owned();
                return Err(LogError::new(LogErrorKind::NotALog(words)));
            };
            if line.text.trim().is_empty() {
                continue;
            }
            let Some(separator) = super::detect(line.text.as_bytes()) else {
                let start: String = line.text.chars().take(40).collect();
                let words = format!("needed a first line with \"(PDH-\", found {start:?}");
                return Err(LogError::new(LogErrorKind::NotALog(words)));
            };
            reader.separator = char::from(separator);
            reader.about.format = if separator == b'\t' { Format::Tsv } else { Format::Csv };
            reader.header(&line);
            return Ok(reader);
        }
    }

    /// Takes a line with the paths of the columns. There is another one where logs were put behind each other.
    fn header(&mut self, line: &Line) {
        self.note_line(line);
        self.header_line = line.number;
        let fields = split(&line.text, self.separator);
        let first = fields.first().map(|field| field.text.as_ref()).unwrap_or_default();
        self.zone(first, line);
        let mut paths: Vec<&str> = fields.iter().skip(1).map(|field| field.text.as_ref()).collect();
        if let Some((caption, rest)) = paths.split_last()
            && !caption.starts_with('\\')
            && rest.iter().any(|path| path.starts_with('\\'))
        {
            if !caption.trim().is_empty() {
                self.about.notes.remark(format!("caption: {caption}"));
            }
            paths.truncate(rest.len());
        }
        let mut seen: HashMap<&str, u32> = HashMap::new();
        self.places.clear();
        for path in paths {
            let count = seen.entry(path).or_default();
            let nth = *count;
            *count = count.saturating_add(1);
            let columns = &mut self.about.columns;
            let place = self.known.entry((path.to_owned(), nth)).or_insert_with(|| {
                columns.push(Column {
                    path: path.to_owned(),
                    parts: CounterPath::parse(path).ok().map(|parsed| parsed.path),
                    counter_type: CounterType::PERF_DOUBLE_RAW,
                    scale: 0,
                    time_base: Frequency::default(),
                    group: u32::try_from(columns.len()).unwrap_or(u32::MAX),
                    wild: false,
                });
                columns.len().saturating_sub(1)
            });
            self.places.push(*place);
        }
    }

    /// Takes the first field: `(PDH-CSV 4.0) (zone)(bias)`. Windows cuts it at the first character that is not ASCII,
    /// and then the bias is lost.
    fn zone(&mut self, field: &str, line: &Line) {
        let rest = field.split_once(')').map(|(_, rest)| rest.trim()).unwrap_or_default();
        let bias = rest
            .strip_suffix(')')
            .and_then(|rest| rest.rsplit_once('('))
            .and_then(|(before, bias)| Some((before, bias.trim().parse::<i32>().ok()?)))
            .filter(|(_, bias)| bias.unsigned_abs() < 24 * 60);
        let name = match bias {
            Some((before, _)) => {
                before.strip_prefix('(').unwrap_or(before).strip_suffix(')').unwrap_or(before)
            }
            None => rest.strip_prefix('(').unwrap_or(rest),
        };
        self.about.zone = match (self.fixed_bias, bias) {
            (Some(bias), _) | (None, Some((_, bias))) => Zone::Fixed { name: name.to_owned(), bias },
            (None, None) => {
                self.about.notes.remark(format!(
                    "line {}: the time zone is not told ({field:?}); its times are taken as UTC",
                    line.number
                ));
                Zone::Unknown
            }
        };
    }

    /// Takes a row; `None` when the line is none.
    fn row(&mut self, line: &Line) -> Option<Record> {
        self.note_line(line);
        let fields = split(&line.text, self.separator);
        let (first, values) = fields.split_first()?;
        let Some(local) = parse_time(&first.text) else {
            self.no_row(line, &first.text);
            return None;
        };
        let needed = self.places.len();
        let whole =
            values.len() >= needed && fields.iter().take(needed.saturating_add(1)).all(|field| field.closed);
        // A log that is cut off just behind a separator has a last field that looks empty.
        let cut = !line.ended && first.quoted && values.last().is_some_and(|last| !last.quoted);
        if !whole || cut {
            let words = if line.ended {
                format!("{} values needed, {} found; the row was left out", needed, values.len())
            } else {
                format!("the log is cut off inside of the row: {} of {needed} values", values.len())
            };
            self.damage(line, 0, words);
            return None;
        }
        let minutes = self.about.zone.minutes_at_local(local);
        let time = add_minutes(local, minutes.saturating_neg());
        let missing = Err(NoValue::NoData(Absence::Other));
        let mut cells = vec![missing; self.about.columns.len()];
        for (place, field) in self.places.clone().iter().zip(values) {
            let value = parse_value(&field.text);
            if value == Err(Blank::Bad) {
                let shown: String = field.text.chars().take(40).collect();
                self.damage(line, field.at, format!("{shown:?} is no number"));
            }
            // Its separator and quotation marks are its own.
            let marks = if field.quoted { 3 } else { 1 };
            let letters = (field.text.len() as u64).saturating_add(marks);
            self.about.took(*place, letters.saturating_mul(self.lines.unit()).saturating_mul(8));
            if let Some(cell) = cells.get_mut(*place) {
                *cell = match value {
                    Ok(number) => Ok(Sample {
                        counter_type: CounterType::PERF_DOUBLE_RAW,
                        first: number.to_bits(),
                        second: 0,
                        frequency: Frequency::default(),
                        multi_count: 1,
                        time,
                    }),
                    Err(Blank::NotFinite) => Err(NoValue::NotFinite),
                    Err(Blank::Missing | Blank::Bad) => missing,
                };
            }
        }
        self.place = Some(ReadPlace {
            byte: line.byte,
            records: self.about.records,
            list: self.header_line,
            line: line.number,
            minutes: None,
        });
        self.about.records = self.about.records.saturating_add(1);
        Some(Record { time, local_minutes: minutes, cells })
    }

    /// A line that does not begin with a time: what typeperf prints around its rows, or damage.
    fn no_row(&mut self, line: &Line, first: &str) {
        let begin = line.text.trim_start().chars().next().unwrap_or(' ');
        if begin != '"' && !begin.is_ascii_digit() {
            if !self.text_noted {
                self.about.notes.remark(format!(
                    "line {}: text between the rows: {}",
                    line.number,
                    line.text.trim_end()
                ));
                self.text_noted = true;
            }
            return;
        }
        let first: String = first.chars().take(40).collect();
        self.damage(
            line,
            0,
            format!("{first:?} is no time like 11/26/2016 13:46:30.874; the row was left out"),
        );
    }

    fn note_line(&mut self, line: &Line) {
        if line.decoding_failed {
            self.about.notes.remark(
                "text that is no UTF-8 was read as windows-1252; name the code page if that is wrong"
                    .to_owned(),
            );
        }
        if line.too_long {
            self.damage(line, 0, format!("a line of more than {LONGEST_LINE} bytes was cut"));
        }
    }

    fn damage(&mut self, line: &Line, offset: usize, what: String) {
        self.about.notes.damage(Damage {
            byte: line.byte.saturating_add((offset as u64).saturating_mul(self.lines.unit())),
            buffer: None,
            record: Some(self.about.records.saturating_add(1)),
            line: Some(line.number),
            what,
        });
    }
}

impl<R: BufRead + Send> LogReader for CsvReader<R> {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        while let Some(line) = self.lines.next_line()? {
            if line.text.trim().is_empty() {
                continue;
            }
            if super::detect(line.text.as_bytes()).is_some() {
                self.header(&line);
            } else if let Some(record) = self.row(&line) {
                self.last_line = line.text;
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn raw_record(&self) -> Option<&[u8]> {
        Some(self.last_line.as_bytes()).filter(|line| !line.is_empty())
    }

    fn place(&self) -> Option<ReadPlace> {
        self.place.filter(|_| self.seek.is_some())
    }

    fn go_to(&mut self, place: ReadPlace) -> Result<bool, LogError> {
        // Logs that were put behind each other have several headers; only the values of the last one can be found.
        let Some(seek) = self.seek.filter(|_| place.list == self.header_line) else { return Ok(false) };
        seek(&mut self.lines.input, place.byte)?;
        (self.lines.byte, self.lines.number) = (place.byte, place.line.saturating_sub(1));
        self.about.records = place.records;
        Ok(true)
    }
}

/// A field of a line.
#[derive(Debug)]
struct Field<'a> {
    text: Cow<'a, str>,
    /// Where it begins in the line.
    at: usize,
    /// It is in quotation marks.
    quoted: bool,
    /// Its last quotation mark is there, or it has none at all.
    closed: bool,
}

/// Splits a line. Fields may be quoted or not; a quotation mark inside of a quoted one is written twice.
fn split(line: &str, separator: char) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let at = line.len().saturating_sub(rest.len());
        let trimmed = rest.trim_start_matches(' ');
        let (field, after) = match trimmed.strip_prefix('"') {
            Some(quoted) => quoted_field(quoted, separator),
            None => match rest.split_once(separator) {
                Some((field, after)) => ((Cow::Borrowed(field.trim_end()), true), Some(after)),
                None => ((Cow::Borrowed(rest.trim_end()), true), None),
            },
        };
        fields.push(Field { text: field.0, at, quoted: trimmed.starts_with('"'), closed: field.1 });
        match after {
            Some(after) => rest = after,
            None => return fields,
        }
    }
}

type Split<'a> = ((Cow<'a, str>, bool), Option<&'a str>);

fn quoted_field(quoted: &str, separator: char) -> Split<'_> {
    let mut from = 0usize;
    let mut doubled = false;
    loop {
        let Some(end) = quoted.get(from..).and_then(|rest| rest.find('"')) else {
            return ((Cow::Borrowed(quoted), false), None);
        };
        let end = from.saturating_add(end);
        let after = quoted.get(end.saturating_add(1)..).unwrap_or_default();
        if after.starts_with('"') {
            doubled = true;
            from = end.saturating_add(2);
            continue;
        }
        let text = quoted.get(..end).unwrap_or_default();
        let text = if doubled { Cow::Owned(text.replace("\"\"", "\"")) } else { Cow::Borrowed(text) };
        // Whatever stands between the quotation mark and the separator is nothing.
        return ((text, true), after.split_once(separator).map(|(_, after)| after));
    }
}

/// `MM/dd/yyyy HH:mm:ss.fff`; the fraction is optional.
fn parse_time(text: &str) -> Option<FileTime> {
    let (date, time) = text.trim().split_once(' ')?;
    let mut date = date.split('/');
    let mut time = time.trim().split(':');
    let number = |text: Option<&str>| -> Option<u16> {
        text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
    };
    let (month, day, year) = (number(date.next())?, number(date.next())?, number(date.next())?);
    let (hour, minute) = (number(time.next())?, number(time.next())?);
    let (second, fraction) = time.next().map(|second| second.split_once('.').unwrap_or((second, "")))?;
    if date.next().is_some() || time.next().is_some() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths = format!("{fraction:0<3}");
    let (second, milliseconds) = (number(Some(second))?, number(thousandths.get(..3))?);
    let time = SystemTime { month, day, year, hour, minute, second, milliseconds, ..SystemTime::default() };
    time.file_time()
}

/// What a cell has instead of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blank {
    Missing,
    NotFinite,
    Bad,
}

/// The number in a cell. Systems with a decimal comma may write one, and C's names for what is no number.
fn parse_value(text: &str) -> Result<f64, Blank> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Blank::Missing);
    }
    if text.contains(".#") {
        return Err(Blank::NotFinite);
    }
    let number = match text.parse::<f64>() {
        Ok(number) => number,
        Err(_) => text.replacen(',', ".", 1).parse().map_err(|_| Blank::Bad)?,
    };
    if number.is_finite() { Ok(number) } else { Err(Blank::NotFinite) }
}

/// The encoding of a label such as `windows-1251`, or of the number of a Windows code page.
fn encoding(name: &str) -> Result<&'static Encoding, LogError> {
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
struct Line {
    text: String,
    /// From 1.
    number: u64,
    /// Byte of the file where it begins.
    byte: u64,
    /// A line end follows it; the last line of a log that was cut off has none.
    ended: bool,
    decoding_failed: bool,
    too_long: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Narrow,
    LittleEndian,
    BigEndian,
}

/// The lines of a text in any encoding.
#[derive(Debug)]
struct Lines<R> {
    input: R,
    width: Width,
    code_page: Option<&'static Encoding>,
    number: u64,
    byte: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(mut input: R, code_page: Option<&'static Encoding>) -> io::Result<Lines<R>> {
        let (width, mark) = match input.fill_buf()? {
            [0xff, 0xfe, ..] => (Width::LittleEndian, 2),
            [0xfe, 0xff, ..] => (Width::BigEndian, 2),
            [0xef, 0xbb, 0xbf, ..] => (Width::Narrow, 3),
            _ => (Width::Narrow, 0),
        };
        input.consume(mark);
        // A byte order mark of UTF-8 is stronger than what the caller believes.
        let code_page = if mark == 3 { Some(encoding_rs::UTF_8) } else { code_page };
        Ok(Lines { input, width, code_page, number: 0, byte: mark as u64 })
    }

    /// Bytes of a character of the ASCII range.
    const fn unit(&self) -> u64 {
        match self.width {
            Width::Narrow => 1,
            Width::LittleEndian | Width::BigEndian => 2,
        }
    }

    fn next_line(&mut self) -> io::Result<Option<Line>> {
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
        let (mut text, decoding_failed) = self.decode(&bytes);
        let ended = text.ends_with('\n');
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        Ok(Some(Line { text, number: self.number, byte, ended, decoding_failed, too_long }))
    }

    fn decode(&self, bytes: &[u8]) -> (String, bool) {
        let order = match self.width {
            Width::Narrow => {
                if let Some(code_page) = self.code_page {
                    return (code_page.decode_without_bom_handling(bytes).0.into_owned(), false);
                }
                return match std::str::from_utf8(bytes) {
                    Ok(text) => (text.to_owned(), false),
                    Err(_) => {
                        (encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(), true)
                    }
                };
            }
            Width::LittleEndian => encoding_rs::UTF_16LE,
            Width::BigEndian => encoding_rs::UTF_16BE,
        };
        (order.decode_without_bom_handling(bytes).0.into_owned(), false)
    }
}
