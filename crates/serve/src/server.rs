//! The server: a port, and a thread that answers.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use tallymon::core::flow::SourceError;
use tallymon::log::ReadOptions;
use tallymon::registry::Roots;
use tallymon::{Locale, Location};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::connection::{HEAD_TIME, Impatient, MOST_CONNECTIONS, MOST_HEAD, MOST_HEADERS, WRITE_TIME};
use crate::gate::Gate;
use crate::hub::Hub;
use crate::live::Live;
use crate::metrics::{Metrics, MetricsAccess};
use crate::route::{Local, Service};
use crate::sessions::SessionAccess;
use crate::upload::Uploads;

/// How long a full process waits before it accepts again.
const BREATH: Duration = Duration::from_millis(50);
/// How often the server looks whether it should end.
const PERIOD: Duration = Duration::from_millis(100);

/// What a server shows, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// Address and port; port 0 takes a free one. It must be a loopback address.
    pub listen: SocketAddr,
    /// The source of the live machine; `None` shows logs only.
    pub live: Option<Location>,
    /// Logs to show.
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
    /// The recording sessions of this machine; `None` shows none.
    pub sessions: Option<SessionAccess>,
    /// The registries beside which the event log of this machine is; `None` shows no events.
    pub events: Option<Roots>,
}

/// Why a server does not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is not of this machine only.
    Exposed(SocketAddr),
    /// The token that was given is too short, or has letters that an address can not have.
    Token,
    /// The port can not be opened.
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
                "{address}: other machines could listen in, because this server does not encrypt yet. Use \
                 127.0.0.1, and from another machine 'ssh -L PORT:127.0.0.1:PORT HOST'"
            ),
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
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    service: Arc<Service>,
    hub: Arc<Hub>,
}

impl Server {
    /// Opens the port, and starts to sample.
    ///
    /// # Errors
    ///
    /// The address is not of this machine only, the port is taken, or the source does not answer.
    pub fn bind(options: Options) -> Result<Server, ServeError> {
        if !options.listen.ip().is_loopback() {
            return Err(ServeError::Exposed(options.listen));
        }
        if options.token.as_ref().is_some_and(|token| !Gate::is_possible(token)) {
            return Err(ServeError::Token);
        }
        let listen = |error| ServeError::Listen(options.listen, error);
        let listener = std::net::TcpListener::bind(options.listen).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let random = |error: getrandom::Error| ServeError::System("random numbers", error.into());
        let gate = Gate::new(address, options.token).map_err(random)?;
        let metrics = options.metrics.zip(options.live.clone());
        let metrics = metrics.map(|(access, source)| Metrics::new(access, source).map(Arc::new)).transpose();
        let metrics = metrics.map_err(|error| ServeError::System("a thread for scrapes", error))?;
        let live = options.live.clone().map(|source| Live::start(source, options.interval, options.locale));
        let live = live.transpose().map_err(ServeError::Source)?;
        let hub = Arc::new(Hub::new(live, options.reading));
        for path in &options.logs {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            let (_, log) = hub
                .add(path, name, false)
                .map_err(|refused| ServeError::System("logs", io::Error::other(refused.words)))?;
            let hub = Arc::clone(&hub);
            let open = move || log.open(hub.options());
            let spawned = std::thread::Builder::new().name("log".into()).spawn(open);
            spawned.map_err(|error| ServeError::System("a thread for a log", error))?;
        }
        let uploads = Uploads::new(options.uploads)
            .map_err(|error| ServeError::System("a folder for uploaded logs", error))?;
        let local = Local { sessions: options.sessions, events: options.events };
        let service = Arc::new(Service::new(gate, Arc::clone(&hub), uploads, options.usual, metrics, local));
        Ok(Server { listener, address, service, hub })
    }

    /// The address to open in a browser. Whoever has it sees what this server shows.
    pub fn address(&self) -> String {
        format!("http://{}{}", self.address, self.service.gate().first_path())
    }

    /// The address of the interface, and the token for `Authorization: Bearer`.
    pub fn api(&self) -> (String, &str) {
        (format!("http://{}/api/v1", self.address), self.service.gate().token())
    }

    /// The address of the metrics, and who may read them; `None` if they are not served.
    pub fn metrics(&self) -> Option<(String, MetricsAccess)> {
        let access = self.service.metrics()?.access();
        Some((format!("http://{}/metrics", self.address), access))
    }

    /// Whether it samples this machine.
    pub fn is_live(&self) -> bool {
        self.hub.live().is_some()
    }

    /// Answers until `stop` is set.
    ///
    /// # Errors
    ///
    /// The system has no resources for it.
    pub fn run(self, stop: &AtomicBool) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| ServeError::System("the event loop", error))?;
        let result = runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener)
                .map_err(|error| ServeError::System("the event loop", error))?;
            let accepting = tokio::spawn(accept(listener, Arc::clone(&self.service)));
            while !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(PERIOD).await;
            }
            accepting.abort();
            Ok(())
        });
        // Requests that read a log may take long; nobody waits for their answers any longer.
        runtime.shutdown_timeout(PERIOD);
        result
    }
}

/// Accepts connections as long as there is room for them.
async fn accept(listener: TcpListener, service: Arc<Service>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The process has no more descriptors, or the client has gone.
            tokio::time::sleep(BREATH).await;
            continue;
        };
        // Closed at once: a client that waits in a queue would think that it is connected.
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
        // Rows are short, and should not wait for more.
        let _ = stream.set_nodelay(true);
        let service = Arc::clone(&service);
        tokio::spawn(async move {
            let answer = service_fn(move |request| Arc::clone(&service).handle(request));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(MOST_HEAD)
                .max_headers(MOST_HEADERS);
            // A client that breaks off, or sends no HTTP, is nobody's fault here.
            let _ = http.serve_connection(Impatient::new(stream, WRITE_TIME), answer).await;
            drop(permit);
        });
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
