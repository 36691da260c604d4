//! The performance registry of a real Samba on this machine, and servers that stop or lie in the middle.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use tallymon_testkit::Samba;

use crate::support::{Net, good, has};

pub(crate) const PASSWORD: &str = Samba::PASSWORD;

/// Writes the file of passwords.
pub(crate) fn passwords(net: &Net, text: &str) {
    let file = net.file("root/credentials", text.as_bytes());
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Writes the table of hosts.
fn table(net: &Net, hosts: &[(&str, u16)]) {
    let lines: String =
        hosts.iter().map(|(name, port)| format!("{name} rrp://nobody@127.0.0.1:{port}\n")).collect();
    net.file("root/hosts", lines.as_bytes());
}

/// Signed messages of the newest version only.
pub(crate) const STRICT: &str =
    "server signing = mandatory\nserver min protocol = SMB3_11\nrestrict anonymous = 2";

#[test]
fn the_counters_of_samba_are_read() {
    // A folder that the user "nobody" can enter.
    let net = Net::new(&[]);
    let Some(samba) = Samba::start(&net.folder, "samba", STRICT) else { return };
    passwords(&net, &format!("nobody@* {PASSWORD}\n"));
    table(&net, &[("far", samba.port)]);
    let far = |words: &[&str]| net.tally(&[words, &["-H", "far", "--timeout", "60s"]].concat());
    let list = far(&["list"]).data();
    has(&list, &["Widgets", "Gadget"]);
    // Nothing but their clocks changes in these blocks: the same as in a block that others read.
    let value = far(&["get", r"\Widgets(*)\Widget Count", "--json"]).data();
    has(
        &value,
        &[r"\\Widgets(alpha)\\Widget Count", "\"value\":7", r"\\Widgets(beta)\\Widget Count", "\"value\":11"],
    );
    let dump = far(&["dump", "Global"]).data();
    has(&dump, &["NumObjectTypes    2", "PerfTime          123456789012", "Widgets", "Widget Count"]);
    let one = net.tally(&["get", r"\\FAR\Widgets(beta)\Widget Count", "--timeout", "60s"]).data();
    has(&one, &["11"]);
    has(&far(&["find", "widget"]).data(), &[r"\Widgets(*)\Widget Count"]);
    // Files that the user may not read are no success without counters.
    for file in ["names.tdb", "data.tdb"] {
        let file = format!("{}/state/perfmon/{file}", samba.folder);
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let ran = far(&["list"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{}", ran.err);
    has(&ran.err, &["the server answers with nothing"]);
}

#[test]
fn attack_a_file_of_passwords_that_others_can_read_is_refused() {
    let net = Net::new(&[("healthy", &good())]);
    let Some(samba) = Samba::start(&net.folder, "samba", STRICT) else { return };
    let address = format!("rrp://nobody@127.0.0.1:{}", samba.port);
    let list = || net.tally(&["list", "-H", &address, "--timeout", "60s"]);
    let denied = |parts: &[&str]| {
        let ran = list();
        assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{}", ran.err);
        let beside = net.beside(&[], &address, 60);
        for err in [&ran.err, &beside] {
            assert!(!err.contains("secret"), "{err}");
            has(err, parts);
        }
    };
    denied(&["root/credentials has no password", "nobody@127.0.0.1 PASSWORD", "0600"]);
    passwords(&net, "nobody@127.0.0.1 secret\n");
    denied(&["logging in: ", "STATUS_LOGON_FAILURE", "check user, domain and password"]);
    let file = net.folder.join("root/credentials");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    denied(&["others can read it", "chmod 0600"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    passwords(&net, &format!("nobody@127.0.0.1 {PASSWORD}\n"));
    has(&list().data(), &["Widgets"]);
    tallymon_testkit::attack(
        "other machines",
        "read the file of passwords, which its user left open",
        "the file is refused; the message names its mode, and never a password",
    );
}

/// Passes connections on, and counts the logins that begin in them: the first message of NTLM.
fn counting(target: u16) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let logins = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&logins);
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut server = TcpStream::connect(("127.0.0.1", target)).unwrap();
            let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
            let counted = Arc::clone(&counted);
            thread::spawn(move || {
                let mut length = [0; 4];
                while client.read_exact(&mut length).is_ok() {
                    let mut message = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
                    if client.read_exact(&mut message).is_err() {
                        break;
                    }
                    let begins = message.windows(12).any(|part| part == b"NTLMSSP\0\x01\0\0\0");
                    counted.fetch_add(usize::from(begins), Ordering::SeqCst);
                    if server.write_all(&[&length[..], &message].concat()).is_err() {
                        break;
                    }
                }
                let _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    (port, logins)
}

/// The deadline of a request is for the host, and not for a user who types a password.
#[test]
fn a_program_that_is_slow_to_print_a_password_costs_no_request() {
    let net = Net::new(&[]);
    let Some(samba) = Samba::start(&net.folder, "samba", STRICT) else { return };
    let slow = net.file("slow", format!("sleep 12\necho '{PASSWORD}'\n").as_bytes());
    passwords(&net, &format!("program nobody@* /bin/sh {}\n", slow.display()));
    table(&net, &[("far", samba.port)]);
    let words = ["get", r"\Widgets(beta)\Widget Count", "-H", "far", "--timeout", "10s"];
    has(&net.tally(&words).data(), &["11"]);
}

/// A directory locks an account after a few wrong passwords: a refused one is not tried again until the file
/// with it has changed.
#[test]
fn attack_a_wrong_password_does_not_lock_the_account() {
    let net = Net::new(&[]);
    let encrypted = "server signing = mandatory\nserver smb encrypt = required";
    let Some(samba) = Samba::start(&net.folder, "samba", encrypted) else { return };
    let (port, logins) = counting(samba.port);
    let hosts = format!("far rrp://nobody@127.0.0.1:{port}\ngood rrp://nobody@localhost:{}\n", samba.port);
    net.file("root/hosts", hosts.as_bytes());
    let write = |password: &str| {
        passwords(&net, &format!("nobody@127.0.0.1 {password}\nnobody@localhost {PASSWORD}\n"));
    };
    write("secret");
    let begun = Instant::now();
    let words = ["watch", r"\Widgets(*)\Widget Count", "--json", "-i", "500ms", "-c", "80"];
    let words = [&words[..], &["-H", "far", "-H", "good", "--timeout", "60s"]].concat();
    let (ran, before) = thread::scope(|scope| {
        let watch = scope.spawn(|| net.tally(&words));
        // Pauses of 1, 2, 4 and 8 s have passed: each was an attempt once.
        thread::sleep(Duration::from_secs(17).saturating_sub(begun.elapsed()));
        let before = logins.load(Ordering::SeqCst);
        write(PASSWORD);
        (watch.join().unwrap(), before)
    });
    assert_eq!((before, logins.load(Ordering::SeqCst)), (1, 2), "{}", ran.err);
    let file = net.folder.join("root/credentials").display().to_string();
    let until = format!("; paused after a refused login until {file} changes, or for 15 min");
    has(&ran.err, &["STATUS_LOGON_FAILURE", &until, "far answers again"]);
    assert!(!ran.err.contains("secret") && !ran.err.contains("tried again"), "{}", ran.err);
    has(&ran.out, &[r"\\\\far\\Widgets(alpha)", r"\\\\good\\Widgets(alpha)"]);
    tallymon_testkit::attack(
        "other machines",
        "lock the account of a user whose password for a host is out of date, by recording that host",
        "one login; the next one follows when the file of credentials has changed, or after 15 minutes",
    );
}

/// What a relay does behind some bytes of the server.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Hang,
    Close,
    Lie,
}

/// Starts a relay to a port, and returns its own.
fn relay(target: u16, bytes: usize, end: End) -> u16 {
    relay_from(move || TcpStream::connect(("127.0.0.1", target)).unwrap(), bytes, end)
}

/// The same, with a way to the server of its own.
pub(crate) fn relay_from(connect: impl Fn() -> TcpStream + Send + 'static, bytes: usize, end: End) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = connect();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from, &mut to));
            thread::spawn(move || pass(server, client, bytes, end));
        }
    });
    port
}

fn pass(mut server: TcpStream, mut client: TcpStream, bytes: usize, end: End) {
    let mut left = bytes;
    let mut part = [0; 4096];
    while left > 0 {
        let most = left.min(part.len());
        match server.read(&mut part[..most]) {
            Ok(count @ 1..) if client.write_all(&part[..count]).is_ok() => left -= count,
            _ => return,
        }
    }
    match end {
        // The connection stays open, and nothing comes.
        End::Hang => std::mem::forget((server, client)),
        End::Close => {
            let _ = client.shutdown(Shutdown::Both);
        }
        End::Lie => {
            // The length of a message that nobody will ever send, and then noise.
            let _ = client.write_all(b"\0\xff\xff\xff\xfeSMB\xff\xff\xff\xff").and_then(|()| client.flush());
            std::mem::forget((server, client));
        }
    }
}

#[test]
fn attack_a_server_that_stops_or_lies_anywhere_costs_itself_only() {
    let net = Net::new(&[]);
    let Some(samba) = Samba::start(&net.folder, "samba", STRICT) else { return };
    passwords(&net, &format!("nobody@* {PASSWORD}\n"));
    table(&net, &[("good", samba.port)]);
    // The helpers of Samba start with the first request.
    let first = net.tally(&["get", "-H", "good", "--timeout", "60s", r"\Widgets(*)\Widget Count"]).data();
    assert_eq!(first.lines().count(), 2, "{first}");
    // Through the negotiation, the login, the pipe, the bind, the tables and the blocks.
    let steps = [0, 3, 40, 200, 330, 450, 700, 800, 900, 1_000, 1_200, 1_500, 2_000, 2_400];
    let mut names = Vec::new();
    for (word, end) in [("hang", End::Hang), ("close", End::Close), ("lie", End::Lie)] {
        names.extend(steps.map(|bytes| (format!("{word}{bytes}"), relay(samba.port, bytes, end))));
    }
    let mut hosts: Vec<(&str, u16)> = names.iter().map(|(name, port)| (name.as_str(), *port)).collect();
    hosts.push(("good", samba.port));
    table(&net, &hosts);
    let mut words = vec!["get", r"\Widgets(*)\Widget Count", "--timeout", "8s", "-H", "good"];
    words.extend(names.iter().flat_map(|(name, _)| ["-H", name.as_str()]));
    let begun = Instant::now();
    let ran = net.tally(&words);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    has(&ran.out, &[r"\\good\Widgets(alpha)\Widget Count", r"\\good\Widgets(beta)\Widget Count"]);
    for (name, port) in &names {
        let prefix = format!("tally: rrp://nobody@127.0.0.1:{port}: ");
        let line = ran.err.lines().find(|line| line.starts_with(&prefix));
        let line = line.unwrap_or_else(|| panic!("{name} is not named in {}", ran.err));
        if name.starts_with("hang") {
            assert!(line.contains("no answer within 8s while"), "{name}: {line}");
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    tallymon_testkit::attack(
        "other machines",
        "a Samba or Windows host stops, closes or sends noise after any number of bytes",
        "a named error within the deadline; the healthy host beside it is read",
    );
}
