//! Rules: what a finding is, as data in TOML.
//!
//! ```toml
//! [parameters]
//! busy = 90
//!
//! [[rule]]
//! id = "disk-slow"
//! title = "A disk answers slowly"
//! severity = "warning"
//! resource = "disk"
//! each = "latency"
//! when = "latency > 0.025 and rate > 5"
//! for = "30s"
//! means = "Requests wait for the disk."
//! next = "Look at the processes with the most I/O."
//! [rule.counters]
//! latency = '\PhysicalDisk(*)\Avg. Disk sec/Transfer'
//! rate = '\PhysicalDisk(*)\Disk Transfers/sec'
//! ```

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tallymon_core::path::{CounterPath, Pattern};

use super::expression::{Expression, ExpressionError};
use super::pal::{PalPass, add_alone};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong by itself.
    Note,
    /// Something is near its limit, or unusual.
    Warning,
    /// Something is beyond its limit: users notice it.
    Critical,
}

/// What a rule is about; it decides which instances are looked at as the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Processors.
    Processor,
    /// Memory and paging.
    Memory,
    /// Disks and file systems.
    Disk,
    /// Network.
    Network,
    /// Threads, handles and other objects that processes hold.
    Handles,
    /// Anything else: no cause is looked for.
    Other,
}

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its name, unique in its file.
    pub id: String,
    /// The finding in a few words.
    pub title: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub resource: Resource,
    /// Its counters: the name in expressions, and the path. Object and counter are literal.
    pub counters: Vec<(String, CounterPath)>,
    /// The counter whose instances are looked at one by one.
    pub each: usize,
    /// Counters of which the growth per second is used instead of the value: what counts since a start.
    pub growth: Vec<usize>,
    /// The condition is about the growth in an hour, over the whole log: from the mean of the first
    /// thirtieth of its time to that of the last. A log of less than a minute says nothing about it.
    pub per_hour: bool,
    /// Instances that are left out, as patterns.
    pub except: Vec<String>,
    /// A counter of another object than that of `each` belongs to every instance of the same device, such as
    /// `sda` to `0 sda /`.
    pub same_device: bool,
    /// The number that is shown and charted.
    pub value: Expression,
    /// The condition.
    pub when: Expression,
    /// The condition that ends a range that has begun; else `when` no longer holding does.
    pub until: Option<Expression>,
    /// How long the condition must hold.
    pub lasting: Duration,
    /// Small values are the bad ones.
    pub low_is_bad: bool,
    /// What it usually means.
    pub means: String,
    /// What to look at next.
    pub next: String,
    /// The file that it comes from, or the name of the built-in set.
    pub origin: String,
}

/// Rules and the parameters of their expressions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleSet {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Names and default values; `None` must be given or be known of the machine.
    pub parameters: Vec<(String, Option<f64>)>,
    /// Rules of the files that cannot be used, and why.
    pub skipped: Vec<Skipped>,
    /// The parameters that were set by [`RuleSet::set`].
    given: Vec<String>,
    /// What tells rules of threshold files apart, of each rule.
    conditions: HashSet<String>,
    /// The bytes of all texts.
    bytes: usize,
}

/// A rule that was not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub origin: String,
    /// The rule.
    pub rule: String,
    /// Why.
    pub reason: String,
}

/// A file of rules that cannot be read.
#[derive(Debug)]
pub struct RuleError {
    /// The file.
    pub path: PathBuf,
    /// The rule, if it is in one.
    pub rule: Option<String>,
    /// What is wrong, and where.
    pub problem: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        if let Some(rule) = &self.rule {
            write!(f, "rule {rule:?}: ")?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for RuleError {}

/// The names of severities in files and output.
pub const SEVERITIES: [(&str, Severity); 3] =
    [("note", Severity::Note), ("warning", Severity::Warning), ("critical", Severity::Critical)];

/// The names of resources in files and output.
pub const RESOURCES: [(&str, Resource); 6] = [
    ("processor", Resource::Processor),
    ("memory", Resource::Memory),
    ("disk", Resource::Disk),
    ("network", Resource::Network),
    ("handles", Resource::Handles),
    ("other", Resource::Other),
];

impl Severity {
    /// Its name in files and output.
    pub fn name(self) -> &'static str {
        SEVERITIES.iter().find(|(_, severity)| *severity == self).map_or("note", |(name, _)| name)
    }
}

impl Resource {
    /// Its name in files and output.
    pub fn name(self) -> &'static str {
        RESOURCES.iter().find(|(_, resource)| *resource == self).map_or("other", |(name, _)| name)
    }
}

