//! The server: a port, and a thread that answers.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tallymon_remote::asynchronous;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use tallymon::core::flow::SourceError;
use tallymon::log::ReadOptions;
use tallymon::registry::Roots;
use tallymon::remote::tls::Identity;
use tallymon::{Locale, Location};
use tallymon_remote::asynchronous::HttpTimer;
use tallymon_remote::asynchronous::TlsAcceptor;
use tallymon_remote::asynchronous::net::TcpListener;
use tallymon_remote::asynchronous::stream::{AsyncRead, AsyncWrite};
use tallymon_remote::asynchronous::sync::Semaphore;
use tallymon_remote::asynchronous::time::timeout;

use crate::connection::{
    HANDSHAKE_TIME, HEAD_TIME, Impatient, MOST_CONNECTIONS, MOST_HEAD, MOST_HEADERS, WRITE_TIME,
};
use crate::gate::Gate;
use crate::http::Refused;
use crate::hub::Hub;
use crate::live::LiveSettings;
use crate::log_host::LogHost;
use crate::login::Login;
use crate::machines::Machine;
use crate::metrics::{Metrics, MetricsAccess};
use crate::profiles::{ProfileAccess, Profiles};
use crate::route::{Entrance, Local, Service};
use crate::sessions::SessionAccess;
use crate::uploads::Uploads;

/// How long a full process waits before it accepts again.
const BREATH: Duration = Duration::from_millis(50);
/// How often the server looks whether it should end.
const PERIOD: Duration = Duration::from_millis(100);

/// What a server shows, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// Address and port; port 0 takes a free one. Without `secure` it must be a loopback address.
    pub listen: SocketAddr,
    /// The source of the live machine; `None` shows logs only.
    pub live: Option<Location>,
    /// Several live machines with their names, in place of one. One that does not answer is tried again.
    pub machines: Vec<(String, Location)>,
    /// Logs to show, and with `profiles` also profiles.
    pub logs: Vec<PathBuf>,
    /// How logs are read.
    pub reading: ReadOptions,
    /// Time between two live samples.
    pub interval: Duration,
    /// The language and the names of the source.
    pub locale: Locale,
    /// The counters of the first chart.
    pub usual: Vec<String>,
    /// How many bytes uploaded logs may have together.
    pub uploads: u64,
    /// Who may read `/metrics` of the live machine; `None` if nobody.
    pub metrics: Option<MetricsAccess>,
    /// The token of requests; `None` makes a new one.
    pub token: Option<String>,
    /// TLS and the password or the certificates of browsers, for other machines.
    pub secure: Option<Secure>,
    /// The recording sessions of this machine; `None` shows none.
    pub sessions: Option<SessionAccess>,
    /// The registries beside which the event log of this machine is; `None` shows no events.
    pub events: Option<Roots>,
    /// How profiles of .NET programs are found and read; `None` shows none.
    pub profiles: Option<ProfileAccess>,
}

/// What a server for other machines needs.
#[derive(Debug, Clone)]
pub struct Secure {
    /// The key of this machine.
    pub identity: Identity,
    /// The names by which others know this machine; the first one is in the printed address.
    pub names: Vec<String>,
    /// The password that browsers are asked for, unless they need a certificate only.
    pub password: Option<String>,
    /// The authorities (PEM) of which browsers need a certificate, and their lists of revoked ones. With a
    /// password, both are needed.
    pub authorities: Option<String>,
}

