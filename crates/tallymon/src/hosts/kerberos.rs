//! What Kerberos has on this machine: `krb5.conf`, caches of tickets and keytabs. Secrets in files are read
//! only if nobody else can read them.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tallymon_provider::environment;
use tallymon_remote::kerberos::{Conf, KerberosSecret, ReadSecret};

use super::{kcm, keyring};
use crate::private_file;

/// So many files and bytes of settings are read, with those that they include.
const MOST_FILES: usize = 64;
const MOST_BYTES: usize = 1 << 20;

/// So many bytes of the list of servers of DNS are read.
const MOST_RESOLV: u64 = 1 << 16;

/// The settings of the system. Without a file there are none.
pub(super) fn conf() -> Result<Conf, String> {
    let named = env::var_os("KRB5_CONFIG").filter(|value| !value.is_empty());
    let files = named.unwrap_or_else(|| OsString::from("/etc/krb5.conf"));
    let mut text = String::new();
    let mut left = MOST_FILES;
    for file in env::split_paths(&files) {
        include(&file, &mut text, &mut left)?;
    }
    Ok(Conf::parse(&text).with_name_servers(name_servers()))
}

/// The servers of DNS of this machine. The file belongs to whoever resolves its names, often not to root.
fn name_servers() -> Vec<SocketAddr> {
    let root = environment::ROOT.value();
    let path =
        root.map_or_else(|| PathBuf::from("/etc/resolv.conf"), |root| Path::new(&root).join("resolv.conf"));
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_RESOLV).read_to_string(&mut text));
    // Without the file there are none, and a message says so where one is needed.
    read.map(|_| tallymon_remote::kerberos::name_servers(&text, index_of)).unwrap_or_default()
}

/// The number of a network interface of this machine.
fn index_of(interface: &str) -> Option<u32> {
    let is_name = !interface.contains(['/', '\\']) && interface != "." && interface != "..";
    let path = Path::new("/sys/class/net").join(interface).join("ifindex");
    is_name.then(|| std::fs::read_to_string(path).ok()).flatten()?.trim().parse().ok()
}

fn include(file: &Path, text: &mut String, left: &mut usize) -> Result<(), String> {
    let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let own = match private_file::read_own(file) {
        Ok(own) => own,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(&error)),
    };
    *left = left.checked_sub(1).ok_or_else(|| failed(&"more than 64 files are included"))?;
    for line in own.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("include"), Some(other)) => include(Path::new(other), text, left)?,
            (Some("includedir"), Some(folder)) => {
                for other in settings_in(Path::new(folder)) {
                    include(&other, text, left)?;
                }
            }
            _ if text.len().saturating_add(line.len()) > MOST_BYTES => {
                return Err(failed(&"the settings have more than 1 MiB"));
            }
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    // A file that is included ends its last section.
    text.push_str("[]\n");
    Ok(())
}

/// The files of a folder whose names everybody takes: letters, digits, `-` and `_`, or the ending `.conf`.
fn settings_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            !name.starts_with('.') && (name.ends_with(".conf") || name.chars().all(is_plain))
        })
        .collect();
    files.sort();
    files
}

/// Where the tickets of this user are, if the user or the settings say so, or some are in the usual place.
pub(super) fn cache(conf: &Conf) -> Result<Option<Tickets>, String> {
    let named = env::var("KRB5CCNAME").ok().filter(|value| !value.is_empty());
    if let Some(named) = named {
        return Tickets::at(&named, conf).map(Some);
    }
    // Under another root nothing of the user's own machine is looked for.
    let place = environment::ROOT.value().is_none().then(|| default_cache(conf)).flatten();
    let tickets = place.map(|place| Tickets::at(&place, conf)).transpose()?;
    tickets.map_or(Ok(None), Tickets::if_there)
}

/// The settings' place of tickets, or the usual one.
fn default_cache(conf: &Conf) -> Option<String> {
    let place = conf.default_cache.clone().unwrap_or_else(|| "FILE:/tmp/krb5cc_%{uid}".to_string());
    if !place.contains("%{") {
        return Some(place);
    }
    let user = private_file::own_user()?.to_string();
    let place = place.replace("%{uid}", &user).replace("%{euid}", &user);
    (!place.contains("%{")).then_some(place)
}

/// Where tickets are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tickets {
    /// A file.
    File(PathBuf),
    /// A ring of keys in the kernel: what follows `KEYRING:`.
    Kernel(String),
    /// A service of this machine: its socket if it has an unusual one, and the name of the cache.
    Service(Option<String>, String),
}

