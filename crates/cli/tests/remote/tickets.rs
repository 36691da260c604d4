//! Tickets and passwords that are in no file: in keys of the kernel, in a service of the machine, in what a
//! program says; and realms that only DNS knows.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tallymon_testkit::{peer, sbin, skip};

use crate::kerberos::{self, PASSWORD, PATH, REALM, Realm, good, samba};
use crate::protected::{has_heard, listener};
use crate::smbd::{self, Samba, passwords};
use crate::support::{Net, has};

/// A program that ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Tickets in the kernel end with their test.
struct InKernel<'r>(&'r Realm, String);

impl Drop for InKernel<'_> {
    fn drop(&mut self) {
        let Some(destroy) = kerberos::program("kdestroy") else { return };
        let _ = kerberos::command(&destroy, &self.0.folder).args(["-c", &self.1]).status();
    }
}

#[test]
fn tickets_in_the_kernel_log_in() {
    let net = Net::new(&[]);
    let Some(realm) = Realm::start(&net, None) else { return };
    if !std::path::Path::new("/proc/keys").exists() {
        skip("the kernel has no keys");
        return;
    }
    let Some(samba) = samba(&net, &realm, "") else { return };
    let far = format!("rrp://localhost:{}", samba.port);
    let own = std::process::id();
    for place in [
        format!("KEYRING:session:tally{own}"),
        format!("KEYRING:user:tally{own}"),
        format!("KEYRING:persistent:0:tally{own}"),
        format!("KEYRING:session:tally{own}:second"),
        format!("KEYRING:tally{own}"),
    ] {
        let get = || {
            let variables = [("KRB5CCNAME", place.as_str()), ("KRB5_CONFIG", &realm.file("krb5.conf"))];
            net.tally_with(&variables, &["get", PATH, "--json", "-H", &far, "--timeout", "60s"])
        };
        let before = get();
        assert_eq!((before.code, before.out.as_str()), (Some(5), ""), "{place}: {}", before.err);
        has(&before.err, &[&format!("there are no tickets in {place}; get some with kinit")]);
        let tickets = InKernel(&realm, place.clone());
        realm.kinit_at(&place, &["nobody"]);
        good(&get(), &place);
        // The same by a line of the file of credentials.
        passwords(&net, &format!("kerberos nobody@* cache {place}\n"));
        good(&realm.tally(&net, None, &["get", PATH, "--json", "-H", &far, "--timeout", "60s"]), &place);
        passwords(&net, "");
        drop(tickets);
        assert_eq!(get().code, Some(5), "{place}");
    }
    for (place, part) in [
        ("KEYRING:process:x", "those of a process belong to the program that got them"),
        ("KEYRING:persistent:4294967294", "those of another user"),
        ("MEMORY:x", "kinit -c FILE:"),
    ] {
        passwords(&net, &format!("kerberos nobody@* cache {place}\n"));
        let ran = realm.tally(&net, None, &["get", PATH, "-H", &far]);
        assert_eq!(ran.code, Some(5), "{}", ran.err);
        has(&ran.err, &[place, part]);
    }
}

#[test]
fn tickets_of_a_service_log_in() {
    let net = Net::new(&[]);
    let Some(realm) = Realm::start(&net, None) else { return };
    let Some(kcm) = sbin("kcm").or_else(|| peer("kcm")) else { return };
    let Some(samba) = samba(&net, &realm, "") else { return };
    // Debian's service has one place for its socket, whatever its options say: give it a folder of its own.
    let Some(unshare) = peer("unshare") else { return };
    let folder = realm.file("run");
    fs::create_dir_all(&folder).unwrap();
    let socket = format!("{folder}/.heim_org.h5l.kcm-socket");
    let text = fs::read_to_string(realm.file("krb5.conf")).unwrap();
    let text = text.replacen("[libdefaults]\n", &format!("[libdefaults]\nkcm_socket = {socket}\n"), 1);
    net.file("realm/krb5.conf", text.as_bytes());
    let far = format!("rrp://localhost:{}", samba.port);
    let get = |place: &str| {
        let variables = [("KRB5CCNAME", place), ("KRB5_CONFIG", &realm.file("krb5.conf"))];
        net.tally_with(&variables, &["get", PATH, "--json", "-H", &far, "--timeout", "60s"])
    };
    let ran = get("KCM:");
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    has(&ran.err, &[&format!("the service of tickets at {socket}: No such file"), "sssd-kcm"]);
    let mut start = kerberos::command(&unshare, &realm.folder);
    let words = format!("mount --bind '{folder}' /run && exec '{}'", kcm.display());
    let service = Running(start.args(["--mount", "sh", "-c", &words]).spawn().unwrap());
    let begun = Instant::now();
    while !std::path::Path::new(&socket).exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the service of tickets does not begin");
        thread::sleep(Duration::from_millis(20));
    }
    let ran = get("KCM:0");
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    has(&ran.err, &["it has no tickets"]);
    realm.kinit_at("KCM:0", &["nobody"]);
    good(&get("KCM:0"), "by name");
    good(&get("KCM:"), "the usual one");
    drop(service);
    assert_eq!(get("KCM:0").code, Some(5));
}

