//! A real sshd on this machine, with keys and settings of its own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tallymon_testkit::{peer, skip};

use crate::support::{AVAILABLE, Net, TALLY, has};

/// A server that ends with its test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn key(file: &Path) {
    let status = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file).status();
    assert!(status.unwrap().success());
}

/// Starts sshd on a free port; `path` is the PATH of commands that it runs.
fn serve(net: &Net, sshd: &Path, path: &str) -> (Server, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = net.folder.to_str().unwrap();
    for name in ["host", "user", "stranger"] {
        if !net.folder.join(name).exists() {
            key(&net.folder.join(name));
        }
    }
    fs::copy(net.folder.join("user.pub"), net.folder.join("authorized")).unwrap();
    let settings = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\n\
         AuthorizedKeysFile {folder}/authorized\nPidFile none\nUsePAM no\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nStrictModes no\n\
         PermitRootLogin prohibit-password\nSetEnv PATH={path}\n"
    );
    let file = net.file(&format!("sshd{port}"), settings.as_bytes());
    let child = Command::new(sshd).args(["-D", "-e", "-f"]).arg(&file).stderr(Stdio::null()).spawn().unwrap();
    let server = Server(child);
    let begin = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(30), "sshd does not listen");
        thread::sleep(Duration::from_millis(20));
    }
    (server, port)
}

#[test]
fn values_come_through_a_real_sshd() {
    let (Some(sshd), Some(ssh)) = (peer("sshd").or_else(|| at("/usr/sbin/sshd")), peer("ssh")) else {
        return;
    };
    // It wants this folder for the user without rights.
    if fs::create_dir_all("/run/sshd").is_err() {
        return skip("sshd needs the folder /run/sshd, which root creates");
    }
    let net = Net::new(&[]);
    let folder = net.folder.to_str().unwrap().to_string();
    let bin = Path::new(TALLY).parent().unwrap().to_str().unwrap();
    let (_with, with) = serve(&net, &sshd, &format!("{bin}:/usr/bin:/bin"));
    // There is no program in it yet.
    let there = net.folder.join("there");
    fs::create_dir_all(&there).unwrap();
    let (_without, without) = serve(&net, &sshd, &format!("{}:/usr/bin:/bin", there.display()));
    let common =
        format!("UserKnownHostsFile {folder}/known\nStrictHostKeyChecking accept-new\nIdentitiesOnly yes\n");
    let of_host = |name: &str, port: u16, key: &str| {
        format!("Host {name}\nHostName 127.0.0.1\nPort {port}\nIdentityFile {folder}/{key}\n{common}")
    };
    let settings = [
        of_host("far", with, "user"),
        of_host("without", without, "user"),
        of_host("locked", with, "stranger"),
        of_host("shared", with, "user")
            + &format!("ControlMaster auto\nControlPath {folder}/master\nControlPersist 60\n"),
        "Host closed\nHostName 127.0.0.1\nPort 1\n".to_string(),
    ];
    let file = net.file("ssh.settings", settings.concat().as_bytes());
    net.program(&format!("#!/bin/sh\nexec {} -F {} \"$@\"\n", ssh.display(), file.display()));
    let one = net.tally(&["get", "-H", "ssh://far", AVAILABLE, r"\Processor(_Total)\% Processor Time"]);
    has(&one.data(), &[AVAILABLE, r"\Processor(_Total)\% Processor Time"]);
    let list = net.tally(&["list", "-H", "ssh://far"]).data();
    assert_eq!(list.lines().count(), net.tally(&["list"]).data().lines().count());
    let mut words = vec!["get", AVAILABLE, "--timeout", "30s"];
    for host in ["ssh://far", "ssh://without", "ssh://locked", "ssh://closed"] {
        words.extend(["-H", host]);
    }
    let ran = net.tally(&words);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    has(&ran.out, &[r"\\far\Memory\Available MBytes"]);
    has(
        &ran.err,
        &[
            "ssh://without: there is no program 'tally'",
            "ssh://locked: ssh: ",
            "Permission denied (publickey)",
            "ssh://closed: ssh: ",
            "Connection refused",
        ],
    );
    // The program that is copied there is the one that answers from then on.
    let to = there.to_str().unwrap();
    let copied = net.tally(&["remote", "install", "ssh://without", "--yes", "--to", to, "--timeout", "60s"]);
    assert_eq!(copied.code, Some(0), "{}", copied.err);
    has(&copied.out, &[&format!("without: {to}/tally is there: tally ")]);
    has(&net.tally(&["get", AVAILABLE, "-H", "ssh://without", "--timeout", "60s"]).data(), &[AVAILABLE]);
    let again = net.tally(&["remote", "install", "ssh://without", "--dry-run", "--to", to]).data();
    has(&again, &["instead of tally "]);
    one_connection_for_all(&net, &ssh, &file);
}

/// With `ControlMaster` the first command stays connected, and the next ones need no login of their own.
fn one_connection_for_all(net: &Net, ssh: &Path, settings: &Path) {
    let master = net.folder.join("master");
    let get = || net.tally(&["get", AVAILABLE, "-H", "ssh://shared", "--timeout", "60s"]).data();
    let control = |word: &str| {
        let mut ssh = Command::new(ssh);
        ssh.arg("-F").arg(settings).args(["-O", word, "shared"]).stdin(Stdio::null());
        ssh.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    };
    has(&get(), &[AVAILABLE]);
    assert!(master.exists() && control("check"), "no connection stays");
    // No key logs in any more: only the connection that is there.
    fs::write(net.folder.join("authorized"), "").unwrap();
    has(&get(), &[AVAILABLE]);
    assert!(control("exit"));
    let ran = net.tally(&["get", AVAILABLE, "-H", "ssh://shared", "--timeout", "60s"]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    has(&ran.err, &["ssh://shared: ssh: ", "Permission denied"]);
}

fn at(path: &str) -> Option<std::path::PathBuf> {
    let path = std::path::PathBuf::from(path);
    path.is_file().then_some(path)
}
