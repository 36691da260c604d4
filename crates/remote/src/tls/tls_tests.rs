use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, ServerConnection, Stream};
use tallymon_core::flow::{SourceError, SourceErrorKind};

use super::limits::{Counts, Refusal, counted};
use super::listen::{Keeper, Options, Server};
use super::pair::PairingCode;
use super::verify::{AnyKey, PAIR, Verifier, client, server, server_name};
use super::*;
use crate::address::TlsAddress;
use crate::frames::{read_frame, write_frame};

fn identity() -> Identity {
    Identity::from_pem(&Identity::new_pem("web1").unwrap()).unwrap()
}

#[test]
fn openssl_has_the_same_hash_of_a_key() {
    let Some(openssl) = tallymon_testkit::peer("openssl") else { return };
    let scratch = tallymon_testkit::Scratch::new();
    let pem = Identity::new_pem("web1.example.net").unwrap();
    let file = scratch.join("identity.pem");
    std::fs::write(&file, &pem).unwrap();
    let run = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &command.replace("FILE", file.to_str().unwrap())]).stderr(Stdio::null());
        String::from_utf8(shell.output().unwrap().stdout).unwrap()
    };
    let openssl = openssl.display();
    let hash = run(&format!(
        "{openssl} x509 -in FILE -pubkey -noout | {openssl} pkey -pubin -outform der | \
         {openssl} dgst -sha256 -r"
    ));
    let ours = Identity::from_pem(&pem).unwrap().hash().to_string();
    assert_eq!(format!("sha256:{}", hash.split_whitespace().next().unwrap()), ours);
    assert_eq!(ours.parse(), Ok(Identity::from_pem(&pem).unwrap().hash()));
    let text = run(&format!("{openssl} x509 -in FILE -noout -text"));
    assert!(text.contains("DNS:web1.example.net, DNS:localhost") && text.contains("P-256"), "{text}");
    for wrong in
        ["", "sha256:", "sha256:00", &ours[..70], &format!("{ours}0"), &ours.replace("sha256", "md5")]
    {
        assert_eq!(wrong.parse::<KeyHash>(), Err(NoKeyHash), "{wrong}");
    }
}

