//! Logs and profiles that a page sends: into a file of ours, with a limit.

use std::future::poll_fn;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::http::Refused;
use crate::hub::Hub;
use crate::parameters::Parameters;
use crate::profiles::Profiles;

/// How long the next piece may take.
const PIECE_TIME: Duration = Duration::from_secs(20);
/// The longest name that is kept, in characters.
const MOST_NAME: usize = 200;

/// Where uploads go, and how large they may be, all together.
#[derive(Debug)]
pub(crate) struct Uploads {
    folder: std::path::PathBuf,
    /// Bytes that are still free.
    room: std::sync::atomic::AtomicU64,
    limit: u64,
    number: std::sync::atomic::AtomicU64,
}

impl Uploads {
    /// A new folder that nobody else can read.
    pub(crate) fn new(limit: u64) -> std::io::Result<Uploads> {
        let mut random = [0u8; 8];
        getrandom::fill(&mut random)?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = std::env::temp_dir().join(format!("tallymon-uploads-{name}"));
        private_folder(&folder)?;
        let (room, number) = (std::sync::atomic::AtomicU64::new(limit), std::sync::atomic::AtomicU64::new(0));
        Ok(Uploads { folder, room, limit, number })
    }

    fn take(&self, bytes: u64) -> Result<(), Refused> {
        use std::sync::atomic::Ordering::Relaxed;
        let taken = self.room.fetch_update(Relaxed, Relaxed, |room| room.checked_sub(bytes));
        taken.map(drop).map_err(|_| {
            let words = format!(
                "uploads may have {} MiB together; close one, or give large logs to 'tally serve FILE'",
                self.limit >> 20
            );
            Refused::new(StatusCode::PAYLOAD_TOO_LARGE, words)
        })
    }

    /// Room of a log that was closed.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.room.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Uploads {
    /// A name that no file has yet.
    fn new_path(&self) -> std::path::PathBuf {
        let number = self.number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.folder.join(number.to_string())
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        // What is left in a temporary folder is removed by the system.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(unix)]
fn private_folder(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private_folder(path: &std::path::Path) -> std::io::Result<()> {
    // The temporary folder of Windows belongs to the user.
    std::fs::create_dir(path)
}

/// Takes a log; it is read afterwards, and `/api/v1/logs` says how far. A profile of a .NET program is read at
/// once.
pub(crate) async fn receive(
    hub: Arc<Hub>,
    uploads: Arc<Uploads>,
    profiles: Option<Arc<Profiles>>,
    request: Request<Incoming>,
) -> Result<Value, Refused> {
    let parameters = Parameters::of(request.uri())?;
    let name: String = parameters.needed("name")?.chars().take(MOST_NAME).collect();
    let announced = request.body().size_hint().lower();
    uploads.take(announced)?;
    let mut room = Room { uploads: &uploads, taken: announced, used: 0 };
    let path = uploads.new_path();
    let failed = |error: std::io::Error| {
        Refused::new(StatusCode::INSUFFICIENT_STORAGE, format!("the upload can not be kept: {error}"))
    };
    let mut file = Partial { file: std::fs::File::create_new(&path).map_err(failed)?, path: Some(path) };
    let mut body = request.into_body();
    loop {
        let piece = timeout(PIECE_TIME, poll_fn(|context| Pin::new(&mut body).poll_frame(context))).await;
        let piece = piece.map_err(|_| Refused::new(StatusCode::REQUEST_TIMEOUT, "the upload has stopped"))?;
        let Some(piece) = piece else { break };
        let piece = piece.map_err(|error| Refused::bad_request(format!("the upload broke off: {error}")))?;
        let Ok(bytes) = piece.into_data() else { continue };
        room.use_more(bytes.len() as u64)?;
        file.file.write_all(&bytes).map_err(failed)?;
    }
    file.file.flush().map_err(failed)?;
    let Some(path) = file.path.clone() else { return Err(Refused::bad_request("the upload has no file")) };
    if let Some(profiles) = profiles.filter(|profiles| profiles.takes(&path)) {
        // The profile removes the file from now on.
        file.path = None;
        let adding = tokio::task::spawn_blocking(move || profiles.add(&path, &name, true));
        let added = adding.await.map_err(|error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error))?;
        let id = added?;
        room.keep();
        return Ok(json!({ "id": id, "profile": true }));
    }
    let (id, log) = hub.add(&path, name, true)?;
    // The log removes the file from now on.
    file.path = None;
    room.keep();
    let reader = Arc::clone(&hub);
    let opened = Arc::clone(&log);
    tokio::task::spawn_blocking(move || opened.open(reader.options()));
    Ok(json!({ "id": id, "log": log.json(&id) }))
}

/// A file of ours that is removed at the end.
#[derive(Debug)]
pub(crate) struct Temporary {
    uploads: Arc<Uploads>,
    path: std::path::PathBuf,
    bytes: u64,
}

impl Temporary {
    /// A name for a new file, which takes about so many bytes of the room for uploads.
    pub(crate) fn new(uploads: &Arc<Uploads>, bytes: u64) -> Result<Temporary, Refused> {
        uploads.take(bytes)?;
        Ok(Temporary { uploads: Arc::clone(uploads), path: uploads.new_path(), bytes })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        self.uploads.give_back(self.bytes);
    }
}

/// A file that is removed unless it became a log.
struct Partial {
    file: std::fs::File,
    path: Option<std::path::PathBuf>,
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Room that is given back unless the upload succeeds.
struct Room<'u> {
    uploads: &'u Uploads,
    taken: u64,
    used: u64,
}

impl Room<'_> {
    fn use_more(&mut self, bytes: u64) -> Result<(), Refused> {
        self.used = self.used.saturating_add(bytes);
        if let Some(more) = self.used.checked_sub(self.taken).filter(|more| *more > 0) {
            self.uploads.take(more)?;
            self.taken = self.used;
        }
        Ok(())
    }

    fn keep(&mut self) {
        self.uploads.give_back(self.taken.saturating_sub(self.used));
        self.taken = 0;
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.uploads.give_back(self.taken);
    }
}
