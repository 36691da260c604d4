//! Times as cells of a table.

use std::time::Duration;

/// The median and the mean of some times, in microseconds.
pub fn mean(times: Vec<Duration>) -> String {
    let mean = times.iter().sum::<Duration>().checked_div(times.len() as u32).unwrap_or_default();
    let middle = middle(times);
    match middle.split_once(' ') {
        Some((median, _)) => format!("{median} ({:.0})", 1e6 * mean.as_secs_f64()),
        None => middle,
    }
}

/// The median and the best of some times, in microseconds.
pub fn middle(mut times: Vec<Duration>) -> String {
    times.sort();
    match (times.get(times.len() / 2), times.first()) {
        (Some(median), Some(best)) => {
            format!("{:.0} ({:.0})", 1e6 * median.as_secs_f64(), 1e6 * best.as_secs_f64())
        }
        _ => "-".to_string(),
    }
}
