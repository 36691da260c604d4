//! Function profiler for .NET: exact counts and times of every call, as a library that the runtime loads.
//!
//! There are two sides. The runtime of a .NET program loads `libtallymon_clr.so`, which writes a profile file
//! while the program runs. A Rust program uses this crate to create the environment for that, to read the
//! file (also while the program runs, or after it was killed), and to print it.
//!
//! ```no_run
//! use std::path::Path;
//! use std::process::Command;
//! use tallymon_clr::export::{self, TreeOptions};
//! use tallymon_clr::reader::Profile;
//! use tallymon_clr::settings::{Settings, environment};
//!
//! let settings = Settings { file: Some("app.prof".into()), ..Settings::default() };
//! let library = Path::new("/usr/lib/libtallymon_clr.so");
//! Command::new("dotnet").arg("app.dll").envs(environment(&settings, library)).status()?;
//! let profile = Profile::open(Path::new("app.prof"))?;
//! export::tree(&profile, &TreeOptions::default(), &mut std::io::stdout())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It does not attach to a program that was started without it: the runtime allows hooks from the start only.
//! The mode dormant is for programs that may need a profile later. `docs/profiler.md` lists what is recorded
//! and what is not.
//!
//! | module | holds |
//! |---|---|
//! | [`settings`] | what to record, the variables that say so, the environment of a profiled process |
//! | [`reader`] | a profile file as a [`reader::Profile`] |
//! | [`rates`] | what ran between two looks at a profile |
//! | [`export`] | the call tree as text, a report in HTML, comparisons, the forms of other programs |
//! | [`names`], [`signature`] | methods as people write them |
//! | `layout` | the records of the file |
//! | `profile` | shadow stacks and call trees, without a runtime |
//! | `functions` | the table from the runtime's functions to our methods |
//! | `stubs` | the naked functions that compiled code calls, by platform |
//! | `compilations` | which compilations run, so that a switch can wait for them |
//! | `com`, `session`, `hooks`, `map`, `clock` | the library in the runtime: on x86-64, untested on ARM |
//! | `system` | what the library needs of the system: memory, files, clocks |
//!
//! Unsafe code is allowed in `com/`, `hooks.rs`, `map.rs`, `clock/`, `system/` and `stubs/`, which say why.
#![deny(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod export;
#[cfg_attr(
    not(any(target_os = "linux", windows)),
    allow(dead_code, unused_imports, reason = "only the library in the runtime writes")
)]
mod functions;
#[cfg_attr(
    not(any(target_os = "linux", windows)),
    allow(dead_code, unused_imports, reason = "only the library in the runtime writes")
)]
mod layout;
pub mod names;
#[cfg_attr(
    not(any(target_os = "linux", windows)),
    allow(dead_code, unused_imports, reason = "only the library in the runtime writes")
)]
mod profile;
pub mod rates;
pub mod reader;
pub mod settings;
pub mod signature;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[cfg_attr(
    not(any(target_os = "linux", windows)),
    allow(dead_code, unused_imports, reason = "only the library in the runtime writes")
)]
mod stubs;

#[cfg(all(any(target_os = "linux", windows), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod clock;
#[cfg(all(any(target_os = "linux", windows), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod com;
#[cfg(all(any(target_os = "linux", windows), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod compilations;
#[cfg(all(any(target_os = "linux", windows), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod hooks;
#[cfg(all(any(target_os = "linux", windows), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod map;
#[cfg(all(any(target_os = "linux", windows), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod session;
#[cfg(all(any(target_os = "linux", windows), any(target_arch = "x86_64", target_arch = "aarch64")))]
#[cfg_attr(target_os = "linux", path = "system/linux.rs")]
#[cfg_attr(windows, path = "system/windows.rs")]
mod system;

#[cfg(all(any(target_os = "linux", windows), any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use com::DllGetClassObject;
