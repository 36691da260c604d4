//! A build without the feature `rrp`.

use std::time::Duration;

use tallymon_core::flow::{Source, SourceError, SourceErrorKind};

use crate::address::{Address, RrpAddress};
use crate::credentials::FindCredentials;

/// There is no way to such an address.
pub(crate) fn open(
    address: &RrpAddress,
    _: Box<dyn FindCredentials>,
    _: &str,
    _: Duration,
) -> Result<Box<dyn Source>, SourceError> {
    let address = Address::Rrp(address.clone());
    let words = format!("{address}: this build has no SMB; build it with the feature 'rrp'");
    Err(SourceError::new(SourceErrorKind::Unsupported, words))
}
