//! Threshold files of PAL (Performance Analysis of Logs), read as rules.
//!
//! A threshold of PAL is PowerShell code. Nearly all of them are one call of `StaticThreshold` with a
//! constant; these become rules, also where the threshold is computed from the answers to the file's
//! questions. Every other threshold is listed with the reason why it is not used.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::expression::{Expression, number};
use super::rule::{Resource, Rule, RuleError, RuleSet, Severity, Skipped, counter_path, fault, read};

/// Files that inherit from each other are followed so deep.
const INHERITED: usize = 8;
/// Elements may be nested so deep; files of PAL have five.
const NESTED: usize = 64;
/// The code of a constant threshold has at most so many lines; the longest of PAL has 40.
const LINES: usize = 1000;

/// One analysis: some counters and the thresholds over them.
#[derive(Default)]
struct Analysis {
    name: String,
    is_enabled: bool,
    sources: Vec<DataSource>,
    thresholds: Vec<Threshold>,
    description: String,
}

/// A counter under the name of its variable.
struct DataSource {
    variable: String,
    path: String,
    is_generated: bool,
    except: Vec<String>,
}

#[derive(Default)]
struct Threshold {
    name: String,
    condition: String,
    code: String,
}

/// Adds the thresholds of a file and of those that it inherits from.
pub(super) fn add(set: &mut RuleSet, bytes: &[u8], path: &Path) -> Result<(), RuleError> {
    // Thresholds use answers to questions of files that come later.
    for pass in [PalPass::Questions, PalPass::Thresholds] {
        add_inherited(set, bytes, path, (pass, &mut vec![path.to_owned()]))?;
    }
    Ok(())
}

/// Adds the thresholds or the questions of a file only.
pub(super) fn add_alone(
    set: &mut RuleSet,
    bytes: &[u8],
    path: &Path,
    pass: PalPass,
) -> Result<(), RuleError> {
    thresholds(set, bytes, path, pass).map(|_| ())
}

/// What one reading of a file takes from it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PalPass {
    /// The questions, which become parameters.
    Questions,
    /// The thresholds, which may use the parameters of all files.
    Thresholds,
}

fn add_inherited(
    set: &mut RuleSet,
    bytes: &[u8],
    path: &Path,
    (pass, seen): (PalPass, &mut Vec<std::path::PathBuf>),
) -> Result<(), RuleError> {
    for name in thresholds(set, bytes, path, pass)? {
        let skip = |reason: String| Skipped {
            origin: path.display().to_string(),
            rule: format!("all of {name}"),
            reason,
        };
        // The name is data: only a file in the same folder is opened.
        let plain = Path::new(&name).file_name().is_some_and(|plain| plain == name.as_str());
        let found = [name.clone(), format!("PAL_{name}")]
            .iter()
            .map(|name| path.with_file_name(name))
            .find(|file| plain && file.is_file());
        match found {
            None if pass == PalPass::Questions => {}
            None => set
                .skip(skip("the file that it inherits from is not in its folder".to_owned()))
                .map_err(|problem| fault(path, None, problem))?,
            Some(file) if seen.contains(&file) || seen.len() >= INHERITED => {}
            Some(file) => {
                let bytes = read(&file).map_err(|error| fault(&file, None, error.to_string()))?;
                seen.push(file.clone());
                add_inherited(set, &bytes, &file, (pass, seen))?;
            }
        }
    }
    Ok(())
}

