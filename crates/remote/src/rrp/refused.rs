//! Logins that a host or a realm has refused. The same login again would be refused again, and many accounts
//! are locked after a few wrong passwords: it waits until what logs in has changed, or for a time. For the
//! same reason a login that is being tried is not tried a second time beside it.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tallymon_core::flow::{SourceError, SourceErrorKind};

use crate::silence::rough_time;

/// How long a refused login waits if nothing changes: an account may have been unlocked by then.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// The logins of this program that were refused or are being tried, by the address of the host: a host is
/// often opened anew, and by several parts of a program.
static LOGINS: Mutex<BTreeMap<String, Login>> = Mutex::new(BTreeMap::new());

enum Login {
    Refused(Refusal),
    Tried(Arc<Attempt>),
}

struct Refusal {
    at: Instant,
    /// What logged in, see [`FindCredentials::stamp`](crate::FindCredentials::stamp).
    stamp: u64,
    why: SourceError,
    /// What has to change.
    place: String,
}

impl Refusal {
    /// What is left of its time.
    fn left(&self, now: Instant) -> Duration {
        LONGEST.saturating_sub(now.saturating_duration_since(self.at))
    }

    /// The error that says until when it waits.
    fn error(&self, now: Instant) -> SourceError {
        // A second that has begun counts.
        let left = rough_time(self.left(now).saturating_add(Duration::from_millis(999)));
        let until = format!("paused after a refused login until {} changes, or for {left}", self.place);
        SourceError::new(self.why.kind, format!("{}; {until}", self.why.message))
    }
}

/// A login that is being tried.
struct Attempt {
    /// A forked child has the attempts of its parent, which never end there.
    process: u32,
    stamp: u64,
    end: Mutex<Option<Result<(), SourceError>>>,
    has_ended: Condvar,
}

/// The turn to try a login; it ends when this is dropped.
pub(super) struct Turn {
    host: String,
    attempt: Arc<Attempt>,
    result: Result<(), SourceError>,
}