/// The rules that come with the library: for any system, for Linux, for .NET, for roles of Windows servers,
/// for VMware's hosts.
const BUILT_IN: [(&str, &str); 5] = [
    ("machine", include_str!("rules/machine.toml")),
    ("linux", include_str!("rules/linux.toml")),
    ("dotnet", include_str!("rules/dotnet.toml")),
    ("roles", include_str!("rules/roles.toml")),
    ("esx", include_str!("rules/esx.toml")),
];

/// How long a file of rules may be.
const FILE_BYTES: u64 = 16 << 20;
/// How many rules, and how many parameters besides those of the machine, a set may have: each rule is parsed
/// with all parameters.
const RULES: usize = 20_000;
const PARAMETERS: usize = 256;
/// How long the name of a parameter may be.
const NAME_BYTES: usize = 256;
/// How long all texts of rules may be together, also of rules that are not used. Many thresholds share one
/// description.
const TEXT_BYTES: usize = 64 << 20;

/// Parameters that are taken from the log.
pub const MACHINE_PARAMETERS: [&str; 2] = ["memory_mb", "processors"];

impl RuleSet {
    /// The rules that come with the library.
    ///
    /// # Errors
    ///
    /// None in a build that passed its tests.
    pub fn built_in() -> Result<RuleSet, RuleError> {
        let mut set = RuleSet::default();
        for (name, text) in BUILT_IN {
            set.add_toml(text, Path::new(name))?;
        }
        Ok(set)
    }

    /// Adds the rules of a file (`.toml`, or a threshold file of PAL, `.xml`), or of all such files in a
    /// folder, in the order of their names.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not what its ending says.
    pub fn add(&mut self, path: &Path) -> Result<(), RuleError> {
        let unreadable = |path: &Path, error: std::io::Error| fault(path, None, error.to_string());
        if path.is_dir() {
            let entries = std::fs::read_dir(path).map_err(|error| unreadable(path, error))?;
            let mut files: Vec<PathBuf> = entries
                .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                .filter(|file| is_rules(file))
                .collect();
            files.sort();
            if files.is_empty() {
                return Err(fault(path, None, "no .toml or .xml file is in this folder"));
            }
            // Parameters first, so that no file has to follow those whose parameters it uses; the first value
            // of a parameter counts.
            for pass in [PalPass::Questions, PalPass::Thresholds] {
                for file in &files {
                    let bytes = read(file).map_err(|error| unreadable(file, error))?;
                    match (ending(file).as_deref(), pass) {
                        (Some("xml"), _) => add_alone(self, &bytes, file, pass)?,
                        (_, PalPass::Questions) => {
                            self.add_parameters(&toml_of(&utf8(bytes, file)?, file)?, file)?;
                        }
                        (_, PalPass::Thresholds) => self.add_toml(&utf8(bytes, file)?, file)?,
                    }
                }
            }
            return Ok(());
        }
        let bytes = read(path).map_err(|error| unreadable(path, error))?;
        match ending(path).as_deref() {
            Some("xml") => super::pal::add(self, &bytes, path),
            Some("toml") => self.add_toml(&utf8(bytes, path)?, path),
            _ => Err(fault(path, None, "rules are in a .toml file, thresholds of PAL in an .xml file")),
        }
    }

