//! Logins by Kerberos at a real Samba, with tickets of a real KDC, both of Debian.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tallymon_testkit::{peer, sbin, skip};

use crate::smbd::{Samba, passwords};
use crate::support::{Net, Ran, good as healthy, has};

pub(crate) const REALM: &str = "TALLY.TEST";

pub(crate) const PASSWORD: &str = "correct horse";

/// A realm with a KDC that ends with its test.
pub(crate) struct Realm {
    kdc: Child,
    pub(crate) folder: PathBuf,
    pub(crate) port: u16,
}

impl Drop for Realm {
    fn drop(&mut self) {
        let _ = self.kdc.kill();
        let _ = self.kdc.wait();
    }
}

impl Realm {
    /// Starts one. Its clock is set wrong by `faketime` if that is given.
    pub(crate) fn start(net: &Net, clock: Option<&str>) -> Option<Realm> {
        let (kdc, util, admin) = (program("krb5kdc")?, program("kdb5_util")?, program("kadmin.local")?);
        let (_, _) = (program("kinit")?, program("kvno")?);
        let faketime = match clock {
            Some(_) => Some(peer("faketime")?),
            None => None,
        };
        let folder = net.folder.join("realm");
        fs::create_dir_all(&folder).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = folder.display();
        net.file(
            "realm/krb5.conf",
            format!(
                "[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_kdc = false\nrdns = false\n\
                 dns_canonicalize_hostname = false\nudp_preference_limit = 1\nincludedir {at}/more\n\
                 [realms]\n{REALM} = {{\nkdc = 127.0.0.1:{port}\n}}\nDEAD.TEST = {{\nkdc = 127.0.0.1:9\n}}\n"
            )
            .as_bytes(),
        );
        net.file("realm/more/empty", b"# nothing\n");
        net.file(
            "realm/kdc.conf",
            format!(
                "[kdcdefaults]\nkdc_listen = 127.0.0.1:{port}\nkdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n\
                 {REALM} = {{\ndatabase_name = {at}/principal\nkey_stash_file = {at}/stash\n\
                 acl_file = {at}/acl\ndisable_pac = true\n\
                 supported_enctypes = aes256-cts:normal aes128-cts:normal\n}}\n\
                 [logging]\nkdc = FILE:{at}/log\nadmin_server = FILE:{at}/log\ndefault = FILE:{at}/log\n"
            )
            .as_bytes(),
        );
        let run = |program: &PathBuf, arguments: &[&str]| {
            let ran = command(program, &folder).args(arguments).output().unwrap();
            assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        };
        run(&util, &["create", "-s", "-r", REALM, "-P", "master"]);
        for query in [
            // Whoever logs in with the salt of another name finds that out from the realm.
            format!("addprinc -pw \"{PASSWORD}\" old"),
            "renprinc -force old nobody".to_string(),
            format!("addprinc -pw \"{PASSWORD}\" eve"),
            "addprinc -randkey machine".to_string(),
            "addprinc -randkey cifs/localhost".to_string(),
            format!("addprinc -pw \"{PASSWORD}\" -expire yesterday late"),
            format!("ktadd -k {at}/server.keytab cifs/localhost"),
            format!("ktadd -norandkey -k {at}/nobody.keytab nobody"),
            format!("ktadd -k {at}/machine.keytab machine"),
        ] {
            run(&admin, &["-r", REALM, "-q", &query]);
        }
        let mut start = match (&faketime, clock) {
            (Some(faketime), Some(clock)) => {
                let mut start = command(faketime, &folder);
                start.arg("-f").arg(clock).arg(&kdc);
                start
            }
            _ => command(&kdc, &folder),
        };
        let kdc = start.args(["-n", "-r", REALM]).spawn().unwrap();
        let realm = Realm { kdc, folder, port };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(60), "the KDC does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        Some(realm)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_string()
    }

    /// Gets tickets into a file.
    fn kinit(&self, cache: &str, arguments: &[&str]) {
        self.kinit_at(&self.file(cache), arguments);
    }

    /// Gets tickets into a cache of any kind.
    pub(crate) fn kinit_at(&self, cache: &str, arguments: &[&str]) {
        let mut run = command(&program("kinit").unwrap(), &self.folder);
        run.arg("-c").arg(cache).args(arguments).stdin(Stdio::piped());
        let mut run = run.spawn().unwrap();
        run.stdin.take().unwrap().write_all(format!("{PASSWORD}\n").as_bytes()).unwrap();
        assert!(run.wait().unwrap().success(), "{arguments:?}");
    }

