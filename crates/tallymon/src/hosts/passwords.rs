//! What logs in at hosts: a file of the user that nobody else can read, or tickets of Kerberos.
//!
//! Each line is `USER@HOST PASSWORD`, or `DOMAIN;USER@HOST PASSWORD`, for a login by NTLM. The password is
//! the rest of the line after one blank, whatever it has. Other lines begin with a word: they take the
//! password from a key of the kernel or from a program, or are for Kerberos.
//!
//! ```text
//! keyring DOMAIN;USER@HOST [KEY]
//! program DOMAIN;USER@HOST PROGRAM ARGUMENT…
//! kerberos USER@REALM@HOST cache [FILE]
//! kerberos USER@REALM@HOST keytab [FILE]
//! kerberos USER@REALM@HOST password PASSWORD
//! kerberos USER@REALM@HOST keyring [KEY]
//! kerberos USER@REALM@HOST program PROGRAM ARGUMENT…
//! ```
//!
//! A host `*` means all hosts. Lines that begin with `#` are comments. The first line for an address counts;
//! without one, tickets of the user are taken if there are any.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use tallymon_core::flow::{SourceError, SourceErrorKind};
use tallymon_remote::kerberos::{KerberosLogin, KerberosSecret};
use tallymon_remote::{Address, Credentials, FindCredentials, PasswordLogin, RrpAddress};

use super::kerberos::{self, Tickets};
use super::{keyring, own_file, password_program, table_paths};
use crate::private_file;

/// Who logs in at an address; `None` if the address needs nothing of ours. Nothing is read yet.
pub(crate) fn of(address: &Address) -> Option<Box<dyn FindCredentials>> {
    match address {
        Address::Rrp(rrp) => Some(Box::new(OwnCredentials(rrp.clone()))),
        _ => None,
    }
}

/// The credentials of this user for a host.
struct OwnCredentials(RrpAddress);

impl OwnCredentials {
    fn denied(&self, words: String) -> SourceError {
        let address = Address::Rrp(self.0.clone());
        SourceError::new(SourceErrorKind::AccessDenied, format!("{address}: {words}"))
    }

    /// The file of credentials, and what its line for the host says.
    fn line(&self) -> Result<(PathBuf, Option<Found>), String> {
        let path = own_file("credentials").ok_or("no folder for settings is known: set HOME")?;
        let text = match private_file::read_secret(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let found = find(&text, &self.0);
        Ok((path, found))
    }

    fn read(&self) -> Result<Credentials, String> {
        let (path, found) = self.line()?;
        let (user, realm, secret) = match found {
            Some(Found::Password { user, domain, password }) => {
                let password = password.read()?;
                return Ok(Credentials::Password(PasswordLogin { user, domain, password }));
            }
            Some(Found::Wrong(why)) => return Err(format!("{}: {why}", path.display())),
            Some(Found::Kerberos { user, realm, secret }) => (user, realm, Some(secret)),
            None => {
                let (user, realm) = user_of(&self.0);
                (user, realm, None)
            }
        };
        let conf = kerberos::conf()?;
        let secret = match secret {
            Some(Secret::Password(password)) => KerberosSecret::Password(password.read()?),
            Some(Secret::Keytab(file)) => kerberos::keys(file.unwrap_or_else(kerberos::keytab)),
            Some(Secret::Cache(Some(place))) => Tickets::at(&place, &conf)?.secret(),
            Some(Secret::Cache(None)) => match kerberos::cache(&conf)? {
                Some(tickets) => tickets.secret(),
                None => return Err("there are no tickets: get some with kinit".to_string()),
            },
            None => match kerberos::cache(&conf) {
                Ok(Some(tickets)) => tickets.secret(),
                Ok(None) => return Err(nothing(&path, &self.0, None)),
                Err(why) => return Err(nothing(&path, &self.0, Some(why))),
            },
        };
        Ok(Credentials::Kerberos(KerberosLogin { user, realm, secret, conf }))
    }

    /// What proves who logs in, if it is in another place than the file of credentials: its name for
    /// messages, and a number that changes with it. A program is not run.
    fn elsewhere(&self) -> Option<(String, u64)> {
        let secret = match self.line().ok()?.1 {
            Some(Found::Password { password, .. }) => return password.elsewhere(),
            Some(Found::Wrong(_)) => return None,
            Some(Found::Kerberos { secret, .. }) => secret,
            None => Secret::Cache(None),
        };
        let conf = || kerberos::conf().ok();
        let secret = match secret {
            Secret::Password(password) => return password.elsewhere(),
            Secret::Keytab(file) => kerberos::keys(file.unwrap_or_else(kerberos::keytab)),
            Secret::Cache(Some(place)) => Tickets::at(&place, &conf()?).ok()?.secret(),
            Secret::Cache(None) => kerberos::cache(&conf()?).ok()??.secret(),
        };
        match secret {
            KerberosSecret::Cache(name, read) | KerberosSecret::Keytab(name, read) => {
                Some((name, number_of(&read())))
            }
            KerberosSecret::Password(_) => None,
        }
    }
}

impl FindCredentials for OwnCredentials {
    fn find(&self) -> Result<Credentials, SourceError> {
        self.read().map_err(|words| self.denied(words))
    }

