//! `krb5.conf`: realms, their servers, and the realms of hosts. Files that it includes are put in before.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

/// The port of DNS.
const DNS: u16 = 53;

/// So many servers of a realm are tried.
const MOST_SERVERS: usize = 8;

/// The settings that a client needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conf {
    /// The realm of users who name none.
    pub default_realm: Option<String>,
    /// Where tickets are, such as `FILE:/tmp/krb5cc_%{uid}`.
    pub default_cache: Option<String>,
    /// The socket of the service that keeps tickets (`KCM:`), if it is not the usual one.
    pub kcm_socket: Option<String>,
    /// Whether DNS is asked for the servers of a realm that the settings have none of.
    pub looks_up: bool,
    /// The servers of DNS of this machine. They are not part of these settings: others put them in.
    pub name_servers: Vec<SocketAddr>,
    /// What the settings say of asking DNS.
    says_looks_up: Option<bool>,
    servers: BTreeMap<String, Vec<String>>,
    domains: Vec<(String, String)>,
}

impl Default for Conf {
    fn default() -> Conf {
        Conf {
            default_realm: None,
            default_cache: None,
            kcm_socket: None,
            looks_up: true,
            name_servers: Vec::new(),
            says_looks_up: None,
            servers: BTreeMap::new(),
            domains: Vec::new(),
        }
    }
}

impl Conf {
    /// Reads settings. What is not understood is skipped: the files have a lot that is for others.
    pub fn parse(text: &str) -> Conf {
        let mut conf = Conf::default();
        let (mut section, mut block) = (String::new(), Vec::new());
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                section = name.split(']').next().unwrap_or_default().trim().to_string();
                block.clear();
                continue;
            }
            if line.starts_with('}') {
                block.pop();
                continue;
            }
            let Some((name, value)) = line.split_once('=') else { continue };
            let (name, value) = (name.trim(), value.trim());
            if value.starts_with('{') {
                block.push(name.to_string());
                continue;
            }
            conf.note(&section, &block, name, value.trim_matches('"'));
        }
        conf
    }

    fn note(&mut self, section: &str, block: &[String], name: &str, value: &str) {
        match (section, block, name) {
            // The first value counts, as for everybody else who reads these files.
            ("libdefaults", [], "default_realm") => {
                self.default_realm.get_or_insert_with(|| value.to_string());
            }
            ("libdefaults", [], "default_ccache_name") => {
                self.default_cache.get_or_insert_with(|| value.to_string());
            }
            ("libdefaults", [], "dns_lookup_kdc") => {
                let is_off = ["false", "no", "off", "n", "f", "0", "nil"];
                let is_on = !is_off.contains(&value.to_ascii_lowercase().as_str());
                self.looks_up = *self.says_looks_up.get_or_insert(is_on);
            }
            ("libdefaults", [], "kcm_socket") => {
                self.kcm_socket.get_or_insert_with(|| value.to_string());
            }
            ("realms", [realm], "kdc") => {
                let servers = self.servers.entry(realm.clone()).or_default();
                if servers.len() < MOST_SERVERS {
                    servers.push(with_port(value));
                }
            }
            ("domain_realm", [], _) => {
                self.domains.push((name.to_ascii_lowercase(), value.to_string()));
            }
            _ => {}
        }
    }

    /// The same settings, with the servers of DNS of this machine.
    #[must_use]
    pub fn with_name_servers(mut self, servers: Vec<SocketAddr>) -> Conf {
        self.name_servers = servers;
        self
    }

    /// The servers of a realm as `host:port`, if the settings have some.
    pub fn servers(&self, realm: &str) -> Option<&[String]> {
        self.servers.get(realm).map(Vec::as_slice)
    }

    /// The server that has the name of a realm: in a domain of Windows it leads to the domain controllers.
    pub fn server_by_name(&self, realm: &str) -> String {
        with_port(&realm.to_ascii_lowercase())
    }

    /// The realm of a host, if the settings say so: by its name, or by the longest domain that it is in.
    pub fn realm_of(&self, host: &str) -> Option<&str> {
        let host = host.to_ascii_lowercase();
        let mut rest = host.as_str();
        loop {
            let found = self.domains.iter().find(|(domain, _)| domain == rest);
            if let Some((_, realm)) = found {
                return Some(realm);
            }
            // `.example.com` is for hosts in it, `example.com` for itself and for hosts in it.
            let behind = rest.strip_prefix('.').unwrap_or(rest);
            rest =
                if rest.starts_with('.') { behind } else { rest.find('.').and_then(|at| rest.get(at..))? };
        }
    }
}

/// The servers of DNS in the text of `resolv.conf`; one may have a port, as in `127.0.0.1:5353`, or a network
/// interface, as in `fe80::1%eth0`. `index_of` has the numbers of interfaces. A server behind an unknown one
/// stays without it, so that an error names the server.
pub fn name_servers(text: &str, index_of: impl Fn(&str) -> Option<u32>) -> Vec<SocketAddr> {
    let scoped = |place: &str| {
        let (address, interface) = place.split_once('%')?;
        let index = interface.parse().ok().or_else(|| index_of(interface)).unwrap_or(0);
        Some(SocketAddr::V6(SocketAddrV6::new(address.parse().ok()?, DNS, 0, index)))
    };
    let server = |line: &str| {
        let mut words = line.split_whitespace();
        let place = (words.next() == Some("nameserver")).then(|| words.next()).flatten()?;
        let plain = || Some(SocketAddr::new(place.parse::<IpAddr>().ok()?, DNS));
        place.parse().ok().or_else(plain).or_else(|| scoped(place))
    };
    text.lines().filter_map(server).collect()
}

fn with_port(server: &str) -> String {
    let is_bare = match server.rsplit_once(':') {
        None => true,
        // An address of version 6 without a port.
        Some((host, _)) => host.contains(':') && !host.ends_with(']'),
    };
    match is_bare {
        true if server.contains(':') && !server.starts_with('[') => format!("[{server}]:88"),
        true => format!("{server}:88"),
        false => server.to_string(),
    }
}
