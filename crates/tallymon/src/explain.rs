//! What a counter means: its words, its type, and its formula with the numbers of the last two samples in it.

use tallymon_core::block::CounterDefinition;
use tallymon_core::counter::{CounterType, Formula};
use tallymon_core::flow::{NoValue, Sample, Value};
use tallymon_core::title::TitleIndex;

use crate::names::Names;
use crate::query::Reading;

/// The explanation of one counter and its last value.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Full path in English.
    pub path: String,
    /// The path by index, the same on every machine and in every language.
    pub index_path: String,
    /// The name of object and counter in the user's language.
    pub local_path: String,
    /// Help text of the object.
    pub object_help: Option<String>,
    /// Help text of the counter.
    pub help: Option<String>,
    /// Name of the counter type.
    pub counter_type: String,
    /// What the type means, in one line.
    pub meaning: &'static str,
    /// The unit behind the value: `/sec`, `%`, `secs`, or nothing.
    pub unit: &'static str,
    /// The formula with its letters.
    pub formula: &'static str,
    /// The formula with the numbers of the last two samples.
    pub numbers: Option<String>,
    /// The value, or why there is none.
    pub value: Result<Value, NoValue>,
    /// Power of ten for charts.
    pub default_scale: i32,
    /// How much a user has to know to use the counter.
    pub detail: &'static str,
}

/// Explains a reading.
pub fn explain(reading: &Reading, names: &Names, object_help: Option<&str>) -> Explanation {
    let definition = &reading.definition;
    let info = definition.counter_type.info();
    let formula = match (info, Formula::of(definition.counter_type)) {
        (Some(info), _) => info.formula,
        (None, Some(_)) => "N1",
        (None, None) => "none is known for this type",
    };
    // A log source gives computed values, whose raw numbers the formula does not have.
    let raw = reading.cell.sample.filter(|sample| sample.counter_type == definition.counter_type);
    let numbers = raw.map(|sample| filled_in(formula, reading.older.as_ref(), &sample));
    Explanation {
        path: reading.path.clone(),
        index_path: index_path(reading, definition),
        local_path: reading.local_path(names),
        object_help: object_help.map(str::to_string),
        help: names.help(definition.help).map(str::to_string),
        counter_type: definition.counter_type.to_string(),
        meaning: info.map_or("this type is not described", |info| info.summary),
        unit: definition.counter_type.suffix().as_str(),
        formula,
        numbers,
        value: reading.cell.value.clone(),
        default_scale: definition.default_scale,
        detail: definition.detail_level.name(),
    }
}

fn index_path(reading: &Reading, definition: &CounterDefinition) -> String {
    let TitleIndex(object) = reading.object;
    join(&object.to_string(), reading, &definition.name.0.to_string())
}

fn join(object: &str, reading: &Reading, counter: &str) -> String {
    match &reading.instance {
        Some(instance) => format!("\\{object}({instance})\\{counter}"),
        None => format!("\\{object}\\{counter}"),
    }
}

/// Replaces the letters of a formula by numbers: N0, N1 (value before and now), D0, D1 (clock), B0, B1
/// (base), F (frequency).
///
/// A letter whose number is not known stays a letter.
fn filled_in(formula: &str, older: Option<&Sample>, newer: &Sample) -> String {
    let mut text = String::with_capacity(formula.len());
    let mut rest = formula;
    while let Some(letter) = rest.chars().next() {
        let token: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        let number = match token.as_str() {
            "N1" => Some(number(newer)),
            "N0" => older.map(number),
            "D1" | "B1" => Some(newer.second.to_string()),
            "D0" | "B0" => older.map(|older| older.second.to_string()),
            "F" => Some(newer.frequency.0.to_string()),
            "M1" => Some(newer.multi_count.to_string()),
            _ => None,
        };
        match number {
            Some(number) => text.push_str(&number),
            None if token.is_empty() => text.push(letter),
            None => text.push_str(&token),
        }
        rest = rest
            .get(token.len().max(if token.is_empty() { letter.len_utf8() } else { 0 })..)
            .unwrap_or_default();
    }
    text
}

/// The raw value of a sample. A value that was computed before is stored as the bits of a double.
fn number(sample: &Sample) -> String {
    match sample.counter_type {
        CounterType::PERF_DOUBLE_RAW => f64::from_bits(sample.first).to_string(),
        _ => sample.first.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_core::time::{FileTime, Frequency};

    #[test]
    fn replaces_letters_by_numbers() {
        let sample = |first, second| Sample {
            counter_type: CounterType(0x1041_0400),
            first,
            second,
            frequency: Frequency(10),
            multi_count: 1,
            time: FileTime(0),
        };
        let formula = "(N1 - N0) / ((D1 - D0) / F)";
        assert_eq!(
            filled_in(formula, Some(&sample(5, 100)), &sample(9, 140)),
            "(9 - 5) / ((140 - 100) / 10)"
        );
        assert_eq!(filled_in(formula, None, &sample(9, 140)), "(9 - N0) / ((140 - D0) / 10)");
        let computed = Sample { counter_type: CounterType::PERF_DOUBLE_RAW, ..sample(17.5f64.to_bits(), 0) };
        assert_eq!(filled_in("N1", None, &computed), "17.5");
        assert_eq!(filled_in("NONE N1x é", None, &sample(1, 2)), "NONE N1x é");
    }
}