#[test]
fn passwords_of_the_kernel_and_of_programs_log_in() {
    let net = Net::new(&[("healthy", &crate::support::good())]);
    let Some(samba) = Samba::start(&net.folder, "samba", smbd::STRICT) else { return };
    let own = std::process::id();
    let host = format!("rrp://nobody@127.0.0.1:{}", samba.port);
    let get = || net.tally(&["get", PATH, "--json", "-H", &host, "--timeout", "60s"]);
    let refused = |line: &str, parts: &[&str]| {
        passwords(&net, &format!("{line}\n"));
        let ran = get();
        assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{line}: {}", ran.err);
        let beside = net.beside(&[], &host, 60);
        for err in [&ran.err, &beside] {
            assert!(!err.contains(smbd::PASSWORD), "{err}");
            has(err, parts);
        }
    };
    let secret = net.file("secret", format!("{}\nnot this\n", smbd::PASSWORD).as_bytes());
    passwords(&net, &format!("program nobody@* cat {}\n", secret.display()));
    good(&get(), "program");
    refused("program nobody@* cat /nowhere/at/all", &["the password program cat failed (exit status 1): "]);
    refused("program nobody@* /nowhere/at/all", &["No such file"]);
    refused("program nobody@*", &["is wrong: write: program"]);
    let key = format!("tally{own}");
    refused(&format!("keyring nobody@* {key}"), &["no key of the kernel is called", "keyctl padd user"]);
    let Some(_key) = KernelKey::add(&key, smbd::PASSWORD) else { return };
    passwords(&net, &format!("keyring nobody@* {key}\n"));
    good(&get(), "keyring");
}

/// A key of the kernel that ends with its test.
struct KernelKey(PathBuf, String);

