//! Requests and database commands of a program, from the activities that its libraries report, and how long
//! they took.
//!
//! The runtime's `DiagnosticSource` passes what a listener names: [`http`] and [`db`] say what. Each report
//! becomes a row by what was asked and how it ended, with its number, mean, quantiles and maximum. Quantiles
//! have an error of at most 1 %.
//!
//! The source keeps one wish for all its readers: that of the one that came last, and none after any of them
//! has left. So it also says which wishes it takes, the runtime says that a session ended, and a reader tells
//! it again what it wants.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::nettrace::{Cursor, Event, Trace, TraceError};

/// The part of a program that passes the reports of its libraries.
pub const DIAGNOSTIC_SOURCE: &str = "Microsoft-Diagnostics-DiagnosticSource";

/// The most rows; reports beyond it are counted in one.
const MOST_ROWS: usize = 2000;
/// The most commands that run at a time.
const MOST_OPEN: usize = 1 << 16;
/// The most letters of what was asked.
const MOST_LETTERS: usize = 300;
/// The most fields of a report.
const MOST_FIELDS: u16 = 64;
/// What rows are called that have no place any more.
const OTHERS: &str = "(others)";

/// Requests that come in, and those that go out. A library reports the end of a request only to somebody who
/// wants its beginning and the request itself, too.
const HTTP: &[&str] = &[
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn:-",
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Start:-",
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Stop:-Method=Request.Method;\
     Path=Request.Path.Value;Values=Request.RouteValues.*Enumerate;Status=Response.StatusCode;\
     Ticks=*Activity.Duration.Ticks",
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut:-",
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut.Start:-",
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut.Stop:-Method=Request.Method.Method;\
     Host=Request.RequestUri.Authority;Path=Request.RequestUri.AbsolutePath;Status=Response.StatusCode;\
     Task=RequestTaskStatus;Ticks=*Activity.Duration.Ticks",
];

/// Commands of Entity Framework Core, of both clients of SQL Server, and of Npgsql.
const DB: &[&str] = &[
    "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted:-\
     Text=Command.CommandText;Ticks=Duration.Ticks",
    "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.CommandError:-\
     Text=Command.CommandText;Ticks=Duration.Ticks;Error=Exception.Message",
    "SqlClientDiagnosticListener/Microsoft.Data.SqlClient.WriteCommandBefore:-\
     Id=OperationId;Text=Command.CommandText",
    "SqlClientDiagnosticListener/Microsoft.Data.SqlClient.WriteCommandAfter:-Id=OperationId",
    "SqlClientDiagnosticListener/Microsoft.Data.SqlClient.WriteCommandError:-\
     Id=OperationId;Error=Exception.Message",
    "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandBefore:-\
     Id=OperationId;Text=Command.CommandText",
    "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandAfter:-Id=OperationId",
    "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandError:-\
     Id=OperationId;Error=Exception.Message",
    "[AS]Npgsql/Stop-Record:-Tags=TagObjects.*Enumerate;Name=DisplayName;Status=Status;Ticks=Duration.Ticks",
];

/// Reports of listeners and activities, none that nobody named, and the wishes that it takes: the keywords of
/// [`DIAGNOSTIC_SOURCE`].
pub const REPORTS: u64 = 0x1 | 0x2 | 0x800;

/// What says that a session ended, of whomever.
const SESSIONS: &str = "Microsoft-DotNETCore-EventPipe";
/// What its event at the end is called.
const SESSION_ENDS: &str = "ProcessInfo";
/// How it says that it takes a wish.
const TAKES: &str = "DiagnosticSource: Enabling '";
/// The wish that some versions take when a reader leaves: everything.
const EVERYTHING: &str = "*/*";
/// The most gaps that are kept one by one.
const MOST_GAPS: usize = 1000;

/// What to tell [`DIAGNOSTIC_SOURCE`], to see the requests of a program.
pub fn http() -> String {
    arguments(HTTP)
}