#[test]
fn a_certificate_or_key_that_is_missing_is_named() {
    let pem = Identity::new_pem("web1").unwrap();
    let at = pem.find("-----BEGIN PRIVATE").unwrap();
    for (text, part) in
        [("", "no certificate"), (&pem[..at], "no private key"), (&pem[at..], "no certificate")]
    {
        let error = Identity::from_pem(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_code_is_read_as_somebody_types_it() {
    let code = PairingCode::new().unwrap();
    let text = code.to_string();
    assert_eq!(text.len(), 24);
    assert_ne!(PairingCode::new().unwrap(), code);
    assert!(!format!("{code:?}").contains(&text[..4]));
    for typed in
        [text.clone(), text.to_lowercase(), text.replace('-', " "), format!(" {}\n", text.replace('-', ""))]
    {
        assert_eq!(PairingCode::parse(&typed), Some(code.clone()), "{typed}");
    }
    let zeros = PairingCode::parse("0000-1111-0000-1111-0000");
    assert_eq!(PairingCode::parse("OOoo-IiLl-0000-1111-0000"), zeros);
    for wrong in
        ["", &text[..23], &format!("{text}0"), "0000-1111-0000-1111-000U", "0000-1111-0000-1111-000é"]
    {
        assert_eq!(PairingCode::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn handshakes_failures_and_requests_have_limits() {
    let limits = Limits {
        handshakes: 5,
        handshakes_of_address: 3,
        failures: 2,
        requests: 10,
        burst: 4,
        ..Limits::default()
    };
    let at = |last: u8| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
    let start = Instant::now();
    let later = |seconds: u64| start + Duration::from_secs(seconds);
    let mut counts = Counts::default();
    for (address, expected) in [
        (1, Ok(())),
        (1, Ok(())),
        (1, Ok(())),
        (1, Err(Refusal::Handshakes)),
        (2, Ok(())),
        (3, Ok(())),
        (4, Err(Refusal::Handshakes)),
    ] {
        assert_eq!(counts.begin_handshake(&limits, at(address), start), expected, "{address}");
    }
    counts.end_handshake(at(1));
    assert_eq!(counts.begin_handshake(&limits, at(4), start), Ok(()));
    // Failures of an address count for a minute, and for no other address.
    let mut counts = Counts::default();
    counts.failed(&limits, at(1), later(0));
    assert_eq!(counts.begin_handshake(&limits, at(1), later(1)), Ok(()));
    counts.failed(&limits, at(1), later(1));
    assert_eq!(counts.begin_handshake(&limits, at(1), later(59)), Err(Refusal::Failures));
    assert_eq!(counts.begin_handshake(&limits, at(2), later(59)), Ok(()));
    assert_eq!(counts.begin_handshake(&limits, at(1), later(60)), Ok(()));
    // Requests: a burst, and then a share of a second each.
    let (one, other) = (identity().hash(), identity().hash());
    let waits: Vec<_> = (0..6).map(|_| counts.request(&limits, one, start).as_millis()).collect();
    assert_eq!(waits, [0, 0, 0, 0, 100, 200]);
    assert_eq!(counts.request(&limits, other, start), Duration::ZERO);
    assert_eq!(counts.request(&limits, one, later(10)), Duration::ZERO);
    // Connections of peers.
    let limits = Limits { connections: 3, connections_of_peer: 2, ..limits };
    for (peer, expected) in [
        (one, Ok(())),
        (one, Ok(())),
        (one, Err(Refusal::OfPeer)),
        (other, Ok(())),
        (other, Err(Refusal::Connections)),
    ] {
        assert_eq!(counts.begin_connection(&limits, peer), expected);
    }
    counts.end_connection(one);
    assert_eq!(counts.begin_connection(&limits, other), Ok(()));
}

#[test]
fn an_address_of_version_6_counts_with_its_network() {
    let counted = |text: &str| counted(text.parse().unwrap()).to_string();
    assert_eq!(counted("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    assert_eq!(counted("::ffff:192.0.2.1"), "192.0.2.1");
    assert_eq!(counted("192.0.2.1"), "192.0.2.1");
}

/// Keys in memory, with one code that is always open.
#[derive(Debug)]
struct Memory {
    code: PairingCode,
    tries: Mutex<u32>,
    clients: Mutex<Vec<KeyHash>>,
}

impl Keeper for Memory {
    fn client(&self, key: &KeyHash) -> Option<String> {
        self.clients.lock().unwrap().contains(key).then(|| "client".to_string())
    }

    fn begin_try(&self) -> Result<Option<PairingCode>, String> {
        let mut tries = self.tries.lock().unwrap();
        *tries = tries.saturating_add(1);
        Ok(Some(self.code.clone()))
    }

    fn pair(&self, _: &PairingCode, key: &KeyHash, name: &str) -> Result<String, String> {
        self.clients.lock().unwrap().push(*key);
        Ok(name.to_string())
    }
}

/// A server that ends with its test.
struct Running {
    address: SocketAddr,
    keeper: Arc<Memory>,
    identity: Identity,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn start() -> Running {
        let keeper = Arc::new(Memory {
            code: PairingCode::new().unwrap(),
            tries: Mutex::default(),
            clients: Mutex::default(),
        });
        let own = identity();
        let server = Server::bind(Options {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            identity: own.clone(),
            name: "server".to_string(),
            keeper: Arc::clone(&keeper) as Arc<dyn Keeper>,
            open: Box::new(|| Err(SourceError::new(SourceErrorKind::Unsupported, "none".to_string()))),
            limits: Limits::default(),
            report: Box::new(|_| ()),
        })
        .unwrap();
        let address = server.address();
        let stop = Arc::new(AtomicBool::new(false));
        let of_thread = Arc::clone(&stop);
        let thread = thread::spawn(move || server.run(&of_thread).unwrap());
        Running { address, keeper, identity: own, stop, thread: Some(thread) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn at(address: SocketAddr) -> TlsAddress {
    TlsAddress { host: address.ip().to_string(), port: Some(address.port()) }
}

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn both_sides_of_a_pairing_know_the_key_of_the_other() {
    let server = Running::start();
    let own = identity();
    let paired =
        pair::pair(&at(server.address), &server.keeper.code, &own, "ann @web1\u{1b}[2J", PATIENCE).unwrap();
    assert_eq!((paired.key, paired.name.as_str()), (server.identity.hash(), "server"));
    assert_eq!(paired.our_name, "ann@web12J");
    assert_eq!(*server.keeper.clients.lock().unwrap(), [own.hash()]);
    let wrong = PairingCode::new().unwrap();
    let error = pair::pair(&at(server.address), &wrong, &identity(), "eve", PATIENCE).unwrap_err();
    assert!(
        error.kind == SourceErrorKind::AccessDenied && error.message.contains("the code is wrong"),
        "{error}"
    );
    assert_eq!(server.keeper.clients.lock().unwrap().len(), 1);
    assert_eq!(*server.keeper.tries.lock().unwrap(), 2);
}

/// Plays the server for the client and the client for the server, with keys of its own, and passes on what
/// they say. Returns what the server answered.
fn in_between(listener: &TcpListener, server_address: SocketAddr, answer: Option<Vec<u8>>) -> Vec<u8> {
    let own = identity();
    let (mut left, _) = listener.accept().unwrap();
    let mut right = TcpStream::connect(server_address).unwrap();
    let settings = server(&own, Verifier::new(Arc::new(AnyKey)), PAIR).unwrap();
    let mut to_client = ServerConnection::new(settings).unwrap();
    let settings = client(&own, Verifier::new(Arc::new(AnyKey)), PAIR).unwrap();
    let mut to_server = ClientConnection::new(settings, server_name().unwrap()).unwrap();
    let mut client_side = Stream::new(&mut to_client, &mut left);
    let question = read_frame(&mut client_side).unwrap();
    let mut server_side = Stream::new(&mut to_server, &mut right);
    write_frame(&mut server_side, &question).unwrap();
    let said = read_frame(&mut server_side).unwrap();
    write_frame(&mut client_side, answer.as_ref().unwrap_or(&said)).unwrap();
    said
}

#[test]
fn attack_somebody_in_between_passes_the_proof_on() {
    let server = Running::start();
    // Passes the answer on, or says that all is well with a proof that it makes up.
    let lie = [&[1, 32, 0, 0, 0][..], &[7; 32], &[1, 0, 0, 0, b's', 1, 0, 0, 0, b'c']].concat();
    for (answer, words) in [(None, "the code is wrong"), (Some(lie), "somebody may be in between")] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, to) = (listener.local_addr().unwrap(), server.address);
        let middle = thread::spawn(move || in_between(&listener, to, answer));
        let error = pair::pair(&at(address), &server.keeper.code, &identity(), "ann", PATIENCE).unwrap_err();
        assert!(error.kind == SourceErrorKind::AccessDenied && error.message.contains(words), "{error}");
        let said = middle.join().unwrap();
        assert_eq!(said.first(), Some(&0), "the server refuses");
    }
    assert!(server.keeper.clients.lock().unwrap().is_empty());
    tallymon_testkit::attack(
        "TLS",
        "stand between two machines that pair, with keys of its own, and pass on what they prove",
        "both refuse: the proof is for one connection and its two keys; no key is kept",
    );
}
