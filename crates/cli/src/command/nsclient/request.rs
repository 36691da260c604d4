//! The requests of `check_nt`, and who may send them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The longest request. `check_nt` sends at most 1 KiB.
pub(super) const LONGEST: usize = 4096;

/// Wrong passwords of an address in a minute, after which its connections are closed at once until the minute
/// is over.
const MOST_FAILURES: u32 = 10;
const FAILURE_TIME: Duration = Duration::from_secs(60);

/// The most addresses whose failures are counted.
const MOST_KNOWN: usize = 4096;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    Version,
    /// The average load of the processors over the last minutes.
    Load(u32),
    UpTime,
    /// Free and all bytes of a file system.
    Disk(String),
    /// Whether processes run, and whether those that do are named, too.
    Processes {
        names: Vec<String>,
        all: bool,
    },
    Memory,
    Counter(String),
    Instances(String),
}

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// The password is wrong.
    Password,
    /// Anything else, in words.
    Words(String),
}

impl Request {
    /// Reads a request as `check_nt` sends it: the password, a number, and what that needs, with `&` between.
    ///
    /// # Errors
    ///
    /// The password is wrong, which hides everything else; the request is not known or lacks something.
    pub(super) fn parse(bytes: &[u8], password: &str) -> Result<Request, Refused> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\0', '\r', '\n']);
        let (given, rest) = text.split_once('&').unwrap_or((text, ""));
        if !is_same(given.as_bytes(), password.as_bytes()) {
            return Err(Refused::Password);
        }
        let (code, rest) = rest.split_once('&').unwrap_or((rest, ""));
        let refuse = |words: String| Err(Refused::Words(words));
        let named = |what: &str| match rest {
            "" => Err(Refused::Words(format!("{what} is missing"))),
            name => Ok(name.to_string()),
        };
        Ok(match code {
            "1" => Request::Version,
            "2" => match rest.parse() {
                Ok(minutes) if (1..=24 * 60).contains(&minutes) => Request::Load(minutes),
                _ => return refuse(format!("{rest:?} is not a number of minutes from 1 to 1440")),
            },
            "3" => Request::UpTime,
            "4" => Request::Disk(named("the disk")?),
            "5" => {
                return refuse("services are not read here; PROCSTATE looks at processes".to_string());
            }
            "6" => {
                let mut words = rest.split('&').filter(|word| !word.is_empty());
                let all = match words.next() {
                    Some("ShowAll") => true,
                    Some("ShowFail") => false,
                    _ => return refuse("ShowAll or ShowFail is missing".to_string()),
                };
                let names: Vec<String> = words.map(str::to_string).collect();
                if names.is_empty() {
                    return refuse("the names of processes are missing".to_string());
                }
                Request::Processes { names, all }
            }
            "7" => Request::Memory,
            "8" => Request::Counter(named("the counter path")?),
            "9" => return refuse("files are not looked at here".to_string()),
            "10" => Request::Instances(named("the object")?),
            other => return refuse(format!("no request has the number {other:?}")),
        })
    }
}

/// Compares in a time that does not tell how much was right.
fn is_same(given: &[u8], known: &[u8]) -> bool {
    let differ = given.len() ^ known.len();
    let bytes = known.iter().enumerate().map(|(at, byte)| byte ^ given.get(at).copied().unwrap_or_default());
    bytes.fold(differ, |all, byte| all | usize::from(byte)) == 0
}

/// Addresses that may send requests: one, or a network such as `192.0.2.0/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowed {
    address: IpAddr,
    bits: u8,
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Allowed, String> {
        let wrong =
            || format!("{text:?} is neither an address nor a network: write 192.0.2.1 or 192.0.2.0/24");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most { Err(wrong()) } else { Ok(Allowed { address, bits }) }
    }
}

