//! Fetches what another program shows: one GET and its whole answer.

use hyper::Method;
use hyper::header::{ACCEPT, HeaderValue};
use tallymon_remote::asynchronous;

use crate::client::{Answer, SendError, Talk, bare, converse, status_words, with_own_headers};
use crate::endpoint::Endpoint;

/// Why there is nothing that could be read. Its words have no address.
#[derive(Debug)]
#[non_exhaustive]
pub enum FetchError {
    /// The system has no resources for a connection.
    Resources(std::io::Error),
    /// There is no whole answer.
    NoAnswer(SendError),
    /// The answer has this status.
    Status(u16),
}

impl std::fmt::Display for FetchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FetchError::Resources(error) => write!(f, "no connection can be made: {error}"),
            FetchError::NoAnswer(error) => write!(f, "{error}"),
            FetchError::Status(status @ 300..=399) => {
                let status = status_words(*status);
                write!(f, "{status}: redirects are not followed; use the address that it names")
            }
            FetchError::Status(status) => write!(f, "it answers {}", status_words(*status)),
        }
    }
}

impl std::error::Error for FetchError {}

/// The body of what the endpoint answers to a GET, which has at most `most` bytes. `accept` are the types of
/// content that can be read. The whole exchange takes no longer than the timeout of the endpoint, for which
/// this blocks the thread. A redirect is not followed: what authorizes the request would be sent elsewhere.
///
/// # Errors
///
/// There is no whole answer in time, or its status is not 200.
pub fn fetch(endpoint: &Endpoint, accept: &'static str, most: usize) -> Result<Vec<u8>, FetchError> {
    let mut request = bare(endpoint, Method::GET, Vec::new());
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
    let request = with_own_headers(endpoint, request);
    let talk = Talk { most, patience: endpoint.timeout, needs_body: true };
    let answer = asynchronous::run(converse(endpoint, request, talk)).map_err(FetchError::Resources)?;
    match answer.map_err(FetchError::NoAnswer)? {
        Answer { status: 200, body, .. } => Ok(body),
        Answer { status, .. } => Err(FetchError::Status(status)),
    }
}
