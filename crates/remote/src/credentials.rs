//! Who logs in at a host, and what proves it.

use std::fmt;

use crate::kerberos::KerberosLogin;

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
