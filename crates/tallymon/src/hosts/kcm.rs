//! Tickets that a service of this machine keeps (`KCM:`, as on Fedora: `sssd-kcm`, or Heimdal's `kcm`).
//!
//! A question is its length, the version of the protocol, an operation and its arguments; an answer is its
//! length, a status of the service, a status of the operation, and what was asked for. Numbers have the
//! highest byte first; names and tickets look as in files of tickets.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The socket that everybody uses if `kcm_socket` in `krb5.conf` names no other.
const SOCKET: &str = "/var/run/.heim_org.h5l.kcm-socket";

/// So long a service may take for a whole cache.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest answer, and the most tickets of a cache.
const MOST_BYTES: u32 = 1 << 20;
const MOST_TICKETS: usize = 256;

/// Version 2.0 of the protocol.
const VERSION: [u8; 2] = [2, 0];

const GET_PRINCIPAL: u16 = 8;
const GET_TICKETS: u16 = 9;
const GET_TICKET: u16 = 10;
const GET_DEFAULT_CACHE: u16 = 20;

/// Bytes of the name of a ticket.
const UUID: usize = 16;

/// What a file of tickets of version 4 without a head begins with.
pub(super) const HEAD_OF_FILE: [u8; 4] = [5, 4, 0, 0];

/// A cache as a file of tickets: its name, or the usual one of this user if the name is empty.
pub(super) fn read(socket: Option<&str>, name: &str) -> Result<Vec<u8>, String> {
    let socket = socket.unwrap_or(SOCKET).to_string();
    let place = socket.clone();
    let name = name.to_string();
    let (sender, receiver) = mpsc::channel();
    // Connecting to a service that takes no connections has no deadline of its own.
    let worker = thread::Builder::new().name("kcm".to_string()).spawn(move || {
        let read = Service::connect(&socket).and_then(|service| service.cache(&name));
        let _ = sender.send(read.map_err(|why| format!("the service of tickets at {socket}: {why}")));
    });
    worker.map_err(|error| format!("no thread for the service of tickets: {error}"))?;
    receiver
        .recv_timeout(PATIENCE)
        .unwrap_or_else(|_| Err(format!("the service of tickets at {place}: no answer within {PATIENCE:?}")))
}

struct Service {
    stream: UnixStream,
    deadline: Instant,
}

impl Service {
    fn connect(socket: &str) -> Result<Service, String> {
        let stream = UnixStream::connect(socket)
            .map_err(|error| format!("{error}; is it running (systemctl start sssd-kcm.socket)?"))?;
        let deadline = Instant::now().checked_add(PATIENCE).unwrap_or_else(Instant::now);
        Ok(Service { stream, deadline })
    }

    fn cache(mut self, name: &str) -> Result<Vec<u8>, String> {
        let name = match name {
            "" => {
                let mut answer = self.ask(GET_DEFAULT_CACHE, b"")?;
                let end = answer.iter().position(|byte| *byte == 0);
                answer.truncate(end.ok_or("the name of the cache has no end")?);
                answer
            }
            name => name.as_bytes().to_vec(),
        };
        let named = [&name[..], &[0]].concat();
        let owner = self.ask(GET_PRINCIPAL, &named)?;
        if owner.is_empty() {
            return Err(format!("it has no tickets in {}", String::from_utf8_lossy(&name)));
        }
        let list = self.ask(GET_TICKETS, &named)?;
        let mut file = [&HEAD_OF_FILE[..], &owner].concat();
        for ticket in list.chunks_exact(UUID).take(MOST_TICKETS) {
            file.extend(self.ask(GET_TICKET, &[&named, ticket].concat())?);
        }
        Ok(file)
    }

    fn ask(&mut self, operation: u16, arguments: &[u8]) -> Result<Vec<u8>, String> {
        let left = self.deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let answered = self.stream.set_read_timeout(Some(left)).and_then(|()| {
            self.stream.set_write_timeout(Some(left))?;
            self.exchange(operation, arguments)
        });
        let (status, answer) = answered.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => format!("no answer within {PATIENCE:?}"),
            _ => error.to_string(),
        })?;
        match status {
            0 => Ok(answer),
            // KRB5_FCC_NOFILE and KRB5_CC_NOTFOUND; no cache, no entry.
            0x96c7_3ac3 | 0x96c7_3a8d | 2 => Err("it has no tickets of this user".to_string()),
            status => Err(format!("it reports error {status} (0x{status:08x})")),
        }
    }

    fn exchange(&mut self, operation: u16, arguments: &[u8]) -> io::Result<(u32, Vec<u8>)> {
        let question = [&VERSION[..], &operation.to_be_bytes(), arguments].concat();
        let length = u32::try_from(question.len()).unwrap_or(u32::MAX);
        self.stream.write_all(&[&length.to_be_bytes(), &question[..]].concat())?;
        let length = self.number()?;
        if length > MOST_BYTES {
            let words = format!("an answer of {length} bytes; the longest has {MOST_BYTES}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        let status = self.number()?;
        if status != 0 {
            return Ok((status, Vec::new()));
        }
        let mut answer = Vec::new();
        (&self.stream).take(length.into()).read_to_end(&mut answer)?;
        if u32::try_from(answer.len()) != Ok(length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some((status, rest)) = answer.split_first_chunk::<4>() else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        Ok((u32::from_be_bytes(*status), rest.to_vec()))
    }

    fn number(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.stream.read_exact(&mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }
}

#[cfg(test)]
#[path = "kcm_tests.rs"]
mod kcm_tests;
