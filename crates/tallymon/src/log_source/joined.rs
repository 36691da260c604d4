//! Several logs on one time axis.
//!
//! A counter of a host that is in several logs is one column; where the logs overlap, the log that begins
//! first gives the values. Records of different logs that are as close as the records of the fastest log
//! are one row, so that hosts of a group do not have gaps in turn. In rows between two records of a slower
//! log its values stay. After two of its intervals without a record, or half an interval after its end,
//! they are absent. Where all logs pause that long, one row without values is in between.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tallymon_core::flow::{NoValue, SourceError, ValueState};
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};
use tallymon_log::{Column, LogClock, LogError, LogErrorKind, Notes, ReadOptions, Record};

use super::column_tree::ColumnTree;
use super::cursor::{RecordPair, SeekIndex, Wanted};
use super::met::Met;
use super::values::{HeldRow, Values};
use super::{Log, LogRow, LogSummary, Opened};

/// For how many intervals of its log a value stays while the log goes on.
const STAYS: u64 = 2;

/// Two logs that have counters of the same paths at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The log that gives the values.
    pub taken: PathBuf,
    /// The other log.
    pub other: PathBuf,
    /// How many counters are in both.
    pub counters: usize,
    /// From when on, UTC.
    pub first: FileTime,
    /// Until when, UTC.
    pub last: FileTime,
}

/// Several logs that are one.
pub(super) struct Joined {
    /// In the order of their first records.
    parts: Vec<Log>,
    /// For each column, the logs that have it and their columns, in the order of the logs.
    sources: Vec<Vec<(usize, usize)>>,
    overlaps: Vec<Overlap>,
    axis: Axis,
    rows: Mutex<Option<RowCursor>>,
    /// Held while the parts are moved to another time.
    moving: Mutex<()>,
}

/// The times of rows.
#[derive(Debug, Clone, Copy)]
struct Axis {
    first: FileTime,
    /// Time between the records of the fastest log.
    step: u64,
}

/// Walks the rows one by one.
struct RowCursor {
    merge: Merge,
    /// The time of the last row that was returned.
    given: Option<FileTime>,
}

impl Log {
    /// Opens several logs as one that has the hosts and counters of all of them, on one time axis.
    ///
    /// # Errors
    ///
    /// As [`Log::open`], for the first log that fails; or no log is named.
    pub fn open_all<P: AsRef<Path>>(paths: &[P], options: &ReadOptions) -> Result<Log, LogError> {
        let log = Log::open_all_while(paths, options, || true)?;
        log.ok_or_else(|| LogError::new(LogErrorKind::Unusable("it was not read to its end".to_string())))
    }

