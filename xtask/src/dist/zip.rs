//! Zip archives whose bytes depend on the files only. `gzip` compresses them, as it does for every package.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::write as write_file;

/// Midnight of 1 January 1980: the earliest time that the format has.
const TIME_AND_DATE: [u8; 4] = [0, 0, 0x21, 0];
/// The head of what `gzip -n` prints, and its tail: the checksum and the size of what was compressed.
const HEAD: usize = 10;
const TAIL: usize = 8;

/// Writes an archive of files by their names in it, in the given order. `effort` is an option of gzip.
pub(super) fn write(file: &Path, members: &[(String, Vec<u8>)], effort: &str) -> Result<PathBuf, String> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let compressed = gzip(bytes, effort)?;
        let body = compressed.len().checked_sub(TAIL).and_then(|end| compressed.get(HEAD..end));
        let (Some(body), Some(tail)) = (body, compressed.last_chunk::<TAIL>()) else {
            return Err(format!("gzip printed {} bytes for {name}", compressed.len()));
        };
        // Version 2.0, names in UTF-8, deflate.
        let mut common = vec![20, 0, 0, 8, 8, 0];
        common.extend(TIME_AND_DATE);
        common.extend(&tail[..4]);
        common.extend(number(body.len())?.to_le_bytes());
        common.extend(&tail[4..]);
        let length = u16::try_from(name.len()).map_err(|_| format!("{name}: the name is too long"))?;
        common.extend(length.to_le_bytes());
        common.extend([0, 0]);
        let offset = number(archive.len())?;
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(name.as_bytes());
        archive.extend(body);
        // Made on Unix; no comment, first disk, a file that anybody may read.
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend((0o100_644_u32 << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let count = u16::try_from(members.len()).map_err(|_| "too many files for a zip archive")?;
    let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
    end.extend(count.to_le_bytes());
    end.extend(count.to_le_bytes());
    end.extend(number(directory.len())?.to_le_bytes());
    end.extend(number(archive.len())?.to_le_bytes());
    end.extend([0, 0]);
    archive.extend(directory);
    archive.extend(end);
    write_file(file, &archive)?;
    Ok(file.to_path_buf())
}

fn number(length: usize) -> Result<u32, String> {
    u32::try_from(length).map_err(|_| "a zip archive of this kind has at most 4 GiB".to_string())
}

fn gzip(bytes: &[u8], effort: &str) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("gzip: {error}");
    let mut gzip = Command::new("gzip");
    gzip.args([effort, "-n", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = gzip.spawn().map_err(failed)?;
    let input = child.stdin.take();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || input.map_or(Ok(()), |mut input| input.write_all(bytes)));
        let output = child.wait_with_output().map_err(failed)?;
        match writer.join() {
            Ok(Ok(())) if output.status.success() => Ok(output.stdout),
            Ok(Err(error)) => Err(failed(error)),
            _ => Err(format!("gzip failed: {}", output.status)),
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails is to panic")]
mod tests {
    use super::*;

    #[test]
    fn python_reads_the_archive() {
        let file = crate::target_folder().join(format!("zip-{}.zip", std::process::id()));
        let members =
            [("a/б.txt".to_string(), b"some words, some words".to_vec()), ("empty".to_string(), vec![])];
        write(&file, &members, "-9").unwrap();
        let script = "import sys, zipfile; file = zipfile.ZipFile(sys.argv[1]); assert not file.testzip(); \
            print([(it.filename, file.read(it), oct(it.external_attr >> 16)) for it in file.infolist()])";
        let output = Command::new("python3").args(["-c", script]).arg(&file).output().unwrap();
        std::fs::remove_file(&file).unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let expected = "[('a/б.txt', b'some words, some words', '0o100644'), ('empty', b'', '0o100644')]\n";
        assert_eq!(said, expected, "{}", String::from_utf8_lossy(&output.stderr));
    }
}
