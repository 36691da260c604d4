//! A source that sends its requests to a peer over any connection.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tallymon_core::block::Snapshot;
use tallymon_core::flow::{RegisteredObjects, Source, SourceError, SourceErrorKind};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::title::{Language, TitleIndex, Titles};

use crate::backoff::Backoff;
use crate::frames::{Answer, FrameError, Question, read_frame, read_greeting, write_frame, write_greeting};

/// So many objects of a peer have a reason why their values are missing, and each reason so many letters.
const MOST_TROUBLES: usize = 4096;
const LONGEST_TROUBLE: usize = 1000;
/// So many languages of a peer are known, and all its names in them have at most so many bytes.
const MOST_LANGUAGES: usize = 64;
const MOST_NAMES: usize = 64 << 20;

/// How a connection to a peer is made, and what is known when it fails.
pub trait Dial: Send {
    /// Starts a connection. It may still fail later, when it is used.
    ///
    /// # Errors
    ///
    /// It cannot even be started.
    fn dial(&mut self) -> Result<Box<dyn Connection>, SourceError>;

    /// The peer, for messages.
    fn name(&self) -> String;
}

/// A connection. Dropping it ends it, and every read and write that waits for it.
pub trait Connection: Send {
    /// Both directions. They are taken once.
    fn streams(&mut self) -> Option<(Box<dyn Read + Send>, Box<dyn Write + Send>)>;

    /// Why it failed, in the connection's own words; `None` if it does not know.
    fn diagnosis(&mut self, failed: &FrameError) -> Option<(SourceErrorKind, String)>;
}

/// A source that sends its requests to a peer.
///
/// Every request has a deadline. After a failure the connection is given up, and the next request begins a
/// new one, but not before a pause, which grows with each failure up to half a minute: until then requests
/// fail at once.
pub struct PeerSource {
    dial: Box<dyn Dial>,
    timeout: Duration,
    link: Option<Link>,
    backoff: Backoff,
    languages: Option<Vec<Language>>,
    host_names: Vec<String>,
    troubles: BTreeMap<TitleIndex, String>,
    /// The length of each table of names that was read.
    names: BTreeMap<(Language, Table), usize>,
}

/// A table of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Table {
    Titles,
    Translations,
}

/// A connection with the thread that waits for it.
struct Link {
    questions: SyncSender<Vec<u8>>,
    /// The first message says that the greeting came.
    answers: Receiver<Result<Vec<u8>, FrameError>>,
    connection: Box<dyn Connection>,
}

