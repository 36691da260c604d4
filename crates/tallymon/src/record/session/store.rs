//! Where sessions are, which of them record, and how a recorder is asked for something.
//!
//! A session that records holds a lock on a file. The system frees it with the process, however that ends,
//! so a crash leaves no lock behind. Other users cannot open the lock, so they cannot hold it either.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tallymon_host::registry::{Roots, Scope};
use tallymon_provider::environment::ROOT;
use tallymon_provider::trust::{
    Lock, LockError, check_path, create_file, create_folders, open_file, replace,
};

use super::SessionError;
use super::folders;
use super::settings::{SessionSettings, is_session_name};
use super::socket::{self, Listener, Shared};
use super::status::{SessionState, SessionStatus};

/// How long a recorder waits for its lock: another process may look at it for a moment.
const LOOKING: Duration = Duration::from_millis(100);

/// No file of settings or of a status is longer than this in bytes.
const LONGEST: u64 = 16 << 20;

/// What the file with which a recorder is asked to stop says.
const STOP: &str = "stop";

/// The folders of the sessions.
#[derive(Debug, Clone)]
pub struct SessionStore {
    settings: PathBuf,
    state: PathBuf,
    logs: PathBuf,
    is_system: bool,
    root: Option<PathBuf>,
}

impl SessionStore {
    /// The folders that the environment names: below `TALLY_ROOT` if that is set; else those of the
    /// system if this process may write there; else those of the user.
    ///
    /// # Errors
    ///
    /// The user has no home directory.
    pub fn of_environment() -> Result<SessionStore, SessionError> {
        if let Some(root) = ROOT.value() {
            return Ok(SessionStore::in_folder(Path::new(&root)));
        }
        let roots = Roots::of_environment();
        let state = |scope| roots.folder(scope).and_then(Path::parent).map(Path::to_path_buf);
        if let Some(state) = state(Scope::System).filter(|state| create_folders(&state.join("state")).is_ok())
        {
            let settings = folders::of_system(&state);
            if writable(&state.join("state")) && create_folders(&settings).is_ok() && writable(&settings) {
                return Ok(SessionStore {
                    settings,
                    logs: state.join("logs"),
                    state: state.join("state"),
                    is_system: true,
                    root: None,
                });
            }
        }
        let state = state(Scope::User).ok_or(SessionError::NoHome)?;
        Ok(SessionStore {
            settings: folders::of_user(&state).ok_or(SessionError::NoHome)?,
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

    /// The one folder that everything is in, if `TALLY_ROOT` names one: nothing outside of it is touched
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

    pub(super) fn state_file(&self, name: &str, extension: &str) -> PathBuf {
        self.state.join(format!("{name}.{extension}"))
    }

    /// Names of all sessions, sorted.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>, SessionError> {
        names_in(&self.settings, "json")
    }

    /// Sorted names of the sessions that have a file of this extension in the folder of the state.
    pub(super) fn state_names(&self, extension: &str) -> Result<Vec<String>, SessionError> {
        names_in(&self.state, extension)
    }

    pub(super) fn write_state(&self, name: &str, extension: &str, text: &str) -> Result<(), SessionError> {
        make_folder(&self.state)?;
        replace_file(&self.state_file(name, extension), text)
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
        let file = self.file(name);
        SessionSettings::of_file(&file, read_text(&file))
    }

    /// Keeps settings, in place of those of the same name.
    ///
    /// # Errors
    ///
    /// They cannot be used, or not be written.
    pub fn write(&self, settings: &SessionSettings) -> Result<(), SessionError> {
        settings.check()?;
        make_folder(&self.settings)?;
        replace_file(&self.file(&settings.name), &settings.to_text())
    }

    /// Forgets a session that does not record. Its logs stay.
    ///
    /// # Errors
    ///
    /// There is no such session, it is recording, or its file cannot be removed.
    pub fn delete(&self, name: &str) -> Result<(), SessionError> {
        if !self.has(name) {
            return Err(SessionError::NotFound(name.to_owned()));
        }
        if self.is_running(name) {
            return Err(SessionError::Recording(name.to_owned()));
        }
        let file = self.file(name);
        fs::remove_file(&file).map_err(|error| SessionError::file(&file, error))?;
        for extension in ["status", "ask", "begin", "sock"] {
            // Most of them are not there.
            let _ = fs::remove_file(self.state_file(name, extension));
        }
        Lock::remove(&self.state, &lock_name(name));
        Ok(())
    }

    /// Takes the lock of a session; `None` when another process has it.
    pub(super) fn lock(&self, name: &str) -> Result<Option<Lock>, SessionError> {
        make_folder(&self.state)?;
        match Lock::take(&self.state, &lock_name(name), LOOKING) {
            Ok(lock) => Ok(Some(lock)),
            Err(LockError::Io(path, error)) => Err(SessionError::File(path, error)),
            Err(_) => Ok(None),
        }
    }

    /// Whether a recorder could open its lock, so that whoever starts one gets the reason and not only a
    /// process that ended.
    pub(super) fn check_lock(&self, name: &str) -> Result<(), SessionError> {
        make_folder(&self.state)?;
        Lock::may_take(&self.state, &lock_name(name)).map_err(|error| match error {
            LockError::Io(path, error) => SessionError::File(path, error),
            held => SessionError::file(&self.state, io::Error::other(held)),
        })
    }

    /// Whether a session records, or waits for its begin. Without the right to look at its lock, that is what
    /// its recorder last wrote.
    pub fn is_running(&self, name: &str) -> bool {
        Lock::is_held(&self.state, &lock_name(name)).unwrap_or_else(|| {
            let status = self.status(name);
            status.process != 0 && !status.ended
        })
    }

    pub(super) fn set_status(&self, name: &str, status: &SessionStatus) -> Result<(), SessionError> {
        replace_file(&self.state_file(name, "status"), &format!("{:#}\n", status.to_json()))
    }

    /// What the recorder of a session says about itself, or wrote last; nothing but zeros before its first
    /// run. A recorder answers from its memory, so that the answer is true also when the disk is full.
    pub fn status(&self, name: &str) -> SessionStatus {
        let answer = if is_session_name(name) { self.ask(name, "status") } else { None };
        let answer = answer.and_then(|text| serde_json::from_str(&text).ok());
        let json = answer.unwrap_or_else(|| {
            let text = read_text(&self.state_file(name, "status")).unwrap_or_default();
            serde_json::from_str(&text).unwrap_or_default()
        });
        SessionStatus::from_json(&json)
    }

    /// The socket on which the recorder of a session answers.
    fn socket(&self, name: &str) -> PathBuf {
        // Names of files may be longer than those of sockets.
        let mut hash = DefaultHasher::new();
        name.hash(&mut hash);
        let short = if name.len() <= 60 { name.to_owned() } else { format!(".{:016x}", hash.finish()) };
        self.state_file(&short, "sock")
    }

    /// Answers for the recorder of a session until the listener is dropped; `None` where that is not
    /// possible. The caller holds the lock of the session.
    pub(super) fn listen(&self, name: &str, shared: Shared) -> Option<Listener> {
        socket::listen(&self.socket(name), shared).ok()
    }

    /// Asks the recorder of a session; `None` when it does not answer. An answer of another user is none.
    fn ask(&self, name: &str, request: &str) -> Option<String> {
        check_path(&self.state).ok()?;
        socket::ask(&self.socket(name), request)
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

    /// Asks a recorder to stop, and waits until it did.
    pub(super) fn ask_to_stop(&self, name: &str, patience: Duration) -> Result<(), SessionError> {
        let path = self.state_file(name, "ask");
        let begin = Instant::now();
        let mut is_asked = false;
        loop {
            if !self.is_running(name) {
                // A process that ended by itself may have left the file.
                let _ = fs::remove_file(&path);
                return Ok(());
            }
            // The socket needs no room on the disk. A recorder that only begins has none yet, and removes the
            // file, since that may be from an earlier run.
            is_asked = is_asked || self.ask(name, "stop").is_some();
            if !is_asked && !path.exists() {
                replace_file(&path, STOP)?;
            }
            if begin.elapsed() > patience {
                return Err(SessionError::NoAnswer(name.to_owned(), self.status(name).process));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether somebody asks the recorder of a session to stop, by a file.
    pub(super) fn is_asked_to_stop(&self, name: &str) -> bool {
        let mut text = String::new();
        // A request of another user is none.
        let file = open_file(&self.state_file(name, "ask"));
        let read = file.and_then(|file| file.take(16).read_to_string(&mut text));
        read.is_ok() && text.trim() == STOP
    }

    /// Forgets what a recorder was asked for before.
    pub(super) fn answered(&self, name: &str) {
        // The asker waits until the file is gone, and reports when it stays.
        let _ = fs::remove_file(self.state_file(name, "ask"));
    }
}

impl SessionSettings {
    /// Reads a file of settings, wherever it is.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is damaged.
    pub fn read(path: &Path) -> Result<SessionSettings, SessionError> {
        SessionSettings::of_file(path, fs::read_to_string(path))
    }

    fn of_file(path: &Path, text: io::Result<String>) -> Result<SessionSettings, SessionError> {
        let text = text.map_err(|error| SessionError::file(path, error))?;
        SessionSettings::from_text(&text).map_err(|words| SessionError::Damaged(path.to_path_buf(), words))
    }
}

fn lock_name(session: &str) -> String {
    format!("{session}.lock")
}

/// Sorted names of sessions, of the files with this extension in a folder.
fn names_in(folder: &Path, extension: &str) -> Result<Vec<String>, SessionError> {
    check(folder)?;
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| SessionError::file(folder, error))?,
    };
    let names = entries.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let name = name.strip_suffix(extension)?.strip_suffix('.')?;
        is_session_name(name).then(|| name.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// The text of a plain file that others cannot write, or replace by another one.
fn read_text(path: &Path) -> io::Result<String> {
    check_path(path)?;
    let mut text = String::new();
    open_file(path)?.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Refuses a folder that others than root and this user can change: sessions there would write where they
/// want, with the rights of this user.
fn check(folder: &Path) -> Result<(), SessionError> {
    check_path(folder).map_err(|untrusted| SessionError::file(folder, untrusted.into()))
}

/// Makes a folder and those above it unless they are there, and checks it before and after.
fn make_folder(folder: &Path) -> Result<(), SessionError> {
    check(folder)?;
    create_folders(folder).map_err(|error| SessionError::file(folder, error))?;
    check(folder)
}

/// Writes a file whole: a reader sees its text of before or all of the new one.
///
/// # Errors
///
/// The file cannot be written; it is as before then.
fn replace_file(path: &Path, text: &str) -> Result<(), SessionError> {
    let mut part = path.as_os_str().to_os_string();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    // What an earlier process of this number left. A link in its place, in a folder of everybody, is not
    // followed.
    let _ = fs::remove_file(&part);
    let written = create_file(&part)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| replace(&part, path));
    written.map_err(|error| {
        // The first error is the one to report; a file that stays shows by its name.
        let _ = fs::remove_file(&part);
        SessionError::file(path, error)
    })
}

fn writable(folder: &Path) -> bool {
    let probe = folder.join(format!(".{}.probe", std::process::id()));
    let written = create_file(&probe).is_ok();
    // Whether it could be made is all that matters.
    let _ = fs::remove_file(&probe);
    written
}
