//! A ticket for the server, by Kerberos. The messages and the keys from passwords are those of the crate
//! `smb2`; the exchange is ours, because the crate's own takes no keytab, no salt but the usual one, one
//! server of a realm, and says of an error its number.
//!
//! | module | contents |
//! |---|---|
//! | `dns` | the servers of a realm that DNS knows |
//! | `exchange` | what a client with a ticket and a server say to each other |
//! | `kdc` | one question to the servers of a realm, with a deadline for each |
//! | `seal` | encryption with AES, and the salt in an answer |
//! | `time` | times as Kerberos writes them |

#[cfg(test)]
mod answers_tests;
mod dns;
mod exchange;
mod kdc;
pub(super) mod seal;
mod time;

use std::fmt;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use smb2::auth::kerberos::crypto::EncryptionType;
use smb2::auth::kerberos::messages::{
    self, EncKdcRepPart, EncryptedData, KdcRep, PaData, PrincipalName, Ticket,
};
use tallymon_core::flow::SourceErrorKind;

use self::kdc::Realms;
use super::step::Step;
use crate::kerberos::{Cache, KerberosLogin, KerberosSecret, Key, Keytab, Principal};

/// So many realms are passed on the way to that of the server.
const MOST_REALMS: usize = 5;

const USER: i32 = 1;
const SERVICE: i32 = 2;

/// Kinds of keys that we offer: AES with SHA-1.
const KINDS: [EncryptionType; 2] = [EncryptionType::Aes256CtsHmacSha196, EncryptionType::Aes128CtsHmacSha196];

/// Why there is no ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KerberosError {
    pub(super) kind: SourceErrorKind,
    /// Whether the realm has refused the user, and would do it again.
    pub(super) is_refusal: bool,
    words: String,
}

impl KerberosError {
    fn denied(words: String) -> KerberosError {
        KerberosError { kind: SourceErrorKind::AccessDenied, is_refusal: false, words }
    }

    /// The realm or what it has encrypted says that this proves nothing.
    fn refused(words: String) -> KerberosError {
        KerberosError { is_refusal: true, ..KerberosError::denied(words) }
    }

    fn bad(words: impl fmt::Display) -> KerberosError {
        KerberosError { kind: SourceErrorKind::BadData, is_refusal: false, words: words.to_string() }
    }
}

impl fmt::Display for KerberosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// A ticket with its key: that which buys others, or that for the server.
struct Paper {
    ticket: Ticket,
    key: Key,
}

/// A ticket for the server, and whose it is.
pub(super) struct Ready {
    client: Principal,
    paper: Paper,
}

pub(super) use exchange::{Agreed, Exchange};

/// Gets a ticket for a server, with what was read of the file of tickets or keys. `time` is that for each
/// server of a realm.
pub(super) async fn ticket(
    (login, bytes): (&KerberosLogin, &Result<Vec<u8>, String>),
    host: &str,
    time: Duration,
    step: &Step,
) -> Result<Ready, KerberosError> {
    if host.parse::<std::net::IpAddr>().is_ok() || host.contains(':') {
        let words = "Kerberos knows hosts by name: write the name of the host instead of its address";
        return Err(KerberosError::denied(words.to_string()));
    }
    let realms = Realms::new(&login.conf, step);
    let bytes = || bytes.as_deref().map_err(|why| KerberosError::denied(why.clone()));
    let (client, paper) = match &login.secret {
        KerberosSecret::Cache(file, _) => {
            let cache = Cache::parse(bytes()?).map_err(|why| KerberosError::bad(format!("{file}: {why}")))?;
            match cached(login, file, &cache, host)? {
                (client, Cached::Server(paper)) => return ready(client, host, paper),
                (client, Cached::Realm(paper)) => (client, paper),
            }
        }
        KerberosSecret::Keytab(file, _) => {
            let keytab =
                Keytab::parse(bytes()?).map_err(|why| KerberosError::bad(format!("{file}: {why}")))?;
            let (client, key) = key_of(login, file, &keytab)?;
            first_ticket(&realms, client, &Proof::Key(key), time).await?
        }
        KerberosSecret::Password(password) => {
            let client = user(login, None)?;
            first_ticket(&realms, client, &Proof::Password(password), time).await?
        }
    };
    let paper = for_server((login, &realms), &client, paper, host, time).await?;
    ready(client, host, paper)
}

/// What a cache has.
enum Cached {
    /// A ticket for the server: no server of a realm is asked.
    Server(Paper),
    /// A ticket that buys others.
    Realm(Paper),
}

