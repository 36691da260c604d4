//! The sessions of a service, each in a process of its own: what happens to one does not reach the others.
//!
//! A recorder that fails is started again after a while, as systemd does it; one that ends in order is not. A
//! session that somebody else records already is watched until it ends, and not started again unless it was
//! killed.

use std::collections::BTreeMap;
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::record::session::{SessionError, SessionState, SessionStore};

/// How long a session waits that is started again.
const PAUSE: Duration = Duration::from_secs(10);

/// How often it is looked whether a session ends that others record.
const LOOK: Duration = Duration::from_millis(500);

/// How often the service manager gets to know that the service still stops.
const CHECKPOINT: Duration = Duration::from_secs(1);

/// How long the recorders may take to end together: they convert their last logs then.
const ENDING: Duration = Duration::from_secs(660);

/// What happens to a service.
#[derive(Debug)]
pub(super) enum Event {
    /// The service is to end.
    Stop,
    /// Somebody asks for a session: the store has the name.
    Look,
    /// The recorder of a session ended. Its status says why, or these words do.
    Ended { name: String, result: Result<(), Option<String>> },
}

/// The sessions of a service.
pub(super) struct Supervisor<Spawn> {
    store: SessionStore,
    /// Starts the process that records a session.
    spawn: Spawn,
    events: (Sender<Event>, Receiver<Event>),
    /// Sessions that record; each value becomes true when the recorder has ended.
    running: BTreeMap<String, Arc<AtomicBool>>,
    /// Sessions that wait to be started again.
    again: BTreeMap<String, Instant>,
    pause: Duration,
}

impl<Spawn: FnMut(&str) -> io::Result<Child>> Supervisor<Spawn> {
    pub(super) fn new(store: SessionStore, spawn: Spawn) -> Supervisor<Spawn> {
        let (running, again) = (BTreeMap::new(), BTreeMap::new());
        Supervisor { store, spawn, events: channel(), running, again, pause: PAUSE }
    }

    /// Where the service is told what happens.
    pub(super) fn sender(&self) -> Sender<Event> {
        self.events.0.clone()
    }

    /// Starts the sessions that start with the machine, and those that somebody asked for; `false` if there
    /// are none.
    ///
    /// # Errors
    ///
    /// The folders of the sessions cannot be read.
    pub(super) fn begin(&mut self) -> Result<bool, SessionError> {
        for name in self.store.names()? {
            match self.store.read(&name) {
                Ok(settings) if settings.at_boot => self.launch(&name),
                Ok(_) => {}
                Err(error) => self.note(&name, &error.to_string()),
            }
        }
        self.look();
        Ok(!self.running.is_empty() || !self.again.is_empty())
    }

    /// Runs until the service is to end.
    pub(super) fn run(&mut self) {
        loop {
            let event = match self.again.values().min() {
                None => self.events.1.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => self.events.1.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match event {
                Ok(Event::Look) => self.look(),
                Ok(Event::Ended { name, result }) => self.ended(&name, result),
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => self.launch_due(),
            }
        }
    }

    /// Ends all sessions at once, each log whole. `progress` is called about every second. Returns the
    /// sessions that did not end.
    pub(super) fn stop(&mut self, mut progress: impl FnMut()) -> Vec<String> {
        self.again.clear();
        let begin = Instant::now();
        for (name, ended) in &self.running {
            let (store, name, ended) = (self.store.clone(), name.clone(), Arc::clone(ended));
            thread::spawn(move || {
                // A recorder that has not begun yet does not take the request, so it is repeated.
                while !ended.load(Ordering::Acquire) && begin.elapsed() < ENDING {
                    // A recorder that does not answer is named at the end.
                    let _ = store.stop(&name);
                    thread::sleep(Duration::from_millis(100));
                }
            });
        }
        while !self.running.is_empty() && begin.elapsed() < ENDING {
            progress();
            if let Ok(Event::Ended { name, result }) = self.events.1.recv_timeout(CHECKPOINT) {
                self.ended(&name, result);
                self.again.clear();
            }
        }
        self.running.keys().cloned().collect()
    }

    fn look(&mut self) {
        // A folder that cannot be read now is read at the next request.
        for name in self.store.take_start_requests().unwrap_or_default() {
            self.launch(&name);
        }
    }

    fn launch_due(&mut self) {
        let now = Instant::now();
        let due = self.again.iter().filter(|(_, at)| **at <= now).map(|(name, _)| name.clone());
        for name in due.collect::<Vec<_>>() {
            self.launch(&name);
        }
    }

    /// Starts a session, or watches it when it records already.
    fn launch(&mut self, name: &str) {
        self.again.remove(name);
        if self.running.contains_key(name) {
            return;
        }
        let startable = self.store.read(name).and_then(|settings| self.store.check_startable(&settings));
        match startable {
            Ok(()) => {}
            Err(SessionError::Recording(_)) => return self.watch(name),
            // Its end has passed, or it was deleted while it waited.
            Err(SessionError::Over(_) | SessionError::NotFound(_)) => return,
            Err(error) => return self.try_again(name, &error.to_string()),
        }
        match (self.spawn)(name) {
            Ok(child) => self.wait_for(name, child),
            Err(error) => self.try_again(name, &format!("its recorder cannot be started: {error}")),
        }
    }

    fn wait_for(&mut self, name: &str, mut child: Child) {
        let (store, id) = (self.store.clone(), child.id());
        self.follow(name, move |name| {
            let exit = child.wait();
            let status = store.status(name);
            // Whoever ends a process of Windows chooses its exit code.
            let is_cut = status.process == id && !status.ended;
            if exit.as_ref().is_ok_and(ExitStatus::success) && !is_cut {
                return Ok(());
            }
            let said = status.process == id && status.ended && status.last_error.is_some();
            Err((!said).then(|| ending(exit)))
        });
    }

    /// Follows a session that others record.
    fn watch(&mut self, name: &str) {
        let store = self.store.clone();
        self.follow(name, move |name| {
            while store.is_running(name) {
                thread::sleep(LOOK);
            }
            let killed = store.state(name) == SessionState::Killed;
            if killed { Err(Some("its recorder was killed".to_owned())) } else { Ok(()) }
        });
    }

    fn follow(&mut self, name: &str, wait: impl FnOnce(&str) -> Result<(), Option<String>> + Send + 'static) {
        let ended = Arc::new(AtomicBool::new(false));
        self.running.insert(name.to_owned(), Arc::clone(&ended));
        let (sender, name) = (self.sender(), name.to_owned());
        thread::spawn(move || {
            let result = wait(&name);
            ended.store(true, Ordering::Release);
            // Nobody takes it when the service has ended.
            let _ = sender.send(Event::Ended { name, result });
        });
    }

    fn ended(&mut self, name: &str, result: Result<(), Option<String>>) {
        self.running.remove(name);
        if let Err(words) = result {
            words.iter().for_each(|words| self.note(name, words));
            self.again.insert(name.to_owned(), Instant::now() + self.pause);
        }
    }

    fn try_again(&mut self, name: &str, words: &str) {
        self.note(name, words);
        self.again.insert(name.to_owned(), Instant::now() + self.pause);
    }

    fn note(&self, name: &str, words: &str) {
        // A disk that has no room for it has none for the logs either, and that is in their status.
        let _ = self.store.note_failure(name, words);
    }
}

fn ending(exit: io::Result<ExitStatus>) -> String {
    match exit {
        Ok(exit) => format!("its recorder ended with {exit}"),
        Err(error) => format!("its recorder is not found any more: {error}"),
    }
}

#[cfg(test)]
#[path = "supervisor_tests.rs"]
mod tests;
