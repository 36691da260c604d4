#![allow(clippy::arithmetic_side_effects)]

use super::{Cache, Conf, Keytab, name_servers};

#[test]
fn settings() {
    let conf = Conf::parse(
        "# a comment\n[libdefaults]\n  default_realm = CORP.EXAMPLE\n default_realm = OTHER\n\
         default_ccache_name = \"FILE:/tmp/krb5cc_%{uid}\"\n[realms]\nCORP.EXAMPLE = {\n kdc = kdc1.corp.example\n\
         kdc = 10.0.0.1:1088\n kdc = [::1]:88\n kdc = fe80::1\n auth_to_local_names = {\n kdc = not-this\n }\n\
         admin_server = nobody\n}\n[domain_realm]\n.corp.example = CORP.EXAMPLE\n lab.corp.example = LAB\n\
         db.other = CORP.EXAMPLE\n[appdefaults]\ndefault_realm = x\nnonsense\n}\n}\n",
    );
    assert_eq!(conf.default_realm.as_deref(), Some("CORP.EXAMPLE"));
    assert_eq!(conf.default_cache.as_deref(), Some("FILE:/tmp/krb5cc_%{uid}"));
    assert_eq!(
        conf.servers("CORP.EXAMPLE").unwrap(),
        ["kdc1.corp.example:88", "10.0.0.1:1088", "[::1]:88", "[fe80::1]:88"]
    );
    assert_eq!(conf.servers("AD.EXAMPLE"), None);
    assert_eq!(conf.server_by_name("AD.EXAMPLE"), "ad.example:88");
    assert!(conf.looks_up && conf.kcm_socket.is_none());
    let conf_of = |text: &str| Conf::parse(&format!("[libdefaults]\n{text}\n"));
    assert!(!conf_of("dns_lookup_kdc = no").looks_up);
    assert!(!conf_of("dns_lookup_kdc = no\ndns_lookup_kdc = yes").looks_up);
    assert!(conf_of("dns_lookup_kdc = yes\ndns_lookup_kdc = no").looks_up);
    assert_eq!(conf_of("kcm_socket = /run/kcm").kcm_socket.as_deref(), Some("/run/kcm"));
    let servers = name_servers(
        "# x\nnameserver 10.0.0.1\nsearch a\nnameserver ::1\nnameserver 127.0.0.1:5353\n\
                                nameserver what\nnameserver\nnameserver fe80::1%eth0\n\
                                nameserver fe80::2%3\nnameserver fe80::3%gone\n",
        |interface| (interface == "eth0").then_some(7),
    );
    let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
    assert_eq!(
        servers,
        ["10.0.0.1:53", "[::1]:53", "127.0.0.1:5353", "[fe80::1%7]:53", "[fe80::2%3]:53", "[fe80::3]:53",]
    );
    for (host, realm) in [
        ("win1.corp.example", Some("CORP.EXAMPLE")),
        ("WIN1.a.Corp.Example", Some("CORP.EXAMPLE")),
        ("corp.example", None),
        ("x.lab.corp.example", Some("LAB")),
        ("lab.corp.example", Some("LAB")),
        ("db.other", Some("CORP.EXAMPLE")),
        ("web", None),
        ("", None),
    ] {
        assert_eq!(conf.realm_of(host), realm, "{host}");
    }
}

/// A name in a cache.
fn name(parts: &[&str], realm: &str) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 1, 0, 0, 0, parts.len() as u8];
    for part in [realm].iter().chain(parts) {
        bytes.extend_from_slice(&(part.len() as u32).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

/// A cache with two tickets for one service.
fn cache() -> Vec<u8> {
    let mut bytes = vec![5, 4, 0, 4, 0, 9, 0, 0];
    bytes.extend(name(&["ann"], "R"));
    for ends in [100u32, 200] {
        bytes.extend(name(&["ann"], "R"));
        bytes.extend(name(&["cifs", "Web1"], "R"));
        bytes.extend([0, 18, 0, 0, 0, 2, 7, 7]);
        bytes.extend([0, 0, 0, 50, 0, 0, 0, 0]);
        bytes.extend(ends.to_be_bytes());
        bytes.extend([0; 9]);
        bytes.extend([0, 0, 0, 1, 0, 2, 0, 0, 0, 1, 9, 0, 0, 0, 0]);
        bytes.extend([0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0]);
    }
    bytes
}

#[test]
fn the_ticket_that_is_valid_longest_is_taken() {
    let cache = Cache::parse(&cache()).unwrap();
    assert_eq!(cache.owner.to_string(), "ann@R");
    let ticket = cache.ticket(&["cifs", "web1"], None).unwrap();
    assert_eq!((ticket.starts, ticket.ends, ticket.bytes.as_slice()), (50, 200, [1, 2, 3].as_slice()));
    assert_eq!(ticket.key.kind, 18);
    assert!(cache.ticket(&["cifs", "web1"], Some("Q")).is_none());
    assert!(cache.ticket(&["cifs"], None).is_none());
    assert!(!format!("{cache:?}").contains("[7, 7]"));
}

/// A keytab with a hole, and a key whose version has 32 bits.
fn keytab() -> Vec<u8> {
    let mut entry = vec![0, 1, 0, 1, b'R', 0, 3, b'a', b'n', b'n'];
    entry.extend([0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 18, 0, 2, 7, 7, 0, 0, 1, 2]);
    let mut bytes = vec![5, 2];
    bytes.extend((-3i32).to_be_bytes());
    bytes.extend([1, 2, 3]);
    bytes.extend((entry.len() as u32).to_be_bytes());
    bytes.extend(&entry);
    bytes
}

#[test]
fn keys_of_a_keytab() {
    let keytab = Keytab::parse(&keytab()).unwrap();
    let [key] = keytab.keys.as_slice() else { panic!("{keytab:?}") };
    assert_eq!((key.owner.to_string().as_str(), key.version, key.key.kind), ("ann@R", 258, 18));
    assert!(!format!("{keytab:?}").contains("[7, 7]"));
}

#[test]
fn damaged_files_are_named() {
    assert!(Cache::parse(&[5, 2, 0]).unwrap_err().contains("version 0x0502"));
    assert!(Keytab::parse(&[5, 1]).unwrap_err().contains("version 0x0501"));
    // Cut anywhere, they are damaged, but where an entry ends.
    let (whole, head) = (cache(), 8 + name(&["ann"], "R").len());
    let each = (whole.len() - head) / 2;
    for end in 0..whole.len() {
        let is_end = end == head || end == head + each;
        assert_eq!(Cache::parse(&whole[..end]).is_ok(), is_end, "{end}");
    }
    let whole = keytab();
    for end in 0..whole.len() {
        assert_eq!(Keytab::parse(&whole[..end]).is_ok(), [2, 9].contains(&end), "{end}");
    }
    // A count of parts or of addresses that no file can have.
    let mut many = cache();
    many[12..16].copy_from_slice(&[255; 4]);
    assert_eq!(Cache::parse(&many), Err("a name has 4294967295 parts".to_string()));
    // Any other byte changes something or nothing, and ends.
    for at in 0..cache().len() {
        for byte in [0, 1, 127, 128, 255] {
            let mut changed = cache();
            changed[at] = byte;
            let _ = Cache::parse(&changed);
            let mut changed = keytab();
            if let Some(place) = changed.get_mut(at) {
                *place = byte;
                let _ = Keytab::parse(&changed);
            }
        }
    }
}