fn cached(
    login: &KerberosLogin,
    file: &str,
    cache: &Cache,
    host: &str,
) -> Result<(Principal, Cached), KerberosError> {
    let owner = single(cache.owner.clone())?;
    if !is_wanted(login, &owner) {
        let wanted = login.user.as_deref().unwrap_or("another user");
        let words = format!("{file} has tickets of {owner}, and not of {wanted}; get some with kinit");
        return Err(KerberosError::denied(words));
    }
    let now = time::now().seconds;
    let valid = |name: &[&str], realm| {
        let ticket = cache.ticket(name, realm)?;
        Some((ticket, ticket.ends > now && ticket.starts <= now.saturating_add(time::SKEW)))
    };
    let server = valid(&["cifs", host], None);
    let realm = valid(&["krbtgt", &owner.realm], Some(&owner.realm));
    let (ticket, is_server) = match (server, realm) {
        (Some((ticket, true)), _) => (ticket, true),
        (_, Some((ticket, true))) => (ticket, false),
        (_, Some((ticket, false))) | (Some((ticket, false)), None) => {
            let (what, when) = match ticket.ends > now {
                true => ("is valid only from", ticket.starts),
                false => ("expired at", ticket.ends),
            };
            let when = time::words(when);
            let words = format!("the ticket of {owner} in {file} {what} {when}; get a new one with kinit");
            return Err(KerberosError::denied(words));
        }
        (None, None) => {
            let words = format!("{file} has no ticket of {owner} for {host}; get one with kinit");
            return Err(KerberosError::denied(words));
        }
    };
    let own = messages::parse_ticket(&ticket.bytes)
        .map_err(|why| KerberosError::bad(format!("{file}: a damaged ticket: {why}")))?;
    let paper = Paper { ticket: own, key: ticket.key.clone() };
    Ok((owner, if is_server { Cached::Server(paper) } else { Cached::Realm(paper) }))
}

/// The crate can say the name of a user, and not that of a service.
fn single(name: Principal) -> Result<Principal, KerberosError> {
    match name.name.as_slice() {
        [_] => Ok(name),
        _ => Err(KerberosError::denied(format!("{name} is a service; log in as a user or as a machine"))),
    }
}

fn is_wanted(login: &KerberosLogin, found: &Principal) -> bool {
    let same = |wanted: &Option<String>, found: &str| {
        wanted.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(found))
    };
    same(&login.user, &found.name.join("/")) && same(&login.realm, &found.realm)
}

/// The newest and strongest key of the user.
fn key_of<'k>(
    login: &KerberosLogin,
    file: &str,
    keytab: &'k Keytab,
) -> Result<(Principal, &'k Key), KerberosError> {
    let is_usable = |key: &Key| seal::kind(key).is_some();
    let mut keys = keytab.keys.iter().filter(|key| is_wanted(login, &key.owner) && key.owner.name.len() == 1);
    let Some(first) = keys.clone().next() else {
        let whose: Vec<String> = keytab.keys.iter().map(|key| key.owner.to_string()).take(3).collect();
        let wanted = login.user.as_deref().unwrap_or("any user");
        let words = format!("{file} has no key of {wanted}; it has those of {}", whose.join(", "));
        return Err(KerberosError::denied(words));
    };
    let best = keys.by_ref().filter(|key| key.owner == first.owner && is_usable(&key.key));
    match best.max_by_key(|key| (key.version, key.key.kind)) {
        Some(best) => Ok((best.owner.clone(), &best.key)),
        None => {
            let words = format!("{file}: the keys of {} are not of AES with SHA-1 (17, 18)", first.owner);
            Err(KerberosError::denied(words))
        }
    }
}

/// The user of a login by password.
fn user(login: &KerberosLogin, realm: Option<&str>) -> Result<Principal, KerberosError> {
    let realm = login.realm.as_deref().or(realm).or(login.conf.default_realm.as_deref());
    match (&login.user, realm) {
        (Some(user), Some(realm)) => Ok(Principal { name: vec![user.clone()], realm: realm.to_string() }),
        (None, _) => Err(KerberosError::denied("Kerberos needs the name of the user".to_string())),
        (_, None) => {
            let words = "no realm is known: write USER@REALM, or set default_realm in krb5.conf";
            Err(KerberosError::denied(words.to_string()))
        }
    }
}

