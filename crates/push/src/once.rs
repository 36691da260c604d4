//! One request without a queue, with a few tries.

use std::fmt;
use std::io;
use std::time::Duration;
use tallymon_remote::asynchronous;

use crate::client::{Answer, SendError, post, status_words};
use crate::endpoint::Endpoint;

/// How often a request is sent.
const TRIES: u32 = 3;
/// The wait after the first failure; the next one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait that a receiver can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The longest request.
const LONGEST: usize = 64 << 10;
/// How much of what a receiver says is shown.
const MOST_WORDS: usize = 200;

/// Why a request was not taken. Its words have no address, because the address may be a secret.
#[derive(Debug)]
#[non_exhaustive]
pub enum Undelivered {
    /// The request has this many bytes: more than 64 KiB.
    TooLong(usize),
    /// The system has no resources for a connection.
    Resources(io::Error),
    /// The last of the tries got no answer.
    NoAnswer(SendError),
    /// The receiver refuses it, with this status and words.
    Refused(u16, String),
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undelivered::TooLong(length) => {
                write!(f, "the request has {length} bytes; at most {LONGEST} are sent")
            }
            Undelivered::Resources(error) => write!(f, "no connection can be made: {error}"),
            Undelivered::NoAnswer(error) => write!(f, "{error}; it was tried {TRIES} times"),
            Undelivered::Refused(status @ 300..=399, _) => {
                let status = status_words(*status);
                write!(f, "{status}: redirects are not followed; use the address that the receiver names")
            }
            Undelivered::Refused(status, said) => {
                let colon = if said.is_empty() { "" } else { ": " };
                write!(f, "{}{colon}{said}", status_words(*status))
            }
        }
    }
}

impl std::error::Error for Undelivered {}

/// Sends one request, and waits until the receiver takes it, for at most three tries. Each try has the
/// timeout of the endpoint; between them are 1 s and 2 s, or what the receiver asks for, at most 10 s. A
/// redirect is not followed: what authorizes the request would be sent elsewhere.
///
/// This blocks the thread, by the limits above at most for three timeouts and 20 s.
///
/// # Errors
///
/// Nobody took it, or it is longer than 64 KiB.
pub fn deliver(endpoint: &Endpoint, content_type: &'static str, body: &[u8]) -> Result<(), Undelivered> {
    if body.len() > LONGEST {
        return Err(Undelivered::TooLong(body.len()));
    }
    asynchronous::run(tries(endpoint, content_type, body)).map_err(Undelivered::Resources)?
}

async fn tries(endpoint: &Endpoint, content_type: &'static str, body: &[u8]) -> Result<(), Undelivered> {
    let mut wait = FIRST_WAIT;
    let mut tried = 1u32;
    loop {
        let answer = post(endpoint, content_type, None, &[], body.to_vec()).await;
        let (failure, asked) = match answer {
            Ok(Answer { status: 200..=299, .. }) => return Ok(()),
            Ok(answer) => {
                let is_temporary = matches!(answer.status, 408 | 429 | 500..);
                let refused = Undelivered::Refused(answer.status, words(&answer.body));
                if !is_temporary {
                    return Err(refused);
                }
                (refused, answer.retry_after)
            }
            Err(error) => (Undelivered::NoAnswer(error), None),
        };
        if tried >= TRIES {
            return Err(failure);
        }
        asynchronous::time::sleep(asked.map_or(wait, |asked| asked.min(LONGEST_WAIT))).await;
        (tried, wait) = (tried.saturating_add(1), wait.saturating_mul(2));
    }
}

/// The beginning of what a receiver says, in one line.
fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_WORDS).collect()
}
