//! The connection to the service: a socket in the file system, one line as request, lines as answer.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::figures::Figures;

/// Maximum length of an answer.
const LONGEST: u64 = 1 << 20;

/// How long figures are reused.
pub const FRESH: Duration = Duration::from_millis(100);

/// How long a library waits for the service: half the time that a reader waits for the library, according to
/// its `.reg` file.
const PATIENCE: Duration = Duration::from_millis(500);

/// The socket of the service: `$BEHEMOTH_SOCKET`, else `behemoth.sock` in `$TALLYMON_ROOT` or
/// `$XDG_RUNTIME_DIR`, else `/tmp/behemoth-UID.sock`.
pub fn path() -> PathBuf {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = || given("TALLYMON_ROOT").or_else(|| given("XDG_RUNTIME_DIR"));
    given("BEHEMOTH_SOCKET").or_else(|| Some(folder()?.join("behemoth.sock"))).unwrap_or_else(|| {
        let user = std::fs::metadata("/proc/self").map_or(0, |about| about.uid());
        PathBuf::from(format!("/tmp/behemoth-{user}.sock"))
    })
}

/// Sends a request to the service, and returns its whole answer. `patience` limits each part of the exchange.
///
/// # Errors
///
/// No service listens, or the answer does not come in time.
pub fn ask(path: &Path, question: &str, patience: Duration) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(format!("{question}\n").as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.take(LONGEST).read_to_string(&mut answer)?;
    Ok(answer)
}

/// Gets figures from the service, at most ten times a second.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    last: Option<(Instant, Figures)>,
}

impl Client {
    /// A client of the service at this path.
    pub fn new(path: PathBuf) -> Client {
        Client { path, last: None }
    }

    /// The figures of one instant, at most a tenth of a second ago.
    ///
    /// # Errors
    ///
    /// The service does not answer, or its answer is not figures.
    pub fn figures(&mut self) -> io::Result<&Figures> {
        let fresh = self.last.take().filter(|(since, _)| since.elapsed() < FRESH);
        let figures = match fresh {
            Some(fresh) => fresh,
            None => {
                let answer = ask(&self.path, "figures", PATIENCE)?;
                let figures = Figures::parse(&answer)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                (Instant::now(), figures)
            }
        };
        Ok(&self.last.insert(figures).1)
    }
}