    /// Adds the rules of a TOML text.
    ///
    /// # Errors
    ///
    /// It is not TOML, or not rules.
    pub fn add_toml(&mut self, text: &str, path: &Path) -> Result<(), RuleError> {
        let table = toml_of(text, path)?;
        self.add_parameters(&table, path)?;
        self.machine_parameters();
        let rules = table.get("rule").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut ids = HashSet::new();
        for (at, rule) in rules.iter().enumerate() {
            let nth = format!("number {}", at.saturating_add(1));
            let rule = rule.as_table().ok_or_else(|| fault(path, Some(&nth), "it is not a table"))?;
            let id = rule.get("id").and_then(toml::Value::as_str).unwrap_or(&nth);
            let parsed = self.rule_of(rule, path).map_err(|problem| fault(path, Some(id), problem))?;
            if !ids.insert(parsed.id.clone()) {
                return Err(fault(path, Some(id), "another rule of this file has the same id"));
            }
            self.push(parsed).map_err(|problem| fault(path, Some(id), problem))?;
        }
        Ok(())
    }

    /// Adds the parameters of a TOML file.
    fn add_parameters(&mut self, table: &toml::Table, path: &Path) -> Result<(), RuleError> {
        let Some(parameters) = table.get("parameters") else { return Ok(()) };
        let parameters =
            parameters.as_table().ok_or_else(|| fault(path, None, "parameters is not a table"))?;
        for (name, value) in parameters {
            let value = number_of(value)
                .ok_or_else(|| fault(path, None, format!("parameter {name:?} is not a number")))?;
            self.parameter(name, Some(value)).map_err(|problem| fault(path, None, problem))?;
        }
        Ok(())
    }

