//! What a recording session is: a small file of settings with a name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};
use tallymon::core::time::FileTime;
use tallymon::log::Format;

use crate::output::rfc3339;

/// The settings of a recording session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// Its name, which is part of the names of files.
    pub(crate) name: String,
    /// Counter paths; nothing when all objects are recorded.
    pub(crate) counters: Vec<String>,
    /// Every object that is not costly, with all counters.
    pub(crate) all_objects: bool,
    /// Time between two records.
    pub(crate) interval: Duration,
    /// Folder of its logs.
    pub(crate) folder: PathBuf,
    /// What the names of its logs begin with.
    pub(crate) base: String,
    /// Format of its logs.
    pub(crate) format: Format,
    /// Bytes that all its logs have at most.
    pub(crate) max_size: Option<u64>,
    /// Bytes of a recording from which on a new log is begun.
    pub(crate) rotate_size: Option<u64>,
    /// Time after which a new log is begun.
    pub(crate) rotate_time: Option<Duration>,
    /// How many logs are kept; the oldest one goes when there are more.
    pub(crate) segments: Option<u32>,
    /// Records that it has at most.
    pub(crate) samples: Option<u64>,
    /// Nothing is recorded before this time.
    pub(crate) begin: Option<FileTime>,
    /// Nothing is recorded after this time.
    pub(crate) end: Option<FileTime>,
    /// How long is recorded.
    pub(crate) duration: Option<Duration>,
    /// It is started with the machine.
    pub(crate) at_boot: bool,
}

/// Time between two records when nobody says otherwise: that of Windows.
const INTERVAL: Duration = Duration::from_secs(15);

impl Settings {
    /// A session with nothing to record yet.
    pub(crate) fn new(name: &str, folder: PathBuf) -> Settings {
        Settings {
            name: name.to_owned(),
            counters: Vec::new(),
            all_objects: false,
            interval: INTERVAL,
            folder,
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
        }
    }

    /// What is wrong with them, in words.
    pub(crate) fn fault(&self) -> Option<String> {
        if !is_name(&self.name) {
            let words = "is no name of a session: up to 100 letters, digits, blanks, '-', '_' and '.'";
            return Some(format!("{:?} {words}, and no '.' first", self.name));
        }
        if !is_name(&self.base) {
            return Some(format!("{:?} can not be the beginning of the name of a log", self.base));
        }
        if self.counters.is_empty() && !self.all_objects {
            return Some("nothing to record: give counters with -c, or --all-objects".to_owned());
        }
        if !self.format.info().writes {
            return Some(format!("this program was built without {}", self.format.info().description));
        }
        if self.segments.is_some() && self.rotate_size.is_none() && self.rotate_time.is_none() {
            return Some(
                "--segments: say when a new log begins, with --rotate-time or --rotate-size".to_owned(),
            );
        }
        if self.segments == Some(0) || self.rotate_size == Some(0) || self.max_size == Some(0) {
            return Some("a size or number of 0 leaves nothing to record".to_owned());
        }
        match self.begin.zip(self.end) {
            Some((begin, end)) if end <= begin => Some("the end is not behind the beginning".to_owned()),
            _ => None,
        }
    }

    /// Whether an end comes by itself.
    pub(crate) fn is_over(&self, now: FileTime) -> bool {
        self.end.is_some_and(|end| now >= end)
    }

    /// As the text of a file.
    pub(crate) fn to_text(&self) -> String {
        let seconds = |time: &Option<Duration>| time.map(|time| time.as_secs_f64());
        let json = json!({
            "name": self.name,
            "counters": self.counters,
            "all_objects": self.all_objects,
            "interval": self.interval.as_secs_f64(),
            "folder": self.folder.to_string_lossy(),
            "base": self.base,
            "format": self.format.info().name,
            "max_size": self.max_size,
            "rotate_size": self.rotate_size,
            "rotate_time": seconds(&self.rotate_time),
            "segments": self.segments,
            "samples": self.samples,
            "begin": self.begin.map(rfc3339),
            "end": self.end.map(rfc3339),
            "duration": seconds(&self.duration),
            "at_boot": self.at_boot,
        });
        format!("{json:#}\n")
    }

