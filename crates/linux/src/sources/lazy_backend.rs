//! A faster way that takes long to make: a thread makes it for who stays, and one that fails is given up for good.

use std::mem;
use std::thread::{self, JoinHandle};

use tallymon_provider::{Tier, TierChoice};

use crate::kernel::bpf::refusal::Refusal;

/// Looks that go the old way before a new one is made. Who looks once or twice is gone before it would pay.
const LOOKS_BEFORE: u32 = 2;

/// A way to read something, as far as it was tried.
#[derive(Debug)]
pub(crate) struct LazyBackend<Way> {
    choice: TierChoice,
    make: fn() -> Result<Way, Refusal>,
    state: State<Way>,
    /// Looks so far, up to [`LOOKS_BEFORE`].
    looks: u32,
}

#[derive(Debug)]
enum State<Way> {
    Untried,
    /// It is being made by a thread, so that nobody waits for it.
    Making(JoinHandle<Result<Way, Refusal>>),
    Works(Way),
    Refused(Refusal),
}

impl<Way: Send + 'static> LazyBackend<Way> {
    /// One that is made like this, when it is time.
    pub(crate) fn new(choice: TierChoice, make: fn() -> Result<Way, Refusal>) -> LazyBackend<Way> {
        LazyBackend { choice, make, state: State::Untried, looks: 0 }
    }

    /// One that is there already.
    #[cfg(test)]
    pub(crate) fn of(way: Way) -> LazyBackend<Way> {
        LazyBackend { choice: TierChoice::Auto, make: || unreachable!(), state: State::Works(way), looks: 0 }
    }

    /// Notes that somebody is about to look, and says how he can; `None` for the old way.
    pub(crate) fn begin_sample(&mut self) -> Option<&mut Way> {
        if self.choice != TierChoice::Auto {
            self.finish();
        } else if self.looks < LOOKS_BEFORE {
            self.looks = self.looks.saturating_add(1);
        } else if matches!(self.state, State::Untried) {
            let thread = thread::Builder::new().name("tally-open".to_string()).spawn(self.make);
            self.state = thread.map_or_else(|_| State::of((self.make)()), State::Making);
        } else if matches!(&self.state, State::Making(thread) if thread.is_finished()) {
            self.finish();
        }
        self.get()
    }

    /// Makes it now, if nobody has tried yet and it is allowed; waits for one that is being made.
    pub(crate) fn finish(&mut self) {
        if matches!(self.choice, TierChoice::Only(Tier::T0)) {
            return;
        }
        self.state = match mem::replace(&mut self.state, State::Untried) {
            State::Untried => State::of((self.make)()),
            State::Making(thread) => State::of(thread.join().unwrap_or_else(|_| {
                let reason = "making the program ended unexpectedly".to_string();
                Err(Refusal { reason, remedy: String::new() })
            })),
            known => known,
        };
    }

    /// Whether there is one.
    pub(crate) fn works(&self) -> bool {
        matches!(self.state, State::Works(_))
    }

    /// The way, when there is one.
    pub(crate) fn get(&mut self) -> Option<&mut Way> {
        if let State::Works(way) = &mut self.state { Some(way) } else { None }
    }

    /// Why there is none; `None` when it was not tried or works.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        if let State::Refused(refusal) = &self.state { Some(refusal) } else { None }
    }

    /// From now on there is none.
    pub(crate) fn give_up(&mut self, refusal: Refusal) {
        self.state = State::Refused(refusal);
    }
}

impl<Way> State<Way> {
    fn of(made: Result<Way, Refusal>) -> State<Way> {
        made.map_or_else(State::Refused, State::Works)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuse() -> Result<u32, Refusal> {
        Err(Refusal { reason: "never".to_string(), remedy: String::new() })
    }

    #[test]
    fn who_looks_twice_makes_nothing() {
        let mut made = LazyBackend::new(TierChoice::Auto, || Ok(7));
        assert_eq!([made.begin_sample().copied(), made.begin_sample().copied()], [None, None]);
        assert!(matches!(made.state, State::Untried));
        assert_eq!(made.begin_sample(), None, "the third look is not held up");
        while made.begin_sample().is_none() {
            thread::yield_now();
        }
        assert_eq!((made.get().copied(), made.refusal()), (Some(7), None));
        made.give_up(refuse().unwrap_err());
        assert_eq!(made.begin_sample(), None);
        assert!(made.refusal().is_some());
    }

    #[test]
    fn a_tier_that_is_wanted_is_there_at_once_or_never() {
        assert_eq!(LazyBackend::new(TierChoice::Only(Tier::T2), || Ok(7)).begin_sample(), Some(&mut 7));
        let mut files = LazyBackend::new(TierChoice::Only(Tier::T0), || Ok(7));
        files.finish();
        assert!((0..9).all(|_| files.begin_sample().is_none()) && files.refusal().is_none());
        let mut refused = LazyBackend::new(TierChoice::Only(Tier::T2), refuse);
        assert_eq!(refused.begin_sample(), None);
        assert_eq!(refused.refusal().map(|refusal| refusal.reason.as_str()), Some("never"));
    }

    #[test]
    fn a_panic_of_the_maker_is_a_refusal() {
        let mut made: LazyBackend<u32> = LazyBackend::new(TierChoice::Auto, || panic!("it is a test"));
        while made.refusal().is_none() {
            assert_eq!(made.begin_sample(), None);
            thread::yield_now();
        }
    }
}
