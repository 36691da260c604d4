//! A publication: the objects of one program, and the copy of its values.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::copy::{Copied, MAX_AGAIN, copy};
use super::file::SharedFile;
use super::instance::{InstanceRef, Instances};
use super::parse::{Extent, Head, check_header, parse_extent, parse_instance, program_name};
use super::refusal::RefusalReason;
use super::room::{Rooms, Share, is_own};
use super::slots::{Live, Slots};
use crate::shm::bytes::{FormatError, Part};
use crate::shm::definition::{ObjectDefinition, decode};
use crate::shm::layout::{MAX_FILE, extent, header, instance};
use crate::shm::process::{Watch, belongs_to, is_running, perf_nanoseconds, watch};

/// Two ranges that are nearer than this are copied as one: a system call costs more than the bytes between.
const MERGE: usize = 8192;

/// The same in a mapped file, where only the bytes cost.
const MERGE_MAPPED: usize = 64;

/// How often a file is read before it is mapped: a program that takes one or two samples does without.
const READS_BEFORE_MAPPING: u64 = 2;

/// How many names are copied at once when one is new: 16 KiB.
const NAMES_AT_ONCE: usize = 64;

/// What one program publishes.
#[derive(Debug)]
pub struct Publication {
    path: PathBuf,
    directory: usize,
    file: SharedFile,
    /// Tells when the process ends.
    watch: Option<Watch>,
    /// Owner of the file, and one of the users of its process.
    user: u32,
    /// The memory that it may take.
    share: Share,
    /// Whether its process has ended; its last values are kept then.
    ended: bool,
    pid: u32,
    start: u64,
    name: String,
    objects: Vec<ObjectDefinition>,
    /// The copy of the file, at the same offsets.
    image: Vec<u8>,
    /// How much of the file is known.
    used: usize,
    /// How much of it was known when it was to be mapped.
    mapped: usize,
    extents: Vec<Extent>,
    /// What to copy for new values.
    ranges: Vec<Range<usize>>,
    /// The slots of each object.
    slots: Vec<Slots>,
    time: u64,
    cost: ReadCost,
    /// Why it can no longer be read.
    fault: Option<RefusalReason>,
}

/// The cost of reading a publication so far; opening it counts as the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadCost {
    /// How often it was read.
    pub times: u64,
    /// How long that took altogether.
    pub total: Duration,
    /// How long it took the last time.
    pub last: Duration,
}

impl ReadCost {
    /// Once more, in so much time.
    fn note(&mut self, took: Duration) {
        self.last = took;
        self.total = self.total.saturating_add(self.last);
        self.times = self.times.saturating_add(1);
    }
}

impl Publication {
    /// Opens a file and reads its definitions.
    pub(super) fn open(
        path: &Path,
        directory: usize,
        rooms: &mut Rooms,
    ) -> Result<Publication, RefusalReason> {
        let start_of_reading = perf_nanoseconds();
        let (mut file, owner) = SharedFile::open(path)?;
        let mut image = vec![0; header::SIZE];
        file.read_exact(&mut image, 0)?;
        let head = Part::new(&image, 0);
        let Head { version, keep, pid, start, definitions: length, objects: n_objects, used } =
            check_header(head)?;
        // Open the descriptor first, then compare the start time: the id cannot pass to another process in
        // between.
        let watch = watch(pid);
        let has_ended = || !is_running(pid, start, path);
        let mut ended = has_ended();
        if !ended && !belongs_to(pid, owner) {
            // Or it has ended between the two questions, and has no users any more.
            ended = has_ended();
            if !ended {
                return Err(RefusalReason::WrongOwner { pid, owner });
            }
        }
        if ended && !keep {
            return Err(RefusalReason::Dead { pid });
        }
        let name = program_name(head)?;
        // Read again: the file may have grown since it was opened, and the header is newer.
        let size = file.length()?;
        let end = header::SIZE.saturating_add(length);
        let first_extent = end.next_multiple_of(extent::VALUES);
        let mut share = rooms.share(owner);
        if first_extent > used || used > size.min(MAX_FILE) {
            let found = u64::try_from(used).unwrap_or(u64::MAX);
            let needed = "at least the definitions, at most the length of the file";
            return Err(FormatError { what: "used length", at: header::USED, needed, found }.into());
        }
        // Nothing more is read before there is room for all that the file says it has.
        if !share.reach(used) {
            return Err(RefusalReason::TooLarge { bytes: used, user: owner });
        }
        image.resize(first_extent, 0);
        file.read_exact(image.get_mut(header::SIZE..).unwrap_or_default(), header::SIZE)?;
        let definitions = Part::new(&image, 0).part(header::SIZE, length, "definitions")?;
        let objects = decode(definitions, n_objects, version)?;
        let slots = objects.iter().map(Slots::new).collect();
        let mut publication = Publication {
            path: path.to_path_buf(),
            directory,
            file,
            watch: watch.filter(|_| !ended),
            user: owner,
            share,
            ended,
            pid,
            start,
            name,
            objects,
            image,
            used: first_extent,
            mapped: 0,
            extents: Vec::new(),
            ranges: Vec::new(),
            slots,
            time: 0,
            cost: ReadCost::default(),
            fault: None,
        };
        publication.plan();
        let end = publication.read_now()?;
        publication.cost.note(Duration::from_nanos(end.saturating_sub(start_of_reading)));
        Ok(publication)
    }

