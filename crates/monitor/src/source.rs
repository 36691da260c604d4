//! A source on a thread of its own, so that one that hangs does not freeze the screen.
//!
//! The thread answers one question after the other. Whoever asks may go on and look for the answer later
//! ([`SourceThread::ask`]), or wait for it as for any source, but not for ever.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::core::block::Snapshot;
use tallymon::core::flow::{Source, SourceError, SourceErrorKind};
use tallymon::core::request::Request;
use tallymon::core::title::{Language, Titles};

/// How long the screen may stand still for an answer that it can not go on without.
const PATIENCE: Duration = Duration::from_secs(2);

/// A handle to the thread; clones ask the same source. The thread ends when the last one is gone.
#[derive(Debug, Clone)]
pub struct SourceThread {
    asks: Sender<Ask>,
    languages: Vec<Language>,
}

/// A question, with where its answer goes.
#[derive(Debug)]
enum Ask {
    Snapshot(Request, Reply<Snapshot>),
    Titles(Language, Reply<Titles>),
    /// A sample that is not needed any more, for its memory.
    Back(Snapshot),
}

#[derive(Debug)]
struct Reply<T> {
    answer: Sender<Result<T, SourceError>>,
    /// Gone when nobody waits any longer: a source that hung has to catch up with what is still wanted only.
    wanted: Weak<()>,
}

/// A sample that was asked for.
#[derive(Debug)]
pub struct Pending {
    request: Request,
    answer: Receiver<Result<Snapshot, SourceError>>,
    since: Instant,
    _wanted: Arc<()>,
}

impl Pending {
    /// The answer, if it comes within a time.
    pub fn wait(&self, patience: Duration) -> Option<Result<Snapshot, SourceError>> {
        match self.answer.recv_timeout(patience) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(ended())),
        }
    }

    /// What was asked for.
    pub const fn request(&self) -> &Request {
        &self.request
    }

    /// How long ago it was asked for.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }
}

impl SourceThread {
    /// Opens a source on a new thread, and waits until it is open.
    ///
    /// # Errors
    ///
    /// It can not be opened, or the system has no more threads.
    pub fn start(
        open: impl FnOnce() -> Result<Box<dyn Source>, SourceError> + Send + 'static,
    ) -> Result<SourceThread, SourceError> {
        let (asks, questions) = mpsc::channel();
        let (opened, is_open) = mpsc::channel();
        let run = move || match open() {
            Ok(mut source) => {
                // Nobody waits any longer when this fails, and then there are no questions either.
                let _ = opened.send(Ok(source.languages()));
                serve(source.as_mut(), &questions);
            }
            Err(error) => {
                let _ = opened.send(Err(error));
            }
        };
        thread::Builder::new()
            .name("source".to_string())
            .spawn(run)
            .map_err(|error| SourceError::new(SourceErrorKind::Io, format!("starting a thread: {error}")))?;
        let languages = is_open.recv().map_err(|_| ended())??;
        Ok(SourceThread { asks, languages })
    }

    /// Asks for a sample and does not wait.
    pub fn ask(&self, request: Request) -> Pending {
        let (answer, wanted) = self.send(|reply| Ask::Snapshot(request.clone(), reply));
        Pending { request, answer, since: Instant::now(), _wanted: wanted }
    }

    fn send<T>(&self, ask: impl FnOnce(Reply<T>) -> Ask) -> (Receiver<Result<T, SourceError>>, Arc<()>) {
        let (reply, answer) = mpsc::channel();
        let wanted = Arc::new(());
        // When the thread is gone the answer says so: its sender is dropped with the question.
        let _ = self.asks.send(ask(Reply { answer: reply, wanted: Arc::downgrade(&wanted) }));
        (answer, wanted)
    }

    fn patiently<T>(&self, ask: impl FnOnce(Reply<T>) -> Ask) -> Result<T, SourceError> {
        let (answer, _wanted) = self.send(ask);
        match answer.recv_timeout(PATIENCE) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
            Err(RecvTimeoutError::Timeout) => {
                let words = format!("the source has not answered for {} s", PATIENCE.as_secs());
                Err(SourceError::new(SourceErrorKind::Unreachable, words))
            }
        }
    }
}

