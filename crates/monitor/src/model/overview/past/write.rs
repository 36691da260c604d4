//! Writes the seconds of a chunk: what of each process is not as it was written before.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::overview::past::columns::{Last, Numbers, bits, put_id};
use crate::model::overview::process_row::{ProcessRow, largest};
use crate::model::packed::PutPacked;

/// Bytes of a process in the tables for writing: its slot, and an entry in a table that may be half empty.
pub(super) const SLOT_BYTES: usize = size_of::<Slot>().saturating_add(2 * size_of::<(Who, usize)>());
/// What distinguishes a process from all others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Who {
    Ids(u32, u64),
    Name(Arc<str>),
}

/// Writes the seconds of a chunk.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) slots: Vec<Slot>,
    places: HashMap<Who, usize>,
    free: Vec<usize>,
    /// Names without their numbers, in the order in which they were written.
    names: HashMap<Box<str>, u64>,
    last: Last,
    round: u64,
}

/// A process as it was last written.
#[derive(Debug)]
pub(super) struct Slot {
    row: ProcessRow,
    is_kept: bool,
    is_free: bool,
    /// The second that it was last seen in.
    round: u64,
}

/// A process of a second that is not as it was written.
struct Change {
    row: usize,
    slot: Option<usize>,
    head: u8,
}

impl Writer {
    /// Writes a second with at most so many changes beside the largest processes; returns how many were not
    /// kept.
    pub(super) fn write(&mut self, rows: &[ProcessRow], most: usize, out: &mut Vec<u8>) -> usize {
        self.round = self.round.saturating_add(1);
        let (mut changes, mut left_out) = self.changes(rows);
        let mut entries: Vec<(usize, u8, Option<&ProcessRow>)> = Vec::new();
        for (slot, entry) in self.slots.iter_mut().enumerate() {
            if !entry.is_free && entry.round != self.round {
                entry.is_free = true;
                self.places.remove(&who(&entry.row));
                self.free.push(slot);
                entries.push((slot, bits::GONE, None));
            }
        }
        let dropped = sort_out(&mut changes, rows, most);
        left_out = left_out.saturating_add(dropped.len());
        for slot in dropped.iter().filter_map(|change| change.slot) {
            if let Some(entry) = self.slots.get_mut(slot).filter(|entry| entry.is_kept) {
                entry.is_kept = false;
                entries.push((slot, bits::LEFT_OUT, None));
            }
        }
        for change in changes {
            let Some(row) = rows.get(change.row) else { continue };
            let slot = change.slot.unwrap_or_else(|| self.free_slot(row));
            // A new process takes the place of one that has gone.
            entries.push((slot, change.head, Some(row)));
        }
        entries.sort_by_key(|(slot, head, _)| (*slot, *head & bits::GONE == 0));
        let mut next = 0usize;
        let mut at = entries.iter().peekable();
        while let Some((slot, head, row)) = at.next() {
            if *head == bits::GONE && at.peek().is_some_and(|(other, ..)| other == slot) {
                continue;
            }
            out.put(slot.saturating_sub(next) as u64);
            next = slot.saturating_add(1);
            out.push(*head);
            if let Some(row) = row {
                self.write_row(*slot, *head, row, out);
            }
        }
        left_out
    }

