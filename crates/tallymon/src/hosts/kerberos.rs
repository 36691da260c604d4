//! Files of Kerberos on this machine: `krb5.conf`, caches of tickets and keytabs. Secrets are read only if
//! nobody else can read them.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tallymon_provider::environment;
use tallymon_remote::kerberos::{Conf, KerberosSecret, ReadSecret};

use crate::private_file;

/// So many files and bytes of settings are read, with those that they include.
const MOST_FILES: usize = 64;
const MOST_BYTES: usize = 1 << 20;

/// The settings of the system. Without a file there are none.
pub(super) fn conf() -> Result<Conf, String> {
    let named = env::var_os("KRB5_CONFIG").filter(|value| !value.is_empty());
    let files = named.unwrap_or_else(|| OsString::from("/etc/krb5.conf"));
    let mut text = String::new();
    let mut left = MOST_FILES;
    for file in env::split_paths(&files) {
        include(&file, &mut text, &mut left)?;
    }
    Ok(Conf::parse(&text))
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

/// Where the tickets of this user are, and whether the user or the settings say so.
pub(super) fn cache(conf: &Conf) -> Result<Option<PathBuf>, String> {
    let named = env::var("KRB5CCNAME").ok().filter(|value| !value.is_empty());
    if let Some(named) = named {
        return place_of(&named).map(Some);
    }
    // Under another root nothing of the user's own machine is looked for.
    let place = environment::ROOT.value().is_none().then(|| default_cache(conf)).flatten();
    let file = place.map(|place| place_of(&place)).transpose()?;
    Ok(file.filter(|file| file.exists()))
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

/// The file of a place such as `FILE:/tmp/tickets`, `DIR:/run/tickets` or `/tmp/tickets`.
pub(super) fn place_of(place: &str) -> Result<PathBuf, String> {
    if let Some(folder) = place.strip_prefix("DIR:") {
        if let Some(file) = folder.strip_prefix(':') {
            return Ok(PathBuf::from(file));
        }
        let folder = Path::new(folder);
        let primary = private_file::read_own(&folder.join("primary")).unwrap_or_default();
        let name = primary.trim();
        let name = if name.is_empty() || name.contains(['/', '\\']) { "tkt" } else { name };
        return Ok(folder.join(name));
    }
    let path = place.strip_prefix("FILE:").unwrap_or(place);
    match path.split_once(':') {
        // A letter alone is a disk of Windows.
        Some((kind, _)) if kind.len() > 1 && kind.chars().all(|letter| letter.is_ascii_uppercase()) => {
            Err(format!(
                "tickets in {place} can not be read: get some into a file with kinit -c FILE:NAME, and set \
                 KRB5CCNAME=FILE:NAME"
            ))
        }
        _ => Ok(PathBuf::from(path)),
    }
}

/// The keys of this machine.
pub(super) fn keytab() -> PathBuf {
    let named = env::var("KRB5_KTNAME").ok().filter(|value| !value.is_empty());
    let named = named.unwrap_or_else(|| "/etc/krb5.keytab".to_string());
    PathBuf::from(named.strip_prefix("FILE:").unwrap_or(&named))
}

/// A secret in a cache.
pub(super) fn tickets(file: PathBuf) -> KerberosSecret {
    KerberosSecret::Cache(file.display().to_string(), reader(file))
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
