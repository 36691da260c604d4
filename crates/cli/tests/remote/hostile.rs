//! Hosts that are missing, slow, or lie: each is a named error within the deadline, and the others are read.

use crate::support::{AVAILABLE, GREETING, Net, TALLY, good, has};

#[test]
fn attack_every_sick_host_is_named_and_the_healthy_one_is_read() {
    let block = r"\005\000\000\000\201\001\000\000\000";
    let cases: &[(&str, String, &str)] = &[
        ("absent", "echo 'sh: 1: tally: not found' >&2; exit 127".into(), "there is no program 'tally'"),
        ("unusable", "exit 126".into(), "cannot be run"),
        ("denied", "echo 'ann@x: Permission denied (publickey).' >&2; exit 255".into(), "Permission denied"),
        ("older", "echo \"error: unexpected argument '--stdio' found\" >&2; exit 2".into(), "is refused"),
        ("noisy", format!("echo 'Welcome to noisy'; {}", good()), "found \"Welcome to noisy\\n"),
        ("newer", r"printf 'TALLYMON\007\000\011\000'; exec sleep 60".into(), "frames are 7 to 9"),
        ("silent", "exec sleep 60".into(), "no answer within 2s to the request for a connection"),
        (
            "halfway",
            "printf TALLY; exec sleep 60".into(),
            "no answer within 2s to the request for a connection",
        ),
        (
            "mute",
            format!("printf '{GREETING}'; exec sleep 60"),
            "no answer within 2s to the request for its languages",
        ),
        ("ended", format!("printf '{GREETING}'"), "the connection was closed; ssh ended with code 0"),
        ("killed", format!("printf '{GREETING}'; kill -9 $$"), "the connection was closed"),
        (
            "cut",
            format!(r"printf '{GREETING}'; head -c 17 >/dev/null; printf '\144\000\000\000ab'"),
            "ended after 2 of 100 bytes",
        ),
        (
            "long",
            format!(r"printf '{GREETING}\377\377\377\377'; exec sleep 60"),
            "a frame of 4294967295 bytes",
        ),
        ("slow", format!(r"printf '{GREETING}\144\000\000\000ab'; exec sleep 60"), "no answer within 2s"),
        ("other", format!(r"printf '{GREETING}{block}'; exec sleep 60"), "damaged frame"),
        (
            "count",
            format!(r"printf '{GREETING}\005\000\000\000\205\377\377\377\377'; exec sleep 60"),
            "language at byte 5",
        ),
        (
            "wrong",
            format!(r"printf '{GREETING}\001\000\000\000\143'; exec sleep 60"),
            "unexpected kind of frame: 99",
        ),
    ];
    let hosts: Vec<(&str, &str)> = cases.iter().map(|(host, action, _)| (*host, action.as_str())).collect();
    let good = good();
    let net = Net::new(&[&hosts[..], &[("good", good.as_str())]].concat());
    let names: Vec<String> = cases.iter().map(|(host, ..)| format!("ssh://{host}")).collect();
    let mut words = vec!["get", AVAILABLE, "--timeout", "2s", "-H", "ssh://good"];
    words.extend(names.iter().flat_map(|name| ["-H", name.as_str()]));
    let ran = net.tally(&words);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    has(&ran.out, &[r"\\good\Memory\Available MBytes"]);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    for (host, _, part) in cases {
        let prefix = format!("tally: ssh://{host}: ");
        let line = ran.err.lines().find(|line| line.starts_with(&prefix));
        let line = line.unwrap_or_else(|| panic!("{host} is not in {}", ran.err));
        assert!(line.contains(part), "{part:?} is not in {line}");
    }
    tallymon_testkit::attack(
        "other machines",
        "a host is missing, hangs after each step, cuts a frame, or lies about lengths, kinds and versions",
        "a named error within the deadline; the healthy host beside it is read",
    );
}

#[test]
fn a_host_that_hangs_in_the_middle_of_any_answer_is_given_up() {
    // Bytes of a real stream, then nothing: within the greeting, a length, a table, a block.
    let lengths = [0, 6, 12, 14, 16, 30, 1_000, 60_000, 400_000];
    let action = |length: &usize| format!("{TALLY} serve --stdio | head -c {length}; exec sleep 60");
    let actions: Vec<(String, String)> =
        lengths.iter().map(|length| (format!("at{length}"), action(length))).collect();
    let good = good();
    let mut hosts: Vec<(&str, &str)> =
        actions.iter().map(|(host, action)| (host.as_str(), action.as_str())).collect();
    hosts.push(("good", &good));
    let net = Net::new(&hosts);
    let names: Vec<String> = actions.iter().map(|(host, _)| format!("ssh://{host}")).collect();
    let mut words = vec!["get", r"\Process(*)\*", "--timeout", "3s", "-H", "ssh://good"];
    words.extend(names.iter().flat_map(|name| ["-H", name.as_str()]));
    let ran = net.tally(&words);
    has(&ran.out, &[r"\\good\Process("]);
    for name in &names {
        has(&ran.err, &[&format!("tally: {name}: no answer within 3s")]);
    }
}

#[test]
fn attack_text_from_a_host_can_not_draw_on_the_terminal() {
    let net = Net::new(&[("bad", r"printf 'a\033[31mb\rc\n' >&2; exit 255")]);
    let ran = net.tally(&["get", AVAILABLE, "-H", "ssh://bad"]);
    assert!(!ran.err.contains(['\x1b', '\r']), "{:?}", ran.err);
    has(&ran.err, &["[31mb"]);
    tallymon_testkit::attack("other machines", "messages with terminal sequences", "replaced by U+FFFD");
}

#[test]
fn a_reader_that_lies_to_the_server_ends_it_with_words() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    for (bytes, part) in [
        (&b"GET / HTTP/1.1\r\n"[..], "expected the greeting"),
        (b"TALLYMON\x01\0\x01\0\xff\xff\xff\xff", "4294967295 bytes"),
        (b"TALLYMON\x01\0\x01\0\x01\0\0\0\x63", "unexpected kind of frame: 99"),
        (b"TALLYMON\x01\0\x01\0\x09\0\0\0\x01", "after 1 of 9 bytes"),
    ] {
        let mut child = Command::new(TALLY)
            .args(["serve", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(7), "{words}");
        has(&words, &["standard input: ", part]);
    }
}
