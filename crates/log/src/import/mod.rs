//! Imports the logs of other collectors.
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
//! | `atop` | raw logs of atop, and the output of `atop -P` |
//! | `sysstat` | binary files of `sadc` |
//! | `text` | reports of vmstat, iostat, mpstat, pidstat, sar, collectl and perf, and files of nmon |
//! | `openmetrics` | samples of Prometheus as text |
//! | `lines` | lines of a bounded length |
//! | `pcp` | archives of Performance Co-Pilot |

pub(crate) mod atop;
mod columns;
#[cfg(test)]
mod docs_tests;
mod lines;
pub(crate) mod openmetrics;
pub(crate) mod pcp;
mod reader;
pub(crate) mod sysstat;
mod table;
pub(crate) mod text;

use std::io::{BufRead, Read};
use std::path::Path;

use crate::error::LogError;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::reader::LogReader;

/// Opens an imported format that is one stream.
pub(crate) fn open<'a>(
    format: Format,
    input: impl BufRead + Send + 'a,
    options: &ReadOptions,
) -> Option<Result<Box<dyn LogReader + 'a>, LogError>> {
    match format {
        Format::Sysstat => Some(sysstat::SysstatDecoder::open(input).and_then(boxed)),
        Format::Vmstat => Some(text::VmstatDecoder::open(input, options.bias).and_then(boxed)),
        Format::SysstatText => Some(text::ReportDecoder::open(input, options.bias).and_then(boxed)),
        Format::OpenMetrics => Some(openmetrics::OpenMetricsDecoder::open(input).and_then(boxed)),
        Format::Atop => Some(atop::AtopDecoder::open(input, options.bias).and_then(boxed)),
        Format::Collectl => Some(text::CollectlDecoder::open(input, options.bias).and_then(boxed)),
        Format::Perf => Some(text::PerfDecoder::open(input, options.bias).and_then(boxed)),
        Format::Nmon => Some(text::NmonDecoder::open(input, options.bias).and_then(boxed)),
        _ => None,
    }
}

/// Opens a format that is several files, by the path of one of them.
pub(crate) fn open_files(
    format: Format,
    path: &Path,
    options: &ReadOptions,
) -> Option<Result<Box<dyn LogReader>, LogError>> {
    match format {
        Format::Pcp => Some(pcp::open(path, options).and_then(boxed)),
        _ => None,
    }
}

/// Opens an archive of PCP from the bytes of its `.meta` file and of its volumes.
///
/// # Errors
///
/// The bytes are not those of an archive.
pub fn open_pcp<'a>(
    metadata: &'a [u8],
    volumes: &'a [&'a [u8]],
) -> Result<Box<dyn LogReader + 'a>, LogError> {
    let next: pcp::Volumes<'a> = Box::new(move |nth| {
        let volume = usize::try_from(nth).ok().and_then(|nth| volumes.get(nth));
        Ok(volume.map(|bytes| Box::new(*bytes) as Box<dyn Read + Send + 'a>))
    });
    pcp::PcpDecoder::open(Box::new(metadata), next).and_then(boxed)
}

fn boxed<'a, D: reader::Decoder + 'a>(
    (decoder, columns): (D, columns::Columns),
) -> Result<Box<dyn LogReader + 'a>, LogError> {
    Ok(Box::new(reader::ImportReader::new(decoder, columns)?))
}
