//! A recording in several files: when the next one begins, and which of them a ring keeps.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tallymon_core::block::Snapshot;
use tallymon_core::time::FileTime;
use tallymon_log::LogError;
use tallymon_log::new_file::Overwrite;

use super::{Choice, HostSnapshot, Recorder, SYNC, write_options};
use crate::clock::{LocalZone, now};
use crate::query::Query;

/// When a recording begins its next file, and how many files stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rotation {
    /// Bytes from which on a file is full.
    pub size: Option<u64>,
    /// Records from which on a file is full.
    pub records: Option<u64>,
    /// Age from which on a file is full.
    pub time: Option<Duration>,
    /// Time between two records. A record that comes less than half of it before a file is too old begins
    /// the next file.
    pub interval: Duration,
    /// Files that a ring keeps, with the one that is written; all when there is no number.
    pub segments: Option<u32>,
}

/// What happens to a file that is there before the first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Its recording continues.
    Append,
    /// A new recording replaces it.
    Replace,
}

/// Names the file of a number, while it is recorded.
type PathOf = Box<dyn Fn(u32) -> PathBuf + Send>;

/// Records into native logs with numbers, one after the other.
///
/// A file begins with its first record. [`RollingRecorder::is_full`] says when it is enough, and
/// [`RollingRecorder::close`] completes it; whoever records decides when to look.
pub struct RollingRecorder {
    path_of: PathOf,
    existing: Existing,
    rotation: Rotation,
    zone: LocalZone,
    /// The file that is written, or that the next record begins.
    number: u32,
    choice: Choice,
    /// Those of other hosts.
    host_choices: BTreeMap<String, Choice>,
    current: Option<Segment>,
    sync: Duration,
    /// Records of files that are complete: in them, and lost.
    before: (u64, u64),
    /// What others did to files while they were recorded.
    troubles: Vec<String>,
}

#[derive(Debug)]
struct Segment {
    recorder: Recorder,
    begun: Instant,
}

/// Where the records of a recording are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Records in the files.
    pub recorded: u64,
    /// Records in memory, because the disk has no room for them.
    pub held: u64,
    /// Records that are gone: the disk had no room for too long.
    pub lost: u64,
}

/// A file that is complete.
#[derive(Debug)]
pub struct Closed {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub path: PathBuf,
    /// Whether it has its index. Without one it is a log all the same.
    pub sealed: Result<(), LogError>,
}

impl Rotation {
    /// Whether a file with so many bytes and records, begun so long ago, is full.
    pub fn is_due(&self, bytes: u64, records: u64, age: Duration) -> bool {
        self.size.is_some_and(|size| bytes >= size)
            || self.records.is_some_and(|most| records >= most)
            || self.time.is_some_and(|time| age.saturating_add(self.interval / 2) >= time)
    }

    /// The first number that the ring keeps, with `number` as the newest file; 0 without a ring.
    pub fn first_kept(&self, number: u32) -> u32 {
        self.segments.map_or(0, |most| number.saturating_sub(most).saturating_add(1))
    }
}

impl RollingRecorder {
    /// Records into the files that `path_of` names, from a number on. Nothing is opened yet.
    pub fn new(
        path_of: impl Fn(u32) -> PathBuf + Send + 'static,
        first: u32,
        existing: Existing,
        rotation: Rotation,
        zone: LocalZone,
    ) -> RollingRecorder {
        RollingRecorder {
            path_of: Box::new(path_of),
            existing,
            rotation,
            zone,
            number: first,
            choice: Choice::default(),
            host_choices: BTreeMap::new(),
            current: None,
            sync: SYNC,
            before: (0, 0),
            troubles: Vec::new(),
        }
    }

    /// Sets how often the recording is synced to the disk: what a power failure can cost.
    pub const fn sync_every(&mut self, time: Duration) {
        self.sync = time;
        if let Some(segment) = &mut self.current {
            segment.recorder.sync_every(time);
        }
    }

