//! The C interface of Tallymon: headers with the names of Windows, so that programs and provider libraries that were
//! written for NT compile elsewhere.
//!
//! The headers are in `include/`: `windows.h` and what it includes, `winperf.h`, `pdh.h`, `pdhmsg.h`, `loadperf.h` and
//! `tchar.h`. Every structure in them has NT's layout, which static assertions check.
