//! Listens for requests of OTLP over HTTP.

use std::convert::Infallible;
use std::io::{self, Read};
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tallymon_remote::asynchronous;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use tallymon_export::protobuf::Message;
use tallymon_remote::asynchronous::sync::Semaphore;
use tallymon_remote::asynchronous::time::{sleep, timeout};
use tallymon_remote::asynchronous::{HttpStream, HttpTimer};

use crate::otlp::{BadRequest, Outcome};

/// The most connections at a time; further ones are closed at once.
const MOST_CONNECTIONS: usize = 64;
/// The most bodies that are in memory at a time.
const MOST_BODIES: usize = 8;
/// The longest body as it comes, in bytes.
const LONGEST_BODY: usize = 4 << 20;
/// The longest request of each encoding after decompression, in bytes: JSON takes many times its bytes.
const LONGEST_PROTOBUF: u64 = 16 << 20;
const LONGEST_JSON: u64 = 4 << 20;
/// How long a head, a body and a connection without requests may take.
const HEAD_TIME: Duration = Duration::from_secs(15);
const BODY_TIME: Duration = Duration::from_secs(15);
/// The longest head of a request, in bytes, and the most headers.
const MOST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
/// How long a connection may last: a program that sends every minute connects anew, or keeps it.
const CONNECTION_TIME: Duration = Duration::from_secs(3600);
/// How often it is looked whether to end.
const LOOK: Duration = Duration::from_millis(100);

const PATH: &str = "/v1/metrics";
const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// What takes requests.
pub(crate) trait Takes: Send + Sync + 'static {
    /// Whether a machine may send.
    fn allows(&self, from: IpAddr) -> bool;
    /// Takes a request, after decompression; `length` is its length before that.
    fn take(&self, request: &[u8], is_json: bool, length: usize) -> Result<Outcome, BadRequest>;
    /// Counts a request that was refused.
    fn refuse(&self, why: &str);
}

/// Answers until `stop` is set.
///
/// # Errors
///
/// The system has no resources for it.
pub(crate) fn serve(listener: TcpListener, takes: Arc<impl Takes>, stop: &AtomicBool) -> io::Result<()> {
    asynchronous::run(async {
        listener.set_nonblocking(true)?;
        let listener = asynchronous::net::TcpListener::from_std(listener)?;
        let accepting = asynchronous::spawn(accept(listener, takes));
        while !stop.load(Ordering::Relaxed) {
            sleep(LOOK).await;
        }
        accepting.abort();
        Ok(())
    })?
}

async fn accept(listener: asynchronous::net::TcpListener, takes: Arc<impl Takes>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let bodies = Arc::new(Semaphore::new(MOST_BODIES));
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let from = from.ip().to_canonical();
        if !takes.allows(from) {
            takes.refuse("a machine that --allow does not name has connected");
            continue;
        }
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
            takes.refuse("there are more than 64 connections");
            continue;
        };
        let (takes, bodies) = (Arc::clone(&takes), Arc::clone(&bodies));
        asynchronous::spawn(async move {
            let answer = service_fn(move |request| {
                let (takes, bodies) = (Arc::clone(&takes), Arc::clone(&bodies));
                async move { Ok::<_, Infallible>(answer(request, &*takes, &bodies).await) }
            });
            let mut http = http1::Builder::new();
            http.timer(HttpTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(MOST_HEAD)
                .max_headers(MOST_HEADERS);
            // A client that breaks off, or sends no HTTP, is nobody's fault here.
            let _ = timeout(CONNECTION_TIME, http.serve_connection(HttpStream::new(stream), answer)).await;
            drop(permit);
        });
    }
}

/// A request that is not taken.
struct Refused {
    status: StatusCode,
    why: String,
}

impl Refused {
    fn new(status: StatusCode, why: impl ToString) -> Refused {
        Refused { status, why: why.to_string() }
    }
}

