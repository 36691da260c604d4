//! What a client and a server say to each other once the client has its ticket: the question with the ticket,
//! the server's answer, and for RPC a third message that confirms it.

use smb2::auth::kerberos::messages::{self, EncryptedData, PrincipalName, Ticket};
use smb2::auth::spnego::{OID_KERBEROS, OID_MS_KERBEROS, parse_neg_token_resp, wrap_neg_token_init};

use super::time::{self, Now};
use super::{KerberosError, Ready, USER, nonce, refusal, seal};
use crate::kerberos::{Key, Principal};

/// What is encrypted for which use.
const PROOF_OF_CLIENT: u32 = 11;
const PROOF_OF_SERVER: u32 = 12;

/// What stands in front of messages in tokens of GSS: a question, an answer, an error.
const QUESTION: [u8; 2] = [1, 0];
const ANSWER: [u8; 2] = [2, 0];
const ERROR: [u8; 2] = [3, 0];

/// The checksum of GSS in a question says what the client wants: that both sides prove themselves, that
/// nothing is repeated, reordered, read or changed, and the style of RPC.
const WISHES: i32 = 0x8003;
const WANTED: u32 = 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x1000;

/// A login that has begun.
pub(in crate::rrp) struct Exchange {
    ticket_key: Key,
    client: Principal,
    now: Now,
    /// The number of the first message of the client, and its own key.
    number: u32,
    own_key: Option<Key>,
}

/// What both sides agreed on.
pub(in crate::rrp) struct Agreed {
    pub(in crate::rrp) key: Key,
    /// Whether the server chose the key.
    pub(in crate::rrp) is_of_server: bool,
    /// The number of the first message of the client.
    pub(in crate::rrp) number: u32,
}

impl Ready {
    /// Begins a login of SMB; the message is for SPNEGO.
    pub(in crate::rrp) fn begin_smb(&self) -> Result<(Exchange, Vec<u8>), KerberosError> {
        let exchange = self.exchange(None)?;
        let question = exchange.question(&self.paper.ticket, None)?;
        let token = seal::tlv(0x60, &[OID_KERBEROS, &QUESTION, &question].concat());
        Ok((exchange, wrap_neg_token_init(&[OID_MS_KERBEROS], &token)))
    }

    /// Begins a login of RPC. Its messages stand alone.
    pub(in crate::rrp) fn begin_rpc(&self) -> Result<(Exchange, Vec<u8>), KerberosError> {
        let exchange = self.exchange(Some(seal::new_key(&self.paper.key)?))?;
        let mut wishes = vec![16, 0, 0, 0];
        wishes.extend([0; 16]);
        wishes.extend(WANTED.to_le_bytes());
        let question = exchange.question(&self.paper.ticket, Some((&wishes, WISHES)))?;
        Ok((exchange, question))
    }

    fn exchange(&self, own_key: Option<Key>) -> Result<Exchange, KerberosError> {
        let Ready { client, paper } = self;
        let (ticket_key, client) = (paper.key.clone(), client.clone());
        Ok(Exchange { ticket_key, client, now: time::now(), number: nonce()?, own_key })
    }
}

impl Exchange {
    /// The question with the ticket.
    fn question(&self, ticket: &Ticket, sum: Option<(&[u8], i32)>) -> Result<Vec<u8>, KerberosError> {
        let name = PrincipalName { name_type: USER, name_string: self.client.name.clone() };
        let number = self.own_key.as_ref().map(|_| self.number);
        let plain = messages::encode_authenticator(
            &self.client.realm,
            &name,
            &self.now.text,
            self.now.micros,
            self.own_key.as_ref().map(|key| (key.bytes.as_slice(), key.kind)),
            number,
            sum,
        );
        let cipher = seal::seal(&self.ticket_key, PROOF_OF_CLIENT, &plain)?;
        let proof = EncryptedData { etype: self.ticket_key.kind, kvno: None, cipher };
        Ok(messages::encode_ap_req(ticket, &proof, true))
    }

