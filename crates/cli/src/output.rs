//! Rows of readings in every form: a table for people, PDH-CSV, PDH-TSV, JSON, values only.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::io::{self, BufWriter, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value as Json, json};
use tallymon::Reading;
use tallymon::core::counter;
use tallymon::core::flow::{Cell, Value};
use tallymon::core::time::FileTime;

use crate::arguments::Form;
use crate::words::{say, visible};

mod columns;
mod table;
mod values;

use columns::Columns;
use table::Table;
pub(crate) use values::Values;

/// Writes rows in one form. CSV and TSV fix their columns with the first row; the others follow what there is.
pub(crate) struct Rows<'w> {
    /// Buffered, so that a row is one write: the standard output would write each line by itself.
    out: BufWriter<Box<dyn Write + 'w>>,
    form: Form,
    host: String,
    /// The columns of a CSV, once known.
    columns: Option<Columns>,
    /// Instances that came too late for a column, to be told once.
    late: HashSet<String>,
    /// Looked up when a local time is first printed: that reads a folder of hundreds of zones.
    zone: OnceCell<TimeZone>,
    rows: u64,
    with_time: bool,
    console: bool,
    table: Table,
}

impl<'w> Rows<'w> {
    /// `with_time` puts the time before every row of a table.
    pub(crate) fn new(out: impl Write + 'w, form: Form, host: &str, with_time: bool) -> Rows<'w> {
        Rows {
            out: BufWriter::new(Box::new(out)),
            form,
            host: host.to_string(),
            columns: None,
            late: HashSet::new(),
            zone: OnceCell::new(),
            rows: 0,
            with_time,
            console: false,
            table: Table::default(),
        }
    }

    /// Says in a table how far rates and shares may be off.
    pub(crate) fn with_errors(mut self, with_errors: bool) -> Self {
        self.table.with_errors = with_errors;
        self
    }

    /// Writes a CSV or TSV as `typeperf` shows it on the console: no time zone, six decimals.
    pub(crate) fn for_console(mut self) -> Self {
        self.console = true;
        self
    }

    /// Writes one row and flushes it.
    ///
    /// A table is for people and has the paths in their language; the other forms are for programs and have them in
    /// English.
    pub(crate) fn row<'v>(&mut self, time: FileTime, values: impl Into<Values<'v>>) -> io::Result<()> {
        let values = values.into();
        match self.form {
            Form::Table => self.table(time, &values)?,
            Form::Csv => self.separated(time, &values, ',', "CSV")?,
            Form::Tsv => self.separated(time, &values, '\t', "TSV")?,
            Form::Json => {
                let row = self.json(time, &values.readings());
                writeln!(self.out, "{row}")?;
            }
            Form::Plain => {
                let mut written = Ok(());
                values.for_each(|_, value| {
                    if written.is_ok() {
                        written = writeln!(self.out, "{}", plain(&value.cell));
                    }
                });
                written?;
            }
        }
        self.rows += 1;
        self.out.flush()
    }

    fn table(&mut self, time: FileTime, values: &Values<'_>) -> io::Result<()> {
        if self.with_time {
            if self.rows > 0 {
                writeln!(self.out)?;
            }
            writeln!(self.out, "{}", self.local(time).strftime("%Y-%m-%d %H:%M:%S%.3f"))?;
        }
        self.table.write(&mut self.out, values)
    }

