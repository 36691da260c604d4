//! What a chart needs: series, rows, statistics; and their JSON.

use std::collections::HashSet;

use serde_json::{Value, json};
use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Absence, NoValue, PartialSum};
use tallymon::core::time::FileTime;
use tallymon::core::title::TitleIndex;
use tallymon::core::visible::visible;
use tallymon::{Names, Reading};
use tallymon_monitor::model::Series;

use crate::decimate::{Aggregate, Rows};
use crate::http::Refused;
use crate::parameters::{Parameters, milliseconds};
use crate::report::Line;
use crate::statistics::Statistics;

/// How many points to send when the page does not say it.
const USUAL_POINTS: u64 = 1_200;
/// The most points of a series in an answer.
pub(crate) const MOST_POINTS: u64 = 20_000;
/// The most counter paths in a request.
pub(crate) const MOST_ASKED: usize = 256;

/// A range of time, and how many points it may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    /// From here on; from the beginning if it is not given.
    pub(crate) from: Option<FileTime>,
    /// Up to here; to the end if it is not given.
    pub(crate) to: Option<FileTime>,
    /// At most so many rows.
    pub(crate) points: usize,
    /// What stretches of time become where there are more rows.
    pub(crate) aggregate: Aggregate,
}

impl Range {
    /// The range of a request.
    pub(crate) fn of(parameters: &Parameters) -> Result<Range, Refused> {
        let points = parameters.number("points")?.unwrap_or(USUAL_POINTS).clamp(2, MOST_POINTS);
        let (from, to) = (parameters.time("from")?, parameters.time("to")?);
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            return Err(Refused::bad_request("from is later than to"));
        }
        let word = parameters.text("agg");
        let aggregate = Aggregate::of(word).ok_or_else(|| {
            let given = visible(word.unwrap_or_default());
            Refused::bad_request(format!("agg={given:?}: minmax or avg is expected"))
        })?;
        Ok(Range { from, to, points: usize::try_from(points).unwrap_or(2), aggregate })
    }
}

/// The paths of a request.
pub(crate) fn paths(parameters: &Parameters) -> Result<Vec<&str>, Refused> {
    let mut paths: Vec<&str> = Vec::new();
    for path in parameters.all("path") {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    match paths.len() {
        0 => Err(Refused::bad_request("the parameter \"path\" is missing")),
        many if many > MOST_ASKED => {
            Err(Refused::bad_request(format!("{many} paths are too many: at most {MOST_ASKED}")))
        }
        _ => Ok(paths),
    }
}

/// What a series is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeriesInfo {
    /// The full path, to ask for it again.
    pub(crate) path: String,
    asked: String,
    object: String,
    counter: String,
    /// Object and counter in English.
    english: [String; 2],
    instance: Option<String>,
    parent: Option<String>,
    counter_type: CounterType,
    scale: i32,
    /// What the newest value lacks, if it is a sum that lacks some of its parts.
    partial: Option<PartialSum>,
    /// Why the newest value of a live series is missing.
    missing: Option<String>,
    /// When the instance of a live series ended.
    ended: Option<FileTime>,
}

/// Why the newest value of a series is missing. One that waits for its second sample lacks nothing.
fn missing(series: &Series) -> Option<String> {
    let waits = |why: &NoValue| matches!(why, NoValue::FirstSample | NoValue::NoData(Absence::FirstSample));
    let why = series.last.as_ref().err().filter(|why| !waits(why));
    why.filter(|_| series.ended.is_none()).map(ToString::to_string)
}

impl SeriesInfo {
    /// Whether it says still what a series in memory is.
    pub(crate) fn is_of(&self, series: &Series) -> bool {
        self.path == series.path && self.ended == series.ended && self.missing == missing(series)
    }

    /// That of a series in memory.
    pub(crate) fn of(series: &Series, names: &Names) -> SeriesInfo {
        let parts = [(series.object, &series.object_name), (series.counter, &series.counter_name)];
        // What a program published that has ended has no name any longer.
        let [object, counter] = parts.map(|(index, known)| name_or(names.name(index), index, known));
        let english = parts.map(|(index, known)| name_or(names.english(index), index, known));
        SeriesInfo {
            path: series.path.clone(),
            asked: series.asked.clone(),
            object,
            counter,
            english,
            instance: series.instance.clone(),
            parent: series.parent.clone(),
            counter_type: series.counter_type,
            scale: series.default_scale,
            partial: series.partial,
            missing: missing(series),
            ended: series.ended,
        }
    }