impl Turn {
    /// Ends the turn, and hands its result to those who wait for it.
    pub(super) fn end(mut self, result: Result<(), SourceError>) {
        self.result = result;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut logins = locked(&LOGINS);
        // A refusal may have taken its place.
        if matches!(logins.get(&self.host), Some(Login::Tried(it)) if Arc::ptr_eq(it, &self.attempt)) {
            logins.remove(&self.host);
        }
        drop(logins);
        *locked(&self.attempt.end) = Some(mem::replace(&mut self.result, Ok(())));
        self.attempt.has_ended.notify_all();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a login. If the same one is being tried, its result is waited for: after a success all may log in
/// at a time, which is `None`, and a failure is that of all.
///
/// # Errors
///
/// It was refused, and nothing has changed; or it is being tried, and that has failed or takes longer than
/// `patience`.
pub(super) fn begin(host: &str, stamp: u64, patience: Duration) -> Result<Option<Turn>, SourceError> {
    let begun = Instant::now();
    loop {
        let other = match turn(host, stamp, Instant::now())? {
            Ok(turn) => return Ok(Some(turn)),
            Err(other) => other,
        };
        let left = patience.saturating_sub(begun.elapsed());
        let waited = other.has_ended.wait_timeout_while(locked(&other.end), left, |end| end.is_none());
        let (end, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &*end {
            None => {
                let words = "a login there is being tried";
                return Err(SourceError::new(SourceErrorKind::Unreachable, words));
            }
            // Another login says nothing about this one.
            Some(_) if other.stamp != stamp => {}
            Some(Ok(())) => return Ok(None),
            Some(Err(why)) => return Err(why.clone()),
        }
    }
}

/// The turn, or the attempt that has it.
fn turn(host: &str, stamp: u64, now: Instant) -> Result<Result<Turn, Arc<Attempt>>, SourceError> {
    let process = std::process::id();
    let mut logins = locked(&LOGINS);
    match logins.get(host) {
        Some(Login::Refused(it)) if it.stamp == stamp && !it.left(now).is_zero() => {
            return Err(it.error(now));
        }
        Some(Login::Tried(attempt)) if attempt.process == process => return Ok(Err(Arc::clone(attempt))),
        _ => {}
    }
    let attempt = Arc::new(Attempt { process, stamp, end: Mutex::default(), has_ended: Condvar::new() });
    logins.insert(host.to_string(), Login::Tried(Arc::clone(&attempt)));
    let given_up = SourceError::new(SourceErrorKind::Unreachable, "a login there was given up");
    Ok(Ok(Turn { host: host.to_string(), attempt, result: Err(given_up) }))
}

/// Keeps a refused login, and returns the error that says until when. `place` is what has to change.
pub(super) fn keep(host: &str, stamp: u64, why: SourceError, place: String, now: Instant) -> SourceError {
    let refusal = Refusal { at: now, stamp, why, place };
    let error = refusal.error(now);
    locked(&LOGINS).insert(host.to_string(), Login::Refused(refusal));
    error
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::is_paused;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn check(host: &str, stamp: u64, now: Instant) -> Result<(), SourceError> {
        turn(host, stamp, now).map(|turn| turn.map_err(|_| "another has the turn").unwrap().end(Ok(())))
    }

    #[test]
    fn a_refused_login_waits_for_a_change_or_a_time() {
        let now = Instant::now();
        let later = |seconds| now.checked_add(Duration::from_secs(seconds)).unwrap();
        let (host, other) = ("rrp://ann@refused.example", "rrp://bob@refused.example");
        let why = SourceError::new(SourceErrorKind::AccessDenied, "logging in: refused");
        assert!(check(host, 1, now).is_ok() && !is_paused(&why.message));
        let said = keep(host, 1, why.clone(), "/c".to_string(), now);
        let words = "logging in: refused; paused after a refused login until /c changes, or for";
        assert_eq!(said.message, format!("{words} 15 min"));
        assert!(is_paused(&said.message));
        for (host, stamp, seconds, left) in [
            (host, 1, 0, Some("15 min")),
            (other, 1, 0, None),
            (host, 1, 600, Some("5 min")),
            (host, 1, 899, Some("1 s")),
            (host, 1, 900, None),
            // That attempt was refused, too, or is not over: nothing is kept of the first one.
            (host, 1, 0, None),
        ] {
            let expected = left.map(|left| format!("{words} {left}"));
            let found = check(host, stamp, later(seconds)).err().map(|error| error.message.into_owned());
            assert_eq!(found, expected, "{host} {stamp} {seconds}");
        }
        keep(host, 1, why, "/c".to_string(), now);
        assert_eq!(check(host, 2, now), Ok(()));
    }

    /// Begins a login beside one that has the turn, ends that one, and returns what came of both.
    fn beside(host: &'static str, end: impl FnOnce(Turn)) -> Vec<Result<bool, SourceError>> {
        let first = begin(host, 1, PATIENCE).unwrap().unwrap();
        let (said, results) = channel();
        for _ in 0..8 {
            let said = said.clone();
            std::thread::spawn(move || said.send(begin(host, 1, PATIENCE).map(|turn| turn.is_some())));
        }
        // Nobody passes while it is being tried.
        assert!(results.recv_timeout(Duration::from_millis(50)).is_err());
        end(first);
        (0..8).map(|_| results.recv_timeout(PATIENCE).unwrap()).collect()
    }

    #[test]
    fn a_login_that_is_being_tried_is_tried_by_nobody_else() {
        let why = SourceError::new(SourceErrorKind::AccessDenied, "logging in: refused");
        // All that wait are let in after a success.
        let host = "rrp://ann@let-in.example";
        let passed = beside(host, |turn| turn.end(Ok(())));
        assert!(passed.iter().all(Result::is_ok), "{passed:?}");
        let host = "rrp://ann@wrong.example";
        let failed = beside(host, |turn| {
            turn.end(Err(keep(host, 1, why.clone(), "/c".to_string(), Instant::now())));
        });
        assert!(failed.iter().all(|it| it.as_ref().is_err_and(|it| is_paused(&it.message))), "{failed:?}");
        // One that ends without a word, as in a panic, leaves the turn to the next.
        let host = "rrp://ann@given-up.example";
        assert!(beside(host, drop).iter().all(Result::is_err));
        let turn = begin(host, 1, PATIENCE).unwrap().unwrap();
        let error = begin(host, 1, Duration::ZERO).err().unwrap();
        assert_eq!(error.message, "a login there is being tried");
        turn.end(Ok(()));
        // What a forked child has of its parent never ends.
        let mut turn = begin(host, 1, PATIENCE).unwrap().unwrap();
        let of_parent = Attempt {
            process: turn.attempt.process.wrapping_add(1),
            stamp: 1,
            end: Mutex::default(),
            has_ended: Condvar::new(),
        };
        turn.attempt = Arc::new(of_parent);
        locked(&LOGINS).insert(host.to_string(), Login::Tried(Arc::clone(&turn.attempt)));
        assert!(begin(host, 1, Duration::ZERO).unwrap().is_some());
    }
}