/// What to tell [`DIAGNOSTIC_SOURCE`], to see the database commands of a program.
pub fn db() -> String {
    arguments(DB)
}

fn arguments(specs: &[&str]) -> String {
    format!("FilterAndPayloadSpecs=\"{}\"", specs.join("\r\n"))
}

/// What was asked, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asked {
    /// Who reports it: `server`, `client`, or the library of a database.
    pub by: String,
    /// The method and route of a request, or a command without its constants.
    pub what: String,
    /// The status of a request; empty for commands.
    pub status: String,
}

/// How long it took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Durations {
    /// How often.
    pub count: u64,
    /// How often it failed: a status of 500 or above, no answer, or an exception.
    pub errors: u64,
    /// All together, in nanoseconds.
    pub total: u64,
    /// The longest, in nanoseconds.
    pub longest: u64,
    /// How many there were by their rounded length.
    lengths: BTreeMap<u32, u64>,
}

/// The parts of a doubling of time.
const PARTS: u32 = 6;

impl Durations {
    fn add(&mut self, nanoseconds: u64, is_error: bool) {
        self.count = self.count.saturating_add(1);
        self.errors = self.errors.saturating_add(u64::from(is_error));
        self.total = self.total.saturating_add(nanoseconds);
        self.longest = self.longest.max(nanoseconds);
        let length = self.lengths.entry(place(nanoseconds)).or_default();
        *length = length.saturating_add(1);
    }

    /// The mean in nanoseconds.
    pub fn mean(&self) -> u64 {
        self.total.checked_div(self.count).unwrap_or(0)
    }

    /// What a share of them did not exceed, in nanoseconds.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count as f64 * share).ceil().max(1.0);
        let mut sum = 0u64;
        for (place, count) in &self.lengths {
            sum = sum.saturating_add(*count);
            if sum as f64 >= wanted {
                return middle(*place).min(self.longest);
            }
        }
        self.longest
    }
}

/// The place of a length: its leading bit and the six bits after it.
fn place(nanoseconds: u64) -> u32 {
    let exponent = nanoseconds.checked_ilog2().unwrap_or(0);
    if exponent < PARTS {
        return u32::try_from(nanoseconds).unwrap_or(0);
    }
    let shift = exponent.saturating_sub(PARTS);
    let part = u32::try_from((nanoseconds >> shift) & 63).unwrap_or(0);
    (shift.saturating_add(1) << PARTS) | part
}

/// The length in the middle of a place.
fn middle(place: u32) -> u64 {
    let (shift, part) = (place >> PARTS, u64::from(place & 63));
    match shift.checked_sub(1) {
        None => part,
        Some(shift) => {
            (part | 64).checked_shl(shift).unwrap_or(u64::MAX).saturating_add((1u64 << shift) >> 1)
        }
    }
}

/// The requests or commands of a program.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    /// Nanoseconds from the start to the last event.
    pub duration: u64,
    /// What was asked, and how long it took.
    pub rows: BTreeMap<Asked, Durations>,
    /// Reports that are missing: the runtime dropped them, or they have no place.
    pub lost: u64,
    /// Why the stream ended early; what came before that is good.
    pub damage: Option<String>,
    /// From when to when the program reported what another reader wanted, or nothing, in nanoseconds from the
    /// start.
    pub gaps: Vec<(u64, u64)>,
    /// What the program was told.
    wanted: String,
    /// Nanoseconds from the start to the beginning of this session.
    begun: u64,
    /// Since when the program has another wish.
    other_since: Option<u64>,
    /// Whether a session of another reader has ended.
    another_left: bool,
    /// Commands that run: when they began, in nanoseconds, and their text.
    open: HashMap<String, (u64, String)>,
}

impl Requests {
    /// Those of a program that was told `arguments`.
    pub fn wanted(arguments: &str) -> Requests {
        Requests { wanted: arguments.into(), ..Requests::default() }
    }

