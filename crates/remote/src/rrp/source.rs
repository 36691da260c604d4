//! Requests as values of the performance registry.

use std::time::{Duration, Instant};

use tallymon_core::block::Snapshot;
use tallymon_core::flow::performance_registry::{
    FIRST_ROOM, block_name, definitions_name, empty_block, read_growing, titles_from,
};
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::Request;
use tallymon_core::title::{Language, TitleIndex, Titles};

use super::perflib::{self, Perflib};
use super::refused::{self, Turn};
use super::session::{Login, NotOpen, Pipe, Session};
use super::title_cache;
use super::winreg::Value;
use crate::address::{Address, RrpAddress};
use crate::backoff::Backoff;
use crate::credentials::FindCredentials;

/// What is left of a deadline, and the whole of it.
type Left<'l> = &'l dyn Fn() -> (Duration, Duration);

/// The counters of a Windows or Samba host, read from its performance registry.
///
/// Every request has a deadline. After a failure the connection is given up, and the next request begins a
/// new one, but not before a pause. A refused login is not tried again until what logs in has changed.
pub struct RrpSource {
    address: RrpAddress,
    credentials: Box<dyn FindCredentials>,
    name: String,
    timeout: Duration,
    session: Option<Session>,
    backoff: Backoff,
    /// The room that was enough last.
    room: u32,
    system_name: String,
    perflib: Option<Perflib>,
}

/// What a request begins with.
enum Ready {
    Open(Session),
    Login(Prepared),
}

/// A login that can begin.
struct Prepared {
    host: String,
    stamp: u64,
    login: Login,
    turn: Option<Turn>,
}

impl RrpSource {
    /// The counters of a host, which paths may call `name`.
    pub fn new(
        address: RrpAddress,
        credentials: Box<dyn FindCredentials>,
        name: &str,
        timeout: Duration,
    ) -> RrpSource {
        RrpSource {
            address,
            credentials,
            name: name.to_string(),
            timeout,
            session: None,
            backoff: Backoff::default(),
            room: FIRST_ROOM,
            system_name: String::new(),
            perflib: None,
        }
    }

    /// A value of the performance registry; `None` if the server does not know it.
    fn value(&mut self, name: &str, is_block: bool) -> Result<Option<Vec<u8>>, SourceError> {
        let is_cut = if is_block { is_cut } else { |_: &[u8]| false };
        self.ask(|room, session, left| {
            read_growing(name, room, is_cut, |room| {
                let Value { status, bytes } = session.query(name, room, left())?;
                Ok((status, bytes))
            })
        })
    }

    /// Names of a language from the key that has nothing else.
    fn text(&mut self, name: &str, language: Language) -> Result<Option<Vec<u8>>, SourceError> {
        self.ask(|room, session, left| {
            read_growing(
                name,
                room,
                |_| false,
                |room| {
                    let step = "reading the names of counters";
                    let read = async |pipe: &mut Pipe| perflib::text(pipe, language, (name, room)).await;
                    let Value { status, bytes } = session.with_pipe(step, left(), read)?;
                    Ok((status, bytes))
                },
            )
        })
    }

