//! Kernel files that have no structure of their own: kept open, and read at most once a request.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tallymon_provider::{Absence, FileTime};

use crate::kept::{Buffer, Kept, Shape};
use crate::root::Root;
use crate::sources::absence;
use crate::system::steady;

/// The files by their path on the machine itself.
#[derive(Default)]
pub(crate) struct Texts {
    files: BTreeMap<&'static str, Text>,
}

struct Text {
    kept: Kept,
    /// The request that `bytes` is of.
    request: u64,
    read_at: FileTime,
    bytes: Result<Vec<u8>, Absence>,
}

impl Texts {
    /// What a file says in this request, and a time before that was read. Paths are written in the tables of counters, so their number is bounded.
    pub(crate) fn get(
        &mut self,
        path: &'static str,
        root: &Root,
        request: u64,
        buffer: &mut Buffer,
    ) -> (FileTime, Result<&[u8], Absence>) {
        let text = self.files.entry(path).or_insert_with(|| Text {
            kept: Kept::new(place(root, path), shape(path)),
            request: 0,
            read_at: FileTime(0),
            bytes: Err(Absence::NotRequested),
        });
        if text.request != request {
            text.request = request;
            text.read_at = steady();
            let mut spare = std::mem::replace(&mut text.bytes, Err(Absence::ReadFailed)).unwrap_or_default();
            text.bytes = match text.kept.read(buffer) {
                Ok(bytes) => {
                    spare.clear();
                    spare.extend_from_slice(bytes);
                    Ok(spare)
                }
                Err(error) => Err(absence(&error)),
            };
        }
        (text.read_at, text.bytes.as_deref().map_err(|absence| *absence))
    }
}

/// Where the file is below this root.
fn place(root: &Root, path: &str) -> PathBuf {
    match path.strip_prefix("/sys/") {
        Some(rest) => root.sys(rest),
        None => root.proc(path.strip_prefix("/proc/").unwrap_or(path)),
    }
}

fn shape(path: &str) -> Shape {
    if path.starts_with("/proc/sys/") { Shape::Sysctl(64) } else { Shape::Records }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_file_is_read_once_a_request() {
        let folder = std::env::temp_dir().join(format!("tallymon-texts-{}", std::process::id()));
        let root = Root::below(&folder);
        std::fs::create_dir_all(folder.join("sys/a")).unwrap();
        std::fs::write(folder.join("sys/a/b"), "1\n").unwrap();
        let (mut texts, mut buffer) = (Texts::default(), Buffer::new());
        assert_eq!(texts.get("/sys/a/b", &root, 1, &mut buffer).1, Ok(&b"1\n"[..]));
        std::fs::write(folder.join("sys/a/b"), "2\n").unwrap();
        assert_eq!(texts.get("/sys/a/b", &root, 1, &mut buffer).1, Ok(&b"1\n"[..]));
        assert_eq!(texts.get("/sys/a/b", &root, 2, &mut buffer).1, Ok(&b"2\n"[..]));
        assert_eq!(texts.get("/proc/no", &root, 2, &mut buffer).1, Err(Absence::NotInThisKernel));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(place(&root, "/proc/net/stat"), Path::new(&folder.join("proc/net/stat")));
    }
}
