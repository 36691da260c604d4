//! The registry: which services have counters, and the names and help texts of them in every language.

mod contents;
mod decode;
mod error;
mod files;
mod format;
mod ini;
mod manifest;
mod package;
mod reg;
mod roots;
mod service;
mod store;
mod symbols;

pub use contents::Contents;
pub use error::{Problem, RegistryError, RegistryErrorKind};
pub use manifest::{Manifest, ManifestPackage};
pub use package::{HIGHEST_OFFSET, Package, PackageTitle};
pub use reg::read_reg;
pub use roots::{BASE_INDEX, FIRST_INDEX_OUTSIDE, Roots, Scope};
pub use service::{CounterSet, ManifestProvider, Service, SetCounter, TitleRange};
pub use store::Version;