    /// Of the time and length of the file of credentials and of the tables of hosts, and of what is
    /// elsewhere.
    fn stamp(&self) -> u64 {
        let mut files = table_paths();
        files.extend(own_file("credentials"));
        let state = |path: &PathBuf| {
            let about = fs::metadata(path).ok()?;
            Some((about.modified().ok(), about.len()))
        };
        let states: Vec<_> = files.iter().map(state).collect();
        number_of(&(states, self.elsewhere()))
    }

    fn place(&self) -> String {
        let file = own_file("credentials").unwrap_or_else(|| PathBuf::from("credentials"));
        match self.elsewhere() {
            Some((name, _)) => format!("{} or {name}", file.display()),
            None => file.display().to_string(),
        }
    }
}

/// A number that another value has with next to no probability.
fn number_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The message when nothing logs in.
fn nothing(path: &Path, rrp: &RrpAddress, tickets: Option<String>) -> String {
    let user = rrp.user.as_deref().unwrap_or("USER");
    let words = "write a line there, in a file of mode 0600 so that nobody else can read it";
    let tickets = match tickets {
        None => "or get tickets of Kerberos with kinit".to_string(),
        Some(why) => format!("by Kerberos: {why}"),
    };
    format!("{} has no password for it: {words}: {user}@{} PASSWORD; {tickets}", path.display(), rrp.host)
}

/// What a line says.
#[derive(Debug)]
enum Found {
    Password { user: String, domain: Option<String>, password: Password },
    Kerberos { user: Option<String>, realm: Option<String>, secret: Secret },
    Wrong(String),
}

#[derive(Debug)]
enum Secret {
    Cache(Option<String>),
    Keytab(Option<PathBuf>),
    Password(Password),
}

/// Where a password is.
#[derive(PartialEq, Eq)]
enum Password {
    /// In the line itself.
    InLine(String),
    /// In a key of the kernel with this name.
    Kernel(String),
    /// A program with its arguments prints it.
    Program(String),
}

impl Password {
    fn read(self) -> Result<String, String> {
        match self {
            Password::InLine(password) => Ok(password),
            Password::Kernel(key) => keyring::password(&key),
            Password::Program(words) => password_program::first_line(&words),
        }
    }

    /// Where it is if not in its line, and a number that changes with it. What a program says is unknown
    /// until it runs.
    fn elsewhere(self) -> Option<(String, u64)> {
        match self {
            Password::Kernel(key) => {
                let password = number_of(&keyring::password(&key));
                Some((format!("the key {key} of the kernel"), password))
            }
            Password::InLine(_) | Password::Program(_) => None,
        }
    }
}

impl std::fmt::Debug for Password {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Password::InLine(_) => f.write_str("Password"),
            Password::Kernel(key) => write!(f, "Kernel({key:?})"),
            Password::Program(words) => write!(f, "Program({words:?})"),
        }
    }
}

