//! Unpacks a file, within limits.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use super::{Packing, Unpacked};
use crate::error::{Damage, LogError, LogErrorKind};
use crate::options::{Counted, ReadOptions};
use crate::temporary::{self, temporary};

pub(crate) use super::noted::noted;

/// The most bytes that a file is unpacked to.
const MOST: u64 = 16 << 30;
/// The most bytes for each byte of the file, beside [`ALLOWANCE`]. Logs have a hundred at most; thousands are
/// an attack.
const MOST_TIMES: u64 = 1_000;
const ALLOWANCE: u64 = 64 << 20;
/// The memory of a decoder, in KiB: `xz -9` needs 64 MiB, `zstd --long` 128.
const MEMORY: u32 = 160 << 10;
/// The same for zstd: the power of two of its window.
const WINDOW: u32 = 27;

/// What unpacks an input; `None` for what is not unpacked here.
fn decoder<'r>(input: impl BufRead + 'r, packing: Packing) -> io::Result<Option<Box<dyn Read + 'r>>> {
    Ok(Some(match packing {
        Packing::Gzip => Box::new(MultiGzDecoder::new(input)),
        Packing::Xz => Box::new(XzReader::new_mem_limit(input, true, MEMORY)),
        Packing::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
            decoder.window_log_max(WINDOW)?;
            Box::new(decoder)
        }
        Packing::Bzip2 | Packing::Zip => return Ok(None),
    }))
}

/// Unpacks bytes as far as `most`, for fuzzing. Returns how many there were.
pub(crate) fn count_unpacked(packed: &[u8], most: u64) -> u64 {
    let decoder = Packing::detect(packed).and_then(|packing| decoder(packed, packing).ok().flatten());
    let Some(mut decoder) = decoder else { return 0 };
    let (mut buffer, mut count) = (vec![0; 1 << 16], 0_u64);
    while count < most
        && let Ok(read @ 1..) = decoder.read(&mut buffer)
    {
        count = count.saturating_add(read as u64);
    }
    count
}

/// Unpacks a file into one without a name; `None` for what is not unpacked here. The options may have a limit
/// of the caller, in bytes.
///
/// # Errors
///
/// Nothing of it can be unpacked, it has more than the limits, or there is no room for it.
pub(crate) fn unpack(
    packed: File,
    packing: Packing,
    options: &ReadOptions,
) -> Result<Option<Unpacked>, LogError> {
    let most = options.most_unpacked;
    let length = packed.metadata()?.len();
    let most =
        length.saturating_mul(MOST_TIMES).saturating_add(ALLOWANCE).min(most.unwrap_or(MOST)).min(MOST);
    let input = BufReader::with_capacity(1 << 16, Counted::new(packed, options));
    let Some(mut decoder) = decoder(input, packing)? else { return Ok(None) };
    let no_room = |error: &io::Error| {
        let words = format!(
            "its unpacked form does not fit into {}: {error}; set TMPDIR to a folder with room, or unpack it \
             with '{}' and name that file",
            temporary::folder().display(),
            packing.program()
        );
        LogError::from(io::Error::other(words))
    };
    let mut file = temporary().map_err(|error| no_room(&error))?;
    let mut buffer = vec![0; 1 << 16];
    let mut written = 0_u64;
    let damage = loop {
        let read = match decoder.read(&mut buffer) {
            Ok(0) => break None,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if written == 0 => {
                let words = format!("it is compressed, and nothing of it can be unpacked: {error}");
                return Err(LogError::new(LogErrorKind::NotALog(words)));
            }
            Err(error) => {
                let what =
                    format!("the compressed file is damaged ({error}); what was unpacked before it was read");
                break Some(Damage { byte: written, buffer: None, record: None, line: None, what });
            }
        };
        written = written.saturating_add(read as u64);
        if written > most {
            let words = format!(
                "it is unpacked to {most} bytes at most, and has more; unpack it with '{}' and name that \
                 file",
                packing.program()
            );
            return Err(LogError::new(LogErrorKind::Request(words)));
        }
        file.write_all(buffer.get(..read).unwrap_or_default()).map_err(|error| no_room(&error))?;
    };
    file.rewind()?;
    Ok(Some(Unpacked { file, damage }))
}
