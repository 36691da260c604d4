//! Names that other collectors gave to what a counter counts, so that dashboards made for them work.
//!
//! A profile names counters of NT one by one; all others keep the names of [`crate::name`]. What it names has
//! the labels and the units of that collector, too. `_Total` and the rules for series are those of
//! [`crate::series`].

mod node_exporter;
mod semconv;
mod telegraf;
mod windows_exporter;

pub(crate) use semconv::NUMBERS;

use std::fmt;
use std::str::FromStr;

use tallymon_core::counter::CounterType;

use crate::metric::{MetricKind, Number, metrics};

/// Whose names the metrics have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// Our own: `nt_` with the names of object and counter.
    #[default]
    Nt,
    /// The semantic conventions of OpenTelemetry, version 1.44; those for systems and processes are in
    /// development there.
    Semconv,
    /// windows_exporter, version 0.31.
    WindowsExporter,
    /// node_exporter, version 1.5 and later.
    NodeExporter,
    /// Telegraf's input `win_perf_counters`, with the measurements of its sample configuration.
    Telegraf,
}

/// A metric in OpenTelemetry's semantic conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Semantic {
    /// Its name, with points.
    pub name: &'static str,
    /// Its unit in UCUM.
    pub unit: &'static str,
    /// Whether it is an UpDownCounter, whose parts have a sum.
    pub is_up_down: bool,
}

/// A metric that a profile names.
#[derive(Debug)]
pub(crate) struct Target {
    /// Its name, with its unit and without `_total` of a counter.
    pub(crate) name: String,
    pub(crate) kind: MetricKind,
    /// Seconds, bytes, ratio, or empty.
    pub(crate) unit: &'static str,
    /// What its numbers are multiplied by.
    pub(crate) factor: u64,
    /// Its labels beside those of the instance.
    pub(crate) labels: Vec<(&'static str, String)>,
    pub(crate) semantic: Option<Semantic>,
    /// Measurement and field.
    pub(crate) field: Option<(String, String)>,
    pub(crate) meaning: &'static str,
}

/// How an instance becomes labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InstanceLabels {
    /// The label of the name.
    pub(crate) name: &'static str,
    pub(crate) form: InstanceForm,
    /// The label of the process.
    pub(crate) process: &'static str,
}

/// What of the name of an instance is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstanceForm {
    /// The name as in a path.
    Whole,
    /// The name without the number behind `#`, where the number of the process tells instances apart.
    Name,
    /// One of its words, counted from 0: a disk is `0 sda` or `0 C: D:`.
    Word(usize),
    /// A processor with its group: `0` is `0,0`.
    Core,
}

/// A counter that a profile names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    object: &'static str,
    counter: &'static str,
    name: &'static str,
    labels: &'static [(&'static str, &'static str)],
    /// How the number is taken, where it is not what the type says.
    kind: Option<MetricKind>,
    /// Which metric of the type.
    part: usize,
    factor: u64,
    /// Unit in UCUM, and whether it is an UpDownCounter, in semantic conventions.
    semantic: Option<(&'static str, bool)>,
}

/// A counter with the name of its metric.
const fn entry(object: &'static str, counter: &'static str, name: &'static str) -> Entry {
    Entry { object, counter, name, labels: &[], kind: None, part: 0, factor: 1, semantic: None }
}

impl Entry {
    const fn labels(self, labels: &'static [(&'static str, &'static str)]) -> Entry {
        Entry { labels, ..self }
    }

    const fn times(self, factor: u64) -> Entry {
        Entry { factor, ..self }
    }

    const fn part(self, part: usize) -> Entry {
        Entry { part, ..self }
    }

    /// The raw value only grows, though its type does not say so.
    const fn grows(self) -> Entry {
        Entry { kind: Some(MetricKind::Counter(Number::First)), ..self }
    }

    /// The raw value, which the collector gives no type.
    const fn untyped(self) -> Entry {
        Entry { kind: Some(MetricKind::Gauge(Number::First)), ..self }
    }

    /// The computed value, which needs no second sample.
    const fn value(self) -> Entry {
        Entry { kind: Some(MetricKind::Gauge(Number::Value)), ..self }
    }

    /// The sum of an average of times: the time of all operations.
    const fn time_of_all(self) -> Entry {
        Entry { kind: Some(MetricKind::Counter(Number::FirstSeconds)), ..self }
    }

