//! A kernel file as a request reads it.

use std::path::PathBuf;

use tallymon_provider::{Absence, FileTime};

use super::absence::absence;
use crate::kernel::proc::ParseError;
use crate::kernel::reusable_file::{Buffer, ReadMode, ReusableFile};
use crate::kernel::time::steady;

/// A file, and what was read from it in the request at hand.
pub(super) struct File<T> {
    pub(super) kept: ReusableFile,
    /// Whether the kernel tells when it changes, so that it need not be read again until then.
    tells: bool,
    parse: fn(&[u8]) -> Result<T, ParseError>,
    /// How often it was read.
    pub(super) reads: u64,
    /// What was read, for the objects that look for other numbers in it; `None` for a file that has none of these.
    pub(super) text: Option<Vec<u8>>,
    /// The request that `value` is of.
    pub(super) request: u64,
    /// Before that was read, or known to be as before.
    read_at: FileTime,
    pub(super) value: Result<T, Absence>,
    /// What went wrong last, in words.
    pub(super) trouble: Option<String>,
}

impl<T> File<T> {
    pub(super) fn new(path: PathBuf, shape: ReadMode, parse: fn(&[u8]) -> Result<T, ParseError>) -> File<T> {
        let value = Err(Absence::NotRequested);
        let kept = ReusableFile::new(path, shape);
        File {
            kept,
            tells: false,
            parse,
            reads: 0,
            text: None,
            request: 0,
            read_at: FileTime(0),
            value,
            trouble: None,
        }
    }

    /// The same file, its text kept for [`super::Sources::text`].
    pub(super) fn with_text(self) -> File<T> {
        File { text: Some(Vec::new()), ..self }
    }

    /// The same file, which need not be read again until the kernel tells of a change, when it does.
    pub(super) fn that_tells(self, tells: bool) -> File<T> {
        File { tells, ..self }
    }

    /// What the file says now; read at most once a request, and one that tells only when it has changed. `earliest` becomes
    /// no later than that.
    pub(super) fn get(
        &mut self,
        request: u64,
        buffer: &mut Buffer,
        earliest: &mut FileTime,
    ) -> Result<&T, Absence> {
        self.look(request, buffer);
        *earliest = self.read_at.min(*earliest);
        self.value.as_ref().map_err(|absence| *absence)
    }

    fn look(&mut self, request: u64, buffer: &mut Buffer) {
        if self.request != request {
            self.request = request;
            self.read_at = steady();
            if self.tells && self.value.is_ok() && !self.kept.has_changed() {
                return;
            }
            self.reads = self.reads.wrapping_add(1);
            self.trouble = None;
            self.value = match self.kept.read(buffer) {
                Ok(bytes) => {
                    if let Some(text) = &mut self.text {
                        text.clear();
                        text.extend_from_slice(bytes);
                    }
                    (self.parse)(bytes).map_err(|error| {
                        self.trouble = Some(error.to_string());
                        Absence::ReadFailed
                    })
                }
                Err(error) => {
                    self.trouble = Some(error.to_string());
                    Err(absence(&error))
                }
            };
        }
    }
}
