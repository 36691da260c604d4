//! The performance registry of Windows and Samba, read from afar: MS-RRP over the named pipe `winreg`.
//!
//! | module | contents |
//! |---|---|
//! | `kerberos` | a ticket for the server |
//! | `login` | a login at a server, and the keys of what follows |
//! | `offer` | the first messages of SMB, which offer encryption |
//! | `perflib` | the languages of a host, and whether its names have changed |
//! | `refused` | logins that were refused, which are not tried again at once |
//! | [`rpc`] | PDUs of DCE/RPC, without a connection |
//! | [`winreg`] | the calls of the remote registry, without a connection |
//! | [`seal`] | messages of RPC that are encrypted where SMB does not encrypt |
//! | `session` | the pipe over SMB, with a deadline for each exchange |
//! | `source` | requests as values of the performance registry |
//! | `title_cache` | counter names of hosts that were read a short time ago |

mod kerberos;
mod login;
mod offer;
mod perflib;
mod refused;
pub mod rpc;
mod rpc_error;
pub mod seal;
mod session;
mod source;
mod step;
mod title_cache;
pub mod winreg;

#[cfg(test)]
mod rrp_tests;

pub use source::RrpSource;

/// Reads any bytes as an answer of a server of Kerberos, for the fuzzer.
#[doc(hidden)]
pub fn read_answer_of_kdc(bytes: &[u8]) {
    kerberos::read_any(bytes);
}

use std::time::Duration;

use tallymon_core::flow::{Source, SourceError};

use crate::address::RrpAddress;
use crate::credentials::FindCredentials;

/// The counters of a host.
pub(crate) fn open(
    address: &RrpAddress,
    credentials: Box<dyn FindCredentials>,
    name: &str,
    timeout: Duration,
) -> Result<Box<dyn Source>, SourceError> {
    Ok(Box::new(RrpSource::new(address.clone(), credentials, name, timeout)))
}
