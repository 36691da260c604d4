//! The instances of a publication and their values, in the copy.

use super::copy::{agrees, row, text_place, word};
use super::publication::Publication;
use super::slots::{Live, Slot, Slots};
use crate::shm::definition::{CounterDefinition, ObjectDefinition, Storage};
use crate::shm::layout::text_value;

/// A value that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published<'p> {
    /// A number.
    Number(u64),
    /// A text.
    Text(&'p str),
}

/// An instance of a [`Publication`], or the only set of values of an object without instances.
#[derive(Debug, Clone, Copy)]
pub struct InstanceRef<'p> {
    pub(super) publication: &'p Publication,
    pub(super) definition: &'p ObjectDefinition,
    pub(super) slots: &'p Slots,
    pub(super) live: Live,
    /// The copy of its slot of values.
    pub(super) values: &'p [u8],
}

/// The instances of an object.
pub(super) struct Instances<'p> {
    publication: &'p Publication,
    image: &'p [u8],
    object: Option<(&'p Slots, &'p ObjectDefinition)>,
    live: std::slice::Iter<'p, Live>,
}

impl<'p> Instances<'p> {
    pub(super) fn new(
        publication: &'p Publication,
        image: &'p [u8],
        object: Option<(&'p Slots, &'p ObjectDefinition)>,
    ) -> Instances<'p> {
        let live = object.map(|(slots, _)| slots.live.as_slice()).unwrap_or_default().iter();
        Instances { publication, image, object, live }
    }
}

impl<'p> Iterator for Instances<'p> {
    type Item = InstanceRef<'p>;

    #[inline]
    fn next(&mut self) -> Option<InstanceRef<'p>> {
        let (slots, definition) = self.object?;
        let live = *self.live.next()?;
        let values = row(self.image, live.values, slots.stride);
        Some(InstanceRef { publication: self.publication, definition, slots, live, values })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.live.size_hint()
    }
}

impl ExactSizeIterator for Instances<'_> {}

/// The parent of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentRef {
    /// Position of its object in the publication.
    pub object: usize,
    /// Its position among the instances of that object.
    pub position: usize,
}

impl<'p> InstanceRef<'p> {
    fn slot(self) -> Option<&'p Slot> {
        self.slots.known.get(self.live.number)
    }

    /// Its name; empty in an object without instances.
    pub fn name(self) -> &'p str {
        self.slot().map_or("", |slot| &slot.name)
    }

    /// The number that distinguishes it from others of the same name.
    pub fn id(self) -> Option<i32> {
        self.slot()?.id
    }

    /// Its parent, as long as that exists.
    pub fn parent(self) -> Option<ParentRef> {
        let (object, number, use_number) = self.slot()?.parent?;
        let slots = self.publication.slots(object)?;
        if slots.known.get(number)?.number != use_number {
            return None;
        }
        let position = slots.live.binary_search_by_key(&number, |live| live.number).ok()?;
        Some(ParentRef { object, position })
    }

    /// The numbers of consecutive counters from this one on, as long as each is a single word and they follow
    /// each other. Empty when the counter is in a group, or more than one word.
    ///
    /// They equal the results of [`InstanceRef::value`], in a fraction of the time.
    #[inline]
    pub fn numbers_from(self, counter: usize) -> impl ExactSizeIterator<Item = u64> + use<'p> {
        let n = self.slots.plain.get(counter).copied().unwrap_or(0);
        let first = self.definition.counters.get(counter).map_or(0, |counter| counter.offset);
        let words = self.values.get(first..first.saturating_add(n.saturating_mul(8)));
        words.unwrap_or_default().as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
    }

    /// The value of the counter at a position; `None` when it was being written whenever it was looked at.
    #[inline]
    pub fn value(self, counter: usize) -> Option<Published<'p>> {
        let counter = self.definition.counters.get(counter)?;
        if counter.storage == Storage::Number && counter.group.is_none() {
            return word(self.values, counter.offset).map(Published::Number);
        }
        self.value_of(counter)
    }

    /// The value of a counter of more than one word.
    fn value_of(self, counter: &CounterDefinition) -> Option<Published<'p>> {
        let (values, place) = (self.values, counter.offset);
        match counter.storage {
            Storage::Number => {
                if let Some(group) = counter.group.filter(|_| !self.live.whole)
                    && !agrees(values, *self.definition.groups.get(group)?)
                {
                    return None;
                }
                word(values, place).map(Published::Number)
            }
            Storage::Sum { lanes, lane_stride } => {
                let lanes = usize::try_from(lanes).unwrap_or(0);
                let lane = |lane: usize| word(values, place.saturating_add(lane.saturating_mul(lane_stride)));
                let sum = (0..lanes).try_fold(0u64, |sum, n| Some(sum.wrapping_add(lane(n)?)))?;
                Some(Published::Number(sum))
            }
            Storage::Histogram { buckets, part, lanes } => {
                let lanes = usize::try_from(lanes.unwrap_or(1)).unwrap_or(0);
                let lane = |lane: usize| {
                    let start = place.saturating_add(lane.saturating_mul(buckets.lane()));
                    let end = start.saturating_add(buckets.n.saturating_mul(8));
                    Some(values.get(start..end)?.as_chunks::<8>().0)
                };
                let number = match (lanes, lane(0)?) {
                    (1, words) => buckets.number(words.iter().map(|word| u64::from_le_bytes(*word)), part),
                    _ => {
                        let mut sums = vec![0u64; buckets.n];
                        for n in 0..lanes {
                            for (sum, word) in sums.iter_mut().zip(lane(n)?) {
                                *sum = sum.wrapping_add(u64::from_le_bytes(*word));
                            }
                        }
                        buckets.number(sums.iter().copied(), part)
                    }
                };
                Some(Published::Number(number))
            }
            Storage::Text { capacity } => {
                if !self.live.whole && !agrees(values, text_place(counter.offset, capacity)) {
                    return None;
                }
                let length = word(values, place.saturating_add(text_value::LENGTH))?;
                let length = usize::try_from(length).ok().filter(|length| *length <= capacity)?;
                let start = place.saturating_add(text_value::BYTES);
                let bytes = values.get(start..start.saturating_add(length))?;
                std::str::from_utf8(bytes).ok().map(Published::Text)
            }
        }
    }
}
