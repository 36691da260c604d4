//! The recorder of a session: it records until it is stopped, killed, or its time is over.

use std::fs;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tallymon_core::time::{FileTime, UNITS_PER_SECOND};
use tallymon_log::new_file::Overwrite;
use tallymon_log::{Format, LogError};

use super::SessionError;
use super::alert::{Alert, Seen, Watch};
use super::remotes::Remotes;
use super::settings::SessionSettings;
use super::socket::Shared;
use super::status::SessionStatus;
use super::store::SessionStore;
use super::uploads::{AT_THE_END, Uploads};
use crate::clock::{LocalZone, now};
use crate::query::Query;
use crate::record::{Counts, Existing, RollingRecorder, convert, while_recording};
use crate::timer::Ticks;

/// How often a recorder looks whether it is asked for something.
const LOOK: Duration = Duration::from_millis(200);

/// How often a recorder writes its status.
const STATUS_PERIOD: Duration = Duration::from_secs(1);

/// How often a recorder looks for counters that were missing. That opens the source again.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// How many hosts a status names.
const NAMED_HOSTS: usize = 50;

/// What a session records of this machine.
pub struct SessionQuery {
    /// The counters that are here.
    pub query: Query,
    /// How many are not here, and are looked for while the session runs.
    pub missing: usize,
}

impl From<Query> for SessionQuery {
    /// Nothing is missing.
    fn from(query: Query) -> SessionQuery {
        SessionQuery { query, missing: 0 }
    }
}

/// What the caller of [`record`] does for a session. `()` does nothing. What goes wrong is returned in words,
/// and becomes part of the status.
pub trait SessionActions {
    /// Does what the settings say when an alert begins or ends.
    ///
    /// # Errors
    ///
    /// What could not be done.
    fn act(&mut self, _settings: &SessionSettings, _alert: &Alert) -> Result<(), String> {
        Ok(())
    }

    /// Sends the newest sample of a query, which was taken at `time`; called for a session with a receiver.
    ///
    /// # Errors
    ///
    /// What went wrong since the call before.
    fn send(&mut self, _settings: &SessionSettings, _query: &Query, _time: FileTime) -> Result<(), String> {
        Ok(())
    }

    /// The session takes no more samples: sends what waits.
    ///
    /// # Errors
    ///
    /// What was not sent.
    fn finish(&mut self, _settings: &SessionSettings) -> Result<(), String> {
        Ok(())
    }
}

impl SessionActions for () {}

/// Records a session in this process, until somebody stops it, or its time is over.
///
/// `open` opens the query, with the counters of the settings in it; it is called when the begin has come, and
/// again from time to time as long as counters are missing.
/// `actions` does what the settings say about alerts and sending.
/// `wait` waits until a time, and returns `false` when the recording is to end, as after Ctrl-C.
///
/// Errors of single records and logs do not end it: they are in the [status](SessionStatus) of the session.
///
/// # Errors
///
/// The session is not there or is recording already, or `open` failed.
pub fn record(
    store: &SessionStore,
    name: &str,
    open: impl FnMut(&SessionSettings) -> Result<SessionQuery, SessionError>,
    mut actions: impl SessionActions,
    mut wait: impl FnMut(Instant) -> bool,
) -> Result<(), SessionError> {
    let settings = store.read(name)?;
    let Some(lock) = store.lock(name)? else {
        return Err(SessionError::Recording(name.to_owned()));
    };
    let before = store.status(name);
    store.answered(name);
    let started = now();
    let status = SessionStatus {
        process: std::process::id(),
        started: Some(started),
        latest_alerts: before.latest_alerts,
        ..SessionStatus::default()
    };
    let unfinished = (!before.ended).then_some(before.segment).flatten();
    let shared = Shared::default();
    shared.set(&status);
    // Without it the status is in its file only.
    let listener = store.listen(name, shared.clone());
    let mut run = Run {
        store,
        settings,
        actions: &mut actions,
        wait: &mut wait,
        status,
        shared,
        written: None,
        conversions: Vec::new(),
        uploads: None,
        taken: 0,
    };
    run.write_status(true);
    let ended = run.record(open, unfinished);
    if let Err(error) = &ended {
        run.note(&error.to_string());
    }
    if let Err(words) = run.actions.finish(&run.settings) {
        run.note(&words);
    }
    run.join_conversions();
    run.status.ended = true;
    run.write_status(true);
    drop(listener);
    // The lock goes last: everything is in order for whoever waits for it.
    drop(lock);
    ended
}

