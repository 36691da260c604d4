//! The statistics views of PostgreSQL, read by its protocol (version 3) with simple queries.

mod views;

use std::collections::HashMap;

use self::views::{VIEWS, View};
use super::scram::Scram;
use super::wire::{Address, MOST_BYTES, Wire, shown, too_long};
use super::{Speaks, check_own};
use crate::metrics::Metrics;
use crate::settings::{ReadSecret, Settings};

const SCHEMES: &[&str] = &["postgresql", "postgres"];
const USUAL_PORT: u16 = 5432;
/// The database that every server has.
const USUAL_DATABASE: &str = "postgres";
/// The version of the protocol, 3.0.
const PROTOCOL: i32 = 196_608;
/// The message that asks for TLS: its length and its code.
const TLS_REQUEST: &[u8] = &[0, 0, 0, 8, 4, 210, 22, 47];
/// The state of an error that says that a view does not exist in this version.
const NO_SUCH_VIEW: &str = "42P01";

/// Servers of PostgreSQL.
pub(super) struct PostgreSql;

impl Speaks for PostgreSql {
    fn check(&self, settings: &Settings) -> Result<(), String> {
        let (url, is_secure) = mode(settings)?;
        check_own(settings, SCHEMES)?;
        if is_secure && settings.socket.is_some() {
            return Err("socket: PostgreSQL does not speak TLS over Unix sockets".to_owned());
        }
        names(&Address::of(url, SCHEMES)?).map(|_| ())
    }

    fn read(&self, settings: &Settings, read_secret: ReadSecret) -> Result<Metrics, String> {
        let (url, is_secure) = mode(settings)?;
        let address = Address::of(url, SCHEMES)?;
        let (user, database) = names(&address)?;
        let password = settings.password(read_secret)?;
        let tls = is_secure.then(|| settings.tls()).transpose()?;
        let mut wire = Wire::connect(settings, &address, USUAL_PORT)?;
        if let Some(tls) = tls {
            wire.send(TLS_REQUEST)?;
            match wire.take(1)?.first() {
                Some(b'S') => wire = wire.secured(&tls, &address.host)?,
                _ => return Err("the server does not speak TLS (its setting ssl is off)".to_owned()),
            }
        }
        ask(wire, user, database, password.as_deref())
    }
}

/// The address without `sslmode`, and whether it is read over TLS. A certificate of an authority says the
/// same.
fn mode(settings: &Settings) -> Result<(&str, bool), String> {
    match settings.url.split_once('?') {
        None => Ok((&settings.url, settings.certificate.is_some())),
        Some((url, "sslmode=verify-full")) => Ok((url, true)),
        Some((url, "sslmode=disable")) if settings.certificate.is_none() => Ok((url, false)),
        // The other modes trust whoever answers.
        Some(_) => Err("behind '?' an address has sslmode=verify-full or sslmode=disable".to_owned()),
    }
}

/// What a server says that was recorded: for fuzzing.
pub(super) fn read_recorded(answers: &[u8]) -> Result<Metrics, String> {
    ask(Wire::recorded(answers), "user", USUAL_DATABASE, Some("password"))
}

fn ask(wire: Wire, user: &str, database: &str, password: Option<&str>) -> Result<Metrics, String> {
    let mut server = Server { wire };
    server.log_on(user, database, password)?;
    // A question that nobody waits for any more ends in the server too.
    server
        .ask(&format!("SET statement_timeout = {}", server.wire.ms_left()))?
        .map_err(|fault| fault.words())?;
    let mut metrics = Metrics::default();
    for view in VIEWS {
        match server.ask(view.sql)? {
            Ok(table) => table.add(view, &mut metrics),
            Err(fault) if fault.state == NO_SUCH_VIEW => {}
            Err(fault) => metrics.unread.push(format!("{}: {}", view.group.object, fault.words())),
        }
    }
    // It may wait for a word that the client goes; the connection ends all the same.
    let _ = server.wire.send(&message(b'X', &[]));
    match metrics.unread.first() {
        Some(words) if metrics.is_empty() => Err(words.clone()),
        _ => Ok(metrics),
    }
}

/// The user and the database of an address.
fn names(address: &Address) -> Result<(&str, &str), String> {
    let words = "an address of PostgreSQL names the user: postgresql://USER@HOST/DATABASE";
    let user = address.user.as_deref().ok_or(words)?;
    let database = address.path.as_deref().unwrap_or(USUAL_DATABASE);
    if user.contains('\0') || database.contains(['\0', '/']) {
        return Err(words.to_owned());
    }
    Ok((user, database))
}

/// What the server says is wrong.
struct Fault {
    state: String,
    text: String,
}

impl Fault {
    fn of(body: &[u8]) -> Fault {
        let mut fault = Fault { state: String::new(), text: String::new() };
        for field in body.split(|byte| *byte == 0) {
            let Some((kind, text)) = field.split_first() else { continue };
            let text = String::from_utf8_lossy(text).into_owned();
            match kind {
                b'C' => fault.state = text,
                b'M' => fault.text = text,
                _ => {}
            }
        }
        fault
    }

    fn words(&self) -> String {
        format!("it answers {:?} ({})", shown(&self.text), shown(&self.state))
    }
}

/// The columns and rows of an answer.
#[derive(Default)]
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
}

impl Table {
    fn add(&self, view: &View, metrics: &mut Metrics) {
        let places: HashMap<&str, usize> =
            self.columns.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let labels: Vec<&str> = view.labels.iter().map(|(_, label)| *label).collect();
        view.group.declare(metrics, &labels, |key| places.contains_key(key));
        for row in &self.rows {
            let text = |key: &str| row.get(*places.get(key)?)?.as_deref();
            let labels: Vec<(&str, &str)> = view
                .labels
                .iter()
                .map(|(column, label)| (*label, text(column).unwrap_or_default()))
                .collect();
            view.group.add(metrics, &labels, text);
        }
    }
}

