//! `tally serve --tls` and `tls://` addresses, with openssl and curl as clients that we did not write.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use tallymon_testkit::{attack, peer};

use crate::support::{AVAILABLE, Net, Ran, TALLY, has};

const AREA: &str = "TLS";

/// How long something may take that happens at once, or after a deadline of the server.
const PATIENCE: Duration = Duration::from_secs(90);

/// A server that ends with its test.
pub(crate) struct Server {
    child: Child,
    /// Where its keys are.
    pub(crate) root: PathBuf,
    /// `tls://127.0.0.1:PORT`
    pub(crate) address: String,
    pub(crate) key: String,
    messages: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn start(net: &Net, name: &str, more: &[&str]) -> Server {
        let root = net.folder.join(name);
        let messages = net.folder.join(format!("{name}.messages"));
        let (child, address, key) = Server::spawn(&root, &messages, "127.0.0.1:0", more);
        Server { child, root, address, key, messages }
    }

    fn spawn(root: &Path, messages: &Path, listen: &str, more: &[&str]) -> (Child, String, String) {
        let mut command = tallymon_testkit::terminal::clean(TALLY);
        command.args(["serve", "--tls", "--listen", listen]).args(more).env("TALLY_ROOT", root);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(fs::File::create(messages).unwrap());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, key) = line.trim().split_once(' ').unwrap();
        (child, address.to_string(), key.to_string())
    }

    /// Sends it a signal, such as `-STOP`.
    pub(crate) fn signal(&self, name: &str) {
        Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
    }

    /// Ends it.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again after its end, at the same address.
    pub(crate) fn restart(&mut self) {
        let (child, address, _) = Server::spawn(&self.root, &self.messages, self.place(), &[]);
        assert_eq!(address, self.address);
        self.child = child;
    }

    /// The address for programs that know no `tls://`.
    pub(crate) fn place(&self) -> &str {
        self.address.strip_prefix("tls://").unwrap()
    }

    /// Runs the command with the keys of the server.
    fn tally(&self, words: &[&str]) -> Ran {
        Ran::of(
            tallymon_testkit::terminal::clean(TALLY)
                .args(words)
                .env("TALLY_ROOT", &self.root)
                .output()
                .unwrap(),
        )
    }

    /// A code that is open now.
    fn code(&self) -> String {
        let ran = self.tally(&["remote", "pair", "--name", "desk"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out.trim().to_string()
    }

    /// Lets the user of a net in.
    pub(crate) fn pair(&self, net: &Net) {
        let ran = prove(net, &self.address, &self.code());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }

    /// Waits until the server has said something.
    fn wait_for(&self, part: &str) {
        let begin = Instant::now();
        loop {
            let said = fs::read_to_string(&self.messages).unwrap();
            if said.contains(part) {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "{part:?} is not in:\n{said}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Types a code at the client.
fn prove(net: &Net, address: &str, code: &str) -> Ran {
    let mut command = tallymon_testkit::terminal::clean(TALLY);
    command.args(["remote", "pair", address]).env("TALLY_ROOT", net.folder.join("root"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{code}\n").as_bytes()).unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

/// A file of the client's keys.
pub(crate) fn key_file(net: &Net, name: &str) -> PathBuf {
    net.folder.join("root/user/remote").join(name)
}

fn get(net: &Net, server: &Server) -> Ran {
    net.tally(&["get", AVAILABLE, "-H", &server.address, "--timeout", "60s"])
}

#[test]
fn machines_that_have_paired_read_each_other() {
    let net = Net::new(&[]);
    let server = Server::start(&net, "server", &[]);
    let ran = get(&net, &server);
    assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{}", ran.err);
    has(&ran.err, &["does not know the key of the host", "run 'tally remote pair' there"]);
    server.pair(&net);
    server.wait_for("127.0.0.1 has paired, as desk: sha256:");
    assert!(get(&net, &server).data().starts_with(AVAILABLE));
    let listed = net.tally(&["remote", "list"]).data();
    has(&listed, &["key of this machine  sha256:", "server  ", &server.key, &server.address]);
    let here = server.tally(&["remote", "list", "--json"]).data();
    has(&here, &[r#""kind":"client""#, r#""name":"desk""#, &server.key]);
    // By the table, and beside this machine.
    net.file("root/hosts", format!("web1 {}\n", server.address).as_bytes());
    let both = net.tally(&["get", AVAILABLE, "-H", "web1", "--json"]).data();
    has(&both, &["Available MBytes"]);
    let in_path = net.tally(&["get", r"\\web1\Memory\Available MBytes", AVAILABLE]).data();
    has(&in_path, &[r"\\web1\Memory\Available MBytes"]);
    let rows =
        net.tally(&["watch", AVAILABLE, "-H", "web1", "-c", "3", "--interval", "100ms", "--csv"]).data();
    assert_eq!(rows.lines().count(), 4, "{rows}");
    for word in ["list", "find"] {
        has(&net.tally(&[word, "Memory", "-H", "web1"]).data(), &["Memory"]);
    }
}

#[test]
fn a_code_in_the_arguments_and_a_wrong_address_are_refused() {
    let net = Net::new(&[]);
    for (words, parts) in [
        (&["remote", "pair", "tls://web1", "0000-1111-2222-3333-4444"][..], &["seen by every user"][..]),
        (&["remote", "pair", "ssh://web1"], &["only addresses over TLS"]),
        (&["remote", "pair", "web1"], &["is not an address"]),
        (&["remote", "pair", "tls://ann@web1"], &["no user logs in over TLS"]),
        (&["serve", "--tls", "--open"], &["--tls"]),
        (&["serve", "--tls", "--listen", "web1"], &["address in numbers"]),
        (&["serve", "--tls", "--listen", "127.0.0.1:1", "--port", "2"], &["leave out --port"]),
    ] {
        let ran = net.tally(words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{words:?}: {}", ran.err);
        has(&ran.err, parts);
    }
    let ran = net.tally(&["remote", "revoke", "nobody"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let ran = prove(&net, "tls://127.0.0.1:1", "1234");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    has(&ran.err, &["this is not a code", "No try was used"]);
}

#[test]
fn attack_codes_that_are_wrong_used_or_old() {
    let net = Net::new(&[]);
    let server = Server::start(&net, "server", &[]);
    let code = server.code();
    let wrong = if code.starts_with('0') { code.replacen('0', "1", 1) } else { format!("0{}", &code[1..]) };
    for _ in 0..3 {
        let ran = prove(&net, &server.address, &wrong);
        assert_eq!(ran.code, Some(5), "{}", ran.err);
        has(&ran.err, &["the code is wrong"]);
    }
    let ended = |code: &str| {
        let ran = prove(&net, &server.address, code);
        assert_eq!(ran.code, Some(5), "{}", ran.err);
        has(&ran.err, &["no code is open there"]);
    };
    ended(&code);
    // One that is ten minutes old.
    let code = server.code();
    let file = server.root.join("user/remote/code");
    let text = fs::read_to_string(&file).unwrap();
    let made: u64 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    fs::write(&file, text.replace(&made.to_string(), &(made - 600).to_string())).unwrap();
    ended(&code);
    // One that was used.
    let code = server.code();
    let ran = prove(&net, &server.address, &code);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ended(&code);
    assert_eq!(server.tally(&["remote", "list"]).data().matches("client").count(), 1);
    attack(
        AREA,
        "guess a pairing code, use it twice, or use it after ten minutes",
        "it ends after three wrong tries, one use or ten minutes; then no code is right",
    );
}

#[test]
fn attack_clients_without_a_known_key() {
    let (Some(openssl), Some(curl)) = (peer("openssl"), peer("curl")) else { return };
    let net = Net::new(&[]);
    let server = Server::start(&net, "server", &[]);
    server.pair(&net);
    // A machine that knows the server, and that the server does not know.
    let stranger = Net::new(&[]);
    let made = stranger.tally(&["remote", "pair"]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    fs::copy(key_file(&net, "peers"), key_file(&stranger, "peers")).unwrap();
    let ran = get(&stranger, &server);
    assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{}", ran.err);
    has(&ran.err, &["the host does not know the key of this machine, sha256:"]);
    let strange = key_file(&stranger, "identity.pem").display().to_string();
    let known = key_file(&net, "identity.pem").display().to_string();
    let place = server.place();
    let frames = ["-alpn", "tallymon/1"];
    for (arguments, part) in [
        (&["-tls1_3"][..], "certificate required"),
        (&["-tls1_2"], "protocol version"),
        (&["-tls1_2", "-cert", &known, "-key", &known], "protocol version"),
        (&["-tls1_3", "-cert", &strange, "-key", &strange], "access denied"),
    ] {
        let mut client = Command::new(&openssl);
        client.args(["s_client", "-connect", place, "-ign_eof"]).args(frames).args(arguments);
        let output = client.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(part), "{arguments:?}: {said}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("TALLYMON"), "{arguments:?}");
    }
    for url in [format!("https://{place}/"), format!("http://{place}/")] {
        let output = Command::new(&curl).args(["-sS", "-k", "-m", "30", &url]).output().unwrap();
        assert!(
            !output.status.success() && !String::from_utf8_lossy(&output.stdout).contains("TALLYMON"),
            "{url}"
        );
    }
    assert!(get(&net, &server).data().starts_with(AVAILABLE));
    attack(
        AREA,
        "connect without a key, with an unknown key, by TLS 1.2 or older, or without TLS",
        "refused in the handshake; nothing is answered before a known key is proved",
    );
}

#[test]
fn attack_a_client_that_was_revoked() {
    let net = Net::new(&[]);
    let server = Server::start(&net, "server", &[]);
    server.pair(&net);
    let mut command = tallymon_testkit::terminal::clean(TALLY);
    command.args(["watch", AVAILABLE, "-H", &server.address, "--interval", "50ms", "--csv", "-c", "100000"]);
    command.env("TALLY_ROOT", net.folder.join("root")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watch = command.spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().take(4).all(|line| line.is_ok()));
    // A connection that is open and says nothing.
    let idle = peer("openssl").map(|openssl| greet(&openssl, &net, &server, b""));
    let ran = server.tally(&["remote", "revoke", "desk"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // Both end by themselves.
    drop(lines);
    let output = watch.wait_with_output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("revoked"), "{said}");
    if let Some(mut idle) = idle {
        ends(&mut idle.0);
    }
    let ran = get(&net, &server);
    assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{}", ran.err);
    attack(
        AREA,
        "go on reading after 'tally remote revoke', also on a connection that is open",
        "open connections are closed within a second, and no request is answered; sessions are never resumed",
    );
}

#[test]
fn attack_a_server_with_another_key() {
    let net = Net::new(&[]);
    let (server, other) = (Server::start(&net, "server", &[]), Server::start(&net, "other", &[]));
    server.pair(&net);
    // The other one answers in its place.
    let peers = key_file(&net, "peers");
    let text = fs::read_to_string(&peers).unwrap();
    fs::write(&peers, text.replace(&server.address, &other.address)).unwrap();
    let ran = get(&net, &other);
    assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{}", ran.err);
    has(&ran.err, &[&format!("shows the key {}", other.key), &format!("key of this host is {}", server.key)]);
    attack(
        AREA,
        "answer in the place of a server, with another key",
        "the client refuses before it says anything, and names both keys",
    );
}

/// openssl as a client with the known key, that stays.
struct Client(Child);

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Says the greeting and these bytes, and keeps the connection open.
fn greet(openssl: &Path, net: &Net, server: &Server, bytes: &[u8]) -> Client {
    let identity = key_file(net, "identity.pem");
    let mut client = Command::new(openssl);
    client.args([
        "s_client",
        "-quiet",
        "-connect",
        server.place(),
        "-alpn",
        "tallymon/1",
        "-tls1_3",
        "-cert",
    ]);
    client.arg(&identity).arg("-key").arg(&identity);
    client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = Client(client.spawn().unwrap());
    let mut greeting = [0; 12];
    client.0.stdout.as_mut().unwrap().read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"TALLYMON\x01\0\x01\0");
    let input = client.0.stdin.as_mut().unwrap();
    input.write_all(&greeting).and_then(|()| input.write_all(bytes)).and_then(|()| input.flush()).unwrap();
    client
}

/// Waits until a client has ended.
fn ends(client: &mut Child) {
    let begin = Instant::now();
    while client.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < PATIENCE, "the connection stays open");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A request for all values, as a frame.
const EVERYTHING: &[u8] = b"\x0f\0\0\0\x01\x06\0\0\0Global\0\0\0\0";

#[test]
fn attack_peers_that_stop_lie_or_take_nothing() {
    let Some(openssl) = peer("openssl") else { return };
    let net = Net::new(&[]);
    let server = Server::start(&net, "server", &[]);
    server.pair(&net);
    // A request that is answered, so that the others are refused for what they are.
    let mut asks = greet(&openssl, &net, &server, EVERYTHING);
    let mut head = [0; 5];
    asks.0.stdout.as_mut().unwrap().read_exact(&mut head).unwrap();
    assert_eq!(head[4], 0x81, "a data block");
    // Longer than any request, of an unknown kind, and one that stops in the middle.
    for (bytes, why) in [
        (&b"\xff\xff\xff\xff"[..], "a frame of 4294967295 bytes; the longest that is read has 1048576"),
        (b"\x01\0\0\0\x63", "unexpected kind of frame: 99"),
        (b"\x0f\0\0\0\x01\x06", "silent for too long"),
    ] {
        let server = Server::start(&net, "sick", &[]);
        server.pair(&net);
        let mut client = greet(&openssl, &net, &server, bytes);
        server.wait_for(why);
        ends(&mut client.0);
    }
    // Asks again and again, and reads nothing: what it asked fills its own connection only.
    let many = EVERYTHING.repeat(2000);
    let lazy = thread::scope(|scope| {
        let asking = scope.spawn(|| greet(&openssl, &net, &server, &many));
        assert!(get(&net, &server).data().starts_with(AVAILABLE));
        asking.join().unwrap()
    });
    server.wait_for("silent for too long");
    drop(lazy);
    assert!(get(&net, &server).data().starts_with(AVAILABLE));
    attack(
        AREA,
        "stop within a request, announce one of 4 GiB, or take nothing of the answers",
        "cut off after 20 s, at once, and after 20 s; others are answered meanwhile",
    );
}

/// Opens a connection from another address of this machine.
fn from_elsewhere(to: &str) -> std::io::Result<TcpStream> {
    connect_from(Ipv4Addr::new(127, 0, 0, 2), to)
}

/// Opens a connection from an address of this machine.
pub(crate) fn connect_from(address: Ipv4Addr, to: &str) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((address, 0)).into())?;
    let to: SocketAddr = to.parse().map_err(|_| ErrorKind::InvalidInput)?;
    socket.connect(&to.into())?;
    Ok(socket.into())
}

/// Whether the other side has closed a connection within the patience.
fn is_closed(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn attack_a_thousand_connections_that_never_finish_a_handshake() {
    let net = Net::new(&[]);
    let server = Server::start(&net, "server", &[]);
    server.pair(&net);
    let mut half = Vec::new();
    for _ in 0..1000 {
        let mut stream = from_elsewhere(server.place()).unwrap();
        // The beginning of a ClientHello. It may be refused already.
        let _ = stream.write_all(b"\x16\x03\x01");
        half.push(stream);
    }
    assert!(get(&net, &server).data().starts_with(AVAILABLE));
    assert!(half.iter().all(is_closed));
    // Their address has failed often enough.
    server.wait_for("127.0.0.2 was closed");
    let again = from_elsewhere(server.place()).unwrap();
    assert!(is_closed(&again));
    assert!(get(&net, &server).data().starts_with(AVAILABLE));
    attack(
        AREA,
        "open 1,000 connections and never finish a handshake",
        "16 of an address are held for 5 s, the others closed at once; then the address waits a minute",
    );
}

#[test]
fn attack_keys_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let net = Net::new(&[]);
    let server = Server::start(&net, "server", &[]);
    server.pair(&net);
    for (name, mode, words) in [
        ("identity.pem", 0o644, "others can read it"),
        ("identity.pem", 0o620, "others can read it"),
        ("peers", 0o666, "can be written by every user"),
    ] {
        let file = key_file(&net, name);
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let ran = get(&net, &server);
        assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""), "{name} {mode:o}: {}", ran.err);
        has(&ran.err, &[words, name]);
        assert!(!ran.err.contains("PRIVATE"), "{}", ran.err);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    assert!(get(&net, &server).data().starts_with(AVAILABLE));
    attack(
        AREA,
        "read the private key, or change the table of known keys, that a user left open",
        "the file is refused; the message names its mode, and never the key",
    );
}