/// What proves to a realm who asks.
enum Proof<'p> {
    Key(&'p Key),
    Password(&'p str),
}

/// Asks the realm of the user for the ticket that buys others.
async fn first_ticket(
    realms: &Realms<'_>,
    client: Principal,
    proof: &Proof<'_>,
    time: Duration,
) -> Result<(Principal, Paper), KerberosError> {
    let cname = PrincipalName { name_type: USER, name_string: client.name.clone() };
    let realm = client.realm.as_str();
    let sname =
        PrincipalName { name_type: SERVICE, name_string: vec!["krbtgt".to_string(), realm.to_string()] };
    let nonce = nonce()?;
    let ask = async |padata: &[PaData], kinds: &[EncryptionType]| {
        let question = messages::encode_as_req(&cname, realm, &sname, nonce, kinds, padata);
        realms.ask(realm, &question, time).await
    };
    let proven = |key: &Key| {
        let now = time::now();
        let time = messages::encode_pa_enc_timestamp(&now.text, now.micros);
        Ok([PaData { padata_type: 2, padata_value: seal::encrypted(key, 1, &time)? }])
    };
    let refused = |why: &kdc::Refused| refusal(why, &client.to_string(), &client);
    let (key, answer) = match proof {
        Proof::Key(key) => {
            let kind: Vec<_> = KINDS.into_iter().filter(|kind| *kind as i32 == key.kind).collect();
            ((*key).clone(), ask(&proven(key)?, &kind).await?)
        }
        Proof::Password(password) => {
            let usual = format!("{realm}{}", client.name.concat());
            match ask(&[], &KINDS).await? {
                Err(why) if why.code == kdc::PROOF_NEEDED => {
                    let hint = seal::hint(&why.data, &usual)?;
                    let key = hint.key(password);
                    let answer = ask(&proven(&key)?, &[hint.kind]).await?;
                    (key, answer)
                }
                Err(why) => return Err(refused(&why)),
                // The realm asks for no proof: the key must open the answer.
                Ok(granted) => {
                    let hint = seal::hint(seal::proofs(&granted.bytes), &usual)?;
                    let kind = seal::kind_of(granted.reply.enc_part.etype)?;
                    (seal::Hint { kind, ..hint }.key(password), Ok(granted))
                }
            }
        }
    };
    let reply = answer.map_err(|why| refused(&why))?.reply;
    let part = opened(&reply, &key, &[3], nonce).map_err(|error| match (error.kind, proof) {
        (SourceErrorKind::AccessDenied, Proof::Password(_)) => {
            KerberosError::refused(format!("the password of {client} is wrong"))
        }
        _ => error,
    })?;
    // The realm may write the name in its own way, and tickets carry that one.
    let client = single(Principal { name: reply.cname.name_string, realm: reply.crealm })?;
    Ok((client, Paper { ticket: reply.ticket, key: key_in(part)? }))
}

/// Asks for a ticket for the server, through the realms that lead to its own.
async fn for_server(
    (login, realms): (&KerberosLogin, &Realms<'_>),
    client: &Principal,
    mut paper: Paper,
    host: &str,
    time: Duration,
) -> Result<Paper, KerberosError> {
    let mut realm = client.realm.clone();
    let mut wanted = login.conf.realm_of(host).map(str::to_string).filter(|wanted| *wanted != realm);
    for _ in 0..MOST_REALMS {
        let name = match &wanted {
            Some(other) => vec!["krbtgt".to_string(), other.clone()],
            None => vec!["cifs".to_string(), host.to_string()],
        };
        let bought = buy(realms, client, &paper, &realm, name, time).await?;
        match bought.ticket.sname.name_string.as_slice() {
            [kind, next] if kind == "krbtgt" => {
                realm.clone_from(next);
                wanted = wanted.filter(|wanted| wanted != next);
            }
            _ => return Ok(bought),
        }
        paper = bought;
    }
    let words = format!("more than {MOST_REALMS} realms lead to the one of {host}; the last is {realm}");
    Err(KerberosError::denied(words))
}

/// Asks a realm for a ticket.
async fn buy(
    realms: &Realms<'_>,
    client: &Principal,
    paper: &Paper,
    realm: &str,
    name: Vec<String>,
    time: Duration,
) -> Result<Paper, KerberosError> {
    let service = Principal { name, realm: realm.to_string() };
    let sname = PrincipalName { name_type: SERVICE, name_string: service.name.clone() };
    let nonce = nonce()?;
    let body = messages::encode_tgs_req_body(realm, &sname, nonce, &KINDS);
    let sum = seal::checksum(&paper.key, 6, &body)?;
    let now = time::now();
    let cname = PrincipalName { name_type: USER, name_string: client.name.clone() };
    let authenticator = messages::encode_authenticator(
        &client.realm,
        &cname,
        &now.text,
        now.micros,
        None,
        None,
        Some((&sum.0, sum.1)),
    );
    let cipher = seal::seal(&paper.key, 7, &authenticator)?;
    let proof = EncryptedData { etype: paper.key.kind, kvno: None, cipher };
    let shown = messages::encode_ap_req(&paper.ticket, &proof, false);
    let question = messages::encode_tgs_req(realm, &sname, nonce, &KINDS, &shown);
    let answer = realms.ask(realm, &question, time).await?;
    let reply = answer.map_err(|why| refusal(&why, &service.to_string(), client))?.reply;
    let part = opened(&reply, &paper.key, &[8, 9], nonce)?;
    Ok(Paper { ticket: reply.ticket, key: key_in(part)? })
}

/// The part of an answer that only we can read.
fn opened(reply: &KdcRep, key: &Key, usages: &[u32], nonce: u32) -> Result<EncKdcRepPart, KerberosError> {
    if reply.enc_part.etype != key.kind {
        let words = format!(
            "an answer is encrypted with kind {}, and the key has {}",
            reply.enc_part.etype, key.kind
        );
        return Err(KerberosError::denied(words));
    }
    let plain = usages.iter().find_map(|usage| seal::open(key, *usage, &reply.enc_part.cipher));
    let Some(plain) = plain else {
        return Err(KerberosError::denied("the key does not open the answer of the realm".to_string()));
    };
    let part = messages::parse_enc_kdc_rep_part(&plain).map_err(KerberosError::bad)?;
    match part.nonce == nonce {
        true => Ok(part),
        false => Err(KerberosError::bad("an answer of the realm is for another question")),
    }
}

fn key_in(part: EncKdcRepPart) -> Result<Key, KerberosError> {
    let key = Key { kind: part.key.keytype, bytes: part.key.keyvalue };
    match seal::kind(&key) {
        Some(_) => Ok(key),
        None => Err(KerberosError::bad(format!("a ticket has a key of kind {}, which is not AES", key.kind))),
    }
}

/// Reads any bytes as each part of an answer.
pub(super) fn read_any(bytes: &[u8]) {
    drop(kdc::read(bytes.to_vec(), "server"));
    drop(seal::hint(seal::proofs(bytes), "salt"));
    drop(seal::hint(bytes, "salt"));
    drop(messages::parse_enc_kdc_rep_part(bytes));
    drop(messages::parse_ticket(bytes));
    drop(messages::parse_ap_rep(bytes));
    drop(messages::parse_enc_ap_rep_part(bytes));
    drop(messages::parse_gss_api_wrapper(bytes));
    drop(smb2::auth::spnego::parse_neg_token_resp(bytes));
    dns::read_any(bytes);
    seal::times(bytes);
    for (kind, length) in [(17, 16), (18, 32)] {
        seal::open(&Key { kind, bytes: vec![0; length] }, 3, bytes);
    }
}

/// Why a realm refused, in words.
fn refusal(why: &kdc::Refused, service: &str, client: &Principal) -> KerberosError {
    let realm = &client.realm;
    let words = match why.code {
        6 => format!("the realm {realm} has no user {client}"),
        7 => {
            format!("no server is called {service}: write the host as its realm does, often with its domain")
        }
        12 => format!("the realm does not let {client} log in here or now"),
        14 => "the realm has no key of AES with SHA-1 for it, and others are not supported".to_string(),
        1 | 18 => format!("the account {client} is locked or expired"),
        23 => format!("the password of {client} has expired: change it with kpasswd"),
        24 => format!("the password or key of {client} is wrong"),
        31 => format!("the ticket of {client} is damaged, or its key has changed: get a new one with kinit"),
        32 => format!("the ticket of {client} has expired: get a new one with kinit"),
        33 => format!("the ticket of {client} is not valid yet"),
        37 => "the clocks of this machine and of the realm are too far apart: set them by NTP".to_string(),
        68 => format!("{client} belongs to another realm: write the user as USER@REALM"),
        code => format!("the realm reports error {code} of Kerberos for {service}"),
    };
    let said = if why.text.is_empty() { String::new() } else { format!(" ({})", why.text) };
    let is_refusal = matches!(why.code, 1 | 6 | 12 | 18 | 23 | 24 | 31 | 32);
    KerberosError { is_refusal, ..KerberosError::denied(format!("{words}{said}")) }
}

/// Checks that the key of the ticket for the server is one that can be used.
fn ready(client: Principal, host: &str, paper: Paper) -> Result<Ready, KerberosError> {
    if seal::kind(&paper.key).is_none() {
        let words = format!("the ticket for {host} has a key of kind {}, which is not AES", paper.key.kind);
        return Err(KerberosError::denied(words));
    }
    Ok(Ready { client, paper })
}

/// A number that an answer must repeat; it fits in 31 bits, because some servers take it for a signed one.
fn nonce() -> Result<u32, KerberosError> {
    let mut bytes = [0; 4];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| KerberosError::bad("the system has no random numbers"))?;
    Ok(u32::from_le_bytes(bytes) >> 1)
}
