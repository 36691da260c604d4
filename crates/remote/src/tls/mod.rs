//! Another tally over TLS 1.3: both sides have a key, and know the key of the other. There is no authority.
//!
//! | module | contents |
//! |---|---|
//! | `identity` | a key with its certificate |
//! | `verify` | checks of keys, and the settings of both sides |
//! | [`pair`] | how two machines learn each other's keys by a code |
//! | `dial` | a peer that is reached over TLS |
//! | [`listen`] | answers the frames of peers, with limits |
//! | `limits` | how many connections, failures and requests there may be |
//! | `timed` | a socket with a deadline |
//!
//! A key is known by the SHA-256 of its public part (`SubjectPublicKeyInfo`), so a certificate may be made
//! anew for the same key. Nothing else in a certificate counts.

mod dial;
mod identity;
mod limits;
pub mod listen;
pub mod pair;
mod timed;
mod verify;

use std::fmt;
use std::str::FromStr;

use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;

pub use dial::source;
pub use identity::{Identity, IdentityError};
pub use limits::Limits;

/// The port of an address without one.
pub const USUAL_PORT: u16 = 7448;

/// The SHA-256 of a public key: what a peer is known by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// The hash of the key of a certificate.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Result<KeyHash, rustls::Error> {
        let key = ParsedCertificate::try_from(certificate)?.subject_public_key_info();
        let hash = ring::digest::digest(&ring::digest::SHA256, key.as_ref());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(hash.as_ref());
        Ok(KeyHash(bytes))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is no hash of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoKeyHash;

impl fmt::Display for NoKeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the hash of a key is 'sha256:' and 64 hexadecimal digits")
    }
}

impl std::error::Error for NoKeyHash {}

impl FromStr for KeyHash {
    type Err = NoKeyHash;

    fn from_str(text: &str) -> Result<KeyHash, NoKeyHash> {
        let digits = text.strip_prefix("sha256:").ok_or(NoKeyHash)?;
        let mut bytes = [0; 32];
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(NoKeyHash);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| NoKeyHash)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NoKeyHash)?;
        }
        Ok(KeyHash(bytes))
    }
}

#[cfg(test)]
mod tls_tests;
