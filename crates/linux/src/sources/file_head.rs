//! The first lines of a kernel file, for who needs no others: the kernel takes time for each line that it prints.

use std::path::PathBuf;

use tallymon_provider::{Absence, FileTime};

use super::cached_file::File;
use crate::kernel::proc::ParseError;
use crate::kernel::reusable_file::{Buffer, ReadMode};

/// The first lines of a file, as far as they are of use.
pub(super) struct Front<T> {
    /// `None` when so many would be wanted that all may be read.
    pub(super) file: Option<File<T>>,
    path: PathBuf,
    /// Bytes.
    size: usize,
    parse: fn(&[u8]) -> Result<T, ParseError>,
    /// The last request in which somebody wanted all of the file.
    all_wanted: Option<u64>,
}

/// Enough for what stands before events in `/proc/vmstat`, unless the machine is large.
const FIRST_SIZE: usize = 2048;
/// One read gives no more.
const LARGEST_SIZE: usize = 4096;

impl<T> Front<T> {
    pub(super) fn new(path: PathBuf, parse: fn(&[u8]) -> Result<T, ParseError>) -> Front<T> {
        let mut front = Front { file: None, path, size: FIRST_SIZE, parse, all_wanted: None };
        front.make();
        front
    }

    fn make(&mut self) {
        let is_less = self.size < LARGEST_SIZE;
        self.file =
            is_less.then(|| File::new(self.path.clone(), ReadMode::Head(self.size), self.parse).with_text());
    }

    /// Notes that somebody wants all of the file. So he probably will the next time, and then nobody reads it in parts.
    pub(super) fn want_all(&mut self, request: u64) {
        self.all_wanted = Some(request);
    }

    /// What the first lines say now, and their text; read at most once a request. `None` where all is to be read.
    pub(super) fn get(
        &mut self,
        request: u64,
        buffer: &mut Buffer,
        earliest: &mut FileTime,
    ) -> Option<Result<(&T, &[u8]), Absence>> {
        let is_all_wanted = |wanted: u64| request.wrapping_sub(wanted) <= 1;
        let file = self.file.as_mut().filter(|_| !self.all_wanted.is_some_and(is_all_wanted))?;
        Some(match file.get(request, buffer, earliest).map(|_| ()) {
            Ok(()) => {
                let text = file.text.as_deref().unwrap_or_default();
                file.value.as_ref().map(|value| (value, text)).map_err(|absence| *absence)
            }
            Err(absence) => Err(absence),
        })
    }

    /// Says that not everything was there: from now on there are more lines.
    pub(super) fn was_short(&mut self) {
        self.size = self.size.saturating_add(FIRST_SIZE / 2);
        self.make();
    }
}
