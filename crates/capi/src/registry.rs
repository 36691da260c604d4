//! The registry's performance keys: data blocks, name tables, and registered services.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tallymon::core::flow::{Source, SourceErrorKind};
use tallymon::core::request::{Request, RequestKind};
use tallymon::core::title::{Language, Titles};
use tallymon::registry::{BASE_INDEX, Installed, Roots};

use crate::handles::{self, Handle, Object};
use crate::lock::lock;
use crate::machine::{self, Shared};
use crate::memory::{Buf, Letter, Out, Str};
use crate::text::list;

/// An error of winerror.h.
pub(crate) type WinError = u32;

pub(crate) const ERROR_SUCCESS: WinError = 0;
pub(crate) const ERROR_FILE_NOT_FOUND: WinError = 2;
pub(crate) const ERROR_ACCESS_DENIED: WinError = 5;
pub(crate) const ERROR_INVALID_HANDLE: WinError = 6;
pub(crate) const ERROR_NOT_ENOUGH_MEMORY: WinError = 8;
const ERROR_NOT_READY: WinError = 21;
pub(crate) const ERROR_NOT_SUPPORTED: WinError = 50;
const ERROR_BAD_NETPATH: WinError = 53;
pub(crate) const ERROR_INVALID_PARAMETER: WinError = 87;
pub(crate) const ERROR_MORE_DATA: WinError = 234;

const REG_SZ: u32 = 1;
const REG_BINARY: u32 = 3;
const REG_DWORD: u32 = 4;
const REG_MULTI_SZ: u32 = 7;

/// Predefined keys, which need not be opened; on 64-bit machines a program has them with all upper bits set.
const LOCAL_MACHINE: u32 = 0x8000_0002;
const PERFORMANCE_DATA: u32 = 0x8000_0004;
const PERFORMANCE_TEXT: u32 = 0x8000_0050;
const PERFORMANCE_NLSTEXT: u32 = 0x8000_0060;

const PERFLIB: &str = r"software\microsoft\windows nt\currentversion\perflib";
const SERVICES: &str = r"system\currentcontrolset\services";

/// The object behind the handle of a key: its path below `HKEY_LOCAL_MACHINE`, in lower case.
pub(crate) struct Key(String);

/// The host and the last answer, kept between queries.
struct HostState {
    host: Shared,
    /// An answer that did not fit the buffer. The same query is answered with it for a while, so that a
    /// program that enlarges its buffer step by step does not make every provider collect at every step.
    unserved: Option<(String, Instant, Answer)>,
}

static KEPT: Mutex<Option<HostState>> = Mutex::new(None);

/// How long an answer that did not fit is kept.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether the needed size is returned when a buffer is too small for a data block.
static NEEDED_SIZE: AtomicBool = AtomicBool::new(false);

/// A value of a key: its type and its content.
struct Answer {
    kind: u32,
    content: Content,
}

enum Content {
    Bytes(Vec<u8>),
    Texts(Vec<String>),
    Number(u32),
}

pub(crate) fn set_needed_size(wanted: i32) -> i32 {
    NEEDED_SIZE.swap(wanted != 0, Ordering::Relaxed).into()
}

pub(crate) fn query_value<L: Letter>(
    key: Handle,
    name: Str<L>,
    _reserved: Out<u32>,
    kind: Out<u32>,
    data: Buf<u8>,
    bytes: Out<u32>,
) -> WinError {
    if bytes.is_null() && !data.is_null() {
        return ERROR_INVALID_PARAMETER;
    }
    let name = name.get().unwrap_or_default();
    let done = match predefined(key) {
        Some(PERFORMANCE_DATA) => of_machine::<L>(&name, Language::ENGLISH, kind, data, bytes),
        Some(PERFORMANCE_TEXT) => {
            texts(&name, Language::ENGLISH).and_then(|answer| serve::<L>(&answer, kind, data, bytes, true))
        }
        Some(PERFORMANCE_NLSTEXT) => texts(&name, machine::language().language)
            .and_then(|answer| serve::<L>(&answer, kind, data, bytes, true)),
        Some(_) => Err(ERROR_FILE_NOT_FOUND),
        None => match handles::get::<Key>(key) {
            Some(key) => key.value(&name).and_then(|answer| serve::<L>(&answer, kind, data, bytes, true)),
            None => Err(ERROR_INVALID_HANDLE),
        },
    };
    done.err().unwrap_or(ERROR_SUCCESS)
}

