//! Top contributors: for every row, the largest instances of some counters.
//!
//! A chart shows that the processor was busy at a second; the row of that second keeps the processes that
//! caused it. The rows are those of the history, and are dropped with them.

use std::collections::{HashMap, VecDeque};

use tallymon::core::counter::CounterType;
use tallymon::core::flow::Cell;
use tallymon::core::title::TitleIndex;
use tallymon::{CounterHandle, InstanceKey, Query, Reading};

/// How many instances of a counter are kept for a row.
pub const MOST_TOP: usize = 5;
/// How many counters are watched at most.
pub const MOST_WATCHED: usize = 12;
/// Bytes of a row of one counter.
pub(super) const ROW_BYTES: usize = size_of::<TopRow>();

/// Marks the paths of a query that are watched here and are no series. No counter path begins with it.
const MARK: &str = "(top)";

/// The largest instances of all watched counters, for every row.
#[derive(Debug, Default)]
pub struct Top {
    watched: Vec<Watched>,
    names: Names,
}

/// A counter with the largest instances of each row.
#[derive(Debug, Clone)]
struct Watched {
    object: TitleIndex,
    counter: TitleIndex,
    title: String,
    path: (String, String),
    counter_type: CounterType,
    /// The last one is the newest row.
    rows: VecDeque<TopRow>,
}

/// Numbers of names and values, largest first; 0 is no name.
type TopRow = ([u32; MOST_TOP], [f64; MOST_TOP]);

/// A row without data.
const EMPTY_ROW: TopRow = ([0; MOST_TOP], [0.0; MOST_TOP]);

/// An instance at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct TopInstance {
    /// Its name with its number.
    pub name: String,
    /// The path of the counter.
    pub path: String,
    /// The value then.
    pub value: f64,
}

/// The largest instances of a counter at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct TopGroup {
    /// Object.
    pub object: TitleIndex,
    /// Counter.
    pub counter: TitleIndex,
    /// Names of both in the user's language.
    pub title: String,
    /// Type.
    pub counter_type: CounterType,
    /// Largest first.
    pub instances: Vec<TopInstance>,
}

impl Top {
    /// The text under which the path of a watched counter is added to a query.
    pub fn text(object: TitleIndex, counter: TitleIndex) -> String {
        format!("{MARK}\\{}(*)\\{}", object.0, counter.0)
    }

    /// Whether a reading belongs to a watched counter, and not to a series.
    pub fn is_watched(query: &Query, reading: &Reading) -> bool {
        is_marked(query, reading.handle)
    }

    /// The readings of a query. Of watched counters it has only the instances that may be among the largest:
    /// of thousands of processes a few are kept, and nothing is allocated for the others.
    pub fn readings(query: &Query) -> Vec<Reading> {
        let mut of: Option<(CounterHandle, bool)> = None;
        let mut largest = [0.0; MOST_TOP];
        query.readings_if(|value| {
            // Values arrive path by path, and a watched path has one counter.
            if of.is_none_or(|(handle, _)| handle != value.handle) {
                of = Some((value.handle, is_marked(query, value.handle)));
                largest = [0.0; MOST_TOP];
            }
            if of.is_none_or(|(_, is_marked)| !is_marked) {
                return true;
            }
            let Some(made) = made(value.instance, &value.cell) else { return false };
            // Drop the smallest one.
            let [smallest, ..] = &mut largest;
            let is_large = made > *smallest;
            if is_large {
                *smallest = made;
                largest.sort_by(f64::total_cmp);
            }
            is_large
        })
    }

    /// Whether a counter is watched already.
    pub fn watches(&self, object: TitleIndex, counter: TitleIndex) -> bool {
        self.watched.iter().any(|watched| (watched.object, watched.counter) == (object, counter))
    }

    /// Watches a counter from the next row on; `false` when too many are watched.
    pub fn watch(&mut self, query: &Query, object: TitleIndex, counter: TitleIndex) -> bool {
        let (Some(known), true) = (query.catalog().object(object), self.watched.len() < MOST_WATCHED) else {
            return false;
        };
        let names = query.names();
        let counter_type = known.counter(counter).map_or(CounterType(0), |known| known.counter_type);
        self.watched.push(Watched {
            object,
            counter,
            title: format!("{}: {}", names.name(object), names.name(counter)),
            path: (names.english(object), names.english(counter)),
            counter_type,
            rows: VecDeque::new(),
        });
        true
    }

