//! What ran between two looks at the profile of a running program: the busiest methods now.

use crate::reader::{MethodTotal, Profile, ReadError};
use std::collections::HashMap;
use std::path::Path;

/// A profile at one time.
#[derive(Debug, Clone)]
pub struct Look {
    /// The profile.
    pub profile: Profile,
    /// By method number.
    totals: HashMap<u32, MethodTotal>,
}

impl Look {
    /// Reads a profile file.
    ///
    /// # Errors
    ///
    /// As [`Profile::open`].
    pub fn open(path: &Path) -> Result<Look, ReadError> {
        Profile::open(path).map(Look::new)
    }

    /// A profile that was read already.
    pub fn new(profile: Profile) -> Look {
        let number = |total: &MethodTotal| profile.methods.get(total.method).map(|method| method.number);
        let totals =
            profile.method_totals().into_iter().filter_map(|total| Some((number(&total)?, total))).collect();
        Look { profile, totals }
    }
}

/// The activity of a method between two looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Its name as people write it.
    pub name: String,
    /// Calls per second, counted when they begin.
    pub calls: f64,
    /// The share of time in which the method ran, without callees. With several threads it may exceed 1.
    pub own: f64,
    /// The share of time in which the method or its callees ran.
    pub total: f64,
    /// The 50th percentile of the times of ended calls, in nanoseconds; `None` if no call ended.
    pub median: Option<u64>,
    /// The 99th percentile.
    pub slow: Option<u64>,
    /// Open calls.
    pub open: u64,
    /// Exceptions per second.
    pub exceptions: f64,
}

/// All methods together, between two looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// The methods that ran, in no order.
    pub methods: Vec<Rate>,
    /// Calls per second.
    pub calls: f64,
    /// Exceptions per second.
    pub exceptions: f64,
    /// Threads that have not ended.
    pub threads: usize,
    /// The share of time that the profiler's own work took.
    pub work: f64,
    /// The time between the looks, in nanoseconds.
    pub time: u64,
}

/// What ran between two looks; nothing if no time passed.
pub fn rates(before: &Look, after: &Look) -> Rates {
    let methods = methods(before, after);
    let time = after.profile.duration.saturating_sub(before.profile.duration);
    let work = after.profile.overhead().saturating_sub(before.profile.overhead());
    // `sum` of no numbers is -0.0, which would print a minus sign.
    let sum = |value: fn(&Rate) -> f64| methods.iter().fold(0.0, |sum, rate| sum + value(rate));
    Rates {
        calls: sum(|rate| rate.calls),
        exceptions: sum(|rate| rate.exceptions),
        threads: after.profile.threads.iter().filter(|thread| !thread.ended).count(),
        work: work as f64 / time.max(1) as f64,
        methods,
        time,
    }
}

fn methods(before: &Look, after: &Look) -> Vec<Rate> {
    let time = after.profile.duration.saturating_sub(before.profile.duration);
    if time == 0 {
        return Vec::new();
    }
    let nothing = MethodTotal::default();
    let mut rates = Vec::new();
    for (number, now) in &after.totals {
        let was = before.totals.get(number).unwrap_or(&nothing);
        let part = |was: u64, now: u64| now.saturating_sub(was) as f64 / time as f64;
        let a_second = |was, now| part(was, now) * 1e9;
        let mut between = now.clone();
        for (end, count) in &was.histogram {
            if let Some(left) = between.histogram.get_mut(end) {
                *left = left.saturating_sub(*count);
            }
        }
        between.histogram.retain(|_, count| *count > 0);
        let rate = Rate {
            name: after.profile.methods.get(now.method).map(|method| method.name.clone()).unwrap_or_default(),
            calls: a_second(was.enters, now.enters),
            own: part(was.own, now.own),
            total: part(was.total, now.total),
            median: between.percentile(0.5),
            slow: between.percentile(0.99),
            open: now.open,
            exceptions: a_second(was.exceptions, now.exceptions),
        };
        if rate.calls > 0.0 || rate.open > 0 || rate.own > 0.0 {
            rates.push(rate);
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::tests::sample;

    fn look(duration: u64, calls: u64, own: u64) -> Look {
        let mut profile = Profile::from_bytes(&sample()).unwrap();
        profile.duration = duration;
        let number = profile.methods[0].number;
        let total = MethodTotal {
            enters: calls,
            own,
            total: own.saturating_mul(2),
            shortest: Some(100),
            longest: Some(900),
            histogram: [(128, calls.saturating_sub(1)), (1024, 1)].into(),
            ..MethodTotal::default()
        };
        Look { profile, totals: [(number, total)].into() }
    }

    #[test]
    fn rates_cover_the_time_between_two_looks() {
        let (before, after) = (look(1_000_000_000, 11, 0), look(3_000_000_000, 211, 500_000_000));
        let between = rates(&before, &after);
        let [method] = between.methods.as_slice() else { panic!("{between:?}") };
        assert_eq!((method.calls, method.own, method.total), (100.0, 0.25, 0.5));
        // The slow call was before the first look, so only the bucket below 128 ns is left.
        assert_eq!((method.median, method.slow), (Some(128), Some(128)));
        assert_eq!((between.calls, between.time), (100.0, 2_000_000_000));
        assert!(rates(&after, &after).methods.is_empty());
    }
}
