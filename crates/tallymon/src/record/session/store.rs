//! Where sessions are, which of them record, and how a recorder is asked for something.
//!
//! A session that records holds a lock on a file. The system frees it with the process, however that ends,
//! so a crash leaves no lock behind.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tallymon_host::registry::{Roots, Scope};

use super::SessionError;
use super::settings::{SessionSettings, is_session_name};
use super::status::{SessionState, SessionStatus};
use crate::clock::{now, rfc3339};

/// The folders of the sessions.
#[derive(Debug, Clone)]
pub struct SessionStore {
    settings: PathBuf,
    state: PathBuf,
    logs: PathBuf,
    is_system: bool,
    root: Option<PathBuf>,
}

/// What a recorder can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecorderRequest {
    /// End.
    Stop,
    /// Write what is held.
    Flush,
}

impl SessionStore {
    /// The folders that the environment names: below `TALLYMON_ROOT` if that is set; else those of the
    /// system if this process may write there; else those of the user.
    ///
    /// # Errors
    ///
    /// The user has no home directory.
    pub fn of_environment() -> Result<SessionStore, SessionError> {
        if let Some(root) = std::env::var_os("TALLYMON_ROOT").filter(|root| !root.is_empty()) {
            return Ok(SessionStore::in_folder(Path::new(&root)));
        }
        let roots = Roots::of_environment();
        let state = |scope| roots.folder(scope).and_then(Path::parent).map(Path::to_path_buf);
        if let Some(state) =
            state(Scope::System).filter(|state| fs::create_dir_all(state.join("state")).is_ok())
        {
            let settings = Path::new("/etc/tallymon/sessions");
            if writable(&state.join("state")) && fs::create_dir_all(settings).is_ok() && writable(settings) {
                return Ok(SessionStore {
                    settings: settings.to_path_buf(),
                    logs: state.join("logs"),
                    state: state.join("state"),
                    is_system: true,
                    root: None,
                });
            }
        }
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let settings = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
        let (state, settings) = state(Scope::User).zip(settings).ok_or(SessionError::NoHome)?;
        Ok(SessionStore {
            settings: settings.join("tallymon").join("sessions"),
            logs: state.join("logs"),
            state: state.join("state"),
            is_system: false,
            root: None,
        })
    }

    /// Everything in one folder, as for a test.
    pub fn in_folder(root: &Path) -> SessionStore {
        SessionStore {
            settings: root.join("sessions"),
            state: root.join("state"),
            logs: root.join("logs"),
            is_system: true,
            root: Some(root.to_path_buf()),
        }
    }

    /// Whether the sessions are those of the system, not of a user.
    pub const fn is_system(&self) -> bool {
        self.is_system
    }

    /// The one folder that everything is in, if `TALLYMON_ROOT` names one: nothing outside of it is touched
    /// then.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Where the logs of a session go when its settings name no other folder.
    pub fn default_folder(&self, name: &str) -> PathBuf {
        self.logs.join(name)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.settings.join(format!("{name}.json"))
    }

    fn state_file(&self, name: &str, extension: &str) -> PathBuf {
        self.state.join(format!("{name}.{extension}"))
    }

