//! A key with its certificate.

use std::fmt;

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::KeyHash;

/// A private key with a certificate that it has signed itself.
///
/// The key is of the curve P-256, which every browser takes. The certificate has no end: peers know the key.
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    hash: KeyHash,
}

/// Why there is no identity.
#[derive(Debug)]
#[non_exhaustive]
pub enum IdentityError {
    /// A text has no certificate, or no private key, in PEM.
    Pem(&'static str, String),
    /// The certificate cannot be read.
    Certificate(rustls::Error),
    /// Making a key or a certificate failed.
    Make(rcgen::Error),
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdentityError::Pem(what, why) => write!(f, "no {what} in PEM: {why}"),
            IdentityError::Certificate(error) => write!(f, "the certificate: {error}"),
            IdentityError::Make(error) => write!(f, "a new key: {error}"),
        }
    }
}

impl std::error::Error for IdentityError {}

impl fmt::Debug for Identity {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.hash).finish()
    }
}

impl Clone for Identity {
    fn clone(&self) -> Identity {
        Identity { certificate: self.certificate.clone(), key: self.key.clone_key(), hash: self.hash }
    }
}

impl Identity {
    /// A new key and its certificate, as PEM: the certificate first. `host` is the name in the certificate;
    /// it is for people and browsers.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn new_pem(host: &str) -> Result<String, IdentityError> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-".contains(letter);
        let names =
            [host, "localhost"].into_iter().filter(|name| !name.is_empty() && name.chars().all(is_plain));
        let mut names: Vec<String> = names.map(str::to_ascii_lowercase).collect();
        names.dedup();
        let key = KeyPair::generate().map_err(IdentityError::Make)?;
        let name = names.first().cloned().unwrap_or_default();
        let mut parameters = CertificateParams::new(names).map_err(IdentityError::Make)?;
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, format!("tallymon {name}"));
        let certificate = parameters.self_signed(&key).map_err(IdentityError::Make)?;
        Ok(format!("{}{}", certificate.pem(), key.serialize_pem()))
    }

    /// The identity in a text that has a certificate and its private key in PEM.
    ///
    /// # Errors
    ///
    /// One of them is missing or damaged.
    pub fn from_pem(text: &str) -> Result<Identity, IdentityError> {
        let certificate = CertificateDer::from_pem_slice(text.as_bytes());
        let certificate =
            certificate.map_err(|error| IdentityError::Pem("certificate", error.to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes());
        let key = key.map_err(|error| IdentityError::Pem("private key", error.to_string()))?;
        let hash = KeyHash::of(&certificate).map_err(IdentityError::Certificate)?;
        Ok(Identity { certificate, key, hash })
    }

    /// The hash of the key.
    pub fn hash(&self) -> KeyHash {
        self.hash
    }

    /// The certificate and the key, for settings of TLS.
    pub fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (vec![self.certificate.clone()], self.key.clone_key())
    }
}