    /// Forgets the counters that `keep` does not want.
    pub fn retain(&mut self, keep: impl Fn(TitleIndex, TitleIndex) -> bool) {
        let names = &mut self.names;
        self.watched.retain(|watched| {
            let stays = keep(watched.object, watched.counter);
            if !stays {
                watched.rows.iter().for_each(|row| names.release(row));
            }
            stays
        });
    }

    /// Takes the readings of the newest row; none for a row without a sample.
    pub(super) fn take(&mut self, query: Option<&Query>, readings: &[Reading]) {
        for watched in &mut self.watched {
            let mut found: [(f64, Option<&Reading>); MOST_TOP] = [(0.0, None); MOST_TOP];
            let own = readings.iter().filter(|reading| {
                (reading.object, reading.counter) == (watched.object, watched.counter)
                    && query.is_some_and(|query| Top::is_watched(query, reading))
            });
            for reading in own {
                let Some(value) = made(reading.instance.as_ref(), &reading.cell) else { continue };
                // Insert into a short sorted list.
                let mut next = (value, Some(reading));
                for place in &mut found {
                    if next.0 > place.0 {
                        std::mem::swap(place, &mut next);
                    }
                }
            }
            let mut row: TopRow = EMPTY_ROW;
            for ((name, value), (found, reading)) in row.0.iter_mut().zip(&mut row.1).zip(found) {
                if let Some(key) = reading.and_then(|reading| reading.instance.as_ref()) {
                    *name = self.names.number(&key.to_string());
                    *value = found;
                }
            }
            watched.rows.push_back(row);
        }
    }

    /// Keeps the newest `rows` rows.
    pub(super) fn keep(&mut self, rows: usize) {
        for watched in &mut self.watched {
            while watched.rows.len() > rows {
                if let Some(row) = watched.rows.pop_front() {
                    self.names.release(&row);
                }
            }
            if watched.rows.capacity() > rows.saturating_mul(2).max(64) {
                watched.rows.shrink_to(rows);
            }
        }
    }

    /// Takes all rows out; the same counters are watched on without history.
    pub(super) fn take_rows(&mut self) -> Top {
        let watched = self.watched.iter().map(|watched| Watched { rows: VecDeque::new(), ..watched.clone() });
        let fresh = Top { watched: watched.collect(), names: Names::default() };
        std::mem::replace(self, fresh)
    }

    /// Adds the rows of a later history.
    pub(super) fn continue_as(&mut self, newer: &Top, rows: usize) {
        for later in &newer.watched {
            let is_same = |known: &Watched| (known.object, known.counter) == (later.object, later.counter);
            if !self.watched.iter().any(is_same) && self.watched.len() < MOST_WATCHED {
                self.watched.push(Watched { rows: VecDeque::new(), ..later.clone() });
            }
        }
        for watched in &mut self.watched {
            let is_same =
                |known: &&Watched| (known.object, known.counter) == (watched.object, watched.counter);
            let later = newer.watched.iter().find(is_same).map(|later| &later.rows);
            let missing = rows.saturating_sub(later.map_or(0, VecDeque::len));
            watched.rows.extend(std::iter::repeat_n(EMPTY_ROW, missing));
            for row in later.into_iter().flatten() {
                let mut row = *row;
                for name in &mut row.0 {
                    *name = newer.names.text(*name).map_or(0, |text| self.names.number(text));
                }
                watched.rows.push_back(row);
            }
        }
    }

    /// The counters that are watched, each with its object.
    pub fn counters(&self) -> Vec<(TitleIndex, TitleIndex)> {
        self.watched.iter().map(|watched| (watched.object, watched.counter)).collect()
    }

    /// The largest instances at a row, of a history that ends before row `next`.
    pub fn at(&self, next: u64, row: u64) -> Vec<TopGroup> {
        let mut groups: Vec<TopGroup> = Vec::new();
        for watched in &self.watched {
            let back = next.checked_sub(row).and_then(|back| usize::try_from(back).ok());
            let place = back.and_then(|back| watched.rows.len().checked_sub(back));
            let Some((names, values)) = place.and_then(|place| watched.rows.get(place)) else { continue };
            let instances: Vec<TopInstance> = names
                .iter()
                .zip(values)
                .filter_map(|(name, value)| {
                    let name = self.names.text(*name)?.to_string();
                    let path = format!("\\{}({name})\\{}", watched.path.0, watched.path.1);
                    Some(TopInstance { name, path, value: *value })
                })
                .collect();
            if !instances.is_empty() {
                groups.push(TopGroup {
                    object: watched.object,
                    counter: watched.counter,
                    title: watched.title.clone(),
                    counter_type: watched.counter_type,
                    instances,
                });
            }
        }
        groups
    }

