//! Other machines: the table of their names, addresses and groups.
//!
//! The table is a text file with a line for each host: its name in counter paths, its address, and any number
//! of groups. `#` begins a comment.
//!
//! ```text
//! # name   address                       groups
//! web1     ssh://ann@web1.example.net    web
//! web2     ssh://ann@web2.example.net    web
//! db       ssh://db.example.net:2222
//! ```
//!
//! `/etc/tallymon/hosts` is for everybody, `tallymon/hosts` in the folder for settings of the user
//! (`$XDG_CONFIG_HOME`, else `~/.config`) goes before it. On Windows they are `%ProgramData%\Tallymon\hosts`
//! and `%APPDATA%\Tallymon\hosts`. With `TALLY_ROOT` the file `hosts` in that folder
//! is the only one. A table that others can change is refused: it would lead a user's keys to their
//! machines.
//!
//! Passwords for addresses that need one are in the file `credentials` beside the table of the user, see
//! `passwords`.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tallymon_remote::{Address, AddressError, without_password};

use crate::private_file;

#[cfg_attr(windows, path = "folders_windows.rs")]
mod folders;
#[cfg_attr(not(unix), path = "kcm_absent.rs")]
mod kcm;
mod kerberos;
#[cfg_attr(not(all(target_os = "linux", feature = "rrp")), path = "keyring_absent.rs")]
mod keyring;
#[cfg(feature = "tls")]
pub mod keys;
#[cfg(not(feature = "tls"))]
#[path = "keys_absent.rs"]
pub(crate) mod keys;
mod own_files;
mod password_program;
pub(crate) mod passwords;

use own_files::{own_file, table_paths};

/// A host with its name in counter paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHost {
    /// Its name in counter paths.
    pub name: String,
    /// Where it is.
    pub address: Address,
    /// The groups that it belongs to.
    pub groups: Vec<String>,
}

/// The hosts that the tables list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostTable {
    hosts: Vec<KnownHost>,
}

