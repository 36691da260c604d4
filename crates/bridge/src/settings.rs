//! The file of a bridge, and files that declare bridges to be added.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tallymon_host::registry::{Roots, Scope};
use tallymon_provider::trust;
use tallymon_push::{Endpoint, EndpointError, Tls};

use crate::catalog::Catalog;

/// The longest file of a bridge.
const LONGEST: u64 = 16 << 20;
/// The longest name of a bridge.
const LONGEST_NAME: usize = 64;
/// The most chosen labels.
const MOST_LABELS: usize = 32;
/// How long a scrape may take unless a bridge says something else: as in Prometheus.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time that a bridge can give a scrape.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(120);
/// The path of an address that has none.
const USUAL_PATH: &str = "/metrics";

/// Reads a file that only its user can read, and others than root and this user can not change.
pub type ReadSecret = fn(&Path) -> io::Result<String>;

/// Where a bridge reads, and how.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The address; the part behind `?` may be a secret.
    pub url: String,
    /// How long a scrape may take.
    pub timeout: Option<Duration>,
    /// A file with headers to send, a line each, that only its user can read.
    pub headers: Option<PathBuf>,
    /// Certificates to trust instead of those of the system.
    pub certificate: Option<PathBuf>,
    /// The labels that make an instance; `None` for all of them.
    pub labels: Option<Vec<String>>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("url", &self.address()).finish_non_exhaustive()
    }
}

impl Settings {
    /// The address for messages: without what may be a secret.
    pub fn address(&self) -> String {
        let address = self.url.split(['?', '#']).next().unwrap_or_default();
        match (address.split_once("://"), address.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
            _ => address.to_owned(),
        }
    }

    /// How long a scrape may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT).min(LONGEST_TIMEOUT)
    }

    /// Where to connect, with the headers of their file.
    pub(crate) fn endpoint(&self, read_secret: ReadSecret) -> Result<Endpoint, String> {
        let words = |error: EndpointError| error.to_string();
        let tls = Tls { certificate: self.certificate.clone(), client: None };
        let mut endpoint = Endpoint::new(&self.url, USUAL_PATH, &tls).map_err(words)?;
        endpoint.set_timeout(self.timeout());
        if let Some(file) = &self.headers {
            let failed = |words: &dyn fmt::Display| format!("{}: {words}", file.display());
            let text = read_secret(file).map_err(|error| failed(&error))?;
            for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                let line_number = n.saturating_add(1);
                let (name, value) = line.split_once(':').ok_or_else(|| {
                    failed(&format_args!("line {line_number}: a line is a header, as in 'Name: value'"))
                })?;
                let added = endpoint.add_header(name.trim(), value.trim());
                added.map_err(|error| failed(&format_args!("line {line_number}: {error}")))?;
            }
        }
        Ok(endpoint)
    }

    /// What is wrong with them.
    fn check(&self) -> Result<(), String> {
        let labels = self.labels.as_deref().unwrap_or_default();
        if labels.len() > MOST_LABELS || !labels.iter().all(|label| crate::metrics::is_name(label)) {
            return Err(format!("labels: at most {MOST_LABELS} names of labels"));
        }
        if self.url.chars().any(char::is_control) {
            return Err("url: an address has no control characters".to_owned());
        }
        let relative = [&self.headers, &self.certificate].into_iter().flatten().find(|f| !f.is_absolute());
        match relative {
            Some(file) => Err(format!("{}: the path of a file begins with /", file.display())),
            None => Ok(()),
        }
    }
}

/// A bridge to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its name, which its objects begin with.
    pub name: String,
    /// Where it reads.
    pub settings: Settings,
}

/// A bridge in a file that declares some.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct DeclaredTable {
    name: Option<String>,
    url: String,
    timeout: Option<u64>,
    headers: Option<PathBuf>,
    certificate: Option<PathBuf>,
    labels: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredFile {
    bridge: Vec<DeclaredTable>,
}

/// The file of a bridge that was added.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct InstalledFile {
    url: String,
    timeout: Option<u64>,
    headers: Option<PathBuf>,
    certificate: Option<PathBuf>,
    labels: Option<Vec<String>>,
    #[serde(default)]
    object: Catalog,
}

/// Reads a file that declares bridges, with tables `[[bridge]]`.
///
/// # Errors
///
/// The file can not be read, or is no such file; the words name the file, and the line where there is one.
pub fn read_declared(path: &Path) -> Result<Vec<Declared>, String> {
    let failed = |words: &dyn fmt::Display| format!("{}: {words}", path.display());
    let file = std::fs::canonicalize(path).and_then(|path| trust::open_file(&path));
    let text = file.and_then(limited).map_err(|error| failed(&error))?;
    let file: DeclaredFile = toml::from_str(&text).map_err(|error| failed(&fault(&text, &error)))?;
    let mut all = Vec::new();
    for DeclaredTable { name, url, timeout, headers, certificate, labels } in file.bridge {
        let timeout = timeout.map(Duration::from_millis);
        let settings = Settings { url, timeout, headers, certificate, labels };
        let name = name.unwrap_or_else(|| usual_name(&settings));
        check_name(&name).map_err(|words| failed(&words))?;
        settings.check().map_err(|words| failed(&format_args!("bridge {name}: {words}")))?;
        all.push(Declared { name, settings });
    }
    Ok(all)
}

