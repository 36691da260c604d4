//! A system without built-in objects: it can only read saved data blocks and logs.

use std::ops::RangeInclusive;

use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::title::TitleIndex;
use tallymon_provider::{Finding, Profile, Provider, TierChoice};

pub(crate) use super::portable::{
    clocks, interface_addresses, origin, processes, processor_name, system_name,
};

pub(crate) fn providers(_tier: TierChoice, _profile: Profile) -> Result<Vec<Box<dyn Provider>>, SourceError> {
    let words = "this build has no built-in objects for this system; name a file with --file";
    Err(SourceError::new(SourceErrorKind::Unsupported, words))
}

/// None.
pub(crate) fn system_source() -> Option<Box<dyn Source>> {
    None
}

/// None in such a registry.
pub(crate) fn published_indexes() -> Option<RangeInclusive<TitleIndex>> {
    None
}

/// Nothing is known.
pub(crate) fn findings(_: &mut dyn Source) -> Vec<Finding> {
    Vec::new()
}
