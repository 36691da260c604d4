//! What logs in at hosts: a file of the user that nobody else can read, or tickets of Kerberos.
//!
//! Each line is `USER@HOST PASSWORD`, or `DOMAIN;USER@HOST PASSWORD`, for a login by NTLM. The password is
//! the rest of the line after one blank, whatever it has. Lines that begin with `kerberos` are for Kerberos:
//!
//! ```text
//! kerberos USER@REALM@HOST cache [FILE]
//! kerberos USER@REALM@HOST keytab [FILE]
//! kerberos USER@REALM@HOST password PASSWORD
//! ```
//!
//! A host `*` means all hosts. Lines that begin with `#` are comments. The first line for an address counts;
//! without one, tickets of the user are taken if there are any.

use std::io;
use std::path::PathBuf;

use tallymon_core::flow::{SourceError, SourceErrorKind};
use tallymon_remote::kerberos::{KerberosLogin, KerberosSecret};
use tallymon_remote::{Address, Credentials, PasswordLogin, RrpAddress};

use super::{kerberos, own_file};
use crate::private_file;

/// Who logs in at an address; `None` if the address needs nothing of ours.
///
/// # Errors
///
/// There is nothing that logs in, or others can read or change the file.
pub(crate) fn of(address: &Address) -> Result<Option<Credentials>, SourceError> {
    let Address::Rrp(rrp) = address else { return Ok(None) };
    let denied =
        |words: String| SourceError::new(SourceErrorKind::AccessDenied, format!("{address}: {words}"));
    let Some(path) = own_file("credentials") else {
        return Err(denied("no folder for settings is known: set HOME".to_string()));
    };
    let text = match private_file::read_secret(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(denied(format!("{}: {error}", path.display()))),
    };
    let (user, realm, secret) = match find(&text, rrp) {
        Some(Found::Password(login)) => return Ok(Some(Credentials::Password(login))),
        Some(Found::Wrong(why)) => return Err(denied(format!("{}: {why}", path.display()))),
        Some(Found::Kerberos { user, realm, secret }) => (user, realm, Some(secret)),
        None => {
            let (user, realm) = user_of(rrp);
            (user, realm, None)
        }
    };
    let conf = kerberos::conf().map_err(denied)?;
    let secret = match secret {
        Some(Secret::Password(password)) => KerberosSecret::Password(password),
        Some(Secret::Keytab(file)) => kerberos::keys(file.unwrap_or_else(kerberos::keytab)),
        Some(Secret::Cache(Some(place))) => kerberos::tickets(kerberos::place_of(&place).map_err(denied)?),
        Some(Secret::Cache(None)) => match kerberos::cache(&conf).map_err(denied)? {
            Some(file) => kerberos::tickets(file),
            None => return Err(denied("there are no tickets: get some with kinit".to_string())),
        },
        None => match kerberos::cache(&conf) {
            Ok(Some(file)) => kerberos::tickets(file),
            Ok(None) => return Err(denied(nothing(&path, rrp, None))),
            Err(why) => return Err(denied(nothing(&path, rrp, Some(why)))),
        },
    };
    Ok(Some(Credentials::Kerberos(KerberosLogin { user, realm, secret, conf })))
}

/// The message when nothing logs in.
fn nothing(path: &std::path::Path, rrp: &RrpAddress, tickets: Option<String>) -> String {
    let user = rrp.user.as_deref().unwrap_or("USER");
    let words = "write a line there, in a file of mode 0600 so that nobody else can read it";
    let tickets = tickets.unwrap_or_else(|| "or get tickets of Kerberos with kinit".to_string());
    format!("{} has no password for it: {words}: {user}@{} PASSWORD; {tickets}", path.display(), rrp.host)
}

/// What a line says.
#[derive(Debug)]
enum Found {
    Password(PasswordLogin),
    Kerberos { user: Option<String>, realm: Option<String>, secret: Secret },
    Wrong(String),
}

enum Secret {
    Cache(Option<String>),
    Keytab(Option<PathBuf>),
    Password(String),
}

impl std::fmt::Debug for Secret {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Secret::Cache(place) => write!(f, "Cache({place:?})"),
            Secret::Keytab(file) => write!(f, "Keytab({file:?})"),
            Secret::Password(_) => f.write_str("Password"),
        }
    }
}

/// The first line for an address.
fn find(text: &str, address: &RrpAddress) -> Option<Found> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        match line.strip_prefix("kerberos").filter(|rest| rest.starts_with([' ', '\t'])) {
            Some(rest) => by_kerberos(rest.trim_start(), address),
            None => by_password(line, address).map(Found::Password),
        }
    })
}

fn is_host(host: &str, address: &RrpAddress) -> bool {
    host == "*" || host.eq_ignore_ascii_case(&address.host)
}

fn by_password(line: &str, address: &RrpAddress) -> Option<PasswordLogin> {
    let (who, password) = line.split_once([' ', '\t'])?;
    let (user, host) = who.rsplit_once('@')?;
    let (domain, user) = user.split_once(';').map_or((None, user), |(domain, user)| (Some(domain), user));
    let is_user = address.user.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(user));
    let is_domain = match (&address.domain, domain) {
        (Some(wanted), Some(domain)) => wanted.eq_ignore_ascii_case(domain),
        _ => true,
    };
    (is_host(host, address) && is_user && is_domain && !user.is_empty()).then(|| PasswordLogin {
        user: user.to_string(),
        domain: address.domain.clone().or_else(|| domain.map(str::to_string)),
        password: password.to_string(),
    })
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
        "password" if !rest.is_empty() => Secret::Password(rest.to_string()),
        _ => {
            let words = "write: kerberos USER@REALM@HOST cache, keytab FILE or password PASSWORD";
            return Some(Found::Wrong(format!("the line for {who} is wrong: {words}")));
        }
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
                Found::Password(it) => (it.user.as_str(), it.domain.as_deref(), it.password.as_str()),
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
                    kerberosbob@win6 x\neve@win1 y\n";
        for (address, expected) in [
            ("rrp://win1", r#"Some("ann") Some("CORP.EXAMPLE") Keytab(Some("/k"))"#),
            ("rrp://ann@Corp.Example@win1", r#"Some("ann") Some("CORP.EXAMPLE") Keytab(Some("/k"))"#),
            ("rrp://CORP.EXAMPLE;ann@WIN1", r#"Some("ann") Some("CORP.EXAMPLE") Keytab(Some("/k"))"#),
            ("rrp://bob@win1", "nothing"),
            ("rrp://ann@OTHER@win1", "nothing"),
            ("rrp://dan@win2", r#"Some("dan") None Cache(Some("FILE:/c"))"#),
            ("rrp://win3", r#"Some("bob") None Password"#),
            ("rrp://win4", r#"Some("bob") None Cache(None)"#),
            ("rrp://win5", "the line for bob@win5 is wrong"),
            ("rrp://eve@win1", "password of eve"),
            ("rrp://win6", "password of kerberosbob"),
        ] {
            let Address::Rrp(address) = address.parse().unwrap() else { panic!("{address}") };
            let found = match find(file, &address) {
                None => "nothing".to_string(),
                Some(Found::Password(login)) => format!("password of {}", login.user),
                Some(Found::Wrong(why)) => why,
                Some(Found::Kerberos { user, realm, secret }) => {
                    if let Secret::Password(password) = &secret {
                        assert_eq!(password, " a b ");
                    }
                    format!("{user:?} {realm:?} {secret:?}")
                }
            };
            assert!(found.starts_with(expected), "{address:?}: {found}");
        }
    }
}
