//! Writes rows as JSON lines: one object a row.

use std::io::{self, Write};

use serde_json::{Map, Value as Json, json};
use tallymon_core::flow::{Cell, Column, Row, Sink, Value};
use tallymon_core::visible::escape_json;

/// Writes each row as a line of JSON, with the raw numbers from which its values can be computed again.
/// Numbers are as measured: whole numbers are exact. A missing value is null, with the reason beside it.
/// Characters that a terminal obeys or hides are `\u` escapes.
#[derive(Debug)]
pub struct JsonSink<W> {
    out: W,
    host: String,
    /// The name of the zone of local times, and minutes to add to them to get UTC.
    zone: Option<(String, i32)>,
    /// What does not change from row to row, for each column.
    columns: Vec<(Map<String, Json>, Tail)>,
    line: Vec<u8>,
}

/// What follows after the value.
#[derive(Debug)]
struct Tail {
    unit: &'static str,
    counter_type: String,
    scale: i32,
    frequency: i64,
}

impl<W: Write> JsonSink<W> {
    /// `host` is written once in each line instead of in each path; it is empty if there are several.
    pub fn new(out: W, host: &str) -> JsonSink<W> {
        JsonSink { out, host: host.to_owned(), zone: None, columns: Vec::new(), line: Vec::new() }
    }

    /// Writes the zone of the rows' local times: its name, and the minutes to add to local time to get UTC.
    pub fn with_zone(mut self, name: &str, bias: i32) -> JsonSink<W> {
        self.zone = Some((name.to_owned(), bias));
        self
    }

    /// The writer that it was created with.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Sink for JsonSink<W> {
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
            let tail = Tail {
                unit: counter_type.suffix().as_str(),
                counter_type: counter_type.to_string(),
                scale: column.scale,
                frequency: column.time_base.0,
            };
            (head, tail)
        };
        self.columns = columns.iter().map(head).collect();
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let cells = self.columns.iter().zip(row.cells);
        let values: Vec<Json> = cells.map(|((head, tail), cell)| json_cell(head, cell, tail)).collect();
        let mut object = Map::new();
        object.insert("time".into(), row.time.rfc3339().into());
        object.insert("host".into(), self.host.clone().into());
        if let Some((name, bias)) = &self.zone {
            let bias_here = row.local_minutes.saturating_neg();
            // The name is that of standard or of summer time.
            if *bias == bias_here {
                object.insert("zone".into(), name.clone().into());
            }
            object.insert("bias".into(), bias_here.into());
        }
        object.insert("values".into(), values.into());
        self.line.clear();
        // One write a row, also on standard output.
        writeln!(self.line, "{}", escape_json(&Json::Object(object).to_string()))?;
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
    if let Some(sum) = cell.partial {
        object.insert("partial".into(), sum.to_string().into());
    }
    if let Some(error) = cell.error.filter(|error| error.is_finite()) {
        object.insert("error".into(), json!(error));
    }
    object.insert("unit".into(), tail.unit.into());
    object.insert("type".into(), tail.counter_type.clone().into());
    if tail.scale != 0 {
        object.insert("scale".into(), tail.scale.into());
    }
    let frequency = cell.sample.map_or(tail.frequency, |sample| sample.frequency.0);
    if frequency != 0 {
        object.insert("frequency".into(), frequency.into());
    }
    if let Some(sample) = cell.sample {
        // As text: many readers take every number for a double, which does not hold 64 bits.
        object.insert("first".into(), sample.first.to_string().into());
        object.insert("second".into(), sample.second.to_string().into());
        if sample.multi_count != 1 {
            object.insert("multi_count".into(), sample.multi_count.into());
        }
    }
    Json::Object(object)
}

/// A value as JSON: whole numbers are exact.
pub fn json_value(value: &Value) -> Json {
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
