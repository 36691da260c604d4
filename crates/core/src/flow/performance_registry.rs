//! What the values of `HKEY_PERFORMANCE_DATA` mean for a source, whoever queries them: this machine through
//! the registry, or another one through the remote registry.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{SourceError, SourceErrorKind};
use crate::block::{BlockWriter, Snapshot, WriteHeader};
use crate::bytes::ByteOrder;
use crate::request::{Request, RequestKind};
use crate::title::{Language, Titles};

/// `ERROR_SUCCESS`.
pub const SUCCESS: u32 = 0;
/// `ERROR_FILE_NOT_FOUND`: the registry does not know the value.
pub const FILE_NOT_FOUND: u32 = 2;
/// `ERROR_ACCESS_DENIED`.
pub const ACCESS_DENIED: u32 = 5;
/// `ERROR_MORE_DATA`: the room is too small.
pub const MORE_DATA: u32 = 234;

/// The room of the first query in bytes: enough for most machines.
pub const FIRST_ROOM: u32 = 256 << 10;

/// The most room that the registry of Windows takes.
pub const MOST_ROOM: u32 = 64 << 20;

/// Queries a value with more and more room until it fits; `None` if the registry does not know it.
///
/// `query` takes the room, and returns a status and the bytes. The size that the registry names with
/// [`MORE_DATA`] means nothing for performance data, so it is not taken. `is_cut` says whether an answer without
/// an error is cut anyway. `room` remembers what was enough.
///
/// # Errors
///
/// `query` fails, the registry reports another status, or the value needs more than [`MOST_ROOM`].
pub fn read_growing(
    name: &str,
    room: &mut u32,
    is_cut: fn(&[u8]) -> bool,
    mut query: impl FnMut(u32) -> Result<(u32, Vec<u8>), SourceError>,
) -> Result<Option<Vec<u8>>, SourceError> {
    let mut tried = *room;
    loop {
        let (status, bytes) = query(tried)?;
        match status {
            SUCCESS if !is_cut(&bytes) => {
                *room = tried;
                return Ok(Some(bytes));
            }
            SUCCESS | MORE_DATA => {}
            FILE_NOT_FOUND => return Ok(None),
            status => {
                let kind =
                    if status == ACCESS_DENIED { SourceErrorKind::AccessDenied } else { SourceErrorKind::Io };
                return Err(SourceError::new(
                    kind,
                    format!("the query {name:?}: the registry reports error {status}"),
                ));
            }
        }
        if tried >= MOST_ROOM {
            let words =
                format!("the query {name:?}: the answer does not fit in {MOST_ROOM} bytes, or is cut");
            return Err(SourceError::new(SourceErrorKind::BadData, words));
        }
        tried = tried.saturating_mul(2).min(MOST_ROOM);
    }
}

/// The name of the value that answers a request with a block; `None` if no value does.
pub fn block_name(request: &Request) -> Option<String> {
    match &request.kind {
        RequestKind::Unknown(_) | RequestKind::Names(_) | RequestKind::Help(_) => None,
        _ => Some(request.to_string()),
    }
}

/// The name of the value that has the definitions. Not every Windows knows the queries for definitions alone.
pub const fn definitions_name(costly: bool) -> &'static str {
    if costly { "Costly" } else { "Global" }
}

/// The names and help texts of a language, or in English, from the values that `value` queries. The values of
/// help texts begin with `help`: Samba only knows `Explain`, Wine only `Help`, and Windows both.
///
/// # Errors
///
/// Those of `value`.
pub fn titles_from(
    language: Language,
    help: &str,
    mut value: impl FnMut(&str) -> Result<Option<Vec<u8>>, SourceError>,
) -> Result<Titles, SourceError> {
    let mut table = |word: &str| -> Result<Vec<u8>, SourceError> {
        match value(&format!("{word} {language}"))? {
            Some(bytes) => Ok(bytes),
            None if language == Language::ENGLISH => Ok(Vec::new()),
            // Without that language, English.
            None => Ok(value(&format!("{word} {}", Language::ENGLISH))?.unwrap_or_default()),
        }
    };
    let (names, helps) = (table("Counter")?, table(help)?);
    // Damaged tables are common, and the rest of such a table is good.
    Ok(Titles::from_damaged_multi_sz(&names, &helps, ByteOrder::Little).0)
}

