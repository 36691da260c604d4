//! Requests one after the other over one connection, which is made anew when the other side has closed it.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tallymon_remote::asynchronous;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::Request;
use hyper::body::{Body, Frame, SizeHint};
use hyper::client::conn::http1::SendRequest;
use hyper::header::HeaderMap;
use tallymon_remote::asynchronous::HttpStream;
use tallymon_remote::asynchronous::Runtime;

use crate::client::{Abort, MOST_ANSWER, SendError, broken_body, connect};
use crate::endpoint::Endpoint;

/// How much of a file is in memory while it is sent.
const CHUNK: u64 = 256 << 10;

/// What a request sends.
pub(crate) enum Payload<'p> {
    /// These bytes.
    Bytes(&'p [u8]),
    /// A file from its begin, and how long it is.
    File(&'p File, u64),
}

impl Payload<'_> {
    /// How many bytes it has.
    pub(crate) const fn length(&self) -> u64 {
        match self {
            Payload::Bytes(bytes) => bytes.len() as u64,
            Payload::File(_, length) => *length,
        }
    }

    /// The body of one try.
    pub(crate) fn body(&self) -> io::Result<Outgoing> {
        match self {
            Payload::Bytes(bytes) => {
                Ok(Outgoing { file: None, bytes: Bytes::copy_from_slice(bytes), left: bytes.len() as u64 })
            }
            Payload::File(file, length) => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                Ok(Outgoing { file: Some(file), bytes: Bytes::new(), left: *length })
            }
        }
    }
}

/// A body on its way.
pub(crate) struct Outgoing {
    file: Option<File>,
    bytes: Bytes,
    left: u64,
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let Some(file) = &mut this.file else {
            this.left = 0;
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut this.bytes)))));
        };
        // A file of this machine: reading it waits for nobody.
        let mut chunk = Vec::new();
        let read = file.by_ref().take(this.left.min(CHUNK)).read_to_end(&mut chunk);
        Poll::Ready(Some(match read {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file to send was cut meanwhile")),
            Ok(read) => {
                this.left = this.left.saturating_sub(read as u64);
                Ok(Frame::data(Bytes::from(chunk)))
            }
            Err(error) => Err(error),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// A whole answer.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A connection to an endpoint, once there was a request.
pub(crate) struct Connection {
    open: Option<Open>,
    /// Dropped after what runs on it.
    runtime: Runtime,
}

struct Open {
    sender: SendRequest<Outgoing>,
    _abort: Abort,
}

impl Connection {
    pub(crate) fn new() -> io::Result<Connection> {
        Ok(Connection { open: None, runtime: Runtime::new("push")? })
    }

    /// Sends a request, which `request` makes for each try, and reads an answer of at most `most` bytes.
    /// A connection that stayed open since the last request may have been closed by the other side, which
    /// shows only now; then there is a second try over a new one. So it is for requests that may come twice.
    pub(crate) fn send(
        &mut self,
        endpoint: &Endpoint,
        request: &dyn Fn() -> io::Result<Request<Outgoing>>,
        most: usize,
        timeout: Duration,
    ) -> Result<Reply, SendError> {
        loop {
            let request = request().map_err(SendError::Request)?;
            let old = self.open.take();
            let is_old = old.is_some();
            let exchange = exchange(endpoint, old, request, most);
            let timed = async { asynchronous::time::timeout(timeout, exchange).await };
            match self.runtime.wait(timed).map_err(SendError::Connect)? {
                Err(_) => return Err(SendError::Timeout(timeout)),
                Ok(Err(SendError::Http(_))) if is_old => {}
                Ok(Err(error)) => return Err(error),
                Ok(Ok((reply, open))) => {
                    self.open = open;
                    return Ok(reply);
                }
            }
        }
    }
}

async fn exchange(
    endpoint: &Endpoint,
    old: Option<Open>,
    request: Request<Outgoing>,
    most: usize,
) -> Result<(Reply, Option<Open>), SendError> {
    let mut open = match old {
        Some(open) => open,
        None => begin(endpoint).await?,
    };
    open.sender.ready().await.map_err(SendError::Http)?;
    let response = open.sender.send_request(request).await.map_err(SendError::Http)?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, most).collect().await.map_err(|error| broken_body(error, most))?;
    let reply = Reply { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes().to_vec() };
    let stays = !open.sender.is_closed();
    Ok((reply, stays.then_some(open)))
}

async fn begin(endpoint: &Endpoint) -> Result<Open, SendError> {
    let stream = connect(endpoint).await?;
    let handshake = hyper::client::conn::http1::Builder::new()
        .max_buf_size(MOST_ANSWER)
        .handshake(HttpStream::new(stream));
    let (sender, connection) = handshake.await.map_err(SendError::Http)?;
    let driving = asynchronous::spawn(async move {
        // Its errors come out of the request too.
        let _ = connection.await;
    });
    Ok(Open { sender, _abort: Abort(driving.abort_handle()) })
}