    /// Reads all values. False when that is not possible any longer; the next [`super::Reader::scan`] drops
    /// it then.
    pub fn read(&mut self) -> bool {
        if self.fault.is_some() {
            return false;
        }
        self.read_from(perf_nanoseconds());
        self.fault.is_none()
    }

    /// Reads all values, from a time of the performance clock on; returns when that was done.
    pub(super) fn read_from(&mut self, start: u64) -> u64 {
        if self.fault.is_some() {
            return start;
        }
        // A file of another user may be cut at any time, and only `pread` depends on nobody's signal handler.
        if self.cost.times >= READS_BEFORE_MAPPING && self.mapped != self.used && is_own(self.user) {
            self.file.map(self.used);
            self.mapped = self.used;
            self.plan();
        }
        let end = self.read_now().unwrap_or_else(|reason| {
            self.fault = Some(reason);
            for slots in &mut self.slots {
                slots.live.clear();
            }
            perf_nanoseconds()
        });
        self.cost.note(Duration::from_nanos(end.saturating_sub(start)));
        end
    }

    /// The cost of reading it.
    pub const fn cost(&self) -> ReadCost {
        self.cost
    }

    /// Why it can no longer be read; the next [`Reader::scan`] turns it into a refusal.
    ///
    /// [`Reader::scan`]: super::Reader::scan
    pub const fn fault(&self) -> Option<&RefusalReason> {
        self.fault.as_ref()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of the process.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Number of the user that the file belongs to, who is a user of its process: real, effective, saved, or
    /// for files.
    pub const fn user(&self) -> u32 {
        self.user
    }

    /// Whether its process has ended: its values are the last ones, kept as the program requested.
    pub const fn is_stale(&self) -> bool {
        self.ended
    }

    /// Name of the program, as it calls itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its objects.
    pub fn objects(&self) -> &[ObjectDefinition] {
        &self.objects
    }

    /// When its values were read: units of 100 ns since the machine started.
    pub const fn time(&self) -> u64 {
        self.time
    }

    /// The instances of the object at a position, as of the last reading. An object without instances has
    /// one, without a name, if its program created it.
    pub fn instances(&self, object: usize) -> impl ExactSizeIterator<Item = InstanceRef<'_>> {
        Instances::new(self, &self.image, self.slots.get(object).zip(self.objects.get(object)))
    }

    pub(super) fn slots(&self, object: usize) -> Option<&Slots> {
        self.slots.get(object)
    }

    /// To ask for the end of the process; `None` when that is not possible, or when the end is known.
    pub(super) const fn watch(&self) -> Option<&Watch> {
        self.watch.as_ref()
    }

    /// Whether the system says that the process has ended.
    pub(super) fn is_gone(&self) -> bool {
        !is_running(self.pid, self.start, &self.path)
    }

    /// Stores whether the process has ended, and returns whether the publication is still to be read.
    pub(super) fn goes_on(&mut self, gone: bool) -> bool {
        if gone && !self.ended {
            self.watch = None;
            self.ended = self.keeps();
        }
        (!gone || self.ended) && self.fault.is_none()
    }

    /// Why it can no longer be read.
    pub(super) fn take_fault(&mut self) -> Option<RefusalReason> {
        self.fault.take()
    }

    /// Position of its directory among the reader's directories.
    pub(super) const fn directory(&self) -> usize {
        self.directory
    }

    /// Whether the values stay after the process has ended, by the header as last read.
    fn keeps(&mut self) -> bool {
        // The program may have requested it after the last reading.
        if copy(&self.file, &mut self.image, 0, header::NAME).is_err() {
            return false;
        }
        let head = Part::new(&self.image, 0).part(0, header::SIZE, "header");
        head.and_then(check_header).is_ok_and(|head| head.keep)
    }

    /// Reads all values, and returns when that was done.
    fn read_now(&mut self) -> Result<u64, RefusalReason> {
        // Follows a publication that grows while it is read; one that never stops growing reaches its 64 MiB
        // soon.
        loop {
            for range in &self.ranges {
                let part = self.image.get_mut(range.clone()).unwrap_or_default();
                self.file.read_exact(part, range.start)?;
            }
            let used = Part::new(&self.image, 0).long(header::USED, "used length")?;
            if used == self.used {
                break;
            }
            self.follow(used)?;
        }
        let as_before = self.slots.iter().all(|slots| slots.all_as_before(&self.image));
        let now = perf_nanoseconds();
        self.time = now / 100;
        if as_before {
            return Ok(now);
        }
        self.file.still_has(self.used)?;
        self.look_at_slots()?;
        Ok(perf_nanoseconds())
    }

