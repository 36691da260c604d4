//! Instrumentation manifests: counter sets of providers that publish values themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use tallymon_core::counter::{CounterType, MANIFEST_SCALE_RANGE};
use tallymon_core::title::{HelpIndex, Language, TitleIndex};

use super::contents::Texts;
use super::decode::decode;
use super::error::{Problem, RegistryError, RegistryErrorKind};
use super::files::read_limited;
use super::ini::MOST_PROBLEMS;
use super::service::{CounterSet, ManifestProvider, SetCounter, TitleRange};

/// The counter sets of a manifest, ready to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The file.
    pub path: PathBuf,
    /// Its providers; at least one.
    pub providers: Vec<ManifestPackage>,
}

/// A provider of a manifest, with texts in place of their indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestPackage {
    /// What the registry will contain; names are offsets here, not yet indexes.
    provider: ManifestProvider,
    texts: BTreeMap<u32, Texts>,
}

impl ManifestPackage {
    /// Identifier of the provider, in braces and lower case; the service is registered under it.
    pub fn guid(&self) -> &str {
        &self.provider.guid
    }

    /// Name of the provider.
    pub fn name(&self) -> &str {
        &self.provider.name
    }

    /// The English names of its counter sets, each with the names of its counters.
    pub fn sets(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        let name = |offset: &TitleIndex| {
            let texts = self.texts.get(&offset.0);
            texts.and_then(|texts| texts.names.get(&Language::ENGLISH)).map_or("", String::as_str)
        };
        self.provider.sets.iter().map(move |set| {
            (name(&set.name), set.counters.iter().map(|counter| name(&counter.name)).collect())
        })
    }

    /// The texts by offset.
    pub(crate) fn texts(&self) -> &BTreeMap<u32, Texts> {
        &self.texts
    }

    /// The provider with the indexes of its texts.
    pub(crate) fn with_indexes(&self, range: TitleRange) -> ManifestProvider {
        let mut provider = self.provider.clone();
        let name = |offset: &mut TitleIndex| offset.0 = range.first_counter.0.saturating_add(offset.0);
        let help = |offset: &mut HelpIndex| offset.0 = range.first_help.0.saturating_add(offset.0);
        for set in &mut provider.sets {
            name(&mut set.name);
            help(&mut set.help);
            for counter in &mut set.counters {
                name(&mut counter.name);
                help(&mut counter.help);
            }
        }
        provider
    }
}

impl Manifest {
    /// Reads a manifest. `binary` is the path of the program or of its folder, for a manifest without the
    /// full path.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not XML, or declares counter sets wrongly; all mistakes are reported with
    /// their lines.
    pub fn read(path: &Path, binary: Option<&Path>) -> Result<Manifest, RegistryError> {
        let refused = |problems| RegistryError { kind: RegistryErrorKind::Refused, problems };
        let bytes = read_limited(path).map_err(|error| RegistryError::io(path, "reading", &error))?;
        let text = decode(path, &bytes, None).map_err(|problem| refused(vec![problem]))?;
        let mut manifest = parse(path, &text).map_err(refused)?;
        for package in &mut manifest.providers {
            package.provider.application = application(path, binary, &package.provider.application);
        }
        Ok(manifest)
    }
}

/// Path of the program: the manifest's path if it is a full one, else the given one, else in the manifest's
/// folder, else in the current folder.
fn application(manifest: &Path, binary: Option<&Path>, identity: &str) -> String {
    let name = identity.replace('\\', "/");
    let absolute = Path::new(&name).is_absolute() || name.as_bytes().get(1) == Some(&b':');
    let path = match binary {
        _ if absolute => return identity.to_string(),
        Some(binary) if binary.is_dir() => binary.join(&name),
        Some(binary) => binary.to_path_buf(),
        None => {
            let beside = manifest.parent().unwrap_or(Path::new("")).join(&name);
            match (beside.exists(), Path::new(&name).exists()) {
                (false, true) => PathBuf::from(&name),
                _ => beside,
            }
        }
    };
    let path = std::path::absolute(&path).unwrap_or(path);
    path.display().to_string()
}

/// An element: its attributes, and its line for messages.
struct Element {
    line: usize,
    attributes: BTreeMap<String, String>,
}

impl Element {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }
}

/// A provider, set or counter of which the texts are not looked up yet.
struct Pending<T> {
    line: usize,
    item: T,
    name: String,
    help: String,
}

/// The contents of a file, before texts are looked up.
#[derive(Default)]
struct Parsed {
    providers: Vec<(ManifestProvider, Vec<PendingSet>)>,
    /// Texts of string tables: language, then identifier.
    strings: BTreeMap<Language, BTreeMap<String, String>>,
    problems: Vec<Problem>,
}

