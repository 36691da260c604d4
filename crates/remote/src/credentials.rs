//! Who logs in at a host, and what proves it.

use std::fmt;

use tallymon_core::flow::SourceError;

use crate::kerberos::KerberosLogin;

/// What the message of a login says that is not tried again by itself (`rrp/refused.rs`).
const PAUSED: &str = "; paused after a refused login until ";

/// Whether the message of an error says that the host has refused a login, and that it is not tried again
/// until something has changed or a long time has passed.
pub fn is_paused(message: &str) -> bool {
    message.contains(PAUSED)
}

/// Finds what logs in at a host, anew for each connection: a user may write another password meanwhile.
pub trait FindCredentials: Send {
    /// What logs in now.
    ///
    /// # Errors
    ///
    /// There is nothing, or it may not be used. The message names the host.
    fn find(&self) -> Result<Credentials, SourceError>;

    /// A number that is another one when the files have changed that [`find`](Self::find) reads. It is asked
    /// often, and runs no program.
    fn stamp(&self) -> u64;

    /// What a user changes so that something else logs in, for messages.
    fn place(&self) -> String;
}

/// What proves to a host who logs in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Credentials {
    /// A password, by NTLMv2.
    Password(PasswordLogin),
    /// A ticket, by Kerberos; never anything else.
    Kerberos(KerberosLogin),
}

/// A user with a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordLogin {
    /// The user.
    pub user: String,
    /// The domain, if there is one.
    pub domain: Option<String>,
    /// The password.
    pub password: String,
}

impl fmt::Debug for PasswordLogin {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordLogin")
            .field("user", &self.user)
            .field("domain", &self.domain)
            .finish_non_exhaustive()
    }
}
