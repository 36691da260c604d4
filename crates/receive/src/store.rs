//! The series: their limits, their end, and their publishing.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tallymon_provider::shm::{CounterSet, NewInstance, PublishError, Publisher, plain_name};

use crate::value::{Change, Handles, Shape, State};

/// The most objects at a time.
const MOST_OBJECTS: usize = 1_000;
/// The most names of objects since the start: readers keep an index for each as long as they run.
const MOST_NAMES: usize = 4_000;
/// The most series at a time.
const MOST_SERIES: usize = 20_000;
/// The most values of all sets within an interval.
const MOST_MEMBERS: usize = 1 << 20;
/// The most objects of a published file.
const MOST_OF_FILE: usize = 64;
/// The longest explanation of an object, in letters, and the longest unit.
const LONGEST_HELP: usize = 1_000;
const LONGEST_UNIT: usize = 64;
/// How often the ends of series are looked for.
const LOOK: Duration = Duration::from_secs(1);
/// The name of an instance without labels, as programs with the crate `metrics` have it.
const UNLABELLED: &str = "unlabelled";

/// Which object a series belongs to, and what the object is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described<'a> {
    pub(crate) object: &'a str,
    pub(crate) shape: Shape,
    pub(crate) help: &'a str,
    pub(crate) unit: &'a str,
}

/// A change of a series.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Update<'a> {
    /// All that tells the series apart from others of the object.
    pub(crate) identity: SeriesId,
    /// The name of its instance; empty for none. Two series may have the same.
    pub(crate) instance: &'a str,
    pub(crate) change: Change<'a>,
    /// The time of the sender, in ns; 0 for an unknown one.
    pub(crate) time: u64,
    /// The receiver that it came by.
    pub(crate) receiver: usize,
}

/// Two hashes with keys of this process: nobody can choose texts that have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SeriesId(u64, u64);

#[derive(Debug)]
struct Series {
    state: State,
    instance: String,
    published: Option<Handles>,
    seen: Instant,
    time: u64,
    receiver: usize,
}

#[derive(Debug)]
struct Object {
    name: String,
    shape: Shape,
    help: String,
    unit: String,
    series: HashMap<SeriesId, Series>,
    publisher: Option<Publisher>,
    /// Why it cannot be published.
    refused: Option<String>,
}

/// All series.
pub(crate) struct Store {
    directory: Option<PathBuf>,
    keep: Duration,
    interval: Duration,
    hash: [RandomState; 2],
    /// By name in lower case.
    objects: HashMap<String, Object>,
    names: HashSet<u64>,
    n_series: usize,
    /// Values of sets in this interval.
    n_members: usize,
    /// Series that may have to be published.
    new: Vec<(String, SeriesId)>,
    began: Instant,
    looked: Instant,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("series", &self.n_series).finish_non_exhaustive()
    }
}

impl Store {
    /// A store that publishes in a directory, or in the usual one. Series end when they have not been heard
    /// of for `keep`; the numbers of sets and percentiles are those of an interval.
    pub(crate) fn new(directory: Option<PathBuf>, keep: Duration, interval: Duration) -> Store {
        let now = Instant::now();
        Store {
            directory,
            keep,
            interval,
            hash: [RandomState::new(), RandomState::new()],
            objects: HashMap::new(),
            names: HashSet::new(),
            n_series: 0,
            n_members: 0,
            new: Vec::new(),
            began: now,
            looked: now,
        }
    }

    /// What tells a series apart.
    pub(crate) fn identity(&self, parts: &impl Hash) -> SeriesId {
        let [one, other] = &self.hash;
        SeriesId(one.hash_one(parts), other.hash_one(parts))
    }

    /// The number of series and objects that came by a receiver.
    pub(crate) fn lengths(&self, receiver: usize) -> (usize, usize) {
        let of = |object: &Object| object.series.values().filter(|one| one.receiver == receiver).count();
        let counts: Vec<usize> = self.objects.values().map(of).filter(|n| *n > 0).collect();
        (counts.iter().sum(), counts.len())
    }

