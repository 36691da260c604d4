//! The login at a server of SMB, and the keys of what follows. The messages and the arithmetic are those of
//! the crate `smb2`; its own login makes keys of the wrong length where ciphers have 256 bits.

use smb2::auth::ntlm::{NtlmAuthenticator, NtlmCredentials};
use smb2::client::Connection;
use smb2::client::connection::Frame;
use smb2::crypto::encryption::Cipher;
use smb2::crypto::kdf::derive_session_keys;
use smb2::crypto::signing::{algorithm_for_dialect, verify_signature};
use smb2::error::SignatureFailure;
use smb2::msg::session_setup::{SessionSetupRequest, SessionSetupRequestFlags, SessionSetupResponse};
use smb2::pack::{ReadCursor, Unpack};
use smb2::types::flags::{Capabilities, SecurityMode};
use smb2::types::status::NtStatus;
use smb2::types::{Command, Dialect};

use super::kerberos::{Exchange, Ready};
use super::offer::Offer;
use super::session::Failed;
use crate::credentials::PasswordLogin;

/// So many messages a login has at most.
const MOST_MESSAGES: usize = 4;

/// Bytes of a key of a session; ciphers of 256 bits take more if there are more.
const KEY: usize = 16;

/// What proves who logs in.
pub(super) enum Proof<'p> {
    Password(&'p PasswordLogin, Box<NtlmAuthenticator>),
    Ticket(Exchange, Vec<u8>),
}

impl<'p> Proof<'p> {
    pub(super) fn by_password(login: &'p PasswordLogin) -> Proof<'p> {
        Proof::Password(login, Box::new(authenticator(login)))
    }

    pub(super) fn by_ticket(ticket: &Ready) -> Result<Proof<'static>, Failed> {
        let (exchange, first) = ticket.begin_smb()?;
        Ok(Proof::Ticket(exchange, first))
    }

    /// The first message.
    fn first(&mut self) -> Vec<u8> {
        match self {
            Proof::Password(_, ntlm) => ntlm.negotiate(),
            Proof::Ticket(_, first) => std::mem::take(first),
        }
    }

    /// The message that answers a server that wants more.
    fn next(&mut self, answer: &[u8]) -> Result<Vec<u8>, Failed> {
        match self {
            Proof::Password(_, ntlm) => Ok(ntlm.authenticate(answer)?),
            Proof::Ticket(..) => {
                Err(smb2::Error::invalid_data("the server wants another message after the ticket").into())
            }
        }
    }

    /// The key of the session, with the last message of the server, and whether that must be signed in every
    /// version.
    fn key(&self, answer: &[u8]) -> Result<(Vec<u8>, bool), Failed> {
        match self {
            Proof::Password(_, ntlm) => {
                let key = ntlm.session_key().map(<[u8]>::to_vec);
                let key = key.ok_or_else(|| smb2::Error::invalid_data("the login gives no key"))?;
                Ok((key, false))
            }
            Proof::Ticket(exchange, _) => {
                let (key, is_unproven) = exchange.end_smb(answer)?;
                Ok((key.bytes, is_unproven))
            }
        }
    }

    /// Whether the user means the guest.
    fn is_guest(&self) -> bool {
        matches!(self, Proof::Password(login, _) if login.user.eq_ignore_ascii_case("guest"))
    }
}

/// Begins a login by NTLM. The crate offers what signing and sealing need.
pub(super) fn authenticator(login: &PasswordLogin) -> NtlmAuthenticator {
    NtlmAuthenticator::new(NtlmCredentials {
        username: login.user.clone(),
        password: login.password.clone(),
        domain: login.domain.clone().unwrap_or_default(),
    })
}

