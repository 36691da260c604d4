//! The servers of a realm that DNS knows: records `_kerberos._tcp.REALM`, as domains of Windows have them.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::time::Duration;

use crate::asynchronous::net::{TcpStream, UdpSocket};
use crate::asynchronous::stream::{AsyncReadExt, AsyncWriteExt};
use crate::asynchronous::task::JoinSet;
use crate::asynchronous::time::timeout;
use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, TYPE};

use super::nonce;
use crate::kerberos::Conf;

/// So long a server of names may take for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// So long a server is asked alone, before the next one is asked at the same time.
const HEAD_START: Duration = Duration::from_millis(300);

/// So many servers of names are asked, and so many servers of a realm are taken.
const MOST_ASKED: usize = 3;
const MOST_FOUND: usize = 8;

/// The longest answer without a connection; a longer one comes over TCP.
const SHORT: usize = 4096;

/// The servers of a realm as `host:port`, the first ones first.
pub(super) async fn servers(conf: &Conf, realm: &str) -> Result<Vec<String>, String> {
    if conf.name_servers.is_empty() {
        return Err("no server of DNS is known".to_string());
    }
    let name = format!("_kerberos._tcp.{realm}");
    let mut left = conf.name_servers.iter().take(MOST_ASKED).copied();
    let (mut asked, mut failures, mut has_none) = (JoinSet::new(), Vec::new(), false);
    loop {
        if let Some(server) = left.next().filter(|_| !has_none) {
            asked.spawn(ask_for_a_while(server, name.clone()));
        }
        // The next one is asked too if those before it are silent.
        let head_start = if left.len() > 0 { HEAD_START } else { PATIENCE };
        match timeout(head_start, asked.join_next()).await {
            Err(_) => {}
            Ok(None) => break,
            Ok(Some(Ok(Ok(found)))) if !found.is_empty() => return Ok(found),
            // Those that were asked before may know more.
            Ok(Some(Ok(Ok(_)))) => has_none = true,
            Ok(Some(Ok(Err(why)))) => failures.push(why),
            Ok(Some(Err(error))) => failures.push(error.to_string()),
        }
    }
    if has_none { Ok(Vec::new()) } else { Err(failures.join(", ")) }
}

async fn ask_for_a_while(server: SocketAddr, name: String) -> Result<Vec<String>, String> {
    match timeout(PATIENCE, ask(server, &name)).await {
        Ok(answer) => answer.map_err(|why| format!("{server}: {why}")),
        Err(_) => Err(format!("{server}: no answer within {PATIENCE:?}")),
    }
}

async fn ask(server: SocketAddr, name: &str) -> Result<Vec<String>, String> {
    let number = nonce().map_err(|error| error.to_string())?.to_be_bytes();
    let number = u16::from_be_bytes([number[2], number[3]]);
    let question = question(number, name)?;
    let io = |error: std::io::Error| error.to_string();
    let here: SocketAddr = if server.is_ipv4() { ([0; 4], 0).into() } else { ([0; 16], 0).into() };
    let socket = UdpSocket::bind(here).await.map_err(io)?;
    // From here on the system drops what others send.
    socket.connect(server).await.map_err(io)?;
    socket.send(&question).await.map_err(io)?;
    let mut bytes = vec![0; SHORT];
    loop {
        let length = socket.recv(&mut bytes).await.map_err(io)?;
        match read(bytes.get(..length).unwrap_or_default(), number, name) {
            Answer::Servers(found) => return found,
            Answer::Cut => break,
            // An answer to something else is left alone: the right one may follow.
            Answer::Other => {}
        }
    }
    let mut stream = TcpStream::connect(server).await.map_err(io)?;
    let length = u16::try_from(question.len()).unwrap_or(u16::MAX);
    stream.write_all(&[&length.to_be_bytes(), &question[..]].concat()).await.map_err(io)?;
    let mut bytes = vec![0; stream.read_u16().await.map_err(io)?.into()];
    stream.read_exact(&mut bytes).await.map_err(io)?;
    match read(&bytes, number, name) {
        Answer::Servers(found) => found,
        Answer::Cut | Answer::Other => Err("a damaged answer".to_string()),
    }
}

fn question(number: u16, name: &str) -> Result<Vec<u8>, String> {
    let mut packet = Packet::new_query(number);
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    let name = Name::new(name).map_err(|_| format!("{name:?} is not a name of DNS"))?;
    packet.questions.push(Question::new(name, QTYPE::TYPE(TYPE::SRV), QCLASS::CLASS(CLASS::IN), false));
    packet.build_bytes_vec().map_err(|error| error.to_string())
}

/// What bytes are.
enum Answer {
    Servers(Result<Vec<String>, String>),
    /// The answer is too long to come without a connection.
    Cut,
    /// The answer to another question, or none.
    Other,
}

fn read(bytes: &[u8], number: u16, name: &str) -> Answer {
    let Ok(packet) = Packet::parse(bytes) else { return Answer::Other };
    let is_ours = packet.id() == number
        && packet.has_flags(PacketFlag::RESPONSE)
        && packet.questions.iter().all(|asked| asked.qname.to_string().eq_ignore_ascii_case(name));
    if !is_ours {
        return Answer::Other;
    }
    if packet.has_flags(PacketFlag::TRUNCATION) {
        return Answer::Cut;
    }
    match packet.rcode() {
        RCODE::NoError | RCODE::NameError => {}
        code => return Answer::Servers(Err(format!("it reports {code:?}"))),
    }
    let mut found: Vec<(u16, Reverse<u16>, String)> = packet
        .answers
        .iter()
        .filter_map(|record| match &record.rdata {
            RData::SRV(server) => Some(server),
            _ => None,
        })
        // A dot alone means that there is none.
        .filter(|server| !server.target.get_labels().is_empty())
        .map(|server| (server.priority, Reverse(server.weight), format!("{}:{}", server.target, server.port)))
        .collect();
    found.sort();
    Answer::Servers(Ok(found.into_iter().take(MOST_FOUND).map(|(_, _, server)| server).collect()))
}

/// Reads any bytes as an answer, for the fuzzer.
pub(super) fn read_any(bytes: &[u8]) {
    let number = bytes.first_chunk().map_or(0, |number| u16::from_be_bytes(*number));
    drop(read(bytes, number, "_kerberos._tcp.R"));
}

#[cfg(test)]
#[path = "dns_tests.rs"]
mod dns_tests;
