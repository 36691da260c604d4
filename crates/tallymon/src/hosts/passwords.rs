//! Passwords of hosts: a file of the user that nobody else can read.
//!
//! Each line is `USER@HOST PASSWORD`, or `DOMAIN;USER@HOST PASSWORD`. A host `*` means all hosts. The
//! password is the rest of the line after one blank, whatever it has. Lines that begin with `#` are
//! comments.

use std::io;

use tallymon_core::flow::{SourceError, SourceErrorKind};
use tallymon_remote::{Address, Credentials, RrpAddress};

use super::own_file;
use crate::private_file;

/// Who logs in at an address; `None` if the address needs no password of ours.
///
/// # Errors
///
/// There is no password for the address, or others can read or change the file.
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
    find(&text, rrp).map(Some).ok_or_else(|| {
        let user = rrp.user.as_deref().unwrap_or("USER");
        let words = "write a line there, in a file of mode 0600 so that nobody else can read it";
        denied(format!("{} has no password for it: {words}: {user}@{} PASSWORD", path.display(), rrp.host))
    })
}

/// The first line for an address.
fn find(text: &str, address: &RrpAddress) -> Option<Credentials> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let (who, password) = line.split_once([' ', '\t'])?;
        let (user, host) = who.rsplit_once('@')?;
        let (domain, user) = user.split_once(';').map_or((None, user), |(domain, user)| (Some(domain), user));
        let is_host = host == "*" || host.eq_ignore_ascii_case(&address.host);
        let is_user = address.user.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(user));
        let is_domain = match (&address.domain, domain) {
            (Some(wanted), Some(domain)) => wanted.eq_ignore_ascii_case(domain),
            _ => true,
        };
        (is_host && is_user && is_domain && !user.is_empty()).then(|| Credentials {
            user: user.to_string(),
            domain: address.domain.clone().or_else(|| domain.map(str::to_string)),
            password: password.to_string(),
        })
    })
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
            let words =
                credentials.as_ref().map(|it| (it.user.as_str(), it.domain.as_deref(), it.password.as_str()));
            assert_eq!(words, found, "{address:?}");
            assert!(!format!("{credentials:?}").contains("secret"));
        }
    }
}
