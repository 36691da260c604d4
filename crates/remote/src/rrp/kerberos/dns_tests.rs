//! Questions to a server of names: Debian's dnsmasq, and one that lies.
#![allow(clippy::arithmetic_side_effects)]

use std::net::{Ipv4Addr, UdpSocket as Socket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::super::kdc::Realms;
use super::*;
use crate::asynchronous;
use crate::rrp::step::Step;

/// A server of names that ends with its test.
struct Server(Child, SocketAddr);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    Socket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn dnsmasq(arguments: &[String]) -> Option<Server> {
    let path =
        ["/usr/sbin/dnsmasq", "/sbin/dnsmasq"].into_iter().find(|path| std::path::Path::new(path).exists());
    let Some(path) = path else {
        tallymon_testkit::skip("dnsmasq is not installed");
        return None;
    };
    let port = free_port();
    let child = Command::new(path)
        .args(["-k", "-C", "/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces", "--user=root"])
        .args(["--listen-address=127.0.0.1", "--pid-file="])
        .arg(format!("--port={port}"))
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Some(Server(child, (Ipv4Addr::LOCALHOST, port).into()))
}

fn asked(conf: &Conf, realm: &str) -> Result<Vec<String>, String> {
    asynchronous::run(servers(conf, realm)).unwrap()
}

/// Asks until the server has begun.
fn asked_soon(conf: &Conf, realm: &str) -> Result<Vec<String>, String> {
    let begun = Instant::now();
    loop {
        let answer = asked(conf, realm);
        if answer.is_ok() || begun.elapsed() > Duration::from_secs(20) {
            return answer;
        }
    }
}

#[test]
fn records_of_a_realm_in_their_order() {
    let record = |name: &str, target: &str, port: u16, priority: u16, weight: u16| {
        format!("--srv-host=_kerberos._tcp.{name},{target},{port},{priority},{weight}")
    };
    let mut arguments = vec![
        record("tally.test", "late.tally.test", 88, 20, 0),
        record("tally.test", "light.tally.test", 88, 10, 1),
        record("tally.test", "heavy.tally.test", 1088, 10, 9),
        "--srv-host=_kerberos._tcp.none.test".to_string(),
    ];
    // More than fits without a connection.
    arguments.extend((0..90).map(|each| {
        record("long.test", &format!("a-very-long-name-of-a-server-{each}.long.test"), 88, each, 0)
    }));
    let Some(server) = dnsmasq(&arguments) else { return };
    let conf = Conf::default().with_name_servers(vec![server.1]);
    let hosts = asked_soon(&conf, "TALLY.TEST");
    let expected = ["heavy.tally.test:1088", "light.tally.test:88", "late.tally.test:88"];
    assert_eq!(hosts.unwrap(), expected);
    assert_eq!(asked(&conf, "NONE.TEST"), Ok(Vec::new()));
    let long = asked(&conf, "LONG.TEST").unwrap();
    assert_eq!(long.len(), MOST_FOUND);
    assert_eq!(long.first().map(String::as_str), Some("a-very-long-name-of-a-server-0.long.test:88"));
    // A server that is not there leaves the question to the next one.
    let dead = (Ipv4Addr::LOCALHOST, free_port()).into();
    let two = Conf::default().with_name_servers(vec![dead, server.1]);
    assert_eq!(asked(&two, "TALLY.TEST").unwrap(), expected);
    let why = asked(&Conf::default().with_name_servers(vec![dead]), "TALLY.TEST").unwrap_err();
    assert!(why.starts_with(&format!("{dead}: ")), "{why}");
    assert!(asked(&Conf::default(), "R").unwrap_err().contains("no server of DNS"));
    assert!(asked(&conf, "a..b").is_err());
}

#[test]
fn an_answer_to_another_question_is_none() {
    let liar = Socket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let place = liar.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut bytes = [0; 512];
        while let Ok((length, from)) = liar.recv_from(&mut bytes) {
            let mut answer = bytes[..length].to_vec();
            // The question itself; nothing; another number; another name.
            let _ = liar.send_to(&answer, from);
            let _ = liar.send_to(&[], from);
            answer[2] |= 0x80;
            answer[0] ^= 1;
            let _ = liar.send_to(&answer, from);
            answer[0] ^= 1;
            answer[14] ^= 1;
            let _ = liar.send_to(&answer, from);
            for end in 0..answer.len() {
                let _ = liar.send_to(&answer[..end], from);
            }
        }
    });
    let conf = Conf::default().with_name_servers(vec![place]);
    let begun = Instant::now();
    let why = asked(&conf, "TALLY.TEST").unwrap_err();
    assert!(why.contains("no answer within 2s"), "{why}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}

/// A server that hears questions and answers none; how many it heard.
fn silent() -> (SocketAddr, Arc<AtomicUsize>) {
    let socket = Socket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (place, heard) = (socket.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&heard);
    std::thread::spawn(move || {
        while socket.recv_from(&mut [0; 512]).is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (place, heard)
}

#[test]
fn a_silent_server_of_names_holds_up_nobody_for_long() {
    let servers = [silent(), silent(), silent()];
    let conf = Conf::default().with_name_servers(servers.iter().map(|(place, _)| *place).collect());
    let begun = Instant::now();
    let why = asked(&conf, "TALLY.TEST").unwrap_err();
    assert!(servers.iter().all(|(place, _)| why.contains(&format!("{place}: no answer"))), "{why}");
    // One after the other they would take three times as long.
    assert!(begun.elapsed() < 2 * PATIENCE, "{:?}", begun.elapsed());
}

#[test]
fn dns_is_asked_once_for_a_realm() {
    let (place, heard) = silent();
    let conf = Conf::default().with_name_servers(vec![place]);
    let step = Step::new("asking for a ticket");
    let realms = Realms::new(&conf, &step);
    let early = Duration::from_millis(200);
    let run = asynchronous::run(async {
        assert!(timeout(early, realms.servers("TALLY.TEST")).await.is_err());
        assert_eq!(step.get(), "asking DNS for the servers of TALLY.TEST");
        step.set("asking for a ticket");
        for _ in 0..3 {
            assert_eq!(realms.servers("TALLY.TEST").await.0, ["tally.test:88"]);
        }
        assert_eq!(step.get(), "asking for a ticket");
    });
    run.unwrap();
    // The question that was given up, and one for all others.
    assert_eq!(heard.load(Ordering::SeqCst), 2);
}