/// Why a server does not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is not of this machine only.
    Exposed(SocketAddr),
    /// The password is too short.
    Password,
    /// There is neither a password nor an authority for certificates of browsers.
    Unprotected,
    /// The authorities for certificates of browsers cannot be used, in words.
    Authorities(String),
    /// Metrics for everybody, on a server for other machines.
    Metrics,
    /// The key of this machine cannot be used.
    Key(rustls::Error),
    /// The token that was given is too short, or has letters that an address cannot have.
    Token,
    /// The port cannot be opened.
    Listen(SocketAddr, io::Error),
    /// The source of the live machine.
    Source(SourceError),
    /// The system: threads, random numbers, a folder for uploads.
    System(&'static str, io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Exposed(address) => write!(
                f,
                "{address}: other machines could look and listen in. --password-file FILE serves the page \
                 over TLS with a password, --client-authority FILE to browsers with a certificate; or use \
                 127.0.0.1, and from another machine 'ssh -L PORT:127.0.0.1:PORT HOST'"
            ),
            ServeError::Metrics => f.write_str(
                "metrics for every user of this machine would be for every machine here: use --metrics, which \
                 needs the token",
            ),
            ServeError::Unprotected => {
                f.write_str("a server for other machines needs a password or an authority for certificates")
            }
            ServeError::Authorities(words) => {
                write!(f, "the authorities for certificates of browsers: {words}")
            }
            ServeError::Password => f.write_str("the password is too short; it needs 10 letters or more"),
            ServeError::Key(error) => write!(f, "the key of this machine: {error}"),
            ServeError::Token => f.write_str(
                "the token must have 16 to 256 letters, digits, '-', '.', '_' or '~'; make one with 'openssl \
                 rand -hex 16'",
            ),
            ServeError::Listen(address, error) => {
                write!(f, "{address}: {error}; --port 0 takes a free port")
            }
            ServeError::Source(error) => error.fmt(f),
            ServeError::System(what, error) => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for ServeError {}

