//! One question to the servers of a realm, over TCP: an answer by UDP could come from anybody.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::asynchronous::net::TcpStream;
use crate::asynchronous::stream::{AsyncReadExt, AsyncWriteExt};
use crate::asynchronous::time::timeout;
use smb2::auth::kerberos::messages::{self, KdcRep};
use tallymon_core::flow::SourceErrorKind;

use super::{KerberosError, dns};
use crate::kerberos::Conf;
use crate::rrp::step::Step;

/// The longest answer: a ticket with the groups of a user has a few thousand bytes.
const MOST_BYTES: u32 = 1 << 20;

/// The first byte of an error.
const ERROR: u8 = 0x7e;

/// The realm wants a proof with the question, and says how its key is made.
pub(super) const PROOF_NEEDED: i32 = 25;

/// What a realm grants.
pub(super) struct Granted {
    pub(super) reply: KdcRep,
    /// The whole answer: the reply leaves out how its key is made.
    pub(super) bytes: Vec<u8>,
}

/// What a realm says when it refuses.
pub(super) struct Refused {
    pub(super) code: i32,
    pub(super) text: String,
    pub(super) data: Vec<u8>,
}

/// The servers of realms, which are looked up once for all questions on the way to a ticket.
pub(super) struct Realms<'r> {
    conf: &'r Conf,
    step: &'r Step,
    /// By the name of the realm: its servers, and the words that follow when none of them answers.
    known: RefCell<BTreeMap<String, (Vec<String>, String)>>,
}

impl<'r> Realms<'r> {
    pub(super) const fn new(conf: &'r Conf, step: &'r Step) -> Realms<'r> {
        Realms { conf, step, known: RefCell::new(BTreeMap::new()) }
    }

    /// Asks the servers of a realm, one after the other, until one answers.
    pub(super) async fn ask(
        &self,
        realm: &str,
        question: &[u8],
        time: Duration,
    ) -> Result<Result<Granted, Refused>, KerberosError> {
        let (servers, advice) = self.servers(realm).await;
        let mut failures = Vec::new();
        for server in servers {
            match timeout(time, exchange(&server, question)).await {
                Ok(Ok(answer)) => return read(answer, &server),
                Ok(Err(why)) => failures.push(format!("{server}: {why}")),
                Err(_) => failures.push(format!("{server}: no answer within {time:?}")),
            }
        }
        let words = format!("no server of the realm {realm} answers: {}{advice}", failures.join(", "));
        Err(KerberosError { kind: SourceErrorKind::Unreachable, is_refusal: false, words })
    }

    pub(super) async fn servers(&self, realm: &str) -> (Vec<String>, String) {
        let known = self.known.borrow().get(realm).cloned();
        if let Some(known) = known {
            return known;
        }
        let asking = self.step.get();
        self.step.set(format!("asking DNS for the servers of {realm}"));
        let found = servers(self.conf, realm).await;
        self.step.set(asking);
        self.known.borrow_mut().insert(realm.to_string(), found.clone());
        found
    }
}

/// The servers of a realm: those of the settings, or those that DNS knows, or its own name. Also the words
/// that follow when none of them answers.
async fn servers(conf: &Conf, realm: &str) -> (Vec<String>, String) {
    if let Some(servers) = conf.servers(realm) {
        return (servers.to_vec(), String::new());
    }
    let advice = |why: &str| {
        format!(
            "; krb5.conf names no kdc for this realm, and {why}: write there [realms] {realm} = {{ kdc = HOST \
             }}"
        )
    };
    let why = match conf.looks_up {
        false => "dns_lookup_kdc is off, so the name of the realm was tried".to_string(),
        true => match dns::servers(conf, realm).await {
            Ok(servers) if !servers.is_empty() => return (servers, advice("DNS names these servers")),
            Ok(_) => format!("DNS has no record _kerberos._tcp.{realm}, so the name of the realm was tried"),
            Err(why) => format!("DNS does not answer ({why}), so the name of the realm was tried"),
        },
    };
    (vec![conf.server_by_name(realm)], advice(&why))
}

/// A question and an answer, each behind its length.
async fn exchange(server: &str, question: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u32::try_from(question.len()).unwrap_or(u32::MAX);
    stream.write_all(&[&length.to_be_bytes(), question].concat()).await?;
    let length = stream.read_u32().await?;
    if length > MOST_BYTES {
        let words = format!("an answer of {length} bytes; the longest has {MOST_BYTES}");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, words));
    }
    let mut answer = Vec::new();
    stream.take(length.into()).read_to_end(&mut answer).await?;
    match u32::try_from(answer.len()) == Ok(length) {
        true => Ok(answer),
        false => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Reads an answer.
pub(super) fn read(answer: Vec<u8>, server: &str) -> Result<Result<Granted, Refused>, KerberosError> {
    let damaged = |why: smb2::Error| KerberosError::bad(format!("{server}: a damaged answer: {why}"));
    if answer.first() == Some(&ERROR) {
        let error = messages::parse_krb_error(&answer).map_err(damaged)?;
        let text = error.e_text.unwrap_or_default();
        // It comes from outside, and no answer is long.
        let text = text.chars().filter(|letter| !letter.is_control()).take(100).collect();
        return Ok(Err(Refused { code: error.error_code, text, data: error.e_data.unwrap_or_default() }));
    }
    let reply = messages::parse_kdc_rep(&answer).map_err(damaged)?;
    Ok(Ok(Granted { reply, bytes: answer }))
}
