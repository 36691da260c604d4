//! Function profiler for .NET: exact counts and times of every call, as a library that the runtime loads.
#![deny(unsafe_code)]

#[cfg(unix)]
pub mod clock;
pub mod functions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod hooks;
pub mod layout;
#[cfg(unix)]
pub mod map;
pub mod names;
pub mod profile;
pub mod settings;
pub mod signature;