/// Logs in. From here on all messages are signed, and encrypted if the server can, whether or not it asks for
/// it.
pub(super) async fn login(
    connection: &mut Connection,
    offer: &Offer,
    mut proof: Proof<'_>,
) -> Result<(), Failed> {
    let mut hash = connection.preauth_hasher();
    let mut message = proof.first();
    for _ in 0..MOST_MESSAGES {
        let request = SessionSetupRequest {
            flags: SessionSetupRequestFlags(0),
            security_mode: SecurityMode::new(SecurityMode::SIGNING_ENABLED),
            capabilities: Capabilities::default(),
            channel: 0,
            previous_session_id: 0,
            security_buffer: message,
        };
        let frame = connection.execute(Command::SessionSetup, &request, None).await?;
        hash.update(&offer.last_of_login());
        connection.set_session_id(frame.header.session_id);
        let status = frame.header.status;
        let is_last = status == NtStatus::SUCCESS;
        if !is_last && !status.is_more_processing_required() {
            return Err(smb2::Error::Protocol { status, command: Command::SessionSetup }.into());
        }
        let answer = SessionSetupResponse::unpack(&mut ReadCursor::new(&frame.body))?;
        if is_last {
            return protect(connection, &frame, &answer, &proof, hash.value());
        }
        // The last answer is left out: its signature is made with the keys that come from the others.
        hash.update(&frame.raw);
        message = proof.next(&answer.security_buffer)?;
    }
    Err(smb2::Error::invalid_data("the login does not end").into())
}

/// Checks the last answer of a login, and takes the keys into use. Until then nobody has signed anything, and
/// the answer could come from anybody.
fn protect(
    connection: &mut Connection,
    frame: &Frame,
    answer: &SessionSetupResponse,
    proof: &Proof<'_>,
    hash: &[u8; 64],
) -> Result<(), Failed> {
    let flags = answer.session_flags;
    if flags.is_guest() || flags.is_null() {
        return match proof {
            _ if proof.is_guest() => Ok(()),
            Proof::Password(login, _) => {
                let (username, anonymous) = (login.user.clone(), !flags.is_guest());
                Err(smb2::Error::GuestSessionRefused { username, anonymous }.into())
            }
            Proof::Ticket(..) => Err(smb2::Error::invalid_data("the server offers a guest's session").into()),
        };
    }
    let params = connection.params().ok_or_else(|| smb2::Error::invalid_data("nothing was negotiated"))?;
    let (full, is_unproven) = proof.key(&answer.security_buffer)?;
    let short = full.get(..KEY).unwrap_or(&full);
    let is_3 = matches!(params.dialect, Dialect::Smb3_0 | Dialect::Smb3_0_2 | Dialect::Smb3_1_1);
    let hash = (params.dialect == Dialect::Smb3_1_1).then_some(hash);
    let keys = is_3.then(|| derive_session_keys(short, params.dialect, hash, 128));
    let signing = keys.as_ref().map_or_else(|| short.to_vec(), |keys| keys.signing_key.clone());
    let algorithm = algorithm_for_dialect(params.dialect, params.gmac_negotiated);
    let number = frame.header.message_id;
    match frame.header.flags.is_signed() {
        true => verify_signature(&frame.raw, &signing, algorithm, number.0, false)?,
        false if is_3 || is_unproven => {
            let (command, reason) = (Command::SessionSetup, SignatureFailure::Missing);
            return Err(smb2::Error::SignatureInvalid { command, message_id: number, reason }.into());
        }
        false => {}
    }
    connection.activate_signing(signing, algorithm);
    let can = params.capabilities.contains(Capabilities::ENCRYPTION) || flags.encrypt_data();
    let cipher = match params.dialect {
        // A server may leave out which cipher it means although it insists on one.
        Dialect::Smb3_1_1 => params.cipher.or(flags.encrypt_data().then_some(Cipher::Aes128Ccm)),
        // The only one of these versions.
        Dialect::Smb3_0 | Dialect::Smb3_0_2 if can => Some(Cipher::Aes128Ccm),
        _ => None,
    };
    let Some((cipher, keys)) = cipher.zip(keys) else { return Ok(()) };
    let keys = match cipher {
        Cipher::Aes256Ccm | Cipher::Aes256Gcm => derive_session_keys(&full, params.dialect, hash, 256),
        Cipher::Aes128Ccm | Cipher::Aes128Gcm => keys,
    };
    connection.activate_encryption(keys.encryption_key, keys.decryption_key, cipher);
    Ok(())
}