    /// Changes a series, and begins it if it is new.
    ///
    /// # Errors
    ///
    /// Why not.
    pub(crate) fn update(
        &mut self,
        described: &Described<'_>,
        update: &Update<'_>,
    ) -> Result<(), &'static str> {
        let now = Instant::now();
        let (shape, name) = (described.shape, plain_name(described.object));
        let folded = name.to_lowercase();
        if !self.objects.contains_key(&folded) {
            self.begin_object(&folded, name, described)?;
        }
        let object = self.objects.get_mut(&folded).ok_or("it has no object")?;
        if object.shape != shape {
            return Err("another metric of the same name is of another kind");
        }
        if object.refused.is_some() {
            return Err("its object cannot be published");
        }
        let is_member = matches!(update.change, Change::Member(_));
        if is_member && self.n_members >= MOST_MEMBERS {
            return Err("there are more than 1,048,576 different values of all sets within an interval");
        }
        let series = match object.series.entry(update.identity) {
            Entry::Occupied(series) => series.into_mut(),
            Entry::Vacant(place) => {
                if self.n_series >= MOST_SERIES {
                    return Err("there are more than 20,000 series");
                }
                self.n_series = self.n_series.saturating_add(1);
                self.new.push((folded, update.identity));
                let instance = plain_name(update.instance);
                place.insert(Series {
                    state: State::new(shape),
                    instance: if instance.is_empty() { UNLABELLED.to_owned() } else { instance },
                    published: None,
                    seen: now,
                    time: 0,
                    receiver: update.receiver,
                })
            }
        };
        if update.time != 0 && update.time < series.time {
            return Err("it is older than what was received of the same series");
        }
        let before = series.state.remembered();
        let [hash, _] = &self.hash;
        series.state.change(update.change, hash)?;
        self.n_members = self.n_members.saturating_add(series.state.remembered().saturating_sub(before));
        series.time = update.time;
        series.seen = now;
        if let Some(handles) = &mut series.published {
            handles.write(&series.state);
        }
        Ok(())
    }

    fn begin_object(
        &mut self,
        folded: &str,
        name: String,
        described: &Described<'_>,
    ) -> Result<(), &'static str> {
        if name.trim().is_empty() {
            return Err("it has no name");
        }
        if self.objects.len() >= MOST_OBJECTS {
            return Err("there are more than 1,000 metrics");
        }
        let [hash, _] = &self.hash;
        let hashed = hash.hash_one(folded);
        if self.names.len() >= MOST_NAMES && !self.names.contains(&hashed) {
            return Err("there were more than 4,000 names of metrics since the receiver was started");
        }
        self.names.insert(hashed);
        let visible = |letter: char| if letter.is_control() { ' ' } else { letter };
        let limited = |text: &str, most| text.chars().map(visible).take(most).collect::<String>();
        let object = Object {
            name,
            shape: described.shape,
            help: limited(described.help, LONGEST_HELP),
            unit: limited(described.unit, LONGEST_UNIT),
            series: HashMap::new(),
            publisher: None,
            refused: None,
        };
        self.objects.insert(folded.to_owned(), object);
        Ok(())
    }

    /// Ends a series whose sender says that it has ended.
    pub(crate) fn end(&mut self, object: &str, identity: SeriesId) {
        let folded = plain_name(object).to_lowercase();
        let Some(object) = self.objects.get_mut(&folded) else { return };
        if object.series.remove(&identity).is_some() {
            self.n_series = self.n_series.saturating_sub(1);
        }
    }

    /// Does what is to be done by now: ends intervals and series, and publishes new ones. Returns what could
    /// not be published.
    pub(crate) fn tick(&mut self) -> Vec<String> {
        let now = Instant::now();
        if now.saturating_duration_since(self.began) >= self.interval {
            self.began = now;
            self.end_interval();
        }
        if now.saturating_duration_since(self.looked) >= LOOK.min(self.keep) {
            self.looked = now;
            self.end_old(now);
        }
        self.publish()
    }

    fn end_interval(&mut self) {
        self.n_members = 0;
        for (folded, object) in &mut self.objects {
            if !matches!(object.shape, Shape::Unique | Shape::Values(_)) {
                continue;
            }
            for (identity, series) in &mut object.series {
                series.state.end_interval();
                match &mut series.published {
                    Some(handles) => handles.write(&series.state),
                    None => self.new.push((folded.clone(), *identity)),
                }
            }
        }
    }

    fn end_old(&mut self, now: Instant) {
        let keep = self.keep;
        let mut left = 0usize;
        for object in self.objects.values_mut() {
            object.series.retain(|_, series| now.saturating_duration_since(series.seen) < keep);
            left = left.saturating_add(object.series.len());
        }
        self.n_series = left;
        // Its file goes with the last object in it.
        self.objects.retain(|_, object| !object.series.is_empty());
    }

    /// Publishes what is new.
    pub(crate) fn publish(&mut self) -> Vec<String> {
        let mut faults = Vec::new();
        let new = std::mem::take(&mut self.new);
        let is_ready = |store: &Store, (folded, identity): &(String, SeriesId)| {
            let series = store.objects.get(folded).and_then(|object| object.series.get(identity));
            series.is_some_and(|series| series.state.is_ready() && series.published.is_none())
        };
        let new: Vec<_> = new.into_iter().filter(|one| is_ready(self, one)).collect();
        if new.is_empty() {
            return faults;
        }
        let mut unpublished: Vec<String> = new.iter().map(|(folded, _)| folded.clone()).collect();
        unpublished.sort();
        unpublished.dedup();
        let has_none = |folded: &String| self.objects.get(folded).is_some_and(|one| one.publisher.is_none());
        unpublished.retain(has_none);
        for names in unpublished.chunks(MOST_OF_FILE) {
            self.publish_objects(names, &mut faults);
        }
        for (folded, identity) in new {
            let Some(object) = self.objects.get_mut(&folded) else { continue };
            let (Some(publisher), Some(series)) = (&object.publisher, object.series.get_mut(&identity))
            else {
                continue;
            };
            let new = NewInstance { name: &series.instance, ..NewInstance::default() };
            let opened = publisher
                .instance(&object.name, &new)
                .and_then(|instance| Handles::open(object.shape, instance));
            match opened {
                Ok(mut handles) => {
                    handles.write(&series.state);
                    series.published = Some(handles);
                }
                Err(error) => {
                    faults.push(format!("{}({}): {error}", object.name, series.instance));
                    // It begins anew with what comes next.
                    object.series.remove(&identity);
                    self.n_series = self.n_series.saturating_sub(1);
                }
            }
        }
        faults
    }

    /// Publishes objects in one file; if this fails, each in a file of its own.
    fn publish_objects(&mut self, names: &[String], faults: &mut Vec<String>) {
        let set = |store: &Store, folded: &String| {
            let object = store.objects.get(folded)?;
            Some(object.shape.set(&object.name, &object.help, &object.unit))
        };
        let sets: Vec<CounterSet> = names.iter().filter_map(|folded| set(self, folded)).collect();
        if let Ok(publisher) = self.start(&sets) {
            for folded in names {
                if let Some(object) = self.objects.get_mut(folded) {
                    object.publisher = Some(publisher.clone());
                }
            }
            return;
        }
        for folded in names {
            let Some(set) = set(self, folded) else { continue };
            let started = self.start(&[set]);
            let Some(object) = self.objects.get_mut(folded) else { continue };
            match started {
                Ok(publisher) => object.publisher = Some(publisher),
                Err(error) => {
                    let words = format!("{}: {error}", object.name);
                    faults.push(words.clone());
                    object.refused = Some(words);
                }
            }
        }
    }

    /// Publishes sets under the name of the receivers.
    pub(crate) fn start(&self, sets: &[CounterSet]) -> Result<Publisher, PublishError> {
        match &self.directory {
            Some(directory) => Publisher::start_in(directory, PUBLISHER, sets),
            None => Publisher::start(PUBLISHER, sets),
        }
    }
}

/// The name of the program that publishes.
const PUBLISHER: &str = "tally serve";

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