    const fn unit(self, unit: &'static str) -> Entry {
        Entry { semantic: Some((unit, false)), ..self }
    }

    const fn up_down(self, unit: &'static str) -> Entry {
        Entry { semantic: Some((unit, true)), ..self }
    }

    fn is_of(&self, object: &str, counter: &str) -> bool {
        self.object.eq_ignore_ascii_case(object) && self.counter.eq_ignore_ascii_case(counter)
    }

    /// The metric; `None` where the type has no such number.
    fn target(&self, counter_type: CounterType) -> Option<Target> {
        let of_type = metrics(counter_type).get(self.part)?;
        let semantic = self.semantic.map(|(unit, is_up_down)| Semantic { name: self.name, unit, is_up_down });
        let unit = match semantic {
            Some(semantic) => unit_word(semantic.unit),
            None => ["seconds", "bytes", "ratio"]
                .into_iter()
                .find(|unit| self.name.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_')))
                .unwrap_or(""),
        };
        let takes_time = unit == "seconds" && self.kind.is_none();
        if takes_time && of_type.unit != "seconds" {
            return None;
        }
        let mut name = self.name.replace('.', "_");
        if semantic.is_some() && !unit.is_empty() {
            name = format!("{name}_{unit}");
        }
        Some(Target {
            name,
            kind: self.kind.unwrap_or(of_type.kind),
            unit,
            factor: self.factor,
            labels: self.labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
            semantic,
            field: None,
            meaning: of_type.meaning,
        })
    }
}

/// The word at the end of a name for a unit in UCUM.
fn unit_word(unit: &str) -> &'static str {
    match unit {
        "s" => "seconds",
        "By" => "bytes",
        "1" => "ratio",
        _ => "",
    }
}

impl InstanceLabels {
    /// Those of our own names.
    pub(crate) const NT: InstanceLabels =
        InstanceLabels { name: "name", form: InstanceForm::Whole, process: "process_id" };

    const fn new(name: &'static str, form: InstanceForm) -> InstanceLabels {
        InstanceLabels { name, form, process: "process_id" }
    }

    /// The labels of an instance: its name, the number behind `#` and that of its process.
    pub(crate) fn of(
        self,
        name: &str,
        number: u32,
        process: Option<u64>,
    ) -> impl Iterator<Item = (&'static str, String)> {
        let numbered = || if number > 0 { format!("{name}#{number}") } else { name.to_owned() };
        let text = match self.form {
            InstanceForm::Name if process.is_some() => name.to_owned(),
            InstanceForm::Whole | InstanceForm::Name => numbered(),
            InstanceForm::Word(nth) => name.split_whitespace().nth(nth).map_or_else(numbered, str::to_owned),
            InstanceForm::Core if name.contains(',') => numbered(),
            InstanceForm::Core => format!("0,{}", numbered()),
        };
        let process = process.map(|process| (self.process, process.to_string()));
        [(self.name, text)].into_iter().chain(process)
    }
}

