//! Finds the profile file of a program.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tallymon_clr::reader::{Profile, ReadError};
use tallymon_clr::settings::Settings;

use super::attach;
use crate::exit::{Failure, Kind};

/// Opens a profile file, or an event stream with samples.
pub(super) fn open(file: &Path) -> Result<Profile, Failure> {
    if super::sampled::is_stream(file) {
        return super::sampled::open(file);
    }
    Profile::open(file).map_err(|error| failure(file, error))
}

/// The failure for a profile that cannot be read or changed.
pub(super) fn failure(file: &Path, error: ReadError) -> Failure {
    match error {
        ReadError::Io(error) => Failure::file(file, &error),
        error => Failure::new(Kind::BadFile, format_args!("{}: {error}", file.display())),
    }
}

/// The profile file of a program. A number is a process id; anything else is a file. Without either: the
/// profile of the running program that was started last.
pub(super) fn find(program: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(program) = program {
        return program.parse().map_or_else(|_| Ok(PathBuf::from(program)), of_process);
    }
    let newest = running().into_iter().max_by_key(|(profile, _)| profile.started);
    newest.map(|(_, file)| file).ok_or_else(|| {
        let words = "no running program has a profile in the temporary folder; name the profile file";
        Failure::new(Kind::NotFound, words)
    })
}

/// The profile of a process: the one that it writes, wherever that is, or the one that it left in the
/// default folder.
fn of_process(pid: u32) -> Result<PathBuf, Failure> {
    let left = Settings::default().file_of(pid);
    if let Some(file) = attach::profile_of(pid).or_else(|| left.is_file().then(|| left.clone())) {
        return Ok(file);
    }
    let words = if Path::new("/proc").join(pid.to_string()).exists() {
        format!(
            "process {pid} writes no profile that can be seen from here; 'tally prof sample {pid}' works \
             without one"
        )
    } else {
        format!("no process has the id {pid}, and it left no profile: there is no {}", left.display())
    };
    Err(Failure::new(Kind::NotFound, words))
}

/// The heads of the profiles of running programs in the default folder, and their files.
pub(super) fn running() -> Vec<(Profile, PathBuf)> {
    in_folder(&Settings::default().file_of(0))
        .into_iter()
        .filter_map(|file| Some((Profile::open_head(&file).ok()?, file)))
        .filter(|(profile, _)| is_running(profile))
        .collect()
}

/// Whether a file begins like a profile file or an event stream.
pub(super) fn is_profile(file: &Path) -> bool {
    tallymon_clr::reader::is_profile(file) || super::sampled::is_stream(file)
}

/// Profile files of one run: those that its settings name, with any process id for `%p`.
pub(super) fn of_run(settings: &Settings, since: SystemTime) -> Vec<(Profile, PathBuf)> {
    let line = format!("TALLYMON_PROF_RUN={}", settings.run);
    let recent = |file: &PathBuf| {
        let changed = file.metadata().and_then(|metadata| metadata.modified());
        // The clock of a file system may lag a little.
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

/// The files whose names match `pattern`, in which 0 stands for the process id. Anything may follow it.
fn in_folder(pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    // Comparing the part before the number is enough: the content of the file decides.
    let start = name.split('0').next().unwrap_or_default().to_string();
    let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let named = |file: &PathBuf| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)) && file.is_file()
    };
    entries.flatten().map(|entry| entry.path()).filter(named).collect()
}

/// Whether the program of a profile still runs. Without `/proc` only the profile itself is checked.
pub(super) fn is_running(profile: &Profile) -> bool {
    let processes = Path::new("/proc");
    !profile.ended && (!processes.is_dir() || processes.join(profile.pid.to_string()).exists())
}
