//! The password of the page: hashed slowly, and tried seldom.
//!
//! A browser asks for it and sends it by `Authorization: Basic`; the answer sets the cookie, and from then
//! on only the cookie counts. The user name does not matter.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::{AUTHORIZATION, HeaderMap};
use ring::pbkdf2;
use ring::rand::{SecureRandom, SystemRandom};

/// The shortest password, in letters.
const LEAST: usize = 10;
/// Rounds of the hash: about a fifth of a second.
const ROUNDS: NonZeroU32 = NonZeroU32::new(600_000).unwrap();
/// Wrong passwords of an address in a minute, and of all addresses together.
const MOST_OF_ADDRESS: u32 = 5;
const MOST: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// Who may log in.
pub(crate) struct Login {
    salt: [u8; 16],
    hash: [u8; 32],
    tries: Mutex<Tries>,
}

/// Wrong passwords since a time.
#[derive(Debug, Default)]
struct Tries {
    since: Option<Instant>,
    all: u32,
    of_address: HashMap<IpAddr, u32>,
}

impl fmt::Debug for Login {
    /// Without the hash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

impl Login {
    /// Whether a password is long enough.
    pub(crate) fn is_possible(password: &str) -> bool {
        password.chars().count() >= LEAST
    }

    /// Keeps the hash of a password; `None` if the system has no random numbers.
    pub(crate) fn new(password: &str) -> Option<Login> {
        let (mut salt, mut hash) = ([0; 16], [0; 32]);
        SystemRandom::new().fill(&mut salt).ok()?;
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, &salt, password.as_bytes(), &mut hash);
        Some(Login { salt, hash, tries: Mutex::default() })
    }

    /// Counts a try as a wrong one. Returns whether it may be made.
    pub(crate) fn begin(&self, from: IpAddr, now: Instant) -> bool {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        if tries.since.is_none_or(|since| now.saturating_duration_since(since) >= MINUTE) {
            *tries = Tries { since: Some(now), ..Tries::default() };
        }
        let of_address = tries.of_address.get(&from).copied().unwrap_or_default();
        if tries.all >= MOST || of_address >= MOST_OF_ADDRESS {
            return false;
        }
        tries.all = tries.all.saturating_add(1);
        tries.of_address.insert(from, of_address.saturating_add(1));
        true
    }

    /// Whether a password is right. It takes long. A right one is not counted.
    pub(crate) fn is_right(&self, from: IpAddr, password: &str) -> bool {
        let (kind, password) = (pbkdf2::PBKDF2_HMAC_SHA256, password.as_bytes());
        let is_right = pbkdf2::verify(kind, ROUNDS, &self.salt, password, &self.hash).is_ok();
        if is_right {
            let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
            tries.all = tries.all.saturating_sub(1);
            if let Some(count) = tries.of_address.get_mut(&from) {
                *count = count.saturating_sub(1);
            }
        }
        is_right
    }
}

/// The password that a request has.
pub(crate) fn password_of(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Basic ")?;
    let pair = String::from_utf8(base64(text.trim())?).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_string())
}

/// The bytes of a text in base64; `None` if it is none.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0u32);
    for letter in text.trim_end_matches('=').bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_in_the_basic_authorization() {
        // Made with `printf %s ann:… | base64`.
        for (value, expected) in [
            ("Basic YW5uOnNlc2FtZQ==", Some("sesame")),
            ("Basic OmE6Yg==", Some("a:b")),
            ("Basic YW5uOuyVlO2YuA==", Some("암호")),
            ("Basic YW5u", None),
            ("Basic !", None),
            ("Bearer YW5uOnNlc2FtZQ==", None),
        ] {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]);
            assert_eq!(password_of(&headers).as_deref(), expected, "{value}");
        }
        assert_eq!(password_of(&HeaderMap::new()), None);
    }

    #[test]
    fn wrong_passwords_are_counted_by_address_and_together() {
        let login = Login { salt: [0; 16], hash: [0; 32], tries: Mutex::default() };
        let at = |last: u8| IpAddr::from([192, 0, 2, last]);
        let start = Instant::now();
        let made = (0..7).map(|_| login.begin(at(1), start)).collect::<Vec<_>>();
        assert_eq!(made, [true, true, true, true, true, false, false]);
        assert!(login.begin(at(2), start));
        assert!(login.begin(at(1), start + MINUTE), "after a minute");
        let all = (0..100).filter(|last| login.begin(at(*last), start + MINUTE)).count();
        assert_eq!(all, 59);
    }

    #[test]
    fn a_right_password_is_not_counted() {
        let login = Login::new("correct horse").unwrap();
        let (from, now) = (IpAddr::from([192, 0, 2, 1]), Instant::now());
        for _ in 0..6 {
            assert!(login.begin(from, now) && login.is_right(from, "correct horse"));
        }
        assert!(login.begin(from, now) && !login.is_right(from, "correct horsf"));
        assert!(Login::is_possible("correct ho") && !Login::is_possible("correct h"));
    }
}
