//! The commands of the diagnostics port and their answers, as the runtime documents them.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::{PortError, Program, Stream, UNKNOWN_COMMAND, receive, send};
use crate::nettrace::Cursor;

/// Begins every message.
const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";
/// Length of the beginning of a message.
const HEADER: usize = 20;

/// Sets of commands.
const EVENTS: u8 = 2;
const PROCESS: u8 = 4;
const ANSWERS: u8 = 0xff;

/// Commands: set, number and name.
type Command = (u8, u8, &'static str);
const STOP: Command = (EVENTS, 1, "StopTracing");
const COLLECT: Command = (EVENTS, 2, "CollectTracing");
const COLLECT_2: Command = (EVENTS, 3, "CollectTracing2");
const INFO: Command = (PROCESS, 0, "ProcessInfo");
const INFO_2: Command = (PROCESS, 4, "ProcessInfo2");

/// Which events of one part of a program to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventProvider {
    /// The part, such as `System.Runtime`.
    pub name: String,
    /// The events, by the bits of their keywords.
    pub keywords: u64,
    /// How detailed: 1 critical to 5 verbose.
    pub level: u32,
    /// Arguments, such as `EventCounterIntervalSec=1`.
    pub arguments: String,
}

/// Which events to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The parts of the program.
    pub providers: Vec<EventProvider>,
    /// Whether the stream ends with descriptions of all methods, so that addresses get names.
    pub method_names: bool,
    /// The runtime's buffer for them, in MiB.
    pub buffer: u32,
}

/// What a runtime says about its program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Info {
    /// Its process id in its own namespace.
    pub pid: u64,
    /// Its command line.
    pub command: String,
    /// The name of its assembly; empty before .NET 6.
    pub assembly: String,
    /// The version of the runtime; empty before .NET 6.
    pub version: String,
}

/// Sends a command and returns the answer, with the connection.
fn ask(
    program: &Program,
    command: Command,
    payload: &[u8],
    patience: Duration,
) -> Result<(UnixStream, Vec<u8>), PortError> {
    let (set, number, name) = command;
    let deadline = Instant::now().checked_add(patience).unwrap_or_else(Instant::now);
    let mut socket = program.connect(deadline)?;
    let length = u16::try_from(payload.len().saturating_add(HEADER))
        .map_err(|_| program.wrong("the length of a command"))?;
    let mut message = MAGIC.to_vec();
    message.extend(length.to_le_bytes());
    message.extend([set, number, 0, 0]);
    message.extend(payload);
    send(&mut socket, &message, deadline).map_err(|error| program.failed("writing to", error))?;
    let mut header = [0; HEADER];
    let reading = |error| program.failed("waiting for an answer of", error);
    receive(&mut socket, &mut header, deadline).map_err(reading)?;
    let mut fields = Cursor::new(&header, 0);
    let wrong = |_| program.wrong("the header");
    if fields.take(MAGIC.len(), "").map_err(wrong)? != MAGIC {
        return Err(program.wrong("the word DOTNET_IPC_V1"));
    }
    let length = usize::from(fields.u16("").map_err(wrong)?).saturating_sub(HEADER);
    let (set, code) = (fields.byte("").map_err(wrong)?, fields.byte("").map_err(wrong)?);
    let mut answer = vec![0; length];
    receive(&mut socket, &mut answer, deadline).map_err(reading)?;
    match (set, code) {
        (ANSWERS, 0) => Ok((socket, answer)),
        (ANSWERS, _) => {
            let code = Cursor::new(&answer, 0).u32("").map_err(|_| program.wrong("the error number"))?;
            Err(PortError::Refused { pid: program.pid, command: name, code })
        }
        _ => Err(program.wrong("the kind of the message")),
    }
}

/// Adds a text of a command: its length with the zero at its end, then 16-bit units.
fn put_text(payload: &mut Vec<u8>, text: &str) {
    let units: Vec<u16> = if text.is_empty() { Vec::new() } else { text.encode_utf16().chain([0]).collect() };
    payload.extend(u32::try_from(units.len()).unwrap_or(0).to_le_bytes());
    payload.extend(units.into_iter().flat_map(u16::to_le_bytes));
}

/// Reads a text of an answer.
fn text(program: &Program, cursor: &mut Cursor<'_>) -> Result<String, PortError> {
    let wrong = |_| program.wrong("a text");
    let units = cursor.u32("").map_err(wrong)?;
    let length = usize::try_from(units).unwrap_or(usize::MAX).saturating_mul(2);
    let bytes = cursor.take(length, "").map_err(wrong)?;
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    let text = char::decode_utf16(units.take_while(|unit| *unit != 0));
    Ok(text.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

pub(super) fn info(program: &Program, patience: Duration) -> Result<Info, PortError> {
    let (answer, is_second) = match ask(program, INFO_2, &[], patience) {
        Ok((_, answer)) => (answer, true),
        Err(PortError::Refused { code: UNKNOWN_COMMAND, .. }) => {
            (ask(program, INFO, &[], patience)?.1, false)
        }
        Err(error) => return Err(error),
    };
    let mut cursor = Cursor::new(&answer, 0);
    let pid = cursor.u64("").map_err(|_| program.wrong("the process id"))?;
    cursor.take(16, "").map_err(|_| program.wrong("the cookie of the runtime"))?;
    let command = text(program, &mut cursor)?;
    // The system and its processor.
    text(program, &mut cursor)?;
    text(program, &mut cursor)?;
    let mut info = Info { pid, command, ..Info::default() };
    if is_second {
        info.assembly = text(program, &mut cursor)?;
        info.version = text(program, &mut cursor)?;
    }
    Ok(info)
}

pub(super) fn start(program: &Program, session: &Session, patience: Duration) -> Result<Stream, PortError> {
    /// The number of the format NetTrace.
    const NETTRACE: u32 = 1;
    let payload = |with_choice: bool| {
        let mut payload = session.buffer.to_le_bytes().to_vec();
        payload.extend(NETTRACE.to_le_bytes());
        if with_choice {
            payload.push(u8::from(session.method_names));
        }
        payload.extend(u32::try_from(session.providers.len()).unwrap_or(0).to_le_bytes());
        for provider in &session.providers {
            payload.extend(provider.keywords.to_le_bytes());
            payload.extend(provider.level.to_le_bytes());
            put_text(&mut payload, &provider.name);
            put_text(&mut payload, &provider.arguments);
        }
        payload
    };
    let (socket, answer) = match ask(program, COLLECT_2, &payload(true), patience) {
        // .NET Core 3.1 always describes methods at the end.
        Err(PortError::Refused { code: UNKNOWN_COMMAND, .. }) => {
            ask(program, COLLECT, &payload(false), patience)?
        }
        result => result?,
    };
    let id = Cursor::new(&answer, 0).u64("").map_err(|_| program.wrong("the number of the session"))?;
    let stop = Arc::new(AtomicBool::new(false));
    Ok(Stream { program: program.clone(), socket, id, stop, patience })
}

pub(super) fn stop(program: &Program, id: u64, patience: Duration) -> Result<(), PortError> {
    ask(program, STOP, &id.to_le_bytes(), patience).map(|_| ())
}
