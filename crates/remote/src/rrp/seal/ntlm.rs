//! The session security of NTLM (MS-NLMP 3.4) as RPC uses it (MS-RPCE 3.3.1.5.2).

use hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use rc4::{Rc4, StreamCipher};

use super::super::rpc_error::RpcError;

/// Bytes of a signature.
pub(super) const SIGNATURE: usize = 16;

/// What a signature begins with.
const VERSION: [u8; 4] = [1, 0, 0, 0];

/// Both directions of a connection.
pub(super) struct Ntlm {
    ours: Direction,
    theirs: Direction,
}

/// One direction: a stream of bytes that goes on from message to message.
struct Direction {
    cipher: Rc4,
    signing: [u8; 16],
    /// The number of the next message.
    number: u32,
}

impl Ntlm {
    /// From the key that both sides have after the login; `None` if it can be none.
    pub(super) fn new(key: &[u8]) -> Option<Ntlm> {
        let ours = Direction::new(key, "client-to-server")?;
        Some(Ntlm { ours, theirs: Direction::new(key, "server-to-client")? })
    }

    /// The side of the server.
    #[cfg(test)]
    pub(super) fn of_server(key: &[u8]) -> Option<Ntlm> {
        let Ntlm { ours, theirs } = Ntlm::new(key)?;
        Some(Ntlm { ours: theirs, theirs: ours })
    }

    /// Encrypts the bytes from `begin` to `end` of a message, and adds its signature, which is made of the
    /// whole message as it was.
    pub(super) fn close(&mut self, message: &mut Vec<u8>, begin: usize, end: usize) {
        let plain = message.clone();
        let signature = self.ours.protect(&plain, message.get_mut(begin..end).unwrap_or_default());
        message.extend_from_slice(&signature);
    }

    /// Decrypts the bytes from `begin` to `end` of a message, whose signature follows it. Returns it without.
    ///
    /// # Errors
    ///
    /// The signature is not that of this message.
    pub(super) fn open(&mut self, message: &[u8], begin: usize, end: usize) -> Result<Vec<u8>, RpcError> {
        let Some((message, signature)) = message.split_last_chunk::<SIGNATURE>() else {
            return Err(RpcError::Short("the signature"));
        };
        let mut message = message.to_vec();
        let Some(sealed) = message.get_mut(begin..end) else {
            return Err(RpcError::Short("the sealed part"));
        };
        self.theirs.cipher.apply_keystream(sealed);
        if self.theirs.sign(&message) == *signature { Ok(message) } else { Err(RpcError::Seal) }
    }
}

impl Direction {
    fn new(key: &[u8], way: &str) -> Option<Direction> {
        let derived = |purpose: &str| -> [u8; 16] {
            let words = format!("session key to {way} {purpose} key magic constant\0");
            Md5::new().chain_update(key).chain_update(words).finalize().into()
        };
        let cipher = Rc4::new_from_slice(&derived("sealing")).ok()?;
        Some(Direction { cipher, signing: derived("signing"), number: 0 })
    }

    /// Encrypts a part of a message; returns the signature of the whole.
    fn protect(&mut self, plain: &[u8], part: &mut [u8]) -> [u8; SIGNATURE] {
        self.cipher.apply_keystream(part);
        self.sign(plain)
    }

    /// The signature of the next message, which has been encrypted or decrypted already.
    fn sign(&mut self, plain: &[u8]) -> [u8; SIGNATURE] {
        let number = self.number.to_le_bytes();
        self.number = self.number.wrapping_add(1);
        let mac = Hmac::<Md5>::new(&self.padded()).chain_update(number).chain_update(plain);
        let mut sum = [0; 8];
        sum.iter_mut().zip(mac.finalize().into_bytes()).for_each(|(byte, of_mac)| *byte = of_mac);
        self.cipher.apply_keystream(&mut sum);
        let mut signature = [0; SIGNATURE];
        let parts = VERSION.into_iter().chain(sum).chain(number);
        signature.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        signature
    }

    /// The key of signatures as a block of the sum, which ends with zeros.
    fn padded(&self) -> hmac::digest::Key<Hmac<Md5>> {
        let mut key = hmac::digest::Key::<Hmac<Md5>>::default();
        key.iter_mut().zip(self.signing).for_each(|(byte, of_key)| *byte = of_key);
        key
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

    use super::*;

    /// The example of MS-NLMP 4.2.4.4.
    #[test]
    fn an_example_of_the_description() {
        let mut ours = Direction::new(&[0x55; 16], "client-to-server").unwrap();
        let plain: Vec<u8> = "Plaintext".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut part = plain.clone();
        let signature = ours.protect(&plain, &mut part);
        let sealed = [
            0x54, 0xe5, 0x01, 0x65, 0xbf, 0x19, 0x36, 0xdc, 0x99, 0x60, 0x20, 0xc1, 0x81, 0x1b, 0x0f, 0x06,
            0xfb, 0x5f,
        ];
        assert_eq!(part, sealed);
        let expected = [1, 0, 0, 0, 0x7f, 0xb3, 0x8e, 0xc5, 0xc5, 0x5d, 0x49, 0x76, 0, 0, 0, 0];
        assert_eq!(signature, expected);
    }

    #[test]
    fn a_changed_message_is_refused() {
        let key = [7; 16];
        let (mut client, mut server) = (Ntlm::new(&key).unwrap(), Ntlm::of_server(&key).unwrap());
        for message in [&b"head and stub"[..], b"another one"] {
            let mut sealed = message.to_vec();
            client.close(&mut sealed, 4, message.len());
            assert_ne!(sealed.get(4..message.len()), message.get(4..));
            assert_eq!(server.open(&sealed, 4, message.len()).as_deref(), Ok(message));
        }
        for byte in 0..30 {
            let (mut client, mut server) = (Ntlm::new(&key).unwrap(), Ntlm::of_server(&key).unwrap());
            let mut sealed = b"head and a stub".to_vec();
            client.close(&mut sealed, 4, 15);
            assert_eq!(sealed.len(), 31);
            if let Some(byte) = sealed.get_mut(byte) {
                *byte ^= 1;
            }
            assert_eq!(server.open(&sealed, 4, 15), Err(RpcError::Seal), "{byte}");
        }
        let mut server = Ntlm::of_server(&key).unwrap();
        assert_eq!(server.open(&[0; 15], 0, 0), Err(RpcError::Short("the signature")));
        assert_eq!(server.open(&[0; 31], 4, 16), Err(RpcError::Short("the sealed part")));
    }
}
