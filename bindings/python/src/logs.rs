//! Logs as tables: read once into columns, and handed to data libraries by Arrow's C interface.
//!
//! The columns lie in memory as Arrow defines it, so a library that takes them copies no value. Whoever holds
//! one of them keeps its memory alive.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, Float64Array, LargeStringArray, RecordBatch, RecordBatchIterator,
    TimestampNanosecondArray, UInt64Array,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::{PyFileNotFoundError, PyKeyError, PyLookupError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString};
use tallymon::clock::parse_log_time;
use tallymon::core::counter::Formula;
use tallymon::core::flow::{Column, NoValue, Row, Sink, Value};
use tallymon::core::path::CounterPath;
use tallymon::log::relog::{Options, Report, relog_into};
use tallymon::log::{LogError, LogErrorKind, LogTime, ReadOptions, Selection};

/// Rows between two looks for Ctrl-C.
const ROWS_BETWEEN_SIGNALS: usize = 1024;

/// The records of performance logs as a table: the column `time` in UTC, and one column for each counter.
///
/// >>> log = read_log("server.blg", counters=[r"\Processor(*)\% Processor Time"], start="-2h")
/// >>> table = pyarrow.table(log)
/// >>> frame = polars.DataFrame(log)
/// >>> frame = pandas.DataFrame.from_arrow(log)
#[pyclass(frozen, module = "tallymon")]
pub(crate) struct Log {
    batch: RecordBatch,
    missing: Vec<BTreeMap<String, usize>>,
    report: Report,
}

/// Reads logs of any format that `tally info` knows. Several logs follow each other in the order of their
/// first records.
///
/// `counters` are paths, possibly with wildcards; without them every counter is read. `start` and `end` are
/// texts as `tally relog --from` takes them, or datetimes; `every=n` keeps every n-th record. `cap` limits
/// shares to 100 %.
#[pyfunction]
#[pyo3(signature = (*paths, counters=None, start=None, end=None, every=1, cap=false, code_page=None))]
#[allow(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn read_log(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    counters: Option<Vec<String>>,
    start: Option<Bound<'_, PyAny>>,
    end: Option<Bound<'_, PyAny>>,
    every: u32,
    cap: bool,
    code_page: Option<String>,
) -> PyResult<Log> {
    if paths.is_empty() {
        return Err(PyValueError::new_err("read_log needs the path of a log"));
    }
    let every = NonZeroU32::new(every).ok_or_else(|| PyValueError::new_err("every is 1 or more, not 0"))?;
    let path = |text: &String| {
        CounterPath::of_text(text).map_err(|error| PyLookupError::new_err(format!("{text}: {error}")))
    };
    let select = Selection {
        counters: counters.unwrap_or_default().iter().map(path).collect::<PyResult<_>>()?,
        from: start.map(|time| log_time(&time)).transpose()?,
        to: end.map(|time| log_time(&time)).transpose()?,
    };
    let read = ReadOptions { cap, code_page, ..ReadOptions::default() };
    let options = Options { select, every, read, ..Options::default() };
    let mut table = Table::default();
    let report = py.detach(|| relog_into(&paths, &mut table, &options));
    match (table.interrupted.take(), report) {
        (Some(error), _) => Err(error),
        (None, report) => table.finish(report.map_err(failed)?),
    }
}