    /// Gives a parameter a value.
    ///
    /// # Errors
    ///
    /// No rule has such a parameter; the text lists those that exist.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        match self.parameters.iter_mut().find(|(known, _)| known == name) {
            Some((_, kept)) => {
                *kept = Some(value);
                self.given.push(name.to_owned());
            }
            None => {
                let known: Vec<&str> = self.parameters.iter().map(|(name, _)| name.as_str()).collect();
                return Err(format!("no rule has a parameter {name:?}; there are {}", known.join(", ")));
            }
        }
        Ok(())
    }

    /// There is always room for these: see [`RuleSet::parameter`].
    pub(super) fn machine_parameters(&mut self) {
        for name in MACHINE_PARAMETERS {
            self.push_parameter(name, None);
        }
    }

    pub(super) fn is_given(&self, parameter: &str) -> bool {
        self.given.iter().any(|given| given == parameter)
    }

    /// Adds a rule, unless one of the same severity has the same counters and condition: files of thresholds
    /// repeat those of others.
    pub(super) fn push_new(&mut self, rule: Rule) -> Result<(), String> {
        let condition = condition_of(&rule);
        if self.conditions.contains(&condition) { Ok(()) } else { self.push_as(rule, condition) }
    }

    fn push(&mut self, rule: Rule) -> Result<(), String> {
        let condition = condition_of(&rule);
        self.push_as(rule, condition)
    }

    fn push_as(&mut self, rule: Rule, condition: String) -> Result<(), String> {
        if self.rules.len() >= RULES {
            return Err(format!("there are more than {RULES} rules; use fewer files, or split this one"));
        }
        // The condition has the counters and the instances that are left out.
        self.charge(&[&condition, &rule.title, &rule.means, &rule.next, &rule.origin])?;
        self.conditions.insert(condition);
        self.rules.push(rule);
        Ok(())
    }

    /// Lists a rule that is not used.
    pub(super) fn skip(&mut self, skipped: Skipped) -> Result<(), String> {
        self.charge(&[&skipped.origin, &skipped.rule, &skipped.reason])?;
        self.skipped.push(skipped);
        Ok(())
    }

    fn charge(&mut self, texts: &[&str]) -> Result<(), String> {
        self.bytes = texts.iter().fold(self.bytes, |bytes, text| bytes.saturating_add(text.len()));
        if self.bytes > TEXT_BYTES {
            return Err(format!(
                "the texts of all rules are longer than {} MiB; use fewer files",
                TEXT_BYTES >> 20
            ));
        }
        Ok(())
    }

    /// Adds a parameter unless it exists.
    pub(super) fn parameter(&mut self, name: &str, value: Option<f64>) -> Result<(), String> {
        if name.len() > NAME_BYTES {
            return Err(format!("the name of a parameter is longer than {NAME_BYTES} bytes"));
        }
        if self.parameters.len() >= PARAMETERS && !self.parameters.iter().any(|(known, _)| known == name) {
            return Err(format!("there are more than {PARAMETERS} parameters; use fewer files"));
        }
        self.push_parameter(name, value);
        Ok(())
    }

    fn push_parameter(&mut self, name: &str, value: Option<f64>) {
        if !self.parameters.iter().any(|(known, _)| known == name) {
            self.parameters.push((name.to_owned(), value));
        }
    }

    /// The names that expressions of a rule may use: its counters, then all parameters.
    pub(super) fn names<'n>(&'n self, counters: impl Iterator<Item = &'n String>) -> Vec<String> {
        counters.chain(self.parameters.iter().map(|(name, _)| name)).cloned().collect()
    }

    fn rule_of(&self, table: &toml::Table, path: &Path) -> Result<Rule, String> {
        let known = [
            "id", "title", "severity", "resource", "counters", "each", "growth", "per_hour", "except",
            "same", "value", "when", "until", "for", "means", "next",
        ];
        known_keys(table, &known)?;
        let text = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| format!("{key} is not a text")),
        };
        let needed = |key: &str| text(key)?.ok_or_else(|| format!("{key} is missing"));
        let mut counters = Vec::new();
        let listed = table.get("counters").and_then(toml::Value::as_table).ok_or("counters is missing")?;
        for (name, path) in listed {
            let path = path.as_str().ok_or_else(|| format!("counter {name:?} is not a text"))?;
            counters.push((name.clone(), counter_path(path)?));
        }
        let names = self.names(counters.iter().map(|(name, _)| name));
        let expression = |key: &str, text: &str| {
            Expression::parse(text, &names)
                .map_err(|error: ExpressionError| format!("{key} {text:?}, {error}"))
        };
        let slot = |key: &str, wanted: &str| {
            let found = counters.iter().position(|(name, _)| name == wanted);
            found.ok_or_else(|| format!("{key} is {wanted:?}, which is none of its counters"))
        };
        let each = match text("each")? {
            Some(each) => slot("each", each)?,
            None if counters.len() == 1 => 0,
            None => {
                return Err("each is missing: it names the counter whose instances are looked at".to_owned());
            }
        };
        let growing = texts(table.get("growth"), "growth")?;
        let per_hour = match table.get("per_hour") {
            None => false,
            Some(value) => value.as_bool().ok_or("per_hour is neither true nor false")?,
        };
        if let Some(key) = ["for", "until", "growth"].iter().find(|key| per_hour && table.contains_key(**key))
        {
            return Err(format!("per_hour is about the whole log, so it cannot go with {key}"));
        }
        let each_name = counters.get(each).map(|(name, _)| name.clone()).unwrap_or_default();
        let when = expression("when", needed("when")?)?;
        Ok(Rule {
            id: needed("id")?.to_owned(),
            title: needed("title")?.to_owned(),
            severity: of(&SEVERITIES, "severity", needed("severity")?)?,
            resource: of(&RESOURCES, "resource", text("resource")?.unwrap_or("other"))?,
            each,
            growth: growing.iter().map(|name| slot("growth", name)).collect::<Result<_, _>>()?,
            per_hour,
            except: texts(table.get("except"), "except")?,
            same_device: match text("same")? {
                None => false,
                Some("device") => true,
                Some(other) => return Err(format!("same is {other:?}; it may be \"device\"")),
            },
            value: expression("value", text("value")?.unwrap_or(&each_name))?,
            until: text("until")?.map(|until| expression("until", until)).transpose()?,
            lasting: text("for")?.map_or(Ok(Duration::ZERO), duration)?,
            low_is_bad: when.is_below(each),
            when,
            means: needed("means")?.trim().to_owned(),
            next: text("next")?.unwrap_or_default().trim().to_owned(),
            origin: path.display().to_string(),
            counters,
        })
    }
}

