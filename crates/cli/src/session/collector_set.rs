//! Data collector sets as Windows writes them: XML elements named like the properties of its interfaces.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quick_xml::Reader;
use quick_xml::escape::escape;
use quick_xml::events::Event;
use tallymon::log::Format;
use tallymon::record::session::{Alerts, Limit, SessionSettings};
use tallymon::registry::read_text;

use crate::exit::{Failure, Kind};

/// Bytes in the unit of sizes.
pub(crate) const MEGABYTE: u64 = 1 << 20;

/// Logs of a ring, which is one circular file on Windows.
pub(crate) const RING: u32 = 4;

/// `LogFileFormat`, by its number.
const FORMATS: [Format; 4] = [Format::Csv, Format::Tsv, Format::Sqlite, Format::Blg];

/// A session, and what of its data collector set it leaves out, in words.
type Imported = (SessionSettings, Vec<String>);

/// Reads a data collector set as a session of a name.
pub(crate) fn read(path: &Path, name: &str, folder: PathBuf) -> Result<Imported, Failure> {
    let text = read_text(path, None)?;
    parse(&text, name, folder).map_err(|words| in_file(path, &words))
}

/// The name of the set in a file; `None` if the file is no XML.
pub(crate) fn name_of(path: &Path) -> Result<Option<String>, Failure> {
    let text = read_text(path, None)?;
    if !text.trim_start().starts_with('<') {
        return Ok(None);
    }
    let found = elements(&text).map_err(|words| in_file(path, &words))?;
    let name = found.fields.get("Name").map(|name| name.trim().to_owned());
    let missing = || in_file(path, "the set has no name; give one with --name");
    name.filter(|name| !name.is_empty()).map(Some).ok_or_else(missing)
}

fn in_file(path: &Path, words: &str) -> Failure {
    Failure::new(Kind::BadFile, format_args!("{}: {words}", path.display()))
}

/// A word as the shell takes it back.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn parse(text: &str, name: &str, folder: PathBuf) -> Result<Imported, String> {
    let Elements { fields, counters, collectors, limits, of_alerts, others, .. } = elements(text)?;
    if collectors == 0 && limits.is_empty() {
        return Err("it has no collector of performance counters and no limits of alerts".to_owned());
    }
    let mut dropped: Vec<String> = others;
    if collectors > 1 {
        let words = format!("{collectors} collectors of counters are one session, as the first is set");
        dropped.push(words);
    }
    let number = |key: &str| match fields.get(key).map(|text| text.trim()) {
        None | Some("" | "0") => Ok(None),
        Some(text) => {
            text.parse::<u64>().map(Some).map_err(|_| format!("{key}: {text:?} is not a number of this kind"))
        }
    };
    // Windows writes -1 for true.
    let is = |key: &str| fields.get(key).is_some_and(|text| !matches!(text.trim(), "" | "0"));
    let seconds = |key: &str| number(key).map(|number| number.map(Duration::from_secs));
    let mut settings = SessionSettings::new(name, folder);
    settings.counters = counters;
    settings.await_missing = true;
    match fields.get("RootPath").map(|root| root.trim()).filter(|root| !root.is_empty()) {
        Some(root) if Path::new(root).is_absolute() => settings.folder = PathBuf::from(root),
        // A folder of Windows does not exist here.
        Some(root) => dropped.push(format!("RootPath {root}: logs are in {}", settings.folder.display())),
        None => {}
    }
    for (key, words) in NOT_TAKEN {
        if is(key) {
            dropped.push(format!("{key}: {words}"));
        }
    }
    if let Some(base) = fields.get("FileName").map(|base| base.trim()).filter(|base| !base.is_empty()) {
        settings.base = base.to_owned();
    }
    settings.alerts = alerts(&limits, &of_alerts)?;
    settings.interval = seconds("SampleInterval")?.unwrap_or(settings.interval);
    if collectors == 0
        && let Some(text) = of_alerts.get("SampleInterval")
    {
        let interval =
            text.trim().parse().map_err(|_| format!("SampleInterval: {text:?} is not a number"))?;
        settings.interval = Duration::from_secs(interval);
    }
    settings.duration = seconds("Duration")?;
    settings.rotate_time = seconds("SegmentMaxDuration")?;
    settings.samples = number("SegmentMaxRecords")?;
    let format = match fields.get("LogFileFormat") {
        None => Some(Format::Blg),
        Some(_) => usize::try_from(number("LogFileFormat")?.unwrap_or(0))
            .ok()
            .and_then(|number| FORMATS.get(number).copied()),
    };
    settings.format = format.ok_or("LogFileFormat: 0 to 3 are known")?;
    let size = number("SegmentMaxSize")?.map(|size| size.saturating_mul(MEGABYTE));
    if is("LogCircular") && size.is_some() {
        settings.segments = Some(RING);
        settings.rotate_size = size.map(|size| (size / u64::from(RING)).max(1));
    } else if is("Segment") {
        settings.rotate_size = size;
    } else {
        settings.max_size = size;
    }
    settings.check().map_err(|fault| fault.to_string())?;
    Ok((settings, dropped))
}

