//! What a recording session is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tallymon_core::time::FileTime;
use tallymon_log::Format;
use tallymon_remote::Address;

use super::SettingsFault;
use super::alert::Alerts;
use crate::names::InstanceNames;
use crate::record::{Rotation, SYNC};

/// How long a log that is put into a lake is, unless the settings say it.
const HOUR: Duration = Duration::from_secs(3600);

/// The settings of a recording session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSettings {
    /// Its name, which is also the name of its files.
    pub name: String,
    /// Counter paths of this machine; empty when all objects are recorded.
    pub counters: Vec<String>,
    /// Other machines, whose counters are in the same records.
    pub hosts: Vec<SessionHost>,
    /// How long another machine may take for a connection, and for each answer.
    pub timeout: Option<Duration>,
    /// Record every object that is not costly, with all counters: of the other machines if there are any,
    /// else of this one.
    pub all_objects: bool,
    /// Time between two records.
    pub interval: Duration,
    /// How often a log is synced to the disk: what a power failure can cost.
    pub sync: Duration,
    /// Folder of its logs.
    pub folder: PathBuf,
    /// The address of the lake in object storage that its logs are put into; they wait in the folder until
    /// then. `None` is a lake in the folder, or another format.
    pub lake: Option<PathBuf>,
    /// What the names of its logs begin with.
    pub base: String,
    /// Format of its logs.
    pub format: Format,
    /// The most bytes of all its logs together; of a lake in object storage, of those that wait.
    pub max_size: Option<u64>,
    /// Begin a new log when one has this many bytes.
    pub rotate_size: Option<u64>,
    /// Begin a new log after this time.
    pub rotate_time: Option<Duration>,
    /// Keep this many logs, as a ring: the oldest is removed.
    pub segments: Option<u32>,
    /// End after this many records.
    pub samples: Option<u64>,
    /// Wait until this time.
    pub begin: Option<FileTime>,
    /// End at this time.
    pub end: Option<FileTime>,
    /// End after this time.
    pub duration: Option<Duration>,
    /// Start with the machine.
    pub at_boot: bool,
    /// Record the counters that are here, and look for the others while the session runs.
    pub await_missing: bool,
    /// How processes are named.
    pub instances: InstanceNames,
    /// Limits of counters, and what is done when a value crosses one. A session may have only these, and
    /// records nothing then.
    pub alerts: Alerts,
    /// Where its samples are sent, beside its logs or instead of them.
    pub otlp: Option<OtlpExport>,
}

/// Another machine that a session records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHost {
    /// Its name in counter paths.
    pub name: String,
    /// Where it is.
    pub address: Address,
    /// Counter paths; empty when all objects are recorded.
    pub counters: Vec<String>,
}

/// Where a session sends its samples as it takes them: a receiver of OpenTelemetry's OTLP over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtlpExport {
    /// Its address; `None` is the one that the environment of the recorder names.
    pub address: Option<String>,
    /// The samples are only sent, and no logs are written.
    pub only: bool,
}

/// Time between two records when nobody says otherwise: that of Windows.
pub(super) const INTERVAL: Duration = Duration::from_secs(15);

impl SessionSettings {
    /// Settings of a session with nothing to record yet.
    pub fn new(name: &str, folder: PathBuf) -> SessionSettings {
        SessionSettings {
            name: name.to_owned(),
            counters: Vec::new(),
            hosts: Vec::new(),
            timeout: None,
            all_objects: false,
            interval: INTERVAL,
            sync: SYNC,
            folder,
            lake: None,
            base: name.to_owned(),
            format: Format::Tally,
            max_size: None,
            rotate_size: None,
            rotate_time: None,
            segments: None,
            samples: None,
            begin: None,
            end: None,
            duration: None,
            at_boot: false,
            await_missing: false,
            instances: InstanceNames::default(),
            alerts: Alerts::default(),
            otlp: None,
        }
    }

