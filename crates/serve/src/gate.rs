//! Who may ask: the token, and the `Host`, `Origin` and `Sec-Fetch-Site` headers.
//!
//! Every page in the user's browser can send requests to this machine, and with a name that suddenly means
//! 127.0.0.1 (DNS rebinding) even read the answers. So a request must name this server in `Host`, must not
//! come from another origin, and must have the token, which only the printed address has. The browser keeps
//! the token as a cookie. Cookies are sent to every port of a host, so the cookie belongs to a secret folder:
//! another server on this machine, whose port the user visits, is not sent it.

use std::net::{IpAddr, SocketAddr};

use hyper::Request;
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};

/// Bytes of the token.
const TOKEN_BYTES: usize = 16;
/// Letters of a token that was kept: at least, and at most.
const TOKEN_LEAST: usize = 16;
const TOKEN_MOST: usize = 256;
/// Bytes of the name of the folder.
const FOLDER_BYTES: usize = 6;
/// The name of the cookie.
const COOKIE_NAME: &str = "tally";

/// What a request needs.
#[derive(Debug)]
pub(crate) struct Gate {
    token: String,
    folder: String,
    hosts: Vec<String>,
    port: u16,
    /// Whether requests come over TLS, and may then name this server by any address in numbers: a name that
    /// suddenly means this machine is never one.
    is_secure: bool,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// `Host` is missing or names another server.
    Host,
    /// It comes from another origin.
    Origin,
    /// There is no token, or a wrong one.
    Token,
}

impl Refusal {
    /// What is wrong and what to do.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Refusal::Host => {
                "this server does not have the name in the Host header; open the address that 'tally serve' \
                 printed"
            }
            Refusal::Origin => "requests from other sites are refused",
            Refusal::Token => "the token is missing or wrong; open the address that 'tally serve' printed",
        }
    }
}

impl Gate {
    /// A gate with a token that was kept, or a new one.
    ///
    /// `names` are those of a server over TLS; a server without TLS has none.
    pub(crate) fn new(
        address: SocketAddr,
        token: Option<String>,
        names: Option<&[String]>,
    ) -> Result<Gate, getrandom::Error> {
        let port = address.port();
        let mut hosts = vec![address.to_string(), format!("localhost:{port}")];
        hosts.extend(names.unwrap_or_default().iter().map(|name| format!("{name}:{port}")));
        let is_secure = names.is_some();
        if port == if is_secure { 443 } else { 80 } {
            hosts.extend([address.ip().to_string(), "localhost".to_string()]);
            hosts.extend(names.unwrap_or_default().iter().cloned());
        }
        let token = token.map_or_else(random::<TOKEN_BYTES>, Ok)?;
        Ok(Gate { token, folder: random::<FOLDER_BYTES>()?, hosts, port, is_secure })
    }

    /// The path with the token, which the user opens first.
    pub(crate) fn first_path(&self) -> String {
        format!("/{}/?token={}", self.folder, self.token)
    }

    /// The folder of the page.
    pub(crate) fn folder_path(&self) -> String {
        format!("/{}/", self.folder)
    }

