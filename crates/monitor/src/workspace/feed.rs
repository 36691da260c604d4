//! The sampler of the live source, and the queries that its samples feed. No query waits for a source here.

use std::io;
use std::time::Duration;

use tallymon::core::flow::SourceError;
use tallymon::sample::{Listener, Pending, Tick as Sample};
use tallymon::{Definitions, Locale, Query, Sampler, SourceInfo};

/// How long the screen waits for an answer; most sources answer much faster.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(50);

/// The live source: one sampler for every screen.
pub(crate) struct Sampling {
    pub(super) sampler: Sampler,
    /// Listens for the query of the chart.
    pub(super) listener: Listener,
    /// The names and objects that the source has by now.
    renewal: Option<Pending<SourceInfo>>,
    /// What is defined in them.
    definitions: Definitions,
}

impl Sampling {
    pub(crate) fn new(sampler: Sampler) -> Sampling {
        Sampling { listener: sampler.listener(), sampler, renewal: None, definitions: Definitions::None }
    }

    /// A listener that does not get the samples that were requested before.
    pub(super) fn listen_again(&mut self) {
        self.listener = self.sampler.listener();
    }

    /// Requests the names and objects that the source has by now, with those that some paths name; with all,
    /// once a screen has shown all.
    pub(super) fn renew(&mut self, locale: Locale, paths: Vec<String>) {
        let shows_all = self.definitions == Definitions::All;
        self.request(locale, if shows_all { Definitions::All } else { Definitions::OfPaths(paths) });
    }

    /// Requests all objects, whose libraries are started, now and from now on.
    pub(super) fn renew_all(&mut self, locale: Locale) {
        self.request(locale, Definitions::All);
    }

    fn request(&mut self, locale: Locale, definitions: Definitions) {
        // One that is under way, and has the same, stays.
        if self.renewal.is_none() || self.definitions != definitions {
            self.renewal = Some(self.listener.info(locale, definitions.clone()));
            self.definitions = definitions;
        }
    }

    pub(super) const fn is_renewing(&self) -> bool {
        self.renewal.is_some()
    }

    /// The requested names and objects, or why the source has none, if the answer arrives within a time.
    pub(super) fn renewed(&mut self, patience: Duration) -> Option<Result<SourceInfo, SourceError>> {
        let answer = self.renewal.as_ref()?.wait(patience)?;
        self.renewal = None;
        Some(answer)
    }
}

/// Moves the source of a query to a thread, and returns the query without it.
///
/// # Errors
///
/// The system has no more threads.
pub(crate) fn sampled(mut query: Query) -> io::Result<(Sampler, Query)> {
    // A search looks in every locale. A locale that cannot be read is missing from it.
    let _ = query.load_all_names();
    let (source, info) = query.into_source();
    let mut source = Some(source);
    let gone = || SourceError::new(tallymon::core::flow::SourceErrorKind::Io, "the source was lost");
    Ok((Sampler::start(move || source.take().ok_or_else(gone))?, Query::over(info)))
}

/// The query of a screen, and where its samples come from: from the sampler of a live source, or from a log.
///
/// A log answers from its file at once, on the thread of the screen: it seeks to the record at the cursor.
pub(crate) struct Feed {
    pub(crate) query: Query,
    /// `None` for a log.
    pub(crate) listener: Option<Listener>,
}

impl Feed {
    /// Requests the first sample of the current paths, and includes them in later samples. Returns whether
    /// the query has a new sample already, as over a log.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub(crate) fn begin(&mut self) -> Result<bool, SourceError> {
        match &self.listener {
            None => self.query.collect().map(|_| true),
            Some(listener) => {
                listener.want(self.query.request());
                listener.prime();
                Ok(false)
            }
        }
    }

    /// Takes a sample, or reads the log at its new time; whether the query has a new sample.
    ///
    /// # Errors
    ///
    /// Why the source has no sample.
    pub(crate) fn take(&mut self, sample: Option<&Sample>) -> Result<bool, SourceError> {
        let Some(listener) = &self.listener else { return self.query.collect().map(|_| true) };
        match sample.and_then(|sample| sample.of(listener)) {
            Some(snapshot) => {
                self.query.accept(snapshot?.clone());
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Whether the first sample of the paths of now is still to come.
    pub(crate) fn is_priming(&self) -> bool {
        self.listener.as_ref().is_some_and(Listener::is_priming)
    }
}