    /// As [`Log::open_all`], but `None` as soon as `is_wanted` returns `false`, see [`Log::open_while`].
    ///
    /// # Errors
    ///
    /// As [`Log::open_all`].
    pub fn open_all_while<P: AsRef<Path>>(
        paths: &[P],
        options: &ReadOptions,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Option<Log>, LogError> {
        let mut logs = Vec::new();
        for path in paths {
            match Log::open_while(path.as_ref(), options, &is_wanted)? {
                Some(log) => logs.push(log),
                None => return Ok(None),
            }
        }
        match (logs.pop(), logs.is_empty()) {
            (None, _) => Err(LogError::new(LogErrorKind::Request("no log was named".to_string()))),
            (Some(log), true) => Ok(Some(log)),
            (Some(log), false) => {
                logs.push(log);
                Ok(Some(joined(logs, options)?))
            }
        }
    }

    /// The joined logs, in the order of their first records; only itself for a log that was opened alone.
    pub fn parts(&self) -> &[Log] {
        match &self.opened.joined {
            Some(joined) => &joined.parts,
            None => std::slice::from_ref(self),
        }
    }

    /// Which of the logs have the same counters at the same time.
    pub fn overlaps(&self) -> &[Overlap] {
        self.opened.joined.as_ref().map_or(&[], |joined| joined.overlaps.as_slice())
    }
}

fn joined(mut parts: Vec<Log>, options: &ReadOptions) -> Result<Log, LogError> {
    parts.sort_by_key(|part| part.summary().first);
    let unusable = |error: SourceError| LogError::new(LogErrorKind::Unusable(error.to_string()));
    let mut tree = ColumnTree::new().map_err(unusable)?;
    let mut columns: Vec<Column> = Vec::new();
    let mut sources: Vec<Vec<(usize, usize)>> = Vec::new();
    for (nth, part) in parts.iter().enumerate() {
        for (at, column) in part.columns().iter().enumerate() {
            let position = columns.len();
            let known = tree.put(nth, position, column).filter(|known| *known != position);
            match known.and_then(|known| sources.get_mut(known)) {
                // One log has two columns with this path: the first is shown.
                Some(source) if source.last().is_some_and(|(last, _)| *last == nth) => {}
                Some(source) => source.push((nth, at)),
                None => {
                    columns.push(column.clone());
                    sources.push(vec![(nth, at)]);
                }
            }
        }
    }
    tree.finish();
    let first = parts.iter().map(|part| part.summary().first).min().unwrap_or_default();
    let axis = Axis { first, step: parts.iter().filter_map(step).min().unwrap_or(UNITS_PER_SECOND) };
    let last = parts.iter().map(Log::summary).max_by_key(|summary| summary.last);
    let mut notes = Notes::default();
    for known in parts.iter().map(|part| &part.summary().notes) {
        notes.damage.extend(known.damage.iter().cloned());
        notes.damage_count = notes.damage_count.saturating_add(known.damage_count);
        notes.remarks.extend(known.remarks.iter().cloned());
    }
    let one = parts.first().map(|part| &part.opened);
    let unnamed = || LogError::new(LogErrorKind::Request("no log was named".to_string()));
    let (one, last) = one.zip(last).ok_or_else(unnamed)?;
    let mut clock = LogClock::default();
    for part in &parts {
        clock.add(&part.summary().clock);
    }
    let is_of_all = |system: &_| parts.iter().all(|part| part.summary().recorded_on.as_ref() == Some(system));
    let summary = LogSummary {
        format: one.summary.format,
        records: about_rows(&parts, axis),
        first,
        last: last.last,
        is_in_order: parts.iter().all(|part| part.summary().is_in_order),
        local_minutes: last.local_minutes,
        notes,
        clock,
        hosts: tree.hosts.iter().map(|host| host.name.clone()).collect(),
        recorded_on: one.summary.recorded_on.clone().filter(is_of_all),
    };
    let opened = Opened {
        path: one.path.clone(),
        options: options.clone(),
        hosts: tree.hosts,
        own_names: tree.own_names,
        columns,
        summary,
        seeks: SeekIndex::default(),
        wanted: Mutex::new(Wanted::At(FileTime(0))),
        cursor: Mutex::new(None),
        spare: Mutex::new(None),
        met: Mutex::new(Met::default()),
        joined: Some(Joined {
            overlaps: overlaps(&parts, &sources),
            parts,
            sources,
            axis,
            rows: Mutex::new(None),
            moving: Mutex::new(()),
        }),
    };
    Ok(Log { opened: std::sync::Arc::new(opened), host: 0 })
}

/// Time between two records of a log on average; `None` for a single one.
fn step(log: &Log) -> Option<u64> {
    let summary = log.summary();
    let span = summary.last.0.saturating_sub(summary.first.0);
    span.checked_div(summary.records.saturating_sub(1)).filter(|step| *step > 0)
}

/// Whether a value of one time still holds at a later one.
fn stays(at: FileTime, time: FileTime, step: u64, goes_on: bool) -> bool {
    time.0.saturating_sub(at.0) <= how_long(step, goes_on)
}

fn how_long(step: u64, goes_on: bool) -> u64 {
    if goes_on { step.saturating_mul(STAYS) } else { step / 2 }
}

/// An estimate of the number of rows: those of the fastest log wherever some overlap.
fn about_rows(parts: &[Log], axis: Axis) -> u64 {
    let mut rows = 0u64;
    let mut group: Vec<&Log> = Vec::new();
    let last = |group: &[&Log]| group.iter().map(|part| part.summary().last).max();
    for part in parts {
        let first = part.summary().first;
        if let Some(last) = last(&group).filter(|last| *last < first) {
            let step = group.iter().filter_map(|part| step(part)).max().unwrap_or(axis.step);
            let is_gap = !stays(last, first, step, true);
            rows = rows.saturating_add(rows_of(&group, axis)).saturating_add(u64::from(is_gap));
            group.clear();
        }
        group.push(part);
    }
    rows.saturating_add(rows_of(&group, axis))
}

fn rows_of(group: &[&Log], axis: Axis) -> u64 {
    if let [one] = group {
        return one.summary().records;
    }
    let ends = |part: &&Log| [part.summary().first, part.summary().last];
    let mut times: Vec<FileTime> = group.iter().flat_map(ends).collect();
    times.sort_unstable();
    // Stretches in which one log is the fastest, and how long each is.
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for (from, to) in times.iter().zip(times.iter().skip(1)) {
        let is_there = |part: &&&Log| part.summary().first <= *from && part.summary().last >= *to;
        let step = group.iter().filter(is_there).filter_map(|part| step(part)).min().unwrap_or(axis.step);
        let long = to.0.saturating_sub(from.0);
        match stretches.last_mut().filter(|(known, _)| *known == step) {
            Some((_, sum)) => *sum = sum.saturating_add(long),
            None => stretches.push((step, long)),
        }
    }
    let rows = stretches.iter().filter_map(|(step, long)| long.checked_div(*step));
    rows.fold(1, u64::saturating_add)
}

fn overlaps(parts: &[Log], sources: &[Vec<(usize, usize)>]) -> Vec<Overlap> {
    let mut found = Vec::new();
    for (nth, one) in parts.iter().enumerate() {
        for (behind, other) in parts.iter().enumerate().skip(nth.saturating_add(1)) {
            let (ours, theirs) = (one.summary(), other.summary());
            let (first, last) = (ours.first.max(theirs.first), ours.last.min(theirs.last));
            let has = |source: &&Vec<(usize, usize)>, part: usize| source.iter().any(|(of, _)| *of == part);
            let counters = sources.iter().filter(|source| has(source, nth) && has(source, behind)).count();
            if counters > 0 && first <= last {
                let (taken, other) = (one.path().to_path_buf(), other.path().to_path_buf());
                found.push(Overlap { taken, other, counters, first, last });
            }
        }
    }
    found
}

impl Axis {
    /// The row of a time.
    fn row(self, time: FileTime) -> u64 {
        let since = time.0.saturating_sub(self.first.0).saturating_add(self.step / 2);
        since.checked_div(self.step).unwrap_or(since)
    }
}

impl Joined {
    /// Time between two records of a log.
    fn step(&self, part: &Log) -> u64 {
        step(part).unwrap_or(self.axis.step)
    }

