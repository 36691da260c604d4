//! The file of a bridge, and files that declare bridges to be added.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tallymon_host::registry::{Roots, Scope};
use tallymon_provider::trust;
use tallymon_push::{Endpoint, EndpointError, Tls, shown_address};

use crate::catalog::Catalog;
use crate::kinds::Kind;

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

/// Reads a file that only its user can read, and others than root and this user cannot change.
pub type ReadSecret = fn(&Path) -> io::Result<String>;

/// Where a bridge reads, and how.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The address; the part behind `?` may be a secret.
    pub url: String,
    /// What the endpoint speaks; `None` for what its address begins with, and else metrics.
    pub kind: Option<Kind>,
    /// The Unix socket to connect to, instead of the host of the address.
    pub socket: Option<PathBuf>,
    /// A file with the password, in one line, that only its user can read.
    pub password: Option<PathBuf>,
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
    /// What the endpoint speaks.
    pub fn kind(&self) -> Kind {
        self.kind.unwrap_or_else(|| Kind::of_address(&self.url))
    }

    /// The address for messages, with the socket: without what may be a secret.
    pub fn address(&self) -> String {
        match &self.socket {
            Some(socket) => format!("{} at {}", shown_address(&self.url), socket.display()),
            None => shown_address(&self.url),
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
        let mut endpoint = Endpoint::new(&self.url, self.kind().usual_path(), &tls).map_err(words)?;
        endpoint.set_timeout(self.timeout());
        if let Some(socket) = &self.socket {
            endpoint.set_socket(socket);
        }
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

    /// TLS for a protocol of its own: what this machine trusts, or the certificates of the file.
    pub(crate) fn tls(&self) -> Result<Arc<rustls::ClientConfig>, String> {
        let tls = Tls { certificate: self.certificate.clone(), client: None };
        tls.configuration().map_err(|error| error.to_string())
    }

    /// The password of its file; `None` without one.
    pub(crate) fn password(&self, read_secret: ReadSecret) -> Result<Option<String>, String> {
        let Some(file) = &self.password else { return Ok(None) };
        let failed = |words: &dyn fmt::Display| format!("{}: {words}", file.display());
        let text = read_secret(file).map_err(|error| failed(&error))?;
        let mut lines = text.lines();
        match (lines.next(), lines.next()) {
            (Some(password), None) if !password.is_empty() => Ok(Some(password.to_owned())),
            _ => Err(failed(&"the password is expected in one line")),
        }
    }

    /// Whether a bridge can have these settings.
    ///
    /// # Errors
    ///
    /// The setting, and why it cannot be used.
    pub fn check(&self) -> Result<(), String> {
        let labels = self.labels.as_deref().unwrap_or_default();
        if labels.len() > MOST_LABELS || !labels.iter().all(|label| crate::metrics::is_name(label)) {
            return Err(format!("labels: at most {MOST_LABELS} names of labels"));
        }
        if self.url.chars().any(char::is_control) {
            return Err("url: an address has no control characters".to_owned());
        }
        self.kind().check(self)?;
        let files = [&self.headers, &self.certificate, &self.password, &self.socket];
        let relative = files.into_iter().flatten().find(|file| !file.is_absolute());
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

/// A bridge as files write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    /// Only where bridges are declared: one that was added has the name of its file.
    name: Option<String>,
    url: String,
    kind: Option<Kind>,
    socket: Option<PathBuf>,
    password: Option<PathBuf>,
    timeout: Option<u64>,
    headers: Option<PathBuf>,
    certificate: Option<PathBuf>,
    labels: Option<Vec<String>>,
    /// Only of a bridge that was added.
    #[serde(default)]
    object: Catalog,
}

impl Written {
    fn take_apart(self) -> Result<(Option<String>, Settings, Catalog), String> {
        let Written { name, url, kind, socket, password, timeout, headers, certificate, labels, object } =
            self;
        let timeout = timeout.map(Duration::from_millis);
        let settings = Settings { url, kind, socket, password, timeout, headers, certificate, labels };
        settings.check()?;
        Ok((name, settings, object))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredFile {
    bridge: Vec<Written>,
}

/// Reads a file that declares bridges, with tables `[[bridge]]`.
///
/// # Errors
///
/// The file cannot be read, or is no such file; the words name the file, and the line where there is one.
pub fn read_declared(path: &Path) -> Result<Vec<Declared>, String> {
    let failed = |words: &dyn fmt::Display| format!("{}: {words}", path.display());
    let file = std::fs::canonicalize(path).and_then(|path| trust::open_file(&path));
    let text = file.and_then(limited).map_err(|error| failed(&error))?;
    let file: DeclaredFile = toml::from_str(&text).map_err(|error| failed(&fault(&text, &error)))?;
    let mut all = Vec::new();
    for written in file.bridge {
        let called = written.name.clone().unwrap_or_else(|| "without a name".to_owned());
        let (name, settings, objects) =
            written.take_apart().map_err(|words| failed(&format_args!("bridge {called}: {words}")))?;
        if !objects.is_empty() {
            let words = "its objects are found when it is added, and not declared";
            return Err(failed(&format_args!("bridge {called}: {words}")));
        }
        let name = name.unwrap_or_else(|| usual_name(&settings));
        check_name(&name).map_err(|words| failed(&words))?;
        all.push(Declared { name, settings });
    }
    Ok(all)
}

/// The name of a bridge that was given none: host and port of its address.
pub fn usual_name(settings: &Settings) -> String {
    let address = shown_address(&settings.url);
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
        "{name:?} cannot be the name of a bridge: it has 1 to {LONGEST_NAME} letters, digits, '.', '-' and \
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
    let written: Written = toml::from_str(&text).map_err(|error| failed(&fault(&text, &error)))?;
    let (_, settings, objects) = written.take_apart().map_err(|words| failed(&words))?;
    Ok((settings, objects))
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
         registry;\n# 'tally provider update {name}' adds new ones.\nurl = {}\n",
        quoted(&settings.url)
    );
    if let Some(kind) = settings.kind {
        text.push_str(&format!("kind = \"{}\"\n", kind.word()));
    }
    if let Some(timeout) = settings.timeout {
        text.push_str(&format!("timeout = {}\n", timeout.as_millis()));
    }
    let files = [
        ("socket", &settings.socket),
        ("password", &settings.password),
        ("headers", &settings.headers),
        ("certificate", &settings.certificate),
    ];
    for (key, file) in files {
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
            let name = counter.name.as_deref().map(|name| format!(", name = {}", quoted(name)));
            let name = name.unwrap_or_default();
            text.push_str(&format!(
                "  {{ offset = {offset}, metric = {metric}, kind = \"{kind}\"{name} }},\n"
            ));
        }
        text.push_str("]\n");
    }
    text
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
