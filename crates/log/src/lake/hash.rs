//! By what a log is known that was put into a table.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::MOST_OF_VERSION;
use super::store::store_at;
use crate::error::LogError;
use crate::file::{is_address, open_regular};
use crate::format::{Format, HEAD};
use crate::relog::Options;

/// FNV-1a of 128 bits.
struct Hash(u128);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

/// The name of logs and of what is taken from them: a hash of their bytes, and of the choice.
///
/// # Errors
///
/// A log cannot be read.
pub(super) fn name_of(inputs: &[PathBuf], options: &Options) -> Result<String, LogError> {
    let mut hash = Hash(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
    for input in inputs {
        add_log(&mut hash, input).map_err(|error| LogError::from(error).in_file(input))?;
    }
    let Options { select, every, rename_host, read, .. } = options;
    let chosen =
        (select, every, rename_host, &read.code_page, read.bias, &read.log_set, read.processes, read.cap);
    hash.add(format!("{chosen:?}").as_bytes());
    Ok(format!("tallymon-log-{:032x}", hash.0))
}

fn add_log(hash: &mut Hash, input: &Path) -> io::Result<()> {
    if is_address(input) {
        let store = store_at(input).map_err(io::Error::other)?;
        for number in 0.. {
            let Some(text) = store.version(number, MOST_OF_VERSION)? else { break };
            hash.add(&text);
        }
        return Ok(());
    }
    if input.is_dir() {
        // Another table: its versions say all that is in it.
        let mut versions: Vec<PathBuf> =
            fs::read_dir(input.join(super::LOG))?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        versions.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        versions.sort();
        return versions.iter().try_for_each(|path| add_file(hash, path).map(drop));
    }
    // The name of an archive of several files is not that of a file.
    let file = if input.exists() { None } else { crate::import::pcp::metadata_of(input) };
    let file = file.as_deref().unwrap_or(input);
    let head = add_file(hash, file)?;
    if Format::detect(&head) == Some(Format::Pcp) {
        let stem = format!("{}.", file.file_stem().unwrap_or_default().to_string_lossy());
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut others: Vec<PathBuf> =
            fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        others.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&stem)));
        others.sort();
        for other in others {
            add_file(hash, &other)?;
        }
    }
    Ok(())
}

/// Adds the bytes of a file, and returns the first ones.
fn add_file(hash: &mut Hash, path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    hash.add(&head);
    let mut buffer = vec![0u8; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(head);
        }
        hash.add(buffer.get(..read).unwrap_or_default());
    }
}
