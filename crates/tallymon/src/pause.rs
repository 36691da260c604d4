//! How long a host that fails is left alone.

use std::time::{Duration, Instant};

/// The pause before a host that failed is tried again. Each further failure doubles it.
///
/// ```
/// use tallymon::Pause;
///
/// let mut pause = Pause::default();
/// assert!(!pause.rests());
/// pause.failed();
/// assert!(pause.rests());
/// pause.answered();
/// assert!(!pause.rests());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Pause {
    failures: u32,
    until: Option<Instant>,
}

impl Pause {
    /// The pause after a first failure.
    pub const FIRST: Duration = Duration::from_secs(1);

    /// The longest pause between two attempts.
    pub const LONGEST: Duration = Duration::from_secs(30);

    /// Begins a pause: the host failed now.
    pub fn failed(&mut self) {
        // Two to the power of 16 seconds is longer than the longest pause.
        let pause = Pause::FIRST.saturating_mul(1 << self.failures.min(16)).min(Pause::LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.until = Instant::now().checked_add(pause);
    }

    /// Ends the pause: the host answered, and its next failure is a first one.
    pub fn answered(&mut self) {
        *self = Pause::default();
    }

    /// Whether the host is left alone now.
    pub fn rests(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    /// When the host is tried again; `None` if its last attempt was answered.
    pub const fn until(&self) -> Option<Instant> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_pause() {
        let mut pause = Pause::default();
        let fails = |pause: &mut Pause, seconds| {
            let (begin, expected) = (Instant::now(), Duration::from_secs(seconds));
            pause.failed();
            let until = pause.until().unwrap();
            assert!(until >= begin + expected && until <= Instant::now() + expected, "{seconds}");
        };
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            fails(&mut pause, seconds);
        }
        (0..100).for_each(|_| fails(&mut pause, 30));
        pause.answered();
        assert_eq!(pause.until(), None);
        fails(&mut pause, 1);
    }
}
