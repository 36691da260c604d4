//! Logins that a host or a realm has refused. The same login again would be refused again, and many accounts
//! are locked after a few wrong passwords: it waits until what logs in has changed, or for a time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tallymon_core::flow::SourceError;

use crate::silence::rough_time;

/// How long a refused login waits if nothing changes: an account may have been unlocked by then.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// The refused logins of this program by the address of the host: a host is often opened anew, and by
/// several parts of a program.
static REFUSED: Mutex<BTreeMap<String, Refusal>> = Mutex::new(BTreeMap::new());

struct Refusal {
    at: Instant,
    /// What logged in, see [`FindCredentials::stamp`](crate::FindCredentials::stamp).
    stamp: u64,
    why: SourceError,
}

/// Whether a login may be tried now.
///
/// # Errors
///
/// It was refused, and nothing has changed.
pub(super) fn check(host: &str, stamp: u64, now: Instant) -> Result<(), SourceError> {
    let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    match refused.get(host) {
        Some(it) if it.stamp == stamp && now.saturating_duration_since(it.at) < LONGEST => {
            Err(it.why.clone())
        }
        Some(_) => {
            refused.remove(host);
            Ok(())
        }
        None => Ok(()),
    }
}

/// Keeps a refused login, and returns the error that says until when. `place` is what has to change.
pub(super) fn keep(host: &str, stamp: u64, why: &SourceError, place: &str, now: Instant) -> SourceError {
    let time = rough_time(LONGEST);
    let until = format!("paused after a refused login until {place} changes, or for {time}");
    let why = SourceError::new(why.kind, format!("{}; {until}", why.message));
    let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
    refused.insert(host.to_string(), Refusal { at: now, stamp, why: why.clone() });
    why
}

#[cfg(test)]
mod tests {
    use tallymon_core::flow::SourceErrorKind;

    use super::*;
    use crate::is_paused;

    #[test]
    fn a_refused_login_waits_for_a_change_or_a_time() {
        let now = Instant::now();
        let later = |seconds| now.checked_add(Duration::from_secs(seconds)).unwrap();
        let (host, other) = ("rrp://ann@refused.example", "rrp://bob@refused.example");
        let why = SourceError::new(SourceErrorKind::AccessDenied, "logging in: refused");
        assert!(check(host, 1, now).is_ok() && !is_paused(&why.message));
        let said = keep(host, 1, &why, "/c", now);
        let words = "logging in: refused; paused after a refused login until /c changes, or for 15 min";
        assert_eq!(said.message, words);
        assert!(is_paused(&said.message));
        for (host, stamp, seconds, expected) in [
            (host, 1, 0, Err(said.clone())),
            (other, 1, 0, Ok(())),
            (host, 1, 899, Err(said.clone())),
            (host, 1, 900, Ok(())),
            // That attempt was refused, too, or is not over: nothing is kept of the first one.
            (host, 1, 0, Ok(())),
        ] {
            assert_eq!(check(host, stamp, later(seconds)), expected, "{host} {stamp} {seconds}");
        }
        keep(host, 1, &why, "/c", now);
        assert_eq!(check(host, 2, now), Ok(()));
    }
}
