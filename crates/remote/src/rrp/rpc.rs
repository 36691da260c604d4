//! DCE/RPC over a named pipe, without the pipe: connection-oriented PDUs of version 5.0, NDR, little-endian.

use std::borrow::Cow;

pub use super::rpc_error::{MOST_BYTES, RpcError};
use super::seal::Seal;

/// The interface of the remote registry, version 1.0.
const WINREG: [u8; 16] =
    [0x01, 0xd0, 0x8c, 0x33, 0x44, 0x22, 0xf1, 0x31, 0xaa, 0xaa, 0x90, 0x00, 0x38, 0x00, 0x10, 0x03];

/// The transfer syntax NDR, version 2.
const NDR: [u8; 16] =
    [0x04, 0x5d, 0x88, 0x8a, 0xeb, 0x1c, 0xc9, 0x11, 0x9f, 0xe8, 0x08, 0x00, 0x2b, 0x10, 0x48, 0x60];

/// The longest fragment that we send and that we offer to take.
const FRAGMENT: u16 = 4280;

const REQUEST: u8 = 0;
const RESPONSE: u8 = 2;
const FAULT: u8 = 3;
const BIND: u8 = 11;
const BIND_ACK: u8 = 12;
const BIND_NAK: u8 = 13;
const AUTH_3: u8 = 16;
const FIRST: u8 = 1;
const LAST: u8 = 2;

/// Bytes of the head that all PDUs have, and of that of a response.
const HEAD: usize = 16;
const RESPONSE_HEAD: usize = 24;

/// Bytes in front of what a login or a signature has in a PDU. They begin with who makes it.
const TRAILER: usize = 8;

/// A sealed stub has a multiple of so many bytes.
const BLOCK: usize = 16;

fn pdu(kind: u8, call: u32, body: &[u8], signature: usize) -> Vec<u8> {
    let length = body.len().saturating_add(HEAD).saturating_add(signature);
    let mut pdu = vec![5, 0, kind, FIRST | LAST, 0x10, 0, 0, 0];
    pdu.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
    pdu.extend_from_slice(&u16::try_from(signature).unwrap_or(u16::MAX).to_le_bytes());
    pdu.extend_from_slice(&call.to_le_bytes());
    pdu.extend_from_slice(body);
    pdu
}

/// A PDU with a message of a login.
fn with_login(kind: u8, call: u32, mut body: Vec<u8>, maker: [u8; 2], message: &[u8]) -> Vec<u8> {
    body.extend_from_slice(&trailer(maker, 0));
    let mut pdu = pdu(kind, call, &body, message.len());
    pdu.extend_from_slice(message);
    pdu
}

fn trailer([kind, level]: [u8; 2], padding: u8) -> [u8; TRAILER] {
    [kind, level, padding, 0, 0, 0, 0, 0]
}

fn bind_body() -> Vec<u8> {
    let mut body = Vec::new();
    body.extend_from_slice(&FRAGMENT.to_le_bytes());
    body.extend_from_slice(&FRAGMENT.to_le_bytes());
    // No group; one context, number 0, with one transfer syntax.
    body.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0]);
    body.extend_from_slice(&WINREG);
    body.extend_from_slice(&[1, 0, 0, 0]);
    body.extend_from_slice(&NDR);
    body.extend_from_slice(&[2, 0, 0, 0]);
    body
}

/// The first PDU: it asks for the remote registry.
pub fn bind(call: u32) -> Vec<u8> {
    pdu(BIND, call, &bind_body(), 0)
}

/// The first PDU of a sealed connection, with the first message of a login, and who makes the seals.
pub fn bind_with_login(call: u32, maker: [u8; 2], message: &[u8]) -> Vec<u8> {
    with_login(BIND, call, bind_body(), maker, message)
}

/// The last message of a login, which has no answer.
pub fn end_of_login(call: u32, maker: [u8; 2], message: &[u8]) -> Vec<u8> {
    with_login(AUTH_3, call, vec![0; 4], maker, message)
}

fn request_body(operation: u16, stub: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend_from_slice(&u32::try_from(stub.len()).unwrap_or(u32::MAX).to_le_bytes());
    body.extend_from_slice(&[0, 0]);
    body.extend_from_slice(&operation.to_le_bytes());
    body.extend_from_slice(stub);
    body
}

/// A call of one fragment: the longest of ours has a few hundred bytes.
pub fn request(call: u32, operation: u16, stub: &[u8]) -> Vec<u8> {
    pdu(REQUEST, call, &request_body(operation, stub), 0)
}