    /// The largest instances of a single row.
    pub fn once(&mut self, query: &Query, readings: &[Reading]) -> Vec<TopGroup> {
        self.take(Some(query), readings);
        self.at(1, 0)
    }

    /// Bytes that it uses.
    pub fn bytes(&self) -> usize {
        self.watched.iter().fold(self.names.bytes, |sum, watched| {
            sum.saturating_add(watched.rows.capacity().saturating_mul(ROW_BYTES))
        })
    }

    /// Bytes of a row without names.
    pub(super) fn row_bytes(&self) -> usize {
        self.watched.len().saturating_mul(ROW_BYTES)
    }

    /// Bytes of names.
    pub(super) const fn name_bytes(&self) -> usize {
        self.names.bytes
    }
}

/// Whether a path of a query belongs to a watched counter.
fn is_marked(query: &Query, handle: CounterHandle) -> bool {
    query.path(handle).starts_with(MARK)
}

/// The value of an instance that can be a contributor.
fn made(instance: Option<&InstanceKey>, cell: &Cell) -> Option<f64> {
    let value = cell.value.as_ref().ok()?.as_f64()?;
    // Sums are no contributors, and idle instances contribute nothing.
    let is_sum =
        instance.is_none_or(|key| key.name.ends_with("_Total") || key.name.eq_ignore_ascii_case("idle"));
    (!is_sum && value > 0.0 && value.is_finite()).then_some(value)
}

/// Names of instances, each kept once as long as a row has it.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<String, u32>,
    /// Name and number of uses, by number less one.
    texts: Vec<(String, u32)>,
    free: Vec<u32>,
    bytes: usize,
}

/// Bytes of a name without its letters: two strings, and entries in the tables.
const NAME_BYTES: usize = 96;

impl Names {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            if let Some((_, uses)) = slot(*number).and_then(|place| self.texts.get_mut(place)) {
                *uses = uses.saturating_add(1);
            }
            return *number;
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.texts.push((String::new(), 0));
                u32::try_from(self.texts.len()).unwrap_or(u32::MAX)
            }
        };
        if let Some(place) = slot(number).and_then(|place| self.texts.get_mut(place)) {
            *place = (text.to_string(), 1);
        }
        self.bytes = self.bytes.saturating_add(cost(text));
        self.numbers.insert(text.to_string(), number);
        number
    }

    fn text(&self, number: u32) -> Option<&str> {
        self.texts.get(slot(number)?).map(|(text, _)| text.as_str())
    }

    fn release(&mut self, row: &TopRow) {
        for number in row.0 {
            let Some(place) = slot(number).and_then(|place| self.texts.get_mut(place)) else { continue };
            place.1 = place.1.saturating_sub(1);
            if place.1 == 0 {
                let text = std::mem::take(&mut place.0);
                self.bytes = self.bytes.saturating_sub(cost(&text));
                self.numbers.remove(&text);
                self.free.push(number);
            }
        }
    }
}

fn slot(number: u32) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}

const fn cost(text: &str) -> usize {
    text.len().saturating_mul(2).saturating_add(NAME_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_dropped_with_the_last_row_that_has_it() {
        let mut names = Names::default();
        let one = names.number("one");
        assert_eq!(names.number("one"), one);
        let two = names.number("two");
        let row = |number| ([number, 0, 0, 0, 0], [1.0; MOST_TOP]);
        names.release(&row(one));
        assert_eq!(names.text(one), Some("one"), "another row has it");
        names.release(&row(one));
        let three = names.number("three");
        assert_eq!((three, names.text(three), names.text(two)), (one, Some("three"), Some("two")));
        names.release(&row(two));
        names.release(&row(three));
        assert_eq!((names.bytes, names.numbers.len()), (0, 0));
        assert_eq!(names.text(0), None);
    }
}
