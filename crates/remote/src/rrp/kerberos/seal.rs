//! Encryption of Kerberos with AES and SHA-1 (kinds 17 and 18), and what an answer says about keys.

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use smb2::auth::kerberos::crypto::{
    EncryptionType, compute_checksum, decrypt_aes_cts, derive_key_aes, encrypt_aes_cts, string_to_key_aes,
    usage_enc, usage_int,
};

use super::KerberosError;
use crate::kerberos::Key;

const BLOCK: usize = 16;
const SUM: usize = 12;

/// The kind of a key that can be used: one of AES, with the right length.
pub(super) fn kind(key: &Key) -> Option<EncryptionType> {
    let kind = kind_of(key.kind).ok()?;
    (key.bytes.len() == length(kind)).then_some(kind)
}

pub(super) fn kind_of(kind: i32) -> Result<EncryptionType, KerberosError> {
    match kind {
        17 => Ok(EncryptionType::Aes128CtsHmacSha196),
        18 => Ok(EncryptionType::Aes256CtsHmacSha196),
        kind => {
            Err(KerberosError::denied(format!("keys of kind {kind} are not supported: use AES (17, 18)")))
        }
    }
}

const fn length(kind: EncryptionType) -> usize {
    if matches!(kind, EncryptionType::Aes256CtsHmacSha196) { 32 } else { 16 }
}

fn usable(key: &Key) -> Result<EncryptionType, KerberosError> {
    kind(key).ok_or_else(|| KerberosError::denied(format!("a key of kind {} cannot be used", key.kind)))
}

/// Encrypts for one use.
pub(in crate::rrp) fn seal(key: &Key, usage: u32, plain: &[u8]) -> Result<Vec<u8>, KerberosError> {
    usable(key)?;
    let mut text = vec![0; BLOCK];
    let filled = SystemRandom::new().fill(&mut text);
    filled.map_err(|_| KerberosError::bad("the system has no random numbers"))?;
    text.extend_from_slice(plain);
    let mut sealed = encrypt_aes_cts(&derive_key_aes(&key.bytes, &usage_enc(usage)), &[0; BLOCK], &text);
    let sum = hmac::sign(&signing(key, usage), &text);
    sealed.extend(sum.as_ref().iter().take(SUM));
    Ok(sealed)
}

/// Decrypts; `None` if the key is not the one that it was encrypted with.
pub(in crate::rrp) fn open(key: &Key, usage: u32, sealed: &[u8]) -> Option<Vec<u8>> {
    kind(key)?;
    let (text, sum) = sealed.split_at_checked(sealed.len().checked_sub(SUM)?)?;
    if text.len() < BLOCK {
        return None;
    }
    let plain = decrypt_aes_cts(&derive_key_aes(&key.bytes, &usage_enc(usage)), &[0; BLOCK], text).ok()?;
    let own = hmac::sign(&signing(key, usage), &plain);
    // Nobody can try keys here and measure how long it takes.
    (own.as_ref().get(..SUM)? == sum).then(|| plain.get(BLOCK..).map(<[u8]>::to_vec))?
}

fn signing(key: &Key, usage: u32) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &derive_key_aes(&key.bytes, &usage_int(usage)))
}

/// A checksum, and its kind.
pub(super) fn checksum(key: &Key, usage: u32, data: &[u8]) -> Result<(Vec<u8>, i32), KerberosError> {
    let kind = usable(key)?;
    let number = if length(kind) == 32 { 16 } else { 15 };
    Ok((compute_checksum(&key.bytes, usage, data, kind), number))
}

/// `EncryptedData` in DER, as the proof of a first question.
pub(super) fn encrypted(key: &Key, usage: u32, plain: &[u8]) -> Result<Vec<u8>, KerberosError> {
    let kind = u8::try_from(key.kind).unwrap_or_default();
    let cipher = tlv(0xa2, &tlv(4, &seal(key, usage, plain)?));
    Ok(tlv(0x30, &[vec![0xa0, 3, 2, 1, kind], cipher].concat()))
}

/// A number without a sign in DER.
pub(super) fn unsigned(number: u32) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let begin = bytes.iter().take(3).take_while(|byte| **byte == 0).count();
    let mut value = bytes.get(begin..).unwrap_or_default().to_vec();
    // A first bit would be a sign.
    if value.first().is_some_and(|byte| *byte >= 128) {
        value.insert(0, 0);
    }
    tlv(2, &value)
}

/// A key of the same kind that nobody else has.
pub(super) fn new_key(like: &Key) -> Result<Key, KerberosError> {
    let mut bytes = vec![0; like.bytes.len()];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| KerberosError::bad("the system has no random numbers"))?;
    Ok(Key { kind: like.kind, bytes })
}