async fn answer(request: Request<Incoming>, takes: &impl Takes, bodies: &Semaphore) -> Response<Full<Bytes>> {
    let is_json = is_json(request.headers()).unwrap_or(true);
    let (status, body) = match receive(request, takes, bodies).await {
        Ok(outcome) => (StatusCode::OK, success(&outcome, is_json)),
        Err(refused) => {
            takes.refuse(&refused.why);
            (refused.status, status(&refused.why, is_json))
        }
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(if is_json { JSON } else { PROTOBUF }));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

/// Whether a request is JSON; `None` if it is neither this nor Protocol Buffers.
fn is_json(headers: &HeaderMap) -> Option<bool> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case(JSON) {
        Some(true)
    } else {
        kind.eq_ignore_ascii_case(PROTOBUF).then_some(false)
    }
}

async fn receive(
    request: Request<Incoming>,
    takes: &impl Takes,
    bodies: &Semaphore,
) -> Result<Outcome, Refused> {
    let headers = request.headers();
    // Browsers send it with every request that changes something: no page may send through its visitor.
    if headers.contains_key(ORIGIN) {
        return Err(Refused::new(StatusCode::FORBIDDEN, "pages in browsers may not send"));
    }
    if request.uri().path() != PATH {
        let why = format!("only metrics are received: POST to {PATH}");
        return Err(Refused::new(StatusCode::NOT_FOUND, why));
    }
    if request.method() != Method::POST {
        return Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, "a request is a POST"));
    }
    let Some(is_json) = is_json(headers) else {
        let why = format!("a request is {PROTOBUF} or {JSON}");
        return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    };
    let is_gzip = match headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"" | b"identity") => false,
        Some(b"gzip") => true,
        Some(_) => {
            let why = "a request is compressed with gzip or not at all";
            return Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
        }
    };
    let Ok(_room) = bodies.acquire().await else {
        return Err(Refused::new(StatusCode::SERVICE_UNAVAILABLE, "the receiver ends"));
    };
    let body = timeout(BODY_TIME, Limited::new(request.into_body(), LONGEST_BODY).collect()).await;
    let body = body.map_err(|_| Refused::new(StatusCode::REQUEST_TIMEOUT, "a body took more than 15 s"))?;
    let body = body.map_err(|error| {
        if error.downcast_ref::<LengthLimitError>().is_some() {
            Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "a body has more than 4 MiB")
        } else {
            Refused::new(StatusCode::BAD_REQUEST, format!("a body broke off: {error}"))
        }
    })?;
    let body = body.to_bytes();
    let most = if is_json { LONGEST_JSON } else { LONGEST_PROTOBUF };
    let plain = if is_gzip { gunzip(&body, most)? } else { body.clone() };
    if u64::try_from(plain.len()).is_ok_and(|length| length > most) {
        return Err(Refused::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a request has more than {most} bytes"),
        ));
    }
    takes
        .take(&plain, is_json, body.len())
        .map_err(|BadRequest(why)| Refused::new(StatusCode::BAD_REQUEST, why))
}

/// The bytes behind a compression, at most one more than `most`.
fn gunzip(body: &[u8], most: u64) -> Result<Bytes, Refused> {
    let mut plain = Vec::new();
    match MultiGzDecoder::new(body).take(most.saturating_add(1)).read_to_end(&mut plain) {
        Ok(_) => Ok(plain.into()),
        Err(error) => Err(Refused::new(StatusCode::BAD_REQUEST, format!("a body is no gzip: {error}"))),
    }
}

/// An `ExportMetricsServiceResponse`.
fn success(outcome: &Outcome, is_json: bool) -> Vec<u8> {
    let why = outcome.why.as_deref().unwrap_or_default();
    if is_json {
        let partial = serde_json::json!({
            "partialSuccess": { "rejectedDataPoints": outcome.left_out.to_string(), "errorMessage": why }
        });
        let whole = serde_json::json!({});
        return if outcome.left_out > 0 { partial } else { whole }.to_string().into_bytes();
    }
    let mut message = Message::new();
    if outcome.left_out > 0 {
        message.message(1, |partial| {
            partial.varint(1, outcome.left_out);
            partial.bytes(2, why);
        });
    }
    message.into_bytes()
}

/// A `Status` of gRPC, as OTLP has it for errors.
fn status(why: &str, is_json: bool) -> Vec<u8> {
    if is_json {
        return serde_json::json!({ "message": why }).to_string().into_bytes();
    }
    let mut message = Message::new();
    message.bytes(2, why);
    message.into_bytes()
}