/// The alerts of a set, from the texts of its collector of alerts.
fn alerts(limits: &[String], fields: &HashMap<String, String>) -> Result<Alerts, String> {
    let text = |key: &str| fields.get(key).map(|text| text.trim()).filter(|text| !text.is_empty());
    let limits: Result<Vec<Limit>, _> = limits.iter().map(|limit| Limit::parse(limit)).collect();
    let mut alerts = Alerts { limits: limits.map_err(|fault| fault.to_string())?, ..Alerts::default() };
    alerts.start = text("TriggerDataCollectorSet").map(str::to_owned);
    let arguments = text("TaskUserTextArguments").or(text("TaskArguments"));
    alerts.run = text("Task").map(|task| match arguments {
        Some(line) if task == SHELL => line.to_owned(),
        Some(arguments) => format!("{} {}", quoted(task), quoted(arguments)),
        None => quoted(task),
    });
    let acts = alerts.start.is_some() || alerts.run.is_some();
    alerts.event = !alerts.is_empty() && (text("EventLog").is_some_and(|text| text != "0") || !acts);
    Ok(alerts)
}

/// Elements of a set that sessions do not have, and what to do instead.
const NOT_TAKEN: [(&str, &str); 6] = [
    ("LogAppend", "each start begins a new log"),
    ("LogOverwrite", "each start begins a new log, and the old ones stay"),
    ("DataSourceName", "no database of a server is written; the logs are files"),
    ("Schedule", "no schedule is taken over; 'logman update NAME -b TIME -e TIME' sets begin and end"),
    ("Task", "no program is run when a log ends"),
    ("DataManager", "no report is made, and no old log is deleted"),
];

/// What the end of the name of a collector's element is, whatever it collects.
const COLLECTOR: &str = "DataCollector";

/// The collector that becomes a session.
const OF_COUNTERS: &str = "PerformanceCounterDataCollector";

/// The task of an alert that is a command line of the shell; its arguments are the line.
const SHELL: &str = "/bin/sh";

/// The collector whose limits become the alerts of the session.
const OF_ALERTS: &str = "AlertDataCollector";

/// What a set has.
#[derive(Default)]
struct Elements {
    /// The texts of the elements of the set and of its first collector of counters, by their names.
    fields: HashMap<String, String>,
    counters: Vec<String>,
    /// How many collectors of counters there are.
    collectors: usize,
    /// The limits of all collectors of alerts, and the texts of the elements of the first one.
    limits: Vec<String>,
    of_alerts: HashMap<String, String>,
    /// Collectors of something else, in words.
    others: Vec<String>,
    /// Whether the open collector of something else is among them.
    is_named: bool,
}