fn failed(error: LogError) -> PyErr {
    let text = error.to_string();
    match error.kind {
        LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        LogErrorKind::Io(_) => PyOSError::new_err(text),
        LogErrorKind::NoRecords(_) => PyLookupError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// A time as a text, or as a datetime: without a zone it is what the log's own clock shows.
fn log_time(time: &Bound<'_, PyAny>) -> PyResult<LogTime> {
    let text: String = match time.cast::<PyString>() {
        Ok(text) => text.extract()?,
        Err(_) => time.call_method0("isoformat")?.extract()?,
    };
    let words =
        "write '2026-11-21 09:30' (by the log's own clock), 2026-11-21T08:30Z or -2h (before the end)";
    parse_log_time(&text).ok_or_else(|| PyValueError::new_err(format!("no time {text:?}: {words}")))
}

#[pymethods]
impl Log {
    /// The paths of the counters: the names of the columns after `time`.
    #[getter]
    fn paths(&self) -> Vec<String> {
        self.batch.schema().fields().iter().skip(1).map(|field| field.name().clone()).collect()
    }

    /// The number of records.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The times of the records, in nanoseconds since 1970 UTC.
    #[getter]
    fn times(&self) -> Vec<i64> {
        let times = self.batch.columns().first();
        let times = times.and_then(|times| times.as_any().downcast_ref::<TimestampNanosecondArray>());
        times.map(|times| times.values().to_vec()).unwrap_or_default()
    }

    /// The values of a counter by its path as a list, None where there is no value. This copies them; data
    /// libraries do not.
    fn __getitem__(&self, path: &str) -> PyResult<Vec<Option<Item>>> {
        let column = self.batch.columns().get(self.position(path)?.saturating_add(1));
        let column = column.ok_or_else(|| PyKeyError::new_err(path.to_string()))?.as_any();
        Ok(if let Some(numbers) = column.downcast_ref::<Float64Array>() {
            numbers.iter().map(|number| number.map(Item::Number)).collect()
        } else if let Some(integers) = column.downcast_ref::<UInt64Array>() {
            integers.iter().map(|number| number.map(Item::Integer)).collect()
        } else {
            let texts = column.downcast_ref::<LargeStringArray>();
            let texts = texts.into_iter().flat_map(|texts| texts.iter());
            texts.map(|text| text.map(|text| Item::Text(text.to_string()))).collect()
        })
    }

    /// Why values of a counter are missing: each reason, and how often.
    fn missing(&self, path: &str) -> PyResult<BTreeMap<String, usize>> {
        Ok(self.missing.get(self.position(path)?).cloned().unwrap_or_default())
    }

    /// Requested paths that match no counter of the logs.
    #[getter]
    fn not_found(&self) -> Vec<String> {
        self.report.not_found.clone()
    }

    /// Damage of the logs, with its place. The records before and after it are in the table.
    #[getter]
    fn damage(&self) -> Vec<String> {
        let inputs = self.report.inputs.iter();
        let damage = inputs.flat_map(|input| input.notes.damage.iter().map(move |it| (&input.path, it)));
        damage.map(|(path, damage)| format!("{}: {damage}", path.display())).collect()
    }

    /// What else there is to know about the logs: an unknown time zone, a column that appears late.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        let inputs = self.report.inputs.iter().flat_map(|input| &input.notes.remarks);
        self.report.remarks.iter().chain(inputs).cloned().collect()
    }

    /// The table for libraries that know the PyCapsule interface of Arrow. No value is copied.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A request for other types may be ignored; the library then converts.
        drop(requested_schema);
        let batches = std::iter::once(Ok::<_, ArrowError>(self.batch.clone()));
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The names and types of the columns for such libraries.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref());
        let schema = schema.map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __repr__(&self) -> String {
        let counters = self.batch.num_columns().saturating_sub(1);
        format!("Log({} records, {counters} counters)", self.batch.num_rows())
    }
}

impl Log {
    /// The position of a counter among the counters. Case is ignored if no path is spelled so.
    fn position(&self, path: &str) -> PyResult<usize> {
        let schema = self.batch.schema();
        let position =
            |same: &dyn Fn(&str) -> bool| schema.fields().iter().skip(1).position(|field| same(field.name()));
        let found = position(&|name| name == path);
        let found = found.or_else(|| position(&|name| name.eq_ignore_ascii_case(path)));
        found.ok_or_else(|| PyKeyError::new_err(format!("no counter {path:?} in this table; see paths")))
    }
}

#[derive(IntoPyObject)]
pub(crate) enum Item {
    Number(f64),
    Integer(u64),
    Text(String),
}

/// The columns while the records are read.
#[derive(Default)]
struct Table {
    times: Vec<i64>,
    columns: Vec<Growing>,
    /// Ctrl-C, or what else a signal handler of Python raised.
    interrupted: Option<PyErr>,
}

/// A column that grows.
struct Growing {
    field: Field,
    values: Values,
    present: BooleanBufferBuilder,
    missing: Vec<(NoValue, usize)>,
}

enum Values {
    Numbers(Vec<f64>),
    /// Exact counts.
    Integers(Vec<u64>),
    Texts(LargeStringBuilder),
}

impl Sink for Table {
    type Error = LogError;