    /// Whether the program must be told again what is wanted, in a new session: another reader has left.
    pub fn needs_session(&self) -> bool {
        self.another_left
    }

    /// A new session begins, so many nanoseconds after the first one. The one before must have ended: its end
    /// takes the wish away again.
    pub fn begin_again(&mut self, at: u64) {
        self.end_gap(at);
        self.begun = at;
        // Their ends may have been in the gap.
        self.open.clear();
    }

    /// Forgets a gap that began at `at` or later.
    pub fn forget_after(&mut self, at: u64) {
        self.other_since = self.other_since.filter(|since| *since < at);
    }

    /// Ends the gap that there may be.
    pub fn end_gap(&mut self, at: u64) {
        self.another_left = false;
        let Some(from) = self.other_since.take() else { return };
        let is_full = self.gaps.len() >= MOST_GAPS;
        match self.gaps.last_mut().filter(|_| is_full) {
            Some(last) => last.1 = at,
            None => self.gaps.push((from, at.max(from))),
        }
    }

    /// Reads a stream into what is known, up to its damage if it is damaged. Others may look meanwhile.
    ///
    /// # Errors
    ///
    /// It is not an event stream of version 4, or cannot be read.
    pub fn read(input: impl Read, known: &Mutex<Requests>) -> Result<(), TraceError> {
        let mut trace = Trace::new(input)?;
        let start = *trace.start();
        let lock = || -> MutexGuard<'_, Requests> { known.lock().unwrap_or_else(PoisonError::into_inner) };
        let mut dropped = 0;
        loop {
            let more = trace.next(&mut |event| {
                let at = start.nanoseconds(event.ticks);
                if event.kind.provider == DIAGNOSTIC_SOURCE {
                    lock().add(at, event);
                } else if event.kind.provider == SESSIONS && event.kind.name == SESSION_ENDS {
                    lock().another_leaves(at);
                }
            });
            let new = trace.lost().saturating_sub(dropped);
            dropped = trace.lost();
            let mut known = lock();
            known.lost = known.lost.saturating_add(new);
            match more {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(TraceError::Io(error)) => return Err(TraceError::Io(error)),
                Err(damage) => {
                    known.damage = Some(damage.to_string());
                    return Ok(());
                }
            }
        }
    }

    /// A session ended, which may have taken the wish away.
    fn another_leaves(&mut self, at: u64) {
        if !self.wanted.is_empty() {
            self.other_since.get_or_insert(self.begun.saturating_add(at));
            self.another_left = true;
        }
    }

    /// The program says that it takes a wish.
    fn takes(&mut self, at: u64, wish: &str) {
        if wish == EVERYTHING {
            self.another_leaves(at);
        } else if !self.wanted.is_empty() && !self.wanted.contains(wish) {
            self.other_since.get_or_insert(self.begun.saturating_add(at));
        }
    }

    fn add(&mut self, at: u64, event: &Event<'_>) {
        if event.kind.name == "Message" {
            let text = Cursor::new(event.payload, 0).text("a message").unwrap_or_default();
            if let Some(wish) = text.strip_prefix(TAKES).and_then(|rest| rest.strip_suffix('\'')) {
                self.takes(at, wish);
            }
            return;
        }
        let at = self.begun.saturating_add(at);
        self.duration = self.duration.max(at);
        let Ok(report) = Report::read(event.payload) else { return };
        match report.source.as_str() {
            "Microsoft.AspNetCore" => self.add_request("server", &report, route(&report)),
            "HttpHandlerDiagnosticListener" => {
                let path = [report.field("Host"), report.field("Path")].concat();
                self.add_request("client", &report, path);
            }
            "Microsoft.EntityFrameworkCore" => {
                let is_error = report.event.ends_with("CommandError");
                self.add_command("Entity Framework", report.field("Text"), report.ticks(), is_error);
            }
            "Npgsql" => {
                let tags = report.field("Tags");
                let text = tag(tags, &["db.query.text", "db.statement"]);
                let text = text.unwrap_or_else(|| report.field("Name"));
                let status = tag(tags, &["otel.status_code"]).unwrap_or_else(|| report.field("Status"));
                let is_error = status.eq_ignore_ascii_case("error") || tag(tags, &["error.type"]).is_some();
                self.add_command("Npgsql", text, report.ticks(), is_error);
            }
            "SqlClientDiagnosticListener" => self.add_half(at, &report),
            _ => {}
        }
    }