/// A query of a data block, or of a name table.
fn of_machine<L: Letter>(
    name: &str,
    language: Language,
    kind: Out<u32>,
    data: Buf<u8>,
    bytes: Out<u32>,
) -> Result<(), WinError> {
    let request = Request::parse(if name.is_empty() { "Global" } else { name });
    if matches!(request.kind, RequestKind::Names(_) | RequestKind::Help(_)) {
        return serve::<L>(&texts(name, language)?, kind, data, bytes, true);
    }
    let mut kept = lock(&KEPT);
    let mut known = match kept.take() {
        Some(known) => known,
        None => HostState { host: Shared::open().map_err(|error| of_source(error.kind))?, unserved: None },
    };
    let unserved = known.unserved.take();
    let again = unserved.filter(|(asked, since, _)| asked == name && since.elapsed() < PATIENCE);
    let answer = match again {
        Some((_, _, answer)) => Ok(answer),
        None => known
            .host
            .snapshot(&request)
            .map(|snapshot| Answer { kind: REG_BINARY, content: Content::Bytes(snapshot.into_bytes()) }),
    };
    let done = match answer {
        Ok(answer) => {
            let done = serve::<L>(&answer, kind, data, bytes, NEEDED_SIZE.load(Ordering::Relaxed));
            if done == Err(ERROR_MORE_DATA) {
                known.unserved = Some((name.to_string(), Instant::now(), answer));
            }
            done
        }
        Err(error) => Err(of_source(error.kind)),
    };
    *kept = Some(known);
    done
}

/// A name table as a list of index and text.
fn texts(name: &str, language: Language) -> Result<Answer, WinError> {
    let request = Request::parse(name);
    let (help, wanted) = match request.kind {
        RequestKind::Names(wanted) => (false, wanted),
        RequestKind::Help(wanted) => (true, wanted),
        _ => return Err(ERROR_FILE_NOT_FOUND),
    };
    let mut host = Shared::open().map_err(|error| of_source(error.kind))?;
    let titles = host.titles(wanted.unwrap_or(language)).map_err(|error| of_source(error.kind))?;
    Ok(table(&titles, help))
}

fn table(titles: &Titles, help: bool) -> Answer {
    let mut pairs: Vec<(u32, String)> = Vec::new();
    if help {
        pairs.extend(titles.helps().map(|(index, text)| (index.0, text.to_string())));
    } else {
        // Index 1 has the base index in place of a name, and comes first.
        pairs.extend(titles.base_index().map(|base| (1, base.to_string())));
        pairs.extend(titles.names().map(|(index, text)| (index.0, text.to_string())));
    }
    // An empty text would end the list.
    pairs.retain(|(_, text)| !text.is_empty());
    let texts = pairs.into_iter().flat_map(|(index, text)| [index.to_string(), text]).collect();
    Answer { kind: REG_MULTI_SZ, content: Content::Texts(texts) }
}

/// Writes a value to the program's buffer, or returns that the buffer is too small. Without a buffer the
/// size is returned, except for data blocks: `needed` is whether a size is returned at all.
fn serve<L: Letter>(
    answer: &Answer,
    kind: Out<u32>,
    data: Buf<u8>,
    bytes: Out<u32>,
    needed: bool,
) -> Result<(), WinError> {
    kind.set(answer.kind);
    match &answer.content {
        Content::Bytes(content) => give(content, data, bytes, needed),
        Content::Texts(texts) if answer.kind == REG_SZ => {
            let mut units: Vec<L> = texts.first().map(|text| L::encode(text)).unwrap_or_default();
            units.push(L::ZERO);
            give(&units, data, bytes, needed)
        }
        Content::Texts(texts) => give(&list::<L>(texts), data, bytes, needed),
        Content::Number(number) => give(&[*number], data, bytes, needed),
    }
}