    /// From the next record on, writes what the paths of a query mean; everything when it has none.
    pub fn choose(&mut self, query: &Query) {
        self.choice = Choice::of(query);
        if let Some(segment) = &mut self.current {
            segment.recorder.choose_as(&self.choice);
        }
    }

    /// From the next record on, writes what the paths of a query on another host mean; everything of it when
    /// it has none. `host` is its name in counter paths.
    pub fn choose_host(&mut self, host: &str, query: &Query) {
        self.choose_of_host(Choice { host: host.to_owned(), ..Choice::of(query) });
    }

    pub(super) fn choose_of_host(&mut self, choice: Choice) {
        if let Some(segment) = &mut self.current {
            segment.recorder.choose_of_host(&choice);
        }
        self.host_choices.insert(choice.host.clone(), choice);
    }

    /// Begins the next file, unless one is open.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or is something else than a native log.
    pub fn open(&mut self) -> Result<(), LogError> {
        if self.current.is_none() {
            let path = (self.path_of)(self.number);
            let options = write_options(&self.zone, now());
            let mut recorder = match self.existing {
                Existing::Append => Recorder::append_to(&path, options),
                Existing::Replace => Recorder::create(&path, Overwrite::Replace, options),
            }?;
            recorder.choose_as(&self.choice);
            self.host_choices.values().for_each(|choice| recorder.choose_of_host(choice));
            recorder.sync_every(self.sync);
            self.current = Some(Segment { recorder, begun: Instant::now() });
        }
        Ok(())
    }

    /// Writes one record, into the next file if none is open. `window` is from when to when the snapshot
    /// was taken. If others deleted, replaced or cut the file, the next one begins with this record, see
    /// [`RollingRecorder::troubles`].
    ///
    /// # Errors
    ///
    /// Those of [`RollingRecorder::open`] and [`Recorder::record`].
    pub fn record(&mut self, snapshot: &Snapshot, window: (FileTime, FileTime)) -> Result<(), LogError> {
        self.record_all(window.0, Some((snapshot, window)), &[])
    }

    /// As [`RollingRecorder::record`], with snapshots of other hosts. [`RollingRecorder::choose_host`] has
    /// said what of them is written. The record is at `time`, by the clock of this machine, for all of them.
    ///
    /// # Errors
    ///
    /// As [`RollingRecorder::record`].
    pub fn record_all(
        &mut self,
        time: FileTime,
        own: Option<(&Snapshot, (FileTime, FileTime))>,
        others: &[HostSnapshot],
    ) -> Result<(), LogError> {
        self.open()?;
        let minutes = self.zone.minutes(time);
        let Some(segment) = &mut self.current else { return Ok(()) };
        let written = segment.recorder.record_all(time, minutes, own, others);
        let trouble = if written.is_err() { segment.recorder.trouble() } else { None };
        let Some(words) = trouble else { return written };
        let words = format!("{}: {words}; the next log begins", segment.recorder.path().display());
        self.troubles.push(words);
        // It is not completed: what is left of it stays as it is, and what waited for room is gone.
        if let Some(mut old) = self.end_segment() {
            self.before.1 = self.before.1.saturating_add(old.held());
        }
        self.open()?;
        match &mut self.current {
            Some(segment) => segment.recorder.record_all(time, minutes, own, others),
            None => Ok(()),
        }
    }

