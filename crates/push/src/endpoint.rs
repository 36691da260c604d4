//! Where to send: the address of a receiver, with its headers and limits.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

/// The longest file of certificates or of a key.
const MOST_PEM: u64 = 16 << 20;

/// A receiver.
#[derive(Clone)]
pub struct Endpoint {
    /// The address as it was given, without a password, for messages.
    pub(crate) shown: String,
    pub(crate) authority: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) target: String,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) timeout: Duration,
    pub(crate) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// The Unix socket to connect to, instead of the host.
    pub(crate) socket: Option<PathBuf>,
}

/// Certificates of `https`, in files of the format PEM.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// Certificates to trust, instead of those that the system trusts.
    pub certificate: Option<PathBuf>,
    /// The certificate and the key by which this program shows who it is.
    pub client: Option<(PathBuf, PathBuf)>,
}

impl Tls {
    /// What these certificates mean for a connection.
    ///
    /// # Errors
    ///
    /// A certificate cannot be read, or this system trusts none.
    pub fn configuration(&self) -> Result<Arc<ClientConfig>, EndpointError> {
        configuration(self).map(Arc::new)
    }
}

/// Why an address, a header or a certificate cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointError {
    /// The address without a password, where it is what is wrong.
    address: Option<String>,
    why: String,
}

impl EndpointError {
    const fn new(why: String) -> EndpointError {
        EndpointError { address: None, why }
    }