/// Reads the thresholds of a file. Returns the files that it inherits from.
fn thresholds(set: &mut RuleSet, bytes: &[u8], path: &Path, pass: PalPass) -> Result<Vec<String>, RuleError> {
    set.machine_parameters();
    let text = decode(bytes).map_err(|problem| fault(path, None, problem))?;
    let mut reader = Reader::from_str(&text);
    let mut file = FileReader {
        set,
        path,
        pass,
        analysis: Analysis::default(),
        within: Vec::new(),
        inherits: Vec::new(),
        names: Vec::new(),
    };
    let mut is_pal = false;
    loop {
        let at = reader.buffer_position();
        let xml = |problem: String| fault(path, None, format!("byte {at} of the XML: {problem}"));
        match reader.read_event().map_err(|error| xml(error.to_string()))? {
            Event::Start(start) => {
                is_pal |= start.local_name().as_ref() == b"PAL";
                file.start(&start, true).map_err(xml)?;
            }
            Event::Empty(start) => file.start(&start, false).map_err(xml)?,
            Event::End(_) => file.end().map_err(xml)?,
            Event::CData(data) => file.text(&String::from_utf8_lossy(&data)),
            Event::Text(data) => file.text(&data.xml_content().map_err(|error| xml(error.to_string()))?),
            Event::Eof => break,
            _ => {}
        }
    }
    let inherits = std::mem::take(&mut file.inherits);
    if !is_pal {
        return Err(fault(path, None, "it is XML, but no threshold file of PAL: it has no element PAL"));
    }
    Ok(inherits)
}

/// UTF-8 with or without mark, or UTF-16 with one.
fn decode(bytes: &[u8]) -> Result<String, String> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| match pair {
            [first, second] => unit([*first, *second]),
            _ => 0,
        });
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => Ok(wide(rest, u16::from_le_bytes)),
        [0xFE, 0xFF, rest @ ..] => Ok(wide(rest, u16::from_be_bytes)),
        [0xEF, 0xBB, 0xBF, rest @ ..] | rest => String::from_utf8(rest.to_vec())
            .map_err(|error| format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())),
    }
}

struct FileReader<'s> {
    set: &'s mut RuleSet,
    path: &'s Path,
    pass: PalPass,
    analysis: Analysis,
    within: Vec<Vec<u8>>,
    inherits: Vec<String>,
    /// What expressions may use: the value and all parameters.
    names: Vec<String>,
}

impl FileReader<'_> {
    fn start(&mut self, start: &BytesStart<'_>, has_end: bool) -> Result<(), String> {
        let mut attributes = HashMap::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let name = String::from_utf8_lossy(attribute.key.local_name().as_ref()).to_uppercase();
            let value = attribute.unescape_value().map_err(|error| error.to_string())?;
            attributes.insert(name, value.into_owned());
        }
        let mut take = |name: &str| attributes.remove(name).unwrap_or_default();
        match start.local_name().as_ref() {
            b"INHERITANCE" => self.inherits.extend(Some(take("FILEPATH")).filter(|path| !path.is_empty())),
            b"QUESTION" => {
                let default = number(take("DEFAULTVALUE").trim());
                let name = take("QUESTIONVARNAME");
                if let Some(default) = default.filter(|_| is_name(&name)) {
                    self.set.parameter(&name, Some(default))?;
                }
            }
            b"ANALYSIS" => {
                let is_enabled = !take("ENABLED").eq_ignore_ascii_case("false");
                self.analysis = Analysis { name: take("NAME"), is_enabled, ..Analysis::default() };
            }
            b"DATASOURCE" => self.analysis.sources.push(DataSource {
                variable: take("COLLECTIONVARNAME"),
                path: Some(take("EXPRESSIONPATH"))
                    .filter(|path| !path.is_empty())
                    .unwrap_or_else(|| take("NAME")),
                is_generated: take("TYPE").eq_ignore_ascii_case("generated"),
                except: Vec::new(),
            }),
            b"EXCLUDE" => {
                if let Some(source) = self.analysis.sources.last_mut() {
                    source.except.push(take("INSTANCE"));
                }
            }
            b"THRESHOLD" => self.analysis.thresholds.push(Threshold {
                name: take("NAME"),
                condition: take("CONDITION"),
                code: String::new(),
            }),
            _ => {}
        }
        if has_end {
            if self.within.len() >= NESTED {
                return Err(format!("elements are nested more than {NESTED} deep"));
            }
            self.within.push(start.local_name().as_ref().to_vec());
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        if self.within.pop().as_deref() == Some(b"ANALYSIS") {
            self.finish()?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        let within = |name: &[u8]| self.within.iter().any(|element| element == name);
        if within(b"DESCRIPTION") {
            self.analysis.description.push_str(text);
        } else if within(b"THRESHOLD")
            && within(b"CODE")
            && let Some(threshold) = self.analysis.thresholds.last_mut()
        {
            threshold.code.push_str(text);
        }
    }

    /// Makes rules of the analysis that ends.
    fn finish(&mut self) -> Result<(), String> {
        let analysis = std::mem::take(&mut self.analysis);
        if self.pass == PalPass::Questions {
            return Ok(());
        }
        let means = plain(&analysis.description);
        if self.names.len() != self.set.parameters.len().saturating_add(1) {
            self.names = self.set.names(std::iter::once(&"value".to_owned()));
        }
        for threshold in &analysis.thresholds {
            let name = format!("{}: {}", analysis.name, threshold.name);
            match rule(&self.names, &analysis, threshold, &means, &self.path.display().to_string()) {
                Ok(rule) => self.set.push_new(rule)?,
                Err(reason) => {
                    let origin = self.path.display().to_string();
                    self.set.skip(Skipped { origin, rule: name, reason })?;
                }
            }
        }
        Ok(())
    }
}