/// A server that listens.
pub struct Server {
    listener: std::net::TcpListener,
    service: Arc<Service>,
    hub: Arc<Hub>,
    tls: Option<TlsAcceptor>,
    /// The host in printed addresses.
    host: String,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Server {
    /// Opens the port, and starts to sample.
    ///
    /// # Errors
    ///
    /// The address is not of this machine only, the port is taken, or the source does not answer.
    pub fn bind(options: Options) -> Result<Server, ServeError> {
        allowed(&options)?;
        let listener = std::net::TcpListener::bind(options.listen);
        let listener = listener.map_err(|error| ServeError::Listen(options.listen, error))?;
        Server::start(listener, options)
    }

    /// Uses a port that is open already, such as one of a service manager, and starts to sample. The address
    /// of the options is not used.
    ///
    /// # Errors
    ///
    /// The address of the port is not of this machine only, or the source does not answer.
    pub fn on(listener: std::net::TcpListener, options: Options) -> Result<Server, ServeError> {
        let listen = listener.local_addr().map_err(|error| ServeError::System("the port", error))?;
        let options = Options { listen, ..options };
        allowed(&options)?;
        Server::start(listener, options)
    }

    fn start(listener: std::net::TcpListener, options: Options) -> Result<Server, ServeError> {
        let is_loopback = options.listen.ip().is_loopback();
        let (tls, login) = match &options.secure {
            None => (None, None),
            Some(secure) => {
                let (tls, login) = secured(secure)?;
                (Some(tls), login)
            }
        };
        let listen = |error| ServeError::Listen(options.listen, error);
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let random = |error: getrandom::Error| ServeError::System("random numbers", error.into());
        let names = options.secure.as_ref().map(|secure| secure.names.as_slice());
        let gate = Gate::new(address, options.token, names).map_err(random)?;
        let host = match names.and_then(<[String]>::first).filter(|_| address.ip().is_unspecified()) {
            Some(name) => format!("{name}:{}", address.port()),
            None => address.to_string(),
        };
        let entrance = Entrance {
            login,
            is_certified: options.secure.as_ref().is_some_and(|secure| secure.authorities.is_some()),
            is_strict: tls.is_some() && !is_loopback,
        };
        let metrics = options.metrics.zip(options.live.clone());
        let metrics = metrics.map(|(access, source)| Metrics::new(access, source).map(Arc::new)).transpose();
        let metrics = metrics.map_err(|error| ServeError::System("a thread for scrapes", error))?;
        let mut settings = LiveSettings {
            interval: options.interval,
            locale: options.locale,
            usual: options.usual.clone(),
            is_alone: true,
        };
        let alone = options.live.clone().map(|source| Machine::alone(source, &settings).map(Arc::new));
        let mut machines: Vec<_> = alone.transpose().map_err(ServeError::Source)?.into_iter().collect();
        settings.is_alone = false;
        let sources = options.live.iter().chain(options.machines.iter().map(|(_, source)| source));
        let is_here =
            sources.into_iter().any(|source| matches!(source, Location::Local | Location::Machine { .. }));
        // Whoever looks from another machine ends no programs of this one.
        let processes = if is_here && tls.is_none() { tallymon::Host::processes() } else { None };
        for (name, source) in options.machines {
            let machine = Machine::begin(&name, source, &settings);
            machines.push(machine.map_err(|error| ServeError::System("a thread for a machine", error))?);
        }
        let hub = Arc::new(Hub::new(machines, options.reading));
        let profiles = options.profiles.map(|access| Arc::new(Profiles::new(access)));
        let bad = |refused: Refused| ServeError::System("logs", io::Error::other(refused.words));
        for path in &options.logs {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            if let Some(profiles) = profiles.as_ref().filter(|profiles| profiles.takes(path)) {
                profiles.add(path, &name, false).map_err(bad)?;
                continue;
            }
            let (_, log) = hub.add(LogHost::new(path, name)).map_err(bad)?;
            let hub = Arc::clone(&hub);
            let open = move || log.open(hub.options());
            let spawned = std::thread::Builder::new().name("log".into()).spawn(open);
            spawned.map_err(|error| ServeError::System("a thread for a log", error))?;
        }
        let uploads = Uploads::new(options.uploads)
            .map_err(|error| ServeError::System("a folder for uploaded logs", error))?;
        let local = Local { sessions: options.sessions, events: options.events, processes, profiles };
        let service =
            Arc::new(Service::new(gate, Arc::clone(&hub), uploads, options.usual, metrics, local, entrance));
        Ok(Server { listener, service, hub, tls, host })
    }

    /// The address to open in a browser. Whoever has it sees what this server shows.
    pub fn address(&self) -> String {
        format!("{}{}", self.origin(), self.service.gate().first_path())
    }

    /// The address of the interface, and the token for `Authorization: Bearer`.
    pub fn api(&self) -> (String, &str) {
        (format!("{}/api/v1", self.origin()), self.service.gate().token())
    }

    /// The address of the metrics, and who may read them; `None` if they are not served.
    pub fn metrics(&self) -> Option<(String, MetricsAccess)> {
        let access = self.service.metrics()?.access();
        Some((format!("{}/metrics", self.origin()), access))
    }

    /// The scheme, host and port of its addresses.
    fn origin(&self) -> String {
        format!("{}://{}", self.service.gate().scheme(), self.host)
    }

    /// Whether it samples this machine.
    pub fn is_live(&self) -> bool {
        !self.hub.machines().is_empty()
    }

    /// Answers until `stop` is set.
    ///
    /// # Errors
    ///
    /// The system has no resources for it.
    pub fn run(self, stop: &AtomicBool) -> Result<(), ServeError> {
        let port = self.listener.local_addr().map_or(0, |address| address.port());
        let runtime = asynchronous::Runtime::new(&format!("serve {port}"));
        let runtime = runtime.map_err(|error| ServeError::System("the event loop", error))?;
        let result = runtime.wait(async {
            let listener = TcpListener::from_std(self.listener)
                .map_err(|error| ServeError::System("the event loop", error))?;
            let accepting = asynchronous::spawn(accept(listener, Arc::clone(&self.service), self.tls));
            while !stop.load(Ordering::Relaxed) {
                asynchronous::time::sleep(PERIOD).await;
            }
            accepting.abort();
            Ok(())
        });
        // Requests that read a log may take long; nobody waits for their answers any longer.
        runtime.end(PERIOD);
        result.map_err(|error| ServeError::System("the event loop", error))?
    }
}

/// Refuses what would show this machine to others, and a token that cannot be used.
fn allowed(options: &Options) -> Result<(), ServeError> {
    if !options.listen.ip().is_loopback() && options.secure.is_none() {
        return Err(ServeError::Exposed(options.listen));
    }
    if options.secure.is_some() && options.metrics == Some(MetricsAccess::Local) {
        return Err(ServeError::Metrics);
    }
    match &options.token {
        Some(token) if !Gate::is_possible(token) => Err(ServeError::Token),
        _ => Ok(()),
    }
}

/// Accepts connections as long as there is room for them.
async fn accept(listener: TcpListener, service: Arc<Service>, tls: Option<TlsAcceptor>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // The process has no more descriptors, or the client has gone.
            asynchronous::time::sleep(BREATH).await;
            continue;
        };
        // Closed at once: a client that waits in a queue would think that it is connected.
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
        // Rows are short, and should not wait for more.
        let _ = stream.set_nodelay(true);
        let (service, tls) = (Arc::clone(&service), tls.clone());
        asynchronous::spawn(async move {
            match tls {
                None => answer(stream, service, from.ip()).await,
                Some(tls) => {
                    // A client that shows nothing of TLS in time is one that breaks off.
                    if let Ok(Ok(stream)) = timeout(HANDSHAKE_TIME, tls.accept(stream)).await {
                        answer(stream, service, from.ip()).await;
                    }
                }
            }
            drop(permit);
        });
    }
}