    /// The records of all logs at a time, as one.
    pub(super) fn moment(&self, wanted: Wanted, columns: usize) -> Result<RecordPair, SourceError> {
        let time = match wanted {
            Wanted::At(time) => time.max(self.axis.first),
            Wanted::Nth(nth) => self.time_of(nth)?,
        };
        let _moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing =
            || Record { time: FileTime(0), local_minutes: 0, cells: vec![Err(NoValue::NoInstance); columns] };
        let (mut older, mut newer) = (nothing(), nothing());
        let (mut marks, mut texts) = (Vec::new(), Vec::new());
        let mut is_taken = vec![false; columns];
        for (nth, part) in self.parts.iter().enumerate() {
            part.set_time(time);
            let (step, last) = (self.step(part), part.summary().last);
            part.at(|moment| {
                let Some(at) = moment.time() else { return };
                if at > time || !stays(at, time, step, at < last) {
                    return;
                }
                newer.time = newer.time.max(at);
                let places = self.sources.iter().zip(older.cells.iter_mut().zip(&mut newer.cells));
                for (all, ((source, (older, newer)), is_taken)) in places.zip(&mut is_taken).enumerate() {
                    let Some((_, column)) = source.iter().find(|(of, _)| *of == nth) else { continue };
                    if !std::mem::replace(is_taken, true) {
                        let (before, now) = moment.samples(*column);
                        (*older, *newer) = (before.ok_or(NoValue::FirstSample), now);
                        let mark = moment.mark(*column);
                        if mark != ValueState::Present {
                            marks.push((all, mark));
                        }
                        texts.extend(moment.text(*column).map(|text| (all, text.to_string())));
                    }
                }
            })?;
        }
        if newer.time == FileTime(0) {
            newer.time = time;
        }
        marks.sort_unstable_by_key(|(column, _)| *column);
        texts.sort_unstable_by_key(|(column, _)| *column);
        Ok(RecordPair { older: Some(older), newer: Some(newer), marks, texts })
    }