    fn add_request(&mut self, by: &str, report: &Report, path: String) {
        let Some(ticks) = report.ticks() else { return };
        let status = report.field("Status");
        let no_answer = match report.field("Task") {
            "Canceled" => "canceled",
            _ => "no answer",
        };
        let (status, is_error) = match status_number(status) {
            Some(number) => (number.to_string(), number >= 500),
            None if status.is_empty() => (no_answer.to_string(), true),
            None => (status.to_string(), false),
        };
        let what = format!("{} {path}", report.field("Method"));
        self.note(Asked { by: by.into(), what, status }, ticks, is_error);
    }

    fn add_command(&mut self, by: &str, text: &str, ticks: Option<u64>, is_error: bool) {
        let Some(ticks) = ticks else { return };
        self.note(
            Asked { by: by.into(), what: without_constants(text), status: String::new() },
            ticks,
            is_error,
        );
    }

    /// Adds the beginning or the end of a command.
    fn add_half(&mut self, at: u64, report: &Report) {
        let id = report.field("Id").to_string();
        if id.is_empty() || id.len() > MOST_LETTERS {
            return;
        }
        if report.event.ends_with("WriteCommandBefore") {
            if self.open.len() >= MOST_OPEN {
                self.lost = self.lost.saturating_add(1);
                return;
            }
            self.open.insert(id, (at, report.field("Text").to_string()));
        } else if let Some((begin, text)) = self.open.remove(&id) {
            let is_error = report.event.ends_with("WriteCommandError");
            self.add_command("SqlClient", &text, Some(at.saturating_sub(begin) / 100), is_error);
        }
    }

    fn note(&mut self, mut asked: Asked, ticks: u64, is_error: bool) {
        for text in [&mut asked.what, &mut asked.status] {
            *text = text.chars().take(MOST_LETTERS).map(|c| if c.is_control() { ' ' } else { c }).collect();
        }
        if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&asked) {
            (asked.what, asked.status) = (OTHERS.into(), String::new());
        }
        self.rows.entry(asked).or_default().add(ticks.saturating_mul(100), is_error);
    }
}

/// What a library reported: the listener, its event, and the fields that were asked for.
struct Report {
    source: String,
    event: String,
    fields: Vec<(String, String)>,
}

impl Report {
    fn read(payload: &[u8]) -> Result<Report, TraceError> {
        const FIELD: &str = "a field of a report";
        let mut cursor = Cursor::new(payload, 0);
        let (source, event) = (cursor.text(FIELD)?, cursor.text(FIELD)?);
        let mut fields = Vec::new();
        for _ in 0..cursor.u16(FIELD)?.min(MOST_FIELDS) {
            fields.push((cursor.text(FIELD)?, cursor.text(FIELD)?));
        }
        Ok(Report { source, event, fields })
    }

    /// A field; empty when it is not there.
    fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
    }

    /// How long it took, in units of 100 ns.
    fn ticks(&self) -> Option<u64> {
        self.field("Ticks").parse().ok()
    }
}

/// The number of a status; the client has its name.
fn status_number(status: &str) -> Option<u32> {
    let known = [
        ("OK", 200),
        ("Created", 201),
        ("Accepted", 202),
        ("NoContent", 204),
        ("MovedPermanently", 301),
        ("Redirect", 302),
        ("Found", 302),
        ("NotModified", 304),
        ("BadRequest", 400),
        ("Unauthorized", 401),
        ("Forbidden", 403),
        ("NotFound", 404),
        ("Conflict", 409),
        ("TooManyRequests", 429),
        ("InternalServerError", 500),
        ("BadGateway", 502),
        ("ServiceUnavailable", 503),
        ("GatewayTimeout", 504),
    ];
    status.parse().ok().or_else(|| known.iter().find(|(name, _)| *name == status).map(|(_, number)| *number))
}

