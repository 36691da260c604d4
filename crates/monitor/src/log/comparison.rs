//! The log that is compared with what is shown.

use std::collections::HashMap;

use tallymon::core::flow::SourceError;
use tallymon::core::path::CounterPath;
use tallymon::{CounterHandle, Log, Query};

use crate::log::columns::{Loading, Rows};
use crate::model::Compared;

/// The other log and its values.
pub(crate) struct Comparison {
    pub(crate) log: Log,
    pub(crate) compared: Compared,
    /// Its values, while they are being read.
    pub(crate) loading: Option<Loading>,
}

impl Comparison {
    pub(crate) fn take_rows(&mut self, rows: &Rows) {
        for (time, row) in rows.iter() {
            self.compared.push(time, row.values);
        }
    }
}

/// The paths that a log has, each with its column. Names match in any language; an unknown host means the
/// first host of the log.
pub(crate) fn columns_of(
    log: &Log,
    ours: &Query,
    paths: &[String],
) -> Result<Vec<(String, usize)>, SourceError> {
    let language = ours.names().locale();
    let mut hosts: Vec<(Log, Query, HashMap<CounterHandle, &String>)> = Vec::new();
    for path in paths {
        let Ok(CounterPath { machine, .. }) = path.parse() else { continue };
        let found = machine.as_ref().and_then(|machine| log.of_host(machine)).unwrap_or_else(|| log.clone());
        let place = hosts.iter().position(|(known, ..)| known.host() == found.host());
        let (_, query, asked) = match place.and_then(|place| hosts.get_mut(place)) {
            Some(host) => host,
            None => {
                let query = Query::new(Box::new(found.source()), language)?;
                hosts.push((found, query, HashMap::new()));
                let Some(host) = hosts.last_mut() else { continue };
                host
            }
        };
        let without_host = match &machine {
            Some(machine) => path.get(machine.len().saturating_add(2)..).unwrap_or(path),
            None => path,
        };
        if let Ok(handle) = query.add(without_host) {
            asked.insert(handle, path);
        }
    }
    let mut columns = Vec::new();
    for (log, query, asked) in &mut hosts {
        query.collect()?;
        for reading in query.readings() {
            let column = log.column(reading.object, reading.counter, reading.instance.as_ref());
            if let (Some(column), Some(path)) = (column, asked.get(&reading.handle)) {
                columns.push(((*path).clone(), column));
            }
        }
    }
    Ok(columns)
}
