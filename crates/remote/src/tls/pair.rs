//! How two machines learn each other's keys.
//!
//! The server shows a code to somebody, who types it at the client. Both open a connection with their keys,
//! and prove that they know the code by an HMAC over the secret of this connection and over both keys.
//! Somebody in between has two connections with two secrets, and a proof for one is none for the other; to
//! find the code from a proof, 2^100 of them would have to be tried.

use std::fmt;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use rustls::{ClientConnection, ServerConnection, Stream, StreamOwned};
use tallymon_core::flow::{SourceError, SourceErrorKind};

use super::timed::Timed;
use super::verify::{self, AnyKey, PAIR, Verifier};
use super::{Identity, KeyHash, dial};
use crate::address::TlsAddress;
use crate::frames::fields::{Reader, Writer};
use crate::frames::{FrameError, read_frame_of, write_frame};

/// The letters of a code: without I, L, O and U, which are taken for others, or make words.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Letters of a code, 5 bits each: 100 bits.
const LENGTH: usize = 20;
/// Letters of a group.
const GROUP: usize = 4;

/// The longest name of a machine.
const LONGEST_NAME: usize = 64;
/// The longest message of a pairing.
pub(super) const LONGEST_MESSAGE: u32 = 1024;

const VERSION: u8 = 1;
const REFUSED: u8 = 0;
const TAKEN: u8 = 1;

/// A code that is shown once.
#[derive(Clone, PartialEq, Eq)]
pub struct PairingCode([u8; LENGTH]);

impl fmt::Debug for PairingCode {
    /// Without the code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairingCode").finish_non_exhaustive()
    }
}

impl fmt::Display for PairingCode {
    /// Groups of four letters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, group) in self.0.chunks(GROUP).enumerate() {
            let dash = if number == 0 { "" } else { "-" };
            write!(f, "{dash}{}", String::from_utf8_lossy(group))?;
        }
        Ok(())
    }
}

impl PairingCode {
    /// A new code.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn new() -> Result<PairingCode, SourceError> {
        let mut code = [0; LENGTH];
        SystemRandom::new().fill(&mut code).map_err(|_| {
            SourceError::new(SourceErrorKind::Io, "the system has no random numbers".to_string())
        })?;
        for byte in &mut code {
            // Five bits choose one of 32 letters.
            *byte = LETTERS.get(usize::from(*byte & 31)).copied().unwrap_or(b'0');
        }
        Ok(PairingCode(code))
    }

    /// The code that somebody typed: case, blanks and dashes do not count, and letters that look like a digit
    /// mean it.
    pub fn parse(text: &str) -> Option<PairingCode> {
        let mut code = [0; LENGTH];
        let mut letters = text.chars().filter(|letter| !letter.is_whitespace() && *letter != '-');
        for place in &mut code {
            let letter = match letters.next()?.to_ascii_uppercase() {
                'O' => '0',
                'I' | 'L' => '1',
                letter => letter,
            };
            *place = u8::try_from(letter).ok().filter(|letter| LETTERS.contains(letter))?;
        }
        letters.next().is_none().then_some(PairingCode(code))
    }

    /// What a side proves the code with.
    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }
}

/// What both sides prove: this connection, with these two keys, and their names.
struct Statement {
    secret: [u8; 32],
    client: KeyHash,
    server: KeyHash,
}

/// What the secret of a connection is made for.
const LABEL: &[u8] = b"EXPORTER-tallymon-pair";

impl Statement {
    /// The bytes that a side signs with the code. Each part but the last has a fixed length.
    fn bytes(&self, side: &[u8; 6], name: &str) -> Vec<u8> {
        let parts = [
            b"tallymon pair 1 ",
            &side[..],
            &self.secret,
            self.client.bytes(),
            self.server.bytes(),
            name.as_bytes(),
        ];
        parts.concat()
    }
}

const CLIENT: &[u8; 6] = b"client";
const SERVER: &[u8; 6] = b"server";

/// The name of a machine as it may be kept: letters, digits and a few signs.
pub fn plain_name(name: &str) -> String {
    let is_plain = |letter: &char| letter.is_alphanumeric() || "._-@".contains(*letter);
    let name: String = name.chars().filter(is_plain).take(LONGEST_NAME).collect();
    if name.is_empty() { "unnamed".to_string() } else { name }
}

/// A server that has learnt our key, and whose key we have learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairedServer {
    /// Its key.
    pub key: KeyHash,
    /// How it calls itself.
    pub name: String,
    /// How it calls us.
    pub our_name: String,
}

