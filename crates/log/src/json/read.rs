//! Reads JSON lines as records.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, PartialSum, Sample};
use tallymon_core::time::{FileTime, Frequency};

use super::line::{OneLine, OneValue};
use super::{LONGEST_LINE, MOST_COLUMNS};
use crate::column_list::ColumnList;
use crate::error::{Damage, LogError, LogErrorKind};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::reader::{About, LogReader, Record, RecordPosition, ScannedRecord};
use crate::zone::Zone;

/// A day and more is no distance from UTC.
const MINUTES_OF_A_DAY: u32 = 24 * 60;

/// Reads a log of JSON lines, one line at a time.
pub(crate) struct JsonReader<R> {
    input: R,
    about: About,
    list: ColumnList,
    /// Minutes to add to local time to get UTC, which the caller says.
    fixed_bias: Option<i32>,
    /// The byte and the number of the next line.
    byte: u64,
    line: u64,
    /// The first row, which was read already so that the columns are known.
    first: Option<OneRow>,
    /// What the last record has besides its samples.
    texts: HashMap<usize, String>,
    stale: HashSet<usize>,
    partial: HashMap<usize, PartialSum>,
    position: Option<RecordPosition>,
    /// Moves the input to a byte; `None` if it cannot seek.
    seek: Option<fn(&mut R, u64) -> io::Result<()>>,
}

/// What a line holds.
struct OneRow {
    time: FileTime,
    local_minutes: i32,
    /// Its own values, with their columns. A line of many names few of the columns of a log.
    cells: Vec<(usize, Result<Sample, NoValue>)>,
    /// How many columns are known with it.
    columns: usize,
    texts: HashMap<usize, String>,
    stale: HashSet<usize>,
    partial: HashMap<usize, PartialSum>,
    byte: u64,
    line: u64,
}

impl<R: BufRead + Seek> JsonReader<R> {
    /// As [`JsonReader::new`], for an input that can seek.
    pub(crate) fn seekable(input: R, options: &ReadOptions) -> Result<JsonReader<R>, LogError> {
        let mut reader = JsonReader::new(input, options)?;
        reader.seek = Some(|input, byte| input.seek(SeekFrom::Start(byte)).map(drop));
        Ok(reader)
    }
}

impl<R: BufRead> JsonReader<R> {
    /// Reads up to the first row.
    ///
    /// # Errors
    ///
    /// Errors of the operating system, and a text without any row.
    pub(crate) fn new(input: R, options: &ReadOptions) -> Result<JsonReader<R>, LogError> {
        let mut reader = JsonReader {
            input,
            about: About::new(Format::Json),
            list: ColumnList::default(),
            fixed_bias: options.bias,
            byte: 0,
            line: 0,
            first: None,
            texts: HashMap::new(),
            stale: HashSet::new(),
            partial: HashMap::new(),
            position: None,
            seek: None,
        };
        reader.first = reader.next_row()?;
        if reader.first.is_none() {
            let damage = reader.about.notes.damage.first().map(|damage| format!("; {damage}"));
            let words = format!(
                "needed a JSON object a line, with \"time\" and \"values\", found none{}",
                damage.unwrap_or_default()
            );
            return Err(LogError::new(LogErrorKind::NotALog(words)));
        }
        Ok(reader)
    }

