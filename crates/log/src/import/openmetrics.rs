//! Reads samples of Prometheus as text: OpenMetrics with times, and the output of `promtool tsdb dump`.
//!
//! Both have all samples of a metric or series behind each other, so the whole text is read before its first
//! row. A series becomes a counter of an object with the name of its metric; its labels are the instance.

use std::collections::HashMap;
use std::io::BufRead;

use tallymon_core::time::FileTime;

use super::columns::{Columns, MOST_COLUMNS};
use super::lines::Lines;
use super::reader::Decoder;
use super::table::{Field, Number, RATE, Table, VALUE};
use crate::error::{LogError, LogErrorKind};
use crate::exposition::{self, Sample as Parsed};
use crate::format::Format;
use crate::reader::About;
use crate::zone::Zone;

/// The largest number of samples; each takes 24 bytes.
const MOST_SAMPLES: usize = 1 << 25;

/// Whether a text begins as one of these.
pub(crate) fn detect(head: &[u8]) -> bool {
    let head = head.trim_ascii_start();
    [&b"{__name__=\""[..], b"# TYPE ", b"# HELP ", b"# UNIT "].iter().any(|begin| head.starts_with(begin))
        || is_samples(head)
}

/// Whether the first lines are samples with times and nothing else, as some exporters and scripts write them.
fn is_samples(head: &[u8]) -> bool {
    let whole = head.iter().rposition(|byte| *byte == b'\n').map_or(head, |end| head.split_at(end).0);
    let text = String::from_utf8_lossy(whole.get(..whole.len().min(HEAD_BYTES)).unwrap_or(whole));
    let is_cut = whole.len() > HEAD_BYTES;
    let mut lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if is_cut {
        lines.pop();
    }
    let is_name = |name: &str| {
        name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':'))
    };
    let is_sample = |line: &&str| match exposition::parse(line) {
        Some(exposition::Line::Sample(sample)) => {
            is_name(&sample.name) && sample.time.is_some_and(|time| nanoseconds(time).is_some())
        }
        _ => false,
    };
    lines.retain(|line| !line.starts_with('#'));
    !lines.is_empty() && lines.iter().all(is_sample)
}

/// How many bytes [`is_samples`] looks at.
const HEAD_BYTES: usize = 4096;

/// One time series.
struct Series {
    name: String,
    labels: String,
    counts_up: bool,
}

/// One sample: nanoseconds since 1970, its series, and the bits of its value.
type Sample = (i64, u32, f64);

/// Gives the rows of samples that were read.
pub(crate) struct OpenMetricsDecoder {
    series: Vec<Series>,
    samples: std::iter::Peekable<std::vec::IntoIter<Sample>>,
}

/// The labels as the instance.
fn labels_of(parsed: &Parsed<'_>) -> String {
    let texts: Vec<String> = parsed.labels.iter().map(|(label, text)| format!("{label}={text}")).collect();
    texts.join(",")
}

/// Nanoseconds since 1970. OpenMetrics has seconds, Prometheus' own text and its dump milliseconds.
fn nanoseconds(text: &str) -> Option<i64> {
    match text.parse::<i64>() {
        Ok(whole) if whole.unsigned_abs() >= 100_000_000_000 => whole.checked_mul(1_000_000),
        Ok(seconds) => seconds.checked_mul(1_000_000_000),
        Err(_) => {
            let (seconds, part) = text.split_once('.')?;
            let part: String = part.chars().chain(std::iter::repeat('0')).take(9).collect();
            let seconds: i64 = seconds.parse().ok()?;
            seconds.checked_mul(1_000_000_000)?.checked_add(part.parse().ok()?)
        }
    }
}