    fn separated(
        &mut self,
        time: FileTime,
        values: &Values<'_>,
        separator: char,
        kind: &str,
    ) -> io::Result<()> {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let local = self.local(time);
        let columns = match &mut self.columns {
            Some(columns) => columns,
            None => {
                let columns = Columns::of(values, &self.host);
                let zone = if self.console {
                    String::new()
                } else {
                    // UTC = local time + bias, in minutes.
                    format!(" ({})({})", local.strftime("%Z"), -(local.offset().seconds() / 60))
                };
                write!(self.out, "\"(PDH-{kind} 4.0){zone}\"")?;
                for column in columns.paths() {
                    write!(self.out, "{separator}{}", quoted(column))?;
                }
                write!(self.out, "\r\n")?;
                self.columns.insert(columns)
            }
        };
        let (cells, late) = columns.cells(values);
        write!(self.out, "\"{}\"", local.strftime("%m/%d/%Y %H:%M:%S%.3f"))?;
        for cell in &cells {
            let text = match cell {
                Some(Ok(Value::Text(text))) => quoted(text),
                Some(Ok(value)) if self.console => {
                    value.as_f64().map_or_else(String::new, |number| format!("\"{}\"", counter::f6(number)))
                }
                Some(Ok(value)) => format!("\"{}\"", exact(value)),
                // What the Performance Data Helper writes for a missing value.
                Some(Err(_)) | None => "\" \"".to_string(),
            };
            write!(self.out, "{separator}{text}")?;
        }
        write!(self.out, "\r\n")?;
        for path in late {
            if self.late.insert(path.clone()) {
                say(format_args!(
                    "{path} came too late for a column; --json has it, and so have logs of other formats"
                ));
            }
        }
        Ok(())
    }

    fn json(&self, time: FileTime, readings: &[Reading]) -> Json {
        let values: Vec<Json> = readings.iter().map(json_reading).collect();
        json!({ "time": rfc3339(time), "host": self.host, "values": values })
    }

    fn local(&self, time: FileTime) -> jiff::Zoned {
        timestamp(time).to_zoned(self.zone.get_or_init(TimeZone::system).clone())
    }
}

/// A time for the library that knows calendars and zones.
pub(crate) fn timestamp(time: FileTime) -> Timestamp {
    Timestamp::from_nanosecond(time.unix_nanoseconds()).unwrap_or_default()
}

/// A time in UTC to the millisecond.
pub(crate) fn rfc3339(time: FileTime) -> String {
    timestamp(time).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A reading as JSON. A missing value is null, with the reason beside it.
pub(crate) fn json_reading(reading: &Reading) -> Json {
    let mut object = Map::new();
    object.insert("path".into(), reading.path.clone().into());
    object.insert("object".into(), reading.object.0.into());
    object.insert("counter".into(), reading.counter.0.into());
    if let Some(instance) = &reading.instance {
        object.insert("instance".into(), instance.to_string().into());
    }
    match &reading.cell.value {
        Ok(value) => object.insert("value".into(), json_value(value)),
        Err(why) => {
            object.insert("value".into(), Json::Null);
            object.insert("status".into(), why.pdh_status().name.into());
            object.insert("reason".into(), why.to_string().into())
        }
    };
    if reading.cell.stale {
        object.insert("stale".into(), true.into());
    }
    if let Some(error) = reading.error().filter(|_| reading.cell.value.is_ok()) {
        object.insert("error".into(), json!(error));
    }
    object.insert("unit".into(), reading.definition.counter_type.suffix().as_str().into());
    object.insert("type".into(), reading.definition.counter_type.to_string().into());
    if let Some(sample) = reading.cell.sample {
        // As text, because 64-bit numbers do not survive readers that take every number for a double.
        object.insert("first".into(), sample.first.to_string().into());
        object.insert("second".into(), sample.second.to_string().into());
    }
    Json::Object(object)
}

pub(crate) fn json_value(value: &Value) -> Json {
    match value {
        Value::Number(number) => json!(number),
        Value::Integer(integer) => json!(integer),
        Value::Text(text) => json!(text),
        _ => Json::Null,
    }
}

/// A value with all its digits; nothing when there is none.
fn plain(cell: &Cell) -> String {
    match &cell.value {
        // A line end in it would make two values of one.
        Ok(Value::Text(text)) => visible(text).into_owned(),
        Ok(value) => exact(value),
        Err(_) => String::new(),
    }
}

/// A number as C's `%.17g`, which is what Windows writes.
fn exact(value: &Value) -> String {
    match value {
        Value::Integer(integer) => integer.to_string(),
        Value::Number(number) => counter::g17(*number).to_string(),
        _ => String::new(),
    }
}
