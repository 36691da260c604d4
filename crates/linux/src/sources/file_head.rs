//! The first lines of a kernel file, when no others are needed: the kernel takes time for each line that it
//! prints.

use std::path::PathBuf;

use tallymon_provider::{Absence, FileTime};

use super::cached_file::File;
use crate::kernel::proc::ParseError;
use crate::kernel::reusable_file::{Buffer, ReadMode};

/// The head of a file, as long as reading only that pays.
pub(super) struct FileHead<T> {
    /// `None` once the head has grown so large that the whole file may as well be read.
    pub(super) file: Option<File<T>>,
    path: PathBuf,
    /// Bytes.
    size: usize,
    parse: fn(&[u8]) -> Result<T, ParseError>,
    /// The last request that needed the whole file.
    all_needed: Option<u64>,
}

/// Enough for the lines before the events in `/proc/vmstat`, unless the machine is large.
const FIRST_SIZE: usize = 2048;
/// One read returns no more.
const LARGEST_SIZE: usize = 4096;

impl<T> FileHead<T> {
    pub(super) fn new(path: PathBuf, parse: fn(&[u8]) -> Result<T, ParseError>) -> FileHead<T> {
        let mut front = FileHead { file: None, path, size: FIRST_SIZE, parse, all_needed: None };
        front.make();
        front
    }

    fn make(&mut self) {
        let is_less = self.size < LARGEST_SIZE;
        self.file =
            is_less.then(|| File::new(self.path.clone(), ReadMode::Head(self.size), self.parse).with_text());
    }

    /// Notes that this request needs the whole file. The next one probably will too, so the head is not read
    /// then.
    pub(super) fn need_all(&mut self, request: u64) {
        self.all_needed = Some(request);
    }

    /// The parsed head and its text, read at most once a request. `None` when the whole file has to be read.
    pub(super) fn get(
        &mut self,
        request: u64,
        buffer: &mut Buffer,
        earliest: &mut FileTime,
    ) -> Option<Result<(&T, &[u8]), Absence>> {
        let is_all_wanted = |wanted: u64| request.wrapping_sub(wanted) <= 1;
        let file = self.file.as_mut().filter(|_| !self.all_needed.is_some_and(is_all_wanted))?;
        Some(match file.get(request, buffer, earliest).map(|_| ()) {
            Ok(()) => {
                let text = file.text.as_deref().unwrap_or_default();
                file.value.as_ref().map(|value| (value, text)).map_err(|absence| *absence)
            }
            Err(absence) => Err(absence),
        })
    }

    /// Notes that a line was not in the head: from now on the head is longer.
    pub(super) fn was_short(&mut self) {
        self.size = self.size.saturating_add(FIRST_SIZE / 2);
        self.make();
    }
}