impl KernelKey {
    /// Puts a password there; `None` without the program of the system for it.
    fn add(name: &str, password: &str) -> Option<KernelKey> {
        let keyctl = peer("keyctl")?;
        let mut add = Command::new(&keyctl);
        add.args(["padd", "user", name, "@u"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut add = add.spawn().unwrap();
        add.stdin.take().unwrap().write_all(password.as_bytes()).unwrap();
        let number = String::from_utf8(add.wait_with_output().unwrap().stdout).unwrap();
        Some(KernelKey(keyctl, number.trim().to_string()))
    }
}

impl Drop for KernelKey {
    fn drop(&mut self) {
        let _ = Command::new(&self.0).args(["unlink", &self.1, "@u"]).stdout(Stdio::null()).status();
    }
}

/// The password of a login by Kerberos, in a key of the kernel and from a program.
#[test]
fn passwords_of_the_kernel_and_of_programs_get_tickets() {
    let net = Net::new(&[("healthy", &crate::support::good())]);
    let Some(realm) = Realm::start(&net, None) else { return };
    // Nothing but Kerberos logs in.
    let Some(samba) = samba(&net, &realm, "server smb encrypt = required\nntlm auth = disabled") else {
        return;
    };
    let far = format!("rrp://localhost:{}", samba.port);
    let get = |line: &str| {
        passwords(&net, &format!("{line}\n"));
        realm.tally(&net, None, &["get", PATH, "--json", "-H", &far, "--timeout", "60s"])
    };
    let conf = realm.file("krb5.conf");
    let refused = |line: &str, parts: &[&str]| {
        let ran = get(line);
        assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{line}: {}", ran.err);
        let beside = net.beside(&[("KRB5_CONFIG", &conf)], &far, 60);
        for err in [&ran.err, &beside] {
            assert!(!err.contains(PASSWORD) && !err.contains("secret"), "{err}");
            has(err, parts);
        }
    };
    let right = net.file("right", format!("{PASSWORD}\nnot this\n").as_bytes());
    let wrong = net.file("wrong", b"secret\n");
    let (right, wrong) = (right.display(), wrong.display());
    good(&get(&format!("kerberos nobody@{REALM}@* program cat {right}")), "program");
    let is_wrong = "the password of nobody@TALLY.TEST is wrong";
    refused(&format!("kerberos nobody@* program cat {wrong}"), &[is_wrong]);
    refused("kerberos nobody@* program cat /nowhere", &["the password program cat failed (exit status 1): "]);
    refused("kerberos nobody@* program", &["the line for nobody@* is wrong: write: kerberos"]);
    let own = std::process::id();
    let (key, other) = (format!("tally{own}-realm"), format!("tallymon:nobody{own}@*"));
    refused(
        &format!("kerberos nobody@* keyring {key}"),
        &["no key of the kernel is called", "keyctl padd user"],
    );
    let Some(_right) = KernelKey::add(&key, PASSWORD) else { return };
    good(&get(&format!("kerberos nobody@{REALM}@localhost keyring {key}")), "keyring");
    // Without a name it is that of the line.
    let Some(_wrong) = KernelKey::add(&other, "secret") else { return };
    refused(
        &format!("kerberos nobody{own}@* keyring"),
        &[&format!("the realm {REALM} has no user nobody{own}@{REALM}")],
    );
    let Some(_secret) = KernelKey::add(&format!("{key}-wrong"), "secret") else { return };
    refused(&format!("kerberos nobody@* keyring {key}-wrong"), &[is_wrong]);
}

#[test]
fn dns_says_where_a_realm_is() {
    let net = Net::new(&[]);
    let Some(realm) = Realm::start(&net, None) else { return };
    let Some(dnsmasq) = sbin("dnsmasq").or_else(|| peer("dnsmasq")) else { return };
    let Some(samba) = samba(&net, &realm, "") else { return };
    passwords(&net, &format!("kerberos nobody@{REALM}@* password {PASSWORD}\n"));
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let record = format!("--srv-host=_kerberos._tcp.{REALM},localhost,{}", realm.port);
    let mut start = Command::new(dnsmasq);
    start.args(["-k", "-C", "/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces", "--pid-file="]);
    start.args(["--user=root", "--listen-address=127.0.0.1", &format!("--port={port}"), &record]);
    let _server = Running(start.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let far = format!("rrp://localhost:{}", samba.port);
    let conf = net.file("empty.conf", b"[libdefaults]\ndns_lookup_kdc = true\n");
    let get = || {
        let variables = [("KRB5_CONFIG", conf.to_str().unwrap())];
        net.tally_with(&variables, &["get", PATH, "--json", "-H", &far, "--timeout", "20s"])
    };
    let ran = get();
    assert_eq!(ran.code, Some(6), "{}", ran.err);
    has(
        &ran.err,
        &["names no kdc for this realm", "no server of DNS", "[realms] TALLY.TEST = { kdc = HOST }"],
    );
    net.file("root/resolv.conf", format!("# a comment\nnameserver 127.0.0.1:{port}\n").as_bytes());
    good(&get(), "DNS");
}

#[test]
fn calls_are_sealed_after_a_login_by_kerberos() {
    let net = Net::new(&[]);
    let Some(realm) = Realm::start(&net, None) else { return };
    passwords(&net, &format!("kerberos nobody@* password {PASSWORD}\n"));
    // Whether SMB crosses the network in the clear: then RPC is sealed.
    for (row, (settings, is_clear)) in [
        ("server signing = mandatory\nserver smb encrypt = off", true),
        ("server signing = mandatory\nserver max protocol = SMB2_10", true),
        ("server smb encrypt = required\nserver smb3 encryption algorithms = AES-256-GCM", false),
        ("server smb encrypt = required\nserver max protocol = SMB3_02", false),
    ]
    .into_iter()
    .enumerate()
    {
        let Some(samba) = kerberos::samba_at(&net, &realm, &format!("samba{row}"), settings) else { return };
        let (port, heard) = listener(samba.port);
        let far = format!("rrp://localhost:{port}");
        let ran = realm.tally(&net, None, &["get", PATH, "--json", "-H", &far, "--timeout", "60s"]);
        good(&ran, settings);
        assert_eq!(has_heard(&heard, "winreg"), is_clear, "{settings}");
        assert!(!has_heard(&heard, "alpha"), "{settings}");
    }
}

/// A file that others can read is refused, and a key of the kernel cannot be one.
#[test]
fn a_file_of_credentials_with_programs_is_as_private_as_any() {
    let net = Net::new(&[]);
    passwords(&net, "program nobody@* touch ran\n");
    let file = net.folder.join("root/credentials");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = net.tally(&["get", PATH, "-H", "rrp://nobody@localhost:9"]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    has(&ran.err, &["others can read it"]);
    assert!(!std::path::Path::new("ran").exists());
}