impl PeerSource {
    /// A source over connections that `dial` makes, each of whose requests takes at most `timeout`.
    pub fn new(dial: Box<dyn Dial>, timeout: Duration) -> PeerSource {
        PeerSource {
            dial,
            timeout,
            link: None,
            backoff: Backoff::default(),
            languages: None,
            host_names: Vec::new(),
            troubles: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }

    /// The same source of a host that paths may call by this name, too.
    #[must_use]
    pub fn named(mut self, name: &str) -> PeerSource {
        self.host_names.push(name.to_string());
        self
    }

    fn ask(&mut self, question: &Question) -> Result<Answer, SourceError> {
        self.ask_for_length(question).map(|(answer, _)| answer)
    }

    /// The answer, and its length in bytes.
    fn ask_for_length(&mut self, question: &Question) -> Result<(Answer, usize), SourceError> {
        self.backoff.check()?;
        let answered = self.exchange(question);
        match &answered {
            Ok(_) => self.backoff.succeeded(),
            Err(error) => {
                self.link = None;
                self.backoff.failed(error);
            }
        }
        match answered? {
            (Answer::Failed(error), _) => {
                let words = format!("{}: {}", self.dial.name(), error.message);
                Err(SourceError::new(error.kind, words))
            }
            answer => Ok(answer),
        }
    }

    fn exchange(&mut self, question: &Question) -> Result<(Answer, usize), SourceError> {
        let deadline = Instant::now().checked_add(self.timeout);
        let left = || deadline.map_or(self.timeout, |at| at.saturating_duration_since(Instant::now()));
        let name = self.dial.name();
        let late = |what: &str| {
            let words = format!(
                "{name}: no answer within {:?} to the request for {what}; --timeout waits longer",
                self.timeout
            );
            SourceError::new(SourceErrorKind::Unreachable, words)
        };
        if self.link.is_none() {
            let link = Link::new(self.dial.dial()?).map_err(|words| {
                SourceError::new(SourceErrorKind::Unreachable, format!("{name}: {words}"))
            })?;
            let greeted = link.answers.recv_timeout(left());
            let link = self.link.insert(link);
            match greeted {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(link.failed(&name, &error)),
                Err(RecvTimeoutError::Timeout) => return Err(late("a connection")),
                Err(RecvTimeoutError::Disconnected) => return Err(link.failed(&name, &FrameError::Closed)),
            }
        }
        let Some(link) = &mut self.link else { return Err(late("a connection")) };
        if link.questions.send(question.encode()).is_err() {
            return Err(link.failed(&name, &FrameError::Closed));
        }
        let body = match link.answers.recv_timeout(left()) {
            Ok(Ok(body)) => body,
            Ok(Err(error)) => return Err(link.failed(&name, &error)),
            Err(RecvTimeoutError::Timeout) => return Err(late(&question.words())),
            Err(RecvTimeoutError::Disconnected) => return Err(link.failed(&name, &FrameError::Closed)),
        };
        let answer = Answer::decode(&body).map_err(|error| {
            let words = format!("{name}: the answer with {}: {error}", question.words());
            SourceError::new(SourceErrorKind::BadData, words)
        })?;
        Ok((answer, body.len()))
    }

    /// Keeps why objects have no values, within the limit: a peer can name new objects in each answer.
    fn note(&mut self, troubles: Vec<(TitleIndex, String)>) {
        for (object, why) in troubles {
            if self.troubles.len() < MOST_TROUBLES || self.troubles.contains_key(&object) {
                self.troubles.insert(object, why.chars().take(LONGEST_TROUBLE).collect());
            }
        }
    }

    fn block(&mut self, question: &Question) -> Result<Snapshot, SourceError> {
        let Answer::Block { bytes, read_infos, troubles } = self.ask(question)? else {
            return Err(self.other_kind(question));
        };
        if let Question::Snapshot(Request { kind: RequestKind::Objects(objects), .. }) = question {
            objects.iter().for_each(|object| drop(self.troubles.remove(object)));
        }
        self.note(troubles);
        let snapshot = Snapshot::new(bytes).map_err(|error| {
            let words = format!("{}: not a valid data block: {error}", self.dial.name());
            SourceError::new(SourceErrorKind::BadData, words)
        })?;
        Ok(snapshot.with_read_infos(read_infos))
    }

    fn table(&mut self, language: Language, table: Table) -> Result<Titles, SourceError> {
        let question = match table {
            Table::Titles => Question::Titles(language),
            Table::Translations => Question::Translations(language),
        };
        let (Answer::Titles(titles), length) = self.ask_for_length(&question)? else {
            return Err(self.other_kind(&question));
        };
        self.names.insert((language, table), length);
        let all = self.names.values().fold(0usize, |sum, length| sum.saturating_add(*length));
        if all > MOST_NAMES {
            self.names.remove(&(language, table));
            let name = self.dial.name();
            let words = format!(
                "{name}: its names have more than {MOST_NAMES} bytes with {}; they are not used",
                question.words()
            );
            return Err(SourceError::new(SourceErrorKind::BadData, words));
        }
        Ok(titles)
    }

    /// The error of an answer to another question. The connection is out of step, so it is given up.
    fn other_kind(&mut self, question: &Question) -> SourceError {
        self.link = None;
        let words = format!(
            "{}: asked for {}, and the answer is of another kind",
            self.dial.name(),
            question.words()
        );
        SourceError::new(SourceErrorKind::BadData, words)
    }
}

impl Link {
    fn new(mut connection: Box<dyn Connection>) -> Result<Link, String> {
        let Some((input, output)) = connection.streams() else {
            return Err("the connection has no streams".to_string());
        };
        let (questions, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let wait = move || wait(input, output, &asked, &answer);
        // The thread ends when the connection does: nobody waits for it.
        let thread = thread::Builder::new().name("tally peer".to_string()).spawn(wait);
        thread.map_err(|error| format!("no thread to wait for its answers: {error}"))?;
        Ok(Link { questions, answers, connection })
    }

    fn failed(&mut self, name: &str, error: &FrameError) -> SourceError {
        let kind = match error {
            FrameError::Io(_) | FrameError::Closed | FrameError::Cut { .. } => SourceErrorKind::Unreachable,
            FrameError::Version { .. } => SourceErrorKind::Unsupported,
            _ => SourceErrorKind::BadData,
        };
        let (kind, words) = self.connection.diagnosis(error).unwrap_or_else(|| (kind, error.to_string()));
        SourceError::new(kind, format!("{name}: {words}"))
    }
}

/// Writes questions and reads answers until either ends.
fn wait(
    mut input: Box<dyn Read + Send>,
    mut output: Box<dyn Write + Send>,
    asked: &Receiver<Vec<u8>>,
    answer: &SyncSender<Result<Vec<u8>, FrameError>>,
) {
    // A peer that is gone fails the write; what it said before is worth more than that.
    let written = write_greeting(&mut output).map_err(FrameError::Io);
    let greeted = read_greeting(&mut input).and(written).map(|()| Vec::new()).map_err(closed);
    let is_over = greeted.is_err();
    if answer.send(greeted).is_err() || is_over {
        return;
    }
    while let Ok(question) = asked.recv() {
        let written = write_frame(&mut output, &question);
        let read = written.and_then(|()| read_frame(&mut input)).map_err(closed);
        let is_over = read.is_err();
        if answer.send(read).is_err() || is_over {
            return;
        }
    }
}

/// A write that fails because the peer has ended means what a read would say: it closed the connection.
fn closed(error: FrameError) -> FrameError {
    match error {
        FrameError::Io(io) if io.kind() == ErrorKind::BrokenPipe => FrameError::Closed,
        error => error,
    }
}

impl Source for PeerSource {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        self.block(&Question::Snapshot(request.clone()))
    }

