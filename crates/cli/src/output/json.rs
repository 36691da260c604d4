//! JSON lines: one object a row.

use std::io::{self, Write};

use serde_json::{Map, Value as Json, json};
use tallymon::clock::rfc3339;
use tallymon::core::flow::{Cell, Column, Row, Sink, Value};

use crate::border;

/// Writes each row as a line of JSON. Numbers are as measured: whole numbers are exact. A missing value is
/// null, with the reason beside it.
pub(super) struct JsonLines<W> {
    out: W,
    host: String,
    /// What does not change from row to row, for each column.
    columns: Vec<(Map<String, Json>, Tail)>,
    line: Vec<u8>,
}

/// What stands behind the value.
struct Tail {
    unit: &'static str,
    counter_type: String,
}

impl<W: Write> JsonLines<W> {
    /// `host` stands in each line instead of in each path; it is empty if there are several.
    pub(super) fn new(out: W, host: &str) -> JsonLines<W> {
        JsonLines { out, host: host.to_string(), columns: Vec::new(), line: Vec::new() }
    }
}

impl<W: Write> Sink for JsonLines<W> {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        let head = |column: &Column| {
            let mut head = Map::new();
            head.insert("path".into(), without_host(&column.path, &self.host).into());
            if let Some(live) = &column.live {
                head.insert("object".into(), live.object.0.into());
                head.insert("counter".into(), live.counter.0.into());
                if let Some(instance) = &live.instance {
                    head.insert("instance".into(), instance.clone().into());
                }
                if let Some(process) = live.process {
                    head.insert("process".into(), process.into());
                }
            }
            let counter_type = column.counter_type;
            (head, Tail { unit: counter_type.suffix().as_str(), counter_type: counter_type.to_string() })
        };
        self.columns = columns.iter().map(head).collect();
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let cells = self.columns.iter().zip(row.cells);
        let values: Vec<Json> = cells.map(|((head, tail), cell)| json_cell(head, cell, tail)).collect();
        self.line.clear();
        let object = json!({ "time": rfc3339(row.time), "host": self.host, "values": values });
        // One write a row, also on standard output.
        writeln!(self.line, "{}", border::json(&object))?;
        self.out.write_all(&self.line)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn json_cell(head: &Map<String, Json>, cell: &Cell, tail: &Tail) -> Json {
    let mut object = head.clone();
    match &cell.value {
        Ok(value) => object.insert("value".into(), json_value(value)),
        Err(why) => {
            object.insert("value".into(), Json::Null);
            object.insert("status".into(), why.pdh_status().name.into());
            object.insert("reason".into(), why.to_string().into())
        }
    };
    if cell.stale {
        object.insert("stale".into(), true.into());
    }
    if let Some(error) = cell.error.filter(|error| error.is_finite()) {
        object.insert("error".into(), json!(error));
    }
    object.insert("unit".into(), tail.unit.into());
    object.insert("type".into(), tail.counter_type.clone().into());
    if let Some(sample) = cell.sample {
        // As text: many readers take every number for a double, which does not hold 64 bits.
        object.insert("first".into(), sample.first.to_string().into());
        object.insert("second".into(), sample.second.to_string().into());
    }
    Json::Object(object)
}

/// A value as JSON: whole numbers are exact.
pub(crate) fn json_value(value: &Value) -> Json {
    match value {
        Value::Number(number) => json!(number),
        Value::Integer(integer) => json!(integer),
        Value::Text(text) => json!(text),
        _ => Json::Null,
    }
}

/// A path without the host, if it is this one.
fn without_host<'p>(path: &'p str, host: &str) -> &'p str {
    let rest = path.strip_prefix("\\\\").and_then(|rest| rest.strip_prefix(host));
    rest.filter(|rest| !host.is_empty() && rest.starts_with('\\')).unwrap_or(path)
}