impl Elements {
    /// Takes the text of an element that ended inside the elements `open`.
    fn end(&mut self, open: &[String], name: String, text: String) {
        if open.iter().any(|name| name == OF_ALERTS) {
            match name.as_str() {
                "Alert" => self.limits.push(text.trim().to_owned()),
                _ => drop(self.of_alerts.entry(name).or_insert(text)),
            }
            return;
        }
        if let Some(other) = open.iter().find(|name| name.ends_with(COLLECTOR) && *name != OF_COUNTERS) {
            // The collector's own name comes early in it.
            if name == "Name" && open.last() == Some(other) {
                self.is_named = true;
                self.others
                    .push(format!("the {other} {:?} is left out: only counters are recorded", text.trim()));
            }
            return;
        }
        if name == "Counter" {
            self.counters.push(text.trim().to_owned());
            return;
        }
        // What is deeper in the set than in its collectors is no setting, but says that its element is used.
        if let Some((known, _)) = NOT_TAKEN.iter().find(|(known, _)| open.iter().any(|name| name == known)) {
            let is_on = *known != "DataManager" || name == "Enabled" && !matches!(text.trim(), "" | "0");
            if is_on && !text.trim().is_empty() {
                self.fields.insert((*known).to_owned(), "-1".to_owned());
            }
            return;
        }
        if name.ends_with(COLLECTOR) && name != OF_COUNTERS && name != OF_ALERTS && !self.is_named {
            self.others.push(format!("an unnamed {name} is left out: only counters are recorded"));
        }
        if name.ends_with(COLLECTOR) {
            self.is_named = false;
        }
        if name == OF_COUNTERS {
            self.collectors = self.collectors.saturating_add(1);
        }
        // Elements of the set come before those of its collectors, so the first one counts.
        self.fields.entry(name).or_insert(text);
    }
}

/// Reads the elements of a set.
fn elements(text: &str) -> Result<Elements, String> {
    let mut reader = Reader::from_str(text);
    let mut found = Elements::default();
    // The names of the open elements, and the text of the innermost.
    let mut open: Vec<String> = Vec::new();
    let mut inside = String::new();
    loop {
        let wrong = |error: &dyn std::fmt::Display, at: u64| format!("no XML at byte {at}: {error}");
        let at = reader.buffer_position();
        match reader.read_event().map_err(|error| wrong(&error, at))? {
            Event::Start(start) => {
                open.push(String::from_utf8_lossy(start.local_name().as_ref()).into_owned());
                inside.clear();
            }
            Event::Empty(empty) => {
                let name = String::from_utf8_lossy(empty.local_name().as_ref()).into_owned();
                found.end(&open, name, String::new());
            }
            Event::Text(text) => inside.push_str(&text.decode().map_err(|error| wrong(&error, at))?),
            Event::CData(text) => inside.push_str(&text.decode().map_err(|error| wrong(&error, at))?),
            Event::GeneralRef(reference) => {
                let name = reference.decode().map_err(|error| wrong(&error, at))?;
                let whole = format!("&{name};");
                inside.push_str(&quick_xml::escape::unescape(&whole).map_err(|error| wrong(&error, at))?);
            }
            Event::End(_) => {
                let name = open.pop().unwrap_or_default();
                let text = std::mem::take(&mut inside);
                found.end(&open, name, text);
            }
            Event::Eof if open.is_empty() => return Ok(found),
            Event::Eof => return Err(format!("the element {:?} does not end", open.join("/"))),
            _ => {}
        }
    }
}

/// Writes a session as a data collector set.
pub(crate) fn write(settings: &SessionSettings, running: bool) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<DataCollectorSet>\n");
    let mut put = |depth: usize, name: &str, text: &str| {
        xml.push_str(&format!("{}<{name}>{}</{name}>\n", "\t".repeat(depth), escape(text)));
    };
    let seconds = |time: Option<Duration>| time.map_or(0, |time| time.as_secs().max(1)).to_string();
    let yes = |is: bool| if is { "-1" } else { "0" };
    let ring = settings.segments.is_some();
    let new_logs = settings.rotate_size.is_some() || settings.rotate_time.is_some();
    let size = match settings.rotate_size {
        Some(size) if ring => size.saturating_mul(u64::from(settings.segments.unwrap_or(RING))),
        size => size.or(settings.max_size).unwrap_or(0),
    };
    put(1, "Status", if running { "1" } else { "0" });
    put(1, "Duration", &seconds(settings.duration));
    put(1, "Name", &settings.name);
    put(1, "RootPath", &settings.folder.to_string_lossy());
    put(1, "Segment", yes(new_logs && !ring));
    put(1, "SegmentMaxDuration", &seconds(settings.rotate_time));
    put(1, "SegmentMaxSize", &size.div_ceil(MEGABYTE).to_string());
    put(1, "SerialNumber", "1");
    let format = FORMATS.iter().position(|format| *format == settings.format).unwrap_or(3);
    let mut collector = String::new();
    let mut put = |name: &str, text: &str| {
        collector.push_str(&format!("\t\t<{name}>{}</{name}>\n", escape(text)));
    };
    put("DataCollectorType", "0");
    put("Name", &settings.base);
    put("FileName", &settings.base);
    // Numbers after the name.
    put("FileNameFormat", "512");
    put("LogAppend", "0");
    put("LogCircular", yes(ring));
    put("LogOverwrite", "0");
    put("DataSourceName", "");
    // Windows has whole seconds only.
    put("SampleInterval", &settings.interval.as_secs().max(1).to_string());
    put("SegmentMaxRecords", &settings.samples.unwrap_or(0).to_string());
    put("LogFileFormat", &format.to_string());
    for counter in settings.paths() {
        put("Counter", &counter);
    }
    if settings.takes_samples() {
        xml = format!("{xml}\t<{OF_COUNTERS}>\n{collector}\t</{OF_COUNTERS}>\n");
    }
    xml + &of_alerts(settings) + "</DataCollectorSet>\n"
}

