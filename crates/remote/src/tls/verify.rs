//! Checks of keys, and the settings of both sides.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    ServerConfig, SignatureScheme,
};

use super::{Identity, KeyHash};

/// Frames of counters.
pub(super) const FRAMES: &[u8] = b"tallymon/1";
/// The exchange of a pairing code.
pub(super) const PAIR: &[u8] = b"tallymon-pair/1";

/// Which keys a side takes.
pub(super) trait Accept: fmt::Debug + Send + Sync {
    /// Whether the other side may have this key.
    fn accepts(&self, key: &KeyHash) -> bool;
}

/// Any key, while two machines pair.
#[derive(Debug)]
pub(super) struct AnyKey;

impl Accept for AnyKey {
    fn accepts(&self, _: &KeyHash) -> bool {
        true
    }
}

/// One key.
#[derive(Debug)]
pub(super) struct OneKey(pub(super) KeyHash);

impl Accept for OneKey {
    fn accepts(&self, key: &KeyHash) -> bool {
        self.0 == *key
    }
}

/// Checks the key of the other side. Its certificate says nothing that counts: no name, no time, no
/// authority.
#[derive(Debug)]
pub(super) struct Verifier {
    accept: Arc<dyn Accept>,
    presented: Mutex<Option<KeyHash>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(super) fn new(accept: Arc<dyn Accept>) -> Arc<Verifier> {
        let algorithms = provider().signature_verification_algorithms;
        Arc::new(Verifier { accept, presented: Mutex::new(None), algorithms })
    }

    /// The key that the other side has shown last.
    pub(super) fn presented(&self) -> Option<KeyHash> {
        *self.presented.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let key = KeyHash::of(certificate)?;
        *self.presented.lock().unwrap_or_else(PoisonError::into_inner) = Some(key);
        if self.accept.accepts(&key) {
            return Ok(());
        }
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }
}

/// TLS 1.2 is not offered, so its signatures are never checked.
fn no_tls12() -> Error {
    Error::PeerIncompatible(PeerIncompatible::Tls12NotOfferedOrEnabled)
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(certificate).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(certificate).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn provider() -> CryptoProvider {
    ring::default_provider()
}

/// The settings of a server whose clients must show a key.
pub(super) fn server(
    identity: &Identity,
    verifier: Arc<Verifier>,
    protocol: &[u8],
) -> Result<Arc<ServerConfig>, Error> {
    let (certificates, key) = identity.parts();
    let mut settings = ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(certificates, key)?;
    settings.alpn_protocols = vec![protocol.to_vec()];
    // A session that is resumed would not show its key again, and a revoked one could go on.
    settings.send_tls13_tickets = 0;
    settings.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(Arc::new(settings))
}

/// The settings of a client that shows its key.
pub(super) fn client(
    identity: &Identity,
    verifier: Arc<Verifier>,
    protocol: &[u8],
) -> Result<Arc<ClientConfig>, Error> {
    let (certificates, key) = identity.parts();
    let mut settings = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_auth_cert(certificates, key)?;
    settings.alpn_protocols = vec![protocol.to_vec()];
    settings.resumption = Resumption::disabled();
    Ok(Arc::new(settings))
}

/// The name that clients ask for. It says nothing about the host, because it is sent in the clear.
pub(super) fn server_name() -> Result<ServerName<'static>, Error> {
    ServerName::try_from("tallymon").map_err(|error| Error::General(error.to_string()))
}