/// The same, sealed.
///
/// # Errors
///
/// The system has no random numbers.
pub fn sealed_request(call: u32, operation: u16, stub: &[u8], seal: &mut Seal) -> Result<Vec<u8>, RpcError> {
    let mut body = request_body(operation, stub);
    let padded = stub.len().next_multiple_of(BLOCK);
    let padding = padded.saturating_sub(stub.len());
    body.resize(body.len().saturating_add(padding), 0);
    body.extend_from_slice(&trailer(seal.maker(), u8::try_from(padding).unwrap_or(0)));
    let mut pdu = pdu(REQUEST, call, &body, seal.signature());
    seal.close(&mut pdu, RESPONSE_HEAD, RESPONSE_HEAD.saturating_add(padded))?;
    Ok(pdu)
}

/// Puts an answer together from the bytes that come out of the pipe, however they are cut.
#[derive(Debug)]
pub struct Answer {
    call: u32,
    /// Whether the answer to a bind is awaited.
    is_bind: bool,
    pending: Vec<u8>,
    stub: Vec<u8>,
    has_begun: bool,
}

impl Answer {
    /// The answer to a bind: in place of a stub it has the message of a login, which is empty without one.
    pub const fn to_bind(call: u32) -> Answer {
        Answer { call, is_bind: true, pending: Vec::new(), stub: Vec::new(), has_begun: false }
    }

    /// The answer to a request.
    pub const fn to_request(call: u32) -> Answer {
        Answer { call, is_bind: false, pending: Vec::new(), stub: Vec::new(), has_begun: false }
    }

    /// How many bytes of it are here: of what whole fragments carried, and of a fragment that has begun.
    pub fn received(&self) -> usize {
        self.stub.len().saturating_add(self.pending.len())
    }

    /// Adds bytes. Returns the stub once the last fragment is here.
    ///
    /// # Errors
    ///
    /// The bytes are no answer, or the server reports a fault.
    pub fn add(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, RpcError> {
        self.add_sealed(bytes, None)
    }

    /// As [`Answer::add`], on a connection that may be sealed.
    ///
    /// # Errors
    ///
    /// As [`Answer::add`], or a fragment is not sealed as it should be.
    pub fn add_sealed(
        &mut self,
        bytes: &[u8],
        mut seal: Option<&mut Seal>,
    ) -> Result<Option<Vec<u8>>, RpcError> {
        if self.pending.len().saturating_add(bytes.len()) > MOST_BYTES {
            return Err(RpcError::TooLong);
        }
        self.pending.extend_from_slice(bytes);
        let mut at = 0usize;
        loop {
            let rest = self.pending.get(at..).unwrap_or_default();
            if rest.len() < HEAD {
                break;
            }
            let length = usize::from(u16_at(rest, 8, "length of a fragment")?);
            if length < HEAD {
                return Err(RpcError::Value("the length of a fragment", u32::try_from(length).unwrap_or(0)));
            }
            let Some(fragment) = rest.get(..length) else { break };
            let is_last = if self.is_bind {
                self.stub.extend_from_slice(message_of_bind(fragment, self.call)?);
                true
            } else {
                let fragment = match &mut seal {
                    Some(seal) => Cow::Owned(open(fragment, seal)?),
                    None => Cow::Borrowed(fragment),
                };
                let part = stub_of(&fragment, self.call, !self.has_begun)?;
                if self.stub.len().saturating_add(part.stub.len()) > MOST_BYTES {
                    return Err(RpcError::TooLong);
                }
                self.stub.extend_from_slice(part.stub);
                self.has_begun = true;
                part.is_last
            };
            at = at.saturating_add(length);
            if is_last {
                let behind = self.pending.len().saturating_sub(at);
                if behind > 0 {
                    let behind = u32::try_from(behind).unwrap_or(u32::MAX);
                    return Err(RpcError::Value("the number of bytes behind the last fragment", behind));
                }
                return Ok(Some(std::mem::take(&mut self.stub)));
            }
        }
        self.pending.drain(..at.min(self.pending.len()));
        Ok(None)
    }
}

/// Checks the head of a PDU. Returns its kind and its flags.
fn head(pdu: &[u8], call: u32) -> Result<(u8, u8), RpcError> {
    let (version, minor) = (u8_at(pdu, 0, "the version")?, u8_at(pdu, 1, "the version")?);
    if (version, minor) != (5, 0) {
        return Err(RpcError::Value("the version of RPC", version.into()));
    }
    let order = u8_at(pdu, 4, "the byte order")?;
    if order & 0xf0 != 0x10 {
        return Err(RpcError::Value("the byte order", order.into()));
    }
    let found = u32_at(pdu, 12, "the call")?;
    if found != call {
        return Err(RpcError::Call { wanted: call, found });
    }
    Ok((u8_at(pdu, 2, "the kind")?, u8_at(pdu, 3, "the flags")?))
}

/// Decrypts a fragment of an answer. A fault has nothing that is sealed.
fn open(pdu: &[u8], seal: &mut Seal) -> Result<Vec<u8>, RpcError> {
    if u8_at(pdu, 2, "the kind")? == FAULT {
        return Ok(pdu.to_vec());
    }
    let signature = usize::from(u16_at(pdu, 10, "the length of the signature")?);
    let behind = signature.saturating_add(TRAILER);
    let end = pdu.len().checked_sub(behind).ok_or(RpcError::Short("the signature"))?;
    if signature == 0 || !pdu.get(end..).is_some_and(|trailer| trailer.starts_with(&seal.maker())) {
        return Err(RpcError::Seal);
    }
    let mut opened = seal.open(pdu, (RESPONSE_HEAD, end), signature)?;
    // The length of the signature stays in the head, and so do its bytes.
    opened.resize(pdu.len(), 0);
    Ok(opened)
}

/// The message of a login in the answer to a bind.
fn message_of_bind(pdu: &[u8], call: u32) -> Result<&[u8], RpcError> {
    check_bind(pdu, call)?;
    let length = usize::from(u16_at(pdu, 10, "the length of the login")?);
    let begin = pdu.len().checked_sub(length).ok_or(RpcError::Short("the message of the login"))?;
    Ok(pdu.get(begin..).unwrap_or_default())
}

fn check_bind(pdu: &[u8], call: u32) -> Result<(), RpcError> {
    match head(pdu, call)?.0 {
        BIND_ACK => {}
        BIND_NAK => return Err(RpcError::Refused(u16_at(pdu, HEAD, "the reason")?.into())),
        FAULT => return Err(RpcError::Fault(u32_at(pdu, RESPONSE_HEAD, "the status of a fault")?)),
        kind => return Err(RpcError::Value("the kind of the answer to a bind", kind.into())),
    }
    // The name of the endpoint has a length of its own, and the results follow at a multiple of 4.
    let name = usize::from(u16_at(pdu, 24, "the length of the endpoint")?);
    let results = 26usize.saturating_add(name).next_multiple_of(4);
    let count = u8_at(pdu, results, "the number of results")?;
    if count == 0 {
        return Err(RpcError::Value("the number of results", 0));
    }
    match u16_at(pdu, results.saturating_add(4), "the result of the bind")? {
        0 => Ok(()),
        _ => Err(RpcError::Refused(u16_at(pdu, results.saturating_add(6), "the reason")?.into())),
    }
}

/// What a fragment adds to the stub.
struct Part<'p> {
    stub: &'p [u8],
    is_last: bool,
}