    /// Names of all sessions, sorted.
    ///
    /// # Errors
    ///
    /// The folder can not be read.
    pub fn names(&self) -> Result<Vec<String>, SessionError> {
        let entries = match fs::read_dir(&self.settings) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| SessionError::file(&self.settings, error))?,
        };
        let names = entries.filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            name.strip_suffix(".json").filter(|name| is_session_name(name)).map(str::to_owned)
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        Ok(names)
    }

    /// Whether there is a session of a name.
    pub fn has(&self, name: &str) -> bool {
        is_session_name(name) && self.file(name).is_file()
    }

    /// The settings of a session.
    ///
    /// # Errors
    ///
    /// There is no such session, or its file is damaged.
    pub fn read(&self, name: &str) -> Result<SessionSettings, SessionError> {
        if !self.has(name) {
            return Err(SessionError::NotFound(name.to_owned()));
        }
        SessionSettings::read(&self.file(name))
    }

    /// Keeps settings, in place of those of the same name.
    ///
    /// # Errors
    ///
    /// They can not be used, or not be written.
    pub fn write(&self, settings: &SessionSettings) -> Result<(), SessionError> {
        settings.check()?;
        fs::create_dir_all(&self.settings).map_err(|error| SessionError::file(&self.settings, error))?;
        replace_file(&self.file(&settings.name), &settings.to_text())
    }

    /// Forgets a session that does not record. Its logs stay.
    ///
    /// # Errors
    ///
    /// There is no such session, it is recording, or its file can not be removed.
    pub fn delete(&self, name: &str) -> Result<(), SessionError> {
        if !self.has(name) {
            return Err(SessionError::NotFound(name.to_owned()));
        }
        if self.is_running(name) {
            return Err(SessionError::Recording(name.to_owned()));
        }
        let file = self.file(name);
        fs::remove_file(&file).map_err(|error| SessionError::file(&file, error))?;
        for extension in ["lock", "status", "ask"] {
            // Most of them are not there.
            let _ = fs::remove_file(self.state_file(name, extension));
        }
        Ok(())
    }

    /// Takes the lock of a session; `None` when another process has it.
    pub(super) fn lock(&self, name: &str) -> Result<Option<File>, SessionError> {
        fs::create_dir_all(&self.state).map_err(|error| SessionError::file(&self.state, error))?;
        let path = self.state_file(name, "lock");
        let failed = |error| SessionError::file(&path, error);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(failed)?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // `is_running` holds it for a moment.
                Err(TryLockError::WouldBlock) if tries < 10 => tries += 1,
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // The text is for people who look into the file; only the lock counts.
        let now = rfc3339(now());
        let noted =
            file.set_len(0).and_then(|()| writeln!(file, "process {} since {now}", std::process::id()));
        noted.map_err(failed)?;
        Ok(Some(file))
    }

    /// Whether a session records, or waits for its begin.
    pub fn is_running(&self, name: &str) -> bool {
        let Ok(file) = File::open(self.state_file(name, "lock")) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    pub(super) fn set_status(&self, name: &str, status: &SessionStatus) -> Result<(), SessionError> {
        replace_file(&self.state_file(name, "status"), &format!("{:#}\n", status.to_json()))
    }

    /// What the recorder of a session last wrote about itself; nothing but zeros before its first run.
    pub fn status(&self, name: &str) -> SessionStatus {
        let text = fs::read_to_string(self.state_file(name, "status")).unwrap_or_default();
        SessionStatus::from_json(&serde_json::from_str(&text).unwrap_or_default())
    }

    /// What a session does now.
    pub fn state(&self, name: &str) -> SessionState {
        let status = self.status(name);
        match self.is_running(name) {
            // The status is that of the run before.
            true if status.ended => SessionState::Waiting,
            true if status.records == 0 && status.segment.is_none() => SessionState::Waiting,
            true => SessionState::Recording,
            false if !status.ended && status.process != 0 => SessionState::Killed,
            false => SessionState::Stopped,
        }
    }

    /// Asks a recorder for something, and waits until it did that.
    pub(super) fn ask(
        &self,
        name: &str,
        request: RecorderRequest,
        patience: Duration,
    ) -> Result<(), SessionError> {
        let path = self.state_file(name, "ask");
        replace_file(&path, request.word())?;
        let begin = Instant::now();
        loop {
            let is_done = match request {
                RecorderRequest::Stop => !self.is_running(name),
                RecorderRequest::Flush => !path.exists(),
            };
            if is_done || !self.is_running(name) {
                // A process that ended by itself may have left the file.
                let _ = fs::remove_file(&path);
                return Ok(());
            }
            // A recorder that only begins removes the file, since it may be from an earlier run.
            if request == RecorderRequest::Stop && !path.exists() {
                replace_file(&path, request.word())?;
            }
            if begin.elapsed() > patience {
                return Err(SessionError::NoAnswer(name.to_owned(), self.status(name).process));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the recorder of a session is asked for now.
    pub(super) fn asked(&self, name: &str) -> Option<RecorderRequest> {
        let mut text = String::new();
        let file = File::open(self.state_file(name, "ask")).ok()?;
        file.take(16).read_to_string(&mut text).ok()?;
        [RecorderRequest::Stop, RecorderRequest::Flush]
            .into_iter()
            .find(|request| request.word() == text.trim())
    }

    /// The recorder has done what it was asked for.
    pub(super) fn answered(&self, name: &str) {
        // The asker waits until the file is gone, and reports when it stays.
        let _ = fs::remove_file(self.state_file(name, "ask"));
    }
}

impl RecorderRequest {
    const fn word(self) -> &'static str {
        match self {
            RecorderRequest::Stop => "stop",
            RecorderRequest::Flush => "flush",
        }
    }
}

impl SessionSettings {
    /// Reads a file of settings.
    ///
    /// # Errors
    ///
    /// It can not be read, or is damaged.
    pub fn read(path: &Path) -> Result<SessionSettings, SessionError> {
        let text = fs::read_to_string(path).map_err(|error| SessionError::file(path, error))?;
        SessionSettings::from_text(&text).map_err(|words| SessionError::Damaged(path.to_path_buf(), words))
    }
}

/// Writes a file whole: a reader sees its text of before or all of the new one.
///
/// # Errors
///
/// The file can not be written; it is as before then.
pub fn replace_file(path: &Path, text: &str) -> Result<(), SessionError> {
    let mut part = path.as_os_str().to_os_string();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        // The first error is the one to report; a file that stays shows by its name.
        let _ = fs::remove_file(&part);
        SessionError::file(path, error)
    })
}

fn writable(folder: &Path) -> bool {
    let probe = folder.join(format!(".{}.probe", std::process::id()));
    let written = File::create(&probe).is_ok();
    // Whether it could be made is all that matters.
    let _ = fs::remove_file(&probe);
    written
}
