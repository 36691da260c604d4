//! Where another machine is: `ssh://user@host:port`, `tls://host:port`, `rrp://user@host:port`.

use std::fmt;
use std::str::FromStr;

/// The address of another machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Address {
    /// `ssh://[user@]host[:port]`: the system's ssh starts `tally serve --stdio` there.
    Ssh(SshAddress),
    /// `rrp://[[domain;]user@]host[:port]`: the performance registry of Windows or Samba, over SMB.
    Rrp(RrpAddress),
    /// `tls://host[:port]`: `tally serve --tls` answers there.
    Tls(TlsAddress),
}

/// Where `tally serve --tls` listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TlsAddress {
    /// The host.
    pub host: String,
    /// The port; 7448 if it is missing.
    pub port: Option<u16>,
}

/// What a login at a Windows or Samba host needs, but for the password.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RrpAddress {
    /// The domain of the user.
    pub domain: Option<String>,
    /// The user; `None` takes the first one that has a password for the host.
    pub user: Option<String>,
    /// The host.
    pub host: String,
    /// The port; 445 if it is missing.
    pub port: Option<u16>,
}

/// What ssh needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SshAddress {
    /// The user; `None` is what the configuration of ssh says.
    pub user: Option<String>,
    /// The host, or its alias in the configuration of ssh.
    pub host: String,
    /// The port; `None` is what the configuration of ssh says.
    pub port: Option<u16>,
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressError {
    /// The text, without a password that it must not have.
    pub text: String,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Problem {
    NoScheme,
    Scheme(String),
    Password,
    User,
    NoUser,
    Host,
    Port,
    Rest,
}

impl Address {
    /// The host without user and port: its name in counter paths, unless the user gave it another.
    pub fn host(&self) -> &str {
        match self {
            Address::Ssh(address) => &address.host,
            Address::Rrp(address) => &address.host,
            Address::Tls(address) => &address.host,
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let shown = without_password(text);
        let has_password = shown != text;
        let wrong = |problem| AddressError { text: shown.clone(), problem };
        if has_password {
            return Err(wrong(Problem::Password));
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong(Problem::NoScheme))?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.contains(['/', '?', '#', '\\']) {
            return Err(wrong(Problem::Rest));
        }
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        let (host, port) = host_and_port(place).map_err(wrong)?;
        if scheme.eq_ignore_ascii_case("ssh") {
            let is_user = |user: &&str| is_word(user, "._-+@");
            let user = user.map(|user| Some(user).filter(is_user).ok_or_else(|| wrong(Problem::User)));
            let user = user.transpose()?.map(str::to_string);
            return Ok(Address::Ssh(SshAddress { user, host, port }));
        }
        if scheme.eq_ignore_ascii_case("rrp") {
            let (domain, user) = match user.map(|user| user.split_once(';').unwrap_or(("", user))) {
                Some((domain, user)) => (Some(domain).filter(|domain| !domain.is_empty()), Some(user)),
                None => (None, None),
            };
            let is_name = |name: Option<&str>| name.is_none_or(|name| is_word(name, "._-+@$"));
            if !is_name(domain) || !is_name(user) {
                return Err(wrong(Problem::User));
            }
            let (domain, user) = (domain.map(str::to_string), user.map(str::to_string));
            return Ok(Address::Rrp(RrpAddress { domain, user, host, port }));
        }
        if scheme.eq_ignore_ascii_case("tls") {
            return match user {
                Some(_) => Err(wrong(Problem::NoUser)),
                None => Ok(Address::Tls(TlsAddress { host, port })),
            };
        }
        Err(wrong(Problem::Scheme(scheme.to_string())))
    }
}

/// A text that should be an address, for messages: with `…` in the place of a password.
///
/// A password is what stands between the first `:` and the last `@` behind the scheme, whatever it has.
///
/// ```
/// use tallymon_remote::without_password;
///
/// assert_eq!(without_password("rrp://ann:se/cr@t@web1:445"), "rrp://ann:…@web1:445");
/// assert_eq!(without_password("ssh://ann@web1"), "ssh://ann@web1");
/// ```
pub fn without_password(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    // Behind other signs '://' is a part of the password.
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let (scheme, rest) = if is_scheme { (scheme, rest) } else { ("", text) };
    let Some((user, place)) = rest.rsplit_once('@') else { return text.to_string() };
    let Some((user, _)) = user.split_once(':') else { return text.to_string() };
    let sign = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{sign}{user}:…@{place}")
}

/// Splits `host`, `host:22`, `[::1]` or `[::1]:22`.
///
/// A host has letters, digits and few signs only, and begins with a letter, a digit or `:`. Then it cannot
/// be taken for an option of ssh, and means nothing to a shell that a configuration of ssh runs with it.
fn host_and_port(place: &str) -> Result<(String, Option<u16>), Problem> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = rest.split_once(']').ok_or(Problem::Host)?;
            let port = match behind.strip_prefix(':') {
                Some(port) => Some(port),
                None if behind.is_empty() => None,
                None => return Err(Problem::Rest),
            };
            (host, port)
        }
        // Several colons without brackets are an address of IP version 6 without a port.
        None if place.matches(':').count() > 1 => (place, None),
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    if !is_word(host, "._-:%") {
        return Err(Problem::Host);
    }
    let is_port = |port: &&str| port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.map(|port| {
        let number = Some(port).filter(is_port).and_then(|port| port.parse::<u16>().ok());
        number.filter(|number| *number != 0).ok_or(Problem::Port)
    });
    Ok((host.to_string(), port.transpose()?))
}

