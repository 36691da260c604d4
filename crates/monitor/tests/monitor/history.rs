//! The history: rows, gaps, statistics, instances, and the memory budget.

use tallymon::Query;
use tallymon::core::flow::NoValue;
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::core::title::{Language, TitleIndex};
use tallymon_monitor::model::{Monitor, POINT_BYTES, Scale, Top};

use crate::fake::{Bench, Fake, START, Script};
use std::sync::Arc;

fn monitor(paths: &[&str], budget: usize) -> (Arc<Script>, Query, Monitor) {
    let script = Arc::new(Script::default());
    *script.processes.lock() = vec!["a", "b", "_Total"];
    let mut query = Query::new(Box::new(Fake(Arc::clone(&script))), Language::ENGLISH).unwrap();
    for path in paths {
        query.add(path).unwrap();
    }
    (script, query, Monitor::new(budget))
}

fn take(script: &Script, query: &mut Query, monitor: &mut Monitor, rows: u64) {
    for _ in 0..rows {
        let time = query.collect().unwrap();
        monitor.take(time, query, &query.readings());
        script.step.set(script.step.get() + 1);
    }
}

#[test]
fn statistics_are_of_the_rows_in_view() {
    let (script, mut query, mut monitor) = monitor(&[r"\System\Processor Queue Length"], 1 << 20);
    take(&script, &mut query, &mut monitor, 30);
    let series = &monitor.series()[0];
    let values: Vec<f64> = (0..30).map(|row| series.at(monitor.next(), row).unwrap().unwrap()).collect();
    let statistics = monitor.statistics(series);
    assert_eq!(statistics.count, 30);
    assert_eq!(statistics.last, values.last().copied());
    assert_eq!((statistics.minimum, statistics.maximum), (Some(0.0), Some(5.0)));
    assert!((statistics.average.unwrap() - values.iter().sum::<f64>() / 30.0).abs() < 1e-12);
    monitor.window.set_points(10);
    assert_eq!(monitor.view(), 20..30);
    assert_eq!(monitor.statistics(&monitor.series()[0]).count, 10);
}

#[test]
fn memory_stays_within_the_budget_and_constant() {
    let budget = 64 << 10;
    let (script, mut query, mut monitor) = monitor(&[r"\Process(*)\Working Set"], budget);
    let mut full = None;
    for round in 0..40 {
        take(&script, &mut query, &mut monitor, 200);
        let (bytes, stated) = monitor.memory();
        assert!(bytes <= stated, "{bytes} of {stated} after {round} rounds");
        if monitor.rows().start > 0 {
            // The newest chunk of raw samples grows, and the oldest goes.
            let full = *full.get_or_insert(bytes);
            assert!(bytes <= full + full / 20, "{bytes} after {round} rounds, {full} when the ring was full");
        }
    }
    assert!(full.is_some(), "the budget was never reached");
    assert_eq!(monitor.rows().end, 8_000);
    // Half of the budget is for existing values, the other half for growing rings.
    let rows = monitor.rows();
    assert!((rows.end - rows.start) as usize * 4 * POINT_BYTES >= budget / 4, "{rows:?}");
    assert_eq!(monitor.series()[0].len() as u64, rows.end - rows.start);
}

#[test]
fn a_million_samples_of_short_lived_processes_stay_within_the_memory() {
    let budget = 256 << 10;
    let (script, mut query, mut monitor) =
        monitor(&[r"\Process(_Total)\Working Set", r"\Processor(*)\% Processor Time"], budget);
    let (process, working_set) = (TitleIndex(230), TitleIndex(180));
    assert!(monitor.top.watch(&query, process, working_set));
    let path = CounterPath::parse(r"\230(*)\180").unwrap().path;
    query.add_path(&Top::text(process, working_set), &path).unwrap();
    take(&script, &mut query, &mut monitor, 2);
    let mut readings = query.readings();
    let mut most = 0;
    for row in 0..200_000u64 {
        // A new process each second, with a long name.
        for reading in &mut readings {
            if let Some(key) = reading.instance.as_mut().filter(|key| key.name.starts_with('b')) {
                key.name = format!("build job number {row} of many");
            }
        }
        monitor.take(FileTime(START.0 + row * 10_000_000), &query, &readings);
        let (bytes, stated) = monitor.memory();
        assert!(bytes <= stated, "{bytes} of {stated} at row {row}");
        if row == 100_000 {
            most = bytes;
        }
        // Names differ in length by a digit at most, and chunks of raw samples come and go.
        assert!(most == 0 || bytes <= most + most / 20, "{bytes} at row {row}, {most} before");
    }
    assert_eq!(monitor.next(), 200_002);
    assert!(monitor.rows().start > 190_000, "{:?}", monitor.rows());
    let last = monitor.rows().end - 1;
    let names: Vec<String> =
        monitor.top.at(monitor.next(), last)[0].instances.iter().map(|one| one.name.clone()).collect();
    assert_eq!(names, ["build job number 199999 of many", "a"]);
}

