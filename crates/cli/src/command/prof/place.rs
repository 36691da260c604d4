//! Finds the profile that the user means.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tallymon_clr::reader::{Profile, ReadError};
use tallymon_clr::settings::Settings;

use crate::exit::{Failure, Kind};

/// Opens a profile file.
pub(super) fn open(file: &Path) -> Result<Profile, Failure> {
    Profile::open(file).map_err(|error| failure(file, error))
}

/// Why a profile could not be read or changed, as the user gets to know it.
pub(super) fn failure(file: &Path, error: ReadError) -> Failure {
    match error {
        ReadError::Io(error) => Failure::file(file, &error),
        error => Failure::new(Kind::BadFile, format_args!("{}: {error}", file.display())),
    }
}

/// The file of a program: a number is a process whose profile is where profiles are without an option, anything else is a
/// file; without either it is that of the running program that was started last.
pub(super) fn find(program: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(program) = program {
        let file = |pid| Settings::default().file_of(pid);
        return Ok(program.parse().map_or_else(|_| PathBuf::from(program), file));
    }
    let running = in_folder(&Settings::default().file_of(0))
        .into_iter()
        .filter_map(|file| Some((Profile::open(&file).ok()?, file)))
        .filter(|(profile, _)| is_running(profile));
    let newest = running.max_by_key(|(profile, _)| profile.started);
    newest.map(|(_, file)| file).ok_or_else(|| {
        let words = "no program is being profiled into the folder for temporary files; name its profile file";
        Failure::new(Kind::NotFound, words)
    })
}

/// Files of one run: those that its settings name, wherever `%p` stands for another process.
pub(super) fn of_run(settings: &Settings, since: SystemTime) -> Vec<(Profile, PathBuf)> {
    let line = format!("TALLYMON_PROF_RUN={}", settings.run);
    let recent = |file: &PathBuf| {
        let changed = file.metadata().and_then(|metadata| metadata.modified());
        // The clock of a file system may be a little behind.
        changed.is_ok_and(|changed| changed >= since - std::time::Duration::from_secs(2))
    };
    let mut found: Vec<(Profile, PathBuf)> = in_folder(&settings.file_of(0))
        .into_iter()
        .filter(recent)
        .filter_map(|file| Some((Profile::open(&file).ok()?, file)))
        .filter(|(profile, _)| profile.settings.lines().any(|other| other == line))
        .collect();
    found.sort_by_key(|(profile, _)| profile.started);
    found
}

/// The files of a folder that are named like `pattern`, in which 0 is the number of the process, with or without more
/// behind it.
fn in_folder(pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    // What stands before the number is enough: the file itself tells the rest.
    let start = name.split('0').next().unwrap_or_default().to_string();
    let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let named = |file: &PathBuf| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)) && file.is_file()
    };
    entries.flatten().map(|entry| entry.path()).filter(named).collect()
}

/// Whether the program of a profile still runs, as far as this system tells.
pub(super) fn is_running(profile: &Profile) -> bool {
    let processes = Path::new("/proc");
    !profile.ended && (!processes.is_dir() || processes.join(profile.pid.to_string()).exists())
}
