//! Reads PDH-CSV and PDH-TSV of every writer: Windows in any language, typeperf's console, VMware's esxtop,
//! files that went through an editor.

use std::collections::HashMap;
use std::io::{self, BufRead, Seek, SeekFrom};
use std::ops::ControlFlow;

use encoding_rs::Encoding;
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, Sample};
use tallymon_core::path::CounterPath;
use tallymon_core::time::Frequency;

use super::esxtop;
use super::fields::{Blank, Field, is_plain, parse_time, parse_value, split};
use super::guess::{self, GuessedZone};
use super::lines::{LONGEST_LINE, Line, Lines, encoding};
use super::texts::{FirstText, TextColumns};
use crate::error::{Damage, LogError, LogErrorKind};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::reader::{About, Column, LogReader, Record, RecordPosition, ScannedRecord};
use crate::zone::{Zone, add_minutes};

/// The largest number of columns. A column takes 1 to 2 kB of memory; Windows' largest text logs that we know
/// have some thousands.
pub(crate) const MOST_COLUMNS: usize = 1 << 17;

/// How many headers of concatenated logs are kept, so that the reader can seek to their rows.
const MOST_HEADERS: usize = 1 << 12;

/// A header: the columns of its fields, the time zone, and the bias if that was guessed.
type Header = (Vec<usize>, Zone, Option<i32>);

/// Reads a text log line by line.
#[derive(Debug)]
pub struct CsvReader<R> {
    lines: Lines<R>,
    about: About,
    separator: char,
    /// The column of each field after the time.
    places: Vec<usize>,
    /// The headers so far by their line numbers: the columns of their fields, and the time zone.
    headers: HashMap<u64, Header>,
    /// Only times and columns are read, not values.
    scanning: bool,
    known: HashMap<(String, u32), usize>,
    fixed_bias: Option<i32>,
    /// The bias that was guessed for the rows of the last header.
    guessed_bias: Option<i32>,
    /// Text between the rows was reported already.
    text_noted: bool,
    /// Columns of text counters.
    texts: TextColumns,
    /// The line of the last record.
    last_line: String,
    /// Its position, and the line number of the header before it.
    place: Option<RecordPosition>,
    header_line: u64,
    /// Moves the input to a byte; `None` if it cannot seek.
    seek: Option<fn(&mut R, u64) -> io::Result<()>>,
}

/// Why no share of a text log is capped.
pub const NO_TYPES: &str =
    "a text log does not say the types of its counters, so its values stay as they are";

/// The place of a field whose column is left out.
const NO_COLUMN: usize = usize::MAX;

fn column(path: &str, place: usize) -> Column {
    Column {
        path: path.to_owned(),
        parts: CounterPath::of_text(path).ok(),
        counter_type: CounterType::PERF_DOUBLE_RAW,
        scale: 0,
        time_base: Frequency::default(),
        group: u32::try_from(place).unwrap_or(u32::MAX),
        wild: false,
        live: None,
    }
}

