//! Servers on this machine: `tally serve --tls`, sshd and smbd, and a relay that looks at the clock.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::remote::tls::KeyHash;
use tallymon_bench::running::{Running, free_port, wait_for};
use tallymon_testkit::{Scratch, skip};

const PASSWORD: &str = "Pass word #1";

/// A folder with a reader's settings, and a program `ssh` for them.
pub(crate) struct Net {
    pub(crate) folder: Scratch,
}

impl Net {
    pub(crate) fn new() -> Net {
        let net = Net { folder: Scratch::new() };
        fs::create_dir_all(net.folder.join("root")).expect("the folder is new");
        net
    }

    /// A path in the folder, as text.
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().expect("it is text").to_string()
    }

    pub(crate) fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let file = self.folder.join(name);
        fs::create_dir_all(file.parent().expect("it is in the folder")).expect("it can be made");
        fs::write(&file, text).expect("it can be written");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
        file
    }

    /// `tally` as the reader runs it.
    pub(crate) fn tally(&self) -> Command {
        let mut command = program("root", self);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.path("bin")));
        command
    }
}

/// `tally` with the state in a folder of its own.
fn program(root: &str, net: &Net) -> Command {
    let mut command = tallymon_testkit::terminal::clean(tallymon_bench::built("tally"));
    command.env("TALLY_ROOT", net.folder.join(root)).stdin(Stdio::null());
    command
}

/// `tally serve --tls`, which knows the reader.
pub(crate) struct Tls {
    pub(crate) program: Running,
    pub(crate) port: u16,
    /// Its key.
    pub(crate) key: KeyHash,
    /// The reader's way to it.
    pub(crate) relay: Relay,
}

impl Tls {
    pub(crate) fn start(net: &Net, name: &str) -> Tls {
        let mut command = program(name, net);
        command.args(["serve", "--tls", "--listen", "127.0.0.1:0"]);
        let mut server = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut line = String::new();
        let output = server.0.stdout.take().expect("it is a pipe");
        BufReader::new(output).read_line(&mut line).expect("the server says its address");
        let mut words = line.split_whitespace();
        let address = words.next().and_then(|place| place.rsplit_once(':'));
        let port = address.and_then(|(_, port)| port.parse().ok()).expect("the address has a port");
        let key = words.next().and_then(|key| key.parse().ok()).expect("the line has a key");
        Tls { program: server, port, key, relay: Relay::start(port) }
    }

