//! Counters of other machines: where they are, and how requests and answers travel.
//!
//! | module | contents |
//! |---|---|
//! | [`address`] | addresses such as `ssh://web1`, from text |
//! | `asynchronous` | runtimes for asynchronous work, for other crates too; a feature |
//! | [`frames`] | the bytes of requests and answers, without any connection |
//! | [`mod@serve`] | answers the frames of one reader from a source |
//! | [`install`] | copies a program to another machine over ssh |
//! | [`kerberos`] | settings, tickets and keys that a login by Kerberos starts from |
//! | [`peer`] | a source that sends its requests to a peer, with deadlines and pauses between attempts |
//! | [`program`] | which machines a program runs on |
//! | `rrp` | the performance registry of Windows and Samba, over SMB; a feature |
//! | [`ssh`] | a peer that the system's `ssh` starts on another machine |
//! | `tls` | a peer over TLS, and the server for it; a feature |
//!
//! Everything but `asynchronous` is synchronous: a caller waits for an answer until its deadline, and no
//! longer.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub mod address;
#[cfg(feature = "asynchronous")]
pub mod asynchronous;
mod backoff;
pub mod credentials;
pub mod frames;
pub mod install;
pub mod kerberos;
pub mod peer;
pub mod program;
#[cfg(feature = "rrp")]
pub mod rrp;
#[cfg(not(feature = "rrp"))]
#[path = "rrp_absent.rs"]
mod rrp;
pub mod serve;
mod silence;
pub mod ssh;
#[cfg(feature = "tls")]
pub mod tls;

pub use address::{Address, AddressError, RrpAddress, SshAddress, TlsAddress, without_password};
pub use credentials::{Credentials, FindCredentials, PasswordLogin, is_paused};
pub use serve::serve;
pub use silence::{rough_time, silence};

use std::time::Duration;

use tallymon_core::flow::{Source, SourceError, SourceErrorKind};

/// How long a host may take for a connection, and for each answer, unless the caller says otherwise.
pub const USUAL_TIMEOUT: Duration = Duration::from_secs(10);

/// A source for the counters of another machine, which paths may call `name`. The connection is made with the
/// first request. `credentials` are for addresses that need a password, and read with each connection; ssh
/// has its own.
///
/// # Errors
///
/// The address needs a password and there is none, or this build has no way to it. An address of TLS needs
/// keys: `tls::source` takes them.
pub fn open(
    name: &str,
    address: &Address,
    timeout: Duration,
    credentials: Option<Box<dyn FindCredentials>>,
) -> Result<Box<dyn Source>, SourceError> {
    match address {
        Address::Ssh(address) => Ok(Box::new(ssh::source(address.clone(), timeout).named(name))),
        Address::Rrp(of_rrp) => {
            let credentials = credentials.ok_or_else(|| {
                let words = format!("{address}: there is no password for it");
                SourceError::new(SourceErrorKind::AccessDenied, words)
            })?;
            rrp::open(of_rrp, credentials, name, timeout)
        }
        Address::Tls(address) => {
            let words = format!("{address}: keys are needed, and none were given");
            Err(SourceError::new(SourceErrorKind::AccessDenied, words))
        }
    }
}
