//! Settings of a session as the text of a file: JSON.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use tallymon_core::time::FileTime;
use tallymon_log::{Format, is_address};
use tallymon_remote::AddressError;

use super::alert::Alerts;
use super::settings::{INTERVAL, OtlpExport, SessionHost, SessionSettings};
use crate::clock::{parse_rfc3339, rfc3339};
use crate::hosts::is_host_name;
use crate::names::InstanceNames;

impl SessionSettings {
    /// The settings as the text of a file, see [`SessionSettings::from_text`].
    pub fn to_text(&self) -> String {
        let seconds = |time: &Option<Duration>| time.map(|time| time.as_secs_f64());
        let json = json!({
            "name": self.name,
            "counters": self.counters,
            "hosts": self.hosts.iter().map(host_to_json).collect::<Vec<_>>(),
            "timeout": seconds(&self.timeout),
            "all_objects": self.all_objects,
            "interval": self.interval.as_secs_f64(),
            "sync": self.sync.as_secs_f64(),
            "folder": self.folder.to_string_lossy(),
            "lake": self.lake.as_ref().map(|lake| lake.to_string_lossy()),
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
            "await_missing": self.await_missing,
            "instances": self.instances.name(),
            "alerts": self.alerts.to_json(),
            "otlp": self.otlp.as_ref().map(|otlp| json!({ "address": otlp.address, "only": otlp.only })),
        });
        format!("{json:#}\n")
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words.
    pub fn from_text(text: &str) -> Result<SessionSettings, String> {
        let json: Json = serde_json::from_str(text).map_err(|error| format!("no settings: {error}"))?;
        let map = json.as_object().ok_or("no settings: an object in braces is needed")?;
        let fields = Fields(map);
        let needed = |key: &str| format!("no settings: {key:?} is missing");
        let name = fields.text("name")?.ok_or_else(|| needed("name"))?;
        let folder = fields.text("folder")?.ok_or_else(|| needed("folder"))?;
        let mut settings = SessionSettings::new(name, PathBuf::from(folder));
        for counter in map.get("counters").and_then(Json::as_array).into_iter().flatten() {
            let counter = counter.as_str().ok_or("\"counters\": texts are needed")?;
            settings.counters.push(counter.to_owned());
        }
        for host in map.get("hosts").and_then(Json::as_array).into_iter().flatten() {
            settings.hosts.push(host_from_json(host)?);
        }
        settings.timeout = fields.time("timeout")?;
        settings.all_objects = map.get("all_objects").and_then(Json::as_bool).unwrap_or_default();
        settings.at_boot = map.get("at_boot").and_then(Json::as_bool).unwrap_or_default();
        settings.await_missing = map.get("await_missing").and_then(Json::as_bool).unwrap_or_default();
        if let Some(instances) = fields.text("instances")? {
            settings.instances = InstanceNames::parse(instances)
                .ok_or_else(|| format!("\"instances\": {instances:?} is neither number nor pid"))?;
        }
        settings.interval = fields.time("interval")?.filter(|time| !time.is_zero()).unwrap_or(INTERVAL);
        settings.sync = fields.time("sync")?.unwrap_or(settings.sync);
        settings.lake = fields.text("lake")?.map(PathBuf::from);
        if let Some(lake) = settings.lake.as_ref().filter(|lake| !is_address(lake)) {
            return Err(format!("\"lake\": {lake:?} is not an address, such as s3://BUCKET/FOLDER"));
        }
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
        if let Some(alerts) = fields.field("alerts") {
            let alerts = alerts.as_object().ok_or("\"alerts\": an object in braces is needed")?;
            settings.alerts = Alerts::from_json(alerts)?;
        }
        if let Some(otlp) = fields.field("otlp") {
            let fields = Fields(otlp.as_object().ok_or("\"otlp\": an object in braces is needed")?);
            let address = fields.text("address")?.map(str::to_owned);
            let only = fields.field("only").and_then(Json::as_bool).unwrap_or_default();
            settings.otlp = Some(OtlpExport { address, only });
        }
        settings.check().map_err(|fault| fault.to_string())?;
        Ok(settings)
    }
}

fn host_to_json(host: &SessionHost) -> Json {
    json!({ "name": host.name, "address": host.address.to_string(), "counters": host.counters })
}

fn host_from_json(json: &Json) -> Result<SessionHost, String> {
    let fields = Fields(json.as_object().ok_or("\"hosts\": objects in braces are needed")?);
    let text = |key: &str| fields.text(key)?.ok_or_else(|| format!("\"hosts\": a host without {key:?}"));
    let name = text("name")?.to_owned();
    if !is_host_name(&name) {
        return Err(format!("\"hosts\": {name:?} cannot be the name of a host in a path"));
    }
    let address = text("address")?.parse();
    let address = address.map_err(|error: AddressError| format!("\"hosts\": {name}: {error}"))?;
    let counters = fields.field("counters").and_then(Json::as_array).into_iter().flatten();
    let counters = counters.map(|path| path.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
    let counters = counters.ok_or_else(|| format!("\"hosts\": {name}: \"counters\": texts are needed"))?;
    Ok(SessionHost { name, address, counters })
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
            parse_rfc3339(text)
                .ok_or_else(|| format!("{key:?}: a time such as 2026-11-21T08:30:00Z is needed"))
        };
        self.text(key)?.map(moment).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::session::Limit;

    #[test]
    fn settings_survive_their_text() {
        let mut settings = SessionSettings::new("web 1", PathBuf::from("/var/log"));
        settings.counters = vec![r"\Processor(*)\% Processor Time".to_owned()];
        assert_eq!(SessionSettings::from_text(&settings.to_text()), Ok(settings.clone()));
        settings.format = Format::Csv;
        settings.interval = Duration::from_millis(500);
        settings.sync = Duration::from_secs(2);
        settings.rotate_time = Some(Duration::from_secs(600));
        settings.segments = Some(7);
        settings.begin = FileTime::from_unix_nanoseconds(1_700_000_000_000_000_000);
        settings.at_boot = true;
        settings.await_missing = true;
        settings.instances = InstanceNames::ProcessId;
        settings.base = "other".to_owned();
        settings.timeout = Some(Duration::from_secs(5));
        settings.otlp = Some(OtlpExport { address: Some("http://collector:4318".to_owned()), only: true });
        settings.alerts = Alerts {
            limits: vec![Limit::parse(r"\Memory\Available MBytes < 100.5").unwrap()],
            after: Duration::from_millis(2500),
            event: true,
            start: Some("blackbox".to_owned()),
            run: Some("echo \"$TALLY_ALERT\"".to_owned()),
            webhook: Some("https://h/x?y".to_owned()),
            webhook_token: Some(PathBuf::from("/run/token")),
            syslog: Some(PathBuf::from("/dev/log")),
            journal: Some(PathBuf::from("/run/systemd/journal/socket")),
        };
        assert_eq!(SessionSettings::from_text(&settings.to_text()), Ok(settings));
    }

    #[test]
    fn hosts_are_read_back_and_checked() {
        let host = |name: &str| SessionHost {
            name: name.to_owned(),
            address: "ssh://ann@web1:2222".parse().unwrap(),
            counters: vec![r"\Memory\*".to_owned()],
        };
        let mut settings = SessionSettings::new("a", PathBuf::from("/x"));
        settings.hosts = vec![host("web1"), host("web2")];
        assert_eq!(SessionSettings::from_text(&settings.to_text()), Ok(settings.clone()));
        let refused = |change: fn(&mut SessionSettings), words: &str| {
            let mut settings = settings.clone();
            change(&mut settings);
            let error = SessionSettings::from_text(&settings.to_text()).unwrap_err();
            assert!(error.contains(words), "{words}: {error}");
        };
        refused(|settings| settings.all_objects = true, "host \"web1\": choose either");
        refused(|settings| settings.hosts[1].counters.clear(), "host \"web2\": choose either");
        refused(|settings| settings.hosts[1].name = "WEB1".to_owned(), "two hosts are called \"web1\"");
        refused(|settings| settings.hosts[0].name = r"a\b".to_owned(), "cannot be the name of a host");
        let sent = |settings: &mut SessionSettings| {
            settings.counters = vec![r"\a\b".to_owned()];
            settings.otlp = Some(OtlpExport::default());
        };
        refused(sent, "only recorded");
        let text = settings.to_text().replacen("ssh://", "ftp://", 1);
        assert!(SessionSettings::from_text(&text).unwrap_err().contains("web1: "));
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn a_lake_is_an_address() {
        let mut settings = SessionSettings::new("a", PathBuf::from("/x"));
        (settings.all_objects, settings.format) = (true, Format::Lake);
        settings.lake = Some(PathBuf::from("s3://lakes/a"));
        assert_eq!(SessionSettings::from_text(&settings.to_text()), Ok(settings.clone()));
        settings.lake = Some(PathBuf::from("/tmp/a"));
        let error = SessionSettings::from_text(&settings.to_text()).unwrap_err();
        assert!(error.contains("\"/tmp/a\" is not an address"), "{error}");
    }

    #[test]
    fn damaged_files_are_refused() {
        for text in
            ["", "[]", "{}", "{\"name\": 7}", "{\"name\": \"a\", \"folder\": \"/x\", \"interval\": -1}"]
        {
            assert!(SessionSettings::from_text(text).is_err(), "{text}");
        }
    }
}