struct PendingSet {
    set: Pending<CounterSet>,
    counters: Vec<Pending<SetCounter>>,
}

fn parse(path: &Path, text: &str) -> Result<Manifest, Vec<Problem>> {
    let mut parsed = Parsed::default();
    let mut reader = Reader::from_str(text);
    let mut lines = LineCounter { text, at: 0, line: 1 };
    let mut open: Vec<String> = Vec::new();
    let mut culture = None;
    loop {
        // The element begins where the last one ended, or after the blanks that follow.
        let begin = lines.line_at(reader.buffer_position());
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => {
                let line = lines.line_at(reader.error_position());
                parsed.problems.push(Problem::at(path, line, format!("no well-formed XML: {error}")));
                return Err(parsed.problems);
            }
        };
        let (start, empty) = match &event {
            Event::Start(start) => (start, false),
            Event::Empty(start) => (start, true),
            Event::End(_) => {
                open.pop();
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        let name = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
        match element(start, begin) {
            Err(words) => parsed.problems.push(Problem::at(path, begin, words)),
            Ok(element) => {
                let parent = open.last().map_or("", String::as_str);
                if name == "resources" {
                    culture = element.get("culture").and_then(Language::parse);
                }
                if let Err(words) = parsed.element(parent, &name, &element, culture) {
                    parsed.problems.push(Problem::at(path, begin, words));
                }
            }
        }
        if !empty {
            open.push(name);
        }
        if parsed.problems.len() >= MOST_PROBLEMS {
            break;
        }
    }
    if parsed.problems.is_empty() && parsed.providers.iter().all(|(_, sets)| sets.is_empty()) {
        let words = "there is no counterSet in it (instrumentation/counters/provider/counterSet)";
        parsed.problems.push(Problem::of(path, words));
    }
    parsed.finish(path)
}

/// Finds lines of ascending positions in one walk over the text.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn line_at(&mut self, position: u64) -> usize {
        let position = usize::try_from(position).unwrap_or(usize::MAX).min(self.text.len()).max(self.at);
        let passed = self.text.as_bytes().get(self.at..position).unwrap_or_default();
        let ends = passed.iter().filter(|byte| **byte == b'\n').count();
        self.line = self.line.saturating_add(ends);
        self.at = position;
        self.line
    }
}

fn element(start: &BytesStart<'_>, line: usize) -> Result<Element, String> {
    let mut attributes = BTreeMap::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| format!("no well-formed XML: {error}"))?;
        let name = String::from_utf8_lossy(attribute.key.local_name().as_ref()).into_owned();
        let value = attribute.unescape_value().map_err(|error| format!("attribute {name}: {error}"))?;
        if let Some(letter) =
            value.chars().find(|letter| letter.is_control() && !matches!(letter, '\t' | '\n' | '\r'))
        {
            return Err(format!("attribute {name} has the control character {letter:?}"));
        }
        // Line ends and tabs in attributes are blanks in XML.
        let value: String =
            value.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        attributes.insert(name, value);
    }
    Ok(Element { line, attributes })
}