    /// Writes the records in memory, and returns when they are on the disk.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn flush(&mut self) -> Result<(), LogError> {
        self.current.as_mut().map_or(Ok(()), |segment| segment.recorder.flush())
    }

    /// Whether the next record belongs into another file.
    pub fn is_full(&mut self) -> bool {
        let rotation = self.rotation;
        self.current.as_mut().is_some_and(|segment| {
            let Segment { recorder, begun } = segment;
            rotation.is_due(recorder.bytes(), recorder.records(), begun.elapsed())
        })
    }

    /// Completes the file that is written; the next record begins another. `None` when no file is open.
    pub fn close(&mut self) -> Option<Closed> {
        let number = self.number;
        let mut recorder = self.end_segment()?;
        let (path, held) = (recorder.path().to_path_buf(), recorder.held());
        let sealed = recorder.seal();
        let (recorded, lost) = &mut self.before;
        // The last chance for records that waited for room.
        let count = if sealed.is_ok() { recorded } else { lost };
        *count = count.saturating_add(held);
        Some(Closed { number, path, sealed })
    }

    /// Ends the file that is written, and counts its records.
    fn end_segment(&mut self) -> Option<Recorder> {
        let Segment { mut recorder, .. } = self.current.take()?;
        self.number = self.number.saturating_add(1);
        let (recorded, lost) = self.before;
        let missing = recorder.held().saturating_add(recorder.lost());
        let there = recorder.records().saturating_sub(missing);
        self.before = (recorded.saturating_add(there), lost.saturating_add(recorder.lost()));
        Some(recorder)
    }

    /// What others did to files while they were recorded, since the last call.
    pub fn troubles(&mut self) -> Vec<String> {
        std::mem::take(&mut self.troubles)
    }

    /// Records in all files since the beginning, those that wait for room, and those that are lost.
    pub fn counts(&mut self) -> Counts {
        let (recorded, lost_before) = self.before;
        let Some(Segment { recorder, .. }) = &mut self.current else {
            return Counts { recorded, held: 0, lost: lost_before };
        };
        let (held, lost) = (recorder.held(), recorder.lost());
        let there = recorder.records().saturating_sub(held).saturating_sub(lost);
        Counts { recorded: recorded.saturating_add(there), held, lost: lost_before.saturating_add(lost) }
    }

    /// The number of the file that is written, or that the next record begins.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The first number that the ring keeps: files below it can go.
    pub fn first_kept(&self) -> u32 {
        self.rotation.first_kept(self.number)
    }

    /// The name that the file of a number has while it is recorded.
    pub fn path_of(&self, number: u32) -> PathBuf {
        (self.path_of)(number)
    }

    /// Bytes of the file that is written.
    pub fn bytes(&mut self) -> u64 {
        self.current.as_mut().map_or(0, |segment| segment.recorder.bytes())
    }

    /// Records in the file that is written, since it was opened here.
    pub fn records(&self) -> u64 {
        self.current.as_ref().map_or(0, |segment| segment.recorder.records())
    }
}

impl fmt::Debug for RollingRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RollingRecorder")
            .field("number", &self.number)
            .field("rotation", &self.rotation)
            .field("current", &self.current)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_full_by_size_count_or_age() {
        let second = Duration::from_secs(1);
        let none = Rotation { interval: second, ..Rotation::default() };
        assert!(!none.is_due(u64::MAX, u64::MAX, Duration::MAX));
        for (rotation, bytes, records, age, due) in [
            (Rotation { size: Some(10), ..none }, 9, 0, second, false),
            (Rotation { size: Some(10), ..none }, 10, 0, second, true),
            (Rotation { records: Some(3), ..none }, 99, 2, second, false),
            (Rotation { records: Some(3), ..none }, 99, 3, second, true),
            // The record after this one would come half an interval too late, or later.
            (Rotation { time: Some(second * 5), ..none }, 0, 0, second * 4, false),
            (Rotation { time: Some(second * 5), ..none }, 0, 0, second * 9 / 2, true),
        ] {
            assert_eq!(rotation.is_due(bytes, records, age), due, "{rotation:?}");
        }
    }

    #[test]
    fn a_ring_keeps_its_newest_files() {
        let ring = |segments| Rotation { segments, ..Rotation::default() };
        for (segments, number, first) in
            [(None, 9, 0), (Some(3), 9, 7), (Some(3), 2, 1), (Some(1), 9, 9), (Some(2), 0, 1)]
        {
            assert_eq!(ring(segments).first_kept(number), first, "{segments:?} {number}");
        }
    }
}
