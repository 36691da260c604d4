//! The report as one HTML file: the page, its data and its script, the last two compressed.

use std::collections::HashMap;

use serde_json::{Value, json};
use tallymon::analyze::{Change, Finding, MACHINE_PARAMETERS};
use tallymon::core::time::FileTime;
use tallymon::core::visible::visible;

use super::{Busiest, Busy, Logs, Report, ReportError, strips};
use crate::chart::{Chart, SeriesInfo, number};
use crate::describe::clock;
use crate::findings::{MOST_FINDINGS, finding};
use crate::pack::{self, Cell};
use crate::page::PAGE;
use crate::parameters::milliseconds;
use crate::statistics::Statistics;

/// Where the data goes.
const PLACE: &str = "<script type=\"application/octet-stream\" id=\"data\">";
/// What unpacks the script of the page and runs it. The rules of the page allow it by its hash, and what it
/// unpacks by the hash that the script has anyway.
const LOADER: &str = include_str!("../../page/src/loader.js");
/// The most disks, and the most interfaces, that are named.
const MOST_PARTS: usize = 8;
/// The most gaps and restarts.
const MOST_HOLES: usize = 20;
/// Marks what is of the logs from before; it needs no translation.
const BEFORE: &str = "≈ ";

impl Report {
    /// The report as one HTML file. It needs no server and no network.
    ///
    /// # Errors
    ///
    /// The system failed.
    pub fn html(&mut self) -> Result<String, ReportError> {
        let strips = strips(&mut self.chart);
        let mut about = self.about();
        about["strips"] = json!(strips);
        let times: Vec<i64> = self.chart.rows.times.iter().map(|time| rounded(milliseconds(*time))).collect();
        let shift = self.shift() / 10_000;
        let mut columns = Columns { all: times.clone(), ..Columns::default() };
        let earlier = self.before.as_mut().map(|before| {
            let moved =
                before.rows.times.iter().map(|time| rounded(milliseconds(*time)).saturating_add(shift));
            let moved: Vec<i64> = moved.collect();
            columns.add(&moved);
            (moved, before)
        });
        let Chart { series, statistics, rows, .. } = &mut self.chart;
        match earlier {
            None => {
                for ((info, values), statistics) in series.iter().zip(&rows.columns).zip(statistics) {
                    columns.one(info.json(), values, statistics);
                }
            }
            Some((moved, before)) => {
                for ((info, values), statistics) in series.iter().zip(&rows.columns).zip(statistics) {
                    columns.placed(info.json(), &times, values, statistics);
                    let Some(at) = before.series.iter().position(|one| one.path == info.path) else {
                        continue;
                    };
                    if let (Some(values), Some(statistics)) =
                        (before.rows.columns.get(at), before.statistics.get_mut(at))
                    {
                        columns.placed(marked(info), &moved, values, statistics);
                    }
                }
            }
        }
        let text =
            pack::text(&columns.packed(about)).map_err(|error| ReportError::Other(error.to_string()))?;
        page_with(&text)
    }

    /// What the logs are and what was found in them.
    fn about(&self) -> Value {
        let Logs { names, summary, columns, first, last, records, gaps, gap_count, restarts, .. } =
            &self.logs;
        let hosts: Vec<_> = summary.hosts.iter().map(|host| visible(host)).collect();
        let found = self.findings();
        let machine = found.parameters.iter().filter(|(name, _)| MACHINE_PARAMETERS.contains(&name.as_str()));
        let machine = machine.filter_map(|(name, value)| Some(format!("{name} {:.0}", (*value)?)));
        let system = summary.recorded_on.as_deref().map(|system| visible(system).into_owned());
        let parts = self.logs.parts.iter().map(|(object, names)| {
            let more = names.len().saturating_sub(MOST_PARTS);
            let more = if more > 0 { format!(" + {more}") } else { String::new() };
            format!(
                "{object}: {}{more}",
                names.iter().take(MOST_PARTS).cloned().collect::<Vec<_>>().join("; ")
            )
        });
        let machine: Vec<String> = system.into_iter().chain(machine).chain(parts).collect();
        let (findings, more) = self.finding_items();
        let mut about = json!({
            "logs": names, "hosts": hosts, "machine": machine, "records": records, "columns": columns,
            "format": summary.format.info().name, "first": milliseconds(*first), "last": milliseconds(*last),
            "damage": summary.notes.damage_count, "clock": clock(summary),
            "made": milliseconds(tallymon::clock::now()), "leftOut": self.left_out,
            "decimated": self.chart.rows.is_decimated, "findings": findings, "moreFindings": more,
        });
        let gap =
            |(after, seconds): &(FileTime, f64)| json!({ "time": milliseconds(*after), "seconds": seconds });
        about["gaps"] = gaps.iter().take(MOST_HOLES).map(gap).collect();
        about["gapCount"] = json!(gap_count);
        let restart =
            |(host, time): &(String, FileTime)| json!({ "host": host, "time": milliseconds(*time) });
        about["restarts"] = restarts.iter().take(MOST_HOLES).map(restart).collect();
        about["busiest"] = self.busiest.iter().map(busiest).collect();
        if let (Some(earlier), Some(against)) = (&self.earlier, self.against()) {
            about["before"] = json!({
                "logs": earlier.names, "first": milliseconds(earlier.first),
                "last": milliseconds(earlier.last),
                "clock": clock(&earlier.summary), "compared": against.compared,
                "changes": against.changes.iter().take(MOST_FINDINGS).map(change).collect::<Vec<_>>(),
                "more": against.changes.len().saturating_sub(MOST_FINDINGS),
            });
        }
        about
    }