fn give<T: Copy>(content: &[T], data: Buf<u8>, bytes: Out<u32>, needed: bool) -> Result<(), WinError> {
    let length = u32::try_from(size_of_val(content)).map_err(|_| ERROR_NOT_ENOUGH_MEMORY)?;
    // The program wants the type only.
    let Some(room) = bytes.get() else { return Ok(()) };
    if data.is_null() || room < length {
        if needed {
            bytes.set(length);
        }
        // The size of a value is returned without a buffer; a data block has no size before it is collected.
        return if data.is_null() && needed && !NEEDED_SIZE.load(Ordering::Relaxed) {
            Ok(())
        } else {
            Err(ERROR_MORE_DATA)
        };
    }
    data.write(0, content);
    bytes.set(length);
    Ok(())
}

pub(crate) fn close(key: Handle) -> WinError {
    match predefined(key) {
        // Closing these drops what is kept between queries.
        Some(PERFORMANCE_DATA | PERFORMANCE_TEXT | PERFORMANCE_NLSTEXT) => {
            let before = lock(&KEPT).take();
            drop(before);
            ERROR_SUCCESS
        }
        Some(_) => ERROR_SUCCESS,
        None => handles::remove::<Key>(key).map_or(ERROR_INVALID_HANDLE, |_| ERROR_SUCCESS),
    }
}

/// Connects to the registry of a machine: only this one, by any of its names; others cannot be reached yet.
pub(crate) fn connect<L: Letter>(machine: Str<L>, key: Handle, result: Out<Handle>) -> WinError {
    if result.is_null() {
        return ERROR_INVALID_PARAMETER;
    }
    if machine::is_here(machine.get().as_deref()).is_err() {
        return ERROR_BAD_NETPATH;
    }
    match predefined(key) {
        Some(LOCAL_MACHINE | PERFORMANCE_DATA | PERFORMANCE_TEXT | PERFORMANCE_NLSTEXT) => {
            result.set(key);
            ERROR_SUCCESS
        }
        _ => ERROR_INVALID_HANDLE,
    }
}

pub(crate) fn open<L: Letter>(
    key: Handle,
    path: Str<L>,
    _options: u32,
    _access: u32,
    result: Out<Handle>,
) -> WinError {
    if result.is_null() {
        return ERROR_INVALID_PARAMETER;
    }
    let below = match predefined(key) {
        Some(LOCAL_MACHINE) => String::new(),
        Some(_) => return ERROR_FILE_NOT_FOUND,
        None => match handles::get::<Key>(key) {
            Some(key) => key.0.clone(),
            None => return ERROR_INVALID_HANDLE,
        },
    };
    let path = path.get().unwrap_or_default().to_lowercase();
    let parts = below.split('\\').chain(path.split('\\')).filter(|part| !part.is_empty());
    let key = Key(parts.collect::<Vec<_>>().join("\\"));
    if !key.exists() {
        return ERROR_FILE_NOT_FOUND;
    }
    match handles::insert(Arc::new(key)) {
        Some(handle) => {
            result.set(handle);
            ERROR_SUCCESS
        }
        None => ERROR_NOT_ENOUGH_MEMORY,
    }
}

impl Object for Key {}

impl Key {
    fn exists(&self) -> bool {
        let is_above = |whole: &str| {
            whole == self.0 || whole.strip_prefix(&self.0).is_some_and(|rest| rest.starts_with('\\'))
        };
        self.0.is_empty()
            || is_above(PERFLIB)
            || is_above(SERVICES)
            || self.language().is_some()
            || self.service().is_some()
    }

    /// The language of a key of name tables.
    fn language(&self) -> Option<Language> {
        let name = self.0.strip_prefix(PERFLIB)?.strip_prefix('\\')?;
        match name {
            "currentlanguage" => Some(machine::language().language),
            code => Language::parse(code).filter(|_| (3..=4).contains(&code.len())),
        }
    }

    /// The service of this key, which is the service's own key or its `Performance` key.
    fn service(&self) -> Option<tallymon::registry::Service> {
        let name = self.0.strip_prefix(SERVICES)?.strip_prefix('\\')?;
        let name = name.strip_suffix("\\performance").unwrap_or(name);
        let (installed, _) = Installed::read_what_is_whole(&Roots::of_environment());
        installed
            .services()
            .find(|(_, service)| service.name.eq_ignore_ascii_case(name))
            .map(|(_, found)| found.clone())
    }

