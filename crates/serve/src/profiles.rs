//! Profiles of .NET programs: of those that run under the profiler, and of files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tallymon::core::visible::visible;
use tallymon_clr::export::{Viewer, differences, viewer, viewer_document};
use tallymon_clr::rates::{Look, Rate, rates};
use tallymon_clr::reader::Profile;

use crate::http::Refused;
use crate::pack::base64;
use crate::parameters::Parameters;

/// The most files of profiles at a time.
const MOST_FILES: usize = 32;
/// The most places of a call tree that a browser gets; the others are folded.
const MOST_PLACES: usize = 50_000;
/// The most methods of a list.
const MOST_METHODS: usize = 2_000;
/// The least time between two looks at a running program: pages that ask more often get the same answer.
const PERIOD: Duration = Duration::from_millis(900);
/// Looks of a program that nobody asks for are dropped after this time.
const FORGOTTEN: Duration = Duration::from_secs(15);

/// How profiles are found and read.
#[derive(Debug, Clone)]
pub struct ProfileAccess {
    /// Whether a file is a profile, by its first bytes.
    pub is_profile: fn(&Path) -> bool,
    /// Reads a profile; the error is in words.
    pub open: fn(&Path) -> Result<Profile, String>,
    /// The heads of the profiles of programs that run, and their files.
    pub running: fn() -> Vec<(Profile, PathBuf)>,
    /// Whether running programs are shown, besides files.
    pub programs: bool,
}

/// A profile file that was given or uploaded.
#[derive(Debug, Clone)]
struct File {
    path: Arc<Owned>,
    name: String,
    head: Value,
}

/// The path of a file, which is removed at last if it is ours.
#[derive(Debug)]
struct Owned {
    path: PathBuf,
    is_upload: bool,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.is_upload {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The profiles of a server.
#[derive(Debug)]
pub(crate) struct Profiles {
    access: ProfileAccess,
    files: Mutex<(u64, BTreeMap<String, File>)>,
    looks: Mutex<BTreeMap<String, Looks>>,
}

/// The last two looks at a program.
#[derive(Debug)]
struct Looks {
    before: Option<Arc<Look>>,
    after: Arc<Look>,
    at: Instant,
}

impl Profiles {
    pub(crate) fn new(access: ProfileAccess) -> Profiles {
        Profiles { access, files: Mutex::default(), looks: Mutex::default() }
    }

    /// Whether a file is a profile.
    pub(crate) fn takes(&self, path: &Path) -> bool {
        (self.access.is_profile)(path)
    }

    fn files(&self) -> MutexGuard<'_, (u64, BTreeMap<String, File>)> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a file, which must be a profile; returns its name in addresses. An uploaded one is removed when
    /// it is closed, and here if it cannot be read.
    pub(crate) fn add(&self, path: &Path, name: &str, is_upload: bool) -> Result<String, Refused> {
        let owned = Arc::new(Owned { path: path.to_path_buf(), is_upload });
        let profile = (self.access.open)(path).map_err(|words| {
            // The path of an upload says nothing to the user.
            Refused::bad_request(visible(&words.replace(&*path.to_string_lossy(), name)))
        })?;
        let mut files = self.files();
        if files.1.len() >= MOST_FILES {
            let words = format!("{MOST_FILES} profiles are open; close one first");
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, words));
        }
        files.0 = files.0.saturating_add(1);
        let id = format!("file{}", files.0);
        let (name, head) = (visible(name).into_owned(), about(&profile));
        files.1.insert(id.clone(), File { path: owned, name, head });
        Ok(id)
    }

    /// Closes an uploaded file; returns the bytes that it had.
    pub(crate) fn close(&self, id: &str) -> Result<u64, Refused> {
        let mut files = self.files();
        let file = files.1.get(id).ok_or_else(|| unknown(id))?;
        if !file.path.is_upload {
            return Err(Refused::new(StatusCode::FORBIDDEN, "this profile was given on the command line"));
        }
        let bytes = std::fs::metadata(&file.path.path).map_or(0, |about| about.len());
        files.1.remove(id);
        Ok(bytes)
    }

    /// All profiles: running programs, then files.
    pub(crate) fn list(&self) -> Value {
        let programs = self.programs().into_iter().map(|(id, profile, _)| {
            let mut entry = about(&profile);
            entry["id"] = json!(id);
            entry["kind"] = json!("program");
            entry["name"] = json!(format!("process {}", profile.pid));
            entry["running"] = json!(true);
            entry["upload"] = json!(false);
            entry
        });
        let files = self.files().1.clone().into_iter().map(|(id, file)| {
            let mut entry = file.head;
            entry["id"] = json!(id);
            entry["kind"] = json!("file");
            entry["name"] = json!(file.name);
            entry["running"] = json!(false);
            entry["upload"] = json!(file.path.is_upload);
            entry
        });
        json!({ "profiles": programs.chain(files).collect::<Vec<_>>() })
    }

