//! The columns of the table of an object: which counters, in which order.

use std::collections::BTreeMap;

use tallymon::core::title::TitleIndex;

/// What people look at first, by the indexes of the object and of its counters. Where NT's order begins with
/// it, an object is not here.
const FIRST: &[(u32, &[u32])] = &[
    // Process: its number, user and command line, time, memory, I/O, service, threads, handles, age, parent.
    (230, &[784, 910_402, 910_404, 6, 180, 186, 1424, 910_406, 680, 952, 684, 1410]),
    // Thread: its numbers, time, switches, state and what it waits for.
    (232, &[804, 784, 6, 146, 46, 336, 694]),
    // Disks: how busy, how slow, how much, how many in the queue.
    (234, &[200, 206, 220, 222, 214, 216, 198]),
    (236, &[408, 410, 200, 206, 220, 222, 198]),
    // Network Interface: bytes, packets, what was lost.
    (510, &[264, 506, 388, 520, 266, 452, 528, 540, 530, 542]),
];

/// An object with the same instances in the same order, whose texts are columns of the object.
pub const fn details_of(object: TitleIndex) -> Option<TitleIndex> {
    match object.0 {
        // Process, and Process Details.
        230 => Some(TitleIndex(910_400)),
        // Job Object and Control Group, and Control Group Details.
        1500 | 902_400 => Some(TitleIndex(910_600)),
        _ => None,
    }
}

/// Sorts the counters of an object by how often people look at them; others keep the order of the object.
pub fn sort_by_use(object: TitleIndex, counters: &mut [TitleIndex]) {
    let Some((_, first)) = FIRST.iter().find(|(known, _)| *known == object.0) else { return };
    counters.sort_by_key(|counter| first.iter().position(|known| *known == counter.0).unwrap_or(usize::MAX));
}

/// The columns that the user has chosen: English names of counters by the English name of their object. An
/// object that is not here has all counters, in the order of use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnChoices(pub BTreeMap<String, Vec<String>>);

impl ColumnChoices {
    /// Positions of the chosen columns among `names`, the English names of all counters of an object; all of
    /// them where nothing was chosen or nothing that was chosen is there.
    pub fn positions(&self, object: &str, names: &[String]) -> Vec<usize> {
        let chosen = self.0.get(object).into_iter().flatten();
        let mut found: Vec<usize> = Vec::new();
        for at in chosen.filter_map(|name| names.iter().position(|known| known == name)) {
            if !found.contains(&at) {
                found.push(at);
            }
        }
        if found.is_empty() { (0..names.len()).collect() } else { found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_look_at_stands_first_and_nothing_is_lost() {
        let mut counters = [6, 142, 144, 180, 784, 1410, 12_345].map(TitleIndex);
        sort_by_use(TitleIndex(230), &mut counters);
        assert_eq!(counters.map(|counter| counter.0), [784, 6, 180, 1410, 142, 144, 12_345]);
        sort_by_use(TitleIndex(2), &mut counters);
        assert_eq!(counters.map(|counter| counter.0), [784, 6, 180, 1410, 142, 144, 12_345]);
    }

    #[test]
    fn a_choice_that_fits_nothing_shows_everything() {
        let names: Vec<String> = ["A", "B", "C"].map(str::to_string).into();
        let choices = |columns: &[&str]| {
            let columns = columns.iter().map(|name| (*name).to_string()).collect();
            ColumnChoices(BTreeMap::from([("Process".to_string(), columns)]))
        };
        assert_eq!(choices(&["C", "A", "C", "gone"]).positions("Process", &names), [2, 0]);
        assert_eq!(choices(&["gone"]).positions("Process", &names), [0, 1, 2]);
        assert_eq!(choices(&[]).positions("Process", &names), [0, 1, 2]);
        assert_eq!(choices(&["C"]).positions("Thread", &names), [0, 1, 2]);
    }
}
