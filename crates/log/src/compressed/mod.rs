//! Logs in compressed files: `sa20.xz`, `old.csv.gz`. They are unpacked into a file that has no name, which
//! is gone when the log is closed.

#[cfg(feature = "compressed")]
mod noted;
#[cfg_attr(feature = "compressed", path = "unpack.rs")]
#[cfg_attr(not(feature = "compressed"), path = "unpack_absent.rs")]
mod unpack;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Damage;
use crate::file::open_regular;

pub(crate) use unpack::{noted, unpack};

/// Unpacks bytes as far as `most`, for the fuzzer. Returns how many there were.
#[doc(hidden)]
pub fn unpacked_length(packed: &[u8], most: u64) -> u64 {
    unpack::count_unpacked(packed, most)
}

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Xz,
    Zstd,
    Bzip2,
    Zip,
}

/// The first bytes, the ending of the name, and the program that unpacks it.
const KNOWN: [(Packing, &[u8], &str, &str); 5] = [
    (Packing::Gzip, &[0x1f, 0x8b], "gz", "gunzip"),
    (Packing::Xz, &[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "unxz"),
    (Packing::Zstd, &[0x28, 0xb5, 0x2f, 0xfd], "zst", "unzstd"),
    (Packing::Bzip2, b"BZh", "bz2", "bunzip2"),
    (Packing::Zip, b"PK\x03\x04", "zip", "unzip"),
];

impl Packing {
    /// What a file with these first bytes is compressed with.
    pub(crate) fn detect(head: &[u8]) -> Option<Packing> {
        KNOWN.iter().find(|(_, magic, ..)| head.starts_with(magic)).map(|(packing, ..)| *packing)
    }

    /// The program that unpacks such files.
    pub(crate) fn program(self) -> &'static str {
        KNOWN.iter().find(|(packing, ..)| *packing == self).map_or("", |(.., program)| program)
    }
}

/// An unpacked file.
#[derive(Debug)]
pub(crate) struct Unpacked {
    /// It has no name, and is at its begin.
    pub(crate) file: File,
    /// Where unpacking ended, if it ended before the end.
    pub(crate) damage: Option<Damage>,
}

/// A name without the ending of a compressed file.
pub(crate) fn without_ending(path: &Path) -> PathBuf {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if KNOWN.iter().any(|(_, _, known, _)| ending == *known) {
        path.with_extension("")
    } else {
        path.to_owned()
    }
}

/// Opens a file, or the compressed one of that name. Returns its path too.
pub(crate) fn open_or_compressed(path: &Path) -> io::Result<(File, PathBuf)> {
    let error = match open_regular(path) {
        Ok(file) => return Ok((file, path.to_owned())),
        Err(error) => error,
    };
    if error.kind() == io::ErrorKind::NotFound {
        for (_, _, ending, _) in KNOWN {
            let mut name = path.as_os_str().to_owned();
            name.push(".");
            name.push(ending);
            let packed = PathBuf::from(name);
            if let Ok(file) = open_regular(&packed) {
                return Ok((file, packed));
            }
        }
    }
    Err(error)
}