    /// The settings of a file, or what is wrong with it.
    pub(crate) fn from_text(text: &str) -> Result<Settings, String> {
        let json: Json = serde_json::from_str(text).map_err(|error| format!("no settings: {error}"))?;
        let map = json.as_object().ok_or("no settings: an object in braces is needed")?;
        let fields = Fields(map);
        let needed = |key: &str| format!("no settings: {key:?} is missing");
        let name = fields.text("name")?.ok_or_else(|| needed("name"))?;
        let folder = fields.text("folder")?.ok_or_else(|| needed("folder"))?;
        let mut settings = Settings::new(name, PathBuf::from(folder));
        for counter in map.get("counters").and_then(Json::as_array).into_iter().flatten() {
            let counter = counter.as_str().ok_or("\"counters\": texts are needed")?;
            settings.counters.push(counter.to_owned());
        }
        settings.all_objects = map.get("all_objects").and_then(Json::as_bool).unwrap_or_default();
        settings.at_boot = map.get("at_boot").and_then(Json::as_bool).unwrap_or_default();
        settings.interval = fields.time("interval")?.filter(|time| !time.is_zero()).unwrap_or(INTERVAL);
        if let Some(base) = fields.text("base")? {
            settings.base = base.to_owned();
        }
        if let Some(format) = fields.text("format")? {
            settings.format = Format::from_name(format).ok_or_else(|| format!("no format {format:?}"))?;
        }
        settings.max_size = fields.number("max_size")?;
        settings.rotate_size = fields.number("rotate_size")?;
        settings.rotate_time = fields.time("rotate_time")?;
        settings.segments =
            fields.number("segments")?.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        settings.samples = fields.number("samples")?;
        settings.begin = fields.moment("begin")?;
        settings.end = fields.moment("end")?;
        settings.duration = fields.time("duration")?;
        match settings.fault() {
            Some(fault) => Err(fault),
            None => Ok(settings),
        }
    }

    /// The log of a number.
    pub(crate) fn segment(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{}_{number:06}.{}", self.base, self.format.info().extension))
    }

    /// The number of a file that is a log of this session, or a recording that becomes one.
    pub(crate) fn number_of(&self, file: &Path) -> Option<u32> {
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

/// Whether a name can be that of a session, and of files.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || " -_.".contains(letter);
    !name.is_empty()
        && name.chars().count() <= 100
        && name.len() <= 200
        && !name.starts_with(['.', ' ', '-'])
        && !name.ends_with(' ')
        && name.chars().all(fits)
}

/// The fields of a file of settings.
struct Fields<'m>(&'m Map<String, Json>);

impl<'m> Fields<'m> {
    fn field(&self, key: &str) -> Option<&'m Json> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Result<Option<&'m str>, String> {
        let text = |value: &'m Json| value.as_str().ok_or_else(|| format!("{key:?}: a text is needed"));
        self.field(key).map(text).transpose()
    }

    fn number(&self, key: &str) -> Result<Option<u64>, String> {
        let number = |value: &Json| value.as_u64().ok_or_else(|| format!("{key:?}: a number is needed"));
        self.field(key).map(number).transpose()
    }

    fn time(&self, key: &str) -> Result<Option<Duration>, String> {
        let time = |value: &Json| {
            let seconds = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            seconds.ok_or_else(|| format!("{key:?}: seconds are needed"))
        };
        self.field(key).map(time).transpose()
    }

    fn moment(&self, key: &str) -> Result<Option<FileTime>, String> {
        let moment = |text: &str| {
            let time = text.parse::<Timestamp>().ok().map(|time| time.as_nanosecond());
            let time = time.and_then(FileTime::from_unix_nanoseconds);
            time.ok_or_else(|| format!("{key:?}: a time such as 2026-11-21T08:30:00Z is needed"))
        };
        self.text(key)?.map(moment).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_their_file() {
        let mut settings = Settings::new("web 1", PathBuf::from("/var/log"));
        settings.counters = vec![r"\Processor(*)\% Processor Time".to_owned()];
        assert_eq!(Settings::from_text(&settings.to_text()), Ok(settings.clone()));
        settings.format = Format::Csv;
        settings.interval = Duration::from_millis(500);
        settings.rotate_time = Some(Duration::from_secs(600));
        settings.segments = Some(7);
        settings.begin = FileTime::from_unix_nanoseconds(1_700_000_000_000_000_000);
        settings.at_boot = true;
        settings.base = "other".to_owned();
        assert_eq!(Settings::from_text(&settings.to_text()), Ok(settings));
    }

    #[test]
    fn faults_are_told() {
        let good = Settings { all_objects: true, ..Settings::new("a", PathBuf::from("/x")) };
        let wrong = |change: fn(&mut Settings)| {
            let mut settings = good.clone();
            change(&mut settings);
            settings.fault().unwrap()
        };
        assert_eq!(good.fault(), None);
        for (words, fault) in [
            ("no name", wrong(|settings| settings.name = "../a".to_owned())),
            ("nothing to record", wrong(|settings| settings.all_objects = false)),
            ("--rotate-time", wrong(|settings| settings.segments = Some(3))),
            ("0", wrong(|settings| settings.max_size = Some(0))),
            (
                "not behind",
                wrong(|settings| (settings.begin, settings.end) = (Some(FileTime(9)), Some(FileTime(9)))),
            ),
        ] {
            assert!(fault.contains(words), "{fault}");
        }
        for text in
            ["", "[]", "{}", "{\"name\": 7}", "{\"name\": \"a\", \"folder\": \"/x\", \"interval\": -1}"]
        {
            assert!(Settings::from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn logs_have_numbers() {
        let settings = Settings { format: Format::Csv, ..Settings::new("a", PathBuf::from("/x")) };
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
