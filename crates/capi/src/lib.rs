//! The C interface of Tallymon: headers with the names of Windows, and the library behind them, so that programs and
//! provider libraries that were written for NT compile elsewhere and run.
//!
//! The headers are in `include/`: `windows.h` and what it includes, `winperf.h`, `pdh.h`, `pdhmsg.h`, `loadperf.h`,
//! `tchar.h`, and `tallymon.h` with what is ours. Every structure in them has NT's layout, which static assertions check.
//! What is done differently from NT, and why, stands in `docs/c-interface.md`.
//!
//! A call comes in at `exports`, which has no logic; pointers are read in `memory` alone. The other modules are safe
//! code and thin: counters, paths and values are the library `tallymon`'s.
//!
//! | module | holds |
//! |---|---|
//! | `exports` | every name that C sees |
//! | `memory` | pointers: texts, places for results, buffers |
//! | `handles` | what the handles of a program stand for |
//! | `query` | queries and counters |
//! | `values` | values, formatted and raw, and statistics |
//! | `names`, `paths` | objects, counters, instances; paths made and taken apart |
//! | `logs`, `log_sets` | data sources; logs in databases |
//! | `recordings` | logs that are opened, and written from the samples of a query |
//! | `registry` | data blocks and name tables through `RegQueryValueEx` |
//! | `windows`, `events`, `clock` | the rest of windows.h |
//! | `publish` | counters of the program's own (on Linux) |
//! | `dialog`, `source_dialog` | the dialogs of counters and of data sources |
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod clock;
mod dialog;
mod events;
mod exports;
mod handles;
mod log_sets;
mod logs;
mod machine;
mod memory;
mod names;
mod paths;
#[cfg(target_os = "linux")]
mod publish;
mod query;
mod recordings;
mod registry;
mod source_dialog;
mod status;
mod text;
mod values;
mod windows;
