//! A table in a folder.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::store::{Input, NewPart, Store, Stored, name_of, number_of};
use super::{LOG, path, times};
use crate::new_file::{NewFile, Overwrite};

/// How deep folders of partitions may lie in each other.
const DEEPEST: u32 = 8;

/// A folder.
pub(super) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(super) fn new(root: &Path) -> Folder {
        Folder { root: root.to_path_buf() }
    }

    fn collect(&self, folder: &Path, below: &str, depth: u32, found: &mut Vec<Stored>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with(['_', '.']) {
                continue;
            }
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            // A link is neither.
            let kind = entry.file_type()?;
            if kind.is_dir() && depth < DEEPEST {
                self.collect(&entry.path(), &path, depth.saturating_add(1), found)?;
            } else if kind.is_file() && (path.ends_with(".parquet") || path.ends_with(".part")) {
                let about = fs::symlink_metadata(entry.path())?;
                let milliseconds = times::unix_milliseconds(about.modified()?);
                found.push(Stored { below: path, bytes: about.len(), milliseconds });
            }
        }
        Ok(())
    }
}

/// Whether a path is the folder of a table.
pub fn is_table(path: &Path) -> bool {
    fs::symlink_metadata(path.join(LOG)).is_ok_and(|about| about.is_dir())
}

impl Store for Folder {
    fn shown(&self) -> &Path {
        &self.root
    }

    fn is_table(&self) -> io::Result<bool> {
        Ok(is_table(&self.root))
    }

    fn begin(&self) -> io::Result<Result<(), String>> {
        fs::create_dir_all(&self.root)?;
        for entry in fs::read_dir(&self.root)? {
            let name = entry?.file_name();
            if !name.to_string_lossy().starts_with(['_', '.']) {
                let words = format!("the folder has {name:?} in it, and is not a table; name a new folder");
                return Ok(Err(words));
            }
        }
        path::create_folder(&self.root, LOG)?;
        Ok(Ok(()))
    }

    fn created(&self) -> io::Result<SystemTime> {
        fs::metadata(self.root.join(LOG))?.modified()
    }

    fn newest(&self) -> io::Result<(Option<u64>, bool)> {
        let (mut newest, mut has_checkpoint) = (None, false);
        for entry in fs::read_dir(self.root.join(LOG))? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            has_checkpoint |= name.contains(".checkpoint.");
            newest = newest.max(number_of(&name));
        }
        Ok((newest, has_checkpoint))
    }

    fn version(&self, number: u64, most: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match path::open_below(&self.root, Path::new(&name_of(number))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut text = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut text)?;
        Ok(Some(text))
    }

    fn write_version(&self, number: u64, text: &[u8]) -> io::Result<bool> {
        let write = || {
            let new = NewFile::create(&self.root.join(name_of(number)), Overwrite::Never)?;
            new.file()?.write_all(text)?;
            new.keep()
        };
        match write() {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn open(&self, below: &Path, _size: u64) -> io::Result<Box<dyn Input>> {
        Ok(Box::new(BufReader::with_capacity(1 << 16, path::open_below(&self.root, below)?)))
    }

    fn create(&self, folder: &str, name: &str) -> io::Result<Box<dyn NewPart>> {
        let target = path::create_folder(&self.root, folder)?.join(name);
        Ok(Box::new(FilePart(NewFile::create(&target, Overwrite::Never)?)))
    }

    fn remove(&self, below: &Path) -> io::Result<()> {
        fs::remove_file(self.root.join(below))
    }

    fn parts(&self) -> io::Result<Vec<Stored>> {
        let mut found = Vec::new();
        self.collect(&self.root, "", 0, &mut found)?;
        Ok(found)
    }
}

/// A part beside its name, until it is complete.
struct FilePart(NewFile);

impl NewPart for FilePart {
    fn file(&self) -> io::Result<File> {
        self.0.file()
    }

    fn keep(self: Box<Self>) -> io::Result<(u64, SystemTime)> {
        let about = self.0.file()?.metadata()?;
        self.0.keep()?;
        Ok((about.len(), about.modified()?))
    }
}
