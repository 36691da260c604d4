//! Performance counters for Python: read any counter, publish your own, and open logs as tables.
//!
//! The classes are thin: each method calls one of the library `tallymon`. Counter types are numbers with the
//! names of winperf.h, such as `tallymon.PERF_COUNTER_BULK_COUNT`.
#![forbid(unsafe_code)]

mod logs;
mod publish;
mod query;

use ::tallymon::core::counter::TYPES;
use pyo3::prelude::*;

/// Performance counters: read any, publish your own, open logs as tables.
#[pymodule]
fn tallymon(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<publish::CounterSet>()?;
    module.add_class::<publish::Publisher>()?;
    module.add_class::<publish::Instance>()?;
    module.add_class::<publish::Counter>()?;
    module.add_class::<query::Query>()?;
    module.add_class::<query::Reading>()?;
    module.add_class::<logs::Log>()?;
    module.add_function(wrap_pyfunction!(logs::read_log, module)?)?;
    for info in TYPES {
        for name in std::iter::once(&info.name).chain(info.aliases) {
            module.add(*name, info.value.0)?;
        }
    }
    Ok(())
}
