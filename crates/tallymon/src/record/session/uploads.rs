//! Recordings of a session that wait on the disk until object storage has taken them.
//!
//! One is put at a time, the oldest first, on a thread. When that fails, the next try comes after a pause
//! that grows. What waits has a limit: beyond it the oldest recording is removed, and that is said.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tallymon_log::new_file::Overwrite;
use tallymon_log::{Format, LogError};

use crate::record::convert;

/// The most bytes that wait, unless the settings say it.
pub(super) const MOST_WAITING: u64 = 1 << 30;

/// The pauses between tries.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// What waits.
pub(super) struct Uploads {
    /// The address of the lake.
    lake: PathBuf,
    most: u64,
    waiting: BTreeMap<u32, PathBuf>,
    current: Option<(u32, JoinHandle<Result<(), LogError>>)>,
    pause: Duration,
    next: Instant,
}

impl Uploads {
    pub(super) fn new(lake: PathBuf, most: Option<u64>) -> Uploads {
        Uploads {
            lake,
            most: most.unwrap_or(MOST_WAITING),
            waiting: BTreeMap::new(),
            current: None,
            pause: FIRST_PAUSE,
            next: Instant::now(),
        }
    }

    /// A complete recording.
    pub(super) fn add(&mut self, number: u32, recording: PathBuf) {
        self.waiting.insert(number, recording);
    }

    /// Puts the next one if its time has come, and returns what is to be said.
    pub(super) fn poll(&mut self) -> Vec<String> {
        let mut words: Vec<String> = self.take_ended().err().into_iter().collect();
        words.extend(self.remove_oldest());
        if self.current.is_none() && Instant::now() >= self.next {
            words.extend(self.start().err());
        }
        words
    }

    /// Puts what waits, until one can not be put; the others stay for the next recorder.
    pub(super) fn finish(&mut self) -> Vec<String> {
        loop {
            if let Err(words) = self.wait() {
                return vec![words];
            }
            if self.waiting.is_empty() {
                return Vec::new();
            }
            if let Err(words) = self.start() {
                return vec![words];
            }
        }
    }

    fn start(&mut self) -> Result<(), String> {
        let Some((number, recording)) = self.waiting.first_key_value() else { return Ok(()) };
        let (number, recording, lake) = (*number, recording.clone(), self.lake.clone());
        // One that is there no more was put by an earlier recorder, or somebody has removed it.
        if !recording.exists() {
            self.waiting.remove(&number);
            return Ok(());
        }
        let job = move || convert(&recording, &lake, Format::Lake, Overwrite::Replace).map(drop);
        match std::thread::Builder::new().name("upload".into()).spawn(job) {
            Ok(thread) => self.current = Some((number, thread)),
            Err(error) => return Err(format!("no thread to put a log into the lake: {error}")),
        }
        Ok(())
    }

    fn take_ended(&mut self) -> Result<(), String> {
        if self.current.as_ref().is_some_and(|(_, thread)| thread.is_finished()) {
            self.wait()
        } else {
            Ok(())
        }
    }

    fn wait(&mut self) -> Result<(), String> {
        let Some((number, thread)) = self.current.take() else { return Ok(()) };
        let failed = match thread.join() {
            Ok(Ok(())) => {
                self.waiting.remove(&number);
                (self.pause, self.next) = (FIRST_PAUSE, Instant::now());
                return Ok(());
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the thread that puts logs into the lake has ended".to_owned(),
        };
        let pause = self.pause;
        self.next = Instant::now() + pause;
        self.pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        let (count, folder) = (self.waiting.len(), self.folder());
        Err(format!("{failed}; {count} logs wait in {folder}, the next try is in {} s", pause.as_secs()))
    }

    fn folder(&self) -> String {
        let folder = self.waiting.values().next().and_then(|path| path.parent());
        folder.unwrap_or(Path::new("")).display().to_string()
    }

    /// Removes the oldest recordings while more waits than may.
    fn remove_oldest(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        let length = |path: &PathBuf| fs::metadata(path).map_or(0, |about| about.len());
        let mut bytes = self.waiting.values().map(length).fold(0, u64::saturating_add);
        while bytes > self.most {
            // The newest stays, however long it is.
            if self.waiting.len() < 2 {
                break;
            }
            let current = self.current.as_ref().map(|(number, _)| *number);
            let Some(oldest) = self.waiting.keys().copied().find(|number| Some(*number) != current) else {
                break;
            };
            let Some(path) = self.waiting.remove(&oldest) else { break };
            let lost = length(&path);
            bytes = bytes.saturating_sub(lost);
            words.push(match fs::remove_file(&path) {
                Ok(()) => format!(
                    "{}: lost with its {lost} bytes, because more than {} bytes wait for {}",
                    path.display(),
                    self.most,
                    self.lake.display()
                ),
                Err(error) => format!("{}: {error}", path.display()),
            });
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use tallymon_testkit::Scratch;

    fn log(folder: &Path, number: u32) -> PathBuf {
        let path = folder.join(format!("{number}.recording.tally"));
        fs::write(&path, [0; 100]).unwrap();
        path
    }

    #[test]
    fn beyond_the_limit_the_oldest_is_lost_and_said() {
        let folder = Scratch::new();
        // No bucket has such a name, so nothing is put.
        let mut uploads = Uploads::new(PathBuf::from("s3://"), Some(250));
        for number in 1..=4 {
            uploads.add(number, log(&folder, number));
        }
        let words = uploads.remove_oldest();
        assert_eq!(words.len(), 2, "{words:?}");
        assert!(words[0].contains("1.recording.tally: lost with its 100 bytes"), "{words:?}");
        assert_eq!(uploads.waiting.keys().copied().collect::<Vec<_>>(), [3, 4]);
        // What can not be put stays, and is tried again later.
        assert!(uploads.start().is_ok());
        let words = uploads.wait().unwrap_err();
        assert!(words.contains("2 logs wait in") && words.contains("in 5 s"), "{words}");
        assert_eq!((uploads.pause, uploads.waiting.len()), (FIRST_PAUSE * 2, 2));
        assert_eq!(uploads.finish().len(), 1);
        assert!(folder.join("3.recording.tally").exists());
    }
}
