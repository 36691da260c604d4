//! Puts logs into a table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::columns;
use super::commit::Table;
use super::hash::name_of;
use super::sink::LakeSink;
use super::store::{Store, store_at};
use crate::error::LogError;
use crate::relog::{Options, Plan, Report};

/// Puts `inputs` into the table of a folder, which is begun if there is none, as one version. Logs that are
/// in the table already are not put in again, see [`Report::is_known`].
pub(crate) fn put(inputs: &[PathBuf], root: &Path, options: &Options) -> Result<Report, LogError> {
    put_into(store_at(root)?, inputs, options)
}

/// The same, into the table of a place.
pub(super) fn put_into(
    store: Arc<dyn Store>,
    inputs: &[PathBuf],
    options: &Options,
) -> Result<Report, LogError> {
    let mut table = Table::to_write(store)?;
    let name = name_of(inputs, options)?;
    let known = || Report { is_known: true, ..Report::default() };
    if table.state.logs.contains(&name) {
        table.keep();
        return Ok(known());
    }
    let mut plan = Plan::new(inputs, options)?;
    let failed = |error: LogError| error.in_file(table.root());
    let mut sink = LakeSink::new(Arc::clone(&table.store)).map_err(|error| failed(error.into()))?;
    let copied = plan.copy_whole(&mut sink, options, |sink, input| match options.every.get() {
        1 => columns::copy(sink, input, &options.read),
        _ => Ok(None),
    });
    copied.map_err(failed)?;
    let parts = sink.into_parts();
    let milliseconds = parts.iter().map(|part| part.milliseconds).max().unwrap_or_default();
    let values = parts.iter().filter_map(|part| part.part.rows).fold(0u64, u64::saturating_add);
    let committed = table.commit(|state| {
        if state.logs.contains(&name) {
            return None;
        }
        let mut actions = vec![json!({"commitInfo": {
            "timestamp": milliseconds,
            "operation": "WRITE",
            "operationParameters": {"mode": "Append"},
            "operationMetrics": {"numOutputRows": values, "numFiles": parts.len()},
            "engineInfo": concat!("tallymon ", env!("CARGO_PKG_VERSION")),
        }})];
        actions.push(json!({"txn": {"appId": name, "version": 0, "lastUpdated": milliseconds}}));
        actions.extend(parts.iter().map(|part| part.action(true)));
        Some(actions)
    });
    match committed {
        Ok(Some(_)) => {
            table.keep();
            Ok(plan.report)
        }
        Ok(None) => {
            table.discard_unnamed(&parts);
            table.keep();
            Ok(known())
        }
        Err(error) => {
            table.discard_after_error(&parts);
            Err(error)
        }
    }
}
