//! What went wrong with an object or a bucket, in words that say what to do.

use std::fmt;
use std::io;
use std::time::{Duration, SystemTime};

use hyper::header::{DATE, HeaderMap};

use super::xml::{self, Said};
use crate::client::{SendError, status_words};
use crate::connection::Reply;

/// The longest text of a server that is shown.
const LONGEST: usize = 300;

/// Requests with a clock that is further away are refused by Amazon.
const MOST_SKEW: Duration = Duration::from_secs(15 * 60);

/// Why a request to an object storage failed. Its words have no address, and nothing secret.
#[derive(Debug)]
#[non_exhaustive]
pub enum S3Error {
    /// The address, the settings or the credentials cannot be used.
    Settings(String),
    /// There is no whole answer.
    NoAnswer(SendError),
    /// The server refused the request.
    Refused {
        /// The status of HTTP.
        status: u16,
        /// The code of S3, as `AccessDenied`; empty if there is none.
        code: String,
        /// What it means, and what to do.
        words: String,
    },
    /// The answer cannot be what was asked for.
    Wrong(String),
    /// Something of this machine failed.
    Local(io::Error),
}

impl fmt::Display for S3Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            S3Error::Settings(words) => f.write_str(words),
            S3Error::NoAnswer(error) => error.fmt(f),
            S3Error::Refused { status, code, words } => {
                write!(f, "{}", status_words(*status))?;
                if !code.is_empty() {
                    write!(f, ", {code}")?;
                }
                write!(f, ": {words}")
            }
            S3Error::Wrong(words) => write!(f, "the answer of the server is wrong: {words}"),
            S3Error::Local(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for S3Error {}

impl From<S3Error> for io::Error {
    fn from(error: S3Error) -> io::Error {
        let kind = match &error {
            S3Error::Settings(_) => io::ErrorKind::InvalidInput,
            S3Error::NoAnswer(SendError::Timeout(_)) => io::ErrorKind::TimedOut,
            S3Error::NoAnswer(SendError::Connect(error) | SendError::Request(error)) => error.kind(),
            S3Error::NoAnswer(_) => io::ErrorKind::ConnectionAborted,
            S3Error::Refused { status: 404, .. } => io::ErrorKind::NotFound,
            // An object that ends before the range that was asked for.
            S3Error::Refused { status: 416, .. } => io::ErrorKind::UnexpectedEof,
            S3Error::Refused { status: 401 | 403, .. } => io::ErrorKind::PermissionDenied,
            S3Error::Refused { .. } => io::ErrorKind::Other,
            S3Error::Wrong(_) => io::ErrorKind::InvalidData,
            S3Error::Local(error) => error.kind(),
        };
        io::Error::new(kind, error)
    }
}

impl S3Error {
    /// Whether the same request may succeed later: the server is away or busy.
    pub fn is_passing(&self) -> bool {
        match self {
            S3Error::NoAnswer(SendError::TooLong(_) | SendError::Request(_))
            | S3Error::Settings(_)
            | S3Error::Wrong(_) => false,
            S3Error::NoAnswer(_) => true,
            S3Error::Refused { status, .. } => is_busy(*status),
            S3Error::Local(_) => false,
        }
    }
}

/// Whether a status says that the server cannot answer now.
pub(super) const fn is_busy(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// What a refusal means.
pub(super) fn refused(reply: &Reply, source: &str, region: &str, now: SystemTime) -> S3Error {
    let Said { code, message, region: other } = xml::said(&reply.body);
    let message: String = message.chars().take(LONGEST).collect();
    let header = |name: &str| reply.headers.get(name)?.to_str().ok().map(str::to_owned);
    let other = header("x-amz-bucket-region").or(other);
    let words = match (code.as_str(), reply.status) {
        ("RequestTimeTooSkewed", _) => skewed(&reply.headers, now),
        ("NoSuchBucket", _) => "there is no such bucket; create it first, or name another one".to_owned(),
        ("InvalidAccessKeyId" | "SignatureDoesNotMatch" | "ExpiredToken" | "InvalidToken", _) => {
            let clock = clock_difference(&reply.headers, now).filter(|by| *by > MOST_SKEW);
            match clock {
                Some(_) => skewed(&reply.headers, now),
                None => format!("the server does not take the credentials of {source}: {message}"),
            }
        }
        (_, 300..=399) | ("AuthorizationHeaderMalformed" | "IllegalLocationConstraintException", _) => {
            let named = other
                .filter(|other| other != region)
                .map(|other| format!(", and the bucket is in {other:?}"));
            format!(
                "the region was {region:?}{}; set AWS_REGION, and AWS_ENDPOINT_URL if it is no server of \
                 Amazon (redirects are not followed)",
                named.unwrap_or_default()
            )
        }
        (_, 401 | 403) => format!("the credentials of {source} may not do this: {message}"),
        ("NotImplemented", _) | (_, 501) => {
            format!("the server cannot do this, which a lake needs (If-None-Match): {message}")
        }
        _ if message.is_empty() => "the server says no more".to_owned(),
        _ => message,
    };
    let code = code.chars().take(LONGEST).collect();
    S3Error::Refused { status: reply.status, code, words }
}

fn clock_difference(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let server = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()?;
    Some(now.duration_since(server).unwrap_or_else(|error| error.duration()))
}

fn skewed(headers: &HeaderMap, now: SystemTime) -> String {
    match clock_difference(headers, now) {
        Some(by) => {
            format!(
                "the clocks of this machine and of the server differ by {} s; set the clock",
                by.as_secs()
            )
        }
        None => "the clocks of this machine and of the server differ; set the clock".to_owned(),
    }
}