/// Answers the requests of one connection.
async fn answer<S: AsyncRead + AsyncWrite + Unpin>(stream: S, service: Arc<Service>, from: IpAddr) {
    let from = from.to_canonical();
    let answer = service_fn(move |request| Arc::clone(&service).handle(request, from));
    let mut http = http1::Builder::new();
    http.timer(HttpTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MOST_HEAD)
        .max_headers(MOST_HEADERS);
    // A client that breaks off, or sends no HTTP, is nobody's fault here.
    let _ = http.serve_connection(Impatient::new(stream, WRITE_TIME), answer).await;
}

/// TLS 1.3 with the key of this machine, and the password or the certificates of browsers.
fn secured(secure: &Secure) -> Result<(TlsAcceptor, Option<Login>), ServeError> {
    if secure.password.is_none() && secure.authorities.is_none() {
        return Err(ServeError::Unprotected);
    }
    if secure.password.as_ref().is_some_and(|password| !Login::is_possible(password)) {
        return Err(ServeError::Password);
    }
    let (certificates, key) = secure.identity.parts();
    let settings = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(ServeError::Key)?;
    let settings = match &secure.authorities {
        None => settings.with_no_client_auth(),
        Some(pem) => settings.with_client_cert_verifier(verifier(pem)?),
    };
    let mut settings = settings.with_single_cert(certificates, key).map_err(ServeError::Key)?;
    settings.alpn_protocols = vec![b"http/1.1".to_vec()];
    let login = |password: &String| {
        Login::new(password)
            .ok_or_else(|| ServeError::System("random numbers", io::Error::other("the system has none")))
    };
    let login = secure.password.as_ref().map(login).transpose()?;
    Ok((TlsAcceptor::from(Arc::new(settings)), login))
}

/// What checks the certificates of browsers: they are signed by one of the authorities, are for clients, and
/// are not revoked, if the authority has a list of revoked ones.
fn verifier(pem: &str) -> Result<Arc<dyn ClientCertVerifier>, ServeError> {
    let bad = |words: String| ServeError::Authorities(words);
    let mut roots = RootCertStore::empty();
    for (nth, certificate) in CertificateDer::pem_slice_iter(pem.as_bytes()).enumerate() {
        let nth = nth.saturating_add(1);
        let certificate = certificate.map_err(|error| bad(format!("certificate {nth}: {error}")))?;
        roots.add(certificate).map_err(|error| bad(format!("certificate {nth}: {error}")))?;
    }
    if roots.is_empty() {
        return Err(bad("the file has no certificate; it must have those of the authorities in PEM".into()));
    }
    let lists = CertificateRevocationListDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    let lists = lists.map_err(|error| bad(format!("a list of revoked certificates: {error}")))?;
    let provider = Arc::new(ring::default_provider());
    let checks = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let checks = if lists.is_empty() { checks } else { checks.with_crls(lists) };
    checks.build().map_err(|error| bad(error.to_string()))
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