    /// Whether they can be used.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub fn check(&self) -> Result<(), SettingsFault> {
        let fault = if !is_session_name(&self.name) {
            SettingsFault::Name(self.name.clone())
        } else if !is_session_name(&self.base) {
            SettingsFault::Base(self.base.clone())
        } else if let Some(fault) = self.fault_of_hosts() {
            fault
        } else if self.otlp.is_some() && self.counters.is_empty() {
            SettingsFault::NothingToSend
        } else if !self.takes_samples() && self.alerts.is_empty() {
            SettingsFault::NothingToRecord
        } else if let Err(fault) = self.alerts.check() {
            fault
        } else if !self.format.info().writes {
            SettingsFault::NotBuilt(self.format)
        } else if self.lake.is_some() && self.format != Format::Lake {
            SettingsFault::OnlyLakes
        } else if self.format == Format::Lake
            && (self.segments.is_some() || (self.max_size.is_some() && self.lake.is_none()))
        {
            SettingsFault::RingOfLake
        } else if self.segments.is_some() && self.rotate_size.is_none() && self.rotate_time.is_none() {
            SettingsFault::RingWithoutRotation
        } else if self.segments == Some(0) || self.rotate_size == Some(0) || self.max_size == Some(0) {
            SettingsFault::Zero
        } else if self.begin.zip(self.end).is_some_and(|(begin, end)| end <= begin) {
            SettingsFault::EndBeforeBegin
        } else {
            return Ok(());
        };
        Err(fault)
    }

    fn fault_of_hosts(&self) -> Option<SettingsFault> {
        if self.otlp.is_some() && !self.hosts.is_empty() {
            return Some(SettingsFault::HostsAreNotSent);
        }
        let mut names: Vec<String> = self.hosts.iter().map(|host| host.name.to_lowercase()).collect();
        names.sort();
        let twice = names.iter().zip(names.iter().skip(1)).find(|(one, next)| one == next);
        if let Some((name, _)) = twice {
            return Some(SettingsFault::HostTwice(name.clone()));
        }
        // Without a path a recorder would write everything.
        let idle = self.hosts.iter().find(|host| host.counters.is_empty() != self.all_objects);
        idle.map(|host| SettingsFault::HostCounters(host.name.clone()))
    }

    /// Whether it takes samples, to record or to send them; else it only looks at its limits.
    pub const fn takes_samples(&self) -> bool {
        self.all_objects || !self.counters.is_empty() || !self.hosts.is_empty()
    }

    /// Whether it takes samples of this machine.
    pub const fn samples_this_machine(&self) -> bool {
        !self.counters.is_empty() || (self.all_objects && self.hosts.is_empty())
    }

    /// Its counter paths: those of this machine, and those of the other machines with the host in front.
    pub fn paths(&self) -> Vec<String> {
        let of_host = |host: &SessionHost| {
            let name = host.name.clone();
            let full = move |path: &String| match path.strip_prefix("\\\\").or(path.strip_prefix("//")) {
                Some(_) => path.clone(),
                None => format!("\\\\{name}{path}"),
            };
            host.counters.iter().map(full).collect::<Vec<_>>()
        };
        self.counters.iter().cloned().chain(self.hosts.iter().flat_map(of_host)).collect()
    }

    /// Whether it writes logs.
    pub fn records(&self) -> bool {
        self.takes_samples() && self.otlp.as_ref().is_none_or(|otlp| !otlp.only)
    }

    /// The same session with the counters of its limits only.
    pub(super) fn of_alerts(&self) -> SessionSettings {
        let mut counters: Vec<String> = Vec::new();
        for limit in &self.alerts.limits {
            if !counters.contains(&limit.path) {
                counters.push(limit.path.clone());
            }
        }
        let hosts = Vec::new();
        SessionSettings {
            counters,
            hosts,
            all_objects: false,
            await_missing: true,
            otlp: None,
            ..self.clone()
        }
    }

    /// When a new log begins, and how many stay.
    pub fn rotation(&self) -> Rotation {
        // What is recorded is in a lake when its log is complete.
        let is_lake = self.format == Format::Lake && self.rotate_size.is_none();
        Rotation {
            size: self.rotate_size,
            records: None,
            time: self.rotate_time.or(is_lake.then_some(HOUR)),
            interval: self.interval,
            segments: self.segments,
        }
    }

    /// Whether the end has passed.
    pub fn is_over(&self, now: FileTime) -> bool {
        self.end.is_some_and(|end| now >= end)
    }

    /// The folder of the logs. Those that are put into a lake are in a folder of it that no reader of the
    /// lake looks at.
    pub fn log_folder(&self) -> PathBuf {
        match self.format {
            Format::Lake => self.folder.join("_recordings"),
            _ => self.folder.clone(),
        }
    }

    /// Where its logs are for people: the lake in object storage, or the folder.
    pub fn place(&self) -> &Path {
        self.lake.as_deref().unwrap_or(&self.folder)
    }

    /// The logs that are there and their numbers, in order. A recording is listed beside the log that is
    /// made of it until that is complete.
    pub fn logs(&self) -> Vec<(u32, PathBuf)> {
        let Ok(entries) = fs::read_dir(self.log_folder()) else { return Vec::new() };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let numbered = |path: PathBuf| Some((self.number_of(&path)?, path));
        let mut found: Vec<(u32, PathBuf)> = paths.filter_map(numbered).collect();
        found.sort();
        found
    }

    /// The log of a number.
    pub fn segment(&self, number: u32) -> PathBuf {
        self.log_folder().join(format!("{}_{number:06}.{}", self.base, self.format.info().extension))
    }

    /// The number of a file that is a log of this session, or a recording that becomes one.
    pub fn number_of(&self, file: &Path) -> Option<u32> {
        let name = file.file_name()?.to_str()?;
        let rest = name.strip_prefix(&self.base)?.strip_prefix('_')?;
        let (digits, end) = rest.split_at_checked(6)?;
        let extension = self.format.info().extension;
        let end = end.strip_prefix('.')?;
        let end = end.strip_suffix(".recording.tally").unwrap_or(end);
        (end == extension && digits.bytes().all(|digit| digit.is_ascii_digit()))
            .then(|| digits.parse().ok())
            .flatten()
    }
}

