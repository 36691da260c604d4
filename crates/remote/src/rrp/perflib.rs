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

/// Reads it. A server that does not have it, or lets nobody read it, has English names.
pub(super) async fn read(pipe: &mut Pipe) -> Result<Perflib, Failed> {
    let mut found = Perflib { languages: vec![Language::ENGLISH], last: None };
    let Some(machine) = open(pipe, winreg::OPEN_LOCAL_MACHINE, &winreg::open()).await? else {
        return Ok(found);
    };
    if let Some(key) = open(pipe, winreg::OPEN_KEY, &winreg::open_below(&machine, PERFLIB)).await? {
        for index in 0..MOST_KEYS {
            let stub = pipe.call(winreg::ENUM_KEY, &winreg::enumerate(&key, index)).await?;
            let Some(name) = winreg::enumerated(&stub)? else { break };
            // Beside the languages there are `CurrentLanguage` and others.
            let is_number = name.bytes().all(|byte| byte.is_ascii_hexdigit());
            if let Some(language) = Language::parse(&name).filter(|_| is_number)
                && !found.languages.contains(&language)
            {
                found.languages.push(language);
            }
        }
        let (names, helps) =
            (number(pipe, &key, "Last Counter").await?, number(pipe, &key, "Last Help").await?);
        found.last = names.zip(helps);
        close(pipe, &key).await?;
    }
    close(pipe, &machine).await?;
    Ok(found)
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
    match open(pipe, operation, &winreg::open()).await? {
        Some(key) => {
            let value = pipe.query(&key, name, room).await?;
            close(pipe, &key).await?;
            Ok(value)
        }
        None => Ok(Value { status: FILE_NOT_FOUND, bytes: Vec::new() }),
    }
}

/// Opens a key; `None` if there is none, or none for this user.
async fn open(pipe: &mut Pipe, operation: u16, stub: &[u8]) -> Result<Option<Handle>, Failed> {
    match pipe.call(operation, stub).await {
        Ok(stub) => {
            Ok(Some(winreg::opened(&stub)?).filter(|(_, status)| *status == SUCCESS).map(|(key, _)| key))
        }
        Err(Failed::Rpc(RpcError::Fault(_))) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn close(pipe: &mut Pipe, key: &Handle) -> Result<(), Failed> {
    pipe.call(winreg::CLOSE_KEY, key).await.map(drop)
}

/// A number in a key. Samba has it as it should be, a number of 32 bits.
async fn number(pipe: &mut Pipe, key: &Handle, name: &str) -> Result<Option<u32>, Failed> {
    let Value { status, bytes } = pipe.query(key, name, 64).await?;
    let bytes = bytes.first_chunk::<4>().filter(|_| status == SUCCESS);
    Ok(bytes.map(|bytes| u32::from_le_bytes(*bytes)))
}