/// Whether a text has letters, digits and these signs only, and does not begin with a sign but `:`.
fn is_word(text: &str, signs: &str) -> bool {
    text.starts_with(|first: char| first.is_alphanumeric() || first == ':')
        && text.chars().all(|letter| letter.is_alphanumeric() || signs.contains(letter))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ssh(address) => {
                f.write_str("ssh://")?;
                write_place(f, address.user.as_deref(), &address.host, address.port)
            }
            Address::Rrp(address) => {
                f.write_str("rrp://")?;
                if let Some(domain) = &address.domain {
                    write!(f, "{domain};")?;
                }
                write_place(f, address.user.as_deref(), &address.host, address.port)
            }
            Address::Tls(address) => address.fmt(f),
        }
    }
}

impl fmt::Display for TlsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tls://")?;
        write_place(f, None, &self.host, self.port)
    }
}

fn write_place(f: &mut fmt::Formatter<'_>, user: Option<&str>, host: &str, port: Option<u16>) -> fmt::Result {
    if let Some(user) = user {
        write!(f, "{user}@")?;
    }
    if host.contains(':') { write!(f, "[{host}]") } else { f.write_str(host) }?;
    port.map_or(Ok(()), |port| write!(f, ":{port}"))
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match &self.problem {
            Problem::NoScheme => {
                write!(f, "{text:?} is not an address of a host: write ssh://HOST, as in ssh://{text}")
            }
            Problem::Scheme(scheme) => {
                write!(
                    f,
                    "{text:?}: no way to a host is called {scheme:?}: write ssh://HOST, tls://HOST or \
                     rrp://HOST"
                )
            }
            Problem::Password => {
                write!(
                    f,
                    "{text:?}: an address has no password, because others can see it: leave it out. For \
                     rrp:// write it into the file of credentials, in a line USER@HOST PASSWORD; ssh has keys"
                )
            }
            Problem::User => write!(f, "{text:?}: the user is wrong: write it as in ssh://USER@HOST"),
            Problem::NoUser => write!(f, "{text:?}: no user logs in over TLS: write tls://HOST"),
            Problem::Host => {
                write!(f, "{text:?}: the host is wrong: write a name or an address, as in ssh://web1")
            }
            Problem::Port => write!(f, "{text:?}: the port is wrong: write a number from 1 to 65535"),
            Problem::Rest => write!(f, "{text:?}: nothing may follow the host and its port"),
        }
    }
}

