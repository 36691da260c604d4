//! What a service that runs sessions needs of their store: who asks it to start one, and a place for what it
//! knows of a recorder that ended without a word.

use std::fs;

use super::SessionError;
use super::status::SessionStatus;
use super::store::SessionStore;

/// The extension of the file with which the service is asked to start a session.
const REQUEST: &str = "begin";

impl SessionStore {
    /// Asks the service of this system to start a session when it next looks.
    ///
    /// # Errors
    ///
    /// There is no such session, or the request cannot be written.
    pub fn request_start(&self, name: &str) -> Result<(), SessionError> {
        self.read(name)?;
        self.write_state(name, REQUEST, "")
    }

    /// The sessions that were asked for since the last call, sorted.
    ///
    /// # Errors
    ///
    /// The folder of the state cannot be read.
    pub fn take_start_requests(&self) -> Result<Vec<String>, SessionError> {
        let mut names = Vec::new();
        for name in self.state_names(REQUEST)? {
            // A request that stays would start the session again and again.
            let file = self.state_file(&name, REQUEST);
            fs::remove_file(&file).map_err(|error| SessionError::file(&file, error))?;
            names.push(name);
        }
        Ok(names)
    }

    /// Notes in the status of a session that its recorder ended, which did not say why. Nothing happens to
    /// the status of a session that records.
    ///
    /// # Errors
    ///
    /// The status cannot be written.
    pub fn note_failure(&self, name: &str, words: &str) -> Result<(), SessionError> {
        let Some(_lock) = self.lock(name)? else { return Ok(()) };
        let before = self.status(name);
        let errors = before.errors.saturating_add(1);
        self.set_status(name, &SessionStatus { errors, last_error: Some(words.to_owned()), ..before })
    }
}

#[cfg(test)]
mod tests {
    use tallymon_testkit::Scratch;

    use super::*;
    use crate::record::session::SessionSettings;

    #[test]
    fn a_request_is_taken_once() {
        let folder = Scratch::new();
        let store = SessionStore::in_folder(&folder);
        assert_eq!(store.take_start_requests().unwrap(), Vec::<String>::new());
        for name in ["web", "db"] {
            let mut settings = SessionSettings::new(name, store.default_folder(name));
            settings.counters = vec![r"\Memory\Available MBytes".to_owned()];
            store.write(&settings).unwrap();
            store.request_start(name).unwrap();
            store.request_start(name).unwrap();
        }
        assert!(store.request_start("none").is_err());
        assert_eq!(store.take_start_requests().unwrap(), ["db", "web"]);
        assert_eq!(store.take_start_requests().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_failure_is_in_the_status_and_keeps_the_rest() {
        let folder = Scratch::new();
        let store = SessionStore::in_folder(&folder);
        // As a recorder leaves it that was killed.
        let killed = SessionStatus { process: 7, segment: Some(3), records: 9, ..SessionStatus::default() };
        drop(store.lock("web").unwrap());
        store.set_status("web", &killed).unwrap();
        store.note_failure("web", "its recorder ended with exit code: 5").unwrap();
        let status = store.status("web");
        assert_eq!(status.last_error.as_deref(), Some("its recorder ended with exit code: 5"));
        assert_eq!((status.errors, status.segment, status.records, status.ended), (1, Some(3), 9, false));
        let held = store.lock("web").unwrap().unwrap();
        store.note_failure("web", "not noted").unwrap();
        assert_eq!(store.status("web").errors, 1);
        drop(held);
    }
}