    /// Lets the reader in at a port of this machine.
    pub(crate) fn pair(&self, net: &Net, name: &str, port: u16) {
        let answer = program(name, net).args(["remote", "pair", "--name", "desk"]).output().expect("it runs");
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        let mut command = net.tally();
        command.args(["remote", "pair", &format!("tls://127.0.0.1:{port}")]).stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut reader = command.spawn().expect("it runs");
        reader.stdin.take().expect("it is a pipe").write_all(&answer.stdout).expect("it takes the code");
        let ended = reader.wait_with_output().expect("it is ours");
        assert!(ended.status.success(), "{name}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

/// Debian's sshd with keys of its own; the reader finds it as `ssh://far`.
pub(crate) struct Sshd {
    pub(crate) program: Running,
    pub(crate) relay: Relay,
    /// The settings of the program `ssh`.
    pub(crate) settings: PathBuf,
}

impl Sshd {
    /// `None` where it is not installed.
    pub(crate) fn start(net: &Net) -> Option<Sshd> {
        let sshd = Path::new("/usr/sbin/sshd");
        // It wants the folder for a user without rights, which root creates.
        if !sshd.is_file() || fs::create_dir_all("/run/sshd").is_err() {
            skip("sshd is not installed, or this is not root");
            return None;
        }
        for name in ["host", "user"].into_iter().filter(|name| !net.folder.join(name).exists()) {
            let mut command = Command::new("ssh-keygen");
            let made =
                command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(net.folder.join(name)).status();
            assert!(made.expect("ssh-keygen is there").success());
        }
        let (folder, port) = (net.path(""), free_port());
        let bin = tallymon_bench::built("tally");
        let bin = bin.parent().expect("it is in a folder").display();
        let text = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\n\
             AuthorizedKeysFile {folder}/user.pub\nPidFile none\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             StrictModes no\nPermitRootLogin prohibit-password\nSetEnv PATH={bin}:/usr/bin:/bin\n"
        );
        let file = net.file("sshd.settings", &text, 0o600);
        let program =
            Running::start(Command::new(sshd).args(["-D", "-e", "-f"]).arg(&file).stderr(Stdio::null()));
        wait_for(port);
        let relay = Relay::start(port);
        let text = format!(
            "Host far\nHostName 127.0.0.1\nPort {}\nIdentityFile {folder}/user\nIdentitiesOnly yes\n\
             UserKnownHostsFile {folder}/known\nStrictHostKeyChecking accept-new\n",
            relay.port
        );
        let settings = net.file("ssh.settings", &text, 0o600);
        let script = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", settings.display());
        net.file("bin/ssh", &script, 0o755);
        Some(Sshd { program, relay, settings })
    }
}

/// Debian's smbd with folders of its own, and the counters of this machine at its start.
pub(crate) struct Samba {
    program: Running,
    pub(crate) folder: String,
    pub(crate) relay: Relay,
}

impl Drop for Samba {
    fn drop(&mut self) {
        let _ = self.program.0.kill();
        let _ = self.program.0.wait();
        // The helpers that smbd started outlive it; their identifiers are in files of its own folder.
        for entry in fs::read_dir(format!("{}/pid", self.folder)).into_iter().flatten().flatten() {
            if let Ok(text) = fs::read_to_string(entry.path()) {
                let _ = Command::new("kill").arg(text.trim()).stderr(Stdio::null()).status();
            }
        }
    }
}

impl Samba {
    /// `None` where it is not installed.
    pub(crate) fn start(net: &Net) -> Option<Samba> {
        let smbd = Path::new("/usr/sbin/smbd");
        let user = Command::new("id").arg("-u").output().expect("id is there");
        if !smbd.is_file() || user.stdout != b"0\n" {
            skip("smbd is not installed, or this is not root");
            return None;
        }
        for part in ["private", "lock", "state/perfmon", "cache", "pid", "ncalrpc"] {
            fs::create_dir_all(net.folder.join("samba").join(part)).expect("the folder is ours");
        }
        let folder = net.path("samba");
        export(net, &format!("{folder}/state/perfmon"));
        let port = free_port();
        let text = format!(
            "[global]\nsmb ports = {port}\ninterfaces = 127.0.0.1/8\nbind interfaces only = yes\n\
             private dir = {folder}/private\nlock directory = {folder}/lock\n\
             state directory = {folder}/state\ncache directory = {folder}/cache\n\
             pid directory = {folder}/pid\nncalrpc dir = {folder}/ncalrpc\n\
             log file = {folder}/log\npassdb backend = tdbsam:{folder}/private/passdb.tdb\n\
             server signing = mandatory\nserver min protocol = SMB3_11\nrestrict anonymous = 2\n"
        );
        let file = net.file("samba/smb.conf", &text, 0o644);
        let mut add = Command::new("smbpasswd");
        add.arg("-c").arg(&file).args(["-s", "-a", "nobody"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut add = add.spawn().expect("smbpasswd is there");
        let twice = format!("{PASSWORD}\n{PASSWORD}\n");
        add.stdin.take().expect("it is a pipe").write_all(twice.as_bytes()).expect("it takes the password");
        assert!(add.wait().expect("it is ours").success());
        let mut command = Command::new(smbd);
        command.arg("-s").arg(&file).args(["-F", "--no-process-group"]).stdin(Stdio::null());
        let program = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        wait_for(port);
        net.file("root/credentials", &format!("nobody@* {PASSWORD}\n"), 0o600);
        net.file("password", PASSWORD, 0o600);
        Some(Samba { program, folder, relay: Relay::start(port) })
    }
}

/// Writes this machine's counters for Samba once.
fn export(net: &Net, folder: &str) {
    let mut command = program("export", net);
    command.args(["serve", "--interval", "200ms", "--samba", folder]);
    let _export = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let begin = Instant::now();
    while !Path::new(folder).join("names.tdb").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no names.tdb");
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(500));
}

/// Passes bytes on to a port, and knows when they came.
pub(crate) struct Relay {
    pub(crate) port: u16,
    times: Arc<Mutex<Vec<Instant>>>,
}

impl Relay {
    fn start(target: u16) -> Relay {
        Relay::slow(target, Duration::ZERO)
    }

    /// One that holds back each part that comes, from both sides.
    pub(crate) fn slow(target: u16, hold: Duration) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let times = Arc::new(Mutex::new(Vec::new()));
        let for_thread = Arc::clone(&times);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { continue };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let both = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = both else { continue };
                    let times = Arc::clone(&for_thread);
                    thread::spawn(move || pass(from, to, hold, &times));
                }
            }
        });
        Relay { port, times }
    }

    /// The time from the first to the last byte of each exchange since the last call.
    /// Pauses of `pause` part them.
    pub(crate) fn exchanges(&self, pause: Duration) -> Vec<Duration> {
        let mut times = std::mem::take(&mut *self.times.lock().unwrap_or_else(PoisonError::into_inner));
        times.sort();
        let exchanges = times.chunk_by(|one, next| *next - *one < pause);
        exchanges.filter(|exchange| exchange.len() > 1).map(|part| part[part.len() - 1] - part[0]).collect()
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, hold: Duration, times: &Mutex<Vec<Instant>>) {
    let _ = to.set_nodelay(true);
    let mut part = vec![0; 256 << 10];
    while let Ok(count @ 1..) = from.read(&mut part) {
        times.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        thread::sleep(hold);
        if to.write_all(&part[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}
