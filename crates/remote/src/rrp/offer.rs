//! The first message of SMB: what this machine offers. The crate `smb2` does not say that it can encrypt, and
//! a server that insists on encryption then refuses every login. This adds the bit to the message on its
//! way, and hashes what was really sent, because the keys of SMB 3.1.1 come from it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use smb2::client::Connection;
use smb2::crypto::kdf::PreauthHasher;
use smb2::msg::header::Header;
use smb2::msg::negotiate::{CIPHER_AES_128_CCM, CIPHER_AES_128_GCM, NegotiateContext, NegotiateRequest};
use smb2::pack::{Pack, ReadCursor, Unpack, WriteCursor};
use smb2::transport::{ReceiveProgress, TcpTransport, TransportReceive, TransportSend};
use smb2::types::Command;
use smb2::types::flags::Capabilities;

/// A connection, and its first two messages.
struct Offer {
    transport: TcpTransport,
    first: Mutex<First>,
}

#[derive(Default)]
struct First {
    asked: Option<Vec<u8>>,
    answered: Option<Vec<u8>>,
}

impl Offer {
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

/// The first message, which also says that this machine can encrypt, with ciphers of 128 bits. With those
/// of 256 bits the crate makes keys for signing that have the wrong length.
pub(super) fn with_encryption(message: &[u8]) -> Vec<u8> {
    let mut cursor = ReadCursor::new(message);
    let head = Header::unpack(&mut cursor).ok().filter(|head| head.command == Command::Negotiate);
    let (Some(head), Ok(mut request)) = (head, NegotiateRequest::unpack(&mut cursor)) else {
        return message.to_vec();
    };
    request.capabilities |= Capabilities::new(Capabilities::ENCRYPTION);
    for context in &mut request.negotiate_contexts {
        if let NegotiateContext::Encryption { ciphers } = context {
            ciphers.retain(|cipher| matches!(*cipher, CIPHER_AES_128_CCM | CIPHER_AES_128_GCM));
        }
    }
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
    pub(super) async fn negotiate(self, timeout: Duration) -> smb2::Result<Connection> {
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
        Ok(connection)
    }
}