/// The first line for an address.
fn find(text: &str, address: &RrpAddress) -> Option<Found> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let (word, rest) = line.split_once([' ', '\t'])?;
        let rest = rest.trim_start();
        match word {
            "kerberos" => by_kerberos(rest, address),
            "keyring" | "program" => elsewhere(word, rest, address),
            who => {
                let (_, password) = line.split_once([' ', '\t'])?;
                let (user, domain) = user_for(who, address)?;
                Some(Found::Password { user, domain, password: Password::InLine(password.to_string()) })
            }
        }
    })
}

/// A password that is not in the line.
fn elsewhere(word: &str, line: &str, address: &RrpAddress) -> Option<Found> {
    let (who, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let (user, domain) = user_for(who, address)?;
    Some(match place(word, who, rest.trim()) {
        Some(password) => Found::Password { user, domain, password },
        None => Found::Wrong(format!("the line for {who} is wrong: write: program {who} PROGRAM ARGUMENT…")),
    })
}

/// Where a password is, by a word and what follows. A key has a usual name.
fn place(word: &str, who: &str, rest: &str) -> Option<Password> {
    match (word, rest) {
        ("keyring", "") => Some(Password::Kernel(format!("tallymon:{who}"))),
        ("keyring", key) => Some(Password::Kernel(key.to_string())),
        ("program", "") => None,
        ("program", words) => Some(Password::Program(words.to_string())),
        _ => None,
    }
}

fn is_host(host: &str, address: &RrpAddress) -> bool {
    host == "*" || host.eq_ignore_ascii_case(&address.host)
}

/// The user and the domain of a line, if it is for an address.
fn user_for(who: &str, address: &RrpAddress) -> Option<(String, Option<String>)> {
    let (user, host) = who.rsplit_once('@')?;
    let (domain, user) = user.split_once(';').map_or((None, user), |(domain, user)| (Some(domain), user));
    let is_user = address.user.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(user));
    let is_domain = match (&address.domain, domain) {
        (Some(wanted), Some(domain)) => wanted.eq_ignore_ascii_case(domain),
        _ => true,
    };
    let is_it = is_host(host, address) && is_user && is_domain && !user.is_empty();
    is_it.then(|| (user.to_string(), address.domain.clone().or_else(|| domain.map(str::to_string))))
}

fn by_kerberos(line: &str, address: &RrpAddress) -> Option<Found> {
    let (who, how) = line.split_once([' ', '\t']).unwrap_or((line, "cache"));
    let (user, host) = who.rsplit_once('@')?;
    let (user, realm) = user.split_once('@').map_or((user, None), |(user, realm)| (user, Some(realm)));
    let given = |text: &str| Some(text.to_string()).filter(|text| !text.is_empty());
    let (wanted, wanted_realm) = user_of(address);
    let user = given(user);
    let agrees = |wanted: &Option<String>, known: Option<&str>| match (wanted, known) {
        (Some(wanted), Some(known)) => wanted.eq_ignore_ascii_case(known),
        _ => true,
    };
    if !is_host(host, address) || !agrees(&wanted, user.as_deref()) || !agrees(&wanted_realm, realm) {
        return None;
    }
    let (kind, rest) = how.split_once([' ', '\t']).unwrap_or((how, ""));
    let secret = match kind {
        "cache" => Secret::Cache(given(rest.trim())),
        "keytab" => Secret::Keytab(given(rest.trim()).map(PathBuf::from)),
        // The password is the rest of the line, whatever it has.
        "password" if !rest.is_empty() => Secret::Password(Password::InLine(rest.to_string())),
        _ => match place(kind, who, rest.trim()) {
            Some(password) => Secret::Password(password),
            None => {
                let words = "write: kerberos USER@REALM@HOST cache, keytab FILE, password PASSWORD, \
                             keyring or program PROGRAM";
                return Some(Found::Wrong(format!("the line for {who} is wrong: {words}")));
            }
        },
    };
    Some(Found::Kerberos { user: user.or(wanted), realm: realm.and_then(given).or(wanted_realm), secret })
}