/// A block without objects: what a registry would answer if it knew the query.
///
/// # Errors
///
/// The name of the system is too long for a block.
pub fn empty_block(system_name: &str) -> Result<Snapshot, SourceError> {
    let header = WriteHeader::named(system_name);
    let mut bytes = Vec::new();
    BlockWriter::growing(&mut bytes, &header)
        .finish()
        .map_err(|error| SourceError::new(SourceErrorKind::Io, format!("an empty data block: {error}")))?;
    Ok(Snapshot::new(bytes)?)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn the_room_grows_until_the_value_fits_and_is_remembered() {
        let mut room = 1000;
        let mut rooms = Vec::new();
        let value = read_growing(
            "Global",
            &mut room,
            |_| false,
            |room| {
                rooms.push(room);
                Ok(if room < 3500 { (MORE_DATA, Vec::new()) } else { (SUCCESS, vec![7; 3500]) })
            },
        );
        assert_eq!(value.unwrap().unwrap().len(), 3500);
        assert_eq!((rooms, room), (vec![1000, 2000, 4000], 4000));
    }

    #[test]
    fn a_registry_that_never_has_enough_room_is_an_error() {
        let mut room = FIRST_ROOM;
        let mut queries = 0;
        let value = read_growing(
            "Global",
            &mut room,
            |_| false,
            |_| {
                queries += 1;
                Ok((MORE_DATA, Vec::new()))
            },
        );
        assert_eq!(value.unwrap_err().kind, SourceErrorKind::BadData);
        // What was enough once is not forgotten for a failure.
        assert_eq!((queries, room), (9, FIRST_ROOM));
    }

    #[test]
    fn statuses_have_their_meanings() {
        let ask = |status| {
            read_growing("2", &mut 8, <[u8]>::is_empty, |room| {
                Ok((status, if room < 16 { Vec::new() } else { vec![1] }))
            })
        };
        assert_eq!(ask(SUCCESS).unwrap(), Some(vec![1]), "an answer that is cut is queried again");
        assert_eq!(ask(FILE_NOT_FOUND).unwrap(), None);
        assert_eq!(ask(ACCESS_DENIED).unwrap_err().kind, SourceErrorKind::AccessDenied);
        let error = ask(1392).unwrap_err();
        assert_eq!(
            (error.kind, error.message.contains("\"2\": the registry reports error 1392")),
            (SourceErrorKind::Io, true)
        );
    }

    #[test]
    fn a_missing_language_has_english_names() {
        let text = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let titles = titles_from(Language::KOREAN, "Explain", |name| {
            Ok(match name {
                "Counter 009" => Some(text("2\0System\0\0")),
                "Explain 009" => Some(text("3\0It is the system.\0\0")),
                _ => None,
            })
        });
        let titles = titles.unwrap();
        assert_eq!(titles.name(crate::title::TitleIndex(2)), Some("System"));
        assert_eq!(titles.help(crate::title::HelpIndex(3)), Some("It is the system."));
    }

    #[test]
    fn queries_for_texts_are_no_blocks() {
        assert_eq!(block_name(&Request::parse("Counter 009")), None);
        assert_eq!(block_name(&Request::parse("nonsense")), None);
        assert_eq!(block_name(&Request::parse(" 230  232 ")).as_deref(), Some("230 232"));
        assert_eq!(block_name(&Request::global()).as_deref(), Some("Global"));
        let block = empty_block("PC").unwrap();
        assert_eq!((block.system_name(), block.objects().count()), ("PC", 0));
    }
}
