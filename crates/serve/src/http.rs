//! Answers: their bodies, and the headers that every answer has.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap,
    HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tallymon::core::visible::escape_json;
use tallymon_remote::asynchronous::sync::mpsc;

/// Answers that are shorter are sent as they are.
const WORTH_COMPRESSING: usize = 1024;

/// The body of an answer: all of it, or pieces as they come.
#[derive(Debug)]
pub(crate) enum Answer {
    /// All of it.
    Whole(Option<Bytes>),
    /// Pieces, until the sender is dropped.
    Pieces(mpsc::Receiver<Bytes>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Answer::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Answer::Pieces(pieces) => {
                pieces.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Answer::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Answer::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Answer::Pieces(_) => SizeHint::default(),
        }
    }
}

/// An answer with the headers that all have.
pub(crate) fn answer(status: StatusCode, kind: &'static str, body: Answer) -> Response<Answer> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(CONTENT_TYPE, kind);
    set(CACHE_CONTROL, "no-store");
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(X_FRAME_OPTIONS, "DENY");
    set(REFERRER_POLICY, "no-referrer");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    // An answer that is opened as a page can do nothing.
    set(CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox");
    response
}

/// A JSON answer, compressed if it is long and the client takes that.
pub(crate) fn json_answer(value: &Value, asked: &HeaderMap) -> Response<Answer> {
    whole(StatusCode::OK, "application/json", json_text(value).into_bytes(), asked)
}

/// JSON that a terminal can show: names of other machines and programs can have letters that it obeys or
/// hides.
pub(crate) fn json_text(value: &Value) -> String {
    let text = value.to_string();
    match escape_json(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => escaped,
    }
}

/// A whole answer, compressed if it is long and the client takes that.
pub(crate) fn whole(
    status: StatusCode,
    kind: &'static str,
    body: Vec<u8>,
    asked: &HeaderMap,
) -> Response<Answer> {
    let takes_gzip = asked.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let takes_gzip =
        takes_gzip.is_some_and(|value| value.split(',').any(|one| one.trim().starts_with("gzip")));
    let short =
        if takes_gzip && body.len() >= WORTH_COMPRESSING { gzip(&body, Compression::fast()) } else { None };
    let is_short = short.is_some();
    let body = Bytes::from(short.unwrap_or(body));
    let mut response = answer(status, kind, Answer::Whole(Some(body)));
    if is_short {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// The bytes in gzip's format.
pub(crate) fn gzip(bytes: &[u8], level: Compression) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

/// Why a request has no answer: a status, and words that say what is wrong.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The status.
    pub(crate) status: StatusCode,
    /// What is wrong, and what to do.
    pub(crate) words: String,
    /// The nearest names that exist, for a name that does not.
    pub(crate) nearest: Vec<String>,
}

impl Refused {
    pub(crate) fn new(status: StatusCode, words: impl ToString) -> Refused {
        Refused { status, words: words.to_string(), nearest: Vec::new() }
    }

    pub(crate) fn not_found(words: impl ToString) -> Refused {
        Refused::new(StatusCode::NOT_FOUND, words)
    }

    pub(crate) fn bad_request(words: impl ToString) -> Refused {
        Refused::new(StatusCode::BAD_REQUEST, words)
    }

    /// The answer that says it.
    pub(crate) fn answer(&self) -> Response<Answer> {
        let mut error = json!({ "error": self.words });
        if !self.nearest.is_empty() {
            error["nearest"] = json!(self.nearest);
        }
        let body = Bytes::from(json_text(&error));
        answer(self.status, "application/json", Answer::Whole(Some(body)))
    }
}

impl From<tallymon::core::flow::SourceError> for Refused {
    fn from(error: tallymon::core::flow::SourceError) -> Refused {
        Refused::new(StatusCode::BAD_GATEWAY, error)
    }
}

impl From<tallymon::PathError> for Refused {
    fn from(error: tallymon::PathError) -> Refused {
        let words = format!("{}: {}{}", error.path, error.problem_words(), error.nearest_words());
        Refused { status: StatusCode::NOT_FOUND, words, nearest: error.nearest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_no_letters_that_a_terminal_obeys_or_hides() {
        let mut refused = Refused::not_found("no counter \u{9b}31m\u{202e}\u{7f}한");
        refused.nearest = vec!["\u{200b}Memory".to_owned()];
        let mut answer = refused.answer();
        let Answer::Whole(Some(body)) = answer.body_mut() else { panic!("no body") };
        let text = std::str::from_utf8(body).unwrap();
        assert!(
            text.contains(r"no counter \u009b31m\u202e\u007f한") && text.contains(r"\u200bMemory"),
            "{text}"
        );
        // The values stay.
        let read: Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            (&read["error"], &read["nearest"][0]),
            (&json!(refused.words), &json!(refused.nearest[0]))
        );
    }
}
