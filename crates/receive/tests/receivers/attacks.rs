//! Hostile senders.

use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use tallymon_receive::{Address, Options, ReceiveError, Receivers};
use tallymon_testkit::raw::Random;
use tallymon_testkit::{Scratch, attack, attack_count, other_user, peer};

use crate::otlp::post;
use crate::support::{Running, any_port};

const AREA: &str = "receivers";

#[test]
fn attack_packets_of_random_bytes() {
    let running = Running::statsd();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut random = Random::new(7);
    let good = b"a.b:1|c|@0.1|#x:y\nsize:1:2|d\nset:x|s";
    for n in 0..attack_count(2_000, 50_000) {
        let mut packet = good.to_vec();
        for _ in 0..1 + n % 8 {
            let at = random.below(packet.len() as u64) as usize;
            packet[at] = random.below(256) as u8;
        }
        socket.send_to(&packet, running.address()).unwrap();
    }
    // A packet that is lost on the way is sent again.
    let began = std::time::Instant::now();
    while !running.values().contains_key(r"statsd after(unlabelled)\Value") {
        socket.send_to(b"after:1|g", running.address()).unwrap();
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    attack(
        AREA,
        "send StatsD of random bytes",
        "what is not a metric is counted, with a reason; others go on",
    );
}

#[test]
fn attack_more_names_than_there_may_be() {
    let running = Running::statsd();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"kept:1|c", running.address()).unwrap();
    running.wait_for(&[(r"statsd kept(unlabelled)\Total", "1")]);
    for n in 0..50 {
        let lines: Vec<String> = (0..100).map(|k| format!("evil{n}.{k}:1|c")).collect();
        socket.send_to(lines.join("\n").as_bytes(), running.address()).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    socket.send_to(b"kept:1|c", running.address()).unwrap();
    running.wait_for(&[
        (r"statsd kept(unlabelled)\Total", "2"),
        (&format!(r"Tallymon Receiver(statsd {})\Objects", running.address()), "1000"),
    ]);
    assert_eq!(running.own("Last Left Out"), "there are more than 1,000 metrics");
    attack(AREA, "send StatsD with ever new names", "1,000 are taken; those that were there go on");
}

#[test]
fn attack_a_request_that_grows() {
    let running = Running::otlp();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0u8; 1 << 20];
    for _ in 0..200 {
        gzip.write_all(&zeros).unwrap();
    }
    let bomb = gzip.finish().unwrap();
    let head = |kind| format!("POST /v1/metrics HTTP/1.1\r\nContent-Type: {kind}\r\nContent-Encoding: gzip");
    for kind in ["application/x-protobuf", "application/json"] {
        let (answer, _) = post(&running, &head(kind), &bomb);
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    }
    let plain = "POST /v1/metrics HTTP/1.1\r\nContent-Type: application/x-protobuf";
    let (answer, _) = post(&running, plain, &vec![0; (4 << 20) + 1]);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    let (answer, _) = post(&running, plain, b"");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    attack(AREA, "send OTLP that is compressed a thousand times", "refused at 16 MiB, as JSON at 4 MiB");
}

#[test]
fn attack_connections_that_say_nothing() {
    let running = Running::otlp();
    let silent: Vec<TcpStream> = (0..63).map(|_| TcpStream::connect(running.address()).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(200));
    let (answer, _) = post(&running, "POST /v1/metrics HTTP/1.1\r\nContent-Type: application/json", b"{}");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(silent);
    attack(AREA, "hold 63 connections of OTLP", "there is room for another one; each ends after 15 s");
}

#[test]
fn attack_a_unix_socket_of_another_user() {
    let Some(user) = other_user() else { return };
    let Some(perl) = peer("perl") else { return };
    let running = Running::start(|folder| {
        std::fs::set_permissions(&**folder, std::fs::Permissions::from_mode(0o755)).unwrap();
        Options { statsd: vec![Address::Unix(folder.join("s"))], ..Options::default() }
    });
    let path = running.folder.join("s");
    let script = "use Socket; socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die;
        defined send($s, 'evil:1|c', 0, pack_sockaddr_un($ARGV[0])) or die \"not sent: $!\\n\";";
    let mut send = Command::new(&perl);
    let send = send.args(["-e", script]).arg(&path).current_dir("/").env("LC_ALL", "C");
    let sent = send.uid(user).gid(user).output().unwrap();
    let words = String::from_utf8_lossy(&sent.stderr);
    assert!(!sent.status.success() && words == "not sent: Permission denied\n", "{words}");
    UnixDatagram::unbound().unwrap().send_to(b"own:1|c", &path).unwrap();
    let values = running.wait_for(&[(r"statsd own(unlabelled)\Total", "1")]);
    assert!(!values.keys().any(|path| path.contains("evil")));
    attack(AREA, "send to another user's Unix socket of StatsD", "refused by its permissions");
}

#[test]
fn a_socket_file_is_only_replaced_when_nobody_listens() {
    let folder = Scratch::new();
    let path = folder.join("s");
    let bind = || {
        let statsd = vec![Address::Unix(path.clone())];
        let options = Options { statsd, directory: Some(folder.join("pub")), ..Options::default() };
        Receivers::bind(options)
    };
    drop(UnixDatagram::bind(&path).unwrap());
    let receivers = bind().unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let words = bind().unwrap_err().to_string();
    assert!(words.contains("another program listens there"), "{words}");
    drop(receivers);
    std::fs::write(&path, "text").unwrap();
    let words = bind().unwrap_err().to_string();
    assert!(words.contains("no socket") && std::fs::read(&path).unwrap() == b"text", "{words}");
}

#[test]
fn other_machines_are_named() {
    let statsd = vec![Address::Internet("0.0.0.0:0".parse().unwrap())];
    let exposed = Receivers::bind(Options { statsd: statsd.clone(), ..Options::default() });
    assert!(matches!(exposed, Err(ReceiveError::Exposed(_))));
    let exposed = Receivers::bind(Options { otlp: vec!["[::]:0".parse().unwrap()], ..Options::default() });
    assert!(matches!(exposed, Err(ReceiveError::Exposed(_))));
    let allows = |address: std::net::IpAddr| address.to_string() == "192.0.2.1";
    let folder = Scratch::new();
    let directory = Some(folder.join("pub"));
    let options = Options {
        statsd,
        otlp: vec![any_port()],
        allows: Some(Box::new(allows)),
        directory,
        ..Options::default()
    };
    Receivers::bind(options).unwrap();
}
