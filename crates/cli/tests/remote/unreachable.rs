//! Hosts over TLS that stop or lie, as those over ssh in `hostile` and Samba in `smbd`; and hosts that are
//! not there at all, by every way.

use std::fs;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::smbd::{End, passwords, relay_from};
use crate::support::{AVAILABLE, Net, has};
use crate::tls::{Server, connect_from, key_file};

#[test]
fn attack_a_server_of_tls_that_stops_or_lies_anywhere_costs_itself_only() {
    let net = Net::new(&[]);
    let server = Server::start(&net, "server", &[]);
    server.pair(&net);
    // Through the handshake, the greeting, lengths, tables and blocks.
    let steps = [0, 1, 4, 5, 90, 130, 500, 700, 900, 1_500, 20_000, 100_000];
    let mut relays = Vec::new();
    for (kind, (word, end)) in
        [("hang", End::Hang), ("close", End::Close), ("lie", End::Lie)].into_iter().enumerate()
    {
        relays.extend(steps.into_iter().enumerate().map(|(step, bytes)| {
            // Each comes from an address of its own: one with many failures is closed at once for a minute.
            let (kind, step) = (u8::try_from(kind).unwrap(), u8::try_from(step).unwrap());
            let (from, to) = (Ipv4Addr::new(127, 0, 1 + kind, 1 + step), server.place().to_string());
            let connect = move || connect_from(from, &to).unwrap();
            (format!("{word}{bytes}"), relay_from(connect, bytes, end))
        }));
    }
    // The key of the host is right: the server itself is behind each of them.
    let mut table = format!("good {}\n", server.address);
    let peers = key_file(&net, "peers");
    let mut known = fs::read_to_string(&peers).unwrap();
    for (name, port) in &relays {
        table.push_str(&format!("{name} tls://127.0.0.1:{port}\n"));
        known.push_str(&format!("server {name} {} tls://127.0.0.1:{port}\n", server.key));
    }
    fs::write(&peers, known).unwrap();
    net.file("root/hosts", table.as_bytes());
    let begun = Instant::now();
    for some in relays.chunks(12) {
        let mut words = vec!["get", r"\Memory\*", "--timeout", "3s", "-H", "good"];
        words.extend(some.iter().flat_map(|(name, _)| ["-H", name.as_str()]));
        let ran = net.tally(&words);
        has(&ran.out, &[r"\\good\Memory\Available MBytes"]);
        for (name, port) in some {
            let prefix = format!("tally: tls://127.0.0.1:{port}: ");
            let line = ran.err.lines().find(|line| line.starts_with(&prefix));
            let line = line.unwrap_or_else(|| panic!("{name} is not named in {}\n{}", ran.err, ran.out));
            assert!(!name.starts_with("hang") || line.contains("no answer within 3s"), "{name}: {line}");
        }
        assert_eq!(ran.code, Some(3), "{}", ran.err);
    }
    assert!(begun.elapsed() < Duration::from_secs(90));
    tallymon_testkit::attack(
        "TLS",
        "a server stops, closes or sends noise after any number of bytes, with the right key",
        "a named error within the deadline; the healthy host beside it is read",
    );
}

#[test]
fn hosts_that_are_not_there_are_named() {
    let net = Net::new(&[]);
    passwords(&net, "nobody@* secret\n");
    let server = Server::start(&net, "server", &[]);
    server.pair(&net);
    let peers = key_file(&net, "peers");
    let known = fs::read_to_string(&peers).unwrap();
    let mut more = known.clone();
    for address in ["tls://nowhere.invalid", "tls://127.0.0.1:9"] {
        more.push_str(&format!("server x{} {} {address}\n", more.len(), server.key));
    }
    fs::write(&peers, more).unwrap();
    net.file("root/hosts", format!("good {}\n", server.address).as_bytes());
    for (address, code, part) in [
        ("ssh://nowhere.invalid", 6, "Could not resolve hostname nowhere.invalid"),
        ("tls://nowhere.invalid", 6, "nowhere.invalid"),
        ("tls://127.0.0.1:9", 6, "Connection refused"),
        ("rrp://nobody@nowhere.invalid", 6, "connecting: "),
        ("rrp://nobody@127.0.0.1:9", 6, "connecting: "),
    ] {
        let begun = Instant::now();
        let ran = net.tally(&["get", AVAILABLE, "--timeout", "5s", "-H", address, "-H", "good"]);
        assert!(begun.elapsed() < Duration::from_secs(15), "{address}");
        assert_eq!(ran.code, Some(3), "{address}: {}", ran.err);
        has(&ran.err, &[&format!("tally: {address}: "), part]);
        assert!(!ran.err.contains("secret"), "{}", ran.err);
        has(&ran.out, &["Available MBytes"]);
        let alone = net.tally(&["get", AVAILABLE, "--timeout", "5s", "-H", address]);
        assert_eq!(alone.code, Some(code), "{address}: {}", alone.err);
    }
}

/// Whatever a user writes a password into, no message has it, and each says where it belongs.
#[test]
fn a_password_in_an_address_is_in_no_message() {
    let net = Net::new(&[]);
    let memory = AVAILABLE;
    let file = net.file("farm", b"win1 rrp://ann:sec/ret@win1\n");
    let farm = format!("@{}", file.display());
    for (words, part) in [
        (
            &["get", memory, "-H", "rrp://ann:sec/ret@win1"][..],
            "\"rrp://ann:…@win1\": an address has no password",
        ),
        (
            &["get", memory, "-H", "ssh://ann:sec@ret@win1"],
            "\"ssh://ann:…@win1\": an address has no password",
        ),
        (&["get", memory, "-H", "ann:sec?ret@win1"], "\"ann:…@win1\""),
        (&["get", memory, "-H", &farm], "farm, line 1: \"rrp://ann:…@win1\": an address has no password"),
        (&["watch", memory, "-c", "1", "-H", "tls://ann:sec/ret@win1"], "\"tls://ann:…@win1\": an address"),
        (&["serve", "-H", "ssh://ann:sec/ret@win1"], "\"ssh://ann:…@win1\": an address"),
        (&["log", "start", "x", "-c", memory, "-H", "rrp://ann:sec/ret@win1"], "\"rrp://ann:…@win1\": an"),
        (&["remote", "pair", "tls://ann:sec/ret@win1"], "\"tls://ann:…@win1\": an address"),
        (&["remote", "install", "ann:sec/ret@win1", "--yes"], "\"ssh://ann:…@win1\": an address"),
        (&["remote", "revoke", "tls://ann:sec/ret@win1"], "\"tls://ann:…@win1\""),
        (&["push", "--otlp", "http://ann:sec/ret@win1", memory], "http://win1: the port is no number"),
        (&["compat", "typeperf", "-s", "ann:sec@ret@win1", memory], "called \"ann:…@win1\""),
        (&["compat", "typeperf", "-s", "rrp://ann:sec/ret@win1", memory], "\"rrp://ann:…@win1\": an address"),
        (&["compat", "logman", "update", "x", "-s", "ann:sec@ret@win1"], "called \"ann:…@win1\""),
        (&["dump", r"\\ann:sec@ret@win1\Global"], "called \"ann:…@win1\""),
    ] {
        let ran = net.tally(words);
        assert!(!matches!(ran.code, None | Some(0)) && ran.out.is_empty(), "{words:?}: {}", ran.err);
        has(&ran.err, &[part]);
        assert!(!ran.err.contains("sec"), "{words:?}: {}", ran.err);
    }
}
