//! Queries the machine's print server (CUPS) through its socket: which queues there are, and which jobs.
//!
//! Requests are HTTP containing the Internet Printing Protocol ([`ipp`]). An answer has to arrive before a
//! deadline, whatever the server does: a full backlog, silence and a slow trickle look the same to the
//! caller.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::kernel::proc::ParseError;
use crate::kernel::proc::scan::decimal;

pub mod ipp;
pub(crate) mod print_server;

/// The largest answer in bytes: a few times the longest list of jobs that a server returns at once.
const MOST: usize = 8 << 20;
/// The subject of errors.
const FILE: &str = "answer of the print server";

/// Why a print server gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CupsError {
    /// There is no server.
    NoServer,
    /// It refuses this user.
    Denied,
    /// It did not answer before the deadline.
    Late,
    /// The socket cannot be used.
    Socket(ErrorKind),
    /// Its answer cannot be decoded.
    Answer(ParseError),
    /// It answered with this error status of the protocol.
    Status(u16),
}

impl fmt::Display for CupsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CupsError::NoServer => f.write_str("no print server listens"),
            CupsError::Denied => f.write_str("the print server refuses this user"),
            CupsError::Late => f.write_str("the print server did not answer in time"),
            CupsError::Socket(kind) => write!(f, "socket of the print server: {kind}"),
            CupsError::Answer(error) => error.fmt(f),
            CupsError::Status(status) => write!(f, "the print server answered with status {status:#06x}"),
        }
    }
}

impl std::error::Error for CupsError {}

/// The moment after `patience`; now, if that is beyond the range of the clock.
pub(crate) fn deadline_in(patience: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(patience).unwrap_or(now)
}

/// Sends a request to the server listening at `socket`, and returns the body of its HTTP answer.
///
/// # Errors
///
/// There is no server, it refuses, or the answer is not complete at the deadline.
pub(crate) fn ask(socket: &Path, question: &[u8], deadline: Instant) -> Result<Vec<u8>, CupsError> {
    let mut stream = connect(socket)?;
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/ipp\r\nContent-Length: \
            {}\r\nConnection: close\r\n\r\n",
        question.len()
    );
    let failed = |error: &std::io::Error| of_kind(error.kind());
    stream.set_write_timeout(Some(left(deadline)?)).map_err(|error| failed(&error))?;
    stream.write_all(&[head.as_bytes(), question].concat()).map_err(|error| failed(&error))?;
    let mut answer = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        stream.set_read_timeout(Some(left(deadline)?)).map_err(|error| failed(&error))?;
        let length = match stream.read(&mut piece) {
            Ok(0) => return body(&answer),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(&error)),
        };
        answer.extend(piece.get(..length).unwrap_or_default());
        if answer.len() > MOST {
            return Err(CupsError::Answer(ParseError::new(FILE, 0, "length", "less than 8 MiB", b"more")));
        }
    }
}

/// Connects without waiting: a server with a full backlog does not answer either.
fn connect(socket: &Path) -> Result<UnixStream, CupsError> {
    let of = |errno: Errno| match errno {
        Errno::AGAIN => CupsError::Late,
        errno => of_kind(std::io::Error::from(errno).kind()),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let caller =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(of)?;
    rustix::net::connect(&caller, &SocketAddrUnix::new(socket).map_err(of)?).map_err(of)?;
    let stream = UnixStream::from(caller);
    stream.set_nonblocking(false).map_err(|error| of_kind(error.kind()))?;
    Ok(stream)
}

fn of_kind(kind: ErrorKind) -> CupsError {
    match kind {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => CupsError::NoServer,
        ErrorKind::PermissionDenied => CupsError::Denied,
        ErrorKind::WouldBlock | ErrorKind::TimedOut => CupsError::Late,
        kind => CupsError::Socket(kind),
    }
}

/// The time left until the deadline.
fn left(deadline: Instant) -> Result<std::time::Duration, CupsError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(CupsError::Late) } else { Ok(left) }
}

/// The body of an HTTP answer, in one piece or chunked.
///
/// # Errors
///
/// The bytes are no HTTP answer, are truncated, or the server refuses.
pub fn body(answer: &[u8]) -> Result<Vec<u8>, CupsError> {
    let wrong = |what, needed, found: &[u8]| CupsError::Answer(ParseError::new(FILE, 0, what, needed, found));
    let mut rest = answer;
    loop {
        let Some((head, behind)) = split(rest, b"\r\n\r\n") else {
            return Err(wrong("header", "lines and an empty one", rest));
        };
        let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let first = lines.next().unwrap_or_default();
        let status = first.split(u8::is_ascii_whitespace).nth(1).and_then(decimal);
        match status.filter(|_| first.starts_with(b"HTTP/1.")) {
            // An interim response before the real one.
            Some(100..=199) => {
                rest = behind;
                continue;
            }
            Some(200) => {}
            Some(401 | 403) => return Err(CupsError::Denied),
            _ => return Err(wrong("first line", "HTTP/1.1 200", first)),
        }
        let value = |name: &str| {
            lines.clone().find_map(|line| {
                let (found, value) = split(line, b":")?;
                found.eq_ignore_ascii_case(name.as_bytes()).then(|| value.trim_ascii())
            })
        };
        if value("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
            return pieces(behind);
        }
        let whole = match value("content-length") {
            Some(text) => decimal(text)
                .and_then(|length| behind.get(..usize::try_from(length).ok()?))
                .ok_or_else(|| wrong("length", "as many bytes as are announced", text))?,
            None => behind,
        };
        return Ok(whole.to_vec());
    }
}

