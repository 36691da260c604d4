//! The recording process of a session: until it is stopped, killed, or its time is over.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tallymon::clock::{LocalZone, now};
use tallymon::core::time::UNITS_PER_SECOND;
use tallymon::log::{Format, LogError};
use tallymon::record::{convert, while_recording, write_options};
use tallymon::{Query, Recorder};

use super::settings::Settings;
use super::store::{Ask, Status, Store};
use crate::arguments::Common;
use crate::exit::{Failure, Kind};
use crate::paths;

use crate::stop::{Stop, Ticks};

/// How often a session looks whether it is asked for something.
const LOOK: Duration = Duration::from_millis(200);

/// How often it tells about itself.
const TELL: Duration = Duration::from_secs(1);

/// Records a session in this process.
pub(crate) fn run(common: &Common, store: &Store, name: &str) -> Result<(), Failure> {
    let settings = store.read(name)?;
    let Some(lock) = store.lock(name)? else {
        return Err(Failure::new(Kind::Other, format_args!("session {name:?} is recording already")));
    };
    let before = store.status(name);
    store.answered(name);
    let stop = Stop::on_signals()?;
    let started = now();
    let status = Status { process: std::process::id(), started: Some(started), ..Status::default() };
    let left = (!before.ended).then_some(before.segment).flatten();
    let mut session = Session {
        store,
        settings,
        stop,
        zone: LocalZone::system(),
        status,
        told: None,
        conversions: Vec::new(),
    };
    session.tell(true);
    let ended = session.record(common, left);
    if let Err(failure) = &ended {
        session.note(failure.message.as_deref().unwrap_or("it ended"));
    }
    session.join();
    session.status.ended = true;
    session.tell(true);
    // The lock goes last: whoever waits for it finds everything in order.
    drop(lock);
    ended
}

struct Session<'s> {
    store: &'s Store,
    settings: Settings,
    stop: Stop,
    zone: LocalZone,
    status: Status,
    told: Option<Instant>,
    /// Logs that become another format beside the recording of the next one.
    conversions: Vec<JoinHandle<Result<(), LogError>>>,
}

/// A log that is being recorded.
struct Segment {
    number: u32,
    recorder: Recorder,
    begun: Instant,
}

