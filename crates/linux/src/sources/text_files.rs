//! Kernel files without a parser of their own: kept open, and read at most once a request.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};
use tallymon_provider::{Absence, FileTime};

use crate::kernel::reusable_file::{Buffer, ReadError, ReadMode, ReusableFile};
use crate::kernel::root::Root;
use crate::kernel::time::steady;
use crate::sources::absence::absence;

/// The files, by their path on the real machine.
#[derive(Default)]
pub(crate) struct TextFiles {
    files: BTreeMap<&'static str, Text>,
}

struct Text {
    kept: ReusableFile,
    /// The request in which `bytes` was read.
    request: u64,
    read_at: FileTime,
    bytes: Result<Vec<u8>, Absence>,
}

impl TextFiles {
    /// The text of a file in this request, and the time just before it was read. The paths come from the
    /// tables of counters, so their number is bounded.
    pub(crate) fn get(
        &mut self,
        path: &'static str,
        root: &Root,
        request: u64,
        buffer: &mut Buffer,
    ) -> (FileTime, Result<&[u8], Absence>) {
        let text = self.files.entry(path).or_insert_with(|| Text {
            kept: ReusableFile::new(place(root, path), shape(path)),
            request: 0,
            read_at: FileTime(0),
            bytes: Err(Absence::NotRequested),
        });
        if text.request != request {
            text.request = request;
            text.read_at = steady();
            if path.starts_with(RUN) {
                // A service that restarts replaces its files; the old one could be read forever.
                text.kept = ReusableFile::new(place(root, path), shape(path));
            }
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

/// Files of control groups, by their paths: there are many, so only a limited number stay open.
pub(crate) struct GroupFiles {
    files: HashMap<PathBuf, (ReusableFile, u64)>,
    budget: usize,
    request: u64,
}

/// A file is closed after so many requests without a reader.
const UNUSED: u64 = 16;

impl Default for GroupFiles {
    fn default() -> GroupFiles {
        // The files of processes may take half of the limit.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(8192) / 8;
        GroupFiles::new(usize::try_from(limit).unwrap_or(usize::MAX).min(1024))
    }
}

impl GroupFiles {
    fn new(budget: usize) -> GroupFiles {
        GroupFiles { files: HashMap::new(), budget, request: 0 }
    }

    /// The text of a file. A missing file takes no descriptor.
    pub(crate) fn get<'b>(
        &mut self,
        path: PathBuf,
        request: u64,
        buffer: &'b mut Buffer,
    ) -> Result<&'b [u8], ReadError> {
        if self.request != request {
            self.request = request;
            self.files.retain(|_, (_, used)| request.saturating_sub(*used) <= UNUSED);
        }
        let (mut kept, keeps) = match self.files.remove(&path) {
            Some((kept, _)) => (kept, true),
            None => (ReusableFile::new(path.clone(), ReadMode::Records), self.files.len() < self.budget),
        };
        let read = kept.read(buffer);
        if read.is_ok() && keeps {
            self.files.insert(path, (kept, request));
        }
        read
    }
}

/// The directory where services keep their state.
const RUN: &str = "/run/";

/// The path of the file below this root.
fn place(root: &Root, path: &str) -> PathBuf {
    if let Some(rest) = path.strip_prefix("/sys/") {
        root.sys(rest)
    } else if let Some(rest) = path.strip_prefix(RUN) {
        root.run(rest)
    } else {
        root.proc(path.strip_prefix("/proc/").unwrap_or(path))
    }
}

fn shape(path: &str) -> ReadMode {
    if path.starts_with("/proc/sys/") { ReadMode::Sysctl(64) } else { ReadMode::Records }
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
        let (mut texts, mut buffer) = (TextFiles::default(), Buffer::new());
        assert_eq!(texts.get("/sys/a/b", &root, 1, &mut buffer).1, Ok(&b"1\n"[..]));
        std::fs::write(folder.join("sys/a/b"), "2\n").unwrap();
        assert_eq!(texts.get("/sys/a/b", &root, 1, &mut buffer).1, Ok(&b"1\n"[..]));
        assert_eq!(texts.get("/sys/a/b", &root, 2, &mut buffer).1, Ok(&b"2\n"[..]));
        assert_eq!(texts.get("/proc/no", &root, 2, &mut buffer).1, Err(Absence::NotInThisKernel));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(place(&root, "/proc/net/stat"), Path::new(&folder.join("proc/net/stat")));
    }

    #[test]
    fn group_files_stay_open_within_a_budget() {
        let folder = std::env::temp_dir().join(format!("tallymon-groups-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (mut groups, mut buffer) = (GroupFiles::new(2), Buffer::new());
        for name in ["a", "b", "c"] {
            std::fs::write(folder.join(name), name).unwrap();
            assert_eq!(groups.get(folder.join(name), 1, &mut buffer).unwrap(), name.as_bytes());
        }
        assert_eq!(groups.files.len(), 2, "the third is read and closed");
        std::fs::write(folder.join("a"), "new").unwrap();
        assert_eq!(groups.get(folder.join("a"), 2, &mut buffer).unwrap(), b"new");
        assert!(groups.get(folder.join("none"), 2, &mut buffer).unwrap_err().is_gone());
        groups.get(folder.join("a"), 18, &mut buffer).unwrap();
        assert_eq!(groups.files.len(), 1, "nobody read the other for long");
        groups.get(folder.join("c"), 19, &mut buffer).unwrap();
        assert_eq!(groups.files.len(), 2, "there is room again");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