/// Joins chunks: each is preceded by its length in hexadecimal, and the last one is empty.
fn pieces(mut rest: &[u8]) -> Result<Vec<u8>, CupsError> {
    let mut whole = Vec::new();
    loop {
        let found = split(rest, b"\r\n").and_then(|(length, behind)| {
            // Chunk extensions may follow the length; nobody uses them.
            let length = length.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
            let length = usize::from_str_radix(std::str::from_utf8(length).ok()?, 16).ok()?;
            Some((behind.get(..length)?, behind.get(length..)?))
        });
        let Some((piece, behind)) = found else {
            let error = ParseError::new(FILE, 0, "piece", "a length and as many bytes", rest);
            return Err(CupsError::Answer(error));
        };
        if piece.is_empty() {
            return Ok(whole);
        }
        whole.extend(piece);
        rest = behind.strip_prefix(b"\r\n").unwrap_or(behind);
    }
}

/// The text before and after a separator.
fn split<'a>(text: &'a [u8], word: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(word.len()).position(|window| window == word)?;
    Some((text.get(..at)?, text.get(at.saturating_add(word.len())..)?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// A socket in the directory of temporary files.
    fn listener() -> (UnixListener, PathBuf) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tallymon-cups-{}-{number}", std::process::id()));
        (UnixListener::bind(&path).unwrap(), path)
    }

    /// The result of a request to a server that writes these pieces, each after a pause, and then hangs up or
    /// not.
    fn answer(
        pieces: &[&[u8]],
        pause: Duration,
        hangs_up: bool,
        patience: Duration,
    ) -> Result<Vec<u8>, CupsError> {
        let (listener, path) = listener();
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let result = ask(&path, b"question", Instant::now() + patience);
                std::fs::remove_file(&path).unwrap();
                result
            });
            let (mut stream, _) = listener.accept().unwrap();
            let mut question = vec![0; 1000];
            let length = stream.read(&mut question).unwrap();
            assert!(question[..length].ends_with(b"Content-Length: 8\r\nConnection: close\r\n\r\nquestion"));
            for piece in pieces {
                // The client may have gone.
                let _ = stream.write_all(piece);
                std::thread::sleep(pause);
            }
            if hangs_up {
                drop(stream);
                asked.join().unwrap()
            } else {
                let result = asked.join().unwrap();
                drop(stream);
                result
            }
        })
    }

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn answers_whole_or_chunked() {
        let of = |pieces: &[&[u8]]| answer(pieces, Duration::ZERO, true, LONG);
        assert_eq!(of(&[b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd"]), Ok(b"abc".to_vec()));
        assert_eq!(of(&[b"HTTP/1.0 200 OK\r\n\r\n", b"ab", b"c"]), Ok(b"abc".to_vec()));
        let chunks =
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n";
        assert_eq!(of(&[b"HTTP/1.1 100 Continue\r\n\r\n", chunks]), Ok(b"abc".to_vec()));
    }

    #[test]
    fn malformed_http_answers_are_errors() {
        let of = |pieces: &[&[u8]]| answer(pieces, Duration::ZERO, true, LONG);
        let said = |text: &[u8]| of(&[text]).unwrap_err().to_string();
        assert!(said(b"").contains("header: needed lines and an empty one, found nothing"));
        assert!(said(b"HTTP/1.1 500 No\r\n\r\n").contains("first line: needed HTTP/1.1 200"));
        assert!(said(b"SSH-2.0\r\n\r\n").contains("first line: needed HTTP/1.1 200"));
        assert!(said(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc").contains("length: needed as many"));
        assert!(said(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc").contains("length: needed as many"));
        for piece in ["z", "ffffffffffffffff\r\nab\r\n", "5\r\nab\r\n", "-1\r\n"] {
            let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{piece}");
            assert!(said(text.as_bytes()).contains("piece: needed a length and as many bytes"), "{piece}");
        }
        assert_eq!(of(&[b"HTTP/1.1 403 Forbidden\r\n\r\n"]), Err(CupsError::Denied));
        let endless = vec![b'x'; MOST + 1];
        assert!(said(&endless).contains("length: needed less than 8 MiB"));
    }

    /// However the server fails to answer, the caller continues at its deadline.
    #[test]
    fn a_hanging_server_costs_no_more_than_the_deadline() {
        let mut hang = vec![(vec![], Duration::ZERO)];
        // One byte at a time.
        hang.push((vec![b"H".as_slice(); 100], SHORT / 20));
        for (pieces, pause) in hang {
            let start = Instant::now();
            assert_eq!(answer(&pieces, pause, false, SHORT), Err(CupsError::Late));
            assert!(start.elapsed() < LONG / 2, "{:?}", start.elapsed());
        }
        // Nobody accepts connections, and the backlog is full.
        let (_listener, path) = listener();
        let waiting: Vec<_> = std::iter::from_fn(|| connect(&path).ok()).take(100_000).collect();
        assert_eq!(ask(&path, b"", Instant::now() + LONG), Err(CupsError::Late), "{} wait", waiting.len());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(ask(&path, b"", Instant::now() + LONG), Err(CupsError::NoServer));
    }
}
