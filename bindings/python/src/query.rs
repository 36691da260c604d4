//! Reading: queries and their results.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyLookupError, PyOSError, PyValueError};
use pyo3::prelude::*;
use tallymon::core::flow::Value;
use tallymon::hosts::{HostError, HostTable, KnownHost};
use tallymon::{CounterHandle, Location};

/// Counters by path, read together any number of times.
///
/// >>> query = Query()
/// >>> query.add(r"\Processor(*)\% Processor Time")
/// 0
/// >>> query.collect()
/// >>> query.collect()
/// >>> values = query.values()
#[pyclass(frozen, module = "tallymon")]
pub(crate) struct Query {
    open: Mutex<Open>,
}

struct Open {
    query: tallymon::Query,
    handles: Vec<CounterHandle>,
    /// The deadline of a machine that the first path may name.
    of_paths: Option<Duration>,
}

/// The value of a counter at the last collection, or the reason why there is none.
#[pyclass(frozen, get_all, module = "tallymon")]
pub(crate) struct Reading {
    /// The number returned by `add`.
    handle: usize,
    /// The full path, in English.
    path: String,
    /// A float, an exact int, a str, or None.
    value: Option<Content>,
    /// Why the value is None.
    reason: Option<String>,
    /// Whether the value is from an earlier sample, for example of a program that has ended.
    stale: bool,
    /// The counter type, one of the constants of this module.
    counter_type: u32,
    /// The raw values, if any: the number, and its clock or base.
    raw: Option<(u64, u64)>,
}

#[derive(Clone, IntoPyObject)]
enum Content {
    Number(f64),
    Integer(u64),
    Text(String),
}

#[pymethods]
impl Query {
    /// A query over the counters of this machine, or of another one: `host` is an address such as
    /// `ssh://web1`, or a name of the table of hosts, as for `tally get -H`. `timeout` is in seconds, for a
    /// connection and for each answer. Another machine is reached with the first path only. Without `host`
    /// the first path says which machine is read: `\\\\web1\\Memory\\*` names a host of the table.
    #[new]
    #[pyo3(signature = (host=None, *, timeout=10.0))]
    fn new(py: Python<'_>, host: Option<String>, timeout: f64) -> PyResult<Query> {
        let of_paths = if host.is_none() { Some(deadline(timeout)?) } else { None };
        let location = match host {
            Some(host) => remote(host, timeout)?,
            None => Location::Local,
        };
        let query = py.detach(|| tallymon::Query::open(&location));
        let query = query.map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(Query { open: Mutex::new(Open { query, handles: Vec::new(), of_paths }) })
    }

    /// Adds a path, possibly with wildcards, which also match new instances. Returns a number that identifies
    /// its readings.
    fn add(&self, py: Python<'_>, path: &str) -> PyResult<usize> {
        let added = self.with(py, |open| {
            let mut other = None;
            if let Some(timeout) = open.of_paths {
                let location = Location::of_paths([path], timeout).map_err(|error| error.to_string())?;
                if matches!(location, Location::Remote { .. }) {
                    other = Some(tallymon::Query::open(&location).map_err(|error| error.to_string())?);
                }
            }
            let query = other.as_mut().unwrap_or(&mut open.query);
            open.handles.push(query.add(path).map_err(|error| error.to_string())?);
            // Every other path is of the same machine. One that was refused decides nothing.
            open.of_paths = None;
            if let Some(other) = other {
                open.query = other;
            }
            Ok(open.handles.len().saturating_sub(1))
        });
        added.map_err(|error: String| PyLookupError::new_err(error))
    }

    /// Takes a sample of all counters. A rate needs two.
    fn collect(&self, py: Python<'_>) -> PyResult<()> {
        let collected = self.with(py, |open| open.query.collect());
        collected.map(drop).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// The results of the last collection.
    fn readings(&self, py: Python<'_>) -> Vec<Reading> {
        self.with(py, |open| {
            let handle_of = |handle| open.handles.iter().position(|known| *known == handle).unwrap_or(0);
            let readings = open.query.readings().into_iter();
            readings.map(|reading| Reading::of(handle_of(reading.handle), reading)).collect()
        })
    }

    /// The values of the last collection by path; None for a missing value.
    fn values(&self, py: Python<'_>) -> std::collections::HashMap<String, Option<Content>> {
        self.readings(py).into_iter().map(|reading| (reading.path, reading.value)).collect()
    }
}

fn deadline(seconds: f64) -> PyResult<Duration> {
    let deadline = Duration::try_from_secs_f64(seconds).ok().filter(|deadline| !deadline.is_zero());
    deadline.ok_or_else(|| PyValueError::new_err("timeout is a number of seconds above 0"))
}

/// Where a host is, by its address or by its name in the table of hosts.
fn remote(host: String, timeout: f64) -> PyResult<Location> {
    let timeout = deadline(timeout)?;
    let failed = |error: HostError| PyValueError::new_err(error.to_string());
    // An address needs no table, so a table that cannot be read is no hindrance.
    let is_address = host.contains("://") || host.starts_with('@');
    let table =
        if is_address { HostTable::default() } else { HostTable::of_environment().map_err(failed)? };
    let mut found = table.resolve(&[host]).map_err(failed)?.into_iter();
    match (found.next(), found.next()) {
        (Some(KnownHost { name, address, .. }), None) => Ok(Location::Remote { name, address, timeout }),
        _ => Err(PyValueError::new_err("a query reads one host; make a query for each host of a group")),
    }
}

impl Query {
    /// Uses the query while other Python threads run.
    fn with<R: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Open) -> R + Send) -> R {
        py.detach(|| act(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Reading {
    fn of(handle: usize, reading: tallymon::Reading) -> Reading {
        let raw = reading.cell.sample.as_ref().map(|sample| (sample.first, sample.second));
        let (value, reason) = match reading.cell.value {
            Ok(Value::Number(number)) => (Some(Content::Number(number)), None),
            Ok(Value::Integer(number)) => (Some(Content::Integer(number)), None),
            Ok(Value::Text(text)) => (Some(Content::Text(text)), None),
            Ok(other) => (None, Some(format!("{other:?} has no type in Python"))),
            Err(why) => (None, Some(why.to_string())),
        };
        let counter_type = reading.definition.counter_type.0;
        Reading { handle, path: reading.path, value, reason, stale: reading.cell.stale, counter_type, raw }
    }
}

#[pymethods]
impl Reading {
    fn __repr__(&self) -> String {
        match (&self.value, &self.reason) {
            (Some(Content::Number(value)), _) => format!("Reading({:?}, {value})", self.path),
            (Some(Content::Integer(value)), _) => format!("Reading({:?}, {value})", self.path),
            (Some(Content::Text(value)), _) => format!("Reading({:?}, {value:?})", self.path),
            (None, why) => format!("Reading({:?}, None: {})", self.path, why.as_deref().unwrap_or_default()),
        }
    }
}
