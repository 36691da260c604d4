//! What a host says about its names: in which languages there are some, and how many. Names in other
//! languages are in a key of their own if the performance registry does not know them.

use tallymon_core::flow::performance_registry::{FILE_NOT_FOUND, SUCCESS};
use tallymon_core::title::Language;

use super::rpc::RpcError;
use super::session::{Failed, Pipe};
use super::winreg::{self, Handle, Value};

const PERFLIB: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib";

/// So many keys are looked at: a Windows has a few languages.
const MOST_KEYS: u32 = 64;

/// What a host says about its names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Perflib {
    /// The languages, English first.
    pub(super) languages: Vec<Language>,
    /// The last numbers of names and of help texts: other ones mean other names.
    pub(super) last: Option<(u32, u32)>,
}

impl Perflib {
    /// The name of the value that has names of a language which the performance registry does not know. Its
    /// key has only English and the language of the host, which a host with several others does not name.
    pub(super) fn text_name(&self, language: Language, query: &str) -> Option<&'static str> {
        let is_known = self.languages.contains(&language) && query.ends_with(&language.to_string());
        let is_single = language == Language::ENGLISH || self.languages.len() == 2;
        let word = if query.starts_with("Counter") { "Counter" } else { "Help" };
        (is_known && is_single).then_some(word)
    }
}

/// Reads it; the languages only if the last numbers differ from those known before. A server that does not
/// have it, or lets nobody read it, has English names.
pub(super) async fn read(pipe: &mut Pipe, known: Option<&Perflib>) -> Result<Perflib, Failed> {
    let mut found = Perflib { languages: vec![Language::ENGLISH], last: None };
    let Some(machine) = open(pipe, winreg::OPEN_LOCAL_MACHINE, &winreg::open()).await? else {
        return Ok(found);
    };
    if let Some(key) = open(pipe, winreg::OPEN_KEY, &winreg::open_below(&machine, PERFLIB)).await? {
        let (names, helps) =
            (number(pipe, &key, "Last Counter").await?, number(pipe, &key, "Last Help").await?);
        found.last = names.zip(helps);
        match known.filter(|known| known.last.is_some() && known.last == found.last) {
            Some(known) => found.languages.clone_from(&known.languages),
            None => add_languages(pipe, &key, &mut found.languages).await?,
        }
        close(pipe, &key).await?;
    }
    close(pipe, &machine).await?;
    Ok(found)
}

/// Adds the languages in the key, as far as the server lists them.
async fn add_languages(pipe: &mut Pipe, key: &Handle, languages: &mut Vec<Language>) -> Result<(), Failed> {
    for index in 0..MOST_KEYS {
        let listed = pipe.call(winreg::ENUM_KEY, &winreg::enumerate(key, index)).await;
        let Some(stub) = unless_fault(listed)? else { break };
        let Some(name) = winreg::enumerated(&stub)? else { break };
        // Beside the languages there are `CurrentLanguage` and others.
        let is_number = name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if let Some(language) = Language::parse(&name).filter(|_| is_number)
            && !languages.contains(&language)
        {
            languages.push(language);
        }
    }
    Ok(())
}

/// `None` if the server refuses a call. Counters can be read without the answer.
fn unless_fault<T>(answer: Result<T, Failed>) -> Result<Option<T>, Failed> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Failed::Rpc(RpcError::Fault(_))) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Queries a value of the key that has names only: those in English, or those in the language of the host.
pub(super) async fn text(
    pipe: &mut Pipe,
    language: Language,
    (name, room): (&str, u32),
) -> Result<Value, Failed> {
    let operation = match language {
        Language::ENGLISH => winreg::OPEN_PERFORMANCE_TEXT,
        _ => winreg::OPEN_PERFORMANCE_NLS_TEXT,
    };
    let mut value = None;
    if let Some(key) = open(pipe, operation, &winreg::open()).await? {
        value = unless_fault(pipe.query(&key, name, room).await)?;
        close(pipe, &key).await?;
    }
    Ok(value.unwrap_or(Value { status: FILE_NOT_FOUND, bytes: Vec::new() }))
}

/// Opens a key; `None` if there is none, or none for this user.
async fn open(pipe: &mut Pipe, operation: u16, stub: &[u8]) -> Result<Option<Handle>, Failed> {
    let Some(stub) = unless_fault(pipe.call(operation, stub).await)? else { return Ok(None) };
    let (key, status) = winreg::opened(&stub)?;
    Ok((status == SUCCESS).then_some(key))
}

async fn close(pipe: &mut Pipe, key: &Handle) -> Result<(), Failed> {
    unless_fault(pipe.call(winreg::CLOSE_KEY, key).await).map(drop)
}

/// A number in a key. Samba has it as it should be, a number of 32 bits.
async fn number(pipe: &mut Pipe, key: &Handle, name: &str) -> Result<Option<u32>, Failed> {
    let Some(Value { status, bytes }) = unless_fault(pipe.query(key, name, 64).await)? else {
        return Ok(None);
    };
    let bytes = bytes.first_chunk::<4>().filter(|_| status == SUCCESS);
    Ok(bytes.map(|bytes| u32::from_le_bytes(*bytes)))
}
