//! `tally serve --password-file`: the page for other machines, with curl as the browser.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tallymon_testkit::{attack, peer};

use super::support::{Folder, TALLY, clean};

const PASSWORD: &str = "correct horse";

/// A server that ends with its test.
struct Server {
    child: Child,
    port: u16,
    /// What it printed first.
    first: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(folder: &Folder, words: &[&str]) -> Command {
    let mut command = clean(TALLY);
    command.arg("serve").args(words).env("TALLY_ROOT", folder.file("root")).stdin(Stdio::null());
    command
}

fn password_file(folder: &Folder, password: &str, mode: u32) -> String {
    let file = folder.file("password");
    fs::write(&file, password).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    Path::new(&file).display().to_string()
}

fn start(folder: &Folder, listen: &str) -> Server {
    let file = password_file(folder, &format!("{PASSWORD}\n"), 0o600);
    start_with(folder, &["--listen", listen, "--password-file", &file, "--name", "web1.example.net"])
}

fn start_with(folder: &Folder, words: &[&str]) -> Server {
    let mut child = command(folder, words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let port = first.split('/').nth(2).unwrap().rsplit(':').next().unwrap().parse().unwrap();
    Server { child, port, first }
}

/// What curl prints: status, headers and body.
fn curl(folder: &Folder, words: &[&str]) -> (bool, String) {
    let trusted = Path::new(&folder.file("root")).join("user/remote/identity.pem");
    let mut curl = Command::new(peer("curl").unwrap());
    curl.args(["-sS", "-i", "-m", "60", "--cacert"]).arg(trusted).args(words);
    let output = curl.output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn the_page_is_served_to_other_machines_over_tls_with_a_password() {
    if peer("curl").is_none() {
        return;
    }
    let folder = Folder::new();
    let server = start(&folder, "0.0.0.0:0");
    assert!(server.first.starts_with("https://web1.example.net:"), "{}", server.first);
    let page = format!("https://localhost:{}/", server.port);
    let jar = Path::new(&folder.file("jar")).display().to_string();
    let user = format!("ann:{PASSWORD}");
    let (_, said) = curl(&folder, &["-u", &user, "-L", "-c", &jar, "-b", &jar, &page]);
    let said_lower = said.to_ascii_lowercase();
    assert!(said.contains("HTTP/1.1 303") && said.contains("HTTP/1.1 200"), "{said}");
    assert!(said_lower.contains("httponly; samesite=strict; secure"), "{said}");
    assert!(said_lower.contains("strict-transport-security: max-age="), "{said}");
    assert!(said.contains("<html"), "{said}");
    // By a name that it was given, and by its address.
    let port = server.port;
    for host in [format!("web1.example.net:{port}"), format!("192.0.2.1:{port}")] {
        let (_, said) = curl(&folder, &["-u", &user, "-H", &format!("Host: {host}"), &page]);
        assert!(said.starts_with("HTTP/1.1 303"), "{host}: {said}");
    }
    // On this machine only: nothing that outlives a test of somebody.
    let local = start(&folder, "127.0.0.1:0");
    let page = format!("https://localhost:{}/", local.port);
    let (_, said) = curl(&folder, &["-u", &user, &page]);
    assert!(said.starts_with("HTTP/1.1 303"), "{said}");
    assert!(!said.to_ascii_lowercase().contains("strict-transport-security"), "{said}");
}

#[test]
fn attack_the_page_for_other_machines() {
    if peer("curl").is_none() {
        return;
    }
    let folder = Folder::new();
    let server = start(&folder, "127.0.0.1:0");
    let page = format!("https://localhost:{}/", server.port);
    let api = format!("{page}api/v1/hosts");
    let plain = page.replace("https", "http");
    let user = format!("ann:{PASSWORD}");
    // Without TLS, or by TLS 1.2.
    for words in [&[plain.as_str()][..], &["--tls-max", "1.2", &page]] {
        let (succeeded, said) = curl(&folder, words);
        assert!(!succeeded && !said.contains("HTTP/1.1 200"), "{words:?}: {said}");
    }
    for (words, status) in [
        (&[page.as_str()][..], "401"),
        (&["-u", &user, &api], "401"),
        (&["-u", &user, "-H", "Host: evil.example", &page], "421"),
        (&["-u", &user, "-H", "Origin: https://evil.example", &page], "403"),
        (&["-u", &user, "-H", "Sec-Fetch-Site: cross-site", &page], "403"),
        (&["-u", &user, &page], "303"),
        (&["-u", "ann:correct hors", &page], "401"),
        (&["-u", "ann:correct hors", &page], "401"),
        (&["-u", "ann:", &page], "401"),
        (&["-u", "ann:x", &page], "401"),
        (&["-u", "ann:x", &page], "401"),
        // The right one, too: nobody can guess on.
        (&["-u", &user, &page], "429"),
    ] {
        let (_, said) = curl(&folder, words);
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{words:?}: {said}");
        let is_asked = said.to_ascii_lowercase().contains("www-authenticate: basic");
        assert_eq!(is_asked, status == "401" && words.last() == Some(&page.as_str()), "{words:?}: {said}");
        assert!(!said.to_ascii_lowercase().contains("set-cookie") || status == "303", "{words:?}: {said}");
    }
    attack(
        "pages",
        "guess the password of the page, come without TLS, by TLS 1.2, or from another site",
        "refused; after five wrong passwords in a minute the address waits, also with the right one",
    );
}

/// An authority made by openssl, certificates of clients that it has signed, and one that another has.
struct Authority {
    folder: Folder,
}

impl Authority {
    /// `None` without openssl, which is reported.
    fn new() -> Option<Authority> {
        let openssl = peer("openssl")?;
        let folder = Folder::new();
        let run = |line: &str| {
            let mut command = Command::new(&openssl);
            command.args(line.split(' ')).current_dir(folder.path());
            let output = command.output().unwrap();
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        for authority in ["ca", "foreign"] {
            let name = format!("-keyout {authority}.key -out {authority}.pem -subj /CN={authority} -days 30");
            run(&format!("req -x509 {key} {name}"));
        }
        folder.write("usage", b"extendedKeyUsage=clientAuth\n");
        folder.write("server", b"extendedKeyUsage=serverAuth\n");
        for (client, authority, usage) in [
            ("ann", "ca", "usage"),
            ("bob", "ca", "usage"),
            ("web", "ca", "server"),
            ("eve", "foreign", "usage"),
        ] {
            run(&format!("req -new {key} -keyout {client}.key -out {client}.csr -subj /CN={client}"));
            let by = format!("-CA {authority}.pem -CAkey {authority}.key -CAcreateserial -days 7");
            run(&format!("x509 -req -in {client}.csr {by} -extfile {usage} -out {client}.pem"));
        }
        // The list of revoked certificates has Bob's.
        folder.write("index", b"");
        folder.write("number", b"01");
        let settings = "[ca]\ndefault_ca=x\n[x]\ndatabase=index\ncrlnumber=number\ndefault_md=sha256\n\
                        default_crl_days=30\n";
        folder.write("settings", settings.as_bytes());
        let by = "-config settings -cert ca.pem -keyfile ca.key";
        run(&format!("ca {by} -revoke bob.pem"));
        run(&format!("ca {by} -gencrl -out crl.pem"));
        let both = ["ca.pem", "crl.pem"].map(|name| fs::read(folder.file(name)).unwrap()).concat();
        folder.write("both.pem", &both);
        Some(Authority { folder })
    }

    fn file(&self, name: &str) -> String {
        self.folder.file(name)
    }
}

#[test]
fn attack_the_page_with_certificates_of_browsers() {
    if peer("curl").is_none() {
        return;
    }
    let Some(authority) = Authority::new() else { return };
    let folder = Folder::new();
    let (plain, both) = (authority.file("ca.pem"), authority.file("both.pem"));
    let password = password_file(&folder, PASSWORD, 0o600);
    let user = format!("ann:{PASSWORD}");
    let listen = ["--listen", "127.0.0.1:0", "--client-authority"];
    let servers = [
        start_with(&folder, &[&listen[..], &[&plain]].concat()),
        start_with(&folder, &[&listen[..], &[&both]].concat()),
        start_with(&folder, &[&listen[..], &[&plain, "--password-file", &password]].concat()),
    ];
    let of = |client: &str| {
        let [certificate, key] = ["pem", "key"].map(|end| authority.file(&format!("{client}.{end}")));
        vec!["--cert".to_string(), certificate, "--key".to_string(), key]
    };
    for (server, client, more, path, expected) in [
        (0, "ann", &[][..], "", Some("303")),
        (0, "bob", &[], "", Some("303")),
        // Nobody without a certificate, with one of another authority, or with one for servers.
        (0, "", &[], "", None),
        (0, "eve", &[], "", None),
        (0, "web", &[], "", None),
        // A browser shows its certificate to every site that asks for it: the cookie is needed all the same.
        (0, "ann", &[], "api/v1/hosts", Some("401")),
        (0, "ann", &["-H", "Origin: https://evil.example"], "", Some("403")),
        (0, "ann", &["-H", "Sec-Fetch-Site: cross-site"], "", Some("403")),
        (0, "ann", &["-H", "Host: evil.example"], "", Some("421")),
        // Bob's is revoked.
        (1, "ann", &[], "", Some("303")),
        (1, "bob", &[], "", None),
        // Both are needed.
        (2, "ann", &[], "", Some("401")),
        (2, "ann", &["-u", &user], "", Some("303")),
        (2, "", &["-u", &user], "", None),
    ] {
        let address = format!("https://localhost:{}/{path}", servers[server].port);
        let shown = if client.is_empty() { Vec::new() } else { of(client) };
        let words: Vec<&str> = shown.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let (_, said) = curl(&folder, &[&words[..], &[&address]].concat());
        let status = said.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        assert_eq!(status, expected, "{server} {client} {more:?} {path}: {said}");
    }
    // The cookie of the first look opens the page.
    let (page, jar) = (format!("https://localhost:{}/", servers[0].port), folder.file("jar"));
    let shown = of("ann");
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    let (_, said) = curl(&folder, &[&shown[..], &["-L", "-c", &jar, "-b", &jar, &page]].concat());
    assert!(said.contains("HTTP/1.1 200") && said.contains("<html"), "{said}");
    for (file, bytes, part) in [
        ("none.pem", &b"no certificate\n"[..], "has no certificate"),
        ("bad.pem", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate 1: "),
    ] {
        let file = folder.write(file, bytes);
        let output = command(&folder, &[&listen[..], &[&file]].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(7) && said.contains(part), "{said}");
    }
    attack(
        "pages",
        "reach a page for browsers with a certificate without one, with a foreign, a revoked or a server's \
         one",
        "the handshake of TLS fails; with a certificate, other sites still cannot ask",
    );
}

#[test]
fn attack_a_page_for_other_machines_without_protection() {
    let folder = Folder::new();
    let refused = |words: &[&str], code: i32, part: &str| {
        let output = command(&folder, words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{words:?}: {said}");
        assert!(said.contains(part) && !said.contains("correct"), "{words:?}: {said}");
    };
    refused(&["--listen", "0.0.0.0:0"], 2, "--password-file FILE serves the page over TLS");
    let file = password_file(&folder, "correct", 0o600);
    refused(&["--listen", "0.0.0.0:0", "--password-file", &file], 2, "too short");
    let file = password_file(&folder, PASSWORD, 0o644);
    refused(&["--listen", "0.0.0.0:0", "--password-file", &file], 5, "others can read it");
    let file = password_file(&folder, PASSWORD, 0o600);
    refused(&["--password-file", &file, "--metrics=local"], 2, "for every machine");
    refused(&["--password-file", &file, "--allow-control"], 2, "--allow-control");
    attack(
        "pages",
        "listen in on a page that its user opens to other machines",
        "it does not start without TLS and a password in a file that only its user can read",
    );
}
