//! Where sessions are, which of them are recording, and how one is asked for something.
//!
//! A session that is recording holds a lock on a file, which the system takes back with the process however it ends: a
//! lock that is left behind by a crash is none.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use tallymon::core::time::FileTime;
use tallymon::registry::{Roots, Scope};

use super::settings::{Settings, is_name};
use crate::exit::{Failure, Kind};
use crate::output::rfc3339;

/// The folders of the sessions.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    settings: PathBuf,
    state: PathBuf,
    logs: PathBuf,
    /// They are those of the system, not of a user.
    pub(crate) system: bool,
    /// All of it is in a folder of its own, and nothing outside of that is touched.
    pub(crate) root: Option<PathBuf>,
}

/// What a session can be asked for while it is recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// To end.
    Stop,
    /// To write what it holds.
    Flush,
}

/// What a session does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It waits for its beginning.
    Waiting,
    /// It writes records.
    Recording,
    /// Its process is gone and did not end as it should.
    Killed,
    /// It was ended.
    Stopped,
}

impl Doing {
    /// In a word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Doing::Waiting => "waiting",
            Doing::Recording => "recording",
            Doing::Killed => "killed",
            Doing::Stopped => "stopped",
        }
    }
}

/// What a session tells about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Status {
    /// Its process.
    pub(crate) process: u32,
    /// When that began.
    pub(crate) started: Option<FileTime>,
    /// The log that is recorded into.
    pub(crate) segment: Option<u32>,
    /// Records since it began.
    pub(crate) records: u64,
    /// Bytes of the log that is recorded into.
    pub(crate) bytes: u64,
    /// The last record.
    pub(crate) last: Option<FileTime>,
    /// Records and logs that could not be written.
    pub(crate) errors: u64,
    /// The last of them, in words.
    pub(crate) last_error: Option<String>,
    /// It ended as it should: nothing is left to put in order.
    pub(crate) ended: bool,
}

impl Store {
    /// The folders that the environment names: those of the system for those who may write there, else those of the user.
    pub(crate) fn of_environment() -> Result<Store, Failure> {
        if let Some(root) = std::env::var_os("TALLYMON_ROOT").filter(|root| !root.is_empty()) {
            let root = PathBuf::from(root);
            return Ok(Store {
                settings: root.join("sessions"),
                state: root.join("state"),
                logs: root.join("logs"),
                system: true,
                root: Some(root),
            });
        }
        let roots = Roots::of_environment();
        let state = |scope| roots.folder(scope).and_then(Path::parent).map(Path::to_path_buf);
        if let Some(state) =
            state(Scope::System).filter(|state| fs::create_dir_all(state.join("state")).is_ok())
        {
            let settings = Path::new("/etc/tallymon/sessions");
            if writable(&state.join("state")) && fs::create_dir_all(settings).is_ok() && writable(settings) {
                return Ok(Store {
                    settings: settings.to_path_buf(),
                    logs: state.join("logs"),
                    state: state.join("state"),
                    system: true,
                    root: None,
                });
            }
        }
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let settings = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
        match state(Scope::User).zip(settings) {
            Some((state, settings)) => Ok(Store {
                settings: settings.join("tallymon").join("sessions"),
                logs: state.join("logs"),
                state: state.join("state"),
                system: false,
                root: None,
            }),
            None => Err(Failure::new(Kind::Other, "no place for sessions: HOME is not set")),
        }
    }

    /// The folder of the logs of a session when nobody says otherwise.
    pub(crate) fn default_folder(&self, name: &str) -> PathBuf {
        self.logs.join(name)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.settings.join(format!("{name}.json"))
    }

    fn state_of(&self, name: &str, end: &str) -> PathBuf {
        self.state.join(format!("{name}.{end}"))
    }

