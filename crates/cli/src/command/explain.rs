//! `tally explain`: explains a counter's meaning, formula and current raw values.

use std::io::Write;

use serde_json::json;
use tallymon::core::counter;
use tallymon::{Explanation, Query, Reading, explain};

use super::collect;
use crate::arguments::{Common, Explain, Naming};
use crate::border;
use crate::exit::{Failure, Kind, kind_of};
use crate::log_hosts::LogHosts;
use crate::output::json_value;
use crate::paths;
use crate::words::{line_width, visible, wrap};

/// Columns before a text, which its title takes.
const INDENT: usize = 18;

/// The name of a detail level that NT does not define.
const UNKNOWN: &str = "unknown";

pub(crate) fn run(common: &Common, arguments: &Explain) -> Result<(), Failure> {
    if let Some(mut log) = LogHosts::at(common, &arguments.of_log, &arguments.time, Naming::default())? {
        log.add(std::slice::from_ref(&arguments.path))?;
        let time = log.collect()?;
        log.say_record(time, &arguments.time);
        let readings = log.readings()?;
        let Some((host, first)) = log.first_of(&readings) else {
            return Err(no_match(arguments, " --log FILE"));
        };
        return print(arguments, &host.query, Some(&host.prefix), &first, readings.len());
    }
    let mut query = paths::query_of(common, std::slice::from_ref(&arguments.path))?;
    paths::add(&mut query, &arguments.path)?;
    collect(&mut query, common.file.is_none(), arguments.interval)?;
    let readings = query.readings();
    let Some(first) = readings.first() else { return Err(no_match(arguments, "")) };
    print(arguments, &query, None, first, readings.len())
}

fn no_match(arguments: &Explain, home: &str) -> Failure {
    let words = format!(
        "{}: no instance matches; 'tally list OBJECT --instances{home}' lists the instances",
        arguments.path
    );
    Failure::new(Kind::NotFound, words)
}

/// Explains the first of `matches` readings of a query. For a log, `host` is the host part of its path, which
/// may be empty.
fn print(
    arguments: &Explain,
    query: &Query,
    host: Option<&str>,
    reading: &Reading,
    matches: usize,
) -> Result<(), Failure> {
    let object = query.catalog().object(reading.object);
    let object_help = object.and_then(|object| query.names().help(object.help));
    let mut explanation = explain(reading, query.names(), object_help);
    explanation.path.insert_str(0, host.unwrap_or_default());
    explanation.local_path.insert_str(0, host.unwrap_or_default());
    // A log does not say how much a user has to know.
    let detail = Some(explanation.detail).filter(|detail| host.is_none() && *detail != UNKNOWN);
    let mut out = border::stdout();
    if arguments.json {
        writeln!(out, "{}", border::json(&as_json(&explanation, detail)))?;
    } else {
        let value = match &explanation.value {
            Ok(value) => {
                let shown = counter::human(value, reading.definition.counter_type).to_string();
                format!("{shown} {}", explanation.unit)
            }
            Err(why) => format!("none: {why} ({})", why.pdh_status().name),
        };
        let power = explanation.default_scale;
        let mut lines = vec![
            ("path", explanation.path.clone()),
            ("in your language", explanation.local_path.clone()),
            ("by index", explanation.index_path.clone()),
            ("object", explanation.object_help.clone().unwrap_or_default()),
            ("counter", explanation.help.clone().unwrap_or_default()),
            ("type", format!("{}: {}", explanation.counter_type, explanation.meaning)),
            ("formula", explanation.formula.to_string()),
            ("with the numbers", explanation.numbers.clone().unwrap_or_default()),
            ("value", value),
            ("in charts", if power == 0 { String::new() } else { format!("times 10^{power}") }),
            ("for", detail.map(|detail| format!("{detail} users")).unwrap_or_default()),
        ];
        if explanation.local_path == explanation.path {
            lines.remove(1);
        }
        for (title, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
            for (number, line) in wrap(&visible(text), INDENT, line_width()).iter().enumerate() {
                let title = if number == 0 { title } else { "" };
                writeln!(out, "{title:>16}  {line}")?;
            }
        }
        if matches > 1 {
            writeln!(out, "{:>16}  this is the first of {} matches", "", matches)?;
        }
    }
    match &explanation.value {
        Err(why) => Err(Failure::silent(kind_of(*why))),
        Ok(_) => Ok(()),
    }
}

fn as_json(explanation: &Explanation, detail: Option<&str>) -> serde_json::Value {
    let (value, status) = match &explanation.value {
        Ok(value) => (json_value(value), None),
        Err(why) => (serde_json::Value::Null, Some((why.pdh_status().name, why.to_string()))),
    };
    json!({
        "path": explanation.path,
        "local_path": explanation.local_path,
        "index_path": explanation.index_path,
        "object_help": explanation.object_help,
        "help": explanation.help,
        "type": explanation.counter_type,
        "meaning": explanation.meaning,
        "unit": explanation.unit,
        "formula": explanation.formula,
        "numbers": explanation.numbers,
        "value": value,
        "status": status.as_ref().map(|(name, _)| name),
        "reason": status.as_ref().map(|(_, reason)| reason),
        "scale": explanation.default_scale,
        "detail": detail,
    })
}