/// The time of the question in the proof of a server: its text and microseconds.
pub(super) fn times(part: &[u8]) -> Option<(&[u8], u32)> {
    let fields = children(inside(inside(part, 0x7b), 0x30));
    let micros = number(field(&fields, 0xa1, 2)?)?;
    Some((field(&fields, 0xa0, 0x18)?, u32::try_from(micros).ok()?))
}

/// A value of less than 64 KiB in DER.
pub(super) fn tlv(tag: u8, value: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut out = match (high, low) {
        (0, 0..=127) => vec![tag, low],
        (0, _) => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    out.extend_from_slice(value);
    out
}

/// How a realm makes a key from a password.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) kind: EncryptionType,
    pub(super) salt: String,
}

impl Hint {
    pub(super) fn key(&self, password: &str) -> Key {
        Key { kind: self.kind as i32, bytes: string_to_key_aes(password, &self.salt, length(self.kind)) }
    }
}

/// Finds the strongest kind of key that a realm offers, and its salt. `METHOD-DATA` has a list of proofs,
/// and the one of type 19 has a list of kinds.
pub(super) fn hint(data: &[u8], usual: &str) -> Result<Hint, KerberosError> {
    let mut best: Option<Hint> = None;
    let mut kinds = Vec::new();
    for proof in children(inside(data, 0x30)) {
        let fields = children(proof.1);
        if field(&fields, 0xa1, 2).map(number) != Some(Some(19)) {
            continue;
        }
        for entry in children(inside(field(&fields, 0xa2, 4).unwrap_or_default(), 0x30)) {
            let fields = children(entry.1);
            let Some(number) = field(&fields, 0xa0, 2).and_then(number) else { continue };
            kinds.push(number);
            let Ok(kind) = kind_of(number) else { continue };
            // How often the password is hashed; the crate does it as often as everybody.
            let is_usual = field(&fields, 0xa2, 4).is_none_or(|count| count == [0, 0, 0x10, 0]);
            let salt = match field(&fields, 0xa1, 0x1b).map(<[u8]>::to_vec) {
                Some(salt) => String::from_utf8(salt).ok(),
                None => Some(usual.to_string()),
            };
            if let Some(salt) = salt.filter(|_| is_usual)
                && best.as_ref().is_none_or(|best| length(best.kind) < length(kind))
            {
                best = Some(Hint { kind, salt });
            }
        }
    }
    match best {
        Some(best) => Ok(best),
        None if kinds.is_empty() => {
            Ok(Hint { kind: EncryptionType::Aes256CtsHmacSha196, salt: usual.to_string() })
        }
        None => Err(KerberosError::denied(format!(
            "the realm has keys of kinds {kinds:?} for this user; AES with SHA-1 (17, 18) is supported"
        ))),
    }
}

/// The list of proofs in an answer to a first question.
pub(super) fn proofs(answer: &[u8]) -> &[u8] {
    let fields = children(inside(inside(answer, 0x6b), 0x30));
    fields.iter().find(|(name, _)| *name == 0xa2).map_or(&[], |(_, list)| list)
}

/// The values in a sequence, up to the first damage.
fn children(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut all = Vec::new();
    while let Some((tag, value, rest)) = split(bytes) {
        all.push((tag, value));
        bytes = rest;
    }
    all
}

/// The first value, its tag, and the bytes behind it.
fn split(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=127 => (usize::from(*first), rest),
        0x81 => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
        0x83 => rest.split_first_chunk::<3>().map(|(length, rest)| {
            let [high, middle, low] = *length;
            (usize::try_from(u32::from_be_bytes([0, high, middle, low])).unwrap_or(usize::MAX), rest)
        })?,
        0x82 => rest.split_first_chunk().map(|(length, rest)| (u16::from_be_bytes(*length).into(), rest))?,
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(length)?;
    Some((*tag, value, rest))
}

/// The value, if it has this tag.
fn inside(bytes: &[u8], tag: u8) -> &[u8] {
    split(bytes).filter(|(found, ..)| *found == tag).map_or(&[], |(_, value, _)| value)
}

/// The value in a field, if it has this tag.
fn field<'b>(fields: &[(u8, &'b [u8])], name: u8, tag: u8) -> Option<&'b [u8]> {
    let (_, value) = fields.iter().find(|(found, _)| *found == name)?;
    split(value).filter(|(found, ..)| *found == tag).map(|(_, value, _)| value)
}

/// A number of at most four bytes.
fn number(bytes: &[u8]) -> Option<i32> {
    let is_negative = *bytes.first()? >= 128;
    if bytes.len() > 4 {
        return None;
    }
    let start = if is_negative { -1i32 } else { 0 };
    Some(bytes.iter().fold(start, |number, byte| number.wrapping_shl(8) | i32::from(*byte)))
}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod seal_tests;