    /// The next line that is a row. Lines that are none are damage.
    fn next_row(&mut self) -> Result<Option<OneRow>, LogError> {
        loop {
            let mut bytes = Vec::new();
            if self.input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)? == 0 {
                self.list.number(&mut self.about.columns);
                return Ok(None);
            }
            let (byte, line) = (self.byte, self.line.saturating_add(1));
            self.byte = byte.saturating_add(bytes.len() as u64);
            self.line = line;
            if bytes.len() as u64 >= LONGEST_LINE && bytes.last() != Some(&b'\n') {
                self.damage(byte, line, format!("a line of more than {LONGEST_LINE} bytes was left out"));
                self.skip_line()?;
                continue;
            }
            let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes).trim_ascii();
            if text.is_empty() {
                continue;
            }
            match parse(text) {
                Ok(one) => return Ok(Some(self.row(one, byte, line))),
                Err(bad) => {
                    let words = match bad.is_cut && bytes.last() != Some(&b'\n') {
                        true => "the log is cut off inside of the row".to_owned(),
                        false => format!("{}; the row was left out", bad.words),
                    };
                    self.damage(byte.saturating_add(bad.at), line, words);
                }
            }
        }
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let mut bytes = Vec::new();
            let read = self.input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)? as u64;
            self.byte = self.byte.saturating_add(read);
            if read == 0 || bytes.last() == Some(&b'\n') {
                return Ok(());
            }
        }
    }

    fn damage(&mut self, byte: u64, line: u64, what: String) {
        let record = Some(self.about.records.saturating_add(1));
        self.about.notes.damage(Damage { byte, buffer: None, record, line: Some(line), what });
    }

    fn row(&mut self, one: OneLine, byte: u64, line: u64) -> OneRow {
        let time = one.time.unwrap_or_default();
        let bias = one.bias.filter(|bias| bias.unsigned_abs() < MINUTES_OF_A_DAY);
        let minutes = self.fixed_bias.or(bias).unwrap_or_default().saturating_neg();
        if self.about.zone.is_unknown() {
            self.about.zone = match (self.fixed_bias, bias, one.zone) {
                (Some(bias), ..) => Zone::Fixed { name: String::new(), bias },
                (None, Some(bias), name) => Zone::Fixed { name: name.unwrap_or_default(), bias },
                (None, None, _) => Zone::Unknown,
            };
        }
        let mut row = OneRow {
            time,
            local_minutes: minutes,
            cells: Vec::new(),
            columns: 0,
            texts: HashMap::new(),
            stale: HashSet::new(),
            partial: HashMap::new(),
            byte,
            line,
        };
        let mut left_out = one.left_out;
        let mut nth: HashMap<(String, CounterType), u32> = HashMap::new();
        let mut before = None;
        for value in one.values.unwrap_or_default() {
            let Some(place) = self.place(&value, &one.host, &mut nth, before) else {
                left_out = left_out.saturating_add(1);
                continue;
            };
            before = Some(place);
            let counter_type = self.about.columns.get(place).map_or(value.counter_type(), |c| c.counter_type);
            row.cells.push((place, value.sample(counter_type, time)));
            if value.is_stale {
                row.stale.insert(place);
            }
            row.partial.extend(value.partial.map(|sum| (place, sum)));
            row.texts.extend(value.text.map(|text| (place, text)));
        }
        self.list.number_if_many(&mut self.about.columns);
        row.columns = self.about.columns.len();
        if left_out > 0 {
            let words =
                format!("{left_out} values are left out, because {MOST_COLUMNS} columns are the most");
            self.damage(byte, line, words);
        }
        row
    }

    /// Finds or adds the column of a value; `None` if there are too many.
    fn place(
        &mut self,
        value: &OneValue,
        host: &str,
        nth: &mut HashMap<(String, CounterType), u32>,
        before: Option<usize>,
    ) -> Option<usize> {
        let path = match value.path.strip_prefix('\\') {
            Some(rest) if !rest.starts_with('\\') && !host.is_empty() => format!("\\\\{host}{}", value.path),
            _ => value.path.clone(),
        };
        let counter_type = value.counter_type();
        let count = nth.entry((path.clone(), counter_type)).or_default();
        let key = (path, counter_type, *count);
        *count = count.saturating_add(1);
        if let Some(place) = self.list.find(&key) {
            return Some(place);
        }
        if self.about.columns.len() >= MOST_COLUMNS {
            return None;
        }
        let clock = (Frequency(value.frequency), value.scale);
        Some(self.list.add(&mut self.about.columns, key, clock, before))
    }

    /// The next row, which is not the current one yet.
    fn take_row(&mut self) -> Result<Option<OneRow>, LogError> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => self.next_row(),
        }
    }

    /// Makes a row that was read the current one.
    fn show(&mut self, row: OneRow) {
        self.position = Some(RecordPosition {
            byte: row.byte,
            records: self.about.records,
            list: 0,
            line: row.line,
            minutes: None,
        });
        self.about.records = self.about.records.saturating_add(1);
        (self.texts, self.stale, self.partial) = (row.texts, row.stale, row.partial);
    }
}

