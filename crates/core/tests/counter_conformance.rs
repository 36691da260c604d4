//! One file of rows per counter type: two samples in, a value or the name of the reason out.
//!
//! Another program (in Python, from the documented equations) computed the expected texts, except in rows
//! that say that Windows printed them. A new type in the table needs a new file.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tallymon_core::counter::{TYPES, TypeInfo, compute, g17};
use tallymon_core::flow::{Sample, Value};
use tallymon_core::time::{FileTime, Frequency};

const HEAD: &str = "first0,second0,first1,second1,frequency,multi_count,expected,why";

/// Files in the same folder with another subject.
const OTHERS: [&str; 1] = ["printf.csv"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/counters")
}

#[test]
fn every_type_gives_the_results_in_its_file() {
    let mut wrong = String::new();
    for info in TYPES {
        let path = folder().join(format!("{}.csv", info.name));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(HEAD), "{}", path.display());
        let mut rows = 0;
        for (index, line) in lines.enumerate() {
            let (found, expected) = row(info, line);
            if found != expected {
                wrong +=
                    &format!("{}.csv:{}: expected {expected}, found {found}: {line}\n", info.name, index + 2);
            }
            rows += 1;
        }
        assert!(rows >= 6, "{} has {rows} rows", info.name);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_file_belongs_to_a_type() {
    for entry in fs::read_dir(folder()).expect("the folder exists") {
        let name = entry.expect("readable").file_name().into_string().expect("a name of letters");
        let known = TYPES.iter().any(|info| format!("{}.csv", info.name) == name);
        assert!(known || OTHERS.contains(&name.as_str()), "{name}");
    }
}

/// The result of a row, and the expected one.
fn row<'a>(info: &TypeInfo, line: &'a str) -> (String, &'a str) {
    let fields: Vec<&str> = line.split(',').collect();
    let [first0, second0, first1, second1, frequency, multi_count, expected, _] = fields[..] else {
        panic!("8 columns are needed: {line}");
    };
    let sample = |first: &str, second: &str| Sample {
        counter_type: info.value,
        first: number(first, line),
        second: number(second, line),
        frequency: Frequency(number(frequency, line)),
        multi_count: number(multi_count, line),
        time: FileTime(0),
    };
    // A row without an older sample leaves its columns empty.
    let older = (!first0.is_empty()).then(|| sample(first0, second0));
    let found = match compute(older.as_ref(), &sample(first1, second1)) {
        Ok(Value::Number(number)) => format!("number {}", g17(number)),
        Ok(Value::Integer(integer)) => format!("integer {integer}"),
        Ok(other) => format!("{other:?}"),
        Err(reason) => format!("{reason:?}"),
    };
    (found, expected)
}

fn number<T: FromStr>(text: &str, line: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number of this column: {line}"))
}
