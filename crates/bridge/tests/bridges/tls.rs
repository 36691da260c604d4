//! Redis and PostgreSQL over TLS, with certificates that the test makes.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tallymon_bridge::Settings;
use tallymon_testkit::{Reply, Scratch, TextServer, attack, peer, skip};

use crate::postgresql::PostgreSql;
use crate::support::{LONG, Place, ask, free_port, raw, refused, start, wait_until};

/// The files of a certificate for 127.0.0.1, its key, and the authority that has signed it.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    authority: PathBuf,
}

fn certificates(folder: &Path) -> Files {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "Test Authority");
    let authority_text = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let own = own.signed_by(&key, &issuer).unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let files = Files {
        certificate: write("server.pem", &own.pem()),
        key: write("server.key", &key.serialize_pem()),
        authority: write("ca.pem", &authority_text),
    };
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&files.key, mode).unwrap();
    files
}

#[test]
fn redis_is_read_over_tls() {
    let Some(program) = peer("redis-server") else { return };
    let (folder, other) = (Scratch::new(), Scratch::new());
    let files = certificates(&folder);
    let (port, plain) = (free_port(), free_port());
    let mut server = Command::new(program);
    server.args(["--port", &plain.to_string(), "--tls-port", &port.to_string(), "--bind", "127.0.0.1"]);
    server.args(["--save", "", "--tls-auth-clients", "no", "--tls-cert-file"]).arg(&files.certificate);
    server.arg("--tls-key-file").arg(&files.key).arg("--tls-ca-cert-file").arg(&files.authority);
    let mut server = start(server.current_dir(&*folder));
    let mut has_ended = false;
    wait_until("redis listens", || {
        has_ended = server.0.try_wait().unwrap().is_some();
        has_ended || TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    if has_ended {
        return skip("this redis-server was built without TLS");
    }
    let at = |url: String, authority: &Path| Settings {
        url,
        certificate: Some(authority.to_owned()),
        ..Settings::default()
    };
    let settings = at(format!("rediss://127.0.0.1:{port}"), &files.authority);
    let place = Place::new();
    place.add("cache", settings.clone(), LONG);
    let mut host = place.host();
    let snapshot = ask(&mut host, &["cache Commands"]);
    let found = raw(&mut host, &snapshot, ("cache Commands", None, "Connections/sec")).unwrap();
    assert!(found.1 >= 1, "{found:?}");
    // Another authority, another name, and no TLS on either side.
    let foreign = certificates(&other).authority;
    let error = refused(Settings { certificate: Some(foreign), ..settings.clone() });
    assert!(error.contains("no TLS") && error.contains("certificate"), "{error}");
    let error = refused(at(format!("rediss://localhost:{port}"), &files.authority));
    assert!(error.contains("not valid for name"), "{error}");
    // A server without TLS takes the beginning of it for a command that has no end yet.
    let patience = Some(Duration::from_millis(500));
    let url = format!("rediss://127.0.0.1:{plain}");
    let error = refused(Settings { timeout: patience, ..at(url, &files.authority) });
    assert!(error.contains("no TLS") || error.contains("no answer within"), "{error}");
    let plainly = Settings { url: format!("redis://127.0.0.1:{port}"), ..Settings::default() };
    let error = refused(plainly.clone());
    assert!(error.contains("no answer") || error.contains("none to INFO"), "{error}");
    let error = Settings { certificate: settings.certificate, ..plainly }.check().unwrap_err();
    assert!(error.contains("rediss://"), "{error}");
}

#[test]
fn postgresql_is_read_over_tls() {
    let mut authority = PathBuf::new();
    let server = PostgreSql::start_with(|data| {
        let files = certificates(data);
        // The client runs as another user than the server.
        authority = std::env::temp_dir().join(format!("tallymon-ca-{}.pem", std::process::id()));
        std::fs::copy(files.authority, &authority).unwrap();
        let rules = data.join("pg_hba.conf");
        let text = std::fs::read_to_string(&rules).unwrap();
        std::fs::write(
            rules,
            format!("hostssl all watcher all scram-sha-256\nhost all watcher all reject\n{text}"),
        )
        .unwrap();
        vec![
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", files.certificate.display()),
            format!("ssl_key_file={}", files.key.display()),
        ]
    });
    let Some(server) = server else { return };
    server.say("app", "CREATE ROLE watcher LOGIN PASSWORD 'open sesame'");
    let plain = server.settings("watcher", "app");
    let error = refused(plain.clone());
    assert!(error.contains("pg_hba.conf"), "{error}");
    let secure = Settings { certificate: Some(authority.clone()), ..plain.clone() };
    let place = Place::new();
    place.add("shop", secure.clone(), LONG);
    let url = format!("{}?sslmode=verify-full", secure.url);
    place.add("same", Settings { url, ..secure.clone() }, LONG);
    let mut host = place.host();
    let snapshot = ask(&mut host, &["shop Sessions"]);
    let found = raw(&mut host, &snapshot, ("shop Sessions", None, "Connections")).unwrap();
    assert!(found.1 >= 1, "{found:?}");
    let other = Scratch::new();
    let foreign = certificates(&other).authority;
    let error = refused(Settings { certificate: Some(foreign), ..secure.clone() });
    assert!(error.contains("no TLS") && error.contains("certificate"), "{error}");
    let url = secure.url.replace("127.0.0.1", "localhost");
    let error = refused(Settings { url, ..secure.clone() });
    assert!(error.contains("not valid for name"), "{error}");
    let off = Settings { url: format!("{}?sslmode=prefer", plain.url), ..plain };
    assert!(refused(off).contains("sslmode=verify-full"));
    std::fs::remove_file(authority).unwrap();
}

#[test]
fn attack_servers_that_answer_before_tls() {
    let folder = Scratch::new();
    let authority = certificates(&folder).authority;
    for (reply, words) in [
        (Reply::bytes("N"), "does not speak TLS"),
        (Reply::bytes("SR\0\0\0\x08\0\0\0\0"), "before TLS began"),
        (Reply::bytes(""), "closed the connection"),
        (Reply::Nothing, "no answer within 0.3 s"),
    ] {
        let server = TextServer::start(reply);
        let error = refused(Settings {
            url: format!("postgresql://u@{}", server.at()),
            certificate: Some(authority.clone()),
            timeout: Some(Duration::from_millis(300)),
            ..Settings::default()
        });
        assert!(error.contains(words), "{words}: {error}");
    }
    for (reply, words) in [
        (Reply::bytes("+OK\r\n$5\r\nab:1\n\r\n"), "no TLS"),
        (Reply::Nothing, "no answer within 0.3 s"),
        // A record that says that it goes on, a byte at a time.
        (Reply::Drip(b"\x16\x03\x03\x40\x00".to_vec()), "no answer within 0.3 s"),
    ] {
        let server = TextServer::start(reply);
        let error = refused(Settings {
            url: format!("rediss://{}", server.at()),
            certificate: Some(authority.clone()),
            timeout: Some(Duration::from_millis(300)),
            ..Settings::default()
        });
        assert!(error.contains(words), "{words}: {error}");
    }
    attack(
        "bridges",
        "answer before TLS of Redis or PostgreSQL begins, with another name, or never",
        "nothing is asked and no password is proved; its own objects are missing, with the reason",
    );
}
