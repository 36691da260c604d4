//! A report: the page with its data in it, one file that works without a server.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Value, json};
use tallymon::analyze::{Analysis, Finding, RuleSet, analyze};
use tallymon::core::visible::visible;
use tallymon::log::{LogError, ReadOptions, Selection};
use tallymon::{Locale, Log};

use crate::chart::{Chart, MOST_POINTS, Range};
use crate::http::Refused;
use crate::log_host::LogHost;
use crate::pack;
use crate::page::PAGE;
use crate::parameters::milliseconds;

/// The most series; each of a day at 15 s takes up to 25 kB.
const MOST_SERIES: usize = 64;
/// The most findings.
const MOST_FINDINGS: usize = 30;
/// The most ranges and instances of a finding.
const MOST_DETAILS: usize = 5;
/// Where the data goes.
const PLACE: &str = "<script type=\"application/octet-stream\" id=\"data\">";
/// What unpacks the script of the page and runs it. The rules of the page allow it by its hash, and what it
/// unpacks by the hash that the script has anyway.
const LOADER: &str = include_str!("../page/src/loader.js");

/// What goes into a report.
#[derive(Debug, Clone)]
pub struct ReportOptions {
    /// The logs, on one time axis.
    pub logs: Vec<PathBuf>,
    /// The counters; if there are none, `usual`.
    pub paths: Vec<String>,
    /// The counters to choose those from that the logs have.
    pub usual: Vec<String>,
    /// How logs are read.
    pub reading: ReadOptions,
    /// The language and the names of counters.
    pub locale: Locale,
}

/// A report, and what is not in it.
#[derive(Debug)]
pub struct Report {
    /// The file.
    pub html: String,
    /// Counters in it.
    pub series: usize,
    /// Series that were left out, because there are too many.
    pub left_out: usize,
    /// Requested counters that the logs do not have, with the reason.
    pub not_found: Vec<String>,
}

/// Why there is no report.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReportError {
    /// A log can not be read.
    Log(LogError),
    /// The rules for findings can not be read.
    Rules(String),
    /// A counter is not in the logs, or the system failed: in words.
    Other(String),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportError::Log(error) => error.fmt(f),
            ReportError::Rules(words) | ReportError::Other(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for ReportError {}

impl From<Refused> for ReportError {
    fn from(refused: Refused) -> ReportError {
        ReportError::Other(refused.words)
    }
}

/// Makes a report of logs.
///
/// # Errors
///
/// A log can not be read, or has none of the counters.
pub fn report(options: &ReportOptions) -> Result<Report, ReportError> {
    let log = Log::open_all(&options.logs, &options.reading).map_err(ReportError::Log)?;
    let rules = RuleSet::built_in().map_err(|error| ReportError::Rules(error.to_string()))?;
    let found =
        analyze(&options.logs, rules, &Selection::default(), &options.reading).map_err(ReportError::Log)?;
    let about = summary(&log, options);
    let hosts = log.summary().hosts.clone();
    let host = LogHost::of_log(log);
    let usual: Vec<&str> = options.usual.iter().map(String::as_str).collect();
    let paths = match options.paths.is_empty() {
        true => host.usual_of_all(&usual)?,
        false => of_every_host(&hosts, &options.paths),
    };
    let (paths, not_found) = host.known(&paths, options.locale.language)?;
    let points = usize::try_from(MOST_POINTS).unwrap_or(usize::MAX);
    let range = Range { from: None, to: None, points };
    let mut chart = host.chart(None, &paths, &range, options.locale.language)?;
    let left_out = chart.series.len().saturating_sub(MOST_SERIES);
    chart.series.truncate(MOST_SERIES);
    let series = chart.series.len();
    let data = packed(&mut chart, about, &found, left_out);
    let text = pack::text(&data).map_err(|error| ReportError::Other(error.to_string()))?;
    Ok(Report { html: page_with(&text)?, series, left_out, not_found })
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
        "{before}{PLACE}{data}{between}<script type=\"application/octet-stream\" id=\"program\">{script}</script>\n\
         <script>{loader}</script>{end}"
    ))
}