/// Why a table or a word that names hosts cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum HostError {
    /// A file cannot be read, or others can change it.
    File(PathBuf, io::Error),
    /// A line of a file is wrong: its number, and why.
    Line(PathBuf, usize, String),
    /// No host or group has this name.
    Unknown(String),
    /// Two addresses have this name.
    Twice(String, String, String),
    /// A text with `://` is not an address.
    Address(AddressError),
    /// Paths for one query name several machines.
    Several(Vec<String>),
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostError::File(path, error) => write!(f, "{}: {error}", path.display()),
            HostError::Line(path, line, why) => write!(f, "{}, line {line}: {why}", path.display()),
            HostError::Unknown(name) => write!(
                f,
                "no host or group is called {name:?}: write an address as in ssh://{name}, or add a line \
                 'NAME ADDRESS GROUP…' to {}",
                table_paths().last().map_or_else(String::new, |path| path.display().to_string())
            ),
            HostError::Twice(name, one, other) => write!(
                f,
                "{one} and {other} have the same name {name:?} in paths: give them names of their own in {}",
                table_paths().last().map_or_else(String::new, |path| path.display().to_string())
            ),
            HostError::Address(error) => error.fmt(f),
            HostError::Several(names) => {
                write!(
                    f,
                    "the paths name {} machines, and a query reads one: {}",
                    names.len(),
                    names.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for HostError {}

impl HostTable {
    /// The tables of this machine and this user. A table that does not exist is empty.
    ///
    /// # Errors
    ///
    /// A table cannot be read, has a wrong line, or others can change it.
    pub fn of_environment() -> Result<HostTable, HostError> {
        let mut table = HostTable::default();
        for path in table_paths() {
            let failed = |error| HostError::File(path.clone(), error);
            let text = match private_file::read(&path) {
                Ok((text, _)) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            };
            for host in HostTable::parse(&text, &path)?.hosts {
                table.hosts.retain(|known| !known.name.eq_ignore_ascii_case(&host.name));
                table.hosts.push(host);
            }
        }
        Ok(table)
    }

    /// Parses a table; `path` is for messages. A line of one word is an address without a name of its own.
    ///
    /// # Errors
    ///
    /// A line is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<HostTable, HostError> {
        let mut table = HostTable::default();
        for (number, line) in text.lines().enumerate() {
            let wrong = |why: String| HostError::Line(path.to_path_buf(), number.saturating_add(1), why);
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            let parse = |text: &str| text.parse::<Address>().map_err(|error| wrong(error.to_string()));
            let host = match words.next() {
                None => unnamed(parse(first)?),
                Some(address) => {
                    if !is_host_name(first) {
                        let first = without_password(first);
                        return Err(wrong(format!("{first:?} cannot be the name of a host in a path")));
                    }
                    let groups = words.map(str::to_string).collect();
                    KnownHost { name: first.to_string(), address: parse(address)?, groups }
                }
            };
            if let Some(known) = table.named(&host.name) {
                return Err(wrong(format!("{} is listed already, as {}", host.name, known.address)));
            }
            table.hosts.push(host);
        }
        Ok(table)
    }

    /// All hosts.
    pub fn hosts(&self) -> &[KnownHost] {
        &self.hosts
    }

    /// The host with a name, in any case.
    pub fn named(&self, name: &str) -> Option<&KnownHost> {
        self.hosts.iter().find(|host| host.name.eq_ignore_ascii_case(name))
    }

    /// The hosts that words name, each once: addresses, names and groups of the table, and `@FILE` for all
    /// hosts of another table.
    ///
    /// # Errors
    ///
    /// A word names no host, or two addresses have one name.
    pub fn resolve(&self, words: &[String]) -> Result<Vec<KnownHost>, HostError> {
        let mut all: Vec<KnownHost> = Vec::new();
        for word in words {
            for host in self.resolve_one(word)? {
                match all.iter().find(|known| known.name.eq_ignore_ascii_case(&host.name)) {
                    Some(known) if known.address == host.address => {}
                    Some(known) => {
                        return Err(HostError::Twice(
                            host.name,
                            known.address.to_string(),
                            host.address.to_string(),
                        ));
                    }
                    None => all.push(host),
                }
            }
        }
        Ok(all)
    }

    fn resolve_one(&self, word: &str) -> Result<Vec<KnownHost>, HostError> {
        if let Some(file) = word.strip_prefix('@') {
            let path = Path::new(file);
            let text = table_of(path).map_err(|error| HostError::File(path.to_path_buf(), error))?;
            return Ok(HostTable::parse(&text, path)?.hosts);
        }
        if word.contains("://") {
            return word.parse().map(|address| vec![unnamed(address)]).map_err(HostError::Address);
        }
        let word = word.trim_start_matches('\\');
        if let Some(host) = self.named(word) {
            return Ok(vec![host.clone()]);
        }
        let is_member = |host: &&KnownHost| host.groups.iter().any(|group| group.eq_ignore_ascii_case(word));
        let members: Vec<KnownHost> = self.hosts.iter().filter(is_member).cloned().collect();
        if members.is_empty() { Err(HostError::Unknown(without_password(word))) } else { Ok(members) }
    }
}

/// Whether a text can be the name of a host in a path.
pub(crate) fn is_host_name(name: &str) -> bool {
    let is_wrong =
        |letter: char| "\\/()*@,".contains(letter) || letter.is_whitespace() || letter.is_control();
    !name.is_empty() && name != "." && !name.contains(is_wrong)
}

/// The text of a table that the user has named: a regular file of at most 1 MiB.
fn table_of(path: &Path) -> io::Result<String> {
    const LONGEST: u64 = 1 << 20;
    let mut file = tallymon_log::open_regular(path)?.take(LONGEST.saturating_add(1));
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    if file.limit() == 0 {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 1 MiB, which no table is"));
    }
    Ok(text)
}

/// A host that the table does not name: it is called as in its address.
pub(crate) fn unnamed(address: Address) -> KnownHost {
    KnownHost { name: address.host().to_string(), address, groups: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "# hosts\nweb1 ssh://ann@one web all\n\nweb2\tssh://two WEB # the second\nssh://three\n";

    #[test]
    fn words_name_hosts_and_groups() {
        let table = HostTable::parse(TABLE, Path::new("hosts")).unwrap();
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_string()).collect();
            let hosts = table.resolve(&words).map_err(|error| error.to_string())?;
            Ok::<_, String>(hosts.into_iter().map(|host| host.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["WEB2"]).unwrap(), ["web2"]);
        assert_eq!(names(&["web"]).unwrap(), ["web1", "web2"]);
        assert_eq!(
            names(&["web", "\\\\web1", "ssh://four:22", "three"]).unwrap(),
            ["web1", "web2", "four", "three"]
        );
        assert!(names(&["ssh://a@x", "ssh://b@x"]).unwrap_err().contains("have the same name \"x\""));
        assert!(names(&["nobody"]).unwrap_err().contains("ssh://nobody"));
        assert!(names(&["ftp://x"]).unwrap_err().contains("\"ftp\""));
        let error = names(&["ann:secret@web1"]).unwrap_err();
        assert!(error.contains("\"ann:…@web1\"") && !error.contains("secret"), "{error}");
        assert!(names(&["@/no/such/file"]).unwrap_err().contains("/no/such/file"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_and_an_endless_file_are_no_tables() {
        use std::fs;

        let folder = tallymon_testkit::Scratch::new();
        let pipe = folder.join("pipe");
        if let Some(mkfifo) = tallymon_testkit::peer("mkfifo") {
            assert!(std::process::Command::new(mkfifo).arg(&pipe).status().unwrap().success());
            let error = table_of(&pipe).unwrap_err().to_string();
            assert!(error.contains("a pipe, not a regular file"), "{error}");
        }
        assert!(table_of(Path::new("/dev/zero")).is_err());
        let long = folder.join("long");
        fs::write(&long, "#".repeat((1 << 20) + 1)).unwrap();
        assert!(table_of(&long).unwrap_err().to_string().contains("longer than 1 MiB"));
        fs::write(&long, "#".repeat(1 << 20)).unwrap();
        assert!(table_of(&long).is_ok());
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, part) in [
            ("\nweb1 one", "hosts, line 2: \"one\" is not an address"),
            ("web1", "line 1: \"web1\" is not an address"),
            ("a ssh://x\nA ssh://y", "line 2: A is listed already, as ssh://x"),
            ("a\\b ssh://x", "cannot be the name"),
            ("ann:secret@a ssh://x", "\"ann:…@a\" cannot be the name"),
            ("a rrp://ann:secret@x", "\"rrp://ann:…@x\": an address has no password"),
        ] {
            let error = HostTable::parse(text, Path::new("hosts")).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
