//! Adds up what has grown in each sample, with a clock of the time in which that is known.

use std::collections::HashMap;

use tallymon_core::time::{FileTime, UNITS_PER_SECOND};

use crate::import::columns::Columns;
use crate::import::table::{Field, Number};

/// The largest number of sums that are kept.
const MOST_SUMS: usize = 1 << 20;
/// The largest number of damaged samples that are told apart.
const MOST_DAMAGED: usize = 1 << 16;

/// What a count of a line has grown: its place in the line, and in the fields.
pub(super) struct Growth {
    pub(super) place: usize,
    pub(super) field: usize,
    pub(super) by: u64,
}

/// What the counts of an instance have grown to.
#[derive(Default)]
struct Grown {
    sums: Vec<u64>,
    /// The last sample that had it, by its number and its clock.
    sample: u64,
    clock: u64,
    /// This time is subtracted from the clock, because the sums lack what grew in it.
    lost: u64,
}

/// All sums, and the sample that is read.
#[derive(Default)]
pub(super) struct Sums {
    /// By the place of the label and the instance.
    all: HashMap<(usize, String), Grown>,
    /// The number of the sample, its time, its clock, and the time in which its values have grown.
    number: u64,
    time: FileTime,
    clock: u64,
    interval: u64,
    /// The time of the last sample, unless the counts began again behind it.
    before: Option<FileTime>,
    /// The time of samples that are missing: nothing has grown in it.
    lost: u64,
    /// The samples in which something was damaged, by their numbers, and the intervals of all so far.
    damaged: Vec<(u64, u64)>,
    /// The faults that were said before this sample.
    faults: u64,
}

impl Sums {
    /// Begins a sample, whose values have grown in the last `interval` seconds.
    pub(super) fn begin(&mut self, columns: &mut Columns, time: FileTime, interval: u64) {
        self.interval = interval.saturating_mul(UNITS_PER_SECOND);
        self.number = self.number.saturating_add(1);
        // The clock of a sample is its time without that of samples that are missing before it. What has
        // grown has only done so in the sample's own interval.
        let elapsed = self.before.replace(time).map_or(0, |before| time.0.saturating_sub(before.0));
        if self.interval > 0 {
            self.lost = self.lost.saturating_add(elapsed.saturating_sub(self.interval));
        }
        (self.time, self.clock) = (time, time.0.saturating_sub(self.lost));
        columns.begin(time, self.clock);
    }

    /// Ends a sample: notes whether something in it was damaged.
    pub(super) fn end(&mut self, columns: &Columns) {
        let faults = columns.about.notes.damage_count;
        if std::mem::replace(&mut self.faults, faults) == faults {
            return;
        }
        let all = self.damaged.last().map_or(0, |(_, all)| *all).saturating_add(self.interval);
        if self.damaged.len() >= MOST_DAMAGED {
            self.damaged.pop();
        }
        self.damaged.push((self.number, all));
    }

    /// Gives the values that follow the clock of an instance, which has lost some time.
    pub(super) fn set_clock(&self, columns: &mut Columns, lost: u64) {
        columns.at(self.time, self.clock.saturating_sub(lost));
    }

    /// Adds what an instance has grown, and puts the sums into the fields. Returns the time that they lack.
    pub(super) fn grow(
        &mut self,
        (label, instance): (usize, &str),
        is_process: bool,
        grown: &[Growth],
        fields: &mut [Field<'static>],
    ) -> Result<u64, &'static str> {
        if grown.is_empty() {
            return Ok(0);
        }
        let key = (label, instance.to_owned());
        if self.all.len() >= MOST_SUMS && !self.all.contains_key(&key) {
            return Err("more than a million instances");
        }
        let known = self.all.entry(key).or_default();
        if known.sample > 0 && known.sample.saturating_add(1) < self.number {
            // A process without a line was idle, unless its line may be one that could not be read.
            let missing = if is_process {
                lost_between(&self.damaged, known.sample, self.number)
            } else {
                self.clock.saturating_sub(self.interval).saturating_sub(known.clock)
            };
            known.lost = known.lost.saturating_add(missing);
        }
        (known.sample, known.clock) = (self.number, self.clock);
        for Growth { place, field, by } in grown {
            if known.sums.len() <= *place {
                known.sums.resize(place.saturating_add(1), 0);
            }
            if let (Some(sum), Some(field)) = (known.sums.get_mut(*place), fields.get_mut(*field)) {
                *sum = sum.saturating_add(*by);
                field.number = Some(Number::U64(*sum));
            }
        }
        Ok(known.lost)
    }

    /// Forgets an instance: another one may get its name.
    pub(super) fn forget(&mut self, label: usize, instance: &str) {
        self.all.remove(&(label, instance.to_owned()));
    }

    /// The counts begin again.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.before = None;
    }
}

/// The intervals of the damaged samples between two samples.
fn lost_between(damaged: &[(u64, u64)], from: u64, to: u64) -> u64 {
    let before = |sample: u64| {
        let count = damaged.partition_point(|(at, _)| *at < sample);
        count.checked_sub(1).and_then(|last| damaged.get(last)).map_or(0, |(_, all)| *all)
    };
    before(to).saturating_sub(before(from.saturating_add(1)))
}