    fn value(&self, name: &str) -> Result<Answer, WinError> {
        let name = name.to_lowercase();
        let number = |number| Ok(Answer { kind: REG_DWORD, content: Content::Number(number) });
        let text = |text: &Option<String>| {
            let text = text.clone().ok_or(ERROR_FILE_NOT_FOUND)?;
            Ok(Answer { kind: REG_SZ, content: Content::Texts(vec![text]) })
        };
        if self.0 == PERFLIB {
            let mut host = Shared::open().map_err(|error| of_source(error.kind))?;
            let titles = host.titles(Language::ENGLISH).map_err(|error| of_source(error.kind))?;
            return match name.as_str() {
                "last counter" => number(titles.names().next_back().map_or(0, |(index, _)| index.0)),
                "last help" => number(titles.helps().next_back().map_or(0, |(index, _)| index.0)),
                "base index" => number(BASE_INDEX),
                "version" => number(0x1_0000),
                _ => Err(ERROR_FILE_NOT_FOUND),
            };
        }
        if let Some(language) = self.language() {
            return match name.as_str() {
                "counter" | "help" => texts(&name, language),
                _ => Err(ERROR_FILE_NOT_FOUND),
            };
        }
        let service =
            self.service().filter(|_| self.0.ends_with("\\performance")).ok_or(ERROR_FILE_NOT_FOUND)?;
        let titles = service.titles.ok_or(ERROR_FILE_NOT_FOUND);
        match name.as_str() {
            "first counter" => number(titles?.first_counter.0),
            "last counter" => number(titles?.last_counter.0),
            "first help" => number(titles?.first_help.0),
            "last help" => number(titles?.last_help.0),
            "disable performance counters" => number(service.disabled.into()),
            "library" => text(&service.library),
            "open" => text(&service.open),
            "collect" => text(&service.collect),
            "close" => text(&service.close),
            _ => Err(ERROR_FILE_NOT_FOUND),
        }
    }
}

/// The number of a predefined key.
fn predefined(key: Handle) -> Option<u32> {
    // Sign-extended from 32 bits, it has all upper bits set on a 64-bit machine.
    let low = u32::try_from(key & 0xFFFF_FFFF).ok()?;
    let widened = usize::try_from(low).ok()?;
    let signed = isize::try_from(low.cast_signed()).ok()?.cast_unsigned();
    (low & 0x8000_0000 != 0 && low < 0x8000_0100 && (key == widened || key == signed)).then_some(low)
}

const fn of_source(kind: SourceErrorKind) -> WinError {
    match kind {
        SourceErrorKind::NotFound => ERROR_FILE_NOT_FOUND,
        SourceErrorKind::AccessDenied => ERROR_ACCESS_DENIED,
        SourceErrorKind::Unreachable => ERROR_BAD_NETPATH,
        SourceErrorKind::Unsupported => ERROR_NOT_SUPPORTED,
        _ => ERROR_NOT_READY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_predefined_keys() {
        let signed = isize::try_from(PERFORMANCE_DATA.cast_signed()).unwrap().cast_unsigned();
        assert_eq!(predefined(signed), Some(PERFORMANCE_DATA));
        assert_eq!(predefined(0x8000_0004), Some(PERFORMANCE_DATA));
        for other in [0, 1, 0x4, 0x8000_0100, 0x1_0000_0001] {
            assert_eq!(predefined(other), None, "{other:#x}");
        }
    }

    #[test]
    fn knows_the_keys_below_local_machine() {
        for (path, exists) in [
            ("", true),
            ("software", true),
            ("soft", false),
            (PERFLIB, true),
            (&format!("{PERFLIB}\\009"), true),
            (&format!("{PERFLIB}\\korean"), false),
            (&format!("{PERFLIB}\\currentlanguage"), true),
            (SERVICES, true),
            (&format!("{SERVICES}\\no such service"), false),
        ] {
            assert_eq!(Key(path.to_string()).exists(), exists, "{path}");
        }
    }
}