    /// The token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The path without the secret folder.
    pub(crate) fn inner<'p>(&self, path: &'p str) -> &'p str {
        let inner = path.strip_prefix('/').and_then(|path| path.strip_prefix(self.folder.as_str()));
        inner.filter(|inner| inner.starts_with('/')).unwrap_or(path)
    }

    /// The cookie that the first answer sets.
    pub(crate) fn cookie(&self) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{COOKIE_NAME}={}; Path=/{}/; HttpOnly; SameSite=Strict{secure}", self.token, self.folder)
    }

    /// The scheme of addresses of this server.
    pub(crate) const fn scheme(&self) -> &'static str {
        if self.is_secure { "https" } else { "http" }
    }

    /// Whether a host with its port is this server.
    fn is_ours(&self, host: &str) -> bool {
        if self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
            return true;
        }
        let is_port = |address: SocketAddr| address.port() == self.port;
        let is_plain = || self.port == 443 && host.parse::<IpAddr>().is_ok();
        self.is_secure && host.parse().map_or_else(|_| is_plain(), is_port)
    }

    /// Whether a text is the token. The time that it takes does not depend on where they differ.
    pub(crate) fn is_token(&self, text: &str) -> bool {
        let pairs = self.token.bytes().zip(text.bytes());
        self.token.len() == text.len() && pairs.fold(0, |sum, (left, right)| sum | (left ^ right)) == 0
    }

    /// Whether a text may be a token: long enough, and the same in an address and in a header.
    pub(crate) fn is_possible(token: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        (TOKEN_LEAST..=TOKEN_MOST).contains(&token.len()) && token.bytes().all(is_plain)
    }

    /// Checks where a request comes from, without its token.
    pub(crate) fn origin<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let headers = request.headers();
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).filter(|host| self.is_ours(host));
        // A target with a host of its own is for a proxy.
        if host.is_none() || hosts.next().is_some() || request.uri().authority().is_some() {
            return Err(Refusal::Host);
        }
        for origin in headers.get_all(ORIGIN) {
            let (scheme, origin) = (self.scheme(), origin.to_str().ok());
            let origin = origin.and_then(|origin| origin.strip_prefix(scheme)?.strip_prefix("://"));
            if !origin.is_some_and(|origin| self.is_ours(origin)) {
                return Err(Refusal::Origin);
            }
        }
        let site = headers.get(HeaderName::from_static("sec-fetch-site"));
        match site.map(|site| site.as_bytes()) {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) => Err(Refusal::Origin),
        }
    }

    /// Checks the token in the cookie or in `Authorization: Bearer`.
    pub(crate) fn token_of(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
        let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
        let in_cookie = pairs.any(|pair| {
            let pair = pair.trim().strip_prefix(COOKIE_NAME).and_then(|rest| rest.strip_prefix('='));
            pair.is_some_and(|token| self.is_token(token))
        });
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let in_bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        if in_cookie || in_bearer.is_some_and(|token| self.is_token(token.trim())) {
            return Ok(());
        }
        Err(Refusal::Token)
    }
}