    /// The reason without the address, which may be a secret.
    pub fn reason(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Some(address) => write!(f, "{address}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for EndpointError {}

impl fmt::Debug for Endpoint {
    // Headers may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("address", &self.shown).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// A receiver at an address; a path that is empty becomes `usual_path`.
    ///
    /// # Errors
    ///
    /// The address is no `http://` or `https://` address, or a certificate cannot be read.
    pub fn new(address: &str, usual_path: &str, tls: &Tls) -> Result<Endpoint, EndpointError> {
        let bad = |why: &str| EndpointError { address: Some(shown_address(address)), why: why.to_owned() };
        let uri: Uri = address.parse().map_err(|error| bad(&format!("no address: {error}")))?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(bad("an address begins with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| bad("the host is missing"))?;
        if authority.as_str().contains('@') {
            return Err(bad(
                "give user and password as a header, 'Authorization: Basic …', not in the address",
            ));
        }
        // The parser takes what is no number, such as a password with a '/', for a port that is missing.
        let port = authority.as_str().rsplit_once(':').map_or("", |(_, port)| port);
        if !port.is_empty() && !port.ends_with(']') && authority.port_u16().is_none() {
            return Err(bad("the port is no number from 0 to 65535"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        let path = uri.path_and_query().map_or("", |path| path.as_str());
        let target = match path.strip_prefix('/').unwrap_or(path) {
            "" => usual_path.to_owned(),
            rest if rest.starts_with('?') => format!("{usual_path}{rest}"),
            _ => path.to_owned(),
        };
        let tls = is_https.then(|| {
            let name = ServerName::try_from(host.clone()).map_err(|error| bad(&error.to_string()))?;
            Ok((Arc::new(configuration(tls)?), name))
        });
        Ok(Endpoint {
            // Without a user in front of the host an '@' is a part of the path.
            shown: before_query(address).to_owned(),
            authority: authority.as_str().to_owned(),
            port: authority.port_u16().unwrap_or(if is_https { 443 } else { 80 }),
            host,
            target,
            headers: Vec::new(),
            timeout: Duration::from_secs(10),
            tls: tls.transpose()?,
            socket: None,
        })
    }

    /// Adds a header to every request; a later one of the same name replaces it.
    ///
    /// # Errors
    ///
    /// The name or the value has characters that a header cannot have, or the header belongs to HTTP itself.
    pub fn add_header(&mut self, name: &str, value: &str) -> Result<(), EndpointError> {
        let bad = |why: &str| EndpointError::new(format!("the header {name:?}: {why}"));
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|error| bad(&error.to_string()))?;
        // The value is not shown, because it may be a password.
        let value = HeaderValue::from_str(value)
            .map_err(|_| bad("its value has characters that a header cannot have"))?;
        if ["host", "content-length", "transfer-encoding", "connection"].contains(&parsed.as_str()) {
            return Err(bad("HTTP sets it itself"));
        }
        self.headers.retain(|(known, _)| *known != parsed);
        self.headers.push((parsed, value));
        Ok(())
    }

    /// Sets how long a request may take.
    pub const fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Connects to a Unix socket instead of the host of the address. A system without such sockets answers
    /// that there is no connection.
    pub fn set_socket(&mut self, path: &Path) {
        self.socket = Some(path.to_owned());
    }

    /// The address for messages.
    pub fn address(&self) -> &str {
        &self.shown
    }
}

/// An address for messages: without what may be a secret, which is its user, its password and what follows
/// the path. What stands in the place of a port and is no number is hidden, too: it may be the begin of a
/// password with signs that end a host.
///
/// ```
/// use tallymon_push::shown_address;
///
/// assert_eq!(shown_address("http://ann:secret@web1:80/m?key=secret"), "http://web1:80/m");
/// assert_eq!(shown_address("http://ann:sec?ret@web1"), "http://ann:…");
/// ```
pub fn shown_address(address: &str) -> String {
    let address = before_query(address);
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    // The last sign: a password may have others.
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let sign = if scheme.is_empty() { "" } else { "://" };
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') && !port.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{scheme}{sign}{host}:…{path}")
        }
        _ => format!("{scheme}{sign}{rest}"),
    }
}

fn before_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}

fn configuration(tls: &Tls) -> Result<ClientConfig, EndpointError> {
    let failed = EndpointError::new;
    let mut roots = RootCertStore::empty();
    if let Some(file) = &tls.certificate {
        for certificate in certificates(file)? {
            roots.add(certificate).map_err(|error| failed(format!("{}: {error}", file.display())))?;
        }
    } else {
        let found = rustls_native_certs::load_native_certs();
        let (taken, _) = roots.add_parsable_certificates(found.certs);
        if taken == 0 {
            let words = "this system has no certificates to trust; install ca-certificates, or name a \
                         file of certificates";
            return Err(failed(words.to_owned()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(format!("TLS: {error}")))?
        .with_root_certificates(roots);
    let Some((certificate, key)) = &tls.client else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates(certificate)?;
    let key_file = key;
    let key = PrivateKeyDer::from_pem_slice(&text_of(key_file)?)
        .map_err(|error| failed(format!("{}: {error}", key_file.display())))?;
    builder
        .with_client_auth_cert(chain, key)
        .map_err(|error| failed(format!("{}: {error}", certificate.display())))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, EndpointError> {
    let failed = |error: &dyn fmt::Display| EndpointError::new(format!("{}: {error}", file.display()));
    let text = text_of(file)?;
    let found = CertificateDer::pem_slice_iter(&text);
    let all: Vec<_> = found.collect::<Result<_, _>>().map_err(|error| failed(&error))?;
    if all.is_empty() { Err(failed(&"no certificate is in it")) } else { Ok(all) }
}

/// What a file of certificates or of a key has. A pipe would wait for a writer, and a device may have no end.
fn text_of(file: &Path) -> Result<Vec<u8>, EndpointError> {
    let failed = |error: &dyn fmt::Display| EndpointError::new(format!("{}: {error}", file.display()));
    let check = |about: &Metadata| match about {
        about if !about.is_file() => {
            Err(failed(&"it is a pipe, folder, socket or device, not a regular file"))
        }
        about if about.len() > MOST_PEM => {
            Err(failed(&format_args!("it is longer than {} MiB", MOST_PEM >> 20)))
        }
        _ => Ok(()),
    };
    check(&std::fs::metadata(file).map_err(|error| failed(&error))?)?;
    let opened = File::open(file).map_err(|error| failed(&error))?;
    // Another file may have taken its place in between.
    check(&opened.metadata().map_err(|error| failed(&error))?)?;
    let mut text = Vec::new();
    opened.take(MOST_PEM).read_to_end(&mut text).map_err(|error| failed(&error))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart_or_refused() {
        for (address, host, port, target) in [
            ("http://a", "a", 80, "/v1/metrics"),
            ("http://a:4318/", "a", 4318, "/v1/metrics"),
            ("http://a:4318/x/y?z=1", "a", 4318, "/x/y?z=1"),
            ("http://[::1]:9/p", "::1", 9, "/p"),
        ] {
            let endpoint = Endpoint::new(address, "/v1/metrics", &Tls::default()).unwrap();
            let found = (endpoint.host.as_str(), endpoint.port, endpoint.target.as_str());
            assert_eq!(found, (host, port, target), "{address}");
        }
        for (address, word) in [
            ("a:4318", "http://"),
            ("ftp://a/", "http://"),
            ("", "no address"),
            ("http:///x", "no address"),
            ("http://user:secret@a/", "Authorization"),
            ("http://user:secret/x@a/", "the port"),
            ("http://user:secret?x@a/", "the port"),
            ("http://[::1]:99999/", "the port"),
            ("user:secret@a", "http://"),
            ("ftp://a?key=secret", "http://"),
        ] {
            let error = Endpoint::new(address, "/", &Tls::default()).unwrap_err().to_string();
            assert!(error.contains(word) && !error.contains("secret"), "{address}: {error}");
        }
    }

    #[test]
    fn two_receivers_never_share_an_address() {
        for (address, shown) in [
            ("http://a", "http://a"),
            ("http://a/x?key=secret", "http://a/x"),
            ("http://a/x@web1", "http://a/x@web1"),
            ("http://b:80/x@web1?key=secret", "http://b:80/x@web1"),
        ] {
            assert_eq!(Endpoint::new(address, "/", &Tls::default()).unwrap().address(), shown);
        }
    }

    #[test]
    fn headers_of_http_itself_and_broken_ones_are_refused() {
        let mut endpoint = Endpoint::new("http://a", "/", &Tls::default()).unwrap();
        endpoint.add_header("X-Scope-OrgID", "one").unwrap();
        endpoint.add_header("x-scope-orgid", "two").unwrap();
        assert_eq!(endpoint.headers.len(), 1);
        for (name, value) in [("Host", "x"), ("a b", "x"), ("a", "x\r\nb: c"), ("", "x")] {
            assert!(endpoint.add_header(name, value).is_err(), "{name}");
        }
    }

    #[test]
    fn a_certificate_that_is_missing_is_named() {
        let tls = Tls { certificate: Some("/nowhere/ca.pem".into()), client: None };
        let error = Endpoint::new("https://a", "/", &tls).unwrap_err().to_string();
        assert!(error.contains("/nowhere/ca.pem"), "{error}");
    }
}
