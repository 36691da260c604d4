//! Recordings of a session that wait on the disk until object storage has taken them.
//!
//! One is put at a time, in the order of their numbers, on a thread. When that fails, the next try comes
//! after a pause that grows, with the next recording: one that cannot be read does not keep back the
//! others. What waits has a limit: beyond it the oldest recording is removed, and that is said.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tallymon_log::new_file::Overwrite;
use tallymon_log::{Format, LogError, LogErrorKind};

use crate::record::convert;

/// The most bytes that wait, unless the settings say it.
pub(super) const MOST_WAITING: u64 = 1 << 30;

/// The pauses between tries.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How long a session that ends waits for the lake: less than `log stop` waits for the session.
pub(super) const AT_THE_END: Duration = Duration::from_secs(60);

/// What logs wait for that a session leaves.
const FOR_THE_NEXT: &str = " for the next recorder of the session";

/// How often it looks meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// Why a recording was not put.
struct Failed {
    reason: String,
    /// The server cannot be reached, so that nothing else can be put either.
    is_away: bool,
}

/// What waits.
pub(super) struct Uploads {
    /// The address of the lake.
    lake: PathBuf,
    most: u64,
    waiting: BTreeMap<u32, PathBuf>,
    current: Option<(u32, JoinHandle<Result<(), LogError>>)>,
    /// The one that was tried last.
    tried: u32,
    pause: Duration,
    next: Instant,
    /// Logs that were removed before the lake had them, and their bytes.
    lost: (u64, u64),
    /// What was said last.
    said: Option<String>,
}

impl Uploads {
    pub(super) fn new(lake: PathBuf, most: Option<u64>) -> Uploads {
        Uploads {
            lake,
            most: most.unwrap_or(MOST_WAITING),
            waiting: BTreeMap::new(),
            current: None,
            tried: 0,
            pause: FIRST_PAUSE,
            next: Instant::now(),
            lost: (0, 0),
            said: None,
        }
    }

    /// A complete recording.
    pub(super) fn add(&mut self, number: u32, recording: PathBuf) {
        self.waiting.insert(number, recording);
    }

    /// Puts the next one if its time has come, and returns what is to be said.
    pub(super) fn poll(&mut self) -> Vec<String> {
        let mut words = self.remove_oldest();
        // What says how many wait comes last, because the last words are shown.
        if let Err(failed) = self.take_ended() {
            let seconds = self.next.saturating_duration_since(Instant::now()).as_secs_f64().ceil();
            words.push(self.waiting_words(&failed.reason, &format!(", the next try is in {seconds} s")));
        }
        if self.current.is_none() && Instant::now() >= self.next {
            words.extend(self.start(self.following()).err());
        }
        self.saying(words)
    }

    /// Puts what waits, each once. What cannot be put, or not within `patience`, stays for the next
    /// recorder.
    pub(super) fn finish(&mut self, patience: Duration) -> Vec<String> {
        let until = Instant::now() + patience;
        let mut words = Vec::new();
        let first = self.current.as_ref().map(|(number, _)| *number);
        let others = self.waiting.keys().copied().filter(|number| Some(*number) != first);
        let round: Vec<u32> = first.into_iter().chain(others).collect();
        for number in round {
            if self.current.is_none()
                && let Err(failed) = self.start(Some(number))
            {
                words.push(failed);
                break;
            }
            while self.current.as_ref().is_some_and(|(_, thread)| !thread.is_finished()) {
                if Instant::now() >= until {
                    let (lake, waited) = (self.lake.display(), patience.as_secs_f64());
                    let reason = format!("{lake}: it took more than {waited} s to put logs in");
                    words.push(self.waiting_words(&reason, FOR_THE_NEXT));
                    return self.saying(words);
                }
                thread::sleep(LOOK);
            }
            if let Err(failed) = self.wait() {
                words.push(self.waiting_words(&failed.reason, FOR_THE_NEXT));
                if failed.is_away {
                    break;
                }
            }
        }
        self.saying(words)
    }

    /// The last error, without what was said here of logs that wait no more.
    pub(super) fn settle(&mut self, last_error: &mut Option<String>) {
        if self.waiting.is_empty()
            && let Some(said) = self.said.take()
            && last_error.as_ref() == Some(&said)
        {
            let lost = self.lost_words();
            *last_error = lost.strip_prefix("; ").map(|lost| format!("{}: {lost}", self.lake.display()));
        }
    }

    fn saying(&mut self, words: Vec<String>) -> Vec<String> {
        self.said = words.last().cloned().or_else(|| self.said.take());
        words
    }

    /// The one behind the one that was tried last, or the first.
    fn following(&self) -> Option<u32> {
        let behind = self.waiting.range(self.tried.saturating_add(1)..).next();
        behind.or_else(|| self.waiting.first_key_value()).map(|(number, _)| *number)
    }

    fn start(&mut self, number: Option<u32>) -> Result<(), String> {
        let Some((number, recording)) = number.and_then(|number| self.waiting.get_key_value(&number)) else {
            return Ok(());
        };
        let (number, recording, lake) = (*number, recording.clone(), self.lake.clone());
        self.tried = number;
        // One that is there no more was put by an earlier recorder, or somebody has removed it.
        if !recording.exists() {
            self.waiting.remove(&number);
            return Ok(());
        }
        let job = move || convert(&recording, &lake, Format::Lake, Overwrite::Replace).map(drop);
        match thread::Builder::new().name("upload".into()).spawn(job) {
            Ok(thread) => self.current = Some((number, thread)),
            Err(error) => return Err(format!("no thread to put a log into the lake: {error}")),
        }
        Ok(())
    }

