//! Function profiler for .NET: exact counts and times of every call, as a library that the runtime loads.
#![deny(unsafe_code)]

pub mod layout;
pub mod names;
pub mod profile;
pub mod signature;