impl std::error::Error for AddressError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, user, host, port) in [
            ("ssh://web1", None, "web1", None),
            ("SSH://web1/", None, "web1", None),
            ("ssh://ann@web1.example.net:2222", Some("ann"), "web1.example.net", Some(2222)),
            ("ssh://a@corp.example@web1", Some("a@corp.example"), "web1", None),
            ("ssh://[2001:db8::1]:22", None, "2001:db8::1", Some(22)),
            ("ssh://[fe80::1%eth0]", None, "fe80::1%eth0", None),
            ("ssh://::1", None, "::1", None),
            ("ssh://сервер", None, "сервер", None),
        ] {
            let Address::Ssh(address) = text.parse().unwrap() else { panic!("{text}") };
            assert_eq!(
                (address.user.as_deref(), address.host.as_str(), address.port),
                (user, host, port),
                "{text}"
            );
            // What is printed means the same.
            let printed = Address::Ssh(address.clone()).to_string();
            assert_eq!(printed.parse(), Ok(Address::Ssh(address)), "{printed}");
        }
    }

    #[test]
    fn addresses_of_windows() {
        for (text, domain, user) in [
            ("rrp://web1:14445", None, None),
            ("rrp://ann@web1:14445", None, Some("ann")),
            ("rrp://CORP;ann@web1:14445", Some("CORP"), Some("ann")),
            ("rrp://ann@corp.example@web1:14445", None, Some("ann@corp.example")),
        ] {
            let Address::Rrp(address) = text.parse().unwrap() else { panic!("{text}") };
            assert_eq!((address.domain.as_deref(), address.user.as_deref()), (domain, user), "{text}");
            assert_eq!((address.host.as_str(), address.port), ("web1", Some(14445)), "{text}");
            assert_eq!(Address::Rrp(address).to_string(), text);
        }
        assert!("rrp://a;b;c@web1".parse::<Address>().is_err());
    }

    #[test]
    fn addresses_over_tls() {
        for (text, host, port) in [
            ("tls://web1", "web1", None),
            ("tls://web1:7448", "web1", Some(7448)),
            ("tls://[::1]:1", "::1", Some(1)),
        ] {
            let Address::Tls(address) = text.parse().unwrap() else { panic!("{text}") };
            assert_eq!((address.host.as_str(), address.port), (host, port), "{text}");
            assert_eq!(Address::Tls(address).to_string(), text);
        }
    }

    #[test]
    fn a_wrong_address_says_which_part_is_wrong() {
        for (text, part) in [
            ("web1", "write ssh://HOST, as in ssh://web1"),
            ("", "is not an address"),
            ("ftp://web1", "\"ftp\""),
            ("tls://ann@web1", "no user"),
            ("tls://web1:0", "the port"),
            ("ssh://", "the host"),
            ("ssh://-oProxyCommand=id", "the host"),
            ("ssh://a;b", "the host"),
            ("ssh://$(id)", "the host"),
            ("ssh://a b", "the host"),
            ("ssh://-l@web1", "the user"),
            ("ssh://@web1", "the user"),
            ("ssh://a`id`@web1", "the user"),
            ("ssh://web1:", "the port"),
            ("ssh://web1:0", "the port"),
            ("ssh://web1:+22", "the port"),
            ("ssh://web1:99999", "the port"),
            ("ssh://[::1", "the host"),
            ("ssh://[::1]x", "nothing may follow"),
            ("ssh://web1/path", "nothing may follow"),
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_hidden() {
        for (text, shown) in [
            ("rrp://ann:secret@win1", "rrp://ann:…@win1"),
            ("rrp://CORP;ann:sec@ret@win1:445", "rrp://CORP;ann:…@win1:445"),
            ("rrp://ann@corp.example:secret@win1", "rrp://ann@corp.example:…@win1"),
            ("rrp://:secret@win1", "rrp://:…@win1"),
            ("ssh://ann:se/cret?secret#@web1/x", "ssh://ann:…@web1/x"),
            ("tls://ann:secret@web1", "tls://ann:…@web1"),
            ("http://ann:secret@web1", "http://ann:…@web1"),
            ("ann:secret@web1", "ann:…@web1"),
            ("ann:secret://secret@web1", "ann:…@web1"),
            ("rrp://ann:secret://secret@web1", "rrp://ann:…@web1"),
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert_eq!(error.text, shown);
            for words in [error.to_string(), format!("{error:?}")] {
                assert!(words.contains(shown) && !words.contains("ret"), "{text}: {words}");
            }
            assert!(error.to_string().contains("the file of credentials"), "{error}");
        }
    }
}
