//! Which events are written, and which are only counted because they repeat: no library and no program can
//! flush the history.
//!
//! Of the same event the first few of ten minutes are written, then the others are counted; the first one
//! after these ten minutes says how many there were. Events of one kind that differ have a limit as well. The
//! counts are in `events.repeats` beside the log, so that they hold for all processes.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::Path;

use tallymon_provider::library::event::Event;
use tallymon_provider::trust::{create_file, open_file};

/// Seconds after which counting begins anew.
pub(super) const WINDOW: u64 = 600;
/// Lines of the same event, and of all events of one kind, in that time.
pub(super) const MOST_SAME: u64 = 5;
pub(super) const MOST_OF_KIND: u64 = 50;
/// How many different events are counted at a time.
const MOST_COUNTS: usize = 1024;
/// The longest file of counts, in bytes.
const LONGEST: u64 = 1 << 20;

/// The counts of events of the last minutes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Repeats(Vec<Count>);

/// The count of one event, or of all events of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Count {
    key: u64,
    /// When counting began, in seconds since 1970.
    begin: u64,
    /// How many were written and how many were not since then.
    written: u64,
    held: u64,
    /// The last one that was not written, as a line of the log.
    line: String,
}

/// What to do with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// Write it. Before it, so many of the same were not written, and so many others of its kind.
    Write { repeated: u64, others: u64 },
    /// Only count it.
    Hold,
}

impl Repeats {
    /// Reads the counts beside a log; none when they are not there or not whole.
    pub(super) fn read(path: &Path) -> Repeats {
        let mut text = String::new();
        let read = open_file(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
        if read.is_err() {
            return Repeats::default();
        }
        Repeats(text.lines().filter_map(Count::parse).take(MOST_COUNTS).collect())
    }

    /// Writes them in place of those before.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let next = path.with_extension("repeats.next");
        // What a process left that was killed.
        let _ = fs::remove_file(&next);
        let text: String = self.0.iter().map(Count::line).collect();
        create_file(&next)?.write_all(text.as_bytes())?;
        fs::rename(&next, path)
    }

    /// Counts an event; `line` is kept when it is not written.
    pub(super) fn note(&mut self, event: &Event, now: u64, line: &str) -> Decision {
        let kind = key(&(event.kind.source.name(), event.kind.id));
        let same = key(&(event.kind.source.name(), event.kind.id, &event.values, &event.detail));
        let repeated = match self.count(same, now).take(MOST_SAME) {
            Some(repeated) => repeated,
            None => return self.hold(same, now, line),
        };
        match self.count(kind, now).take(MOST_OF_KIND) {
            Some(others) => Decision::Write { repeated, others },
            None => {
                let count = self.count(same, now);
                count.written = count.written.saturating_sub(1);
                count.held = repeated;
                self.hold(kind, now, line)
            }
        }
    }

    fn hold(&mut self, key: u64, now: u64, line: &str) -> Decision {
        let count = self.count(key, now);
        count.held = count.held.saturating_add(1);
        count.line = line.to_string();
        Decision::Hold
    }

    /// The count of a key; a new one takes the place of the oldest, of one that holds nothing if there is
    /// one.
    fn count(&mut self, key: u64, now: u64) -> &mut Count {
        let position = match self.0.iter().position(|count| count.key == key) {
            Some(position) => position,
            None => {
                if self.0.len() >= MOST_COUNTS {
                    let oldest = |(_, count): &(usize, &Count)| (count.held > 0, count.begin);
                    let oldest = self.0.iter().enumerate().min_by_key(oldest).map(|(position, _)| position);
                    self.0.swap_remove(oldest.unwrap_or(0));
                }
                self.0.push(Count { key, begin: now, written: 0, held: 0, line: String::new() });
                self.0.len().saturating_sub(1)
            }
        };
        // A clock that was set back begins a new time as well.
        let is_over = |count: &Count| now < count.begin || now.saturating_sub(count.begin) >= WINDOW;
        #[expect(clippy::indexing_slicing, reason = "the position of an element that was found or pushed")]
        let count = &mut self.0[position];
        if is_over(count) {
            (count.begin, count.written) = (now, 0);
        }
        count
    }