/// A connection to a server.
struct Server {
    wire: Wire,
}

impl Server {
    /// The next message: its kind and its body.
    fn next(&mut self) -> Result<(u8, Vec<u8>), String> {
        let head = self.wire.take(5)?;
        let mut part = Part(&head);
        let wrong = || {
            format!(
                "the answer is none of PostgreSQL; it begins with {:?}",
                shown(&String::from_utf8_lossy(&head))
            )
        };
        let kind = part.take(1).and_then(<[u8]>::first).filter(|kind| kind.is_ascii_alphanumeric());
        let length = part.number().and_then(|length| usize::try_from(length.checked_sub(4)?).ok());
        match (kind, length.filter(|length| *length <= MOST_BYTES)) {
            (Some(kind), Some(length)) => Ok((*kind, self.wire.take(length)?)),
            _ => Err(wrong()),
        }
    }

    fn log_on(&mut self, user: &str, database: &str, password: Option<&str>) -> Result<(), String> {
        let mut start = PROTOCOL.to_be_bytes().to_vec();
        for (name, text) in [
            ("user", user),
            ("database", database),
            ("application_name", "tallymon"),
            ("client_encoding", "UTF8"),
        ] {
            start.extend_from_slice(format!("{name}\0{text}\0").as_bytes());
        }
        start.push(0);
        // The first message has no kind.
        self.wire.send(message(b'-', &start).get(1..).unwrap_or_default())?;
        let mut scram: Option<Scram> = None;
        loop {
            let (kind, body) = self.next()?;
            match kind {
                b'E' => return Err(Fault::of(&body).words()),
                b'Z' => return Ok(()),
                b'R' => self.authenticate(&body, password, &mut scram)?,
                // Settings, a key to cancel, notices.
                _ => {}
            }
        }
    }

    fn authenticate(
        &mut self,
        body: &[u8],
        password: Option<&str>,
        scram: &mut Option<Scram>,
    ) -> Result<(), String> {
        const UNPROVEN: &str = "the server does not prove that it knows the password";
        let mut part = Part(body);
        let code = part.number();
        let said = String::from_utf8_lossy(part.0).into_owned();
        let needs = || password.ok_or("the server wants a password; name a file with it");
        match (code, scram) {
            // A user who is let in by other means needs no password; a proof that has begun is ended.
            (Some(0), None) => Ok(()),
            (Some(0), Some(_)) => Err(UNPROVEN.to_owned()),
            (Some(3 | 5), _) => {
                Err("the server wants the password in clear text or as MD5, which others could \
                                     read; give the user a password with password_encryption = scram-sha-256"
                    .to_owned())
            }
            (Some(10), scram @ None) if said.split('\0').any(|name| name == "SCRAM-SHA-256") => {
                needs()?;
                let first = scram.insert(Scram::new()?).first();
                let length = u32::try_from(first.len()).map_err(|_| too_long())?;
                let answer =
                    [b"SCRAM-SHA-256\0".as_slice(), &length.to_be_bytes(), first.as_bytes()].concat();
                self.wire.send(&message(b'p', &answer))
            }
            (Some(11), Some(scram)) => {
                let answer = scram.answer(&said, needs()?)?;
                self.wire.send(&message(b'p', answer.as_bytes()))
            }
            (Some(12), scram) if scram.as_ref().is_some_and(|scram| scram.is_proven(&said)) => {
                *scram = None;
                Ok(())
            }
            (Some(12), _) => Err(UNPROVEN.to_owned()),
            _ => {
                Err("the server wants an authentication that is not known here; SCRAM-SHA-256 is".to_owned())
            }
        }
    }

    /// The answer to a question. The outer error ends the connection, the inner one only this question.
    fn ask(&mut self, sql: &str) -> Result<Result<Table, Fault>, String> {
        self.wire.send(&message(b'Q', format!("{sql}\0").as_bytes()))?;
        let (mut table, mut fault) = (Table::default(), None);
        loop {
            let (kind, body) = self.next()?;
            let broken = || "a row of the answer is broken".to_owned();
            match kind {
                b'T' => table.columns = columns(&body).ok_or_else(broken)?,
                b'D' => table.rows.push(row(&body).ok_or_else(broken)?),
                b'E' => fault = Some(Fault::of(&body)),
                b'Z' => return Ok(fault.map_or(Ok(table), Err)),
                _ => {}
            }
        }
    }
}

/// A message with its kind and length.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).saturating_add(4);
    [&[kind], length.to_be_bytes().as_slice(), body].concat()
}

/// What of a message was not read yet.
struct Part<'a>(&'a [u8]);

impl<'a> Part<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1).map(|_| text)
    }
}

/// The names of the columns.
fn columns(body: &[u8]) -> Option<Vec<String>> {
    let mut part = Part(body);
    let mut columns = Vec::new();
    for _ in 0..part.short()? {
        columns.push(String::from_utf8_lossy(part.text()?).into_owned());
        // Table, column, type, its size, its modifier, format.
        part.take(18)?;
    }
    Some(columns)
}

/// The texts of a row; `None` inside is NULL.
fn row(body: &[u8]) -> Option<Vec<Option<String>>> {
    let mut part = Part(body);
    let mut row = Vec::new();
    for _ in 0..part.short()? {
        let length = part.number()?;
        row.push(if length == u32::MAX {
            None
        } else {
            Some(String::from_utf8_lossy(part.take(usize::try_from(length).ok()?)?).into_owned())
        });
    }
    Some(row)
}