    fn take_ended(&mut self) -> Result<(), Failed> {
        if self.current.as_ref().is_some_and(|(_, thread)| thread.is_finished()) {
            self.wait()
        } else {
            Ok(())
        }
    }

    fn wait(&mut self) -> Result<(), Failed> {
        let Some((number, thread)) = self.current.take() else { return Ok(()) };
        let (reason, is_away) = match thread.join() {
            Ok(Ok(())) => {
                self.waiting.remove(&number);
                (self.pause, self.next) = (FIRST_PAUSE, Instant::now());
                return Ok(());
            }
            Ok(Err(error)) => (error.to_string(), is_away(&error)),
            Err(_) => ("the thread that puts logs into the lake has ended".to_owned(), false),
        };
        self.next = Instant::now() + self.pause;
        self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
        Err(Failed { reason, is_away })
    }

    /// What is said when a recording was not put: why, how many wait and for what.
    fn waiting_words(&self, reason: &str, what_for: &str) -> String {
        let folder = self.waiting.values().next().and_then(|path| path.parent());
        let folder = folder.unwrap_or(Path::new("")).display();
        format!("{reason}; {} logs wait in {folder}{what_for}{}", self.waiting.len(), self.lost_words())
    }

    /// How many logs are lost, as the end of a message.
    fn lost_words(&self) -> String {
        match self.lost {
            (0, _) => String::new(),
            (logs, bytes) => {
                let most = self.most;
                format!("; {logs} logs with {bytes} bytes are lost, because more than {most} bytes waited")
            }
        }
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
                Ok(()) => {
                    self.lost = (self.lost.0.saturating_add(1), self.lost.1.saturating_add(lost));
                    format!(
                        "{}: lost with its {lost} bytes, because more than {} bytes wait for {}",
                        path.display(),
                        self.most,
                        self.lake.display()
                    )
                }
                Err(error) => format!("{}: {error}", path.display()),
            });
        }
        words
    }
}

/// Whether an error says that the server cannot be reached.
fn is_away(error: &LogError) -> bool {
    match &error.kind {
        LogErrorKind::Io(error) => matches!(
            error.kind(),
            ErrorKind::TimedOut
                | ErrorKind::ConnectionRefused
                | ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
        ),
        _ => false,
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
        // What cannot be put stays, and is tried again later.
        assert!(uploads.start(uploads.following()).is_ok());
        while !uploads.current.as_ref().unwrap().1.is_finished() {
            thread::sleep(LOOK);
        }
        let words = uploads.poll().pop().unwrap();
        assert!(words.contains("2 logs wait in") && words.contains("in 5 s"), "{words}");
        // What was lost is in all later words.
        assert!(words.ends_with("; 2 logs with 200 bytes are lost, because more than 250 bytes waited"));
        assert_eq!((uploads.pause, uploads.waiting.len()), (FIRST_PAUSE * 2, 2));
        let words = uploads.finish(AT_THE_END);
        assert_eq!(words.len(), 2, "each is tried once: {words:?}");
        assert!(folder.join("3.recording.tally").exists());
        // When nothing waits any more, nothing says so, but what was lost still is.
        let mut last_error = words.last().cloned();
        uploads.settle(&mut last_error);
        assert_eq!(last_error.as_ref(), words.last());
        uploads.waiting.clear();
        uploads.settle(&mut last_error);
        assert_eq!(
            last_error.as_deref(),
            Some("s3://: 2 logs with 200 bytes are lost, because more than 250 bytes waited")
        );
        let mut of_others = Some("the disk is full".to_owned());
        uploads.settle(&mut of_others);
        assert_eq!(of_others.as_deref(), Some("the disk is full"));
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn a_recording_that_can_not_be_read_does_not_keep_back_the_others() {
        let folder = Scratch::new();
        let (bad, good) = (folder.join("1.recording.tally"), folder.join("2.recording.tally"));
        let write = || {
            fs::write(&bad, "").unwrap();
            let row = "\"11/26/2016 13:00:00.500\",\"1\"";
            let head = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\Memory\\Available Bytes\"";
            fs::write(&good, format!("{head}\r\n{row}\r\n")).unwrap();
            let mut uploads = Uploads::new(folder.join("x.lake"), None);
            uploads.add(1, bad.clone());
            uploads.add(2, good.clone());
            uploads
        };
        // While the session runs.
        let mut uploads = write();
        let mut words = Vec::new();
        let begun = Instant::now();
        while good.exists() && begun.elapsed() < Duration::from_secs(60) {
            // Not that the pause is over.
            uploads.next = Instant::now();
            words.extend(uploads.poll());
            thread::sleep(LOOK);
        }
        assert!(words.iter().any(|words| words.contains("1.recording.tally")), "{words:?}");
        assert_eq!((good.exists(), bad.exists()), (false, true));
        // And when it ends.
        let mut uploads = write();
        let words = uploads.finish(AT_THE_END);
        assert_eq!((words.len(), good.exists(), bad.exists()), (1, false, true), "{words:?}");
        assert_eq!(uploads.waiting.keys().copied().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn the_end_does_not_wait_for_a_silent_server() {
        let folder = Scratch::new();
        let mut uploads = Uploads::new(PathBuf::from("s3://b"), None);
        uploads.add(1, log(&folder, 1));
        let (gate, closed) = std::sync::mpsc::channel::<()>();
        let silent = thread::spawn(move || {
            let _ = closed.recv();
            Ok(())
        });
        uploads.current = Some((1, silent));
        let words = uploads.finish(Duration::from_millis(30));
        drop(gate);
        assert_eq!(words.len(), 1);
        assert!(words[0].contains("s3://b: it took more than 0.03 s"), "{words:?}");
        assert!(words[0].contains("1 logs wait in") && words[0].ends_with(FOR_THE_NEXT), "{words:?}");
    }
}