    /// Opens the session if there is none, and asks it something, before the deadline.
    fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut u32, &mut Session, Left<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.backoff.check()?;
        self.leave_to_parent();
        let ready = match self.session.take() {
            Some(session) => Ok(Ready::Open(session)),
            None => self.prepare().map(Ready::Login),
        };
        // A program that asks for a password takes the time that its user does.
        let (whole, deadline) = (self.timeout, Instant::now().checked_add(self.timeout));
        let left = || (deadline.map_or(whole, |at| at.saturating_duration_since(Instant::now())), whole);
        let opened = ready.and_then(|ready| match ready {
            Ready::Open(session) => Ok(session),
            Ready::Login(prepared) => self.log_in(prepared),
        });
        let answered = opened.and_then(|session| {
            let session = self.session.insert(session);
            question(&mut self.room, session, &left)
        });
        match answered {
            Ok(answer) => {
                self.backoff.succeeded();
                Ok(answer)
            }
            Err(error) => {
                self.leave_to_parent();
                self.session = None;
                let host = format!("{}: ", Address::Rrp(self.address.clone()));
                let words = match error.message.starts_with(&host) {
                    true => error.message,
                    false => format!("{host}{}", error.message).into(),
                };
                let error = SourceError::new(error.kind, words);
                self.backoff.failed(&error);
                Err(error)
            }
        }
    }

    /// Forgets a session in a forked child: to close it would take the sockets of its parent from the poller
    /// that both have.
    fn leave_to_parent(&mut self) {
        if let Some(session) = self.session.take_if(|session| !session.is_of_this_process()) {
            std::mem::forget(session);
        }
    }

    /// Finds what logs in, unless the same login was refused before.
    fn prepare(&self) -> Result<Prepared, SourceError> {
        let host = Address::Rrp(self.address.clone()).to_string();
        // What changes behind this is met by the next attempt.
        let stamp = self.credentials.stamp();
        let turn = refused::begin(&host, stamp, self.timeout)?;
        match self.credentials.find() {
            Ok(credentials) => Ok(Prepared { host, stamp, login: Login::read(credentials), turn }),
            Err(error) => {
                turn.into_iter().for_each(|turn| turn.end(Err(error.clone())));
                Err(error)
            }
        }
    }

    /// Begins a session.
    fn log_in(&self, prepared: Prepared) -> Result<Session, SourceError> {
        let Prepared { host, stamp, login, turn } = prepared;
        let opened = Session::open(&self.address, &login, self.timeout);
        let opened = opened.map_err(|NotOpen { why, is_refusal }| match is_refusal {
            true => refused::keep(&host, stamp, why, self.credentials.place(), Instant::now()),
            false => why,
        });
        let result = opened.as_ref().map(drop).map_err(SourceError::clone);
        turn.into_iter().for_each(|turn| turn.end(result.clone()));
        opened
    }

    fn block(&mut self, name: &str) -> Result<Snapshot, SourceError> {
        let Some(bytes) = self.value(name, true)? else { return empty_block(&self.system_name) };
        if bytes.is_empty() {
            let words = format!(
                "{}: the server answers with nothing: it has no counters, or this user may not read them \
                 (Samba: names.tdb and data.tdb must be readable by the user)",
                Address::Rrp(self.address.clone())
            );
            return Err(SourceError::new(SourceErrorKind::AccessDenied, words));
        }
        let snapshot = Snapshot::new(bytes).map_err(|error| {
            let words = format!("{}: not a valid data block: {error}", Address::Rrp(self.address.clone()));
            SourceError::new(SourceErrorKind::BadData, words)
        })?;
        self.system_name = snapshot.system_name().to_string();
        Ok(snapshot)
    }
}

/// Whether a block of objects ends before its objects do. Samba cuts a block that does not fit, reports
/// success, and fills the rest with zeros; its total may leave out the header.
pub(super) fn is_cut(block: &[u8]) -> bool {
    let word = |at: usize| {
        let bytes = block.get(at..).and_then(<[u8]>::first_chunk::<4>)?;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    };
    // The offsets of TotalByteLength, HeaderLength and NumObjectTypes.
    let (Some(total), Some(header), Some(objects)) = (word(20), word(24), word(28)) else {
        // An empty answer is no cut one.
        return !block.is_empty();
    };
    if total.max(header) > block.len() {
        return true;
    }
    let mut at = header;
    for _ in 0..objects {
        match word(at) {
            None | Some(0) => return true,
            Some(length) => at = at.saturating_add(length),
        }
        if at > block.len() {
            return true;
        }
    }
    false
}

impl Drop for RrpSource {
    fn drop(&mut self) {
        self.leave_to_parent();
    }
}

impl Source for RrpSource {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        match block_name(request) {
            Some(name) => self.block(&name),
            None => empty_block(&self.system_name),
        }
    }

    /// Servers answer with whole objects only.
    fn definitions(&mut self, costly: bool) -> Result<Snapshot, SourceError> {
        self.block(definitions_name(costly))
    }

    /// A host's names come again only if their last numbers have changed.
    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        let step = "reading the languages of counters";
        let known = self.perflib.clone();
        let found = self.ask(|_, session, left| {
            session.with_pipe(step, left(), async |pipe: &mut Pipe| perflib::read(pipe, known.as_ref()).await)
        })?;
        let last = found.last;
        self.perflib = Some(found.clone());
        let host = Address::Rrp(self.address.clone()).to_string();
        if let Some(titles) = last.and_then(|last| title_cache::find(&host, language, last)) {
            return Ok(titles);
        }
        let titles = titles_from(language, "Explain", |name| match self.value(name, false)? {
            None => match found.text_name(language, name) {
                Some(word) => self.text(word, language),
                None => Ok(None),
            },
            value => Ok(value),
        })?;
        // A host that has no names yet, as while it starts, has the same last numbers later.
        if let Some(last) = last.filter(|_| !titles.is_empty()) {
            title_cache::keep(host, language, last, &titles);
        }
        Ok(titles)
    }

    fn languages(&self) -> Vec<Language> {
        let known = self.perflib.as_ref().map(|perflib| perflib.languages.clone());
        known.unwrap_or_else(|| vec![Language::ENGLISH])
    }

    fn host_names(&self) -> Vec<String> {
        vec![self.name.clone()]
    }

    fn trouble(&self, _: TitleIndex) -> Option<String> {
        self.backoff.why().map(ToString::to_string)
    }
}