fn stub_of(pdu: &[u8], call: u32, is_first: bool) -> Result<Part<'_>, RpcError> {
    let (kind, flags) = head(pdu, call)?;
    match kind {
        RESPONSE => {}
        FAULT => return Err(RpcError::Fault(u32_at(pdu, RESPONSE_HEAD, "the status of a fault")?)),
        kind => return Err(RpcError::Value("the kind of the answer", kind.into())),
    }
    if (flags & FIRST != 0) != is_first {
        return Err(RpcError::Value("the flags of a fragment", flags.into()));
    }
    let signature = usize::from(u16_at(pdu, 10, "the length of the signature")?);
    let mut end = pdu.len();
    if signature > 0 {
        // A trailer of 8 bytes is before the signature, and says how much padding is before it.
        end = end.checked_sub(signature.saturating_add(TRAILER)).ok_or(RpcError::Short("the signature"))?;
        let padding = u8_at(pdu, end.saturating_add(2), "the padding")?;
        end = end.checked_sub(padding.into()).ok_or(RpcError::Short("the padding"))?;
    }
    let stub = pdu.get(RESPONSE_HEAD..end).ok_or(RpcError::Short("the head of a fragment"))?;
    Ok(Part { stub, is_last: flags & LAST != 0 })
}

fn u8_at(bytes: &[u8], at: usize, field: &'static str) -> Result<u8, RpcError> {
    bytes.get(at).copied().ok_or(RpcError::Short(field))
}

fn u16_at(bytes: &[u8], at: usize, field: &'static str) -> Result<u16, RpcError> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk::<2>).ok_or(RpcError::Short(field))?;
    Ok(u16::from_le_bytes(*bytes))
}

pub(super) fn u32_at(bytes: &[u8], at: usize, field: &'static str) -> Result<u32, RpcError> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>).ok_or(RpcError::Short(field))?;
    Ok(u32::from_le_bytes(*bytes))
}