    /// The running programs, each with its name in addresses, the head of its profile, and its file.
    fn programs(&self) -> Vec<(String, Profile, PathBuf)> {
        let running = if self.access.programs { (self.access.running)() } else { Vec::new() };
        running.into_iter().map(|(head, file)| (format!("pid{}", head.pid), head, file)).collect()
    }

    /// The file of a profile by its name in addresses.
    fn path(&self, id: &str) -> Result<Arc<Owned>, Refused> {
        if let Some(file) = self.files().1.get(id) {
            return Ok(Arc::clone(&file.path));
        }
        let program = self.programs().into_iter().find(|(known, ..)| known == id);
        let (_, _, path) = program.ok_or_else(|| unknown(id))?;
        Ok(Arc::new(Owned { path, is_upload: false }))
    }

    fn open(&self, id: &str) -> Result<Profile, Refused> {
        (self.access.open)(&self.path(id)?.path).map_err(Refused::bad_request)
    }

    /// All of a profile, as JSON.
    pub(crate) fn document(&self, id: &str) -> Result<Vec<u8>, Refused> {
        let mut profile = self.open(id)?;
        profile.fold(0, MOST_PLACES);
        let mut text = Vec::new();
        viewer_document(&profile, &mut text)
            .map_err(|error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error))?;
        Ok(text)
    }

    /// The methods that changed between two profiles.
    pub(crate) fn differences(&self, parameters: &Parameters) -> Result<Value, Refused> {
        let (before, after) = (parameters.needed("before")?, parameters.needed("after")?);
        let all = differences(&self.open(before)?, &self.open(after)?);
        let changed = all.iter().filter(|one| one.calls[0] != one.calls[1] || one.own[0] != one.own[1]);
        let methods: Vec<Value> = changed
            .clone()
            .take(MOST_METHODS)
            .map(|one| json!({ "name": visible(&one.name), "calls": one.calls, "own": one.own }))
            .collect();
        Ok(json!({ "all": all.len(), "changed": changed.count(), "methods": methods }))
    }

    /// What ran in a program between the last two looks; nothing in 0 seconds until there are two.
    pub(crate) fn busiest(&self, id: &str) -> Result<Value, Refused> {
        let (before, after) = self.looks(id)?;
        let mut now = rates(before.as_ref().unwrap_or(&after), &after);
        now.methods.sort_by(|a, b| b.own.total_cmp(&a.own).then_with(|| a.name.cmp(&b.name)));
        let methods: Vec<Value> = now.methods.iter().take(MOST_METHODS).map(rate).collect();
        Ok(json!({
            "seconds": now.time as f64 / 1e9, "calls": now.calls, "exceptions": now.exceptions,
            "threads": now.threads, "work": now.work, "hooksOn": after.profile.hooks_on, "methods": methods,
        }))
    }

    /// The last two looks at a program, one of them new if the last one is old.
    fn looks(&self, id: &str) -> Result<(Option<Arc<Look>>, Arc<Look>), Refused> {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|_, old| old.at.elapsed() < FORGOTTEN);
        let known = looks.get(id);
        if let Some(known) = known.filter(|known| known.at.elapsed() < PERIOD) {
            return Ok((known.before.clone(), Arc::clone(&known.after)));
        }
        let before = known.map(|known| Arc::clone(&known.after));
        let after = Arc::new(Look::new(self.open(id)?));
        let at = Instant::now();
        looks.insert(id.into(), Looks { before: before.clone(), after: Arc::clone(&after), at });
        Ok((before, after))
    }
}

fn unknown(id: &str) -> Refused {
    Refused::not_found(format!("no profile {id:?}; /api/v1/profiles lists them"))
}

/// What a list says of a profile; the time of its start is in milliseconds since 1970.
fn about(profile: &Profile) -> Value {
    json!({
        "pid": profile.pid, "command": visible(&profile.command),
        "started": profile.started as f64 / 1e6, "duration": profile.duration as f64 / 1e9,
    })
}

fn rate(rate: &Rate) -> Value {
    json!({
        "name": visible(&rate.name), "calls": rate.calls, "own": rate.own, "total": rate.total,
        "median": rate.median, "slow": rate.slow, "open": rate.open, "exceptions": rate.exceptions,
    })
}

/// The page that shows profiles, within the page of the server.
pub(crate) struct ProfilePage {
    /// The page.
    pub(crate) page: String,
    /// What the browser may do with it: run its own script, and ask this server.
    pub(crate) rules: String,
}

impl fmt::Debug for ProfilePage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProfilePage").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl ProfilePage {
    pub(crate) fn new() -> ProfilePage {
        let Viewer { page, script, style } = viewer();
        let hash = |text: &str| format!("'sha256-{}'", base64(digest(&SHA256, text.as_bytes()).as_ref()));
        let rules = format!(
            "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'self'",
            hash(&script),
            hash(&format!("\n{style}\n"))
        );
        ProfilePage { page, rules }
    }
}