    /// Reads the answer of SPNEGO at the end of a login of SMB: the key of the session, and whether the server
    /// left its proof out. Then the signature of its answer has to be one with the key of the ticket.
    pub(in crate::rrp) fn end_smb(&self, token: &[u8]) -> Result<(Key, bool), KerberosError> {
        let missing =
            || KerberosError::denied("the server did not prove that it is the one of the ticket".into());
        let said = match token {
            [] => None,
            token => parse_neg_token_resp(token).map_err(KerberosError::bad)?.response_token,
        };
        let Some(token) = said.filter(|token| !token.is_empty()) else {
            return Ok((self.ticket_key.clone(), true));
        };
        let (_, rest, _) = messages::parse_gss_api_wrapper(&token).map_err(KerberosError::bad)?;
        match rest.split_first_chunk::<2>() {
            Some((&ANSWER, answer)) => Ok((self.answered(answer)?.key, false)),
            Some((&ERROR, error)) => {
                let error = messages::parse_krb_error(error).map_err(KerberosError::bad)?;
                Err(self.refused(error.error_code, error.e_text))
            }
            _ => Err(missing()),
        }
    }

    /// Reads the answer at the end of a login of RPC. Returns what was agreed on, and the last message.
    pub(in crate::rrp) fn end_rpc(&self, answer: &[u8]) -> Result<(Agreed, Vec<u8>), KerberosError> {
        let Answered { key, is_of_server, number } = self.answered(answer)?;
        // The last message says the server's number, to show that its answer could be read.
        let fields = [
            seal::tlv(0xa0, &seal::tlv(0x18, self.now.text.as_bytes())),
            seal::tlv(0xa1, &seal::unsigned(self.now.micros)),
            seal::tlv(0xa3, &seal::unsigned(number)),
        ];
        let plain = seal::tlv(0x7b, &seal::tlv(0x30, &fields.concat()));
        let fields = [
            seal::tlv(0xa0, &seal::unsigned(5)),
            seal::tlv(0xa1, &seal::unsigned(15)),
            seal::tlv(0xa2, &seal::encrypted(&self.ticket_key, PROOF_OF_SERVER, &plain)?),
        ];
        let last = seal::tlv(0x6f, &seal::tlv(0x30, &fields.concat()));
        Ok((Agreed { key, is_of_server, number: self.number }, last))
    }

    fn refused(&self, code: i32, text: Option<String>) -> KerberosError {
        let text = text.unwrap_or_default();
        let text = text.chars().filter(|letter| !letter.is_control()).take(100).collect();
        refusal(&super::kdc::Refused { code, text, data: Vec::new() }, "the server", &self.client)
    }

    /// Opens the answer of the server, which only the owner of the ticket's key can make, for this question.
    fn answered(&self, answer: &[u8]) -> Result<Answered, KerberosError> {
        let answer = messages::parse_ap_rep(answer).map_err(KerberosError::bad)?;
        if answer.enc_part.etype != self.ticket_key.kind {
            let kind = answer.enc_part.etype;
            return Err(KerberosError::bad(format!("the server answers with a key of kind {kind}")));
        }
        let plain = seal::open(&self.ticket_key, PROOF_OF_SERVER, &answer.enc_part.cipher);
        let wrong =
            || KerberosError::denied("the server did not prove that it is the one of the ticket".into());
        let plain = plain.ok_or_else(wrong)?;
        let said = seal::times(&plain).ok_or_else(wrong)?;
        if said != (self.now.text.as_bytes(), self.now.micros) {
            return Err(KerberosError::denied(
                "the server answers another question: somebody repeats it".into(),
            ));
        }
        let part = messages::parse_enc_ap_rep_part(&plain).map_err(KerberosError::bad)?;
        let (key, is_of_server) = match part.subkey {
            Some(key) => (Key { kind: key.keytype, bytes: key.keyvalue }, true),
            None => (self.own_key.clone().unwrap_or_else(|| self.ticket_key.clone()), false),
        };
        match seal::kind(&key) {
            Some(_) => Ok(Answered { key, is_of_server, number: part.seq_number.unwrap_or(0) }),
            None => Err(KerberosError::bad(format!(
                "the server chose a key of kind {}, which is not AES",
                key.kind
            ))),
        }
    }
}

struct Answered {
    key: Key,
    is_of_server: bool,
    number: u32,
}