    /// Names of all sessions, in order.
    pub(crate) fn names(&self) -> Result<Vec<String>, Failure> {
        let entries = match fs::read_dir(&self.settings) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| Failure::file(&self.settings, &error))?,
        };
        let names = entries.filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            name.strip_suffix(".json").filter(|name| is_name(name)).map(str::to_owned)
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        Ok(names)
    }

    /// Whether there is a session of a name.
    pub(crate) fn has(&self, name: &str) -> bool {
        is_name(name) && self.file(name).is_file()
    }

    /// The settings of a session.
    pub(crate) fn read(&self, name: &str) -> Result<Settings, Failure> {
        if !self.has(name) {
            let words = format!("no session {name:?}; 'tally log list' names those that there are");
            return Err(Failure::new(Kind::NotFound, words));
        }
        read_settings(&self.file(name))
    }

    /// Keeps settings, in place of those of the same name.
    pub(crate) fn write(&self, settings: &Settings) -> Result<(), Failure> {
        if let Some(fault) = settings.fault() {
            return Err(Failure::new(Kind::Usage, fault));
        }
        fs::create_dir_all(&self.settings).map_err(|error| Failure::file(&self.settings, &error))?;
        replace(&self.file(&settings.name), &settings.to_text())
    }

    /// Forgets a session. Its logs stay.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Failure> {
        let file = self.file(name);
        fs::remove_file(&file).map_err(|error| Failure::file(&file, &error))?;
        for end in ["lock", "status", "ask"] {
            // What is not there need not be removed.
            let _ = fs::remove_file(self.state_of(name, end));
        }
        Ok(())
    }

    /// Takes the lock of a session; `None` when another process has it.
    pub(crate) fn lock(&self, name: &str) -> Result<Option<File>, Failure> {
        fs::create_dir_all(&self.state).map_err(|error| Failure::file(&self.state, &error))?;
        let path = self.state_of(name, "lock");
        let failed = |error| Failure::file(&path, &error);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(failed)?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // Whoever looks whether it is taken has it for a moment.
                Err(TryLockError::WouldBlock) if tries < 10 => tries += 1,
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // For people who look into it; the lock is what counts.
        let now = rfc3339(tallymon::clock::now());
        let noted =
            file.set_len(0).and_then(|()| writeln!(file, "process {} since {now}", std::process::id()));
        noted.map_err(failed)?;
        Ok(Some(file))
    }

    /// Whether a session is recording, or waits for its beginning.
    pub(crate) fn is_running(&self, name: &str) -> bool {
        let Ok(file) = File::open(self.state_of(name, "lock")) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Notes what a session tells about itself.
    pub(crate) fn set_status(&self, name: &str, status: &Status) -> Result<(), Failure> {
        replace(&self.state_of(name, "status"), &format!("{:#}\n", status.to_json()))
    }

    /// What a session told about itself last.
    pub(crate) fn status(&self, name: &str) -> Status {
        let text = fs::read_to_string(self.state_of(name, "status")).unwrap_or_default();
        Status::from_json(&serde_json::from_str(&text).unwrap_or_default())
    }

    /// What a session does now.
    pub(crate) fn doing(&self, name: &str) -> Doing {
        let status = self.status(name);
        match self.is_running(name) {
            // What is told is of the run before.
            true if status.ended => Doing::Waiting,
            true if status.records == 0 && status.segment.is_none() => Doing::Waiting,
            true => Doing::Recording,
            false if !status.ended && status.process != 0 => Doing::Killed,
            false => Doing::Stopped,
        }
    }

    /// Asks a session that is recording for something, and waits until it did that.
    pub(crate) fn ask(&self, name: &str, ask: Ask, patience: Duration) -> Result<(), Failure> {
        let path = self.state_of(name, "ask");
        replace(&path, ask.word())?;
        let begin = Instant::now();
        loop {
            let done = match ask {
                Ask::Stop => !self.is_running(name),
                Ask::Flush => !path.exists(),
            };
            if done || !self.is_running(name) {
                // A process that ended on its own may have left it.
                let _ = fs::remove_file(&path);
                return Ok(());
            }
            // A session that is only beginning takes away what it finds, which may be of an earlier one.
            if ask == Ask::Stop && !path.exists() {
                replace(&path, ask.word())?;
            }
            if begin.elapsed() > patience {
                let process = self.status(name).process;
                let words = format!("session {name:?} (process {process}) does not answer");
                return Err(Failure::new(Kind::Unreachable, words));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What a session is asked for now.
    pub(crate) fn asked(&self, name: &str) -> Option<Ask> {
        let mut text = String::new();
        let file = File::open(self.state_of(name, "ask")).ok()?;
        file.take(16).read_to_string(&mut text).ok()?;
        [Ask::Stop, Ask::Flush].into_iter().find(|ask| ask.word() == text.trim())
    }

    /// What was asked for is done.
    pub(crate) fn answered(&self, name: &str) {
        // Whoever asked waits for it to go; when it can not go, they say so.
        let _ = fs::remove_file(self.state_of(name, "ask"));
    }
}

impl Ask {
    const fn word(self) -> &'static str {
        match self {
            Ask::Stop => "stop",
            Ask::Flush => "flush",
        }
    }
}

impl Status {
    pub(crate) fn to_json(&self) -> Json {
        json!({
            "process": self.process,
            "started": self.started.map(|time| time.0),
            "segment": self.segment,
            "records": self.records,
            "bytes": self.bytes,
            "last": self.last.map(|time| time.0),
            "errors": self.errors,
            "last_error": self.last_error,
            "ended": self.ended,
        })
    }

    fn from_json(json: &Json) -> Status {
        let number = |key: &str| json.get(key).and_then(Json::as_u64);
        let small = |key: &str| number(key).and_then(|number| u32::try_from(number).ok());
        Status {
            process: small("process").unwrap_or_default(),
            started: number("started").map(FileTime),
            segment: small("segment"),
            records: number("records").unwrap_or_default(),
            bytes: number("bytes").unwrap_or_default(),
            last: number("last").map(FileTime),
            errors: number("errors").unwrap_or_default(),
            last_error: json.get("last_error").and_then(Json::as_str).map(str::to_owned),
            ended: json.get("ended").and_then(Json::as_bool).unwrap_or_default(),
        }
    }
}

/// Reads a file of settings.
pub(crate) fn read_settings(path: &Path) -> Result<Settings, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
    Settings::from_text(&text)
        .map_err(|words| Failure::new(Kind::BadFile, format_args!("{}: {words}", path.display())))
}

/// Writes a file at once: whoever reads it sees what was there before or all of it.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let mut part = path.as_os_str().to_os_string();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        // The error is what the user has to know; a rest shows by its name.
        let _ = fs::remove_file(&part);
        Failure::file(path, &error)
    })
}

fn writable(folder: &Path) -> bool {
    let probe = folder.join(format!(".{}.probe", std::process::id()));
    let written = File::create(&probe).is_ok();
    // It was only there to see whether it can be.
    let _ = fs::remove_file(&probe);
    written
}