impl Parsed {
    fn element(
        &mut self,
        parent: &str,
        name: &str,
        element: &Element,
        culture: Option<Language>,
    ) -> Result<(), String> {
        match (parent, name) {
            ("counters", "provider") => self.providers.push((provider(element)?, Vec::new())),
            ("provider", "counterSet") => {
                let (_, sets) = self.providers.last_mut().ok_or("a counterSet outside of a provider")?;
                sets.push(PendingSet { set: counter_set(element)?, counters: Vec::new() });
            }
            // Structures only describe how the values lie in the provider's memory.
            ("counterSet", "counter") => {
                let set = self.providers.last_mut().and_then(|(_, sets)| sets.last_mut());
                set.ok_or("a counter outside of a counterSet")?.counters.push(counter(element)?);
            }
            ("counterAttributes", "counterAttribute") => {
                const KNOWN: [&str; 5] =
                    ["reference", "noDisplay", "noDigitGrouping", "displayAsHex", "displayAsReal"];
                let word = required(element, "name")?;
                let known = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(word));
                let known = known
                    .ok_or_else(|| format!("name: one of {} needed, found {word:?}", KNOWN.join(", ")))?;
                let set = self.providers.last_mut().and_then(|(_, sets)| sets.last_mut());
                let counter = set.and_then(|set| set.counters.last_mut());
                counter.ok_or("an attribute outside of a counter")?.item.attributes.push(known.to_string());
            }
            ("stringTable", "string") => {
                if let (Some(culture), Some(id)) = (culture, element.get("id")) {
                    let value = element.get("value").unwrap_or_default().to_string();
                    self.strings.entry(culture).or_default().insert(id.to_string(), value);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Looks up the texts, assigns their offsets, and checks the rules within a set.
    fn finish(mut self, path: &Path) -> Result<Manifest, Vec<Problem>> {
        let mut packages = Vec::new();
        let (mut provider_guids, mut set_guids) = (BTreeSet::new(), BTreeSet::new());
        for (mut provider, sets) in std::mem::take(&mut self.providers) {
            let guid = provider.guid.clone();
            if !provider_guids.insert(guid.clone()) {
                self.problems.push(Problem::of(path, format!("two providers have the GUID {guid}")));
            }
            let mut texts: BTreeMap<u32, Texts> = BTreeMap::new();
            for PendingSet { set, counters } in sets {
                let line = set.line;
                if !set_guids.insert(set.item.guid.clone()) {
                    let words = format!("the GUID {} is that of an earlier counterSet", set.item.guid);
                    self.problems.push(Problem::at(path, line, words));
                }
                self.check_counters(path, &counters);
                let mut item = set.item;
                let offset = self.add_texts(path, line, &set.name, &set.help, &mut texts);
                (item.name, item.help) = (TitleIndex(offset), HelpIndex(offset));
                for mut counter in counters {
                    let offset = self.add_texts(path, counter.line, &counter.name, &counter.help, &mut texts);
                    (counter.item.name, counter.item.help) = (TitleIndex(offset), HelpIndex(offset));
                    item.counters.push(counter.item);
                }
                provider.sets.push(item);
            }
            if !provider.sets.is_empty() {
                packages.push(ManifestPackage { provider, texts });
            }
        }
        self.problems.truncate(MOST_PROBLEMS);
        if self.problems.is_empty() {
            Ok(Manifest { path: path.to_path_buf(), providers: packages })
        } else {
            Err(self.problems)
        }
    }

    fn check_counters(&mut self, path: &Path, counters: &[Pending<SetCounter>]) {
        let ids: BTreeSet<u32> = counters.iter().map(|counter| counter.item.id).collect();
        let mut seen = BTreeSet::new();
        let mut names = BTreeSet::new();
        for counter in counters {
            let SetCounter { id, base, perf_time, perf_freq, multi, counter_type, .. } = &counter.item;
            let mut wrong = |words: String| self.problems.push(Problem::at(path, counter.line, words));
            if !seen.insert(id) {
                wrong(format!("the id {id} is that of an earlier counter of the set"));
            }
            if !names.insert(&counter.name) {
                wrong(format!("the name {:?} is that of an earlier counter of the set", counter.name));
            }
            let others = [
                ("baseID", base),
                ("perfTimeID", perf_time),
                ("perfFreqID", perf_freq),
                ("multiCounterID", multi),
            ];
            for (attribute, other) in others {
                if let Some(other) = other
                    && !ids.contains(other)
                {
                    wrong(format!("{attribute} is {other}, and no counter of the set has that id"));
                }
            }
            if counter_type.needs_base() && base.is_none() {
                wrong(format!("a counter of type {} needs a baseID", counter_type.name()));
            }
        }
    }

    /// Adds texts after the last ones, and returns their offset.
    fn add_texts(
        &mut self,
        path: &Path,
        line: usize,
        name: &str,
        help: &str,
        texts: &mut BTreeMap<u32, Texts>,
    ) -> u32 {
        let offset = texts.last_key_value().map_or(0, |(last, _)| last.saturating_add(2));
        let mut look_up = |text: &str| match self.look_up(text) {
            Ok(found) => found,
            Err(words) => {
                self.problems.push(Problem::at(path, line, words));
                BTreeMap::new()
            }
        };
        let entry = Texts { names: look_up(name), helps: look_up(help) };
        texts.insert(offset, entry);
        offset
    }

    /// A text in all languages: the text itself in English, or the entries of the string tables for
    /// `$(string.ID)`.
    fn look_up(&self, text: &str) -> Result<BTreeMap<Language, String>, String> {
        let id = text.strip_prefix("$(string.").and_then(|rest| rest.strip_suffix(')'));
        let Some(id) = id else {
            let texts = (!text.is_empty()).then(|| (Language::ENGLISH, text.to_string()));
            return Ok(texts.into_iter().collect());
        };
        let mut found: BTreeMap<Language, String> = BTreeMap::new();
        for (language, strings) in &self.strings {
            if let Some(text) = strings.get(id).filter(|text| !text.is_empty()) {
                found.insert(*language, text.clone());
            }
        }
        if !found.contains_key(&Language::ENGLISH) {
            return Err(format!("no English stringTable has a string with the id {id:?}"));
        }
        Ok(found)
    }
}

fn provider(element: &Element) -> Result<ManifestProvider, String> {
    let kind = element.get("providerType").unwrap_or("userMode");
    let kernel_mode = match kind {
        _ if kind.eq_ignore_ascii_case("userMode") => false,
        _ if kind.eq_ignore_ascii_case("kernelMode") => true,
        _ => return Err(format!("providerType: userMode or kernelMode needed, found {kind:?}")),
    };
    Ok(ManifestProvider {
        guid: guid(element, "providerGuid")?,
        name: element.get("providerName").unwrap_or("Counters").to_string(),
        application: required(element, "applicationIdentity")?.to_string(),
        kernel_mode,
        sets: Vec::new(),
    })
}

fn counter_set(element: &Element) -> Result<Pending<CounterSet>, String> {
    const KNOWN: [&str; 6] = [
        "single",
        "multiple",
        "globalAggregate",
        "multipleAggregate",
        "globalAggregateHistory",
        "instanceAggregate",
    ];
    let word = required(element, "instances")?;
    let instances = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(word));
    let instances =
        instances.ok_or_else(|| format!("instances: one of {} needed, found {word:?}", KNOWN.join(", ")))?;
    let item = CounterSet {
        guid: guid(element, "guid")?,
        instances: instances.to_string(),
        ..CounterSet::default()
    };
    let name = required(element, "name")?.to_string();
    if name.chars().count() >= 1024 {
        return Err("the name of a counterSet has fewer than 1024 letters".to_string());
    }
    let help = element.get("description").unwrap_or_default().to_string();
    Ok(Pending { line: element.line, item, name, help })
}

fn counter(element: &Element) -> Result<Pending<SetCounter>, String> {
    let id = number(element, "id")?.ok_or("a counter needs the attribute id")?;
    if id > 65_535 {
        return Err(format!("id: at most 65535, found {id}"));
    }
    let word = required(element, "type")?;
    let counter_type =
        CounterType::from_name(word).ok_or_else(|| format!("type: no counter type is called {word:?}"))?;
    let detail = element.get("detailLevel").unwrap_or("standard");
    let detail_level = match detail {
        _ if detail.eq_ignore_ascii_case("standard") => 100,
        _ if detail.eq_ignore_ascii_case("advanced") => 200,
        _ => return Err(format!("detailLevel: standard or advanced needed, found {detail:?}")),
    };
    let scale = element.get("defaultScale").unwrap_or("0");
    let default_scale =
        scale.trim().parse().ok().filter(|scale| MANIFEST_SCALE_RANGE.contains(scale)).ok_or_else(|| {
            let (low, high) = (MANIFEST_SCALE_RANGE.start(), MANIFEST_SCALE_RANGE.end());
            format!("defaultScale: a number from {low} to {high} needed, found {scale:?}")
        })?;
    // Counters that are not shown need no name, but everything that has an index must have a text.
    let name = element.get("name").or(element.get("symbol")).or(element.get("uri"));
    let name = name.ok_or("a counter needs the attribute name")?.to_string();
    let item = SetCounter {
        id,
        name: TitleIndex(0),
        help: HelpIndex(0),
        counter_type,
        detail_level,
        default_scale,
        base: number(element, "baseID")?,
        perf_time: number(element, "perfTimeID")?,
        perf_freq: number(element, "perfFreqID")?,
        multi: number(element, "multiCounterID")?,
        aggregate: element.get("aggregate").map(str::to_string),
        attributes: Vec::new(),
    };
    let help = element.get("description").unwrap_or_default().to_string();
    Ok(Pending { line: element.line, item, name, help })
}

fn required<'e>(element: &'e Element, attribute: &str) -> Result<&'e str, String> {
    element.get(attribute).ok_or_else(|| format!("the attribute {attribute} is missing"))
}

fn number(element: &Element, attribute: &str) -> Result<Option<u32>, String> {
    let Some(text) = element.get(attribute) else {
        return Ok(None);
    };
    let hex = text.trim().strip_prefix("0x");
    let number = hex.map_or_else(|| text.trim().parse().ok(), |digits| u32::from_str_radix(digits, 16).ok());
    number.map(Some).ok_or_else(|| format!("{attribute}: a number needed, found {text:?}"))
}

/// A GUID in braces and lower case.
fn guid(element: &Element, attribute: &str) -> Result<String, String> {
    let text = required(element, attribute)?;
    parse_guid(text).ok_or_else(|| {
        format!("{attribute}: a GUID such as {{12345678-1234-1234-1234-123456789abc}} needed, found {text:?}")
    })
}

/// A GUID, with or without braces, as it is stored; `None` for anything else.
pub(crate) fn parse_guid(text: &str) -> Option<String> {
    let text = text.trim();
    let inner = text.strip_prefix('{').map_or(Some(text), |rest| rest.strip_suffix('}'))?;
    let groups: Vec<&str> = inner.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let hex = groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (lengths == [8, 4, 4, 4, 12] && hex).then(|| format!("{{{}}}", inner.to_ascii_lowercase()))
}