impl Allowed {
    /// Whether an address is in it.
    pub(crate) fn has(self, address: IpAddr) -> bool {
        // An address of version 4 that came by a socket of version 6 is what it was.
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.bits.into())).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(self.bits.into())).unwrap_or(0);
                (network.to_bits() ^ address.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

/// Wrong passwords by address.
#[derive(Debug, Default)]
pub(super) struct Failures {
    known: HashMap<IpAddr, (Instant, u32)>,
}

impl Failures {
    /// Whether an address has failed too often.
    pub(super) fn is_closed(&self, address: IpAddr, time: Instant) -> bool {
        self.known.get(&address).is_some_and(|(since, count)| {
            *count >= MOST_FAILURES && time.saturating_duration_since(*since) < FAILURE_TIME
        })
    }

    /// Counts a failure, and returns whether the address is closed with it.
    pub(super) fn add(&mut self, address: IpAddr, time: Instant) -> bool {
        let is_old = |since: &Instant| time.saturating_duration_since(*since) >= FAILURE_TIME;
        if self.known.len() >= MOST_KNOWN {
            self.known.retain(|_, (since, _)| !is_old(since));
        }
        if self.known.len() >= MOST_KNOWN && !self.known.contains_key(&address) {
            // More addresses at once than anybody allows; the oldest stay counted.
            return false;
        }
        let entry = self.known.entry(address).or_insert((time, 0));
        if is_old(&entry.0) {
            *entry = (time, 0);
        }
        entry.1 = entry.1.saturating_add(1);
        entry.1 == MOST_FAILURES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_as_check_nt_sends_them() {
        let parse = |text: &str| Request::parse(text.as_bytes(), "a secret");
        for (text, request) in [
            ("a secret&1", Request::Version),
            ("a secret&2&60", Request::Load(60)),
            ("a secret&3\r\n", Request::UpTime),
            ("a secret&4&/", Request::Disk("/".into())),
            (
                "a secret&6&ShowAll&init&cron",
                Request::Processes { names: vec!["init".into(), "cron".into()], all: true },
            ),
            ("a secret&7\0", Request::Memory),
            (r"a secret&8&\a(b & c)\d", Request::Counter(r"\a(b & c)\d".into())),
            ("a secret&10&Processor", Request::Instances("Processor".into())),
        ] {
            assert_eq!(parse(text), Ok(request), "{text}");
        }
        for text in
            ["", "&", "&1", "a secre&1", "a secrets&1", "A secret&1", "None&1", "\u{fffd}", "a secret\n&1"]
        {
            assert_eq!(parse(text), Err(Refused::Password), "{text:?}");
        }
        for text in [
            "a secret",
            "a secret&",
            "a secret&99",
            "a secret&2&0",
            "a secret&2&9999",
            "a secret&8&",
            "a secret&6&ShowAll",
            "a secret&6&x&y",
            "a secret&5&ShowAll&x",
            "a secret&9&/etc/passwd",
        ] {
            assert!(matches!(parse(text), Err(Refused::Words(_))), "{text:?}");
        }
    }

    #[test]
    fn addresses_and_networks() {
        for (allowed, address, has) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("192.0.2.0/24", "192.0.2.255", true),
            ("192.0.2.0/24", "192.0.3.0", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "2001:db8::1", true),
        ] {
            let allowed: Allowed = allowed.parse().unwrap();
            assert_eq!(allowed.has(address.parse().unwrap()), has, "{allowed:?} {address}");
        }
        for text in ["", "host", "192.0.2.0/33", "::/129", "192.0.2.0/", "192.0.2.0/-1"] {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_that_guesses_is_closed_for_a_minute() {
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let mut failures = Failures::default();
        let begin = Instant::now();
        for nth in 1..MOST_FAILURES {
            assert!(!failures.add(one, begin) && !failures.is_closed(one, begin), "{nth}");
        }
        assert!(failures.add(one, begin) && failures.is_closed(one, begin));
        assert!(!failures.is_closed(other, begin));
        let later = begin + FAILURE_TIME;
        assert!(!failures.is_closed(one, later) && !failures.add(one, later));
        assert!(!failures.is_closed(one, later));
    }
}