    /// The time of the row of a number, from 0, or of the last row.
    fn time_of(&self, nth: u64) -> Result<FileTime, SourceError> {
        let last = self.parts.iter().map(|part| part.summary().last).max().unwrap_or_default();
        if nth == u64::MAX {
            return Ok(last);
        }
        let mut merge = self.merge(&[], FileTime(0), &|| true)?;
        let (mut before, mut time) = (0u64, last);
        while let Some(next) = merge.next()? {
            time = next;
            if before >= nth {
                break;
            }
            before = before.saturating_add(1);
        }
        Ok(time)
    }

    /// Rows of these columns, from some row before a time on.
    fn merge(
        &self,
        columns: &[usize],
        from: FileTime,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Merge, SourceError> {
        let mut inputs = Vec::new();
        let mut places: Vec<Vec<(usize, usize)>> = vec![Vec::new(); columns.len()];
        for (nth, part) in self.parts.iter().enumerate() {
            let mut own = Vec::new();
            for (column, places) in columns.iter().zip(&mut places) {
                let sources = self.sources.get(*column).map_or(&[][..], Vec::as_slice);
                if let Some((_, at)) = sources.iter().find(|(of, _)| *of == nth) {
                    places.push((nth, own.len()));
                    own.push(*at);
                }
            }
            let mut values = part.values(own, from, is_wanted)?;
            let next = values.next()?;
            inputs.push(Input { values, next, at: None, held: HeldRow::default(), step: self.step(part) });
        }
        Ok(Merge {
            inputs,
            places,
            axis: self.axis,
            is_taken: Vec::new(),
            row: HeldRow::default(),
            is_gap: false,
        })
    }

    /// As [`Log::read_from`].
    pub(super) fn read_from(
        &self,
        columns: &[usize],
        from: FileTime,
        is_wanted: impl Fn() -> bool,
        mut each: impl FnMut(FileTime, LogRow<'_>) -> bool,
    ) -> Result<(), SourceError> {
        let mut merge = self.merge(columns, from, &is_wanted)?;
        while let Some(time) = merge.next()? {
            if !each(time, merge.values(time)) {
                break;
            }
        }
        for input in merge.inputs {
            let part = input.values.log().clone();
            part.keep(input.values);
        }
        Ok(())
    }

    /// As [`Log::advance`], with rows in place of records.
    pub(super) fn advance(
        &self,
        from: FileTime,
        to: FileTime,
        every: u64,
    ) -> Result<Option<FileTime>, SourceError> {
        let mut rows = self.rows();
        let walk = match &mut *rows {
            Some(walk) => walk,
            none => none.insert(RowCursor { merge: self.merge(&[], from, &|| true)?, given: None }),
        };
        while let Some(time) = walk.merge.next()? {
            let is_soon = |before: FileTime| time >= before && time.0.saturating_sub(before.0) < every;
            if time >= from && time <= to && !walk.given.is_some_and(is_soon) {
                walk.given = Some(time);
                return Ok(Some(time));
            }
        }
        Ok(None)
    }

    /// As [`Log::rewind`].
    pub(super) fn rewind(&self) {
        *self.rows() = None;
    }

    fn rows(&self) -> MutexGuard<'_, Option<RowCursor>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The records of all logs in the order of their times.
struct Merge {
    inputs: Vec<Input>,
    /// For each column the logs that have it, with the position among the columns that are read of each log.
    places: Vec<Vec<(usize, usize)>>,
    axis: Axis,
    /// Which logs have a record in the row.
    is_taken: Vec<bool>,
    /// The row is for a pause without records.
    is_gap: bool,
    row: HeldRow,
}

/// A log that is being read.
struct Input {
    values: Values,
    /// The time of its next record, whose values are read already.
    next: Option<FileTime>,
    /// Its last record.
    at: Option<FileTime>,
    held: HeldRow,
    step: u64,
}

impl Merge {
    /// Goes to the next row and returns its time, that of the last record in it.
    fn next(&mut self) -> Result<Option<FileTime>, SourceError> {
        self.is_gap = !self.is_gap && self.pauses();
        if self.is_gap {
            return Ok(self.ends(|input| how_long(input.step, input.next.is_some())));
        }
        self.is_taken.clear();
        self.is_taken.resize(self.inputs.len(), false);
        let mut row: Option<(u64, FileTime)> = None;
        loop {
            let times = self.inputs.iter().enumerate().filter_map(|(nth, input)| Some((input.next?, nth)));
            let Some((time, nth)) = times.min() else { break };
            let Some((input, is_taken)) = self.inputs.get_mut(nth).zip(self.is_taken.get_mut(nth)) else {
                break;
            };
            let this = self.axis.row(time);
            if *is_taken || row.is_some_and(|(row, _)| row != this) {
                break;
            }
            *is_taken = true;
            row = Some((this, row.map_or(time, |(_, last)| last.max(time))));
            input.at = Some(time);
            input.values.take_row(&mut input.held);
            input.next = input.values.next()?;
        }
        Ok(row.map(|(_, time)| time))
    }

    /// Whether all logs pause so long that a row without values belongs between the last row and the next.
    fn pauses(&self) -> bool {
        let next = self.inputs.iter().filter_map(|input| input.next).min();
        let last = self.ends(|input| how_long(input.step, true));
        next.zip(last).is_some_and(|(next, last)| next > last)
    }

    /// The time after which no values hold, if those of each log stay for `long`.
    fn ends(&self, long: impl Fn(&Input) -> u64) -> Option<FileTime> {
        let ends = self.inputs.iter().filter_map(|input| Some(input.at?.0.saturating_add(long(input))));
        ends.max().map(|end| FileTime(end.saturating_add(1)))
    }

    /// The values of the row.
    fn values(&mut self, time: FileTime) -> LogRow<'_> {
        self.row.values.clear();
        self.row.partial.clear();
        for (column, places) in self.places.iter().enumerate() {
            let held = |(nth, place): &(usize, usize)| {
                let row = self.inputs.get(*nth)?.held(time)?;
                let partial = row.partial.binary_search_by_key(place, |(place, _)| *place).ok();
                let partial = partial.and_then(|at| row.partial.get(at)).map(|(_, sum)| *sum);
                Some((row.values.get(*place)?.clone(), partial))
            };
            let (value, partial) = places.iter().find_map(held).unwrap_or((Err(NoValue::NoInstance), None));
            self.row.values.push(value);
            self.row.partial.extend(partial.map(|sum| (column, sum)));
        }
        self.row.as_row()
    }
}

impl Input {
    /// The values of its last record, if they still hold at a time.
    fn held(&self, time: FileTime) -> Option<&HeldRow> {
        stays(self.at?, time, self.step, self.next.is_some()).then_some(&self.held)
    }
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").field("parts", &self.parts).field("axis", &self.axis).finish_non_exhaustive()
    }
}