/// The user and the realm of an address, as in `rrp://ann@CORP.EXAMPLE@win1` or
/// `rrp://CORP.EXAMPLE;ann@win1`.
fn user_of(address: &RrpAddress) -> (Option<String>, Option<String>) {
    let realm = address.domain.clone();
    match address.user.as_deref().map(|user| user.split_once('@').unwrap_or((user, ""))) {
        None => (None, realm),
        Some((user, "")) => (Some(user.to_string()), realm),
        Some((user, realm)) => (Some(user.to_string()), Some(realm.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "# passwords\nann@web1 a b#c \nCORP;bob@*\tsecret\nann@web1 never\n@web9 x\nnonsense\n";

    #[test]
    fn the_first_line_for_an_address_is_taken() {
        for (address, found) in [
            ("rrp://web1", Some(("ann", None, "a b#c "))),
            ("rrp://ANN@WEB1", Some(("ann", None, "a b#c "))),
            ("rrp://bob@web1", Some(("bob", Some("CORP"), "secret"))),
            ("rrp://web9", Some(("bob", Some("CORP"), "secret"))),
            ("rrp://other;bob@web1", None),
            ("rrp://eve@web1", None),
        ] {
            let Address::Rrp(address) = address.parse().unwrap() else { panic!("{address}") };
            let credentials = find(FILE, &address);
            let words = credentials.as_ref().map(|it| match it {
                Found::Password { user, domain, password: Password::InLine(password) } => {
                    (user.as_str(), domain.as_deref(), password.as_str())
                }
                other => panic!("{other:?}"),
            });
            assert_eq!(words, found, "{address:?}");
            assert!(!format!("{credentials:?}").contains("secret"));
        }
    }

    #[test]
    fn lines_for_kerberos() {
        let file = "kerberos ann@CORP.EXAMPLE@win1 keytab /k\nkerberos @win2 cache FILE:/c\n\
                    kerberos bob@win3 password  a b \nkerberos bob@win4\nkerberos bob@win5 magic\n\
                    kerberosbob@win6 x\neve@win1 y\nkeyring CORP;ann@win7\nprogram ann@win8 pass show win\n\
                    program ann@win9\nkerberos ann@win10 keyring key\nkerberos ann@win11 program\n";
        for (address, expected) in [
            ("rrp://win1", r#"Some("ann") Some("CORP.EXAMPLE") Keytab(Some("/k"))"#),
            ("rrp://ann@Corp.Example@win1", r#"Some("ann") Some("CORP.EXAMPLE") Keytab(Some("/k"))"#),
            ("rrp://CORP.EXAMPLE;ann@WIN1", r#"Some("ann") Some("CORP.EXAMPLE") Keytab(Some("/k"))"#),
            ("rrp://bob@win1", "nothing"),
            ("rrp://ann@OTHER@win1", "nothing"),
            ("rrp://dan@win2", r#"Some("dan") None Cache(Some("FILE:/c"))"#),
            ("rrp://win3", r#"Some("bob") None Password(Password)"#),
            ("rrp://win4", r#"Some("bob") None Cache(None)"#),
            ("rrp://win5", "the line for bob@win5 is wrong"),
            ("rrp://eve@win1", "password of eve"),
            ("rrp://win6", "password of kerberosbob"),
            ("rrp://ann@win7", r#"password of ann: Kernel("tallymon:CORP;ann@win7")"#),
            ("rrp://win8", r#"password of ann: Program("pass show win")"#),
            ("rrp://win9", "the line for ann@win9 is wrong: write: program"),
            ("rrp://win10", r#"Some("ann") None Password(Kernel("key"))"#),
            ("rrp://win11", "the line for ann@win11 is wrong: write: kerberos"),
        ] {
            let Address::Rrp(address) = address.parse().unwrap() else { panic!("{address}") };
            let found = match find(file, &address) {
                None => "nothing".to_string(),
                Some(Found::Password { user, password, .. }) => format!("password of {user}: {password:?}"),
                Some(Found::Wrong(why)) => why,
                Some(Found::Kerberos { user, realm, secret }) => {
                    if let Secret::Password(Password::InLine(password)) = &secret {
                        assert_eq!(password, " a b ");
                    }
                    format!("{user:?} {realm:?} {secret:?}")
                }
            };
            assert!(found.starts_with(expected), "{address:?}: {found}");
        }
    }
}