/// Pairs as .NET prints them: `[id, 7],[kind, x]`.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or_default();
    inner.split("],[").filter_map(|pair| pair.split_once(", "))
}

/// The value of the first of some tags.
fn tag<'t>(tags: &'t str, names: &[&str]) -> Option<&'t str> {
    names.iter().find_map(|name| pairs(tags).find(|(key, _)| key == name).map(|(_, value)| value))
}

/// The path of a request with the names of its variable parts, as far as the program has routes.
fn route(report: &Report) -> String {
    /// What names the code that answers, and not a part of the path.
    const CODE: [&str; 4] = ["controller", "action", "page", "area"];
    let values = report.field("Values");
    let variable = |part: &&str| {
        let mut named = pairs(values).filter(|(key, value)| !value.is_empty() && !CODE.contains(key));
        let found = named.find(|(_, value)| value == part);
        found.map(|(key, _)| format!("{{{key}}}"))
    };
    let parts =
        report.field("Path").split('/').map(|part| variable(&part).unwrap_or_else(|| part.to_string()));
    parts.collect::<Vec<_>>().join("/")
}

/// A command in one line, with `?` for each constant.
fn without_constants(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().take(MOST_LETTERS * 4).peekable();
    while let Some(letter) = letters.next() {
        let is_in_name =
            out.chars().next_back().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '@' | '$'));
        match letter {
            '\'' => {
                while let Some(inner) = letters.next() {
                    // Two of them are one within a text.
                    if inner == '\'' && letters.next_if_eq(&'\'').is_none() {
                        break;
                    }
                }
                out.push('?');
            }
            '0'..='9' if !is_in_name => {
                while letters.next_if(|c| c.is_ascii_alphanumeric() || *c == '.').is_some() {}
                out.push('?');
            }
            letter if letter.is_whitespace() => {
                if !out.ends_with(' ') && !out.is_empty() {
                    out.push(' ');
                }
            }
            letter => out.push(letter),
        }
    }
    out.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nettrace::EventKind;

    #[test]
    fn commands_lose_their_constants() {
        let cases = [
            ("SELECT *\n  FROM t1 WHERE id = 42 AND n='O''Brien'", "SELECT * FROM t1 WHERE id = ? AND n=?"),
            ("SELECT @p0, $1, 0x1F, 1.5e3", "SELECT @p0, $1, ?, ?"),
            ("SELECT 'open", "SELECT ?"),
            ("", ""),
        ];
        for (text, wanted) in cases {
            assert_eq!(without_constants(text), wanted, "{text}");
        }
    }

    #[test]
    fn routes_have_the_names_of_their_values() {
        let report = |path: &str, values: &str| Report {
            source: String::new(),
            event: String::new(),
            fields: vec![("Path".into(), path.into()), ("Values".into(), values.into())],
        };
        for (path, values, wanted) in [
            ("/orders/7/lines/x", "[id, 7],[line, x]", "/orders/{id}/lines/{line}"),
            ("/Home/Index", "[controller, Home],[action, Index]", "/Home/Index"),
            ("/", "", "/"),
            ("/a//b", "[x, ]", "/a//b"),
        ] {
            assert_eq!(route(&report(path, values)), wanted, "{path}");
        }
        let tags = "[db.system, postgresql],[db.statement, SELECT [a], b FROM t]";
        assert_eq!(tag(tags, &["db.query.text", "db.statement"]), Some("SELECT [a], b FROM t"));
    }

    /// As Npgsql 8 reports a command that failed.
    #[test]
    fn failed_commands_are_errors() {
        let mut payload = Vec::new();
        let mut put = |text: &str| payload.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        put("Npgsql");
        put("postgres");
        payload.extend(2u16.to_le_bytes());
        let mut put = |text: &str| payload.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        let tags = "[db.statement, SELECT 1],[otel.status_code, ERROR],[otel.status_description, 42P01]";
        ["Tags", tags, "Ticks", "30504"].into_iter().for_each(&mut put);
        let kind = EventKind { provider: DIAGNOSTIC_SOURCE.into(), ..EventKind::default() };
        let (stack, payload) = (&[][..], &payload[..]);
        let event = Event { kind: &kind, ticks: 0, thread: 0, stack, payload, pointer_size: 8 };
        let mut requests = Requests::default();
        requests.add(0, &event);
        let (asked, durations) = requests.rows.iter().next().unwrap();
        assert_eq!((asked.what.as_str(), durations.errors, durations.longest), ("SELECT ?", 1, 3_050_400));
    }

    #[test]
    fn quantiles_are_within_a_percent() {
        let mut durations = Durations::default();
        for length in 1..=10_000u64 {
            durations.add(length * 1000, length % 100 == 0);
        }
        assert_eq!((durations.count, durations.errors, durations.mean()), (10_000, 100, 5_000_500));
        for (share, exact) in [(0.5, 5e6), (0.95, 9.5e6), (0.99, 9.9e6), (1.0, 1e7)] {
            let found = durations.quantile(share) as f64;
            assert!((found / exact - 1.0).abs() < 0.01, "{share}: {found}");
        }
        for length in [0, 1, 63, 64, 65, 127, 128, 1 << 40, u64::MAX] {
            let found = middle(place(length)) as f64;
            assert!((found - length as f64).abs() <= length as f64 * 0.01, "{length}: {found}");
        }
    }

    #[test]
    fn gaps_are_from_another_wish_to_the_next_session() {
        let mut requests = Requests::wanted(&http());
        requests.begin_again(1000);
        // What the program says at the beginning of its own session.
        requests.takes(10, "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Stop");
        assert!(requests.other_since.is_none() && !requests.needs_session());
        requests.takes(20, "Other/Event");
        requests.takes(30, "Other/Event");
        assert!(!requests.needs_session(), "the other is still there");
        requests.another_leaves(40);
        assert!(requests.needs_session());
        requests.begin_again(2000);
        assert_eq!((requests.gaps.as_slice(), requests.needs_session()), (&[(1020, 2000)][..], false));
        // A version that wants everything then, and the end of the own session.
        requests.takes(5, EVERYTHING);
        assert!(requests.needs_session());
        requests.forget_after(2005);
        requests.end_gap(3000);
        assert_eq!(requests.gaps, [(1020, 2000)]);
        for number in 0..2 * MOST_GAPS as u64 {
            requests.another_leaves(number);
            requests.end_gap(4000 + number);
        }
        assert_eq!((requests.gaps.len(), requests.gaps.last().unwrap().1), (MOST_GAPS, 5999));
        // Who wants nothing has no gaps.
        let mut nothing = Requests::default();
        nothing.takes(1, EVERYTHING);
        nothing.takes(1, "x");
        assert!(nothing.other_since.is_none() && !nothing.needs_session());
    }

    #[test]
    fn hostile_reports_take_little_memory() {
        let mut requests = Requests::default();
        for number in 0..MOST_ROWS + 100 {
            let asked = Asked { by: "server".into(), what: format!("GET /{number}"), status: "200".into() };
            requests.note(asked, 1, false);
        }
        let others = requests.rows.iter().find(|(asked, _)| asked.what == OTHERS).unwrap();
        assert_eq!((requests.rows.len(), others.1.count), (MOST_ROWS + 1, 100));
        for payload in [&b""[..], b"a", b"a\0\0\0b\0\0\0\xff\xff", &[0; 5]] {
            assert!(Report::read(payload).is_err());
        }
    }
}
