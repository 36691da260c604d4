//! A build without the feature `tls`.

use std::time::Duration;

use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_remote::TlsAddress;

/// There is no way to such an address.
pub(crate) fn open(address: &TlsAddress, _: &str, _: Duration) -> Result<Box<dyn Source>, SourceError> {
    let words = format!("{address}: this build has no TLS; build it with the feature 'tls'");
    Err(SourceError::new(SourceErrorKind::Unsupported, words))
}
