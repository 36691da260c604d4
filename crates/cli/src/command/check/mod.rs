//! `tally check`: counters compared with ranges, printed as a Monitoring Plugin.

mod previous;

use std::io::Write;

use tallymon::core::counter::{self, Suffix};
use tallymon::core::flow::{NoValue, Value};
use tallymon::{CounterHandle, Query, Reading};
use tallymon_export::check::{PerformanceData, Range, State, state};

use super::{collect, collect_again};
use crate::arguments::{Check, Common};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::paths;
use crate::words::visible;

use previous::PreviousSamples;

/// How many values are named before the performance data, worst first.
const MOST_NAMED: usize = 5;

/// The answer that there is none, as a plugin says it.
pub(crate) fn unknown(words: &str) -> Failure {
    // Whoever reads standard output may be gone.
    let _ = writeln!(border::stdout(), "{} - {}", State::Unknown, words.replace('|', " "));
    Failure::with_code(State::Unknown.code())
}

pub(crate) fn run(common: &Common, check: &Check) -> Result<(), Failure> {
    answer(common, check).map_err(|failure| match failure.message {
        Some(message) => unknown(&message),
        None => failure,
    })
}

fn answer(common: &Common, check: &Check) -> Result<(), Failure> {
    let ranges = |name: &str, given: &[Range]| match given.len() {
        0 | 1 => Ok(()),
        count if count == check.paths.len() => Ok(()),
        count => {
            let paths = check.paths.len();
            let words =
                format!("--{name} is given {count} times; give it once, or once for each of {paths} paths");
            Err(Failure::new(Kind::Usage, words))
        }
    };
    ranges("warning", &check.warning)?;
    ranges("critical", &check.critical)?;
    let mut query = paths::query_of(common, &check.paths)?;
    let mut handles = Vec::with_capacity(check.paths.len());
    for path in &check.paths {
        handles.push(paths::add(&mut query, path)?);
    }
    let is_live = common.file.is_none();
    let readings = match check.since_last.filter(|_| is_live) {
        None => {
            collect(&mut query, is_live, check.interval)?;
            query.readings()
        }
        Some(longest) => {
            query.collect()?;
            // The samples of a host are kept apart from those of the others.
            let mut key = check.paths.clone();
            key.extend(common.host.iter().map(|host| format!("host {host}")));
            let kept = PreviousSamples::load(&key);
            let now = query.readings();
            let readings = match kept.since(now, longest) {
                Some(readings) => readings,
                None => {
                    collect_again(&mut query, is_live, check.interval)?;
                    query.readings()
                }
            };
            kept.replace(&readings)?;
            readings
        }
    };
    print(&query, check, &handles, &readings)
}

/// Prints one line and ends with the code of the worst state.
fn print(
    query: &Query,
    check: &Check,
    handles: &[CounterHandle],
    readings: &[Reading],
) -> Result<(), Failure> {
    let mut results = Vec::new();
    for (position, handle) in handles.iter().enumerate() {
        let (warning, critical) = (range(&check.warning, position), range(&check.critical, position));
        let before = results.len();
        for reading in readings.iter().filter(|reading| reading.handle == *handle) {
            results.push(judged(reading, warning, critical));
        }
        if results.len() == before {
            let path = query.path(*handle).to_owned();
            let words = format!("{}: {}", visible(&path), NoValue::NoInstance);
            results.push((State::Unknown, words, String::new()));
        }
    }
    let worst = results.iter().map(|(state, ..)| *state).max().unwrap_or(State::Unknown);
    let mut named: Vec<_> = results.iter().filter(|(state, ..)| *state == worst).collect();
    let more = named.len().saturating_sub(MOST_NAMED);
    named.truncate(MOST_NAMED);
    let mut line = named.iter().map(|(_, words, _)| words.replace('|', " ")).collect::<Vec<_>>().join(", ");
    if more > 0 {
        line.push_str(&format!(", and {more} more"));
    }
    let data: Vec<&str> =
        results.iter().map(|(_, _, data)| data.as_str()).filter(|data| !data.is_empty()).collect();
    writeln!(border::stdout(), "{worst} - {line} | {}", data.join(" "))?;
    match worst {
        State::Ok => Ok(()),
        state => Err(Failure::with_code(state.code())),
    }
}

/// The range of a path: one stands for all.
fn range(given: &[Range], position: usize) -> Option<&Range> {
    match given {
        [one] => Some(one),
        many => many.get(position),
    }
}

/// The state of a value, its words, and its performance data.
fn judged(reading: &Reading, warning: Option<&Range>, critical: Option<&Range>) -> (State, String, String) {
    let suffix = reading.definition.counter_type.suffix();
    let unit = match suffix {
        Suffix::Percent => "%",
        Suffix::Seconds => "s",
        Suffix::PerSecond | Suffix::None => "",
    };
    let label = visible(&reading.path);
    let (state, words, value) = match &reading.cell.value {
        Ok(Value::Text(text)) => {
            (State::Unknown, format!("is the text {:?}, no number", visible(text)), None)
        }
        Ok(value) => {
            let number = value.as_f64().unwrap_or(f64::NAN);
            let shown = counter::human(value, reading.definition.counter_type);
            (state(number, warning, critical), format!("= {shown}{}", suffix.as_str()), Some(number))
        }
        // An average of no operations is a result: nothing was slow.
        Err(NoValue::NoOperations) => {
            (state(0.0, warning, critical), "= 0 (no operations)".into(), Some(0.0))
        }
        Err(why) => (State::Unknown, format!("has no value: {why}"), None),
    };
    let data = PerformanceData { label: &label, value, unit, warning, critical };
    (state, format!("{label} {words}"), data.to_string())
}