fn rule(
    names: &[String],
    analysis: &Analysis,
    threshold: &Threshold,
    means: &str,
    origin: &str,
) -> Result<Rule, String> {
    if !analysis.is_enabled {
        return Err("its analysis is switched off in the file".to_owned());
    }
    let call = call_of(&threshold.code)?;
    let source = analysis
        .sources
        .iter()
        .find(|source| source.variable.eq_ignore_ascii_case(&call.collection))
        .ok_or_else(|| format!("its variable ${} is no counter of the analysis", call.collection))?;
    if source.is_generated {
        return Err(format!("its counter {} is computed by a program", source.path));
    }
    let counters = vec![("value".to_owned(), counter_path(&source.path)?)];
    let text = format!("value {} {}", call.operator, call.threshold);
    let parsed = |text: &str| Expression::parse(text, names).map_err(|error| format!("{text:?}, {error}"));
    let when = parsed(&text)?;
    Ok(Rule {
        id: format!("{}: {}", analysis.name, threshold.name),
        title: threshold.name.trim().to_owned(),
        severity: match threshold.condition.to_ascii_lowercase().as_str() {
            "critical" => Severity::Critical,
            // Four thresholds of Exchange have it spelled so.
            "warning" | "waning" => Severity::Warning,
            other => return Err(format!("its condition {other:?} is neither Warning nor Critical")),
        },
        resource: Resource::Other,
        each: 0,
        growth: Vec::new(),
        except: source.except.clone(),
        same_device: false,
        per_hour: call.is_trend,
        value: parsed("value")?,
        low_is_bad: when.is_below(0),
        when,
        until: None,
        lasting: Duration::ZERO,
        means: means.to_owned(),
        next: String::new(),
        origin: origin.to_owned(),
        counters,
    })
}

/// The one call of `StaticThreshold` in a threshold.
struct Call {
    collection: String,
    operator: &'static str,
    threshold: String,
    /// It is about the growth in an hour, not about values.
    is_trend: bool,
}