    fn definitions(&mut self, costly: bool) -> Result<Snapshot, SourceError> {
        self.block(&Question::Definitions { costly })
    }

    fn registered(&mut self) -> RegisteredObjects {
        let Ok(Answer::Registered(registered, troubles)) = self.ask(&Question::Registered) else {
            return RegisteredObjects::default();
        };
        self.note(troubles);
        registered
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        if self.languages.is_none() {
            let question = Question::Languages;
            match self.ask(&question)? {
                Answer::Languages(mut languages) => {
                    languages.truncate(MOST_LANGUAGES);
                    self.languages = Some(languages);
                }
                _ => return Err(self.other_kind(&question)),
            }
        }
        self.table(language, Table::Titles)
    }

    fn translations(&mut self, language: Language) -> Result<Titles, SourceError> {
        self.table(language, Table::Translations)
    }

    /// Known once names were read, as every query does first.
    fn languages(&self) -> Vec<Language> {
        self.languages.clone().unwrap_or_else(|| vec![Language::ENGLISH])
    }

    fn host_names(&self) -> Vec<String> {
        self.host_names.clone()
    }

    fn trouble(&self, object: TitleIndex) -> Option<String> {
        if let Some(why) = self.backoff.why() {
            return Some(why.to_string());
        }
        self.troubles.get(&object).cloned()
    }
}
