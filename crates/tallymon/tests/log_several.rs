//! Several logs joined to one: the values of each, on one time axis.
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

use std::path::PathBuf;

use tallymon::core::flow::{NoValue, Value};
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon::log::ReadOptions;
use tallymon::log::relog::{Options, relog};
use tallymon::log::{Format, Selection};
use tallymon::{Log, Query};
use tallymon_testkit::{Scratch, shared};

/// All rows of a log with their values, read from the begin.
type Rows = Vec<(FileTime, Vec<Result<Value, NoValue>>)>;

fn rows(log: &Log, columns: &[usize], from: FileTime) -> Rows {
    let mut rows = Vec::new();
    log.read_from(
        columns,
        from,
        || true,
        |time, row| {
            rows.push((time, row.values.to_vec()));
            true
        },
    )
    .unwrap();
    rows
}

fn number(number: f64) -> Result<Value, NoValue> {
    Ok(Value::Number(number))
}

/// A text log of a host with seconds and the values of one counter.
fn text(folder: &Scratch, name: &str, path: &str, rows: &[(&str, u32)]) -> PathBuf {
    let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"{path}\"\n");
    for (time, value) in rows {
        text += &format!("\"01/02/2020 03:{time}\",\"{value}\"\n");
    }
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    file
}

/// A log of Windows cut into two logs of different formats, and a third with one of its columns: joined
/// they equal the whole.
#[test]
fn pieces_of_a_log_join_to_the_whole() {
    let Some(blg) = shared("logs/PAL_SampleLog.blg") else { return };
    let whole = Log::open(&blg, &ReadOptions::default()).unwrap();
    let columns: Vec<usize> = (0..whole.columns().len()).collect();
    let all = rows(&whole, &columns, FileTime(0));
    let (first, middle) = (whole.summary().first, all.get(all.len() / 2).unwrap().0);
    let folder = Scratch::new();
    let cut = |name: &str, format, from, to| {
        let file = folder.join(name);
        let [from, to] = [from, to].map(|time: Option<FileTime>| time.map(Into::into));
        let select = Selection { from, to, ..Selection::default() };
        relog(std::slice::from_ref(&blg), &file, &Options { format, select, ..Options::default() }).unwrap();
        file
    };
    let one = cut("one.tally", Format::Tally, None, Some(FileTime(middle.0 - 1)));
    let other = cut("other.blg", Format::Blg, Some(middle), None);
    // The order of the names does not matter.
    let joined = Log::open_all(&[&other, &one], &ReadOptions::default()).unwrap();
    assert_eq!(joined.parts().iter().map(Log::path).collect::<Vec<_>>(), [one.as_path(), other.as_path()]);
    assert_eq!(joined.summary().hosts, whole.summary().hosts);
    assert_eq!((joined.summary().first, joined.summary().last), (first, whole.summary().last));
    assert_eq!(joined.summary().records, all.len() as u64);
    assert_eq!(joined.columns().len(), whole.columns().len());
    let again = rows(&joined, &columns, FileTime(0));
    assert_eq!(again.len(), all.len());
    let mut compared = 0;
    for ((time, values), (known, wanted)) in again.iter().zip(&all) {
        assert_eq!(time, known);
        for (column, wanted) in columns.iter().zip(wanted) {
            let path = &whole.columns().get(*column).unwrap().path;
            let at = joined.columns().iter().position(|column| column.path == *path).unwrap();
            // Each log has a first sample, so rates start over.
            if *time != middle {
                assert_eq!(values.get(at).unwrap(), wanted, "{path} at {time:?}");
                compared += usize::from(wanted.is_ok());
            }
        }
    }
    assert!(compared > 1_000, "{compared}");
}

