//! Connections: how many there are, and how long each may take.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tallymon_remote::asynchronous::HttpStream;
use tallymon_remote::asynchronous::stream::{AsyncRead, AsyncWrite};
use tallymon_remote::asynchronous::time::{Instant, Sleep, sleep};

/// The most connections at a time; further ones are closed at once.
pub(crate) const MOST_CONNECTIONS: usize = 200;
/// How long the handshake of TLS may take.
pub(crate) const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// How long a client may take to send the head of a request, and how long an unused connection stays.
pub(crate) const HEAD_TIME: Duration = Duration::from_secs(15);
/// How long a client may take nothing of an answer.
pub(crate) const WRITE_TIME: Duration = Duration::from_secs(20);
/// The longest head of a request, in bytes: an address with 500 long counter paths fits.
pub(crate) const MOST_HEAD: usize = 64 << 10;
/// The most headers of a request.
pub(crate) const MOST_HEADERS: usize = 64;

/// A connection that fails when its client does not read for too long.
pub(crate) struct Impatient<S> {
    stream: HttpStream<S>,
    /// When the client must have taken something; not running while nothing waits to be sent.
    deadline: Pin<Box<Sleep>>,
    is_waiting: bool,
    patience: Duration,
}

impl<S> Impatient<S> {
    pub(crate) fn new(stream: S, patience: Duration) -> Impatient<S> {
        let deadline = Box::pin(sleep(patience));
        Impatient { stream: HttpStream::new(stream), deadline, is_waiting: false, patience }
    }

    /// Passes the result of a write on, or fails when it waits for too long.
    fn watch<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.is_waiting = false;
            return written;
        }
        if !std::mem::replace(&mut self.is_waiting, true) {
            let until = Instant::now().checked_add(self.patience).unwrap_or_else(Instant::now);
            self.deadline.as_mut().reset(until);
        }
        match self.deadline.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> Read for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> Write for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(ended, context)
    }
}
