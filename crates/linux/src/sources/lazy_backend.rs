//! A faster backend that takes long to load: a thread loads it after a few samples, and a backend that fails
//! is never tried again.

use std::mem;
use std::thread::{self, JoinHandle};

use tallymon_provider::{Tier, TierChoice};

use crate::kernel::bpf::refusal::Refusal;

/// Samples taken the slow way before the backend is loaded. For one or two samples, loading would not pay.
const SAMPLES_BEFORE_LOADING: u32 = 2;

/// A backend, and how far loading it has come.
#[derive(Debug)]
pub(crate) struct LazyBackend<B> {
    choice: TierChoice,
    load: fn() -> Result<B, Refusal>,
    state: State<B>,
    /// Samples so far, up to [`SAMPLES_BEFORE_LOADING`].
    samples: u32,
}

#[derive(Debug)]
enum State<B> {
    NotLoaded,
    /// A thread is loading it, so that no sample waits.
    Loading(JoinHandle<Result<B, Refusal>>),
    Ready(B),
    Refused(Refusal),
}

impl<B: Send + 'static> LazyBackend<B> {
    /// A backend that `load` will load when it is time.
    pub(crate) fn new(choice: TierChoice, load: fn() -> Result<B, Refusal>) -> LazyBackend<B> {
        LazyBackend { choice, load, state: State::NotLoaded, samples: 0 }
    }

    /// A backend that is loaded already.
    #[cfg(test)]
    pub(crate) fn of(way: B) -> LazyBackend<B> {
        LazyBackend {
            choice: TierChoice::Auto,
            load: || unreachable!(),
            state: State::Ready(way),
            samples: 0,
        }
    }

    /// Notes that a sample begins. Returns the fast backend once it is ready; `None` for the slow way.
    pub(crate) fn begin_sample(&mut self) -> Option<&mut B> {
        if self.choice != TierChoice::Auto {
            self.load_now();
        } else if self.samples < SAMPLES_BEFORE_LOADING {
            self.samples = self.samples.saturating_add(1);
        } else if matches!(self.state, State::NotLoaded) {
            let thread = thread::Builder::new().name("tally-open".to_string()).spawn(self.load);
            self.state = thread.map_or_else(|_| State::of((self.load)()), State::Loading);
        } else if matches!(&self.state, State::Loading(thread) if thread.is_finished()) {
            self.load_now();
        }
        self.get()
    }

    /// Loads it now if that was not tried and is allowed; waits for a load in the background.
    pub(crate) fn load_now(&mut self) {
        if matches!(self.choice, TierChoice::Only(Tier::T0)) {
            return;
        }
        self.state = match mem::replace(&mut self.state, State::NotLoaded) {
            State::NotLoaded => State::of((self.load)()),
            State::Loading(thread) => State::of(thread.join().unwrap_or_else(|_| {
                let reason = "loading the BPF program ended unexpectedly".to_string();
                Err(Refusal { reason, remedy: String::new() })
            })),
            known => known,
        };
    }

    /// Whether it is loaded.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready(_))
    }

    /// The backend, if it is loaded.
    pub(crate) fn get(&mut self) -> Option<&mut B> {
        if let State::Ready(way) = &mut self.state { Some(way) } else { None }
    }

    /// Why it is not loaded; `None` when it is or was not tried.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        if let State::Refused(refusal) = &self.state { Some(refusal) } else { None }
    }

    /// Stops using it for good.
    pub(crate) fn disable(&mut self, refusal: Refusal) {
        self.state = State::Refused(refusal);
    }
}

impl<B> State<B> {
    fn of(backend: Result<B, Refusal>) -> State<B> {
        backend.map_or_else(State::Refused, State::Ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuse() -> Result<u32, Refusal> {
        Err(Refusal { reason: "never".to_string(), remedy: String::new() })
    }

    #[test]
    fn two_samples_load_nothing() {
        let mut backend = LazyBackend::new(TierChoice::Auto, || Ok(7));
        assert_eq!([backend.begin_sample().copied(), backend.begin_sample().copied()], [None, None]);
        assert!(matches!(backend.state, State::NotLoaded));
        assert_eq!(backend.begin_sample(), None, "the third look is not held up");
        while backend.begin_sample().is_none() {
            thread::yield_now();
        }
        assert_eq!((backend.get().copied(), backend.refusal()), (Some(7), None));
        backend.disable(refuse().unwrap_err());
        assert_eq!(backend.begin_sample(), None);
        assert!(backend.refusal().is_some());
    }

    #[test]
    fn a_required_tier_is_loaded_at_once_or_refused() {
        assert_eq!(LazyBackend::new(TierChoice::Only(Tier::T2), || Ok(7)).begin_sample(), Some(&mut 7));
        let mut files = LazyBackend::new(TierChoice::Only(Tier::T0), || Ok(7));
        files.load_now();
        assert!((0..9).all(|_| files.begin_sample().is_none()) && files.refusal().is_none());
        let mut refused = LazyBackend::new(TierChoice::Only(Tier::T2), refuse);
        assert_eq!(refused.begin_sample(), None);
        assert_eq!(refused.refusal().map(|refusal| refusal.reason.as_str()), Some("never"));
    }

    #[test]
    fn a_panic_while_loading_is_a_refusal() {
        let mut backend: LazyBackend<u32> = LazyBackend::new(TierChoice::Auto, || panic!("it is a test"));
        while backend.refusal().is_none() {
            assert_eq!(backend.begin_sample(), None);
            thread::yield_now();
        }
    }
}