fn random<const N: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        let mut gate = Gate::new(SocketAddr::from(([127, 0, 0, 1], 8060)), None, None).unwrap();
        (gate.token, gate.folder) = ("00112233445566778899aabbccddeeff".into(), "c0ffee".into());
        gate
    }

    #[test]
    fn requests_that_name_another_server_or_come_from_another_site_are_refused() {
        for (headers, expected) in [
            (&[("host", "127.0.0.1:8060")][..], Ok(())),
            (&[("host", "LocalHost:8060")], Ok(())),
            (&[("host", "localhost:8060"), ("origin", "http://localhost:8060")], Ok(())),
            (&[("host", "localhost:8060"), ("sec-fetch-site", "same-origin")], Ok(())),
            (&[("host", "localhost:8060"), ("sec-fetch-site", "none")], Ok(())),
            (&[], Err(Refusal::Host)),
            (&[("host", "evil.example:8060")], Err(Refusal::Host)),
            (&[("host", "127.0.0.1:8061")], Err(Refusal::Host)),
            (&[("host", "127.0.0.1")], Err(Refusal::Host)),
            (&[("host", "127.0.0.1:8060"), ("host", "evil.example")], Err(Refusal::Host)),
            (&[("host", "127.0.0.1:8060"), ("origin", "http://evil.example")], Err(Refusal::Origin)),
            (&[("host", "127.0.0.1:8060"), ("origin", "null")], Err(Refusal::Origin)),
            (&[("host", "127.0.0.1:8060"), ("origin", "https://127.0.0.1:8060")], Err(Refusal::Origin)),
            (&[("host", "127.0.0.1:8060"), ("sec-fetch-site", "cross-site")], Err(Refusal::Origin)),
            (&[("host", "127.0.0.1:8060"), ("sec-fetch-site", "same-site")], Err(Refusal::Origin)),
        ] {
            let mut request = Request::builder().uri("/api/v1/hosts");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            assert_eq!(gate().origin(&request.body(()).unwrap()), expected, "{headers:?}");
        }
        let proxied = Request::builder().uri("http://evil.example/").header("host", "127.0.0.1:8060");
        assert_eq!(gate().origin(&proxied.body(()).unwrap()), Err(Refusal::Host));
    }

    #[test]
    fn over_tls_a_server_has_its_names_and_addresses_in_numbers() {
        let names = ["web1.example.net".to_string()];
        let gate = Gate::new(SocketAddr::from(([0, 0, 0, 0], 8060)), None, Some(&names)).unwrap();
        for (host, origin, expected) in [
            ("web1.example.net:8060", None, Ok(())),
            ("WEB1.example.net:8060", Some("https://web1.example.net:8060"), Ok(())),
            ("192.0.2.1:8060", Some("https://192.0.2.1:8060"), Ok(())),
            ("[2001:db8::1]:8060", None, Ok(())),
            ("192.0.2.1:8061", None, Err(Refusal::Host)),
            ("192.0.2.1", None, Err(Refusal::Host)),
            ("evil.example:8060", None, Err(Refusal::Host)),
            ("192.0.2.1:8060", Some("http://192.0.2.1:8060"), Err(Refusal::Origin)),
            ("192.0.2.1:8060", Some("https://evil.example:8060"), Err(Refusal::Origin)),
            ("192.0.2.1:8060", Some("httpsx://192.0.2.1:8060"), Err(Refusal::Origin)),
        ] {
            let mut request = Request::builder().uri("/").header("host", host);
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            assert_eq!(gate.origin(&request.body(()).unwrap()), expected, "{host} {origin:?}");
        }
        assert!(gate.cookie().ends_with("; Secure") && gate.scheme() == "https");
        let plain = Gate::new(SocketAddr::from(([127, 0, 0, 1], 8060)), None, None).unwrap();
        assert!(!plain.cookie().contains("Secure"));
        let request = Request::builder().uri("/").header("host", "192.0.2.1:8060");
        assert_eq!(plain.origin(&request.body(()).unwrap()), Err(Refusal::Host));
    }

    #[test]
    fn the_token_is_in_the_cookie_or_in_the_authorization() {
        let token = gate().token;
        for (name, value, expected) in [
            ("cookie", format!("a=b; tally={token}"), Ok(())),
            ("cookie", format!("tally={token}"), Ok(())),
            ("cookie", format!("xtally={token}"), Err(Refusal::Token)),
            ("cookie", "tally=".to_string(), Err(Refusal::Token)),
            ("cookie", format!("tally={token}0"), Err(Refusal::Token)),
            ("cookie", format!("tally={}", token.replace('f', "e")), Err(Refusal::Token)),
            ("authorization", format!("Bearer {token}"), Ok(())),
            ("authorization", format!("Basic {token}"), Err(Refusal::Token)),
        ] {
            let request = Request::builder().header(name, &value).body(()).unwrap();
            assert_eq!(gate().token_of(request.headers()), expected, "{name}: {value}");
        }
    }

    #[test]
    fn the_secret_folder_is_left_out_of_paths() {
        for (path, inner) in [
            ("/c0ffee/api/v1/hosts", "/api/v1/hosts"),
            ("/c0ffee/", "/"),
            ("/c0ffee", "/c0ffee"),
            ("/c0ffee2/x", "/c0ffee2/x"),
            ("/api/v1/hosts", "/api/v1/hosts"),
        ] {
            assert_eq!(gate().inner(path), inner);
        }
    }

    #[test]
    fn every_gate_has_another_token() {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let (one, two) = (Gate::new(address, None, None).unwrap(), Gate::new(address, None, None).unwrap());
        assert!(one.token.len() == 2 * TOKEN_BYTES && one.token != two.token && one.folder != two.folder);
    }
}
