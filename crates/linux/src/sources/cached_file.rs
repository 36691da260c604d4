//! A kernel file that is read and parsed at most once a request.

use std::path::PathBuf;

use tallymon_provider::{Absence, FileTime};

use super::absence::absence;
use crate::kernel::proc::ParseError;
use crate::kernel::reusable_file::{Buffer, ReadMode, ReusableFile};
use crate::kernel::time::steady;

/// A kernel file with its parsed value.
pub(super) struct File<T> {
    pub(super) kept: ReusableFile,
    /// Whether the kernel signals changes of this file, so that it need not be read again before.
    signals_changes: bool,
    parse: fn(&[u8]) -> Result<T, ParseError>,
    /// How often it was read.
    pub(super) reads: u64,
    /// The text of the file, for objects that search it by key; `None` for files that no object searches.
    pub(super) text: Option<Vec<u8>>,
    /// The request in which `value` was read.
    pub(super) request: u64,
    /// The time just before `value` was read or found to be unchanged.
    read_at: FileTime,
    pub(super) value: Result<T, Absence>,
    /// The last error, in words.
    pub(super) error: Option<String>,
}

impl<T> File<T> {
    pub(super) fn new(path: PathBuf, shape: ReadMode, parse: fn(&[u8]) -> Result<T, ParseError>) -> File<T> {
        let value = Err(Absence::NotRequested);
        let kept = ReusableFile::new(path, shape);
        File {
            kept,
            signals_changes: false,
            parse,
            reads: 0,
            text: None,
            request: 0,
            read_at: FileTime(0),
            value,
            error: None,
        }
    }

    /// The same file, with its text kept for [`super::Sources::text`].
    pub(super) fn with_text(self) -> File<T> {
        File { text: Some(Vec::new()), ..self }
    }

    /// The same file; if `signals_changes`, it is read again only after the kernel signals a change.
    pub(super) fn reread_on_change(self, signals_changes: bool) -> File<T> {
        File { signals_changes, ..self }
    }

    /// The parsed value, read at most once a request, and only after a change if the kernel signals those.
    /// Lowers `earliest` to the time of reading.
    pub(super) fn get(
        &mut self,
        request: u64,
        buffer: &mut Buffer,
        earliest: &mut FileTime,
    ) -> Result<&T, Absence> {
        self.run_once(request, buffer);
        *earliest = self.read_at.min(*earliest);
        self.value.as_ref().map_err(|absence| *absence)
    }

    fn run_once(&mut self, request: u64, buffer: &mut Buffer) {
        if self.request != request {
            self.request = request;
            self.read_at = steady();
            if self.signals_changes && self.value.is_ok() && !self.kept.has_changed() {
                return;
            }
            self.reads = self.reads.wrapping_add(1);
            self.error = None;
            self.value = match self.kept.read(buffer) {
                Ok(bytes) => {
                    if let Some(text) = &mut self.text {
                        text.clear();
                        text.extend_from_slice(bytes);
                    }
                    (self.parse)(bytes).map_err(|error| {
                        self.error = Some(error.to_string());
                        Absence::ReadFailed
                    })
                }
                Err(error) => {
                    self.error = Some(error.to_string());
                    Err(absence(&error))
                }
            };
        }
    }
}