    fn columns(&mut self, columns: &[Column]) -> Result<(), LogError> {
        let mut seen = BTreeMap::<&str, usize>::new();
        self.columns = columns
            .iter()
            .map(|column| {
                let count = seen.entry(&column.path).or_default();
                *count = count.saturating_add(1);
                // Data libraries want names that differ.
                let name = match *count {
                    1 => column.path.clone(),
                    count => format!("{}#{}", column.path, count.saturating_sub(1)),
                };
                Growing::new(name, column)
            })
            .collect();
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> Result<(), LogError> {
        if self.times.len().is_multiple_of(ROWS_BETWEEN_SIGNALS)
            && let Err(error) = Python::attach(|py| py.check_signals())
        {
            self.interrupted = Some(error);
            return Err(LogError::new(LogErrorKind::Request("interrupted".to_owned())));
        }
        let time = i64::try_from(row.time.unix_nanoseconds()).map_err(|_| {
            let words = format!("a record has the time {}; a table has 1677 to 2262", row.time.rfc3339());
            LogError::new(LogErrorKind::Request(words))
        })?;
        self.times.push(time);
        for (column, cell) in self.columns.iter_mut().zip(row.cells) {
            column.push(&cell.value);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), LogError> {
        Ok(())
    }
}

impl Growing {
    fn new(name: String, column: &Column) -> Growing {
        let info = column.counter_type.info();
        let (values, kind) = if column.counter_type.is_text() {
            (Values::Texts(LargeStringBuilder::new()), DataType::LargeUtf8)
        } else if info.is_some_and(|info| info.compute == Formula::Raw) {
            (Values::Integers(Vec::new()), DataType::UInt64)
        } else {
            (Values::Numbers(Vec::new()), DataType::Float64)
        };
        let type_name = match info {
            Some(info) => info.name.to_string(),
            None => format!("{:#010x}", column.counter_type.0),
        };
        let about = [("counter_type".to_string(), type_name)];
        let field = Field::new(name, kind, true).with_metadata(about);
        Growing { field, values, present: BooleanBufferBuilder::new(0), missing: Vec::new() }
    }

    fn push(&mut self, value: &Result<Value, NoValue>) {
        let known = match (value, &mut self.values) {
            (Ok(Value::Integer(integer)), Values::Integers(integers)) => {
                integers.push(*integer);
                Ok(())
            }
            (Ok(Value::Text(text)), Values::Texts(texts)) => {
                texts.append_value(text);
                Ok(())
            }
            (Ok(value), Values::Numbers(numbers)) => {
                let number = value.as_f64();
                numbers.push(number.unwrap_or_default());
                number.map(drop).ok_or(NoValue::NotNumeric)
            }
            // A value that is not whole: the column becomes one of numbers.
            (Ok(Value::Number(number)), Values::Integers(integers)) => {
                let mut numbers: Vec<f64> = integers.iter().map(|integer| *integer as f64).collect();
                numbers.push(*number);
                self.values = Values::Numbers(numbers);
                self.field = self.field.clone().with_data_type(DataType::Float64);
                Ok(())
            }
            (Ok(_), values) => {
                values.skip();
                Err(NoValue::NotNumeric)
            }
            (Err(why), values) => {
                values.skip();
                Err(*why)
            }
        };
        self.present.append(known.is_ok());
        if let Err(why) = known {
            match self.missing.iter_mut().find(|(known, _)| *known == why) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => self.missing.push((why, 1)),
            }
        }
    }

    /// The column, whose values stay where they are.
    fn finish(mut self) -> (Field, ArrayRef) {
        let nulls = NullBuffer::new(self.present.finish());
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        let array: ArrayRef = match self.values {
            Values::Numbers(numbers) => Arc::new(Float64Array::new(numbers.into(), nulls)),
            Values::Integers(integers) => Arc::new(UInt64Array::new(integers.into(), nulls)),
            Values::Texts(mut texts) => Arc::new(texts.finish()),
        };
        (self.field, array)
    }
}

impl Values {
    /// Keeps the place of a value that is missing.
    fn skip(&mut self) {
        match self {
            Values::Numbers(numbers) => numbers.push(0.0),
            Values::Integers(integers) => integers.push(0),
            Values::Texts(texts) => texts.append_null(),
        }
    }
}

impl Table {
    fn finish(self, report: Report) -> PyResult<Log> {
        let times = TimestampNanosecondArray::from(self.times).with_timezone("UTC");
        let mut fields = vec![Field::new("time", times.data_type().clone(), false)];
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(times)];
        let mut missing = Vec::new();
        for column in self.columns {
            missing.push(column.missing.iter().map(|(why, count)| (why.to_string(), *count)).collect());
            let (field, array) = column.finish();
            fields.push(field);
            arrays.push(array);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Log { batch, missing, report })
    }
}