    /// The events that were not written since the last line of their kind: how many, and the last one.
    pub(super) fn held(&self) -> impl Iterator<Item = (u64, &str)> {
        self.0.iter().filter(|count| count.held > 0).map(|count| (count.held, count.line.as_str()))
    }
}

impl Count {
    /// Takes one of the lines that may be written; returns how many were not written before it.
    fn take(&mut self, most: u64) -> Option<u64> {
        if self.written >= most {
            return None;
        }
        self.written = self.written.saturating_add(1);
        Some(std::mem::take(&mut self.held))
    }

    fn parse(line: &str) -> Option<Count> {
        let mut parts = line.splitn(5, '\t');
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (key, begin, written, held) = (number()?, number()?, number()?, number()?);
        Some(Count { key, begin, written, held, line: parts.next()?.to_string() })
    }

    fn line(&self) -> String {
        let Count { key, begin, written, held, line } = self;
        // A line of the log is JSON without tabs and line ends.
        let line = line.trim_end();
        format!("{key}\t{begin}\t{written}\t{held}\t{line}\n")
    }
}

fn key(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_provider::library::event::{COLLECT_FAILED, COLLECT_LATE};

    #[test]
    fn the_same_event_is_counted_and_the_count_is_reported() {
        let event = Event::new(&COLLECT_FAILED, ["My", "my.so", "5"]);
        let mut repeats = Repeats::default();
        let (mut written, mut reported, mut now) = (0, 0, 1_000_000);
        for _ in 0..10_000 {
            now += 1;
            if let Decision::Write { repeated, .. } = repeats.note(&event, now, "{}") {
                (written, reported) = (written + 1, reported + repeated);
            }
        }
        let held: u64 = repeats.held().map(|(held, _)| held).sum();
        assert_eq!(written + reported + held, 10_000, "none is lost");
        assert_eq!(written, 17 * MOST_SAME, "16 whole times of ten minutes and a part");
        // Another event of the same kind is written.
        let other = Event::new(&COLLECT_FAILED, ["Other", "other.so", "5"]);
        assert_eq!(repeats.note(&other, now, "{}"), Decision::Write { repeated: 0, others: 0 });
    }

    #[test]
    fn events_that_differ_have_a_limit_by_kind() {
        let mut repeats = Repeats::default();
        let mut written = 0;
        for number in 0..1000 {
            let event = Event::new(&COLLECT_FAILED, ["My", "my.so", &number.to_string()]);
            written += u64::from(repeats.note(&event, 5, "{}") != Decision::Hold);
        }
        assert_eq!(written, MOST_OF_KIND);
        assert_eq!(repeats.held().map(|(held, _)| held).sum::<u64>(), 1000 - MOST_OF_KIND);
        assert!(repeats.0.len() <= MOST_COUNTS);
        // Another kind is not affected, and after a while this one says how many there were.
        let late = Event::new(&COLLECT_LATE, ["My", "my.so"]);
        assert_eq!(repeats.note(&late, 6, "{}"), Decision::Write { repeated: 0, others: 0 });
        let event = Event::new(&COLLECT_FAILED, ["My", "my.so", "new"]);
        let others = 1000 - MOST_OF_KIND;
        assert_eq!(repeats.note(&event, 5 + WINDOW, "{}"), Decision::Write { repeated: 0, others });
    }

    #[test]
    fn counts_come_back_from_their_file() {
        let mut repeats = Repeats::default();
        for number in 0..20 {
            let event = Event::new(&COLLECT_FAILED, ["My", "my.so", &(number % 2).to_string()]);
            repeats.note(&event, number, "{\"a\":1}\n");
        }
        let folder = tallymon_testkit::Scratch::new();
        let path = folder.join("events.repeats");
        repeats.write(&path).unwrap();
        let back = Repeats::read(&path);
        assert_eq!(back.held().map(|(held, line)| (held, line.to_string())).collect::<Vec<_>>().len(), 2);
        assert_eq!(back.0.len(), repeats.0.len());
        fs::write(&path, "rubbish\n1\t2\n\u{7}\t\t\t\t\n").unwrap();
        assert_eq!(Repeats::read(&path), Repeats::default());
    }
}