/// Pairs with a server whose code somebody typed here. `name` is how we call ourselves.
///
/// # Errors
///
/// The server cannot be reached, has no open code, or does not know this one.
pub fn pair(
    address: &TlsAddress,
    code: &PairingCode,
    identity: &Identity,
    name: &str,
    timeout: Duration,
) -> Result<PairedServer, SourceError> {
    let failed = |kind, words: &dyn fmt::Display| SourceError::new(kind, format!("{address}: {words}"));
    let unreachable = |words: &dyn fmt::Display| failed(SourceErrorKind::Unreachable, words);
    let deadline = Instant::now().checked_add(timeout);
    let socket: TcpStream = dial::connect(address, timeout).map_err(|error| unreachable(&error))?;
    let verifier = Verifier::new(Arc::new(AnyKey));
    let settings =
        verify::client(identity, Arc::clone(&verifier), PAIR).map_err(|error| unreachable(&error))?;
    let server_name = verify::server_name().map_err(|error| unreachable(&error))?;
    let connection = ClientConnection::new(settings, server_name).map_err(|error| unreachable(&error))?;
    let left = deadline.map_or(timeout, |at| at.saturating_duration_since(Instant::now()));
    let socket = Timed::new(socket, left).map_err(|error| unreachable(&error))?;
    let mut stream = StreamOwned::new(connection, socket);
    let shaken = stream.conn.complete_io(&mut stream.sock);
    shaken.map_err(|error| unreachable(&format_args!("TLS: {error}")))?;
    let key = verifier.presented().ok_or_else(|| unreachable(&"the server has shown no key"))?;
    let secret = stream.conn.export_keying_material([0; 32], LABEL, Some(&[VERSION]));
    let secret = secret.map_err(|error| unreachable(&error))?;
    let statement = Statement { secret, client: identity.hash(), server: key };
    let name = plain_name(name);
    let proof = hmac::sign(&code.key(), &statement.bytes(CLIENT, &name));
    let mut message = Writer::of(VERSION);
    message.bytes(proof.as_ref());
    message.text(&name);
    let exchanged = write_frame(&mut stream, &message.finish())
        .and_then(|()| read_frame_of(&mut stream, LONGEST_MESSAGE));
    let answer = exchanged.map_err(|error| unreachable(&error))?;
    let bad = |error: FrameError| failed(SourceErrorKind::BadData, &error);
    let mut reader = Reader::new(&answer);
    if reader.u8("kind").map_err(bad)? != TAKEN {
        return Err(failed(SourceErrorKind::AccessDenied, &reader.text("reason").map_err(bad)?));
    }
    let proof = reader.bytes("proof").map_err(bad)?;
    let names = reader.text("name").and_then(|server| Ok((server, reader.text("our name")?))).map_err(bad)?;
    if hmac::verify(&code.key(), &statement.bytes(SERVER, names.0), proof).is_err() {
        let words = "the server does not know the code: somebody may be in between. Nothing was kept here";
        return Err(failed(SourceErrorKind::AccessDenied, &words));
    }
    Ok(PairedServer { key, name: plain_name(names.0), our_name: plain_name(names.1) })
}

/// The server's side of a connection whose handshake is done. `begin` counts a try and returns the code that
/// is open; `keep` keeps the client's key and returns the name that it has here.
pub(super) fn answer(
    connection: &mut ServerConnection,
    socket: &mut (impl Read + Write),
    (client, identity, own_name): (KeyHash, &Identity, &str),
    begin: impl FnOnce() -> Result<Option<PairingCode>, String>,
    keep: impl FnOnce(&PairingCode, &str) -> Result<String, String>,
) -> Result<String, String> {
    let failed = |words: &dyn fmt::Display| words.to_string();
    let secret = connection.export_keying_material([0; 32], LABEL, Some(&[VERSION]));
    let secret = secret.map_err(|error| failed(&error))?;
    let statement = Statement { secret, client, server: identity.hash() };
    let mut stream = Stream::new(connection, socket);
    let message = read_frame_of(&mut stream, LONGEST_MESSAGE).map_err(|error| failed(&error))?;
    let judged = judge(&message, &statement, begin, keep);
    let mut answer;
    match &judged {
        Ok((code, kept)) => {
            answer = Writer::of(TAKEN);
            answer.bytes(hmac::sign(&code.key(), &statement.bytes(SERVER, own_name)).as_ref());
            answer.text(own_name);
            answer.text(kept);
        }
        Err(words) => {
            answer = Writer::of(REFUSED);
            answer.text(words);
        }
    }
    // A client that is gone pairs again; its key is known then.
    let written = write_frame(&mut stream, &answer.finish());
    let (_, kept) = judged?;
    written.map_err(|error| failed(&error))?;
    Ok(kept)
}

fn judge(
    message: &[u8],
    statement: &Statement,
    begin: impl FnOnce() -> Result<Option<PairingCode>, String>,
    keep: impl FnOnce(&PairingCode, &str) -> Result<String, String>,
) -> Result<(PairingCode, String), String> {
    let mut reader = Reader::new(message);
    let read = |error: FrameError| error.to_string();
    if reader.u8("version").map_err(read)? != VERSION {
        return Err(
            "this version of pairing is not known here; install the same version of tally".to_string()
        );
    }
    let proof = reader.bytes("proof").map_err(read)?;
    let name = reader.text("name").map_err(read)?;
    reader.end().map_err(read)?;
    // Counted before it is looked at, so that nobody tries several at once.
    let code =
        begin()?.ok_or("no code is open there; run 'tally remote pair' on it and type the new code")?;
    if hmac::verify(&code.key(), &statement.bytes(CLIENT, name), proof).is_err() {
        return Err("the code is wrong; after three wrong ones it ends".to_string());
    }
    let kept = keep(&code, &plain_name(name))?;
    Ok((code, kept))
}