    /// That of a reading.
    pub(crate) fn of_reading(reading: &Reading, asked: &str, names: &Names) -> SeriesInfo {
        let mut key = reading.instance.clone();
        let parent = key.as_mut().and_then(|key| key.parent.take());
        SeriesInfo {
            path: reading.path.clone(),
            asked: asked.to_string(),
            object: names.name(reading.object),
            counter: names.name(reading.counter),
            english: [reading.object, reading.counter].map(|index| names.english(index)),
            instance: key.map(|key| key.to_string()),
            parent,
            counter_type: reading.definition.counter_type,
            scale: reading.definition.default_scale,
            partial: reading.cell.partial,
            missing: None,
            ended: None,
        }
    }

    /// The requested path, perhaps with wildcards, that gave this series.
    pub(crate) fn asked(&self) -> &str {
        &self.asked
    }

    /// Makes it that of a host which is not the first one of its log.
    pub(crate) fn add_host(&mut self, host: &str) {
        if !self.path.starts_with("\\\\") {
            self.path = format!("\\\\{host}{}", self.path);
        }
        for object in [&mut self.object, &mut self.english[0]] {
            *object = format!("\\\\{host}\\{object}");
        }
    }

    /// Whether it is of the counter of an English path, whatever its instance.
    pub(crate) fn is_of_counter(&self, path: &str) -> bool {
        let [object, counter] = &self.english;
        // The object of another host of a log has the host before its name.
        let object = object.rsplit('\\').next().unwrap_or(object);
        let parts = path.trim_start_matches('\\').split_once('\\');
        parts.is_some_and(|(of, name)| of.split('(').next() == Some(object) && name == counter)
    }

    /// Whether it stands for all instances of its object.
    pub(crate) fn is_sum(&self) -> bool {
        self.instance.as_deref() == Some("_Total")
    }

    /// It as a line of a report, still without numbers.
    pub(crate) fn line(&self) -> Line {
        Line {
            object: visible(&self.object).into_owned(),
            counter: visible(&self.counter).into_owned(),
            instance: self.full_instance(),
            unit: self.counter_type.suffix().as_str(),
            figures: None,
            before: None,
        }
    }

    /// The instance with its parent, as it may be shown.
    fn full_instance(&self) -> Option<String> {
        let instance = visible(self.instance.as_deref()?);
        Some(match &self.parent {
            Some(parent) => format!("{}/{instance}", visible(parent)),
            None => instance.into_owned(),
        })
    }

    /// Names are as they may be shown; paths are as they must be asked for.
    pub(crate) fn json(&self) -> Value {
        json!({
            "path": self.path,
            "asked": self.asked,
            "object": visible(&self.object),
            "counter": visible(&self.counter),
            "objectEnglish": visible(&self.english[0]),
            "counterEnglish": visible(&self.english[1]),
            "instance": self.instance.as_deref().map(visible),
            "parent": self.parent.as_deref().map(visible),
            "type": self.counter_type.to_string(),
            "unit": self.counter_type.suffix().as_str(),
            "scale": self.scale,
            "text": self.counter_type.is_text(),
            "partial": self.partial.map(|sum| sum.to_string()),
            "missing": self.missing.as_deref().map(visible),
            "ended": self.ended.map(milliseconds),
        })
    }
}

/// A name, or the one that was known before if there is only its number.
fn name_or(name: String, index: TitleIndex, known: &str) -> String {
    if is_number(&name, index) { known.to_owned() } else { name }
}

/// Whether a name is only the number of something without a name.
pub(crate) fn is_number(name: &str, index: TitleIndex) -> bool {
    name == index.0.to_string()
}

/// Series with their rows.
#[derive(Debug)]
pub(crate) struct Chart {
    /// The series.
    pub(crate) series: Vec<SeriesInfo>,
    /// Their rows.
    pub(crate) rows: Rows,
    /// Statistics of all values in the range.
    pub(crate) statistics: Vec<Statistics>,
    /// For a live machine: the number of the row that comes next.
    pub(crate) next: Option<u64>,
    /// Of a log: the times of the first and the last row in the range.
    pub(crate) times: Option<(FileTime, FileTime)>,
}