impl<R: BufRead + Seek> CsvReader<R> {
    /// As [`CsvReader::new`], for an input that can seek.
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
    /// Errors of the operating system, an unknown code page, and a text without the first line of a log.
    pub fn new(input: R, options: &ReadOptions) -> Result<CsvReader<R>, LogError> {
        let code_page = options.code_page.as_deref().map(encoding).transpose()?;
        let mut reader = CsvReader {
            lines: Lines::new(input, code_page)?,
            about: About::new(Format::Csv),
            separator: ',',
            places: Vec::new(),
            headers: HashMap::new(),
            scanning: false,
            known: HashMap::new(),
            fixed_bias: options.bias,
            guessed_bias: None,
            text_noted: false,
            texts: TextColumns::default(),
            last_line: String::new(),
            place: None,
            header_line: 0,
            seek: None,
        };
        if options.cap {
            reader.about.notes.remark(format!("--cap: {NO_TYPES}"));
        }
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

    /// Reads a header: a line with the paths of the columns. Concatenated logs have several.
    fn header(&mut self, line: &Line) {
        self.note_line(line);
        if !line.ended {
            self.damage(line, 0, "the log is cut off inside of the line with its counters".to_owned());
        }
        self.header_line = line.number;
        let fields = split(&line.text, self.separator);
        let first = fields.first().map(|field| field.text.as_ref()).unwrap_or_default();
        self.zone(first, line);
        let named = esxtop::names(&fields);
        if !named.is_empty() {
            self.about.notes.remark(esxtop::NAMED);
        }
        let mut paths: Vec<&str> = fields
            .iter()
            .enumerate()
            .skip(1)
            .map(|(at, field)| named.get(&at).map_or(field.text.as_ref(), String::as_str))
            .collect();
        if let Some((caption, rest)) = paths.split_last()
            && !caption.starts_with('\\')
            && rest.iter().any(|path| path.starts_with('\\'))
        {
            if !caption.trim().is_empty() {
                self.about.notes.remark(format!("caption: {caption}"));
            }
            self.about.caption.get_or_insert_with(|| (*caption).to_owned());
            paths.truncate(rest.len());
        }
        let mut seen: HashMap<&str, u32> = HashMap::new();
        let mut left_out = 0u64;
        self.places.clear();
        for path in paths {
            let count = seen.entry(path).or_default();
            let nth = *count;
            *count = count.saturating_add(1);
            let key = (path.to_owned(), nth);
            let place = match self.known.get(&key) {
                Some(place) => *place,
                None if self.about.columns.len() >= MOST_COLUMNS => {
                    left_out = left_out.saturating_add(1);
                    // Its values in the rows are skipped.
                    NO_COLUMN
                }
                None => {
                    let place = self.about.columns.len();
                    self.about.columns.push(column(path, place));
                    self.known.insert(key, place);
                    place
                }
            };
            self.places.push(place);
        }
        if left_out > 0 {
            let words = format!(
                "{left_out} columns are left out, because a text log is read up to {MOST_COLUMNS} columns"
            );
            self.damage(line, 0, words);
        }
        if self.headers.len() < MOST_HEADERS {
            self.headers
                .insert(line.number, (self.places.clone(), self.about.zone.clone(), self.guessed_bias));
        }
    }

    /// Reads the first field of a header: `(PDH-CSV 4.0) (zone)(bias)`. Windows cuts it at the first
    /// character that is not ASCII, and then the bias is lost.
    fn zone(&mut self, field: &str, line: &Line) {
        let rest = field.split_once(')').map(|(_, rest)| rest.trim()).unwrap_or_default();
        let bias = rest
            .strip_suffix(')')
            .and_then(|rest| rest.rsplit_once('('))
            .and_then(|(before, bias)| Some((before, bias.trim().parse::<i32>().ok()?)))
            .filter(|(_, bias)| bias.unsigned_abs() < 24 * 60);
        self.guessed_bias = None;
        let name = match bias {
            Some((before, _)) => {
                before.strip_prefix('(').unwrap_or(before).strip_suffix(')').unwrap_or(before)
            }
            None => rest.strip_prefix('(').unwrap_or(rest),
        };
        self.about.zone = match (self.fixed_bias, bias) {
            (Some(bias), _) | (None, Some((_, bias))) => Zone::Fixed { name: name.to_owned(), bias },
            (None, None) => {
                let guessed = guess::zone(rest, self.lines.code_page());
                self.guessed_bias = guessed.map(|guessed| guessed.bias);
                let taken = match guessed {
                    Some(GuessedZone { bias, reason }) => {
                        let (zone, _) = Zone::default().label(bias.saturating_neg());
                        format!("guessed as {zone}, because {reason}")
                    }
                    None => "taken as UTC".to_owned(),
                };
                self.about.notes.remark(format!(
                    "line {}: the time zone is not told ({field:?}); its times are {taken}; --bias sets it",
                    line.number
                ));
                Zone::Words(field.split_once(')').map(|(_, words)| words.to_owned()).unwrap_or_default())
            }
        };
    }

    /// Reads a row; `None` if the line is not a row.
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
        // If a log is cut just after a separator, its last field looks empty.
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
        if let Some(field) = fields.iter().find(|field| field.is_followed) {
            // Two lines whose ends are gone look like one.
            let words = "text follows behind the closing quotation mark; lines may be missing";
            self.damage(line, field.at, words.to_owned());
        }
        let by_zone = || self.about.zone.minutes_at_local(local);
        let minutes = self.guessed_bias.map_or_else(by_zone, i32::saturating_neg);
        let time = add_minutes(local, minutes.saturating_neg());
        let missing = Err(NoValue::NoData(Absence::Other));
        let columns = if self.scanning { 0 } else { self.about.columns.len() };
        let mut cells = vec![missing; columns];
        let places = std::mem::take(&mut self.places);
        self.texts.begin_row();
        for (place, field) in places.iter().zip(values).filter(|(place, _)| **place != NO_COLUMN) {
            // A scan checks values for faults only.
            let value =
                if self.scanning && is_plain(&field.text) { Ok(0.0) } else { parse_value(&field.text) };
            let mut is_text = false;
            match value {
                Ok(_) => self.number(*place),
                Err(Blank::Bad) => is_text = self.text(*place, field, line),
                Err(Blank::Missing | Blank::NotFinite) => {}
            }
            if self.scanning {
                continue;
            }
            // The separator and the quotation marks count as part of the value.
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
                    Err(Blank::Bad) if is_text => Err(NoValue::NotNumeric),
                    Err(Blank::Missing | Blank::Bad) => missing,
                };
            }
        }
        self.places = places;
        self.place = Some(RecordPosition {
            byte: line.byte,
            records: self.about.records,
            list: self.header_line,
            line: line.number,
            minutes: None,
        });
        self.about.records = self.about.records.saturating_add(1);
        Some(Record { time, local_minutes: minutes, cells })
    }

    /// Notes a number. If the column was taken for one of texts, these were damage.
    fn number(&mut self, place: usize) {
        let Some(first) = self.texts.number(place) else { return };
        let FirstText { shown, line, byte, record } = first;
        if let Some(column) = self.about.columns.get_mut(place) {
            column.counter_type = CounterType::PERF_DOUBLE_RAW;
            let what = format!("{shown:?} is not a number, and {} has numbers later", column.path);
            self.about.notes.damage(Damage {
                byte,
                buffer: None,
                record: Some(record),
                line: Some(line),
                what,
            });
        }
    }

    /// Notes a field that is not a number; `true` if it is the value of a text counter. Text counters are
    /// always quoted.
    fn text(&mut self, place: usize, field: &Field<'_>, line: &Line) -> bool {
        let shown: String = field.text.chars().take(40).collect();
        let byte = self.byte_of(line, field.at);
        let first = || FirstText {
            shown: shown.clone(),
            line: line.number,
            byte,
            record: self.about.records.saturating_add(1),
        };
        let is_new = self.texts.is_new(place);
        if !field.quoted || !self.texts.text(place, &field.text, first) {
            self.damage(line, field.at, format!("{shown:?} is not a number"));
            return false;
        }
        if let Some(column) = self.about.columns.get_mut(place).filter(|_| is_new) {
            column.counter_type = CounterType::PERF_COUNTER_TEXT;
            let words = format!("{} has texts, such as {shown:?}", column.path);
            self.about.notes.remark(words);
        }
        true
    }

    fn byte_of(&self, line: &Line, offset: usize) -> u64 {
        line.byte.saturating_add((offset as u64).saturating_mul(self.lines.unit()))
    }

    /// Reports a line that does not begin with a time: text that typeperf prints around its rows, or damage.
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
            format!("{first:?} is not a time like 11/26/2016 13:46:30.874; the row was left out"),
        );
    }

    fn note_line(&mut self, line: &Line) {
        if line.decoding_failed {
            let guessed = self.lines.guessed.map_or("another code page", Encoding::name);
            self.about.notes.remark(format!(
                "text that is no UTF-8 was read as {guessed}, which is a guess; --code-page sets it"
            ));
        }
        if line.too_long {
            self.damage(line, 0, format!("a line of more than {LONGEST_LINE} bytes was cut"));
        }
    }

    fn damage(&mut self, line: &Line, offset: usize, what: String) {
        self.about.notes.damage(Damage {
            byte: self.byte_of(line, offset),
            buffer: None,
            record: Some(self.about.records.saturating_add(1)),
            line: Some(line.number),
            what,
        });
    }
}

