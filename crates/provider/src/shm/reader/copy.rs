//! Copies from a file while it is written.
//!
//! The check word shows whether numbers belong together, since the kernel copies in no reliable order, see
//! [`crate::shm::check`]. The use number, at both ends of a slot, shows whether the slot belonged to one
//! instance during the whole copy; slots wait between two uses.

use super::RefusalReason;
use super::file::SharedFile;
use crate::shm::check::check;
use crate::shm::definition::{GroupPlace, ObjectDefinition, Storage};
use crate::shm::layout::text_value;

/// How often slots are copied again in one reading of one publication because they were just being written:
/// about a millisecond.
pub(super) const MAX_AGAIN: u32 = 4096;

/// The copy of one slot of values.
pub(super) struct Copied<'c> {
    pub(super) file: &'c SharedFile,
    pub(super) image: &'c mut [u8],
    pub(super) at: usize,
    pub(super) stride: usize,
    pub(super) checked: &'c [GroupPlace],
}

/// A slot of values that was used for one instance, or for none, all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settled {
    /// The use number.
    pub(super) number: u64,
    /// Whether everything in it agrees that must.
    pub(super) whole: bool,
}

impl Copied<'_> {
    /// Copies parts that were being written again, as long as attempts are left. `None` when the slot changed
    /// its use every time.
    pub(super) fn settle(self, attempts: &mut u32) -> Result<Option<Settled>, RefusalReason> {
        let Copied { file, image, at, stride, checked } = self;
        let last = at.saturating_add(stride.saturating_sub(8));
        loop {
            let Some(number) = settled_use(row(image, at, stride)) else {
                if !take(attempts, stride) {
                    return Ok(None);
                }
                copy(file, image, at, stride)?;
                continue;
            };
            if number % 2 == 0 {
                return Ok(Some(Settled { number, whole: true }));
            }
            let (mut copied, mut whole) = (false, true);
            for group in checked.iter().copied() {
                while !agrees(row(image, at, stride), group) {
                    if !take(attempts, group.length()) {
                        whole = false;
                        break;
                    }
                    copy(file, image, at.saturating_add(group.first), group.length())?;
                    copied = true;
                }
            }
            if !copied {
                return Ok(Some(Settled { number, whole }));
            }
            // Bytes that were copied later may be of another use.
            copy(file, image, at, 8)?;
            copy(file, image, last, 8)?;
            if settled_use(row(image, at, stride)) == Some(number) {
                return Ok(Some(Settled { number, whole }));
            }
            if !take(attempts, stride) {
                return Ok(None);
            }
            copy(file, image, at, stride)?;
        }
    }
}

/// Takes attempts for another copy of some bytes, more for many bytes; false when none are left.
fn take(attempts: &mut u32, length: usize) -> bool {
    let cost = u32::try_from(length / 512).unwrap_or(u32::MAX).saturating_add(1);
    let left = attempts.checked_sub(cost);
    *attempts = left.unwrap_or(0);
    left.is_some()
}

/// Copies a part of the file to the same place of its copy.
pub(super) fn copy(
    file: &SharedFile,
    image: &mut [u8],
    at: usize,
    length: usize,
) -> Result<(), RefusalReason> {
    let part = image.get_mut(at..at.saturating_add(length)).unwrap_or_default();
    file.read_exact(part, at)
}

/// A slot of values in the copy of the file.
#[inline]
pub(super) fn row(image: &[u8], at: usize, stride: usize) -> &[u8] {
    image.get(at..at.saturating_add(stride)).unwrap_or_default()
}

#[inline]
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()).map(|word| u64::from_le_bytes(*word))
}

/// The use number of a slot, if both are equal.
#[inline]
pub(crate) fn settled_use(row: &[u8]) -> Option<u64> {
    let first = u64::from_le_bytes(*row.first_chunk::<8>()?);
    let last = u64::from_le_bytes(*row.last_chunk::<8>()?);
    (first == last).then_some(first)
}

/// Everything in a slot that must agree.
pub(super) fn checked(definition: &ObjectDefinition) -> impl Iterator<Item = GroupPlace> {
    let texts = definition.counters.iter().filter_map(|counter| match counter.storage {
        Storage::Text { capacity } => Some(text_place(counter.offset, capacity)),
        _ => None,
    });
    definition.groups.iter().copied().chain(texts)
}

/// The place of the words of a text.
pub(super) const fn text_place(offset: usize, capacity: usize) -> GroupPlace {
    let check = offset.saturating_add(text_value::BYTES).saturating_add(capacity);
    GroupPlace { first: offset, check }
}

/// Whether the words of a group agree with their check word.
#[inline]
pub(crate) fn agrees(row: &[u8], group: GroupPlace) -> bool {
    let words = row.get(group.first..group.check).unwrap_or_default().as_chunks::<8>().0;
    word(row, group.check) == Some(check(words.iter().map(|word| u64::from_le_bytes(*word))))
}