    /// Runs the command with the settings of this realm, and tickets of a file.
    pub(crate) fn tally(&self, net: &Net, cache: Option<&str>, arguments: &[&str]) -> Ran {
        let conf = self.file("krb5.conf");
        let cache = cache.map(|cache| self.file(cache));
        let mut variables = vec![("KRB5_CONFIG", conf.as_str())];
        variables.extend(cache.as_ref().map(|cache| ("KRB5CCNAME", cache.as_str())));
        net.tally_with(&variables, arguments)
    }
}

pub(crate) fn program(name: &str) -> Option<PathBuf> {
    sbin(name).or_else(|| peer(name))
}

/// A program of Kerberos with the settings of a test.
pub(crate) fn command(program: &PathBuf, folder: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.env("KRB5_CONFIG", folder.join("krb5.conf")).env("KRB5_KDC_PROFILE", folder.join("kdc.conf"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A Samba that knows the realm's key for its service.
pub(crate) fn samba(net: &Net, realm: &Realm, settings: &str) -> Option<Samba> {
    samba_at(net, realm, "samba", settings)
}

/// The same, in a folder of this name.
pub(crate) fn samba_at(net: &Net, realm: &Realm, name: &str, settings: &str) -> Option<Samba> {
    let keytab = realm.file("server.keytab");
    let own = format!(
        "realm = {REALM}\nkerberos method = dedicated keytab\ndedicated keytab file = {keytab}\n\
         restrict anonymous = 2\n{settings}"
    );
    Samba::start(&net.folder, name, &own)
}

pub(crate) const PATH: &str = r"\Widgets(*)\Widget Count";

/// Asserts that a run read the counters.
#[track_caller]
pub(crate) fn good(ran: &Ran, what: &str) {
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{what}: {}", ran.out);
    has(&ran.out, &["\"value\":7", "\"value\":11"]);
}

#[test]
fn tickets_keys_and_passwords_log_in() {
    let net = Net::new(&[]);
    let Some(mut realm) = Realm::start(&net, None) else { return };
    let Some(samba) = samba(&net, &realm, "server smb encrypt = required\nntlm auth = disabled") else {
        return;
    };
    let port = samba.port;
    let far = format!("rrp://localhost:{port}");
    let get = |realm: &Realm, cache: Option<&str>, far: &str| {
        realm.tally(&net, cache, &["get", PATH, "--json", "-H", far, "--timeout", "60s"])
    };
    // Tickets of the user are taken without a line in the file of credentials.
    realm.kinit("tickets", &["nobody"]);
    good(&get(&realm, Some("tickets"), &far), "tickets");
    good(&get(&realm, Some("tickets"), &format!("rrp://Nobody@tally.test@localhost:{port}")), "named");
    // A line chooses the secret: a cache, a keytab of the user, a password.
    let lines = [
        format!("kerberos nobody@* cache FILE:{}", realm.file("tickets")),
        format!("kerberos nobody@{REALM}@localhost keytab {}", realm.file("nobody.keytab")),
        format!("kerberos @localhost keytab {}", realm.file("nobody.keytab")),
        format!("kerberos nobody@localhost password {PASSWORD}"),
        format!("kerberos NOBODY@{REALM}@* password {PASSWORD}"),
    ];
    for line in &lines[..4] {
        passwords(&net, &format!("{line}\n"));
        good(&get(&realm, None, &far), line);
    }
    // The same for a user who has to prove the password before a ticket comes.
    let mut admin = command(&program("kadmin.local").unwrap(), &realm.folder);
    admin.args(["-r", REALM, "-q", "modprinc +requires_preauth nobody"]);
    assert!(admin.status().unwrap().success());
    for line in &lines[1..4] {
        passwords(&net, &format!("{line}\n"));
        good(&get(&realm, None, &far), line);
    }
    passwords(&net, "kerberos nobody@* password wrong\n");
    has(&get(&realm, None, &far).err, &["the password or key of nobody@TALLY.TEST is wrong"]);
    // MIT's realm knows names in their own case only, and says so.
    passwords(&net, &format!("{}\n", lines[4]));
    let ran = get(&realm, None, &far);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    has(&ran.err, &["has no user NOBODY@TALLY.TEST"]);
    // With a ticket for the server nobody is asked.
    passwords(&net, "");
    let mut kvno = command(&program("kvno").unwrap(), &realm.folder);
    assert!(kvno.arg("-c").arg(realm.file("tickets")).arg("cifs/localhost").status().unwrap().success());
    let _ = realm.kdc.kill();
    let _ = realm.kdc.wait();
    good(&get(&realm, Some("tickets"), &far), "a ticket for the server");
}

#[test]
fn what_goes_wrong_with_kerberos_is_named() {
    let net = Net::new(&[("healthy", &healthy())]);
    let Some(realm) = Realm::start(&net, None) else { return };
    let Some(samba) = samba(&net, &realm, "") else { return };
    let port = samba.port;
    realm.kinit("short", &["-l", "2s", "nobody"]);
    let begun = Instant::now();
    realm.kinit("eve", &["eve"]);
    realm.kinit("open", &["nobody"]);
    fs::set_permissions(realm.file("open"), fs::Permissions::from_mode(0o644)).unwrap();
    net.file("realm/garbage", b"\x05\x04\x00\x00garbage");
    fs::set_permissions(realm.file("garbage"), fs::Permissions::from_mode(0o600)).unwrap();
    let machine = format!("keytab {}", realm.file("machine.keytab"));
    let right = format!("password {PASSWORD}");
    thread::sleep(Duration::from_secs(4).saturating_sub(begun.elapsed()));
    // The user, what proves it, the host, and what the message says.
    for (user, secret, host, code, parts) in [
        ("nobody", "password secret", "localhost", 5, &["the password of nobody@TALLY.TEST is wrong"][..]),
        ("ghost", "password secret", "localhost", 5, &["the realm TALLY.TEST has no user ghost@TALLY.TEST"]),
        ("late", &right, "localhost", 5, &["the account late@TALLY.TEST is locked or expired"]),
        (
            "nobody@NO.TEST",
            "password secret",
            "localhost",
            6,
            &["no server of the realm NO.TEST", "krb5.conf names"],
        ),
        ("nobody@DEAD.TEST", "password secret", "localhost", 6, &["DEAD.TEST answers: 127.0.0.1:9: "]),
        ("nobody", &right, "127.0.0.1", 5, &["write the name of the host instead of its address"]),
        ("nobody", &machine, "localhost", 5, &["has no key of nobody", "machine@TALLY.TEST"]),
        ("nobody", "keytab /nowhere/at/all", "localhost", 5, &["/nowhere/at/all: No such file"]),
        ("nobody", "cache KEYRING:mine", "localhost", 5, &["no tickets in KEYRING:mine", "kinit"]),
        (
            "nobody",
            "cache",
            "localhost",
            5,
            &["the ticket of nobody@TALLY.TEST in ", "expired at 20", "kinit"],
        ),
        ("nobody", "cache @eve", "localhost", 5, &["has tickets of eve@TALLY.TEST, and not of nobody"]),
        ("nobody", "cache @open", "localhost", 5, &["others can read it", "chmod 0600"]),
        ("nobody", "cache @garbage", "localhost", 7, &["garbage: "]),
        ("", &right, "localhost", 5, &["Kerberos needs the name of the user"]),
        // Samba knows no such user: it is the server that refuses here.
        ("eve", &right, "localhost", 5, &["logging in by Kerberos", "STATUS_"]),
    ] {
        let secret = match secret.split_once('@') {
            Some((words, file)) => format!("{words}{}", realm.file(file)),
            None => secret.to_string(),
        };
        passwords(&net, &format!("kerberos {user}@* {secret}\n"));
        let far = format!("rrp://{host}:{port}");
        let begun = Instant::now();
        let ran = realm.tally(&net, Some("short"), &["get", PATH, "-H", &far, "--timeout", "20s"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{user} {secret}: {}", ran.err);
        assert!(begun.elapsed() < Duration::from_secs(25), "{user} {secret}");
        let (conf, short) = (realm.file("krb5.conf"), realm.file("short"));
        let beside = net.beside(&[("KRB5_CONFIG", &conf), ("KRB5CCNAME", &short)], &far, 20);
        for err in [&ran.err, &beside] {
            has(err, parts);
            assert!(!err.contains(PASSWORD) && !err.contains("secret"), "{err}");
        }
    }
    // There are other clocks, too.
    drop(realm);
    let net = Net::new(&[]);
    let Some(realm) = Realm::start(&net, Some("+2h")) else { return };
    passwords(&net, &format!("kerberos nobody@* password {PASSWORD}\n"));
    let ran = realm.tally(&net, None, &["get", PATH, "-H", &format!("rrp://localhost:{port}")]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    has(&ran.err, &["asking for a ticket: the clocks of this machine and of the realm are too far apart"]);
}

/// A wrong password for Kerberos is tried once; another one in the file is tried at once.
#[test]
fn a_wrong_password_for_kerberos_is_tried_once() {
    let net = Net::new(&[("healthy", &healthy())]);
    let Some(realm) = Realm::start(&net, None) else { return };
    let Some(samba) = samba(&net, &realm, "") else { return };
    let mut admin = command(&program("kadmin.local").unwrap(), &realm.folder);
    admin.args(["-r", REALM, "-q", "modprinc +requires_preauth nobody"]);
    assert!(admin.status().unwrap().success());
    passwords(&net, "kerberos nobody@* password wrong\n");
    let failures = || fs::read_to_string(realm.file("log")).unwrap().matches("PREAUTH_FAILED").count();
    let far = format!("rrp://localhost:{}", samba.port);
    let words = ["watch", r"\System\Processes", PATH, "-i", "500ms", "-c", "60", "--timeout", "60s"];
    let words = [&words[..], &["-H", "ssh://healthy", "-H", &far]].concat();
    let ran = thread::scope(|scope| {
        let watch = scope.spawn(|| realm.tally(&net, None, &words));
        let begin = Instant::now();
        while failures() == 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "no login");
            thread::sleep(Duration::from_millis(50));
        }
        // Pauses of 1, 2 and 4 s.
        thread::sleep(Duration::from_secs(8));
        assert_eq!(failures(), 1);
        passwords(&net, &format!("kerberos nobody@* password {PASSWORD}\n"));
        watch.join().unwrap()
    });
    assert_eq!(failures(), 1, "{}", ran.err);
    has(
        &ran.err,
        &["nobody@TALLY.TEST is wrong", "; paused after a refused login until ", "localhost answers again"],
    );
    has(&ran.out, &[r"\\localhost\Widgets(alpha)\Widget Count"]);
}

/// Starts a KDC that answers with these bytes, and then closes or says nothing.
fn liar(answer: Vec<u8>, hangs: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut question = [0; 4096];
            let _ = client.read(&mut question);
            let _ = client.write_all(&answer);
            if hangs {
                std::mem::forget(client);
            }
        }
    });
    port
}

#[test]
fn attack_a_kdc_that_stops_or_lies_costs_its_login_only() {
    let net = Net::new(&[("healthy", &healthy())]);
    let (Some(realm), true) = (Realm::start(&net, None), peer("smbd").is_some() || sbin("smbd").is_some())
    else {
        skip("no realm");
        return;
    };
    let Some(samba) = samba(&net, &realm, "") else { return };
    passwords(&net, &format!("kerberos nobody@* password {PASSWORD}\n"));
    let far = format!("rrp://localhost:{}", samba.port);
    // An error that says that it is too long, and all that begins like one and ends anywhere.
    let error = b"\x7e\x82\x00\x30\x30\x2e\xa0\x03\x02\x01\x05\xa1\x03\x02\x01\x1e\xa6\x03\x02\x01\x19";
    let framed = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
    for (answer, hangs, part) in [
        (Vec::new(), true, "no answer within 2"),
        (Vec::new(), false, ": "),
        (vec![0, 0, 0, 9, 1], true, "no answer within 2"),
        (vec![0, 0, 0, 9, 1], false, ": "),
        (vec![0xff; 64], true, "an answer of 4294967295 bytes"),
        (framed(b""), true, "a damaged answer"),
        (framed(&[0x6b; 64]), true, "a damaged answer"),
        (framed(&[0x7e, 0x84, 0xff, 0xff, 0xff, 0xff]), true, "a damaged answer"),
        (framed(error), true, "a damaged answer"),
        (framed(&[0x30; 4096]), true, "a damaged answer"),
    ] {
        let port = liar(answer, hangs);
        let conf = format!(
            "[libdefaults]\ndefault_realm = {REALM}\n[realms]\n{REALM} = {{\nkdc = 127.0.0.1:{port}\n}}\n"
        );
        let conf = net.file("lie.conf", conf.as_bytes());
        let variables = [("KRB5_CONFIG", conf.to_str().unwrap())];
        let said = net.beside(&variables, &far, 8);
        has(&said, &["asking for a ticket: ", &format!("127.0.0.1:{port}"), part]);
    }
    // The second server of a realm is asked when the first one says nothing.
    let dead = liar(Vec::new(), true);
    let text = fs::read_to_string(realm.file("krb5.conf")).unwrap();
    let text = text.replacen("kdc = ", &format!("kdc = 127.0.0.1:{dead}\nkdc = "), 1);
    let conf = net.file("two.conf", text.as_bytes());
    let variables = [("KRB5_CONFIG", conf.to_str().unwrap())];
    good(&net.tally_with(&variables, &["get", PATH, "--json", "-H", &far, "--timeout", "30s"]), "second");
    tallymon_testkit::attack(
        "other machines",
        "a server of Kerberos stops, closes, or answers with lengths and values that lie",
        "a named error within the deadline; another server of the realm is asked, and other hosts are read",
    );
}
