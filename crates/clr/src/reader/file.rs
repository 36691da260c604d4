//! Reads the used parts of a profile file, which are few while a program is young.

use crate::layout::*;
use crate::reader::decode::{method_size, number64};
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::mem::offset_of;
use std::path::Path;

/// The longest file to read, in bytes: the largest that the profiler creates.
const MAX_FILE: u64 = 2 << 30;

/// The bytes of a profile file up to the last one in use; unused parts between the regions stay zero.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_parts(path, used_parts)
}

/// The header, and the text of the command line.
pub(super) fn read_head(path: &Path) -> io::Result<Vec<u8>> {
    read_parts(path, |header| {
        let text = number64(header, offset_of!(Header, text).saturating_add(offset_of!(Region, offset)));
        let command = number64(header, offset_of!(Header, command));
        vec![(text.saturating_add(command >> 32), command & 0xFFFF_FFFF)]
    })
}

fn read_parts(path: &Path, parts: impl Fn(&[u8]) -> Vec<(u64, u64)>) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(HEADER_SIZE as u64).read_to_end(&mut bytes)?;
    let length = file.metadata()?.len().min(MAX_FILE);
    for (start, used) in parts(&bytes) {
        let end = start.saturating_add(used).min(length);
        let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else { continue };
        if from >= to {
            continue;
        }
        if bytes.len() < to {
            // No more than the file is long; pages that nothing is read into cost nothing.
            bytes.resize(to, 0);
        }
        file.seek(SeekFrom::Start(start))?;
        let mut part = bytes.get_mut(from..to).unwrap_or_default();
        while !part.is_empty() {
            match file.read(part) {
                // It became shorter meanwhile.
                Ok(0) => break,
                Ok(n) => part = part.get_mut(n..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(bytes)
}

/// Opens a regular file. A pipe would wait for a writer, and a device may have no end.
fn open(path: &Path) -> io::Result<File> {
    let check = |about: Metadata| {
        let words = "it is a pipe, folder, socket or device, not a regular file";
        about.is_file().then_some(()).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, words))
    };
    check(std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    // Another file may have taken its place in between.
    check(file.metadata()?)?;
    Ok(file)
}

/// Offsets and lengths of the used parts of the regions, from the header.
fn used_parts(header: &[u8]) -> Vec<(u64, u64)> {
    let regions = [
        (offset_of!(Header, modules), size_of::<ModuleRecord>()),
        (offset_of!(Header, threads), size_of::<ThreadRecord>()),
        (offset_of!(Header, methods), method_size(header)),
        (offset_of!(Header, text), 1),
        (offset_of!(Header, nodes), size_of::<Node>()),
        (offset_of!(Header, rings), RING.saturating_mul(size_of::<Event>())),
    ];
    let part = |(at, size): (usize, usize)| {
        let field = |offset: usize| number64(header, at.saturating_add(offset));
        let count = field(offset_of!(Region, used)).min(field(offset_of!(Region, capacity)));
        (field(offset_of!(Region, offset)), count.saturating_mul(size as u64))
    };
    let mut parts: Vec<(u64, u64)> = regions.into_iter().map(part).collect();
    // The last part first, so that memory is allocated once.
    parts.sort_unstable_by(|a, b| b.cmp(a));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::tests::sample;

    #[test]
    fn only_used_parts_are_read() {
        let folder = std::env::temp_dir().join(format!("tallymon-clr-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.prof");
        let mut bytes = sample();
        // After the nodes in use: this part is not read.
        bytes[60_000] = 7;
        std::fs::write(&path, &bytes).unwrap();
        let read = read(&path).unwrap();
        assert!(read.len() < 60_000, "{}", read.len());
        let profile = |bytes: &[u8]| crate::reader::Profile::from_bytes(bytes).unwrap();
        assert_eq!(profile(&read), profile(&bytes));
        let head = profile(&super::read_head(&path).unwrap());
        assert_eq!(
            (head.command.as_str(), head.pid),
            (profile(&bytes).command.as_str(), profile(&bytes).pid)
        );
        assert!(!head.command.is_empty() && head.methods.is_empty() && head.calls.is_empty());
        // Shorter than a header, and regions that lie outside.
        std::fs::write(&path, b"TLM").unwrap();
        assert_eq!(super::read(&path).unwrap(), b"TLM");
        bytes[128..152].fill(0xFF);
        std::fs::write(&path, &bytes).unwrap();
        assert!(super::read(&path).unwrap().len() < 65_537);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
