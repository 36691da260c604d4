//! Function profiler for .NET: exact counts and times of every call, as a library that the runtime loads.
#![deny(unsafe_code)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod clock;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod com;
pub mod export;
pub mod functions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod hooks;
pub mod layout;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod map;
pub mod names;
pub mod profile;
pub mod reader;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod session;
pub mod settings;
pub mod signature;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use com::DllGetClassObject;