/// Whether a name can be the name of a session and of its files.
pub fn is_session_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || " -_.".contains(letter);
    !name.is_empty()
        && name.chars().count() <= 100
        && name.len() <= 200
        && !name.starts_with(['.', ' ', '-'])
        && !name.ends_with(' ')
        && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_settings_are_refused() {
        let good = SessionSettings { all_objects: true, ..SessionSettings::new("a", PathBuf::from("/x")) };
        let wrong = |change: fn(&mut SessionSettings)| {
            let mut settings = good.clone();
            change(&mut settings);
            settings.check().unwrap_err()
        };
        assert_eq!(good.check(), Ok(()));
        for (fault, found) in [
            (SettingsFault::Name("../a".into()), wrong(|settings| settings.name = "../a".to_owned())),
            (SettingsFault::NothingToRecord, wrong(|settings| settings.all_objects = false)),
            (SettingsFault::NothingToSend, wrong(|settings| settings.otlp = Some(OtlpExport::default()))),
            (SettingsFault::RingWithoutRotation, wrong(|settings| settings.segments = Some(3))),
            (SettingsFault::Zero, wrong(|settings| settings.max_size = Some(0))),
            (
                SettingsFault::EndBeforeBegin,
                wrong(|settings| (settings.begin, settings.end) = (Some(FileTime(9)), Some(FileTime(9)))),
            ),
        ] {
            assert_eq!(found, fault);
        }
    }

    #[test]
    fn finds_the_numbers_of_logs() {
        let settings =
            SessionSettings { format: Format::Csv, ..SessionSettings::new("a", PathBuf::from("/x")) };
        assert_eq!(settings.number_of(&settings.segment(7)), Some(7));
        for (name, number) in [
            ("a_000012.csv.recording.tally", Some(12)),
            ("a_000012.tally", None),
            ("a_00001x.csv", None),
            ("b_000012.csv", None),
            ("a_12.csv", None),
            ("a_000012.csv.part", None),
        ] {
            assert_eq!(settings.number_of(Path::new(name)), number, "{name}");
        }
    }
}