impl Profile {
    /// All profiles, ours first.
    pub const ALL: [Profile; 5] =
        [Profile::Nt, Profile::Semconv, Profile::WindowsExporter, Profile::NodeExporter, Profile::Telegraf];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Nt => "nt",
            Profile::Semconv => "semconv",
            Profile::WindowsExporter => "windows_exporter",
            Profile::NodeExporter => "node_exporter",
            Profile::Telegraf => "telegraf",
        }
    }

    /// Whether its numbers are computed values, which need two samples.
    pub const fn is_computed(self) -> bool {
        matches!(self, Profile::Telegraf)
    }

    /// The counters that it names: object, counter, and the name of the metric with its labels. Telegraf's
    /// follow a rule instead.
    pub fn renamed(self) -> impl Iterator<Item = (&'static str, &'static str, String)> {
        self.entries().iter().map(|entry| {
            let labels: Vec<String> =
                entry.labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(", ")) };
            (entry.object, entry.counter, format!("{}{labels}", entry.name))
        })
    }

    const fn entries(self) -> &'static [Entry] {
        match self {
            Profile::Nt | Profile::Telegraf => &[],
            Profile::Semconv => semconv::ENTRIES,
            Profile::WindowsExporter => windows_exporter::ENTRIES,
            Profile::NodeExporter => node_exporter::ENTRIES,
        }
    }

    /// The metrics of a counter by their English names; none where it keeps its own names.
    pub(crate) fn targets(self, object: &str, counter: &str, counter_type: CounterType) -> Vec<Target> {
        if self == Profile::Telegraf {
            return telegraf::target(object, counter, counter_type).into_iter().collect();
        }
        let entries = self.entries().iter().filter(|entry| entry.is_of(object, counter));
        entries.filter_map(|entry| entry.target(counter_type)).collect()
    }

    /// How instances of an object become labels.
    pub(crate) fn instance_labels(self, object: &str) -> InstanceLabels {
        let of = |table: &[(&str, InstanceLabels)]| {
            let found = table.iter().find(|(known, _)| known.eq_ignore_ascii_case(object));
            found.map_or(InstanceLabels::NT, |(_, labels)| *labels)
        };
        match self {
            Profile::Nt => InstanceLabels::NT,
            Profile::Semconv => of(semconv::INSTANCES),
            Profile::WindowsExporter => of(windows_exporter::INSTANCES),
            Profile::NodeExporter => of(node_exporter::INSTANCES),
            Profile::Telegraf => telegraf::INSTANCE,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text names no profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProfile(String);

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Profile::ALL.iter().map(|profile| profile.name()).collect();
        write!(f, "{:?} names no profile of names; there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownProfile {}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Profile, UnknownProfile> {
        let found = Profile::ALL.into_iter().find(|profile| profile.name() == text);
        found.ok_or_else(|| UnknownProfile(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::mem::discriminant;

    use super::*;

    #[test]
    fn metrics_of_one_name_are_alike_and_no_series_is_there_twice() {
        for profile in Profile::ALL {
            let mut kinds = HashMap::new();
            let mut series = HashSet::new();
            for entry in profile.entries() {
                let kind = entry.kind.as_ref().map(discriminant);
                let known = kinds.entry(entry.name).or_insert((kind, entry.semantic, entry.labels.len()));
                assert_eq!(known.1, entry.semantic, "{profile} {}", entry.name);
                assert_eq!(known.2, entry.labels.len(), "{profile} {}: other labels", entry.name);
                let key = (entry.object, entry.name, entry.labels);
                assert!(series.insert(key), "{profile}: {key:?} is there twice");
            }
        }
    }

    #[test]
    fn instances_become_labels() {
        use InstanceForm::{Core, Name, Whole, Word};
        let table: [(InstanceForm, &str, u32, Option<u64>, &str); 9] = [
            (Whole, "sh", 2, Some(7), "sh#2"),
            (Name, "sh", 2, Some(7), "sh"),
            // Without the number of the process, two would be one series.
            (Name, "sh", 2, None, "sh#2"),
            (Word(1), "0 sda /", 0, None, "sda"),
            (Word(0), "0 C: D:", 0, None, "0"),
            (Word(1), "sda", 0, None, "sda"),
            (Core, "3", 0, None, "0,3"),
            (Core, "1,3", 0, None, "1,3"),
            (Word(0), "", 0, None, ""),
        ];
        for (form, name, number, process, expected) in table {
            let labels: Vec<_> = InstanceLabels::new("x", form).of(name, number, process).collect();
            let mut wanted = vec![("x", expected.to_owned())];
            wanted.extend(process.map(|process| ("process_id", process.to_string())));
            assert_eq!(labels, wanted, "{form:?} {name:?}");
        }
    }

    #[test]
    fn a_counter_of_another_type_keeps_its_own_name() {
        let targets =
            |counter_type| Profile::NodeExporter.targets("processor", "% user time", counter_type).len();
        assert_eq!(targets(CounterType::PERF_100NSEC_TIMER), 1);
        assert_eq!(targets(CounterType::PERF_COUNTER_RAWCOUNT), 0, "no time");
        assert_eq!(targets(CounterType::PERF_COUNTER_NODATA), 0, "no number");
    }

    #[test]
    fn names_of_profiles() {
        for profile in Profile::ALL {
            assert_eq!(profile.name().parse(), Ok(profile));
        }
        let error = "Node".parse::<Profile>().unwrap_err().to_string();
        assert!(error.contains("node_exporter, telegraf"), "{error}");
    }
}
