//! The client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding.

use std::num::NonZeroU32;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{hmac, pbkdf2};

/// The most rounds that a server can ask for, of which each costs time here. PostgreSQL has 4,096.
const MOST_ROUNDS: u32 = 200_000;

/// What was said so far.
pub(super) struct Scram {
    nonce: String,
    first: String,
    /// What the server must sign at the end.
    signature: Option<hmac::Tag>,
}

impl Scram {
    /// A conversation with a nonce of its own. PostgreSQL takes the name of the user from elsewhere.
    pub(super) fn new() -> Result<Scram, String> {
        let mut random = [0u8; 18];
        SystemRandom::new().fill(&mut random).map_err(|_| "this system has no random numbers".to_owned())?;
        Ok(Scram::with_nonce("", &BASE64_STANDARD.encode(random)))
    }

    fn with_nonce(user: &str, nonce: &str) -> Scram {
        Scram { nonce: nonce.to_owned(), first: format!("n={user},r={nonce}"), signature: None }
    }

    /// What the client says first.
    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.first)
    }

    /// What the client answers to the first words of the server.
    pub(super) fn answer(&mut self, server: &str, password: &str) -> Result<String, String> {
        let wrong = |what: &str| format!("its words of SCRAM-SHA-256 have no right {what}");
        let part = |name: &str| server.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        let nonce =
            part("r").filter(|nonce| nonce.len() > self.nonce.len() && nonce.starts_with(&self.nonce));
        let nonce = nonce.ok_or_else(|| wrong("nonce"))?;
        let salt = part("s").and_then(|salt| BASE64_STANDARD.decode(salt).ok());
        let salt = salt.ok_or_else(|| wrong("salt"))?;
        let rounds: u32 = part("i").and_then(|rounds| rounds.parse().ok()).ok_or_else(|| wrong("count"))?;
        let rounds = NonZeroU32::new(rounds).filter(|rounds| rounds.get() <= MOST_ROUNDS);
        let rounds = rounds.ok_or_else(|| wrong("count; it is between 1 and 200,000"))?;
        let mut salted = [0u8; 32];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, password.as_bytes(), &mut salted);
        let sign = |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
        let last = format!("c=biws,r={nonce}");
        let all = format!("{},{server},{last}", self.first);
        let client = sign(&salted, b"Client Key");
        let proof = sign(digest(&SHA256, client.as_ref()).as_ref(), all.as_bytes());
        let proof: Vec<u8> = client.as_ref().iter().zip(proof.as_ref()).map(|(a, b)| a ^ b).collect();
        self.signature = Some(sign(sign(&salted, b"Server Key").as_ref(), all.as_bytes()));
        Ok(format!("{last},p={}", BASE64_STANDARD.encode(proof)))
    }

    /// Whether the last words of the server prove that it knows the password too.
    pub(super) fn is_proven(&self, server: &str) -> bool {
        let said = server.strip_prefix("v=").and_then(|said| BASE64_STANDARD.decode(said).ok());
        let wanted = self.signature.as_ref();
        wanted.zip(said).is_some_and(|(wanted, said)| wanted.as_ref() == said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conversation_is_that_of_rfc_7677() {
        let mut scram = Scram::with_nonce("user", "rOprNGfwEbeRWgbNEkqO");
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let server = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(
            scram.answer(server, "pencil").unwrap(),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert!(scram.is_proven("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        for other in ["v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=", "v=", "e=other-error", ""] {
            assert!(!scram.is_proven(other), "{other}");
        }
    }

    #[test]
    fn words_that_would_give_away_or_cost_too_much_are_refused() {
        for (server, word) in [
            ("r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce"),
            ("r=abc,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce"),
            ("r=abcd,s=!,i=4096", "salt"),
            ("r=abcd,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0", "count"),
            ("r=abcd,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4294967295", "count"),
            ("", "nonce"),
        ] {
            let mut scram = Scram::with_nonce("", "abc");
            let error = scram.answer(server, "secret").unwrap_err();
            assert!(error.contains(word) && !error.contains("secret"), "{server}: {error}");
            assert!(!scram.is_proven("v="), "nothing was signed");
        }
    }
}
