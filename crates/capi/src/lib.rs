//! The C interface of Tallymon: headers with the names of Windows, and the library behind them, so that
//! programs and provider libraries that were written for NT compile elsewhere and run.
//!
//! The headers are in `include/`: `windows.h` and what it includes, `winperf.h`, `pdh.h`, `pdhmsg.h`,
//! `loadperf.h`, `tchar.h`, and `tallymon.h` for functions of our own. Every structure in them has NT's
//! layout, which static assertions check. `docs/c-interface.md` lists the differences from NT, with
//! reasons.
//!
//! On Windows, the functions of `windows.h` and the keys of the registry are those of Windows: there this
//! library exports only the functions of `pdh.h`.
//!
//! Calls enter at `exports`, which has no logic. Only `memory` reads pointers. The other modules are thin
//! and safe code: counters, paths and values are those of the library `tallymon`.
//!
//! | module | holds |
//! |---|---|
//! | `exports` | every name that C sees |
//! | `memory` | pointers: texts, results, buffers |
//! | `handles` | the table of handles, and the objects behind them |
//! | `query` | queries and counters |
//! | `values` | values, formatted and raw, and statistics |
//! | `names`, `paths` | objects, counters, instances; making and parsing paths |
//! | `logs`, `log_sets` | data sources; logs in databases |
//! | `recordings` | opening logs, and writing them from the samples of a query |
//! | `registry` | data blocks and name tables through `RegQueryValueEx` |
//! | `windows`, `events`, `clock` | the rest of windows.h |
//! | `lock` | locking after a panic too |
//! | `publish` | publishing the program's own counters (on Linux) |
//! | `dialog`, `source_dialog` | the dialogs to choose counters and data sources |
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod clock;
mod dialog;
mod events;
mod exports;
mod handles;
mod lock;
mod log_sets;
mod logs;
mod machine;
mod memory;
mod names;
mod other_hosts;
mod paths;
#[cfg(any(target_os = "linux", windows))]
mod publish;
mod query;
mod recordings;
#[cfg_attr(windows, allow(dead_code, reason = "programs call the functions of Windows"))]
mod registry;
mod source_dialog;
mod status;
mod text;
mod values;
#[cfg_attr(windows, allow(dead_code, reason = "programs call the functions of Windows"))]
mod windows;
