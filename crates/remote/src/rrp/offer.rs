//! The first messages of SMB on their way. The crate `smb2` does not say that it can encrypt, and a server
//! that insists on encryption then refuses every login: this adds the bit to what this machine offers, and
//! hashes what was really sent. It keeps the messages of the login, because the keys of SMB 3.1.1 come from
//! them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use smb2::client::Connection;
use smb2::crypto::kdf::PreauthHasher;
use smb2::msg::header::Header;
use smb2::msg::negotiate::NegotiateRequest;
use smb2::pack::{Pack, ReadCursor, Unpack, WriteCursor};
use smb2::transport::{ReceiveProgress, TcpTransport, TransportReceive, TransportSend};
use smb2::types::Command;
use smb2::types::flags::Capabilities;

/// A connection, and its first messages.
pub(super) struct Offer {
    transport: TcpTransport,
    first: Mutex<First>,
}

#[derive(Default)]
struct First {
    asked: Option<Vec<u8>>,
    answered: Option<Vec<u8>>,
    /// The last message of a login that was sent.
    login: Vec<u8>,
}

impl Offer {
    /// The last message of a login that was sent.
    pub(super) fn last_of_login(&self) -> Vec<u8> {
        self.first(|first| first.login.clone())
    }

    fn first<R>(&self, work: impl FnOnce(&mut First) -> R) -> R {
        work(&mut self.first.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Both directions of one connection.
struct Half(Arc<Offer>);

#[async_trait]
impl TransportSend for Half {
    async fn send(&self, data: &[u8]) -> smb2::Result<()> {
        if self.0.first(|first| first.asked.is_some()) {
            if is_login(data) {
                self.0.first(|first| first.login = data.to_vec());
            }
            return self.0.transport.send(data).await;
        }
        let asked = with_encryption(data);
        self.0.first(|first| first.asked = Some(asked.clone()));
        self.0.transport.send(&asked).await
    }
}

#[async_trait]
impl TransportReceive for Half {
    async fn receive(&self) -> smb2::Result<Vec<u8>> {
        let answer = self.0.transport.receive().await?;
        self.0.first(|first| {
            if first.answered.is_none() {
                first.answered = Some(answer.clone());
            }
        });
        Ok(answer)
    }

    fn receive_progress(&self) -> Option<Arc<ReceiveProgress>> {
        self.0.transport.receive_progress()
    }
}

/// Whether a message is one of a login.
fn is_login(message: &[u8]) -> bool {
    let head = Header::unpack(&mut ReadCursor::new(message));
    head.is_ok_and(|head| head.command == Command::SessionSetup)
}

/// The first message, which also says that this machine can encrypt.
pub(super) fn with_encryption(message: &[u8]) -> Vec<u8> {
    let mut cursor = ReadCursor::new(message);
    let head = Header::unpack(&mut cursor).ok().filter(|head| head.command == Command::Negotiate);
    let (Some(head), Ok(mut request)) = (head, NegotiateRequest::unpack(&mut cursor)) else {
        return message.to_vec();
    };
    request.capabilities |= Capabilities::new(Capabilities::ENCRYPTION);
    let mut cursor = WriteCursor::new();
    head.pack(&mut cursor);
    request.pack(&mut cursor);
    cursor.into_inner()
}

/// Connects to a server.
pub(super) struct Caller {
    offer: Arc<Offer>,
    connection: Connection,
}

impl Caller {
    /// Opens a connection to `host:port`; `host` is the server's name in the requests.
    pub(super) async fn connect(place: &str, host: &str, timeout: Duration) -> smb2::Result<Caller> {
        let transport = TcpTransport::connect(place, timeout).await?;
        let offer = Arc::new(Offer { transport, first: Mutex::default() });
        let halves = (Box::new(Half(Arc::clone(&offer))), Box::new(Half(Arc::clone(&offer))));
        Ok(Caller { offer, connection: Connection::from_transport(halves.0, halves.1, host) })
    }

    /// Agrees on a version of SMB and on what protects the messages.
    pub(super) async fn negotiate(self, timeout: Duration) -> smb2::Result<(Connection, Arc<Offer>)> {
        let mut connection = self.connection;
        connection.set_response_timeout(Some(timeout));
        connection.negotiate().await?;
        if let (Some(asked), Some(answered)) =
            self.offer.first(|first| (first.asked.clone(), first.answered.clone()))
        {
            connection.with_preauth_hasher_mut(|hasher| {
                *hasher = PreauthHasher::new();
                hasher.update(&asked);
                hasher.update(&answered);
            });
        }
        Ok((connection, self.offer))
    }
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;