impl Session<'_> {
    /// Waits for the beginning, and records until the end. `left` is the log of a recorder that was killed.
    fn record(&mut self, common: &Common, left: Option<u32>) -> Result<(), Failure> {
        if !self.wait_for_beginning() {
            return Ok(());
        }
        let mut query = paths::query(common)?;
        if !self.settings.all_objects {
            paths::add_all(&mut query, &self.settings.counters)?;
        }
        fs::create_dir_all(&self.settings.folder)
            .map_err(|error| Failure::file(&self.settings.folder, &error))?;
        self.put_in_order(left);
        let begun = Instant::now();
        let mut segment = None;
        let mut number = left.unwrap_or_else(|| self.last_number().saturating_add(1));
        let mut ticks = Ticks::start(self.settings.interval);
        loop {
            if segment.is_none() {
                // A disk that is full now may have room later.
                match self.open(&query, number) {
                    Ok(opened) => segment = Some(opened),
                    Err(error) => self.note(&error.to_string()),
                }
            }
            if let Some(segment) = &mut segment {
                self.sample(&mut query, segment);
            }
            // Whoever started it waits for the first record, which may be long before the second.
            self.tell(self.settings.interval >= TELL);
            if segment.as_ref().is_some_and(|segment| self.is_full(segment)) {
                self.close(segment.take());
                number = number.saturating_add(1);
                self.drop_oldest(number);
            }
            if self.is_enough(begun) || !self.wait(ticks.next(), segment.as_mut()) {
                break;
            }
        }
        self.close(segment);
        Ok(())
    }

    fn wait_for_beginning(&self) -> bool {
        while let Some(begin) = self.settings.begin.filter(|begin| now() < *begin) {
            let left = begin.0.saturating_sub(now().0) as f64 / UNITS_PER_SECOND as f64;
            let most = LOOK.min(Duration::try_from_secs_f64(left).unwrap_or(LOOK));
            if !self.stop.wait_until(Instant::now() + most) || self.is_asked_to_stop() {
                return false;
            }
        }
        true
    }

    fn is_asked_to_stop(&self) -> bool {
        match self.store.asked(&self.settings.name) {
            Some(Ask::Stop) => true,
            Some(Ask::Flush) => {
                self.store.answered(&self.settings.name);
                false
            }
            None => false,
        }
    }

    /// Waits for the next record, and does meanwhile what it is asked for; `false` when it is to end.
    fn wait(&mut self, until: Instant, mut segment: Option<&mut Segment>) -> bool {
        loop {
            match self.store.asked(&self.settings.name) {
                Some(Ask::Stop) => return false,
                Some(Ask::Flush) => {
                    let flushed = segment.as_mut().map(|segment| segment.recorder.flush());
                    if let Some(Err(error)) = flushed {
                        self.note(&error.to_string());
                    }
                    self.tell(true);
                    self.store.answered(&self.settings.name);
                }
                None => {}
            }
            if self.settings.is_over(now()) {
                return false;
            }
            let next = until.min(Instant::now() + LOOK);
            if !self.stop.wait_until(next) {
                return false;
            }
            if Instant::now() >= until {
                return true;
            }
        }
    }

    fn open(&mut self, query: &Query, number: u32) -> Result<Segment, LogError> {
        let path = while_recording(&self.settings.segment(number), self.settings.format);
        let mut recorder = Recorder::append_to(&path, write_options(&self.zone, now()))?;
        recorder.choose(query);
        self.status.segment = Some(number);
        self.tell(true);
        Ok(Segment { number, recorder, begun: Instant::now() })
    }

    fn sample(&mut self, query: &mut Query, segment: &mut Segment) {
        let begin = now();
        let taken = if self.settings.all_objects { query.collect_everything() } else { query.collect() };
        let Some(snapshot) = query.snapshot().filter(|_| taken.is_ok()) else {
            if let Err(error) = taken {
                self.note(&error.to_string());
            }
            return;
        };
        let written = segment.recorder.record(snapshot, self.zone.minutes(begin), (begin, now()));
        self.status.records = self.status.records.saturating_add(1);
        self.status.bytes = segment.recorder.bytes();
        self.status.last = Some(begin);
        if let Err(error) = written {
            self.note(&error.to_string());
        }
    }

    /// Whether a new log is to begin.
    fn is_full(&self, segment: &Segment) -> bool {
        self.settings.rotate_size.is_some_and(|size| self.status.bytes >= size)
            || self.settings.rotate_time.is_some_and(|time| {
                // The record that would come next belongs into the next one.
                segment.begun.elapsed() + self.settings.interval / 2 >= time
            })
    }

    /// Whether all that was wanted is recorded.
    fn is_enough(&mut self, begun: Instant) -> bool {
        let settings = &self.settings;
        if settings.samples.is_some_and(|samples| self.status.records >= samples)
            || settings.duration.is_some_and(|duration| begun.elapsed() >= duration)
        {
            return true;
        }
        let Some(most) = settings.max_size else { return false };
        let bytes = self.segments().into_iter().filter_map(|(_, path)| fs::metadata(path).ok());
        let full = bytes.map(|file| file.len()).fold(0, u64::saturating_add) >= most;
        if full && self.settings.segments.is_none() {
            self.note(&format!("it has reached its size of {most} bytes, and ended"));
        } else if full {
            // A ring goes on, with its oldest log gone.
            self.remove_oldest();
            return false;
        }
        full
    }

    /// Completes a log; another format is made of it meanwhile.
    fn close(&mut self, segment: Option<Segment>) {
        let Some(Segment { number, recorder, .. }) = segment else { return };
        let recording = recorder.path().to_path_buf();
        if let Err(error) = recorder.seal() {
            self.note(&error.to_string());
        }
        self.convert(recording, number);
    }

    fn convert(&mut self, recording: PathBuf, number: u32) {
        let (output, format) = (self.settings.segment(number), self.settings.format);
        if format != Format::Tally {
            self.conversions.push(std::thread::spawn(move || convert(&recording, &output, format).map(drop)));
        }
    }

    /// The logs of the session and their numbers, in order.
    fn segments(&self) -> Vec<(u32, PathBuf)> {
        segments(&self.settings)
    }

    fn last_number(&self) -> u32 {
        self.segments().last().map_or(0, |(number, _)| *number)
    }

    /// Removes logs that are more than the ring has, with a new one of this number to come.
    fn drop_oldest(&mut self, number: u32) {
        let Some(most) = self.settings.segments else { return };
        let first = number.saturating_sub(most).saturating_add(1);
        for (_, path) in self.segments().iter().filter(|(number, _)| *number < first) {
            if let Err(error) = fs::remove_file(path) {
                self.note(&format!("{}: {error}", path.display()));
            }
        }
    }

    fn remove_oldest(&mut self) {
        let current = self.status.segment;
        let oldest = self.segments().into_iter().find(|(number, _)| Some(*number) != current);
        if let Some((_, path)) = oldest
            && let Err(error) = fs::remove_file(&path)
        {
            self.note(&format!("{}: {error}", path.display()));
        }
    }

    /// Completes recordings that a recorder before this one left, but for the one that is gone on with.
    fn put_in_order(&mut self, left: Option<u32>) {
        for (number, path) in self.segments() {
            if Some(number) == left
                || self.settings.format == Format::Tally
                || path == self.settings.segment(number)
            {
                continue;
            }
            self.convert(path, number);
        }
    }

    fn join(&mut self) {
        for conversion in self.conversions.drain(..).collect::<Vec<_>>() {
            match conversion.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.note(&error.to_string()),
                Err(_) => self.note("a log could not be made of its recording, which is still there"),
            }
        }
    }

    fn note(&mut self, words: &str) {
        self.status.errors = self.status.errors.saturating_add(1);
        self.status.last_error = Some(words.to_owned());
    }

    /// Writes the status, at most once a second unless it matters.
    fn tell(&mut self, at_once: bool) {
        if at_once || self.told.is_none_or(|told| told.elapsed() >= TELL) {
            self.told = Some(Instant::now());
            if let Err(failure) = self.store.set_status(&self.settings.name, &self.status) {
                self.note(failure.message.as_deref().unwrap_or_default());
            }
        }
    }
}

/// The logs of a session and their numbers, in order: a log and a recording that becomes it are both there until the log is
/// complete.
pub(crate) fn segments(settings: &Settings) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = fs::read_dir(&settings.folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let numbered = |path: PathBuf| Some((settings.number_of(Path::new(path.file_name()?))?, path));
    let mut found: Vec<(u32, PathBuf)> = paths.filter_map(numbered).collect();
    found.sort();
    found
}