/// Paths of a log with several hosts: one without a host means each of them.
fn of_every_host(hosts: &[String], paths: &[String]) -> Vec<String> {
    let is_of_all = |path: &&String| hosts.len() > 1 && path.starts_with('\\') && !path.starts_with("\\\\");
    let each = |path: &String| match is_of_all(&path) {
        true => hosts.iter().map(|host| format!("\\\\{host}{path}")).collect(),
        false => vec![path.clone()],
    };
    paths.iter().flat_map(each).collect()
}

/// What the logs are.
fn summary(log: &Log, options: &ReportOptions) -> Value {
    let summary = log.summary();
    let names = options.logs.iter().filter_map(|path| path.file_name());
    let names: Vec<String> = names.map(|name| visible(&name.to_string_lossy()).into_owned()).collect();
    let hosts: Vec<_> = summary.hosts.iter().map(|host| visible(host)).collect();
    json!({
        "logs": names, "hosts": hosts, "records": summary.records, "columns": log.columns().len(),
        "format": summary.format.info().name, "first": milliseconds(summary.first),
        "last": milliseconds(summary.last), "damage": summary.notes.damage_count,
        "clock": crate::log_host::clock(summary),
        "made": milliseconds(tallymon::clock::now()),
    })
}

/// The length of a JSON text, the text, and the columns: times, then each series.
fn packed(chart: &mut Chart, mut about: Value, found: &Analysis, left_out: usize) -> Vec<u8> {
    let times: Vec<f64> = chart.rows.times.iter().map(|time| milliseconds(*time).round()).collect();
    let mut columns = Vec::new();
    pack::column(&times, 1.0, &mut columns);
    let mut series = Vec::new();
    for ((info, values), statistics) in
        chart.series.iter().zip(&chart.rows.columns).zip(&mut chart.statistics)
    {
        let step = pack::step(values);
        pack::column(values, step, &mut columns);
        let mut one = info.json();
        one["step"] = json!(step);
        one["statistics"] = statistics.json();
        series.push(one);
    }
    about["series"] = json!(series);
    about["points"] = json!(times.len());
    about["decimated"] = json!(chart.rows.is_decimated);
    about["leftOut"] = json!(left_out);
    about["findings"] = found.findings.iter().take(MOST_FINDINGS).map(finding).collect();
    about["moreFindings"] = json!(found.findings.len().saturating_sub(MOST_FINDINGS));
    let text = about.to_string().into_bytes();
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(text);
    bytes.extend(columns);
    bytes
}

fn finding(found: &Finding) -> Value {
    let instances = found.instances.iter().take(MOST_DETAILS).map(|one| {
        let range = |range: &tallymon::analyze::Range| {
            json!({ "from": milliseconds(range.from), "to": milliseconds(range.to), "worst": range.worst })
        };
        let more = one.ranges.len().saturating_sub(MOST_DETAILS) as u64;
        json!({
            "path": visible(&one.path), "worst": one.worst, "usual": one.usual,
            "unit": one.counter_type.suffix().as_str(),
            "ranges": one.ranges.iter().take(MOST_DETAILS).map(range).collect::<Vec<_>>(),
            "more": more.saturating_add(one.more_ranges),
        })
    });
    let causes = found.causes.iter().take(MOST_DETAILS).map(|one| {
        let unit = one.counter_type.suffix().as_str();
        json!({ "name": visible(&one.instance), "during": one.during, "unit": unit })
    });
    json!({
        "title": visible(&found.title), "severity": found.severity.name(), "share": found.share,
        "host": visible(&found.host), "means": found.means, "next": found.next,
        "instances": instances.collect::<Vec<_>>(), "causes": causes.collect::<Vec<_>>(),
    })
}