impl Rule {
    /// Whether an instance is looked at.
    pub(super) fn is_about(&self, instance: &str) -> bool {
        !self.except.iter().any(|pattern| Pattern::new(pattern).matches(instance))
    }

    /// The device in the name of an instance, if a counter belongs to every instance of the same device: with
    /// `same`, a counter of another object than that of `each`.
    pub(super) fn device<'i>(&self, slot: usize, instance: &'i str) -> Option<&'i str> {
        let object = |slot: usize| Some(self.counters.get(slot)?.1.object.to_string().to_lowercase());
        if !self.same_device || object(slot) == object(self.each) {
            return None;
        }
        let mut words = instance.split(' ');
        let number = words.next().unwrap_or_default();
        let is_disk = number.bytes().all(|byte| byte.is_ascii_digit());
        Some(if is_disk { words.next().unwrap_or(instance) } else { instance })
    }
}

/// The text that is equal for rules of the same severity, counters, condition and left-out instances.
fn condition_of(rule: &Rule) -> String {
    let when = rule.when.to_string().to_ascii_lowercase();
    format!("{:?} {when:?} {} {:?} {:?}", rule.severity, rule.per_hour, rule.counters, rule.except)
}

/// A path whose object and counter are literal names.
pub(super) fn counter_path(text: &str) -> Result<CounterPath, String> {
    let parsed =
        CounterPath::parse(text).map_err(|error| format!("{text:?} is not a counter path: {error}"))?;
    if parsed.path.object.is_wild() || parsed.path.counter.is_wild() {
        return Err(format!("{text:?}: only the instance may have a wildcard"));
    }
    Ok(parsed.path)
}

fn utf8(bytes: Vec<u8>, path: &Path) -> Result<String, RuleError> {
    String::from_utf8(bytes)
        .map_err(|error| fault(path, None, format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())))
}

/// The table of a file of rules.
fn toml_of(text: &str, path: &Path) -> Result<toml::Table, RuleError> {
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| fault(path, None, not_toml(text, &error)))?;
    known_keys(&table, &["parameters", "rule"]).map_err(|problem| fault(path, None, problem))?;
    Ok(table)
}

fn not_toml(text: &str, error: &toml::de::Error) -> String {
    format!("{}; correct this line", crate::toml_fault(text, error.span(), error.message()))
}

pub(super) fn fault(path: &Path, rule: Option<&str>, problem: impl Into<String>) -> RuleError {
    RuleError { path: path.to_owned(), rule: rule.map(str::to_owned), problem: problem.into() }
}

fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase())
}

fn is_rules(path: &Path) -> bool {
    matches!(ending(path).as_deref(), Some("toml" | "xml"))
}

fn known_keys(table: &toml::Table, known: &[&str]) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(format!("{key:?} is not known; there are {}", known.join(", "))),
    }
}

fn number_of(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|integer| integer as f64))
}

fn of<T: Copy>(names: &[(&str, T)], key: &str, text: &str) -> Result<T, String> {
    names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        format!("{key} is {text:?}; it can be {}", known.join(", "))
    })
}

fn texts(value: Option<&toml::Value>, key: &str) -> Result<Vec<String>, String> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let list = value.as_array().ok_or_else(|| format!("{key} is not a list"))?;
    let text =
        |value: &toml::Value| value.as_str().map(str::to_owned).ok_or_else(|| format!("{key} has no text"));
    list.iter().map(text).collect()
}

/// `30s`, `5m`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3600)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let number: u32 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(Duration::from_secs(u64::from(number).saturating_mul(*seconds)))
    });
    parsed.ok_or_else(|| format!("for is {text:?}; write 30s, 5m or 1h"))
}

/// The bytes of a regular file: a pipe would wait for somebody who writes into it.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    tallymon_log::open_regular(path)?.take(FILE_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES {
        let mebibytes = FILE_BYTES >> 20;
        let words = format!("it is longer than {mebibytes} MiB, the limit for a file of rules; split it");
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    Ok(bytes)
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