    /// The findings, and how many there are more. Of a comparison: those that are new say so, and those that
    /// are gone come last.
    fn finding_items(&self) -> (Vec<Value>, usize) {
        let all = &self.findings().findings;
        let (new, gone) = self
            .against()
            .map_or_else(Default::default, |against| (against.new_findings(), against.gone_findings()));
        let mark = |one: &Finding| {
            let is_new = new.iter().any(|new| std::ptr::eq(*new, one));
            if is_new { format!("new {}", one.severity.name()) } else { one.severity.name().to_string() }
        };
        let items = all.iter().map(|one| finding(one, &mark(one), self.language));
        let gone = gone.into_iter().map(|one| finding(one, "gone", self.language));
        let items: Vec<Value> = items.chain(gone).collect();
        let more = items.len().saturating_sub(MOST_FINDINGS);
        (items.into_iter().take(MOST_FINDINGS).collect(), more)
    }
}

fn rounded(milliseconds: f64) -> i64 {
    milliseconds.round() as i64
}

/// The columns of a report while they are packed.
#[derive(Debug, Default)]
struct Columns {
    /// The times of all rows.
    all: Vec<i64>,
    series: Vec<Value>,
    bytes: Vec<u8>,
}

impl Columns {
    /// Adds the times of rows of other logs.
    fn add(&mut self, times: &[i64]) {
        self.all.extend_from_slice(times);
        self.all.sort_unstable();
        self.all.dedup();
    }

    /// A series that has a value, or none, at every time.
    fn one(&mut self, info: Value, values: &[f64], statistics: &mut Statistics) {
        self.push(info, values, values.iter().map(|value| Cell::Value(*value)), statistics);
    }

    /// A series of rows at some of the times; the rows of other logs are passed over.
    fn placed(&mut self, info: Value, times: &[i64], values: &[f64], statistics: &mut Statistics) {
        let rows: HashMap<i64, f64> = times.iter().copied().zip(values.iter().copied()).collect();
        let cells =
            self.all.iter().map(|time| rows.get(time).map_or(Cell::Passed, |value| Cell::Value(*value)));
        let cells: Vec<Cell> = cells.collect();
        self.push(info, values, cells.into_iter(), statistics);
    }

    fn push(
        &mut self,
        mut info: Value,
        values: &[f64],
        cells: impl Iterator<Item = Cell>,
        statistics: &mut Statistics,
    ) {
        let step = pack::step(values);
        pack::column(cells, step, &mut self.bytes);
        info["step"] = json!(step);
        info["statistics"] = statistics.json();
        self.series.push(info);
    }

    /// The length of a JSON text, the text, the times, and the columns.
    fn packed(self, mut about: Value) -> Vec<u8> {
        about["series"] = json!(self.series);
        about["points"] = json!(self.all.len());
        let text = about.to_string().into_bytes();
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(text);
        // Milliseconds since 1970 are below 2^53 for the next 280,000 years.
        pack::column(self.all.iter().map(|time| Cell::Value(*time as f64)), 1.0, &mut bytes);
        bytes.extend(self.bytes);
        bytes
    }
}

/// The description of a series in the logs from before.
fn marked(info: &SeriesInfo) -> Value {
    let mut json = info.json();
    for name in ["path", "counter"] {
        let text = json[name].as_str().unwrap_or_default();
        json[name] = json!(format!("{BEFORE}{text}"));
    }
    json["partial"] = Value::Null;
    json
}

/// The page with data in it, and with its script compressed.
fn page_with(data: &str) -> Result<String, ReportError> {
    let other = |words: &str| ReportError::Other(words.to_owned());
    let parts = PAGE.split_once(PLACE).and_then(|(before, behind)| {
        let (between, script) = behind.split_once("<script>")?;
        let (script, end) = script.rsplit_once("</script>")?;
        Some((before, between, script, end))
    });
    let (before, between, script, end) = parts.ok_or_else(|| other("the page has no place for data"))?;
    let script = pack::text(script.as_bytes()).map_err(|error| other(&error.to_string()))?;
    let loader = LOADER.trim();
    Ok(format!(
        "{before}{PLACE}{data}{between}<script type=\"application/octet-stream\" id=\"program\">{script}\
         </script>\n<script>{loader}</script>{end}"
    ))
}

fn busiest(one: &Busiest) -> Value {
    let busy = |busy: &Busy| json!({ "name": busy.name, "mean": number(busy.mean), "max": number(busy.max) });
    let instances: Vec<Value> = one.instances.iter().map(busy).collect();
    json!({ "title": one.title, "unit": one.unit, "instances": instances })
}

fn change(one: &Change) -> Value {
    json!({
        "path": visible(&one.path), "effect": one.effect.name(), "before": number(one.before),
        "after": number(one.after), "unit": one.counter_type.suffix().as_str(),
    })
}
