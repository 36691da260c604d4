//! The faults that are met while a log is read that was not read when it was opened.

use std::collections::HashSet;

use tallymon_log::Notes;

/// The faults, and the bytes of those that were counted: the same place may be read several times.
///
/// At most [`Met::MOST`] places are counted, and a reader names at most [`Notes::MOST`]: a log with more
/// faults has a count that is too small.
#[derive(Debug, Default)]
pub(super) struct Met {
    pub(super) notes: Notes,
    counted: HashSet<u64>,
}

impl Met {
    /// The most places that are counted.
    const MOST: usize = 1 << 20;

    /// Adds the faults of a reader that were not counted yet.
    pub(super) fn add(&mut self, notes: &Notes) {
        for damage in &notes.damage {
            if self.counted.len() >= Met::MOST {
                return;
            }
            if !self.counted.insert(damage.byte) {
                continue;
            }
            self.notes.damage_count = self.notes.damage_count.saturating_add(1);
            if self.notes.damage.len() < Notes::MOST {
                self.notes.damage.push(damage.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tallymon_log::Damage;

    use super::*;

    #[test]
    fn a_place_is_counted_once() {
        let of = |bytes: std::ops::Range<u64>| {
            let damage = |byte| Damage { byte, buffer: None, record: None, line: None, what: "x".to_owned() };
            let damage: Vec<_> = bytes.map(damage).collect();
            Notes { damage_count: damage.len() as u64, damage, remarks: Vec::new() }
        };
        let mut met = Met::default();
        for bytes in [0..900, 500..1400, 0..900, 1000..1400, 1000..1400] {
            met.add(&of(bytes));
        }
        assert_eq!((met.notes.damage_count, met.notes.damage.len()), (1400, Notes::MOST));
    }
}