#[test]
fn a_late_series_has_no_values_before_it_came() {
    let (script, mut query, mut monitor) = monitor(&[r"\Process(*)\Working Set"], 1 << 20);
    take(&script, &mut query, &mut monitor, 5);
    script.processes.lock().push("late");
    take(&script, &mut query, &mut monitor, 5);
    let late = monitor.series().iter().find(|series| series.instance.as_deref() == Some("late")).unwrap();
    assert_eq!(late.at(monitor.next(), 4), None);
    assert!(late.at(monitor.next(), 5).unwrap().is_ok());
    assert_eq!(late.at(monitor.next(), 10), None, "this row is not there yet");
}

#[test]
fn only_the_last_ended_instances_are_kept() {
    let (script, mut query, mut monitor) = monitor(&[r"\Process(*)\Working Set"], 1 << 20);
    for number in 0..300 {
        let name: &'static str = Box::leak(format!("job{number}").into_boxed_str());
        *script.processes.lock() = vec![name, "_Total"];
        take(&script, &mut query, &mut monitor, 2);
    }
    let ended = monitor.series().iter().filter(|series| series.ended.is_some()).count();
    assert_eq!(ended, tallymon_monitor::model::MOST_ENDED);
    let names: Vec<_> = monitor.series().iter().filter_map(|series| series.instance.clone()).collect();
    assert!(names.contains(&"job298".to_string()) && !names.contains(&"job100".to_string()), "{names:?}");
}

#[test]
fn a_gap_has_its_reason() {
    let (script, mut query, mut monitor) = monitor(&[r"\PhysicalDisk(_Total)\Disk Bytes/sec"], 1 << 20);
    take(&script, &mut query, &mut monitor, 3);
    monitor.miss(START, NoValue::NoMachine);
    let series = &monitor.series()[0];
    let values: Vec<_> = (0..4).map(|row| series.at(4, row).unwrap().err()).collect();
    assert_eq!(values, [Some(NoValue::FirstSample), None, None, Some(NoValue::NoMachine)]);
    assert_eq!(monitor.statistics(series).reason, Some(NoValue::NoMachine));
}

#[test]
fn removed_instances_of_a_wildcard_stay_removed() {
    let (script, mut query, mut monitor) = monitor(&[r"\Process(*)\Working Set"], 1 << 20);
    take(&script, &mut query, &mut monitor, 2);
    monitor.select(1);
    assert_eq!(monitor.remove_chosen(), None, "the others still need the path");
    take(&script, &mut query, &mut monitor, 2);
    let names: Vec<_> = monitor.series().iter().filter_map(|series| series.instance.clone()).collect();
    assert_eq!(names, ["a", "_Total"]);
    monitor.remove_chosen();
    monitor.select(0);
    assert_eq!(monitor.remove_chosen().as_deref(), Some(r"\Process(*)\Working Set"));
    monitor.expect(r"\Process(*)\Working Set");
    take(&script, &mut query, &mut monitor, 1);
    assert_eq!(monitor.series().len(), 3);
}

#[test]
fn a_row_is_found_by_its_time() {
    let (script, mut query, mut monitor) = monitor(&[r"\System\Processor Queue Length"], 1 << 20);
    assert_eq!(monitor.row_at(START), None);
    take(&script, &mut query, &mut monitor, 10);
    for row in 0..10 {
        assert_eq!(monitor.row_at(monitor.time(row).unwrap()), Some(row));
    }
    assert_eq!(monitor.row_at(Default::default()), Some(0));
    assert_eq!(monitor.time(10), None);
}

#[test]
fn scales_step_from_what_is_shown() {
    let mut bench = Bench::new(&[r"\Memory\Available MBytes"]);
    bench.run(3);
    let power = |bench: &Bench| bench.app.monitor().power(&bench.app.monitor().series()[0]);
    assert_eq!(power(&bench), -2, "3,000 does not fit at the default");
    bench.types("-");
    assert_eq!(power(&bench), -3);
    assert_eq!(bench.app.monitor().series()[0].scale, Scale::Power(-3));
    bench.types("=");
    assert_eq!(power(&bench), -2);
}