/// Reads code that is comments, assignments, lower limits (`If ($a -lt 64) { $a = 64 }`) and one call.
fn call_of(code: &str) -> Result<Call, String> {
    let lines = code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines = lines.take(LINES.saturating_add(1)).collect::<Vec<_>>();
    let program = || "its code is a program, not a constant threshold".to_owned();
    if lines.len() > LINES {
        return Err(program());
    }
    let code = lines.join("\n");
    let Some((before, call)) = code.split_once("StaticThreshold ") else {
        let is_basic = code.contains("ThresholdBroken = True");
        return Err(if is_basic { "its code is Visual Basic of PAL 1".to_owned() } else { program() });
    };
    if call.contains("StaticThreshold ") || call.lines().count() > 1 {
        return Err(program());
    }
    let mut options = HashMap::new();
    let mut words = call.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let name = word.strip_prefix('-').ok_or_else(program)?.to_ascii_lowercase();
        options.insert(name, words.next().ok_or_else(program)?.trim_matches(['\'', '"']));
    }
    let is_trend = options.get("istrendonly").is_some_and(|value| value.eq_ignore_ascii_case("$true"));
    let option = |name: &str| options.get(name).copied().ok_or_else(program);
    let operator = match option("operator")?.to_ascii_lowercase().as_str() {
        "gt" => ">",
        "ge" => ">=",
        "lt" => "<",
        "le" => "<=",
        "eq" => "=",
        "ne" => "!=",
        other => return Err(format!("its operator {other:?} is not known")),
    };
    let variables = assignments(before).ok_or_else(program)?;
    Ok(Call {
        collection: option("collectionofcounterinstances")?.trim_start_matches('$').to_owned(),
        operator,
        threshold: arithmetic(option("threshold")?, &variables).ok_or_else(program)?,
        is_trend,
    })
}

/// The variables of assignments and lower limits, as expressions.
fn assignments(code: &str) -> Option<HashMap<String, String>> {
    let mut variables: HashMap<String, String> = HashMap::new();
    let joined = code.replace("\n{", " {").replace("{\n", "{ ").replace("\n}", " }");
    for line in joined.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let lower = line.to_ascii_lowercase();
        if let Some(rest) = lower.strip_prefix("if") {
            // If ($name -lt limit) { $name = limit }
            let rest = rest.trim().strip_prefix("($")?;
            let (name, rest) = rest.split_once(" -lt ")?;
            let (limit, rest) = rest.split_once(')')?;
            let inner = rest.trim().strip_prefix('{')?.trim().strip_suffix('}')?.trim().strip_prefix('$')?;
            let (assigned, value) = inner.split_once('=')?;
            if assigned.trim() != name || value.trim() != limit.trim() || number(limit.trim()).is_none() {
                return None;
            }
            let value = variables.get(name)?;
            let limited = format!("max({value}, {})", limit.trim());
            variables.insert(name.to_owned(), limited);
            continue;
        }
        let (name, value) = line.strip_prefix('$')?.split_once('=')?;
        let name = name.trim();
        if !is_name(name) {
            return None;
        }
        let value = arithmetic(value.trim(), &variables)?;
        variables.insert(name.to_ascii_lowercase(), format!("({value})"));
    }
    Some(variables)
}

/// PowerShell arithmetic as an expression: casts and `$( )` go, variables that were assigned are put in,
/// others are parameters.
fn arithmetic(text: &str, variables: &HashMap<String, String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skip = if let Some(inner) = rest.strip_prefix('$') {
            if inner.starts_with('(') {
                1
            } else {
                let length = inner.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inner.len());
                let name = inner.get(..length).filter(|name| is_name(name))?;
                out.push_str(variables.get(&name.to_ascii_lowercase()).map_or(name, String::as_str));
                length.saturating_add(1)
            }
        } else if first == '[' {
            let (cast, _) = rest.split_once(']')?;
            let known = ["[int", "[double", "[long", "[single", "[decimal"];
            known.contains(&cast.to_ascii_lowercase().as_str()).then(|| cast.len().saturating_add(1))?
        } else if first.is_ascii_alphanumeric() || " .+-*/()".contains(first) {
            out.push(first);
            first.len_utf8()
        } else {
            return None;
        };
        rest = rest.get(skip..)?;
    }
    // An expression that grows by putting variables into each other is no constant any more.
    (out.len() < 4096).then_some(out)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The text of an HTML fragment, in one paragraph.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for c in html.chars() {
        match c {
            '<' => is_tag = true,
            '>' if is_tag => {
                is_tag = false;
                text.push(' ');
            }
            _ if !is_tag => text.push(c),
            _ => {}
        }
    }
    for (entity, character) in
        [("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")]
    {
        text = text.replace(entity, character);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    text.split_once("References:").map_or(text.clone(), |(before, _)| before.trim().to_owned())
}

#[cfg(test)]
#[path = "pal_tests.rs"]
mod tests;
