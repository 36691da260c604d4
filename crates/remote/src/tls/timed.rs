//! A socket with a deadline.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use socket2::{SockRef, TcpKeepalive};

/// After so long without a byte the system asks whether the other side still exists, and after three
/// questions without an answer, each so long, it is gone.
const SILENCE: Duration = Duration::from_secs(60);
const QUESTIONS: Duration = Duration::from_secs(15);

/// How long, and how much, is read from a client that was refused.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 64 << 10;

/// A socket whose reads and writes end at a deadline.
#[derive(Debug)]
pub(super) struct Timed {
    stream: TcpStream,
    /// When what is being read must be complete.
    deadline: Option<Instant>,
    /// How long a message may take from its first byte, and how long a write may wait.
    step: Duration,
}

impl Timed {
    /// A socket that has until `step` from now to say what it must say first.
    pub(super) fn new(stream: TcpStream, step: Duration) -> io::Result<Timed> {
        // An answer is one frame: nothing is gained by waiting for more.
        stream.set_nodelay(true)?;
        let keepalive = TcpKeepalive::new().with_time(SILENCE).with_interval(QUESTIONS);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        stream.set_write_timeout(Some(step))?;
        let mut timed = Timed { stream, deadline: None, step };
        timed.begin(step);
        Ok(timed)
    }

    /// What is read must be complete in this time.
    pub(super) fn begin(&mut self, step: Duration) {
        self.deadline = Instant::now().checked_add(step);
    }

    /// Waits for as long as it takes for a first byte, and from then on for one step.
    pub(super) fn idle(&mut self, step: Duration) {
        self.step = step;
        self.deadline = None;
    }

    /// A first byte has come: the rest has one step of time.
    pub(super) fn has_begun(&mut self) {
        if self.deadline.is_none() {
            self.begin(self.step);
        }
    }

    /// Ends a connection that was refused. What the other side has sent is read for a moment: otherwise the
    /// system would tell it that the connection broke, and not what we said.
    pub(super) fn refuse(mut self) {
        if self.stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        self.begin(LINGER);
        let mut part = [0; 4096];
        let mut all = 0usize;
        while let Ok(count @ 1..) = self.read(&mut part) {
            all = all.saturating_add(count);
            if all > LINGER_BYTES {
                return;
            }
        }
    }
}

impl Read for Timed {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        let left = match self.deadline {
            None => None,
            Some(deadline) => match deadline.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return Err(io::ErrorKind::TimedOut.into()),
                left => Some(left),
            },
        };
        self.stream.set_read_timeout(left)?;
        let count = self.stream.read(part).map_err(late)?;
        self.has_begun();
        Ok(count)
    }
}

impl Write for Timed {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.stream.write(part).map_err(late)
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.stream.write_vectored(parts).map_err(late)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Unix says of a socket that was late that it would block.
fn late(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}
