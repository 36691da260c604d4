//! One request and its answer, within a deadline. The answer is read up to a limit.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tallymon_remote::asynchronous;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use tallymon_remote::asynchronous::HttpStream;
use tallymon_remote::asynchronous::net::TcpStream;
use tallymon_remote::asynchronous::stream::{AsyncRead, AsyncWrite};

use crate::endpoint::Endpoint;

/// The longest answer that is read. Answers are short; a longer one is not read to its end.
pub(crate) const MOST_ANSWER: usize = 64 << 10;

/// What a receiver answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// How long the receiver wants us to wait.
    pub retry_after: Option<Duration>,
    /// The body, or its beginning if it was too long.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The receiver cannot be reached.
    Connect(io::Error),
    /// The receiver did not answer in time.
    Timeout(Duration),
    /// The connection broke, or what came is no HTTP.
    Http(hyper::Error),
    /// The answer is longer than this many bytes, which are read at most.
    TooLong(usize),
    /// There is no request that could be sent: something of this machine or of the settings is wrong.
    Request(io::Error),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Connect(error) => write!(f, "no connection: {error}"),
            SendError::Request(error) => write!(f, "the request cannot be made: {error}"),
            SendError::Timeout(time) => write!(f, "no answer within {} s", time.as_secs_f64()),
            SendError::TooLong(most) => {
                write!(f, "the answer has more than {most} bytes, which are read at most")
            }
            SendError::Http(error) => {
                write!(f, "no answer: {error}")?;
                match std::error::Error::source(error) {
                    Some(source) => write!(f, ": {source}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for SendError {}

/// Sends a request on a connection of its own. Requests are seconds apart, and a connection that stays would
/// have to be watched.
pub(crate) async fn post(
    endpoint: &Endpoint,
    content_type: &'static str,
    encoding: Option<&'static str>,
    more: &[(&'static str, &'static str)],
    body: Vec<u8>,
) -> Result<Answer, SendError> {
    // Of the body of an answer.
    let patience = endpoint.timeout.mul_f64(0.5);
    let talk = Talk { most: MOST_ANSWER, patience, needs_body: false };
    converse(endpoint, request(endpoint, content_type, encoding, more, body), talk).await
}

/// How an answer is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Talk {
    /// The longest body.
    pub(crate) most: usize,
    /// How long the body may take.
    pub(crate) patience: Duration,
    /// Whether an answer without its whole body is none.
    pub(crate) needs_body: bool,
}

/// Sends a request on a connection of its own, and reads the answer within the timeout of the endpoint.
pub(crate) async fn converse(
    endpoint: &Endpoint,
    request: Request<Full<Bytes>>,
    talk: Talk,
) -> Result<Answer, SendError> {
    let exchange = async { exchange(connect(endpoint).await?, request, talk).await };
    let timeout = endpoint.timeout;
    asynchronous::time::timeout(timeout, exchange).await.unwrap_or(Err(SendError::Timeout(timeout)))
}

#[cfg(unix)]
async fn unix(path: &Path) -> io::Result<asynchronous::net::UnixStream> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    asynchronous::net::UnixStream::connect(path).await.map_err(named)
}

#[cfg(not(unix))]
async fn unix(path: &Path) -> io::Result<TcpStream> {
    let words = format!("{}: there are no Unix sockets on this system", path.display());
    Err(io::Error::new(io::ErrorKind::Unsupported, words))
}

/// A connection to a receiver.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// Connects to a receiver, in TLS if the address says so.
pub(crate) async fn connect(endpoint: &Endpoint) -> Result<Box<dyn Stream>, SendError> {
    if let Some(path) = &endpoint.socket {
        return in_tls(endpoint, unix(path).await.map_err(SendError::Connect)?).await;
    }
    let address = (endpoint.host.as_str(), endpoint.port);
    let stream = TcpStream::connect(address).await.map_err(SendError::Connect)?;
    let _ = stream.set_nodelay(true);
    in_tls(endpoint, stream).await
}

async fn in_tls(endpoint: &Endpoint, stream: impl Stream + 'static) -> Result<Box<dyn Stream>, SendError> {
    let Some((configuration, name)) = &endpoint.tls else { return Ok(Box::new(stream)) };
    let connector = asynchronous::TlsConnector::from(configuration.clone());
    let stream = connector.connect(name.clone(), stream).await.map_err(SendError::Connect)?;
    Ok(Box::new(stream))
}

fn request(
    endpoint: &Endpoint,
    content_type: &'static str,
    encoding: Option<&'static str>,
    more: &[(&'static str, &'static str)],
    body: Vec<u8>,
) -> Request<Full<Bytes>> {
    let mut request = bare(endpoint, Method::POST, body);
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(encoding) = encoding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    for (name, value) in more {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    with_own_headers(endpoint, request)
}

/// A request with the headers that every one has.
pub(crate) fn bare(endpoint: &Endpoint, method: Method, body: Vec<u8>) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = method;
    // Both were read from an address.
    *request.uri_mut() = endpoint.target.parse().unwrap_or_default();
    let headers = request.headers_mut();
    if let Ok(host) = HeaderValue::from_str(&endpoint.authority) {
        headers.insert(HOST, host);
    }
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("tallymon/", env!("CARGO_PKG_VERSION"))));
    request
}

/// The request with the headers that the user has given, which come last, so that they replace ours.
pub(crate) fn with_own_headers(
    endpoint: &Endpoint,
    mut request: Request<Full<Bytes>>,
) -> Request<Full<Bytes>> {
    for (name, value) in &endpoint.headers {
        request.headers_mut().insert(name.clone(), value.clone());
    }
    request
}

async fn exchange(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
    talk: Talk,
) -> Result<Answer, SendError> {
    let handshake = hyper::client::conn::http1::Builder::new()
        .max_buf_size(MOST_ANSWER)
        .handshake(HttpStream::new(stream))
        .await;
    let (mut sender, connection) = handshake.map_err(SendError::Http)?;
    // It ends with the answer, or when this function is given up.
    let driving = asynchronous::spawn(async move {
        // Its errors come out of the request too.
        let _ = connection.await;
    });
    let _abort = Abort(driving.abort_handle());
    let response = sender.send_request(request).await.map_err(SendError::Http)?;
    let (head, body) = response.into_parts();
    // The status counts; what the receiver says beyond it may be broken, endless or slow.
    let body = asynchronous::time::timeout(talk.patience, Limited::new(body, talk.most).collect()).await;
    let body = match body {
        Ok(Ok(body)) => body.to_bytes().to_vec(),
        _ if !talk.needs_body => Vec::new(),
        Ok(Err(error)) => return Err(broken_body(error, talk.most)),
        Err(_) => return Err(SendError::Timeout(talk.patience)),
    };
    let retry_after = retry_after(&head.headers, SystemTime::now());
    Ok(Answer { status: head.status.as_u16(), retry_after, body })
}

/// Why a body cannot be read to its end.
pub(crate) fn broken_body(error: Box<dyn std::error::Error + Send + Sync>, most: usize) -> SendError {
    match error.downcast::<hyper::Error>() {
        Ok(error) => SendError::Http(*error),
        Err(_) => SendError::TooLong(most),
    }
}

pub(crate) struct Abort(pub(crate) asynchronous::task::AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// The words of a status.
pub(crate) fn status_words(status: u16) -> String {
    let known = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    known.map_or_else(|| status.to_string(), |words| format!("{status} {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (text, expected) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:40:37 GMT", Some(0)),
            ("soon", None),
            ("-5", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
            assert_eq!(retry_after(&headers, now), expected.map(Duration::from_secs), "{text}");
        }
    }
}