/// The name of a bridge that was given none: host and port of its address.
pub fn usual_name(settings: &Settings) -> String {
    let address = settings.address();
    let rest = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' };
    let name: String = host.chars().map(letter).take(LONGEST_NAME).collect();
    name.trim_matches(['-', '.']).to_owned()
}

/// Whether a bridge can have this name, which is also the name of its file and of its service.
///
/// # Errors
///
/// What is wrong with it.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_right = name.len() <= LONGEST_NAME
        && name.bytes().all(is_letter)
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    if is_right {
        return Ok(());
    }
    Err(format!(
        "{name:?} can not be the name of a bridge: it has 1 to {LONGEST_NAME} letters, digits, '.', '-' and \
         '_', and begins with a letter or digit"
    ))
}

/// The folder with the files of the bridges of a scope, beside its registry.
pub(crate) fn folder(roots: &Roots, scope: Scope) -> Option<PathBuf> {
    Some(roots.folder(scope)?.parent()?.join("bridges"))
}

/// The file of a bridge.
pub(crate) fn file_of(roots: &Roots, scope: Scope, name: &str) -> Option<PathBuf> {
    check_name(name).ok()?;
    Some(folder(roots, scope)?.join(format!("{name}.toml")))
}

/// Reads the file of a bridge that was added. Nobody but root and this user can change it.
pub(crate) fn read_installed(path: &Path) -> Result<(Settings, Catalog), String> {
    let failed = |words: &dyn fmt::Display| format!("{}: {words}", path.display());
    let untrusted = |error: trust::Untrusted| failed(&format_args!("not used: {error}"));
    trust::check_path(path).map_err(untrusted)?;
    let text = trust::open_file(path).and_then(limited).map_err(|error| failed(&error))?;
    let file: InstalledFile = toml::from_str(&text).map_err(|error| failed(&fault(&text, &error)))?;
    let InstalledFile { url, timeout, headers, certificate, labels, object } = file;
    let timeout = timeout.map(Duration::from_millis);
    let settings = Settings { url, timeout, headers, certificate, labels };
    settings.check().map_err(|words| failed(&words))?;
    Ok((settings, object))
}

fn limited(file: std::fs::File) -> io::Result<String> {
    let mut text = String::new();
    if file.metadata()?.len() > LONGEST {
        let words = format!("it has more than {LONGEST} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// What is wrong with a text, and in which line.
fn fault(text: &str, error: &toml::de::Error) -> String {
    let problem = error.message().lines().map(str::trim).collect::<Vec<_>>().join(" ");
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {problem}", before.matches('\n').count().saturating_add(1)),
        None => problem,
    }
}

/// The text of the file of a bridge.
pub(crate) fn to_text(name: &str, settings: &Settings, catalog: &Catalog) -> String {
    // The escapes of JSON are escapes of TOML too.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let list = |texts: &[String]| {
        let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
        format!("[{}]", texts.join(", "))
    };
    let mut text = format!(
        "# Made by 'tally provider add'. You may change all but the objects, whose names are in the \
         registry;\n# 'tally provider remove {name}' and 'add' find them anew.\nurl = {}\n",
        quoted(&settings.url)
    );
    if let Some(timeout) = settings.timeout {
        text.push_str(&format!("timeout = {}\n", timeout.as_millis()));
    }
    for (key, file) in [("headers", &settings.headers), ("certificate", &settings.certificate)] {
        if let Some(file) = file {
            text.push_str(&format!("{key} = {}\n", quoted(&file.display().to_string())));
        }
    }
    if let Some(labels) = &settings.labels {
        text.push_str(&format!("labels = {}\n", list(labels)));
    }
    for object in catalog {
        let (offset, name) = (object.offset, quoted(&object.name));
        text.push_str(&format!("\n[[object]]\noffset = {offset}\nname = {name}\n"));
        if !object.labels.is_empty() {
            text.push_str(&format!("labels = {}\n", list(&object.labels)));
        }
        text.push_str("counter = [\n");
        for counter in &object.counters {
            let (offset, metric, kind) = (counter.offset, quoted(&counter.metric), counter.kind.word());
            text.push_str(&format!("  {{ offset = {offset}, metric = {metric}, kind = \"{kind}\" }},\n"));
        }
        text.push_str("]\n");
    }
    text
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
