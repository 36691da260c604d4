//! A socket with a name in the folder of the state. Only its owner and root can connect to it.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Shared;

/// How long one side waits for the other.
const PATIENCE: Duration = Duration::from_millis(500);

/// The longest request, and the longest answer.
const LONGEST: (u64, u64) = (16, 1 << 16);

/// The system's limit for the name of a socket, with its final zero.
const LONGEST_NAME: usize = 107;

/// The thread that answers, until this is dropped.
#[derive(Debug)]
pub(in super::super) struct Listener {
    path: PathBuf,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Answers requests on a socket of this name from now on. The caller holds the lock of the session, so that a
/// socket that is there belongs to nobody any more.
pub(in super::super) fn listen(path: &Path, shared: Shared) -> io::Result<Listener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let socket = named(path, |short| UnixListener::bind(short))?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    let ended = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&ended);
    let serve = move || {
        for stream in socket.incoming() {
            if is_over.load(Ordering::Acquire) {
                return;
            }
            // Whoever does not ask in time, or does not take the answer, gets none.
            let _ = stream.and_then(|stream| answer(&stream, &shared));
        }
    };
    let thread = std::thread::Builder::new().name("status".to_owned()).spawn(serve)?;
    Ok(Listener { path: path.to_path_buf(), ended, thread: Some(thread) })
}

/// Asks the recorder behind a socket; `None` when nobody answers.
pub(in super::super) fn ask(path: &Path, request: &str) -> Option<String> {
    let mut stream = named(path, |short| UnixStream::connect(short)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    writeln!(stream, "{request}").ok()?;
    let mut answer = String::new();
    stream.take(LONGEST.1).read_to_string(&mut answer).ok()?;
    Some(answer).filter(|answer| !answer.is_empty())
}

fn answer(mut stream: &UnixStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut byte = [0; 1];
    while (request.len() as u64) < LONGEST.0 && stream.read(&mut byte)? == 1 && byte != *b"\n" {
        request.extend_from_slice(&byte);
    }
    match shared.answer(&String::from_utf8_lossy(&request)) {
        Some(words) => stream.write_all(words.as_bytes()),
        None => Ok(()),
    }
}

/// Uses a name that may be longer than the names of sockets: then by way of its folder.
fn named<T>(path: &Path, with: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if path.as_os_str().as_bytes().len() <= LONGEST_NAME {
        return with(path);
    }
    let folder = File::open(path.parent().unwrap_or(Path::new(".")))?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    with(&short.join(path.file_name().unwrap_or_default()))
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // The thread waits for somebody; without this it ends with the process.
        if named(&self.path, |short| UnixStream::connect(short)).is_ok()
            && let Some(thread) = self.thread.take()
        {
            // It ended by a panic at worst, and answers nobody any more.
            let _ = thread.join();
        }
        // A socket that stays answers nobody, and the next recorder replaces it.
        let _ = fs::remove_file(&self.path);
    }
}