    /// Adds new extents.
    fn follow(&mut self, used: usize) -> Result<(), RefusalReason> {
        let size = self.file.length()?;
        if used < self.used || used > size.min(MAX_FILE) {
            let found = u64::try_from(used).unwrap_or(u64::MAX);
            let needed = "never less than before, at most the length of the file";
            return Err(FormatError { what: "used length", at: header::USED, needed, found }.into());
        }
        if !self.share.reach(used) {
            return Err(RefusalReason::TooLarge { bytes: used, user: self.user });
        }
        let mut at = self.used;
        while at < used {
            // The head first: a file that is one large hole costs the reading of one head.
            let head = at.saturating_add(extent::VALUES).min(used);
            self.image.resize(head, 0);
            self.file.read_exact(self.image.get_mut(at..).unwrap_or_default(), at)?;
            let part = Part::new(&self.image, 0).after(at, "extent")?;
            let n_known = |object: usize| self.slots.get(object).map(|slots| slots.known.len());
            let extent = parse_extent(part, at, used.saturating_sub(at), &self.objects, n_known)?;
            self.image.resize(extent.end, 0);
            self.file.read_exact(self.image.get_mut(head..).unwrap_or_default(), head)?;
            if let Some(slots) = self.slots.get_mut(extent.object) {
                slots.add(extent);
            }
            at = extent.end;
            self.extents.push(extent);
        }
        self.used = used;
        self.plan();
        Ok(())
    }

    /// Builds the list of ranges to copy: the numbers of the header that change, and the values of each
    /// extent.
    fn plan(&mut self) {
        let merge = if self.file.is_mapped() { MERGE_MAPPED } else { MERGE };
        let mut ranges: Vec<Range<usize>> = Vec::new();
        ranges.push(0..header::NAME);
        for extent in &self.extents {
            let end = extent.values_end();
            match ranges.last_mut() {
                Some(last) if extent.values.saturating_sub(last.end) <= merge => last.end = end,
                _ => ranges.push(extent.values..end),
            }
        }
        self.ranges = ranges;
    }

    /// Finds the slots that have an instance, and copies again what was just being written, and names that
    /// are new.
    fn look_at_slots(&mut self) -> Result<(), RefusalReason> {
        let mut again = MAX_AGAIN;
        for (object, slots) in self.slots.iter_mut().enumerate() {
            if slots.all_as_before(&self.image) {
                continue;
            }
            slots.live.clear();
            let named = self.objects.get(object).is_some_and(|definition| definition.has_instances);
            for position in 0..slots.extents.len() {
                let Some(extent) = slots.extents.get(position).copied() else { break };
                look_at_extent(&self.file, &mut self.image, slots, &extent, named, &mut again)?;
            }
        }
        Ok(())
    }
}

/// Sees which slots of an extent have an instance.
fn look_at_extent(
    file: &SharedFile,
    image: &mut [u8],
    slots: &mut Slots,
    extent: &Extent,
    named: bool,
    again: &mut u32,
) -> Result<(), RefusalReason> {
    let Slots { uses, known, live, checked, .. } = slots;
    let uses = uses.get_mut(extent.numbers()).unwrap_or_default();
    let known = known.get_mut(extent.numbers()).unwrap_or_default();
    // Names that are new are copied some at a time: up to this slot they are.
    let mut copied_up_to = 0usize;
    for (position, (seen, known)) in uses.iter_mut().zip(known).enumerate() {
        let values = extent.values.saturating_add(position.saturating_mul(extent.stride));
        *seen = 0;
        let copied = Copied { file, image, at: values, stride: extent.stride, checked };
        let Some(settled) = copied.settle(again)? else { continue };
        let number = settled.number;
        if number % 2 == 1 && number != known.number {
            let at = extent.names.saturating_add(position.saturating_mul(instance::SIZE));
            if position >= copied_up_to {
                let n = extent.slots.saturating_sub(position).min(NAMES_AT_ONCE);
                copy(file, image, at, n.saturating_mul(instance::SIZE))?;
                copied_up_to = position.saturating_add(n);
            }
            let record = Part::new(image, 0).part(at, instance::SIZE, "instance")?;
            // An instance that is replaced at this moment is seen at the next reading.
            let Some(new) = parse_instance(record, number, named)? else { continue };
            *known = new;
        }
        *seen = number;
        if number % 2 == 1 {
            live.push(Live { number: extent.first.saturating_add(position), values, whole: settled.whole });
        }
    }
    Ok(())
}