impl<R: BufRead> CsvReader<R> {
    fn next_row(&mut self) -> Result<Option<Record>, LogError> {
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
}

impl<R: BufRead + Send> LogReader for CsvReader<R> {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        self.scanning = false;
        self.next_row()
    }

    fn scan(&mut self, each: &mut dyn FnMut(ScannedRecord) -> ControlFlow<()>) -> Result<(), LogError> {
        self.scanning = true;
        while let Some(Record { time, local_minutes, .. }) = self.next_row()? {
            let columns = self.about.columns.len();
            if each(ScannedRecord { time, local_minutes, columns, position: self.position() }).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn text(&self, column: usize) -> Option<&str> {
        self.texts.of_row(column)
    }

    fn raw_record(&self) -> Option<&[u8]> {
        Some(self.last_line.as_bytes()).filter(|line| !line.is_empty())
    }

    fn position(&self) -> Option<RecordPosition> {
        self.place.filter(|_| self.seek.is_some())
    }

    fn seek_to(&mut self, place: RecordPosition) -> Result<bool, LogError> {
        let Some(seek) = self.seek else { return Ok(false) };
        if place.list != self.header_line {
            // Logs that were put behind each other have several headers.
            let Some((places, zone, guessed)) = self.headers.get(&place.list) else { return Ok(false) };
            self.places.clone_from(places);
            (self.about.zone, self.guessed_bias) = (zone.clone(), *guessed);
            self.header_line = place.list;
        }
        seek(&mut self.lines.input, place.byte)?;
        (self.lines.byte, self.lines.number) = (place.byte, place.line.saturating_sub(1));
        self.about.records = place.records;
        Ok(true)
    }
}