impl Tickets {
    /// A place such as `FILE:/tmp/tickets`, `DIR:/run/tickets`, `/tmp/tickets`, `KEYRING:persistent:1000` or
    /// `KCM:`.
    pub(super) fn at(place: &str, conf: &Conf) -> Result<Tickets, String> {
        if let Some(folder) = place.strip_prefix("DIR:") {
            return Ok(Tickets::File(primary_in(folder)));
        }
        if let Some(ring) = place.strip_prefix("KEYRING:") {
            return Ok(Tickets::Kernel(ring.to_string()));
        }
        if let Some(name) = place.strip_prefix("KCM:") {
            return Ok(Tickets::Service(conf.kcm_socket.clone(), name.to_string()));
        }
        let path = place.strip_prefix("FILE:").unwrap_or(place);
        match path.split_once(':') {
            // A letter alone is a disk of Windows.
            Some((kind, _)) if kind.len() > 1 && kind.chars().all(|letter| letter.is_ascii_uppercase()) => {
                Err(format!(
                    "tickets in {place} cannot be read: get some into a file with kinit -c FILE:NAME, and set \
                     KRB5CCNAME=FILE:NAME"
                ))
            }
            _ => Ok(Tickets::File(PathBuf::from(path))),
        }
    }

    /// These tickets if there are any now, or why those that no file has cannot be read.
    fn if_there(self) -> Result<Option<Tickets>, String> {
        match &self {
            Tickets::File(file) if !file.exists() => Ok(None),
            Tickets::File(_) => Ok(Some(self)),
            Tickets::Kernel(_) | Tickets::Service(..) => self.reader()().map(|_| Some(self)),
        }
    }

    fn reader(&self) -> ReadSecret {
        match self {
            Tickets::File(file) => reader(file.clone()),
            Tickets::Kernel(ring) => {
                let ring = ring.clone();
                Arc::new(move || keyring::read(&ring))
            }
            Tickets::Service(socket, name) => {
                let (socket, name) = (socket.clone(), name.clone());
                Arc::new(move || kcm::read(socket.as_deref(), &name))
            }
        }
    }

    /// The secret that they are.
    pub(super) fn secret(&self) -> KerberosSecret {
        let name = match self {
            Tickets::File(file) => file.display().to_string(),
            Tickets::Kernel(ring) => format!("KEYRING:{ring}"),
            Tickets::Service(_, name) => format!("KCM:{name}"),
        };
        KerberosSecret::Cache(name, self.reader())
    }
}

/// The file of a place `DIR:FOLDER`, or `DIR::FILE`.
fn primary_in(folder: &str) -> PathBuf {
    if let Some(file) = folder.strip_prefix(':') {
        return PathBuf::from(file);
    }
    let folder = Path::new(folder);
    let primary = private_file::read_own(&folder.join("primary")).unwrap_or_default();
    let name = primary.trim();
    let name = if name.is_empty() || name.contains(['/', '\\']) { "tkt" } else { name };
    folder.join(name)
}

/// The keys of this machine.
pub(super) fn keytab() -> PathBuf {
    let named = env::var("KRB5_KTNAME").ok().filter(|value| !value.is_empty());
    let named = named.unwrap_or_else(|| "/etc/krb5.keytab".to_string());
    PathBuf::from(named.strip_prefix("FILE:").unwrap_or(&named))
}

/// A secret in a keytab.
pub(super) fn keys(file: PathBuf) -> KerberosSecret {
    KerberosSecret::Keytab(file.display().to_string(), reader(file))
}

fn reader(file: PathBuf) -> ReadSecret {
    Arc::new(move || {
        private_file::read_secret_bytes(&file).map_err(|error| format!("{}: {error}", file.display()))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn tickets_of_a_service_that_does_not_answer_say_why() {
        let service = Tickets::Service(Some("/nowhere/at/all".to_string()), String::new());
        let why = service.if_there().unwrap_err();
        assert!(why.contains("/nowhere/at/all: No such file") && why.contains("is it running"), "{why}");
        assert_eq!(Tickets::File(PathBuf::from("/nowhere/at/all")).if_there(), Ok(None));
    }

    #[test]
    fn numbers_of_interfaces() {
        assert_eq!(["", ".", "..", "../lo", "no-such-interface"].map(index_of), [None; 5]);
    }
}
