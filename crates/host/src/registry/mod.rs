//! The registry: the services that have counters, with their names and help texts in every language.
//!
//! You pass an INI file with its symbol file, or a manifest; its texts get indexes above those of NT, in
//! every language that has a table. The system has a registry, and so has each user; both are read, and the
//! user's entries win.
//!
//! A change is complete or not made at all: see `store.rs`. The registry loads no libraries and calls no
//! providers.
//!
//! | to | use |
//! |---|---|
//! | read what is installed | [`Installed`] |
//! | change it | [`Writer`] |
//! | look at files before they are installed | [`Package`], [`Manifest`], [`read_reg`] |
//! | port a program that calls `loadperf.dll` | [`load_perf_counter_text_strings`] |

mod adjust;
mod backup;
mod contents;
mod decode;
mod error;
mod files;
mod format;
mod ini;
mod installed;
mod loadperf;
mod manifest;
mod package;
mod reg;
mod report;
mod reported;
mod roots;
mod service;
mod setting;
mod store;
mod symbols;
mod translate;
mod trust;
mod writer;

pub use contents::Contents;
pub use decode::read_text;
pub use error::{Problem, RegistryError, RegistryErrorKind};
pub use installed::Installed;
pub use loadperf::{load_perf_counter_text_strings, unload_perf_counter_text_strings};
pub use manifest::{Manifest, ManifestPackage};
pub use package::{HIGHEST_OFFSET, Package, PackageTitle};
pub use reg::read_reg;
pub use reported::ReportingWriter;
pub use roots::{BASE_INDEX, FIRST_INDEX_OUTSIDE, OWN_INDEXES, Roots, Scope};
pub use service::{CounterSet, ManifestProvider, Service, SetCounter, TitleRange};
pub use setting::{PerflibSetting, ServiceSetting, SettingText};
pub use store::Version;
pub use trust::{Trust, ValidationCode};
pub use writer::{Removed, Writer};