impl Chart {
    /// Keeps at most so many series, the wanted ones before the others, each of them once. Returns how many
    /// are left out.
    pub(crate) fn keep(&mut self, most: usize, wanted: &HashSet<String>) -> usize {
        let mut known = HashSet::new();
        let is_new: Vec<bool> = self.series.iter().map(|one| known.insert(one.path.clone())).collect();
        let count = known.len();
        let (mut stays, mut room) = (vec![false; is_new.len()], most);
        for is_turn_of_wanted in [true, false] {
            for ((stays, series), is_new) in stays.iter_mut().zip(&self.series).zip(&is_new) {
                if room > 0 && *is_new && wanted.contains(&series.path) == is_turn_of_wanted {
                    *stays = true;
                    room = room.saturating_sub(1);
                }
            }
        }
        retain(&mut self.series, &stays);
        retain(&mut self.rows.columns, &stays);
        retain(&mut self.statistics, &stays);
        count.saturating_sub(self.series.len())
    }

    /// Columns: times, and the values of each series; `null` where there is none.
    pub(crate) fn json(&mut self) -> Value {
        let times: Vec<f64> = self.rows.times.iter().map(|time| milliseconds(*time)).collect();
        let mut series = Vec::new();
        for ((info, column), statistics) in
            self.series.iter().zip(&self.rows.columns).zip(&mut self.statistics)
        {
            let mut one = info.json();
            one["values"] = numbers(column);
            one["statistics"] = statistics.json();
            series.push(one);
        }
        json!({
            "times": times, "series": series, "rows": self.rows.of, "decimated": self.rows.is_decimated,
            "agg": self.rows.aggregate.word(), "next": self.next,
        })
    }
}

fn retain<T>(all: &mut Vec<T>, stays: &[bool]) {
    let mut stays = stays.iter();
    all.retain(|_| stays.next().copied().unwrap_or(false));
}

/// Numbers as JSON; `null` for what is none.
pub(crate) fn numbers(values: &[f64]) -> Value {
    values.iter().map(|value| number(*value)).collect()
}

/// A number as JSON: whole ones are written without a fraction.
pub(crate) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(paths: &[&str]) -> Chart {
        let series = paths.iter().map(|path| SeriesInfo {
            path: (*path).to_string(),
            asked: String::new(),
            object: String::new(),
            counter: String::new(),
            english: Default::default(),
            instance: None,
            parent: None,
            counter_type: CounterType::PERF_COUNTER_RAWCOUNT,
            scale: 0,
            partial: None,
            missing: None,
            ended: None,
        });
        let columns = (0..paths.len()).map(|nth| vec![nth as f64]).collect();
        Chart {
            series: series.collect(),
            rows: Rows { columns, ..Rows::default() },
            statistics: paths.iter().map(|_| Statistics::default()).collect(),
            next: None,
            times: None,
        }
    }

    #[test]
    fn wanted_series_are_kept_before_the_others_and_each_once() {
        for (paths, most, wanted, kept, left_out) in [
            (&["a", "b", "c", "x"][..], 9, &["x"][..], &["a", "b", "c", "x"][..], 0),
            (&["a", "b", "c", "x"], 3, &["x"], &["a", "b", "x"], 1),
            (&["a", "b", "c", "b"], 3, &["b"], &["a", "b", "c"], 0),
            // A wanted one that stands among the others is not cut.
            (&["a", "b", "c"], 1, &["b"], &["b"], 2),
            (&["a", "b", "c", "b"], 2, &["c"], &["a", "c"], 1),
            (&["a", "b", "c", "x", "y"], 2, &["x", "y"], &["x", "y"], 3),
            (&["a", "x", "y", "z"], 2, &["x", "y", "z", "nowhere"], &["x", "y"], 2),
            (&[], 2, &[], &[], 0),
        ] {
            let mut chart = chart(paths);
            let wanted = wanted.iter().map(ToString::to_string).collect();
            assert_eq!(chart.keep(most, &wanted), left_out, "{paths:?}");
            let found: Vec<&str> = chart.series.iter().map(|one| one.path.as_str()).collect();
            assert_eq!(found, kept, "{paths:?}");
            for (series, column) in chart.series.iter().zip(&chart.rows.columns) {
                assert_eq!(paths.iter().position(|path| *path == series.path), Some(column[0] as usize));
            }
            assert_eq!(chart.statistics.len(), kept.len());
        }
    }
}