impl OpenMetricsDecoder {
    /// Reads all samples.
    pub(crate) fn open(input: impl BufRead) -> Result<(OpenMetricsDecoder, Columns), LogError> {
        let mut columns = Columns::new(About::new(Format::OpenMetrics));
        columns.about.zone = Zone::Fixed { name: "UTC".to_owned(), bias: 0 };
        columns.keeps_old = true;
        let mut lines = Lines::new(input);
        let mut types: HashMap<String, bool> = HashMap::new();
        let mut by_name: HashMap<(String, String), u32> = HashMap::new();
        let mut series: Vec<Series> = Vec::new();
        let mut samples: Vec<Sample> = Vec::new();
        let mut without_time = 0u64;
        while let Some(line) = lines.next()? {
            let parsed = match exposition::parse(&line.text) {
                Some(exposition::Line::Sample(sample)) => sample,
                Some(exposition::Line::Type { name, kind }) => {
                    types.insert(name.to_owned(), kind == "counter");
                    continue;
                }
                Some(_) => continue,
                None => {
                    let words = "this is no sample like name{label=\"text\"} value time; it is left out";
                    columns.damage_line(line.byte, line.number, words.to_owned());
                    continue;
                }
            };
            let value = parsed.number();
            let Some(time) = parsed.time.and_then(nanoseconds) else {
                without_time = without_time.saturating_add(1);
                continue;
            };
            let labels = labels_of(&parsed);
            let name = parsed.name;
            let counted = ["_total", "_count", "_sum", "_bucket"].iter().any(|end| name.ends_with(end));
            let family = name.strip_suffix("_total").unwrap_or(&name);
            let counts_up =
                types.get(&name).or_else(|| types.get(family)).copied().unwrap_or(false) || counted;
            let next = u32::try_from(series.len()).unwrap_or(u32::MAX);
            let key = (name, labels);
            let id = match by_name.get(&key) {
                Some(id) => *id,
                None if series.len() < MOST_COLUMNS => {
                    let (name, labels) = key.clone();
                    series.push(Series { name, labels, counts_up });
                    by_name.insert(key, next);
                    next
                }
                None => {
                    let words = format!("more than {MOST_COLUMNS} series; this sample is left out");
                    columns.damage_line(line.byte, line.number, words);
                    continue;
                }
            };
            if samples.len() >= MOST_SAMPLES {
                let words = format!("more than {MOST_SAMPLES} samples; reading ends here");
                columns.damage_line(line.byte, line.number, words);
                break;
            }
            samples.push((time, id, value));
        }
        if samples.is_empty() && without_time > 0 {
            let words = "metrics without times are one moment, not a log; OpenMetrics with times and the \
                         output of `promtool tsdb dump` are read";
            return Err(LogError::new(LogErrorKind::NotALog(words.to_owned())));
        }
        if without_time > 0 {
            columns.about.notes.remark(format!("{without_time} samples without a time are left out"));
        }
        samples.sort_by_key(|(time, id, _)| (*time, *id));
        Ok((OpenMetricsDecoder { series, samples: samples.into_iter().peekable() }, columns))
    }
}

impl Decoder for OpenMetricsDecoder {
    fn next(&mut self, columns: &mut Columns) -> Result<Option<(FileTime, i32)>, LogError> {
        let mut row: Option<FileTime> = None;
        // Targets are asked at different times: a row ends when a series comes again.
        while let Some((time, id, value)) =
            self.samples.next_if(|(_, id, _)| row.is_none() || !columns.is_seen(*id))
        {
            let Some(time) = FileTime::from_unix_nanoseconds(i128::from(time)) else { continue };
            if row.is_none() {
                columns.begin(time, time.0);
                row = Some(time);
            } else {
                columns.at(time, time.0);
            }
            columns.seen(id);
            let Some(series) = usize::try_from(id).ok().and_then(|id| self.series.get(id)) else { continue };
            let (name, own) = if series.counts_up { ("Rate/sec", RATE) } else { ("Value", VALUE) };
            // A sample that is not a number marks the end of a series.
            let number = value.is_finite().then_some(Number::F64(value));
            let table = Table { group: &series.name, own: &series.name, rows: &[] };
            let instance =
                (!series.labels.is_empty()).then_some((series.labels.as_str(), series.labels.as_str()));
            columns.put(&table, 0, instance, &[Field { name, number, own, source: id }]);
        }
        Ok(row.map(|time| (time, 0)))
    }
}
