//! How long a host has been silent, and how long it is left alone, in words.

use std::time::{Duration, Instant};

/// A time in words that are as exact as anybody needs: `12 s`, `3 min`, `5 h`, `2 days`.
pub fn rough_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => "less than 1 s".to_string(),
        1..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// What follows the reason why a host has no values: since when, and when it is tried again.
pub fn silence(last: Option<Instant>, next: Option<Instant>, now: Instant) -> String {
    let since = match last {
        Some(last) => format!("no values for {}", rough_time(now.saturating_duration_since(last))),
        None => "no values yet".to_string(),
    };
    match next.map(|next| next.saturating_duration_since(now)) {
        None => since,
        Some(left) if left.is_zero() => format!("{since}, tried again now"),
        Some(left) => {
            // A second that has begun counts.
            let left = left.saturating_add(Duration::from_millis(999));
            format!("{since}, tried again in {}", rough_time(left))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_words() {
        for (seconds, words) in [
            (0, "less than 1 s"),
            (1, "1 s"),
            (119, "119 s"),
            (120, "2 min"),
            (7_199, "119 min"),
            (7_200, "2 h"),
            (172_799, "47 h"),
            (172_800, "2 days"),
            (u64::MAX, "213503982334601 days"),
        ] {
            assert_eq!(rough_time(Duration::from_secs(seconds)), words);
        }
    }

    #[test]
    fn silence_in_words() {
        let now = Instant::now().checked_add(Duration::from_secs(1_000)).unwrap();
        let at = |seconds: u64| now.checked_add(Duration::from_secs(seconds));
        let ago = |seconds: u64| now.checked_sub(Duration::from_secs(seconds));
        assert_eq!(silence(None, None, now), "no values yet");
        assert_eq!(silence(ago(12), at(4), now), "no values for 12 s, tried again in 4 s");
        assert_eq!(silence(ago(300), ago(1), now), "no values for 5 min, tried again now");
    }
}