/// Why a line is not a row.
struct BadLine {
    /// Its byte.
    at: u64,
    /// The end is missing.
    is_cut: bool,
    words: String,
}

fn parse(text: &[u8]) -> Result<OneLine, BadLine> {
    let bad = |at: usize, is_cut: bool, words: String| BadLine { at: at as u64, is_cut, words };
    // Texts that are skipped are checked too: two lines whose ends are gone may look like one.
    let text = std::str::from_utf8(text)
        .map_err(|error| bad(error.valid_up_to(), false, "the text is no UTF-8".to_owned()))?;
    let one: OneLine = serde_json::from_str(text).map_err(|error| {
        let words = error.to_string();
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        let hint = if text == "{" { "; 'jq -c' writes one row a line" } else { "" };
        bad(error.column().saturating_sub(1), error.is_eof(), format!("{words}{hint}"))
    })?;
    let missing = match (one.time, &one.values) {
        (None, _) => "time",
        (_, None) => "values",
        _ => return Ok(one),
    };
    Err(bad(0, false, format!("{missing:?} is missing")))
}

impl OneValue {
    /// The type of the column. A number without its raw numbers stays a number.
    fn counter_type(&self) -> CounterType {
        match self.counter_type {
            Some(known) if self.first.is_some() || self.value.is_none() => known,
            None if self.text.is_some() => CounterType::PERF_COUNTER_TEXT,
            _ => CounterType::PERF_DOUBLE_RAW,
        }
    }

    fn sample(&self, counter_type: CounterType, time: FileTime) -> Result<Sample, NoValue> {
        let raw = self.first.filter(|_| self.counter_type.is_some());
        let first = match (raw, self.value, &self.text, &self.reason) {
            (Some(first), ..) => first,
            (None, Some(value), ..) => value.to_bits(),
            (None, None, Some(_), _) => return Err(NoValue::NotNumeric),
            (None, None, None, reason) => {
                let known = reason.as_deref().and_then(NoValue::from_words);
                return Err(known.unwrap_or(NoValue::NoData(Absence::Other)));
            }
        };
        Ok(Sample {
            counter_type,
            first,
            second: self.second,
            frequency: Frequency(self.frequency),
            multi_count: self.multi_count.unwrap_or(1),
            time,
        })
    }
}

impl<R: BufRead + Send> LogReader for JsonReader<R> {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        let Some(mut row) = self.take_row()? else { return Ok(None) };
        let (time, local_minutes) = (row.time, row.local_minutes);
        let mut cells = vec![Err(NoValue::NoInstance); row.columns];
        for (place, found) in std::mem::take(&mut row.cells) {
            if let Some(cell) = cells.get_mut(place) {
                *cell = found;
            }
        }
        self.show(row);
        Ok(Some(Record { time, local_minutes, cells }))
    }

    /// Makes no records: with as many cells as there are columns, lines that all bring new columns would cost
    /// the square of their number.
    fn scan(&mut self, each: &mut dyn FnMut(ScannedRecord) -> ControlFlow<()>) -> Result<(), LogError> {
        while let Some(row) = self.take_row()? {
            let (time, local_minutes, columns) = (row.time, row.local_minutes, row.columns);
            self.show(row);
            if each(ScannedRecord { time, local_minutes, columns, position: self.position() }).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn text(&self, column: usize) -> Option<&str> {
        self.texts.get(&column).map(String::as_str)
    }

    fn is_stale(&self, column: usize) -> bool {
        self.stale.contains(&column)
    }

    fn partial(&self, column: usize) -> Option<PartialSum> {
        self.partial.get(&column).copied()
    }

    fn position(&self) -> Option<RecordPosition> {
        self.position.filter(|_| self.seek.is_some())
    }

    fn seek_to(&mut self, position: RecordPosition) -> Result<bool, LogError> {
        let Some(seek) = self.seek else { return Ok(false) };
        seek(&mut self.input, position.byte)?;
        (self.byte, self.line) = (position.byte, position.line.saturating_sub(1));
        self.about.records = position.records;
        self.first = None;
        Ok(true)
    }
}