/// Two hosts whose clocks differ by less than an interval: both have a value in each row. The values of a
/// slower log stay, and a log that ends leaves a gap.
#[test]
fn hosts_share_rows_and_ended_logs_have_no_values() {
    let folder = Scratch::new();
    let quick: Vec<(String, u32)> = (0..40).map(|second| (format!("00:{second:02}.100"), second)).collect();
    let quick: Vec<(&str, u32)> = quick.iter().map(|(time, value)| (time.as_str(), *value)).collect();
    let quick = text(&folder, "quick.csv", r"\\a\Memory\Available Bytes", &quick);
    let near = [("00:00.300", 100), ("00:01.300", 101), ("00:02.300", 102), ("00:03.300", 103)];
    let near = text(&folder, "near.csv", r"\\b\Memory\Available Bytes", &near);
    let slow = [("00:05.200", 7), ("00:15.200", 8), ("00:25.200", 9)];
    let slow = text(&folder, "slow.csv", r"\\c\Memory\Available Bytes", &slow);
    let log = Log::open_all(&[quick, near, slow], &ReadOptions::default()).unwrap();
    assert_eq!(log.summary().hosts, ["a", "b", "c"]);
    assert!(log.overlaps().is_empty(), "they are of different hosts");
    let all = rows(&log, &[0, 1, 2], FileTime(0));
    assert_eq!(all.len(), 40, "one row a second");
    assert_eq!(log.summary().records, 40);
    let gap = || Err(NoValue::NoInstance);
    let values = |nth: usize| all.get(nth).unwrap().1.clone();
    assert_eq!(values(0), [number(0.0), number(100.0), gap()]);
    assert_eq!(values(3), [number(3.0), number(103.0), gap()]);
    assert_eq!(values(4), [number(4.0), gap(), gap()], "it has ended");
    assert_eq!(values(5), [number(5.0), gap(), number(7.0)]);
    assert_eq!(values(6), [number(6.0), gap(), number(7.0)]);
    assert_eq!(values(14), [number(14.0), gap(), number(7.0)]);
    assert_eq!(values(15), [number(15.0), gap(), number(8.0)]);
    assert_eq!(values(30), [number(30.0), gap(), number(9.0)], "a value stays until the next");
    assert_eq!(values(31), [number(31.0), gap(), gap()]);

    // Reading from the middle gives the same rows, and so does seeking to the time of each.
    let from = all.get(20).unwrap().0;
    let later: Rows = rows(&log, &[0, 1, 2], from).into_iter().filter(|(time, _)| *time >= from).collect();
    assert_eq!(later, all.get(20..).unwrap());
    let hosts = ["a", "b", "c"].map(|name| log.of_host(name).unwrap());
    let queries = hosts.map(|host| {
        let mut query = Query::new(Box::new(host.source()), Language::ENGLISH).unwrap();
        let handle = query.add(r"\Memory\Available Bytes").unwrap();
        (query, handle)
    });
    let mut queries = queries;
    for (time, values) in all.iter().rev() {
        log.set_time(*time);
        for ((query, handle), wanted) in queries.iter_mut().zip(values) {
            query.collect().unwrap();
            let readings = query.readings();
            let found = readings.iter().find(|reading| reading.handle == *handle).unwrap();
            assert_eq!(found.cell.value.is_ok(), wanted.is_ok(), "{time:?}");
            if wanted.is_ok() {
                assert_eq!(found.cell.value, *wanted, "{time:?}");
            }
        }
    }
    // Record by record.
    log.rewind();
    let mut times = Vec::new();
    while let Some(time) = log.advance(FileTime(0), FileTime(u64::MAX), 0).unwrap() {
        times.push(time);
    }
    assert_eq!(times, all.iter().map(|(time, _)| *time).collect::<Vec<_>>());
}

/// The same counter of the same host in two logs: the first log gives the values as long as it goes on.
#[test]
fn the_first_of_two_overlapping_logs_gives_the_values() {
    let folder = Scratch::new();
    let one = [("00:00.000", 1), ("00:01.000", 2), ("00:02.000", 3), ("00:03.000", 4)];
    let one = text(&folder, "one.csv", r"\\a\Memory\Available Bytes", &one);
    let other =
        [("00:02.100", 30), ("00:03.100", 40), ("00:04.100", 50), ("00:09.100", 60), ("00:10.100", 70)];
    // Case is ignored.
    let other = text(&folder, "other.csv", r"\\A\memory\Available Bytes", &other);
    let log = Log::open_all(&[&one, &other], &ReadOptions::default()).unwrap();
    assert_eq!(log.columns().len(), 1);
    let values: Vec<_> = rows(&log, &[0], FileTime(0)).into_iter().map(|(_, values)| values).collect();
    let values: Vec<Option<f64>> =
        values.iter().map(|row| row[0].as_ref().ok().and_then(Value::as_f64)).collect();
    // The pause between the logs has no values.
    let wanted = [Some(1.0), Some(2.0), Some(3.0), Some(4.0), Some(50.0), None, Some(60.0), Some(70.0)];
    assert_eq!(values, wanted);
    let [overlap] = log.overlaps() else { panic!("{:?}", log.overlaps()) };
    assert_eq!((overlap.taken.as_path(), overlap.other.as_path(), overlap.counters), (&*one, &*other, 1));
    assert_eq!(overlap.first, log.parts().get(1).unwrap().summary().first);
    assert_eq!(overlap.last, log.parts().first().unwrap().summary().last);
}

/// Two logs of one counter, an hour apart.
#[test]
fn a_pause_between_logs_is_a_row_without_values() {
    let folder = Scratch::new();
    let one = text(&folder, "one.csv", r"\\a\Memory\Available Bytes", &[("00:00.000", 1), ("00:01.000", 2)]);
    let other =
        text(&folder, "other.csv", r"\\a\Memory\Available Bytes", &[("59:00.000", 3), ("59:01.000", 4)]);
    let log = Log::open_all(&[&other, &one], &ReadOptions::default()).unwrap();
    let all = rows(&log, &[0], FileTime(0));
    let values: Vec<_> = all.iter().map(|(_, values)| values[0].clone()).collect();
    let gap = Err(NoValue::NoInstance);
    assert_eq!(values, [number(1.0), number(2.0), gap, number(3.0), number(4.0)]);
    assert_eq!(log.summary().records, 5);
    let since = |nth: usize| all.get(nth).unwrap().0.0 - log.summary().first.0;
    assert!(since(2) > since(1) && since(2) < since(1) + 10_000_000, "it begins where the first log ends");
    // Seeking into the pause finds no values either.
    log.set_time(all.get(2).unwrap().0);
    assert!(log.reading(0).unwrap().unwrap().cell.value.is_err());
}

#[test]
fn joining_one_log_changes_nothing_and_none_is_an_error() {
    let folder = Scratch::new();
    let one = text(&folder, "one.csv", r"\\a\Memory\Available Bytes", &[("00:00.000", 1)]);
    let log = Log::open_all(&[&one], &ReadOptions::default()).unwrap();
    assert_eq!((log.parts().len(), log.summary().records), (1, 1));
    assert!(log.overlaps().is_empty());
    assert!(Log::open_all::<PathBuf>(&[], &ReadOptions::default()).is_err());
    let missing = folder.join("missing.blg");
    let error = Log::open_all(&[one, missing], &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("missing.blg"), "{error}");
}