/// The counters of a session, looked for again as long as some are missing.
struct Counters {
    settings: SessionSettings,
    found: SessionQuery,
    looked: Instant,
}

impl Counters {
    fn open(
        settings: SessionSettings,
        open: &mut dyn FnMut(&SessionSettings) -> Result<SessionQuery, SessionError>,
    ) -> Result<Counters, SessionError> {
        let found = open(&settings)?;
        Ok(Counters { settings, found, looked: Instant::now() })
    }

    /// Looks again for those that were missing; whether there are more now.
    fn look_again(
        &mut self,
        open: &mut dyn FnMut(&SessionSettings) -> Result<SessionQuery, SessionError>,
    ) -> bool {
        if self.found.missing == 0 || self.looked.elapsed() < LOOK_AGAIN {
            return false;
        }
        self.looked = Instant::now();
        // A source that does not open now may do so the next time; until then the old one serves.
        match open(&self.settings) {
            Ok(newer) if newer.missing < self.found.missing => {
                self.found = newer;
                true
            }
            _ => false,
        }
    }
}

struct Run<'s> {
    store: &'s SessionStore,
    settings: SessionSettings,
    actions: &'s mut dyn SessionActions,
    wait: &'s mut dyn FnMut(Instant) -> bool,
    status: SessionStatus,
    /// The status as others get it by the socket, and whether they asked to stop there.
    shared: Shared,
    /// When the status was written.
    written: Option<Instant>,
    /// Records that were taken, whether or not they could be written.
    taken: u64,
    /// Recordings that become logs of another format, beside the recording of the next one.
    conversions: Vec<JoinHandle<Result<(), LogError>>>,
    /// Recordings that wait for object storage.
    uploads: Option<Uploads>,
}

