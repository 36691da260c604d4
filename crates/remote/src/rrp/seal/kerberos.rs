//! Tokens of Kerberos (RFC 4121) in the style of RPC: a message keeps its length, and what encryption adds
//! stands in the signature.

use super::super::kerberos::{Agreed, seal};
use super::super::rpc_error::RpcError;
use crate::kerberos::Key;

/// Bytes of the head of a token, of the random block in front of a text, and of the sum behind it.
const HEAD: usize = 16;
const BLOCK: usize = 16;
const SUM: usize = 12;

/// Bytes of filling between a message and the copy of the head: servers of Windows want a block.
const FILLING: usize = 16;

/// What of an encrypted text comes first, because it is in the signature: the filling, the copy of the head
/// and the sum.
const TURNED: usize = FILLING + HEAD + SUM;

/// Bytes of a signature of ours: the head, what is turned, and the random block.
pub(super) const SIGNATURE: usize = HEAD + TURNED + BLOCK;

/// Flags of a token: from the server, sealed, by a key that the server chose.
const OF_SERVER: u8 = 1;
const SEALED: u8 = 2;
const KEY_OF_SERVER: u8 = 4;

/// What is encrypted for which use.
const USE_OF_SERVER: u32 = 22;
const USE_OF_CLIENT: u32 = 24;

/// Both directions of a connection.
pub(super) struct Kerberos {
    key: Key,
    flags: u8,
    uses: (u32, u32),
    /// The number of our next message.
    ours: u64,
    /// The number of their next message; the first one says it.
    theirs: Option<u64>,
}

impl Kerberos {
    pub(super) fn new(agreed: Agreed) -> Kerberos {
        let flags = if agreed.is_of_server { SEALED | KEY_OF_SERVER } else { SEALED };
        let uses = (USE_OF_CLIENT, USE_OF_SERVER);
        Kerberos { key: agreed.key, flags, uses, ours: agreed.number.into(), theirs: None }
    }

    /// Encrypts a part of a message, and adds the signature.
    pub(super) fn close(&mut self, message: &mut Vec<u8>, begin: usize, end: usize) -> Result<(), RpcError> {
        let part = message.get_mut(begin..end).ok_or(RpcError::Short("the part to seal"))?;
        let filling = u16::try_from(FILLING).unwrap_or(0);
        let turned = u16::try_from(TURNED.saturating_sub(FILLING)).unwrap_or(0);
        let plain = [&*part, &[0; FILLING], &head(self.flags, filling, 0, self.ours)].concat();
        let mut sealed = seal::seal(&self.key, self.uses.0, &plain).map_err(|_| RpcError::NoRandom)?;
        let by = TURNED.min(sealed.len());
        sealed.rotate_right(by);
        let (signature, text) = sealed.split_at_checked(SIGNATURE - HEAD).ok_or(RpcError::Seal)?;
        part.copy_from_slice(text);
        message.extend_from_slice(&head(self.flags, filling, turned, self.ours));
        message.extend_from_slice(signature);
        self.ours = self.ours.wrapping_add(1);
        Ok(())
    }

    /// Decrypts a part of a message with its signature.
    pub(super) fn open(&mut self, part: &[u8], signature: &[u8]) -> Result<Vec<u8>, RpcError> {
        let (found, rest) = signature.split_first_chunk::<HEAD>().ok_or(RpcError::Short("the signature"))?;
        let [5, 4, flags, 0xff, fill_high, fill_low, turn_high, turn_low, number @ ..] = *found else {
            return Err(RpcError::Seal);
        };
        let number = u64::from_be_bytes(number);
        let is_next = self.theirs.is_none_or(|next| next == number);
        if flags != self.flags ^ OF_SERVER || !is_next {
            return Err(RpcError::Seal);
        }
        let filling = u16::from_be_bytes([fill_high, fill_low]);
        let turned = u16::from_be_bytes([turn_high, turn_low]);
        let mut sealed = [rest, part].concat();
        // The style of RPC turns the filling, too.
        let by = usize::from(turned).saturating_add(filling.into());
        if by > sealed.len() {
            return Err(RpcError::Seal);
        }
        sealed.rotate_left(by);
        let mut plain = seal::open(&self.key, self.uses.1, &sealed).ok_or(RpcError::Seal)?;
        let copy = head(flags, filling, 0, number);
        let end = plain.len().checked_sub(HEAD).ok_or(RpcError::Seal)?;
        if plain.get(end..) != Some(&copy) || end.checked_sub(filling.into()) != Some(part.len()) {
            return Err(RpcError::Seal);
        }
        plain.truncate(part.len());
        self.theirs = Some(number.wrapping_add(1));
        Ok(plain)
    }
}

/// The head of a token.
fn head(flags: u8, filling: u16, turned: u16, number: u64) -> [u8; HEAD] {
    let [fill_high, fill_low] = filling.to_be_bytes();
    let [turn_high, turn_low] = turned.to_be_bytes();
    let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
    [5, 4, flags, 0xff, fill_high, fill_low, turn_high, turn_low, a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

    use super::*;

    /// Both sides.
    fn pair(kind: i32, is_of_server: bool) -> (Kerberos, Kerberos) {
        let key = Key { kind, bytes: vec![7; if kind == 18 { 32 } else { 16 }] };
        let agreed = |number| Agreed { key: key.clone(), is_of_server, number };
        let client = Kerberos::new(agreed(u32::MAX));
        let mut server = Kerberos::new(agreed(9));
        server.flags ^= OF_SERVER;
        server.uses = (USE_OF_SERVER, USE_OF_CLIENT);
        (client, server)
    }

    #[test]
    fn a_message_keeps_its_length_and_a_changed_one_is_refused() {
        for (kind, is_of_server) in [(17, true), (18, true), (18, false)] {
            let (mut client, mut server) = pair(kind, is_of_server);
            for text in [&b"0123456789abcdef"[..], &[5; 4096]] {
                for _ in 0..2 {
                    let mut message = [b"head", text, b"trailer!"].concat();
                    let end = text.len() + 4;
                    client.close(&mut message, 4, end).unwrap();
                    assert_eq!(message.len(), end + 8 + SIGNATURE);
                    assert!(!message.windows(8).any(|part| text.starts_with(part)));
                    let (part, signature) = (&message[4..end], &message[end + 8..]);
                    assert_eq!(server.open(part, signature).as_deref(), Ok(text));
                    // The same once more is not the next one.
                    assert_eq!(server.open(part, signature), Err(RpcError::Seal));
                    let mut answer = text.to_vec();
                    server.close(&mut answer, 0, text.len()).unwrap();
                    let (part, signature) = answer.split_at(text.len());
                    for at in 0..answer.len() {
                        let mut changed = answer.clone();
                        changed[at] ^= 1;
                        let (part, signature) = changed.split_at(text.len());
                        assert_eq!(client.open(part, signature), Err(RpcError::Seal), "{at}");
                        if text.len() > 100 && at > 200 && at < 4_000 {
                            break;
                        }
                    }
                    assert_eq!(client.open(part, signature).as_deref(), Ok(text));
                }
            }
            for end in 0..SIGNATURE {
                assert!(client.open(&[0; 16], &[5; SIGNATURE][..end]).is_err(), "{end}");
            }
        }
    }
}
