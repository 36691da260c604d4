//! `krb5.conf`: realms, their servers, and the realms of hosts. Files that it includes are put in before.

use std::collections::BTreeMap;

/// So many servers of a realm are tried.
const MOST_SERVERS: usize = 8;

/// The settings that a client needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conf {
    /// The realm of users who name none.
    pub default_realm: Option<String>,
    /// Where tickets are, such as `FILE:/tmp/krb5cc_%{uid}`.
    pub default_cache: Option<String>,
    servers: BTreeMap<String, Vec<String>>,
    domains: Vec<(String, String)>,
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

    /// The servers of a realm as `host:port`. Without any in the settings the realm's own name is one: in a
    /// domain of Windows it leads to the domain controllers.
    pub fn servers(&self, realm: &str) -> Vec<String> {
        match self.servers.get(realm) {
            Some(servers) => servers.clone(),
            None => vec![with_port(&realm.to_ascii_lowercase())],
        }
    }

    /// Whether the settings have servers of a realm.
    pub fn knows(&self, realm: &str) -> bool {
        self.servers.contains_key(realm)
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