impl Run<'_> {
    /// Waits for the begin, and records until the end. `unfinished` is the log of a recorder that was killed.
    fn record(
        &mut self,
        mut open: impl FnMut(&SessionSettings) -> Result<SessionQuery, SessionError>,
        unfinished: Option<u32>,
    ) -> Result<(), SessionError> {
        if !self.wait_for_begin() {
            return Ok(());
        }
        let mut watched = match self.settings.alerts.is_empty() {
            true => None,
            false => {
                let counters = Counters::open(self.settings.of_alerts(), &mut open)?;
                Some((counters, Watch::new(self.settings.alerts.clone())))
            }
        };
        let mut remotes = Remotes::start(&self.settings)
            .map_err(|words| SessionError::Recorder(self.settings.name.clone(), words))?;
        let mut sampled = match self.settings.takes_samples() {
            true => Some(self.begin_sampling(&mut open, unfinished)?),
            false => None,
        };
        let begun = Instant::now();
        let mut ticks = Ticks::start(self.settings.interval);
        loop {
            if let Some((counters, recorder)) = &mut sampled {
                if counters.look_again(&mut open)
                    && let Some(recorder) = recorder
                {
                    recorder.choose(&counters.found.query);
                }
                self.sample_once(&mut counters.found.query, remotes.as_mut(), recorder.as_mut());
            }
            if let Some((counters, watch)) = &mut watched {
                counters.look_again(&mut open);
                self.watch_once(&mut counters.found.query, watch);
            }
            // `start` waits for the first record, which may come long before the second.
            self.write_status(self.settings.interval >= STATUS_PERIOD);
            if let Some((_, Some(recorder))) = &mut sampled
                && recorder.is_full()
            {
                self.close(recorder);
                self.remove_before(recorder.first_kept());
            }
            if self.is_enough(begun) || !self.wait(ticks.next()) {
                break;
            }
        }
        if let Some((_, Some(recorder))) = &mut sampled {
            self.close(recorder);
        }
        Ok(())
    }

    fn begin_sampling(
        &mut self,
        open: &mut dyn FnMut(&SessionSettings) -> Result<SessionQuery, SessionError>,
        unfinished: Option<u32>,
    ) -> Result<(Counters, Option<RollingRecorder>), SessionError> {
        let counters = Counters::open(self.settings.clone(), open)?;
        if !self.settings.records() {
            return Ok((counters, None));
        }
        let folder = self.settings.log_folder();
        fs::create_dir_all(&folder).map_err(|error| SessionError::file(&folder, error))?;
        self.uploads = self.settings.lake.clone().map(|lake| Uploads::new(lake, self.settings.max_size));
        self.convert_leftovers(unfinished);
        let mut recorder = self.recorder(unfinished);
        recorder.choose(&counters.found.query);
        Ok((counters, Some(recorder)))
    }

    /// Takes a sample, and records and sends it.
    fn sample_once(
        &mut self,
        query: &mut Query,
        remotes: Option<&mut Remotes>,
        mut recorder: Option<&mut RollingRecorder>,
    ) {
        if query.awaits_paths()
            && !query.add_awaited().is_empty()
            && let Some(recorder) = &mut recorder
        {
            recorder.choose(query);
        }
        // A disk that is full now may have room later; a receiver gets the sample all the same.
        let opened = recorder.as_mut().map(|recorder| recorder.open());
        match opened {
            Some(Ok(())) => {
                let number = recorder.as_ref().map(|recorder| recorder.number());
                number.into_iter().for_each(|number| self.begin_segment(number));
            }
            Some(Err(error)) => {
                self.note(&error.to_string());
                recorder = None;
            }
            None => {}
        }
        if recorder.is_some() || self.settings.otlp.is_some() {
            self.sample(query, remotes, recorder);
        }
    }

    /// Takes a sample of the counters with limits, and does what the alerts want that begin or end with it.
    fn watch_once(&mut self, query: &mut Query, watch: &mut Watch) {
        if query.awaits_paths() {
            query.add_awaited();
        }
        let time = match query.collect() {
            Ok(time) => time,
            Err(error) => return self.note(&error.to_string()),
        };
        if !self.settings.takes_samples() {
            self.taken = self.taken.saturating_add(1);
            (self.status.records, self.status.last) = (self.taken, Some(time));
        }
        for alert in watch.take(time, &Seen::of(query)) {
            if let Err(words) = self.actions.act(&self.settings, &alert) {
                self.note(&words);
            }
            self.status.add_alert(alert);
        }
        self.shared.set(&self.status);
    }

    /// The recorder of the logs: it continues the unfinished one, or begins one behind the last.
    fn recorder(&self, unfinished: Option<u32>) -> RollingRecorder {
        let last = || self.settings.logs().last().map_or(0, |(number, _)| *number);
        let first = unfinished.unwrap_or_else(|| last().saturating_add(1));
        let settings = self.settings.clone();
        let path_of = move |number| while_recording(&settings.segment(number), settings.format);
        let rotation = self.settings.rotation();
        let mut recorder =
            RollingRecorder::new(path_of, first, Existing::Append, rotation, LocalZone::system());
        recorder.sync_every(self.settings.sync);
        recorder
    }

    fn wait_for_begin(&mut self) -> bool {
        while let Some(begin) = self.settings.begin.filter(|begin| now() < *begin) {
            let left = begin.0.saturating_sub(now().0) as f64 / UNITS_PER_SECOND as f64;
            let most = LOOK.min(Duration::try_from_secs_f64(left).unwrap_or(LOOK));
            if !(self.wait)(Instant::now() + most) || self.is_asked_to_stop() {
                return false;
            }
        }
        true
    }

    fn is_asked_to_stop(&self) -> bool {
        self.shared.is_asked_to_stop() || self.store.is_asked_to_stop(&self.settings.name)
    }

    /// Waits for the next record; `false` when the recorder is to end.
    fn wait(&mut self, until: Instant) -> bool {
        loop {
            self.upload(Uploads::poll);
            if self.is_asked_to_stop() || self.settings.is_over(now()) {
                return false;
            }
            let next = until.min(Instant::now() + LOOK);
            if !(self.wait)(next) {
                return false;
            }
            if Instant::now() >= until {
                return true;
            }
        }
    }

    /// Notes which log is written, before its first record.
    fn begin_segment(&mut self, number: u32) {
        if self.status.segment != Some(number) {
            self.status.segment = Some(number);
            self.write_status(true);
        }
    }

    fn sample(
        &mut self,
        query: &mut Query,
        mut remotes: Option<&mut Remotes>,
        mut recorder: Option<&mut RollingRecorder>,
    ) {
        let begin = now();
        remotes.iter_mut().for_each(|hosts| hosts.tick());
        let own = self.sample_here(query).map(|time| (time, (begin, now())));
        let mut others = Vec::new();
        if let Some(hosts) = &mut remotes {
            hosts.gather(self.settings.interval);
            let choices = hosts.take_choices();
            if let Some(recorder) = &mut recorder {
                choices.into_iter().for_each(|choice| recorder.choose_of_host(choice));
            }
            others = hosts.take_samples();
            self.note_hosts(hosts, own.is_some() || !others.is_empty());
        }
        if own.is_none() && others.is_empty() {
            return;
        }
        self.taken = self.taken.saturating_add(1);
        self.status.last = Some(begin);
        if let Some((time, _)) = own
            && self.settings.otlp.is_some()
            && let Err(words) = self.actions.send(&self.settings, query, time)
        {
            self.note(&words);
        }
        let Some(recorder) = recorder else {
            if !self.settings.records() {
                self.status.records = self.taken;
            }
            return self.shared.set(&self.status);
        };
        let own = query.snapshot().zip(own.map(|(_, window)| window));
        let written = recorder.record_all(begin, own, &others);
        for words in recorder.troubles() {
            self.note(&words);
        }
        self.begin_segment(recorder.number());
        if let Err(error) = written {
            self.note(&error.to_string());
        }
        self.count(recorder);
    }

    /// Takes a sample of this machine, if the session has counters here, and returns its time.
    fn sample_here(&mut self, query: &mut Query) -> Option<FileTime> {
        let everything = self.settings.all_objects && self.settings.samples_this_machine();
        // Without a path a recorder would write everything.
        if !everything && query.chosen().is_empty() {
            return None;
        }
        match if everything { query.collect_everything() } else { query.collect() } {
            Ok(time) => Some(time),
            Err(error) => {
                self.note(&error.to_string());
                None
            }
        }
    }

    /// Takes what is wrong with hosts into the status. Without any sample it is an error.
    fn note_hosts(&mut self, hosts: &Remotes, has_samples: bool) {
        let mut troubles = hosts.troubles();
        if let Some(first) = troubles.first().filter(|_| !has_samples) {
            self.note(first);
        }
        let more = troubles.len().saturating_sub(NAMED_HOSTS);
        if more > 0 {
            troubles.truncate(NAMED_HOSTS - 1);
            troubles.push(format!("and {} more hosts", more.saturating_add(1)));
        }
        self.status.troubled_hosts = troubles;
    }

    /// Takes the numbers of the recorder into the status.
    fn count(&mut self, recorder: &mut RollingRecorder) {
        let Counts { recorded, held, lost } = recorder.counts();
        (self.status.records, self.status.held, self.status.lost) = (recorded, held, lost);
        self.status.bytes = recorder.bytes();
        self.shared.set(&self.status);
    }

    /// Whether everything that was wanted is recorded.
    fn is_enough(&mut self, begun: Instant) -> bool {
        let settings = &self.settings;
        if settings.samples.is_some_and(|samples| self.taken >= samples)
            || settings.duration.is_some_and(|duration| begun.elapsed() >= duration)
        {
            return true;
        }
        let Some(most) = settings.max_size.filter(|_| self.uploads.is_none()) else { return false };
        let files = settings.logs().into_iter().filter_map(|(_, path)| fs::metadata(path).ok());
        if files.map(|file| file.len()).fold(0, u64::saturating_add) < most {
            return false;
        }
        if settings.segments.is_some() {
            // A ring goes on without its oldest log.
            self.remove_oldest();
            return false;
        }
        self.note(&format!("it has reached its size of {most} bytes, and ended"));
        true
    }

    /// Completes the log that is written; another format is made of it meanwhile.
    fn close(&mut self, recorder: &mut RollingRecorder) {
        let Some(closed) = recorder.close() else { return };
        self.count(recorder);
        if let Err(error) = closed.sealed {
            self.note(&error.to_string());
        }
        self.convert(closed.path, closed.number);
    }

    fn convert(&mut self, recording: PathBuf, number: u32) {
        if let Some(uploads) = &mut self.uploads {
            return uploads.add(number, recording);
        }
        let format = self.settings.format;
        let output = match format {
            Format::Lake => self.settings.folder.clone(),
            _ => self.settings.segment(number),
        };
        if format != Format::Tally {
            // A recorder that was killed may have converted it already, and not removed the recording.
            let job = move || convert(&recording, &output, format, Overwrite::Replace).map(drop);
            match std::thread::Builder::new().name("convert".into()).spawn(job) {
                Ok(thread) => self.conversions.push(thread),
                // The recording stays, and 'tally relog' converts it.
                Err(error) => self.note(&format!("no thread to convert a log: {error}")),
            }
        }
    }

    /// Removes the logs that the ring does not keep: those before a number.
    fn remove_before(&mut self, first: u32) {
        for (_, path) in self.settings.logs().iter().filter(|(number, _)| *number < first) {
            self.remove(path);
        }
    }

    fn remove_oldest(&mut self) {
        let current = self.status.segment;
        let oldest = self.settings.logs().into_iter().find(|(number, _)| Some(*number) != current);
        if let Some((_, path)) = oldest {
            self.remove(&path);
        }
    }

    fn remove(&mut self, path: &std::path::Path) {
        if let Err(error) = fs::remove_file(path) {
            self.note(&format!("{}: {error}", path.display()));
        }
    }

    /// Completes recordings that an earlier recorder left, except for the one that this recorder continues.
    fn convert_leftovers(&mut self, unfinished: Option<u32>) {
        for (number, path) in self.settings.logs() {
            if Some(number) != unfinished && path != self.settings.segment(number) {
                self.convert(path, number);
            }
        }
    }

    /// Goes on with what waits for object storage, and notes what is said of it.
    fn upload(&mut self, go_on: impl FnOnce(&mut Uploads) -> Vec<String>) {
        let words = self.uploads.as_mut().map(go_on).unwrap_or_default();
        words.iter().for_each(|words| self.note(words));
        if let Some(uploads) = &mut self.uploads {
            uploads.settle(&mut self.status.last_error);
        }
    }

    fn join_conversions(&mut self) {
        self.upload(|uploads| uploads.finish(AT_THE_END));
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
        self.shared.set(&self.status);
    }

    /// Writes the status, at most once a second unless it matters.
    fn write_status(&mut self, at_once: bool) {
        self.shared.set(&self.status);
        if at_once || self.written.is_none_or(|written| written.elapsed() >= STATUS_PERIOD) {
            self.written = Some(Instant::now());
            // The file is for whoever comes after this process. A disk that has no room for it is named when
            // a record does not fit, and the socket answers all the same.
            let _ = self.store.set_status(&self.settings.name, &self.status);
        }
    }
}