impl Source for SourceThread {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        self.patiently(|reply| Ask::Snapshot(request.clone(), reply))
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        self.patiently(|reply| Ask::Titles(language, reply))
    }

    fn languages(&self) -> Vec<Language> {
        self.languages.clone()
    }

    fn give_back(&mut self, snapshot: Snapshot) {
        // A thread that is gone needs no memory.
        let _ = self.asks.send(Ask::Back(snapshot));
    }
}

/// Answers until nobody can ask any more.
fn serve(source: &mut dyn Source, questions: &Receiver<Ask>) {
    while let Ok(ask) = questions.recv() {
        match ask {
            Ask::Snapshot(request, reply) => reply.with(|| source.snapshot(&request)),
            Ask::Titles(language, reply) => reply.with(|| source.titles(language)),
            Ask::Back(snapshot) => source.give_back(snapshot),
        }
    }
}

impl<T> Reply<T> {
    fn with(self, answer: impl FnOnce() -> Result<T, SourceError>) {
        if self.wanted.strong_count() > 0 {
            // Whoever asked may have gone while the source was thinking.
            let _ = self.answer.send(answer());
        }
    }
}

fn ended() -> SourceError {
    SourceError::new(SourceErrorKind::Io, "the thread of the source has ended")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Answers with nothing, once it is let go.
    struct Slow(Receiver<()>, Sender<Request>);

    impl Source for Slow {
        fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
            self.1.send(request.clone()).ok();
            self.0.recv().ok();
            Err(SourceError::new(SourceErrorKind::NotFound, "nothing here"))
        }

        fn titles(&mut self, _language: Language) -> Result<Titles, SourceError> {
            Ok(Titles::new())
        }
    }

    #[test]
    fn requests_do_not_block_and_dropped_requests_are_skipped() {
        let (go, gate) = mpsc::channel();
        let (seen, asked) = mpsc::channel();
        let source = SourceThread::start(move || Ok(Box::new(Slow(gate, seen)))).unwrap();
        let first = source.ask(Request::default());
        assert!(first.wait(Duration::ZERO).is_none(), "it hangs");
        drop(source.ask(Request::objects([tallymon::core::title::TitleIndex(2)])));
        let third = source.ask(Request::objects([tallymon::core::title::TitleIndex(4)]));
        go.send(()).unwrap();
        go.send(()).unwrap();
        let minute = Duration::from_secs(60);
        assert_eq!(first.wait(minute).unwrap().unwrap_err().kind, SourceErrorKind::NotFound);
        assert_eq!(third.wait(minute).unwrap().unwrap_err().kind, SourceErrorKind::NotFound);
        let asked: Vec<Request> = asked.try_iter().collect();
        assert_eq!(asked, [first.request().clone(), third.request().clone()]);
    }

    /// Says when memory comes back.
    struct Reused(Sender<usize>);

    impl Source for Reused {
        fn snapshot(&mut self, _request: &Request) -> Result<Snapshot, SourceError> {
            Err(SourceError::new(SourceErrorKind::NotFound, "nothing here"))
        }

        fn titles(&mut self, _language: Language) -> Result<Titles, SourceError> {
            Ok(Titles::new())
        }

        fn give_back(&mut self, snapshot: Snapshot) {
            self.0.send(snapshot.bytes().len()).ok();
        }
    }

    #[test]
    fn memory_of_a_sample_returns_to_the_source() {
        let mut bytes = Vec::new();
        let header = tallymon::core::block::WriteHeader {
            system_name: "one",
            default_object: -1,
            perf_time: tallymon::core::time::PerfTime(0),
            perf_freq: tallymon::core::time::Frequency(1),
            perf_time_100ns: tallymon::core::time::FileTime(0),
            system_time: tallymon::core::time::FileTime(0),
        };
        tallymon::core::block::BlockWriter::growing(&mut bytes, &header).finish().unwrap();
        let length = bytes.len();
        let (back, came) = mpsc::channel();
        let mut source = SourceThread::start(move || Ok(Box::new(Reused(back)))).unwrap();
        source.give_back(Snapshot::new(bytes).unwrap());
        assert_eq!(came.recv_timeout(Duration::from_secs(60)), Ok(length));
    }

    #[test]
    fn a_source_that_does_not_open_reports_why() {
        let error = SourceError::new(SourceErrorKind::AccessDenied, "no");
        let cause = error.clone();
        let failed = SourceThread::start(move || Err(cause)).unwrap_err();
        assert_eq!(failed.to_string(), error.to_string());
    }
}