    /// The processes that are not as they were written, and how many appear twice and cannot be kept.
    fn changes(&mut self, rows: &[ProcessRow]) -> (Vec<Change>, usize) {
        let (mut changes, mut twice, mut guess) = (Vec::new(), 0usize, 0usize);
        let mut fresh = HashSet::new();
        for (position, row) in rows.iter().enumerate() {
            let who = who(row);
            // Processes come in the same order in every second.
            let is_it = |entry: &Slot| !entry.is_free && self::who(&entry.row) == who;
            let guessed = self.slots.get(guess).is_some_and(is_it).then_some(guess);
            let place = guessed.or_else(|| self.places.get(&who).copied());
            let Some((place, slot)) = place.and_then(|place| Some((place, self.slots.get_mut(place)?)))
            else {
                if fresh.insert(who) {
                    changes.push(Change { row: position, slot: None, head: bits::ALL });
                } else {
                    twice = twice.saturating_add(1);
                }
                continue;
            };
            guess = place.saturating_add(1);
            if slot.round == self.round {
                twice = twice.saturating_add(1);
                continue;
            }
            slot.round = self.round;
            let mut head = Numbers::of(&slot.row).changed(&Numbers::of(row));
            if slot.row.name != row.name || slot.row.parent != row.parent {
                head |= bits::NAME;
            }
            if head != 0 || !slot.is_kept {
                changes.push(Change { row: position, slot: Some(place), head });
            }
        }
        (changes, twice)
    }

    fn free_slot(&mut self, row: &ProcessRow) -> usize {
        let slot = self.free.pop().unwrap_or(self.slots.len());
        let entry = Slot { row: row.clone(), is_kept: true, is_free: false, round: self.round };
        self.places.insert(who(row), slot);
        match self.slots.get_mut(slot) {
            Some(place) => *place = entry,
            None => self.slots.push(entry),
        }
        slot
    }

    fn write_row(&mut self, slot: usize, head: u8, row: &ProcessRow, out: &mut Vec<u8>) {
        let is_new = head & bits::NEW != 0;
        if head & bits::NAME != 0 {
            let (base, number) = split(&row.name);
            let count = self.names.len() as u64;
            match self.names.get(base) {
                Some(known) => out.put(known.saturating_add(1)),
                None => {
                    out.put(0);
                    out.put(base.len() as u64);
                    out.extend_from_slice(base.as_bytes());
                    self.names.insert(base.into(), count);
                }
            }
            out.put(number);
            put_id(row.parent, &mut self.last.parent, out);
        }
        if is_new {
            put_id(row.id, &mut self.last.id, out);
            out.put_signed(row.start.wrapping_sub(self.last.start));
            self.last.start = row.start;
        }
        let Some(entry) = self.slots.get_mut(slot) else { return };
        let before = if is_new { Numbers::default() } else { Numbers::of(&entry.row) };
        Numbers::of(row).write(&before, head, out);
        entry.row = row.clone();
        entry.is_kept = true;
    }
}

fn who(row: &ProcessRow) -> Who {
    row.identity().map_or_else(|| Who::Name(Arc::clone(&row.name)), |(id, start)| Who::Ids(id, start))
}

/// Takes out of the changes those that are too many: not the largest processes.
fn sort_out(changes: &mut Vec<Change>, rows: &[ProcessRow], most: usize) -> Vec<Change> {
    if changes.len() <= most {
        return Vec::new();
    }
    let is_large = largest(rows);
    let key = |change: &Change| {
        let row = rows.get(change.row);
        let number = |number: Option<f32>| number.unwrap_or(0.0);
        let is_large = is_large.get(change.row).copied().unwrap_or(false);
        let numbers = row.map(|row| (number(row.processor), number(row.bytes), row.memory.unwrap_or(0.0)));
        (is_large, numbers.unwrap_or_default())
    };
    changes.sort_by(|one, other| {
        let ((one_is, one), (other_is, other)) = (key(one), key(other));
        other_is
            .cmp(&one_is)
            .then(other.0.total_cmp(&one.0))
            .then(other.1.total_cmp(&one.1))
            .then(other.2.total_cmp(&one.2))
    });
    let large = changes.iter().take_while(|change| key(change).0).count();
    changes.split_off(most.max(large).min(changes.len()))
}

/// The number at the end of a name, as in `name#2`, and the name before it; 0 where it has none.
fn split(name: &str) -> (&str, u64) {
    let parts = name.rsplit_once('#').and_then(|(base, digits)| {
        let is_plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
        Some((base, digits.parse::<u64>().ok().filter(|_| is_plain)?))
    });
    parts.unwrap_or((name, 0))
}
