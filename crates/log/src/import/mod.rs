//! Imports the logs of other collectors: sysstat, and more to come.
//!
//! Each format has a decoder, and one table that says which counter each of its metrics becomes. A metric
//! with a counter of Windows, or of this project for Linux, becomes that counter with its raw values; every
//! other one becomes a counter of an object of its own. `docs/formats/import.md` has the tables and their
//! sources.
//!
//! | module | holds |
//! |---|---|
//! | `table` | what a line of such a table says |
//! | `columns` | columns and samples, made of foreign records by the tables |
//! | `reader` | the reader of an imported log, around any decoder |
//! | `sysstat` | binary files of `sadc` |

mod columns;
#[cfg(test)]
mod docs_tests;
mod reader;
pub(crate) mod sysstat;
mod table;

use std::io::Read;

use crate::error::LogError;
use crate::format::Format;
use crate::reader::LogReader;

/// Opens an imported format that is one stream.
pub(crate) fn open<'a>(
    format: Format,
    input: impl Read + Send + 'a,
) -> Option<Result<Box<dyn LogReader + 'a>, LogError>> {
    match format {
        Format::Sysstat => Some(sysstat::SysstatDecoder::open(input).and_then(boxed)),
        _ => None,
    }
}

fn boxed<'a, D: reader::Decoder + 'a>(
    (decoder, columns): (D, columns::Columns),
) -> Result<Box<dyn LogReader + 'a>, LogError> {
    Ok(Box::new(reader::ImportReader::new(decoder, columns)?))
}
