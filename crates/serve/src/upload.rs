//! Logs and profiles that a page sends: into a file of ours, with a limit.

use std::future::poll_fn;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tallymon_remote::asynchronous;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use tallymon_remote::asynchronous::time::timeout;

use crate::arrival::Arrival;
use crate::http::Refused;
use crate::hub::Hub;
use crate::log_host::LogHost;
use crate::parameters::Parameters;
use crate::profiles::Profiles;
use crate::uploads::Uploads;

/// How long the next piece may take.
const PIECE_TIME: Duration = Duration::from_secs(20);
/// The longest name that is kept, in characters.
const MOST_NAME: usize = 200;
/// The longest name by which a page knows an upload that is on its way, in characters.
const MOST_TAG: usize = 64;
/// An upload is shown when so much of it has come, and again whenever that has doubled.
const FIRST_PART: u64 = 16 << 20;

/// The next bytes of a body; `None` at its end.
pub(crate) async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, Refused> {
    loop {
        let piece = timeout(PIECE_TIME, poll_fn(|context| Pin::new(&mut *body).poll_frame(context))).await;
        let piece = piece.map_err(|_| Refused::new(StatusCode::REQUEST_TIMEOUT, "the upload has stopped"))?;
        let Some(piece) = piece else { return Ok(None) };
        let piece = piece.map_err(|error| Refused::bad_request(format!("the upload broke off: {error}")))?;
        if let Ok(bytes) = piece.into_data() {
            return Ok(Some(bytes));
        }
    }
}

/// Takes a log; it is read afterwards, and `/api/v1/logs` says how far. A profile of a .NET program is read
/// at once.
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
        Refused::new(StatusCode::INSUFFICIENT_STORAGE, format!("the upload cannot be kept: {error}"))
    };
    let mut file =
        Partial { file: std::fs::File::create_new(&path).map_err(failed)?, path: Some(path.clone()) };
    let tag = parameters.text("tag").unwrap_or_default().chars().take(MOST_TAG).collect();
    let mut early = Early { hub: &hub, arrival: Some(Arrival::new(tag, announced)), shown: None };
    let mut next_part = FIRST_PART;
    let mut body = request.into_body();
    loop {
        let Some(bytes) = next_piece(&mut body).await? else { break };
        room.use_more(bytes.len() as u64)?;
        file.file.write_all(&bytes).map_err(failed)?;
        if let Some((_, log)) = &early.shown {
            log.came(room.used);
        }
        if room.used >= next_part {
            next_part = room.used.saturating_mul(2);
            let is_profile = || profiles.as_ref().is_some_and(|profiles| profiles.takes(&path));
            if early.shown.is_some() || !is_profile() {
                early.show(&path, &name)?;
                // The log removes the file from now on.
                file.path = None;
            }
        }
    }
    file.file.flush().map_err(failed)?;
    if early.shown.is_none()
        && let Some(profiles) = profiles.filter(|profiles| profiles.takes(&path))
    {
        // The profile removes the file from now on.
        file.path = None;
        let adding = asynchronous::task::spawn_blocking(move || profiles.add(&path, &name, true));
        let added = adding.await.map_err(|error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error))?;
        let id = added?;
        room.keep();
        return Ok(json!({ "id": id, "profile": true }));
    }
    let (id, log) = match early.shown.take() {
        Some(shown) => shown,
        None => hub.add(LogHost::of_upload(&path, name, None))?,
    };
    // The log removes the file from now on.
    file.path = None;
    room.keep();
    log.end_arrival();
    let reader = Arc::clone(&hub);
    let opened = Arc::clone(&log);
    asynchronous::task::spawn_blocking(move || opened.open(reader.options()));
    Ok(json!({ "id": id, "log": log.json(&id) }))
}

/// A log that is shown before all of it has come; it goes again if it never comes whole.
struct Early<'h> {
    hub: &'h Arc<Hub>,
    arrival: Option<Arrival>,
    shown: Option<(String, Arc<LogHost>)>,
}

impl Early<'_> {
    /// Reads what is there, on a thread of its own.
    fn show(&mut self, path: &std::path::Path, name: &str) -> Result<(), Refused> {
        let log = match &self.shown {
            Some((_, log)) => Arc::clone(log),
            None => {
                let log = LogHost::of_upload(path, name.to_string(), self.arrival.take());
                let (id, log) = self.hub.add(log)?;
                self.shown = Some((id, Arc::clone(&log)));
                log
            }
        };
        let hub = Arc::clone(self.hub);
        asynchronous::task::spawn_blocking(move || log.open_part(hub.options()));
        Ok(())
    }
}

impl Drop for Early<'_> {
    fn drop(&mut self) {
        if let Some((id, log)) = self.shown.take() {
            // Who reads it stops, and lets go of its file.
            log.end_arrival();
            self.hub.logs().remove(&id);
        }
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