/// The collector of alerts, if there are limits.
fn of_alerts(settings: &SessionSettings) -> String {
    let alerts = &settings.alerts;
    if alerts.is_empty() {
        return String::new();
    }
    let mut collector = String::new();
    let mut put = |name: &str, text: &str| {
        collector.push_str(&format!("\t\t<{name}>{}</{name}>\n", escape(text)));
    };
    put("DataCollectorType", "3");
    put("Name", &settings.base);
    put("EventLog", if alerts.event { "-1" } else { "0" });
    put("SampleInterval", &settings.interval.as_secs().max(1).to_string());
    put("TriggerDataCollectorSet", alerts.start.as_deref().unwrap_or_default());
    let shell = alerts.run.as_deref().map_or(("", ""), |line| (SHELL, line));
    put("Task", shell.0);
    put("TaskUserTextArguments", shell.1);
    for limit in &alerts.limits {
        let sign = if limit.is_maximum { '>' } else { '<' };
        put("Alert", &format!("{}{sign}{}", limit.path, limit.value));
    }
    format!("\t<{OF_ALERTS}>\n{collector}\t</{OF_ALERTS}>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_sets_that_it_writes() {
        let mut settings = SessionSettings::new("a", PathBuf::from("/var/log"));
        settings.counters = vec![r"\Process(a & b)\<x>".to_owned(), r"\Memory\*".to_owned()];
        settings.format = Format::Csv;
        settings.rotate_time = Some(Duration::from_secs(60));
        settings.rotate_size = Some(5 * MEGABYTE);
        settings.samples = Some(9);
        settings.await_missing = true;
        let read =
            |settings: &SessionSettings| parse(&write(settings, true), "a", PathBuf::from("/elsewhere"));
        assert_eq!(read(&settings), Ok((settings.clone(), Vec::new())));
        (settings.format, settings.segments, settings.rotate_time) = (Format::Blg, Some(RING), None);
        settings.rotate_size = Some(MEGABYTE);
        assert_eq!(read(&settings), Ok((settings.clone(), Vec::new())));
    }

    #[test]
    fn reads_the_alerts_that_it_writes() {
        let mut settings = SessionSettings::new("a", PathBuf::from("/var/log"));
        settings.alerts.limits = vec![Limit::parse(r"\Memory\Available MBytes<100").unwrap()];
        settings.alerts.event = true;
        settings.await_missing = true;
        settings.format = Format::Blg;
        let (read, dropped) = parse(&write(&settings, false), "a", PathBuf::from("/elsewhere")).unwrap();
        assert_eq!((&read.alerts, dropped), (&settings.alerts, Vec::<String>::new()));
    }

    #[test]
    fn reads_sets_of_windows() {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\r\n<DataCollectorSet>\r\n<Status>0</Status>\
            <Duration>3600</Duration><Name>x</Name><RootPath>%systemdrive%\\PerfLogs\\Admin\\x</RootPath><Schedule/>\
            <Segment>-1</Segment><SegmentMaxSize>10</SegmentMaxSize>\
            <PerformanceCounterDataCollector><DataCollectorType>0</DataCollectorType><FileName>DataCollector01</FileName>\
            <LogFileFormat>3</LogFileFormat><SampleInterval>5</SampleInterval>\
            <Counter>\\Processor(*)\\% Processor Time</Counter><Counter>\\Memory\\Pages/sec</Counter>\
            <CounterDisplayName>\\Processor(*)\\% Processor Time</CounterDisplayName>\
            </PerformanceCounterDataCollector></DataCollectorSet>";
        let (settings, dropped) = parse(text, "x", PathBuf::from("/logs/x")).unwrap();
        assert_eq!(dropped, [r"RootPath %systemdrive%\PerfLogs\Admin\x: logs are in /logs/x"]);
        assert_eq!(settings.counters, [r"\Processor(*)\% Processor Time", r"\Memory\Pages/sec"]);
        assert_eq!((settings.folder.to_str(), settings.base.as_str()), (Some("/logs/x"), "DataCollector01"));
        assert_eq!((settings.interval.as_secs(), settings.duration), (5, Some(Duration::from_secs(3600))));
        assert_eq!((settings.format, settings.rotate_size), (Format::Blg, Some(10 * MEGABYTE)));
    }

    #[test]
    fn other_collectors_and_schedules_are_left_out_and_named() {
        let text = r"<DataCollectorSet><Name>x</Name>
            <Schedule><StartDate>1/1/2020</StartDate><Days>127</Days></Schedule>
            <TraceDataCollector><DataCollectorType>1</DataCollectorType><Name>NT Kernel</Name>
            <FileName>Kernel</FileName><TraceDataProvider><DisplayName>{9E}</DisplayName></TraceDataProvider>
            <LogFileFormat>9</LogFileFormat></TraceDataCollector>
            <ConfigurationDataCollector><Name>Registry</Name><SampleInterval>x</SampleInterval>
            </ConfigurationDataCollector>
            <ApiTracingDataCollector><LogAppend>0</LogAppend></ApiTracingDataCollector>
            <PerformanceCounterDataCollector><Name>Counters</Name><FileName>Performance Counter</FileName>
            <SampleInterval>3</SampleInterval><LogFileFormat>3</LogFileFormat><Counter>\Memory\*</Counter>
            <LogAppend>-1</LogAppend><LogOverwrite>-1</LogOverwrite><DataSourceName>SQL:a</DataSourceName>
            </PerformanceCounterDataCollector>
            <PerformanceCounterDataCollector><SampleInterval>9</SampleInterval><Counter>\System\*</Counter>
            </PerformanceCounterDataCollector>
            <DataManager><Enabled>-1</Enabled></DataManager></DataCollectorSet>";
        let (settings, dropped) = parse(text, "x", PathBuf::from("/x")).unwrap();
        assert_eq!((settings.base.as_str(), settings.interval.as_secs()), ("Performance Counter", 3));
        assert_eq!(settings.counters, [r"\Memory\*", r"\System\*"]);
        let named = ["NT Kernel", "Registry", "2 collectors", "Schedule: ", "DataManager: ", "LogAppend: "];
        for words in
            named.into_iter().chain(["LogOverwrite: ", "DataSourceName: ", "unnamed ApiTracingDataCollector"])
        {
            assert!(dropped.iter().any(|dropped| dropped.contains(words)), "{words}: {dropped:?}");
        }
        assert_eq!(dropped.len(), 9, "{dropped:?}");
        let without = text.replace("<Enabled>-1", "<Enabled>0");
        assert_eq!(parse(&without, "x", PathBuf::from("/x")).unwrap().1.len(), 8);
    }

    #[test]
    fn reports_damage() {
        for (text, words) in [
            ("", "no collector"),
            ("<DataCollectorSet>", "does not end"),
            ("<DataCollectorSet></Other>", "no XML"),
            ("<A><PerformanceCounterDataCollector/></A>", "nothing to record"),
            (
                "<A><SampleInterval>x</SampleInterval><PerformanceCounterDataCollector><Counter>c</Counter>\
                 </PerformanceCounterDataCollector></A>",
                "SampleInterval",
            ),
        ] {
            let error = parse(text, "x", PathBuf::from("/x")).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
