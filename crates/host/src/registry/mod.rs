//! The registry: which services have counters, and the names and help texts of them in every language.

mod contents;
mod error;
mod files;
mod format;
mod roots;
mod service;
mod store;

pub use contents::Contents;
pub use error::{Problem, RegistryError, RegistryErrorKind};
pub use roots::{BASE_INDEX, FIRST_INDEX_OUTSIDE, Roots, Scope};
pub use service::{CounterSet, ManifestProvider, Service, SetCounter, TitleRange};
pub use store::Version;
