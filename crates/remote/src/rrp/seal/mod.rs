//! Messages of RPC that nobody between us and the server can read or change. They stand in where SMB itself
//! cannot encrypt.
//!
//! | module | contents |
//! |---|---|
//! | `kerberos` | after a login by Kerberos |
//! | `ntlm` | after a login by a password |

mod kerberos;
mod ntlm;

use self::kerberos::Kerberos;
use self::ntlm::Ntlm;

use super::kerberos::Agreed;
use super::rpc_error::RpcError;

/// Both directions of a connection.
pub struct Seal(Kind);

enum Kind {
    Ntlm(Box<Ntlm>),
    Kerberos(Kerberos),
}

/// Who makes seals, and their level, as messages say it.
pub(super) const BY_NTLM: [u8; 2] = [10, 6];
pub(super) const BY_KERBEROS: [u8; 2] = [16, 6];

impl Seal {
    /// From the key that both sides have after a login by NTLM; `None` if it can be none.
    pub fn by_ntlm(key: &[u8]) -> Option<Seal> {
        Ntlm::new(key).map(|ntlm| Seal(Kind::Ntlm(Box::new(ntlm))))
    }

    /// From what both sides agreed on in a login by Kerberos.
    pub(super) fn by_kerberos(agreed: Agreed) -> Seal {
        Seal(Kind::Kerberos(Kerberos::new(agreed)))
    }

    /// From a key of AES that the server chose, for the fuzzer.
    #[doc(hidden)]
    pub fn by_kerberos_key(key: &[u8]) -> Seal {
        let kind = if key.len() == 32 { 18 } else { 17 };
        let key = crate::kerberos::Key { kind, bytes: key.to_vec() };
        Seal::by_kerberos(Agreed { key, is_of_server: true, number: 0 })
    }

    /// The side of the server.
    #[cfg(test)]
    pub(super) fn of_server(key: &[u8]) -> Option<Seal> {
        Ntlm::of_server(key).map(|ntlm| Seal(Kind::Ntlm(Box::new(ntlm))))
    }

    /// Who makes it.
    pub(super) const fn maker(&self) -> [u8; 2] {
        match self.0 {
            Kind::Ntlm(_) => BY_NTLM,
            Kind::Kerberos(_) => BY_KERBEROS,
        }
    }

    /// Bytes of a signature of ours.
    pub(super) const fn signature(&self) -> usize {
        match self.0 {
            Kind::Ntlm(_) => ntlm::SIGNATURE,
            Kind::Kerberos(_) => kerberos::SIGNATURE,
        }
    }

    /// Encrypts the bytes from `begin` to `end` of a message, and adds its signature.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub(super) fn close(&mut self, message: &mut Vec<u8>, begin: usize, end: usize) -> Result<(), RpcError> {
        match &mut self.0 {
            Kind::Ntlm(ntlm) => {
                ntlm.close(message, begin, end);
                Ok(())
            }
            Kind::Kerberos(kerberos) => kerberos.close(message, begin, end),
        }
    }

    /// Decrypts the bytes from `begin` to `end` of a message that ends with a signature of so many bytes.
    /// Returns it without.
    ///
    /// # Errors
    ///
    /// The signature is not that of this message.
    pub(super) fn open(
        &mut self,
        message: &[u8],
        (begin, end): (usize, usize),
        signature: usize,
    ) -> Result<Vec<u8>, RpcError> {
        match &mut self.0 {
            Kind::Ntlm(_) if signature != ntlm::SIGNATURE => Err(RpcError::Seal),
            Kind::Ntlm(ntlm) => ntlm.open(message, begin, end),
            Kind::Kerberos(kerberos) => {
                let at = message.len().checked_sub(signature).ok_or(RpcError::Short("the signature"))?;
                let (message, signature) = message.split_at(at);
                let mut opened = message.to_vec();
                let sealed = opened.get_mut(begin..end).ok_or(RpcError::Short("the sealed part"))?;
                let plain = kerberos.open(sealed, signature)?;
                sealed.copy_from_slice(&plain);
                Ok(opened)
            }
        }
    }
}
