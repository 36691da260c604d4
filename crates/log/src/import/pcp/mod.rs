//! Archives of Performance Co-Pilot, versions 2 and 3: volumes of values, and a file with their descriptions.
//!
//! An archive is several files with one name: `a.0`, `a.1` … with values, `a.meta`, and `a.index`, which is
//! not read. Any of them, or the name without an ending, opens the archive.

mod metadata;
mod metrics;
mod records;
mod values;

pub(crate) use values::PcpDecoder;

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use super::columns::Columns;
use crate::compressed::{Packing, Unpacked, open_or_compressed, unpack, without_ending};
use crate::error::{LogError, LogErrorKind};
use crate::file::head_of;
use crate::options::{Counted, ReadOptions};

#[cfg(test)]
pub(crate) use metrics::tables;

/// Opens the next volume: `None` behind the last one.
pub(crate) type Volumes<'a> =
    Box<dyn FnMut(u32) -> io::Result<Option<Box<dyn Read + Send + 'a>>> + Send + 'a>;

/// Whether a file begins as one of an archive: the length and the magic number of its label.
pub(crate) fn detect(head: &[u8]) -> bool {
    matches!(head, [0, 0, _, _, 0x50, 0x05, 0x26, 2 | 3, ..])
}

/// The name of an archive without its ending, if the path has one of an archive.
fn base(path: &Path) -> Option<PathBuf> {
    let path = without_ending(path);
    let ending = path.extension()?.to_str()?;
    let is_one = ending == "meta" || ending == "index" || ending.parse::<u32>().is_ok();
    is_one.then(|| path.with_extension(""))
}

/// The path of one file of an archive.
fn file_of(base: &Path, ending: &str) -> PathBuf {
    let mut name = base.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// The file with the descriptions of an archive that is given by its name without an ending.
pub(crate) fn metadata_of(base: &Path) -> Option<PathBuf> {
    let path = file_of(base, "meta");
    open_or_compressed(&path).ok().map(|(_, path)| path)
}

/// Opens an archive by the path of one of its files.
pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<(PcpDecoder<'static>, Columns), LogError> {
    let Some(base) = base(path) else {
        let words = "a file of a PCP archive under a foreign name: it needs its own ending (.0, .meta), \
                     and the other files of the archive beside it";
        return Err(LogError::new(LogErrorKind::NotALog(words.to_owned())));
    };
    let metadata = file_of(&base, "meta");
    let metadata = part(&metadata, options).map_err(|error| LogError::from(error).in_file(&metadata))?;
    let options = options.clone();
    let mut earliest = Some(first_volume(&base));
    let volumes: Volumes<'static> = Box::new(move |nth| {
        let number = earliest.get_or_insert(0).saturating_add(nth);
        match part(&file_of(&base, &number.to_string()), &options) {
            Ok(volume) => Ok(Some(volume)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    });
    PcpDecoder::open(metadata, volumes)
}

/// Opens one file of an archive, which `pmlogger_daily` may have compressed.
fn part(path: &Path, options: &ReadOptions) -> io::Result<Box<dyn Read + Send>> {
    let (mut file, path) = open_or_compressed(path)?;
    let Some(packing) = Packing::detect(&head_of(&mut file)?) else {
        return Ok(buffered(Counted::new(file, options)));
    };
    let unpacked = unpack(file, packing, options);
    let unpacked = unpacked.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    match unpacked {
        Some(Unpacked { file, damage: None }) => Ok(buffered(file)),
        Some(Unpacked { file, damage: Some(damage) }) => Ok(buffered(file.chain(Broken(damage.what)))),
        None => {
            let words = format!("{} is compressed; unpack it with '{}'", path.display(), packing.program());
            Err(io::Error::new(io::ErrorKind::InvalidData, words))
        }
    }
}

fn buffered(input: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(BufReader::with_capacity(1 << 16, input))
}

/// The end of what could be unpacked.
struct Broken(String);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::InvalidData, self.0.clone()))
    }
}

/// The number of the first volume: old ones may have been removed.
fn first_volume(base: &Path) -> u32 {
    let (Some(folder), Some(name)) = (base.parent(), base.file_name().and_then(|name| name.to_str())) else {
        return 0;
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let number = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?.file_name();
        let ending = entry.to_str()?.strip_prefix(name)?.strip_prefix('.')?;
        ending.split('.').next()?.parse::<u32>().ok()
    };
    entries.filter_map(number).min().unwrap_or(0)
}
