//! What a login by Kerberos starts from: the settings of the system, a cache of tickets, a keytab or a
//! password. Nothing here opens a file or a connection.
//!
//! | module | contents |
//! |---|---|
//! | `bytes` | numbers and texts of both files below, with checked lengths |
//! | `cache` | a file of tickets, as `kinit` writes it |
//! | `conf` | `krb5.conf`: realms, their servers and domains |
//! | `keytab` | a file of keys of users and services |

mod bytes;
mod cache;
mod conf;
#[cfg(test)]
mod kerberos_tests;
mod keytab;

pub use cache::{Cache, CachedTicket};
pub use conf::{Conf, name_servers};
pub use keytab::{Keytab, KeytabKey};

use std::fmt;
use std::sync::Arc;

/// Reads a secret file anew, because tickets and keys change while a host is read.
pub type ReadSecret = Arc<dyn Fn() -> Result<Vec<u8>, String> + Send + Sync>;

/// A user or a service of a realm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The parts of the name: a user has one, a service two or more.
    pub name: Vec<String>,
    /// The realm.
    pub realm: String,
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name.join("/"), self.realm)
    }
}

/// A key of a user or of a ticket.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// The kind of encryption: 17 and 18 are AES.
    pub kind: i32,
    /// The key.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Key {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Who logs in by Kerberos.
#[derive(Clone)]
pub struct KerberosLogin {
    /// The user; `None` takes the one whose tickets or keys the file has first.
    pub user: Option<String>,
    /// The realm; `None` is that of the file, or else the usual one of the settings.
    pub realm: Option<String>,
    /// What proves it.
    pub secret: KerberosSecret,
    /// The settings of the system.
    pub conf: Conf,
}

/// What proves who logs in.
#[derive(Clone)]
pub enum KerberosSecret {
    /// A cache of tickets: its name for messages, and its bytes.
    Cache(String, ReadSecret),
    /// A keytab: its name for messages, and its bytes.
    Keytab(String, ReadSecret),
    /// A password.
    Password(String),
}

impl fmt::Debug for KerberosLogin {
    /// Without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = match &self.secret {
            KerberosSecret::Cache(name, _) | KerberosSecret::Keytab(name, _) => name,
            KerberosSecret::Password(_) => "password",
        };
        f.debug_struct("KerberosLogin")
            .field("user", &self.user)
            .field("realm", &self.realm)
            .field("secret", &secret)
            .finish_non_exhaustive()
    }
}
